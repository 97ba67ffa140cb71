"""``meterctl``: everything people and scripts ask of the controller on the command line.

Exit codes: 0 done, 1 a check failed, 2 usage, configuration, input or output, 3 ledger. As with other programs, 130 is
"interrupted" and 141 "nobody reads the output": neither says that anything was found, good or bad.
"""

import asyncio
import json
import os
import signal
import sys
import time
import urllib.parse
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import click

from controller import cli_text, losses
from controller.apply import apply as apply_file
from controller.cli_act import act
from controller.cli_daemon import Where, show, shows
from controller.cli_desk import alarms, config, signs
from controller.cli_evidence import check_file, evidence_command
from controller.cli_game import classify, settle
from controller.cli_odds import odds
from controller.cli_odds import simulate as simulate_meter
from controller.cli_people import secret, token, user
from controller.cli_reports import report
from controller.cli_signers import signed_by_two
from controller.cli_slip import slip
from controller.config import ConfigError, load
from controller.config_remarks import floor_odds, refuse_too_rare, refuse_unreleasable
from controller.describe import describe
from controller.floor import Floor
from controller.ledger.backup import backup as backup_ledger
from controller.ledger.migrate import migrate as migrate_ledger
from controller.ledger.place import HeldLedger, LedgerError, file_of, ledger_url, make_folder_of
from controller.ledger.reader import Reader
from controller.ledger.verify import BadEntry
from controller.ledger.verify import verify as verify_ledger
from controller.ledger.writer import Batch, create
from controller.listing import latest_awards, log_entry
from controller.offline import look, plan_of, put_right
from controller.plan import Environment, FloorPlan
from controller.wiring import Wiring
from firmware_bridge.device import SimulationError
from firmware_bridge.simulator import simulate

VERSION = version("progressive-meter-controller")
SYSTEM_CONFIG = Path("/etc/meterd/meterd.toml")
_DAYS_MAX = (datetime(9998, 12, 31, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days
_NUMBER_MAX = (1 << 63) - 1
"""The largest entry number that a ledger can hold."""


def clock() -> int:
    """UTC microseconds."""
    return time.time_ns() // 1_000


class Group(click.Group):
    """Turns what is known to go wrong into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except ConfigError as wrong:
            _fail(2, str(wrong))
        except BadEntry as bad:
            _fail(1, f"NOT GOOD: {bad}")
        except LedgerError as wrong:
            _fail(3, str(wrong))
        except KeyboardInterrupt:
            _fail(128 + signal.SIGINT, "Interrupted. What was answered is done; the rest may be given again.")
        except BrokenPipeError:
            _leave_output()
            sys.exit(128 + signal.SIGPIPE)
        except OSError as wrong:
            _leave_output()
            _fail(2, f"{wrong.filename or 'input or output'}: {wrong.strerror or wrong}")


def _leave_output() -> None:
    """Give up what could not be written: the interpreter would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fail(code: int, text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(code)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="meterctl")
def main() -> None:
    """Progressive meter controller: make, check, read and prove its ledger."""


_FILE = click.Path(path_type=Path)
_config = click.option("--config", "config", type=_FILE, required=True, help="the floor's TOML file")
_ledger = click.option("--ledger", "ledger", required=True, help="path or URL of the ledger")


def _load(config: Path) -> tuple[FloorPlan, Wiring]:
    return load(config)


@main.command()
@_config
@click.option("--ledger", default=None, help="path or URL; default: the configuration's [ledger] url")
def init(config: Path, ledger: str | None) -> None:
    """Make a new ledger: site, environment, configuration, and one opening for each meter."""
    plan, wiring = _load(config)
    path = file_of(ledger_url(ledger or wiring.ledger_url))
    at = clock()
    if path.exists():
        raise LedgerError(f"{path}: there is a file already; it is left as it is")
    make_folder_of(path)
    held = HeldLedger(path, "meterctl init", _now())
    try:
        create(path, [Batch(book, *Floor.opened(plan, book, at, "init").drain()) for book in plan.books])
    finally:
        held.close()
    opened = f"{len(plan.meters)} meters opened"
    click.echo(f"Made {path}: site {plan.site}, environment {plan.environment.value}, {opened}.")


@main.command()
@click.argument("config", type=click.Path(path_type=Path))
def check(config: Path) -> None:
    """Check a configuration and its paytables' odds, and print the effective floor in plain sentences."""
    plan, wiring = _load(config)
    odds_found = floor_odds(plan)
    refuse_too_rare(plan, odds_found)
    refuse_unreleasable(plan)
    click.echo(describe(plan, wiring, odds_found))


def _ask(where: Where, path: str) -> Any:
    """A JSON answer of the running daemon; somebody need sign in only where the floor page is closed to others."""
    with where.open(signed=False) as daemon:
        return daemon.get(path)


def _path(ledger: str) -> Path:
    return file_of(ledger_url(ledger))


@main.command()
@shows
def meters(where: Where, ledger: str | None, as_json: bool) -> None:
    """Every meter: amounts, parameters, counters, prize rows, linked tables."""
    if ledger is None:
        found = _ask(where, "meters")
    else:
        from controller.web import models  # slow to import, and few commands need it

        views = look(_path(ledger), VERSION, clock()).meters.values()
        found = [models.meter(view).model_dump(mode="json") for view in views]
    show(found, as_json, cli_text.meters)


@main.command()
@shows
def tables(where: Where, ledger: str | None, as_json: bool) -> None:
    """Every table: its unit's line, its latest game, and whether it may play."""
    if ledger is None:
        found = _ask(where, "tables")
    else:
        from controller.web import models  # slow to import, and few commands need it

        views = look(_path(ledger), VERSION, clock()).tables.values()
        found = [models.table(view, None).model_dump(mode="json") for view in views]
    show(found, as_json, cli_text.tables)


@main.command()
@shows
@click.option("--book", default=None, help="default: the first book of the floor")
@click.option("--count", default=50, show_default=True, type=click.IntRange(1, 500))
@click.option("--before", default=None, type=click.IntRange(2, _NUMBER_MAX), help="entries below this number")
def log(
    where: Where, ledger: str | None, as_json: bool, book: str | None, count: int, before: int | None
) -> None:
    """The ledger's entries, newest first."""
    if ledger is None:
        words = {"book": book, "count": count, "before": before}
        asked = urllib.parse.urlencode({key: word for key, word in words.items() if word is not None})
        found = _ask(where, f"log?{asked}")["entries"]
    else:
        reader = Reader(_path(ledger))
        name = book or plan_of(reader).books[0]
        if name not in (books := reader.heads()):
            raise click.UsageError(f"--book {name}: the ledger has {', '.join(books)}")
        found = [log_entry(entry) for entry in reader.entries(name, before=before, latest=count)]
    show(found, as_json, cli_text.log)


@main.command()
@shows
@click.option("--count", default=50, show_default=True, type=click.IntRange(1, 500))
def wins(where: Where, ledger: str | None, as_json: bool, count: int) -> None:
    """The latest awards, newest first, each with its state."""
    if ledger is None:
        found = _ask(where, f"wins?count={count}")
    else:
        from controller.web import models

        reader = Reader(_path(ledger))
        views = latest_awards(reader, plan_of(reader), count)
        found = [models.award(view).model_dump(mode="json") for view in views]
    show(found, as_json, cli_text.wins)


@main.command()
@_config
@_ledger
@click.option("--quiet", is_flag=True, help="print one summary instead of an answer to each message")
@click.option("--at", default=None, help="the time of all messages, like 2026-12-01T20:15:00Z (default: now)")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def apply(config: Path, ledger: str, quiet: bool, at: str | None, file: Path) -> None:
    """Apply a file of messages, one JSON object a line (- for standard input), to a ledger of apply's own."""
    plan = _load(config)[0]
    time_us = _time(at)
    out = None if quiet else sys.stdout
    if str(file) == "-" and sys.stdin is None:
        _fail(2, "-: there is no standard input")
    try:
        source = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    except OSError as wrong:
        _fail(2, f"{file}: cannot be read: {wrong.strerror}")
    with source:
        summary = apply_file(plan, ledger, source, at=time_us, clock=clock, out=out)
    if quiet:
        click.echo(json.dumps(summary))


def _time(text: str | None) -> int | None:
    """UTC microseconds of an ISO time; one without an offset is UTC."""
    if text is None:
        return None
    try:
        made = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise click.UsageError(f"--at {text}: write a time like 2026-12-01T20:15:00Z") from wrong
    made = made if made.tzinfo is not None else made.replace(tzinfo=UTC)
    since = made - datetime(1970, 1, 1, tzinfo=UTC)
    if not 0 <= since.days <= _DAYS_MAX:
        raise click.UsageError(f"--at {text}: a time from the year 1970 to 9998 is meant")
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@main.command()
@click.option("--ledger", default=None, help="path or URL of the ledger")
@click.option("--evidence", "archive", type=_FILE, default=None, help="an archive, alone or against --ledger")
@click.option("--replay", is_flag=True, help="recompute every entry by the rules of its version")
def verify(ledger: str | None, archive: Path | None, replay: bool) -> None:
    """Prove a ledger from itself alone: chain, zero sums, balances, keys. Exit 1 names the first bad entry."""
    if archive is not None:
        check_file(archive, ledger)
        return
    if ledger is None:
        raise click.UsageError("name a ledger with --ledger, or an archive with --evidence")
    for book in verify_ledger(_path(ledger), replay=replay):
        how = "every entry recomputed" if book.replayed else "chain, sums, balances and keys"
        rows = f"{book.entries:,} entries, {book.postings:,} postings"
        click.echo(f"GOOD: book {book.book}, {rows}, {how}; head {book.head}")


@main.command()
@_ledger
@click.argument("copy", type=click.Path(path_type=Path))
def backup(ledger: str, copy: Path) -> None:
    """Copy a ledger, while a daemon runs or not, to a new file COPY, and verify the copy."""
    proved = backup_ledger(_path(ledger), copy)
    entries = ", ".join(f"book {book.book} to entry {book.entries:,}" for book in proved)
    click.echo(f"Made {copy}, verified: {entries}.")


@main.command()
@_ledger
def migrate(ledger: str) -> None:
    """Bring a ledger of an older version to this one; the old file is kept. The daemon must not be running."""
    path = _path(ledger)
    held = HeldLedger(path, "meterctl migrate", _now())
    try:
        version, kept = migrate_ledger(path)
    finally:
        held.close()
    click.echo(f"Brought {path} from version {version} to the present one; the old file is {kept}.")


_by = click.option("--by", "names", multiple=True, metavar="NAME", help="given twice: the two people who sign")
_stdin = click.option("--secret-stdin", is_flag=True, help="read their secrets from standard input, one a line")


@main.command()
@_ledger
@click.option("--reason", required=True, help="what was found and done; it is kept in the ledger")
@_by
@_stdin
def clear(ledger: str, reason: str, names: tuple[str, ...], secret_stdin: bool) -> None:
    """Clear a stopped book, once `verify --replay` passes; two people sign. The daemon must not be running."""
    reason += signed_by_two(_path(ledger), names, from_stdin=secret_stdin)

    def change(floor: Floor) -> bool:
        if floor.stopped:
            floor.clear(reason, clock())
            return True
        return False

    numbers = put_right(_path(ledger), "meterctl clear", _now(), change)
    click.echo(f"Cleared: entry {', '.join(str(number) for number in numbers)}. Start meterd again.")


@main.command(name="accept-loss")
@_ledger
@click.option("--table", "table", required=True)
@click.option("--reason", required=True, help="what was found; it is kept in the ledger")
@_by
@_stdin
def accept_loss(ledger: str, table: str, reason: str, names: tuple[str, ...], secret_stdin: bool) -> None:
    """Accept that a table unit lost messages, or that its totals differ, while no daemon runs; two people sign."""
    reason += signed_by_two(_path(ledger), names, from_stdin=secret_stdin)

    def change(floor: Floor) -> bool:
        if table not in floor.tables or floor.tables[table].loss is None:
            return False
        losses.accept_loss(floor, table, reason, clock())
        return True

    numbers = put_right(_path(ledger), "meterctl accept-loss", _now(), change)
    click.echo(f"Accepted: entry {numbers[0]}. Nothing was added to a meter. Start meterd again.")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@main.command(name="simulate-device")
@click.option("--device", required=True, help="the table unit's id, like hub-01")
@click.option("--seats", default=6, show_default=True, type=click.IntRange(1, 64))
@click.option("--target", required=True, help="pty:LINK, a serial port, tcp://host:port or mqtt://user@host:port/site")
@click.option("--script", type=_FILE, default=None, help="a file of actions; default: random games")
@click.option("--faults", default="", help="like drop=0.05,dup=0.02,bitflip=0.01,reboot=0.001")
@click.option("--seed", type=int, default=None)
@click.option("--pace", default=2.0, show_default=True, help="seconds for each step of a random game")
@click.option("--hit-rate", default=0.05, show_default=True, help="how likely a wager wins something")
@click.option("--password-file", type=click.Path(path_type=Path), default=None)
@click.option("--baud", default=115_200, show_default=True)
@click.option("--config", type=click.Path(path_type=Path), default=None, help="refuse this floor's ports if production")
def simulate_device(target: str, config: Path | None, **options: Any) -> None:
    """Play a table unit: random games or a script, with faults if wanted. Never on a production floor."""
    for known in {config, SYSTEM_CONFIG} - {None}:
        if known is not None and (known == config or known.exists()):
            _refuse_production(known, target)

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await simulate(options.pop("device"), options.pop("seats"), target, stop=stop, **options)

    try:
        asyncio.run(run())
    except SimulationError as wrong:
        _fail(2, str(wrong))


def _refuse_production(config: Path, target: str) -> None:
    plan, wiring = _load(config)
    if plan.environment is not Environment.PRODUCTION:
        return
    ports = {line.serial.port for line in wiring.lines}
    ports |= {sign.serial.port for sign in wiring.signs if sign.serial is not None}
    broker = f"{wiring.mqtt.host}:{wiring.mqtt.port}" if wiring.mqtt is not None else None
    place = target.removeprefix("pty:")
    same = any(place == port or Path(place).resolve() == Path(port).resolve() for port in ports if "://" not in port)
    if same or place in ports or (broker is not None and broker in target):
        _fail(2, f"{target} belongs to the production floor of {config}: a simulated unit is never let on it")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--port", default=None, type=click.IntRange(1, 65_535), help="of its pages; default: a free one")
def training(folder: Path, port: int | None) -> None:
    """Run a training floor in FOLDER until Ctrl-C: simulated tables, its own ledger, people to practise as.

    FOLDER is new or empty, or a training floor of before, which goes on; any other folder is left untouched.
    """
    from controller.demo import free_port, play  # it starts other programs, and no other command needs it

    sys.exit(play(folder, port or free_port()))


for command in (
    act, alarms, classify, config, odds, report, secret, settle, signs, simulate_meter, slip, token, user,
):
    main.add_command(command)
main.add_command(evidence_command(clock, f"meterctl {VERSION}"))

if __name__ == "__main__":
    main()
