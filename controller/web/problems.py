"""What is wrong on the floor now, worst first, each with what to do (design section 9)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from controller.snapshot import DeviceView, LineState, Snapshot, TableView

RECENT_US = 15 * 60 * 1_000_000
"""How long an alarm or a fault stands at the top of the page."""


class Weight(StrEnum):
    """Stop: wagers are not taken or the book is shut. Warn: look at it."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Problem:
    """What and where, and what to do now; ``part`` names the part of the page that shows more."""

    weight: Weight
    what: str
    remedy: str
    part: str


def problems(snapshot: Snapshot, time_of: Callable[[int], str]) -> tuple[Problem, ...]:
    """Everything wrong at this moment; ``time_of`` writes a time as the floor reads it."""
    found = [*_book(snapshot), *_tables(snapshot, time_of), *_signs(snapshot, time_of), *_recent(snapshot)]
    return tuple(sorted(found, key=lambda problem: problem.weight is not Weight.STOP))


def _book(snapshot: Snapshot) -> Iterable[Problem]:
    if snapshot.stopped:
        yield Problem(
            Weight.STOP,
            f"The book is stopped: {snapshot.stopped}",
            "No wagers and no awards are taken. Close the progressive at every table and call the technician.",
            "notes",
        )
    elif not snapshot.ready:
        yield Problem(
            Weight.STOP, "The controller is not ready", "Wait a minute; if it stays, call the technician.", "notes"
        )


def _tables(snapshot: Snapshot, time_of: Callable[[int], str]) -> Iterable[Problem]:
    for table in snapshot.tables.values():
        problem = _table(table, snapshot.devices.get(table.plan.device), time_of)
        if problem is not None:
            yield problem


def _table(table: TableView, device: DeviceView | None, time_of: Callable[[int], str]) -> Problem | None:
    name, part = table.plan.id, f"table-{table.plan.id}"
    if table.loss:
        remedy = "Take no progressive wagers; the shift manager compares the counts and accepts the loss."
        return Problem(Weight.STOP, f"{name}: {table.loss}", remedy, part)
    if device is None or device.state is LineState.OFFLINE:
        since = f" since {time_of(device.heard_at)}" if device is not None and device.heard_at else ""
        remedy = "Take no progressive wagers there; check the table unit's power and cable."
        return Problem(Weight.STOP, f"{name} is offline{since}", remedy, part)
    if not device.playable:
        reason = device.reason or "no reason given"
        return Problem(Weight.STOP, f"{name}: PROGRESSIVE OFF, {reason}", "Take no progressive wagers there.", part)
    if device.state is LineState.STALE:
        return Problem(Weight.WARN, f"{name} is slow to answer", "Watch it; if it goes offline check its cable.", part)
    return None


def _signs(snapshot: Snapshot, time_of: Callable[[int], str]) -> Iterable[Problem]:
    for sign in snapshot.signs.values():
        if not sign.up:
            since = f" since {time_of(sign.told_at)}" if sign.told_at else ""
            remedy = "It may show an old amount: cover it or switch it off, then check its cable."
            yield Problem(Weight.WARN, f"Sign {sign.sign} is not reached{since}", remedy, "signs")


def _recent(snapshot: Snapshot) -> Iterable[Problem]:
    recent = [note for note in snapshot.notes if note.kind in ("alarm", "fault") and note.at > snapshot.at - RECENT_US]
    if recent:
        count = "1 alarm" if len(recent) == 1 else f"{len(recent)} alarms"
        newest = recent[0]
        where = f"{newest.table}: " if newest.table else ""
        yield Problem(Weight.WARN, f"{count} in the last 15 minutes; {where}{newest.what}", newest.remedy, "notes")
