"""``meterctl act``: everything that people do on the pages, on the command line of the box (docs/ROLES.md lists it).

It signs in as a person does, and a second or third person types an own secret; or it uses a token, which signs alone.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from controller.acts import KINDS, Is
from controller.cli_daemon import Where, fail, of_daemon
from controller.config import load
from controller.people_acts import MADE_INSIDE

ELSEWHERE = {
    "people-begun": "user add", "secret-changed": "secret", "secret-set-on-box": "user secret",
    "token-made": "token make",
}
"""Acts that are no request of their own, and the commands that make them."""


@click.command(name="act")
@of_daemon
@click.option("--second", default=None, metavar="NAME", help="who signs as the second person")
@click.option("--third", default=None, metavar="NAME", help="who signs as another person, where it is asked")
@click.option("--json", "as_json", is_flag=True, help="the whole answer, for machines")
@click.argument("kind", required=False)
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
def act(
    where: Where, second: str | None, third: str | None, as_json: bool, kind: str | None, fields: tuple[str, ...]
) -> None:
    """Do what people do, like award-verified table=PG-01 game=41 seat=3 spot=progressive. Without KIND: the list.

    Secrets are asked for, or read (--secret-stdin), in the order --as, --second, --third.
    """
    if kind is None:
        click.echo(listing())
        return
    if kind in ELSEWHERE:
        fail(f"{kind} has a command of its own: `meterctl {ELSEWHERE[kind]}`.")
    if kind not in KINDS or kind in MADE_INSIDE:
        fail(f"There is no act {kind!r}. `meterctl act` lists them.")
    given = _fields(kind, fields)
    with where.open() as daemon:
        signers = {which: {"name": signer, "secret": where.secret_of(signer)}
                   for which, signer in (("second", second), ("third", third)) if signer is not None}
        told = daemon.act(kind, given, signers)
    say(told, as_json)


def say(told: Mapping[str, Any], as_json: bool = False) -> None:
    """Print what came of an act; exit code 1 where its slip was not printed."""
    click.echo(json.dumps(told, indent=2) if as_json else f"{told['words']} It is entry {told['entry']:,}.")
    if told["told"].get("printed") is False:
        sys.exit(1)


def listing() -> str:
    """Every act that may be asked for, with its fields, and those that have a command of their own."""
    lines = []
    for kind in KINDS.values():
        if kind.name not in MADE_INSIDE:
            names = " ".join(f"[{field.name}=]" if field.optional else f"{field.name}=" for field in kind.fields)
            signers = "  (a second person signs)" if kind.second else ""
            signers += "  (another person signs where it is asked: --third)" if kind.third else ""
            lines.append(f"{kind.name:<22} {names}{signers}")
    lines += [f"{kind:<22} meterctl {command}" for kind, command in ELSEWHERE.items()]
    return "\n".join(lines)


def _fields(kind: str, given: tuple[str, ...]) -> dict[str, object]:
    """The fields as they were written; a configuration is the one that its file makes."""
    documents = {field.name for field in KINDS[kind].fields if field.kind is Is.DOCUMENT}
    made: dict[str, object] = {}
    for one in given:
        field, sign, said = one.partition("=")
        if not sign or field in made:
            raise click.UsageError(f"{one}: write each field once, as FIELD=VALUE")
        made[field] = dict(load(Path(said))[0].document) if field in documents else said
    return made
