"""The due list: what people must do, where, by when and why; what has been entered as done, and what is overdue. Pure.

As of the end of the range, or of the present where that comes first. A line stands in every range that its time
touches, and from then on as overdue until it is done; so the list of a day that is over does not change any more.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from controller.acts import KINDS
from controller.checks import CHECKS, Check, Of
from controller.gaming_day import gaming_day
from controller.reports.due_once import Done, Duty, once
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, count, number, when
from controller.reports.reserve import people_of

DAYS_SHOWN = 400
"""Days of one list whose daily duties stand in it; more are left out at the end, and said so."""
FLOOR = "the floor"
_Places = dict[tuple[Of, str], int]
"""The floor, its tables and meters, each with the instant since which it is."""
STATES = ("OVERDUE", "missed", "due", "may be done", "done late", "done")


class _Made(NamedTuple):
    """What has been entered before the range's end: checks by name and place, readings and closings by day."""

    checks: dict[tuple[str, str], list[Done]]
    answered: dict[tuple[str, str, int], Done]
    """Checks of an entry, by name, book and entry."""
    read: dict[tuple[str, date], Done]
    closed: dict[date, Done]


def due_list(reading: Reading, scope: Scope) -> Report:
    """What is due in the range, what was overdue when it began, and what of it has been done."""
    now = min(scope.end, max(scope.now, *(reading.last(book)[1] for book in reading.books())))
    made, entered = _entered(reading, scope)
    places = _places(reading, scope)
    duties = [*_every_period(scope, places, made), *_every_day(scope, places, made),
              *(duty for duty in once(reading, scope, made.answered) if _touches(duty, scope))]
    rows = Rows("Due, overdue, and done", when("By"), Column("What"), Column("Where"), Column("State"),
                Column("Done"), Column("To enter it"), Column("Because of"))
    states = dict.fromkeys(STATES, 0)
    for duty in sorted(duties, key=lambda each: (each.by, each.words, each.where)):
        if not _asked(duty, scope):
            continue
        state = state_of(duty, now)
        states[state] += 1
        said = "" if duty.done is None else f"{scope.time_words(duty.done.at)}, {duty.done.people}"
        rows.add(duty.by, duty.words, duty.where, state, said, duty.how, duty.source)
    summary = Rows("How it stands", Column("State"), count("Lines"))
    for state in STATES:
        summary.add(state, states[state])
    notes = ["Done is what people have entered here: each line says by which act. A check made late answers every "
             "earlier one of its kind and place, too.",
             "Missed: a sign can be read only on its day."]
    if scope.day(scope.end - 1) - scope.day(scope.start) >= timedelta(days=DAYS_SHOWN):
        notes.append(f"Daily duties beyond {DAYS_SHOWN} days are left out; ask for a shorter range.")
    made_facts = [*facts(reading, scope), ("As of", scope.time_words(now))]
    tables = [each.table(totals=False) for each in (summary, rows, entered)]
    return Report("due", "Due list", tuple(made_facts), tuple(tables), (), tuple(notes))


def state_of(duty: Duty, now: int) -> str:
    """One of ``STATES``, at an instant (UTC microseconds)."""
    if duty.done is not None:
        return "done late" if duty.late else "done"
    if duty.optional:
        return "may be done" if duty.by <= now else "due"
    if duty.by > now:
        return "due"
    return "missed" if duty.lapses else "OVERDUE"


def _touches(duty: Duty, scope: Scope) -> bool:
    """Whether a duty's time lies in the range at all, or it was still open when the range began."""
    open_at_start = duty.done is None or duty.done.at >= scope.start
    return duty.since < scope.end and (duty.by > scope.start or open_at_start)


def _asked(duty: Duty, scope: Scope) -> bool:
    """Whether the filters ask for a duty's place: it names that meter, that table; the whole floor is neither."""
    words = duty.where.replace(",", " ").replace(";", " ").split()
    return all(name is None or name in words for name in (scope.meter, scope.table))


# ---------------------------------------------------------------------- what has been entered


def _entered(reading: Reading, scope: Scope) -> tuple[_Made, Rows]:
    made = _Made({}, {}, {}, {})
    rows = Rows("Checks entered in the range", when(), Column("Check"), Column("Where"), Column("What was found"),
                Column("By"), number("Entry"))
    for book in reading.books():
        last = reading.last_before(book, scope.end)
        for entry in reading.seldom(book, ("check-done", "day-closed", "sign-read"), 1, last):
            if entry.at >= scope.end:
                continue
            body = body_of(entry)
            fields, done = body["fields"], Done(entry.at, people_of(body))
            if entry.kind == "sign-read":
                made.read.setdefault((fields["meter"], scope.day(entry.at)), done)
            elif entry.kind == "day-closed":
                made.closed.setdefault(date.fromisoformat(body["told"]["day"]), done)
            else:
                where = str(fields.get("table") or fields.get("meter") or FLOOR)
                if "entry" in fields:
                    made.answered.setdefault((fields["check"], book, fields["entry"]), done)
                    where = f"entry {fields['entry']}"
                made.checks.setdefault((fields["check"], where), []).append(done)
                if scope.holds(entry.at):
                    rows.add(entry.at, fields["check"], where, fields["finding"], done.people, entry.number)
    for found in made.checks.values():
        found.sort()
    return made, rows


# ---------------------------------------------------------------------- what returns


def _places(reading: Reading, scope: Scope) -> _Places:
    """The floor, and every table and meter in force at the range's end, each with the instant since which it is."""
    since: _Places = {}
    for book in reading.books():
        first = next(iter(reading.between(book, 1, 1))).at
        since[Of.FLOOR, FLOOR] = min(first, since.get((Of.FLOOR, FLOOR), first))
        last = reading.last_before(book, scope.end)
        for entry in reading.seldom(book, ("config",), 1, last):
            document = body_of(entry)["document"]
            for of, key in ((Of.TABLE, "table"), (Of.METER, "meter")):
                for one in document.get(key, ()):
                    since.setdefault((of, one["id"]), entry.at)
        plan = reading.plan_before(book, scope.end)
        known = {(Of.TABLE, name) for name in plan.tables} | {(Of.METER, name) for name in plan.meters}
        since = {place: at for place, at in since.items() if place in known or place[0] is Of.FLOOR}
    return since


def _every_period(scope: Scope, places: _Places, made: _Made) -> Iterator[Duty]:
    """Monthly, quarterly and yearly checks: those whose period the range touches, and the oldest one overdue before."""
    for (of, where), since in places.items():
        for check in CHECKS.values():
            if check.of is of and check.months:
                yield from _of_check(scope, check, where, since, made.checks.get((check.name, where), []))


def _of_check(scope: Scope, check: Check, where: str, since: int, done: list[Done]) -> Iterator[Duty]:
    def duty(begin: date) -> Duty:
        start, end = _start(scope, begin), _start(scope, _later(begin, check.months))
        answer = next((one for one in done if one.at >= start), None)
        return Duty(max(start, since), end, check.words, where, check.source,
                    f"{KINDS['check-done'].title}: {check.name}", answer, answer is not None and answer.at >= end)

    known = [one.at for one in done if one.at < scope.start]
    first = _period(scope.day(max([since, *known])), check.months)
    if known:
        first = _later(first, check.months)  # its own period is answered
    touched = _period(scope.day(scope.start), check.months)
    if first < touched:
        yield duty(first)
    while (start := _start(scope, touched)) < scope.end:
        if _start(scope, _later(touched, check.months)) > since and start < scope.end:
            yield duty(touched)
        touched = _later(touched, check.months)


def _period(on: date, months: int) -> date:
    """The first day of the calendar period in which a day lies."""
    return date(on.year, (on.month - 1) // months * months + 1, 1)


def _later(begin: date, months: int) -> date:
    """The first day of the next period."""
    month = begin.month - 1 + months
    return date(begin.year + month // 12, month % 12 + 1, 1)


def _start(scope: Scope, on: date) -> int:
    return gaming_day(scope.zone, scope.day_start, on).start


def _every_day(scope: Scope, places: _Places, made: _Made) -> Iterator[Duty]:
    """Each sign of each meter is read every gaming day; each day that has ended is closed within the next one."""
    begun = places[Of.FLOOR, FLOOR]
    on, last = scope.day(scope.start), scope.day(scope.end - 1)
    yield from _closings_before(scope, begun, on, made)
    for _ in range(DAYS_SHOWN):
        day = gaming_day(scope.zone, scope.day_start, on)
        for (of, where), since in places.items():
            if of is Of.METER and day.end > since:
                yield Duty(day.start, day.end, "Read every sign of the meter, against the ledger", where, "R-80",
                           KINDS["sign-read"].title, made.read.get((where, on)), lapses=True)
        if day.start > begun:
            yield _closing(scope, on - timedelta(days=1), made)
        if on >= last:
            return
        on += timedelta(days=1)


def _closing(scope: Scope, on: date, made: _Made) -> Duty:
    """The closing of a day, due before the next one ends."""
    day = gaming_day(scope.zone, scope.day_start, on)
    by = gaming_day(scope.zone, scope.day_start, on + timedelta(days=1)).end
    done = made.closed.get(on)
    return Duty(day.end, by, f"Reconcile every meter and close the gaming day {on.isoformat()}", FLOOR, "R-84",
                KINDS["day-closed"].title, done, done is not None and done.at >= by)


def _closings_before(scope: Scope, begun: int, first: date, made: _Made) -> Iterator[Duty]:
    """One line for all earlier days that were not closed in time: those still open, or that they all are closed now."""
    newest = first - timedelta(days=2)  # the day before the first one of the list itself
    before = [on for on, done in made.closed.items() if done.at < scope.start]
    since = max([scope.day(begun), *(on + timedelta(days=1) for on in before)])
    if since > newest:
        return
    left = max([since, *(on + timedelta(days=1) for on in made.closed)])
    done = made.closed.get(newest) if left > newest else None
    oldest = since if left > newest else left
    more = "" if oldest == newest else f", and all up to {newest.isoformat()}"
    duty = _closing(scope, oldest, made)
    yield duty._replace(words=duty.words + more, done=done, late=True)
