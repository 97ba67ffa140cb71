"""Bad days: meterd killed at random moments, broker restarted, ports unplugged, lines that drop, double and damage.

Counted from outside: every message that a device has said is in the ledger exactly once, with what it said (I1, I5);
all balances are those of an oracle written from design sections 3 and 4 alone (I2); nothing was ever shown that was
not durable (I4, DI-07); and the ledger proves itself by replay.

Scale: one day of 20 s with 3 tables and about 6 kills by default; with ``PMC_CAMPAIGN=long`` 40 days of 60 s (an hour).
The seed is printed; ``PMC_SEED`` plays a day's misfortunes again (what meets what still depends on the machine).
"""

import asyncio
import contextlib
import json
import os
import tomllib
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import aiomqtt
import pytest
from bad_day import Table, ending, misfortunes, table
from oracle import Oracle
from running_floor import Broker, RunningFloor, running, until

from firmware_bridge import messages

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
DAYS, DAY_S = (40, 60.0) if LONG else (1, 20.0)
FAULTS = "drop=0.03,dup=0.05,reorder=0.05,bitflip=0.02,truncate=0.01,noise=0.02,reboot=0.03"


class Shown:
    """Every amount that the retained topics showed, and whether the ledger already had it when it was heard."""

    def __init__(self, floor: RunningFloor) -> None:
        self._floor = floor
        self.ahead: list[str] = []
        self.seen = 0

    def take(self, topic: str, payload: bytes) -> None:
        """One message of a meter's topic; the ledger is read after it was heard."""
        meter, amount = topic.rsplit("/", 1)[1], json.loads(payload)["amount"]
        cents = int(amount.replace(".", ""))
        self.seen += 1
        found = self._floor.rows(
            "SELECT 1 FROM posting WHERE meter = ? AND account = 'display' AND balance / 1000000 = ? LIMIT 1",
            meter, cents)
        if not found:
            self.ahead.append(f"{meter} {amount}")

    @contextlib.asynccontextmanager
    async def watched(self, port: int) -> AsyncIterator[None]:
        """Look at the topics; after the broker was away, look again."""
        watching = asyncio.create_task(self._watch(port))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, port: int) -> None:
        while True:
            with contextlib.suppress(aiomqtt.MqttError):
                async with aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5) as client:
                    await client.subscribe("meterd/demo/meter/+", qos=1)
                    async for message in client.messages:
                        assert isinstance(message.payload, bytes)
                        self.take(str(message.topic), message.payload)
            await asyncio.sleep(0.2)


@pytest.mark.timeout(120 + DAY_S * 3)
@pytest.mark.parametrize("day", range(DAYS))
async def test_after_a_bad_day_every_message_counts_once_and_every_meter_is_right(tmp_path: Path, day: int) -> None:
    """MQ-02, SE-01, DI-07, I1 to I5."""
    seed = int(os.environ.get("PMC_SEED") or int.from_bytes(os.urandom(4), "big"))
    print(f"seed {seed}")
    rng = Random(seed)
    broker = Broker(tmp_path)
    await broker.begin()
    with contextlib.closing(broker), running(
        tmp_path, serial=("hub-01", "hub-02"), broker=broker
    ) as floor:
        await floor.start()
        tables = [
            table("hub-01", Random(rng.random()), FAULTS, pty=floor.port_of("hub-01")),
            table("hub-02", Random(rng.random()), FAULTS, pty=floor.port_of("hub-02")),
            table("hub-03", Random(rng.random()), FAULTS, mqtt=f"mqtt://127.0.0.1:{broker.port}/demo"),
        ]
        shown = Shown(floor)
        async with ending(*tables), shown.watched(broker.port):
            for one in tables:
                one.plug()
            kills = await live_through(rng, floor, broker, tables)
            await asyncio.gather(*(one.finished(60) for one in tables))
        assert (await floor.stop())[0] == 0, floor.log()[-3000:]
        report = f"{kills} kills, {sum(len(one.hub.said) for one in tables)} messages, {shown.seen} amounts shown"
        print(report)
        assert shown.ahead == [], report
        everything_said_counts_once(floor, tables)
        balances_are_the_oracles(floor)
        floor.verified()


async def live_through(rng: Random, floor: RunningFloor, broker: Broker, tables: list[Table]) -> int:
    """The day itself; how often meterd was killed."""
    kills = 0

    async def kill() -> None:
        nonlocal kills
        kills += 1
        floor.kill()
        await asyncio.sleep(rng.uniform(0, 0.5))
        if rng.random() < 0.3:  # and once more while it starts
            floor.spawn()
            await asyncio.sleep(rng.uniform(0.3, 2.0))
            floor.kill()
        await floor.start()

    async def kill_before_a_commit() -> None:
        # What was taken and not yet written must not have been acknowledged to anybody.
        await until(lambda: sum(one.hub.playable for one in tables) >= 2, 15, "two tables that play")
        with floor.writing_held_up():
            await asyncio.sleep(rng.uniform(0.2, 0.8))
            floor.kill()
        await kill()

    async def restart_broker() -> None:
        broker.end()
        await asyncio.sleep(rng.uniform(0, 0.5))
        await broker.begin()

    async def unplug() -> None:
        one = rng.choice(tables)
        await one.unplug()
        await asyncio.sleep(rng.uniform(0, 1.0))
        one.plug()

    ends = asyncio.get_running_loop().time() + DAY_S
    await misfortunes(rng, ends, [kill, kill, kill_before_a_commit, restart_broker, unplug])
    await kill_before_a_commit()
    return kills


def everything_said_counts_once(floor: RunningFloor, tables: list[Table]) -> None:
    """The devices' own logs against the ledger, message by message."""
    said = {(one.hub.device, *key): message for one in tables for key, message in one.hub.said.items()}
    assert [one.hub.changed for one in tables] == [[]] * len(tables)
    kept = floor.rows("SELECT device, boot, seq, body FROM entry WHERE seq IS NOT NULL")
    assert len(kept) == len({row[:3] for row in kept})
    assert {row[:3] for row in kept} == set(said)
    for device, boot, seq, body in kept:
        assert json.loads(body)["message"] == json.loads(messages.content(said[device, boot, seq]))
    assert floor.rows("SELECT COUNT(*) FROM entry WHERE kind IN ('loss', 'fault', 'stop')") == [(0,)]


def balances_are_the_oracles(floor: RunningFloor) -> None:
    """The ledger's messages in the ledger's order, reckoned again by somebody else."""
    oracle = Oracle(*_plain_floor(floor))
    rows = floor.rows("SELECT kind, device, boot, body, seq FROM entry WHERE device IS NOT NULL ORDER BY number")
    for kind, device, boot, body, seq in rows:
        made = json.loads(body)
        line = {"v": 1, "device": device, "boot": boot}
        if kind == "heard":
            line |= {"type": "heartbeat", "last_seq": 0, "wagers_total": 0, "bets": []}
        else:
            line |= made["message"] | {"seq": seq or made["seq"]}
        answers = oracle.take(json.dumps(line).encode())
        if kind == "refused":
            assert answers[0].get("reason") == made["reason"], (device, boot, seq)
    for name, meter in oracle.meters.items():
        for account in ("display", "reserve", "overflow", "pending"):
            assert _balance(floor, name, account) == getattr(meter.now, account) * 1_000_000, (name, account)


def _balance(floor: RunningFloor, meter: str, account: str) -> Fraction:
    found = floor.rows("SELECT COALESCE(SUM(microcents), 0) FROM posting WHERE meter = ? AND account = ?", meter,
                       account)
    return Fraction(found[0][0])


def _plain_floor(floor: RunningFloor) -> tuple[dict[str, Any], dict[str, Any]]:
    written = tomllib.loads(floor.config.read_text())
    sheets = {path.stem: tomllib.loads(path.read_text()) for path in (floor.folder / "paytables").glob("*.toml")}
    return written, {found.get("id", name): found for name, found in sheets.items()}
