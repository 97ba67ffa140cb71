"""Every row of the paytables that a range was played on, and which of them nobody keys. Pure.

A prize row with ``keyed = false`` is paid from the tray without being keyed: the ledger cannot know its hits. Reports
that count by row name it, so that nobody reads an absent row, or an empty cell, as no hits (R-03, R-86).
"""

from typing import NamedTuple

from controller.paytable import Prize
from controller.plan import FloorPlan, SpotPlan
from controller.reports.reading import Reading, Scope
from controller.reports.report import Column, Kind, Rows, Table

NOT_METERED = "not metered"
NOTE = ("Not metered: the dealer pays such a hand without keying it. How often it came and what it cost is in no "
        "figure here; an empty cell is not zero.")


class Row(NamedTuple):
    """One prize row at one bet of one table, as a configuration of the range has it."""

    table: str
    bet: str
    paytable: str
    prize: Prize


def rows_within(reading: Reading, book: str, scope: Scope) -> list[Row]:
    """Each row of each bet that could be played in the range, under every configuration of it, once.

    With a table or a meter asked for, only its rows: those of a meter are the ones with a share of it.
    """
    made: dict[Row, None] = {}
    for plan in _plans_within(reading, book, scope):
        for table in plan.tables.values():
            if table.book == book and scope.has_table(table.id):
                for spot in table.spots:
                    for prize in spot.paytable.prizes:
                        if scope.meter is None or scope.meter in _meters(spot, prize):
                            made[Row(table.id, spot.id, spot.paytable.id, prize)] = None
    return list(made)


def _meters(spot: SpotPlan, prize: Prize) -> set[str]:
    return {spot.meter_of[part] for part, _ in prize.shares}


def _plans_within(reading: Reading, book: str, scope: Scope) -> list[FloorPlan]:
    """The configuration that the range began with, and those that came into force in it."""
    plans = [reading.plan_before(book, scope.start)]
    plans += [reading.plan_at(book, entry.number)
              for entry in reading.seldom_within(book, ("config",), scope.start, scope.end)]
    return list({plan.hash: plan for plan in plans}.values())


def metered_words(rows: list[Row]) -> dict[tuple[str, str, str], str]:
    """By paytable, outcome and label: ``yes``, ``not metered``, or that it was keyed for a part of the range only."""
    keyed: dict[tuple[str, str, str], set[bool]] = {}
    for row in rows:
        keyed.setdefault((row.paytable, row.prize.outcome, row.prize.label), set()).add(row.prize.keyed)
    words = {True: "yes", False: NOT_METERED}
    return {level: words[next(iter(found))] if len(found) == 1 else f"{NOT_METERED} in a part of the range"
            for level, found in keyed.items()}


def not_metered_table(rows: list[Row]) -> Table | None:
    """The rows that nobody keys, by table and bet, with what each pays; None where every row is keyed."""
    made = Rows("Not metered: paid without being keyed at the table", Column("Table"), Column("Bet"),
                Column("Paytable"), Column("Hand"), Column("Pays", Kind.MONEY, sums=False),
                Column("Wager returned", Kind.MONEY, sums=False), Column("Hits"))
    found = [row for row in rows if not row.prize.keyed]
    for row in found:
        made.add(row.table, row.bet, row.paytable, row.prize.label, row.prize.fixed_cents, row.prize.returned_cents,
                 NOT_METERED)
    return made.table(totals=False) if found else None
