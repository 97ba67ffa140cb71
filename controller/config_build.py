"""From a document to the floor plan: what a file says, or what a ledger keeps, checked as a whole. Pure.

``controller.config`` reads the files. All keys: docs/CONFIG.md.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from datetime import date, time
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from controller.config_awards import read_awards, read_departments
from controller.config_floor import read_meters, read_tables
from controller.config_paytable import read_paytable
from controller.config_reader import Problems, Section, nearest, shown
from controller.gaming_day import read_shifts
from controller.people import DEPARTMENTS
from controller.plan import Environment, FloorPlan, frozen

_DAY_START = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_LEDGER = "configuration in the ledger"


def build(document: Mapping[str, Any]) -> FloorPlan:
    """The floor of a document kept in a ledger (``FloorPlan.document``); raises ``ConfigError``. Pure."""
    problems = Problems()
    written = document.get("paytable")
    paytables = dict(written) if isinstance(written, Mapping) else {}
    for name in [name for name, sheet in paytables.items() if not isinstance(sheet, Mapping)]:
        problems.add(_LEDGER, f"paytable {shown(name)}", "not a table", "restore the ledger from its backup")
        del paytables[name]
    kept = {**document, "site": without_folder(document.get("site"))}
    plan = read_floor(kept, _LEDGER, Sheets(paytables, {}, paytables, set()), problems)
    if plan is None:
        raise problems.error()
    return plan


class Sheets(NamedTuple):
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


def without_folder(site: object) -> object:
    """The folder of the paytables is no part of the floor: the paytables themselves are."""
    return {key: site[key] for key in site if key != "paytables"} if isinstance(site, Mapping) else site


def read_floor(document: Mapping[str, Any], file: str, sheets: Sheets, problems: Problems) -> FloorPlan | None:
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
    _check_shifts(section)
    return _Site(
        site=name,
        name=section.text("name", default=name),
        environment=section.choice("environment", Environment),
        currency="USD",
        timezone=_read_timezone(section),
        gaming_day_start=_read_day_start(section),
        departments=read_departments(section, DEPARTMENTS),
    )


def _check_shifts(section: Section) -> None:
    """When shifts begin: read by the reports; checked here so that no report fails on it."""
    if section.has("shifts"):
        try:
            read_shifts(_read_day_start(section), section.raw["shifts"])
        except (ValueError, TypeError, AttributeError) as wrong:
            section.refuse("shifts", str(wrong)[:200], 'write when shifts begin, like ["06:00", "14:00", "22:00"]')


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
