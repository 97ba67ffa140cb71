"""Entries of a range of time, in pieces, for reports: each piece is read at once, so that the log can shrink (DB-03).

Entries never change, so what is once known of a full stretch of them (earliest and latest time, sum of every account)
is known for ever: ``Stretches`` keeps it, and a range of time is found exactly however the machine's clock was set
back. The first look at a ledger reads it once; later ones read what is new.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from controller.config import ConfigError, build
from controller.journal import Entry, Posting
from controller.ledger import schema
from controller.ledger.place import LedgerError, inspect_file, reading_engine
from controller.ledger.schema import entry, posting
from controller.plan import FloorPlan

STRETCH = 20_000
"""Entries of one stretch."""
PIECE = 500
"""Entries read at once by a stream."""
STRETCHES_KEPT = 50_000
"""Full stretches kept by book: a thousand million entries."""
PLANS_KEPT = 8

_COMMON_KINDS = frozenset(("lock", "count", "close", "held", "heard"))

_ROWS = select(*entry.c[:11]).where(
    entry.c.book == bindparam("book"), entry.c.number.between(bindparam("first"), bindparam("last"))
).order_by(entry.c.number)
_LINES = select(*posting.c[1:]).where(
    posting.c.book == bindparam("book"), posting.c.entry.between(bindparam("first"), bindparam("last"))
).order_by(posting.c.entry, posting.c.line)
_LOCK = select(*entry.c[:11]).where(
    entry.c.book == bindparam("book"), entry.c.number < bindparam("before"), entry.c.kind == "lock",
    entry.c.table == bindparam("table"), entry.c.game == bindparam("game")).order_by(entry.c.number.desc()).limit(1)
QUERY_WEIGHT = 10
"""A query takes about as long as so many entries."""


class Stretch(NamedTuple):
    """Consecutive entries of a book: numbers, earliest and latest time, and the sum of every (meter, account)."""

    first: int
    last: int
    earliest: int
    latest: int
    sums: dict[tuple[str, str], int]


class Stretches:
    """What is known of the full stretches of one ledger. Shared by readings in several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.of_book: dict[str, list[Stretch]] = {}


class Ranges:
    """One look at one SQLite ledger, up to the entries that were its last when the look began.

    ``breath`` is called between pieces with how many entries were read; it may pause, or raise to give up.
    ``until``: by book, the last entry that is looked at, as if none had been made after it. ``within``: look through
    this connection, which stays open: a ledger being migrated is seen by its own transaction only.
    """

    def __init__(
        self, path: Path, known: Stretches | None = None, breath: Callable[[int], None] | None = None,
        until: Mapping[str, int] | None = None, within: Connection | None = None,
    ) -> None:
        if within is None:
            inspect_file(path)
        self._path = path
        self._breath = breath or _no_breath
        self._unsaid, self._weight = 0, 0
        # No transaction spans two statements, so nothing holds back the log between two pieces (DB-03).
        self._engine = None if within is not None else reading_engine(path).execution_options(
            isolation_level="AUTOCOMMIT")
        self._open: Connection | None = within
        self._known = known or Stretches()
        self._lasts: dict[str, tuple[int, int]] = {}
        self._tails: dict[str, list[Stretch]] = {}
        self._configs: dict[str, list[tuple[int, int]]] = {}
        self._plans: dict[tuple[str, int], FloorPlan] = {}
        with self._connected() as connection:
            heads = connection.execute(select(schema.state.c.book, schema.state.c.number).where(
                schema.state.c.kind == "head").order_by(schema.state.c.book)).all()
            for book, head in heads:
                number = (until or {}).get(book, head)
                at = connection.scalar(select(entry.c.at).where(entry.c.book == book, entry.c.number == number))
                if at is None:
                    raise LedgerError(f"{path}: book {book} lacks its last entry; restore a backup")
                self._lasts[book] = (number, at)
        if not self._lasts:
            raise LedgerError(f"{path}: has no entries; restore a backup")

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            if self._open is None:
                self._open = self._reading().connect()
            yield self._open
        except SQLAlchemyError as wrong:
            raise LedgerError(
                f"{self._path}: cannot be read: {getattr(wrong, 'orig', None) or wrong}; run `meterctl verify`"
            ) from wrong

    def _read(self, count: int) -> None:
        """So many entries were read; after a piece's worth of work it is time for a breath."""
        self._unsaid += count
        self._weight += count + QUERY_WEIGHT
        if self._weight >= PIECE:
            said, self._unsaid, self._weight = self._unsaid, 0, 0
            self._breath(said)

    def _reading(self) -> Engine:
        """Its own engine; one that looks through another's connection is closed for good."""
        if self._engine is None:
            raise LedgerError(f"{self._path}: this look has ended")
        return self._engine

    def close(self) -> None:
        """Nothing of its own stays open."""
        if self._engine is not None:
            if self._open is not None:
                self._open.close()
            self._engine.dispose()
        self._open = None

    def books(self) -> list[str]:
        """The books in the order of their names."""
        return list(self._lasts)

    def last(self, book: str) -> tuple[int, int]:
        """Number and time of the last entry of this look."""
        return self._lasts[book]

    # ------------------------------------------------------------------ configurations

    def _of_configs(self, book: str) -> list[tuple[int, int]]:
        """Number and time of every configuration entry of a book, by number."""
        if book not in self._configs:
            numbers = [found.number for found in self._seldom_numbers(book, ("config",), 1, self._lasts[book][0])]
            if not numbers:
                raise LedgerError(f"{self._path}: book {book} has no configuration entry; restore a backup")
            made: list[tuple[int, int]] = []
            with self._connected() as connection:
                for begin in range(0, len(numbers), PIECE):
                    rows = connection.execute(select(entry.c.number, entry.c.at).where(
                        entry.c.book == book, entry.c.number.in_(numbers[begin : begin + PIECE])))
                    made += [(number, at) for number, at in rows]
            self._configs[book] = sorted(made)
        return self._configs[book]

    def plan_before(self, book: str, at: int) -> FloorPlan:
        """The configuration in force just before an instant; the first one before there was any."""
        return self.plan_at(book, max((number for number, made in self._of_configs(book) if made < at), default=0))

    def plan_at(self, book: str, number: int | None) -> FloorPlan:
        """The configuration in force at an entry (the first one before there was any); None: the latest."""
        numbers = [found for found, _ in self._of_configs(book)]
        place = len(numbers) if number is None else bisect_right(numbers, number)
        wanted = (book, numbers[max(0, place - 1)])
        if wanted not in self._plans:
            with self._connected() as connection:
                body = connection.scalar(
                    select(entry.c.body).where(entry.c.book == book, entry.c.number == wanted[1]))
            try:
                plan = build(json.loads(body or "")["document"])
            except (ConfigError, ValueError, KeyError, TypeError) as wrong:
                raise LedgerError(
                    f"{self._path}: the configuration in entry {wanted[1]} cannot be read: {wrong}") from wrong
            if len(self._plans) >= PLANS_KEPT:
                del self._plans[next(iter(self._plans))]
            self._plans[wanted] = plan
        return self._plans[wanted]

    # ------------------------------------------------------------------ times and sums

    def _stretches(self, book: str) -> list[Stretch]:
        """Every stretch of a book up to the last entry of this look; the last one is shorter."""
        if book not in self._tails:
            last = self._lasts[book][0]
            with self._known.lock:
                kept = self._known.of_book.setdefault(book, [])
                full = min(last // STRETCH, STRETCHES_KEPT)
                while len(kept) < full:
                    kept.append(self._measure(book, len(kept) * STRETCH + 1, (len(kept) + 1) * STRETCH))
                made = kept[:full]
            for first in range(full * STRETCH + 1, last + 1, STRETCH):
                made.append(self._measure(book, first, min(first + STRETCH - 1, last)))
            self._tails[book] = made
        return self._tails[book]

    def _measure(self, book: str, first: int, last: int) -> Stretch:
        inside = (entry.c.book == book, entry.c.number.between(first, last))
        sums = select(posting.c.meter, posting.c.account, func.sum(posting.c.microcents)).where(
            posting.c.book == book, posting.c.entry.between(first, last)).group_by(posting.c.meter, posting.c.account)
        with self._connected() as connection:
            number, earliest, latest = connection.execute(
                select(func.count(), func.min(entry.c.at), func.max(entry.c.at)).where(*inside)).one()
            summed = {(meter, account): total for meter, account, total in connection.execute(sums)}
        if number != last - first + 1:
            raise LedgerError(
                f"{self._path}: book {book} lacks entries between {first} and {last}; run `meterctl verify`")
        self._read(last - first + 1)
        return Stretch(first, last, earliest, latest, summed)

    def balances(self, book: str, before: int) -> dict[tuple[str, str], int]:
        """Every account re-added from all postings of entries made before an instant; keys (meter, account)."""
        made: dict[tuple[str, str], int] = {}
        for stretch in self._stretches(book):
            if stretch.earliest >= before:
                continue
            sums = stretch.sums if stretch.latest < before else self._sums_before(book, stretch, before)
            for account, total in sums.items():
                made[account] = made.get(account, 0) + total
        return made

    def _sums_before(self, book: str, stretch: Stretch, before: int) -> dict[tuple[str, str], int]:
        query = select(posting.c.meter, posting.c.account, func.sum(posting.c.microcents)).select_from(
            entry.join(posting, (posting.c.book == entry.c.book) & (posting.c.entry == entry.c.number))).where(
            entry.c.book == book, entry.c.number.between(stretch.first, stretch.last), entry.c.at < before).group_by(
            posting.c.meter, posting.c.account)
        with self._connected() as connection:
            return {(meter, account): total for meter, account, total in connection.execute(query)}

    def last_before(self, book: str, before: int) -> int:
        """The largest number of an entry made before an instant; 0 for none."""
        for stretch in reversed(self._stretches(book)):
            if stretch.earliest < before:
                return self._edges(book, stretch, stretch.earliest, before)[1]
        return 0

    def first_since(self, book: str, since: int) -> int:
        """The smallest number of an entry made at an instant or later; one more than the last for none."""
        for stretch in self._stretches(book):
            if stretch.latest >= since:
                return self._edges(book, stretch, since, stretch.latest + 1)[0]
        return self._lasts[book][0] + 1

    # ------------------------------------------------------------------ streams

    def entries(self, book: str, start: int, end: int) -> Iterator[Entry]:
        """Entries made from ``start`` on and before ``end`` (UTC microseconds), in the order of the ledger."""
        for stretch in self._stretches(book):
            if stretch.earliest >= end or stretch.latest < start:
                continue
            first, last = self._edges(book, stretch, start, end)
            for found in self.between(book, first, last):
                if start <= found.at < end:
                    yield found

    def _edges(self, book: str, stretch: Stretch, start: int, end: int) -> tuple[int, int]:
        """The first and the last number of a stretch whose entry lies in the range; 1 and 0 for none."""
        if start <= stretch.earliest and stretch.latest < end:
            return stretch.first, stretch.last
        query = select(func.min(entry.c.number), func.max(entry.c.number)).where(
            entry.c.book == book, entry.c.number.between(stretch.first, stretch.last), entry.c.at >= start,
            entry.c.at < end)
        with self._connected() as connection:
            first, last = connection.execute(query).one()
        return (1, 0) if first is None else (first, last)

    def between(self, book: str, first: int, last: int) -> Iterator[Entry]:
        """Entries by number, both included, with their postings, in their order."""
        last = min(last, self._lasts[book][0])
        for begin in range(first, last + 1, PIECE):
            yield from self._piece(book, begin, min(begin + PIECE - 1, last))

    def _piece(self, book: str, first: int, last: int) -> list[Entry]:
        with self._connected() as connection:
            asked = {"book": book, "first": first, "last": last}
            rows = connection.execute(_ROWS, asked).all()
            lines = connection.execute(_LINES, asked).all()
        self._read(len(rows))
        return _with_postings(rows, lines)

    def seldom(
        self, book: str, kinds: Collection[str], first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[Entry]:
        """Entries of some seldom kinds by number, both included, with their postings; rising, or newest first."""
        piece: list[int] = []
        for found in self._seldom_numbers(book, kinds, first, min(last, self._lasts[book][0]), newest_first):
            piece.append(found.number)
            if len(piece) == PIECE:
                yield from self._named(book, piece, newest_first)
                piece = []
        if piece:
            yield from self._named(book, piece, newest_first)

    def seldom_within(self, book: str, kinds: Collection[str], start: int, end: int) -> Iterator[Entry]:
        """Entries of some seldom kinds made from ``start`` on and before ``end``, in the order of the ledger."""
        for stretch in self._stretches(book):
            if stretch.earliest < end and stretch.latest >= start:
                for found in self.seldom(book, kinds, stretch.first, stretch.last):
                    if start <= found.at < end:
                        yield found

    def counts_within(self, book: str, start: int, end: int, games: Collection[int] = ()) -> Iterator[Entry]:
        """Chip counts made from ``start`` on and before ``end``, without postings: those of games with some numbers,
        or else those that differ from the wagers."""
        query = select(*entry.c[:11]).where(entry.c.book == book, entry.c.kind == "count", entry.c.at >= start,
                                            entry.c.at < end)
        query = query.where(entry.c.game.in_(games) if games else entry.c.body.contains('"difference":'))
        for stretch in self._stretches(book):
            if stretch.earliest < end and stretch.latest >= start:
                piece = query.where(entry.c.number.between(stretch.first, stretch.last)).order_by(entry.c.number)
                with self._connected() as connection:
                    rows = connection.execute(piece).all()
                self._read(stretch.last - stretch.first + 1)
                yield from _with_postings(rows, ())

    def named(self, book: str, numbers: Collection[int]) -> list[Entry]:
        """Entries by their numbers, with their postings, rising; those after the last one looked at are left out."""
        wanted = sorted(number for number in numbers if number <= self._lasts[book][0])
        return [found for begin in range(0, len(wanted), PIECE)
                for found in self._named(book, wanted[begin : begin + PIECE])]

    def lock_of(self, book: str, table: str, game: int, before: int) -> Entry | None:
        """The lock-out of a game, looked for from a number downward; None when there is none."""
        with self._connected() as connection:
            asked = {"book": book, "before": before, "table": table, "game": game}
            row = connection.execute(_LOCK, asked).one_or_none()
            if row is None:
                return None
            lines = connection.execute(_LINES, {"book": book, "first": row[1], "last": row[1]}).all()
        self._read(1)
        return _with_postings([row], lines)[0]

    def _named(self, book: str, numbers: list[int], newest_first: bool = False) -> list[Entry]:
        with self._connected() as connection:
            rows = connection.execute(select(*entry.c[:11]).where(
                entry.c.book == book, entry.c.number.in_(numbers)).order_by(entry.c.number)).all()
            lines = connection.execute(select(*posting.c[1:]).where(
                posting.c.book == book, posting.c.entry.in_(numbers)).order_by(posting.c.entry, posting.c.line)).all()
        self._read(len(rows))
        made = _with_postings(rows, lines)
        return made[::-1] if newest_first else made

    def _seldom_numbers(
        self, book: str, kinds: Collection[str], first: int, last: int, newest_first: bool = False
    ) -> Iterator[Any]:
        """Rows of ``number`` by the index of the seldom kinds, in pieces."""
        with self._connected() as connection:
            by = " INDEXED BY entry_seldom" if connection.dialect.name == "sqlite" else ""
        query = text(
            f"SELECT number FROM entry{by} WHERE book = :book AND number BETWEEN :first AND :last "  # noqa: S608 (our text)
            f"AND {schema.SELDOM.text} AND kind IN ({_listed(kinds)}) "
            f"ORDER BY number{' DESC' if newest_first else ''} LIMIT {PIECE}")
        while first <= last:
            with self._connected() as connection:
                rows = connection.execute(query, {"book": book, "first": first, "last": last}).all()
            yield from rows
            if len(rows) < PIECE:
                return
            first, last = (first, rows[-1].number - 1) if newest_first else (rows[-1].number + 1, last)


def _no_breath(count: int) -> None:
    """Read on at once."""


def _listed(kinds: Collection[str]) -> str:
    """Kinds as SQL text; they are words of this program. Raises ValueError for one that the index does not hold."""
    for kind in kinds:
        if kind in _COMMON_KINDS or not kind.replace("-", "").isalpha():
            raise ValueError(f"{kind!r} is none of the seldom kinds")
    return ", ".join(f"'{kind}'" for kind in sorted(kinds))


def _with_postings(rows: Collection[Any], lines: Collection[Any]) -> list[Entry]:
    by_entry: dict[int, list[Posting]] = {}
    for line in lines:
        by_entry.setdefault(line[0], []).append(Posting(*line[2:]))
    return [Entry._make([*row, tuple(by_entry.get(row[1], ()))]) for row in rows]
