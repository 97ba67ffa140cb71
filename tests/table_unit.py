"""A table unit in a test's own hands: it says what the test says, on a real pty or over a real broker."""

import asyncio
import contextlib
import os
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiomqtt
from running_floor import until

from firmware_bridge import messages
from firmware_bridge.frames import FrameReader, encode_frame
from firmware_bridge.messages import Down, Kept, Unreadable, Up, Wager

SPOT = "progressive"
_Kind = TypeVar("_Kind", bound=tuple[Any, ...])


class Unit:
    """What every test unit does; ``_send`` is the line's. ``last_seq`` and ``wagers_total`` go into heartbeats."""

    def __init__(self, device: str, boot: str = "b1") -> None:
        self.device, self.boot = device, boot
        self.heard: list[Down | Unreadable] = []
        self.last_seq = self.wagers_total = 0
        self.keeps_from = 0
        """The first number that its hellos say it keeps; 0: none."""
        self.bets: tuple[messages.Bet, ...] = ()
        self._beating: asyncio.Task[None] | None = None

    def _send(self, message: Up) -> None:
        raise AssertionError("a unit needs a line")

    def say(self, *said: Up) -> None:
        """Send some messages."""
        for message in said:
            self._send(message)

    def hello(self, *kept: tuple[str, int, int]) -> None:
        """Say hello; ``kept`` as boot, first, next."""
        self.say(messages.Hello(self.device, self.boot, "test-1", "power-on", 6, tuple([Kept(*one) for one in kept])))

    def beat(self) -> None:
        """One heartbeat."""
        self.say(messages.Heartbeat(self.device, self.boot, self.last_seq, self.wagers_total, self.bets))

    def live(self, every_s: float = 0.5) -> None:
        """Say hello, then a heartbeat every now and then, and hello again when asked."""
        self._greet()
        self.keep_beating(every_s)

    def _greet(self) -> None:
        self.hello((self.boot, self.keeps_from or self.last_seq + 1, self.last_seq + 1))

    def keep_beating(self, every_s: float = 0.5) -> None:
        """A heartbeat every now and then, and hello when asked."""
        self._beating = asyncio.create_task(self._beat_on(every_s))

    async def _beat_on(self, every_s: float) -> None:
        asked = 0
        while True:
            self.beat()
            if self.count(messages.Who) > asked:
                asked = self.count(messages.Who)
                self._greet()
            await asyncio.sleep(every_s)

    def lock(self, seq: int, seats: Sequence[int] = (1,), *, round_: int | None = None, cents: int = 500) -> None:
        """A lock-out: these seats have a wager."""
        wagers = tuple([Wager(seat, SPOT, cents) for seat in seats])
        self.say(messages.Lock(self.device, self.boot, seq, round_ or seq, wagers))

    def counted(self, seq: int, wagers_total: int) -> None:
        """What the next heartbeats say."""
        self.last_seq, self.wagers_total = seq, wagers_total

    def count(self, kind: type[_Kind]) -> int:
        """How many messages of a kind were heard."""
        return len(self.all(kind))

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """All heard messages of a kind, in order."""
        return [one for one in self.heard if isinstance(one, kind)]

    def last(self, kind: type[_Kind]) -> _Kind | None:
        """The last heard message of a kind."""
        found = self.all(kind)
        return found[-1] if found else None

    @property
    def playable(self) -> bool | None:
        """What the last pulse said; None before the first."""
        told = self.last(messages.Playable)
        return told.yes if told is not None else None

    @property
    def lamps(self) -> dict[int, str]:
        """The lamps by seat, as last told."""
        told = self.last(messages.Lamps)
        return {lamp.seat: lamp.state for lamp in told.spots} if told is not None else {}

    async def close_open_round(self) -> None:
        """As a dealer who finds a round left open, in a boot of its own; then the unit starts anew under its boot."""
        own, self.boot = self.boot, f"{self.boot}-before"
        for _ in range(50):  # until somebody listens: what is said before is lost
            self.hello((self.boot, 1, 1))
            with contextlib.suppress(AssertionError):
                await until(lambda: self.count(messages.Welcome), 0.2)
                break
        told = self.last(messages.Welcome)
        if told is not None and told.open_round is not None:
            found = told.open_round
            self.say(messages.Close(self.device, self.boot, 1, found.round, found.boot))
            await self.acknowledged(1)
        self.boot = own
        self.heard.clear()

    async def until_playable(self, yes: bool = True, seconds: float = 10.0) -> None:
        """Wait for a pulse that says so."""
        await until(lambda: self.playable is yes, seconds, f"{self.device} playable {yes}")

    async def acknowledged(self, seq: int, seconds: float = 10.0) -> None:
        """Wait until everything up to ``seq`` of this boot is durable, or refused."""
        await until(lambda: any(
            isinstance(one, messages.Ack | messages.Refused | messages.Fault) and (one.boot, one.seq >= seq) == (
                self.boot, True) for one in self.heard), seconds, f"{self.device} acknowledged {seq}")

    async def quiet(self) -> None:
        """No heartbeats any more."""
        if self._beating is not None:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
            self._beating = None


class Cable:
    """A pty under the name of a port. It may outlast the units that use it, one after the other."""

    def __init__(self, port: Path) -> None:
        self.port = port
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        new = port.with_name(f".{port.name}.new")
        new.symlink_to(os.ttyname(self._slave))
        new.replace(port)

    def pull(self) -> None:
        """Gone, and its name with it."""
        self.port.unlink(missing_ok=True)
        os.close(self.master)
        os.close(self._slave)


class WiredUnit(Unit):
    """On a cable: its own, made under the name of a port, or a lasting one."""

    def __init__(self, port: Path, device: str, boot: str = "b1", *, cable: Cable | None = None) -> None:
        super().__init__(device, boot)
        self.port, self._lasting = port, cable
        self._cable: Cable | None = None
        self.plug()

    def plug(self) -> None:
        """Connect it."""
        self._reader = FrameReader()
        self._cable = self._lasting or Cable(self.port)
        asyncio.get_running_loop().add_reader(self._cable.master, self._read, self._cable.master)

    def unplug(self) -> None:
        """Pull the cable; a lasting one is only left."""
        cable, self._cable = self._cable, None
        if cable is not None:
            asyncio.get_running_loop().remove_reader(cable.master)
            if cable is not self._lasting:
                cable.pull()

    def _read(self, master: int) -> None:
        with contextlib.suppress(BlockingIOError):
            for payload in self._reader.feed(os.read(master, 4096)):
                self.heard.append(messages.decode_binary_down(payload))

    def _send(self, message: Up) -> None:
        self.write(encode_frame(messages.encode_binary(message)))

    def write(self, chunk: bytes) -> None:
        """Bytes as they are. A line that is unplugged or full loses them."""
        if self._cable is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._cable.master, chunk)

    async def end(self) -> None:
        """Leave the line."""
        await self.quiet()
        self.unplug()


class MqttUnit(Unit):
    """Over MQTT, as a hub that keeps one connection; ``async with`` it."""

    def __init__(self, port: int, device: str, boot: str = "b1", site: str = "demo") -> None:
        super().__init__(device, boot)
        self.topic = f"meterd/{site}/dev/{device}"
        self.client = aiomqtt.Client(
            "127.0.0.1", port, identifier=f"hub-{device}", protocol=aiomqtt.ProtocolVersion.V5, clean_start=True,
            will=aiomqtt.Will(f"{self.topic}/state", "offline", qos=1, retain=True))

    async def __aenter__(self) -> "MqttUnit":
        await self.client.__aenter__()
        await self.client.subscribe(f"{self.topic}/down", qos=1)
        await self.client.publish(f"{self.topic}/state", "online", qos=1, retain=True)
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *why: Any) -> None:
        await self.quiet()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, aiomqtt.MqttError):
            await self._listening
        with contextlib.suppress(aiomqtt.MqttError):
            await self.client.__aexit__(None, None, None)

    async def _listen(self) -> None:
        async for message in self.client.messages:
            assert isinstance(message.payload, bytes)
            self.heard.append(messages.decode_json_down(message.payload))

    def _send(self, message: Up) -> None:
        self.publish(messages.encode_json(message))

    def publish(self, payload: bytes, *, retain: bool = False, topic: str = "") -> None:
        """Bytes as they are, on its own topic or another."""
        self.client._client.publish(topic or f"{self.topic}/up", payload, qos=1, retain=retain)
