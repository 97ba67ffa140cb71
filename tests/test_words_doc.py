"""docs/WORDS.md: the words of engineers stay off pages, slips and signs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_house import every_kind
from report_house import made

from controller.reports.catalogue import REPORTS
from controller.reports.report import Kind, Report

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "WORDS.md").read_text(encoding="utf-8")
NEVER = [word for line in DOCUMENT.splitlines() if line.startswith("| ") and line.count("|") == 4
         for word in re.findall(r"`([^`]+)`", line.split("|")[3])]
TEMPLATES = sorted((ROOT / "controller" / "web" / "templates").glob("*.html"))
REPORT_ROOMS = [*sorted((ROOT / "controller" / "reports").glob("*.py")), ROOT / "controller" / "describe.py"]
SLIPS = [ROOT / "controller" / "slip.py", ROOT / "controller" / "slip_pdf.py", ROOT / "controller" / "slip_escpos.py"]


def shown(template: str) -> str:
    """What a template itself writes for people: no tags, no expressions, no comments."""
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", template, flags=re.S)
    return re.sub(r"<[^>]*>", " ", bare)


def said(source: str) -> str:
    """The words in the string literals of a file that makes text for people, docstrings left out."""
    bare = re.sub(r'"""(?:.|\n)*?"""', "", source)
    return " ".join(re.findall(r'"([^"\n]*)"', bare))


def found_in(text: str) -> list[str]:
    """Our words in a text; a name that somebody gave, such as ``hub-01``, is none."""
    return [word for word in NEVER if re.search(rf"\b{re.escape(word)}\b(?!-\d)", text, flags=re.I)]


def sentences(source: str) -> Iterator[str]:
    """The texts of a file, f-strings in their parts; no docstrings, and no single names of the ledger's."""
    tree = ast.parse(source)
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in silent else None
        if isinstance(text, str) and text not in NEVER:
            yield text


def told(report: Report) -> Iterator[str]:
    """Everything that a report says in words: titles, facts, heads, cells, equations, notes."""
    yield report.title
    yield from (f"{name} {fact}" for name, fact in report.facts)
    yield from report.notes
    yield from (check.what for check in report.checks)
    for table in report.tables:
        yield table.title
        yield from (column.head for column in table.columns)
        texts = [place for place, column in enumerate(table.columns) if column.kind is Kind.TEXT]
        yield from (str(row[place]) for row in table.rows for place in texts)


def test_the_document_names_words_to_keep_away() -> None:
    assert {"boot", "seq", "posting", "durable"} <= set(NEVER)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_page_uses_our_words(path: Path) -> None:
    assert found_in(shown(path.read_text())) == []


@pytest.mark.parametrize("path", SLIPS, ids=lambda path: path.name)
def test_no_slip_uses_our_words(path: Path) -> None:
    assert found_in(said(path.read_text())) == []


@pytest.mark.parametrize("path", REPORT_ROOMS, ids=lambda path: path.name)
def test_no_room_of_the_reports_writes_our_words(path: Path) -> None:
    assert [text for text in sentences(path.read_text()) if found_in(text)] == []


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry that a table and the daemon make."""
    return every_kind(tmp_path_factory.mktemp("ledger") / "ledger.db")


@pytest.mark.parametrize("name", list(REPORTS))
def test_no_report_speaks_in_our_words(ledger: Path, name: str) -> None:
    listed = f"{REPORTS[name].title}: {REPORTS[name].words}"
    assert [text for text in (listed, *told(made(ledger, name, "2026-12-01")[0])) if found_in(text)] == []


def test_no_refusal_speaks_in_our_words() -> None:
    """What the floor reads of a message that was not accepted."""
    from controller.refusal import WORDS

    answered = {reason.value: found_in(f"{what} {remedy}") for reason, (what, remedy) in WORDS.items()}
    assert {reason: words for reason, words in answered.items() if words} == {}
