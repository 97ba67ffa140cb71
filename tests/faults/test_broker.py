"""The broker on a bad day: what it keeps, forgets, repeats and shares out; every wager counts once (MQ)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import aiomqtt
import pytest
from running_floor import Broker, RunningFloor, running, until
from table_unit import MqttUnit

from firmware_bridge import messages
from firmware_bridge.messages import Lock, Wager

CENTS_28 = 28_000_000


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    made = Broker(tmp_path)
    await made.begin()
    yield made
    made.end()


@pytest.fixture
def house(tmp_path: Path, broker: Broker) -> Iterator[RunningFloor]:
    with running(tmp_path, serial=(), broker=broker) as made:
        yield made


@pytest.fixture
async def floor(house: RunningFloor) -> RunningFloor:
    await house.start()
    return house


@pytest.fixture
async def hub(floor: RunningFloor, broker: Broker) -> AsyncIterator[MqttUnit]:
    async with MqttUnit(broker.port, "hub-03") as made:
        made.live()
        await made.until_playable()
        yield made


def locks(floor: RunningFloor) -> int:
    """Posted lock-outs."""
    return int(floor.rows("SELECT COUNT(*) FROM entry WHERE kind = 'lock'")[0][0])


def wager(seq: int, boot: str = "b1") -> bytes:
    """A lock-out of one wager on paytable 1."""
    return messages.encode_json(Lock("hub-03", boot, seq, seq, (Wager(1, "progressive", 100),)))


async def test_a_retained_wager_counts_once_over_restarts_of_everything(
    floor: RunningFloor, broker: Broker
) -> None:
    """MQ-01: the copy is replayed to every new session; it is logged with its topic."""
    before = floor.display("pg-solo")
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.publish(wager(1), retain=True)
        await until(lambda: locks(floor) == 1)
    await floor.stop()
    await floor.start()
    broker.end()
    (broker.folder / "mosquitto.db").unlink(missing_ok=True)  # it forgets the session; then the copy comes again
    await broker.begin()
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.publish(wager(1), retain=True)
        await asyncio.sleep(0.2)
        floor.kill()
        await floor.start()
        await until(lambda: "connected" in floor.log())
        hub.live()
        hub.counted(1, 1)
        await hub.until_playable()
    assert (locks(floor), floor.display("pg-solo") - before) == (1, CENTS_28)


async def test_a_wager_that_was_only_ever_seen_as_a_retained_copy_counts_once(
    floor: RunningFloor, broker: Broker
) -> None:
    """MQ-01: credited by its number, and the log names the topic."""
    await floor.stop()
    (broker.folder / "mosquitto.db").unlink(missing_ok=True)
    broker.end()
    (broker.folder / "mosquitto.db").unlink(missing_ok=True)
    await broker.begin()
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.publish(wager(1), retain=True)
        await asyncio.sleep(0.2)
    await floor.start()
    await until(lambda: locks(floor) == 1)
    assert "mqtt/hub-03: a retained copy" in floor.log()


async def test_what_was_published_while_the_daemon_was_away_counts_once(
    floor: RunningFloor, hub: MqttUnit
) -> None:
    """The broker's persistent session."""
    floor.kill()
    for seq in range(1, 51):
        hub.publish(wager(seq))
    await asyncio.sleep(0.2)
    hub.counted(50, 50)
    hub.keeps_from = 1
    before = floor.display("pg-solo")
    await floor.start()
    await until(lambda: locks(floor) >= 50)
    hub.publish(wager(51))
    await hub.acknowledged(51)  # behind everything of before: nothing of it is still under way
    assert (locks(floor), floor.display("pg-solo") - before) == (51, 51 * CENTS_28)


async def test_a_broker_that_forgot_the_session_is_an_alarm_and_the_unit_fills_the_gap(
    floor: RunningFloor, hub: MqttUnit, broker: Broker
) -> None:
    """MQ-05 (a): 50 lost in the broker; nothing is guessed, and sent again they count once."""
    hub.publish(wager(1))
    await hub.acknowledged(1)
    floor.kill()
    async with aiomqtt.Client(
        "127.0.0.1", broker.port, identifier="meterd-demo", protocol=aiomqtt.ProtocolVersion.V5, clean_start=True
    ):
        pass  # its session is thrown away
    for seq in range(2, 52):
        hub.publish(wager(seq))
    await asyncio.sleep(0.2)
    hub.counted(51, 51)
    hub.keeps_from = 2
    await floor.start()
    await until(lambda: "forgot what came while we were away" in floor.log())
    alarms = [note["cause"] for note in await floor.notes() if note["kind"] == "alarm"]
    before = locks(floor)
    for seq in range(2, 52):
        hub.publish(wager(seq))
    await until(lambda: locks(floor) == 51)
    assert (alarms, before) == (["broker-forgot"], 1)


async def test_a_first_start_with_a_new_broker_is_no_alarm(floor: RunningFloor) -> None:
    await until(lambda: "connected" in floor.log())
    assert [note for note in await floor.notes() if note["kind"] == "alarm"] == []


async def test_messages_that_the_brokers_queue_dropped_are_missing_by_number_and_come_again(tmp_path: Path) -> None:
    """MQ-05 (b): 500 published while the daemon was away, the broker kept 100."""
    broker = Broker(tmp_path, more="max_queued_messages 100\nmax_inflight_messages 20")
    await broker.begin()
    with closing(broker), running(tmp_path, serial=(), broker=broker) as floor:
        await floor.start()
        async with MqttUnit(broker.port, "hub-03") as hub:
            hub.live()
            await hub.until_playable()
            await floor.stop()
            for seq in range(1, 501):
                hub.publish(wager(seq))
                if seq % 20 == 0:
                    await asyncio.sleep(0.02)
            hub.counted(500, 500)
            hub.keeps_from = 1
            await floor.start()
            await until(lambda: locks(floor) >= 90)
            assert locks(floor) < 500 and not floor.kinds("loss")
            for seq in range(1, 501):  # as a hub does: everything that is not acknowledged
                hub.publish(wager(seq))
                if seq % 16 == 0:
                    await hub.acknowledged(seq)
            await until(lambda: locks(floor) == 500)


async def test_a_broker_restart_closes_the_table_only_for_as_long_as_it_takes(
    floor: RunningFloor, broker: Broker
) -> None:
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.live()
        await hub.until_playable()
        broker.end()
        await until(lambda: "off, " in floor.log())
        assert not (await floor.table("PG-03"))["playable"]
    await broker.begin()
    async with MqttUnit(broker.port, "hub-03") as hub:
        hub.keep_beating()
        await hub.until_playable(True, 15)


async def test_a_second_program_with_our_client_id_is_named_and_nothing_counts_twice(
    floor: RunningFloor, broker: Broker, hub: MqttUnit
) -> None:
    """MQ-08: each throws the other out; the waits grow, the log names the id."""
    stop = asyncio.Event()

    async def twin() -> None:
        while not stop.is_set():
            try:
                async with aiomqtt.Client(
                    "127.0.0.1", broker.port, identifier="meterd-demo", protocol=aiomqtt.ProtocolVersion.V5
                ):
                    await stop.wait()
            except aiomqtt.MqttError:
                await asyncio.sleep(0.05)

    fighting = asyncio.create_task(twin())
    for seq in range(1, 21):
        hub.publish(wager(seq))
        await asyncio.sleep(0.2)
    hub.counted(20, 20)
    log = floor.log()
    stop.set()
    await fighting
    for _ in range(8):
        for seq in range(1, 21):
            hub.publish(wager(seq))
        await asyncio.sleep(1)
        if locks(floor) == 20:
            break
    reconnects = floor.log().count("connected as meterd-demo")
    assert (locks(floor), "meterd-demo" in log.split("off, ", 1)[-1], reconnects < 15) == (20, True, True), reconnects
