"""The one writer: batches of entries, each in one durable transaction, chained by hashes.

It knows no rules: it writes what the engine made. A failed batch raises, and nothing of it is in the ledger.
"""

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, Table, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from controller.floor_state import ACCOUNTS, StateRow, canonical
from controller.journal import Entry
from controller.ledger import chain, schema
from controller.ledger.place import (
    BrokenLedger,
    LedgerError,
    gather,
    inspect_file,
    make_folder_of,
    remove_database,
    sync,
    why,
    writing_engine,
)

ROWS_TOGETHER, ROWS_FEW = 64, 8
_ASKED = frozenset(("close", "award-verified", "award-paid"))
"""Kinds of entries with which the ledger itself is asked whether every meter adds up (design section 9, R-19)."""


class Batch(NamedTuple):
    """What one transaction makes durable: entries of one book in order, and the state rows they changed."""

    book: str
    entries: Sequence[Entry]
    states: Sequence[StateRow]


def create(path: Path, batches: Sequence[Batch]) -> None:
    """Make a new ledger with its first entries; all or nothing. LedgerError when something is there already."""
    if path.exists():
        raise LedgerError(f"{path}: there is a file already; it is left as it is")
    making = path.with_name(f"{path.name}.making")
    try:
        make_folder_of(path)
        remove_database(making)
        _make(making, batches)
        os.link(making, path)
        sync(path.parent)
    except FileExistsError:
        raise LedgerError(f"{path}: there is a file already; it is left as it is") from None
    except (OSError, SQLAlchemyError) as wrong:
        raise LedgerError(f"the ledger could not be made: {why(path, wrong)}") from wrong
    finally:
        remove_database(making)


def _make(making: Path, batches: Sequence[Batch]) -> None:
    engine = writing_engine(making)
    try:
        with engine.connect() as connection:
            schema.migrate(connection)
        Writer(engine, {}).write(batches)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            connection.exec_driver_sql(f"PRAGMA user_version = {schema.VERSION}")
    finally:
        engine.dispose()
    gather(making)
    inspect_file(making)


def open_writer(path: Path, heads: dict[str, tuple[int, bytes]]) -> "Writer":
    """A writer on an existing ledger; ``heads`` are the last number and hash of each book, from the reader."""
    inspect_file(path)
    return Writer(writing_engine(path), heads)


class _Insert:
    """Inserts rows of one table, many in one statement.

    The driver takes and gives back the interpreter's lock around every statement; beside a busy event loop a statement
    for each row would wait for it thousands of times in a batch.
    """

    def __init__(self, engine: Engine, table: Table) -> None:
        self._one = schema.insert_text(table, engine.dialect)
        self._many = schema.insert_text(table, engine.dialect, ROWS_TOGETHER)
        self._few = schema.insert_text(table, engine.dialect, ROWS_FEW)

    def run(self, connection: Connection, rows: list[tuple[object, ...]]) -> None:
        """Insert the rows in their order."""
        at = 0
        for count, text in ((ROWS_TOGETHER, self._many), (ROWS_FEW, self._few)):
            while at + count <= len(rows):
                connection.exec_driver_sql(text, tuple(itertools.chain.from_iterable(rows[at : at + count])))
                at += count
        if at < len(rows):
            connection.exec_driver_sql(self._one, rows[at:])


class Writer:
    """Writes batches, one transaction each. Used by one thread at a time."""

    def __init__(self, engine: Engine, heads: dict[str, tuple[int, bytes]]) -> None:
        self._engine = engine
        self._path = Path(str(engine.url.database))
        self.heads = dict(heads)
        self._entry = _Insert(engine, schema.entry)
        self._posting = _Insert(engine, schema.posting)
        self._state = schema.insert_text(schema.state, engine.dialect, replace=True)

    def write(self, batches: Sequence[Batch]) -> None:
        """Make batches durable in one transaction; raises LedgerError, and then nothing of them is there."""
        entries: list[tuple[object, ...]] = []
        postings: list[tuple[object, ...]] = []
        states: list[tuple[object, ...]] = []
        heads = dict(self.heads)
        for batch in batches:
            heads[batch.book] = _rows(batch, heads.get(batch.book, (0, chain.START)), entries, postings, states)
        try:
            with self._engine.begin() as connection:
                self._entry.run(connection, entries)
                self._posting.run(connection, postings)
                if states:
                    connection.exec_driver_sql(self._state, states)
                for batch in batches:
                    if any(entry.kind in _ASKED for entry in batch.entries):
                        _check_identity(connection, batch.book)
        except IntegrityError as wrong:
            raise BrokenLedger(f"the ledger already holds a key or number that was to be new: {wrong.orig}") from wrong
        except SQLAlchemyError as wrong:
            raise LedgerError(why(self._path, wrong)) from wrong
        self.heads = heads

    def probe(self) -> None:
        """Write durably without changing anything; raises LedgerError when the ledger cannot be written."""
        try:
            with self._engine.begin() as connection:
                connection.execute(update(schema.state).where(schema.state.c.kind == "head").values(kind="head"))
        except SQLAlchemyError as wrong:
            raise LedgerError(why(self._path, wrong)) from wrong

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()


def _check_identity(connection: Connection, book: str) -> None:
    """The ledger itself is asked whether every meter adds up: at close, verification and payment (design section 9)."""
    query = select(schema.state.c.key, schema.state.c.body)
    for meter, body in connection.execute(query.where(schema.state.c.book == book, schema.state.c.kind == "meter")):
        made = json.loads(body)
        if sum(made[account] for account in ACCOUNTS):
            raise BrokenLedger(f"book {book}: the accounts of {meter} in the ledger do not sum to zero")


def _rows(
    batch: Batch, head: tuple[int, bytes], entries: list[tuple[object, ...]], postings: list[tuple[object, ...]],
    states: list[tuple[object, ...]],
) -> tuple[int, bytes]:
    """Append one batch's rows; returns the book's new head. Raises LedgerError on a gap in the numbers."""
    number, previous = head
    book = batch.book
    for entry in batch.entries:
        if entry.number != number + 1:
            raise BrokenLedger(f"book {book}: entry {entry.number} does not follow entry {number}")
        number = entry.number
        hashed = chain.link(previous, *entry)
        entries.append((*entry[:11], previous, hashed))
        previous = hashed
        for line, posting in enumerate(entry.postings):
            postings.append((book, number, line, *posting))
    states.extend([(book, kind, key, at, body) for kind, key, at, body in batch.states])
    if batch.entries:
        head_row = canonical({"hash": previous.hex(), "number": number})
        states.append((book, "head", book, number, head_row))
    return number, previous
