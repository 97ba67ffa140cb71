"""What is checked before a ledger is written to: whose it is, and that no meter changed behind people's backs.

A file with a changed seed, rate, paytable, limit or policy is refused at a start: people change a meter by an activated
configuration. So is a meter without an opening, or one holding money that the configuration no longer names (CF-04).
"""

import json

from controller.config_change import changed_keys
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.plan import FloorPlan


def refuse_changes(reader: Reader, plan: FloorPlan) -> None:
    """Raise LedgerError unless ``plan`` is for this ledger and leaves its meters as they are."""
    origin = reader.origin()
    if (origin.site, origin.environment) != (plan.site, plan.environment.value):
        raise LedgerError(
            f"the ledger is of site {origin.site!r}, environment {origin.environment}; the configuration is of "
            f"{plan.site!r}, {plan.environment.value}: give the ledger's own configuration")
    books = reader.heads()
    for book in plan.books:
        if book not in books:
            raise LedgerError(f"book {book!r} has no opening in this ledger; a new book needs a new ledger")
    # What the first book is under already has been activated, or was when the ledger began: the others may follow it.
    activated = reader.plan(plan.books[0]).hash == plan.hash
    for book in books:
        _refuse_changes_of(reader, plan, book, activated)


def _refuse_changes_of(reader: Reader, plan: FloorPlan, book: str, activated: bool) -> None:
    old = reader.plan(book)
    opened = {row.key: json.loads(row.body) for row in reader.states(book, "meter")}
    opened |= {row.key: dict.fromkeys(("display", "reserve", "overflow", "pending"), 0)
               for row in reader.states(book, "unopened") if row.key not in opened}
    for meter in plan.meters.values():
        if meter.book == book and meter.id not in opened:
            raise LedgerError(f"meter {meter.id!r} has no opening in this ledger; a new meter is opened by people")
    for name, made in opened.items():
        if name in plan.meters:
            if not activated:
                _refuse_change(old, plan, name)
        elif any(made[account] for account in ("display", "reserve", "overflow", "pending")):
            raise LedgerError(f"meter {name!r} holds money, but the configuration no longer names it; put it back")
    tables = {row.key: json.loads(row.body) for row in reader.states(book, "table")}
    for name, made in tables.items():
        if made["open"] is not None and name not in plan.tables:
            raise LedgerError(f"table {name!r} has an open game, but the configuration no longer names it; put it back")
        if name in plan.tables and plan.tables[name].book != book:
            raise LedgerError(f"table {name!r} has its games in book {book!r}; link it to a meter of that book")
    for device, table in old.table_of_device.items():
        now = plan.table_of_device.get(device)
        if table.book == book and now is not None and now.book != book:
            raise LedgerError(f"unit {device!r} has its numbers in book {book!r}; put it at a table of that book")


def _refuse_change(old: FloorPlan, new: FloorPlan, name: str) -> None:
    for key in changed_keys(old, new, name):
        what = key if "rate of" not in key else f"its {key}"
        raise LedgerError(f"meter {name!r}: {what.removesuffix('_cents')} differs from the ledger's; put it back")
