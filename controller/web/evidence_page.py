"""The button that gathers evidence of a game: one archive, made aside, and an entry that says who took it (D16)."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from controller.evidence import Asked, NotThere, make
from controller.ledger.place import LedgerError, file_of, ledger_url
from controller.people import Role
from controller.web.desk_routes import read_form
from controller.web.sessions import PeopleSource, Signed, check_csrf, require, sign_ins_of

MAY_TAKE = frozenset((Role.SHIFT_MANAGER, Role.ACCOUNTING, Role.SURVEILLANCE, Role.AUDITOR, Role.ADMINISTRATOR))
_Signed = Annotated[Signed, Depends(require(MAY_TAKE))]
AT_ONCE = asyncio.Semaphore(1)
"""One archive at a time: it reads the whole ledger."""


def evidence_routes(source: PeopleSource) -> APIRouter:
    """POST /evidence: a game's archive as a download."""
    pages = APIRouter(include_in_schema=False)

    @pages.post("/evidence")
    async def take(request: Request, signed: _Signed) -> Response:
        form = await read_form(request)
        check_csrf(request, signed, form.get("csrf", ""))
        table, number = form.get("table", ""), form.get("game", "")
        if table not in source.snapshot().plan.tables or not number.isdecimal() or len(number) > 15:
            raise HTTPException(404, {"error": "there is no such game", "remedy": "choose one on its table's page"})
        sign_ins, at = sign_ins_of(request), source.snapshot().at
        async with AT_ONCE:
            try:
                body = await asyncio.to_thread(_made, source, Asked(table, int(number)), signed.person.words(), at)
            except (NotThere, LedgerError, OSError) as wrong:
                sign_ins.say(signed, f"No evidence was made: {wrong}", good=False)
                return RedirectResponse(f"/tables/{table}", 303)
        what = f"evidence of table {table}, game {int(number)}"
        await sign_ins.access.keep_export(signed.person, what, signed.token)  # a stopped book: entered later
        name = f'attachment; filename="evidence-{table}-{int(number)}.zip"'
        return Response(body, media_type="application/zip", headers={"content-disposition": name})

    return pages


def _made(source: PeopleSource, asked: Asked, by: str, at: int) -> bytes:
    """The archive's bytes; it lies in a folder of its own no longer than it is made (WE-07)."""
    with tempfile.TemporaryDirectory(prefix="meterd-evidence-") as folder:
        out = Path(folder) / "evidence.zip"
        make(file_of(ledger_url(source.wiring.ledger_url)), out, asked, by=by, at=at,
             program=f"meterd {source.snapshot().version}")
        return out.read_bytes()
