"""Misdeals, corrections and overrides by table, shift and person (R-62, R-108). Pure."""

from collections.abc import Mapping
from typing import Any

from controller.money import format_cents
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, cents, count, number, when
from controller.reports.reserve import people_of, reason_of

_KINDS = {
    "void": "misdeal", "hit-added": "hand added", "hit-changed": "hand changed", "hit-withdrawn": "hand withdrawn",
    "wager-added": "wager added", "wager-removed": "wager removed", "count-closed": "count difference closed",
    "award-refused": "award refused", "paid-in-error": "paid in error", "loss-accepted": "loss accepted",
    "loss-accepted-by": "loss accepted", "clear": "book cleared", "envy-unclaimed": "envy not claimed",
    "manual-slip": "slip written by hand",
}
_OVERRIDES = ("award-verified", "award-paid")
THE_TABLE = "the table"
"""Who did what nobody signed."""


def corrections(reading: Reading, scope: Scope) -> Report:
    """Each misdeal, correction and override, with who and why; and how many of each by table, shift and person."""
    each = Rows("In their order", number("Entry"), when(), Column("Shift"), Column("Table"), number("Game"),
                Column("Of the day"), Column("What"), Column("Details"), Column("By"), Column("Reason"))
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for book in reading.books():
        for entry in reading.entries(book, scope.start, scope.end):
            if (entry.kind not in _KINDS and entry.kind not in _OVERRIDES) or not scope.has_table(entry.table):
                continue
            body = body_of(entry)
            what = _KINDS.get(entry.kind) or _override(entry.kind, body["told"])
            if what is None:
                continue
            on, shift = scope.shift(entry.at)
            difference = body["told"]["difference"] if entry.kind == "award-paid" else 0
            of_day = _day_of_game(reading, book, scope, entry.table, entry.game, entry.number)
            each.add(entry.number, entry.at, shift.name, entry.table, entry.game,
                     "" if of_day in ("", on.isoformat()) else of_day, what, _details(body), people_of(body),
                     reason_of(body))
            people = [person[0] for name in ("by", "second", "third") if (person := body.get(name))] or [THE_TABLE]
            for person in people:
                row = sums.setdefault((entry.table or "", shift.name, person, what), [0, 0])
                row[0] += 1
                row[1] += difference
    by = Rows("By table, shift and person", Column("Table"), Column("Shift"), Column("Person"), Column("What"),
              count("How often"), cents("Handed over beyond the awards"))
    for (table, shift_name, person, what), row in sorted(sums.items()):
        by.add(table, shift_name, person, what, *row)
    notes = ("What two people signed counts for each of them. A correction falls in the day it was made, and names the "
             "day of its game.",)
    return Report("corrections", "Misdeals, corrections and overrides", tuple(facts(reading, scope)),
                  (by.table(totals=False), each.table()), (), notes)


def _override(kind: str, told: Mapping[str, Any]) -> str | None:
    """What was decided against the cards, or against the award as it was due; None: neither."""
    if kind == "award-verified":
        return "verified against the cards" if told.get("agrees") is False else None
    return "other amount handed over" if told["difference"] != 0 else None


def _day_of_game(
    reading: Reading, book: str, scope: Scope, table: str | None, game: int | None, before: int
) -> str:
    """The gaming day of a game's lock-out; empty where there is no game."""
    if table is None or game is None:
        return ""
    lock = reading.lock_of(book, table, game, before)
    return "" if lock is None else scope.day(lock.at).isoformat()


def _details(body: Mapping[str, Any]) -> str:
    fields = body.get("fields", {})
    told = body.get("told", {})
    parts = [f"seat {fields['seat']}" if "seat" in fields else "", str(fields.get("outcome", ""))]
    if told.get("agrees") is False:
        parts += [f"{told['outcome']} of {format_cents(told['due'])},", f"the cards were {told['cards']}"]
    return " ".join(part for part in parts if part)
