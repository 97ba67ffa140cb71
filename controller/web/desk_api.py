"""What people do at the desk besides acts, for programs such as ``meterctl``: one's own secret, a token, proposals.

Like the pages' forms of the same; what programs ask of acts goes through ``desk_routes``.
"""

import asyncio
import json
from typing import Annotated, Any, NoReturn

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import JSONResponse

from controller.acts import Acted, ActRefused, Why, read_act
from controller.proposals import told_configuration
from controller.sign_in import secret_fault
from controller.vault import VaultError, digest
from controller.web.desk_routes import read_body, status_of
from controller.web.sessions import (
    Signed,
    SignInRefused,
    SignIns,
    check_csrf,
    fresh_act_id,
    refused_at_door,
    sign_ins_of,
    signed_in,
)

_Signed = Annotated[Signed, Depends(signed_in)]


def desk_api() -> APIRouter:
    """The addresses; none is in the API's document, which is of the floor and of acts."""
    desk = APIRouter(prefix="/api/v1", include_in_schema=False)

    @desk.get("/configuration", dependencies=[Depends(signed_in)])
    async def configuration(request: Request) -> JSONResponse:
        sign_ins = sign_ins_of(request)
        source, snapshot, book = sign_ins.source, sign_ins.source.snapshot(), sign_ins.book
        proposed, kept = (dict(source.rows(book, kind)) for kind in ("config-proposed", "config"))
        reasons = {}
        for row in proposed.values():
            for entry in await source.log(book, row["number"] + 1, 1):
                reasons[row["number"]] = str(entry["body"]["fields"].get("reason", ""))
        made = await asyncio.to_thread(told_configuration, snapshot.plan, proposed, kept, reasons, snapshot.at)
        return JSONResponse(made)

    @desk.post("/tokens")
    async def tokens(request: Request, signed: _Signed) -> JSONResponse:
        if signed.scope:
            await refused_at_door(request, signed, "act token-made", "no token makes a token")
            raise HTTPException(403, {"error": "no token makes a token", "remedy": "sign in with name and secret"})
        check_csrf(request, signed, request.headers.get("x-csrf", ""))
        asked = await _fields(request, "id", "name", "scope", "days")
        try:
            token, acted = await new_token(request, signed, asked.pop("id"), asked["name"], asked["scope"],
                                           asked["days"])
        except ActRefused as refused:
            _refuse(refused)
        return JSONResponse({"token": token, "until": acted.told["until"], "entry": acted.entry})

    @desk.post("/secret")
    async def secret(request: Request) -> JSONResponse:
        asked = await _fields(request, "name", "secret", "new")
        return JSONResponse({"id": await _changed(sign_ins_of(request), request, **asked)})

    return desk


async def new_token(
    request: Request, signed: Signed, act_id: str, name: str, scope: str, days: str
) -> tuple[str, Acted]:
    """Make a token of whoever is signed in: itself, to be shown once, and its entry; raises ActRefused."""
    sign_ins = sign_ins_of(request)
    if sign_ins.is_remote(sign_ins.peer(request)):  # it would outlive what was opened for one session
        await refused_at_door(request, signed, "act token-made", "no token is made from outside")
        raise ActRefused(Why.NOT_ALLOWED, "no token is made from outside", "make it on the site's own network")
    token = sign_ins.vault.token(act_id, name)
    given = {"id": name, "scope": scope, "days": days, "print": digest(token)}
    act = read_act("token-made", act_id, given, signed.person)
    return token, await sign_ins.source.act(sign_ins.book, act)


async def _changed(sign_ins: SignIns, request: Request, name: str, secret: str, new: str) -> str:
    """Change a secret for whoever knows the present one, the first or an aged one too; raises HTTPException.

    No session is opened by it, and every open one of that person ends.
    """
    peer = sign_ins.peer(request)
    if sign_ins.is_remote(peer):
        told = {"error": "a secret is not changed by a program from outside", "remedy": "use the page, or the box"}
        raise HTTPException(403, told)
    try:
        found = await sign_ins.check(name, secret, peer)
        fault = "the new secret is the old one" if new == secret else secret_fault(new, found.person.id, found.name)
        if fault:
            raise HTTPException(422, {"error": fault, "remedy": "choose another new secret"})
        await sign_ins.new_secret(found.person.id, new, found.person, fresh_act_id())
    except SignInRefused as refused:
        raise HTTPException(403, {"error": refused.what, "remedy": refused.remedy}) from refused
    except VaultError as broken:
        raise HTTPException(503, {"error": "no secret can be changed now", "remedy": str(broken)}) from broken
    except ActRefused as refused:
        _refuse(refused)
    await sign_ins.end_others(Signed(found.person, found.name, "", ""))
    return found.person.id


async def _fields(request: Request, *names: str) -> dict[str, str]:
    """A JSON object of exactly these texts; raises HTTPException."""
    body = await read_body(request, "application/json")
    try:
        made: Any = json.loads(body)
    except (ValueError, RecursionError):
        made = None
    if not isinstance(made, dict) or set(made) != set(names) or not all(isinstance(one, str) for one in made.values()):
        raise HTTPException(422, {"error": f"not a JSON object of {', '.join(names)}", "remedy": "send these texts"})
    return made


def _refuse(refused: ActRefused) -> NoReturn:
    told = {"error": refused.what, "remedy": refused.remedy}
    raise HTTPException(status_of(refused.why), told) from refused
