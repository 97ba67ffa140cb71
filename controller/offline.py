"""A ledger looked at and put right while no daemon runs: snapshots, and the entries that people make on the box."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from controller.board_reader import read_board
from controller.floor import Floor
from controller.ledger.place import HeldLedger, LedgerError, inspect_file
from controller.ledger.reader import Reader, tell
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, open_writer
from controller.meter import BrokenInvariant
from controller.plan import FloorPlan
from controller.snapshot import Snapshot
from controller.taken import Asked
from controller.waiting_config import agreed_of, spread


def plan_of(reader: Reader) -> FloorPlan:
    """The floor plan that a ledger keeps."""
    books = list(reader.heads())
    if not books:
        raise LedgerError("the ledger has no entries; restore a backup")
    return reader.plan(books[0])


def look(path: Path, version: str, at: int) -> Snapshot:
    """Everything durable in a ledger, as the pages of a daemon would show it."""
    reader = Reader(path)
    plan = plan_of(reader)
    board = read_board(reader, plan)
    reader.close()
    return Snapshot(
        plan=plan, at=at, started_at=at, version=version, entries=board.entries, meters=board.meters,
        tables=board.tables, awards=board.awards, envy=board.envy, pending_awards=board.awards_pending,
        waiting=board.waiting, notes=board.notes,
        stopped=next((why for why in board.stopped.values() if why), ""), ready=False)


def put_right(path: Path, program: str, began: str, change: Callable[[Floor], bool]) -> list[int]:
    """Let a person's ``change`` make entries on each book it concerns; returns the numbers of the last ones.

    The ledger must be free and must verify first (BadEntry); raises LedgerError when nothing was to be changed.
    """
    inspect_file(path)
    held = HeldLedger(path, program, began)
    try:
        verify(path, replay=True)
        reader = Reader(path)
        floors = [reader.floor(None, book) for book in reader.heads()]
        for floor in floors:
            _recall_losses(reader, floor)
        before = {floor.book: agreed_of(floor) for floor in floors}
        changed = [floor for floor in floors if change(floor)]
        if not changed:
            raise LedgerError(f"{path}: there is nothing to do")
        for floor in [one for one in changed if one.entries]:  # what was held may have won what a change waits for
            spread(floors, floor, floor.entries[-1].at, before[floor.book])
        writer = open_writer(path, reader.heads())
        writer.write([Batch(floor.book, *floor.drain()) for floor in floors if floor.entries or floor in changed])
        writer.close()
        reader.close()
        return [floor.number for floor in changed]
    except BrokenInvariant as broken:
        raise LedgerError(f"{path}: the books do not add up, nothing was written: {broken}") from broken
    finally:
        held.close()


def _recall_losses(reader: Reader, floor: Floor) -> None:
    """A boot that lost messages may have spoken long ago: the floor must know it, and what its held ones name."""
    for table in floor.tables.values():
        if table.loss is not None:
            asked = Asked(table.plan.device, table.loss["boot"], None)
            floor.remember(asked, reader.recall(floor.book, asked))
            boot = floor.boots.get((asked.device, asked.boot))
            for message in list(boot.held.values()) if boot is not None else []:
                tell(floor, message, partial(reader.recall, floor.book))
