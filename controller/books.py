"""The books of a running daemon: messages go in, answers come out only after their entries are durable.

One writer thread. While one batch is being written the next one gathers; nothing waits for a timer. A batch that fails
is discarded with everything computed after it, and the engine's state is rebuilt from the ledger; what cannot be
rebuilt, or does not add up, stops the book (fail closed: design sections 5 and 9).
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from controller import desk
from controller.acts import Act, Acted, ActRefused, Why
from controller.board import Board
from controller.board_reader import catch_up
from controller.config_acts import refuse_elsewhere
from controller.day_acts import CLOSED
from controller.floor import Floor
from controller.floor_state import Boot, Round
from controller.ledger.day_end import read_day_end
from controller.ledger.place import BrokenLedger, LedgerError
from controller.ledger.ranges import Stretches
from controller.ledger.reader import Reader, tell, tell_act
from controller.ledger.writer import Batch, Writer
from controller.manual_slips import refuse_in_another_book
from controller.meter import BrokenInvariant
from controller.metrics import Stats
from controller.plan import FloorPlan
from controller.taken import Asked, DayEnd, Taken
from controller.waiting_config import agreed_of, spread
from firmware_bridge.messages import Numbered

UNWRITTEN_MAX = 2_048
"""Messages that may wait for the writer; beyond it intake is full and the units send again (design section 7)."""
ENGINE_FAULTS = (BrokenInvariant, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What leaves the engine half way through a message, by its own checks or by a fault in it: what it holds is void."""
PEOPLE_COUNTED = 4_096
"""People whose refused acts are counted one by one."""
RETRY_S = 1.0
"""Between tries of a ledger that cannot be written."""

_log = logging.getLogger("meterd.books")


class _Job(NamedTuple):
    batches: list[Batch]
    answers: list[tuple[Callable[[Taken], None], Taken]]
    after: list[Callable[[], object]]
    messages: int


class Books:
    """All books of this daemon's plan. Every method belongs to the event loop's thread."""

    def __init__(
        self, plan: FloorPlan, floors: dict[str, Floor], board: Board, reader: Reader, writer: Writer, stats: Stats,
        clock: Callable[[], int], timer: Callable[[], float], changed: Callable[[], None],
    ) -> None:
        self.plan, self.floors, self.board, self._reader = plan, floors, board, reader
        self._writer, self._stats, self._clock, self._timer, self._changed = writer, stats, clock, timer, changed
        self.trouble = ""
        """Why the ledger cannot be written now, or empty."""
        self._answers: list[tuple[Callable[[Taken], None], Taken]] = []
        self._after: list[Callable[[], object]] = []
        self._acts: list[asyncio.Future[bool]] = []
        """Acts that wait for their commit; a rebuilt state answers them with False."""
        self._acts_done = 0
        self._stretches = Stretches()
        self._refused: dict[tuple[str, str, str, str], int] = {}
        """By person, token, kind and reason: acts that were refused since this daemon began."""
        self._messages = self._written = 0
        self._writing: _Job | None = None
        self._writing_since = 0.0
        self._flush_due = self._retrying = self._closing = False
        self._broken = ""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write_jobs, name="ledger writer", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------ in

    def floor_of(self, device: str) -> Floor:
        """The floor that a unit's table belongs to."""
        return self.floors[self.plan.table_of_device[device].book]

    def why_closed(self, book: str) -> str:
        """Why a book takes nothing now, in the floor's words, or empty."""
        if self.floors[book].stopped or self._broken:
            return "the books are stopped: call the technician"
        return "the ledger cannot be written: call the technician" if self.trouble else ""

    def take(self, message: Numbered, give: Callable[[Taken], None]) -> bool:
        """Take a numbered message; ``give`` gets each answer after its commit. False: the unit must send it again."""
        floor = self.floor_of(message.device)
        if self._is_shut(floor.book) or floor.plan.hash != self.plan.hash:  # it begins again with another plan
            self._stats.dropped += 1
            return False
        try:
            tell(floor, message, partial(self._reader.recall, floor.book))
            before = agreed_of(floor)
            taken = floor.take(message, self._clock())
            spread(self.floors.values(), floor, self._clock(), before)
        except ENGINE_FAULTS as broken:
            self._break(f"{message.device} {message.boot}/{message.seq}: {broken or type(broken).__name__}")
            return False
        except LedgerError as wrong:
            self._fail(str(wrong))
            return False
        self._messages += 1
        self._answers += [(give, one) for one in taken]
        self._flush_soon()
        return True

    def hear(self, device: str, boot: str) -> None:
        """A hello or heartbeat: the first of a boot is an entry. When the books are shut, the next pulse is heard."""
        floor = self.floor_of(device)
        if (device, boot) in floor.boots:
            return
        if self._is_shut(floor.book) or floor.plan.hash != self.plan.hash:
            self._stats.dropped += 1
        elif self.boot(device, boot) is None and not self.trouble:  # a ledger that cannot be asked may know it
            floor.hear(device, boot, self._clock())
            self._messages += 1
            self._flush_soon()

    def _is_shut(self, book: str) -> bool:
        """Whether a message must be dropped now: the book is closed, the daemon ends, or intake is full."""
        return bool(self.why_closed(book)) or self._closing or self._messages + self._written >= UNWRITTEN_MAX

    def boot(self, device: str, boot: str) -> Boot | None:
        """What the books know of a boot, from the ledger if it is an old one; None, too, when it cannot be asked."""
        floor = self.floor_of(device)
        if (device, boot) not in floor.boots:
            asked = Asked(device, boot, None)
            try:
                floor.remember(asked, self._reader.recall(floor.book, asked))
            except LedgerError as wrong:
                self._fail(str(wrong))
        return floor.boots.get((device, boot))

    def enter(self, book: str, change: Callable[[Floor, int], object]) -> None:
        """Let ``change`` make entries on a book's floor at the present time."""
        if not self.why_closed(book) and self.floors[book].plan.hash == self.plan.hash:
            floor, before = self.floors[book], agreed_of(self.floors[book])
            change(floor, self._clock())
            spread(self.floors.values(), floor, self._clock(), before)
            self._flush_soon()

    async def act(self, book: str, asked: Act, also: Callable[[], object] = lambda: None) -> Acted:
        """Do what people ask; returns once it is durable. Raises ActRefused, also when the books are shut.

        A refusal is an entry, too; ``also`` may refuse for what no book knows. When the commit fails nothing has
        happened, and the same form may be sent again.
        """
        before = self._unless_open(book, asked)
        if before is not None:
            return before
        try:
            desk.check(self.floors[book], asked)  # before anything is looked up for somebody who may not
        except ActRefused as no:
            await self._keep_refusal(book, asked, no)
            raise
        await self._know_its_game(book, asked)
        day_end = await self._know_its_day(book, asked)
        owing = await self._know_what_is_owed(book) if asked.kind == "handed-over" else []
        before = self._unless_open(book, asked)  # it may have been shut meanwhile; from here on nothing waits
        if before is not None:
            return before
        floor = self.floors[book]
        for other in self.floors.values():  # one form is one act, whatever book it is sent to
            if asked.id in other.acts:
                floor.acts.setdefault(asked.id, other.acts[asked.id])
        try:
            tell_act(floor, asked, self._reader.recall_act, lambda *_: None, lambda _: day_end, lambda: owing)
        except LedgerError as wrong:
            self._fail(str(wrong))
            raise ActRefused(Why.NOT_NOW, "the ledger cannot be read", "call the technician") from wrong
        self._acts_done += 1
        try:
            refuse_elsewhere(self.floors, floor, asked, self._clock())
            refuse_in_another_book(self.floors, floor, asked)
            if asked.id not in floor.acts:
                also()
            acted = desk.act(floor, asked, self._clock())
            spread(self.floors.values(), floor, self._clock())
        except ActRefused as no:
            await self._keep_refusal(book, asked, no)
            raise
        except ENGINE_FAULTS as broken:
            self._break(f"{asked.kind}: {broken or type(broken).__name__}")
            raise ActRefused(Why.NOT_NOW, "the books do not add up and are stopped", "call the technician") from broken
        return acted if await self._durable() else self._after_all(asked)

    def _unless_open(self, book: str, asked: Act) -> Acted | None:
        """None for a book that takes acts. Else what the same form did before (MO-06), or ActRefused: nothing."""
        why = self.why_closed(book) or (self._why_closing() if self._closing else "")
        if not why:
            return None
        try:
            known = self._reader.recall_act(asked.id)
        except LedgerError as wrong:
            raise ActRefused(Why.NOT_NOW, why, "it is not known whether this form was done before: load the page "
                             "again when the ledger can be read") from wrong
        if known is None:
            raise ActRefused(Why.NOT_NOW, why, "nothing was done: send it again in a moment")
        desk.remember(self.floors[book], asked.id, *known)
        return desk.act(self.floors[book], asked, self._clock())

    def _why_closing(self) -> str:
        if any(floor.plan.hash != self.plan.hash for floor in self.floors.values()):
            return "another configuration comes into force just now"
        return "the controller is being stopped"

    async def _keep_refusal(self, book: str, asked: Act, no: ActRefused) -> None:
        """A refused act is an entry: the first of a person (or of a person's token), kind and reason, then at each
        doubling (SD-09, R-108)."""
        key = (asked.by.id, asked.token, asked.kind, no.why.value)
        count = self._refused[key] = self._refused.get(key, 0) + 1
        if count & (count - 1):
            return
        if len(self._refused) > PEOPLE_COUNTED:
            self._refused.clear()
        desk.refuse(self.floors[book], asked, no, self._clock())
        await self._durable()

    async def _durable(self) -> bool:
        """Wait until everything entered so far is durable; False: the commit failed, or reported a failure."""
        durable: asyncio.Future[bool] = self._loop.create_future()
        self._acts.append(durable)
        self.when_durable(partial(_settle, durable))
        return await durable

    async def _know_its_game(self, book: str, asked: Act) -> None:
        """A closed game is read back aside, once all that is being written of it is there."""
        game = desk.names_game(asked)
        if game is None or game.table not in self.floors[book].tables:
            return
        while self.floors[book].find_game(game.key) is None and (self._writing is not None or self._pending()):
            if not await self._durable():
                raise ActRefused(Why.NOT_NOW, "the ledger could not be written; nothing was done", "send it again")
        if self.floors[book].find_game(game.key) is not None:
            return
        try:
            found, seen = None, -1
            while seen != self._acts_done:  # an act in between may have changed it, and gone from memory again
                seen = self._acts_done
                found = await asyncio.to_thread(self._reader.recall_game, book, *game)
        except LedgerError as wrong:
            self._fail(str(wrong))
            raise ActRefused(Why.NOT_NOW, "the ledger cannot be read", "call the technician") from wrong
        floor = self.floors[book]
        if found is not None and floor.find_game(game.key) is None:
            floor.remember_game(found[0], found[1].tables[game.table])

    async def _know_its_day(self, book: str, asked: Act) -> DayEnd | None:
        """How a gaming day ended that is to be closed, read aside once all that was entered of it is durable."""
        day = desk.names_day(self.floors[book], asked)
        if day is None:
            return None
        if not await self._durable():
            raise ActRefused(Why.NOT_NOW, "the ledger could not be written; nothing was done", "send it again")
        closed = self.floors[book].rows.get("day", {}).get(CLOSED)
        try:
            told = await asyncio.to_thread(
                read_day_end, self._reader.path, self._stretches, book, day, closed, self._clock(),
                partial(self._reader.games_owing, book))
            if told is not None and told.balances is not None and self._earliest_after(book, told.number) < told.end:
                raise ActRefused(Why.NOT_NOW, f"the clock was set back into {day}", "look at the clock; send it again")
        except LedgerError as wrong:
            self._fail(str(wrong))
            raise ActRefused(Why.NOT_NOW, "the ledger cannot be read", "call the technician") from wrong
        return told

    def _earliest_after(self, book: str, number: int) -> int:
        """The earliest time of the entries that were made after one, durable or not yet; now, if there are none."""
        batches = () if self._writing is None else self._writing.batches
        found = [entry.at for batch in batches if batch.book == book for entry in batch.entries]
        found += [entry.at for entry in self.floors[book].entries]
        return min(self._reader.earliest_after(book, number) or self._clock(), self._clock(), *found)

    async def _know_what_is_owed(self, book: str) -> list[Round]:
        """The games that owe something, read aside; what has changed since is in memory."""
        try:
            found, seen = list[Round](), -1
            while seen != self._acts_done:
                seen = self._acts_done
                found = await asyncio.to_thread(lambda: list(self._reader.games_owing(book)))
        except LedgerError as wrong:
            self._fail(str(wrong))
            raise ActRefused(Why.NOT_NOW, "the ledger cannot be read", "call the technician") from wrong
        return found

    def _after_all(self, asked: Act) -> Acted:
        """A commit that reported a failure may have been done (MO-06): the ledger says whether the act was."""
        try:
            known = self._reader.recall_act(asked.id)
        except LedgerError as wrong:
            raise ActRefused(Why.NOT_NOW, "the ledger cannot be read: it is not known whether this was done",
                             "send the same form again when it can be read") from wrong
        if known is None:
            raise ActRefused(Why.NOT_NOW, "the ledger could not be written; nothing was done", "send it again")
        return Acted(known[2], known[1]["told"])

    def when_durable(self, callback: Callable[[], object]) -> None:
        """Call back once everything taken so far is durable; dropped if that fails (the unit asks again)."""
        if self._writing is None and not self._pending():
            callback()
        else:
            self._after.append(callback)
            self._flush_soon()

    # ------------------------------------------------------------------ to the writer and back

    def _pending(self) -> bool:
        return bool(self._answers) or any(floor.entries for floor in self.floors.values())

    def _flush_soon(self) -> None:
        if not self._flush_due and self._writing is None:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        if self._writing is not None or self._retrying or not (self._pending() or self._after):
            return
        batches = [Batch(book, *floor.drain()) for book, floor in self.floors.items()]
        job = _Job([one for one in batches if one.entries or one.states], self._answers, self._after, self._messages)
        self._answers, self._after = [], []
        self._messages, self._written = 0, self._messages
        self._stats.queue_depth = self._written
        self._writing, self._writing_since = job, self._timer()
        self._jobs.put(job)

    def _write_jobs(self) -> None:
        """The writer thread: one job after the other, until None."""
        while (job := self._jobs.get()) is not None:
            began, wrong = self._timer(), None
            try:
                if job.batches:
                    self._writer.write(job.batches)
            except LedgerError as error:
                wrong = error
            took = self._timer() - began
            self._loop.call_soon_threadsafe(self._written_job, job, wrong, took)

    def _written_job(self, job: _Job, wrong: LedgerError | None, took: float) -> None:
        self._writing, self._written = None, 0
        self._stats.queue_depth = self._messages
        if wrong is not None:
            self._failed(job, wrong)
            return
        self._stats.commit_us.observe(int(took * 1_000_000))
        self._stats.batch.observe(job.messages)
        self._well()
        for batch in job.batches:
            self.board.learn(batch.book, batch.entries, batch.states)
            if batch.entries:
                self.floors[batch.book].forget(batch.entries[-1].number)
        for give, taken in job.answers:
            if taken.result in ("refused", "fault"):
                self._stats.refused(taken.reason)
            give(taken)
        for callback in job.after:
            callback()
        self._acts = [durable for durable in self._acts if not durable.done()]
        self._changed()
        if self._broken and all(floor.stopped for floor in self.floors.values()):
            self._broken = ""
        if self._broken:
            self._stop()
        elif self._pending() or self._after:
            self._flush()

    # ------------------------------------------------------------------ when it fails

    def _well(self) -> None:
        if self.trouble:
            _log.warning("the ledger can be written again")
            self.trouble = ""
            self._changed()

    def _failed(self, job: _Job, wrong: LedgerError) -> None:
        """A batch was not written: nothing of it, or of what was computed after it, has happened."""
        stops = any(entry.kind == "stop" for batch in job.batches for entry in batch.entries)
        gave_up = isinstance(wrong, BrokenLedger) and stops
        if isinstance(wrong, BrokenLedger):
            self._broken = self._broken or str(wrong)
        if not self._rebuild():
            return
        if gave_up:
            _log.critical("the stop cannot be written into the ledger: %s", wrong)
        elif isinstance(wrong, BrokenLedger):
            self._stop()
        else:
            self._fail(str(wrong))

    def _fail(self, why: str) -> None:
        """The ledger cannot be used now: take nothing, and try again."""
        if not self.trouble:
            _log.error("the ledger cannot be written, no wagers are taken: %s", why)
        self.trouble = f"the ledger cannot be written: {why}"
        self._changed()
        if not self._retrying:
            self._retrying = True
            self._loop.call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._retrying = False
        if self._closing or self._writing is not None:
            return
        try:
            self._writer.probe()
        except LedgerError as wrong:
            self._fail(str(wrong))
        else:
            self._well()
            if self._broken:
                self._stop()
            self._flush_soon()

    def _rebuild(self) -> bool:
        """The engine's state, anew from the ledger; what was computed and not written is gone."""
        self._answers, self._after, self._messages = [], [], 0
        self._acts_done += 1
        for durable in self._acts:
            if not durable.done():
                durable.set_result(False)
        try:
            self._writer.heads = self._reader.heads()
            for book in self.floors:
                # Once there are people, what they activated goes before the plan that this daemon began with.
                people = self._reader.states(self.plan.books[0], "person", latest=1)
                floor = self.floors[book] = self._reader.floor(None if people else self.plan, book)
                if not people and not floor.stopped and self._reader.config_entry(book)[1]["hash"] != self.plan.hash:
                    floor.configure(self.plan, self._clock())  # the entry of a changed configuration was lost, too
            catch_up(self.board, self._reader)  # a commit may have been done and its report lost (MO-06)
        except LedgerError as wrong:
            if not self._broken:
                self._broken = f"the state cannot be read back: {wrong}"
                _log.critical("the books are stopped: %s", self._broken)
            self.board.stopped.update(dict.fromkeys(self.floors, self._broken))
            self._fail(str(wrong))
            return False
        return True

    def _break(self, why: str) -> None:
        """The books do not add up: stop them as soon as what is being written is done."""
        _log.critical("the books do not add up, they are being stopped: %s", why)
        self._broken = self._broken or why
        if self._writing is None and self._rebuild():
            self._stop()

    def _stop(self) -> None:
        """Write the stop into every book; nothing more is taken until a person clears it."""
        if not self._rebuild():
            return
        for floor in self.floors.values():
            if not floor.stopped:
                floor.stop(self._broken, self._clock())
        self.board.stopped.update(dict.fromkeys(self.floors, self._broken))
        self._changed()
        self._flush()

    # ------------------------------------------------------------------ progress and end

    def stuck_s(self) -> float:
        """Seconds that the writer has been at its present batch; 0 when idle (watched by the watchdog)."""
        return 0.0 if self._writing is None else self._timer() - self._writing_since

    async def close(self, within_s: float) -> None:
        """Write what was taken, then end the writer thread; what is not written in time was never acknowledged."""
        self._closing = True
        ends = self._timer() + within_s
        while (self._writing is not None or self._pending()) and self._timer() < ends and not self.trouble:
            self._flush()
            await asyncio.sleep(0.01)
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join, max(0.1, ends - self._timer()))


def _settle(durable: asyncio.Future[bool]) -> None:
    if not durable.done():
        durable.set_result(True)


def held_of(boots: Iterable[tuple[tuple[str, str], Boot]], device: str) -> dict[str, int]:
    """For each boot of a device with messages held ahead of their turn, the lowest of them."""
    return {name: min(boot.held) for (unit, name), boot in boots if unit == device and boot.held}
