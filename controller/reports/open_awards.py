"""Awards that are not wholly paid at an instant, found in one pass over what was ever won and paid (R-85). Pure.

Nearly every award of a ledger is paid. A first pass looks only at what entries tell of themselves, and keeps of each
game that still owes something the numbers of its entries; only those games are then looked up by their lock-outs and
followed exactly. What the first pass cannot prove to be settled counts as open, so it may keep too much and never too
little; memory is that of the open games and of the last ``GAMES_KEPT`` settled ones.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.journal import Entry
from controller.reports.awards import GAMES_KEPT, HIT_KINDS, Awards, Change, Hand, instead_of, told_of
from controller.reports.games import CORRECTED
from controller.reports.reading import Reading, Scope, body_of

_PAID = frozenset(("award-paid", "paid-in-error", "envy-paid", "envy-unclaimed"))
_STEPS = frozenset(("award-verified", "award-released"))
_OPEN_KINDS = HIT_KINDS | _PAID | _STEPS | CORRECTED.keys()
OPEN_MAX = 100_000
"""Open awards followed at once; a floor with more has other troubles, and the report says so."""

FEW = 2_000
"""Entries read again one by one; more are looked for in the stream."""


@dataclass(slots=True)
class Open:
    """One award not yet paid, and the seats whose envy for it is not; in cents."""

    hand: Hand
    at: int
    entry: int
    state: str
    paid: bool = False
    in_error: bool = False
    """Found paid in error: no envy is due for it any more."""
    envy_paid: int = 0
    unclaimed: int = 0

    @property
    def owed(self) -> int:
        """What the player is still due."""
        return 0 if self.paid else self.hand.due

    @property
    def envy_owed(self) -> int:
        """What the other seats are still due; unclaimed envy stays owed."""
        return 0 if self.in_error else self.hand.envy - self.envy_paid

    @property
    def settled(self) -> bool:
        """Whether nothing is owed any more."""
        return not self.owed and not self.envy_owed


@dataclass(slots=True)
class _Told:
    """A game by what its entries tell of themselves: what is left of each hand, and the envy of all. Cents."""

    numbers: list[int] = field(default_factory=list)
    due: dict[tuple[int, str], tuple[str, int]] = field(default_factory=dict)
    """By seat and spot: the hand, and what it was won with."""
    done: set[tuple[int, str]] = field(default_factory=set)
    """Those that are paid, by people or by the dealer."""
    tray: set[tuple[int, str]] = field(default_factory=set)
    """Those that the dealer pays, envy and all."""
    alone: bool = False
    """Whether a hand without a wager of its own was ever told, or one in the place of one that was paid in error."""
    envy: int = 0
    envy_paid: int = 0
    by_tray: int | None = 0
    """Of the envy, what the dealer pays; None where the entries alone do not tell."""

    def take(self, entry: Entry) -> None:
        """One entry of the game more."""
        self.numbers.append(entry.number)
        if entry.kind in HIT_KINDS:
            self._stand(entry, told_of(entry))
        elif entry.kind == "award-paid":
            fields = body_of(entry)["fields"]
            self.done.add((fields["seat"], fields["spot"]))
        elif entry.kind == "envy-paid":
            self.envy_paid += body_of(entry)["told"]["cents"]

    def _stand(self, entry: Entry, told: Mapping[str, Any]) -> None:
        """The hands as they stand after an entry; what was paid for another hand or amount counts no more."""
        before, done, tray, envy = dict(self.due), self.done, self.tray, self.envy
        instead = instead_of(entry)
        if instead is not None:
            before.pop(instead, None)
        new = {(seat, spot) for seat, spot in told.get("tray", ())}
        self.due, self.done, self.tray = {}, set(), set()
        moved = set(before)
        for award in told["awards"]:
            place, outcome = (award["seat"], award["spot"]), award["outcome"]
            due = sum(award["meters"].values()) + award["fixed"] + award["returned"]
            self.due[place] = (outcome, due)
            stood = place in before and before[place][0] == outcome
            if stood:
                moved.discard(place)
            else:
                moved.add(place)
            if place in (tray if stood else new):
                self.tray.add(place)
                self.done.add(place)
            elif place in done and before.get(place) == (outcome, due):
                self.done.add(place)
        self.envy = sum(line["cents"] for line in told["envy"])
        self.alone = self.alone or instead is not None or _without_wager(entry)
        if self.by_tray is not None and moved & (self.tray | tray):
            self.by_tray = self.by_tray + self.envy - envy if moved <= self.tray and not moved & tray else None

    @property
    def settled(self) -> bool:
        """Whether surely nothing is owed any more, told without the game's wagers."""
        if any(due for place, (_, due) in self.due.items() if place not in self.done):
            return False
        return not self.envy or (
            not self.alone and self.by_tray is not None and self.envy == self.by_tray + self.envy_paid)


def _without_wager(entry: Entry) -> bool:
    """Whether an entry tells of a hand that has no wager of its own."""
    body = body_of(entry)
    if entry.kind == "hits":
        return any(hit.get("envy_only") for hit in body["message"]["hits"])
    return bool(body["fields"].get("envy_only"))


class _Sieve:
    """The games of a book that may still owe something, of all that were ever hit."""

    def __init__(self, reading: Reading, book: str) -> None:
        self._reading, self._book = reading, book
        self._settled: OrderedDict[tuple[str, int], _Told] = OrderedDict()
        self._last: dict[str, int] = {}
        """By table: its latest game that an entry spoke of."""
        self.open: dict[tuple[str, int], _Told] = {}
        self.lost = 0

    def take(self, entry: Entry) -> None:
        """One entry of a game more."""
        if entry.table is None or entry.game is None:
            return
        key = (entry.table, entry.game)
        told = self.open.pop(key, None) or self._settled.pop(key, None) or self._found(key, entry)
        if told is None:
            return
        told.take(entry)
        if told.settled:
            self._settled[key] = told
            if len(self._settled) > GAMES_KEPT:
                self._settled.popitem(last=False)
        elif len(self.open) < OPEN_MAX:
            self.open[key] = told
        else:
            self.lost += 1

    def _found(self, key: tuple[str, int], entry: Entry) -> _Told | None:
        """A game seen for the first time, or one let go of as settled and now changed: it is read again."""
        table, game = key
        last = self._last.get(table, 0)
        self._last[table] = max(last, game)
        if entry.kind == "hits" and game > last:
            return _Told()
        lock = self._reading.lock_of(self._book, table, game, entry.number)
        if lock is None:
            return None
        told = _Told()
        for earlier in self._reading.seldom(self._book, _OPEN_KINDS, lock.number, entry.number - 1):
            if (earlier.table, earlier.game) == key:
                told.take(earlier)
        return told


def _again(reading: Reading, book: str, wanted: Collection[int]) -> Iterator[Entry]:
    """Some entries once more, rising: a few by their numbers, many in one stream."""
    if len(wanted) <= FEW:
        for number in sorted(wanted):
            yield from reading.between(book, number, number)
        return
    for entry in reading.seldom(book, _OPEN_KINDS, min(wanted), max(wanted)):
        if entry.number in wanted:
            yield entry


class OpenAwards:
    """Every award that is not wholly paid at an instant."""

    def __init__(self) -> None:
        self.open: dict[tuple[str, int, int, str], Open] = {}
        self.lost = 0

    def follow(self, reading: Reading, book: str, end: int) -> None:
        """Find a book's open awards, from its beginning to an instant."""
        sieve = _Sieve(reading, book)
        for entry in reading.seldom(book, _OPEN_KINDS, 1, reading.last_before(book, end)):
            if entry.at < end:
                sieve.take(entry)
        self.lost += sieve.lost
        wanted = {number for told in sieve.open.values() for number in told.numbers}
        awards, begun = Awards(reading, book), set()
        for entry in _again(reading, book, wanted):
            table, game = entry.table or "", entry.game or 0
            if (table, game) not in begun:
                begun.add((table, game))
                lock = reading.lock_of(book, table, game, entry.number)
                if lock is not None:
                    awards.take(lock)
            for change in awards.take(entry):
                self._change(entry, change)
            if entry.kind in _PAID | _STEPS:
                self._said(entry)

    def _change(self, entry: Entry, change: Change) -> None:
        hand, now = change.hand, change.after
        key = (hand.table, hand.game, hand.seat, hand.spot)
        if now is None or now.tray or (not now.due and not now.envy):
            self.open.pop(key, None)
            return
        before = self.open.get(key)
        if before is not None and before.hand.outcome == now.outcome:
            before.hand = now
        elif before is not None or len(self.open) < OPEN_MAX:
            self.open[key] = Open(now, entry.at, entry.number, "pending")
        else:
            self.lost += 1

    def _said(self, entry: Entry) -> None:
        body = body_of(entry)
        fields = body["fields"]
        key = (fields["table"], fields["game"], fields["seat"], fields["spot"])
        found = self.open.get(key)
        if found is None:
            return
        if entry.kind == "award-paid":
            found.paid, found.state = True, "paid"
        elif entry.kind == "paid-in-error":
            found.in_error = True
        elif entry.kind == "envy-paid":
            found.envy_paid += body["told"]["cents"]
        elif entry.kind == "envy-unclaimed":
            found.unclaimed += body["told"]["cents"]
        elif entry.kind in _STEPS:
            found.state = entry.kind.removeprefix("award-")
        if found.settled:
            del self.open[key]

    def of(self, scope: Scope) -> Iterator[Open]:
        """The open awards that a range's filters ask for, the oldest first."""
        for found in sorted(self.open.values(), key=lambda each: (each.at, each.entry)):
            named = scope.meter is None or scope.meter in dict(found.hand.won)
            if scope.has_table(found.hand.table) and named:
                yield found
