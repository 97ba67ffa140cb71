"""Which reports there are, by name: the one list for pages, command line and docs/REPORTS.md. Pure."""

from collections.abc import Callable
from typing import NamedTuple

from controller.reports.changes import changes
from controller.reports.corrections import corrections
from controller.reports.derivation import derivation
from controller.reports.due import due_list
from controller.reports.faults import faults
from controller.reports.filing import filing
from controller.reports.liability import liability, open_items
from controller.reports.meters import displayed, meter_sheet
from controller.reports.payments import payments
from controller.reports.reading import Reading, Scope
from controller.reports.reconciliation import reconciliation
from controller.reports.report import Report
from controller.reports.reserve import adjustments, reserve
from controller.reports.slips import slips
from controller.reports.software import software_report
from controller.reports.tables import contribution, table_sheet
from controller.reports.wins import wins


class Named(NamedTuple):
    """One report: its name in addresses and commands, its title, what it says, and how it is made."""

    name: str
    title: str
    words: str
    make: Callable[[Reading, Scope], Report]


REPORTS: dict[str, Named] = {each.name: each for each in (
    Named("reconciliation", "Reconciliation", "opening + contributions + seeds - awards = closing; wagers and chips",
          reconciliation),
    Named("meter-sheet", "Meter sheet", "every meter with its parameters and lifetime totals", meter_sheet),
    Named("displayed", "Daily displayed amounts", "what the signs had to show, and a sheet to write what they did",
          displayed),
    Named("table-sheet", "Table sheet per shift", "wagers, awards, payments, misdeals, count differences by table",
          table_sheet),
    Named("contribution", "Contribution by table", "what each table gave to each meter", contribution),
    Named("derivation", "Jackpot derivation", "every contribution since the jackpot before, up to the award",
          derivation),
    Named("wins", "Hits and wins by level", "how often each hand hit, and every win", wins),
    Named("payments", "Payments and tax withheld", "awards paid gross, withheld and net; everything paid out by day",
          payments),
    Named("reserve", "Next-jackpot money and above the limit", "every movement of both", reserve),
    Named("liability", "Liability", "meters, next-jackpot money, pending, envy owed, seed exposure", liability),
    Named("open-items", "Open items", "awards and envy to pay, and everything else that waits for people", open_items),
    Named("adjustments", "Adjustments and transfers", "money that moved without a wager or a win", adjustments),
    Named("corrections", "Misdeals, corrections, overrides", "by table, shift and person", corrections),
    Named("slips", "Slip register", "every slip, and missing numbers", slips),
    Named("changes", "Configuration changes", "each key from what to what; people's rights", changes),
    Named("faults", "Faults and alarms", "what was not accepted, lost, stopped or noticed; alarms", faults),
    Named("filing", "Filing sheet", "rates, split, odds, limits, roles, software, tables, signs", filing),
    Named("software", "Software verification", "what ran, with the hashes of program, libraries and configuration",
          software_report),
    Named("due", "Due list", "what people must do, where, by when; what is overdue", due_list),
)}
"""Every report by its name, in the order of the page."""
