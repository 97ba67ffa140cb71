"""What the house owes and may owe at the end of the range, and what is still open (R-85). Pure.

Meters, reserves and pending come from postings. Fixed parts, returned wagers and envy are the house's and touch no
meter: they are re-added from the hands and from what people paid, since the ledger's beginning.
"""

from controller.money import MICROCENTS_PER_CENT
from controller.reports.movements import balance, meters_of
from controller.reports.open_awards import OpenAwards
from controller.reports.reading import Reading, Scope, facts
from controller.reports.report import Check, Column, Report, Rows, cents, money, number, when
from controller.reports.standing import standing


def liability(reading: Reading, scope: Scope) -> Report:
    """Meters, reserves, pending awards, fixed parts, unpaid envy, and what the house adds if every meter is hit now."""
    own = Rows("By meter at the end of the range", Column("Meter"), money("Displayed"),
               money("Next-jackpot money"), money("Above the limit"), money("Pending awards"), money("In all"),
               money("Seed exposure"))
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
    notes = ["Seed exposure: what the house adds if the meter is hit now, after all next-jackpot money has been given.",
             "Envy that nobody claimed stays owed."]
    if found.lost:
        notes.append(f"{found.lost:,} further open awards were not followed: their fixed parts and envy are missing.")
    return Report("liability", "Liability", tuple(facts(reading, scope)), (own.table(), parts.table()), tuple(checks),
                  tuple(notes))


def open_items(reading: Reading, scope: Scope) -> Report:
    """Everything not finished at the end of the range: awards and envy to pay, and all else that waits for people."""
    rows = Rows("Awards and envy not paid", when("Hit"), Column("Table"), number("Game"), number("Seat"),
                Column("Hand"), Column("State"),
                cents("Due"), cents("Envy owed"), cents("Of it unclaimed"), number("Entry"))
    waits = Rows("Waiting for people", Column("What"), when("Since"), Column("Table"), Column("Meter"),
                 Column("What is to be done"), number("Entry"))
    found = OpenAwards()
    for book in reading.books():
        found.follow(reading, book, scope.end)
        for item in standing(reading, book, scope):
            waits.add(item.sort, item.at, item.table, item.meter, item.words, item.entry)
    for each in found.of(scope):
        rows.add(each.at, each.hand.table, each.hand.game, each.hand.seat, each.hand.label, each.state, each.owed,
                 each.envy_owed, each.unclaimed, each.entry)
    notes = ("What falls due by itself, such as checks and readings, stands in the due list.",)
    return Report("open-items", "Open items", tuple(facts(reading, scope)), (rows.table(), waits.table()), (), notes)
