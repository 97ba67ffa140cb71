"""A report as PDF, letter size across, in the core fonts alone. Pure: the same report gives the same bytes."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fpdf import FPDF
from fpdf.enums import Align, XPos, YPos

from controller.reports.report import Check, Column, Kind, Report, Table, cell_text

ROWS_MAX = 1_000
"""Rows of one table on paper; the CSV has all."""
_FONT = "helvetica"
_MARGIN_MM = 10
_FOOT_MM = 14
_LINE_MM = 3.6
_PAD_MM = 1.0
_SIZE_PT = 7.5
_NARROW_MM = 9.0
_LOOK_AT = 200
"""Rows that decide how wide a column is."""
_WORD_MAX = 60
_GREY = 90
_PAGES = "\x01pages\x01"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RIGHT = (Kind.MONEY, Kind.EXACT, Kind.COUNT)


class _Paper(FPDF):
    """Pages with what the report is of above, and their number below."""

    def __init__(self, report: Report) -> None:
        super().__init__(orientation="landscape", unit="mm", format="letter")
        self._report = report
        self.set_margins(_MARGIN_MM, _MARGIN_MM)
        self.set_auto_page_break(True, _FOOT_MM)
        self.alias_nb_pages(_PAGES)
        self.c_margin = 0

    def header(self) -> None:
        """Title, floor and range."""
        facts = dict(self._report.facts)
        self.set_font(_FONT, "B", 9)
        self.set_text_color(0)
        self.cell(0, 5, _latin(f"{self._report.title} - {facts.get('Of', '')}"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_font(_FONT, "", _SIZE_PT)
        self.set_text_color(_GREY)
        self.cell(0, 4, _latin(facts.get("Floor", "")), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_text_color(0)
        self.ln(1)

    def footer(self) -> None:
        """Page of pages."""
        self.set_y(-_FOOT_MM + 4)
        self.set_font(_FONT, "", _SIZE_PT)
        self.set_text_color(_GREY)
        self.cell(0, 4, f"Re-added from the ledger's entries.   Page {self.page_no()} of {_PAGES}", align=Align.L)
        self.set_text_color(0)


def as_pdf(report: Report, zone: ZoneInfo, at: int) -> bytes:
    """The PDF; ``at`` (UTC microseconds) is the date that it bears inside: the end of what it is of."""
    paper = _Paper(report)
    paper.set_creation_date(_EPOCH + timedelta(microseconds=at))
    paper.set_title(_latin(report.title))
    paper.set_lang("en")
    paper.add_page()
    for name, fact in report.facts:
        _words(paper, f"{name}: {fact}")
    for check in report.checks:
        if not check.holds:
            _words(paper, f"DOES NOT HOLD: {_check_words(check, zone)}", bold=True)
    for table in report.tables:
        _table(paper, table, zone)
    if report.checks:
        _title(paper, "Equations")
        for check in report.checks:
            _words(paper, f"{'holds' if check.holds else 'DOES NOT HOLD'}: {_check_words(check, zone)}",
                   bold=not check.holds)
    for note in report.notes:
        _words(paper, note)
    return bytes(paper.output())


def _check_words(check: Check, zone: ZoneInfo) -> str:
    figures = (check.left, check.right, check.variance)
    left, right, variance = (cell_text(check.kind, figure, zone) for figure in figures)
    return f"{check.what}: {left} = {right}, variance {variance}"


def _latin(text: str) -> str:
    """Text in the letters that the core fonts have: accents go where they must, other letters become ``?``."""
    plain = "".join(mark if mark.isprintable() else " " for mark in text)
    if not plain.isascii():
        plain = unicodedata.normalize("NFC", plain).encode("latin-1", "replace").decode("latin-1")
    return plain


def _title(paper: _Paper, words: str) -> None:
    if paper.will_page_break(_LINE_MM * 5):
        paper.add_page()
    paper.ln(2)
    paper.set_font(_FONT, "B", 9)
    paper.multi_cell(0, 5, _latin(words), align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _words(paper: _Paper, words: str, *, bold: bool = False) -> None:
    paper.set_font(_FONT, "B" if bold else "", _SIZE_PT)
    paper.multi_cell(0, _LINE_MM, _latin(words), align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _table(paper: _Paper, table: Table, zone: ZoneInfo) -> None:
    _title(paper, table.title)
    if not table.rows:
        _words(paper, "Nothing in this range.")
        return
    columns = table.columns
    rows = [[_latin(cell_text(column.kind, cell, zone)) for column, cell in zip(columns, row, strict=True)]
            for row in table.rows[:ROWS_MAX]]
    totals = [_latin(cell_text(column.kind, cell, zone)) for column, cell in zip(columns, table.totals, strict=False)]
    heads = [_latin(column.head) for column in columns]
    widths = _widths(paper, heads, [*rows[:_LOOK_AT], *([totals] if totals else [])])
    _row(paper, columns, widths, heads, bold=True)
    for row in rows:
        if _row_breaks(paper, widths, row):
            paper.add_page()
            _row(paper, columns, widths, heads, bold=True)
        _row(paper, columns, widths, row)
    left = len(table.rows) - len(rows) + table.left_off
    if left:
        _words(paper, f"{left:,} more rows: they are in the CSV and in the totals.")
    if totals:
        if "" in totals:
            totals[totals.index("")] = "Total"
        _row(paper, columns, widths, totals, bold=True)


def _widths(paper: _Paper, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[float]:
    """Column widths in mm that together fill the page: by the longest text, not less than the longest word."""
    paper.set_font(_FONT, "B", _SIZE_PT)
    wanted, least = [], []
    for place, head in enumerate(heads):
        texts = [row[place] for row in rows]
        words = [word for text in (head, *texts) for word in text.split()]
        longest = max((paper.get_string_width(text) for text in (*texts, "")), default=0.0)
        word = max((paper.get_string_width(word[:_WORD_MAX]) for word in words), default=0.0)
        least.append(max(_NARROW_MM, min(word, 40.0) + 2 * _PAD_MM))
        wanted.append(max(least[-1], min(longest, 90.0) + 2 * _PAD_MM))
    whole = paper.w - paper.l_margin - paper.r_margin
    if sum(least) >= whole:
        return [each * whole / sum(least) for each in least]
    spare, more = whole - sum(least), [want - low for want, low in zip(wanted, least, strict=True)]
    if sum(more) <= spare:
        return wanted
    return [low + each * spare / sum(more) for low, each in zip(least, more, strict=True)]


def _wrapped(paper: _Paper, text: str, width: float) -> list[str]:
    """A text in lines that fit a width; a word that does not is cut."""
    room = width - 2 * _PAD_MM + 0.1
    if paper.get_string_width(text) <= room:
        return [text]
    made, line = [], ""
    for word in text.split(" "):
        rest = word
        tried = f"{line} {rest}" if line else rest
        if paper.get_string_width(tried) <= room:
            line = tried
            continue
        if line:
            made.append(line)
        while len(rest) > 1 and paper.get_string_width(rest) > room:
            fits = next((n for n in range(len(rest) - 1, 0, -1) if paper.get_string_width(rest[:n]) <= room), 1)
            made.append(rest[:fits])
            rest = rest[fits:]
        line = rest
    return [*made, line]


def _row_breaks(paper: _Paper, widths: Sequence[float], row: Sequence[str]) -> bool:
    paper.set_font(_FONT, "", _SIZE_PT)
    lines = max(len(_wrapped(paper, text, width)) for text, width in zip(row, widths, strict=True))
    return bool(paper.will_page_break(lines * _LINE_MM + 1))


def _row(
    paper: _Paper, columns: Sequence[Column], widths: Sequence[float], row: Sequence[str], *, bold: bool = False
) -> None:
    paper.set_font(_FONT, "B" if bold else "", _SIZE_PT)
    cells = [_wrapped(paper, text, width) for text, width in zip(row, widths, strict=True)]
    top, height = paper.y, max(map(len, cells)) * _LINE_MM + 0.6
    left = paper.l_margin
    for column, width, lines in zip(columns, widths, cells, strict=True):
        for place, line in enumerate(lines):
            paper.set_xy(left + _PAD_MM, top + 0.3 + place * _LINE_MM)
            paper.cell(width - 2 * _PAD_MM, _LINE_MM, line, align=Align.R if column.kind in _RIGHT else Align.L)
        left += width
    paper.set_draw_color(200 if not bold else _GREY)
    paper.line(paper.l_margin, top + height, left, top + height)
    paper.set_xy(paper.l_margin, top + height)
