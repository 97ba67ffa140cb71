"""The desk: everything that people do goes through ``act``, and becomes one entry or is refused. Pure.

Whoever asks twice with the same act id is told the same again, and nothing is done twice (MO-06, D13). Each act's own
rules are in the room that ``RULES`` names; they check everything before they change anything.
"""

from collections.abc import Callable, Mapping
from datetime import date
from hashlib import sha256
from typing import Any, NamedTuple

from controller import (
    alarm_acts,
    award_acts,
    config_acts,
    corrections,
    day_acts,
    envy_acts,
    meter_acts,
    slip_acts,
    table_acts,
)
from controller.acts import KINDS, Act, Acted, ActRefused, Why, act_body, act_from, check_people
from controller.floor import Floor
from controller.floor_state import canonical
from controller.journal import DAY_RULES, SLIP_RULES
from controller.manual_slips import BY_HAND
from controller.outcome import Outcome
from controller.people import Role
from controller.people_acts import PEOPLE_RULES

DESK = "@desk"
"""The device of people's entries: an act's id is its boot, so that the ledger's unique key holds it (design 8)."""

ON_THE_BOX = frozenset(("people-begun", "person-proposed", "person-enabled", "secret-changed", "secret-set-on-box"))
"""What people also sign on the box, where no daemon runs: who is to clear a stopped book must be able to sign."""

Rule = Callable[[Floor, Act, int], Outcome]

RULES: dict[str, Rule] = {
    **PEOPLE_RULES, **alarm_acts.ALARM_RULES,
    **award_acts.RULES, **envy_acts.RULES, **corrections.RULES, **slip_acts.RULES, **table_acts.RULES,
    **meter_acts.RULES, **config_acts.RULES, **day_acts.RULES,
}
"""By kind of act: its rules."""
_SURVEILLANCE_DID = frozenset(("alarm-acknowledged", "alarm-cleared", "people-begun", "person-change-enabled",
                               "person-enabled", "person-withdrawn"))
"""What surveillance could sign before version 4 of the rules: now it only looks."""


class Named(NamedTuple):
    """A game that an act speaks of: it must be in memory before the act can be done."""

    table: str
    game: int

    @property
    def key(self) -> str:
        """``table/game``."""
        return f"{self.table}/{self.game}"


def names_game(act: Act) -> Named | None:
    """The game that an act speaks of, or None."""
    table, game = act.fields.get("table"), act.fields.get("game")
    return Named(table, game) if isinstance(table, str) and isinstance(game, int) else None


def names_day(floor: Floor, act: Act) -> date | None:
    """The gaming day that an act is about to close, of which the floor must be told how it ended; or None."""
    if act.kind != "day-closed" or act.id in floor.acts or floor.rules < DAY_RULES:
        return None
    return day_acts.read_day(act.fields["day"])


def check(floor: Floor, asked: Act) -> None:
    """Raise ActRefused unless the right people signed, by the table of acts and the floor's configuration."""
    kind, awards = KINDS[asked.kind], floor.plan.awards
    third = kind.third | awards.release if asked.kind == "envy-paid" else kind.third
    if asked.kind == BY_HAND:
        third = awards.release
    if floor.rules < SLIP_RULES and asked.kind in _SURVEILLANCE_DID:
        kind = kind._replace(by=kind.by | {Role.SURVEILLANCE}, second=kind.second and kind.second | {Role.SURVEILLANCE})
    check_people(asked, kind._replace(by=awards.by(asked.kind) or kind.by, third=third))


def act(floor: Floor, asked: Act, at: int) -> Acted:
    """Do an act, or raise ActRefused and change nothing. Raises BrokenInvariant when the books do not add up."""
    if floor.stopped and asked.kind not in ON_THE_BOX and asked.id not in floor.acts:
        raise ActRefused(Why.NOT_NOW, f"book {floor.book} is stopped", "call the technician: two people clear it")
    return _done(floor, asked, at)


def _done(floor: Floor, asked: Act, at: int) -> Acted:
    before = floor.acts.get(asked.id)
    content = f"{asked.kind} {asked.content()}"
    if before is not None:
        if before[0] != content:
            raise ActRefused(Why.ACT_DIFFERS, "this form was sent before with something else in it",
                             "look what has been done, then load the page again")
        return before[1]._replace(before=True)
    check(floor, asked)
    done = RULES[asked.kind](floor, asked, at)
    body = act_body(asked) | {"told": dict(done.told)}
    entry = floor.enter(
        asked.kind, at, table=done.table, game=done.game, device=DESK, boot=asked.id, seq=1, body=body,
        postings=done.postings)
    if done.then is not None:
        done.then()
    floor.follow_resets(at)
    acted = Acted(entry.number, done.told)
    floor.acts[asked.id] = (content, acted)
    return acted


def refuse(floor: Floor, asked: Act, refused: ActRefused, at: int) -> None:
    """Keep a refused act as an entry: who asked for what, and why it was not done (R-108)."""
    fields = {name: _short(said) for name, said in asked.fields.items()}
    body = {"act": act_body(asked) | {"fields": fields}, "kind": asked.kind, "reason": refused.why.value,
            "what": refused.what}
    floor.enter("act-refused", at, table=_table_of(floor, asked), body=body)


def _short(said: object) -> object:
    """What a refusal keeps of a field: of a whole document its hash."""
    return {"sha256": sha256(canonical(said).encode()).hexdigest()} if isinstance(said, dict) else said


def _table_of(floor: Floor, asked: Act) -> str | None:
    table = asked.fields.get("table")
    return table if isinstance(table, str) and table in floor.tables else None


def remember(floor: Floor, act_id: str, kind: str, body: Mapping[str, Any], entry: int) -> None:
    """Take in an act that the ledger has already: it is not done again."""
    known = act_from(kind, act_id, body)
    floor.acts[act_id] = (f"{kind} {known.content()}", Acted(entry, body["told"]))


def again(floor: Floor, kind: str, act_id: str, body: Mapping[str, Any], at: int) -> None:
    """Do an entry's act again, to compare (``verify --replay``); whether the book was stopped is not asked again."""
    if kind == "act-refused":
        floor.enter("act-refused", at, table=_table_in(floor, body), body=canonical(body))
    else:
        _done(floor, act_from(kind, act_id, body), at)


def _table_in(floor: Floor, body: Mapping[str, Any]) -> str | None:
    table = body["act"]["fields"].get("table")
    return table if isinstance(table, str) and table in floor.tables else None
