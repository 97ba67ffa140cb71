"""A report as CSV (RFC 4180): commas, quotes, CRLF, UTF-8, every record with the same number of fields. Pure.

Bytes are the same in every locale (DI-03): money with a point and no sign of currency, times in ISO form with their
offset. A text that a spreadsheet would take for a formula gets an apostrophe in front (WE-01).
"""

from collections.abc import Iterable, Iterator
from zoneinfo import ZoneInfo

from controller.gaming_day import wall_clock
from controller.money import MICROCENTS_PER_CENT
from controller.reports.report import Cell, Check, Kind, Report, Table

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""A text that begins with one of these could be a formula."""


def as_csv(report: Report, zone: ZoneInfo) -> bytes:
    """The whole report: title, facts, notes, then each table with its heads, rows and totals, then the equations."""
    records = list(_records(report, zone))
    width = max(len(record) for record in records)
    return b"".join(_line([*record, *[""] * (width - len(record))]) for record in records)


def _records(report: Report, zone: ZoneInfo) -> Iterator[list[str]]:
    yield [_safe("Report"), _safe(report.title)]
    for name, fact in report.facts:
        yield [_safe(name), _safe(fact)]
    for note in report.notes:
        yield ["Note", _safe(note)]
    for table in report.tables:
        yield [""]
        yield from _table(table, zone)
    if report.checks:
        yield [""]
        yield ["Equation", "Left", "Right", "Variance", "Holds"]
        yield from (_check(check, zone) for check in report.checks)


def _table(table: Table, zone: ZoneInfo) -> Iterator[list[str]]:
    yield [_safe(table.title)]
    yield [_safe(column.head) for column in table.columns]
    kinds = [column.kind for column in table.columns]
    for row in table.rows:
        yield [_cell(kind, cell, zone) for kind, cell in zip(kinds, row, strict=True)]
    if table.left_off:
        yield [f"{table.left_off} more rows are in the totals only"]
    if table.totals:
        yield _with_word([_cell(kind, cell, zone) for kind, cell in zip(kinds, table.totals, strict=True)])


def _with_word(cells: list[str]) -> list[str]:
    """The line of totals says so in its first empty cell."""
    if "" in cells:
        cells[cells.index("")] = "Total"
    return cells


def _check(check: Check, zone: ZoneInfo) -> list[str]:
    figures = [_cell(check.kind, figure, zone) for figure in (check.left, check.right, check.variance)]
    return [_safe(check.what), *figures, "yes" if check.holds else "NO"]


def _cell(kind: Kind, cell: Cell, zone: ZoneInfo) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return _safe(cell)
    if kind is Kind.MONEY:
        return _dollars(cell * MICROCENTS_PER_CENT)
    if kind is Kind.EXACT:
        return _dollars(cell)
    if kind is Kind.TIME:
        return wall_clock(zone, cell).isoformat(timespec="microseconds")
    return str(cell)


def _dollars(microcents: int) -> str:
    """``-10.2850``: two places, or as many as the fraction of a cent needs."""
    cents, part = divmod(abs(microcents), MICROCENTS_PER_CENT)
    sign = "-" if microcents < 0 else ""
    return f"{sign}{cents // 100}.{cents % 100:02d}" + (f"{part:06d}".rstrip("0") if part else "")


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


def _line(cells: Iterable[str]) -> bytes:
    return (",".join(_quoted(cell) for cell in cells) + "\r\n").encode()


def _quoted(cell: str) -> str:
    if any(mark in cell for mark in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell
