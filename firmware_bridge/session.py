"""What the host knows of one device: is it there, which boot speaks, what is missing, what it must still be told. Pure.

Time is passed in: seconds of any clock that never goes back. A session counts repeats and gaps for people to see, and
drops no money message: only the ledger knows a duplicate (design section 5, step 2). What waits to be said is in
``outbox``, where newer lamps replace older ones and acknowledgements of one boot merge.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from firmware_bridge.messages import Bet, Down, Heard, Heartbeat, Hello, Kept, Up, Who
from firmware_bridge.outbox import Outbox

State: TypeAlias = Literal["live", "stale", "offline"]

STALE_S: Final = 1.5
"""Silent for longer: a heartbeat, sent every second, is late."""
OFFLINE_S: Final = 3.0
"""Silent for longer: three heartbeats are missing (design section 7)."""
WHO_EVERY_S: Final = 2.0
"""A device that has not said hello is asked for it no more often than this."""
DIFFERENCE_HEARTBEATS: Final = 3
"""A difference of totals that stands for so many comparable heartbeats is reported (design section 9, R-94)."""
BOOTS_MAX: Final = 16
"""So many boots of a device are remembered; one that keeps restarting must not fill the memory."""
MISSING_MAX: Final = 64
"""So many missing numbers of a boot are remembered: as many as the host holds ahead of turn (design section 4)."""

OFFLINE: Final = "table unit offline"
NO_HELLO: Final = "waiting for the table unit to start"
TWO_LINES: Final = "table unit seen on two lines: unplug one"

_What = TypeVar("_What")
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


class Loss(NamedTuple):
    """Numbers of ``boot`` from ``first_missing`` up to but not including ``kept_first`` are gone for good."""

    boot: str
    first_missing: int
    kept_first: int


class Difference(NamedTuple):
    """Up to ``seq`` of ``boot`` the device counted ``device_total`` wagers, the host ``host_total``."""

    boot: str
    seq: int
    device_total: int
    host_total: int


class _Numbers:
    """Which numbers of one boot have been heard."""

    def __init__(self, highest: int) -> None:
        self.highest = highest
        self.missing: set[int] = set()


class Session:
    """One device, from the daemon's start to its end.

    ``gaps`` counts numbers that did not come in turn, ``late`` those of them that came after all, ``duplicates``
    numbers heard again, ``reboots`` boots after the first one.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.line: str | None = None
        """The line it was last heard on: where answers go."""
        self.boot: str | None = None
        """The boot that speaks now, once it has said hello."""
        self.firmware = ""
        self.reset_cause = ""
        self.seats = 0
        self.kept: tuple[Kept, ...] = ()
        self.bets: tuple[Bet, ...] = ()
        """Chips lying on its sensors at the last heartbeat."""
        self.outbox = Outbox()
        self.gaps = self.late = self.duplicates = self.reboots = 0
        self._heard_at: dict[str, float] = {}
        self._numbers: dict[str, _Numbers] = {}
        self._greeted: dict[str, None] = {}
        self._hello_due = True
        self._asked_at: float | None = None
        self._standing: tuple[str, int] = ("", 0)
        self._stood = 0

    def heard(self, line: str, message: Up, now: float, *, retained: bool = False) -> list[Down]:
        """Take note of a message; the answer is ``Who`` when the device has to say hello, else nothing.

        A hello is answered with ``Welcome`` and ``Layout`` by the caller, who knows the ledger. A ``retained`` copy
        of a broker (MQ-01) says nothing about now: it is counted like any other and marks no liveness.
        """
        if not retained:
            self.line = line
            self._heard_at = {one: at for one, at in self._heard_at.items() if now - at <= OFFLINE_S}
            self._heard_at[line] = now
        if isinstance(message, Hello):
            if not retained:
                self._greet(message)
            return []
        if isinstance(message, Heartbeat):
            if not retained:
                self._beat(message)
        elif not isinstance(message, Heard):
            self._count(message.boot, message.seq)
        return self._who(now) if self._must_ask(message.boot) else []

    def ask(self, now: float) -> list[Down]:
        """A line to it has just opened: it is asked for the hello that is due, so that nothing waits for its next word.

        What was asked before may have been lost with the line.
        """
        self._asked_at = None
        return self._who(now) if self._hello_due else []

    def lost(self, line: str) -> None:
        """The line is down. The device is asked for a hello when it is heard again (sensor-links section 3)."""
        self._heard_at.pop(line, None)
        if self.line == line:
            self._hello_due = True
            self._asked_at = None
            self.outbox.clear()

    @staticmethod
    def losses(hello: Hello, committed: Mapping[str, int], held: Mapping[str, int] = _NOTHING) -> list[Loss]:
        """What the device can no longer send, by its own word; again at each hello until the ledger stands past it.

        ``committed``: the highest durable number of each boot. ``held``: for each boot first heard before that of
        the hello, the lowest number held ahead of its turn; a device that keeps nothing of such a boot will never
        fill the gap before it.
        """
        found = [
            Loss(boot, committed.get(boot, 0) + 1, first)
            for boot, first, _next in hello.kept
            if first > committed.get(boot, 0) + 1
        ]
        listed = {kept.boot for kept in hello.kept}
        found += [
            Loss(boot, committed.get(boot, 0) + 1, lowest)
            for boot, lowest in held.items()
            if boot not in listed and boot != hello.boot
        ]
        return found

    def totals(self, heartbeat: Heartbeat, committed_seq: int, wagers_total: int) -> Difference | None:
        """A difference between the device's and the host's count of wagers, each time it has stood long enough.

        It is told again while it stands: the books may have been shut when it was told first. Totals can be compared
        only when everything the device has numbered is durable; other heartbeats are passed over. ``wagers_total``:
        wagers of all locks of this boot up to ``committed_seq``, refused ones too.
        """
        if heartbeat.last_seq != committed_seq:
            return None
        found = (heartbeat.boot, heartbeat.wagers_total - wagers_total)
        if found[1] == 0 or found != self._standing:
            self._standing, self._stood = found, 0
        if found[1] == 0:
            return None
        self._stood += 1
        if self._stood < DIFFERENCE_HEARTBEATS:
            return None
        self._stood = 0
        return Difference(heartbeat.boot, committed_seq, heartbeat.wagers_total, wagers_total)

    def silent_s(self, now: float) -> float | None:
        """Seconds since it was last heard on any line; None when no line has heard it since it was last lost."""
        return now - max(self._heard_at.values()) if self._heard_at else None

    def state(self, now: float) -> State:
        """Whether the device is there."""
        silent = self.silent_s(now)
        if silent is None or silent > OFFLINE_S:
            return "offline"
        return "stale" if silent > STALE_S else "live"

    def two_lines(self, now: float) -> bool:
        """Whether more than one line hears it. Ends by itself once the other line has been silent long enough."""
        return len([at for at in self._heard_at.values() if now - at <= OFFLINE_S]) > 1

    def playable(self, now: float) -> tuple[bool, str]:
        """Whether the line allows play, and if not, why. The caller has further reasons of its own."""
        if self.state(now) == "offline":
            return False, OFFLINE
        if self.two_lines(now):
            return False, TWO_LINES
        if self._hello_due:
            return False, NO_HELLO
        return True, ""

    def _greet(self, hello: Hello) -> None:
        if hello.boot not in self._greeted:
            self.reboots += 1 if self._greeted else 0
            _remember(self._greeted, hello.boot, None)
        self.boot = hello.boot
        self.firmware, self.reset_cause = hello.firmware, hello.reset_cause
        self.seats, self.kept = hello.seats, hello.kept
        self._hello_due = False
        for boot, first, _next in hello.kept:
            if boot not in self._numbers:
                _remember(self._numbers, boot, _Numbers(first - 1))

    def _beat(self, heartbeat: Heartbeat) -> None:
        self.bets = heartbeat.bets
        if heartbeat.boot in self._greeted:
            self.boot = heartbeat.boot
        else:
            self._hello_due = True

    def _count(self, boot: str, seq: int) -> None:
        numbers = self._numbers.get(boot)
        if numbers is None:
            # Not heard since the daemon's start: what came before is the ledger's to know.
            _remember(self._numbers, boot, _Numbers(seq))
        elif seq > numbers.highest:
            skipped = range(numbers.highest + 1, seq)
            self.gaps += len(skipped)
            numbers.missing.update(skipped[-MISSING_MAX:])
            while len(numbers.missing) > MISSING_MAX:
                numbers.missing.remove(min(numbers.missing))
            numbers.highest = seq
        elif seq in numbers.missing:
            numbers.missing.remove(seq)
            self.late += 1
        else:
            self.duplicates += 1

    def _must_ask(self, boot: str) -> bool:
        known = boot in self._greeted or any(kept.boot == boot for kept in self.kept)
        return self._hello_due or not known

    def _who(self, now: float) -> list[Down]:
        if self._asked_at is not None and now - self._asked_at < WHO_EVERY_S:
            return []
        self._asked_at = now
        return [Who()]


def _remember(known: dict[str, _What], boot: str, what: _What) -> None:
    known[boot] = what
    if len(known) > BOOTS_MAX:
        del known[next(iter(known))]
