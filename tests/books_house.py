"""The books of a daemon on a real ledger, with a writer that can be slow, fail, or report what is not so."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from controller.board_reader import read_board
from controller.books import Books
from controller.ledger.place import writing_engine
from controller.ledger.reader import Reader
from controller.ledger.writer import Batch, Writer
from controller.metrics import Stats
from controller.plan import FloorPlan
from controller.taken import Taken
from firmware_bridge.message_types import Numbered
from firmware_bridge.messages import decode_json
from tests.ledger_house import AT, Json, contract_plan

DEADLINE_S = 15.0


class MoodyWriter(Writer):
    """The real writer, with something before and after each batch, and a gate that can be shut."""

    def __init__(self, path: Path, reader: Reader) -> None:
        super().__init__(writing_engine(path), reader.heads())
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()
        self.before: Callable[[int], None] = lambda call: None
        self.after: Callable[[int], None] = lambda call: None

    def write(self, batches: Sequence[Batch]) -> None:
        """Write when the gate is open."""
        self.calls += 1
        call = self.calls
        assert self.gate.wait(DEADLINE_S)
        self.before(call)
        super().write(batches)
        self.after(call)


class BooksHouse:
    """Books, their board, and the answers that came. Use with ``async with``."""

    def __init__(self, path: Path, plan: FloorPlan | None = None) -> None:
        self.path, self.plan = path, plan or contract_plan()
        self.reader = Reader(path)
        self.writer = MoodyWriter(path, self.reader)
        self.stats, self.answers, self.changes = Stats(), list[Taken](), 0
        self.at = AT
        """What the clock of the books shows."""

    async def __aenter__(self) -> "BooksHouse":
        floors = {book: self.reader.floor(self.plan, book) for book in self.plan.books}
        self.board = read_board(self.reader, self.plan)
        self.books = Books(self.plan, floors, self.board, self.reader, self.writer, self.stats, lambda: self.at,
                           time.monotonic, self._changed)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.gate.set()
        await self.books.close(5.0)
        self.writer.close()
        self.reader.close()

    def _changed(self) -> None:
        self.changes += 1

    def take(self, *messages: Json) -> list[bool]:
        """Whether the books took each message."""
        return [self.books.take(message_of(one), self.answers.append) for one in messages]

    def shown(self, meter: str = "pg-link") -> int:
        """What the board shows of a meter, in microcents."""
        return self.board.meters[meter].display_microcents

    async def until(self, reached: Callable[[], object]) -> None:
        """Wait for a condition, at most ``DEADLINE_S``."""
        ends = time.monotonic() + DEADLINE_S
        while not reached():
            assert time.monotonic() < ends, "it did not come about in time"
            await asyncio.sleep(0.005)

    async def send(self, message: Json) -> Taken:
        """Send a message as a unit does: again and again until it is answered."""
        count = len(self.answers)
        ends = time.monotonic() + DEADLINE_S
        while len(self.answers) == count:
            assert time.monotonic() < ends, "it was never answered"
            self.take(message)
            await asyncio.sleep(0.01)
        return self.answers[count]


def message_of(made: Json) -> Numbered:
    """The message in a JSON object."""
    message = decode_json(json.dumps(made).encode())
    assert hasattr(message, "seq")
    return message  # type: ignore[return-value]
