"""The table sheet per shift, and contributions by table (R-84, R-86). Pure.

A game counts in the shift of its lock-out, a hand in its hit's, a payment in its own.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

from controller.gaming_day import Shift
from controller.journal import Entry
from controller.reports.awards import Awards, Change
from controller.reports.games import CORRECTED, Game, Games
from controller.reports.not_metered import NOTE, not_metered_table, rows_within
from controller.reports.reading import TIME_MAX, Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Kind, Report, Rows, cents, count, money

FIGURES = (
    "games", "wagers", "wagered", "contributed", "due", "returned", "by_dealer", "by_slip", "withheld", "by_hand",
    "envy_due", "envy_paid", "misdeals", "late_bets", "corrected", "differing", "over",
)
"""What is kept of a table in a shift: counts, cents, and ``contributed`` in microcents."""
SHEET_ROWS_MAX = 20_000
"""Lines of a table sheet; shifts and tables beyond it stand together in a last one."""

_FURTHER = Shift("further shifts", TIME_MAX, TIME_MAX)
_Key = tuple[date, Shift, str]


class _Sheet:
    """Figures by day, shift and table."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.rows: dict[_Key, dict[str, int]] = {}
        self.chips, self.accepted = 0, 0
        self._now: tuple[date, Shift] | None = None

    def add(self, at: int, table: str | None, **figures: int) -> None:
        """Add figures to the shift of an instant."""
        if table is None or not self._scope.has_table(table):
            return
        if self._now is None or not self._now[1].start <= at < self._now[1].end:
            self._now = self._scope.shift(at)
        key = (*self._now, table)
        if key not in self.rows and len(self.rows) >= SHEET_ROWS_MAX:
            key = (date.max, _FURTHER, "all")
        row = self.rows.setdefault(key, dict.fromkeys(FIGURES, 0))
        for name, figure in figures.items():
            row[name] += figure

    def game(self, game: Game) -> None:
        """A finished game of the range."""
        counted = game.chips is not None
        self.add(game.at, game.table, games=1, wagers=len(game.wagers), wagered=game.wagered,
                 contributed=sum(game.posted.values()), misdeals=int(game.voided),
                 differing=int(counted and game.difference != 0), over=game.difference)
        if counted and self._scope.has_table(game.table):
            self.chips += game.chips or 0
            self.accepted += game.accepted

    def hands(self, entry: Entry, changes: list[Change]) -> None:
        """What an entry changed of the awards due, and what the dealer paid with it."""
        for change in changes:
            for hand, sign in ((change.before, -1), (change.after, 1)):
                if hand is not None:
                    self.add(entry.at, entry.table, due=sign * hand.due, returned=sign * hand.returned,
                             envy_due=sign * hand.envy)
            hand = change.after
            if hand is not None and hand.tray and change.before is None:
                self.add(entry.at, entry.table, by_dealer=hand.due, envy_paid=hand.envy)

    def said(self, entry: Entry, own_games: bool) -> None:
        """What else happened at a table."""
        body = body_of(entry)
        if entry.kind == "award-paid":
            told = body["told"]
            handed = 0 if "slip" in told else told["handed"]  # what a slip written by hand has paid is counted with it
            self.add(entry.at, entry.table, by_slip=handed, withheld=told.get("withheld", 0))
        elif entry.kind == "manual-slip":
            self.add(entry.at, entry.table, by_hand=body["fields"]["handed"])
        elif entry.kind == "envy-paid":
            self.add(entry.at, entry.table, envy_paid=0 if "slip" in body["told"] else body["told"]["cents"])
        elif entry.kind == "paid-in-error":
            self.add(entry.at, entry.table, envy_due=-sum(cents for _, cents in body["told"].get("cancelled", ())))
        elif entry.kind in CORRECTED:
            self.add(entry.at, entry.table, corrected=CORRECTED[entry.kind])
        elif entry.kind == "void" and not own_games:
            self.add(entry.at, entry.table, misdeals=1)
        elif entry.kind == "notice" and body["message"].get("kind") == "late-bet":
            self.add(entry.at, entry.table, late_bets=1)


def table_sheet(reading: Reading, scope: Scope) -> Report:
    """Each table in each shift: wagers taken, awards due and paid, envy, misdeals, late bets, count differences."""
    sheet = _Sheet(scope)
    for book in reading.books():
        games, awards = Games(reading, book), Awards(reading, book)
        for entry in reading.entries(book, scope.start, scope.end):
            waiting = games.waiting.get(entry.table or "")
            own = waiting is not None and waiting.game == entry.game
            for game in games.take(entry):
                sheet.game(game)
            sheet.hands(entry, awards.take(entry))
            sheet.said(entry, own)
        for game in games.rest(scope):
            sheet.game(game)
    rows = Rows("By gaming day, shift and table", Column("Day"), Column("Shift"), Column("Table"), count("Games"),
                count("Wagers taken"), cents("Wagered"), money("Contributed"), cents("Awards due"),
                cents("Of it wagers returned"), cents("Paid by dealer"), cents("Paid by slip"),
                cents("Tax withheld"), cents("By slips written by hand"), cents("Envy due"),
                cents("Envy paid"), count("Misdeals"), count("Late bets"), count("Wagers put right"),
                count("Games with a count difference"), count("Chips over or short"))
    for (on, shift, table), row in sorted(sheet.rows.items(), key=lambda each: (each[0][1].start, each[0][2])):
        rows.add(on.isoformat(), shift.name, table, *(row[name] for name in FIGURES))
    checks = (Check("chips counted - wagers of the games counted = chips over or short",
                    sheet.chips - sheet.accepted, rows.total(19), Kind.COUNT),)
    notes = [
        "Paid by dealer: awards that the table pays from its tray with the hand, their envy under envy paid. Paid by "
        "slip: what was handed over, as people entered it; the tax withheld from it is beside it, and belongs to no "
        "player. Both together are the awards paid, but for other amounts handed over (report Payments), and for what "
        "a slip written by hand had paid: that counts once, in its own column, when the slip was entered.",
        "A game counts in the shift of its lock-out, a hand in its hit's, a payment in its own. What people put right "
        "counts when they did it.",
        "A misdeal's wagers stay in the wagers taken; what it contributed was booked to the house."]
    tables = [rows.table()]
    silent = not_metered_table([row for book in reading.books() for row in rows_within(reading, book, scope)])
    if silent is not None:
        tables.append(silent)
        notes.append(NOTE)
    return Report("table-sheet", "Table sheet per shift", tuple(facts(reading, scope)), tuple(tables), checks,
                  tuple(notes))


def contribution(reading: Reading, scope: Scope) -> Report:
    """What each table contributed to each meter: to the display, the overflow and the reserve."""
    rows = Rows("By table and meter", Column("Table"), Column("Meter"), count("Games"), count("Wagers"),
                cents("Wagered"), money("To the display"), money("Above the limit"), money("To next-jackpot money"),
                money("In all"), money("Voided or put right"))
    made: dict[tuple[str, str], list[int]] = {}
    checks: list[Check] = []
    for book in reading.books():
        players = 0
        for entry in reading.entries(book, scope.start, scope.end):
            for meter, account, microcents, _ in entry.postings:
                if account == "players" and scope.has_meter(meter) and scope.has_table(entry.table):
                    players -= microcents
            for meter, figures in _contributed(reading, book, entry):
                if scope.has_meter(meter) and scope.has_table(entry.table):
                    row = made.setdefault((entry.table or "", meter), [0] * 7)
                    for place, figure in enumerate(figures):
                        row[place] += figure
        own = sum(sum(row[3:]) for (_, meter), row in made.items() if _in_book(reading, book, meter, scope))
        words = f"book {book}: contributions - voided or put right = recorded from the players"
        checks.append(Check(words, own, players))
    for (table, meter), row in sorted(made.items()):
        rows.add(table, meter, *row[:6], sum(row[3:6]), row[6])
    return Report("contribution", "Contribution by table", tuple(facts(reading, scope)), (rows.table(),),
                  tuple(checks), ("A wager that feeds several meters counts in each of their rows.",))


def _in_book(reading: Reading, book: str, meter: str, scope: Scope) -> bool:
    plan = reading.plan_before(book, scope.end)
    return meter not in plan.meters or plan.meters[meter].book == book


def _contributed(reading: Reading, book: str, entry: Entry) -> Iterator[tuple[str, list[int]]]:
    """By meter: games, wagers, cents, display, overflow, reserve, and what left the players' account again."""
    if entry.kind not in ("lock", "void", *CORRECTED):
        return
    of: dict[str, dict[str, int]] = {}
    for meter, account, microcents, _ in entry.postings:
        moved = of.setdefault(meter, {})
        moved[account] = moved.get(account, 0) + microcents
    counts = _wagers_by_meter(reading, book, entry) if entry.kind == "lock" else {}
    for meter in of.keys() | counts.keys():
        moved, (wagers, wagered) = of.get(meter, {}), counts.get(meter, (0, 0))
        if entry.kind == "lock":
            parts = [moved.get(account, 0) for account in ("display", "overflow", "reserve")]
            yield meter, [1, wagers, wagered, *parts, 0]
        else:
            yield meter, [0, 0, 0, 0, 0, 0, -moved.get("players", 0)]


def _wagers_by_meter(reading: Reading, book: str, entry: Entry) -> dict[str, tuple[int, int]]:
    plan = reading.plan_at(book, entry.number).tables[entry.table or ""]
    made: dict[str, tuple[int, int]] = {}
    wagers: list[dict[str, Any]] = body_of(entry)["message"]["wagers"]
    for wager in wagers:
        for feed in plan.spot[wager["spot"]].feeds:
            number, wagered = made.get(feed.meter, (0, 0))
            made[feed.meter] = (number + 1, wagered + wager["cents"])
    return made
