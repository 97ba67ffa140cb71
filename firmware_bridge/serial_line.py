"""One serial line to a sensor hub: opened for ever, read on the event loop, written without waiting.

``port`` is a device path (a stable name, ``/dev/serial/by-id/...``) or ``tcp://host:port`` of a serial server. pyserial
opens and configures; the loop then reads the descriptor itself, so a hundred lines need no hundred threads
(libraries.md section 3). A read error, a write error and an end of file mean the same: close, wait, open again (SE-01).
"""

import asyncio
import fcntl
import logging
import os
import socket
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import serial

from firmware_bridge.frames import FrameReader

PENDING_BYTES_MAX: Final = 8192
"""The most bytes that wait to be written: 0.7 s at 115,200 baud. Newer messages wait in the caller's outbox."""
RETRY_MIN_S: Final = 0.5
RETRY_MAX_S: Final = 4.0
"""The longest wait between tries, so that a line is back within 5 s of its return (SE-01)."""
LAST_WORDS_S: Final = 0.3
"""So long an ending line may take for what waits: that the controller is being stopped."""
STEADY_S: Final = 2.0
"""A line that stayed open for so long starts again from the shortest wait; one that flaps does not."""
OPEN_S: Final = 5.0
"""An opening that takes longer is shown as the cause; it is waited for, never started a second time beside itself."""
_READ_BYTES: Final = 4096
_NOT_OPENED: Final = "not opened yet"

Port: TypeAlias = Any
"""A ``serial.Serial`` (pyserial has no types) or a ``socket.socket``: ``fileno()`` and ``close()`` are used."""

_log = logging.getLogger("meterd.line")


class SerialLine:
    """A line with the id ``line_id``; all methods and callbacks belong to the event loop's thread.

    ``on_frame(line_id, payload)``: a good frame. ``on_up(line_id)`` and ``on_down(line_id, cause)``: in turn.
    ``on_writable(line_id)``: there is room again after ``send`` said False.
    """

    def __init__(
        self,
        line_id: str,
        port: str,
        *,
        on_frame: Callable[[str, bytes], None],
        on_up: Callable[[str], None],
        on_down: Callable[[str, str], None],
        on_writable: Callable[[str], None] | None = None,
        baud: int = 115_200,
        bits: int = 8,
        parity: str = "N",
        stop: int = 1,
    ) -> None:
        self.id = line_id
        self.port = port
        self.up = False
        self.cause = _NOT_OPENED
        """Why the line is down, for people; empty while it is up."""
        self.blocked_since: float | None = None
        """Since when (loop time) nothing could be written though something waits; None when nothing waits (SE-09)."""
        self._on_frame, self._on_up, self._on_down, self._on_writable = on_frame, on_up, on_down, on_writable
        self._settings = {"baudrate": baud, "bytesize": bits, "parity": parity, "stopbits": stop}
        self._frames = FrameReader()
        self._pending = bytearray()
        self._refused_one = False
        self._counts = {"bytes_in": 0, "bytes_out": 0, "opened": 0, "refused": 0}
        self._fd = -1
        self._gone: asyncio.Future[str] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def counters(self) -> dict[str, int]:
        """Since the start: frames ``good`` and ``damaged_<cause>``, bytes, times ``opened``, sends ``refused``."""
        damaged = {f"damaged_{cause}": count for cause, count in self._frames.damaged.items()}
        return {"good": self._frames.good, **damaged, **self._counts}

    def start(self) -> None:
        """Begin to open the line, and keep it open until ``stop``; call on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"line {self.id}")

    async def stop(self) -> None:
        """Close the line for good, once what waits is sent, LAST_WORDS_S at most. ``on_down`` is not called."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LAST_WORDS_S
        with suppress(OSError):  # gone: then there are no last words
            while self.up and (self._pending or unsent(self._fd)) and loop.time() < until:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def send(self, frames: bytes) -> bool:
        """Write whole frames, now or as soon as the line takes them. False: no room, nothing of it is written."""
        if not self.up or len(self._pending) + len(frames) > PENDING_BYTES_MAX:
            self._refused_one = self.up
            self._counts["refused"] += 1
            return False
        idle = not self._pending
        self._pending += frames
        if idle:
            self._write()
            if self._pending and self.up:
                loop = asyncio.get_running_loop()
                self.blocked_since = loop.time()
                loop.add_writer(self._fd, self._write_on)
        return True

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        wait_s = RETRY_MIN_S
        while True:
            port = await self._opened()
            if port is not None:
                opened_at = loop.time()
                try:
                    await self._carry(port)
                finally:
                    await asyncio.shield(loop.run_in_executor(None, _close, port))
                if loop.time() - opened_at >= STEADY_S:
                    wait_s = RETRY_MIN_S
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, RETRY_MAX_S)

    async def _opened(self) -> Port | None:
        """The open port; None when it cannot be opened now."""
        opening = asyncio.get_running_loop().run_in_executor(None, _open, self.port, self._settings)
        try:
            while not (await asyncio.wait({opening}, timeout=OPEN_S))[0]:
                self._off(f"opening takes more than {OPEN_S:g} s")
            return opening.result()
        except asyncio.CancelledError:
            opening.add_done_callback(_close_late)
            raise
        except (OSError, ValueError) as wrong:
            self._off(f"cannot be opened: {_words(wrong)}")
            return None

    async def _carry(self, port: Port) -> None:
        """Read and write until the port is gone."""
        loop = asyncio.get_running_loop()
        self._fd = port.fileno()
        self._gone = loop.create_future()
        self._frames.start_over()
        self._counts["opened"] += 1
        self.up, self.cause = True, ""
        loop.add_reader(self._fd, self._read)
        _log.info("line %s: open on %s", self.id, self.port)
        # Through the loop: a fault in a callback is the loop's to report, and must not end the line.
        loop.call_soon(self._on_up, self.id)
        try:
            cause = await self._gone
        finally:
            self.up = False
            loop.remove_reader(self._fd)
            loop.remove_writer(self._fd)
            self._pending.clear()
            self._refused_one = False
            self.blocked_since = None
        self._off(cause)
        loop.call_soon(self._on_down, self.id, cause)

    def _off(self, cause: str) -> None:
        # Said once for each time it goes off, however often opening fails after that.
        if self.cause in ("", _NOT_OPENED):
            _log.warning("line %s: off, %s (%s); it is tried again until it is back", self.id, cause, self.port)
        self.cause = cause

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as wrong:
            self._end(_words(wrong))
            return
        if not data:
            self._end("closed at the other end")
            return
        self._counts["bytes_in"] += len(data)
        for payload in self._frames.feed(data):
            self._on_frame(self.id, payload)

    def _write(self) -> None:
        try:
            written = os.write(self._fd, self._pending)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as wrong:
            self._end(_words(wrong))
            return
        if written:
            del self._pending[:written]
            self._counts["bytes_out"] += written
            self.blocked_since = asyncio.get_running_loop().time() if self._pending else None

    def _write_on(self) -> None:
        self._write()
        if not self._pending and self.up:
            asyncio.get_running_loop().remove_writer(self._fd)
            if self._refused_one and self._on_writable is not None:
                self._refused_one = False
                self._on_writable(self.id)

    def _end(self, cause: str) -> None:
        self.up = False
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_writer(self._fd)
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(cause)


def _open(port: str, settings: dict[str, Any]) -> Port:
    """Open and configure, in a thread; OSError (``serial.SerialException`` is one) or ValueError when it cannot be."""
    if port.startswith("tcp://"):
        return _open_tcp(port)
    # DTR and RTS as the kernel sets them at opening, and no hang-up at closing: the lines of a board that restarts
    # on an edge then stay as they are however often the port is opened again (SE-07).
    made = serial.Serial(None, exclusive=True, timeout=0, write_timeout=0, **settings)
    made.port, made.dtr, made.rts = port, True, True
    made.open()
    try:
        modes = termios.tcgetattr(made.fd)
        modes[2] &= ~termios.HUPCL
        # With VMIN 1 an empty read means that the port is gone, and never that there is nothing to read now.
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(made.fd, termios.TCSANOW, modes)
        os.set_blocking(made.fd, False)
    except termios.error as wrong:
        made.close()
        raise OSError(*wrong.args) from wrong
    return made


def _open_tcp(port: str) -> socket.socket:
    place = urlsplit(port)
    if place.hostname is None or place.port is None:
        raise ValueError(f"{port} is not tcp://host:port")
    made = socket.create_connection((place.hostname, place.port), timeout=OPEN_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A serial server that lost its power says no goodbye; the host's pulse each second finds out within 5 s.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 5000)
    made.setblocking(False)
    return made


def _close(port: Port) -> None:
    with suppress(OSError, termios.error):
        # Closing a tty waits for what is not sent yet, up to 30 s, unless it is thrown away. Only then: throwing away
        # also takes what a pty has sent and its other end has not been given yet, such as a unit's last words.
        if isinstance(port, serial.Serial) and unsent(port.fileno()):
            port.reset_output_buffer()
    with suppress(OSError):
        port.close()


def unsent(fd: int) -> int:
    """Bytes that the system holds and the other end has not taken (TIOCOUTQ, for ports and TCP); OSError when gone."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.TIOCOUTQ, b"\0\0\0\0"))[0])


def _close_late(opening: asyncio.Future[Port]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        _close(opening.result())


def _words(wrong: Exception) -> str:
    # pyserial writes the port and the error twice into its own words.
    number = getattr(wrong, "errno", None)
    return os.strerror(number) if number else str(wrong)
