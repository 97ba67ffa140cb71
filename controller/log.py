"""The daemon's log: one line an event, no line forged by what came over a wire, no flood (SD-09, CF-06).

The same message is written at most a few times a minute; what is left out is counted and said. First and latest are
always there. Goes to standard error, where systemd's journal takes it.
"""

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable

WINDOW_S = 60.0
BURST = 5
CAUSES_MAX = 512
LINE_MAX = 1_000


def _ignore(_count: int) -> None:
    """Nobody counts."""


class MergeRepeats(logging.Filter):
    """Lets ``BURST`` lines of one cause (logger and message pattern) through in each window; counts the rest."""

    def __init__(self, timer: Callable[[], float], counted: Callable[[int], None] = _ignore) -> None:
        super().__init__()
        self._timer, self._counted = timer, counted
        self._seen: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; a window's first line says how many were left out before it."""
        key, now = (record.name, str(record.msg)), self._timer()
        began, count = self._seen.pop(key, (now, 0))
        if now - began >= WINDOW_S:
            if count > BURST:
                record.msg = f"{record.msg} (and {count - BURST} more like it in the last {int(now - began)} s)"
            began, count = now, 0
        self._seen[key] = (began, count + 1)
        while len(self._seen) > CAUSES_MAX:
            self._seen.popitem(last=False)
        if count >= BURST and record.levelno < logging.CRITICAL:
            self._counted(1)
            return False
        return True


class OneLine(logging.Formatter):
    """Priority prefix for the journal, then one printable line of bounded length."""

    _PRIORITY = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))

    def format(self, record: logging.LogRecord) -> str:
        """The line; control characters are shown, not obeyed."""
        text = super().format(record)
        shown = "".join([char if char.isprintable() else repr(char)[1:-1] for char in text[:LINE_MAX]])
        priority = next((number for level, number in self._PRIORITY if record.levelno >= level), 7)
        return f"<{priority}>{shown}" if not sys.stderr.isatty() else shown


def set_up(timer: Callable[[], float], counted: Callable[[int], None] = _ignore) -> None:
    """Send the log to standard error, merged and bounded."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(name)s %(levelname)s %(message)s"))
    handler.addFilter(MergeRepeats(timer, counted))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
