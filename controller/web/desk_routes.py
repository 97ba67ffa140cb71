"""Signing in and out, one's own secret, and the two doors that every act goes through: a form's and a program's."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment as Templates
from pydantic import BaseModel

from controller.acts import KINDS, Act, Acted, ActRefused, Is, Why, read_act
from controller.alarm_acts import ALARM_RULES
from controller.alarm_kinds import ALARMS
from controller.alarms import book_of
from controller.people import Person, Role
from controller.people_acts import MADE_INSIDE
from controller.sign_in import secret_fault
from controller.vault import VaultError
from controller.web import models
from controller.web.sessions import (
    Signed,
    SignInRefused,
    SignIns,
    check_csrf,
    check_origin,
    fresh_act_id,
    local_path,
    page_values,
    refused_at_door,
    sign_ins_of,
    signed_in,
)
from controller.web.slip_prints import slip_prints_of

BODY_MAX = 64 * 1024
BODY_S = 5
"""Seconds in which a whole body must have come."""
DOCUMENT_MAX = 4_000_000
"""A program's act that carries a whole configuration may be so long."""
FIELDS_MAX = 64
_STATUS = {
    Why.WRONG_FIELD: 422, Why.NOT_FOUND: 404, Why.ACT_DIFFERS: 409, Why.ALREADY_DONE: 409, Why.NOT_NOW: 409,
}
"""Every other reason is 403."""
_MAY_BE_DONE = frozenset({Why.NOT_NOW, Why.ACT_DIFFERS})
"""Why an act is refused whose id may be in the ledger all the same."""
_log = logging.getLogger("meterd.people")
_SIGNERS = ("second_name", "second_secret", "third_name", "third_secret")
_Signed = Annotated[Signed, Depends(signed_in)]
_NOT_HELD = "you are signed out; it could not be written down: close the browser, and call the technician"
_NO_HEADERS: Mapping[str, str] = {}
_SIGNER = {"type": "object", "properties": {"name": {"type": "string"}, "secret": {"type": "string"}}}
_ASKED = {"requestBody": {"required": True, "content": {"application/json": {"schema": {
    "type": "object", "required": ["id", "fields"], "additionalProperties": False,
    "properties": {"id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"}, "fields": {"type": "object"},
                   "second": _SIGNER, "third": _SIGNER}}}}}}


class WhoAsks(BaseModel):
    """Who is signed in. ``csrf`` goes into the ``X-CSRF`` header of acts; empty for a token, which needs none."""

    id: str
    name: str
    role: Role
    department: str
    csrf: str


class DoneAct(BaseModel):
    """What came of an act: its entry's number, what it tells, and whether it had been done before."""

    entry: int
    told: dict[str, Any]
    before: bool
    words: str


def desk_routes(templates: Templates) -> APIRouter:
    """Sign-in, sign-out, one's own secret and every act. Only the program's door is in the API's document."""
    desk = APIRouter()
    _signing(desk, templates)
    _own_secret(desk, templates)
    _by_form(desk)
    _by_program(desk)
    return desk


async def read_body(request: Request, kind: str, longest: int = BODY_MAX) -> bytes:
    """A body of one content type, of bounded length in bytes; raises HTTPException 413 or 415."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise HTTPException(415, {"error": f"the body is not {kind}", "remedy": f"send it as {kind}"})
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                body += piece
                if len(body) > longest:
                    told = {"error": f"the body is longer than {longest} bytes", "remedy": "send less"}
                    raise HTTPException(413, told)
    except TimeoutError as wrong:
        told = {"error": f"the body did not come within {BODY_S} seconds", "remedy": "send it again"}
        raise HTTPException(408, told, {"connection": "close"}) from wrong
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form, each once; raises HTTPException."""
    body = await read_body(request, "application/x-www-form-urlencoded")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as wrong:
        raise HTTPException(422, {"error": "the form cannot be read", "remedy": "load the page again"}) from wrong
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise HTTPException(422, {"error": "a field stands twice", "remedy": "load the page again"})
    return fields


# ---------------------------------------------------------------------- signing in and out


def _signing(desk: APIRouter, templates: Templates) -> None:
    def page(
        request: Request, back: str, said: str = "", status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
    ) -> HTMLResponse:
        values = page_values(request, None) | {"back": back, "said": said}
        return HTMLResponse(templates.get_template("sign_in.html").render(**values), status, headers)

    @desk.get("/sign-in", include_in_schema=False)
    async def sign_in_page(request: Request, back: str = "/") -> HTMLResponse:
        return page(request, local_path(back))

    @desk.post("/sign-in", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        check_origin(request)
        sign_ins = sign_ins_of(request)
        form = await read_form(request)
        back = local_path(form.get("back", "/"))
        try:
            made = await sign_ins.open(form.get("name", ""), form.get("secret", ""), sign_ins.peer(request))
        except SignInRefused as refused:
            status, wait = (429, {"retry-after": str(refused.wait_s)}) if refused.wait_s else (403, {})
            if "text/html" not in request.headers.get("accept", ""):
                raise HTTPException(status, {"error": refused.what, "remedy": refused.remedy}, wait) from refused
            return page(request, back, f"{refused.what}: {refused.remedy}", status, wait)
        except VaultError as broken:
            raise HTTPException(503, {"error": "nobody can sign in now", "remedy": str(broken)}) from broken
        answer = RedirectResponse(back, 303)
        answer.set_cookie(
            sign_ins.cookie(request), made, path="/", httponly=True, samesite="strict",
            secure=sign_ins.is_secure(request), max_age=sign_ins.web.session_hours * 3_600)
        return answer

    @desk.post("/sign-out", include_in_schema=False)
    async def sign_out(request: Request, signed: _Signed) -> Response:
        check_csrf(request, signed, (await read_form(request)).get("csrf", ""))
        sign_ins = sign_ins_of(request)
        held = await sign_ins.close(signed, sign_ins.peer(request))
        answer: Response = RedirectResponse("/sign-in", 303) if held else page(request, "/", _NOT_HELD)
        answer.delete_cookie(
            sign_ins.cookie(request), path="/", httponly=True, samesite="strict", secure=sign_ins.is_secure(request))
        return answer


def _own_secret(desk: APIRouter, templates: Templates) -> None:
    def page(request: Request, signed: Signed, said: str = "", status: int = 200) -> HTMLResponse:
        values = page_values(request, signed) | {
            "said": said, "days": sign_ins_of(request).web.secret_days}
        return HTMLResponse(templates.get_template("secret.html").render(**values), status)

    @desk.get("/secret", include_in_schema=False)
    async def secret_page(request: Request, signed: _Signed) -> HTMLResponse:
        return page(request, signed)

    @desk.post("/secret", include_in_schema=False)
    async def change_secret(request: Request, signed: _Signed) -> Response:
        form = await read_form(request)
        check_csrf(request, signed, form.get("csrf", ""))
        sign_ins, new = sign_ins_of(request), form.get("new", "")
        fault = secret_fault(new, signed.person.id, signed.name)
        if not fault and new != form.get("again", ""):
            fault = "the new secret stands differently in its two fields"
        if not fault and new == form.get("secret", ""):
            fault = "the new secret is the old one"
        if fault:
            return page(request, signed, f"{fault}: choose another and type it twice", 422)
        try:
            await sign_ins.check(signed.person.id, form.get("secret", ""), sign_ins.peer(request))
            await sign_ins.new_secret(signed.person.id, new, signed.person, fresh_act_id())
        except SignInRefused as refused:
            return page(request, signed, f"the present secret: {refused.what}, {refused.remedy}", 403)
        except ActRefused as refused:
            return page(request, signed, f"{refused.what}: {refused.remedy}", 409)
        except VaultError as broken:
            return page(request, signed, f"no secret can be changed now: {broken}", 503)
        await sign_ins.end_others(signed)
        sign_ins.say(signed, "Your secret is changed. Other sessions of yours have ended.", good=True)
        return RedirectResponse("/", 303)


# ---------------------------------------------------------------------- acts


def _by_form(desk: APIRouter) -> None:
    @desk.post("/acts/{kind}", include_in_schema=False)
    async def by_form(request: Request, kind: str, signed: _Signed) -> Response:
        form = await read_form(request)
        check_csrf(request, signed, form.pop("csrf", ""))
        back = local_path(form.pop("back", "/"))
        act_id = form.pop("act_id", "")
        ticks = [form.pop(name) for name in list(form) if name.startswith("tick-")]
        if ticks:
            form["ticked"] = "; ".join(ticks)
        signers = {name: form.pop(name, "") for name in _SIGNERS}
        sign_ins = sign_ins_of(request)
        try:
            done = await _do(sign_ins, request, signed, kind, act_id, form, signers)
        except ActRefused as refused:
            sign_ins.say(signed, f"Not done: {refused.what}. Do now: {refused.remedy}.", good=False)
        else:
            sign_ins.say(signed, done.words, good=done.printed is not False)
        return RedirectResponse(back, 303)


def _by_program(desk: APIRouter) -> None:
    @desk.get("/api/v1/session", responses={401: {"model": models.Problem, "description": "Nobody is signed in."}})
    async def session(signed: _Signed) -> WhoAsks:
        """Who asks, by session or token."""
        person = signed.person
        return WhoAsks(
            id=person.id, name=signed.name, role=person.role, department=person.department, csrf=signed.csrf)

    refused: dict[int | str, dict[str, Any]] = {
        status: {"model": models.Problem, "description": words} for status, words in (
            (401, "Nobody is signed in."), (403, "Not this person."), (404, "No such thing."),
            (409, "Done already, or not now."), (413, "Too long."), (415, "Not JSON."), (422, "A wrong field."))}

    @desk.post("/api/v1/acts/{kind}", response_model=DoneAct, responses=refused, openapi_extra=_ASKED)
    async def by_program(request: Request, kind: str, signed: _Signed) -> Response:
        """Do an act: docs/ROLES.md has their names, fields and roles. The same ``id`` is done once."""
        if not signed.scope:
            check_csrf(request, signed, request.headers.get("x-csrf", ""))
        elif signed.scope != "act":
            await refused_at_door(request, signed, _named(kind), "this token may only read")
            raise HTTPException(403, {"error": "this token may only read", "remedy": "use one that may act"})
        if _longest(kind) == DOCUMENT_MAX and signed.person.role not in KINDS[kind].by:
            await refused_at_door(request, signed, _named(kind), "not for this role")
            problem = {"error": f"{signed.person.words()} may not do this", "remedy": "see docs/ROLES.md",
                       "why": Why.NOT_ALLOWED.value}
            return JSONResponse(problem, 403)
        body = await read_body(request, "application/json", _longest(kind))
        act_id, fields, signers = await asyncio.to_thread(_read_json, body)
        try:
            did = await _do(sign_ins_of(request), request, signed, kind, act_id, fields, signers)
        except ActRefused as refused:
            problem = {"error": refused.what, "remedy": refused.remedy, "why": refused.why.value}
            return JSONResponse(problem, status_of(refused.why))
        told = dict(did.acted.told) | ({} if did.printed is None else {"printed": did.printed})
        done = DoneAct(entry=did.acted.entry, told=told, before=did.acted.before, words=did.words)
        return JSONResponse(done.model_dump())


def status_of(why: Why) -> int:
    """The status that a program is answered where an act is refused."""
    return _STATUS.get(why, 403)


def _longest(kind: str) -> int:
    fields = KINDS[kind].fields if kind in KINDS else ()
    return DOCUMENT_MAX if any(field.kind is Is.DOCUMENT for field in fields) else BODY_MAX


def _read_json(body: bytes) -> tuple[object, Mapping[str, object], dict[str, str]]:
    """Id, fields and signers of a program's act; raises HTTPException 422."""
    try:
        made = json.loads(body)
    except (ValueError, RecursionError) as wrong:
        raise HTTPException(422, {"error": "the body is not JSON", "remedy": "see docs/ROLES.md"}) from wrong
    if not isinstance(made, dict) or made.keys() - {"id", "fields", "second", "third"}:
        raise HTTPException(422, {"error": "not an object of id, fields, second, third", "remedy": "see docs/ROLES.md"})
    fields = made.get("fields", {})
    signers: dict[str, str] = {}
    for which in ("second", "third"):
        given = made.get(which) or {}
        if not isinstance(given, dict) or not all(isinstance(given.get(part, ""), str) for part in ("name", "secret")):
            raise HTTPException(422, {"error": f"{which}: not an object of name and secret", "remedy": "write both"})
        signers |= {f"{which}_name": given.get("name", ""), f"{which}_secret": given.get("secret", "")}
    if not isinstance(fields, dict):
        raise HTTPException(422, {"error": "fields: not an object", "remedy": "see docs/ROLES.md"})
    return made.get("id"), fields, signers


class _Did(NamedTuple):
    """What came of an act, and its words; ``printed``: of a slip for a printer, whether that took it."""

    acted: Acted
    words: str
    printed: bool | None = None


async def _do(
    sign_ins: SignIns, request: Request, signed: Signed, kind: str, act_id: object, raw: Mapping[str, object],
    signers: Mapping[str, str],
) -> _Did:
    """Read and do one act; returns what came of it, or raises ActRefused. What no rule has refused is entered here."""
    try:
        act, payee, at_printer = await _read_and_signed(sign_ins, request, signed, kind, act_id, raw, signers)
    except ActRefused as refused:
        await refused_at_door(request, signed, _named(kind), refused.why.value)
        raise
    payee = payee if _may(sign_ins, act) else ""  # of whom the desk refuses, no name comes beside the ledger
    if payee:
        await _keep_payee(sign_ins, act.id, payee)
    try:
        acted = await sign_ins.source.act(_book_of(sign_ins, act), act)
    except ActRefused as refused:
        if payee and refused.why not in _MAY_BE_DONE:
            await _forget_payee(sign_ins, act.id, payee)
        raise
    if at_printer:
        came = await slip_prints_of(request).print(sign_ins, signed, act, acted)
        return _Did(acted, came.words, came.good)
    return _Did(acted, await _words(sign_ins, act, acted))


def _may(sign_ins: SignIns, act: Act) -> bool:
    """Whether an act is for the role of whoever does it."""
    return act.by.role in (sign_ins.source.snapshot().plan.awards.by(act.kind) or KINDS[act.kind].by)


async def _keep_payee(sign_ins: SignIns, act_id: str, payee: str) -> None:
    """Keep a payee's name before its act is done: no digest stands in the ledger whose name is lost."""
    try:
        await asyncio.to_thread(sign_ins.vault.keep_payee, act_id, payee)
    except VaultError as broken:
        raise ActRefused(Why.NOT_NOW, "the payee's name cannot be kept now", str(broken)) from broken


async def _forget_payee(sign_ins: SignIns, act_id: str, payee: str) -> None:
    """Forget the name of what was refused."""
    try:
        await asyncio.to_thread(sign_ins.vault.forget_payee, act_id, payee)
    except VaultError as broken:
        _log.warning("the payee's name of a refused act stays beside the ledger: %s", broken)


def _named(kind: str) -> str:
    """An act for the audit trail: a request may name anything."""
    return f"act {kind}" if kind in KINDS else "an act that there is none of"


async def _read_and_signed(
    sign_ins: SignIns, request: Request, signed: Signed, kind: str, act_id: object, raw: Mapping[str, object],
    signers: Mapping[str, str],
) -> tuple[Act, str, bool]:
    """An act as it is read, with who signs it; its payee, and whether it goes to a printer. Raises ActRefused."""
    if kind in MADE_INSIDE:
        raise ActRefused(Why.NOT_FOUND, f"nobody asks for {kind}: the controller makes it", "look into docs/ROLES.md")
    read_act(kind, act_id, raw, signed.person)  # what is wrong in it is told before anybody types a secret again
    payee = " ".join(str(raw.get("payee") or "").split())
    if payee:  # a name stands beside the ledger, its digest in it
        raw = {**raw, "payee": sign_ins.vault.payee_digest(str(act_id), payee)}
    peer = sign_ins.peer(request)
    second = await _signer(sign_ins, signed, peer, "second", signers)
    third = await _signer(sign_ins, signed, peer, "third", signers)
    act = read_act(kind, act_id, raw, signed.person, second, third)._replace(token=signed.token)
    for person in act.people():  # a body may take its time: who signs must have the right now
        found = sign_ins.find(person.id)
        if found is None or not found.enabled or found.person != person:
            raise ActRefused(Why.NOT_ALLOWED, f"the rights of {person.id} have changed", "sign in again")
    at_printer = act.kind == "slip-printed" and "printer" in act.fields
    if at_printer and _may(sign_ins, act):
        slip_prints_of(request).check(act)
    return act, payee, at_printer


async def _signer(
    sign_ins: SignIns, signed: Signed, peer: str, which: str, signers: Mapping[str, str]
) -> Person | None:
    """The second or third person, who signs on the first one's screen with own name and secret; None: nobody."""
    name, secret = signers[f"{which}_name"], signers[f"{which}_secret"]
    if not name and not secret:
        return None
    why = Why.SECOND_PERSON if which == "second" else Why.THIRD_PERSON
    if signed.scope:
        raise ActRefused(why, "no other person signs what a token does", "sign in and do it on the page")
    if sign_ins.is_remote(peer):
        raise ActRefused(why, "no other person signs on a remote screen", "do it on the floor")
    try:
        found = await sign_ins.check(name, secret, peer)
    except SignInRefused as refused:
        raise ActRefused(why, f"the {which} person: {refused.what}", refused.remedy) from refused
    except VaultError as broken:
        raise ActRefused(Why.NOT_NOW, "no secret can be checked now", str(broken)) from broken
    if sign_ins.must_change(found):
        raise ActRefused(why, f"{found.person.id} must change the secret first", "sign in as that person and change it")
    return found.person


def _book_of(sign_ins: SignIns, act: Act) -> str:
    """The book of the act's table or meter; else the first."""
    plan = sign_ins.source.snapshot().plan
    if act.kind in ALARM_RULES and act.fields["alarm"] in ALARMS:
        return book_of(plan, act.fields["alarm"], act.fields["place"])
    table, meter = act.fields.get("table"), act.fields.get("meter")
    if isinstance(table, str) and table in plan.tables:
        return plan.tables[table].book
    if isinstance(meter, str) and meter in plan.meters:
        return plan.meters[meter].book
    return sign_ins.book


async def _words(sign_ins: SignIns, act: Act, acted: Acted) -> str:
    """What came of an act in one line; with it the half of a first secret that this person is to hand over."""
    title = str(acted.told.get("words") or KINDS[act.kind].title)
    done = f"It was done already: {title}." if acted.before else f"Done: {title}."
    name = act.fields.get("id")
    if act.kind in ("person-proposed", "person-change-proposed"):
        found = sign_ins.find(str(name))
        if found is None or found.waiting is None or found.waiting.act != act.id or not found.waiting.new_secret:
            return f"{done} Somebody of another department must enable it."
        return (f"{done}\nFirst half of the first secret of {name}: {sign_ins.vault.half(act.id)}\n"
                "Hand it over in person. Somebody of another department must enable it.")
    if act.kind in ("person-enabled", "person-change-enabled") and acted.told.get("new_secret"):
        return await _first_secret(sign_ins, act, acted, done)
    return done


async def _first_secret(sign_ins: SignIns, act: Act, acted: Acted, done: str) -> str:
    """Set the first secret of two halves: nobody but the new person ever has both (WE-03)."""
    name, proposal = str(act.fields["id"]), str(acted.told["proposal"])
    mine = sign_ins.vault.half(act.id)
    found = sign_ins.find(name)
    if found is not None and found.first_by == act.by.id:
        try:
            await sign_ins.new_secret(
                name, f"{sign_ins.vault.half(proposal)}-{mine}", act.by, f"{act.id[:58]}-first", first=True)
        except (ActRefused, VaultError) as failed:
            return f"{done} No first secret could be set ({failed}): propose a new first secret."
    return (f"{done}\nSecond half of the first secret of {name}: {mine}\nHand it over in person. "
            f"{name} types the first half, a - and the second half, and then chooses an own secret.")
