"""A copy of a live ledger that is proved before it gets its name (DB-06)."""

import os
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from controller.ledger.place import LedgerError, inspect_file, reading_engine
from controller.ledger.verify import BadEntry, Verified, verify


def backup(path: Path, copy: Path) -> list[Verified]:
    """Copy a ledger, running or not, to ``copy`` and verify the copy; it appears whole or not at all.

    Raises LedgerError when something is there already or the copy cannot be written, BadEntry when it does not verify.
    """
    inspect_file(path)
    if copy.exists():
        raise LedgerError(f"{copy}: there is a file already; give another name")
    part = copy.with_name(f"{copy.name}.part")
    try:
        for leftover in _files(part):
            leftover.unlink(missing_ok=True)
        _copy(path, part)
        proved = verify(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        os.link(part, copy)
        return proved
    except FileExistsError:
        raise LedgerError(f"{copy}: there is a file already; give another name") from None
    except (OSError, SQLAlchemyError) as wrong:
        raise LedgerError(f"{copy}: the copy could not be written: {getattr(wrong, 'orig', None) or wrong}") from wrong
    except BadEntry as bad:
        raise BadEntry(bad.book, bad.number, f"{bad.why} (no backup was made)") from bad
    finally:
        for leftover in _files(part):
            leftover.unlink(missing_ok=True)


def _files(part: Path) -> list[Path]:
    return [part, *(part.with_name(part.name + ending) for ending in ("-wal", "-shm", "-journal"))]


def _copy(path: Path, part: Path) -> None:
    """The whole database as of one moment, by SQLite's own backup interface: the write-ahead log is included."""
    source, target = reading_engine(path), create_engine(f"sqlite:///{part}", poolclass=NullPool)
    try:
        with source.connect() as reading, target.connect() as writing:
            reading.connection.driver_connection.backup(writing.connection.driver_connection)  # type: ignore[union-attr]
            writing.exec_driver_sql("PRAGMA journal_mode=DELETE")
    finally:
        source.dispose()
        target.dispose()
