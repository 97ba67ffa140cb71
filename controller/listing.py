"""What ``log`` and ``wins`` list: entries and awards read back from a ledger, for the API and the command line."""

import json
from typing import Any

from controller.board import award_views
from controller.journal import Entry
from controller.ledger.reader import Reader
from controller.plan import FloorPlan
from controller.snapshot import AwardView


def log_entry(entry: Entry) -> dict[str, Any]:
    """One entry as JSON: its columns, its body, and its postings."""
    made = entry._asdict()
    made["body"] = json.loads(entry.body)
    made["postings"] = [posting._asdict() for posting in entry.postings]
    return made


def latest_awards(reader: Reader, plan: FloorPlan, count: int) -> list[AwardView]:
    """The ``count`` latest awards of all books, newest first."""
    made: list[AwardView] = []
    for book in plan.books:
        for row in reader.states(book, "award", count):
            table, game = row.key.rsplit("/", 1)
            if table in plan.tables:
                made += reversed(award_views(plan.tables[table], int(game), json.loads(row.body))[0])
    return sorted(made, key=lambda award: -award.at)[:count]
