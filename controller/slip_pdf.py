"""A slip as a PDF of half letter size, in the core fonts alone. Pure: the same slip and time give the same bytes."""

from datetime import UTC, datetime, timedelta
from itertools import zip_longest

from fpdf import FPDF
from fpdf.enums import Align, MethodReturnValue, XPos, YPos

from controller.slip import Block, Look, Row, Slip, banners, lines, printable, slip_code

_PAGE_MM = (139.7, 215.9)
_MARGIN_MM = 11
_FOOT_MM = 17
_LABEL_MM = 46
_ROW_MM = 4.2
_SIGN_MM = 13
_FONT = "helvetica"
_SIZE_PT = 8.5
_GREY = 90
_PAGES = "\x01pages\x01"
"""Stands for the number of pages; no text of a slip can hold it, as ``{nb}`` could."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Sheet(FPDF):
    """Pages with the slip's warnings above and its number and code below, on each of them."""

    def __init__(self, slip: Slip) -> None:
        super().__init__(unit="mm", format=_PAGE_MM)
        self._slip = slip
        self._code = slip_code(slip.entry, slip.hash)
        self.set_margins(_MARGIN_MM, _MARGIN_MM)
        self.set_auto_page_break(True, _FOOT_MM)
        self.alias_nb_pages(_PAGES)

    def header(self) -> None:
        """The warnings: white on black, so that a copy in grey still shows them."""
        for words in banners(self._slip):
            self.set_font(_FONT, "B", 12)
            self.set_fill_color(0)
            self.set_text_color(255)
            self.multi_cell(0, 7, _latin(words), align=Align.C, fill=True, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
            self.ln(1)
        self.set_text_color(0)

    def footer(self) -> None:
        """Number, code and page."""
        self.set_y(-_FOOT_MM + 5)
        self.set_font(_FONT, "", 7)
        self.set_text_color(_GREY)
        self.multi_cell(0, 3.4, _latin(f"{self._slip.title}   {self._code}   page {self.page_no()} of ") + _PAGES,
                        align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_text_color(0)


def slip_pdf(slip: Slip, at: int) -> bytes:
    """The PDF; ``at`` (UTC microseconds) is the date that it bears inside: when this print was asked for."""
    sheet = _Sheet(slip)
    sheet.set_creation_date(_EPOCH + timedelta(microseconds=at))
    sheet.set_title(_latin(f"Jackpot slip {slip.title}"))
    sheet.set_lang("en")
    sheet.add_page()
    sheet.set_font(_FONT, "", 9)
    sheet.multi_cell(0, 5, _latin(slip.site_name), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    sheet.set_font(_FONT, "B", 14)
    sheet.multi_cell(0, 7, _latin(f"Jackpot slip {slip.title}"), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    for block in lines(slip):
        _block(sheet, block)
    return bytes(sheet.output())


def _latin(text: str) -> str:
    return printable(text, latin=True)


def _block(sheet: _Sheet, block: Block) -> None:
    sheet.ln(1.2)
    if sheet.will_page_break(_ROW_MM * 3):
        sheet.add_page()
    sheet.set_draw_color(_GREY)
    sheet.line(sheet.l_margin, sheet.y, sheet.w - sheet.r_margin, sheet.y)
    sheet.ln(0.8)
    if block.title:
        sheet.set_font(_FONT, "B", _SIZE_PT)
        sheet.multi_cell(0, _ROW_MM, _latin(block.title), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    for row in block.rows:
        if row.look is Look.SIGN:
            _sign(sheet, row)
        else:
            _row(sheet, row)


def _row(sheet: _Sheet, row: Row) -> None:
    """Label and text side by side, each as high as it needs; what fits on one line ends at the right edge."""
    total = row.look is Look.TOTAL
    sheet.set_font(_FONT, "B" if total or row.look is Look.LOUD else "", _SIZE_PT + (1.5 if total else 0))
    label, text = _latin(row.label), _latin(row.text)
    label_mm = max(_LABEL_MM, sheet.epw - sheet.get_string_width(text) - 2 * sheet.c_margin - 1) if label else 0.0
    texts = _split(sheet, text, sheet.epw - label_mm)
    align = Align.R if label and len(texts) == 1 else Align.L
    for left, right in zip_longest(_split(sheet, label, label_mm), texts, fillvalue=""):
        if sheet.will_page_break(_ROW_MM):
            sheet.add_page()
        if label_mm:
            sheet.cell(label_mm, _ROW_MM, left)
        sheet.cell(sheet.epw - label_mm, _ROW_MM, right, align=align, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _split(sheet: _Sheet, text: str, width_mm: float) -> list[str]:
    if not text:
        return []
    found = sheet.multi_cell(width_mm, _ROW_MM, text, align=Align.L, dry_run=True, output=MethodReturnValue.LINES)
    return [line for line in found if isinstance(line, str)] if isinstance(found, list) else []


def _sign(sheet: _Sheet, row: Row) -> None:
    if sheet.will_page_break(_SIGN_MM):
        sheet.add_page()
    sheet.ln(_SIGN_MM - _ROW_MM - 1)
    sheet.line(sheet.l_margin, sheet.y, sheet.w - sheet.r_margin, sheet.y)
    sheet.set_font(_FONT, "", 7.5)
    sheet.multi_cell(0, _ROW_MM, _latin(row.label), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
