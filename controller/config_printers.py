"""Reads ``[[printer]]``: the 80 mm printers that the pages may print slips at. Pure; no printer is opened here.

None of it is money, none of it enters the ledger (docs/CONFIG.md).
"""

from collections.abc import Mapping
from pathlib import Path

from controller.config_reader import Section, nearest, shown
from controller.plan import FloorPlan
from controller.wiring import COLUMNS, PrinterPlan

PRINTERS_MAX = 16
COLUMNS_LOW, COLUMNS_HIGH = 32, 64
BAUDS = (1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200)
_SECRETS = "people.db"


def read_printers(
    top: Section, folder: Path, plan: FloorPlan | None, ports: Mapping[str, str], ledger: Path
) -> tuple[PrinterPlan, ...]:
    """Every printer; ``ports``: what lines and signs use, ``ledger``: the file that no slip may be written into."""
    found: dict[str, PrinterPlan] = {}
    used = dict(ports)
    for row in top.rows("printer", PRINTERS_MAX):
        one = _read_printer(row, folder, plan)
        if one.id and one.id in found:
            row.refuse("id", "stands twice", "give each printer an id of its own")
        path = str(one.path)
        if row.good("path") and path in used:
            row.refuse("path", f"{shown(path)} is also that of {used[path]}", "give each printer a path of its own")
        if row.good("path") and one.path.parent == ledger.parent and _is_the_ledgers(one.path.name, ledger.name):
            row.refuse("path", "a file of the ledger", "name the printer's device, or a file of its own")
        used[path] = row.place
        found[one.id] = one
    return tuple(found.values())


def _is_the_ledgers(name: str, ledger: str) -> bool:
    return any(name == kept or name.startswith(f"{kept}-") for kept in (ledger, _SECRETS))


def _read_printer(row: Section, folder: Path, plan: FloorPlan | None) -> PrinterPlan:
    id_ = row.ident("id")
    baud = row.whole("baud", BAUDS[0], BAUDS[-1]) if row.has("baud") else None
    if baud is not None and row.good("baud") and baud not in BAUDS:
        row.refuse("baud", f"{baud} is not a speed of a serial printer",
                   "choose one of " + ", ".join(map(str, BAUDS)))
    if "://" in row.text("path"):
        row.refuse("path", "no device and no file", 'write a stable path such as "/dev/meterd/printer-pit"')
    return PrinterPlan(
        id=id_,
        name=row.text("name", default=id_),
        path=folder / row.text("path"),
        columns=row.whole("columns", COLUMNS_LOW, COLUMNS_HIGH, default=COLUMNS),
        tables=_read_tables(row, plan),
        baud=baud,
    )


def _read_tables(row: Section, plan: FloorPlan | None) -> tuple[str, ...]:
    """The tables that it serves; absent: every table."""
    given = row.raw.get("tables")
    if given is None:
        return ()
    if not isinstance(given, list) or not given or not all(isinstance(table, str) for table in given):
        row.refuse("tables", "not a list of tables", "list table ids, or remove it: it then serves every table")
        return ()
    if len(set(given)) != len(given):
        row.refuse("tables", "a table stands twice", "name each table once")
    for table in given:
        if plan is not None and table not in plan.tables:
            row.refuse("tables", f"there is no table {shown(table)}", nearest(table, plan.tables))
    return tuple(given)
