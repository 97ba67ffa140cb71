"""``[web] open_floor_page = false``: floor page, API, streams and metrics for those who have signed in only."""

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from controller.web.events import MAY_WATCH
from controller.web.headers import SecurityHeaders
from controller.web.sessions import SignIns, here

OPEN = ("/healthz", "/readyz", "/sign-in", "/api/v1/secret")
OPEN_BELOW = ("/static/", "/sign/", "/events/sign/")
"""Signs hang where the public is, and kiosks do not sign in."""


class ClosedFloor:
    """Plain ASGI around the application: what is not open asks for a session or token first."""

    def __init__(self, app: ASGIApp, sign_ins: SignIns) -> None:
        self._app, self._sign_ins = app, sign_ins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer that somebody must sign in."""
        if scope["type"] != "http" or scope["path"] in OPEN or scope["path"].startswith(OPEN_BELOW):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        signed = await self._sign_ins.look(request)
        if scope["path"].startswith("/events/"):
            async def may_watch() -> bool:
                """Whether who began to watch still may: neither disabled, signed out nor expired since."""
                now = await self._sign_ins.look(request, awake=False)
                return now is not None and not now.must_change

            scope[MAY_WATCH] = may_watch
        if (signed is not None and not signed.must_change) or scope["path"] in ("/secret", "/sign-out"):
            await self._app(scope, receive, send)
            return
        await SecurityHeaders(_answer(request, "/secret" if signed is not None else ""))(scope, receive, send)


def _answer(request: Request, where: str) -> Response:
    page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if page and request.method == "GET":
        return RedirectResponse(where or f"/sign-in?back={quote(here(request))}", 303)
    told = {"error": "nobody is signed in", "remedy": "sign in at /sign-in, or give a token"}
    return JSONResponse(told, 401, {"www-authenticate": "Bearer"})
