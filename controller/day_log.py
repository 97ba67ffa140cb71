"""What was done about the gaming day, read back from the ledger for people."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.acts import KINDS
from controller.ledger.reader import Reader
from controller.money import format_cents
from controller.people import person_from

_KINDS = ("sign-read", "handed-over", "day-closed", "manual-slip", "hold-set", "hold-lifted")
ACTS_READ = 60


class DayAct(NamedTuple):
    """One reading, hand-over, closing or hand-written slip: when (UTC microseconds), what, by whom."""

    entry: int
    at: int
    title: str
    people: str
    words: str
    odd: bool
    """Something for people to explain: a sign that shows another amount than its meter."""


def read_day_acts(reader: Reader, book: str) -> list[DayAct]:
    """The latest of a book, newest first; raises LedgerError. Blocks: not for a loop."""
    made = []
    for entry in reader.entries(book, latest=ACTS_READ, kinds=_KINDS):
        body = json.loads(entry.body)
        people = " and ".join(person_from(body[which]).words() for which in ("by", "second") if which in body)
        words, odd = _words(entry.kind, body["fields"], body["told"])
        made.append(DayAct(entry.number, entry.at, KINDS[entry.kind].title, people, words, odd))
    return made


def _words(kind: str, fields: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[str, bool]:
    if kind == "sign-read":
        off = told["difference"]
        read, shown = format_cents(fields["read"]), format_cents(told["meter"])
        return f"{fields['meter']}: {read} on the sign, {shown} in the books" + (
            f", {format_cents(off)} apart" if off else ""), bool(off)
    if kind in ("hold-set", "hold-lifted"):
        return f"{fields['id']}: {fields['reason']}", False
    if kind == "day-closed":
        return f"{told['day']}, {told['awards_pending']} awards carried over", False
    if kind == "handed-over":
        return f"{told['awards_pending']} awards and {len(told['alarms'])} alarms open", False
    return f"slip {fields['written']}, table {fields['table']}, {format_cents(fields['handed'])}", False
