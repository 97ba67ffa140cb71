"""Ledgers for reports: random play spread over days, people at the desk, and sums by plain SQL as a second opinion."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from desk_house import Desk
from floors import plan_of, random_floor
from oracle import Oracle
from random_play import Evening

from controller.floor import Floor
from controller.gaming_day import microseconds
from controller.intake import NotTaken, read_json
from controller.ledger.ranges import Ranges
from controller.ledger.reader import Reader, tell
from controller.ledger.writer import Batch, create, open_writer
from controller.plan import FloorPlan
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, Scope, scope_of
from controller.reports.report import Report, Table
from controller.taken import Recalled
from firmware_bridge.messages import Heartbeat, Hello

NEW_YORK = ZoneInfo("America/New_York")
MINUTE = 60_000_000
HOUR = 60 * MINUTE
INSIDE = "('display', 'reserve', 'overflow')"


def moment(text: str) -> int:
    """UTC microseconds of a New York wall clock time, or of a time with its offset."""
    made = datetime.fromisoformat(text)
    return microseconds(made if made.tzinfo is not None else made.replace(tzinfo=NEW_YORK))


def keep(path: Path, *floors: Floor) -> Path:
    """Make what floors have entered durable, in a new ledger or at the end of their own."""
    batches = [Batch(floor.book, *floor.drain()) for floor in floors]
    if not path.exists():
        create(path, batches)
        return path
    reader = Reader(path)
    writer = open_writer(path, reader.heads())
    writer.write(batches)
    writer.close()
    reader.close()
    return path


class Played:
    """A random evening that goes on at the times it is told; each line at the next time of ``times``."""

    def __init__(self, path: Path, seed: int, at: int, day_start: str = "06:00") -> None:
        rng = Random(seed)
        floor = random_floor(rng)
        floor[0]["site"] = {**floor[0]["site"], "timezone": "America/New_York", "gaming_day_start": day_start}
        self.path, self.plan = path, plan_of(floor)
        self._oracle = Oracle(*floor, at=at)
        self._evening = Evening(rng, self._oracle, 0.2)
        self._floors = {book: Floor.opened(self.plan, book, at) for book in self.plan.books}
        keep(path, *self._floors.values())

    def go_on(self, times: Iterator[int] | list[int]) -> None:
        """One line at each of these times."""
        for at in times:
            raw = self._evening.line()
            self._oracle.take(raw)
            message = read_json(self.plan, raw) if raw.strip() else None
            if message is None or isinstance(message, NotTaken):
                continue
            floor = self._floors[self.plan.table_of_device[message.device].book]
            if isinstance(message, Hello | Heartbeat):
                floor.hear(message.device, message.boot, at)
            else:
                tell(floor, message, lambda asked: Recalled(None))
                floor.take(message, at)
        keep(self.path, *self._floors.values())

    def restart(self) -> None:
        """The daemon ends and starts again from its ledger."""
        reader = Reader(self.path)
        self._floors = {book: reader.floor(self.plan, book) for book in self.plan.books}
        reader.close()


def evenly(since: str, until: str, count: int) -> list[int]:
    """So many times between two moments."""
    first, last = moment(since), moment(until)
    return [first + (last - first) * place // count for place in range(count)]


def kept(path: Path, desk: Desk) -> Path:
    """What happened at a desk, as a ledger."""
    return keep(path, desk.floor)


@contextmanager
def reading(path: Path, breath: Callable[[int], None] | None = None) -> Iterator[Ranges]:
    """A look at a ledger."""
    ranges = Ranges(path, breath=breath)
    try:
        yield ranges
    finally:
        ranges.close()


def made(path: Path, name: str, day: str | None = None, **asked: str) -> tuple[Report, Scope]:
    """A report of a ledger, and its range."""
    with reading(path) as ranges:
        scope = scope_of(ranges, AskedFor(day, **asked))
        return REPORTS[name].make(ranges, scope), scope


def table(report: Report, title: str) -> Table:
    """A table by the beginning of its title."""
    return next(table for table in report.tables if table.title.startswith(title))


def column(table_: Table, head: str) -> list[object]:
    """The cells of a column, by its head."""
    place = [column.head for column in table_.columns].index(head)
    return [row[place] for row in table_.rows]


def total(table_: Table, head: str) -> int:
    """A column's total; 0 for a table without rows."""
    if not table_.rows:
        return 0
    place = [column.head for column in table_.columns].index(head)
    found = table_.totals[place]
    assert isinstance(found, int)
    return found


def failing(report: Report) -> list[str]:
    """The equations that do not hold, but the dealer's chips: random dealers count wrongly."""
    return [check.what for check in report.checks if not check.holds and "chips counted" not in check.what]


def sql(path: Path, query: str, *values: object) -> int:
    """One number of a ledger by plain SQL; 0 for none."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        found = database.execute(query, values).fetchone()[0]
    database.close()
    return int(found or 0)


def moved(path: Path, accounts: str, start: int, end: int, kinds: str = "%", meter: str = "%") -> int:
    """Microcents posted to some accounts in a range of time, by plain SQL."""
    return sql(path, "SELECT sum(p.microcents) FROM posting p JOIN entry e ON e.book = p.book AND e.number = p.entry "
                     f"WHERE p.account IN {accounts} AND e.at >= ? AND e.at < ? AND e.kind LIKE ? AND p.meter LIKE ?",
               start, end, kinds, meter)


def wagers(path: Path, start: int, end: int) -> tuple[int, int, int]:
    """Games, wagers and cents of the lock-outs of a range of time, read from their bodies."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        query = "SELECT body FROM entry WHERE kind = 'lock' AND at >= ? AND at < ?"
        rows = database.execute(query, (start, end)).fetchall()
    database.close()
    games = [[wager["cents"] for wager in json.loads(body)["message"]["wagers"]] for (body,) in rows]
    return len(games), sum(map(len, games)), sum(map(sum, games))


def plan_in(path: Path) -> FloorPlan:
    """The latest configuration of a ledger."""
    with reading(path) as ranges:
        return ranges.plan_at(ranges.books()[0], None)


def days_of(first: str, count: int) -> list[str]:
    """So many dates from one on."""
    start = date.fromisoformat(first).toordinal()
    return [date.fromordinal(start + place).isoformat() for place in range(count)]
