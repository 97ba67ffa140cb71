"""A copy of a live ledger that is proved before it gets its name (DB-06)."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from controller.ledger.place import LedgerError, gather, inspect_file, reading_engine, remove_database, sync, why
from controller.ledger.verify import BadEntry, Verified, verify


def backup(path: Path, copy: Path) -> list[Verified]:
    """Copy a ledger, running or not, to ``copy`` and verify the copy; it appears whole or not at all.

    Until it is proved it is called ``<copy>.<process>.part``: what is left of a killed backup has that name, too.
    Raises LedgerError when something is there already or the copy cannot be written, BadEntry when it does not verify.
    """
    inspect_file(path)
    if copy.exists():
        raise LedgerError(f"{copy}: there is a file already; give another name")
    part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        remove_database(part)
        _copy(path, part)
        proved = verify(part)
        os.link(part, copy)
        sync(copy.parent)
        return proved
    except FileExistsError:
        raise LedgerError(f"{copy}: there is a file already; give another name") from None
    except (OSError, SQLAlchemyError, sqlite3.Error) as wrong:  # the driver's own copying raises its own errors
        raise LedgerError(f"the copy could not be written: {why(copy, wrong)}") from wrong
    except BadEntry as bad:
        raise BadEntry(bad.book, bad.number, f"{bad.why} (no backup was made)") from bad
    finally:
        remove_database(part)


def _copy(path: Path, part: Path) -> None:
    """The whole database as of one moment, by SQLite's own backup interface: the write-ahead log is included."""
    source = reading_engine(path)
    target = create_engine(URL.create("sqlite", database=str(part)), poolclass=NullPool, hide_parameters=True)
    try:
        with source.connect() as reading, target.connect() as writing:
            reading.connection.driver_connection.backup(writing.connection.driver_connection)  # type: ignore[union-attr]
    finally:
        source.dispose()
        target.dispose()
    gather(part)
