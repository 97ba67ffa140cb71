"""Where a ledger is, whether it is one of ours, and who holds it.

A missing, empty, foreign, newer or damaged ledger is refused and left untouched; one writer holds it by a lock that
dies with its process (SD-10).
"""

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, StaticPool

from controller.ledger.schema import APPLICATION_ID, VERSION


class LedgerError(Exception):
    """A ledger cannot be used: what, where, and what to do now (exit code 3)."""


class BrokenLedger(LedgerError):
    """The ledger holds what the engine says it cannot (a key or number twice): a broken invariant, not weather."""


def ledger_url(place: str) -> URL:
    """The URL of a ledger given as a path or a URL, relative to the working folder."""
    if "://" in place:
        try:
            return make_url(place)
        except (ArgumentError, ValueError) as wrong:
            raise LedgerError(f"{place}: not a ledger's URL; write a path, or sqlite:///path") from wrong
    return URL.create("sqlite", database=str(Path(place).absolute()))


def file_of(url: URL) -> Path:
    """The file of an SQLite ledger, absolute; LedgerError for another database."""
    if url.get_backend_name() != "sqlite" or not url.database:
        raise LedgerError(f"{url.render_as_string(hide_password=True)}: this version keeps its ledger in SQLite only")
    try:
        url.database.encode()
    except UnicodeEncodeError as wrong:
        raise LedgerError(f"{url.database!a}: SQLite cannot open a file of such a name; use UTF-8") from wrong
    return Path(url.database).absolute()


def make_folder_of(path: Path) -> None:
    """Make the folder in which a new ledger is to lie; raises LedgerError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise LedgerError(f"{path.parent}: no folder can be made there: {wrong.strerror}") from wrong


def why(path: Path, wrong: Exception) -> str:
    """What a database said of a ledger, in one line that names the file."""
    return f"{path}: {getattr(wrong, 'orig', None) or wrong}"


def version_in(path: Path) -> int:
    """The version of a ledger of ours, 1 to the present one; raises LedgerError for anything else.

    Only the file's head is read: nothing is touched.
    """
    try:
        head = _head_of(path)
    except FileNotFoundError:
        raise LedgerError(f"{path}: no ledger there; make one with `meterctl init --config FILE`") from None
    except OSError as wrong:
        raise LedgerError(f"{path}: cannot be read: {wrong.strerror}") from wrong
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        what = "empty" if not head else "not a ledger"
        raise LedgerError(f"{path}: the file is {what}; restore a backup, or give the right path")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise LedgerError(f"{path}: an SQLite file, but no ledger of this program; give the right path")
    version = int.from_bytes(head[60:64], "big")
    if version > VERSION:
        raise LedgerError(f"{path}: made by a newer program (ledger version {version}); install that version")
    if version < 1:
        raise LedgerError(f"{path}: ledger version {version} is unfinished; restore a backup")
    return version


_written: dict[tuple[int, int], int | None] = {}
"""The files (device, inode) that this process has open for writing, each with a handle that looks at its head."""


def _head_of(path: Path) -> bytes:
    """The first 100 bytes of a file; raises OSError.

    While SQLite has it open for writing here, the handle stays open, too: the system drops every lock of a process on a
    file when it closes any handle of it. Another program would then find the ledger unused and remove its write-ahead
    log, and with it every commit that came afterwards (DB-06; sqlite.org/howtocorrupt.html, 2.2).
    """
    found = path.stat()
    key = (found.st_dev, found.st_ino)
    kept = _written.get(key)
    if kept is not None:
        return os.pread(kept, 100, 0)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if key in _written:
        _written[key] = handle
        return os.pread(handle, 100, 0)
    try:
        return os.pread(handle, 100, 0)
    finally:
        os.close(handle)


def inspect_file(path: Path) -> None:
    """Refuse what is not a whole ledger of this version, reading only the file's head: nothing is touched."""
    version = version_in(path)
    if version < VERSION:
        raise LedgerError(
            f"{path}: ledger version {version} is of an older program; stop meterd and run `meterctl migrate --ledger`")


def writing_engine(path: Path) -> Engine:
    """One durable writing connection: WAL, ``synchronous=FULL``, ``BEGIN IMMEDIATE`` (DB-01, DB-04)."""
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(
        url, poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _connected(raw: Any, _record: Any) -> None:
        raw.isolation_level = None
        for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=FULL"):
            raw.execute(f"PRAGMA {pragma}")
        kept = [raw.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
        if kept != ["wal", 2]:
            raise LedgerError(f"{path}: the disk does not let SQLite keep a write-ahead log; use a local disk")

    key: list[tuple[int, int]] = []

    @event.listens_for(engine, "connect")
    def _opened(_raw: Any, _record: Any) -> None:
        found = path.stat()
        key.append((found.st_dev, found.st_ino))
        _written.setdefault(key[-1], None)

    @event.listens_for(engine, "close")
    def _closed(_raw: Any, _record: Any) -> None:
        kept = _written.pop(key.pop(), None) if key else None
        if kept is not None:
            os.close(kept)

    @event.listens_for(engine, "begin")
    def _began(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def reading_engine(path: Path) -> Engine:
    """Short read-only connections, each with a snapshot of its own."""
    url = URL.create("sqlite", database=f"file:{quote(str(path))}", query={"mode": "ro", "uri": "true"})
    return create_engine(url, poolclass=NullPool, hide_parameters=True)


def gather(file: Path) -> None:
    """Bring all of a database into its one file, durably: until then, part of it may be in the log beside it."""
    engine = create_engine(URL.create("sqlite", database=str(file)), poolclass=NullPool, hide_parameters=True)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    finally:
        engine.dispose()
    sync(file)


def remove_database(file: Path) -> None:
    """Remove an unfinished database with the files that SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + ending).unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class HeldLedger:
    """The exclusive right to write one ledger. Released when closed, or when the process ends in any way."""

    def __init__(self, path: Path, program: str, at: str) -> None:
        """Take the lock, or raise LedgerError naming the holder. Every name of a file (a link to it) is one ledger."""
        path = path.resolve()
        self._path = path.with_name(path.name + ".lock")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as wrong:
            raise LedgerError(f"{self._path}: cannot be opened: {wrong.strerror}") from wrong
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            note = {"host": socket.gethostname(), "pid": os.getpid(), "program": program, "since": at}
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(note).encode(), 0)
        except BlockingIOError:
            holder = _holder(self._path)
            os.close(self._file)
            raise LedgerError(f"{path}: in use by {holder}; stop that first") from None
        except OSError as wrong:
            os.close(self._file)
            raise LedgerError(f"{self._path}: cannot be locked: {wrong.strerror}") from wrong

    def close(self) -> None:
        """Give the ledger free."""
        os.close(self._file)


def _holder(lock: Path) -> str:
    try:
        note = json.loads(lock.read_text())
        return f"{note['program']} (pid {note['pid']} on {note['host']}, since {note['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another program"
