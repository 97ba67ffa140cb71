"""Where a ledger is, whether it is one of ours, and who holds it: what is refused is left as it was."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.ledger.place import HeldLedger, LedgerError, file_of, inspect_file, ledger_url
from controller.ledger.ranges import Ranges
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, open_writer
from tests.ledger_house import AT, applied, bad_entry, change, lock, opened, rows

HOLDER = """
import sys, time
from pathlib import Path
from controller.ledger.place import HeldLedger
held = HeldLedger(Path(sys.argv[1]), "another program", "2026-12-01T20:00:00Z")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds l.db."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "l.db")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_writer_is_refused_and_told_who_holds_it(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    """SD-10."""
    with pytest.raises(LedgerError, match=rf"in use by another program \(pid {holder.pid} on .*since 2026-12-01T20"):
        HeldLedger(tmp_path / "l.db", "a test", "now")


def test_a_stopped_holder_still_holds(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    """SD-10: SIGSTOP is no end; when it goes on it is still the only one."""
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(LedgerError, match="in use by another program"):
        HeldLedger(tmp_path / "l.db", "a test", "now")


def test_a_lock_dies_with_its_process(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    """SD-10: kill -9 leaves no lock behind, whatever the file says."""
    holder.kill()
    holder.wait()
    HeldLedger(tmp_path / "l.db", "a test", "now").close()
    assert json.loads((tmp_path / "l.db.lock").read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("note", ["", "not json", "[]", "{}", '{"pid": 5}', "\0\0\0"])
def test_a_note_that_cannot_be_read_still_refuses(tmp_path: Path, note: str) -> None:
    """SD-10: the lock decides, not the note."""
    held = HeldLedger(tmp_path / "l.db", "a test", "now")
    (tmp_path / "l.db.lock").write_text(note)
    with pytest.raises(LedgerError, match="in use by another program"):
        HeldLedger(tmp_path / "l.db", "a test", "now")
    held.close()


def test_another_name_of_the_same_ledger_is_the_same_ledger(tmp_path: Path) -> None:
    """SD-10: a link in a path must not make a second lock."""
    (tmp_path / "there").symlink_to(tmp_path)
    (tmp_path / "other.db").symlink_to(tmp_path / "l.db")
    held = HeldLedger(tmp_path / "l.db", "a test", "now")
    for name in (tmp_path / "there" / "l.db", tmp_path / "other.db"):
        with pytest.raises(LedgerError, match="in use by a test"):
            HeldLedger(name, "another", "now")
    held.close()


def test_a_lock_that_cannot_be_made_is_a_ledger_error(tmp_path: Path) -> None:
    """The folder is not there."""
    with pytest.raises(LedgerError, match="cannot be opened"):
        HeldLedger(tmp_path / "nowhere" / "l.db", "a test", "now")


def foreign(path: Path) -> None:
    """Somebody else's database."""
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE song (title TEXT)")
    database.close()


def newer(path: Path) -> None:
    """A ledger of a later version."""
    change(opened(path), "PRAGMA user_version = 99")


def unfinished(path: Path) -> None:
    """A ledger whose making was not ended."""
    change(opened(path), "PRAGMA user_version = 0")


def cut(path: Path) -> None:
    """The first half of a ledger."""
    text = opened(path).read_bytes()
    path.write_bytes(text[: len(text) // 2])


def rubbish(path: Path) -> None:
    """A ledger whose pages after the first were overwritten."""
    size = opened(path).stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "the file is empty"),
    "a letter": (lambda path: path.write_text("Dear Sir " * 40), "not a ledger"),
    "very short": (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a ledger"),
    "foreign": (foreign, "no ledger of this program"),
    "newer": (newer, "made by a newer program"),
    "unfinished": (unfinished, "is unfinished"),
    "cut in half": (cut, "damaged|malformed"),
    "overwritten": (rubbish, "damaged|malformed"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_whole_ledger_is_refused_and_left_as_it_was(tmp_path: Path, wrong: str) -> None:
    """Design section 8: empty, foreign, newer, damaged; byte for byte untouched, with nothing beside it but a lock."""
    path = tmp_path / "l.db"
    WRONG[wrong][0](path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=WRONG[wrong][1]):
        applied(path, [lock(1, 1)])
    assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} <= {"l.db", "l.db.lock", "l.db-wal", "l.db-shm"}


@pytest.mark.parametrize(("column", "content"), [
    ("state SET body = 'x' WHERE kind = 'head'", "heads"), ("state SET body = 'x' WHERE kind = 'meter'", "floor"),
    ("state SET body = '[]' WHERE kind = 'table'", "floor"), ("state SET body = '{}' WHERE kind = 'boot'", "floor"),
    ("entry SET body = '{}' WHERE kind = 'config'", "floor"), ("entry SET body = 'x' WHERE kind = 'init'", "origin"),
    ("entry SET body = '[]' WHERE kind = 'init'", "origin"),
])
def test_rows_that_cannot_be_read_are_a_damaged_ledger_not_a_crash(tmp_path: Path, column: str, content: str) -> None:
    """Design section 8: refused, with what to do now."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1)])
    change(path, f"UPDATE {column}")
    reader = Reader(path)
    with pytest.raises(LedgerError, match=r"damaged|restore a backup"):
        reader.floor(None, "main") if content == "floor" else getattr(reader, content)()


def test_a_missing_ledger_is_refused_by_name(tmp_path: Path) -> None:
    """What to do now is said."""
    with pytest.raises(LedgerError, match="no ledger there; make one with"):
        inspect_file(tmp_path / "l.db")


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    """It cannot be read."""
    with pytest.raises(LedgerError, match="cannot be read"):
        inspect_file(tmp_path)


@pytest.mark.parametrize("name", ["50% a.db", "what?.db", "number #1.db", "a&b=c.db", "mètre.db", ":memory:"])
def test_any_file_name_is_a_place_for_a_ledger(tmp_path: Path, name: str) -> None:
    """Signs that mean something in a URL are part of the name."""
    path = tmp_path / name
    applied(path, [lock(1, 1)])
    assert (rows(path, "SELECT count(*) FROM entry WHERE kind = 'lock'"), bad_entry(path, replay=True)) == (
        [(1,)], (0, ""))
    assert {file.name for file in tmp_path.iterdir()} - {name + end for end in ("", ".lock", "-wal", "-shm")} == set()


@pytest.mark.parametrize("url", ["postgresql://meter:secret@127.0.0.1/ledger", "mysql://x/y", "sqlite://", "://",
                                 "no such://thing"])
def test_a_url_that_is_no_sqlite_file_is_refused_without_its_password(url: str) -> None:
    """This version keeps its ledger in SQLite; no secret in a message."""
    with pytest.raises(LedgerError) as refused:
        file_of(ledger_url(url))
    assert "secret" not in str(refused.value)


def test_a_path_and_a_url_are_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Design section 7."""
    monkeypatch.chdir(tmp_path)
    assert file_of(ledger_url("l.db")) == file_of(ledger_url("sqlite:///l.db")) == tmp_path / "l.db"


OUTSIDE = """
import sqlite3, sys
opened = sqlite3.connect(sys.argv[1])
print(opened.execute("SELECT count(*) FROM entry").fetchone()[0])
opened.close()
"""


def outside(path: Path) -> int:
    """How many entries another program finds, which opens the ledger for writing and closes it again."""
    ran = subprocess.run([sys.executable, "-c", OUTSIDE, path], capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.parametrize("look", [inspect_file, Reader, Ranges], ids=lambda look: look.__name__)
def test_who_looks_at_a_ledger_that_is_written_here_loosens_no_lock_of_the_writer(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    """DB-06: else another program that closes the ledger would remove the log under the writer, and what it commits."""
    path = opened(tmp_path / "ledger.db")
    reader = Reader(path)
    floor, writer = reader.floor(None, "main"), open_writer(path, reader.heads())

    def commit() -> None:
        (floor.clear if floor.stopped else floor.stop)("a trial", AT)
        writer.write([Batch("main", *floor.drain())])

    commit()
    before = outside(path)
    for _ in range(3):
        look(path)
        assert outside(path) == before
        commit()
        before += 1
    assert outside(path) == before
    handles = len(list(Path("/proc/self/fd").iterdir()))
    writer.close()
    assert len(list(Path("/proc/self/fd").iterdir())) < handles
    verify(path, replay=True)
