"""How a meter's amount moved over a time, for a chart: a few hundred points, however many entries there were.

Ranges are found by number, as if no clock was ever set back; each point has the time of its own entry.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, and_, exists, func, select
from sqlalchemy.exc import SQLAlchemyError

from controller.ledger import schema
from controller.ledger.place import LedgerError, inspect_file, reading_engine
from controller.ledger.schema import entry, posting

POINTS_MAX = 400
PIECE = 20_000
"""Entries read at once, so that the log can shrink between two pieces (DB-03)."""


class Point(NamedTuple):
    """Neighbouring entries that moved the amount: time of the last (UTC microseconds); lowest, highest and last
    amount shown, in microcents."""

    at: int
    low: int
    high: int
    close: int


class Curve(NamedTuple):
    """What a meter showed: ``opening`` in microcents before the first point; None: it did not move."""

    opening: int | None
    points: tuple[Point, ...]


def read_curve(
    path: Path, book: str, meter: str, start: int, end: int, breath: Callable[[], None] = lambda: None
) -> Curve:
    """The shown amount of a meter from ``start`` on and before ``end``; raises LedgerError. Blocks: not for a loop.

    ``breath`` is called between pieces; it may pause, or raise to give up.
    """
    inspect_file(path)
    engine = reading_engine(path).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            first, last = (_first_at(connection, book, moment) for moment in (start, end))
            points = tuple(_points(connection, book, meter, first, last - 1, breath))
            return Curve(_opening(connection, book, meter, first, points), points)
    except SQLAlchemyError as wrong:
        raise LedgerError(
            f"{path}: cannot be read: {getattr(wrong, 'orig', None) or wrong}; run `meterctl verify`") from wrong
    finally:
        engine.dispose()


def _first_at(connection: Connection, book: str, moment: int) -> int:
    """The number of the first entry made at a moment or later; one more than the last when there is none."""
    low = 1
    high = 1 + (connection.scalar(select(schema.state.c.number).where(
        schema.state.c.book == book, schema.state.c.kind == "head")) or 0)
    while low < high:
        middle = (low + high) // 2
        at = connection.scalar(select(entry.c.at).where(entry.c.book == book, entry.c.number == middle))
        if at is not None and at < moment:
            low = middle + 1
        else:
            high = middle
    return low


def _points(
    connection: Connection, book: str, meter: str, first: int, last: int, breath: Callable[[], None]
) -> Iterator[Point]:
    size = max(1, -(-(last - first + 1) // POINTS_MAX))
    step = max(1, PIECE // size) * size
    later = posting.alias("later")
    # An entry may move an amount twice, a win and its reset: only what it came to was ever shown.
    moved_again = exists().where(and_(
        later.c.book == posting.c.book, later.c.entry == posting.c.entry, later.c.line > posting.c.line,
        later.c.meter == posting.c.meter, later.c.account == posting.c.account))
    for begin in range(first, last + 1, step):
        rows = connection.execute(select(
            func.max(posting.c.entry), func.min(posting.c.balance), func.max(posting.c.balance)).where(
            posting.c.book == book, posting.c.entry.between(begin, min(begin + step - 1, last)),
            posting.c.meter == meter, posting.c.account == "display", ~moved_again).group_by(
            (posting.c.entry - first) // size).order_by(func.max(posting.c.entry))).all()
        closes = _closes(connection, book, meter, [row[0] for row in rows])
        for number, low, high in rows:
            at, close = closes[number]
            yield Point(at, low, high, close)
        breath()


def _closes(connection: Connection, book: str, meter: str, numbers: list[int]) -> dict[int, tuple[int, int]]:
    """Time and last shown amount of some entries."""
    query = select(entry.c.number, entry.c.at, posting.c.balance).select_from(entry.join(
        posting, (posting.c.book == entry.c.book) & (posting.c.entry == entry.c.number))).where(
        entry.c.book == book, entry.c.number.in_(numbers), posting.c.meter == meter,
        posting.c.account == "display").order_by(entry.c.number, posting.c.line)
    return {number: (at, balance) for number, at, balance in connection.execute(query)}


def _opening(
    connection: Connection, book: str, meter: str, first: int, points: tuple[Point, ...]
) -> int | None:
    """What the first movement began from."""
    if not points:
        return None
    query = select(posting.c.balance - posting.c.microcents).where(
        posting.c.book == book, posting.c.entry >= first, posting.c.meter == meter, posting.c.account == "display")
    return connection.scalar(query.order_by(posting.c.entry, posting.c.line).limit(1))
