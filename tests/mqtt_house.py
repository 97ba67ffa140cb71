"""What tests of the MQTT line share: a private Mosquitto, a stub broker, and what a line reported."""

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from firmware_bridge import mqtt_line
from firmware_bridge.mqtt_line import MqttLine

UP = "meterd/pit/dev/hub-03/up"


class Broker:
    """A private Mosquitto on a free port of the loopback."""

    def __init__(self, folder: Path, more: str = "", *, anonymous: bool = True) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._file = folder / "mosquitto.conf"
        known = "true" if anonymous else "false"
        self._file.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous {known}\n{more}\n")
        self._process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        """Start, and wait until it listens."""
        self._process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", self._file], stderr=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)
        raise RuntimeError("Mosquitto does not listen")

    def end(self) -> None:
        """Stop; it forgets all sessions."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


class Heard:
    """What a line reported, in order."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes, bool]] = []
        self.states: list[tuple[str, bytes]] = []
        self.sessions: list[bool] = []
        self.causes: list[str] = []

    def line(self, port: int, client_id: str = "meterd-test", **more: Any) -> MqttLine:
        """A line that reports here."""
        return MqttLine(
            "pit",
            "127.0.0.1",
            port,
            client_id,
            on_message=lambda device, payload, retained: self.messages.append((device, payload, retained)),
            on_state=lambda device, payload: self.states.append((device, payload)),
            on_up=self.sessions.append,
            on_down=self.causes.append,
            **more,
        )


async def until(true: Callable[[], bool], seconds: float = 8.0) -> None:
    """Wait for a condition; the test fails when it does not come."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.005)


def packet(kind: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes((kind, len(body))) + body


async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a broker as a client needs: CONNACK, SUBACK."""
    await reader.read(1000)
    writer.write(packet(0x20, b"\x00\x00\x00"))
    subscribe = await reader.read(1000)
    writer.write(packet(0x90, subscribe[2:4] + b"\x00\x01\x01"))


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between tries scaled down tenfold."""
    monkeypatch.setattr(mqtt_line, "RETRY_MIN_S", 0.05)
    monkeypatch.setattr(mqtt_line, "RETRY_MAX_S", 0.2)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    yield made
    made.end()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def line(broker: Broker, heard: Heard) -> AsyncIterator[MqttLine]:
    made = heard.line(broker.port)
    made.start()
    await until(lambda: len(heard.sessions) == 1)
    yield made
    await made.stop()


@pytest.fixture
async def hub(broker: Broker) -> AsyncIterator[aiomqtt.Client]:
    async with aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5) as made:
        yield made
