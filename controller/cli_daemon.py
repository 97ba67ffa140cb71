"""How ``meterctl`` asks the running daemon: where it listens, whether its certificate is right, and who asks.

Nobody (what everybody may read), a person who types an own secret and is signed out again afterwards, or a token.
"""

import functools
import http.client
import json
import secrets
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from controller.config import load
from controller.ledger.place import LedgerError
from controller.wiring import WebPlan

DEFAULT_URL = "http://127.0.0.1:8688"
_ANSWER_MAX = 64 * 1024 * 1024
_TIMEOUT_S = 20
_EVERY = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where a daemon that listens on every address is asked from its own box."""
_END = "-----END CERTIFICATE-----"
_FILE = click.Path(path_type=Path)


def fail(text: str) -> NoReturn:
    """One line on standard error, exit code 2."""
    click.echo(text, err=True)
    sys.exit(2)


class Where(NamedTuple):
    """Which daemon is asked, by which certificate it is known, and who asks it: the options of a command."""

    url: str | None
    config: Path | None
    ca: Path | None
    signer: str | None
    token_file: Path | None
    secret_stdin: bool

    @contextmanager
    def open(self, *, signed: bool = True) -> Iterator["Daemon"]:
        """The daemon, and whoever asks signed in; ``signed``: somebody must be. Ends the program where it cannot be."""
        if self.signer is not None and self.token_file is not None:
            raise click.UsageError("give either --as NAME or --token-file FILE")
        if signed and self.signer is None and self.token_file is None:
            raise click.UsageError("give --as NAME (the secret is asked for), or --token-file FILE")
        daemon = Daemon(*_address(self.url, self.config, self.ca))
        if self.token_file is not None:
            daemon.use_token(_token(self.token_file))
        if self.signer is None:
            yield daemon
            return
        daemon.sign_in(self.signer, self.secret_of(self.signer))
        try:
            yield daemon
        finally:
            daemon.sign_out()

    def secret_of(self, name: str, words: str = "Secret", *, twice: bool = False) -> str:
        """A secret typed unseen, or the next line of standard input; never an argument (CF-06)."""
        if self.secret_stdin:
            return "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
        return str(click.prompt(f"{words} of {name}", hide_input=True, confirmation_prompt=twice, err=True))


def of_daemon(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name the daemon and who asks; it takes them as ``where``."""

    @functools.wraps(command)
    def asking(**options: Any) -> None:
        command(where=Where(*(options.pop(name) for name in Where._fields)), **options)

    made: Callable[..., None] = asking
    for option in (
        click.option("--secret-stdin", is_flag=True, help="read one secret a line from standard input: for scripts"),
        click.option("--token-file", type=_FILE, default=None, help="a file that holds a token: it asks, not a person"),
        click.option("--as", "signer", default=None, metavar="NAME", help="who asks; the secret is asked for"),
        click.option("--ca", type=_FILE, default=None,
                     help="PEM file of the authority that certifies the daemon's pages, where the system has it not"),
        click.option("--config", type=_FILE, default=None,
                     help="the daemon's TOML file: its [web] says where it listens, and its certificate"),
        click.option("--url", default=None, help=f"the daemon's pages (default: of --config, or {DEFAULT_URL})"),
    ):
        made = option(made)
    return made


# ---------------------------------------------------------------------- where, and by which certificate


def _address(url: str | None, config: Path | None, ca: Path | None) -> tuple[str, ssl.SSLContext | None]:
    """The origin of the pages, and what proves that it is they; None: they do not speak TLS."""
    web = None if config is None else load(config)[1].web
    if url is None and config is not None:
        url = _origin_of(web, config)
    origin = _origin(url or DEFAULT_URL)
    if not origin.startswith("https:"):
        if ca is not None:
            raise click.UsageError(f"--ca has no meaning for {origin}: give --url https://host:port, or --config FILE")
        return origin, None
    if ca is not None:
        return origin, _trusting(ca)
    if web is not None and web.tls_cert is not None:
        return origin, _known(web.tls_cert)
    return origin, ssl.create_default_context()


def _origin_of(web: WebPlan | None, config: Path) -> str:
    if web is None or not web.port:
        raise click.UsageError(f"{config}: its [web] names no port; give --url")
    host = _EVERY.get(web.bind, web.bind)
    scheme = "http" if web.tls_cert is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{web.port}"


def _origin(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        good = good and parts.path in ("", "/") and not parts.query and not parts.fragment and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise click.UsageError(f"--url {url}: write it as http://host:port or https://host:port")
    return f"{parts.scheme}://{parts.netloc}"


def _trusting(ca: Path) -> ssl.SSLContext:
    """Whoever is certified by an authority for the name that is asked; the file may hold the certificate itself."""
    ca.open("rb").close()
    try:
        made = ssl.create_default_context(cafile=ca)
    except ssl.SSLError as wrong:
        raise click.UsageError(f"--ca {ca}: no certificate can be read there; give a PEM file") from wrong
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return made


def _known(certificate: Path) -> ssl.SSLContext:
    """Whoever holds the key of the very certificate that the configuration names, self-signed or not.

    Its name is not compared: it is known by itself, and the box is asked by its address.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    own = certificate.read_text(encoding="ascii", errors="replace").partition(_END)
    try:
        made.load_verify_locations(cadata=own[0] + own[1])
    except (ssl.SSLError, ValueError) as wrong:
        raise click.UsageError(f"[web] tls_cert {certificate}: no certificate can be read there; give --ca") from wrong
    return made


def _token(file: Path) -> str:
    given = file.read_text(encoding="ascii", errors="replace").strip()
    if not given or not given.isascii() or not given.isprintable():
        raise click.UsageError(f"--token-file {file}: it holds a token, one line of ASCII, and nothing else")
    return given


# ---------------------------------------------------------------------- asking


class Daemon:
    """The pages of one daemon, asked by nobody, a person or a token. What it refuses ends the program with 2."""

    def __init__(self, origin: str, tls: ssl.SSLContext | None) -> None:
        self.origin = origin
        self._headers: dict[str, str] = {}
        ways: list[urllib.request.BaseHandler] = [
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())]
        if tls is not None:
            ways.append(urllib.request.HTTPSHandler(context=tls))
        self._opener = urllib.request.build_opener(*ways)

    def use_token(self, token: str) -> None:
        """From now on a token asks."""
        self._headers["authorization"] = f"Bearer {token}"

    def sign_in(self, name: str, secret: str) -> None:
        """From now on a person asks, in a session of its own."""
        self._headers["origin"] = self.origin
        told = self._form("sign-in", {"name": name, "secret": secret, "back": "/api/v1/session"})
        self._headers["x-csrf"] = str(told.get("csrf", ""))

    def sign_out(self) -> None:
        """Nobody asks any more. A daemon that has ended meanwhile has nobody signed in either."""
        with suppress(urllib.error.URLError, http.client.HTTPException, OSError):
            body = urllib.parse.urlencode({"csrf": self._headers.pop("x-csrf")}).encode()
            self._opener.open(self._request("sign-out", body, "application/x-www-form-urlencoded"), timeout=_TIMEOUT_S)

    def get(self, path: str) -> Any:
        """A JSON answer of the API."""
        return self._answer(self._request(f"api/v1/{path}", None, ""), "or use --ledger, where the command has it")

    def send(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What the API answers to a JSON body."""
        made = self._request(f"api/v1/{path}", json.dumps(body).encode(), "application/json")
        return dict(self._answer(made, "then ask again"))

    def act(
        self, kind: str, fields: Mapping[str, Any], signers: Mapping[str, Mapping[str, str]] | None = None
    ) -> dict[str, Any]:
        """Do an act, once; ``signers``: ``second`` and ``third`` with name and secret."""
        return self.send(f"acts/{kind}", {"id": secrets.token_hex(16), "fields": dict(fields), **(signers or {})})

    def _form(self, path: str, fields: Mapping[str, str]) -> dict[str, Any]:
        body = urllib.parse.urlencode(fields).encode()
        return dict(self._answer(self._request(path, body, "application/x-www-form-urlencoded"), "then ask again"))

    def _request(self, path: str, body: bytes | None, kind: str) -> urllib.request.Request:
        headers = {**self._headers, "accept": "application/json"} | ({"content-type": kind} if kind else {})
        return urllib.request.Request(f"{self.origin}/{path}", body, headers)

    def _answer(self, asked: urllib.request.Request, remedy: str) -> Any:
        try:
            with self._opener.open(asked, timeout=_TIMEOUT_S) as answer:
                return json.loads(answer.read(_ANSWER_MAX))
        except urllib.error.HTTPError as refused:
            fail(f"Not done: {_told(refused)}" if asked.data is not None else f"{asked.full_url}: {_told(refused)}")
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as wrong:
            fail(f"no daemon answers at {asked.full_url} ({wrong}); {_why(wrong, self.origin)}start it, {remedy}")


def _told(refused: urllib.error.HTTPError) -> str:
    """What a daemon that answered, but not with what was asked for, said of it."""
    try:
        said = json.loads(refused.read(_ANSWER_MAX))
        return f"{said['error']}; {said['remedy']}"
    except (OSError, ValueError, KeyError, TypeError):
        return f"the answer is {refused.code} {refused.reason}; is it a daemon of this version?"


def _why(wrong: Exception, origin: str) -> str:
    """What to do about an answer that is none, where the reason tells."""
    cause = wrong.reason if isinstance(wrong, urllib.error.URLError) else wrong
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ("its certificate is not known here: give --config FILE of that daemon, or --ca FILE of who certifies "
                "it and the name that it is certified for as --url; if it has run out, renew it; else ")
    if isinstance(cause, ssl.SSLError):
        return "it seems not to speak TLS: give --url http://host:port, or --config FILE; else "
    if isinstance(cause, http.client.HTTPException | ConnectionResetError) and origin.startswith("http:"):
        return "if its [web] has a tls_cert, give --config FILE or --url https://host:port; else "
    return ""


# ---------------------------------------------------------------------- commands that show something


def known_forms(command: Callable[..., None]) -> Callable[..., None]:
    """A daemon and a ledger speak in known forms only: what has another one is told in one line."""

    @functools.wraps(command)
    def showing(*, ledger: str | None, **options: Any) -> None:
        try:
            command(ledger=ledger, **options)
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:
            if ledger is None:
                raise click.UsageError("what answers there is not meterd, or another version of it") from wrong
            raise LedgerError(f"{ledger}: cannot be read, it may be damaged; run `meterctl verify`") from wrong

    return showing


def shows(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that shows something its source, a daemon or a ledger (``--ledger``), and ``--json``."""
    made = of_daemon(known_forms(command))
    made = click.option("--json", "as_json", is_flag=True, help="the API's JSON, for machines")(made)
    return click.option("--ledger", default=None, help="read this ledger instead of asking the daemon")(made)


def show(found: Any, as_json: bool, text: Callable[[Any], str]) -> None:
    """Print what was found, for people or machines."""
    click.echo(json.dumps(found, indent=2) if as_json else text(found))
