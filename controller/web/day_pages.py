"""The page of the gaming day: signs are read, shifts handed over, hand-written slips entered, and the day is closed."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, ActKind
from controller.alarms import Alarm, place_words, worst_first
from controller.day_log import DayAct, DayOpen
from controller.manual_slips import ENVY, OTHER
from controller.people import person_from
from controller.web.floor_page import clock_of
from controller.web.sessions import PeopleSource, Signed, fresh_act_id, page_values, signed_in

_Signed = Annotated[Signed, Depends(signed_in)]
_ORDER = ("sign-read", "handed-over", "day-closed", "manual-slip", "hold-set")
SHOWN_MAX = 100
"""Awards, envy and alarms that are listed; more are counted."""


class DaySource(PeopleSource, Protocol):
    """What this page needs of the daemon besides what signing in needs."""

    async def day_acts(self) -> Sequence[DayAct]:
        """The latest readings, hand-overs, closings and hand-written slips of all books. Raises LedgerError."""

    async def day_open(self) -> DayOpen:
        """What is owed now, and the gaming day that is to be closed next. Raises LedgerError."""


class Ask(NamedTuple):
    """A form: its act, what it knows, what may be chosen, and the id that makes it one act."""

    kind: ActKind
    values: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    act_id: str


def day_routes(source: DaySource, templates: Templates) -> APIRouter:
    """GET /day."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/day")
    async def day_page(request: Request, signed: _Signed) -> HTMLResponse:
        snapshot = source.snapshot()
        plan, book = snapshot.plan, snapshot.plan.books[0]
        today = plan.gaming_day(snapshot.at)
        found = await source.day_open()
        values: dict[str, Any] = page_values(request, signed) | {
            "clock": clock_of(snapshot), "today": today, "closed": source.rows(book, "day").get("closed"),
            "closing": found.closing, "open": found, "alarms": _standing(source), "most": SHOWN_MAX,
            "asks": _asks(source, signed, "" if found.closing >= today else found.closing.isoformat()),
            "holds": _holds(source, signed), "acts": await source.day_acts(), "several": len(plan.books) > 1,
        }
        return HTMLResponse(templates.get_template("day.html").render(**values))

    return pages


class Standing(NamedTuple):
    """An alarm that is not over, and where."""

    alarm: Alarm
    where: str


def _standing(source: DaySource) -> list[Standing]:
    return [Standing(alarm, place_words(alarm)) for alarm in worst_first(source.alarms()) if alarm.stands]


class Hold(NamedTuple):
    """A legal hold in force, and the form that lifts it, for who may."""

    name: str
    reason: str
    at: int
    by: str
    lift: Ask | None


def _holds(source: DaySource, signed: Signed) -> list[Hold]:
    kind, made = KINDS["hold-lifted"], []
    for book in source.snapshot().plan.books:
        for name, row in sorted(source.rows(book, "hold").items()):
            lift = Ask(kind, {"id": name}, {}, fresh_act_id()) if signed.person.role in kind.by else None
            made.append(Hold(name, row["reason"], row["at"], person_from(row["by"]).words(), lift))
    return made


def _asks(source: DaySource, signed: Signed, closing: str) -> list[Ask]:
    """The forms that this person's role may send; the rules of each act decide again.

    ``closing``: the day to close next; empty: it is not over, and nobody is asked to close it.
    """
    plan = source.snapshot().plan
    outcomes = sorted({prize.outcome for table in plan.tables.values() for spot in table.spots
                       for prize in spot.paytable.prizes})
    choices = {"meter": list(plan.meters), "table": list(plan.tables), "outcome": [*outcomes, ENVY, OTHER]}
    values = {"day-closed": {"day": closing}}
    return [Ask(KINDS[name], values.get(name, {}), choices, fresh_act_id()) for name in _ORDER
            if signed.person.role in KINDS[name].by and (closing or name != "day-closed")]
