"""A slip on an 80 mm receipt printer that speaks ESC/POS: font A, mostly 48 columns, ASCII only, cut at the end.

``strip`` and ``escpos`` are pure. ``send`` writes to a printer device or a file within a bounded time. A printer gives
no proof of print: what is reported as taken may still wait in a buffer, so a slip can be reprinted under its number.
"""

import fcntl
import os
import select
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from controller.slip import Block, Look, Row, Slip, banners, lines, printable
from controller.wiring import COLUMNS
from firmware_bridge.printer_port import set_up

SEND_S = 10.0
"""A whole slip takes a serial printer of 9,600 baud about four seconds."""
_PIECE = 512
_PAUSE_S = 0.02
_DEVICES = Path("/dev")

_INIT = b"\x1b@"
_CODE_PAGE_437 = b"\x1bt\x00"
_BOLD = (b"\x1bE\x00", b"\x1bE\x01")
_TALL = (b"\x1d!\x00", b"\x1d!\x01")
_FEED_AND_CUT = b"\x1dVB\x60"


class StripLine(NamedTuple):
    """One printed line, no wider than the paper; ``tall`` ones are twice as high and not wider."""

    text: str
    bold: bool = False
    tall: bool = False


class NotPrinted(Exception):
    """A slip that the printer did not take, or not whole: where, why, and what to do now."""

    def __init__(self, where: str, why: str, remedy: str) -> None:
        super().__init__(f"printer {where}: {why}; {remedy}")
        self.why, self.remedy = why, remedy


def strip(slip: Slip, columns: int = COLUMNS) -> list[StripLine]:
    """The slip as lines of at most ``columns`` signs, all of them ASCII (DI-03, WE-01)."""
    loud = [line for words in banners(slip) for line in _centred(words, columns)]
    made = [*loud, *_centred(slip.site_name, columns), *_centred(f"JACKPOT SLIP {slip.title}", columns)]
    for block in lines(slip):
        made += _block(block, columns)
    return [*made, StripLine(""), *loud]


def _centred(words: str, columns: int) -> list[StripLine]:
    return [StripLine(line.center(columns).rstrip(), bold=True, tall=True) for line in _wrap(printable(words), columns)]


def _block(block: Block, columns: int) -> Iterator[StripLine]:
    yield StripLine("-" * columns)
    if block.title:
        yield from (StripLine(line, bold=True) for line in _wrap(printable(block.title), columns))
    for row in block.rows:
        yield from _row(row, columns)


def _row(row: Row, columns: int) -> Iterator[StripLine]:
    label, text = printable(row.label), printable(row.text)
    bold, tall = row.look in (Look.TOTAL, Look.LOUD), row.look is Look.TOTAL
    if row.look is Look.SIGN:
        yield from (StripLine(""), StripLine(""), StripLine("_" * columns))
        yield from (StripLine(line) for line in _wrap(label, columns))
        return
    gap = 2 if label and text else 0
    if len(label) + gap + len(text) <= columns:
        yield StripLine((label + text.rjust(columns - len(label))).rstrip(), bold, tall)
        return
    yield from (StripLine(line, bold, tall) for line in _wrap(label, columns))
    for line in _wrap(text, columns - 2):
        yield StripLine(line.rjust(columns) if row.look in (Look.MONEY, Look.TOTAL) else "  " + line, bold, tall)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def escpos(slip: Slip, columns: int = COLUMNS) -> bytes:
    """The bytes that print the slip and cut the paper; no text of the slip can hold a command."""
    made = [_INIT, _CODE_PAGE_437]
    bold = tall = False
    for line in strip(slip, columns):
        if line.bold is not bold:
            made.append(_BOLD[line.bold])
        if line.tall is not tall:
            made.append(_TALL[line.tall])
        bold, tall = line.bold, line.tall
        made.append(line.text.encode("ascii") + b"\n")
    return b"".join([*made, _BOLD[False], _TALL[False], _FEED_AND_CUT])


def send(
    path: Path, printed: bytes, clock: Callable[[], float], within_s: float = SEND_S, baud: int | None = None
) -> None:
    """Give a print to a printer device, a pipe, or a file (appended to; made if its folder is there).

    ``clock`` counts steady seconds; ``baud``: of a serial printer. Returns once the system has taken every byte; raises
    NotPrinted, at most a little after ``within_s``, where it has not. Blocks that long: call it from a worker thread.
    Two programs never mix their slips. Closing a serial port whose printer has stopped can take the system up to
    another 30 s.
    """
    until = clock() + within_s
    handle = _open(path)
    try:
        _make_ours(path, handle, clock, until, baud)
        taken = 0
        while taken < len(printed):
            try:
                taken += _give(handle, printed[taken : taken + _PIECE], until - clock())
            except OSError as error:
                raise _failed(path, taken, len(printed), error.strerror or str(error)) from error
            if taken < len(printed) and clock() >= until:
                raise _failed(path, taken, len(printed), f"it takes nothing more after {within_s:g} s")
    finally:
        os.close(handle)


def _make_ours(path: Path, handle: int, clock: Callable[[], float], until: float, baud: int | None) -> None:
    """Wait until no other program prints there, and set a serial port to its speed."""
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as held:
            if clock() >= until:
                raise _failed(path, 0, 0, "another program is printing there") from held
            select.select([], [], [], _PAUSE_S)
        except OSError as error:
            raise _failed(path, 0, 0, error.strerror or str(error)) from error
    try:
        if baud is not None:
            set_up(handle, baud)
    except OSError as error:
        raise _failed(path, 0, 0, error.strerror or str(error)) from error


def _open(path: Path) -> int:
    """Open without waiting. A missing printer never becomes a file of that name under the devices."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            if path.is_symlink() or path.absolute().is_relative_to(_DEVICES):
                raise
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o640)
    except OSError as error:
        raise _failed(path, 0, 0, error.strerror or str(error)) from error


def _give(handle: int, piece: bytes, within_s: float) -> int:
    """Bytes taken of a piece, 0 if none in time; raises OSError where the other end is gone."""
    waiting = select.poll()
    waiting.register(handle, select.POLLOUT)
    for _, event in waiting.poll(max(0.0, within_s) * 1000):
        if not event & select.POLLOUT:
            raise OSError(0, "it was switched off or unplugged")
        try:
            return os.write(handle, piece)
        except BlockingIOError:
            select.select([], [], [], _PAUSE_S)  # said to be ready, and is not: no busy loop
    return 0


def _failed(path: Path, taken: int, whole: int, why: str) -> NotPrinted:
    if not taken:
        return NotPrinted(str(path), f"{why}; nothing was printed",
                          "look at its cable, paper, cover and power, then print the slip again")
    return NotPrinted(str(path), f"{why}, {taken} of {whole} bytes were taken",
                      "destroy the part that came out, look at paper, cover and power, then print the slip again")
