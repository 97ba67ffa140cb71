"""``meterctl apply``: a file of messages drives the engine without any line; one answer a message (design section 7).

The same code path as the daemon's from intake on. Answers are given only after their entries are durable.
"""

import gc
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from controller.floor import Floor
from controller.intake import NotTaken, read_json
from controller.ledger.place import HeldLedger, LedgerError, file_of, ledger_url, make_folder_of
from controller.ledger.reader import Reader, tell
from controller.ledger.verify import BadEntry, verify_tail
from controller.ledger.writer import Batch, Writer, create, open_writer
from controller.meter import BrokenInvariant
from controller.plan import FloorPlan
from controller.start import refuse_changes
from controller.taken import Asked, Recalled, Taken, amounts_answer
from controller.waiting_config import agreed_of, spread
from firmware_bridge.messages import MESSAGE_BYTES_MAX, Heard, Heartbeat, Hello

MADE_BY = "apply"
BATCH_MESSAGES = 1_000
GARBAGE_AFTER = 50_000
"""Objects between two looks for garbage: messages make many objects and no cycles."""
_BLANK = b" \t\r\n"


class Run:
    """One run over one file. ``totals`` counts results; ``line`` is the line being read."""

    def __init__(
        self, plan: FloorPlan, floors: dict[str, Floor], writer: Writer, reader: Reader, at: int | None
    ) -> None:
        self._plan, self._floors, self._writer, self._reader, self._at = plan, floors, writer, reader, at
        self._answers: list[Taken | dict[str, Any]] = []
        self._writing: Future[None] | None = None
        self._unsaid: list[Taken | dict[str, Any]] = []
        self._thread = ThreadPoolExecutor(1, "ledger writer")
        self._out: TextIO | None = None
        self._waiting = 0
        self._forget_due = False
        self.totals = dict.fromkeys(("messages", "posted", "duplicate", "held", "refused", "fault"), 0)

    def read(self, file: BinaryIO, clock: Any, out: TextIO | None) -> None:
        """Read every line, answering each message on ``out`` (None: count only) once it is durable.

        While one batch is being written the next one is computed.
        """
        self._out = out
        gc.set_threshold(GARBAGE_AFTER)
        with self._thread:
            for number, line in lines(file):
                text = line.strip(_BLANK)
                if not text:
                    continue
                self.totals["messages"] += 1
                self._one(number, text, self._at if self._at is not None else clock())
                if self._waiting >= BATCH_MESSAGES:
                    self._write()
                if self._forget_due:
                    self._forget()
            self._write()
            self._answer()

    def _one(self, number: int, text: bytes, at: int) -> None:
        self._waiting += 1
        message = read_json(self._plan, text)
        if isinstance(message, NotTaken):
            if not message.pulse:
                self._answers.append({"line": number, "result": "refused", "reason": message.reason.value})
        elif isinstance(message, Hello | Heartbeat | Heard):
            self._hear(message.device, message.boot, at)
        elif message is not None:
            floor = self._floor_of(message.device)
            tell(floor, message, partial(self._recall, floor))
            before = agreed_of(floor)
            self._answers.extend(floor.take(message, at))
            spread(self._floors.values(), floor, at, before)

    def _hear(self, device: str, boot: str, at: int) -> None:
        floor = self._floor_of(device)
        if (device, boot) not in floor.boots:  # heard for the first time, or long forgotten: the ledger knows which
            asked = Asked(device, boot, None)
            floor.remember(asked, self._recall(floor, asked))
        floor.hear(device, boot, at)

    def _floor_of(self, device: str) -> Floor:
        return self._floors[self._plan.table_of_device[device].book]

    def _recall(self, floor: Floor, asked: Asked) -> Recalled:
        """What the ledger knows; what has just been made is made durable first, so that it knows all."""
        self._write()
        self._answer()
        return self._reader.recall(floor.book, asked)

    def _write(self) -> None:
        """Hand what was made to the writer, once it is done with the batch before; answer that one."""
        batches = [Batch(book, *floor.drain()) for book, floor in self._floors.items()]
        self._answer()
        self._unsaid, self._answers = self._answers, []
        self._waiting = 0
        self._writing = self._thread.submit(self._writer.write, [one for one in batches if one.entries or one.states])

    def _answer(self) -> None:
        """Wait until the batch handed over is durable; only then answer its messages."""
        if self._writing is None:
            return
        self._writing.result()
        self._writing = None
        self._forget_due = True
        answers, self._unsaid = self._unsaid, []
        for answer in answers:
            self.totals[answer["result"] if isinstance(answer, dict) else answer.result] += 1
        if self._out is not None:
            made = [json.dumps(one if isinstance(one, dict) else one.answer()) + "\n" for one in answers]
            self._out.write("".join(made))

    def _forget(self) -> None:
        """Between two messages, never within one: what it was told of the ledger must stay until it is taken."""
        self._forget_due = False
        for floor in self._floors.values():
            floor.forget(self._writer.heads[floor.book][0])

    def summary(self) -> dict[str, Any]:
        """What ``--quiet`` prints: totals, what is still held, the last entry and all meters."""
        floors = self._floors.values()
        held = sum(len(boot.held) for floor in floors for boot in floor.boots.values())
        meters = {name: amounts_answer(meter.shown()) for floor in floors for name, meter in floor.meters.items()}
        return self.totals | {"held_left": held, "entry": max(floor.number for floor in floors), "meters": meters}


def lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file; of a line longer than any message only the front is kept, never all in memory."""
    number = 0
    while line := file.readline(MESSAGE_BYTES_MAX + 2):
        number += 1
        rest = line
        while rest and not rest.endswith(b"\n") and len(rest) == MESSAGE_BYTES_MAX + 2:
            rest = file.readline(MESSAGE_BYTES_MAX + 2)
        yield number, line


def apply(
    plan: FloorPlan, place: str, file: BinaryIO, *, at: int | None, clock: Any, out: TextIO | None
) -> dict[str, Any]:
    """Apply a file to a ledger, making one when there is none; returns the summary. Raises LedgerError."""
    path = file_of(ledger_url(place))
    make_folder_of(path)
    began = at if at is not None else clock()
    since = datetime.fromtimestamp(clock() // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    held = HeldLedger(path, "meterctl apply", since)
    try:
        if not path.exists():
            create(path, [Batch(book, *Floor.opened(plan, book, began, MADE_BY).drain()) for book in plan.books])
        return _on_ledger(plan, path, file, at, clock, out, began)
    except BrokenInvariant as broken:
        raise LedgerError(f"{path}: the books do not add up, nothing more was written: {broken}") from broken
    finally:
        held.close()


def _on_ledger(
    plan: FloorPlan, path: Path, file: BinaryIO, at: int | None, clock: Any, out: TextIO | None, began: int
) -> dict[str, Any]:
    try:
        verify_tail(path)
    except BadEntry as bad:
        raise LedgerError(f"{path}: {bad}; it is left as it is: see `meterctl verify`") from bad
    reader = Reader(path)
    origin = reader.origin()
    if origin.made_by != MADE_BY:
        raise LedgerError(f"{path}: this ledger was made by `meterctl {origin.made_by}`; apply writes only to its own")
    refuse_changes(reader, plan)
    floors = {book: reader.floor(plan, book) for book in plan.books}
    for floor in floors.values():
        if floor.stopped:
            raise LedgerError(f"{path}: the book is stopped: {floor.stopped}; see `meterctl clear`")
        if reader.config_entry(floor.book)[1]["hash"] != plan.hash:
            floor.configure(plan, began)
    writer = open_writer(path, reader.heads())
    try:
        run = Run(plan, floors, writer, reader, at)
        run.read(file, clock, out)
        return run.summary()
    finally:
        writer.close()
        reader.close()
