"""The watcher: alarms are raised, told on and cleared in time, over restarts and closed books, and flood nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from demo_snapshot import NOW, SECOND, quiet_snapshot
from watch_house import WatchHouse, acknowledge, live, silent, unheard

from controller.alarm_kinds import FLOOR
from controller.alarms import State, alarms_of
from controller.snapshot import SignHealth
from controller.watch import Told
from tests.books_house import BooksHouse
from tests.ledger_house import contract_plan, opened


@pytest.fixture
def house() -> WatchHouse:
    return WatchHouse()


# ---------------------------------------------------------------------- raised, told on, gone


def test_a_table_rings_when_it_was_silent_for_a_minute_and_not_before(house: WatchHouse) -> None:
    house.look(59, devices=silent(house.snapshot))
    before = house.standing()
    house.look()
    assert (before, house.standing()) == (set(), {"table-offline/PG-01"})


def test_who_is_told_and_when_is_the_ladder_of_the_kind(house: WatchHouse) -> None:
    """R-90: 60 s, 10 min and 30 min after the break began."""
    house.look(1_900, devices=silent(house.snapshot))
    told = [((one.at - NOW) // SECOND, one.step.value, one.roles) for one in house.news]
    assert told == [
        (60, "raised", ("supervisor", "surveillance")), (600, "escalated", ("shift-manager", "technician")),
        (1_800, "escalated", ("administrator",))]


def test_a_break_is_told_on_though_somebody_has_acknowledged_it(house: WatchHouse) -> None:
    house.look(61, devices=silent(house.snapshot))
    acknowledge(house, "table-offline", "PG-01")
    house.look(1_800)
    assert house.steps("table-offline") == ["raised", "escalated", "escalated"]


def test_a_misdeal_that_somebody_acknowledged_is_told_on_no_more(house: WatchHouse) -> None:
    house.happens("void", {"message": {"type": "void"}})
    house.look()
    acknowledge(house, "misdeal", "PG-01")
    house.look(1_900)
    assert house.steps("misdeal") == ["raised"]


def test_an_alarm_goes_when_its_cause_does_and_still_waits_for_somebody(house: WatchHouse) -> None:
    house.look(61, devices=silent(house.snapshot))
    house.look(devices=live(house.snapshot))
    alarm = house.alarm("table-offline", "PG-01")
    assert alarm is not None
    assert (alarm.state, house.steps("table-offline")) == (State.GONE, ["raised", "cleared"])


def test_those_who_were_told_of_it_are_told_that_it_is_over(house: WatchHouse) -> None:
    house.look(700, devices=silent(house.snapshot))
    house.look(devices=live(house.snapshot))
    assert house.news[-1].roles == ("supervisor", "surveillance", "shift-manager", "technician")


def test_a_restart_neither_clears_nor_raises_what_goes_on(house: WatchHouse) -> None:
    """The unit has not been heard since the start: for a minute nobody can know."""
    house.look(61, devices=silent(house.snapshot))
    house.restart()
    house.look(30, devices=unheard(house.snapshot))
    assert house.entered("table-offline") == ["raised"]


def test_the_ladder_goes_on_over_a_restart(house: WatchHouse) -> None:
    house.look(61, devices=silent(house.snapshot))
    house.restart()
    house.look(600, devices=unheard(house.snapshot))
    assert house.entered("table-offline") == ["raised", "escalated"]


def test_what_is_not_durable_is_told_to_nobody(house: WatchHouse) -> None:
    house.shelf.fails = True
    house.look(11, signs={"led-1": SignHealth("led-1", "alpha", False, "", 0)})
    assert (house.news, house.watcher.alarms()) == ([], [])


@pytest.mark.parametrize("period", [2, 20, 130])
def test_sd09_a_loose_cable_is_one_alarm_that_comes_and_goes(house: WatchHouse, period: int) -> None:
    """SD-09: a sign that is lost and found all hour makes a bounded number of entries."""
    for second in range(3_600):
        up = second % period < period // 2
        house.look(signs={"led-1": SignHealth("led-1", "alpha", up, "", 0)})
    assert len(house.entered("sign-not-reached")) <= 20


def test_sd09_what_comes_and_goes_is_cleared_when_it_was_quiet_for_ten_minutes(house: WatchHouse) -> None:
    for up in (False, True) * 10:
        house.look(12, signs={"led-1": SignHealth("led-1", "alpha", up, "", 0)})
    house.look(600)
    alarm = house.alarm("sign-not-reached", "led-1")
    assert alarm is not None
    assert (alarm.state, alarm.count) == (State.GONE, 10)


def test_memory_does_not_grow_with_time(house: WatchHouse) -> None:
    for up in (False, True) * 50:
        house.look(12, signs={"led-1": SignHealth("led-1", "alpha", up, "", 0)})
    sizes = [len(kept) for kept in vars(house.watcher).values() if isinstance(kept, dict | list)]
    assert max(sizes) <= 2


# ---------------------------------------------------------------------- books that take no entries


def test_a_stopped_book_rings_at_once_though_nothing_can_be_written(house: WatchHouse) -> None:
    house.shelf.closed = "the books are stopped"
    house.look(stopped="a trial")
    assert (house.standing(), house.steps("books-stopped"), house.entered()) == (
        {"books-stopped/floor"}, ["raised"], [])


def test_a_stopped_book_is_told_on_though_nothing_can_be_written(house: WatchHouse) -> None:
    house.shelf.closed = "the books are stopped"
    house.look(700, stopped="a trial")
    assert house.steps("books-stopped") == ["raised", "escalated", "escalated"]


def test_what_was_kept_aside_is_written_when_the_book_takes_entries_again(house: WatchHouse) -> None:
    house.shelf.closed = "the ledger cannot be written"
    house.look(61, trouble="disk full")
    house.shelf.closed = ""
    house.look(trouble="")
    alarm = house.kept()["ledger-failing", FLOOR]
    assert (house.entered(), alarm.state, house.watcher.aside) == (
        ["raised", "escalated", "cleared"], State.GONE, {})


def test_nobody_is_told_twice_of_what_was_kept_aside(house: WatchHouse) -> None:
    house.shelf.closed = "the ledger cannot be written"
    house.look(10, trouble="disk full")
    house.shelf.closed = ""
    house.look(2, trouble="")
    assert house.steps("ledger-failing") == ["raised", "cleared"]


def test_an_alarm_that_stood_when_the_book_closed_is_cleared_in_the_ledger_afterwards(house: WatchHouse) -> None:
    dark = {"led-1": SignHealth("led-1", "alpha", False, "", 0)}
    house.look(11, signs=dark)
    house.shelf.closed = "the ledger cannot be written"
    house.look(signs={})
    house.shelf.closed = ""
    house.look(2)
    assert house.entered("sign-not-reached") == ["raised", "cleared"]


# ---------------------------------------------------------------------- on a real ledger


async def test_an_alarm_is_in_the_ledger_before_anybody_is_told_and_after_a_restart(tmp_path: Path) -> None:
    path = opened(tmp_path / "l.db")
    quiet = quiet_snapshot()
    dark = {"led-1": SignHealth("led-1", "alpha", False, "", 0)}
    gone = replace(quiet, plan=contract_plan(), meters={}, tables={}, signs=dark)
    async with BooksHouse(path) as house:
        watch = WatchHouse(quiet)
        watch.watcher._books = house.books  # type: ignore[assignment]
        watch.watcher._plan = house.plan
        for seconds in (0, 11):
            watch.watcher.look(replace(gone, at=NOW + seconds * SECOND), Told(), NOW + seconds * SECOND)
        before = list(watch.news)
        await house.until(lambda: watch.news)
        assert before == []
    async with BooksHouse(path) as house:
        (alarm,) = alarms_of(house.books.floors["main"]).values()
        assert (alarm.key, alarm.state) == (("sign-not-reached", "led-1"), State.RAISED)
