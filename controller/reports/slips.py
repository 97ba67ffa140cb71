"""The slip register: each slip by its number, what has become of it, missing numbers, and slips by hand. Pure.

The state of a slip is that of its award at the range's end (R-58).
"""

from dataclasses import dataclass
from typing import Any

from controller import award
from controller.journal import Entry
from controller.reports.awards import HIT_KINDS, instead_of, told_of
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, cents, number, when
from controller.reports.reserve import people_of, reason_of
from controller.slip import slip_name

NUMBERS_MAX = 1_000_000
"""Slip numbers compared at most."""
_STATE_AFTER = {"award-verified": "verified", "award-released": "released", "award-paid": "paid",
                "paid-in-error": "paid in error"}
_ENDED = {"award-refused": "refused"}
"""What an award is that stands no more after such an entry; after any other it was withdrawn."""
_KINDS = frozenset((*HIT_KINDS, *_STATE_AFTER, "slip-printed"))


@dataclass(slots=True)
class _Life:
    """One award of which a slip was printed: its hand, cents, and what it is."""

    outcome: str
    due: int
    state: str


class _Slips:
    """The awards of the games of which slips were printed, followed up to the range's end."""

    def __init__(self, reading: Reading, book: str, games: set[tuple[str | None, int | None]], last: int) -> None:
        self.of_number: dict[int, _Life] = {}
        self._standing: dict[tuple[Any, ...], _Life] = {}
        self._gone: dict[tuple[Any, ...], _Life] = {}
        for entry in reading.seldom(book, _KINDS, 1, last) if games else ():
            if (entry.table, entry.game) in games:
                self._take(entry)

    def _take(self, entry: Entry) -> None:
        if entry.kind in HIT_KINDS:
            self._hands(entry)
            return
        body = body_of(entry)
        place = (entry.table, entry.game, body["fields"]["seat"], body["fields"]["spot"])
        life = self._standing.get(place) or self._gone.get(place)
        if life is None:
            return
        if entry.kind == "slip-printed":
            self.of_number.setdefault(body["told"]["number"], life)
        else:
            life.state = _STATE_AFTER[entry.kind]

    def _hands(self, entry: Entry) -> None:
        """What stands after an entry; what does not any more was refused or withdrawn."""
        told, instead = told_of(entry), instead_of(entry)
        now = {(entry.table, entry.game, one["seat"], one["spot"]): one for one in told["awards"]}
        for place in [place for place in self._standing if place[:2] == (entry.table, entry.game)]:
            life = self._standing[place]
            if place in now and now[place]["outcome"] == life.outcome and place[2:] != instead:
                continue
            if life.state != "paid in error":
                life.state = _ENDED.get(entry.kind, "withdrawn")
            self._gone[place] = self._standing.pop(place)
        for place, one in now.items():
            due = sum(one["meters"].values()) + one["fixed"] + one["returned"]
            life = self._standing.setdefault(place, _Life(one["outcome"], due, ""))
            if not life.state:
                tray = [*place[2:]] in [list(at) for at in told.get("tray", ())]
                life.state = "paid by the dealer" if tray else award.PENDING
            elif life.due != due and life.state in (award.VERIFIED, award.RELEASED):
                life.state = award.PENDING
            life.due = due


def slips(reading: Reading, scope: Scope) -> Report:
    """The prints of the range, and the gaps in all numbers of each series up to the range's end."""
    rows = Rows("Slips printed", Column("Series"), Column("Slip"), Column("Print"), when(), Column("Table"),
                number("Game"), number("Seat"), Column("Hand"), cents("Award"), Column("State"), Column("By"),
                number("Entry"))
    gaps = Rows("Missing numbers", Column("Series"), number("From"), number("To"))
    checks = []
    for book in reading.books():
        last = reading.last_before(book, scope.end)
        printed = [entry for entry in reading.seldom(book, ("slip-printed",), 1, last) if entry.at < scope.end]
        series = slip_name(reading.plan_before(book, scope.end).site, book if len(reading.books()) > 1 else "", 0)[:-7]
        _printed(reading, scope, book, series, printed, rows)
        missing = _gaps(series, {body_of(entry)["told"]["number"] for entry in printed[:NUMBERS_MAX]}, gaps)
        checks.append(Check(f"series {series}: slip numbers missing up to the newest", missing, 0, Kind.COUNT))
    checks.append(Check("numbers of slips written by hand that stand twice", _twice(reading, scope), 0, Kind.COUNT))
    return Report("slips", "Slip register", tuple(facts(reading, scope)),
                  (rows.table(), gaps.table(), _by_hand(reading, scope).table()), tuple(checks))


def _printed(
    reading: Reading, scope: Scope, book: str, series: str, printed: list[Entry], rows: Rows
) -> None:
    """Each print of the range, with the award of its slip."""
    shown = [entry for entry in printed if scope.holds(entry.at) and scope.has_table(entry.table)]
    found = _Slips(reading, book, {(entry.table, entry.game) for entry in shown},
                   reading.last_before(book, scope.end))
    for entry in shown:
        body = body_of(entry)
        slip, copy, fields = body["told"]["number"], body["told"]["copy"], body["fields"]
        life = found.of_number.get(slip)
        words = "first" if copy == 1 else f"reprint {copy - 1}"
        rows.add(series, f"{series}-{slip:06d}", words, entry.at, entry.table, entry.game, fields["seat"],
                 "" if life is None else _label(reading, book, entry, life), 0 if life is None else life.due,
                 "" if life is None else life.state, people_of(body), entry.number)


def _label(reading: Reading, book: str, entry: Entry, life: _Life) -> str:
    table = reading.plan_at(book, entry.number).tables.get(entry.table or "")
    spot = None if table is None else table.spot.get(body_of(entry)["fields"]["spot"])
    prize = None if spot is None else spot.prizes.get(life.outcome)
    return life.outcome if prize is None else prize.label


def _gaps(series: str, seen: set[int], gaps: Rows) -> int:
    """Every number that is missing below the newest; how many."""
    missing, expected = 0, 1
    for slip in sorted(seen):
        if slip > expected:
            gaps.add(series, expected, slip - 1)
            missing += slip - expected
        expected = slip + 1
    return missing


def _by_hand(reading: Reading, scope: Scope) -> Rows:
    """Slips that were written while the controller was down, and entered afterwards."""
    rows = Rows("Slips written by hand", Column("Number on it"), Column("Time on it"), when("Entered"), Column("Table"),
                number("Seat"), Column("Hand"), cents("Handed over"), Column("Closed"), Column("By"), Column("Reason"),
                number("Entry"))
    for book in reading.books():
        closed = _closed(reading, scope, book)
        for entry in reading.seldom_within(book, ("manual-slip",), scope.start, scope.end):
            body = body_of(entry)
            fields = body["fields"]
            if scope.has_table(entry.table):
                rows.add(fields["written"], fields["when"], entry.at, entry.table, fields["seat"], fields["outcome"],
                         fields["handed"], closed.get(fields["written"], ""), people_of(body), reason_of(body),
                         entry.number)
    return rows


def _twice(reading: Reading, scope: Scope) -> int:
    """How many slips written by hand have a number that another one had before, in whatever book and letters."""
    numbers = [body_of(entry)["fields"]["written"].casefold() for book in reading.books()
               for entry in reading.seldom(book, ("manual-slip",), 1, reading.last_before(book, scope.end))]
    return len(numbers) - len(set(numbers))


def _closed(reading: Reading, scope: Scope, book: str) -> dict[str, str]:
    """By number of a slip written by hand: the award or envy that it has closed up to the range's end."""
    made = {}
    for entry in reading.seldom(book, ("award-paid", "envy-paid"), 1, reading.last_before(book, scope.end)):
        told = told_of(entry)
        if "slip" in told:
            what = "envy of " if entry.kind == "envy-paid" else ""
            made[str(told["slip"])] = f"{what}game {entry.game}, seat {body_of(entry)['fields']['seat']}"
    return made
