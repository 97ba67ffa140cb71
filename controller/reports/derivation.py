"""Jackpot derivation: every movement of a meter since the jackpot before, adding up to what was paid (R-60). Pure.

It goes by the order of the ledger, not by a clock: from the entry that last reset the meter (a 100% award of another
game, or its opening) through the wins of the range. Without a win in the range it derives what the meter stood at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.journal import Entry
from controller.money import MICROCENTS_PER_CENT, PPM, format_rate
from controller.plan import FloorPlan
from controller.reports.awards import HIT_KINDS, Awards, Change, Hand, told_of
from controller.reports.movements import INSIDE, class_of, meters_of
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import (
    CHECKS_SHOWN,
    Check,
    Column,
    Kind,
    Report,
    Rows,
    Table,
    cents,
    count,
    money,
    number,
    standing,
    when,
)
from controller.reports.words import kind_words

OPENINGS = frozenset(("opening", "opening-accepted"))
"""Entries that lay a new meter's base."""
FAILING_SHOWN = 1_000


def derivation(reading: Reading, scope: Scope) -> Report:
    """Start + contributions - awards +- the rest = what the win found; found - awards + seed = what it left."""
    tables: list[Table] = []
    checks: list[Check] = []
    told: list[tuple[str, str]] = []
    for book in reading.books():
        wins = _wins(reading, book, scope)
        meters = [scope.meter] if scope.meter is not None else list(wins)
        known = meters_of(reading.balances(book, scope.end))
        for meter in meters:
            if meter in known:
                made = _Derivation(reading, book, meter, wins.get(meter, []))
                made.follow(scope)
                tables += [made.movements.table(), made.awards.table()]
                checks += made.checks
                told.append((f"{meter} starts", made.start_words(scope)))
    if not tables:
        told.append(("Wins", "none in this range; name a meter to see what it is made of"))
    notes = ("Found and left are the displayed amount, next-jackpot money and what is above the limit together.",
             "Contributions to the next-jackpot money are listed too: they fund the next jackpot, not this one.",
             "A hand entered later in the same game settles the whole game anew: its line is the difference.")
    told = facts(reading, scope) + told
    return Report("derivation", "Jackpot derivation", tuple(told), tuple(tables), tuple(checks), notes)


def _wins(reading: Reading, book: str, scope: Scope) -> dict[str, list[int]]:
    """The entries of the range that settled each meter."""
    made: dict[str, list[int]] = {}
    for entry in reading.seldom_within(book, HIT_KINDS, scope.start, scope.end):
        if scope.has_table(entry.table):
            for meter in told_of(entry).get("settled", {}):
                if scope.has_meter(meter):
                    made.setdefault(meter, []).append(entry.number)
    return made


def _resets(plan: FloorPlan, entry: Entry, meter: str) -> bool:
    """Whether an entry laid a meter anew: its opening, or a standing 100% award of it."""
    if entry.kind in OPENINGS:
        return any(posting.meter == meter for posting in entry.postings)
    told, table = told_of(entry), plan.tables.get(entry.table or "")
    if table is None or meter not in told.get("settled", {}):
        return False
    for award in told["awards"]:
        spot = table.spot.get(award["spot"])
        prize = None if spot is None else spot.prizes.get(award["outcome"])
        if spot is not None and prize is not None and any(
                spot.meter_of[part] == meter and share >= PPM for part, share in prize.shares):
            return True
    return False


@dataclass(slots=True)
class _Derivation:
    """One meter's way from its last reset to the last win of the range."""

    reading: Reading
    book: str
    meter: str
    wins: list[int]
    movements: Rows = field(init=False)
    awards: Rows = field(init=False)
    checks: list[Check] = field(default_factory=list)
    start: Entry | None = None
    held: int = 0
    """Equations that hold and are not listed."""
    amounts: list[int] = field(default_factory=lambda: [0, 0, 0])
    games: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    """By game: its latest settlement of this meter."""

    def __post_init__(self) -> None:
        self.movements = Rows(
            f"{self.meter}: every movement since the jackpot before", number("Entry"), when(), Column("Table"),
            number("Game"), Column("What"), count("Wagers"), money("To the display"),
            money("To next-jackpot money"), money("Above the limit"), standing("Displayed after"))
        self.awards = Rows(
            f"{self.meter}: awards", number("Entry"), when(), Column("Table"), number("Game"), number("Seat"),
            Column("Hand"), Column("Share"), Column("What"),
            standing("Displayed when the game's first hand was entered"), cents("Award from this meter"),
            standing("Displayed after"))

    def start_words(self, scope: Scope) -> str:
        """Where it begins, for people."""
        if self.start is None:
            return "at nothing: it was never opened"
        where = "its opening" if self.start.kind in OPENINGS else f"table {self.start.table}, game {self.start.game}"
        return f"after entry {self.start.number:,}, {where}, {scope.time_words(self.start.at)}"

    def follow(self, scope: Scope) -> None:
        """Walk from the reset on."""
        last = self.wins[-1] if self.wins else self._last_within(scope)
        self.start = self._find_start(self.wins[0] if self.wins else last + 1)
        since = 0
        if self.start is not None:
            since = self.start.number
            self.amounts = self._amounts_after(self.start)
            if self.start.kind not in OPENINGS:
                self.games[self.start.table or "", self.start.game or 0] = told_of(self.start)["settled"][self.meter]
            self.movements.add(since, self.start.at, self.start.table, self.start.game, "starts at", None,
                               *self.amounts, self.amounts[0])
        awards = Awards(self.reading, self.book)
        mismatches = 0
        for entry in self.reading.between(self.book, since + 1, last):
            changes = awards.take(entry)
            mismatches += self._move(entry, changes)
        if not self.wins:
            held = self.reading.balances(self.book, scope.end)
            self.checks.append(Check(
                f"{self.meter}: start + every movement = displayed at the end of the range", self.amounts[0],
                held.get((self.meter, "display"), 0)))
        if self.held:
            self.checks.append(Check(f"{self.meter}: further equations that hold", self.held, self.held, Kind.COUNT))
        self.checks.append(Check(
            f"{self.meter}: movements whose balance in the ledger is another one", mismatches, 0, Kind.COUNT))

    def _last_within(self, scope: Scope) -> int:
        """The last entry made before the range's end."""
        return self.reading.last_before(self.book, scope.end)

    def _find_start(self, first_win: int) -> Entry | None:
        """The newest entry before a win that reset the meter, of another game than the win's own."""
        own: tuple[str | None, int | None] | None = None
        for entry in self.reading.seldom(self.book, HIT_KINDS, first_win, first_win):
            own = (entry.table, entry.game)
        for entry in self.reading.seldom(self.book, HIT_KINDS | OPENINGS, 1, first_win - 1, newest_first=True):
            if (entry.table, entry.game) != own and _resets(
                    self.reading.plan_at(self.book, entry.number), entry, self.meter):
                return entry
        return None

    def _amounts_after(self, entry: Entry) -> list[int]:
        """Display, reserve and overflow after an entry that reset the meter."""
        if entry.kind in OPENINGS:
            return [sum(moved.microcents for moved in entry.postings
                        if moved.meter == self.meter and moved.account == account) for account in INSIDE]
        return list(told_of(entry)["settled"][self.meter]["to"])

    def _move(self, entry: Entry, changes: list[Change]) -> int:
        """One entry: its line, if it moved the meter; how many balances of the ledger differ from ours."""
        before, moved, mismatches = list(self.amounts), dict.fromkeys((*INSIDE, "pending", "house"), 0), 0
        for posting in entry.postings:
            if posting.meter != self.meter:
                continue
            moved[posting.account] = moved.get(posting.account, 0) + posting.microcents
            if posting.account in INSIDE:
                place = INSIDE.index(posting.account)
                self.amounts[place] += posting.microcents
                mismatches += self.amounts[place] != posting.balance
        settled = told_of(entry).get("settled", {}).get(self.meter) if entry.kind in HIT_KINDS else None
        if any(moved[account] for account in INSIDE) or settled is not None:
            self.movements.add(entry.number, entry.at, entry.table, entry.game, _what(entry), self._wagers(entry),
                               *(moved[account] for account in INSIDE), self.amounts[0])
        if settled is not None:
            self._settle(entry, settled, before, moved, changes)
            self._list(entry, changes, settled)
        return mismatches

    def _wagers(self, entry: Entry) -> int | None:
        if entry.kind != "lock":
            return None
        plan = self.reading.plan_at(self.book, entry.number).tables[entry.table or ""]
        feeding = {spot.id for spot in plan.spots if any(feed.meter == self.meter for feed in spot.feeds)}
        return sum(wager["spot"] in feeding for wager in body_of(entry)["message"]["wagers"])

    def _settle(
        self, entry: Entry, settled: Mapping[str, Any], before: list[int], moved: Mapping[str, int],
        changes: list[Change],
    ) -> None:
        """The equations of a settlement: what it found is what the movements add up to; what it left too.

        A game settled as one starts each time from what its first hand found. One settled apart starts from the meter
        as it stands, with the awards laid back that stand no more.
        """
        key, words = (entry.table or "", entry.game or 0), f"{self.meter}, {entry.table} game {entry.game}"
        earlier = self.games.get(key)
        self.games[key] = settled
        found, left = settled["from"], sum(settled["to"])
        if settled["apart"]:
            gone = sum(self._won(change.before) for change in changes) * MICROCENTS_PER_CENT
            new = sum(self._won(change.after) for change in changes) * MICROCENTS_PER_CENT
            self._check(f"{words}, entry {entry.number}: start + movements + awards that stand no more = found",
                        sum(before) + gone, sum(found))
            self._check(f"{words}, entry {entry.number}: found - new awards + the house's part = left",
                        sum(found) - new - moved["house"], left)
            return
        first = before[0] if earlier is None else earlier["from"][0]
        self._check(f"{words}, entry {entry.number}: start + movements = displayed when its first hand was entered",
                    first, found[0])
        stood, since = (sum(found), 0) if earlier is None else (sum(earlier["to"]), sum(earlier["since"]))
        self._check(f"{words}, entry {entry.number}: found - awards + the house's part + contributions since = left",
                    stood - moved["pending"] - moved["house"] + sum(settled["since"]) - since, left)

    def _check(self, what: str, one: int, other: int) -> None:
        """Keep an equation; of many that hold, their number is enough."""
        if one == other and len(self.checks) >= CHECKS_SHOWN:
            self.held += 1
        elif len(self.checks) < CHECKS_SHOWN + FAILING_SHOWN:
            self.checks.append(Check(what, one, other))

    def _list(self, entry: Entry, changes: list[Change], settled: Mapping[str, Any]) -> None:
        for change in changes:
            hand, shares = change.hand, dict(change.hand.shares)
            if self.meter in dict(hand.won):
                self.awards.add(
                    entry.number, entry.at, hand.table, hand.game, hand.seat, hand.label,
                    format_rate(shares.get(self.meter, 0)), change.words, settled["from"][0],
                    self._won(change.after) - self._won(change.before), self.amounts[0])

    def _won(self, hand: Hand | None) -> int:
        return 0 if hand is None else dict(hand.won).get(self.meter, 0)


def _what(entry: Entry) -> str:
    words = {"lock": "contribution", "hits": "win", "opening": "opening"}
    return words.get(entry.kind, f"{kind_words(entry.kind)} ({class_of(entry.kind).value.lower()})")

