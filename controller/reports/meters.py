"""The meter sheet, and the sheet on which staff write what the signs read (R-01, R-03, R-05, R-79, R-80). Pure."""

from controller.money import format_cents, format_rate, whole_cents
from controller.plan import FloorPlan
from controller.reports.awards import HIT_KINDS, told_of
from controller.reports.games import Games
from controller.reports.movements import INSIDE, Movements, balance, meters_of
from controller.reports.reading import Balances, Reading, Scope, body_of, facts
from controller.reports.report import (
    Cell,
    Check,
    Column,
    Kind,
    Report,
    Rows,
    cents,
    count,
    money,
    number,
    standing,
    when,
)
from controller.reports.reserve import people_of, reason_of

DAYS_SHOWN = 400
"""Days of the daily displayed amounts at most; more are left out at the beginning, and said so."""

_BY_PEOPLE = frozenset(("meter-adjusted", "meter-transferred", "meter-retired", "seed-recovered"))


def meter_sheet(reading: Reading, scope: Scope) -> Report:
    """Every meter as it stood at the end of the range, with its parameters, lifetime totals and the range's counts."""
    now = Rows("Meters at the end of the range", Column("Meter"), Column("Name"), standing("Displayed, with fraction"),
               standing("Next-jackpot money"), standing("Above the limit"), standing("Pending awards"), Column("Base"),
               Column("Seed"), Column("Limit"), Column("Rate of progression"), Column("Rate for next-jackpot money"),
               Column("Tables"))
    life = Rows("Lifetime totals at the end of the range", Column("Meter"), money("Contributed"),
                money("Put in by the house"), money("Paid by equipment"), money("Paid by attendant"),
                money("Progressive paid in all"), money("Waiting to be paid"))
    within = Rows("In the range", Column("Meter"), count("Games"), count("Wagers"), cents("Wagered"),
                  money("Contributed"), money("Won"), money("Paid"))
    checks = []
    for book in reading.books():
        closing, counts = reading.balances(book, scope.end), _Counts()
        moved, games = Movements(), Games(reading, book)
        for entry in reading.entries(book, scope.start, scope.end):
            moved.take(entry)
            for game in games.take(entry):
                counts.take(game.wagers, reading.plan_at(book, game.entry), game.table)
        for game in games.rest(scope):
            counts.take(game.wagers, reading.plan_at(book, game.entry), game.table)
        plan = reading.plan_before(book, scope.end)
        for meter in meters_of(closing, also=[one.id for one in plan.meters.values() if one.book == book]):
            if not scope.has_meter(meter):
                continue
            now.add(*_now(plan, meter, closing))
            paid = balance(closing, meter, "paid")
            contributed = -balance(closing, meter, "players")
            house = -balance(closing, meter, "house")
            life.add(meter, contributed, house, 0, paid, paid, balance(closing, meter, "pending"))
            flow = moved.all_of(meter)
            games_, wagers, wagered = counts.of(meter)
            within.add(meter, games_, wagers, wagered, -flow.of("players"), flow.of("pending") + flow.of("paid"),
                       flow.of("paid"))
            checks.append(Check(
                f"{meter}: displayed + next-jackpot money + above the limit + pending = contributed + put in by the "
                "house - paid",
                balance(closing, meter, *INSIDE, "pending"), contributed + house - paid))
    notes = ("At a live table nothing is paid by equipment; the total is kept for games that will (R-05).",
             "Contributed: what wagers that stand have added; a misdeal's contributions are the house's.")
    return Report("meter-sheet", "Meter sheet", tuple(facts(reading, scope)),
                  (now.table(totals=False), life.table(), within.table()), tuple(checks), notes)


def _now(plan: FloorPlan, meter: str, closing: Balances) -> list[Cell]:
    amounts: list[Cell] = [balance(closing, meter, account) for account in (*INSIDE, "pending")]
    found = plan.meters.get(meter)
    if found is None:
        return [meter, "not in the configuration", *amounts, "", "", "", "", "", ""]
    rates = sorted({feed.rate_ppm for table in plan.tables.values() for spot in table.spots for feed in spot.feeds
                    if feed.meter == meter})
    limit = "none" if found.limit_cents is None else format_cents(found.limit_cents)
    return [meter, found.name, *amounts, format_cents(found.base_cents), format_cents(found.seed_cents), limit,
            ", ".join(format_rate(rate) for rate in rates), format_rate(found.reserve_ppm),
            ", ".join(plan.linked_tables(meter))]


class _Counts:
    """Games and wagers that fed each meter."""

    def __init__(self) -> None:
        self._of: dict[str, list[int]] = {}

    def take(
        self, wagers: list[tuple[int, str, int]], plan: FloorPlan, table: str
    ) -> None:
        """One game: it counts for every meter that one of its wagers feeds."""
        feeds = {spot.id: [feed.meter for feed in spot.feeds] for spot in plan.tables[table].spots}
        fed: set[str] = set()
        for _, spot, wager in wagers:
            for meter in feeds[spot]:
                row = self._of.setdefault(meter, [0, 0, 0])
                row[1] += 1
                row[2] += wager
                fed.add(meter)
        for meter in fed:
            self._of[meter][0] += 1

    def of(self, meter: str) -> tuple[int, int, int]:
        """Games, wagers, cents."""
        games, wagers, wagered = self._of.get(meter, [0, 0, 0])
        return games, wagers, wagered


def displayed(reading: Reading, scope: Scope) -> Report:
    """What each sign had to show at the end of every gaming day, and a sheet to write down what it did show."""
    ends, at, left_out = [], scope.end, 0
    while at > scope.start:
        ends.append(at)
        at = scope.day_start_before(at)
    if len(ends) > DAYS_SHOWN:
        left_out, ends = len(ends) - DAYS_SHOWN, ends[:DAYS_SHOWN]
    daily = Rows("Displayed at the end of each day", when("At"), Column("Meter"), cents("Displayed"),
                 cents("Change"), Column("Wins and lowerings in the day"))
    read = Rows("Signs as staff read them in the range", when(), Column("Meter"), cents("Read on the sign"),
                cents("The ledger said"), cents("Difference"), Column("By"), Column("Note"), number("Entry"))
    sheet = Rows("Reading sheet", Column("Meter"), Column("Name"), cents("The ledger says"),
                 Column("Read on the sign"), Column("Difference"), Column("Time and signature"))
    for book in reading.books():
        wins = _wins_by_day(reading, book, scope)
        for entry in reading.seldom_within(book, ("sign-read",), scope.start, scope.end):
            body = body_of(entry)
            fields, told = body["fields"], body["told"]
            if scope.has_meter(fields["meter"]):
                read.add(entry.at, fields["meter"], fields["read"], told["meter"], told["difference"], people_of(body),
                         reason_of(body), entry.number)
        before = reading.balances(book, scope.start if not left_out else scope.day_start_before(ends[-1]))
        plan = reading.plan_before(book, scope.end)
        for end in reversed(ends):
            after = reading.balances(book, end)
            for meter in meters_of(after, also=[one.id for one in plan.meters.values() if one.book == book]):
                if scope.has_meter(meter):
                    shown = whole_cents(balance(after, meter, "display"))
                    change = shown - whole_cents(balance(before, meter, "display"))
                    daily.add(min(end, reading.last(book)[1]), meter, shown, change,
                              str(wins.get((scope.day(end - 1).isoformat(), meter), 0)))
            before = after
        for meter in meters_of(before, also=[one.id for one in plan.meters.values() if one.book == book]):
            if scope.has_meter(meter):
                name = plan.meters[meter].name if meter in plan.meters else ""
                sheet.add(meter, name, whole_cents(balance(before, meter, "display")), "", "", "")
    notes = ["Write what the sign reads, at the same moment on every sign. A difference is an alarm: call the shift "
             "manager and the technician, and pay nobody less than the sign said (R-79).",
             "An amount may fall only on a day with a win, or where people have lowered it."]
    if left_out:
        notes.append(f"{left_out} earlier days are left out; ask for a shorter range.")
    return Report("displayed", "Daily displayed amounts and reading sheet", tuple(facts(reading, scope)),
                  (daily.table(totals=False), read.table(totals=False), sheet.table(totals=False)),
                  (*_falls(daily), *_differences(read)), tuple(notes))


def _differences(read: Rows) -> list[Check]:
    """A sign that showed another amount than the meter had."""
    return [Check(f"{row[1]}, entry {row[7]}: read on the sign = the ledger", shown, said, Kind.MONEY)
            for row in read.table().rows if isinstance(shown := row[2], int) and isinstance(said := row[3], int)]


def _falls(daily: Rows) -> list[Check]:
    """A displayed amount that fell on a day without a reason."""
    return [Check(f"{row[1]}: fell on a day without a win or a lowering", change, 0) for row in daily.table().rows
            if isinstance(change := row[3], int) and change < 0 and row[4] == "0"]


def _wins_by_day(reading: Reading, book: str, scope: Scope) -> dict[tuple[str, str], int]:
    """How many settlements, and changes by people, moved each meter on each day."""
    made: dict[tuple[str, str], int] = {}
    for entry in reading.seldom_within(book, HIT_KINDS | _BY_PEOPLE, scope.start, scope.end):
        named = {posting.meter for posting in entry.postings} if entry.kind in _BY_PEOPLE else told_of(entry).get(
            "settled", {})
        for meter in named:
            key = (scope.day(entry.at).isoformat(), meter)
            made[key] = made.get(key, 0) + 1
    return made
