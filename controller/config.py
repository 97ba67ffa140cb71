"""From a TOML file and its paytables to the floor plan: everything is checked before anything is opened.

``load`` reads files; ``build`` makes the same plan from the document that a ledger keeps. All keys: docs/CONFIG.md.
"""

import codecs
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.config_build import Sheets, build, read_floor, without_folder
from controller.config_reader import (
    ConfigError,
    Problem,
    Problems,
    Section,
    WrittenFloat,
    is_id,
    shown,
)
from controller.config_remarks import remarks
from controller.config_wiring import read_wiring
from controller.plan import FloorPlan
from controller.wiring import Wiring

FILE_BYTES_MAX = 1_000_000
PAYTABLES_MAX = 64

__all__ = ["ConfigError", "Problem", "build", "load", "remarks"]


def load(path: Path, plan: FloorPlan | None = None) -> tuple[FloorPlan, Wiring]:
    """The floor and the wiring of a configuration file; raises ``ConfigError`` with all its problems.

    With a ``plan`` (the one that people have activated) only the wiring is the file's, and it must fit that plan.
    """
    problems = Problems()
    raw = read_toml(path, path.name, problems)
    if raw is None:
        raise problems.error()
    top = Section(raw, "floor", "", path.name, problems)
    sheets = _read_sheets(raw, path, problems)
    document = {
        "site": without_folder(raw.get("site")),
        "meter": raw.get("meter", []),
        "table": raw.get("table", []),
        "paytable": sheets.raw,
    } | ({"awards": raw["awards"]} if "awards" in raw else {})
    found = read_floor(document, path.name, sheets, problems)
    wiring = read_wiring(top, path.parent.absolute(), plan or found)
    if found is None or wiring is None:
        raise problems.error()
    return plan or found, wiring


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


def _read_sheets(raw: Mapping[str, Any], path: Path, problems: Problems) -> Sheets:
    """Every paytable that a meter or spot names and that has a file; an unknown one is refused where it is named."""
    site = raw.get("site")
    written = site.get("paytables") if isinstance(site, Mapping) else None
    place = "[site] paytables"
    if not isinstance(written, str) or not written:
        problems.add(path.name, place, "missing", 'write paytables = "paytables", a folder relative to this file')
        return Sheets({}, {}, (), _named_paytables(raw))
    folder = path.parent / written
    try:
        known = sorted(file.stem for file in folder.iterdir() if file.suffix == ".toml")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a name of a folder"
        problems.add(path.name, place, f"{shown(written)} cannot be read: {reason}", "name it relative to this file")
        return Sheets({}, {}, (), _named_paytables(raw))
    named = _named_paytables(raw) & set(known)
    if len(named) > PAYTABLES_MAX:
        problems.add(path.name, place, f"{len(named)} are in use", f"at most {PAYTABLES_MAX} are allowed")
        return Sheets({}, {}, known, named)
    files = {name: f"{written}/{name}.toml" for name in sorted(named)}
    found = {name: read_toml(folder / f"{name}.toml", file, problems) for name, file in files.items()}
    readable = {name: sheet for name, sheet in found.items() if sheet is not None}
    return Sheets(readable, files, known, found.keys() - readable.keys())


def _named_paytables(raw: Mapping[str, Any]) -> set[str]:
    """The paytable ids that meters and spots name, as far as they can be read."""
    rows = [*_rows(raw.get("meter"))]
    for table in _rows(raw.get("table")):
        rows += _rows(table.get("spot"))
    return {row["paytable"] for row in rows if is_id(row.get("paytable"))}


def _rows(found: object) -> list[Mapping[str, Any]]:
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


