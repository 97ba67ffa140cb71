"""Alarms on a whole running floor, told to a real broker, mail server and webhook; and each of these on a bad day.

The times of the table of alarms are scaled down about twentyfold to a hundredfold (``alarm_floor.QUICK_S``).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiomqtt
import pytest
from alarm_floor import HOOK_SECRET, PASSWORD, TOKEN, AlarmFloor, Listener, alarm_floor
from running_floor import Broker, until
from table_unit import WiredUnit

SLOW_S = 1.0
"""A wager that takes longer has been held up: five times what one takes on a busy box."""


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
    """The unit of PG-01, which is heard all the time."""
    unit = WiredUnit(house.port_of("hub-01"), "hub-01")
    yield unit
    await unit.end()


@pytest.fixture
async def silent(house: AlarmFloor) -> AsyncIterator[WiredUnit]:
    """The unit of PG-02, which falls silent when a test says so."""
    unit = WiredUnit(house.port_of("hub-02"), "hub-02")
    yield unit
    await unit.end()


@pytest.fixture
async def floor(house: AlarmFloor, plays: WiredUnit, silent: WiredUnit) -> AlarmFloor:
    """Running, both units heard; PG-03 has none, and rings beside what is tried here."""
    await house.start()
    for unit in (plays, silent):
        unit.live()
        await unit.until_playable()
    return house


@contextlib.asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[Listener]:
    task = asyncio.create_task(listener.listen())
    try:
        yield listener
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, aiomqtt.MqttError):
            await task


async def wager(unit: WiredUnit, seq: int) -> float:
    """Seconds from a lock-out to its acknowledgement."""
    began = time.monotonic()
    unit.lock(seq)
    await unit.acknowledged(seq)
    unit.counted(seq, seq)
    return time.monotonic() - began


async def test_a_table_that_falls_silent_is_told_by_every_way_and_told_on_and_acknowledged_and_over(
    floor: AlarmFloor, silent: WiredUnit, broker: Broker
) -> None:
    async with listening(Listener(broker.port)) as listener:
        await until(lambda: listener.standing, 10, "the retained list")
        await silent.quiet()
        escalated = ["raised", "escalated", "escalated"]
        await until(lambda: listener.of("PG-02") == escalated, 25, "told on to the top of the ladder, by the broker")
        await until(lambda: floor.hooked("PG-02") == escalated, 10, "by the webhook")
        still = "Alarm, still there"
        await until(lambda: floor.mailed("table PG-02") == ["Alarm", still, still], 10, "by mail")
        assert listener.stands("PG-02") == "raised"
        refused = floor.act("dora", "alarm-acknowledged", "alarm=table-offline", "place=PG-02")
        said = floor.act("carl", "alarm-acknowledged", "alarm=table-offline", "place=PG-02")
        assert "may not answer this alarm" in refused
        assert "alarm acknowledged" in said, said
        await until(lambda: listener.stands("PG-02") == "acknowledged", 10, "the list says so")
        silent.live()
        for told, way in ((listener.of, "the broker"), (floor.hooked, "the webhook")):
            await until(lambda told=told: told("PG-02") == [*escalated, "cleared"], 10, f"over, by {way}")
        await until(lambda: floor.mailed("table PG-02")[-1] == "Over", 10, "over, by mail")
        await until(lambda: listener.stands("PG-02") == "", 10, "it stands no more")
    row = floor.alarm("table-offline", "PG-02")
    assert (row["state"], row["acknowledged_by"][0], floor.steps("table-offline", "PG-02")) == (
        "cleared", "carl", [*escalated, "cleared"])
    await floor.stop()
    floor.verified()


async def test_what_rang_while_the_broker_was_away_is_told_once_when_it_is_back(
    floor: AlarmFloor, silent: WiredUnit, plays: WiredUnit, broker: Broker
) -> None:
    listener = Listener(broker.port)
    async with listening(listener):
        await until(lambda: listener.of("PG-03"), 15, "PG-03 has no unit")
    broker.end()
    await silent.quiet()
    await until(lambda: floor.hooked("PG-02") == ["raised"], 15, "the webhook is told meanwhile")
    took = [await wager(plays, seq) for seq in range(1, 21)]
    silent.live()
    await until(lambda: floor.hooked("PG-02")[-1] == "cleared", 15, "the webhook is told meanwhile")
    await broker.begin()
    async with listening(listener):
        whole = floor.hooked("PG-02")
        await until(lambda: listener.of("PG-02") == whole, 60, "the broker is told once of each step")
        await until(lambda: listener.stands("PG-02") == "gone", 10, "and what stands now")
        others = floor.hooked("PG-03")
        await until(lambda: listener.of("PG-03") == others, 10, "and of the other table, nothing twice")
    assert max(took) < SLOW_S


async def test_a_webhook_and_a_mail_server_that_fail_hold_up_no_wager_and_are_said_once_on_and_once_off(
    floor: AlarmFloor, silent: WiredUnit, plays: WiredUnit
) -> None:
    before = [await wager(plays, seq) for seq in range(1, 51)]
    floor.hook.goes_on.clear()
    floor.post.auth = f"535 wrong: {PASSWORD}"
    await silent.quiet()
    during = [await wager(plays, seq) for seq in range(51, 101)]
    await until(lambda: floor.alarm("alarms-not-told", "floor"), 20, "that nobody is told rings on the pages")
    floor.hook.answer = 500
    floor.hook.goes_on.set()
    during += [await wager(plays, seq) for seq in range(101, 151)]
    tried = len(floor.hook.got)
    await until(lambda: "could not be told by webhook: Refused 500" in floor.log(), 20, "the webhook is given up")
    await until(lambda: len(floor.hook.got) > tried, 20, "and tried again by itself")
    what = floor.alarm("alarms-not-told", "floor")["what"]
    print(f"slowest wager before {max(before):.3f} s, during {max(during):.3f} s; {what}")
    floor.hook.answer, floor.post.auth = 200, "235 welcome"
    await until(lambda: floor.alarm("alarms-not-told", "floor")["state"] == "gone", 30, "it is well again")
    during += [await wager(plays, seq) for seq in range(151, 171)]
    log = floor.log()
    assert "SMTPAuthenticationError 535" in what
    assert [log.count(f"{way}: alarms {words}") for way in ("mail", "webhook") for words in (
        "do not get through", "get through again")] == [1, 1, 1, 1], log
    assert max(during) < SLOW_S
    await nothing_tells_a_secret(floor)


async def nothing_tells_a_secret(floor: AlarmFloor) -> None:
    """The mail's password, the webhook's secret and the token in its address: in no page, log, ledger or
    other file that meterd writes."""
    pages = [await floor.read(path) for path in ("", "metrics", "api/v1/status", "api/v1/tables/PG-02", "alarms")]
    await floor.stop()
    theirs = {floor.config.name, "mail-password", "hook-secret"}
    kept = [path.read_bytes() for path in floor.folder.rglob("*") if path.is_file() and path.name not in theirs]
    told = b"".join([*pages, *kept])
    assert [secret for secret in (PASSWORD, HOOK_SECRET, TOKEN) if secret.encode() in told] == []
