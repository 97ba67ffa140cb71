"""Lines that go, swap and shake: the right table stops, nothing is credited to another, and it comes back (SE)."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from alpha_panel import PtyPanel
from running_floor import Broker, RunningFloor, running, until
from table_unit import SPOT, MqttUnit, WiredUnit

from firmware_bridge import messages
from firmware_bridge.messages import Hit


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    made = Broker(tmp_path)
    await made.begin()
    yield made
    made.end()


@pytest.fixture
def house(tmp_path: Path, broker: Broker) -> Iterator[RunningFloor]:
    with running(tmp_path, serial=("hub-01", "hub-02"), broker=broker) as made:
        yield made


@pytest.fixture
async def floor(house: RunningFloor) -> RunningFloor:
    await house.start()
    return house


def cpu_s(floor: RunningFloor) -> float:
    """Seconds of processor time that meterd has used."""
    fields = Path(f"/proc/{floor.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_an_unplugged_table_is_shown_within_two_seconds_and_comes_back_by_itself(floor: RunningFloor) -> None:
    """SE-01: another table plays on, the processor stays idle, the log has one line off and one on."""
    first, second = (WiredUnit(floor.port_of(device), device) for device in ("hub-01", "hub-02"))
    for unit in (first, second):
        unit.live()
        await unit.until_playable()
    await asyncio.sleep(2.2)  # a line that stayed open for a while
    began, used = time.monotonic(), cpu_s(floor)
    first.unplug()
    while (await floor.table())["playable"]:
        assert time.monotonic() - began < 2
    second.lock(1)
    await second.acknowledged(1)
    second.counted(1, 1)
    await asyncio.sleep(3)
    busy = (cpu_s(floor) - used) / (time.monotonic() - began)
    first.heard.clear()
    first.plug()
    back = time.monotonic()
    await first.until_playable(True, 8)
    took = time.monotonic() - back
    lines = [line for line in floor.log().splitlines() if "line serial-01" in line]
    for unit in (first, second):
        await unit.end()
    # 5 s to open it again, and a heartbeat until the unit is asked for its hello.
    assert (took < 6.5, busy < 0.25) == (True, True), (took, busy)
    assert len([line for line in lines if " off, " in line]) <= 2, lines


async def test_swapped_ports_credit_nobody_and_say_who_spoke_where(floor: RunningFloor) -> None:
    """SE-02: identity is the id inside each frame, never the port's name; it comes back when they are swapped back."""
    first, second = (WiredUnit(floor.port_of(device), device) for device in ("hub-01", "hub-02"))
    for unit in (first, second):
        unit.live()
        await unit.until_playable()
    for unit in (first, second):
        unit.unplug()
    first.port, second.port = second.port, first.port
    for unit in (first, second):
        unit.heard.clear()
        unit.plug()
    await until(lambda: "hub-01 spoke on the line of hub-02" in floor.log())
    for seq in range(1, 6):
        first.lock(seq)
        second.lock(seq)
    await until(lambda: "hub-02 spoke on the line of hub-01" in floor.log())
    tables = [(await floor.table(table))["playable"] for table in ("PG-01", "PG-02")]
    swapped = floor.rows("SELECT COUNT(*) FROM entry WHERE seq IS NOT NULL")
    told = [first.count(messages.Ack), second.count(messages.Ack), first.playable, second.playable]
    for unit in (first, second):
        await unit.end()
    first.port, second.port = second.port, first.port
    for unit in (first, second):
        unit.heard.clear()
        unit.plug()
        unit.keep_beating()
        await unit.until_playable(True, 12)
        await unit.end()
    assert (tables, swapped, told) == ([False, False], [(0,)], [0, 0, None, None])


async def test_a_sensor_hub_where_the_sign_is_expected_moves_nothing(tmp_path: Path) -> None:
    """SE-02: an LED sign's line is only written to."""
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, more=led) as floor:
        unit = WiredUnit(tmp_path / "led", "hub-01")
        await floor.start()
        unit.hello(("b1", 1, 1))
        unit.lock(1)
        await asyncio.sleep(1)
        await unit.end()
        assert floor.rows("SELECT 1 FROM entry WHERE device IS NOT NULL") == []


async def test_a_unit_live_on_two_lines_is_played_on_neither_and_comes_back(
    floor: RunningFloor, broker: Broker
) -> None:
    wired = WiredUnit(floor.port_of("hub-01"), "hub-01")
    wired.live()
    await wired.until_playable()
    async with MqttUnit(broker.port, "hub-01") as twin:
        twin.keep_beating()
        await until(lambda: wired.playable is False or twin.playable is False)
        table = await floor.table()
        assert (table["playable"], table["reason"]) == (False, "table unit seen on two lines: unplug one")
    wired.heard.clear()
    await wired.until_playable(True)
    await wired.end()


async def test_a_hit_is_on_the_led_sign_within_two_seconds_of_its_commit(tmp_path: Path) -> None:
    """Issue 2, "The sign": PENDING, the table, and the new value."""
    panel = PtyPanel(tmp_path / "led")
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, more=led) as floor:
        await floor.start()
        unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
        unit.live()
        await unit.until_playable()
        unit.lock(1, (2,))
        await unit.acknowledged(1)
        unit.say(messages.Hits("hub-01", "b1", 2, 1, (Hit(2, SPOT, "royal-flush-royal-match"),), "b1"))
        await unit.acknowledged(2)
        began = time.monotonic()
        await until(lambda: "PENDING" in panel.lit, 5)
        took = time.monotonic() - began
        lit = panel.lit
        panel.unplug()
        await unit.end()
        assert ("PG-01" in lit, took < 2.0) == (True, True), (lit, took)


async def test_a_sign_that_forgets_everything_is_told_again_after_its_line_came_back(tmp_path: Path) -> None:
    """DI-01: the amount of the ledger, not an older one."""
    panel = PtyPanel(tmp_path / "led")
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, more=led) as floor:
        await floor.start()
        panel.unplug()
        panel.forget()
        unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
        unit.live()
        await unit.until_playable()
        unit.lock(1, (1, 2, 3, 4))
        await unit.acknowledged(1)
        panel.plug()
        await until(lambda: "$10,000.20" in panel.lit, 15, "the amount on the sign")
        panel.unplug()
        await unit.end()


async def test_thousands_of_bad_frames_make_a_few_lines_of_log(floor: RunningFloor) -> None:
    """SD-09: counted, merged, and the next good frame is taken (SE-05)."""
    unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
    unit.live()
    await unit.until_playable()
    before = len(floor.log().splitlines())
    for _ in range(200):
        unit.write(b"\x05nonsense\x00" * 20)
        await asyncio.sleep(0.005)
    unit.lock(1)
    await unit.acknowledged(1)
    damaged = (await floor.table())["line"]["counts"]["frames_damaged"]
    await unit.end()
    assert (damaged > 1000, len(floor.log().splitlines()) - before <= 12) == (True, True), damaged


async def test_the_log_stays_short_while_a_port_flaps_and_the_broker_is_gone(
    floor: RunningFloor, broker: Broker
) -> None:
    """SD-09, SE-01."""
    broker.end()
    unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
    before = len(floor.log().splitlines())
    for _ in range(10):
        await asyncio.sleep(0.3)
        unit.unplug()
        await asyncio.sleep(0.3)
        unit.plug()
    unit.heard.clear()
    unit.live()
    await unit.until_playable(True, 12)
    await unit.end()
    assert len(floor.log().splitlines()) - before <= 30, floor.log()
