"""The board as a ledger has it: the same views, from rows and entries read back at a start or offline."""

from controller.board import AWARDS_KEPT, NOTES_KEPT, Board
from controller.ledger.reader import Reader
from controller.plan import FloorPlan

_TAIL = 1_000
"""Entries read back for the latest games; refusals and the like are looked for further back."""

_NOTED = ("refused", "fault", "notice", "loss", "stop")


def read_board(reader: Reader, plan: FloorPlan) -> Board:
    """The board of every book in the ledger that the plan names."""
    board = Board(plan)
    for book, (number, _) in reader.heads().items():
        found = reader.entries(book, latest=_TAIL)
        found += reader.entries(book, latest=NOTES_KEPT, kinds=_NOTED)
        found += reader.entries(book, latest=AWARDS_KEPT, kinds=("hits",))
        entries = [entry for _, entry in sorted({entry.number: entry for entry in found}.items())]
        states = [row for kind in ("meter", "table", "book") for row in reader.states(book, kind)]
        states += reversed(reader.states(book, "award", AWARDS_KEPT))
        board.learn(book, entries, states)
        board.entries[book] = number
    return board
