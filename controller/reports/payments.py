"""What was paid out, gross and net, and the tax withheld (R-57, R-58, R-59). Pure.

Gross is the award; tax withheld is what the checklist says; net is what the player was due in hand. Nothing withheld
touches a meter: the meter gave the gross award, and the house owes the tax. A payment belongs to its own day.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from controller.journal import Entry
from controller.money import MICROCENTS_PER_CENT
from controller.reports.awards import HIT_KINDS, Awards, Hand, told_of
from controller.reports.not_metered import NOTE, not_metered_table, rows_within
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, cents, count, number, when
from controller.reports.reserve import people_of, reason_of

PEOPLE, DEALER = "Awards paid by people", "Awards paid by the dealer"
ENVY, ENVY_DEALER, BY_HAND = "Envy paid by people", "Envy paid by the dealer", "Slips written by hand"
CLOSED = "Closed by a slip written by hand: beyond the slip"
WAYS = (PEOPLE, DEALER, ENVY, ENVY_DEALER, BY_HAND)
_MONEY = ("Gross", "Tax withheld", "Net", "Handed over", "Handed over beyond the net")
_SLIP = "by a slip written by hand"
_NOTES = (
    "Gross: the award as it was due. Net: gross less the tax withheld, as the checklist has it. What was handed over "
    "beyond the net (or short of it, with a minus) is the house's, never the meter's.",
    "Tax withheld is owed to the tax authority from the payment on; no meter gave more or less for it. A form's number "
    "stands here, a payee's name never does.",
    "Paid by the dealer: awards that the table pays from its tray with the hand; one withdrawn later was paid all the "
    "same. A payment found to be in error stays paid.",
    "A slip written by hand counts when it was entered. The award or envy that it paid is closed by a payment of its "
    "own, which hands nothing over again: it counts only with what the award was beyond the slip, or the tax withheld.")


class _Paid(NamedTuple):
    """One payment in cents. ``gross - withheld = net``, ``net + beyond = handed``."""

    gross: int
    withheld: int
    handed: int
    beyond: int

    @property
    def cells(self) -> tuple[int, int, int, int, int]:
        """The five figures in the order of their columns."""
        return self.gross, self.withheld, self.gross - self.withheld, self.handed, self.beyond


class _Sums:
    """Payments by way and by gaming day, and by what they were paid in."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.ways: dict[str, list[int]] = {way: [0] * 6 for way in WAYS}
        self.days: dict[str, list[int]] = {}
        self.hows: dict[str, list[int]] = {}

    def add(self, at: int, way: str, paid: _Paid, how: str, payments: int = 1) -> None:
        """One payment more; 0: none of its own."""
        day = self._scope.day(at).isoformat()
        for sums, key in ((self.ways, way), (self.days, day), (self.hows, how)):
            row = sums.setdefault(key, [0] * 6)
            for place, figure in enumerate((payments, *paid.cells)):
                row[place] += figure

    def table(self, title: str, head: str, of: Callable[["_Sums"], Mapping[str, list[int]]]) -> Rows:
        """The sums under one heading."""
        rows = Rows(title, Column(head), count("Payments"), *(cents(words) for words in _MONEY))
        for key, row in of(self).items():
            rows.add(key, *row)
        return rows


class _Payments:
    """The payments of a range, as they are read."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        self._reading, self._scope = reading, scope
        self.sums = _Sums(scope)
        self.each, self.closed = (Rows(
            title, when(), Column("Table"), number("Game"), number("Seat"), Column("Bet"),
            Column("Hand"), cents("From meters"), *(cents(words) for words in _MONEY), Column("Paid in"),
            Column("Taxable, form"), Column("By"), number("Entry"))
            for title in (PEOPLE, "Awards that slips written by hand had paid"))
        self.errors = Rows("Found to be paid in error", when(), Column("Table"), number("Game"), number("Seat"),
                           cents("Gross"), Column("By"), Column("Reason"), number("Entry"))
        self.due, self.stood, self.shares, self.posted, self.checklists = 0, 0, 0, 0, 0

    def read(self, book: str) -> None:
        """Every payment of a book in the range."""
        awards = Awards(self._reading, book)
        for entry in self._reading.entries(book, self._scope.start, self._scope.end):
            for change in awards.take(entry):
                hand = change.after
                if hand is not None and hand.tray and change.before is None and self._asked(entry, hand):
                    self._alone(entry, DEALER, hand.due, "from the tray")
                    if hand.envy:
                        self._alone(entry, ENVY_DEALER, hand.envy, "from the tray")
            self._said(book, entry, awards)

    def _asked(self, entry: Entry, hand: Hand | None) -> bool:
        """Whether the filters ask for a hand: its table, and a share of its meter."""
        meter = self._scope.meter
        return self._scope.has_table(entry.table) and (
            meter is None or (hand is not None and meter in dict(hand.won)))

    def _alone(self, entry: Entry, way: str, paid: int, how: str) -> None:
        self.sums.add(entry.at, way, _Paid(paid, 0, paid, 0), how)

    def _said(self, book: str, entry: Entry, awards: Awards) -> None:
        if entry.kind not in ("award-paid", "envy-paid", "manual-slip", "paid-in-error"):
            self._posted(entry)
            return
        body = body_of(entry)
        fields, told = body["fields"], body["told"]
        hand = None if entry.kind == "manual-slip" else awards.standing(entry, fields["seat"], fields["spot"])
        if not self._asked(entry, hand):
            return
        self._posted(entry)
        if entry.kind == "manual-slip":
            self._alone(entry, BY_HAND, fields["handed"], _SLIP)
        elif entry.kind == "envy-paid" and "slip" in told:
            beyond = told["handed"] - told["cents"]
            self.sums.add(entry.at, CLOSED, _Paid(-beyond, 0, 0, beyond), _SLIP, payments=0)
        elif entry.kind == "envy-paid":
            self._alone(entry, ENVY, told["cents"], fields["how"])
        elif entry.kind == "paid-in-error":
            self.errors.add(entry.at, entry.table, entry.game, fields["seat"], told["due"], people_of(body),
                            reason_of(body), entry.number)
        else:
            self._award(book, entry, body, hand)

    def _prove(self, told: Mapping[str, Any], hand: Hand | None) -> None:
        """What a payment says of its award, against the hand; and what its meters gave."""
        self.due += told["due"]
        self.stood += hand.due if hand is not None else 0
        self.shares += sum(told["shares"].values())

    def _posted(self, entry: Entry) -> None:
        """What an entry that the filters ask for moved to the account of what is paid."""
        if self._scope.has_table(entry.table):
            self.posted += sum(posting.microcents for posting in entry.postings
                               if posting.account == "paid" and (self._scope.meter is None
                                                                 or entry.kind == "award-paid"))

    def _award(self, book: str, entry: Entry, body: dict[str, Any], hand: Hand | None) -> None:
        fields, told = body["fields"], body["told"]
        paid = _Paid(told["due"], told.get("withheld", 0), told["handed"], told["difference"])
        each = self.closed if "slip" in told else self.each
        if "slip" in told:
            again = paid._replace(gross=paid.gross - paid.handed, handed=0)
            self.sums.add(entry.at, CLOSED, again, _SLIP, payments=0)
        else:
            self.sums.add(entry.at, PEOPLE, paid, told["how"])
        checklist = _checklist(self._reading, book, entry, paid.withheld)
        self._prove(told, hand)
        self.checklists += checklist.withheld
        each.add(entry.at, entry.table, entry.game, fields["seat"], fields["spot"],
                 hand.label if hand is not None else told["outcome"], sum(told["shares"].values()), *paid.cells,
                 f"slip {told['slip']}" if "slip" in told else told["how"], checklist.words, people_of(body),
                 entry.number)


class _Checklist(NamedTuple):
    """The checklist that a payment rests on: cents withheld, and what it says of tax."""

    withheld: int = 0
    words: str = ""


def _checklist(reading: Reading, book: str, paid: Entry, withheld: int) -> _Checklist:
    """The latest checklist of an award before its payment; one of another amount counts only where it was used.

    ``withheld``: what the payment says, in cents. An award that changed after its checklist may be pending again, and
    then the checklist is void: either is right, and what the payment says must be one of both.
    """
    lock = reading.lock_of(book, paid.table or "", paid.game or 0, paid.number)
    fields = body_of(paid)["fields"]
    place = (paid.table, paid.game, fields["seat"], fields["spot"])
    first = 1 if lock is None else lock.number
    for entry in reading.seldom(book, ("paper-done",), first, paid.number - 1, newest_first=True):
        body = body_of(entry)
        asked = body["fields"]
        if (entry.table, entry.game, asked["seat"], asked["spot"]) != place:
            continue
        found = _Checklist(int(body["told"]["withheld"]), ", ".join(
            str(asked[name]) for name in ("taxable", "form") if name in asked))
        void = found.withheld != withheld == 0 and _changed_since(reading, book, entry, paid)
        return _Checklist() if void else found
    return _Checklist()


def _changed_since(reading: Reading, book: str, checklist: Entry, paid: Entry) -> bool:
    """Whether the award of a checklist became another amount, or stood no more, before it was paid."""
    body = body_of(checklist)
    place, due = (body["fields"]["seat"], body["fields"]["spot"]), body["told"]["due"]
    for entry in reading.seldom(book, HIT_KINDS, checklist.number + 1, paid.number - 1):
        if (entry.table, entry.game) == (paid.table, paid.game):
            now = {(award["seat"], award["spot"]): sum(award["meters"].values()) + award["fixed"] + award["returned"]
                   for award in told_of(entry)["awards"]}
            if now.get(place) != due:
                return True
    return False


def payments(reading: Reading, scope: Scope) -> Report:
    """Every award paid in the range, gross, withheld and net; and what the tables and people paid out in all."""
    found = _Payments(reading, scope)
    for book in reading.books():
        found.read(book)
    sums = found.sums
    ways = sums.table("Paid out in the range", "What", lambda made: made.ways)
    days = sums.table("By gaming day", "Day", lambda made: dict(sorted(made.days.items())))
    hows = sums.table("By what it was paid in", "Paid in", lambda made: dict(sorted(made.hows.items())))
    tables = [ways.table(), days.table(), hows.table(), found.each.table()]
    notes = list(_NOTES)
    tables += [rows.table() for rows in (found.closed, found.errors) if rows.table().rows]
    silent = not_metered_table([row for book in reading.books() for row in rows_within(reading, book, scope)])
    if silent is not None:
        tables.append(silent)
        notes.append(NOTE)
    gross, withheld, handed, beyond = (ways.total(place) for place in (2, 3, 5, 6))
    checks = (
        Check("shares of meters in the awards paid = paid in the ledger", found.shares * MICROCENTS_PER_CENT,
              found.posted),
        Check("awards paid = the hands as they stood when they were paid", found.due, found.stood, Kind.MONEY),
        Check("tax withheld = what the checklists say", withheld, found.checklists, Kind.MONEY),
        Check("gross - tax withheld + handed over beyond the net = handed over", gross - withheld + beyond, handed,
              Kind.MONEY),
        Check("by gaming day = by what it was paid in", days.total(5), hows.total(5), Kind.MONEY),
    )
    return Report("payments", "Payments and tax withheld", tuple(facts(reading, scope)), tuple(tables), checks,
                  tuple(notes))
