"""``meterctl user``, ``token`` and ``secret``: people made and seen on the box; everything else through the daemon.

On the box (``user add``, ``user secret``) the daemon must not be running; two people sit there together. Through the
daemon somebody signs in (``--as``), or gives a token that may act (``--token-file``).
"""

import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import click

from controller.acts import ActRefused
from controller.cli_daemon import Where, fail, of_daemon
from controller.cli_text import table, when
from controller.ledger.place import file_of, ledger_url
from controller.ledger.reader import Reader
from controller.listing import log_entry
from controller.offline import plan_of
from controller.people import Person, Role
from controller.people_acts import PEOPLE_KINDS, SCOPES, TOKEN_DAYS_MAX
from controller.people_on_box import Newcomer, begin, set_secrets
from controller.register import Registered, everybody, registered
from controller.sign_in import secret_fault

_ROLES = click.Choice([role.value for role in Role])

_ledger = click.option("--ledger", required=True, help="path or URL of the ledger; no daemon may run on it")
_stdin = click.option("--secret-stdin", is_flag=True, help="read one secret a line from standard input: for scripts")


def clock() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1_000


def _path(ledger: str) -> Path:
    return file_of(ledger_url(ledger))


@click.group()
def user() -> None:
    """People and their rights: two make the first two, later one proposes and another enables."""


@click.group()
def token() -> None:
    """Tokens for scripts: each is of one person, and signs alone."""


# ---------------------------------------------------------------------- on the box


@user.command()
@_ledger
@click.option("--person", "people", nargs=4, multiple=True, metavar="ID NAME ROLE DEPARTMENT",
              help="given twice; asked for where it is not given")
@_stdin
def add(ledger: str, people: tuple[tuple[str, str, str, str], ...], secret_stdin: bool) -> None:
    """Make the first two people together, of two departments; only while there is nobody yet."""
    path = _path(ledger)
    if len(people) not in (0, 2):
        raise click.UsageError("--person: give it twice: two people are made together")
    if _rows(path):
        fail("There are people already: let one propose and another enable, on the page of people.")
    asked = list(people) or [_ask_person("First"), _ask_person("Second")]
    two = [(_person(one[0], one[2], one[3]), one[1]) for one in asked]
    newcomers = [Newcomer(person, name, _secret(person.id, name, secret_stdin)) for person, name in two]
    try:
        begin(path, "meterctl user add", newcomers, clock())
    except ActRefused as refused:
        fail(f"Not done: {refused.what}; {refused.remedy}")
    names = " and ".join(person.words() for person, _ in two)
    click.echo(f"Made {names}. Start meterd and sign in; others are proposed by one and enabled by another.")


@user.command(name="secret")
@_ledger
@click.option("--person", "names", multiple=True, required=True, metavar="ID", help="given twice, of two departments")
@_stdin
def set_two(ledger: str, names: tuple[str, ...], secret_stdin: bool) -> None:
    """Set new secrets of two people who are both here: after a loss of people.db, or when nobody can sign in."""
    if len(set(names)) != 2:
        raise click.UsageError("--person: give it twice: two people of two departments set their secrets together")
    path = _path(ledger)
    rows = _rows(path)
    two = [_find(rows, name) for name in names]
    chosen = {one.person: _secret(one.person.id, one.name, secret_stdin) for one in two}
    try:
        set_secrets(path, "meterctl user secret", chosen, clock())
    except ActRefused as refused:
        fail(f"Not done: {refused.what}; {refused.remedy}")
    click.echo(f"New secrets of {names[0]} and {names[1]} are set. Start meterd and sign in.")


@user.command(name="list")
@click.option("--ledger", required=True, help="path or URL of the ledger")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def list_people(ledger: str, as_json: bool) -> None:
    """Everybody with role, department and state (R-104)."""
    people = everybody(_rows(_path(ledger)))
    if as_json:
        click.echo(json.dumps([_told(one) for one in people], indent=2))
        return
    if not people:
        click.echo("Nobody yet: make the first two with `meterctl user add`.")
    for one in people:
        waits = f"; proposed by {one.waiting.by.id}, waits to be enabled" if one.waiting is not None else ""
        click.echo(f"{one.person.id:<16} {one.name:<24} {one.person.role:<14} {one.person.department:<14} "
                   f"{one.state}{waits}")


@user.command(name="log")
@click.option("--ledger", required=True, help="path or URL of the ledger")
@click.option("--count", default=50, show_default=True, type=click.IntRange(1, 500))
@click.option("--json", "as_json", is_flag=True, help="for machines")
def access_log(ledger: str, count: int, as_json: bool) -> None:
    """The access log, newest first: sign-ins, refused ones, changes of people, secrets, tokens, exports (R-102)."""
    reader = Reader(_path(ledger))
    book = plan_of(reader).books[0]
    found = reader.entries(book, latest=count, kinds=tuple(kind.name for kind in PEOPLE_KINDS))
    reader.close()
    if as_json:
        click.echo(json.dumps([log_entry(entry) for entry in found], indent=2))
        return
    for entry in found:
        body = json.loads(entry.body)
        said = ", ".join(f"{name} {when(value) if name == 'own_time' else value}"
                         for name, value in body["fields"].items() if name != "print")
        second = f" and {body['second'][0]}" if body.get("second") else ""
        second += f" by token {body['token']}" if body.get("token") else ""
        click.echo(f"{entry.number:>9}  {when(entry.at)}  {entry.kind:<22} {body['by'][0]}{second}  {said}")


def _told(one: Registered) -> dict[str, Any]:
    return {"id": one.person.id, "name": one.name, "role": one.person.role.value, "state": one.state,
            "department": one.person.department, "since": one.since, "secret_at": one.secret_at,
            "waiting": one.waiting is not None}


def _rows(path: Path, kind: str = "person") -> dict[str, dict[str, Any]]:
    """The register (or its rows of another kind) as the ledger has it."""
    reader = Reader(path)
    rows = reader.states(plan_of(reader).books[0], kind)
    reader.close()
    made = {row.key: json.loads(row.body) for row in rows}
    return {name: body for name, body in made.items() if body is not None}


def _find(rows: dict[str, dict[str, Any]], name: str) -> Registered:
    found = registered(rows, name)
    if found is None:
        fail(f"nobody has the sign-in name {name!r}; look at `meterctl user list`")
    return found


def _ask_person(which: str) -> tuple[str, str, str, str]:
    return (
        click.prompt(f"{which} person: sign-in name"), click.prompt("  name"),
        click.prompt("  role", type=_ROLES), click.prompt("  department"))


def _person(name: str, role: str, department: str) -> Person:
    try:
        return Person(name, Role(role), department)
    except ValueError as wrong:
        raise click.UsageError(f"{role}: no role; choose one of {', '.join(role.value for role in Role)}") from wrong


def _secret(person: str, name: str, from_stdin: bool) -> str:
    """A new secret, typed unseen and twice, or a line of standard input; never an argument (CF-06)."""
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    else:
        given = click.prompt(f"Secret of {person}", hide_input=True, confirmation_prompt=True)
    fault = secret_fault(given, person, name)
    if fault:
        fail(f"{person}: {fault}; choose another")
    return str(given)


# ---------------------------------------------------------------------- through the daemon


@user.command()
@of_daemon
@click.argument("name")
@click.option("--full-name", required=True)
@click.option("--role", type=_ROLES, required=True)
@click.option("--department", required=True)
def propose(where: Where, name: str, full_name: str, role: str, department: str) -> None:
    """Propose a person; somebody of another department enables it."""
    fields = {"id": name, "name": full_name, "role": role, "department": department}
    _do(where, "person-proposed", fields)


@user.command()
@of_daemon
@click.argument("name")
@click.option("--change", is_flag=True, help="enable a change of rights instead of a new person")
def enable(where: Where, name: str, change: bool) -> None:
    """Enable what somebody of another department has proposed."""
    _do(where, "person-change-enabled" if change else "person-enabled", {"id": name})


@user.command()
@of_daemon
@click.argument("name")
@click.option("--reason", required=True)
def disable(where: Where, name: str, reason: str) -> None:
    """Take all rights from a person, at once."""
    _do(where, "person-disabled", {"id": name, "reason": reason})


@token.command(name="end")
@of_daemon
@click.argument("name")
@click.option("--reason", required=True)
def end_token(where: Where, name: str, reason: str) -> None:
    """End a token."""
    _do(where, "token-ended", {"id": name, "reason": reason})


def _do(where: Where, kind: str, fields: dict[str, str]) -> None:
    with where.open() as daemon:
        click.echo(daemon.act(kind, fields)["words"])


@token.command(name="make")
@of_daemon
@click.argument("name")
@click.option("--scope", type=click.Choice(SCOPES), required=True, help="what it may: look, or also act as you")
@click.option("--days", type=click.IntRange(1, TOKEN_DAYS_MAX), required=True, help="after so many days it ends")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None,
              help="write it into this new file, readable by you alone, and not to standard output")
def make_token(where: Where, name: str, scope: str, days: int, out: Path | None) -> None:
    """Make a token of the one who signs in (--as), for scripts. It is shown this once: nobody can read it again."""
    if where.signer is None:
        raise click.UsageError("give --as NAME: a token is of the person who makes it, and no token makes another")
    if out is not None and (out.exists() or not out.absolute().parent.is_dir()):
        fail(f"{out}: there is a file already, or no such folder; name a new file, nothing was made")
    with where.open() as daemon:
        made = daemon.send("tokens", {"id": secrets.token_hex(16), "name": name, "scope": scope, "days": str(days)})
    ends = f"Made the token {name}, entry {made['entry']:,}; it ends {when(made['until'])} (UTC)."
    if out is None:
        click.echo(made["token"])
        click.echo(f"{ends} It is not shown again.", err=True)
        return
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(made["token"] + "\n")
    click.echo(f"{ends} It is in {out}: give it as --token-file.")


@token.command(name="list")
@click.option("--ledger", required=True, help="path or URL of the ledger")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def list_tokens(ledger: str, as_json: bool) -> None:
    """Every token that has not been ended: whose it is, what it may, and until when."""
    kept = sorted(_rows(_path(ledger), "token").items())
    if as_json:
        told = [{"id": name, **{key: row[key] for key in ("person", "scope", "at", "until")}} for name, row in kept]
        click.echo(json.dumps(told, indent=2))
    elif not kept:
        click.echo("No tokens.")
    else:
        rows = [(name, row["person"], row["scope"], when(row["at"]), when(row["until"])) for name, row in kept]
        click.echo(table(("Token", "Of", "It may", "Made (UTC)", "Ends (UTC)"), rows))


@click.command()
@of_daemon
def secret(where: Where) -> None:
    """Change one's own secret: the present one (or both halves of a first one, a - between), then the new one.

    Who asks is named by --as. Every session of that person ends. For a forgotten one: docs/ROLES.md.
    """
    if where.signer is None or where.token_file is not None:
        raise click.UsageError("give --as NAME: everybody changes the own secret, and nobody another's")
    name = where.signer
    present = where.secret_of(name, "Present secret")
    new = where.secret_of(name, "New secret", twice=True)
    with where._replace(signer=None).open(signed=False) as daemon:
        daemon.send("secret", {"name": name, "secret": present, "new": new})
    click.echo(f"The secret of {name} is changed; open sessions of that person have ended.")
