"""A desk whose book is written to a real ledger before it closes a day or hands over a shift, as in the daemon."""

import json
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from desk_house import Desk
from ledger_house import rows
from report_house import HOUR, keep, sql

from controller import desk
from controller.acts import Acted, read_act
from controller.floor_state import ACCOUNTS
from controller.ledger.day_end import read_day_end
from controller.ledger.ranges import Stretches
from controller.ledger.reader import Reader, tell_act
from controller.people import Person
from controller.plan import FloorPlan
from controller.taken import DayEnd

DAY = 24 * HOUR
_IDS = count(1)

Balances = dict[str, dict[str, int]]


def sign(path: Path, one: Desk, kind: str, *people: Person, **fields: Any) -> Acted:
    """An act that must know the ledger; closed games are forgotten before, and the entry is durable after."""
    keep(path, one.floor)
    one.floor.games.clear()
    by, second, third = (*people, None, None)[:3]
    made = read_act(kind, f"day-act-{next(_IDS):06d}", fields, by, second, third)
    reader = Reader(path)
    try:
        tell_act(one.floor, made, reader.recall_act, lambda *_: None, lambda day: day_end(path, day, one.at),
                 lambda: reader.games_owing("main"))
        return desk.act(one.floor, made, one.at)
    finally:
        keep(path, one.floor)
        reader.close()


def day_end(path: Path, day: date, at: int, book: str = "main", known: Stretches | None = None) -> DayEnd | None:
    """How a day ended, as a ledger tells it at an instant."""
    reader = Reader(path)
    try:
        closed = next((json.loads(row.body) for row in reader.states(book, "day")), None)
        return read_day_end(
            path, known or Stretches(), book, day, closed, at, lambda since: reader.games_owing(book, since))
    finally:
        reader.close()


class DayDesk(Desk):
    """A ``Desk`` with a ledger of its own."""

    def __init__(self, path: Path, plan: FloorPlan | None = None) -> None:
        super().__init__(plan)
        self.path = path

    def sign(self, kind: str, *people: Person, **fields: Any) -> Acted:
        """``sign`` of this desk."""
        return sign(self.path, self, kind, *people, **fields)

    def day(self, back: int = 0) -> str:
        """The present gaming day, or one some days before."""
        return self.plan.gaming_day(self.at - back * DAY).isoformat()


def summed(path: Path, end: int, book: str = "main") -> Balances:
    """Every balance before an instant by plain SQL: sums of all postings of entries made before it."""
    query = ("SELECT sum(p.microcents) FROM posting p JOIN entry e ON e.book = p.book AND e.number = p.entry "
             "WHERE e.book = ? AND e.at < ? AND p.meter = ? AND p.account = ?")
    meters = [name for (name,) in rows(path, "SELECT DISTINCT p.meter FROM posting p JOIN entry e ON e.book = p.book "
                                             "AND e.number = p.entry WHERE e.book = ? AND e.at < ?", book, end)]
    return {meter: {account: sql(path, query, book, end, meter, account) for account in ACCOUNTS} for meter in meters}
