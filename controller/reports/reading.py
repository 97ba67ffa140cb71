"""What reports read, and of which time: a stream of entries in the order of the ledger. Pure; the ledger is handed in.

The rule of time: an entry belongs to the range in which its own ``at`` lies, whatever its number. A machine's clock can
be set back, so a range is no run of numbers; ``Reading`` looks at every entry that can matter. The order of the
ledger, not the clock, decides what an award was paid from (design section 4): the jackpot derivation goes by numbers.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from controller.gaming_day import (
    YEARS,
    Shift,
    begin_of,
    default_shifts,
    gaming_day_of,
    instant,
    microseconds,
    midnight,
    read_shifts,
    shifts_of,
)
from controller.journal import Entry
from controller.plan import FloorPlan
from controller.reports.report import moment_text

Balances = Mapping[tuple[str, str], int]
"""Microcents by meter and account."""

TIME_MAX = 253_370_764_800_000_000
"""The last instant that a report can name: the beginning of the year 9999."""
DAYS_MAX = 3_700
"""Days of one report at most: ten years."""
BODIES_KEPT = 8
NOT_OVER = "State"
"""The fact that only a report of a range not yet over has."""


_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class Reading(Protocol):
    """A ledger as reports read it: entries and postings, and nothing derived from them."""

    def books(self) -> list[str]:
        """The books in the order of their names."""

    def plan_at(self, book: str, number: int | None) -> FloorPlan:
        """The configuration in force at an entry; None: the latest."""

    def plan_before(self, book: str, at: int) -> FloorPlan:
        """The configuration in force just before an instant; the first one before there was any."""

    def balances(self, book: str, before: int) -> Balances:
        """Every account re-added from all postings of entries made before an instant."""

    def last(self, book: str) -> tuple[int, int]:
        """Number and time of the newest entry that this reading looks at."""

    def last_before(self, book: str, before: int) -> int:
        """The largest number of an entry made before an instant; 0 for none."""

    def entries(self, book: str, start: int, end: int) -> Iterator[Entry]:
        """Entries made from ``start`` on and before ``end``, in the order of the ledger."""

    def between(self, book: str, first: int, last: int) -> Iterator[Entry]:
        """Entries by number, both included."""

    def seldom(
        self, book: str, kinds: Collection[str], first: int, last: int, *, newest_first: bool = False
    ) -> Iterator[Entry]:
        """Entries of some seldom kinds by number, both included; rising, or newest first."""

    def seldom_within(self, book: str, kinds: Collection[str], start: int, end: int) -> Iterator[Entry]:
        """Entries of some seldom kinds made from ``start`` on and before ``end``, in the order of the ledger."""

    def counts_within(self, book: str, start: int, end: int, games: Collection[int] = ()) -> Iterator[Entry]:
        """Chip counts of a stretch of time: of games with some numbers, or else those that differ from the wagers."""

    def lock_of(self, book: str, table: str, game: int, before: int) -> Entry | None:
        """The lock-out of a game, looked for from a number downward."""


class Scope(NamedTuple):
    """What a report is of: a range of time on a floor, and if wished one meter, one table."""

    start: int
    end: int
    words: str
    zone: ZoneInfo
    day_start: time
    walls: tuple[time, ...]
    meter: str | None = None
    table: str | None = None
    version: str = ""
    """The software's version, for the filing sheet."""
    signs: tuple[tuple[str, str, str], ...] = ()
    """Each sign's id, kind and place, for the filing sheet."""
    now: int = 0
    """The present, where it is known: what falls due before it is overdue. 0: that of the newest entry."""

    def holds(self, at: int) -> bool:
        """Whether an instant lies in the range."""
        return self.start <= at < self.end

    def has_meter(self, meter: str) -> bool:
        """Whether a meter is asked for."""
        return self.meter in (None, meter)

    def has_table(self, table: str | None) -> bool:
        """Whether a table is asked for."""
        return self.table in (None, table)

    def day(self, at: int) -> date:
        """The gaming day of an instant."""
        return gaming_day_of(self.zone, self.day_start, at).on

    def day_start_before(self, at: int) -> int:
        """The last beginning of a gaming day before an instant, but not before the range begins."""
        return max(self.start, gaming_day_of(self.zone, self.day_start, at - 1).start)

    def shift(self, at: int) -> tuple[date, Shift]:
        """The gaming day and shift of an instant."""
        on = self.day(at)
        shifts = shifts_of(self.zone, self.day_start, on, self.walls)
        return on, next(shift for shift in reversed(shifts) if shift.start <= at)

    def time_words(self, at: int) -> str:
        """An instant by the floor's wall clock."""
        return moment_text(at, self.zone)


def shift_walls(plan: FloorPlan) -> tuple[time, ...]:
    """The shifts of a floor: ``shifts`` of its site where it names them, else three of eight hours."""
    named = plan.document["site"].get("shifts")
    return read_shifts(plan.gaming_day_start, named) if named else default_shifts(plan.gaming_day_start)


class AskedFor(NamedTuple):
    """What a report is asked of, as written: one gaming day, or from and to; if wished one meter, one table."""

    day: str | None = None
    since: str | None = None
    until: str | None = None
    meter: str | None = None
    table: str | None = None


def scope_of(reading: Reading, asked: AskedFor) -> Scope:
    """The range that is asked for; raises ValueError that says what to write instead.

    A day begins as the configuration in force at its own midnight (UTC) says: a later change cuts no old day anew, and
    days join. A date as ``since`` is the beginning of its gaming day, as ``until`` its end; a time without an offset
    is the floor's wall clock.
    """
    if asked.day is not None and (asked.since, asked.until) == (None, None):
        on = _date(asked.day)
        start, end = _day_start(reading, on), _day_start(reading, on + timedelta(days=1))
        hours = (end - start) // 3_600_000_000
        words = f"gaming day {on.isoformat()}" + ("" if hours == 24 else f" ({hours} hours)")
    elif asked.day is None and asked.since is not None and asked.until is not None:
        start, end = _moment(reading, asked.since, ends=False), _moment(reading, asked.until, ends=True)
        if not start < end <= TIME_MAX or end - start > DAYS_MAX * 86_400_000_000:
            raise ValueError(f"from {asked.since} to {asked.until}: the end must come after the beginning, "
                             f"{DAYS_MAX} days at most")
        words = ""
    else:
        raise ValueError("name one gaming day, or a beginning and an end")
    for name in (asked.meter, asked.table):
        if name is not None and _ID.fullmatch(name) is None:
            raise ValueError(f"{name[:40]!r} is no id of a meter or table; choose one from the page")
    plan = reading.plan_before(reading.books()[0], start)
    words = words or f"{moment_text(start, plan.timezone)} to {moment_text(end, plan.timezone)}"
    return Scope(start, end, words, plan.timezone, plan.gaming_day_start, shift_walls(plan), asked.meter, asked.table)


def _date(text: str) -> date:
    try:
        made = date.fromisoformat(text)
        if made.year in YEARS and made.isoformat() == text:
            return made
    except ValueError:
        pass  # said below
    raise ValueError(f"{text[:40]!r} is no day; write it like 2026-11-01")


def _day_start(reading: Reading, on: date) -> int:
    return begin_of(partial(reading.plan_before, reading.books()[0]), on)


def _plan_of(reading: Reading, on: date) -> FloorPlan:
    return reading.plan_before(reading.books()[0], midnight(on))


def _moment(reading: Reading, text: str, *, ends: bool) -> int:
    if len(text) == 10:
        return _day_start(reading, _date(text) + timedelta(days=1 if ends else 0))
    try:
        made = datetime.fromisoformat(text)
        if made.year in YEARS:
            return microseconds(made) if made.tzinfo is not None else instant(
                _plan_of(reading, made.date()).timezone, made)
    except ValueError:
        pass  # said below
    raise ValueError(f"{text[:40]!r} is no time; write it like 2026-11-01 or 2026-11-01T22:15")


def body_of(entry: Entry) -> dict[str, Any]:
    """An entry's body, to be read only: several who look at one entry share it."""
    return _parsed(entry.body)


@lru_cache(maxsize=BODIES_KEPT)
def _parsed(text: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(text)
    return made


def facts(reading: Reading, scope: Scope) -> list[tuple[str, str]]:
    """What every report says of itself: floor, range, and whether the range is over."""
    plan = reading.plan_before(reading.books()[0], scope.end)
    made = [("Floor", f"{plan.name} ({plan.site}, {plan.environment.value})"), ("Of", scope.words),
            ("From", scope.time_words(scope.start)), ("To, not included", scope.time_words(scope.end))]
    if scope.meter is not None:
        made.append(("Meter", scope.meter))
    if scope.table is not None:
        made.append(("Table", scope.table))
    if all(reading.last(book)[1] < scope.end for book in reading.books()):
        known = [f"book {book} to entry {reading.last(book)[0]:,}" for book in reading.books()]
        made.append((NOT_OVER, "not over: " + ", ".join(known)))
    return made
