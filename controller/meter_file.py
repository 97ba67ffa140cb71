"""What people do about meters, read from the ledger: what is still due, and one meter's changes with who, when and why.

Also a trial of an act on the books as the ledger has them, so that a page can say in full what an act would do before
anybody signs it (DI-03). Amounts are microcents unless named ``..._cents``; times are UTC microseconds.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from controller.acts import KINDS, Act, ActRefused, Is, Why, named
from controller.award_lives import act_of
from controller.floor_state import ACCOUNTS
from controller.journal import Entry
from controller.ledger.reader import Reader
from controller.meter_acts import RULES
from controller.money import format_cents
from controller.outcome import Outcome
from controller.people import Person, person_from
from controller.plan import FloorPlan

CHANGES_READ = 2_000
"""Latest changes of all meters of a book that are read for one meter's."""
DUE_READ = 500
"""Things due of one kind, newest first."""
INSIDE = ACCOUNTS[:4]
_OPENED = "opening"
_KINDS = (*RULES, _OPENED)
_OPENINGS = frozenset((_OPENED, "opening-entered", "opening-accepted"))


class NoticeDue(NamedTuple):
    """A lowering of which the regulator is to be told by ``due`` (R-38). ``entry`` names it within its book."""

    book: str
    entry: int
    meter: str
    at: int
    due: int
    lowered: int
    why: str


class Opening(NamedTuple):
    """A new meter's opening that somebody of another department must accept (R-44)."""

    meter: str
    base_cents: int
    brought_cents: int
    source: str
    by: Person


class Retiring(NamedTuple):
    """An announced retirement: gaming day of the notice, and the one from which the meter may be retired (R-46)."""

    meter: str
    notice: date
    effective: date


@dataclass(frozen=True, slots=True)
class MetersDue:
    """What waits for people at all meters: notices the most urgent first; ``retired``: since when."""

    notices: tuple[NoticeDue, ...]
    openings: Mapping[str, Opening]
    unopened: frozenset[str]
    retiring: Mapping[str, Retiring]
    retired: Mapping[str, int]

    def state(self, meter: str) -> str:
        """``retired``, ``not opened``, ``retirement announced`` or empty."""
        if meter in self.retired:
            return "retired"
        if meter in self.unopened:
            return "not opened"
        return "retirement announced" if meter in self.retiring else ""


class Change(NamedTuple):
    """One thing done to a meter. ``people`` empty: the book's beginning. ``words``: label and text of what was said.

    ``moved``: by account of those inside, before and after; ``house``: what the house put in by it.
    """

    entry: int
    at: int
    kind: str
    title: str
    people: tuple[Person, ...]
    words: tuple[tuple[str, str], ...]
    moved: Mapping[str, tuple[int, int]]
    house: int


@dataclass(frozen=True, slots=True)
class MeterFile:
    """One meter's changes, newest first. ``whole``: none is older than those read."""

    due: MetersDue
    changes: tuple[Change, ...]
    whole: bool

    @property
    def adjusted(self) -> int:
        """What the house put in by all these changes but openings; below zero: what it took."""
        return sum(change.house for change in self.changes if change.kind not in _OPENINGS)


def read_due(reader: Reader, plan: FloorPlan) -> MetersDue:
    """What waits for people at the meters of a plan; raises LedgerError. Blocks: not for a loop."""
    notices: list[NoticeDue] = []
    openings: dict[str, Opening] = {}
    unopened: set[str] = set()
    retiring: dict[str, Retiring] = {}
    retired: dict[str, int] = {}
    for book in plan.books:
        for key, made in _rows(reader, book, "notice-due", "due"):
            notices.append(NoticeDue(book, int(key), made["meter"], made["at"], made["due"], made["lowered"],
                                     made["why"]))
        for key, made in _rows(reader, book, "opening", "base"):
            openings[key] = Opening(key, made["base"], made["brought"], made["source"], person_from(made["by"]))
        for key, made in _rows(reader, book, "retiring", "effective"):
            retiring[key] = Retiring(key, date.fromisoformat(made["notice"]), date.fromisoformat(made["effective"]))
        unopened |= {key for key, _ in _rows(reader, book, "unopened", "")}
        retired |= {key: made["at"] for key, made in _rows(reader, book, "retired", "at")}
    notices.sort(key=lambda notice: (notice.due, notice.entry))
    return MetersDue(tuple(notices), openings, frozenset(unopened), retiring, retired)


def _rows(reader: Reader, book: str, kind: str, member: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """State rows of a kind that still hold something; what is done with leaves ``null``."""
    for row in reader.states(book, kind, DUE_READ, having=f'"{member}":' if member else "{"):
        yield row.key, json.loads(row.body)


def read_meter(reader: Reader, plan: FloorPlan, meter: str) -> MeterFile:
    """One meter of a plan; raises LedgerError. Blocks: not for a loop."""
    entries = reader.entries(plan.meters[meter].book, latest=CHANGES_READ, kinds=_KINDS)
    changes = [_change(entry, meter) for entry in entries]
    return MeterFile(read_due(reader, plan), tuple([one for one in changes if one is not None]),
                     len(entries) < CHANGES_READ)


def _change(entry: Entry, meter: str) -> Change | None:
    """What an entry did to a meter; None: nothing."""
    body = json.loads(entry.body)
    act = act_of(entry, body)
    mine = [posting for posting in entry.postings if posting.meter == meter]
    house = -sum(posting.microcents for posting in mine if posting.account == "house")
    moved = {posting.account: (posting.balance - posting.microcents, posting.balance)
             for posting in mine if posting.account in INSIDE}
    if act is None:
        if body.get("meter") != meter:
            return None
        return Change(entry.number, entry.at, entry.kind, "Opened at its base", (), (), moved, house)
    if meter not in (act.fields.get("meter"), act.fields.get("to"), act.told.get("meter")):
        return None
    return Change(entry.number, entry.at, entry.kind, KINDS[entry.kind].title, act.people,
                  tuple(_words(entry.kind, act.fields)), moved, house)


def _words(kind: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in KINDS[kind].fields:
        given = fields.get(field.name)
        if given is not None and field.name != "meter":
            yield field.label, format_cents(given) if field.kind is Is.MONEY else str(given)


def try_act(reader: Reader, plan: FloorPlan, act: Act, at: int) -> Outcome:
    """What an act of ``meter_acts`` would do now, second signature aside; raises ActRefused or LedgerError.

    It is done on a copy that the ledger gives: nothing comes of it. Blocks: not for a loop.
    """
    kind = KINDS[act.kind]
    if act.by.role not in kind.by:
        raise ActRefused(Why.NOT_ALLOWED, f"{act.by.words()} may not do this: {kind.title}", f"ask {named(kind.by)}")
    meter = str(act.fields.get("meter", ""))
    book = plan.meters[meter].book if meter in plan.meters else plan.books[0]
    return RULES[act.kind](reader.floor(plan, book), act, at)
