"""What people did lately, and what waits for them: at the awards of the whole floor, and at one table.

Read from the ledger in bounded pieces. Amounts in cents, times in UTC microseconds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from controller import award, rounds
from controller.acts import KINDS
from controller.award_lives import act_of
from controller.floor_state import Round, StateRow, unexplained
from controller.ledger.reader import Reader
from controller.money import format_cents
from controller.people import Person
from controller.plan import FloorPlan

GAMES_READ = 200
"""Latest games with a hand that are read for what was done."""
ENVY_GAMES_MAX = 1_000
"""Latest games of a book with envy that nobody has dealt with."""
TABLE_ACTS_MAX = 30
_TABLE_ENTRIES_READ = 300
_TABLE_KINDS = ("table-opened", "table-closed", "loss", "loss-accepted", "loss-accepted-by")
_LOSS_TITLES = {"loss": "The table unit lost messages or counts otherwise", "loss-accepted": "The loss is accepted"}


class DoneAward(NamedTuple):
    """One award that waits for nobody: paid, refused, withdrawn. ``at`` and ``by`` of its last step."""

    table: str
    game: int
    seat: int
    label: str
    cents: int
    state: str
    at: int
    by: tuple[str, ...]


class EnvyOwed(NamedTuple):
    """Envy of one seat for one hand that nobody has dealt with, and may be paid now."""

    table: str
    game: int
    seat: int
    spot: str
    to: int
    cents: int


class AwardsLately(NamedTuple):
    """What stands beside the waiting awards: envy that is owed, what was done, and seats in doubt (0: all) by game."""

    envy: tuple[EnvyOwed, ...]
    done: tuple[DoneAward, ...]
    doubted: Mapping[tuple[str, int], tuple[int, ...]]


class Owed(NamedTuple):
    """One thing that a table still owes, however old: an award that waits for people, or envy that is not paid."""

    game: int
    seat: int
    what: str
    cents: int
    state: str

    def words(self) -> str:
        """``game 41, seat 3: Royal flush, $505.00, not verified``."""
        return f"game {self.game:,}, seat {self.seat}: {self.what}, {format_cents(self.cents)}, {self.state}"


OWED_WORDS = {award.PENDING: "not verified", award.VERIFIED: "verified, not paid",
              award.RELEASED: "released, not paid", "unclaimed": "not claimed, still due"}


class TableAct(NamedTuple):
    """What was done about a table: opened, closed, a loss and who accepted it. ``people`` empty: the controller."""

    at: int
    title: str
    people: tuple[Person, ...]
    note: str


class AwardLog:
    """Reads what waits and was done at awards. The whole ledger is searched once, then only what is new. Threadsafe."""

    def __init__(self, reader: Reader, plan: FloorPlan) -> None:
        self._reader, self._plan, self._guard = reader, plan, Lock()
        self._owed: dict[str, dict[str, list[EnvyOwed]]] = {}
        self._seen: dict[str, int] = {}

    def lately(self) -> AwardsLately:
        """The newest of all books of the plan; raises LedgerError. Blocks: not for a loop."""
        with self._guard:
            found = [(book, self._reader.states(book, "award", GAMES_READ)) for book in self._plan.books]
            for book, rows in found:
                self._follow(book, rows)
            owed = [one for book, _ in found for lines in self._owed[book].values() for one in lines]
        return _lately(self._plan, owed, [row for _, rows in found for row in rows])

    def _follow(self, book: str, rows: Sequence[StateRow]) -> None:
        """Bring what is owed up to date with a book's newest rows."""
        fresh = [row for row in rows if row.number > self._seen.get(book, 0)]
        if book not in self._seen or len(fresh) == GAMES_READ:
            fresh = self._reader.states(book, "award", ENVY_GAMES_MAX, having=f',"{award.PENDING}"]')
            self._owed[book] = {}
        kept = self._owed[book]
        for row in reversed(fresh):
            kept.pop(row.key, None)
            lines = list(_lines_owed(self._plan, row))
            if lines:
                kept[row.key] = lines
        for key in list(kept)[:-ENVY_GAMES_MAX]:
            del kept[key]
        self._seen[book] = max([row.number for row in rows], default=0)


def _lately(plan: FloorPlan, owed: Sequence[EnvyOwed], rows: Sequence[StateRow]) -> AwardsLately:
    done: list[DoneAward] = []
    doubted: dict[tuple[str, int], tuple[int, ...]] = {}
    for row in rows:
        table, game, made = _read(row)
        done += _done(plan, table, game, made)
        doubted[table, game] = _doubted(made["round"])
    return AwardsLately(tuple(owed), tuple(sorted(done, key=lambda one: -one.at)), doubted)


def _doubted(made: Mapping[str, Any]) -> tuple[int, ...]:
    since = made.get("since", {})
    seats = tuple(since.get("doubted", ()))
    open_ = unexplained(made["chips"], len(made["wagers"]), since.get("explained"), bool(seats))
    return (*seats, 0) if open_ else seats


def _read(row: StateRow) -> tuple[str, int, dict[str, Any]]:
    table, _, game = row.key.rpartition("/")
    return table, int(game), json.loads(row.body)


def _lines_owed(plan: FloorPlan, row: StateRow) -> Iterator[EnvyOwed]:
    table, game, made = _read(row)
    states = {(one["seat"], one["spot"]): one["state"] for one in made["awards"]}
    for seat, spot, to, cents, state in made.get("lines", ()):
        if state == award.PENDING and table in plan.tables \
                and states.get((seat, spot)) not in (award.PENDING, award.TRAY, award.IN_ERROR):
            yield EnvyOwed(table, game, seat, spot, to, cents)


def _done(plan: FloorPlan, table: str, game: int, made: Mapping[str, Any]) -> Iterator[DoneAward]:
    stood = [(one, sum(one["meters"].values()) + one["fixed"] + one["returned"]) for one in made["awards"]]
    for one, cents in (*stood, *((one, one["due"]) for one in made.get("past", ()))):
        if one["state"] in award.OPEN or one["state"] == award.TRAY:
            continue
        last = [step for step in one["steps"] if step["step"] != "slip"][-1]
        label = _label(plan, table, one["spot"], one["outcome"])
        yield DoneAward(table, game, one["seat"], label, cents, one["state"], last["at"], tuple(last["by"]))


def _label(plan: FloorPlan, table: str, spot: str, outcome: str) -> str:
    known = plan.tables[table].spot.get(spot) if table in plan.tables else None
    prize = known.prizes.get(outcome) if known is not None else None
    return outcome if prize is None else prize.label


def read_owed(reader: Reader, plan: FloorPlan, table: str) -> tuple[Owed, ...]:
    """All that one table owes, the oldest game first; raises LedgerError. Blocks: not for a loop."""
    found = [one for one in reader.games_owing(plan.tables[table].book) if one.plan.id == table]
    return tuple([owed for one in sorted(found, key=lambda one: one.game) for owed in _owed(one)])


def _owed(found: Round) -> Iterator[Owed]:
    made = rounds.award_row(found, 0)
    for one in made["awards"]:
        if one["state"] in award.OPEN:
            label = found.plan.spot[one["spot"]].prizes[one["outcome"]].label
            cents = award.due_cents(found, (one["seat"], one["spot"]))
            yield Owed(found.game, one["seat"], label, cents, OWED_WORDS[one["state"]])
    for seat, _, to, cents, state in made["lines"]:
        if state not in (award.PAID, award.TRAY, award.CANCELLED):
            words = "not paid" if state == award.PENDING else OWED_WORDS[state]
            yield Owed(found.game, to, f"envy for the hand of seat {seat}", cents, words)


def read_table_acts(reader: Reader, plan: FloorPlan, table: str) -> tuple[TableAct, ...]:
    """The latest of one table, newest first; raises LedgerError. Blocks: not for a loop."""
    found = []
    for entry in reader.entries(plan.tables[table].book, latest=_TABLE_ENTRIES_READ, kinds=_TABLE_KINDS):
        if entry.table != table:
            continue
        body = json.loads(entry.body)
        act = act_of(entry, body)
        if act is None:
            found.append(TableAct(entry.at, _LOSS_TITLES[entry.kind], (), str(body.get("reason", ""))))
        else:
            note = str(act.fields.get("reason") or act.fields.get("note") or "")
            found.append(TableAct(entry.at, KINDS[entry.kind].title, act.people, note))
    return tuple(found[:TABLE_ACTS_MAX])
