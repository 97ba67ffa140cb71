"""Alpha-protocol LED signs (Adaptive, BetaBrite): frames, pacing, and the write-only line that tells one sign.

The sign keeps a fixed TEXT that calls STRING files; a running amount is only a STRING write, which does not make the
sign blink. Facts and quirks: protocols/alpha-sign.md. ``AlphaSign`` is pure (time passed in), ``AlphaLine`` does I/O.
"""

import asyncio
import contextlib
import logging
import os
import re
import select
import socket
import termios
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import serial

from firmware_bridge.serial_line import unsent

GAP_S = 0.5
"""Between two frames: at 0.1 s a sign loses them (section 1)."""
CLEAR_S = 2.0
"""After clearing its memory a sign is busy (section 5)."""
REWRITE_S = 60.0
REFRESH_S = 15 * 60.0
"""A sign may lose its memory while the line stays up, so all of it is written again this often (section 8)."""
STRING_SIZE = 32
PRIORITY_MAX = 125
TEXT_MAX = 2000
LINES_MAX = 20
STUCK_S = 3.0
END_S = 1.5
_TICK_S = 0.2
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0)

MODES = frozenset("abcefghijklmopqrs") | {f"n{special}" for special in "0123456789ABCXZ"}
"""Modes that every sign knows; another one silently becomes INTERLOCK (section 8). ``b`` is steady."""
POSITIONS = frozenset(' "&0')
"""Middle, top, bottom, fill."""

Page = tuple[str, int | None]
"""Words, and the number of the running amount after them, if any."""
NOT_LIVE: tuple[Page, ...] = (("NOT LIVE", None),)

_log = logging.getLogger(__name__)


def frame(body: bytes, checksum: bool = True) -> bytes:
    """One frame to every sign on the line; with ``checksum`` a damaged one is dropped instead of shown (section 2)."""
    if not checksum:
        return b"\0\0\0\0\0\x01Z00\x02" + body + b"\x04"
    summed = b"\x02" + body + b"\x03"
    return b"\0\0\0\0\0\x01Z00" + summed + b"%04X\x04" % (sum(summed) & 0xFFFF)


def write_text(label: str, pages: Sequence[Page], colour: str, mode: str = "b", position: str = " ") -> bytes:
    """The body that writes a TEXT file: pages that follow one another. ValueError for what a sign would garble."""
    if mode not in MODES or position not in POSITIONS or colour not in "12345678":
        raise ValueError(f"mode {mode!r}, position {position!r} or colour {colour!r} is not known to every sign")
    # Fixed width before the first call, or the words round the number shift with every digit.
    fixed = b"\x1e1" if any(line is not None for _, line in pages) else b""
    message = b"\x0c".join(_words(words) + (b"" if line is None else b"\x10" + _label(line)) for words, line in pages)
    written = b"\x1b" + f"{position}{mode}".encode() + fixed + b"\x1c" + colour.encode() + message
    if len(written) > (PRIORITY_MAX if label == "0" else TEXT_MAX):
        raise ValueError(f"TEXT {label} of {len(written)} bytes is too long for a sign")
    return b"A" + label.encode("ascii") + written


def write_string(line: int, text: str, size: int = STRING_SIZE) -> bytes:
    """The body that writes a STRING; a longer one than its file would empty it, not be cut (section 8): ValueError."""
    if len(text) > size:
        raise ValueError(f"{text!r} is longer than the {size} bytes of its STRING")
    return b"G" + _label(line) + _words(text)


def configure(text_size: int, lines: int, size: int = STRING_SIZE) -> bytes:
    """The body that lays out TEXT A and ``lines`` STRINGs. It erases everything; only after ``CLEAR`` and a pause."""
    if not (1 <= text_size <= 0xFFFF and 1 <= size <= PRIORITY_MAX):
        raise ValueError(f"files of {text_size} and {size} bytes do not fit a sign")
    return b"E$AAU%04XFF00" % text_size + b"".join(_label(line) + b"BL%04X0000" % size for line in range(lines))


def priority(pages: Sequence[Page], colour: str = "3") -> bytes:
    """The body that sets the priority TEXT, which hides all else; no pages: releases it.

    Only the bare label releases; a formatted empty message would leave a blank screen (section 4).
    """
    return write_text("0", pages, colour) if pages else b"A0"


CLEAR = b"E$"
RUN_SEQUENCE = b"E.SUA"
"""Show TEXT A and nothing else; an empty sequence would freeze the sign."""


def _words(text: str) -> bytes:
    # An unknown character would become "?", and a control character would be a command.
    if not re.fullmatch(r"[ -~]*", text):
        raise ValueError(f"{text!r} is not printable ASCII")
    return text.encode("ascii")


def _label(line: int) -> bytes:
    if not 0 <= line < LINES_MAX:
        raise ValueError(f"a sign has running amounts 0 to {LINES_MAX - 1}, not {line}")
    return bytes((ord("a") + line,))


class AlphaSign:
    """What is to be written to one sign next. Pure: times are seconds of any steady clock.

    The newest amounts replace older ones that were not yet written, so nothing queues up. An alert goes before
    everything else: it is written within 2 s, the worst case being one that comes just after the memory was cleared.
    """

    def __init__(self, pages: Sequence[Page], checksum: bool, baud: int = 9600) -> None:
        self._text = write_text("A", pages, "1")
        lines = 1 + max((line for _, line in pages if line is not None), default=-1)
        self._setup = (CLEAR, configure(max(64, len(self._text)), lines), RUN_SEQUENCE, self._text)
        self._checksum = checksum
        self._byte_s = 11 / baud
        self._amounts: tuple[str, ...] = ("",) * lines
        self._alert: tuple[Page, ...] = NOT_LIVE
        self._free_at = 0.0
        self.connected(0.0)

    def connected(self, now: float) -> None:
        """The line was opened: the sign may know nothing, so everything is written again."""
        self._refresh(now)
        self._told_alert: tuple[Page, ...] | None = None
        self._alert_at = now

    def _refresh(self, now: float) -> None:
        self._steps = list(self._setup)
        self._refresh_at = now + REFRESH_S
        self._told: list[str | None] = [None] * len(self._amounts)
        self._told_at = [0.0] * len(self._amounts)

    def wants(self, amounts: Sequence[str], alert: Sequence[Page]) -> None:
        """What the sign should say from now on. ValueError for texts that a sign would garble or a wrong count."""
        if len(amounts) != len(self._amounts):
            raise ValueError(f"the sign has {len(self._amounts)} running amounts, not {len(amounts)}")
        for line, text in enumerate(amounts):
            write_string(line, text)
        priority(alert)
        self._amounts, self._alert = tuple(amounts), tuple(alert)

    def due(self, now: float) -> bytes | None:
        """The frame to write at ``now``, or None; it then counts as written."""
        if now < self._free_at:
            return None
        body = self._next(now)
        if body is None:
            return None
        made = frame(body, self._checksum)
        self._free_at = now + max(GAP_S + len(made) * self._byte_s, CLEAR_S if body == CLEAR else 0.0)
        return made

    def _next(self, now: float) -> bytes | None:
        if self._told_alert != self._alert or now >= self._alert_at + REWRITE_S:
            self._told_alert, self._alert_at = self._alert, now
            return priority(self._alert)
        if now >= self._refresh_at:
            self._refresh(now)
        if self._steps:
            return self._steps.pop(0)
        return self._next_amount(now)

    def _next_amount(self, now: float) -> bytes | None:
        stale = [
            line
            for line, amount in enumerate(self._amounts)
            if amount != self._told[line] or now >= self._told_at[line] + REWRITE_S
        ]
        if not stale:
            return None
        line = min(stale, key=lambda line: self._told_at[line])
        self._told[line], self._told_at[line] = self._amounts[line], now
        return write_string(line, self._amounts[line])

    @property
    def told(self) -> str:
        """What the sign says, as far as it was told: an alert, or its amounts; empty while it is being set up."""
        if self._told_alert:
            return " / ".join(words for words, _ in self._told_alert)
        return "" if self._steps else " / ".join(amount for amount in self._told if amount is not None)

    def not_live(self) -> bytes:
        """The last thing to write: it hides every amount, so that none looks live (DI-01)."""
        return frame(priority(NOT_LIVE), self._checksum)


class AlphaHealth(NamedTuple):
    """Whether the line is up, the last that the sign was told, and when (UTC microseconds; 0 = never)."""

    up: bool
    told: str
    told_at: int


class AlphaLine:
    """Writes to one sign and never waits for it (SE-09). ``port``: a device path or ``tcp://host:port``.

    ``run`` until cancelled, ``show`` at every change, ``end`` when the daemon ends.
    """

    def __init__(
        self,
        port: str,
        baud: int,
        bits: int,
        parity: str,
        stop: int,
        sign: AlphaSign,
        utc_now: Callable[[], int],
    ) -> None:
        self._name = port
        self._settings = (baud, bits, parity, stop)
        self._sign = sign
        self._utc_now = utc_now
        self._port: serial.Serial | socket.socket | None = None
        self._using = asyncio.Lock()
        self._up: bool | None = None
        self._failures = 0
        self._told = ""
        self._told_at = 0
        self._wrote_at = float("-inf")
        self._ended = False

    @property
    def health(self) -> AlphaHealth:
        """The line as it is now."""
        return AlphaHealth(self._up is True, self._told, self._told_at)

    def show(self, amounts: Sequence[str], alert: Sequence[Page]) -> None:
        """Replace what the sign should say; returns at once. ValueError as ``AlphaSign.wants``."""
        self._sign.wants(amounts, alert)

    async def run(self) -> None:
        """Keep the sign told until ``end``; a line that is gone or stuck is opened again, at most 4 s later.

        Cancelled, it leaves the port open for ``end``.
        """
        while not self._ended:
            try:
                await self._serve()
            except (OSError, termios.error) as failure:
                if self._ended:
                    return
                await self._lost(failure)
                await asyncio.sleep(_BACKOFF_S[min(self._failures, len(_BACKOFF_S)) - 1])

    async def _serve(self) -> None:
        async with self._using:
            if self._ended:
                return
            port = await self._connect()
        self._sign.connected(_now())
        self._wrote_at, full_since = float("-inf"), _now()
        while not self._ended:
            _check_there(port)
            if not unsent(port.fileno()):
                full_since = _now()
                await self._write_due(port)
            elif _now() - full_since > STUCK_S:
                raise TimeoutError("the sign takes nothing")
            await asyncio.sleep(_TICK_S)

    async def _write_due(self, port: serial.Serial | socket.socket) -> None:
        # What was written is gone from the port: only now the sign is known to take something.
        if self._wrote_at > float("-inf"):
            self._came_up()
        async with self._using:
            if self._ended or (made := self._sign.due(_now())) is None:
                return
            await self._write(port, made)
        if self._sign.told != self._told:
            # What each sign was told, and when (D12).
            _log.debug("sign on %s is told %s", self._name, self._sign.told)
        self._told, self._told_at = self._sign.told, self._utc_now()

    async def _write(self, port: serial.Serial | socket.socket, made: bytes) -> None:
        until = _now() + STUCK_S
        while made:
            # Full is no error: the rest waits, and nobody else does.
            with contextlib.suppress(BlockingIOError):
                made = made[os.write(port.fileno(), made) :]
            if made:
                if _now() > until:
                    raise TimeoutError("the sign takes nothing")
                await asyncio.sleep(0.05)
        self._wrote_at = _now()

    async def end(self) -> bool:
        """Stop ``run`` and tell the sign NOT LIVE, in 1.5 s at most; False (and a log line) when it is absent or stuck.

        Told twice, since a sign never says whether it heard.
        """
        self._ended = True
        try:
            async with asyncio.timeout(END_S), self._using:
                port = await self._connect()
                # The end mark first: the last frame may have been cut short.
                for made in (b"\x04" + self._sign.not_live(), self._sign.not_live()):
                    await asyncio.sleep(self._wrote_at + GAP_S - _now())
                    await self._write(port, made)
                while unsent(port.fileno()):  # noqa: ASYNC110 - the system has no event for a port that has sent all
                    await asyncio.sleep(0.02)
        except (OSError, termios.error) as failure:
            _log.warning("sign on %s could not be told NOT LIVE: %s", self._name, str(failure) or "it takes nothing")
            return False
        finally:
            self._up = False
            await self._close()
        self._told, self._told_at = "NOT LIVE", self._utc_now()
        return True

    async def _connect(self) -> serial.Serial | socket.socket:
        if self._port is None:
            self._port = await _open(self._name, *self._settings)
        return self._port

    def _came_up(self) -> None:
        if self._up is not True:
            _log.info("sign on %s is told", self._name)
        self._up, self._failures = True, 0

    async def _lost(self, failure: Exception) -> None:
        await self._close()
        if self._up is not False:
            _log.warning("sign on %s is lost: %s; it is tried again", self._name, failure)
        self._up = False
        self._failures += 1

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            # In a thread, and not waited for to its end: an adapter that hangs must hold up nobody.
            closing = asyncio.get_running_loop().run_in_executor(None, _close_port, port)
            await asyncio.wait({closing}, timeout=GAP_S)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _open(port: str, baud: int, bits: int, parity: str, stop: int) -> serial.Serial | socket.socket:
    if not port.startswith("tcp://"):
        return await asyncio.to_thread(_open_serial, port, baud, bits, parity, stop)
    host, _, number = port.removeprefix("tcp://").rpartition(":")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host.strip("[]"), int(number), type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(socket.socket(family, kind, protocol))
        made.setblocking(False)
        await asyncio.wait_for(loop.sock_connect(made, address), STUCK_S)
        stack.pop_all()
    return made


def _open_serial(port: str, baud: int, bits: int, parity: str, stop: int) -> serial.Serial:
    if Path(port).resolve().is_relative_to("/dev/pts"):
        # A pseudo-terminal carries whole bytes without parity, and refuses to be asked for it twice.
        bits, parity = 8, "N"
    return serial.Serial(port, baud, bits, parity, stop, timeout=0, write_timeout=0, exclusive=True)


def _close_port(port: serial.Serial | socket.socket) -> None:
    with contextlib.suppress(OSError, termios.error):
        # Closing a port waits for what it still holds, up to 30 s when flow control stops it.
        if isinstance(port, serial.Serial) and unsent(port.fileno()):
            port.reset_output_buffer()
    port.close()


def _check_there(port: serial.Serial | socket.socket) -> None:
    poll = select.poll()
    poll.register(port.fileno(), select.POLLHUP | select.POLLERR | select.POLLRDHUP)
    if poll.poll(0):
        raise ConnectionError("the line is gone")
