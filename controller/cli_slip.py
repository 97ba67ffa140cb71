"""``meterctl slip``: a printed slip again, as the ledger has it: to a PDF file, or to an 80 mm printer."""

import sys
import time
from pathlib import Path

import click

from controller.config import load
from controller.game_file import GameFile, read_game
from controller.ledger.place import LedgerError, file_of, ledger_url
from controller.ledger.reader import Reader
from controller.offline import plan_of
from controller.slip import Slip
from controller.slip_escpos import NotPrinted, escpos, send
from controller.slip_of import printed_of, slip_of
from controller.slip_pdf import slip_pdf
from controller.wiring import PrinterPlan, Wiring


@click.command()
@click.option("--ledger", default=None, help="path or URL of the ledger; a daemon may be running on it")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), default=None,
              help="the floor's TOML file: its ledger, and its printers by their ids")
@click.option("--table", "table", required=True)
@click.option("--game", required=True, type=click.IntRange(1))
@click.option("--seat", required=True, type=click.IntRange(1))
@click.option("--spot", default="progressive", show_default=True)
@click.option("--number", default=None, type=click.IntRange(1), help="default: the award's own")
@click.option("--copy", default=1, show_default=True, type=click.IntRange(1), help="which print; 2: a reprint")
@click.option("--pdf", type=click.Path(path_type=Path), default=None, help="write it to this new file")
@click.option("--printer", default=None, help="an ESC/POS printer: its id in --config, or without that its device")
def slip(
    ledger: str | None, config: Path | None, table: str, game: int, seat: int, spot: str, number: int | None, copy: int,
    pdf: Path | None, printer: str | None,
) -> None:
    """Write or print a slip that people have issued (its number and copy are in the ledger).

    To issue and print one in one step, with an entry: `meterctl act slip-printed ... printer=ID`.
    """
    if (pdf is None) == (printer is None):
        raise click.UsageError("give either --pdf FILE or --printer ID")
    wiring = None if config is None else load(config)[1]
    url = ledger if ledger is not None or wiring is None else wiring.ledger_url
    if url is None:
        raise click.UsageError("name the ledger with --ledger, or the floor's file with --config")
    at_printer = None if printer is None else _printer(printer, wiring)
    reader = Reader(file_of(ledger_url(url)))
    plan = plan_of(reader)
    if table not in plan.tables:
        raise click.UsageError(f"--table {table}: the floor has {', '.join(plan.tables)}")
    found = read_game(reader, plan, plan.tables[table].book, table, game)
    if found is None:
        raise LedgerError(f"table {table} has no game {game}")
    made, at = _made(found, seat, spot, number, copy)
    if pdf is not None:
        with pdf.open("xb") as file:
            file.write(slip_pdf(made, at))
        click.echo(f"Wrote {pdf}: slip {made.number}.")
        return
    if at_printer is not None:
        _print(made, at_printer)


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


def _made(found: GameFile, seat: int, spot: str, number: int | None, copy: int) -> tuple[Slip, int]:
    one = found.award_of(seat, spot)
    wanted = number or (one.printed[0].number if one is not None and one.printed else 0)
    try:
        return slip_of(found, seat, spot, wanted, copy), printed_of(found, seat, spot, wanted, copy).act.at
    except LookupError as wrong:
        raise click.UsageError(f"{wrong}; print it on the page of its game first") from wrong
