"""An alarm's life: raised, acknowledged, cleared, with who and when; told on to others while it stands. Pure.

One alarm of a kind at a place; the same again counts up. A row of state keeps it over restarts, and the row of a
cleared one stays until the next, so what is kept is bounded by kinds and places. Every step is one entry: ``alarm``
made by the daemon, or an act of a person (``controller.alarm_acts``) (R-31, R-90, R-109, R-118).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from controller.alarm_kinds import ALARMS, FLOOR, ORDER, AlarmKind, Place
from controller.floor import Floor
from controller.people import Person, person_from
from controller.plan import FloorPlan

ROW = "alarm"
"""The kind of its state rows, and of the daemon's entries."""
Key = tuple[str, str]
"""Kind and place."""


class State(StrEnum):
    """Raised: nobody has acknowledged it. Gone: its cause is, but nobody has acknowledged it. Cleared: all done."""

    NONE = "none"
    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    GONE = "gone"
    CLEARED = "cleared"


class Step(StrEnum):
    """What happens to an alarm."""

    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    CLEARED = "cleared"
    ESCALATED = "escalated"


LIFE: Mapping[State, Mapping[Step, State]] = {
    State.NONE: {Step.RAISED: State.RAISED},
    State.RAISED: {
        Step.RAISED: State.RAISED, Step.ACKNOWLEDGED: State.ACKNOWLEDGED, Step.CLEARED: State.GONE,
        Step.ESCALATED: State.RAISED},
    State.ACKNOWLEDGED: {
        Step.RAISED: State.RAISED, Step.CLEARED: State.CLEARED, Step.ESCALATED: State.ACKNOWLEDGED},
    State.GONE: {Step.RAISED: State.RAISED, Step.ACKNOWLEDGED: State.CLEARED},
    State.CLEARED: {Step.RAISED: State.RAISED},
}
"""By state: each step that may happen, and the state after it."""


class NotInItsLife(ValueError):
    """A step that an alarm cannot take in its state."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm as it stands. Times are UTC microseconds; 0: not yet."""

    kind: str
    place: str
    state: State
    what: str
    since: int
    """When its cause began: the escalation is reckoned from here."""
    raised_at: int
    count: int = 1
    """How often it was raised since somebody last cleared it."""
    entry: int = 0
    """The entry that it tells of, the latest one; 0 when it tells of none."""
    rung: int = 0
    """The step of its ladder that has been told."""
    acknowledged_by: Person | None = None
    acknowledged_at: int = 0
    cleared_at: int = 0
    cleared_by: Person | None = None
    """Who cleared it; None: its cause was gone."""

    @property
    def key(self) -> Key:
        """Its kind and place."""
        return self.kind, self.place

    @property
    def told_of(self) -> AlarmKind:
        """Its row in the table of kinds."""
        return ALARMS[self.kind]

    @property
    def waits(self) -> bool:
        """Whether it still waits for somebody to acknowledge it: it is shown on every page until then."""
        return self.state in (State.RAISED, State.GONE)

    @property
    def stands(self) -> bool:
        """Whether it is not over."""
        return self.state in (State.RAISED, State.ACKNOWLEDGED, State.GONE)


def moved(state: State, step: Step) -> State:
    """The state after a step; raises NotInItsLife."""
    after = LIFE[state].get(step)
    if after is None:
        raise NotInItsLife(f"an alarm that is {state.value} cannot be {step.value}")
    return after


# ---------------------------------------------------------------------- the steps, as values


def raised(
    before: Alarm | None, kind: str, place: str, what: str, at: int, *, since: int | None = None, entry: int = 0,
    count: int = 1,
) -> Alarm:
    """The alarm after it was raised ``count`` times more; raises KeyError for an unknown kind.

    One that stands counts up; when somebody had acknowledged it, or its cause had gone, its escalation begins anew.
    """
    momentary = ALARMS[kind].momentary
    began = at if since is None else since
    if before is None or before.state is State.CLEARED:
        return Alarm(kind, place, State.RAISED, what, began, at, count, entry)
    if before.state is State.ACKNOWLEDGED and not momentary:
        raise NotInItsLife("its cause holds, and somebody has acknowledged it")
    after = moved(before.state, Step.RAISED)
    counted = before.count + count
    if before.state is State.RAISED:
        return replace(before, what=what, count=counted, entry=max(entry, before.entry))
    return Alarm(kind, place, after, what, began, at, counted, max(entry, before.entry))


def acknowledged(before: Alarm, by: Person, at: int) -> Alarm:
    """The alarm after somebody acknowledged it; raises NotInItsLife."""
    after = moved(before.state, Step.ACKNOWLEDGED)
    return replace(before, state=after, acknowledged_by=by, acknowledged_at=at)


def cleared(before: Alarm, at: int, by: Person | None = None, more: int = 0) -> Alarm:
    """The alarm after its cause is gone, or a person cleared it; ``more``: how often it came again meanwhile."""
    after = moved(before.state, Step.CLEARED)
    return replace(before, state=after, cleared_at=at, cleared_by=by, count=before.count + more)


def escalated(before: Alarm) -> Alarm:
    """The alarm after the next step of its ladder was told; raises NotInItsLife."""
    return replace(before, state=moved(before.state, Step.ESCALATED), rung=before.rung + 1)


def next_rung_at(alarm: Alarm) -> int | None:
    """When the next step of its ladder is due (UTC microseconds), or None when there is none."""
    kind = alarm.told_of
    running = alarm.state is State.RAISED or (alarm.state is State.ACKNOWLEDGED and kind.until_cleared)
    if not running or alarm.rung + 1 >= len(kind.ladder):
        return None
    # Not from the cause's begin where that is long past when it is found: nobody could answer so quickly.
    began = alarm.since if kind.after_s else alarm.raised_at
    return began + kind.ladder[alarm.rung + 1].after_s * 1_000_000


# ---------------------------------------------------------------------- the steps, as entries of a book


def alarm_of(floor: Floor, kind: str, place: str) -> Alarm | None:
    """The alarm of a kind at a place, standing or the last one cleared; None where there was none."""
    row = floor.rows.get(ROW, {}).get(f"{kind}/{place}")
    return None if row is None else alarm_from(row)


def alarms_of(floor: Floor) -> dict[Key, Alarm]:
    """Every alarm of a book, the last cleared ones too; of kinds that this version knows."""
    found = [alarm_from(row) for row in floor.rows.get(ROW, {}).values() if row["kind"] in ALARMS]
    return {alarm.key: alarm for alarm in found}


def raise_alarm(
    floor: Floor, kind: str, place: str, what: str, at: int, *, since: int | None = None, entry: int = 0,
    count: int = 1, table: str | None = None,
) -> Alarm:
    """Enter that an alarm is raised, or raised again; returns it as it then stands."""
    made = raised(alarm_of(floor, kind, place), kind, place, what, at, since=since, entry=entry, count=count)
    more = {"cause": entry, "count": count, "since": at if since is None else since}
    return _enter(floor, made, Step.RAISED, at, table, more)


def clear_alarm(floor: Floor, kind: str, place: str, at: int, *, more: int = 0, table: str | None = None) -> Alarm:
    """Enter that an alarm's cause is gone; raises KeyError where none was raised, NotInItsLife where none stands."""
    made = cleared(_found(floor, kind, place), at, more=more)
    return _enter(floor, made, Step.CLEARED, at, table, {"count": more})


def escalate(
    floor: Floor, kind: str, place: str, to: Iterable[str], at: int, *, table: str | None = None
) -> Alarm:
    """Enter that the next people of an alarm's ladder (roles) are told; raises as ``clear_alarm``."""
    made = escalated(_found(floor, kind, place))
    return _enter(floor, made, Step.ESCALATED, at, table, {"rung": made.rung, "to": list(to)})


def enter_again(floor: Floor, body: Mapping[str, Any], table: str | None, at: int) -> Alarm:
    """Make a daemon's ``alarm`` entry again from its body, for a replay; raises KeyError or ValueError."""
    kind, place, step = body["alarm"], body["place"], Step(body["step"])
    if step is Step.RAISED:
        return raise_alarm(
            floor, kind, place, body["what"], at, since=body["since"], entry=body["cause"], count=body["count"],
            table=table)
    if step is Step.CLEARED:
        return clear_alarm(floor, kind, place, at, more=body["count"], table=table)
    if step is Step.ESCALATED:
        return escalate(floor, kind, place, body["to"], at, table=table)
    raise NotInItsLife(f"the daemon does not make {step.value}")


def keep_alarm(floor: Floor, alarm: Alarm) -> None:
    """Keep an alarm's row; for rules of acts, whose entry is made by the desk."""
    floor.keep(ROW, f"{alarm.kind}/{alarm.place}", alarm_row(alarm))


def _found(floor: Floor, kind: str, place: str) -> Alarm:
    alarm = alarm_of(floor, kind, place)
    if alarm is None:
        raise KeyError(f"{kind}/{place}")
    return alarm


def _enter(
    floor: Floor, alarm: Alarm, step: Step, at: int, table: str | None, more: Mapping[str, Any]
) -> Alarm:
    body = {"alarm": alarm.kind, "place": alarm.place, "step": step.value, "what": alarm.what, **more}
    floor.enter(ROW, at, table=table, body=body)
    keep_alarm(floor, alarm)
    return alarm


# ---------------------------------------------------------------------- rows, places, order


def alarm_row(alarm: Alarm) -> dict[str, Any]:
    """An alarm as its state row has it."""
    made = asdict(alarm)
    made["state"] = alarm.state.value
    for name in ("acknowledged_by", "cleared_by"):
        made[name] = None if made[name] is None else list(made[name])
    return made


def alarm_from(made: Mapping[str, Any]) -> Alarm:
    """An alarm from its state row."""
    people = {name: None if made[name] is None else person_from(made[name])
              for name in ("acknowledged_by", "cleared_by")}
    return Alarm(**{**made, **people, "state": State(made["state"])})


def table_of(kind: str, place: str) -> str | None:
    """The table that an alarm is of, or None."""
    return place if ALARMS[kind].place is Place.TABLE else None


def book_of(plan: FloorPlan, kind: str, place: str) -> str:
    """The book where an alarm is kept: that of its table or meter, else the first."""
    where = ALARMS[kind].place
    if where is Place.TABLE and place in plan.tables:
        return plan.tables[place].book
    if where is Place.METER and place in plan.meters:
        return plan.meters[place].book
    return plan.books[0]


def worst_first(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Alarms in the order in which people should look: what waits for somebody, then what stops play, then by kind."""
    return tuple(sorted(alarms, key=lambda one: (
        not one.waits, not one.told_of.stops, ORDER[one.kind], one.raised_at, one.place)))


def place_words(alarm: Alarm) -> str:
    """Where, in the floor's words: ``table PG-01``, ``sign led-1``, ``meter pg-link``; empty for the whole floor."""
    return "" if alarm.place == FLOOR else f"{alarm.told_of.place.value} {alarm.place}"


def alarm_json(alarm: Alarm) -> dict[str, Any]:
    """An alarm as the API, MQTT and the webhook tell it; times in UTC microseconds, 0: not yet."""
    by = alarm.acknowledged_by
    return {
        "alarm": alarm.kind, "place": alarm.place, "where": place_words(alarm), "title": alarm.told_of.title,
        "what": alarm.what, "remedy": alarm.told_of.remedy, "state": alarm.state.value, "since": alarm.since,
        "raised_at": alarm.raised_at, "count": alarm.count, "acknowledged_by": None if by is None else by.id,
        "acknowledged_at": alarm.acknowledged_at, "cleared_at": alarm.cleared_at}
