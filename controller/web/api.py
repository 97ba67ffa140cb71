"""The JSON API under ``/api/v1``: the same durable state as the pages, for machines; acts have their own door."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Response

from controller.desk import DESK
from controller.sign import to_json
from controller.web import models
from controller.web.source import Source

LOG_MAX = 500
NUMBER_MAX = (1 << 63) - 1
"""The largest entry number that a ledger can hold."""
WINS_MAX = 500

_Id = Annotated[str, Path(max_length=64)]
_MISSING: dict[int | str, dict[str, Any]] = {404: {"model": models.Problem, "description": "No such id."}}


def api_routes(source: Source) -> APIRouter:
    """Every route of the API."""
    api = APIRouter(prefix="/api/v1", responses={422: {"model": models.Problem, "description": "A wrong query."}})
    _floor(api, source)
    _book(api, source)
    return api


def _floor(api: APIRouter, source: Source) -> None:
    @api.get("/status")
    async def status() -> models.Status:
        """The floor in short: environment, version, whether it is ready, notes."""
        return models.status(source.snapshot())

    @api.get("/meters")
    async def meters() -> list[models.Meter]:
        """Every meter, in the order of the configuration."""
        return [models.meter(view) for view in source.snapshot().meters.values()]

    @api.get("/meters/{meter}", responses=_MISSING)
    async def meter(meter: _Id) -> models.Meter:
        """One meter."""
        view = source.snapshot().meters.get(meter)
        if view is None:
            raise missing("meter", meter, "/api/v1/meters")
        return models.meter(view)

    @api.get("/tables")
    async def tables() -> list[models.Table]:
        """Every table, in the order of the configuration."""
        snapshot = source.snapshot()
        return [models.table(view, snapshot.devices.get(view.plan.device)) for view in snapshot.tables.values()]

    @api.get("/tables/{table}", responses=_MISSING)
    async def table(table: _Id) -> models.Table:
        """One table."""
        snapshot = source.snapshot()
        view = snapshot.tables.get(table)
        if view is None:
            raise missing("table", table, "/api/v1/tables")
        return models.table(view, snapshot.devices.get(view.plan.device))

    @api.get("/signs")
    async def signs() -> list[models.SignNow]:
        """Every sign, in the order of the configuration: what it shows now, and whether it was told so."""
        reached = source.snapshot().signs
        return [models.sign_now(plan, source.sign_shown(plan.id), reached.get(plan.id)) for plan in source.wiring.signs]

    @api.get("/signs/{sign}", responses=_MISSING)
    async def sign(sign: _Id) -> models.Sign:
        """What a sign shows now."""
        shown = source.sign_shown(sign)
        if shown is None:
            raise missing("sign", sign, "the [[sign]] sections of the configuration")
        return models.Sign.model_validate(to_json(shown))


def _book(api: APIRouter, source: Source) -> None:
    turn = asyncio.Semaphore()
    """One long answer is made after another, each in a thread: whoever asks for many, wagers go first (SD-02)."""

    @api.get("/awards")
    async def awards() -> models.Awards:
        """The pending awards, newest first, at most 50."""
        return models.awards(source.snapshot())

    @api.get("/wins")
    async def wins(count: Annotated[int, Query(ge=1, le=WINS_MAX)] = 50) -> list[models.Win]:
        """The latest awards of the ledger, newest first."""
        async with turn:
            return [models.Win.model_validate(dict(row)) for row in await source.wins(count)]

    @api.get("/log", responses=_MISSING, response_model=models.Log)
    async def log(
        book: Annotated[str | None, Query(max_length=64)] = None,
        before: Annotated[int | None, Query(ge=1, le=NUMBER_MAX)] = None,
        count: Annotated[int, Query(ge=1, le=LOG_MAX)] = 100,
    ) -> Response:
        """Entries of a book, newest first; without ``book`` the first one. What people did is told without its body."""
        books = source.snapshot().plan.books
        name = books[0] if book is None else book
        if name not in books:
            raise missing("book", name, f"one of {', '.join(books)}")
        async with turn:
            found = await source.log(name, before, count)
            return Response(await asyncio.to_thread(_log, name, found, count), media_type="application/json")


def _log(book: str, found: Sequence[Mapping[str, Any]], count: int) -> bytes:
    rows = [row | {"body": {}} if row.get("device") == DESK or row.get("kind") == "act-refused" else row
            for row in map(dict, found)]
    entries = [models.LogEntry.model_validate(row) for row in rows]
    return models.log(book, entries, count).model_dump_json().encode()


def health_routes(source: Source) -> APIRouter:
    """``/healthz``: the process and its loop are alive. ``/readyz``: the book is open and takes wagers."""
    health = APIRouter()

    @health.get("/healthz")
    async def healthz() -> models.Health:
        """Answered at all, it is well."""
        return models.Health(status="alive")

    @health.get("/readyz", responses={503: {"model": models.Health, "description": "Not ready."}})
    async def readyz(response: Response) -> models.Health:
        """200 only while the ledger is open, intake runs and the book is not stopped."""
        snapshot = source.snapshot()
        if snapshot.ready and not snapshot.stopped and not snapshot.trouble:
            return models.Health(status="ready")
        response.status_code = 503
        if snapshot.stopped:
            remedy = "call the technician; after repair: meterctl verify, then meterctl clear"
            return models.Health(status="stopped", what=snapshot.stopped, remedy=remedy)
        if snapshot.trouble:
            remedy = "look at the disk and the rights of its folder; it goes on by itself"
            return models.Health(status="trouble", what=snapshot.trouble, remedy=remedy)
        return models.Health(status="starting", what="the controller is starting", remedy="ask again in a minute")

    return health


def missing(kind: str, name: str, where: str) -> HTTPException:
    """404 for an id that the configuration does not name."""
    return HTTPException(404, {"error": f"there is no {kind} {name!r}", "remedy": f"look in {where}"})
