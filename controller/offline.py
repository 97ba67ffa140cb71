"""A ledger looked at and put right while no daemon runs: snapshots, and the entries that people make on the box."""

from collections.abc import Callable
from pathlib import Path

from controller.board_reader import read_board
from controller.config import build
from controller.floor import Floor
from controller.ledger.place import HeldLedger, LedgerError
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, open_writer
from controller.plan import FloorPlan
from controller.snapshot import Snapshot


def plan_of(reader: Reader) -> FloorPlan:
    """The floor plan that a ledger keeps."""
    return build(reader.config_entry(next(iter(reader.heads())))[1]["document"])


def look(path: Path, version: str, at: int) -> Snapshot:
    """Everything durable in a ledger, as the pages of a daemon would show it."""
    reader = Reader(path)
    plan = plan_of(reader)
    board = read_board(reader, plan)
    reader.close()
    return Snapshot(
        plan=plan, at=at, started_at=at, version=version, entries=board.entries, meters=board.meters,
        tables=board.tables, awards=board.awards, envy=board.envy, pending_awards=board.awards_pending,
        notes=board.notes, stopped=next((why for why in board.stopped.values() if why), ""), ready=False)


def put_right(path: Path, program: str, began: str, change: Callable[[Floor], bool]) -> list[int]:
    """Let a person's ``change`` make entries on each book it concerns; returns the numbers of the last ones.

    The ledger must be free and must verify first (BadEntry); raises LedgerError when nothing was to be changed.
    """
    held = HeldLedger(path, program, began)
    try:
        verify(path, replay=True)
        reader = Reader(path)
        floors = [reader.floor(None, book) for book in reader.heads()]
        changed = [floor for floor in floors if change(floor)]
        if not changed:
            raise LedgerError(f"{path}: there is nothing to do")
        writer = open_writer(path, reader.heads())
        writer.write([Batch(floor.book, *floor.drain()) for floor in changed])
        writer.close()
        reader.close()
        return [floor.number for floor in changed]
    finally:
        held.close()
