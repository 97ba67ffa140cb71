"""The page of the configuration: what is in force, what waits, what is proposed, and every version (D2, D5).

A technician proposes the file that lies on the box; the page shows each difference in words, and its times by the
floor's clock (D28); another department activates it with its approval.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, ActKind, ActRefused, read_act
from controller.config_build import build
from controller.config_change import differences
from controller.config_reader import ConfigError
from controller.config_times import dated_paytables, local_time, preview
from controller.people import person_from
from controller.versions import Version
from controller.waiting_config import waiting_words
from controller.web.desk_routes import read_form
from controller.web.floor_page import clock_of
from controller.web.sessions import (
    PeopleSource,
    Signed,
    check_csrf,
    fresh_act_id,
    page_values,
    sign_ins_of,
    signed_in,
)

VERSIONS_MAX = 50
_Signed = Annotated[Signed, Depends(signed_in)]


class ConfigSource(PeopleSource, Protocol):
    """What this page needs of the daemon besides what signing in needs."""

    async def versions(self, count: int) -> Sequence[Version]:
        """The latest configurations of the first book, newest first. Raises LedgerError."""

    async def file_document(self) -> Mapping[str, Any]:
        """What the configuration file on the box says now; raises ConfigError."""


class Proposal(NamedTuple):
    """A proposed configuration: its hash, who proposed it, when and why, what it would change, and its times."""

    hash: str
    by: str
    reason: str
    at: int
    lines: Sequence[str]
    times: Sequence[str]
    waits: Sequence[str]
    offers: Sequence[tuple[ActKind, Mapping[str, str], str]]


def config_routes(source: ConfigSource, templates: Templates) -> APIRouter:
    """GET /configuration, and proposing the file on the box."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/configuration")
    async def configuration(request: Request, signed: _Signed) -> HTMLResponse:
        snapshot = source.snapshot()
        book = snapshot.plan.books[0]
        waiting = source.rows(book, "config").get("waiting")
        values = page_values(request, signed) | {
            "clock": clock_of(snapshot),
            "plan": snapshot.plan,
            "times": preview(snapshot.plan, snapshot.at),
            "local": partial(local_time, snapshot.plan.timezone),
            "proposals": [_proposal(source, signed, name, made, await _reason(source, book, made["number"]))
                          for name, made in source.rows(book, "config-proposed").items()],
            "waiting": None if waiting is None else {
                "meters": waiting["meters"],
                "lines": differences(snapshot.plan.document, waiting["document"]),
                "words": waiting_words(snapshot.plan, waiting["document"], waiting["meters"], {
                    name: view.display_microcents for name, view in snapshot.meters.items()}),
                "times": dated_paytables(build(waiting["document"]), snapshot.at)},
            "versions": await source.versions(VERSIONS_MAX),
            "may_propose": signed.person.role in KINDS["config-proposed"].by,
            "act_id": fresh_act_id(),
        }
        return HTMLResponse(templates.get_template("configuration.html").render(**values))

    @pages.post("/configuration/propose")
    async def propose(request: Request, signed: _Signed) -> Response:
        form = await read_form(request)
        check_csrf(request, signed, form.get("csrf", ""))
        sign_ins = sign_ins_of(request)
        try:
            document = dict(await source.file_document())
            given = {"document": document, "reason": form.get("reason", "")}
            act = read_act("config-proposed", form.get("act_id", ""), given, signed.person)
            acted = await source.act(source.snapshot().plan.books[0], act)
        except ConfigError as wrong:
            sign_ins.say(signed, f"The file on the box cannot be used: {wrong}", good=False)
        except ActRefused as refused:
            sign_ins.say(signed, f"Not proposed: {refused.what}. Do now: {refused.remedy}.", good=False)
        else:
            said = f"Proposed: {acted.told['hash'][:12]}. Somebody of another department must activate it."
            sign_ins.say(signed, said, good=True)
        return RedirectResponse("/configuration", 303)

    return pages


async def _reason(source: ConfigSource, book: str, number: int) -> str:
    """Why a configuration was proposed, as its entry has it."""
    found = await source.log(book, number + 1, 1)
    return str(found[0]["body"]["fields"].get("reason", "")) if found and found[0]["number"] == number else ""


def _proposal(
    source: ConfigSource, signed: Signed, name: str, made: Mapping[str, Any], reason: str
) -> Proposal:
    person, snapshot = person_from(made["by"]), source.snapshot()
    plan = snapshot.plan
    offers = []
    other = person.department != signed.person.department
    if signed.person.role in KINDS["config-activated"].by and other:
        offers.append((KINDS["config-activated"], {"hash": name}, fresh_act_id()))
    if signed.person.role in KINDS["config-withdrawn"].by:
        offers.append((KINDS["config-withdrawn"], {"hash": name}, fresh_act_id()))
    lines = differences(plan.document, made["document"])
    times = preview(build(made["document"]), snapshot.at, plan)
    return Proposal(name, person.words(), reason, made["at"], lines, times, made["waits"], offers)
