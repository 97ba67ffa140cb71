"""Ledgers changed behind the program's back: nothing is written on top of what does not hold (design section 8)."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.ledger.place import LedgerError
from controller.ledger.verify import verify, verify_tail
from controller.offline import look
from tests.ledger_house import DAY, METERCTL, ROOT, applied, change, lock, rows


@pytest.mark.parametrize("statement", [
    "DELETE FROM entry WHERE number = (SELECT MAX(number) FROM entry)",
    "DELETE FROM entry WHERE number = 20",
    "UPDATE posting SET microcents = microcents + 1 WHERE entry = 5 AND line = 0",
    "UPDATE state SET body = '{\"hash\":\"00\",\"number\":-5}' WHERE kind = 'head'",
], ids=["the last entry gone", "an entry gone", "a posting changed", "another head"])
def test_apply_writes_nothing_on_a_ledger_whose_end_does_not_hold(statement: str, tmp_path: Path) -> None:
    """R-69: the quick proof of a start, as the daemon does it."""
    path = tmp_path / "l.db"
    applied(path, DAY)
    change(path, statement)
    before = rows(path, "SELECT * FROM entry")
    with pytest.raises(LedgerError):
        applied(path, [lock(1, 1, boot="b9")])
    assert rows(path, "SELECT * FROM entry") == before


@pytest.mark.parametrize("foreign", [
    "CREATE TRIGGER more AFTER INSERT ON posting BEGIN UPDATE state SET body = '{}'; END",
    "CREATE VIEW more AS SELECT * FROM state",
], ids=["trigger", "view"])
@pytest.mark.parametrize("proof", [verify, verify_tail])
def test_a_ledger_with_a_trigger_or_a_view_is_refused(
    foreign: str, proof: Callable[[Path], object], tmp_path: Path
) -> None:
    """It could change or hide what is written next, while every hash holds."""
    path = tmp_path / "l.db"
    applied(path, DAY)
    change(path, foreign)
    with pytest.raises(LedgerError, match="not made by this program"):
        proof(path)


def test_a_backup_that_finds_no_room_is_a_ledger_error_and_leaves_nothing(tmp_path: Path) -> None:
    """DB-06. A limit on the size of files stands for the full disk."""
    path = tmp_path / "l.db"
    applied(path, DAY)
    limited = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *METERCTL, "backup", "--ledger", str(path),
               str(tmp_path / "copy.db")]
    ran = subprocess.run(limited, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (ran.returncode, "Traceback" in ran.stderr, list(tmp_path.glob("copy*"))) == (3, False, []), ran.stderr


def test_the_holder_of_a_ledger_is_named_with_a_time_that_people_read(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    applied(path, DAY)
    assert '"since": "2026-12-01T' in (tmp_path / "l.db.lock").read_text()


def test_meters_are_shown_in_the_order_of_the_floor_file_whichever_changed_last(tmp_path: Path) -> None:
    """Also after a start, which reads them back from the ledger."""
    path = tmp_path / "l.db"
    for device, cents, shown in (("hub-01", 500, ["pg-link", "pg-solo"]), ("hub-03", 100, ["pg-link", "pg-solo"])):
        applied(path, [lock(1, 1, device=device, cents=cents)])
        assert list(look(path, "0", 0).meters) == shown
