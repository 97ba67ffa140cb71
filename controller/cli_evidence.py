"""``meterctl evidence`` makes one archive about a dispute; ``check_file`` is ``meterctl verify --evidence``."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import NoReturn
from zipfile import BadZipFile, ZipFile

import click

from controller.cli_trail import keep_export
from controller.config import load
from controller.evidence import Asked, Made, NotThere, hashes_in, make
from controller.evidence_check import BadEvidence, Checked, check, digest_of, shown
from controller.gaming_day import gaming_day, instant, microseconds
from controller.ledger.place import file_of, ledger_url
from controller.ledger.ranges import Ranges
from controller.plan import FloorPlan
from controller.reports.report import format_exact

_FILE = click.Path(path_type=Path, dir_okay=False)


class Refused(click.ClickException):
    """What was asked for cannot be made: one line on standard error, exit code 2."""

    exit_code = 2


def evidence_command(clock: Callable[[], int], program: str) -> click.Command:
    """``meterctl evidence``. ``clock``: UTC microseconds; ``program``: the name and version of this program."""

    @click.command()
    @click.option("--ledger", default=None, help="path or URL of the ledger; default: of --config")
    @click.option("--config", type=_FILE, default=None, help="the floor's TOML file, whose ledger it is")
    @click.option("--out", type=_FILE, required=True, help="the archive to make, like table-7.zip; it must be new")
    @click.option("--by", required=True, help="who asks, and why; it is kept in the archive")
    @click.option("--award", default=None, help="TABLE/GAME/SEAT")
    @click.option("--table", default=None, help="with --game, or with --from and --to")
    @click.option("--game", default=None, type=click.IntRange(1))
    @click.option("--from", "since", default=None, help="a date, or a time like 2026-12-01T20:15, by the floor's clock")
    @click.option("--to", "until", default=None, help="the same; a date is that gaming day's end")
    @click.option("--whole", is_flag=True, help="hold every entry up to the newest, however many")
    def evidence(
        ledger: str | None, config: Path | None, out: Path, by: str, award: str | None, table: str | None,
        game: int | None, since: str | None, until: str | None, whole: bool,
    ) -> None:
        """One archive about an award, a game or a table's hours: entries, signs, lamps, lines, keys, programs, hashes.

        The ledger is not touched, and the daemon may run. Write down the SHA-256 that is printed.
        """
        path = _ledger_of(ledger, config)
        try:
            asked = _asked(path, award, table, game, since, until)
            made = make(path, out, asked, by=by, at=clock(), program=program, whole=whole)
        except NotThere as wrong:
            raise Refused(str(wrong)) from wrong
        try:
            keep_export(path, f"{made.manifest['what']}, for {by}")
        except SystemExit:
            out.unlink()
            raise
        _say_made(out, made)
        check_file(out, None)

    return evidence


def _ledger_of(ledger: str | None, config: Path | None) -> Path:
    if ledger is None and config is None:
        raise click.UsageError("name the ledger with --ledger, or the floor's file with --config")
    url = ledger if ledger is not None or config is None else load(config)[1].ledger_url
    return file_of(ledger_url(url or ""))


def _asked(
    path: Path, award: str | None, table: str | None, game: int | None, since: str | None, until: str | None
) -> Asked:
    if award is not None:
        parts = award.split("/")
        if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()) or table or game or since or until:
            raise click.UsageError(f"--award {award}: write TABLE/GAME/SEAT like PG-01/41/3, nothing else with it")
        return Asked(parts[0], int(parts[1]), int(parts[2]))
    if table is None:
        raise click.UsageError("say about what: --award TABLE/GAME/SEAT, --table with --game, or --table --from --to")
    if game is not None and since is None and until is None:
        return Asked(table, game)
    if game is not None or since is None or until is None:
        raise click.UsageError("with --table goes either --game, or both --from and --to")
    links = Ranges(path)
    try:
        plan = links.plan_at(links.books()[0], None)
    finally:
        links.close()
    start, end = _moment(plan, since, ends=False), _moment(plan, until, ends=True)
    if start >= end:
        raise click.UsageError(f"--from {since} --to {until}: the end must come after the beginning")
    return Asked(table, start=start, end=end)


def _moment(plan: FloorPlan, text: str, *, ends: bool) -> int:
    """An instant as written: a date is a gaming day, a time without an offset is the floor's wall clock."""
    try:
        if len(text) == 10:
            day = gaming_day(plan.timezone, plan.gaming_day_start, date.fromisoformat(text))
            return day.end if ends else day.start
        made = datetime.fromisoformat(text)
        return microseconds(made) if made.tzinfo is not None else instant(plan.timezone, made)
    except (ValueError, OverflowError) as wrong:
        raise click.UsageError(f"{text[:40]}: write a date like 2026-12-01, or a time like 2026-12-01T20:15") from wrong


def _say_made(out: Path, made: Made) -> None:
    manifest = made.manifest
    click.echo(f"Made {out}: {manifest['what']}, {manifest['entries_asked_about']:,} entries asked about, "
               f"{manifest['history']['lines']:,} lines of history.")
    click.echo(f"SHA-256 {made.sha256}  (write it down elsewhere)")


def check_file(file: Path, ledger: str | None) -> None:
    """Prove an archive, and that its entries are those of a ledger if one is named; exit code 1 says what is wrong."""
    try:
        with file.open("rb") as whole:
            digest = digest_of(whole)[1]
        with ZipFile(file) as archive:
            found = check(archive)
    except BadZipFile as wrong:
        _not_good(file, f"no archive, or a damaged one: {wrong}")
    except BadEvidence as bad:
        _not_good(file, *bad.wrong)
    if ledger is not None:
        _compare(file, found, file_of(ledger_url(ledger)))
    _say_checked(file, found, digest, against=ledger is not None)


def _not_good(file: Path, *wrong: str) -> NoReturn:
    for line in wrong:
        click.echo(f"NOT GOOD: {file}: {line}", err=True)
    raise SystemExit(1)


def _compare(file: Path, found: Checked, ledger: Path) -> None:
    """The last entry of each run stands for all before it in the run: it must be the ledger's own."""
    theirs = hashes_in(ledger, found.manifest["book"], list(found.hashes))
    wrong = [f"entry {number} is not the one in {ledger}" for number, held in found.hashes.items()
             if theirs.get(number) != held]
    if wrong:
        _not_good(file, *wrong[:20])


def _say_checked(file: Path, found: Checked, digest: str, *, against: bool) -> None:
    manifest = found.manifest
    head = manifest["head"]
    click.echo(f"GOOD: {file}: {shown(manifest.get('what'), 200)}; {found.entries:,} entries of "
               f"book {shown(manifest['book'])}, "
               f"hashes, links, sums and balances hold")
    for meter in found.meters:
        click.echo(f"  {shown(meter.meter)}: {format_exact(meter.start)} after entry {meter.since}, "
                   f"+ {format_exact(meter.contributed)} contributed, + {format_exact(meter.house)} from the house, "
                   f"- {format_exact(meter.awarded)} awarded = {format_exact(meter.end)} after entry {meter.until} "
                   f"(shown, next-jackpot money and above the limit together)")
    click.echo(f"  head {head['number']:,} {head['hash']}; archive SHA-256 {digest}")
    if against:
        click.echo("  every run of entries is the ledger's own")
    elif not found.whole:
        click.echo("  not all entries up to the head are here: compare them with the ledger or a backup "
                   "(--ledger), or make the archive with --whole")
