"""docs/WORDS.md: the words of engineers stay off pages, slips and signs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "WORDS.md").read_text(encoding="utf-8")
NEVER = [word for line in DOCUMENT.splitlines() if line.startswith("| ") and line.count("|") == 4
         for word in re.findall(r"`([^`]+)`", line.split("|")[3])]
TEMPLATES = sorted((ROOT / "controller" / "web" / "templates").glob("*.html"))
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
    return [word for word in NEVER if re.search(rf"\b{re.escape(word)}\b", text, flags=re.I)]


def test_the_document_names_words_to_keep_away() -> None:
    assert {"boot", "seq", "posting", "durable"} <= set(NEVER)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_page_uses_our_words(path: Path) -> None:
    assert found_in(shown(path.read_text())) == []


@pytest.mark.parametrize("path", SLIPS, ids=lambda path: path.name)
def test_no_slip_uses_our_words(path: Path) -> None:
    assert found_in(said(path.read_text())) == []


def test_no_refusal_speaks_in_our_words() -> None:
    """What the floor reads of a message that was not accepted."""
    from controller.refusal import WORDS

    told = {reason.value: found_in(f"{what} {remedy}") for reason, (what, remedy) in WORDS.items()}
    assert {reason: words for reason, words in told.items() if words} == {}
