"""``meterctl slip``: a printed slip again, as the ledger has it: to a PDF file, or to an 80 mm printer.

The daemon is asked first, and says whether this copy has been given out before: once it is the original, ever after a
reprint. While no daemon runs nobody can know, so it is a reprint; that is kept, and the daemon enters it later.
"""

import json
import sys
import time
from pathlib import Path

import click

from controller.acts import KINDS, named
from controller.cli_daemon import Where, of_daemon
from controller.cli_trail import keep_export, person_who_asks
from controller.config import load
from controller.game_file import GameFile, read_game
from controller.ledger.place import HeldLedger, LedgerError, file_of, ledger_url
from controller.ledger.reader import Reader
from controller.offline import plan_of
from controller.plan import FloorPlan
from controller.register import Rows
from controller.slip import Slip
from controller.slip_escpos import NotPrinted, escpos, send
from controller.slip_of import printed_of, slip_of
from controller.slip_pdf import slip_pdf
from controller.wiring import PrinterPlan, Wiring


@click.command()
@of_daemon
@click.option("--ledger", default=None, help="path or URL of the ledger; default: of --config")
@click.option("--table", "table", required=True)
@click.option("--game", required=True, type=click.IntRange(1))
@click.option("--seat", required=True, type=click.IntRange(1))
@click.option("--spot", default="progressive", show_default=True)
@click.option("--number", default=None, type=click.IntRange(1), help="default: the award's own")
@click.option("--copy", default=1, show_default=True, type=click.IntRange(1), help="which print; 2: a reprint")
@click.option("--pdf", type=click.Path(path_type=Path), default=None, help="write it to this new file")
@click.option("--printer", default=None, help="an ESC/POS printer: its id in --config, or without that its device")
def slip(
    where: Where, ledger: str | None, table: str, game: int, seat: int, spot: str, number: int | None, copy: int,
    pdf: Path | None, printer: str | None,
) -> None:
    """Write or print a slip that people have issued (its number and copy are in the ledger), with an entry.

    Give --as NAME: once a copy comes as it was issued, afterwards it says REPRINT, and so does one that is made while
    no daemon runs. To issue a counted copy: `meterctl act slip-printed ... printer=ID`.
    """
    if (pdf is None) == (printer is None):
        raise click.UsageError("give either --pdf FILE or --printer ID")
    wiring = None if where.config is None else load(where.config)[1]
    url = ledger if ledger is not None or wiring is None else wiring.ledger_url
    if url is None:
        raise click.UsageError("name the ledger with --ledger, or the floor's file with --config")
    at_printer = None if printer is None else _printer(printer, wiring)
    path = file_of(ledger_url(url))
    reader = Reader(path)
    plan = plan_of(reader)
    if table not in plan.tables:
        raise click.UsageError(f"--table {table}: the floor has {', '.join(plan.tables)}")
    found = read_game(reader, plan, plan.tables[table].book, table, game)
    if found is None:
        raise LedgerError(f"table {table} has no game {game}")
    wanted = _number(found, seat, spot, number)
    _made(found, seat, spot, wanted, copy, given_before=True)  # what is wrong is said before anything is entered
    asked = {"table": table, "game": str(game), "seat": str(seat), "spot": spot, "number": str(wanted),
             "copy": str(copy), "to": f"{'PDF' if printer is None else f'printer {printer}'}, by meterctl"}
    given = _given_before(path, _people(reader, plan), where, asked)
    made, at = _made(found, seat, spot, wanted, copy, given_before=given)
    if pdf is not None:
        with pdf.open("xb") as file:
            file.write(slip_pdf(made, at))
        click.echo(f"Wrote {pdf}: slip {made.number}.")
        return
    if at_printer is not None:
        _print(made, at_printer)


def _people(reader: Reader, plan: FloorPlan) -> Rows:
    rows = {row.key: json.loads(row.body) for row in reader.states(plan.books[0], "person")}
    return {key: row for key, row in rows.items() if row is not None}


def _given_before(path: Path, people: Rows, where: Where, asked: dict[str, str]) -> bool:
    """Enter that a copy is given out, or keep it to be entered; whether it must say that it was before."""
    if not people:
        return True  # a floor that is being set up: the box itself is what is trusted
    try:
        held = HeldLedger(path, "meterctl slip", "now")
    except LedgerError:  # a daemon has it
        with where.open() as daemon:
            return not daemon.act("slip-given", asked)["told"]["original"]
    try:
        if where.signer is None:
            raise click.UsageError("no daemon runs: give --as NAME (the secret is asked for)")
        by = person_who_asks(path, people, where.signer, where.secret_of(where.signer))
        if by.role not in KINDS["slip-given"].by:
            raise click.UsageError(f"{by.words()} may not do this; ask {named(KINDS['slip-given'].by)}")
        place = f"table {asked['table']}, game {asked['game']}, seat {asked['seat']}"
        keep_export(path, f"slip {asked['number']}, copy {asked['copy']}, of {place}, to {asked['to']}", by)
        return True
    finally:
        held.close()


def _printer(printer: str, wiring: Wiring | None) -> PrinterPlan:
    """The printer of an id that the floor's file has, or of a device."""
    if wiring is None:
        return PrinterPlan(printer, printer, Path(printer))
    found = next((plan for plan in wiring.printers if plan.id == printer), None)
    if found is None:
        known = ", ".join(plan.id for plan in wiring.printers) or "none: see [[printer]] in docs/CONFIG.md"
        raise click.UsageError(f"--printer {printer}: the floor has {known}")
    return found


def _print(made: Slip, printer: PrinterPlan) -> None:
    try:
        send(printer.path, escpos(made, printer.columns), time.monotonic, baud=printer.baud)
    except NotPrinted as wrong:
        click.echo(str(wrong), err=True)
        sys.exit(2)
    click.echo(f"Sent slip {made.number} to {printer.name}. A printer gives no proof: look that it is whole.")


def _number(found: GameFile, seat: int, spot: str, number: int | None) -> int:
    """The number that is asked for, or that of the award's own slip; 0: none was printed."""
    one = found.award_of(seat, spot)
    return number or (one.printed[0].number if one is not None and one.printed else 0)


def _made(found: GameFile, seat: int, spot: str, number: int, copy: int, *, given_before: bool) -> tuple[Slip, int]:
    try:
        return (slip_of(found, seat, spot, number, copy, given_before=given_before),
                printed_of(found, seat, spot, number, copy).act.at)
    except LookupError as wrong:
        raise click.UsageError(f"{wrong}; print it on the page of its game first") from wrong
