"""Signed-in pages keep themselves in step: parts that ask again every few seconds, and news of alarms (R-31, R-89).

A part asks with a tag of what it shows; while that is still so it is answered 204, without reading the ledger. Nothing
that somebody may be filling in is ever replaced: a page with forms only tells that the alarms have changed.
"""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates

from controller.alarms import worst_first
from controller.web.alarm_banner import banner_tag, line_of
from controller.web.sessions import asks_itself, fresh_act_id, local_path, signed_in
from controller.web.source import Source

ASKS_S = 5
"""How often a page asks."""


def tag_of(*shown: object) -> str:
    """A short name of everything that a part shows; other things have another one, in another run of the daemon too."""
    return hashlib.blake2s(repr(shown).encode(), digest_size=8).hexdigest()


def is_known(request: Request, tag: str) -> bool:
    """Whether a part asks that shows this already: answer it 204."""
    return asks_itself(request) and request.query_params.get("known") == tag


def news_routes(source: Source, templates: Templates) -> APIRouter:
    """``/news``: how the alarms that nobody has acknowledged differ from those a page was loaded with."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/news", dependencies=[Depends(signed_in)])
    async def news(
        known: Annotated[str, Query(max_length=64)] = "", back: Annotated[str, Query(max_length=512)] = "/",
    ) -> HTMLResponse:
        waiting = [alarm for alarm in source.alarms() if alarm.waits]
        newest = max(worst_first(waiting), key=lambda alarm: alarm.raised_at, default=None)
        return HTMLResponse(templates.get_template("part_news.html").render(
            changed=banner_tag(waiting) != known, waiting=len(waiting), back=local_path(back),
            newest=None if newest is None else line_of(newest, None, fresh_act_id)))

    return routes
