"""The due list: what people must do, by when, why, and what the ledger knows to be done. Pure.

From the calendar, and from what the ledger shows: new configurations, first payouts, lowerings, retirements.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from controller.gaming_day import gaming_day
from controller.reports.awards import HIT_KINDS, told_of
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, when
from controller.reports.reserve import people_of

DAYS_SHOWN = 400


class Duty(NamedTuple):
    """One duty that returns: its words, its period (0 months is daily), its source, and the act that fulfils it."""

    words: str
    months: int
    source: str
    act: str = ""


DUTIES = (
    Duty("Read every sign against the ledger", 0, "R-80", "sign-read"),
    Duty("Reconcile every meter and close the gaming day, by accounting", 0, "R-84", "day-closed"),
    Duty("Read turnover and progressive meters, keep the form", 1, "R-82"),
    Duty("Prove each linked table's line by a test bet or a reconciliation", 3, "R-81"),
    Duty("Reconcile meters with signs; a variance is owed to players", 3, "R-79"),
    Duty("Review who may do what, and end the rights of who has left", 3, "R-104"),
    Duty("Let independent people check the configuration, with a live test", 12, "R-120"),
)
_SHOWS = HIT_KINDS | {"config", "opening", "opening-accepted", "retirement-announced"}


class _Due(NamedTuple):
    """One line: by when, what, why, and who has done it as far as the ledger knows."""

    by: int
    words: str
    why: str
    done: str = ""


def due_list(reading: Reading, scope: Scope) -> Report:
    """What falls due in the range by the calendar, and after changes and wins that the ledger shows."""
    rows = Rows("Due in the range", when("By"), Column("What"), Column("Because of"), Column("Done"))
    for due in sorted([*_calendar(reading, scope), *_after_entries(reading, scope), *_notices(reading, scope)]):
        rows.add(due.by, due.words, due.why, due.done)
    notes = ("Done: as far as people have entered it here. Sign the other lines on paper.",)
    return Report("due", "Due list", tuple(facts(reading, scope)), (rows.table(totals=False),), (), notes)


def _calendar(reading: Reading, scope: Scope) -> Iterator[_Due]:
    done = _done_by_day(reading, scope)
    on, last = scope.day(scope.start), scope.day(scope.end - 1)
    for _ in range(DAYS_SHOWN):
        end = gaming_day(scope.zone, scope.day_start, on).end
        tomorrow = on + timedelta(days=1)
        for duty in DUTIES:
            if scope.holds(end - 1) and (not duty.months or _begins_period(tomorrow, duty.months)):
                yield _Due(end, duty.words, duty.source, done.get((duty.act, on), ""))
        if on >= last:
            return
        on = tomorrow


def _begins_period(on: date, months: int) -> bool:
    """Whether a day is the first of a period of so many months."""
    return on.day == 1 and (on.month - 1) % months == 0


def _done_by_day(reading: Reading, scope: Scope) -> dict[tuple[str, date], str]:
    """Who has done what for which gaming day: signs read in it, and the closing of it, whenever that was."""
    made: dict[tuple[str, date], str] = {}
    for book in reading.books():
        for entry in reading.seldom_within(book, ("sign-read",), scope.start, scope.end):
            made["sign-read", scope.day(entry.at)] = people_of(body_of(entry))
        for entry in reading.seldom(book, ("day-closed",), 1, reading.last(book)[0]):
            body = body_of(entry)
            made["day-closed", date.fromisoformat(body["told"]["day"])] = people_of(body)
    return made


def _after_entries(reading: Reading, scope: Scope) -> Iterator[_Due]:
    """A new configuration is reconciled at the close of its day, the first win of each kind after it too (R-83)."""
    for book in reading.books():
        first: set[tuple[str, str]] = set()
        for entry in reading.seldom_within(book, _SHOWS, scope.start, scope.end):
            end = gaming_day(scope.zone, scope.day_start, scope.day(entry.at)).end
            why = f"R-83, entry {entry.number}"
            if entry.kind == "retirement-announced":
                told = body_of(entry)["told"]
                on = date.fromisoformat(told["effective"])
                yield _Due(gaming_day(scope.zone, scope.day_start, on).start,
                           f"From now on the meter {body_of(entry)['fields']['meter']} may be retired",
                           f"R-46, entry {entry.number}")
            elif entry.kind == "config":
                first.clear()
                yield _Due(end, "Reconcile every meter after the new configuration", why)
            elif entry.kind in HIT_KINDS:
                for award in told_of(entry)["awards"]:
                    kind = (award["spot"], award["outcome"])
                    if award["meters"] and kind not in first:
                        first.add(kind)
                        yield _Due(end, f"Reconcile the payout and the amount that follows it: table {entry.table}, "
                                   f"game {entry.game}, {award['outcome']}", why)


def _notices(reading: Reading, scope: Scope) -> Iterator[_Due]:
    """Every lowering by people is reported to the regulator within a day (R-38)."""
    kinds = ("meter-adjusted", "meter-transferred", "meter-retired", "reserve-to-house", "seed-recovered")
    for book in reading.books():
        sent: dict[int, str] = {}
        for entry in reading.seldom(book, ("notice-sent",), 1, reading.last(book)[0]):
            body = body_of(entry)
            sent[body["fields"]["notice"]] = people_of(body) + (", late" if body["told"]["late"] else "")
        for entry in reading.seldom_within(book, kinds, scope.start, scope.end):
            notice = body_of(entry)["told"].get("notice")
            if notice is not None:
                yield _Due(entry.at + 24 * 3_600_000_000, "Tell the regulator of the lowering",
                           f"R-38, entry {entry.number}", sent.get(notice, ""))
