"""``meterctl report``: the reports of docs/REPORTS.md from a ledger, while a daemon runs or not. Never writes to it.

What is taken away as CSV, JSON or PDF is kept beside it for the audit trail.

Exit code 1 when an equation of the report does not hold.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import click

from controller.begun import sign_told
from controller.cli_text import table as laid_out
from controller.cli_trail import keep_export
from controller.config import load
from controller.ledger.place import file_of, ledger_url
from controller.ledger.ranges import Ranges
from controller.reports.as_csv import as_csv
from controller.reports.as_pdf import as_pdf
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, Scope, scope_of
from controller.reports.report import Kind, Report, Table, as_json, cell_text

PACKAGE = "progressive-meter-controller"
_RIGHT = (Kind.MONEY, Kind.EXACT, Kind.COUNT)


@click.command()
@click.argument("name", type=click.Choice(list(REPORTS)))
@click.option("--ledger", required=True, help="path or URL of the ledger")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), default=None,
              help="the floor's TOML file: its signs, for a day whose signs the ledger does not tell")
@click.option("--day", default=None, help="a gaming day, like 2026-11-01")
@click.option("--from", "since", default=None, help="a date (its gaming day's beginning) or a time; with --to")
@click.option("--to", "until", default=None, help="a date (its gaming day's end) or a time")
@click.option("--meter", default=None, help="only this meter")
@click.option("--table", default=None, help="only this table")
@click.option("--csv", "csv", is_flag=True, help="CSV on standard output")
@click.option("--json", "as_json_", is_flag=True, help="JSON, for machines; money in the unit of its column's kind")
@click.option("--pdf", "pdf", type=click.Path(path_type=Path, dir_okay=False), default=None, help="a PDF to write")
def report(
    name: str, ledger: str, config: Path | None, day: str | None, since: str | None, until: str | None,
    meter: str | None, table: str | None, csv: bool, as_json_: bool, pdf: Path | None,
) -> None:
    """The report NAME of a gaming day (--day) or a range (--from, --to); exit 1 if something does not add up."""
    if csv + as_json_ + (pdf is not None) > 1:
        raise click.UsageError("choose one of --csv, --json and --pdf")
    path = file_of(ledger_url(ledger))
    ranges = Ranges(path)
    try:
        try:
            scope = scope_of(ranges, AskedFor(day, since, until, meter, table))
        except ValueError as wrong:
            raise click.UsageError(str(wrong)) from wrong
        signs = () if config is None else tuple(sign_told(sign) for sign in load(config)[1].signs)
        scope = scope._replace(version=version(PACKAGE), signs=signs)
        made = REPORTS[name].make(ranges, scope)
    finally:
        ranges.close()
    if csv or as_json_ or pdf is not None:
        form = "CSV" if csv else "JSON" if as_json_ else "PDF"
        filters = ", ".join(text for text in (day, since, until, meter, table) if text is not None)
        keep_export(path, f"report {name} as {form}, {filters}")
    if pdf is not None:
        pdf.write_bytes(as_pdf(made, scope.zone, scope.end))
        click.echo(f"Made {pdf}.")
    elif csv:
        sys.stdout.buffer.write(as_csv(made, scope.zone))
    else:
        click.echo(json.dumps(as_json(made), indent=2) if as_json_ else report_text(made, scope))
    if not made.holds:
        click.echo("NOT GOOD: " + "; ".join(check.what for check in made.checks if not check.holds), err=True)
        sys.exit(1)


def report_text(made: Report, scope: Scope) -> str:
    """A report for a terminal."""
    width = max(len(name) for name, _ in made.facts)
    parts = [f"{made.title}\n" + "\n".join(f"{name.ljust(width)}  {fact}" for name, fact in made.facts)]
    parts += [_table(each, scope) for each in made.tables]
    if made.checks:
        parts.append("\n".join(
            f"{'holds' if check.holds else 'DOES NOT HOLD'}: {check.what}: "
            + " = ".join(cell_text(check.kind, side, scope.zone) for side in (check.left, check.right))
            for check in made.checks))
    if made.notes:
        parts.append("\n".join(made.notes))
    return "\n\n".join(parts)


def _table(each: Table, scope: Scope) -> str:
    rows = [[cell_text(column.kind, cell, scope.zone) for column, cell in zip(each.columns, row, strict=True)]
            for row in (*each.rows, *((each.totals,) if each.totals else ()))]
    if not rows:
        return f"{each.title}: nothing in this range"
    if each.totals and "" in rows[-1]:
        rows[-1][rows[-1].index("")] = "Total"
    right = [place for place, column in enumerate(each.columns) if column.kind in _RIGHT]
    made = f"{each.title}\n" + laid_out([column.head for column in each.columns], rows, right)
    return made + (f"\n{each.left_off:,} more rows are in the totals only" if each.left_off else "")
