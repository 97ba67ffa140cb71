"""What people do with alarms: acknowledge one, and clear one whose cause was over when it was seen. Pure.

Only those whom an alarm's ladder names, and shift managers, may acknowledge it: nobody silences what is another's to
look at. Accepting a loss and clearing stopped books are acts of their own, by two people.
"""

from controller.acts import Act, ActRefused, Why
from controller.alarm_kinds import ALARMS, AlarmKind
from controller.alarms import (
    Alarm,
    NotInItsLife,
    State,
    acknowledged,
    alarm_of,
    cleared,
    keep_alarm,
    place_words,
    table_of,
)
from controller.floor import Floor
from controller.journal import SLIP_RULES
from controller.outcome import Outcome
from controller.people import Role


def may_answer(kind: AlarmKind, role: Role) -> bool:
    """Whether a role may acknowledge and clear alarms of a kind; surveillance is told, and only looks."""
    return role is Role.SHIFT_MANAGER or (role in kind.roles() and role is not Role.SURVEILLANCE)


def _kind(floor: Floor, act: Act) -> AlarmKind:
    kind = ALARMS.get(act.fields["alarm"])
    if kind is None:
        raise ActRefused(Why.NOT_FOUND, "there is no alarm of that name", "load the page again")
    told = floor.rules < SLIP_RULES and act.by.role in kind.roles()  # as surveillance could before
    if not told and not may_answer(kind, act.by.role):
        who = " or ".join(f"a {role.value}" for role in Role if may_answer(kind, role))
        raise ActRefused(Why.NOT_ALLOWED, f"{act.by.words()} may not answer this alarm: {kind.title}", f"ask {who}")
    return kind


def acknowledge(floor: Floor, act: Act, at: int) -> Outcome:
    """Somebody has seen an alarm and deals with it; raises ActRefused."""
    kind, place = _kind(floor, act), act.fields["place"]
    alarm = alarm_of(floor, kind.name, place)
    if alarm is None or not alarm.stands:
        raise ActRefused(Why.NOT_FOUND, f"no such alarm stands: {kind.title}", "load the page again")
    try:
        made = acknowledged(alarm, act.by, at)
    except NotInItsLife as wrong:
        by = alarm.acknowledged_by
        who = by.words() if by is not None else "somebody"
        raise ActRefused(Why.ALREADY_DONE, f"{who} has acknowledged this alarm", "nothing to do") from wrong
    keep_alarm(floor, made)
    return _outcome("alarm acknowledged", made)


def clear(floor: Floor, act: Act, at: int) -> Outcome:
    """Somebody has dealt with what an alarm told of; only where it was acknowledged first. Raises ActRefused."""
    kind, place = _kind(floor, act), act.fields["place"]
    alarm = alarm_of(floor, kind.name, place)
    if alarm is None or not alarm.stands:
        raise ActRefused(Why.NOT_FOUND, f"no such alarm stands: {kind.title}", "load the page again")
    if not kind.momentary:
        raise ActRefused(
            Why.NOT_NOW, f"this alarm clears by itself when its cause is gone: {kind.title}", kind.remedy)
    if alarm.state is not State.ACKNOWLEDGED:
        raise ActRefused(Why.NOT_NOW, "nobody has acknowledged this alarm", "acknowledge it first")
    made = cleared(alarm, at, act.by)
    keep_alarm(floor, made)
    return _outcome("alarm cleared", made)


def _outcome(done: str, alarm: Alarm) -> Outcome:
    where = place_words(alarm)
    words = f"{done}: {alarm.told_of.title}{', ' + where if where else ''}"
    told = {"count": alarm.count, "state": alarm.state.value, "what": alarm.what, "words": words}
    return Outcome(told, table=table_of(*alarm.key))


ALARM_RULES = {"alarm-acknowledged": acknowledge, "alarm-cleared": clear}
