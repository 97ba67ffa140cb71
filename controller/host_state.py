"""What the box itself tells of alarms: whether its clock is kept, when its certificates end, how slow its disk is.

Only looked at; the daemon passes the time in. Nothing here blocks: two small files and one system call a minute.
"""

import ctypes
import ssl
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from controller.alarm_plan import CERTIFICATE_DAYS
from controller.metrics import Stats
from controller.watch import Told

DAY_US = 86_400 * 1_000_000
EVERY_US = 60 * 1_000_000
"""Clock and certificates are looked at so often."""
SLOW_FROM_US = 500_000
"""A commit that took longer is slow."""
TIMESYNC = Path("/run/systemd/timesync")
"""Where systemd-timesyncd leaves its mark once it has set the clock."""
CERTIFICATE_BYTES_MAX = 65_536
_TIME_ERROR = 5
_SEQUENCE, _CONTEXT_0, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18


def clock_synchronised(timesync: Path = TIMESYNC) -> bool | None:
    """Whether a time service keeps the system's clock; None where nobody can tell.

    The kernel is asked (adjtimex, which changes nothing). A service with ``ProtectClock=`` may not ask; then the mark
    of systemd-timesyncd in ``timesync`` tells.
    """
    try:
        found = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)))
    except (OSError, AttributeError):
        found = -1
    if found >= 0:
        return found != _TIME_ERROR
    return (timesync / "synchronized").exists() if timesync.is_dir() else None


def certificate_end(path: Path) -> int | None:
    """When the first certificate of a PEM file ends (UTC microseconds); None when there is none to read."""
    try:
        with path.open("rb") as file:
            pem = file.read(CERTIFICATE_BYTES_MAX).decode("ascii", "replace")
        begin = pem.index("-----BEGIN CERTIFICATE-----")
        end = pem.index("-----END CERTIFICATE-----", begin) + len("-----END CERTIFICATE-----")
        return _not_after(ssl.PEM_cert_to_DER_cert(pem[begin:end]))
    except (OSError, ValueError, IndexError):
        return None


def _not_after(der: bytes) -> int:
    """The end of the validity of an X.509 certificate (RFC 5280 section 4.1); raises ValueError."""
    kind, body, _ = _element(der)
    _require(kind, _SEQUENCE)
    kind, rest, _ = _element(body)
    _require(kind, _SEQUENCE)
    kind, _, after = _element(rest)
    if kind == _CONTEXT_0:
        rest = after
    for _field in ("serial number", "signature", "issuer"):
        _, _, rest = _element(rest)
    kind, validity, _ = _element(rest)
    _require(kind, _SEQUENCE)
    _, _, after = _element(validity)
    kind, written, _ = _element(after)
    return _time(kind, written.decode("ascii"))


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """The first element: its tag, its content, and what comes after it."""
    kind, length, begin = der[0], der[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(der[2:begin], "big")
    if begin + length > len(der):
        raise ValueError("cut short")
    return kind, der[begin : begin + length], der[begin + length :]


def _require(kind: int, expected: int) -> None:
    if kind != expected:
        raise ValueError("not a certificate")


def _time(kind: int, written: str) -> int:
    if kind == _UTC_TIME:
        # RFC 5280 section 4.1.2.5.1: two digits below 50 are of this century.
        written = ("20" if int(written[:2]) < 50 else "19") + written
    elif kind != _GENERALIZED_TIME:
        raise ValueError("not a time")
    moment = datetime.strptime(written, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000


class HostState:
    """Keeps what is looked at seldom. ``certificates``: files whose end matters (pages, broker)."""

    def __init__(self, certificates: Sequence[Path], award_minutes: int, warn_days: int = CERTIFICATE_DAYS) -> None:
        self._certificates, self._award_minutes, self._warn_days = tuple(certificates), award_minutes, warn_days
        self._looked_at: int | None = None
        self._synchronised: bool | None = None
        self._days: int | None = None
        self._slow: deque[tuple[int, int]] = deque(maxlen=120)

    def told(self, stats: Stats, stuck_s: float, now: int) -> Told:
        """What the watch must be told at ``now``; call it about once a second."""
        if self._looked_at is None or abs(now - self._looked_at) >= EVERY_US:
            self._looked_at, self._synchronised = now, clock_synchronised()
            ends = [end for path in self._certificates if (end := certificate_end(path)) is not None]
            self._days = (min(ends) - now) // DAY_US if ends else None
        return Told(
            self._synchronised, self._days, int(stuck_s * 1_000_000), self._slow_lately(stats, now),
            self._award_minutes, self._warn_days)

    def _slow_lately(self, stats: Stats, now: int) -> int:
        bounds = stats.commit_us.bounds
        quick = len([bound for bound in bounds if bound <= SLOW_FROM_US])
        total = sum(stats.commit_us.counts[quick:])
        self._slow.append((now, total))
        while self._slow[0][0] < now - EVERY_US:
            self._slow.popleft()
        return total - self._slow[0][1]
