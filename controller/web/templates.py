"""The templates: everything goes in through autoescape, money and rates through the one set of formats (WE-01)."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from controller.money import format_cents, format_microcents, format_rate

_FOLDER = Path(__file__).parent / "templates"


def make_templates() -> Environment:
    """The pages' templates with their filters; a name that a template uses and nobody gave is an error."""
    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(cents=format_cents, microcents=format_microcents, rate=format_rate)
    templates.filters.update(count=_count, width=_width)
    return templates


def _count(number: int) -> str:
    return f"{number:,}"


def _width(text: str) -> int:
    """How wide a figure is drawn: digits 56, points and commas 28, so that a sign's amount always fits its box."""
    return sum(28 if mark in ".,: " else 56 for mark in text)
