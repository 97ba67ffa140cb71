"""What the house owes and may owe at the end of the range, and what is still open (R-85). Pure.

Meters, reserves and pending come from postings. Fixed parts, returned wagers and envy are the house's and touch no
meter: they are re-added from the hands and from what people paid, since the ledger's beginning.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from controller.journal import Entry
from controller.money import MICROCENTS_PER_CENT
from controller.reports.awards import HIT_KINDS, Awards, Change, Hand
from controller.reports.movements import balance, meters_of
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Report, Rows, cents, money, number, when

_PAID = frozenset(("award-paid", "paid-in-error", "envy-paid", "envy-unclaimed"))
_STEPS = frozenset(("award-verified", "award-released"))
_OPEN_KINDS = HIT_KINDS | _PAID | _STEPS | {"wager-added", "wager-removed"}
OPEN_MAX = 100_000
"""Open awards followed at once; a floor with more has other troubles, and the report says so."""


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


class OpenAwards:
    """Every award that is not wholly paid at an instant."""

    def __init__(self) -> None:
        self.open: dict[tuple[str, int, int, str], Open] = {}
        self.lost = 0

    def follow(self, reading: Reading, book: str, end: int) -> None:
        """Walk through a book's awards from its beginning to an instant."""
        awards = Awards(reading, book)
        last = reading.last_before(book, end)
        for entry in reading.seldom(book, _OPEN_KINDS, 1, last):
            if entry.at >= end:
                continue
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


def liability(reading: Reading, scope: Scope) -> Report:
    """Meters, reserves, pending awards, fixed parts, unpaid envy, and what the house adds if every meter is hit now."""
    own = Rows("By meter at the end of the range", Column("Meter"), money("Displayed"), money("Reserve"),
               money("Overflow"), money("Pending awards"), money("In all"), money("Seed exposure"))
    parts = Rows("Owed to players", Column("What"), cents("Amount"))
    checks: list[Check] = []
    found = OpenAwards()
    for book in reading.books():
        found.follow(reading, book, scope.end)
        closing, plan = reading.balances(book, scope.end), reading.plan_before(book, scope.end)
        for meter in meters_of(closing, also=[one.id for one in plan.meters.values() if one.book == book]):
            if not scope.has_meter(meter):
                continue
            figures = [balance(closing, meter, account) for account in ("display", "reserve", "overflow", "pending")]
            seed = plan.meters[meter].seed_cents * MICROCENTS_PER_CENT if meter in plan.meters else 0
            own.add(meter, *figures, sum(figures), max(0, seed - figures[1]))
            unpaid = sum(dict(each.hand.won).get(meter, 0) for each in found.open.values() if not each.paid)
            checks.append(Check(f"{meter}: shares of the awards not paid = pending in the ledger",
                                unpaid * MICROCENTS_PER_CENT, figures[3]))
    waiting = list(found.of(scope))
    unpaid_hands = [each.hand for each in waiting if not each.paid]
    parts.add("Shares of meters, pending", sum(hand.from_meters for hand in unpaid_hands))
    parts.add("Fixed parts", sum(hand.fixed for hand in unpaid_hands))
    parts.add("Wagers to return", sum(hand.returned for hand in unpaid_hands))
    parts.add("Envy not paid", sum(each.envy_owed for each in waiting))
    notes = ["Seed exposure: what the house adds if the meter is hit now, after the reserve has given what it has.",
             "Envy that nobody claimed stays owed."]
    if found.lost:
        notes.append(f"{found.lost:,} further open awards were not followed: their fixed parts and envy are missing.")
    return Report("liability", "Liability", tuple(facts(reading, scope)), (own.table(), parts.table()), tuple(checks),
                  tuple(notes))


def open_items(reading: Reading, scope: Scope) -> Report:
    """Everything not finished at the end of the range: awards and envy to pay, count differences, losses to accept."""
    rows = Rows("Awards and envy not paid", when("Hit"), Column("Table"), number("Game"), number("Seat"),
                Column("Hand"), Column("State"),
                cents("Due"), cents("Envy owed"), cents("Of it unclaimed"), number("Entry"))
    stopped = Rows("Waiting for people", when("Since"), Column("Table"), Column("What"), number("Entry"))
    found = OpenAwards()
    for book in reading.books():
        found.follow(reading, book, scope.end)
        for entry, words in _waiting(reading, book, scope):
            stopped.add(entry.at, entry.table, words, entry.number)
    for each in found.of(scope):
        rows.add(each.at, each.hand.table, each.hand.game, each.hand.seat, each.hand.label, each.state, each.owed,
                 each.envy_owed, each.unclaimed, each.entry)
    return Report("open-items", "Open items", tuple(facts(reading, scope)), (rows.table(), stopped.table()))


def _waiting(reading: Reading, book: str, scope: Scope) -> Iterator[tuple[Entry, str]]:
    """Losses and stops that nobody has put right before the end."""
    losses: dict[str | None, Entry] = {}
    stop: Entry | None = None
    last = reading.last_before(book, scope.end)
    for entry in reading.seldom(book, ("loss", "loss-accepted", "loss-accepted-by", "stop", "clear"), 1, last):
        if entry.at >= scope.end:
            continue
        if entry.kind == "loss":
            losses[entry.table] = entry
        elif entry.kind.startswith("loss-accepted"):
            losses.pop(entry.table, None)
        else:
            stop = entry if entry.kind == "stop" else None
    for table, entry in losses.items():
        if scope.has_table(table):
            kind = body_of(entry)["kind"]
            words = "messages of the table unit are lost" if kind == "loss" else "the table unit counts other wagers"
            yield entry, f"{words}: two people accept it"
    if stop is not None:
        yield stop, f"the book is stopped: {body_of(stop)['reason']}"
