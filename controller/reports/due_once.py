"""What falls due once, because of something the ledger shows: new configurations, first awards, lowerings. Pure.

Sources: R-38 (a lowering is told to the regulator within 24 hours), R-46 (a retirement has its day), R-83 (after a
change: reconcile at the close of day one, and the first payout of each kind with the amount that follows it).
"""

from collections.abc import Collection, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from controller.acts import KINDS
from controller.checks import CHECKS
from controller.gaming_day import gaming_day
from controller.journal import Entry
from controller.plan import MeterPlan
from controller.reports.awards import HIT_KINDS, told_of
from controller.reports.reading import Reading, Scope, body_of
from controller.reports.reserve import people_of

NOTICE_US = 24 * 3_600_000_000
"""Within how long the regulator is told of a lowering (R-38)."""
LOWERINGS = ("meter-adjusted", "meter-transferred", "meter-retired", "reserve-to-house", "seed-recovered")


class Done(NamedTuple):
    """An act that answers a duty: when (UTC microseconds), and who signed it."""

    at: int
    people: str


class Duty(NamedTuple):
    """One thing to do: since when, by when (UTC microseconds), what, where, why, how it is entered, who has done it."""

    since: int
    by: int
    words: str
    where: str
    source: str
    how: str
    done: Done | None = None
    late: bool = False
    optional: bool = False
    """It may be done from ``by`` on; it is never overdue."""
    lapses: bool = False
    """It cannot be made up for: what is not done by then is missed."""


def once(reading: Reading, scope: Scope, answered: dict[tuple[str, str, int], Done]) -> Iterator[Duty]:
    """Every duty that an entry made before the range's end brought; ``answered``: checks by name, book and entry."""
    for book in reading.books():
        last = reading.last_before(book, scope.end)
        yield from _after_changes(reading, book, last, scope, answered)
        yield from _after_awards(reading, book, last, scope, answered)
        yield from _notices(reading, book, last, scope)
        yield from _retirements(reading, book, last, scope)


def _before(reading: Reading, book: str, kinds: Collection[str], last: int, end: int) -> Iterator[Entry]:
    return (entry for entry in reading.seldom(book, kinds, 1, last) if entry.at < end)


def next_day_s_end(scope: Scope, at: int) -> int:
    """The end of the gaming day after that of an instant: the next business day's."""
    return gaming_day(scope.zone, scope.day_start, scope.day(at) + timedelta(days=1)).end


def _check(name: str, entry: Entry, where: str, scope: Scope, book: str, more: str,
           answered: dict[tuple[str, str, int], Done]) -> Duty:
    check = CHECKS[name]
    how = f"{KINDS['check-done'].title}: {name}, entry {entry.number}"
    return Duty(entry.at, next_day_s_end(scope, entry.at), check.words + more, where, check.source, how,
                answered.get((name, book, entry.number)))


def _after_changes(
    reading: Reading, book: str, last: int, scope: Scope, answered: dict[tuple[str, str, int], Done]
) -> Iterator[Duty]:
    for entry in _before(reading, book, ("config",), last, scope.end):
        yield _check("day-one", entry, f"book {book}" if len(reading.books()) > 1 else "the floor", scope, book, "",
                     answered)


def _after_awards(
    reading: Reading, book: str, last: int, scope: Scope, answered: dict[tuple[str, str, int], Done]
) -> Iterator[Duty]:
    """The first award of each hand from each meter, again whenever the meter or its paytable was changed."""
    seen: set[tuple[MeterPlan, str]] = set()
    for entry in _before(reading, book, HIT_KINDS, last, scope.end):
        if not entry.postings:
            continue  # no share of a meter
        plan = reading.plan_at(book, entry.number)
        table = plan.tables.get(entry.table or "")
        for award in told_of(entry)["awards"] if table is not None else ():
            spot = table.spot.get(award["spot"]) if table is not None else None
            if spot is None or award["outcome"] not in spot.prizes:
                continue
            named = [plan.meters[spot.meter_of[part]] for part in award["meters"]]
            if new := [meter for meter in named if (meter, award["outcome"]) not in seen]:
                seen.update((meter, award["outcome"]) for meter in new)
                where = f"{', '.join(meter.id for meter in new)}; table {entry.table}, game {entry.game}"
                yield _check("first-award", entry, where, scope, book, f": {spot.prizes[award['outcome']].label}",
                             answered)


def _notices(reading: Reading, book: str, last: int, scope: Scope) -> Iterator[Duty]:
    """Every lowering by people is reported to the regulator within a day (R-38)."""
    sent: dict[int, Entry] = {}
    for entry in _before(reading, book, ("notice-sent",), last, scope.end):
        sent[body_of(entry)["fields"]["notice"]] = entry
    for entry in _before(reading, book, LOWERINGS, last, scope.end):
        body = body_of(entry)
        notice = body["told"].get("notice")
        if notice is None:
            continue
        told = sent.get(notice)
        done = None if told is None else Done(told.at, people_of(body_of(told)))
        yield Duty(entry.at, entry.at + NOTICE_US, "Tell the regulator in writing of the lowered meter",
                   str(body["fields"]["meter"]), "R-38", f"{KINDS['notice-sent'].title}, entry {notice}", done,
                   told is not None and told.at > entry.at + NOTICE_US)


def _retirements(reading: Reading, book: str, last: int, scope: Scope) -> Iterator[Duty]:
    """From an announced day on a meter may be retired (R-46)."""
    retired = {body_of(entry)["fields"]["meter"]: entry
               for entry in _before(reading, book, ("meter-retired",), last, scope.end)}
    for entry in _before(reading, book, ("retirement-announced",), last, scope.end):
        body = body_of(entry)
        meter = str(body["fields"]["meter"])
        effective = date.fromisoformat(body["told"]["effective"])
        told = retired.get(meter)
        done = None if told is None or told.number < entry.number else Done(told.at, people_of(body_of(told)))
        yield Duty(entry.at, gaming_day(scope.zone, scope.day_start, effective).start,
                   "From now on the meter may be retired", meter, "R-46", KINDS["meter-retired"].title, done,
                   optional=True)
