"""The page of the gaming day: signs are read, shifts handed over, hand-written slips entered, and the day is closed."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, ActKind
from controller.day_log import DayAct
from controller.manual_slips import ENVY, OTHER
from controller.web.floor_page import clock_of
from controller.web.sessions import PeopleSource, Signed, fresh_act_id, page_values, signed_in

_Signed = Annotated[Signed, Depends(signed_in)]
_ORDER = ("sign-read", "handed-over", "day-closed", "manual-slip", "hold-set", "hold-lifted")


class DaySource(PeopleSource, Protocol):
    """What this page needs of the daemon besides what signing in needs."""

    async def day_acts(self, book: str) -> Sequence[DayAct]:
        """The latest readings, hand-overs, closings and hand-written slips of a book. Raises LedgerError."""


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
        closed = source.rows(book, "day").get("closed")
        values: dict[str, Any] = page_values(request, signed) | {
            "clock": clock_of(snapshot), "today": today, "closed": closed, "waiting": len(snapshot.waiting),
            "asks": _asks(source, signed, (today - timedelta(days=1)).isoformat()),
            "acts": await source.day_acts(book),
        }
        return HTMLResponse(templates.get_template("day.html").render(**values))

    return pages


def _asks(source: DaySource, signed: Signed, yesterday: str) -> list[Ask]:
    """The forms that this person's role may send; the rules of each act decide again."""
    plan = source.snapshot().plan
    outcomes = sorted({prize.outcome for table in plan.tables.values() for spot in table.spots
                       for prize in spot.paytable.prizes})
    choices = {"meter": list(plan.meters), "table": list(plan.tables), "outcome": [*outcomes, ENVY, OTHER]}
    values = {"day-closed": {"day": yesterday}}
    return [Ask(KINDS[name], values.get(name, {}), choices, fresh_act_id()) for name in _ORDER
            if signed.person.role in KINDS[name].by]
