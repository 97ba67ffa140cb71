"""What a configuration makes of the floor's time, before it acts: a preview by the clock on the wall. Pure (D28).

Nothing of a configuration acts by the machine's clock or by UTC: gaming days, shifts and the first and last days of
paytables are the floor's own. So people are shown each as an instant, with its offset, on the page where they activate.
"""

from datetime import timedelta
from zoneinfo import ZoneInfo

from controller.gaming_day import Day, gaming_day, gaming_day_of, read_shifts, shifts_of, wall_clock
from controller.paytable import Paytable
from controller.plan import FloorPlan

DAY_US = 86_400_000_000
LOOK_AHEAD_DAYS = 250
"""The next change of the clocks is told so long before: most zones have no more than this between their two."""


def local_time(zone: ZoneInfo, at: int) -> str:
    """``2026-11-01 01:30:00 EDT, UTC-04:00``: with its offset, as a clock shows an hour twice on an autumn night."""
    shown = wall_clock(zone, at)
    offset = f"{shown:%z}"
    return f"{shown:%Y-%m-%d %H:%M:%S} {shown:%Z}, UTC{offset[:3]}:{offset[3:5]}"


def preview(plan: FloorPlan, at: int, in_force: FloorPlan | None = None) -> list[str]:
    """What a configuration makes of the floor's time at ``at``; where another is ``in_force``: if today changes."""
    zone, today = plan.timezone, gaming_day_of(plan.timezone, plan.gaming_day_start, at)
    lines = [f"The clock of {zone.key} shows {local_time(zone, at)}"]
    if in_force is not None and in_force.gaming_day(at) != today.on:
        lines.append(f"Now it is gaming day {in_force.gaming_day(at)}; it would be {today.on}")
    tomorrow = gaming_day(zone, plan.gaming_day_start, today.on + timedelta(days=1))
    lines += [_day_words(zone, "Gaming day", today), _day_words(zone, "Gaming day", tomorrow)]
    for ahead in range(2, LOOK_AHEAD_DAYS):
        day = gaming_day(zone, plan.gaming_day_start, today.on + timedelta(days=ahead))
        if day.end - day.start != DAY_US:
            lines.append(_day_words(zone, "The clocks change in gaming day", day))
            break
    shifts = plan.document.get("site", {}).get("shifts")
    if shifts:
        walls = read_shifts(plan.gaming_day_start, shifts)
        lines += [f"Shift {shift.name} of {today.on} begins {local_time(zone, shift.start)}"
                  for shift in shifts_of(zone, plan.gaming_day_start, today.on, walls)]
    return [*lines, *dated_paytables(plan, at)]


def dated_paytables(plan: FloorPlan, at: int) -> list[str]:
    """The paytables that are played on some days only: when the first and the last of their wagers can be taken."""
    spots = [spot for table in plan.tables.values() for spot in table.spots]
    dated = {spot.paytable.id: spot.paytable for spot in spots if spot.paytable.dated}
    return [_played(plan, paytable, at) for _, paytable in sorted(dated.items())]


def _played(plan: FloorPlan, paytable: Paytable, at: int) -> str:
    zone, start = plan.timezone, plan.gaming_day_start
    words = f"Paytable {paytable.id} is played"
    if paytable.valid_from is not None:
        words += f" from {local_time(zone, gaming_day(zone, start, paytable.valid_from).start)}"
    if paytable.valid_to is not None:
        words += f" until {local_time(zone, gaming_day(zone, start, paytable.valid_to).end)}"
    return words + ("; now it is" if paytable.valid_on(plan.gaming_day(at)) else "; now it is not")


def _day_words(zone: ZoneInfo, what: str, day: Day) -> str:
    hours, minutes = divmod((day.end - day.start) // 60_000_000, 60)
    half = f" {minutes} minutes" if minutes else ""
    return f"{what} {day.on}: from {local_time(zone, day.start)} to {local_time(zone, day.end)}, {hours} hours{half}"
