"""From a TOML file and its paytables to the floor plan: everything is checked before anything is opened.

``load`` reads files; ``build`` makes the same plan from the document that a ledger keeps. All keys: docs/CONFIG.md.
"""

import codecs
import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from controller.config_awards import read_awards, read_departments
from controller.config_floor import read_meters, read_tables
from controller.config_paytable import read_paytable
from controller.config_reader import (
    ConfigError,
    Problem,
    Problems,
    Section,
    WrittenFloat,
    is_id,
    nearest,
    shown,
)
from controller.config_remarks import remarks
from controller.config_wiring import read_wiring
from controller.people import DEPARTMENTS
from controller.plan import Environment, FloorPlan, frozen
from controller.wiring import Wiring

FILE_BYTES_MAX = 1_000_000
PAYTABLES_MAX = 64

_DAY_START = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_LEDGER = "configuration in the ledger"

__all__ = ["ConfigError", "Problem", "build", "load", "remarks"]


def load(path: Path) -> tuple[FloorPlan, Wiring]:
    """The floor and the wiring of a configuration file; raises ``ConfigError`` with all its problems."""
    problems = Problems()
    raw = read_toml(path, path.name, problems)
    if raw is None:
        raise problems.error()
    top = Section(raw, "floor", "", path.name, problems)
    sheets = _read_sheets(raw, path, problems)
    document = {
        "site": _without_folder(raw.get("site")),
        "meter": raw.get("meter", []),
        "table": raw.get("table", []),
        "paytable": sheets.raw,
    } | ({"awards": raw["awards"]} if "awards" in raw else {})
    plan = _read_floor(document, path.name, sheets, problems)
    wiring = read_wiring(top, path.parent.absolute(), plan)
    if plan is None or wiring is None:
        raise problems.error()
    return plan, wiring


def build(document: Mapping[str, Any]) -> FloorPlan:
    """The floor of a document kept in a ledger (``FloorPlan.document``); raises ``ConfigError``. Pure."""
    problems = Problems()
    written = document.get("paytable")
    paytables = dict(written) if isinstance(written, Mapping) else {}
    for name in [name for name, sheet in paytables.items() if not isinstance(sheet, Mapping)]:
        problems.add(_LEDGER, f"paytable {shown(name)}", "not a table", "restore the ledger from its backup")
        del paytables[name]
    kept = {**document, "site": _without_folder(document.get("site"))}
    plan = _read_floor(kept, _LEDGER, _Sheets(paytables, {}, paytables, set()), problems)
    if plan is None:
        raise problems.error()
    return plan


class _Sheets(NamedTuple):
    """The paytables that a floor names: as written by id, their files, the ids that exist, those unreadable."""

    raw: Mapping[str, Any]
    files: Mapping[str, str]
    known: Collection[str]
    unreadable: Collection[str]


class _Site(NamedTuple):
    site: str
    name: str
    environment: Environment
    currency: str
    timezone: ZoneInfo
    gaming_day_start: time
    departments: tuple[str, ...]


def read_toml(path: Path, name: str, problems: Problems) -> dict[str, Any] | None:
    """A file as written, numbers with a point kept apart as ``WrittenFloat``; None when it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        problems.add(name, "file", f"cannot be read: {error.strerror}", f"look at {path}")
        return None
    if len(content) > FILE_BYTES_MAX:
        problems.add(name, "file", f"longer than {FILE_BYTES_MAX:,} bytes", "is it the right file?")
        return None
    if content.startswith(codecs.BOM_UTF8):
        problems.add(name, "byte 0", "a byte order mark", "save the file as UTF-8 without a byte order mark")
        return None
    try:
        return tomllib.loads(content.decode("utf-8"), parse_float=WrittenFloat)
    except UnicodeDecodeError as error:
        problems.add(name, f"byte {error.start}", "not UTF-8", "save the file as UTF-8 without a byte order mark")
    except RecursionError:
        problems.add(name, "file", "nested too deeply", "write it flat, as docs/CONFIG.md shows")
    except ValueError as error:
        what = str(error)
        twice = "overwrite" in what or "twice" in what
        remedy = "this key or table stands twice: remove one" if twice else "correct the TOML at this place"
        problems.add(name, "TOML", what[:1].lower() + what[1:200], remedy)
    return None


def _read_sheets(raw: Mapping[str, Any], path: Path, problems: Problems) -> _Sheets:
    """Every paytable that a meter or spot names and that has a file; an unknown one is refused where it is named."""
    site = raw.get("site")
    written = site.get("paytables") if isinstance(site, Mapping) else None
    place = "[site] paytables"
    if not isinstance(written, str) or not written:
        problems.add(path.name, place, "missing", 'write paytables = "paytables", a folder relative to this file')
        return _Sheets({}, {}, (), _named_paytables(raw))
    folder = path.parent / written
    try:
        known = sorted(file.stem for file in folder.iterdir() if file.suffix == ".toml")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a name of a folder"
        problems.add(path.name, place, f"{shown(written)} cannot be read: {reason}", "name it relative to this file")
        return _Sheets({}, {}, (), _named_paytables(raw))
    named = _named_paytables(raw) & set(known)
    if len(named) > PAYTABLES_MAX:
        problems.add(path.name, place, f"{len(named)} are in use", f"at most {PAYTABLES_MAX} are allowed")
        return _Sheets({}, {}, known, named)
    files = {name: f"{written}/{name}.toml" for name in sorted(named)}
    found = {name: read_toml(folder / f"{name}.toml", file, problems) for name, file in files.items()}
    readable = {name: sheet for name, sheet in found.items() if sheet is not None}
    return _Sheets(readable, files, known, found.keys() - readable.keys())


def _named_paytables(raw: Mapping[str, Any]) -> set[str]:
    """The paytable ids that meters and spots name, as far as they can be read."""
    rows = [*_rows(raw.get("meter"))]
    for table in _rows(raw.get("table")):
        rows += _rows(table.get("spot"))
    return {row["paytable"] for row in rows if is_id(row.get("paytable"))}


def _rows(found: object) -> list[Mapping[str, Any]]:
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def _without_folder(site: object) -> object:
    """The folder of the paytables is no part of the floor: the paytables themselves are."""
    return {key: site[key] for key in site if key != "paytables"} if isinstance(site, Mapping) else site


def _read_floor(document: Mapping[str, Any], file: str, sheets: _Sheets, problems: Problems) -> FloorPlan | None:
    """The whole floor of a document; None when anything is or was wrong."""
    top = Section({key: part for key, part in document.items() if part is not None}, "document", "", file, problems)
    site = _read_site(top)
    paytables = {
        name: read_paytable(raw, name, sheets.files.get(name, f'{file}, paytable "{name}"'), problems)
        for name, raw in sheets.raw.items()
    } | dict.fromkeys(sheets.unreadable)
    awards = read_awards(top)
    meters = read_meters(top, paytables, sheets.known)
    tables = read_tables(top, paytables, sheets.known, meters)
    if site is None or problems.count:
        return None
    kept = _plain(document)
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    complete = {table.id: table for table in tables.values() if table is not None}
    return FloorPlan(
        **site._asdict(),
        meters=frozen({meter.id: meter for meter in meters.values() if meter is not None}),
        tables=frozen(complete),
        table_of_device=frozen({table.device: table for table in complete.values()}),
        document=kept,
        hash=hashlib.sha256(canonical.encode()).hexdigest(),
        awards=awards,
    )


def _read_site(top: Section) -> _Site | None:
    section = top.inside("site", "site", "[site]")
    if section is None:
        return None
    if section.text("currency") != "USD" and section.good("currency"):
        section.refuse("currency", f"{shown(section.raw['currency'])} is not supported", 'write "USD"')
    name = section.ident("id")
    return _Site(
        site=name,
        name=section.text("name", default=name),
        environment=section.choice("environment", Environment),
        currency="USD",
        timezone=_read_timezone(section),
        gaming_day_start=_read_day_start(section),
        departments=read_departments(section, DEPARTMENTS),
    )


def _read_timezone(section: Section) -> ZoneInfo:
    name = section.text("timezone")
    if section.good("timezone"):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            near = nearest(name, sorted(available_timezones()))
            remedy = near if near.endswith("?") else 'write one like "America/New_York"'
            section.refuse("timezone", f"{shown(name)} is no time zone", remedy)
    return ZoneInfo("UTC")


def _read_day_start(section: Section) -> time:
    found = section.raw.get("gaming_day_start")
    match = _DAY_START.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        what = "missing" if found is None else f"{shown(found)} is not a time of day"
        section.refuse("gaming_day_start", what, 'write hours and minutes in quotes, like "06:00"')
        return time()
    return time(int(match[1]), int(match[2]))


def _plain(written: Any) -> Any:
    """What JSON can hold: dates become year-month-day, everything else stays as it was written."""
    if isinstance(written, Mapping):
        return {key: _plain(part) for key, part in written.items()}
    if isinstance(written, list):
        return [_plain(part) for part in written]
    return written.isoformat() if isinstance(written, date) else written
