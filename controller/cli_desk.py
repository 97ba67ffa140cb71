"""``meterctl alarms``, ``signs`` and ``config``: what people look at before they act, at a terminal of the box."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from controller.alarms import ROW, alarm_from, alarm_json, worst_first
from controller.cli_act import say
from controller.cli_daemon import Where, of_daemon, show, shows
from controller.cli_text import table, when
from controller.config import load
from controller.ledger.place import file_of, ledger_url
from controller.ledger.reader import Reader
from controller.offline import plan_of
from controller.proposals import told_configuration

_STATES = {"raised": "waits", "acknowledged": "acknowledged", "gone": "over, not acknowledged"}


# ---------------------------------------------------------------------- alarms


@click.command()
@shows
def alarms(where: Where, ledger: str | None, as_json: bool) -> None:
    """Every alarm that stands, worst first: kind and place as acknowledging asks for them, state, since when.

    The daemon tells them to people only: give --as NAME or --token-file FILE.
    """
    if ledger is None:
        with where.open() as daemon:
            found = daemon.get("alarms")["alarms"]
    else:
        found = _alarms_in(file_of(ledger_url(ledger)))
    show(found, as_json, alarm_words)


def _alarms_in(path: Path) -> list[dict[str, Any]]:
    """The alarms that stand in a ledger, of every book."""
    reader = Reader(path)
    rows = [json.loads(row.body) for book in reader.heads() for row in reader.states(book, ROW)]
    reader.close()
    ordered = worst_first(alarm_from(row) for row in rows if row is not None)
    return [alarm_json(alarm) for alarm in ordered if alarm.stands]


def alarm_words(found: list[Mapping[str, Any]]) -> str:
    """Alarms for a terminal; under the table what each says and what to do."""
    if not found:
        return "No alarm stands."
    rows = [(one["alarm"], one["place"], _STATES.get(one["state"], one["state"]), when(one["since"]), one["count"],
             one["acknowledged_by"] or "-") for one in found]
    heads = ("Alarm", "Place", "State", "Since (UTC)", "Times", "Acknowledged by")
    told = [f"{one['title']}{', ' + one['where'] if one['where'] else ''}: {one['what']}\n  do now: {one['remedy']}"
            for one in found]
    ask = "Acknowledge one: meterctl act --as NAME alarm-acknowledged alarm=ALARM place=PLACE"
    return "\n\n".join([table(heads, rows, (4,)), *told, ask])


# ---------------------------------------------------------------------- signs


@click.command()
@of_daemon
@click.option("--json", "as_json", is_flag=True, help="the API's JSON, for machines")
def signs(where: Where, as_json: bool) -> None:
    """What each sign shows now, and whether it was told so."""
    with where.open(signed=False) as daemon:
        found = daemon.get("signs")
    show(found, as_json, sign_words)


def sign_words(found: list[Mapping[str, Any]]) -> str:
    """Signs for a terminal."""
    if not found:
        return "The configuration has no [[sign]]."
    rows = [(one["id"], one["kind"], one["table"] or "-", "yes" if one["reached"] else "no",
             when(one["told_at"]) if one["told_at"] else "never", _shown(one["shown"])) for one in found]
    return table(("Sign", "Kind", "Table", "Reached", "Told (UTC)", "Shows"), rows)


def _shown(shown: Mapping[str, Any] | None) -> str:
    if shown is None:
        return "nothing yet"
    if not shown["live"]:
        return f"NOT LIVE: {shown['why']}"
    parts = [f"{meter['name']} {meter['amount']}" for meter in shown["meters"]]
    place, win = shown["table"], shown["win"]
    if place is not None and place["state"] != "OPEN":
        parts.append(f"{place['state']}{': ' + place['why'] if place['why'] else ''}")
    if win is not None:
        parts.append(f"{win['status']} table {win['table']} seat {win['seat']} {win['award']}")
    return "; ".join([f"[{shown['environment']}]", *parts] if shown["environment"] else parts)


# ---------------------------------------------------------------------- the configuration


@click.group()
def config() -> None:
    """Changing the configuration: one proposes a file, another department looks at it and activates it."""


@config.command()
@of_daemon
@click.option("--reason", required=True, help="why; it is kept in the ledger")
@click.option("--json", "as_json", is_flag=True, help="the whole answer, for machines")
@click.argument("file", type=click.Path(path_type=Path))
def propose(where: Where, reason: str, as_json: bool, file: Path) -> None:
    """Propose the floor of FILE, a TOML file with its paytables. Nothing changes before it is activated.

    When it is active, put it in the place of the daemon's own file: lines, signs and pages are read from there.
    """
    document = dict(load(file)[0].document)
    with where.open() as daemon:
        told = daemon.act("config-proposed", {"document": document, "reason": reason})
    say(told, as_json)
    if not as_json:
        click.echo(f"Hash {told['told']['hash']}. Look at it with `meterctl config proposals`; somebody of another "
                   "department activates it.")


@config.command()
@shows
def proposals(where: Where, ledger: str | None, as_json: bool) -> None:
    """What is in force, what is proposed, with each difference in words and the hash, and what waits for a reset."""
    if ledger is None:
        with where.open() as daemon:
            found = daemon.get("configuration")
    else:
        found = _configuration_in(file_of(ledger_url(ledger)))
    show(found, as_json, proposal_words)


def _configuration_in(path: Path) -> dict[str, Any]:
    reader = Reader(path)
    plan = plan_of(reader)
    rows = {kind: {row.key: body for row in reader.states(plan.books[0], kind)
                   if (body := json.loads(row.body)) is not None} for kind in ("config-proposed", "config")}
    reasons = {entry.number: str(json.loads(entry.body)["fields"].get("reason", ""))
               for row in rows["config-proposed"].values()
               for entry in reader.entries(plan.books[0], before=row["number"] + 1, latest=1)}
    reader.close()
    return told_configuration(plan, rows["config-proposed"], rows["config"], reasons, time.time_ns() // 1_000)


def proposal_words(found: Mapping[str, Any]) -> str:
    """The configuration's changes for a terminal."""
    parts = [f"In force: {found['hash']}"]
    if found["waiting"] is not None:
        parts.append("\n".join([f"Activated, waits for the next reset of {', '.join(found['waiting']['meters'])}:",
                                *(f"  {line}" for line in found["waiting"]["differences"])]))
    parts += [_proposal(one) for one in found["proposals"]]
    if not found["proposals"]:
        parts.append("Nothing is proposed.")
    return "\n\n".join(parts)


def _proposal(one: Mapping[str, Any]) -> str:
    head = [f"Proposed: {one['hash']}",
            f"  by {one['by']} ({one['department']}), {when(one['at'])} (UTC): {one['reason']}"]
    lines = [f"  {line}" for line in [*one["differences"], *one["times"]]]
    waits = ", ".join(one["waits"])
    acts = f"  Would wait for the next reset of {waits}." if waits else "  Would act at each table's next lock-out."
    do = (f"meterctl config activate --as NAME {one['hash']} --authority WHO --approval NUMBER --approved DATE"
          if not one["outdated"] else "another configuration has come into force since: withdraw it, propose it again")
    return "\n".join([*head, *lines, acts, f"  Do now: {do}"])


@config.command()
@of_daemon
@click.option("--authority", required=True, help="who has approved it")
@click.option("--approval", required=True, help="the number of the approval")
@click.option("--approved", required=True, help="the date of the approval")
@click.option("--json", "as_json", is_flag=True, help="the whole answer, for machines")
@click.argument("hash_")
def activate(where: Where, authority: str, approval: str, approved: str, as_json: bool, hash_: str) -> None:
    """Put the proposal of this whole hash in force (`meterctl config proposals` shows what it changes)."""
    fields = {"hash": hash_, "authority": authority, "approval": approval, "approved": approved}
    with where.open() as daemon:
        told = daemon.act("config-activated", fields)
    say(told, as_json)


@config.command()
@of_daemon
@click.option("--json", "as_json", is_flag=True, help="the whole answer, for machines")
@click.argument("hash_")
def withdraw(where: Where, as_json: bool, hash_: str) -> None:
    """Take the proposal of this whole hash back."""
    with where.open() as daemon:
        told = daemon.act("config-withdrawn", {"hash": hash_})
    say(told, as_json)
