"""The ledger cannot be written: nothing is acknowledged or shown, the floor is told, and it goes on by itself."""

import asyncio
import resource
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


def limit_files(floor: RunningFloor, size: int) -> None:
    """meterd can write no file beyond this size, as on a disk that is full."""
    _, hard = resource.prlimit(floor.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(floor.process.pid, resource.RLIMIT_FSIZE, (size, hard))


async def test_on_a_full_disk_nothing_is_acknowledged_or_shown_and_it_comes_back(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    """DB-08, DI-07, I3: not ready, playable no, a note that names the folder; afterwards every wager counts once."""
    unit.lock(1)
    await unit.acknowledged(1)
    shown = (await floor.ask("api/v1/meters/pg-link"))["display"]
    wal = floor.ledger.with_name("ledger.db-wal")
    limit_files(floor, max(wal.stat().st_size, floor.log_file.stat().st_size) + 4_096)
    refused_from = 0
    for seq in range(2, 200):
        unit.lock(seq)
        await asyncio.sleep(0.02)
        if unit.playable is False:
            refused_from = seq
            break
    durable = floor.rows("SELECT COUNT(*) FROM entry WHERE kind = 'lock'")[0][0]
    acknowledged = max(ack.seq for ack in unit.all(messages.Ack))
    ready = (await floor.ask("readyz"))["status"]
    now_shown = (await floor.ask("api/v1/meters/pg-link"))["display"]
    note = next(one for one in await floor.notes() if one["cause"] == "ledger")
    limit_files(floor, resource.RLIM_INFINITY)
    await unit.until_playable(True, 10)
    for seq in range(2, refused_from + 1):
        unit.lock(seq)
    await unit.acknowledged(refused_from)
    unit.counted(refused_from, refused_from)
    assert 1 <= acknowledged <= durable < refused_from and ready != "ready"
    assert str(floor.folder) in note["remedy"]
    assert _cents(now_shown) - _cents(shown) == 5 * (durable - 1)
    assert floor.rows("SELECT COUNT(*) FROM entry WHERE kind = 'lock'") == [(refused_from,)]
    await floor.stop()
    floor.verified()


def _cents(written: str) -> int:
    return int(written.replace(".", "").replace(",", "").replace("$", ""))


async def test_a_writer_that_hangs_feeds_no_watchdog_and_acknowledges_nothing(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    """SD-02: only the writer is stuck, the loop and its pulse are well."""
    with floor.writing_held_up():
        unit.lock(1)
        await asyncio.sleep(6.0)
        fed, pulses = floor.told().count("WATCHDOG=1"), unit.count(messages.Playable)
        await asyncio.sleep(2.2)
        assert floor.told().count("WATCHDOG=1") == fed
        assert unit.count(messages.Playable) > pulses and not unit.all(messages.Ack)
    await unit.acknowledged(1)
    await until(lambda: floor.told().count("WATCHDOG=1") > fed)


async def test_a_ledger_that_somebody_holds_for_long_is_weather(floor: RunningFloor, unit: WiredUnit) -> None:
    """DB-02: said once when it begins and once when it is over."""
    with floor.writing_held_up():
        unit.lock(1)
        await unit.until_playable(False, 15)
    await unit.until_playable(True, 15)
    unit.lock(1)
    await unit.acknowledged(1)
    log = floor.log()
    assert (log.count("cannot be written, no wagers"), log.count("can be written again")) == (1, 1)
