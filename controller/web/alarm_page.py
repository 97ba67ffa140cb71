"""The page of alarms: those that wait for somebody, those that somebody deals with, and those that are over."""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates
from pydantic import BaseModel

from controller.alarms import Alarm, State, alarm_json, worst_first
from controller.web import models
from controller.web.alarm_banner import line_of, make_banner
from controller.web.floor_page import clock_of
from controller.web.sessions import Signed, fresh_act_id, page_values, signed_in
from controller.web.source import Source

OVER_MAX = 50
_NOBODY: dict[int | str, dict[str, Any]] = {401: {"model": models.Problem, "description": "Nobody is signed in."}}
_Signed = Annotated[Signed, Depends(signed_in)]


class AlarmNow(BaseModel):
    """An alarm; times in UTC microseconds, 0: not yet. ``alarm`` and ``place`` name it in an act."""

    alarm: str
    place: str
    where: str
    title: str
    what: str
    remedy: str
    state: str
    since: int
    raised_at: int
    count: int
    acknowledged_by: str | None
    acknowledged_at: int
    cleared_at: int


class AlarmsNow(BaseModel):
    """The alarms that stand."""

    alarms: list[AlarmNow]


class AlarmSource(Source, Protocol):
    """What the page needs of the daemon besides the pages' ``Source``."""

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that people should see, the last cleared of each kind and place too."""


def alarm_routes(source: AlarmSource, templates: Templates) -> APIRouter:
    """The page of alarms, and the same for programs."""
    routes = APIRouter()

    @routes.get("/alarms", include_in_schema=False)
    async def alarms_page(request: Request, signed: _Signed) -> HTMLResponse:
        values = page_values(request, signed) | _shown(source, signed)
        return HTMLResponse(templates.get_template("alarms.html").render(**values))

    @routes.get("/api/v1/alarms", dependencies=[Depends(signed_in)], responses=_NOBODY)
    async def alarms() -> AlarmsNow:
        """Every alarm that stands, the worst first; nobody may have acknowledged it, or it may not be over."""
        ordered = worst_first(source.alarms())
        return AlarmsNow(alarms=[AlarmNow.model_validate(alarm_json(alarm)) for alarm in ordered if alarm.stands])

    return routes


def _shown(source: AlarmSource, signed: Signed) -> dict[str, Any]:
    alarms = worst_first(source.alarms())
    over = sorted((one for one in alarms if one.state is State.CLEARED), key=lambda one: -one.cleared_at)
    snapshot = source.snapshot()
    clock = clock_of(snapshot)
    role = signed.person.role
    return {
        "clock": clock,
        "now": clock.text(snapshot.at),
        "waiting": [line_of(one, role, fresh_act_id) for one in alarms if one.waits],
        "answered": [line_of(one, role, fresh_act_id) for one in alarms if one.state is State.ACKNOWLEDGED],
        "over": [line_of(one, None, fresh_act_id) for one in over[:OVER_MAX]],
        # This page is the banner, in full.
        "banner": make_banner(alarms, None, str)._replace(lines=(), more=0), "csrf": signed.csrf, "back": "/alarms",
    }
