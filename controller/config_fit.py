"""The wiring of a file beside a configuration that people have activated: what fits, and what does not (ADR 0009).

The file on the box is only a proposal and may be ahead of what is in force, or in the middle of being edited. A row
that does not fit is left out and told, never guessed; a unit still speaks for its own table only (design section 7).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from controller.config import read_toml
from controller.config_reader import KEYS, ConfigError, Problem, Problems, Section, nearest, shown
from controller.config_wiring import read_ledger, read_wiring
from controller.plan import FloorPlan
from controller.wiring import PrinterPlan, SignPlan, Wiring

ROWS = ("line", "sign", "printer")
WHOLE = ("mqtt", "alarms")
NEEDED = ("ledger", "web")
"""Without these there is no floor to run: where one is wrong nothing starts, and nothing is activated."""
_WIRED = re.compile(r"\[?\[?(ledger|line|mqtt|web|sign|alarms|printer)\b")
_NOT_WIRING = ("site", "awards", "meter", "table")


class Fitting(NamedTuple):
    """The wiring that can be used, and what of the file cannot."""

    wiring: Wiring
    left_out: tuple[Problem, ...] = ()

    def also(self, problems: Iterable[Problem]) -> "Fitting":
        """With what is wrong in the file's floor itself, which is not in force: its wiring is told already."""
        return self._replace(left_out=(*self.left_out, *(one for one in problems if not _WIRED.match(one.key))))

    def words(self) -> str:
        """What is left out, for people; empty where nothing is."""
        if not self.left_out:
            return ""
        first, more = self.left_out[0], len(self.left_out) - 1
        said = f"{first.file}, {first.key}: {first.what}; {first.remedy}"
        return f"Not in use: {said[:240]}{f' (and {more} more: see the log)' if more else ''}"

    def told(self, pages: str) -> list[tuple[str, str]]:
        """Every part that is not in use, and what to do. ``pages``: why they go on as before, or empty."""
        found = [(f"Not in use: {one.key}: {one.what}"[:300], one.remedy[:200]) for one in self.left_out]
        if pages:
            found.append((f"Not in use: [web]: {pages}"[:300], "look at address, port and certificate"))
        return found


def read_raw(path: Path) -> dict[str, Any]:
    """A file as written; raises ConfigError."""
    problems = Problems()
    raw = read_toml(path, path.name, problems)
    if raw is None:
        raise problems.error()
    return raw


def ledger_of(path: Path) -> str:
    """The URL of the ledger that a file names, whatever else is wrong with it; raises ConfigError."""
    raw, problems = read_raw(path), Problems()
    found = {key: raw[key] for key in ("ledger",) if key in raw}
    url = read_ledger(Section(found, "floor", "", path.name, problems), path.parent.absolute())
    if problems.count:
        raise problems.error()
    return url


def read_strictly(path: Path, raw: Mapping[str, Any], plan: FloorPlan) -> Wiring:
    """The wiring of a file under a plan; raises ConfigError where any of it does not fit."""
    problems = Problems()
    found = {key: part for key, part in raw.items() if key not in _NOT_WIRING}
    wiring = read_wiring(Section(found, "floor", "", path.name, problems), path.parent.absolute(), plan)
    if wiring is None:
        raise problems.error()
    return wiring


def read_fitting(path: Path, plan: FloorPlan) -> Fitting:
    """As much of a file's wiring as fits a plan; raises ConfigError where what is needed is wrong."""
    raw = read_raw(path)
    try:
        return Fitting(read_strictly(path, raw, plan))
    except ConfigError:
        used = {key: raw[key] for key in NEEDED if key in raw}
        wiring = read_strictly(path, used, plan)
    left: list[Problem] = []
    for key, part in _parts(path, raw, left):
        rows = [*used.get(key, ()), part]
        tried = {**used, key: rows if key in ROWS and isinstance(part, Mapping) else part}
        try:
            wiring, used = read_strictly(path, tried, plan), tried
        except ConfigError as wrong:
            left += wrong.problems[:1]
    return Fitting(wiring, tuple(left))


def _parts(path: Path, raw: Mapping[str, Any], left: list[Problem]) -> Iterator[tuple[str, Any]]:
    """The parts of a file that can be left out, each on its own; what stands under no known key is left out at once."""
    for key in raw:
        if key not in KEYS["floor"]:
            left.append(Problem(path.name, shown(key)[1:-1], "unknown key", nearest(key, KEYS["floor"])))
    for key in (*WHOLE, *ROWS):
        found = raw.get(key)
        if key in ROWS and isinstance(found, list):
            yield from ((key, row) for row in found)
        elif found is not None:
            yield key, found


def without_leaving(raw: Mapping[str, Any], old: FloorPlan, new: FloorPlan) -> dict[str, Any]:
    """A file without what belongs to tables, units and meters that leave with a new plan: it is simply not opened."""
    units = old.table_of_device.keys() - new.table_of_device.keys()
    tables, meters = old.tables.keys() - new.tables.keys(), old.meters.keys() - new.meters.keys()
    made = dict(raw)
    made |= {"line": [row for row in _rows(raw, "line") if row.get("device") not in units]} if "line" in raw else {}
    if "sign" in raw:
        signs = [_less(row, "meters", meters) for row in _rows(raw, "sign") if row.get("table") not in tables]
        made["sign"] = [row for row in signs if row is not None]
    if "printer" in raw:
        made["printer"] = [row for one in _rows(raw, "printer") if (row := _less(one, "tables", tables)) is not None]
    return made


def _rows(raw: Mapping[str, Any], key: str) -> list[Any]:
    """The rows under a key; anything else stays as it is, to be refused."""
    found = raw[key]
    return found if isinstance(found, list) and all(isinstance(row, Mapping) for row in found) else [found]


def _less(row: Any, key: str, leaving: set[str]) -> Any:
    """A row without the names that leave; None where it named nothing else."""
    found = row.get(key) if isinstance(row, Mapping) else None
    if not isinstance(found, list):
        return row
    kept = [name for name in found if not isinstance(name, str) or name not in leaving]
    return {**row, key: kept} if kept or not found else None


def still_fitting(wiring: Wiring, plan: FloorPlan) -> Wiring:
    """The running wiring under another plan: without what that plan no longer has."""
    signs = [_sign(sign, plan) for sign in wiring.signs]
    printers = [_printer(printer, plan) for printer in wiring.printers]
    return replace(
        wiring,
        lines=tuple([line for line in wiring.lines if line.device in plan.table_of_device]),
        signs=tuple([sign for sign in signs if sign is not None]),
        printers=tuple([printer for printer in printers if printer is not None]))


def _sign(sign: SignPlan, plan: FloorPlan) -> SignPlan | None:
    if sign.table is not None and sign.table not in plan.tables:
        return None
    spots = plan.tables[sign.table].spots if sign.table is not None else ()
    won = {feed.meter for spot in spots for feed in spot.feeds} if sign.table is not None else plan.meters.keys()
    meters = tuple([meter for meter in sign.meters if meter in won])
    return replace(sign, meters=meters) if meters else None


def _printer(printer: PrinterPlan, plan: FloorPlan) -> PrinterPlan | None:
    tables = tuple([table for table in printer.tables if table in plan.tables])
    return replace(printer, tables=tables) if tables or not printer.tables else None
