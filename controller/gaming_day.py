"""The gaming day and its shifts: days join without gap or overlap, through every change of the clocks (SD-07). Pure.

A day begins at the first instant at which the floor's wall clock stands at or after the day's start on that date. A
start that the clocks skip (02:30 on a spring night) is therefore the instant of the skip; one that they show twice
counts the first time, and the day is not cut again. Hence days of 23, 24 and 25 hours. Instants are UTC microseconds.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAYS_KEPT = 4_096
YEARS = range(1970, 9999)
"""The years whose days are known here."""
SHIFTS_MAX = 12
SHIFT_HOURS = 8
"""Hours by the wall clock of the shifts where a floor names none."""


class Day(NamedTuple):
    """One gaming day: its date, its first instant, and the first instant after it."""

    on: date
    start: int
    end: int

    @property
    def hours(self) -> int:
        """Whole hours: 24, or 23 and 25 on the nights of a change."""
        return (self.end - self.start) // 3_600_000_000


class Shift(NamedTuple):
    """One shift of a gaming day: its name, its first instant, and the first instant after it."""

    name: str
    start: int
    end: int


def microseconds(moment: datetime) -> int:
    """A time with its zone as UTC microseconds."""
    return (moment - _EPOCH) // _MICROSECOND


def wall_clock(zone: ZoneInfo, at: int) -> datetime:
    """What the floor's wall clock shows at an instant, with its offset."""
    return (_EPOCH + timedelta(microseconds=at)).astimezone(zone)


@lru_cache(maxsize=DAYS_KEPT)
def instant(zone: ZoneInfo, wall: datetime) -> int:
    """The first instant at which the wall clock of ``zone`` stands at or after ``wall`` (a time without a zone)."""
    one, other = sorted(microseconds(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if wall_clock(zone, one).replace(tzinfo=None) >= wall:
        return one  # a plain time, or the first of a doubled one
    before, after = one, other  # a skipped time: the skip lies between its two readings
    while after - before > 1:
        middle = (before + after) // 2
        if wall_clock(zone, middle).replace(tzinfo=None) >= wall:
            after = middle
        else:
            before = middle
    return after


def gaming_day(zone: ZoneInfo, start: time, on: date) -> Day:
    """The gaming day of a date; ``start`` is the wall time at which days begin."""
    next_on = on + timedelta(days=1)
    return Day(on, instant(zone, datetime.combine(on, start)), instant(zone, datetime.combine(next_on, start)))


class DayPlan(Protocol):
    """What of a configuration cuts time into gaming days."""

    @property
    def timezone(self) -> ZoneInfo:
        """The floor's wall clock."""

    @property
    def gaming_day_start(self) -> time:
        """The wall time at which days begin."""


def begin_of(plan_before: Callable[[int], DayPlan], on: date) -> int:
    """The first instant of a gaming day, by the configuration in force at its midnight (UTC).

    ``plan_before``: the configuration in force just before an instant. A later change cuts no old day anew, and days
    join.
    """
    plan = plan_before(midnight(on))
    return instant(plan.timezone, datetime.combine(on, plan.gaming_day_start))


def midnight(on: date) -> int:
    """The beginning of a date (UTC): what is in force then rules its gaming day."""
    return microseconds(datetime.combine(on, time(), UTC))


def gaming_day_of(zone: ZoneInfo, start: time, at: int) -> Day:
    """The one gaming day in which an instant lies."""
    on = wall_clock(zone, at).date()
    while instant(zone, datetime.combine(on, start)) > at:
        on -= timedelta(days=1)
    day = gaming_day(zone, start, on)
    while day.end <= at:
        day = gaming_day(zone, start, day.on + timedelta(days=1))
    return day


def default_shifts(start: time) -> tuple[time, ...]:
    """Three shifts of eight hours by the wall clock, from the day's start."""
    first = datetime.combine(date(2000, 1, 1), start)
    return tuple((first + timedelta(hours=SHIFT_HOURS * turn)).time() for turn in range(24 // SHIFT_HOURS))


def check_shifts(start: time, walls: Sequence[time]) -> tuple[time, ...]:
    """The wall times at which shifts begin, in the order of the day; raises ValueError for shifts that fill no day."""
    if not 1 <= len(walls) <= SHIFTS_MAX:
        raise ValueError(f"{len(walls)} shifts; name 1 to {SHIFTS_MAX} by the times at which they begin")
    if walls[0] != start:
        raise ValueError(f"the first shift begins at {walls[0]:%H:%M}, the gaming day at {start:%H:%M}; let both agree")
    after = [(wall < start, wall) for wall in walls]
    if sorted(set(after)) != after:
        raise ValueError("the shifts are not in the order of the day, or two begin together; put them in order")
    return tuple(walls)


def read_shifts(start: time, texts: Sequence[str]) -> tuple[time, ...]:
    """``("06:00", "14:00", "22:00")`` as wall times, checked; raises ValueError."""
    return check_shifts(start, [time.fromisoformat(text.strip()) for text in texts])


def shifts_of(zone: ZoneInfo, start: time, on: date, walls: Sequence[time]) -> tuple[Shift, ...]:
    """The shifts of one gaming day; they join. A wall time before the day's start is next morning's."""
    day = gaming_day(zone, start, on)
    dates = [on if wall >= start else on + timedelta(days=1) for wall in walls]
    begins = [instant(zone, datetime.combine(at, wall)) for at, wall in zip(dates, walls, strict=True)]
    ends = [*begins[1:], day.end]
    ends_at = [*walls[1:], start]
    return tuple(
        Shift(f"{wall:%H:%M}-{until:%H:%M}", begin, end)
        for wall, until, begin, end in zip(walls, ends_at, begins, ends, strict=True)
    )
