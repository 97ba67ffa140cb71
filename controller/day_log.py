"""What was done about the gaming day, and what is open now, read back from the ledger for people."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from controller.acts import KINDS
from controller.carried import OpenAward, OpenEnvy, OpenItems, how_many, owing
from controller.day_acts import CLOSED
from controller.ledger.day_end import first_day
from controller.ledger.ranges import Ranges
from controller.ledger.reader import Reader
from controller.money import format_cents
from controller.people import person_from
from controller.plan import FloorPlan
from controller.taken import DayEnd

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
    book: str = ""


class DayOpen(NamedTuple):
    """What nobody has paid yet in all books, and the gaming day that is to be closed next."""

    awards: Sequence[OpenAward]
    envy: Sequence[OpenEnvy]
    closing: date


def read_day_open(reader: Reader, plan: FloorPlan) -> DayOpen:
    """What is owed now, and the next day to close; raises LedgerError. Blocks: not for a loop."""
    items = [owing(reader.games_owing(book)) for book in plan.books]
    look = Ranges(reader.path)
    try:
        closing = min(_next(look, reader, book) for book in plan.books)
    finally:
        look.close()
    both = OpenItems([one for each in items for one in each.awards], [one for each in items for one in each.envy])
    return DayOpen(both.awards, both.envy, closing)


def _next(look: Ranges, reader: Reader, book: str) -> date:
    """The gaming day that is to be closed next in a book."""
    closed = next((json.loads(row.body)["day"] for row in reader.states(book, "day") if row.key == CLOSED), "")
    first = first_day(look, book)
    return DayEnd(first, 0, first, closed).next


def read_day_acts(reader: Reader, books: Sequence[str]) -> list[DayAct]:
    """The latest of all books, newest first; raises LedgerError. Blocks: not for a loop."""
    found = [one for book in books for one in _acts_of(reader, book)]
    return sorted(found, key=lambda one: (-one.at, one.book, -one.entry))[:ACTS_READ]


def _acts_of(reader: Reader, book: str) -> list[DayAct]:
    made = []
    for entry in reader.entries(book, latest=ACTS_READ, kinds=_KINDS):
        body = json.loads(entry.body)
        people = " and ".join(person_from(body[which]).words() for which in ("by", "second") if which in body)
        words, odd = _words(entry.kind, body["fields"], body["told"])
        made.append(DayAct(entry.number, entry.at, KINDS[entry.kind].title, people, words, odd, book))
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
        if "carried" in told:
            return f"{told['day']}; carried over: {_listed(told['carried'])}", False
        return f"{told['day']}, {told['awards_pending']} awards carried over", False
    if kind == "handed-over":
        if "open" in told:
            return f"open: {_listed(told['open'])}", False
        return f"{told['awards_pending']} awards and {len(told['alarms'])} alarms open", False
    return f"slip {fields['written']}, table {fields['table']}, {format_cents(fields['handed'])}", False


def _listed(told: Mapping[str, Any]) -> str:
    """What was open, counted: ``2 awards of $15,005.10, 1 envy of $500.00, no alarms``."""
    made = []
    for sort, one, many in (("awards", "award", "awards"), ("envy", "amount of envy", "amounts of envy"),
                            ("counts", "count that differs", "counts that differ"), ("alarms", "alarm", "alarms")):
        if sort in told:
            count = how_many(told[sort])
            cents = told[sort].get("cents", 0)
            words = f"{count or 'no'} {one if count == 1 else many}"
            made.append(f"{words} of {format_cents(cents)}" if cents else words)
    return ", ".join(made)
