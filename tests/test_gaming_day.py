"""Gaming days join through every change of the clocks, and agree with the plan's own rule (SD-07)."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from floors import contract_floor, plan_of
from hypothesis import given
from hypothesis import strategies as st

from controller.gaming_day import (
    check_shifts,
    default_shifts,
    gaming_day,
    gaming_day_of,
    instant,
    microseconds,
    read_shifts,
    shifts_of,
)
from controller.plan import FloorPlan

NEW_YORK = ZoneInfo("America/New_York")
HOUR = 3_600_000_000
ZONES = ("America/New_York", "UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia",
         "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Casablanca")
STARTS = (time(0), time(1, 30), time(2), time(2, 30), time(6), time(23, 59))
SPRING, AUTUMN = date(2026, 3, 8), date(2026, 11, 1)
"""The nights of change in New York."""


def utc(text: str) -> int:
    """UTC microseconds of a written time."""
    return microseconds(datetime.fromisoformat(text).replace(tzinfo=UTC))


def plan_for(zone: str, start: time) -> FloorPlan:
    """The contract's floor with another zone and start."""
    floor, paytables = contract_floor()
    floor["site"].update(timezone=zone, gaming_day_start=f"{start:%H:%M}")
    return plan_of((floor, paytables))


@pytest.mark.parametrize(
    ("on", "start", "hours"),
    [(SPRING, time(0), 23), (SPRING, time(6), 24), (SPRING - timedelta(days=1), time(6), 23), (AUTUMN, time(0), 25),
     (AUTUMN - timedelta(days=1), time(6), 25), (AUTUMN, time(6), 24), (AUTUMN, time(1, 30), 25),
     (AUTUMN - timedelta(days=1), time(1, 30), 24), (date(2026, 7, 1), time(6), 24)],
)
def test_a_day_has_23_24_or_25_hours(on: date, start: time, hours: int) -> None:
    assert gaming_day(NEW_YORK, start, on).hours == hours


def test_a_start_that_the_clocks_skip_is_the_instant_of_the_skip() -> None:
    assert gaming_day(NEW_YORK, time(2, 30), SPRING).start == utc("2026-03-08T07:00")


def test_the_day_before_a_skipped_start_ends_with_the_skip() -> None:
    assert gaming_day(NEW_YORK, time(2, 30), SPRING - timedelta(days=1)).end == utc("2026-03-08T07:00")


def test_a_start_that_the_clocks_show_twice_counts_the_first_time() -> None:
    assert gaming_day(NEW_YORK, time(1, 30), AUTUMN).start == utc("2026-11-01T05:30")


@pytest.mark.parametrize("at", ["2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:29", "2026-11-01T06:30"])
def test_the_doubled_hour_does_not_cut_its_day_twice(at: str) -> None:
    """At 06:00 UTC the clock shows 01:00 again; the day that began at the first 01:30 goes on (SD-07)."""
    assert gaming_day_of(NEW_YORK, time(1, 30), utc(at)).on == AUTUMN


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("start", STARTS)
def test_days_join_without_gap_or_overlap_for_two_years(zone: str, start: time) -> None:
    days = [gaming_day(ZoneInfo(zone), start, date(2026, 1, 1) + timedelta(days=count)) for count in range(731)]
    assert [day.end for day in days[:-1]] == [day.start for day in days[1:]]


@given(at=st.integers(utc("2000-01-01"), utc("2037-12-31")), zone=st.sampled_from(ZONES), start=st.sampled_from(STARTS))
def test_every_instant_lies_in_the_one_day_that_is_found_for_it(at: int, zone: str, start: time) -> None:
    day = gaming_day_of(ZoneInfo(zone), start, at)
    assert day.start <= at < day.end


@given(offset=st.integers(-30 * 60, 30 * 60), night=st.sampled_from((SPRING, AUTUMN)), start=st.sampled_from(STARTS))
def test_it_is_the_day_of_the_plan_at_every_minute_around_a_change_of_the_clocks(
    offset: int, night: date, start: time
) -> None:
    """But where the start itself is shown twice: there the plan's wall clock rule would cut the day again."""
    at = utc(f"{night.isoformat()}T06:00") + offset * 60_000_000
    doubled = night == AUTUMN and start == time(1, 30) and utc("2026-11-01T06:00") <= at < utc("2026-11-01T06:30")
    plan = plan_for("America/New_York", start)
    expected = AUTUMN if doubled else plan.gaming_day(at)
    assert gaming_day_of(NEW_YORK, start, at).on == expected


@given(at=st.integers(utc("2020-01-01"), utc("2030-12-31")), zone=st.sampled_from(("America/New_York", "UTC")),
       start=st.sampled_from((time(0), time(2, 30), time(6))))
def test_it_is_the_day_of_the_plan_at_any_instant(at: int, zone: str, start: time) -> None:
    assert gaming_day_of(ZoneInfo(zone), start, at).on == plan_for(zone, start).gaming_day(at)


@pytest.mark.parametrize("on", [SPRING, AUTUMN, SPRING - timedelta(days=1), AUTUMN - timedelta(days=1)])
@pytest.mark.parametrize("start", [time(6), time(2, 30), time(1, 30)])
def test_the_shifts_of_a_day_join_and_are_the_day(on: date, start: time) -> None:
    shifts = shifts_of(NEW_YORK, start, on, default_shifts(start))
    edges = [shifts[0].start, *(shift.end for shift in shifts)]
    day = gaming_day(NEW_YORK, start, on)
    assert [(day.start, day.end), edges[1:-1]] == [(edges[0], edges[-1]), [shift.start for shift in shifts[1:]]]


def test_the_night_shift_of_a_spring_night_is_an_hour_shorter() -> None:
    shifts = shifts_of(NEW_YORK, time(6), SPRING - timedelta(days=1), default_shifts(time(6)))
    assert [(shift.end - shift.start) // HOUR for shift in shifts] == [8, 8, 7]


def test_shifts_are_named_by_their_wall_times() -> None:
    shifts = shifts_of(NEW_YORK, time(6), SPRING, read_shifts(time(6), ("06:00", "12:00", "20:00", "02:00")))
    assert [shift.name for shift in shifts] == ["06:00-12:00", "12:00-20:00", "20:00-02:00", "02:00-06:00"]


@pytest.mark.parametrize(
    "walls", [(), (time(7), time(12)), (time(6), time(12), time(10)), (time(6), time(6)), (time(6), time(2), time(20))])
def test_shifts_that_fill_no_day_are_refused(walls: tuple[time, ...]) -> None:
    with pytest.raises(ValueError, match="shift"):
        check_shifts(time(6), walls)


def test_a_plain_wall_time_is_its_instant() -> None:
    assert instant(NEW_YORK, datetime.fromisoformat("2026-07-01T06:00")) == utc("2026-07-01T10:00")
