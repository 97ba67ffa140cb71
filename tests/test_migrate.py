"""A ledger of an older version: its entries stay readable for ever, its state is made again (design section 8)."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from day_house import DayDesk
from desk_house import DORA
from report_house import moment

from controller.ledger import place, schema
from controller.ledger.migrate import migrate
from controller.ledger.place import LedgerError, inspect_file
from controller.ledger.reader import Reader
from controller.ledger.schema import APPLICATION_ID, VERSION
from controller.ledger.verify import BadEntry, verify
from tests.ledger_house import applied, change, hit, meterctl, opened, rows, said

RECORDED = Path(__file__).parent / "recordings"
OLD = {"every kind of entry": "ledger-version-1.sql", "an open game with a hit": "ledger-version-1-open.sql"}


def old_ledger(folder: Path, name: str) -> Path:
    """A ledger that version 1 of the program wrote, byte for byte its rows."""
    path = folder / "old.db"
    with sqlite3.connect(path) as database:
        database.executescript((RECORDED / OLD[name]).read_text())
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("PRAGMA user_version = 1")
    database.close()
    return path


@pytest.fixture(params=sorted(OLD))
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return old_ledger(tmp_path, request.param)


def test_an_older_ledger_is_refused_with_what_to_do(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="meterctl migrate"):
        inspect_file(path)
    assert path.read_bytes() == before


def test_every_entry_stays_as_it_was_and_the_whole_ledger_verifies(path: Path) -> None:
    """Old entries are readable for ever; a rebuilt state is what a replay makes."""
    entries = rows(path, "SELECT * FROM entry ORDER BY number")
    version, kept = migrate(path)
    assert (version, rows(path, "SELECT * FROM entry ORDER BY number")) == (1, entries)
    assert verify(path, replay=True)[0].entries == len(entries)
    assert kept.exists()


def test_an_open_game_goes_on_where_it_was(tmp_path: Path) -> None:
    path = old_ledger(tmp_path, "an open game with a hit")
    migrate(path)
    answers, _ = applied(path, [hit(7, 2, 2, "five-aces"), said("close", 8, round=2)])
    assert [answer["result"] for answer in answers] == ["posted", "posted"]
    assert verify(path, replay=True)


def test_pending_awards_of_before_can_be_verified_and_paid(tmp_path: Path) -> None:
    path = old_ledger(tmp_path, "an open game with a hit")
    migrate(path)
    found = Reader(path).recall_game("main", "PG-01", 1)
    assert found is not None
    assert [case[2] for case in found[0]["since"]["cases"]] == ["pending"]


def test_a_ledger_that_has_closed_a_day_goes_on_to_the_version_after_the_present_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its replay looks back at the day while the file is still marked with the old version."""
    desk = DayDesk(tmp_path / "ledger.db")
    desk.lock(1, 3, 5)
    desk.close(1)
    desk.at = moment("2026-12-02T06:00")
    desk.sign("day-closed", DORA, day="2026-12-01")
    entries = rows(desk.path, "SELECT * FROM entry ORDER BY number")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, lambda _connection: None))
    for room in (schema, place):
        monkeypatch.setattr(room, "VERSION", VERSION + 1)
    assert migrate(desk.path)[0] == VERSION
    assert rows(desk.path, "PRAGMA user_version") == [(VERSION + 1,)]
    assert rows(desk.path, "SELECT * FROM entry ORDER BY number") == entries
    assert verify(desk.path, replay=True)


def test_a_tampered_entry_stops_the_migration_and_nothing_is_changed(path: Path) -> None:
    change(path, "UPDATE entry SET body = replace(body, '500', '501') WHERE kind = 'lock'")
    before = rows(path, "SELECT * FROM state ORDER BY kind, key")
    with pytest.raises(BadEntry):
        migrate(path)
    assert rows(path, "SELECT * FROM state ORDER BY kind, key") == before
    with pytest.raises(LedgerError, match="meterctl migrate"):
        inspect_file(path)


def test_a_ledger_of_the_present_version_has_nothing_to_migrate(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="nothing to migrate"):
        migrate(opened(tmp_path / "l.db"))


def test_the_old_file_of_an_earlier_try_is_never_overwritten(path: Path) -> None:
    shutil.copy(path, path.with_name("old.db.version-1"))
    with pytest.raises(LedgerError, match="there is a file already"):
        migrate(path)


def test_the_command_says_from_where_to_where(path: Path) -> None:
    ran = meterctl("migrate", "--ledger", path)
    assert (ran.returncode, "from version 1 to the present one" in ran.stdout) == (0, True)
    assert int(rows(path, "PRAGMA user_version")[0][0]) == VERSION
