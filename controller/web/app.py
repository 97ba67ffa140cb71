"""The web application: pages, live streams, API, health and metrics over one ``Source``. Read-only: GET everywhere.

Nothing is loaded from another host, and no page runs inline script or style (WE-01).
"""

import logging
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment as Templates
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException as RoutingError

from controller.metrics import FloorCollector, exposition
from controller.plan import Environment
from controller.snapshot import Snapshot
from controller.vault import Vault, VaultError, beside
from controller.web import models
from controller.web.alarm_banner import make_banner
from controller.web.alarm_page import alarm_routes
from controller.web.api import api_routes, health_routes, missing
from controller.web.award_pages import award_routes
from controller.web.config_pages import config_routes
from controller.web.curve_page import curve_routes
from controller.web.day_pages import day_routes
from controller.web.events import EventStream, Feed, Streams
from controller.web.evidence_page import evidence_routes
from controller.web.floor_page import FloorPage, clock_of
from controller.web.headers import SecurityHeaders
from controller.web.live import news_routes
from controller.web.meter_pages import meter_routes
from controller.web.paytable_page import paytable_routes
from controller.web.people_page import mount_people
from controller.web.report_pages import report_routes
from controller.web.sessions import maybe_signed_in, page_values
from controller.web.source import Source
from controller.web.templates import make_templates

_log = logging.getLogger("meterd.people")
_STATIC = Path(__file__).parent / "static"
_VENDOR = _STATIC / "vendor"
"""Others' scripts, as they were published: docs/PAGES.md names them."""
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REMEDIES = {
    404: "check the address; the floor page is at /",
    405: "this address can only be read: use GET",
    503: "close a page that is not needed, or try again in a minute",
}


def open_app(source: Source, ledger: Path) -> tuple[FastAPI, str]:
    """The application over a ledger and the secrets beside it, and why nobody can sign in (empty: people can)."""
    try:
        return create_app(source, Vault(beside(ledger))), ""
    except VaultError as wrong:
        _log.error("nobody can sign in: %s", wrong)
        return create_app(source), f"Nobody can sign in: {wrong}"


def create_app(source: Source, vault: Vault | None = None) -> FastAPI:
    """The application over ``source``; serve it with ``controller.web.serve.Server``.

    Without a ``vault`` nobody can sign in: the floor page, signs, API and metrics stay readable.
    """
    app = FastAPI(
        title="Progressive meter controller",
        version=source.snapshot().version,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    templates = make_templates()
    app.add_middleware(SecurityHeaders)
    app.include_router(api_routes(source))
    app.include_router(health_routes(source))
    app.include_router(paytable_routes(source, templates))
    app.include_router(alarm_routes(source, templates))
    _metrics(app, source)
    _static(app)
    _pages(app, source, templates)
    _errors(app, source, templates)
    if vault is not None:
        _desk(app, source, templates, vault)
    return app


def _desk(app: FastAPI, source: Source, templates: Templates, vault: Vault) -> None:
    """What people sign in for: the pages and doors of every act. The daemon is a source of all of them."""
    desk: Any = source
    mount_people(app, desk, templates, vault)
    app.include_router(evidence_routes(desk))
    app.include_router(news_routes(source, templates))
    for routes in (award_routes, meter_routes, curve_routes, day_routes, config_routes, report_routes):
        app.include_router(routes(desk, templates))


def _environment(snapshot: Snapshot) -> str:
    environment = snapshot.plan.environment
    return "" if environment is Environment.PRODUCTION else environment.value.upper()


def _edition(snapshot: Snapshot) -> str:
    return f"{snapshot.version}-{snapshot.plan.hash[:12]}"


def _pages(app: FastAPI, source: Source, templates: Templates) -> None:
    floor = FloorPage(templates)

    def floor_parts() -> dict[str, str]:
        snapshot, alarms = source.snapshot(), [alarm for alarm in source.alarms() if alarm.waits]
        banner = templates.get_template("part_alarms.html").render(
            banner=make_banner(alarms, None, str), clock=clock_of(snapshot), csrf="", back="/")
        return {"alarms": banner, **floor.parts(snapshot, alarms)}

    def sign_parts(sign: str) -> dict[str, str]:
        shown = source.sign_shown(sign)
        return {} if shown is None else {"sign": templates.get_template("part_sign.html").render(shown=shown)}

    def clock() -> str:
        snapshot = source.snapshot()
        return clock_of(snapshot).text(snapshot.at)

    edition = _edition(source.snapshot())
    floor_feed = Feed(source, floor_parts, clock, edition)
    sign_feeds = {
        sign.id: Feed(source, lambda id=sign.id: sign_parts(id), clock, edition)  # type: ignore[misc]
        for sign in source.wiring.signs
    }
    streams = Streams([floor_feed, *sign_feeds.values()])
    app.state.streams = streams

    @app.get("/", include_in_schema=False)
    async def floor_page(request: Request) -> HTMLResponse:
        snapshot = source.snapshot()
        desk = {}
        if getattr(request.app.state, "sign_ins", None) is not None:
            values = page_values(request, await maybe_signed_in(request))
            desk = {name: values[name] for name in ("signed", "flash", "path")}
        shown = {
            "stream": "/events/floor",
            "edition": edition,
            "environment": _environment(snapshot),
            "plan": snapshot.plan,
            "version": snapshot.version,
            "clock": clock(),
            "parts": floor_parts(),
            "meters": list(snapshot.meters),
            "tables": list(snapshot.tables),
        }
        return HTMLResponse(templates.get_template("floor.html").render(**shown, **desk))

    @app.get("/sign/{sign}", include_in_schema=False)
    async def sign_page(sign: str) -> HTMLResponse:
        shown = source.sign_shown(sign)
        if shown is None or sign not in sign_feeds:
            raise missing("sign", sign, "the [[sign]] sections of the configuration")
        page = templates.get_template("sign.html")
        parts = sign_parts(sign)
        return HTMLResponse(page.render(stream=f"/events/sign/{sign}", edition=edition, shown=shown, parts=parts))

    def stream(feed: Feed) -> EventStream:
        if streams.full or streams.stopping:
            raise HTTPException(503, {"error": "too many pages are open", "remedy": _REMEDIES[503]})
        return EventStream(streams, feed)

    @app.get("/events/floor", include_in_schema=False)
    async def floor_events() -> Response:
        return stream(floor_feed)

    @app.get("/events/sign/{sign}", include_in_schema=False)
    async def sign_events(sign: str) -> Response:
        if sign not in sign_feeds:
            raise missing("sign", sign, "the [[sign]] sections of the configuration")
        return stream(sign_feeds[sign])


def _metrics(app: FastAPI, source: Source) -> None:
    collector = FloorCollector(source.snapshot, lambda: source.stats)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(exposition(collector), media_type=CONTENT_TYPE_LATEST)


def _static(app: FastAPI) -> None:
    places = (*_STATIC.iterdir(), *_VENDOR.iterdir())
    files = {path.name: path.read_bytes() for path in places if path.suffix in _TYPES}

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        return Response(files[name], media_type=_TYPES[Path(name).suffix])


def _errors(app: FastAPI, source: Source, templates: Templates) -> None:
    def answer(request: Request, status: int, error: str, remedy: str, headers: Any = None) -> Response:
        wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
        if not wants_page:
            return JSONResponse(models.Problem(error=error, remedy=remedy).model_dump(), status, headers=headers)
        environment = _environment(source.snapshot())
        page = templates.get_template("error.html").render(what=error, remedy=remedy, environment=environment)
        return HTMLResponse(page, status, headers=headers)

    @app.exception_handler(RoutingError)
    async def refused(request: Request, error: RoutingError) -> Response:
        told: Any = error.detail
        if isinstance(told, dict):
            return answer(request, error.status_code, told["error"], told["remedy"], error.headers)
        remedy = _REMEDIES.get(error.status_code, _REMEDIES[404])
        return answer(request, error.status_code, str(told).lower(), remedy, error.headers)

    @app.exception_handler(RequestValidationError)
    async def wrong_query(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(place) for place in first["loc"])
        return answer(request, 422, f"{where}: {first['msg']}", "see /api/v1/openapi.json for what may be asked")
