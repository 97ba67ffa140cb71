"""SD-09 on a whole running floor: ten thousand losses of a table unit and a thousand wrong counts, over a real broker.

In real time the losses take half a minute, so that the daemon, which looks once a second, sees few of them;
``tests/test_alarm_flood.py`` has the same number with each of them seen.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from alarm_floor import AlarmFloor, alarm_floor
from running_floor import Broker, until
from table_unit import MqttUnit, WiredUnit

from firmware_bridge.messages import Count

FLAPS, COUNTS = 10_000, 1_000
AT_ONCE = 200
LOG_LINES = 150
PAGE_BYTES = 100_000
MEGABYTES = 30


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    made = Broker(tmp_path)
    await made.begin()
    yield made
    made.end()


@pytest.fixture
def house(tmp_path: Path, broker: Broker) -> Iterator[AlarmFloor]:
    with alarm_floor(tmp_path, broker) as made:
        yield made


@pytest.fixture
async def plays(house: AlarmFloor) -> AsyncIterator[WiredUnit]:
    """The unit of PG-01, which plays on through the flood."""
    unit = WiredUnit(house.port_of("hub-01"), "hub-01")
    yield unit
    await unit.end()


def memory(floor: AlarmFloor) -> float:
    """Megabytes that meterd holds now."""
    pages = int(Path(f"/proc/{floor.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


async def comes_and_goes(floor: AlarmFloor, unit: MqttUnit) -> None:
    """The unit is lost and heard again, as fast as the broker takes it, with a longer loss now and then."""
    for flap in range(FLAPS):
        unit.publish(b"offline", topic=f"{unit.topic}/state")
        longer = flap % AT_ONCE == AT_ONCE - 1
        if longer:
            await asyncio.sleep(0.3)
        unit.hello((unit.boot, 1, 1))
        unit.beat()
        if longer:
            await asyncio.sleep(0.3)
    await floor.ask("api/v1/status")


async def counts_wrongly(unit: WiredUnit) -> list[float]:
    """A lock-out, then many counts that differ; how long each took to be acknowledged."""
    took = []
    unit.lock(1)
    await unit.acknowledged(1)
    unit.counted(1, 1)
    for seq in range(2, COUNTS + 2):
        began = time.monotonic()
        unit.say(Count(unit.device, unit.boot, seq, 1, 2 + seq % 3, unit.boot))
        await unit.acknowledged(seq)
        unit.counted(seq, 1)
        took.append(time.monotonic() - began)
    return took


async def test_a_flood_of_alarms_fills_neither_ledger_log_pages_nor_memory_and_holds_up_no_table(
    house: AlarmFloor, broker: Broker, plays: WiredUnit
) -> None:
    floor = house
    await floor.start()
    plays.live()
    await plays.until_playable()
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.live()
        await hub.until_playable()
        await hub.quiet()
        before, begun = memory(floor), time.monotonic()
        flood = asyncio.create_task(comes_and_goes(floor, hub))
        took = await counts_wrongly(plays)
        await flood
        await until(lambda: floor.alarm("table-offline", "PG-03"), 20, "it comes and goes")
        spent = time.monotonic() - begun
        grown = memory(floor) - before
        await asyncio.sleep(4)  # longer than a silence that rings, and three looks
    entries, lines = len(floor.kinds("alarm")), floor.log().count("\n")
    pages = {path or "floor": len(await floor.read(path)) for path in ("", "api/v1/status", "metrics")}
    print(f"{entries} alarm entries, {lines} log lines, pages {pages}, {grown:.1f} MB more, slowest count "
          f"{max(took):.3f} s, in {spent:.0f} s")
    assert floor.alarm("table-offline", "PG-03")["state"] == "raised"
    assert floor.alarm("chip-difference", "PG-01")["state"] == "raised"
    assert entries <= 20 + 10 * (1 + spent / 60)
    assert (lines <= LOG_LINES, max(pages.values()) <= PAGE_BYTES, grown <= MEGABYTES, max(took) < 1) == (True,) * 4
    assert len(floor.hook.got) <= 2 * entries
    await floor.stop()
    floor.verified()
