"""``meterctl act``: everything that people do on the pages, on the command line of the box (docs/ROLES.md lists it).

It signs in as a person does, and a second or third person types an own secret; or it uses a token, which signs alone.
"""

import http.client
import json
import secrets
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, NoReturn

import click

from controller.acts import KINDS
from controller.people_acts import MADE_INSIDE

DEFAULT_URL = "http://127.0.0.1:8688"
_ANSWER_MAX = 4_000_000
_TIMEOUT_S = 20


def _fail(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(2)


@click.command(name="act")
@click.option("--url", default=DEFAULT_URL, show_default=True, help="the daemon's pages")
@click.option("--as", "name", default=None, metavar="NAME", help="who does it; the secret is asked for")
@click.option("--second", default=None, metavar="NAME", help="who signs as the second person")
@click.option("--third", default=None, metavar="NAME", help="who signs as another person, where it is asked")
@click.option("--token-file", type=click.Path(path_type=Path), default=None, help="instead of --as: a token")
@click.option("--secret-stdin", is_flag=True, help="read one secret a line from standard input: for scripts")
@click.option("--json", "as_json", is_flag=True, help="the whole answer, for machines")
@click.argument("kind", required=False)
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
def act(
    url: str, name: str | None, second: str | None, third: str | None, token_file: Path | None, secret_stdin: bool,
    as_json: bool, kind: str | None, fields: tuple[str, ...],
) -> None:
    """Do what people do, like award-verified table=PG-01 game=41 seat=3 spot=progressive. Without KIND: the list."""
    if kind is None:
        click.echo(listing())
        return
    if kind not in KINDS or kind in MADE_INSIDE:
        _fail(f"There is no act {kind!r}. `meterctl act` lists them.")
    if (name is None) == (token_file is None):
        raise click.UsageError("give either --as NAME or --token-file FILE")
    asked: dict[str, Any] = {"id": secrets.token_hex(16), "fields": _fields(fields)}
    for which, signer in (("second", second), ("third", third)):
        if signer is not None:
            asked[which] = {"name": signer, "secret": _secret(signer, secret_stdin)}
    if token_file is not None:
        headers, opener = {"authorization": f"Bearer {token_file.read_text().strip()}"}, urllib.request.build_opener()
    else:
        headers, opener = _signed_in(url, str(name), _secret(str(name), secret_stdin))
    told = _send(opener, f"{url}/api/v1/acts/{kind}", headers, json.dumps(asked).encode(), "application/json")
    click.echo(json.dumps(told, indent=2) if as_json else f"{told['words']} It is entry {told['entry']:,}.")
    if told["told"].get("printed") is False:
        sys.exit(1)


def listing() -> str:
    """Every act that may be asked for, with its fields."""
    lines = []
    for kind in KINDS.values():
        if kind.name not in MADE_INSIDE:
            names = " ".join(f"[{field.name}=]" if field.optional else f"{field.name}=" for field in kind.fields)
            signers = "" if not kind.second else "  (a second person signs)"
            lines.append(f"{kind.name:<22} {names}{signers}")
    return "\n".join(lines)


def _fields(given: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for one in given:
        field, sign, said = one.partition("=")
        if not sign or field in made:
            raise click.UsageError(f"{one}: write each field once, as FIELD=VALUE")
        made[field] = said
    return made


def _secret(name: str, from_stdin: bool) -> str:
    """A secret typed unseen, or a line of standard input; never an argument (CF-06)."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt(f"Secret of {name}", hide_input=True, err=True))


def _signed_in(url: str, name: str, secret: str) -> tuple[dict[str, str], urllib.request.OpenerDirector]:
    """A session of its own for this one act, and the header that proves it."""
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    form = urllib.parse.urlencode({"name": name, "secret": secret, "back": "/api/v1/session"}).encode()
    headers = {"origin": _origin(url)}
    told = _send(opener, f"{url}/sign-in", headers, form, "application/x-www-form-urlencoded")
    return headers | {"x-csrf": str(told.get("csrf", ""))}, opener


def _origin(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise click.UsageError(f"--url {url}: write it as http://host:port")
    return f"{parts.scheme}://{parts.netloc}"


def _send(
    opener: urllib.request.OpenerDirector, url: str, headers: dict[str, str], body: bytes, kind: str
) -> dict[str, Any]:
    asked = urllib.request.Request(url, body, {**headers, "content-type": kind, "accept": "application/json"})
    try:
        with opener.open(asked, timeout=_TIMEOUT_S) as answer:
            told = json.loads(answer.read(_ANSWER_MAX))
    except urllib.error.HTTPError as refused:
        _fail(f"Not done: {_said(refused)}")
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as wrong:
        _fail(f"no daemon answers at {url} ({wrong}); start it")
    return dict(told)


def _said(refused: urllib.error.HTTPError) -> str:
    try:
        said = json.loads(refused.read(_ANSWER_MAX))
        return f"{said['error']}; {said['remedy']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "name or secret is wrong" if refused.code == 403 else f"{refused.code} {refused.reason}"
