"""A report as a value: facts, tables, totals, the equations that must hold; for page, CSV and PDF alike. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from controller.gaming_day import wall_clock
from controller.money import MICROCENTS_PER_CENT, format_cents

ROWS_MAX = 100_000
"""Rows of one table; what comes after them is told in ``left_off`` and stays in the totals."""


CHECKS_SHOWN = 100
"""Equations that hold and are listed one by one."""


class Kind(StrEnum):
    """What a column holds: text, whole cents, microcents, a count, or an instant in UTC microseconds."""

    TEXT = "text"
    MONEY = "money"
    EXACT = "exact"
    COUNT = "count"
    TIME = "time"


Cell = str | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, what it holds, and whether its figures may be added up (a balance may not)."""

    head: str
    kind: Kind = Kind.TEXT
    sums: bool = True

    @property
    def adds_up(self) -> bool:
        """Whether it has a total."""
        return self.sums and self.kind in (Kind.MONEY, Kind.EXACT, Kind.COUNT)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; ``totals`` has a cell for each column, None where nothing adds up, or is ()."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: tuple[Cell, ...] = ()
    left_off: int = 0
    """Rows beyond ``ROWS_MAX``: in the totals, not in the list."""


@dataclass(frozen=True, slots=True)
class Check:
    """An equation that must hold: both sides in the unit of ``kind`` (cents, microcents or a count)."""

    what: str
    left: int
    right: int
    kind: Kind = Kind.EXACT

    @property
    def variance(self) -> int:
        """Left minus right; 0 when it holds."""
        return self.left - self.right

    @property
    def holds(self) -> bool:
        """Whether both sides are equal."""
        return self.left == self.right


@dataclass(frozen=True, slots=True)
class Report:
    """One report. ``facts`` name what it is of; ``notes`` say what a reader must know to read it rightly."""

    name: str
    title: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every equation holds."""
        return all(check.holds for check in self.checks)


class Rows:
    """Rows as they come, at most ``ROWS_MAX`` of them kept; the totals are of all."""

    def __init__(self, title: str, *columns: Column) -> None:
        self._title, self._columns = title, columns
        self._rows: list[tuple[Cell, ...]] = []
        self._totals = [0 if column.adds_up else None for column in columns]
        self._count = 0

    def add(self, *cells: Cell) -> None:
        """One row more: a cell for each column."""
        self._count += 1
        for place, cell in enumerate(cells):
            total = self._totals[place]
            if total is not None and isinstance(cell, int):
                self._totals[place] = total + cell
        if len(self._rows) < ROWS_MAX:
            self._rows.append(cells)

    def total(self, place: int) -> int:
        """The total of a column so far."""
        return self._totals[place] or 0

    def table(self, *, totals: bool = True) -> Table:
        """The rows so far as a table."""
        summed: tuple[Cell, ...] = tuple(self._totals)
        shown = totals and self._count > 0 and any(total is not None for total in summed)
        return Table(self._title, self._columns, tuple(self._rows), summed if shown else (),
                     self._count - len(self._rows))


def money(head: str) -> Column:
    """A column of microcents that add up."""
    return Column(head, Kind.EXACT)


def cents(head: str) -> Column:
    """A column of whole cents that add up."""
    return Column(head, Kind.MONEY)


def count(head: str) -> Column:
    """A column of counts that add up."""
    return Column(head, Kind.COUNT)


def number(head: str) -> Column:
    """A column of numbers that name something (a game, an entry): they do not add up."""
    return Column(head, Kind.COUNT, sums=False)


def when(head: str = "Time") -> Column:
    """A column of instants."""
    return Column(head, Kind.TIME)


def standing(head: str) -> Column:
    """A column of microcents that stand at a moment: a balance, which does not add up."""
    return Column(head, Kind.EXACT, sums=False)


def format_exact(microcents: int) -> str:
    """``$10.28`` for whole cents, ``$10.2850`` where a fraction of a cent is there: nothing is left out."""
    whole, part = divmod(abs(microcents), MICROCENTS_PER_CENT)
    sign = "-" if microcents < 0 else ""
    return sign + format_cents(whole) + (f"{part:06d}".rstrip("0") if part else "")


def cell_text(kind: Kind, cell: Cell, zone: ZoneInfo) -> str:
    """A cell for people; the same in every locale (DI-03). Nothing is an empty text."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if kind is Kind.MONEY:
        return format_cents(cell)
    if kind is Kind.EXACT:
        return format_exact(cell)
    if kind is Kind.TIME:
        return moment_text(cell, zone)
    return f"{cell:,}" if kind is Kind.COUNT else str(cell)


def moment_text(at: int, zone: ZoneInfo) -> str:
    """``2026-11-01 01:30:00 EDT``: the zone's letters tell the doubled hour's two halves apart."""
    local: datetime = wall_clock(zone, at)
    return local.strftime("%Y-%m-%d %H:%M:%S %Z")


def as_json(report: Report) -> dict[str, Any]:
    """A report for machines: money as whole numbers in the unit of its column's kind."""
    return {
        "name": report.name, "title": report.title, "facts": dict(report.facts), "notes": list(report.notes),
        "holds": report.holds,
        "checks": [{"what": check.what, "left": check.left, "right": check.right, "kind": check.kind.value,
                    "variance": check.variance} for check in report.checks],
        "tables": [
            {"title": table.title, "left_off": table.left_off,
             "columns": [{"head": column.head, "kind": column.kind.value} for column in table.columns],
             "rows": [list(row) for row in table.rows], "totals": list(table.totals)}
            for table in report.tables],
    }
