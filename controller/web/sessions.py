"""Who is signed in: sessions kept by the server, tokens of scripts, and the check of a name and its secret.

Every request asks the register anew, so disabling somebody or changing a role works at once. A page takes
``Depends(signed_in)``; it gets a ``Signed``, or the browser is led to the sign-in page.
"""

import asyncio
import hmac
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

from fastapi import HTTPException, Request

from controller.acts import Act, Acted, ActRefused
from controller.people import Person, Role
from controller.people_acts import THE_CONTROLLER
from controller.register import Registered, Rows, registered, remote_stands
from controller.sign_in import Backoff, is_aged, is_over, is_remote, lies_in, life, networks, true_peer
from controller.vault import SESSIONS_MAX, StoredSession, Vault, VaultError, digest, hash_secret, verify_secret
from controller.web.access_log import AccessLog
from controller.web.alarm_banner import make_banner
from controller.web.doors import Doors
from controller.web.floor_page import clock_of
from controller.web.source import Source
from controller.wiring import WebPlan

HASHES_AT_ONCE = 2
"""An argon2id hash takes 64 MB and a core for tens of milliseconds: money goes first."""
WAITING_MAX = 32
NAME_AT_ONCE = 3
"""Secrets of one name that are looked at at once: guesses sent together must not slip past the waits (WE-05)."""
SEEN_US = 60_000_000
"""A session's last request is written down at most once a minute."""
FLASH_MAX = 2_000

_log = logging.getLogger("meterd.people")


class PeopleSource(Source, Protocol):
    """What signing in needs of the daemon besides the pages' ``Source``."""

    def rows(self, book: str, kind: str) -> Rows:
        """The newest state rows of a kind (``person``, ``token``, ``remote``) in a book, by key."""

    async def act(self, book: str, asked: Act) -> Acted:
        """Do an act; returns only after the commit, or raises ActRefused."""


class SignInRefused(Exception):
    """A name and secret that open nothing; the same words whatever was wrong with them (WE-09)."""

    def __init__(self, what: str, remedy: str, wait_s: int = 0) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what, self.remedy, self.wait_s = what, remedy, wait_s


class Signed(NamedTuple):
    """Who asks. ``csrf`` goes into every form; ``scope`` is ``read`` or ``act`` for a token, empty for a session.

    ``token``: the token's name, which every act done by it keeps in its entry.
    """

    person: Person
    name: str
    csrf: str
    session: str
    must_change: bool = False
    scope: str = ""
    token: str = ""


class Flash(NamedTuple):
    """What the last act came to, shown once: ``good``, or why not."""

    good: bool
    text: str


@dataclass(slots=True)
class _Session:
    kept: StoredSession
    seen: int
    flash: Flash | None = None


class SignIns:
    """Every open session of this daemon, in memory and in the vault. One event loop owns it."""

    def __init__(self, source: PeopleSource, vault: Vault, web: WebPlan) -> None:
        """Take over the sessions of before a restart; raises VaultError, or ValueError for networks that are none."""
        self.source, self.vault, self.web = source, vault, web
        self.lives = life(web.idle_minutes, web.session_hours, web.secret_days)
        self.backoff = Backoff()
        self.access = AccessLog(vault, lambda act: source.act(self.book, act), self.now)
        self.doors = Doors(self.access)
        self._proxies, self._local = networks(web.proxies), networks(web.networks)
        self._sessions = {one.digest: _Session(one, one.seen) for one in vault.sessions()}
        self._hashing = asyncio.Semaphore(HASHES_AT_ONCE)
        self._waiting = 0
        self._names: Counter[str] = Counter()

    @property
    def book(self) -> str:
        """The book of the register: the first."""
        return self.source.snapshot().plan.books[0]

    def now(self) -> int:
        """UTC microseconds, as the pages have them."""
        return self.source.snapshot().at

    def find(self, name: str) -> Registered | None:
        """Somebody of the register."""
        return registered(self.source.rows(self.book, "person"), name)

    def is_secure(self, request: Request) -> bool:
        """Whether the browser speaks TLS: with us, or with a listed proxy that says so."""
        told = request.client.host if request.client is not None else ""
        by_proxy = lies_in(told, self._proxies) and request.headers.get("x-forwarded-proto") == "https"
        return self.web.tls_cert is not None or by_proxy

    def cookie(self, request: Request) -> str:
        """The name of the session's cookie; under TLS one that no other host or path can set."""
        return "__Host-meterd" if self.is_secure(request) else "meterd"

    def peer(self, request: Request) -> str:
        """Who really asks (WE-05)."""
        told = request.client.host if request.client is not None else ""
        return true_peer(told, ",".join(request.headers.getlist("x-forwarded-for")), self._proxies)

    def is_remote(self, peer: str) -> bool:
        """Whether a peer is outside the site's networks (R-105)."""
        return is_remote(peer, self._local)

    async def act(self, kind: str, act_id: str, by: Person, fields: Mapping[str, Any], token: str = "") -> Acted:
        """An act that the controller makes itself, in the register's book; ``token``: by which it was asked for."""
        given = {name: value for name, value in fields.items() if value not in ("", False, None)}
        return await self.source.act(self.book, Act(kind, act_id, by, None, None, given, token))

    # ------------------------------------------------------------------ names and secrets

    async def check(self, name: str, secret: str, peer: str) -> Registered:
        """The person whose name and secret these are; raises SignInRefused, in the same time for a name unknown."""
        name = name.strip().lower()[:64]
        wait_s = self.backoff.wait_s(name, peer, self.now())
        if wait_s:
            raise SignInRefused("too many wrong tries", f"wait {wait_s} seconds, then try again", wait_s)
        if self._waiting >= WAITING_MAX:
            raise SignInRefused("too many people sign in at once", "try again in a few seconds", 5)
        if self._names[name] >= NAME_AT_ONCE and not self.backoff.knows(name, peer):
            raise SignInRefused("others sign in with this name right now", "try again in a few seconds", 2)
        found = self.find(name)
        printed = found.secret if found is not None and found.enabled else ""
        self._names[name] += 1
        try:
            good = await self._in_turn(self._is_right, name, printed, secret)
        finally:
            self._names -= Counter([name])  # what falls to nothing is forgotten
        again = self.find(name)
        if found is None or not good or again is None or not again.enabled or again.secret != printed:
            await self._failed(name, peer, known=found is not None)
            raise SignInRefused("name or secret is wrong", "type both again")
        self.backoff.succeeded(name, peer)
        return again

    def _is_right(self, name: str, printed: str, secret: str) -> bool:
        return verify_secret(self.vault.hash_of(name, printed), secret[:1_024])

    async def _in_turn(self, work: Callable[..., Any], *given: Any) -> Any:
        """Hash in a thread, two at once."""
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(work, *given)
        finally:
            self._waiting -= 1

    async def _failed(self, name: str, peer: str, *, known: bool) -> None:
        """Keep a refused sign-in, merged by doubling. An unknown name is not kept: it may be a secret (CF-06)."""
        count = self.backoff.failed(name, peer, self.now())
        if not count:
            return
        shown = name if known else ""
        _log.warning("sign-in refused: %s from %s, %s in a row", shown or "a name that nobody has", peer, count)
        fields = {"count": count, "peer": peer, "reason": "wrong name or secret"} | ({"id": shown} if shown else {})
        try:
            await self.access.enter("sign-in-refused", THE_CONTROLLER, fields)
        except (ActRefused, VaultError) as refused:
            _log.warning("a refused sign-in is not kept: %s", refused)

    async def new_secret(self, person: str, secret: str, by: Person, act_id: str, *, first: bool = False) -> None:
        """Give a person another secret: hash it, keep the hash, let the ledger say that it counts; or ActRefused."""
        found = self.find(person)
        hashed = await self._in_turn(hash_secret, secret)
        counts = "" if found is None else found.secret
        printed = await asyncio.to_thread(self.vault.keep_hash, person, hashed, counts)
        await self.act("secret-changed", act_id, by, {"first": first, "id": person, "print": printed})
        try:
            await asyncio.to_thread(self.vault.forget_hashes, person, printed)
        except VaultError as wrong:  # the new one counts already; the old one opens nothing any more
            _log.warning("the old secrets of %s are not removed: %s", person, wrong)

    # ------------------------------------------------------------------ sessions

    async def open(self, name: str, secret: str, peer: str) -> str:
        """Sign somebody in; returns the session's id for the cookie, or raises SignInRefused."""
        remote = self.is_remote(peer)
        if remote and not self.web.remote:
            raise SignInRefused("remote access is off here", "sign in on the site's own network")
        if remote and not any(row["until"] > self.now() for row in self.source.rows(self.book, "remote").values()):
            raise SignInRefused("remote access is open for nobody", "ask the shift manager to open it")
        found = await self.check(name, secret, peer)
        try:  # a stopped book takes no entry, and those who must put it right have to sign in: it is entered later
            fields: dict[str, object] = {"peer": peer} | ({"remote": True} if remote else {})
            entered = await self.access.enter("signed-in", found.person, fields, keep=not remote)
        except ActRefused as refused:
            raise SignInRefused(refused.what, refused.remedy) from refused
        made, at = secrets.token_urlsafe(32), self.now()
        opening = "" if entered is None else str(entered.told.get("opening", ""))
        kept = StoredSession(digest(made), found.person.id, secrets.token_urlsafe(24), at, at, remote, opening)
        await self._end(self._over(at))
        self._sessions[kept.digest] = _Session(kept, at)
        await asyncio.to_thread(self.vault.keep_session, kept)
        return made

    def _over(self, at: int) -> list[str]:
        """Sessions that have ended by themselves, and the oldest where there are too many."""
        every = self._sessions.values()
        ended = [one.kept.digest for one in every if is_over(one.kept.began, one.seen, at, self.lives)]
        left = sorted((one.seen, name) for name, one in self._sessions.items() if name not in ended)
        return ended + [name for _, name in left[: max(0, len(left) - SESSIONS_MAX + 1)]]

    async def _end(self, digests: list[str]) -> bool:
        """End sessions; whether that is written down too."""
        for one in digests:
            self._sessions.pop(one, None)
        try:
            if digests:
                await asyncio.to_thread(self.vault.end_sessions, digests)
        except VaultError as wrong:  # ended here all the same; only a restart would find them again
            _log.warning("it is not written down that %s sessions have ended: %s", len(digests), wrong)
            return False
        return True

    async def close(self, signed: Signed, peer: str) -> bool:
        """Sign out; whether it holds over a restart too."""
        held = await self._end([signed.session])
        try:
            await self.access.enter("signed-out", signed.person, {"peer": peer})
        except (ActRefused, VaultError) as refused:
            _log.warning("a sign-out is not kept: %s", refused)
        return held

    async def end_others(self, signed: Signed) -> None:
        """End a person's other sessions: after a change of the secret."""
        mine = [name for name, one in self._sessions.items() if one.kept.person == signed.person.id]
        await self._end([name for name in mine if name != signed.session])

    async def look(self, request: Request, *, awake: bool = True) -> Signed | None:
        """Who asks, by session or token, as the register has them now; None: nobody. A session counts as seen.

        ``awake=False``: a stream that goes on by itself keeps no session awake.
        """
        told = request.headers.get("authorization", "")
        if told:
            return self._by_token(told, self.peer(request))
        made = request.cookies.get(self.cookie(request))
        session = self._sessions.get(digest(made)) if made else None
        if session is None:
            return None
        at, kept = self.now(), session.kept
        found = self.find(kept.person)
        if found is None or not self._may_go_on(session, found, at):
            await self._end([kept.digest])
            return None
        if self.is_remote(self.peer(request)) and not kept.remote:
            return None
        if asks_itself(request) or not awake:
            return Signed(found.person, found.name, kept.csrf, kept.digest, self.must_change(found))
        if at - session.kept.seen > SEEN_US:
            session.kept = kept._replace(seen=at)
            try:
                await asyncio.to_thread(self.vault.keep_session, session.kept)
            except VaultError as wrong:  # a full disk ends nobody's session; a restart would forget that it was seen
                _log.warning("it is not written down that %s was here: %s", kept.person, wrong)
        session.seen = at
        return Signed(found.person, found.name, kept.csrf, kept.digest, self.must_change(found))

    def must_change(self, found: Registered) -> bool:
        """Whether a person can do nothing before the secret is changed: a first one, or one that is too old."""
        return found.must_change or is_aged(found.secret_at, self.now(), self.lives)

    def _may_go_on(self, session: _Session, found: Registered, at: int) -> bool:
        kept = session.kept
        # Rights from the future were given before the clock was set back, and so before this session.
        if not found.enabled or kept.began < found.since <= at or is_over(kept.began, session.seen, at, self.lives):
            return False
        rows = self.source.rows(self.book, "remote")
        return not kept.remote or remote_stands(rows, kept.person, kept.opening, at)

    def _by_token(self, told: str, peer: str) -> Signed | None:
        scheme, _, given = told.partition(" ")
        name = given.partition(".")[0]
        row = self.source.rows(self.book, "token").get(name)
        right = hmac.compare_digest(digest(given), row["print"] if row is not None else digest(""))
        if scheme.lower() != "bearer" or row is None or not right or self.is_remote(peer):
            return None
        found, at = self.find(row["person"]), self.now()
        if found is None or not found.enabled or found.since > row["at"] or row["until"] <= at:
            return None
        # What is aged may still be looked at by a script; nothing is done in the name of who must change the secret.
        must_change = row["scope"] == "act" and self.must_change(found)
        return Signed(found.person, found.name, "", "", must_change, row["scope"], name)

    def say(self, signed: Signed, text: str, *, good: bool) -> None:
        """Keep what the next page tells this session."""
        session = self._sessions.get(signed.session)
        if session is not None:
            session.flash = Flash(good, text[:FLASH_MAX])

    def said(self, signed: Signed) -> Flash | None:
        """What is to be told to this session, once."""
        session = self._sessions.get(signed.session)
        if session is None:
            return None
        told, session.flash = session.flash, None
        return told


def sign_ins_of(request: Request) -> SignIns:
    """The sign-ins of this application; 503 where it has none."""
    found = getattr(request.app.state, "sign_ins", None)
    if not isinstance(found, SignIns):
        raise HTTPException(503, {"error": "nobody can sign in here", "remedy": "let the technician look at the log"})
    return found


async def maybe_signed_in(request: Request) -> Signed | None:
    """Who asks, or None: for pages that everybody may see."""
    found = getattr(request.app.state, "sign_ins", None)
    return await found.look(request) if isinstance(found, SignIns) else None


def asks_itself(request: Request) -> bool:
    """Whether a page asks for a part of itself, and not a person for a page: that keeps no session awake."""
    return "hx-request" in request.headers


async def signed_in(request: Request) -> Signed:
    """Who asks. A browser without a session is led to the sign-in page, anybody else is answered 401."""
    signed = await sign_ins_of(request).look(request)
    page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if signed is None:
        told = {"error": "nobody is signed in", "remedy": "sign in at /sign-in, or give a token"}
        if asks_itself(request):
            raise HTTPException(401, told, {"hx-refresh": "true"})
        if page and request.method == "GET":
            raise HTTPException(303, told, {"location": f"/sign-in?back={quote(here(request))}"})
        raise HTTPException(401, told, {"www-authenticate": "Bearer"})
    if signed.must_change and request.url.path not in ("/secret", "/sign-out"):
        told = {"error": "the secret must be changed first", "remedy": "change it at /secret"}
        if signed.token:
            await refused_at_door(request, signed, "a token that may act", told["error"])
        if page:
            raise HTTPException(303, told, {"location": "/secret"})
        raise HTTPException(403, told)
    return signed


def require(roles: frozenset[Role]) -> Callable[[Request], Awaitable[Signed]]:
    """A dependency like ``signed_in`` for some roles only; others are answered 403."""

    async def asked(request: Request) -> Signed:
        signed = await signed_in(request)
        if signed.person.role not in roles:
            route = getattr(request.scope.get("route"), "path", "a page")
            await refused_at_door(request, signed, f"{request.method} {route}", "not for this role")
            raise HTTPException(403, {"error": f"this page is not for {signed.person.words()}",
                                      "remedy": "ask somebody whose role may see it: docs/ROLES.md"})
        return signed

    return asked


async def refused_at_door(request: Request, signed: Signed, what: str, reason: str) -> None:
    """Enter a refusal that reaches no act's rules."""
    sign_ins = sign_ins_of(request)
    await sign_ins.doors.refused(signed.person, sign_ins.peer(request), what, reason, signed.token)


def here(request: Request) -> str:
    """The address asked for, without its host."""
    query = request.url.query
    return local_path(request.url.path + (f"?{query}" if query else ""))


def local_path(given: str) -> str:
    """A path on this server as it was given, or the floor page: nobody is led elsewhere."""
    odd = not given.isascii() or not given.isprintable() or "\\" in given or len(given) > 512
    return "/" if odd or not given.startswith("/") or given.startswith("//") else given


def check_origin(request: Request) -> None:
    """Refuse (403) what another site's page asks for in somebody's name (WE-02)."""
    origin = request.headers.get("origin", "null")
    if origin == "null":
        good = request.headers.get("sec-fetch-site") == "same-origin"
    else:
        secure = sign_ins_of(request).is_secure(request)
        try:
            scheme, host = urlsplit(origin)[:2]
        except ValueError:
            scheme = host = ""
        good = host == request.headers.get("host") and scheme in (("https",) if secure else ("http", "https"))
    if not good:
        _log.warning("refused %s %s: it came from another site's page", request.method, request.url.path)
        raise HTTPException(403, {"error": "this came from another page", "remedy": "use the controller's own pages"})


def check_csrf(request: Request, signed: Signed, given: str) -> None:
    """Refuse (403) a change without the session's own token, or from another origin (WE-02)."""
    check_origin(request)
    if not signed.csrf or not hmac.compare_digest(given.encode(), signed.csrf.encode()):
        _log.warning("refused %s %s: without the session's token", request.method, request.url.path)
        raise HTTPException(403, {"error": "this form is of another session", "remedy": "load the page again"})


def fresh_act_id() -> str:
    """An id for one form or request: however often it is sent, it is done once (MO-06)."""
    return secrets.token_hex(16)


def page_values(request: Request, signed: Signed | None) -> dict[str, Any]:
    """What base.html needs on every page: who is signed in, what the last act came to, and the environment."""
    sign_ins = sign_ins_of(request)
    plan = sign_ins.source.snapshot().plan
    environment = "" if plan.environment.value == "production" else plan.environment.value.upper()
    flash = sign_ins.said(signed) if signed is not None and not asks_itself(request) else None
    # A stopped book takes no act: a form would only be refused.
    role = signed.person.role if signed is not None and not sign_ins.source.snapshot().stopped else None
    banner = make_banner(sign_ins.source.alarms(), role, fresh_act_id)
    return {"signed": signed, "flash": flash, "environment": environment, "path": request.url.path,
            "banner": banner, "clock": clock_of(sign_ins.source.snapshot()),
            "csrf": signed.csrf if signed is not None else "", "back": here(request)}
