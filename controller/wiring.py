"""How this box is wired: lines, broker, pages, signs, printers. Frozen values; no money; not of the ledger's config.

The optional sections ``[[line]]``, ``[mqtt]``, ``[web]``, ``[[sign]]`` and ``[[printer]]`` of the configuration; read
by ``controller.config``.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from controller.alarm_plan import AlarmPlan

PRIVATE_NETWORKS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10")
"""The networks that are not remote where a configuration names none."""


@dataclass(frozen=True, slots=True)
class SerialSettings:
    """How a port is opened. ``port``: a device path (a stable name) or ``tcp://host:port``."""

    port: str
    baud: int = 115_200
    bits: int = 8
    parity: str = "N"
    stop: int = 1


@dataclass(frozen=True, slots=True)
class LinePlan:
    """A serial line to one sensor hub. Only ``device`` may speak on it (SE-02)."""

    id: str
    device: str
    serial: SerialSettings


@dataclass(frozen=True, slots=True)
class MqttPlan:
    """The broker. Secrets stand in files: the password is read from ``password_file`` at each connection (CF-06)."""

    host: str
    port: int
    client_id: str
    username: str | None
    password_file: Path | None
    ca_file: Path | None
    cert_file: Path | None
    key_file: Path | None
    tls: bool


@dataclass(frozen=True, slots=True)
class WebPlan:
    """Where the pages listen; 127.0.0.1 unless configured. And how people sign in on them (R-104, R-105)."""

    bind: str
    port: int
    tls_cert: Path | None = None
    """With ``tls_key``: the pages speak TLS themselves."""
    tls_key: Path | None = None
    idle_minutes: int = 15
    session_hours: int = 12
    secret_days: int = 90
    proxies: tuple[str, ...] = ()
    """Networks whose X-Forwarded-For is believed (WE-05)."""
    networks: tuple[str, ...] = PRIVATE_NETWORKS
    """Networks of the site; from elsewhere access is remote. This box itself never is."""
    remote: bool = False
    """Whether remote access can be opened at all, for one named person at a time."""
    open_floor_page: bool = True
    """Whether floor page, API and metrics are read without signing in. Signs always are."""


class SignKind(StrEnum):
    """A kiosk browser's page, an Alpha-protocol LED sign on a serial port, or a retained MQTT topic's reader."""

    PAGE = "page"
    ALPHA = "alpha"
    MQTT = "mqtt"


@dataclass(frozen=True, slots=True)
class SignPlan:
    """One sign. ``table`` None: it stands for its meters alone. ``digits``: how many it can show, cents included."""

    id: str
    kind: SignKind
    table: str | None
    meters: tuple[str, ...]
    digits: int
    serial: SerialSettings | None
    checksum: bool
    """Alpha signs: end frames with ETX and a checksum (protocols/alpha-sign.md section 2)."""


COLUMNS = 48
"""Signs in a line of 80 mm paper, 576 dots wide, in font A (12 x 24 dots)."""


@dataclass(frozen=True, slots=True)
class PrinterPlan:
    """One ESC/POS printer for slips. ``path``: its device, or a file that is appended to."""

    id: str
    name: str
    path: Path
    columns: int = COLUMNS
    """Signs in a line of its font A."""
    tables: tuple[str, ...] = ()
    """The tables that it serves; empty: every table."""
    baud: int | None = None
    """Of a serial printer: the port is set to it, 8N1; None: the port is left as the system has it."""

    def serves(self, table: str) -> bool:
        """Whether slips of a table may be printed here."""
        return not self.tables or table in self.tables


QUIET = AlarmPlan()
"""Alarms that are told on the pages and to the broker only."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """Everything of the configuration that is not money."""

    ledger_url: str
    lines: tuple[LinePlan, ...]
    mqtt: MqttPlan | None
    web: WebPlan | None
    signs: tuple[SignPlan, ...]
    alarms: AlarmPlan = QUIET
    printers: tuple[PrinterPlan, ...] = ()
