"""The daemon's log: one line an event, no line forged by what came over a wire, no flood (SD-09, CF-06).

The same thing is written at most a few times a minute; what is left out is counted, and said when the minute is over,
with the latest of it. Goes to standard error, where systemd's journal takes it.
"""

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable

WINDOW_S = 60.0
BURST = 5
"""Lines of one thing (its words and its place: a table, a line) in a window."""
BURST_OF_ALL = 60
"""Lines of the same words about all places in a window: a hundred tables are not a flood, a thousand names are."""
CAUSES_MAX = 512
LINE_MAX = 4_000

WHOLE = {"whole": True}
"""``extra`` of lines that are never left out: what heads the log, and the merger's own."""

_log = logging.getLogger("meterd.log")


def _ignore(_count: int) -> None:
    """Nobody counts."""


class _Seen:
    """How often one thing was said since ``began``, and the latest line that was left out."""

    __slots__ = ("began", "count", "latest", "left_out")

    def __init__(self, began: float) -> None:
        self.began, self.count, self.left_out, self.latest = began, 0, 0, ""


class MergeRepeats(logging.Filter):
    """Lets the first lines of one thing through in each window; counts the rest. See ``BURST``."""

    def __init__(self, timer: Callable[[], float], counted: Callable[[int], None] = _ignore) -> None:
        super().__init__()
        self._timer, self._counted = timer, counted
        self._seen: OrderedDict[tuple[str, ...], _Seen] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if getattr(record, "whole", False) or record.levelno >= logging.CRITICAL:
            return True
        words = (record.name, str(record.msg))
        place = str(record.args[0])[:64] if isinstance(record.args, tuple) and record.args else ""
        left = self._count((*words, place))
        if left.count <= BURST:
            # Only what would be written counts here, so that one place does not silence the others.
            left = self._count(words)
            if left.count <= BURST_OF_ALL:
                return True
        left.left_out += 1
        left.latest = record.getMessage()[:LINE_MAX]
        self._counted(1)
        return False

    def _count(self, key: tuple[str, ...]) -> _Seen:
        now = self._timer()
        seen = self._seen.pop(key, None)
        if seen is None or now - seen.began >= WINDOW_S:
            if seen is not None:
                self._say(seen)
            seen = _Seen(now)
        seen.count += 1
        self._seen[key] = seen
        if len(self._seen) > CAUSES_MAX:
            self._say(self._seen.popitem(last=False)[1])
        return seen

    def say_left_out(self, *, all_of_it: bool = False) -> None:
        """Say what was left out in windows that are over; with ``all_of_it`` at the end of the daemon, in all."""
        now = self._timer()
        for key in [key for key, seen in self._seen.items() if all_of_it or now - seen.began >= WINDOW_S]:
            self._say(self._seen.pop(key))

    def _say(self, seen: _Seen) -> None:
        if seen.left_out:
            spent = int(self._timer() - seen.began)
            _log.warning("%d more in the last %d s, the latest: %s", seen.left_out, spent, seen.latest, extra=WHOLE)


class OneLine(logging.Formatter):
    """Priority prefix for the journal, then one printable line of bounded length."""

    _PRIORITY = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))

    def format(self, record: logging.LogRecord) -> str:
        """The line; control characters are shown, not obeyed."""
        text = super().format(record)
        shown = "".join([char if char.isprintable() else repr(char)[1:-1] for char in text[:LINE_MAX]])
        priority = next((number for level, number in self._PRIORITY if record.levelno >= level), 7)
        return f"<{priority}>{shown}" if not sys.stderr.isatty() else shown


def set_up(timer: Callable[[], float], counted: Callable[[int], None] = _ignore) -> MergeRepeats:
    """Send the log to standard error, merged and bounded; returns the merger, to be asked for what it left out."""
    merge = MergeRepeats(timer, counted)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(name)s %(levelname)s %(message)s"))
    handler.addFilter(merge)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return merge
