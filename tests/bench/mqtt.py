"""MQTT QoS 1: from Mosquitto to our durable acknowledgement, against a bare consumer and one ORM commit a message.

The same publisher drives both; towards us it keeps 16 messages in flight for each unit, as units do.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from sqlalchemy import BigInteger, Text, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from controller.demo import free_port
from tests.bench.daemon import MQTT, Ledger, broker, ended, start, until
from tests.bench.measure import RUNS, floor

DEVICES = 100
EACH = 300
ORM_EACH = 15
WINDOW = 16
"""Messages a device has in flight at most (design section 7)."""
SITE = "bench"


class _Base(DeclarativeBase):
    pass


class _Wager(_Base):
    __tablename__ = "wager"
    id: Mapped[int] = mapped_column(primary_key=True)
    topic: Mapped[str] = mapped_column(Text)
    payload: Mapped[str] = mapped_column(Text)
    at: Mapped[int] = mapped_column(BigInteger)


def _forever() -> Properties:
    made = Properties(PacketTypes.CONNECT)
    made.SessionExpiryInterval = 3_600
    return made


def _client(port: int, name: str) -> aiomqtt.Client:
    return aiomqtt.Client("127.0.0.1", port, identifier=name, protocol=aiomqtt.ProtocolVersion.V5, clean_start=False,
                          properties=_forever(), max_queued_incoming_messages=0)


@contextmanager
def _units(port: int, boot: str, each: int, window: int) -> Iterator["subprocess.Popen[bytes]"]:
    """All devices' lock-outs from a process of its own, each device's in order; ``window`` 0 waits for no ack."""
    command = [sys.executable, "-m", "tests.bench.units", str(port), boot, str(DEVICES), str(each), str(window)]
    with ended(subprocess.Popen(command)) as process:
        yield process


async def _session(port: int, name: str) -> None:
    async with _client(port, name) as client:
        await client.subscribe(f"meterd/{SITE}/dev/+/up", qos=1)


async def _bare(port: int, boot: str) -> float:
    """Seconds a bare ``async for`` takes for the same messages, doing nothing."""
    count, wanted, began = 0, DEVICES * EACH, 0.0
    async with _client(port, "bare") as client:
        await client.subscribe(f"meterd/{SITE}/dev/+/up", qos=1)
        with _units(port, boot, EACH, 0):
            async for _message in client.messages:
                began = began or time.perf_counter()
                count += 1
                if count == wanted:
                    break
        await client.unsubscribe(f"meterd/{SITE}/dev/+/up")
        return time.perf_counter() - began


async def _orm(port: int, boot: str, folder: Path) -> float:
    """Seconds a message of a loop that commits an ORM row for each message, durably."""
    engine = create_engine(f"sqlite:///{folder / 'orm.db'}")

    @event.listens_for(engine, "connect")
    def _connected(raw: Any, _record: object) -> None:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")

    _Base.metadata.create_all(engine)
    wanted, count, began = ORM_EACH * DEVICES, 0, 0.0
    async with _client(port, "orm") as client:
        await client.subscribe(f"meterd/{SITE}/dev/+/up", qos=1)
        with _units(port, boot, ORM_EACH, 0):
            async for message in client.messages:
                began = began or time.perf_counter()
                with Session(engine) as session:
                    session.add(_Wager(topic=str(message.topic), payload=str(message.payload), at=time.time_ns()))
                    session.commit()
                count += 1
                if count == wanted:
                    break
        await client.unsubscribe(f"meterd/{SITE}/dev/+/up")
    engine.dispose()
    return (time.perf_counter() - began) / wanted


async def _ours(port: int, boot: str, ledger: Ledger) -> float:
    """Seconds from the first lock-out to the last one durable, sent by units that wait for our acknowledgements."""
    before = ledger.last()
    with _units(port, boot, EACH, WINDOW):
        await until(lambda: ledger.last() > before)
        began, already = time.perf_counter(), ledger.last() - before
        await until(lambda: ledger.last() >= before + DEVICES * EACH)
        took = time.perf_counter() - began
    return took * DEVICES * EACH / (DEVICES * EACH - already)


async def _all(folder: Path, port: int) -> tuple[list[tuple[float, float]], float]:
    pairs = []
    with ended(start(folder)):
        await until(lambda: (folder / "meterd.log").read_text().count("connected as"))
        ledger = Ledger(folder)
        for run in range(RUNS):
            ours = await _ours(port, f"b{run}", ledger)
            pairs.append((ours, 0.0))
    for run in range(RUNS):
        pairs[run] = (pairs[run][0], await _bare(port, f"x{run}"))
    return pairs, await _orm(port, "orm", folder)


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    with floor(DEVICES) as folder, broker(folder) as port:
        text = (folder / "floor.toml").read_text()
        (folder / "floor.toml").write_text(text + "\n" + MQTT.format(port=port, pages=free_port()))
        pairs, orm = asyncio.run(_all(folder, port))
    count = DEVICES * EACH
    ours, bare = sorted(pairs, key=lambda pair: pair[1] / pair[0])[len(pairs) // 2]
    rate = count / ours
    return [
        ("MQTT QoS 1 to durable ack", f"{rate:,.0f} messages/s", f"{bare / ours:.0%} of a bare async for", ">= 60%"),
        ("the same", "", f"{rate * orm:.1f} x one ORM commit a message", ">= 10 x"),
    ]
