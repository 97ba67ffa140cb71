"""Bring a ledger of an older version to the present one: its entries stay as they are, its state is made again.

State rows are derived (design section 8), so their new form comes from a replay of every entry by the rules of its
version. The old file is kept beside; nothing is written unless the whole replay agrees.
"""

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, delete, insert

from controller.floor_state import StateRow
from controller.ledger import schema
from controller.ledger.place import LedgerError, gather, inspect_file, sync, version_in, writing_engine
from controller.ledger.verify import replayed_rows

ROWS_TOGETHER = 1_000


def migrate(path: Path) -> tuple[int, Path]:
    """Migrate a ledger that nobody has open; returns its old version and where the old file is kept.

    Raises LedgerError when there is nothing to migrate, BadEntry when an entry does not hold. An interrupted migration
    has changed nothing in the ledger; it leaves the copy, which must be moved away before the next try.
    """
    version = version_in(path)
    if version == schema.VERSION:
        raise LedgerError(f"{path}: it has the present version; there is nothing to migrate")
    kept = path.with_name(f"{path.name}.version-{version}")
    if kept.exists():
        raise LedgerError(f"{kept}: there is a file already; move it away, then migrate again")
    gather(path)
    shutil.copyfile(path, kept)
    sync(kept)
    engine = writing_engine(path)
    try:
        with engine.begin() as connection:
            for step, change in enumerate(schema.MIGRATIONS[version:], start=version + 1):
                change(connection)
                connection.execute(schema.migration.insert().values(version=step))
            for book, rows in replayed_rows(connection):
                _replace(connection, book, rows)
            connection.exec_driver_sql(f"PRAGMA user_version = {schema.VERSION}")
    finally:
        engine.dispose()
    inspect_file(path)
    return version, kept


def _replace(connection: Connection, book: str, rows: Iterator[StateRow]) -> None:
    """A book's rows but its head, made anew."""
    state = schema.state
    connection.execute(delete(state).where(state.c.book == book, state.c.kind != "head"))
    while together := [{"book": book, **row._asdict()} for row in islice(rows, ROWS_TOGETHER)]:
        connection.execute(insert(state), together)
