"""A meter's amount over time: a curve, the same in figures, and what it began from, fell to and rose to.

The meter's page asks for it once it is shown, so that a long time never delays the page; without script it is a
page of its own.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates

from controller.ledger.curve import Curve, Point
from controller.ledger.place import LedgerError
from controller.money import MICROCENTS_PER_CENT
from controller.plan import MeterPlan
from controller.web.api import missing
from controller.web.floor_page import Clock, clock_of
from controller.web.sessions import Signed, page_values, signed_in
from controller.web.source import Source

DAY_US = 86_400_000_000
ROWS_MAX = 40
"""Rows of the table under the curve."""
Span = Literal["day", "week", "month", "quarter"]
SPANS: dict[Span, tuple[str, int]] = {
    "day": ("24 hours", 1), "week": ("7 days", 7), "month": ("31 days", 31), "quarter": ("92 days", 92)}
"""What can be looked at: in words, and days back from now."""


class CurveSource(Source, Protocol):
    """What the curve needs of the daemon besides the pages' ``Source``."""

    async def meter_curve(self, meter: str, start: int, end: int) -> Curve:
        """What a meter of the plan showed from ``start`` on and before ``end``; raises LedgerError."""


class Row(NamedTuple):
    """A line of the table: neighbouring points taken together."""

    at: int
    low: int
    high: int
    close: int


def curve_routes(source: CurveSource, templates: Templates) -> APIRouter:
    """``/meters/{meter}/curve``: a page, or to a page that asks for it the part alone."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/meters/{meter}/curve")
    async def curve_page(
        request: Request, signed: Annotated[Signed, Depends(signed_in)], meter: Annotated[str, Path(max_length=64)],
        span: Annotated[Span, Query()] = "day",
    ) -> HTMLResponse:
        snapshot = source.snapshot()
        plan, clock = snapshot.plan.meters.get(meter), clock_of(snapshot)
        if plan is None:
            raise missing("meter", meter, "the page of meters")
        start = snapshot.at - SPANS[span][1] * DAY_US
        try:
            curve = await source.meter_curve(meter, start, snapshot.at + 1)
        except LedgerError as wrong:
            told = {"error": "the ledger cannot be read now", "remedy": "call the technician"}
            raise HTTPException(503, told) from wrong
        shown = {"meter": plan, "spans": SPANS, "span": span, "clock": clock, **_told(plan, curve, start, snapshot.at)}
        part = "hx-request" in request.headers
        values = {} if part else page_values(request, signed)
        page = templates.get_template("part_curve.html" if part else "curve.html")
        return HTMLResponse(page.render(**values | shown | {"drawn": _drawn(curve, clock, start, snapshot.at)}))

    return routes


def _told(plan: MeterPlan, curve: Curve, start: int, end: int) -> dict[str, Any]:
    """The curve in words and figures."""
    points = curve.points
    lowest = min(points, key=lambda point: point.low, default=None)
    highest = max(points, key=lambda point: point.high, default=None)
    return {"plan": plan, "opening": curve.opening, "lowest": lowest, "highest": highest, "start": start, "end": end,
            "close": points[-1].close if points else None, "rows": rows_of(points, start, end)}


def rows_of(points: Sequence[Point], start: int, end: int) -> list[Row]:
    """The points by equal stretches of time, at most ``ROWS_MAX``, newest first; stretches without any are left out."""
    if not points:
        return []
    stretch = -(-(end - start) // ROWS_MAX)
    made: dict[int, Row] = {}
    for point in points:
        place = min(max(point.at - start, 0) // stretch, ROWS_MAX - 1)
        known = made.get(place)
        made[place] = Row(point.at, point.low, point.high, point.close) if known is None else Row(
            point.at, min(known.low, point.low), max(known.high, point.high), point.close)
    return list(made.values())[::-1]


def _drawn(curve: Curve, clock: Clock, start: int, end: int) -> str:
    """What the script draws: whole seconds, and cents cut off as the signs show them; empty when nothing moved."""
    if curve.opening is None:
        return ""
    opening, last = curve.opening, curve.points[-1]
    before = [Point(start, opening, opening, opening)] if opening else []  # a meter that was just opened had none
    points = [*before, *curve.points, Point(end, last.close, last.close, last.close)]
    # A clock that was set back must not draw backwards.
    at, latest = [], 0
    for point in points:
        latest = max(latest, point.at // 1_000_000)
        at.append(latest)
    cents = {name: [getattr(point, name) // MICROCENTS_PER_CENT for point in points]
             for name in ("low", "high", "close")}
    return json.dumps({"at": at, "zone": str(clock.zone), **cents}, separators=(",", ":"))

