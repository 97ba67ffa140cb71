"""Reconciliation: opening plus everything that moved is closing, to the microcent; and wagers against chips. Pure.

Sources: R-79, R-82, R-84, R-86. Every figure is re-added from postings; opening and closing are sums of all postings
before the range's beginning and end, taken apart from the stream whose movements must lie between them.
"""

from controller.plan import FloorPlan
from controller.reports.games import Game, Games
from controller.reports.movements import INSIDE, Class, Movements, balance, meters_of
from controller.reports.reading import Balances, Reading, Scope, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, Table, cents, count, money
from controller.reports.words import kind_words


def reconciliation(reading: Reading, scope: Scope) -> Report:
    """Opening + contributions + seeds + top-ups - awards +- corrections and adjustments = closing, for every meter."""
    own = Rows("The meter's own money (displayed, next-jackpot money and above the limit together)", Column("Meter"),
               money("Opening"), money("Bases laid"), money("Contributions"), money("Seeds and top-ups"), money("Wins"),
               money("Corrections"), money("Adjustments"), money("Other movements"), money("Closing"),
               money("Variance"))
    owed = Rows("Pending awards (owed to players)", Column("Meter"), money("Opening"), money("Won"), money("Paid"),
                money("Corrections"), money("Other movements"), money("Closing"), money("Variance"))
    strange = Rows("Other movements by kind of entry", Column("Kind"), Column("Meter"), count("Entries"),
                   money("Change of the meter's own money"), money("Change of pending"))
    chips = _Chips()
    checks: list[Check] = []
    for book in reading.books():
        opening, closing = reading.balances(book, scope.start), reading.balances(book, scope.end)
        moved, games = Movements(), Games(reading, book)
        for entry in reading.entries(book, scope.start, scope.end):
            moved.take(entry)
            for game in games.take(entry):
                chips.take(game, scope)
        for game in games.rest(scope):
            chips.take(game, scope)
        plan = reading.plan_before(book, scope.end)
        for meter in meters_of(opening, closing, also=_named(plan, book)):
            if scope.has_meter(meter):
                checks += _meter(meter, opening, closing, moved, own, owed)
        for (kind, meter), flow in moved.strange.items():
            if scope.has_meter(meter):
                strange.add(kind_words(kind), meter, flow.entries, flow.inside, flow.of("pending"))
    tables = [own.table(), owed.table(), chips.table()]
    if moved_strangely := strange.table().rows:
        tables.insert(2, strange.table())
    notes = ["Fractions of a cent are carried, never lost: an amount with more than two places is exact."]
    if moved_strangely:
        notes.append("Entries of a kind this report does not know moved money: look them up with `meterctl log`.")
    return Report("reconciliation", "Reconciliation", tuple(facts(reading, scope)), tuple(tables),
                  (*checks, *chips.checks()), tuple(notes))


def _named(plan: FloorPlan, book: str) -> list[str]:
    return [meter.id for meter in plan.meters.values() if meter.book == book]


def _meter(
    meter: str, opening: Balances, closing: Balances, moved: Movements, own: Rows, owed: Rows
) -> list[Check]:
    """One meter's two rows, and its equations."""
    first, last = balance(opening, meter, *INSIDE), balance(closing, meter, *INSIDE)
    win = moved.of(meter, Class.WIN)
    other = moved.of(meter, Class.OTHER).inside + moved.of(meter, Class.VOID).inside + moved.of(
        meter, Class.PAYMENT).inside
    parts = (moved.of(meter, Class.OPENING).inside, moved.of(meter, Class.CONTRIBUTION).inside, -win.of("house"),
             win.inside + win.of("house"), moved.of(meter, Class.CORRECTION).inside,
             moved.of(meter, Class.ADJUSTMENT).inside, other)
    own.add(meter, first, *parts, last, last - first - sum(parts))
    first_owed, last_owed = balance(opening, meter, "pending"), balance(closing, meter, "pending")
    kinds = (Class.WIN, Class.PAYMENT, Class.CORRECTION)
    won, paid, corrected = (moved.of(meter, kind).of("pending") for kind in kinds)
    strange = moved.all_of(meter).of("pending") - won - paid - corrected
    owed.add(meter, first_owed, won, paid, corrected, strange, last_owed,
             last_owed - first_owed - won - paid - corrected - strange)
    return [
        Check(f"{meter}: opening + bases + contributions + seeds and top-ups + wins + corrections + adjustments "
              "+ other = closing", first + sum(parts), last),
        Check(f"{meter}: pending opening + won + paid + corrections + other = pending closing",
              first_owed + won + paid + corrected + strange, last_owed),
        Check(f"{meter}: displayed + next-jackpot money + above the limit + pending = -(players + house + paid)",
              last + last_owed, -balance(closing, meter, "players", "house", "paid")),
    ]


class _Chips:
    """Wagers by table: what they had to contribute against what was posted, and accepted against counted."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}

    def take(self, game: Game, scope: Scope) -> None:
        """One game of the range."""
        if not scope.has_table(game.table) or (scope.meter is not None and scope.meter not in game.due):
            return
        row = self._rows.setdefault(game.table, [0] * 8)
        due = game.due if scope.meter is None else {scope.meter: game.due[scope.meter]}
        posted = game.posted if scope.meter is None else {scope.meter: game.posted.get(scope.meter, 0)}
        counted = (0, 0, 0) if game.chips is None else (1, game.accepted, game.chips)
        added = (1, len(game.wagers), game.wagered, sum(due.values()), sum(posted.values()), *counted)
        self._rows[game.table] = [was + more for was, more in zip(row, added, strict=True)]

    def table(self) -> Table:
        """The rows as a table."""
        made = Rows("Wagers against contributions and chips", Column("Table"), count("Games"), count("Wagers"),
                    cents("Wagered"), money("Contributions due"), money("Contributions recorded"),
                    count("Games counted"), count("Wagers of those"), count("Chips counted"), count("Over or short"))
        for table, row in sorted(self._rows.items()):
            made.add(table, *row, row[7] - row[6])
        return made.table()

    def checks(self) -> list[Check]:
        """Contributions posted are wagers times their rates; chips counted are the wagers of the games counted."""
        sums = [sum(row[place] for row in self._rows.values()) for place in range(8)]
        return [
            Check("wagers x denomination x rates = contributions recorded", sums[3], sums[4]),
            Check("wagers of the games counted = chips counted", sums[6], sums[7], Kind.COUNT),
        ]
