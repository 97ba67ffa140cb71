"""Reads how the box is wired: ledger, lines, broker, pages, signs, printers. Pure; no file named here is opened.

None of it is money, none of it enters the ledger. Secrets stand in files of their own (CF-06); messages name keys only.
"""

import ipaddress
import re
from pathlib import Path

from controller.config_alarms import read_alarms
from controller.config_printers import read_printers
from controller.config_reader import Section, nearest, shown
from controller.layout import fits_a_line
from controller.plan import FloorPlan
from controller.wiring import PRIVATE_NETWORKS, LinePlan, MqttPlan, SerialSettings, SignKind, SignPlan, WebPlan, Wiring

LINES_MAX = 256
SIGNS_MAX = 256
SIGN_METERS_MAX = 8
WEB_PORT = 8688
NETWORKS_MAX = 32
DIGITS_LOW, DIGITS_HIGH, DIGITS = 4, 12, 9

_SQLITE = "sqlite:///"
_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}", re.ASCII)
_SERVER = re.compile(r"tcp://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253}):(\d{1,5})", re.ASCII)
_SERIAL_KEYS = ("port", "baud", "bits", "parity", "stop", "checksum")
_TLS_KEYS = ("ca_file", "cert_file", "key_file")


def read_wiring(top: Section, folder: Path, plan: FloorPlan | None) -> Wiring | None:
    """The wiring of a file in ``folder``; what it names is looked up in ``plan`` when there is one."""
    site = plan.site if plan else "site"
    mqtt = _read_mqtt(top, folder, site)
    ports: dict[str, str] = {}
    ledger_url = read_ledger(top, folder)
    wiring = Wiring(
        ledger_url=ledger_url,
        lines=_read_lines(top, plan, ports),
        mqtt=mqtt,
        web=_read_web(top, folder),
        signs=_read_signs(top, plan, ports),
        alarms=read_alarms(top, folder),
        printers=read_printers(top, folder, plan, ports, Path(ledger_url.removeprefix(_SQLITE))),
    )
    return wiring if top.sound else None


def read_ledger(top: Section, folder: Path) -> str:
    """The ledger's URL with an absolute path; absent: ``ledger.db`` beside the file."""
    section = top.inside("ledger", "ledger", "[ledger]") if top.has("ledger") else None
    url = section.text("url") if section else f"{_SQLITE}ledger.db"
    if section and section.good("url") and not (url.startswith(_SQLITE) and len(url) > len(_SQLITE) and "?" not in url):
        section.refuse("url", "not an SQLite ledger", 'write "sqlite:///ledger.db", relative to this file')
    return f"{_SQLITE}{folder / url.removeprefix(_SQLITE)}"


def _read_lines(top: Section, plan: FloorPlan | None, ports: dict[str, str]) -> tuple[LinePlan, ...]:
    """Serial lines. A device has at most one; without one it is on MQTT."""
    lines: dict[str, LinePlan] = {}
    for row in top.rows("line", LINES_MAX):
        line = LinePlan(row.ident("id"), row.ident("device"), _read_serial(row, ports, 115_200, 8, "N"))
        if line.id and line.id in lines:
            row.refuse("id", "stands twice", "give each line an id of its own")
        if line.device and line.device in {other.device for other in lines.values()}:
            row.refuse("device", f"{shown(line.device)} has two lines", "a device is on one line, or on MQTT")
        if plan is not None and row.good("device") and line.device not in plan.table_of_device:
            row.refuse(
                "device", f"no table has the device {shown(line.device)}", nearest(line.device, plan.table_of_device)
            )
        table = plan.table_of_device.get(line.device) if plan is not None else None
        if table is not None and not fits_a_line(table):
            remedy = "give its spots or outcomes shorter ids, or connect it by MQTT"
            row.refuse("device", f"what {shown(line.device)} is told of its table is too long for a line", remedy)
        lines[line.id] = line
    return tuple(lines.values())


def _read_serial(row: Section, ports: dict[str, str], baud: int, bits: int, parity: str) -> SerialSettings:
    port = row.text("port")
    server = _SERVER.fullmatch(port)
    if row.good("port") and not (server and 1 <= int(server[2]) <= 65_535) and not port.startswith("/"):
        row.refuse("port", f"{shown(port)} is no port", 'write a stable path under "/dev/", or "tcp://host:port"')
    if port and port in ports:
        row.refuse("port", f"{shown(port)} is also that of {ports[port]}", "give each line and sign a port of its own")
    ports[port] = row.place
    return SerialSettings(
        port=port,
        baud=row.whole("baud", 300, 4_000_000, default=baud),
        bits=row.whole("bits", 7, 8, default=bits),
        parity=row.one_of("parity", ("N", "E", "O")) if row.has("parity") else parity,
        stop=row.whole("stop", 1, 2, default=1),
    )


def _read_mqtt(top: Section, folder: Path, site: str) -> MqttPlan | None:
    section = top.inside("mqtt", "mqtt", "[mqtt]") if top.has("mqtt") else None
    if section is None:
        return None
    tls = section.flag("tls", default=False)
    files = {key: _read_path(section, key, folder) for key in ("password_file", *_TLS_KEYS)}
    for key in _TLS_KEYS:
        if files[key] is not None and not tls:
            section.refuse(key, "has no meaning without TLS", "write tls = true, or remove it")
    if (files["cert_file"] is None) != (files["key_file"] is None):
        section.refuse("cert_file", "a certificate and its key go together", "write both cert_file and key_file")
    if files["password_file"] is not None and not section.has("username"):
        section.missing("username", "write the name that the password belongs to")
    host = section.text("host")
    if section.good("host") and not _HOST.fullmatch(host):
        section.refuse("host", "not a host name or address", 'write it alone, like "127.0.0.1": no URL, no password')
    return MqttPlan(
        host=host,
        port=section.whole("port", 1, 65_535, default=8883 if tls else 1883),
        client_id=section.ident("client_id", default=f"meterd-{site}"[:64]),
        username=section.text("username") if section.has("username") else None,
        password_file=files["password_file"],
        ca_file=files["ca_file"],
        cert_file=files["cert_file"],
        key_file=files["key_file"],
        tls=tls,
    )


def _read_path(section: Section, key: str, folder: Path) -> Path | None:
    """A file named relative to the configuration; it is opened where it is used, not here."""
    return folder / section.text(key) if section.has(key) else None


def _read_web(top: Section, folder: Path) -> WebPlan:
    """Where the pages listen and how people sign in; absent: on this machine only, at the usual port."""
    section = top.inside("web", "web", "[web]") if top.has("web") else None
    if section is None:
        return WebPlan("127.0.0.1", WEB_PORT)
    bind = section.text("bind", default="127.0.0.1")
    try:
        ipaddress.ip_address(bind)
    except ValueError:
        if section.good("bind") and bind != "localhost":
            section.refuse("bind", f"{shown(bind)} is no address", 'write an IP address, like "127.0.0.1"')
    cert, key = (_read_path(section, name, folder) for name in ("tls_cert", "tls_key"))
    if (cert is None) != (key is None):
        section.refuse("tls_cert", "a certificate and its key go together", "write both tls_cert and tls_key")
    return WebPlan(
        bind, section.whole("port", 0, 65_535, default=WEB_PORT), cert, key,
        idle_minutes=section.whole("idle_minutes", 1, 240, default=15),
        session_hours=section.whole("session_hours", 1, 24, default=12),
        secret_days=section.whole("secret_days", 1, 366, default=90),
        proxies=_read_networks(section, "proxies", ()),
        networks=_read_networks(section, "networks", PRIVATE_NETWORKS),
        remote=section.flag("remote", default=False),
        open_floor_page=section.flag("open_floor_page", default=True),
    )


def _read_networks(section: Section, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A list of addresses or networks, such as ``"10.1.0.0/16"``."""
    if not section.has(key):
        return default
    found = section.raw.get(key)
    if isinstance(found, list) and len(found) <= NETWORKS_MAX and all(isinstance(one, str) for one in found):
        try:
            return tuple(str(ipaddress.ip_network(one)) for one in found)
        except ValueError as wrong:
            section.refuse(key, str(wrong)[:100], 'write networks like "10.1.0.0/16"')
            return default
    section.refuse(key, "not a list of networks, or too long", f'list at most {NETWORKS_MAX}, like ["10.1.0.0/16"]')
    return default


def _read_signs(top: Section, plan: FloorPlan | None, ports: dict[str, str]) -> tuple[SignPlan, ...]:
    signs: dict[str, SignPlan] = {}
    for row in top.rows("sign", SIGNS_MAX):
        sign = _read_sign(row, plan, ports)
        if sign.id and sign.id in signs:
            row.refuse("id", "stands twice", "give each sign an id of its own")
        if sign.kind is SignKind.MQTT and row.good("kind") and not top.has("mqtt"):
            row.refuse("kind", "there is no broker", "write [mqtt], or choose another kind")
        signs[sign.id] = sign
    return tuple(signs.values())


def _read_sign(row: Section, plan: FloorPlan | None, ports: dict[str, str]) -> SignPlan:
    kind = row.choice("kind", SignKind)
    alpha = kind is SignKind.ALPHA and row.good("kind")
    if row.good("kind") and not alpha:
        for key in _SERIAL_KEYS:
            if row.has(key):
                row.refuse(key, f'a sign of kind "{kind}" has no serial port', 'remove it, or write kind = "alpha"')
    table = row.ident("table") if row.has("table") else None
    if plan is not None and table and table not in plan.tables:
        row.refuse("table", f"there is no table {shown(table)}", nearest(table, plan.tables))
    return SignPlan(
        id=row.ident("id"),
        kind=kind,
        table=table,
        meters=_read_sign_meters(row, plan, table),
        digits=row.whole("digits", DIGITS_LOW, DIGITS_HIGH, default=DIGITS),
        serial=_read_serial(row, ports, 9600, 7, "E") if alpha else None,
        checksum=row.flag("checksum", default=True) if alpha else True,
    )


def _read_sign_meters(row: Section, plan: FloorPlan | None, table: str | None) -> tuple[str, ...]:
    """The meters it shows; absent: those of its table. At a table it shows only what can be won there."""
    fed: list[str] = []
    if plan is not None and table is not None and table in plan.tables:
        spots = plan.tables[table].spots
        fed = list(dict.fromkeys(feed.meter for spot in spots for feed in spot.feeds))
    found = row.raw.get("meters")
    if found is None and table is not None:
        return tuple(fed)
    remedy = f"list 1 to {SIGN_METERS_MAX} meter ids, each once"
    if not isinstance(found, list) or not all(isinstance(meter, str) for meter in found):
        row.refuse("meters", "missing" if found is None else "not a list of meters", remedy)
        return ()
    if not 1 <= len(found) <= SIGN_METERS_MAX or len(set(found)) != len(found):
        row.refuse("meters", "none, too many, or one twice", remedy)
    for meter in found:
        if plan is not None and meter not in plan.meters:
            row.refuse("meters", f"there is no meter {shown(meter)}", nearest(meter, plan.meters))
        elif fed and meter not in fed:
            row.refuse("meters", f"{shown(meter)} cannot be won at its table", "show the table's own meters")
    return tuple(found)
