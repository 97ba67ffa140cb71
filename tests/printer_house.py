"""Printers for tests: a real pseudo-terminal that takes paper, and one that nobody reads."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.wiring import PrinterPlan

CUT = b"\x1dVB\x60"


class Paper:
    """The other end of a printer's line: what came out, slip by slip. Its reader ends with the line."""

    def __init__(self) -> None:
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        self.path = Path(os.ttyname(self._theirs))
        self._came = bytearray()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                some = os.read(self._ours, 4096)
            except OSError:  # the line is closed
                return
            with self._changed:
                self._came += some
                self._changed.notify_all()

    def slips(self, count: int) -> list[bytes]:
        """The first ``count`` slips, each up to its cut; waits until they are there, 10 s at most."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._came.count(CUT) >= count, 10), bytes(self._came)
            return bytes(self._came).split(CUT)[:count]

    def end(self) -> None:
        """Unplug it."""
        os.close(self._theirs)
        self._reader.join(10)
        os.close(self._ours)


@contextmanager
def paper(name: str = "Pit 1", **keys: object) -> Iterator[tuple[PrinterPlan, Paper]]:
    """A printer ``pit-1`` with paper in it."""
    made = Paper()
    try:
        yield PrinterPlan("pit-1", name, made.path, **keys), made  # type: ignore[arg-type]
    finally:
        made.end()


def unread_pipe(folder: Path) -> PrinterPlan:
    """A FIFO that nobody reads: as an unplugged printer."""
    os.mkfifo(folder / "printer")
    return PrinterPlan("pit-1", "Pit 1", folder / "printer")
