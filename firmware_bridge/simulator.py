"""Runs a simulated sensor hub on a real line: a pty, a serial port, a TCP listener or MQTT; with faults, if wished.

``simulate`` is the whole of it for the command line. A hub plays random games (``Dealer``) or follows a script: a text
file with one JSON action a line, blank lines and lines that begin with ``#`` left out:

    {"wait": 1.0}   {"wait": "playable"}   {"wait": "acknowledged"}
    {"bet": {"seat": 1, "spot": "progressive"}}   {"lift": {"seat": 1, "spot": "progressive"}}
    {"lock": [{"seat": 1, "spot": "progressive", "cents": 500}]}   {"lock": null} locks the chips that lie there
    {"lock": [], "force": true}                   locks although the hub is not playable
    {"count": 1}   {"hits": [{"seat": 1, "spot": "progressive", "outcome": "five-aces"}]}   {"close": {}}
    {"void": "misdeal"}   {"notice": {"kind": "door-open"}}   {"restart": {"lost": false}}
    {"send": {"type": "lock", "seq": 7}}          any fields, not numbered or kept by the hub

An action that the keypad refuses is tried again until it is taken. The run ends after the last action, once all is
acknowledged. Boot ids never come from ``seed``: two runs on one ledger must not share them.
"""

import asyncio
import json
import logging
import os
import random
import socket
import tty
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiomqtt
import serial

from firmware_bridge import messages
from firmware_bridge.device import Dealer, Faults, Hub, KeypadRefusal, SimulationError
from firmware_bridge.fields import BOOL, CHIPS, ID, LINE, SEAT, Kind, WrongField, choice
from firmware_bridge.frames import FrameReader, encode_frame

log = logging.getLogger("meterd.simulator")

Heard = Callable[[messages.Down | messages.Unreadable], None]
"""Takes one message of the host."""
RETRY_S = 0.1
"""How often a script tries an action again that the keypad refuses."""
BACKOFF_S = (0.5, 1.0, 2.0, 5.0)
"""Waits before a lost port or broker is tried again; the last one goes on for ever."""


class Step(NamedTuple):
    """One action of a script and its line, counted from 1."""

    line: int
    action: str
    argument: Any
    force: bool


def _object(argument: Any, needed: tuple[str, ...] = (), **kinds: Kind) -> dict[str, Any]:
    """A JSON object in which every key is known and every value of its kind; raises WrongField."""
    if type(argument) is not dict or not set(needed) <= set(argument) <= set(kinds):
        raise WrongField(f"write an object with {', '.join(needed) or 'none'} of {', '.join(kinds) or 'no keys'}")
    return {key: kinds[key].check(found) for key, found in argument.items()}


def _place(argument: Any) -> dict[str, Any]:
    return _object(argument, ("seat", "spot"), seat=SEAT, spot=ID)


def _pause(argument: Any) -> float | str:
    if argument in ("playable", "acknowledged"):
        return str(argument)
    if type(argument) in (int, float) and 0 <= argument <= 86_400:
        return float(argument)
    raise WrongField('write seconds from 0 to 86400, "playable" or "acknowledged"')


def _raw(argument: Any) -> dict[str, Any]:
    if type(argument) is dict:
        return argument
    raise WrongField("write the message's fields as an object")


_wagers = messages.UP["lock"].fields[1].kind.check
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "wait": _pause,
    "bet": _place,
    "lift": _place,
    "lock": lambda argument: None if argument is None else _wagers(argument),
    "count": lambda argument: None if argument is None else CHIPS.check(argument),
    "hits": messages.UP["hits"].fields[1].kind.check,
    "close": _object,
    "void": LINE.check,
    "notice": lambda argument: _object(argument, ("kind",), kind=choice(messages.NOTICE_KINDS), seat=SEAT, spot=ID),
    "restart": lambda argument: _object(argument, lost=BOOL, cause=LINE),
    "send": _raw,
}


class Script:
    """A written game. ``raw`` holds the fields of ``send`` actions until the line has taken them."""

    def __init__(self, steps: list[Step], now: float) -> None:
        self._steps, self.due = deque(steps), now
        self.done = False
        """Whether every action has been taken and every wait is over."""
        self.raw: list[tuple[int, dict[str, Any]]] = []

    @classmethod
    def read(cls, path: Path, now: float) -> "Script":
        """From a file; SimulationError names its line and the remedy."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as wrong:
            raise SimulationError(f"{path}: cannot be read as UTF-8 text: {wrong}") from wrong
        steps = []
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    steps.append(_step(number, line))
                except WrongField as wrong:
                    raise SimulationError(f"{path}, line {number}: {wrong}") from wrong
        return cls(steps, now)

    def act(self, hub: Hub, now: float) -> None:
        """Take every action whose time has come, in order."""
        while self._steps and now >= self.due:
            try:
                self._take(self._steps[0], hub, now)
            except KeypadRefusal:
                self.due = now + RETRY_S
                return
            self._steps.popleft()
        if now >= self.due:
            self.done, self.due = True, float("inf")

    def _take(self, step: Step, hub: Hub, now: float) -> None:
        match step.action, step.argument:
            case "wait", float(seconds):
                self.due = now + seconds
            case "wait", "playable":
                if not hub.playable:
                    raise KeypadRefusal(hub.not_playable_because)
            case "wait", _:
                if hub.unacknowledged:
                    raise KeypadRefusal("messages are still kept")
            case "lock", wagers:
                hub.lock(wagers, force=step.force)
            case "restart", words:
                hub.restart(words.get("cause", "power-on"), now, lost=words.get("lost", False))
            case "send", fields:
                self.raw.append((step.line, {"v": messages.VERSION, "device": hub.device, "boot": hub.boot} | fields))
            case ("bet" | "lift" | "notice" | "close") as action, words:
                getattr(hub, action)(**words)
            case action, argument:
                getattr(hub, action)(argument)


def _step(number: int, line: str) -> Step:
    try:
        written = json.loads(line)
    except ValueError as wrong:
        raise WrongField(f'not JSON ({wrong}); write one action, such as {{"wait": 1.0}}') from wrong
    if type(written) is not dict:
        raise WrongField('write one action as an object, such as {"wait": 1.0}')
    force = written.pop("force", False)
    if len(written) != 1 or type(force) is not bool or (force and "lock" not in written):
        raise WrongField('write exactly one action a line, and beside "lock" at most "force": true')
    ((action, argument),) = written.items()
    if action not in _CHECKS:
        near = get_close_matches(action, _CHECKS, 1)
        hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(_CHECKS)
        raise WrongField(f"unknown action {action!r}; {hint}")
    try:
        return Step(number, action, _CHECKS[action](argument), force)
    except WrongField as wrong:
        raise WrongField(f"{action}: {wrong}") from wrong


class FrameLine:
    """Frames on a descriptor that ``port`` opens; opened again for ever when it is lost (SE-01)."""

    def __init__(self, port: Callable[[], AbstractAsyncContextManager[int]]) -> None:
        self._port = port
        self._fd: int | None = None
        self._reader = FrameReader()
        self._unwritten = b""

    async def carry(self, heard: Heard) -> None:
        """Read until cancelled."""
        failures = 0
        while True:
            try:
                async with self._port() as self._fd:
                    failures = 0
                    await self._read(self._fd, heard)
            except OSError as lost:
                if not failures:
                    log.warning("line lost: %s; trying again", lost)
            finally:
                self._fd, self._unwritten = None, b""
            await asyncio.sleep(BACKOFF_S[min(failures, 3)])
            failures += 1

    async def _read(self, fd: int, heard: Heard) -> None:
        loop = asyncio.get_running_loop()
        gone: asyncio.Future[None] = loop.create_future()
        self._reader.start_over()

        def readable() -> None:
            try:
                chunk = os.read(fd, 4096)
                if not chunk:
                    raise ConnectionError("closed at the other end")
            except BlockingIOError:
                return
            except OSError as lost:
                loop.remove_reader(fd)
                gone.set_exception(lost)
                return
            for payload in self._reader.feed(chunk):
                heard(messages.decode_binary_down(payload))

        loop.add_reader(fd, readable)
        try:
            await gone
        finally:
            loop.remove_reader(fd)

    def encode(self, message: messages.Up) -> bytes:
        """One message as it goes on this line."""
        return encode_frame(messages.encode_binary(message))

    def encode_raw(self, fields: dict[str, Any]) -> bytes:
        """Fields of a script's ``send``; SimulationError when they have no binary form."""
        message = messages.decode_fields(fields)
        if message is None or isinstance(message, messages.Unreadable | messages.Malformed):
            raise SimulationError(f"{json.dumps(fields)} has no binary form; send it on an MQTT line")
        return self.encode(message)

    def write(self, chunk: bytes) -> None:
        """Write without waiting. What a full line does not take is lost; the hub sends it again."""
        if self._fd is None:
            return
        with suppress(OSError):  # The reader sees the same loss and opens the line again.
            self._unwritten = self._unwritten[os.write(self._fd, self._unwritten) :] if self._unwritten else b""
            if not self._unwritten:
                self._unwritten = chunk[os.write(self._fd, chunk) :]


@asynccontextmanager
async def pty_port(link: Path) -> AsyncIterator[int]:
    """A new pty whose other end stands at ``link``, a symbolic link; gone when closed."""
    master, slave = os.openpty()
    # Our own hold on the other end keeps the pair alive while the host closes and opens it.
    try:
        tty.setraw(slave)
        os.set_blocking(master, False)
        _point(link, os.ttyname(slave))
        yield master
    finally:
        _unpoint(link, os.ttyname(slave))
        os.close(master)
        os.close(slave)


def _point(link: Path, name: str) -> None:
    if link.exists() and not link.is_symlink():
        raise SimulationError(f"{link} exists and is no symbolic link; choose another path for the pty")
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.symlink_to(name)
    new.replace(link)


def _unpoint(link: Path, name: str) -> None:
    if link.is_symlink() and str(link.readlink()) == name:
        link.unlink()


@asynccontextmanager
async def serial_port(path: str, baud: int) -> AsyncIterator[int]:
    """A serial port, opened for this hub alone."""
    with serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True) as port:
        yield port.fileno()


@asynccontextmanager
async def tcp_port(host: str, port: int) -> AsyncIterator[int]:
    """The first connection to ``host:port``; one at a time."""
    with socket.create_server((host, port)) as listening:
        listening.setblocking(False)
        connection, _ = await asyncio.get_running_loop().sock_accept(listening)
    with connection:
        connection.setblocking(False)
        yield connection.fileno()


class MqttHubLine:
    """JSON messages over MQTT 5, QoS 1, on the hub's own three topics (design section 7).

    The session starts clean at each connection: a queued ``playable`` would be an old pulse, and the hub itself keeps
    what must not be lost.
    """

    def __init__(self, target: "Target", device: str, password_file: Path | None) -> None:
        self._target, self._device, self._password_file = target, device, password_file
        self._topic = f"meterd/{target.site}/dev/{device}"
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(maxsize=64)

    async def carry(self, heard: Heard) -> None:
        """Connect and read until cancelled; connects again for ever."""
        failures = 0
        while True:
            try:
                async with self._client() as client:
                    failures = 0
                    await self._talk(client, heard)
            except aiomqtt.MqttError as lost:
                if not failures:
                    log.warning("broker lost: %s; trying again", lost)
            await asyncio.sleep(BACKOFF_S[min(failures, 3)])
            failures += 1

    def _client(self) -> aiomqtt.Client:
        try:
            password = self._password_file.read_text("utf-8").strip() if self._password_file else None
        except (OSError, UnicodeDecodeError) as wrong:
            raise SimulationError(f"password file {self._password_file}: cannot be read") from wrong
        return aiomqtt.Client(
            self._target.host, self._target.port, username=self._target.user, password=password,
            identifier=f"hub-{self._target.site}-{self._device}", protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=True, keepalive=5, max_queued_incoming_messages=256,
            socket_options=((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),),
            will=aiomqtt.Will(f"{self._topic}/state", "offline", qos=1, retain=True),
        )

    async def _talk(self, client: aiomqtt.Client, heard: Heard) -> None:
        await client.subscribe(f"{self._topic}/down", qos=1)
        await client.publish(f"{self._topic}/state", "online", qos=1, retain=True)
        tasks = [asyncio.create_task(job) for job in (self._publish(client), self._listen(client, heard))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(aiomqtt.MqttError):
                await client.publish(f"{self._topic}/state", "offline", qos=1, retain=True, timeout=1.0)

    async def _listen(self, client: aiomqtt.Client, heard: Heard) -> None:
        async for message in client.messages:
            if isinstance(message.payload, bytes):
                heard(messages.decode_json_down(message.payload))

    async def _publish(self, client: aiomqtt.Client) -> None:
        while True:
            await client.publish(f"{self._topic}/up", await self._waiting.get(), qos=1)

    def encode(self, message: messages.Up) -> bytes:
        """One message as it goes on this line."""
        return messages.encode_json(message)

    def encode_raw(self, fields: dict[str, Any]) -> bytes:
        """Fields of a script's ``send``, whatever they are."""
        return json.dumps(fields).encode()

    def write(self, chunk: bytes) -> None:
        """Publish without waiting. What a full queue does not take is lost; the hub sends it again."""
        with suppress(asyncio.QueueFull):
            self._waiting.put_nowait(chunk)


Line = FrameLine | MqttHubLine


async def run_hub(hub: Hub, player: Dealer | Script, line: Line, faults: Faults, stop: asyncio.Event) -> None:
    """Run one hub on one line until ``stop`` is set or a script has ended. The hub's time is the running loop's."""
    run = _Run(hub, player, line, faults)
    tasks = [asyncio.create_task(job) for job in (line.carry(run.heard), run.play(), stop.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


class _Run:
    def __init__(self, hub: Hub, player: Dealer | Script, line: Line, faults: Faults) -> None:
        self._hub, self._player, self._line, self._faults = hub, player, line, faults
        self._wake = asyncio.Event()

    def heard(self, message: messages.Down | messages.Unreadable) -> None:
        now = asyncio.get_running_loop().time()
        if not isinstance(message, messages.Unreadable) and self._faults.hears(now):
            self._hub.received(message, now)
            self._wake.set()

    async def play(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._turn(loop.time())
            if isinstance(self._player, Script) and self._player.done and not self._hub.unacknowledged:
                return
            pause = min(self._hub.due, self._player.due, self._faults.due, loop.time() + 1.0) - loop.time()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()

    def _turn(self, now: float) -> None:
        self._faults.every_second(self._hub, now)
        self._player.act(self._hub, now)
        for message in self._hub.tick(now):
            self._faults.up(self._line.encode(message), now)
        if isinstance(self._player, Script):
            for number, fields in self._player.raw:
                try:
                    self._faults.up(self._line.encode_raw(fields), now)
                except SimulationError as wrong:
                    raise SimulationError(f"script, line {number}: {wrong}") from wrong
            self._player.raw.clear()
        for chunk in self._faults.arrived(now):
            self._line.write(chunk)


class Target(NamedTuple):
    """Where a hub speaks. ``kind``: ``pty`` and ``serial`` have a path, ``tcp`` and ``mqtt`` a host and port."""

    kind: str
    path: str = ""
    host: str = ""
    port: int = 0
    user: str | None = None
    site: str = ""


def parse_target(text: str) -> Target:
    """From ``pty:/path/of/link``, ``/dev/ttyX``, ``tcp://host:port`` or ``mqtt://user@host:port/site``."""
    if text.startswith("pty:") and len(text) > 4:
        return Target("pty", path=text[4:])
    if text.startswith("/"):
        return Target("serial", path=text)
    address = urlsplit(text)
    if address.password is not None:
        raise SimulationError("target: leave the password out and name a file that holds it")
    site = address.path.removeprefix("/")
    try:
        host, port = address.hostname, address.port
        if host and port and address.scheme == "tcp" and not site:
            return Target("tcp", host=host, port=port)
        if host and address.scheme == "mqtt":
            return Target("mqtt", host=host, port=port or 1883, user=address.username, site=ID.check(site))
    except ValueError as wrong:
        raise SimulationError(f"target {text!r}: {wrong}") from wrong
    raise SimulationError(
        f"target {text!r}: write pty:/path/of/link, /dev/ttyX, tcp://host:port or mqtt://user@host:port/site"
    )


async def simulate(
    device: str, seats: int, target: str, *, seed: int | None = None, faults: str = "", script: Path | None = None,
    pace: float = 2.0, hit_rate: float = 0.05, password_file: Path | None = None, baud: int = 115_200,
    stop: asyncio.Event,
) -> None:
    """Run a hub of ``device`` at ``target``; ``pace`` seconds for each step of a random game.

    Raises SimulationError for what was written wrong, before anything is opened, and for a path that is no pty link.
    """
    try:
        ID.check(device), SEAT.check(seats)
    except WrongField as wrong:
        raise SimulationError(f"device {device!r} with {seats} seats: {wrong}") from wrong
    if pace <= 0:
        raise SimulationError("pace: write seconds above 0")
    where, now = parse_target(target), asyncio.get_running_loop().time()
    trouble = Faults.parse(faults, random.Random(seed), text=where.kind == "mqtt")
    dealer = Dealer(random.Random(seed), now, pace=pace, hit_rate=hit_rate)
    player = Script.read(script, now) if script else dealer
    hub = Hub(device, seats, random.SystemRandom(), now)
    await run_hub(hub, player, _line(where, device, password_file, baud), trouble, stop)


def _line(where: Target, device: str, password_file: Path | None, baud: int) -> Line:
    match where.kind:
        case "pty":
            return FrameLine(lambda: pty_port(Path(where.path)))
        case "serial":
            return FrameLine(lambda: serial_port(where.path, baud))
        case "tcp":
            return FrameLine(lambda: tcp_port(where.host, where.port))
        case _:
            return MqttHubLine(where, device, password_file)
