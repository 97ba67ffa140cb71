"""The list of people and their rights, what waits to be enabled, remote access and tokens (R-104, R-105)."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, ActKind, ActRefused
from controller.people import Role
from controller.people_acts import SCOPES
from controller.register import Registered, everybody
from controller.vault import Vault
from controller.web.closed_floor import ClosedFloor
from controller.web.desk_api import desk_api, new_token
from controller.web.desk_routes import desk_routes, read_form
from controller.web.floor_page import clock_of
from controller.web.sessions import (
    Signed,
    SignIns,
    check_csrf,
    fresh_act_id,
    page_values,
    sign_ins_of,
    signed_in,
)
from controller.web.slip_prints import PrintSource, SlipPrints

_Signed = Annotated[Signed, Depends(signed_in)]
_ROLES = tuple(role.value for role in Role)


class Offer(NamedTuple):
    """A form on the page: its act, what it knows already, what may be chosen, and the id that makes it one act."""

    kind: ActKind
    values: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    act_id: str


def mount_people(app: FastAPI, source: PrintSource, templates: Templates, vault: Vault) -> SignIns:
    """Let people sign in on an application: sessions, pages and the doors of every act."""
    web = source.wiring.web
    if web is None:
        raise ValueError("pages without [web]")
    sign_ins = SignIns(source, vault, web)
    app.state.sign_ins = sign_ins
    app.state.slip_prints = SlipPrints(source)
    app.router.lifespan_context = partial(_living, sign_ins, source)
    app.include_router(desk_routes(templates))
    app.include_router(desk_api())
    app.include_router(people_routes(templates))
    if not web.open_floor_page:
        app.add_middleware(ClosedFloor, sign_ins=sign_ins)
    return sign_ins


@asynccontextmanager
async def _living(sign_ins: SignIns, source: PrintSource, _app: FastAPI) -> AsyncIterator[None]:
    """While the pages are served what was kept of the access log is entered; at the end no slip waits any more."""
    async with sign_ins.access.following():
        yield
    source.printers.end()


def people_routes(templates: Templates) -> APIRouter:
    """The page of people, and making a token."""
    people = APIRouter(include_in_schema=False)

    @people.get("/people")
    async def people_page(request: Request, signed: _Signed) -> HTMLResponse:
        values = page_values(request, signed) | _shown(sign_ins_of(request), signed)
        return HTMLResponse(templates.get_template("people.html").render(**values))

    @people.post("/tokens")
    async def make_token(request: Request, signed: _Signed) -> Response:
        form = await read_form(request)
        check_csrf(request, signed, form.get("csrf", ""))
        sign_ins = sign_ins_of(request)
        name, scope, days = (form.get(key, "") for key in ("id", "scope", "days"))
        try:
            token, _ = await new_token(request, signed, form.get("act_id", ""), name, scope, days)
        except ActRefused as refused:
            sign_ins.say(signed, f"No token was made: {refused.what}. Do now: {refused.remedy}.", good=False)
        else:
            sign_ins.say(signed, f"The token of {name}, shown this once: {token}", good=True)
        return RedirectResponse("/people", 303)

    return people


def _shown(sign_ins: SignIns, signed: Signed) -> dict[str, Any]:
    source, at = sign_ins.source, sign_ins.now()
    everyone = everybody(source.rows(sign_ins.book, "person"))
    departments = source.snapshot().plan.departments
    tokens = source.rows(sign_ins.book, "token")
    may_end = signed.person.role in KINDS["person-disabled"].by
    return {
        "clock": clock_of(source.snapshot()),
        "people": everyone,
        "waiting": [(one, _on_waiting(signed, one)) for one in everyone if one.waiting is not None],
        "rights": {one.person.id: _on_person(signed, one, departments) for one in everyone},
        "propose": _offer(signed, "person-proposed", {}, {"role": _ROLES, "department": departments}),
        "remote": [(name, row, _offer(signed, "remote-ended", {"id": name}, {}))
                   for name, row in sorted(source.rows(sign_ins.book, "remote").items()) if row["until"] > at],
        "remote_on": sign_ins.web.remote,
        "tokens": [(name, row, _offer(signed, "token-ended", {"id": name}, {})) for name, row in sorted(tokens.items())
                   if row["until"] > at and (may_end or row["person"] == signed.person.id)],
        "token_id": fresh_act_id(),
        "scopes": SCOPES,
        "aged": {one.person.id for one in everyone if one.enabled and sign_ins.must_change(one)},
    }


def _offer(
    signed: Signed, kind: str, values: Mapping[str, str], choices: Mapping[str, tuple[str, ...]]
) -> Offer | None:
    """A form, for those whose role may do it; the rules of the act decide again."""
    found = KINDS[kind]
    return Offer(found, values, choices, fresh_act_id()) if signed.person.role in found.by else None


def _on_waiting(signed: Signed, one: Registered) -> list[Offer]:
    enable = "person-enabled" if one.state == "proposed" else "person-change-enabled"
    mine = one.waiting is None or signed.person.id in (one.waiting.by.id, one.person.id) \
        or one.waiting.by.department == signed.person.department
    offers = [None if mine else _offer(signed, enable, {"id": one.person.id}, {}),
              _offer(signed, "person-withdrawn", {"id": one.person.id}, {})]
    return [offer for offer in offers if offer is not None]


def _on_person(signed: Signed, one: Registered, departments: tuple[str, ...]) -> list[Offer]:
    named = {"id": one.person.id}
    choices = {"role": _ROLES, "department": departments}
    offers = [
        None if one.waiting is not None else _offer(signed, "person-change-proposed", named, choices),
        _offer(signed, "person-disabled", named, {}) if one.enabled else None,
        _offer(signed, "remote-opened", named, {}) if one.enabled and one.person.id != signed.person.id else None,
    ]
    return [offer for offer in offers if offer is not None]


