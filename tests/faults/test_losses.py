"""What is lost for good closes a table until people accept it; what is weather ends by itself (design section 9)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from running_floor import RunningFloor, running, until
from table_unit import WiredUnit

from firmware_bridge import messages


@pytest.fixture
def house(tmp_path: Path) -> Iterator[RunningFloor]:
    with running(tmp_path) as made:
        yield made


@pytest.fixture
async def floor(house: RunningFloor) -> RunningFloor:
    await house.start()
    return house


@pytest.fixture
async def unit(floor: RunningFloor) -> AsyncIterator[WiredUnit]:
    made = WiredUnit(floor.port_of("hub-01"), "hub-01")
    made.live()
    await made.until_playable()
    yield made
    await made.end()


def why_closed(unit: WiredUnit) -> str:
    """What the last pulse said."""
    told = unit.last(messages.Playable)
    return told.reason if told is not None else ""


async def accept(floor: RunningFloor) -> None:
    """As people do it: the daemon stopped, the loss accepted, the daemon started."""
    await floor.stop()
    done = await asyncio.to_thread(
        floor.meterctl, "accept-loss", "--ledger", str(floor.ledger), "--table", "PG-01", "--reason", "unit burnt")
    assert done.returncode == 0, done.stderr
    await floor.start()


async def test_a_gap_that_the_unit_cannot_fill_closes_the_table_until_people_accept_it(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    """An entry with the numbers, an alarm, playable no; the missing wagers are never guessed (I5)."""
    unit.lock(1)
    await unit.acknowledged(1)
    display = floor.display()
    unit.counted(4, 2)
    unit.hello(("b1", 4, 5))  # 2 and 3 are gone, 4 is still kept
    unit.lock(4)
    await unit.until_playable(False)
    await until(lambda: floor.kinds("loss"))
    assert floor.kinds("loss") == [{"boot": "b1", "first": 2, "kept_first": 4, "kind": "loss"}]
    assert why_closed(unit) == "the table unit has lost messages 2 to 3"
    alarms = [note for note in await floor.notes() if note["kind"] == "alarm"]
    assert (alarms[0]["cause"], "accept-loss" in alarms[0]["remedy"], floor.display()) == ("loss", True, display)
    await accept(floor)
    unit.heard.clear()
    await unit.until_playable(True)
    assert floor.display() == display + 5_000_000
    await floor.stop()
    floor.verified()


async def test_after_an_accepted_loss_the_units_own_total_stands_and_the_table_stays_open(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    """The wagers of a lost lock-out are in the unit's total for ever; that is no second difference."""
    unit.lock(1)
    await unit.acknowledged(1)
    unit.counted(4, 3)  # one wager each in 1, in 2 or 3 (lost), and in 4
    unit.hello(("b1", 4, 5))
    unit.lock(4)
    await until(lambda: floor.kinds("loss"))
    await accept(floor)
    await until(lambda: floor.kinds("recounted"), 20.0)
    assert floor.kinds("recounted") == [{"ours": 2, "theirs": 3}]
    await asyncio.sleep(4.0)  # more than three heartbeats, which would find a difference
    assert len(floor.kinds("loss")) == 1
    await floor.stop()
    floor.verified()


async def test_a_loss_is_still_there_after_a_restart(floor: RunningFloor, unit: WiredUnit) -> None:
    unit.counted(6, 0)
    unit.hello(("b1", 7, 7))
    await until(lambda: floor.kinds("loss"))
    floor.kill()
    unit.heard.clear()
    await floor.start()
    await unit.until_playable(False)
    await until(lambda: why_closed(unit) == "the table unit has lost messages 1 to 6")
    assert len(floor.kinds("loss")) == 1


async def test_totals_that_differ_for_three_heartbeats_close_the_table(floor: RunningFloor, unit: WiredUnit) -> None:
    """R-94, design section 9."""
    unit.lock(1, (1, 2))
    await unit.acknowledged(1)
    unit.counted(1, 3)
    await unit.until_playable(False)
    await until(lambda: floor.kinds("loss"))
    assert floor.kinds("loss") == [{"boot": "b1", "kind": "difference", "ours": 2, "theirs": 3}]
    assert why_closed(unit) == "the table unit counted 3 wagers, the controller 2"


async def test_totals_that_differ_for_a_moment_close_nothing(floor: RunningFloor, unit: WiredUnit) -> None:
    await unit.quiet()
    unit.lock(1, (1, 2))
    await unit.acknowledged(1)
    unit.counted(1, 3)
    for _ in range(2):
        unit.beat()
    unit.counted(1, 2)
    for _ in range(3):
        unit.beat()
    unit.lock(2)
    await unit.acknowledged(2)
    assert (floor.kinds("loss"), unit.playable) == ([], True)


async def test_an_accepted_difference_is_not_found_again(floor: RunningFloor, unit: WiredUnit) -> None:
    unit.lock(1, (1, 2))
    await unit.acknowledged(1)
    unit.counted(1, 3)
    await until(lambda: floor.kinds("loss"))
    await accept(floor)
    unit.heard.clear()
    await unit.until_playable(True)
    await asyncio.sleep(2.5)
    assert (len(floor.kinds("loss")), unit.playable) == (1, True)


async def test_a_unit_that_restarts_is_no_loss_and_its_kept_messages_count(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    """SE-04: a start is known by its boot id, never guessed from numbers that went back."""
    unit.lock(1)
    await unit.acknowledged(1)
    unit.boot = "b2"
    unit.counted(0, 0)
    unit.hello(("b1", 2, 3), ("b2", 1, 1))
    unit.say(messages.Lock("hub-01", "b1", 2, 2, ()))
    unit.lock(1, (1, 2))
    await unit.acknowledged(1)
    unit.counted(1, 2)
    boots = floor.rows("SELECT boot, seq FROM entry WHERE kind = 'lock' ORDER BY number")
    assert (boots, floor.kinds("loss")) == ([("b1", 1), ("b1", 2), ("b2", 1)], [])
    await unit.until_playable(True)
