"""A backup is whole and proved, or it is not there (DB-06)."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from controller.ledger import backup as backup_room
from controller.ledger.backup import backup
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.ledger.verify import BadEntry, verify
from controller.ledger.writer import Batch, open_writer
from tests.ledger_house import AT, applied, bad_entry, change, every_kind, lock, rows

KILLED = """
import os, signal, sys
from pathlib import Path
from controller.ledger import backup
backup.verify = lambda part: os.kill(os.getpid(), signal.SIGKILL)
backup.backup(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_backup_is_the_same_ledger(tmp_path: Path) -> None:
    """Every entry, posting and state row, and proved as such."""
    path = every_kind(tmp_path / "l.db")
    proved = backup(path, tmp_path / "copy.db")
    for table in ("entry", "posting", "state"):
        assert rows(tmp_path / "copy.db", f"SELECT * FROM {table}") == rows(path, f"SELECT * FROM {table}")
    assert proved == verify(path)
    assert bad_entry(tmp_path / "copy.db", replay=True) == (0, "")


def test_a_backup_is_one_file_that_can_be_taken_elsewhere(tmp_path: Path) -> None:
    """DB-06: nothing of it is in a log beside it."""
    path = every_kind(tmp_path / "l.db")
    folder = tmp_path / "kept"
    folder.mkdir()
    backup(path, folder / "copy.db")
    assert [file.name for file in folder.iterdir()] == ["copy.db"]


def test_a_restored_backup_goes_on_where_it_was(tmp_path: Path) -> None:
    """DB-06: restored elsewhere, it takes the next message."""
    applied(tmp_path / "l.db", [lock(1, 1)])
    backup(tmp_path / "l.db", tmp_path / "copy.db")
    answers, _ = applied(tmp_path / "copy.db", [lock(1, 1), lock(2, 2)])
    assert [answer["result"] for answer in answers] == ["duplicate", "posted"]
    assert bad_entry(tmp_path / "copy.db", replay=True) == (0, "")


def test_each_backup_under_load_is_whole_and_has_all_that_was_committed_before_it(tmp_path: Path) -> None:
    """DB-06: while a writer goes on as fast as it can."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1)])
    committed, stop = [1], threading.Event()

    def write() -> None:
        reader = Reader(path)
        floor = reader.floor(None, "main")
        writer = open_writer(path, reader.heads())
        while not stop.is_set():
            for _ in range(20):
                floor.hear("hub-01", f"n{floor.number}", AT)
            writer.write([Batch("main", *floor.drain())])
            committed.append(floor.number)
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(10):
            before = committed[-1]
            proved = backup(path, tmp_path / f"copy-{number}.db")
            assert proved[0].entries >= before
    finally:
        stop.set()
        thread.join()
    assert bad_entry(tmp_path / "copy-9.db", replay=True) == (0, "")


def test_a_backup_killed_half_way_is_not_there_and_the_next_one_is(tmp_path: Path) -> None:
    """DB-06: an incomplete one can never be mistaken for a whole."""
    path = every_kind(tmp_path / "l.db")
    killed = subprocess.run([sys.executable, "-c", KILLED, path, tmp_path / "copy.db"], check=False, timeout=60)
    assert (killed.returncode, (tmp_path / "copy.db").exists()) == (-9, False)
    assert [file.suffix for file in tmp_path.glob("copy.db*")] == [".part"]
    backup(path, tmp_path / "copy.db")
    assert bad_entry(tmp_path / "copy.db") == (0, "")


def test_a_name_that_is_taken_is_refused_and_left(tmp_path: Path) -> None:
    """An older backup is never written over."""
    path = every_kind(tmp_path / "l.db")
    (tmp_path / "copy.db").write_text("last year's")
    with pytest.raises(LedgerError, match="there is a file already"):
        backup(path, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "last year's"


def test_a_name_taken_while_the_copy_is_made_is_refused_and_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two backups to one name: one of them gets it."""
    path = every_kind(tmp_path / "l.db")
    monkeypatch.setattr(backup_room, "verify", lambda part: (tmp_path / "copy.db").write_text("the other"))
    with pytest.raises(LedgerError, match="there is a file already"):
        backup(path, tmp_path / "copy.db")
    assert ((tmp_path / "copy.db").read_text(), list(tmp_path.glob("*.part"))) == ("the other", [])


def test_no_backup_is_made_of_a_ledger_that_does_not_verify(tmp_path: Path) -> None:
    """The copy itself is opened and proved."""
    path = every_kind(tmp_path / "l.db")
    change(path, "UPDATE entry SET at = at + 1 WHERE number = 7")
    with pytest.raises(BadEntry, match=r"entry 7: .*no backup was made"):
        backup(path, tmp_path / "copy.db")
    assert list(tmp_path.glob("copy.db*")) == []


def test_a_folder_that_is_not_there_is_a_ledger_error(tmp_path: Path) -> None:
    """What could not be written, and where."""
    path = every_kind(tmp_path / "l.db")
    with pytest.raises(LedgerError, match=r"copy could not be written: .*nowhere"):
        backup(path, tmp_path / "nowhere" / "copy.db")


def test_copying_the_main_file_alone_is_not_enough(tmp_path: Path) -> None:
    """DB-06: why the command exists: what was committed last is in the write-ahead log."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1)])
    reader = Reader(path)
    floor = reader.floor(None, "main")
    writer = open_writer(path, reader.heads())
    floor.hear("hub-01", "n1", AT)
    writer.write([Batch("main", *floor.drain())])
    shutil.copy(path, tmp_path / "torn.db")
    backup(path, tmp_path / "copy.db")
    writer.close()
    with sqlite3.connect(tmp_path / "torn.db") as torn:
        assert torn.execute("SELECT max(number) FROM entry").fetchone()[0] == floor.number - 1
    assert verify(tmp_path / "copy.db")[0].entries == floor.number
