"""The pages of reports: choose one and its gaming day or range, see it made, read it, take it as CSV or PDF.

Only names of the catalogue are known here; nothing of the disk is ever named by a request (WE-07).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, ActKind
from controller.begun import sign_told
from controller.checks import CHECKS
from controller.gaming_day import gaming_day_of
from controller.ledger.place import file_of, ledger_url
from controller.reports.as_csv import as_csv
from controller.reports.as_pdf import as_pdf
from controller.reports.catalogue import REPORTS, Named
from controller.reports.reading import AskedFor
from controller.reports.report import Cell, Kind, as_json, cell_text
from controller.web.api import missing
from controller.web.report_runs import ReportRuns, Run, TooManyReports
from controller.web.sessions import Signed, asks_itself, fresh_act_id, page_values, sign_ins_of, signed_in
from controller.web.source import Source

PATIENCE_S = 2.0
"""A report that is made within this is shown at once; another one shows how far it is."""
ROWS_SHOWN = 500
"""Rows of one table on the page; the CSV has all."""
_ASKED = ("day", "since", "until", "meter", "table")
_TEXT_MAX = 64
_log = logging.getLogger("meterd.reports")


class Ask(NamedTuple):
    """A form on a report's page: its act, what may be chosen for its fields, and the id that makes it one act."""

    kind: ActKind
    choices: Mapping[str, Sequence[str]]
    act_id: str


_Signed = Annotated[Signed, Depends(signed_in)]
_TYPES = {"csv": "text/csv; charset=utf-8; header=absent", "pdf": "application/pdf", "json": "application/json"}


def report_routes(source: Source, templates: Templates) -> APIRouter:
    """The list of reports, each report as a page, and the same as CSV, PDF and JSON."""
    routes = APIRouter(include_in_schema=False)
    kept: dict[str, ReportRuns] = {}

    def runs(request: Request) -> ReportRuns:
        if "one" not in kept:
            path = file_of(ledger_url(source.wiring.ledger_url))
            signs = tuple(sign_told(sign) for sign in source.wiring.signs)
            streams = request.app.state.streams
            kept["one"] = ReportRuns(path, source.snapshot().version, signs, lambda: bool(streams.stopping))
        return kept["one"]

    @routes.get("/reports")
    async def reports_page(request: Request, signed: _Signed) -> HTMLResponse:
        values = page_values(request, signed) | _choices(source, AskedFor(), REPORTS["reconciliation"])
        return HTMLResponse(templates.get_template("reports.html").render(**values))

    @routes.get("/reports/choose", dependencies=[Depends(signed_in)])
    async def chosen(request: Request) -> Response:
        named = _named(request.query_params.get("report", ""))
        return RedirectResponse(f"/reports/{named.name}?{_query(_asked(request))}", 303)

    @routes.get("/reports/{file}")
    async def report_page(request: Request, file: str, signed: _Signed) -> Response:
        name, dot, form = file.partition(".")
        if dot and form not in _TYPES:
            raise missing("report", file[:_TEXT_MAX], "the list at /reports")
        named, asked = _named(name), _asked(request)
        if not dot and (asked.day, asked.since, asked.until) == (None, None, None):
            return HTMLResponse(_ask(templates, page_values(request, signed) | _choices(source, asked, named)))
        run = _find(runs(request), named, asked, source.snapshot().at)
        looks = asks_itself(request)
        if await runs(request).wait(run, 0.0 if looks else PATIENCE_S) and looks:
            return Response(status_code=204, headers={"hx-refresh": "true"})  # it is there: the page loads itself anew
        if not run.done.is_set():
            if dot:
                return RedirectResponse(f"/reports/{named.name}?{_query(asked)}", 303)
            values = page_values(request, signed) | {"named": named, "run": run, "query": _query(asked)}
            return HTMLResponse(templates.get_template("report_waits.html").render(**values))
        if run.wrong and not dot and "text/html" in request.headers.get("accept", ""):
            values = page_values(request, signed) | _choices(source, asked, named)
            return HTMLResponse(_ask(templates, values, run.wrong), 422)
        _refuse(run)
        if dot:
            what = f"report {name} as {form}, {_query(asked)}"
            await sign_ins_of(request).access.keep_export(signed.person, what, signed.token)
            return await asyncio.to_thread(_as_file, run, form)
        values = page_values(request, signed) | _choices(source, asked, named) | {"asks": _asks(source, signed, named)}
        made = await asyncio.to_thread(_render, templates, run, values, _query(asked))
        return HTMLResponse(made)

    return routes


def _named(name: str) -> Named:
    if name not in REPORTS:
        raise missing("report", name[:_TEXT_MAX], "the list at /reports")
    return REPORTS[name]


def _asked(request: Request) -> AskedFor:
    """What the address asks for; an empty field of the form is none, and a range goes before a day."""
    given = {name: request.query_params.get(name, "").strip()[:_TEXT_MAX] or None for name in _ASKED}
    if given["since"] is not None or given["until"] is not None:
        given["day"] = None
    return AskedFor(**given)


def _query(asked: AskedFor) -> str:
    return urlencode({name: text for name, text in asked._asdict().items() if text is not None})


def _find(runs: ReportRuns, named: Named, asked: AskedFor, at: int) -> Run:
    try:
        return runs.find(named, asked, at)
    except TooManyReports:
        raise HTTPException(503, {"error": "as many reports are being made as this machine makes at once",
                                  "remedy": "wait until one is done, then ask again"}) from None


def _ask(templates: Templates, values: Mapping[str, Any], wrong: str = "") -> str:
    """The form for one report: what is asked so far, and what cannot be asked and why."""
    what, _, remedy = wrong.partition("; ")
    filters = urlencode({name: text for name, text in (("meter", values["asked"].meter),
                                                       ("table", values["asked"].table)) if text is not None})
    return templates.get_template("report_ask.html").render(
        **values, wrong=what, remedy=remedy, filters=f"&{filters}" if filters else "")


def _asks(source: Source, signed: Signed, named: Named) -> list[Ask]:
    """The form by which a check of the due list is entered, for those who may enter one."""
    kind = KINDS["check-done"]
    if named.name != "due" or signed.person.role not in kind.by:
        return []
    plan = source.snapshot().plan
    mine = [check.name for check in CHECKS.values() if signed.person.role in check.by]
    return [Ask(kind, {"check": mine, "table": list(plan.tables), "meter": list(plan.meters)}, fresh_act_id())]


def _refuse(run: Run) -> None:
    if run.wrong:
        what, _, remedy = run.wrong.partition("; ")
        raise HTTPException(422, {"error": what, "remedy": remedy or "choose a day or a range at /reports"})
    if run.trouble:
        raise HTTPException(503, {"error": run.trouble, "remedy": "let the technician look at the ledger"})


def _choices(source: Source, asked: AskedFor, named: Named) -> dict[str, Any]:
    """What the form offers; without a day it offers the last one that is over."""
    snapshot = source.snapshot()
    plan = snapshot.plan
    today = gaming_day_of(plan.timezone, plan.gaming_day_start, snapshot.at).on
    return {"reports": list(REPORTS.values()), "named": named, "asked": asked, "today": today.isoformat(),
            "yesterday": (today - timedelta(days=1)).isoformat(), "meters": list(plan.meters),
            "tables": list(plan.tables)}


def _render(templates: Templates, run: Run, values: Mapping[str, Any], query: str) -> str:
    """In a thread: a long table takes its time."""
    report, scope = run.report, run.scope
    if report is None or scope is None:
        raise ValueError("a report that was not made")

    def text(kind: Kind, cell: Cell) -> str:
        return cell_text(kind, cell, scope.zone)

    shown = {"report": report, "text": text, "query": query, "rows_shown": ROWS_SHOWN, "made": scope.time_words(run.at),
             "over": run.over, "right": (Kind.MONEY, Kind.EXACT, Kind.COUNT)}
    return templates.get_template("report.html").render(**{**values, **shown})


def _as_file(run: Run, form: str) -> Response:
    report, scope = run.report, run.scope
    if report is None or scope is None:
        raise ValueError("a report that was not made")
    name = f"{report.name}-{scope.day(scope.start).isoformat()}.{form}"
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    if form == "json":
        return JSONResponse(as_json(report), headers=headers)
    made = as_csv(report, scope.zone) if form == "csv" else as_pdf(report, scope.zone, scope.end)
    return Response(made, media_type=_TYPES[form], headers=headers)
