"""Reports as CSV, PDF and JSON: exact, the same everywhere, and harmless in a spreadsheet (DI-03, MO-09, WE-01)."""

import csv
import io
import locale
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_house import every_kind
from report_house import made

from controller.reports.as_csv import FORMULA, as_csv
from controller.reports.as_pdf import as_pdf
from controller.reports.catalogue import REPORTS
from controller.reports.report import (
    Cell,
    Check,
    Column,
    Kind,
    Report,
    Rows,
    Table,
    as_json,
    cell_text,
    format_exact,
)

ZONE = ZoneInfo("America/New_York")
HEADS = (Column("Name"), Column("Cents", Kind.MONEY), Column("Exact", Kind.EXACT), Column("Count", Kind.COUNT),
         Column("Time", Kind.TIME))


def report_of(*rows: tuple[Cell, ...], title: str = "A report") -> Report:
    """A report of one table with a column of each kind."""
    made_rows = Rows("Rows", *HEADS)
    for row in rows:
        made_rows.add(*row)
    return Report("any", title, (("Floor", "Demo"), ("Of", "a day")), (made_rows.table(),),
                  (Check("left = right", 1_500_000, 1_500_000),), ("A note.",))


def records(report: Report) -> list[list[str]]:
    """The CSV read by a reader that is not ours."""
    return list(csv.reader(io.StringIO(as_csv(report, ZONE).decode(), newline=""), strict=True))


def test_money_is_written_with_a_point_and_as_many_places_as_it_has() -> None:
    (row,) = [line for line in records(report_of(("x", -995, 28_500_000, 1234, 0))) if line[0] == "x"]
    assert row[1:4] == ["-9.95", "0.285", "1234"]


@pytest.mark.parametrize(
    ("microcents", "text"),
    [(0, "$0.00"), (1, "$0.00000001"), (-1, "-$0.00000001"), (1_000_000, "$0.01"), (1_370_000, "$0.0137"),
     (100_000_000_000_000, "$1,000,000.00"), (-995_000_000, "-$9.95")],
)
def test_no_fraction_of_a_cent_is_left_out(microcents: int, text: str) -> None:
    assert format_exact(microcents) == text


def test_times_have_their_offset_so_that_a_doubled_hour_is_told_apart() -> None:
    """01:30 twice on the night of 1 November 2026 (SD-07)."""
    first, second = 1_793_511_000_000_000, 1_793_514_600_000_000
    lines = records(report_of(("a", 0, 0, 0, first), ("b", 0, 0, 0, second)))
    assert [line[4] for line in lines if line[0] in ("a", "b")] == [
        "2026-11-01T01:30:00.000000-04:00", "2026-11-01T01:30:00.000000-05:00"]


@pytest.mark.parametrize("mark", FORMULA)
def test_a_text_that_could_be_a_formula_gets_an_apostrophe(mark: str) -> None:
    lines = records(report_of((f"{mark}cmd|' /C calc'!A0", 0, 0, 0, 0)))
    assert [f"'{mark}cmd|' /C calc'!A0" in line for line in lines].count(True) == 1


def test_a_negative_amount_is_no_formula() -> None:
    lines = records(report_of(("x", -1, -1_000_000, -3, 0)))
    assert next(line for line in lines if line[0] == "x")[1:4] == ["-0.01", "-0.01", "-3"]


@pytest.mark.parametrize("title", ["=1+1", "@SUM(A1)", "-2", "+3"])
def test_a_title_or_fact_that_could_be_a_formula_gets_one_too(title: str) -> None:
    assert records(report_of(title=title))[0][1] == f"'{title}"


@given(st.text(), st.integers(-(1 << 62), 1 << 62))
def test_every_record_has_as_many_fields_and_comes_back_as_it_was(text: str, cents: int) -> None:
    """RFC 4180: quotes, commas and line ends inside a field."""
    lines = records(report_of((text, cents, 0, 0, 0)))
    guarded = f"'{text}" if text.startswith(FORMULA) else text
    assert ({len(line) for line in lines} == {5}, any(line[0] == guarded for line in lines)) == (True, True)


def test_records_end_with_carriage_return_and_line_feed() -> None:
    made_bytes = as_csv(report_of(("x", 0, 0, 0, 0)), ZONE)
    assert made_bytes.count(b"\n") == made_bytes.count(b"\r\n") > 5


def test_a_locale_changes_no_byte() -> None:
    """DI-03."""
    report = report_of(("x", 123_456_789, 123_456_789_123, 1_234_567, 0))
    before = as_csv(report, ZONE)
    for name in ("C", "C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8", "hi_IN.UTF-8", "tr_TR.UTF-8"):
        kept = locale.setlocale(locale.LC_ALL)
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue  # not on this machine
        try:
            assert as_csv(report, ZONE) == before
        finally:
            locale.setlocale(locale.LC_ALL, kept)


def test_rows_beyond_the_bound_are_in_the_totals_and_said_to_be_left_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.reports.report.ROWS_MAX", 3)
    report = report_of(*(("x", 1, 0, 0, 0) for _ in range(5)))
    (table,) = report.tables
    assert (len(table.rows), table.left_off, table.totals[1]) == (3, 2, 5)


def test_the_pdf_has_no_more_rows_than_paper_takes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.reports.as_pdf.ROWS_MAX", 3)
    many, few = (report_of(*(("x", 1, 0, 0, 0) for _ in range(count))) for count in (400, 3))
    assert len(as_pdf(many, ZONE, 0)) < len(as_pdf(few, ZONE, 0)) + 400


@pytest.mark.parametrize(
    "name", ["\u0416\u0443\u043a \u5927", "Zo\u00eb's M\u00e9tre", "\x00\x07bell", "{nb}", "long" * 200])
def test_any_name_goes_on_paper(name: str) -> None:
    report = Report("any", name, (("Of", name),), (Table(name, HEADS, ((name, 1, 1, 1, 1),)),), (), (name,))
    assert as_pdf(report, ZONE, 0).startswith(b"%PDF-")


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_is_made_in_every_form(tmp_path: Path, name: str) -> None:
    report, scope = made(every_kind(tmp_path / "ledger.db"), name, "2026-12-01")
    forms = (as_csv(report, scope.zone), as_pdf(report, scope.zone, scope.end), as_json(report)["name"])
    assert (forms[0][:7], forms[1][:5], forms[2]) == (b"Report,", b"%PDF-", name)


def test_a_cell_without_content_is_empty() -> None:
    assert [cell_text(kind, None, ZONE) for kind in Kind] == [""] * len(Kind)


def test_the_document_names_the_reports_that_there_are() -> None:
    """docs/REPORTS.md and the catalogue, in the same order."""
    text = (Path(__file__).parents[1] / "docs" / "REPORTS.md").read_text()
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")] == list(REPORTS)
