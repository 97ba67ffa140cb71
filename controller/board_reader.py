"""The board as a ledger has it: the same views, from rows and entries read back."""

import json

from controller.award import OPEN
from controller.board import AWARDS_KEPT, NOTES_KEPT, WAITING_KEPT, Board
from controller.floor_state import StateRow
from controller.ledger.reader import Reader
from controller.plan import FloorPlan

_TAIL = 1_000
"""Entries read back for the latest games; open games, refusals and the like are looked for further back."""

_CORRECTED = ("wager-added", "wager-removed", "count-closed")
_NOTED = ("refused", "fault", "notice", "loss", "stop")


def read_board(reader: Reader, plan: FloorPlan) -> Board:
    """The board of every book in the ledger that the plan names."""
    board = Board(plan)
    for book, (number, _) in reader.heads().items():
        tables, awards = reader.states(book, "table"), reader.states(book, "award", AWARDS_KEPT)
        numbers = {json.loads(row.body)["entry"] for row in awards} | _open_locks(reader, plan, book, tables)
        found = reader.entries(book, latest=_TAIL)
        for kinds in (_NOTED, _CORRECTED):
            found += reader.entries(book, latest=NOTES_KEPT, kinds=kinds)
        found += reader.entries(book, latest=len(numbers), numbers=numbers)
        entries = [entry for _, entry in sorted({entry.number: entry for entry in found}.items())]
        older = {row.key: row for state in sorted(OPEN)
                 for row in reader.states(book, "award", WAITING_KEPT, having=f'"state":"{state}"')}
        older |= {row.key: row for row in awards}
        states = [*reader.states(book, "alarm"), *reader.states(book, "meter"), *tables, *reader.states(book, "book"),
                  *sorted(older.values(), key=lambda row: row.number), *reader.people_rows(book)]
        board.learn(book, entries, states)
        board.entries[book] = number
    # State rows come in the order in which they last changed; people look for a meter where the floor file has it.
    board.meters = {meter: board.meters[meter] for meter in plan.meters if meter in board.meters}
    return board


def _open_locks(reader: Reader, plan: FloorPlan, book: str, tables: list[StateRow]) -> set[int]:
    """The lock-outs of the games that are open, however long ago: their lamps are lit by them."""
    found = set()
    for row in tables:
        game = json.loads(row.body)["open"]
        if game is not None and row.key in plan.tables:
            number = reader.latest_lock(book, plan.tables[row.key].device, game["boot"])
            found |= {number} if number is not None else set()
    return found


def catch_up(board: Board, reader: Reader) -> None:
    """Let a board learn what became durable without its knowledge: a commit that reported a failure (MO-06, DI-07)."""
    for book, (number, _) in reader.heads().items():
        since = board.entries.get(book, 0)
        if number > since:
            entries = reversed(reader.entries(book, latest=number - since))
            kept = [row for kind in ("alarm", "meter", "table", "book") for row in reader.states(book, kind)]
            kept += [*reversed(reader.states(book, "award", AWARDS_KEPT)), *reader.people_rows(book)]
            board.learn(book, entries, [row for row in kept if row.number > since])
