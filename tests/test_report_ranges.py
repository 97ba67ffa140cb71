"""Ranges of time in a ledger: exact for any clock, in pieces that hold nothing back (SD-07, DB-03)."""

import sqlite3
from datetime import date, timedelta
from pathlib import Path

import pytest
from report_house import HOUR, INSIDE, Played, evenly, failing, made, moment, moved, reading, sql, table, total, wagers

from controller.ledger import ranges as ranges_room
from controller.ledger.place import LedgerError
from controller.ledger.ranges import Ranges, Stretches

ALL = (0, 1 << 62)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day and a half of play, with the clock set back by three hours, and once by two days."""
    play = Played(tmp_path_factory.mktemp("clock") / "ledger.db", 18, moment("2026-06-01T06:30"))
    play.go_on(evenly("2026-06-01T07:00", "2026-06-02T07:00", 120))
    play.go_on(evenly("2026-06-02T04:00", "2026-06-02T09:00", 120))
    play.go_on(evenly("2026-05-31T09:00", "2026-05-31T12:00", 60))
    play.go_on(evenly("2026-06-02T09:00", "2026-06-02T12:00", 60))
    return play.path


@pytest.mark.parametrize("start", ["00:00", "01:30", "02:30", "06:00"])
@pytest.mark.parametrize("night", ["2026-03-08", "2026-11-01"])
def test_a_night_of_a_change_is_cut_once_wherever_the_day_begins(tmp_path: Path, night: str, start: str) -> None:
    """Each wager in exactly one gaming day, days that join, money that adds up; with a restart in the night (SD-07)."""
    play = Played(tmp_path / "ledger.db", 8, moment(f"{night}T00:00") - 20 * HOUR, start)
    night_hours = [moment(f"{night}T00:00") + place * 4 * HOUR // 80 for place in range(160)]
    play.go_on(night_hours[:75])
    play.restart()
    play.go_on(night_hours[75:])
    days = [date.fromisoformat(night) + timedelta(days=place) for place in (-2, -1, 0, 1)]
    sheets = [made(play.path, "table-sheet", day.isoformat()) for day in days]
    counted = sum(total(table(sheet, "By gaming day"), "Wagers taken") for sheet, _ in sheets)
    joined = [scope.end for _, scope in sheets[:-1]] == [scope.start for _, scope in sheets[1:]]
    broken = [failing(made(play.path, "reconciliation", day.isoformat())[0]) for day in days]
    assert (counted, joined, broken) == (wagers(play.path, *ALL)[1], True, [[], [], [], []])


@pytest.fixture(params=[5, 64, 20_000])
def stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of other lengths, the whole ledger in one too."""
    monkeypatch.setattr(ranges_room, "STRETCH", request.param)
    monkeypatch.setattr(ranges_room, "PIECE", max(1, request.param // 3))


DAYS = ("2026-05-31", "2026-06-01", "2026-06-02")


@pytest.mark.usefixtures("stretch")
def test_with_a_clock_set_back_each_entry_lies_in_the_day_of_its_own_time(played: Path) -> None:
    for day in DAYS:
        report, scope = made(played, "table-sheet", day)
        sheet = table(report, "By gaming day")
        assert (total(sheet, "Games"), total(sheet, "Wagers taken")) == wagers(played, scope.start, scope.end)[:2]


@pytest.mark.usefixtures("stretch")
def test_with_a_clock_set_back_every_equation_holds(played: Path) -> None:
    assert [failing(made(played, "reconciliation", day)[0]) for day in DAYS] == [[], [], []]


@pytest.mark.usefixtures("stretch")
def test_balances_are_those_of_all_entries_made_before(played: Path) -> None:
    with reading(played) as ranges:
        for at in range(moment("2026-05-31T06:00"), moment("2026-06-02T13:00"), 5 * HOUR):
            inside = sum(held for (_, account), held in ranges.balances("main", at).items() if account in INSIDE)
            assert inside == moved(played, INSIDE, 0, at)


@pytest.mark.usefixtures("stretch")
def test_entries_come_once_in_the_order_of_the_ledger(played: Path) -> None:
    with reading(played) as ranges:
        numbers = [entry.number for entry in ranges.entries("main", *ALL)]
    assert numbers == list(range(1, sql(played, "SELECT max(number) FROM entry") + 1))


@pytest.mark.usefixtures("stretch")
def test_seldom_entries_newest_first_are_the_others_turned_round(played: Path) -> None:
    last = sql(played, "SELECT max(number) FROM entry")
    with reading(played) as ranges:
        rising = [entry.number for entry in ranges.seldom("main", ("hits", "refused"), 5, last)]
        falling = [entry.number for entry in ranges.seldom("main", ("hits", "refused"), 5, last, newest_first=True)]
    assert (rising, len(rising) > 20) == (falling[::-1], True)


def test_frequent_kinds_are_not_looked_for_by_the_index_of_the_seldom_ones(played: Path) -> None:
    with reading(played) as ranges, pytest.raises(ValueError, match="seldom"):
        list(ranges.seldom("main", ("lock",), 1, 10))


def test_postings_come_with_their_entries(played: Path) -> None:
    with reading(played) as ranges:
        summed = sum(posting.microcents for entry in ranges.entries("main", *ALL) for posting in entry.postings
                     if posting.account == "display")
    assert summed == sql(played, "SELECT sum(microcents) FROM posting WHERE account = 'display'")


def test_what_is_known_of_full_stretches_is_not_read_again(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges_room, "STRETCH", 50)
    monkeypatch.setattr(ranges_room, "PIECE", 1)
    known, read = Stretches(), list[int]()
    for _ in range(2):
        read.append(0)

        def breath(count: int) -> None:
            read[-1] += count

        ranges = Ranges(played, known, breath)
        ranges.balances("main", 1 << 62)
        ranges.close()
    assert (read[0], read[1] < 50) == (sql(played, "SELECT max(number) FROM entry"), True)


def test_the_log_can_be_emptied_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    """A report that reads slowly holds no snapshot between two pieces (DB-03)."""
    play = Played(tmp_path / "ledger.db", 16, moment("2026-06-01T06:30"))
    play.go_on(evenly("2026-06-01T07:00", "2026-06-01T12:00", 60))
    with reading(play.path) as ranges:
        stream = ranges.entries("main", *ALL)
        next(stream)
        play.go_on(evenly("2026-06-01T12:00", "2026-06-01T13:00", 30))
        with sqlite3.connect(play.path) as database:
            busy, left, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        database.close()
        assert (busy, left) == (0, 0)


def test_a_ledger_with_a_missing_entry_is_not_reported_on(tmp_path: Path) -> None:
    play = Played(tmp_path / "ledger.db", 16, moment("2026-06-01T06:30"))
    play.go_on(evenly("2026-06-01T07:00", "2026-06-01T12:00", 60))
    with sqlite3.connect(play.path) as database:
        database.execute("DELETE FROM entry WHERE number = 20")
    database.close()
    with reading(play.path) as ranges, pytest.raises(LedgerError, match="lacks entries"):
        ranges.balances("main", 1 << 62)


def test_a_missing_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger there"):
        Ranges(tmp_path / "none.db")


def test_a_reading_writes_nothing(played: Path) -> None:
    before = played.read_bytes()
    made(played, "liability", since=DAYS[0], until=DAYS[-1])
    assert played.read_bytes() == before
