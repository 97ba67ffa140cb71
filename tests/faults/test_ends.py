"""How meterd begins and ends: READY, the watchdog, exit codes, a clean end in time, one writer only (SD)."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import aiomqtt
import pytest
from alpha_panel import PtyPanel
from running_floor import Broker, RunningFloor, running, until
from table_unit import MqttUnit, WiredUnit

from firmware_bridge import messages


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    made = Broker(tmp_path)
    await made.begin()
    yield made
    made.end()


def watchdogs(floor: RunningFloor) -> int:
    """How often the watchdog was fed."""
    return floor.told().count("WATCHDOG=1")


async def test_a_clean_end_is_quick_tells_everybody_and_loses_nothing(tmp_path: Path, broker: Broker) -> None:
    """Within 5 s: STOPPING, units told, LED NOT LIVE, host/state offline, the ledger whole (DI-01)."""
    panel = PtyPanel(tmp_path / "led")
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, broker=broker, more=led) as floor:
        await floor.start()
        unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
        unit.live()
        await unit.until_playable()
        for seq in range(1, 40):
            unit.lock(seq)
        code, took = await floor.stop()
        await asyncio.sleep(0.2)
        lit, playable = panel.lit, unit.playable
        panel.unplug()
        await unit.end()
        async with aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5) as client:
            await client.subscribe("meterd/demo/host/state")
            state = await asyncio.wait_for(anext(aiter(client.messages)), 5)
        acknowledged = max((ack.seq for ack in unit.all(messages.Ack)), default=0)
        (durable,) = floor.rows("SELECT COALESCE(MAX(seq), 0) FROM entry")[0]
        assert (code, took < 5, lit, playable, state.payload) == (0, True, "NOT LIVE", False, b"offline")
        assert durable >= acknowledged and "STOPPING=1" in floor.told()
        floor.verified()


async def test_a_clean_end_is_in_time_though_ports_and_signs_are_stuck(tmp_path: Path, broker: Broker) -> None:
    """SD-05: nobody reads the LED sign's line, nobody the unit's, and the broker is stopped in its tracks."""
    panel, unit = PtyPanel(tmp_path / "led"), WiredUnit(tmp_path / "hub-01", "hub-01")
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, broker=broker, more=led) as floor:
        await floor.start()
        unit.live()
        await unit.until_playable()
        broker.freeze()
        code, took = await floor.stop()  # while this loop waits, it reads: so the panel is left out of it too
        broker.thaw()
        panel.unplug()
        await unit.end()
        assert (code, took < 5.5) == (0, True), took


async def test_ready_comes_only_after_the_ledger_the_pages_and_the_signs(tmp_path: Path) -> None:
    """SD-01, DI-01: the LED sign says the ledger's amount before READY."""
    panel = PtyPanel(tmp_path / "led")
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "{}"\nmeters = ["pg-link"]'.format(tmp_path / "led")
    with running(tmp_path, more=led) as floor:
        await floor.start()
        assert (await floor.ask("readyz"))["status"] == "ready"
        lit = panel.lit
        panel.unplug()
        assert "$10,000.00" in lit


async def test_a_missing_sign_broker_and_port_do_not_hold_up_the_start(tmp_path: Path) -> None:
    """SD-04: peers that are missing never end the process; they are shown."""
    led = '[[sign]]\nid = "led"\nkind = "alpha"\nport = "/dev/nowhere"\nmeters = ["pg-link"]'
    with running(tmp_path, broker=Broker(tmp_path), more=led) as floor:
        await floor.start()
        await until(lambda: watchdogs(floor) >= 2)
        assert (await floor.ask("readyz"))["status"] == "ready"
        status = [line for line in floor.told() if line.startswith("STATUS=")][-1]
        assert status == "STATUS=0 of 3 tables live; books open"


async def test_the_watchdog_is_fed_every_second_and_told_how_many_tables_live(tmp_path: Path) -> None:
    with running(tmp_path) as floor:
        await floor.start()
        unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
        unit.live()
        await unit.until_playable()
        before = watchdogs(floor)
        await until(lambda: "STATUS=1 of 3 tables live; books open" in floor.told(), 3)
        await until(lambda: watchdogs(floor) >= before + 2, 4)
        await unit.end()


async def test_a_stopped_process_feeds_no_watchdog_and_units_close_by_themselves(tmp_path: Path) -> None:
    """SD-02: SIGSTOP; and what was sent meanwhile counts once afterwards."""
    with running(tmp_path) as floor:
        await floor.start()
        unit = WiredUnit(floor.port_of("hub-01"), "hub-01")
        unit.live()
        await unit.until_playable()
        floor.signal(signal.SIGSTOP)
        await asyncio.sleep(0.1)
        fed, pulses = watchdogs(floor), unit.count(messages.Playable)
        unit.lock(1)
        await asyncio.sleep(2.5)
        assert (watchdogs(floor), unit.count(messages.Playable)) == (fed, pulses)
        floor.signal(signal.SIGCONT)
        await unit.acknowledged(1)
        await unit.end()
        assert floor.rows("SELECT COUNT(*) FROM entry WHERE kind = 'lock'") == [(1,)]


async def test_a_second_meterd_goes_away_and_names_the_holder(tmp_path: Path) -> None:
    """SD-10: also while the first one is stopped in its tracks; its lock dies with it."""
    with running(tmp_path) as floor:
        await floor.start()
        first = floor.process
        floor.signal(signal.SIGSTOP)
        second = floor.spawn()
        await until(lambda: second.poll() is not None, 20)
        named = f"in use by meterd (pid {first.pid}" in floor.log()
        first.kill()
        first.wait()
        await floor.start()
        assert (second.returncode, named) == (3, True)


async def test_without_a_ledger_it_ends_with_three_and_says_how_to_make_one(tmp_path: Path) -> None:
    """Design section 8: meterd never creates a ledger."""
    floor = RunningFloor(tmp_path)
    process = floor.spawn()
    await until(lambda: process.poll() is not None, 20)
    floor.end()
    assert (process.returncode, floor.ledger.exists(), "meterctl init" in floor.log()) == (3, False, True)


async def test_a_ledger_of_another_kind_ends_it_with_three_and_is_left_as_it_is(tmp_path: Path) -> None:
    floor = RunningFloor(tmp_path)
    floor.ledger.write_bytes(b"no ledger" * 100)
    process = floor.spawn()
    await until(lambda: process.poll() is not None, 20)
    floor.end()
    assert (process.returncode, floor.ledger.read_bytes()) == (3, b"no ledger" * 100)


async def test_a_wrong_configuration_ends_it_with_two_before_anything_is_opened(tmp_path: Path) -> None:
    floor = RunningFloor(tmp_path, more="[nonsense]\nx = 1")
    process = floor.spawn()
    await until(lambda: process.poll() is not None, 20)
    floor.end()
    assert (process.returncode, "nonsense" in floor.log(), floor.ledger.exists()) == (2, True, False)


async def test_a_pages_port_that_is_taken_ends_it_with_two_and_is_named(tmp_path: Path) -> None:
    floor = RunningFloor(tmp_path)
    floor.make_ledger()
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", floor.pages)
    process = floor.spawn()
    await until(lambda: process.poll() is not None, 20)
    server.close()
    floor.end()
    assert (process.returncode, str(floor.pages) in floor.log()) == (2, True), floor.log()


async def test_the_password_of_the_broker_stands_nowhere(tmp_path: Path, broker: Broker) -> None:
    """CF-06: log, API, pages, metrics, process list, ledger."""
    marker = "hunter2-marker"
    (tmp_path / "secret").write_text(marker)
    floor = RunningFloor(tmp_path, broker=broker)
    text = floor.config.read_text()
    floor.config.write_text(text.replace("[mqtt]\n", '[mqtt]\nusername = "meterd"\npassword_file = "secret"\n'))
    floor.make_ledger()
    await floor.start()
    await until(lambda: "connected" in floor.log())
    broker.end()
    await until(lambda: "off, " in floor.log())
    told = [await floor.read(path) for path in ("", "metrics", "api/v1/status", "api/v1/log", "api/v1/openapi.json")]
    process = f"/proc/{floor.process.pid}"
    told += [await asyncio.to_thread(Path(f"{process}/{name}").read_bytes) for name in ("cmdline", "environ")]
    await floor.stop()
    told += [floor.log().encode(), floor.ledger.read_bytes(), " ".join(floor.told()).encode()]
    floor.end()
    assert marker.encode() not in b"".join(told)


async def test_units_over_mqtt_learn_at_once_that_the_controller_ends(tmp_path: Path, broker: Broker) -> None:
    with running(tmp_path, serial=(), broker=broker) as floor:
        await floor.start()
        async with MqttUnit(broker.port, "hub-03") as hub:
            hub.live()
            await hub.until_playable()
            floor.signal(signal.SIGTERM)
            await hub.until_playable(False, 3)
            told = hub.last(messages.Playable)
        assert told == messages.Playable(False, "the controller is being stopped")
