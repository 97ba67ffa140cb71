"""The printers of the floor, for slips: one thread and a short queue each, so that none ever holds up the daemon.

A printer that is out of paper, unplugged, or blocks where it is opened keeps its own thread alone; what waits behind it
is given up in time and said to whoever asked. What came of each print is told; nothing is tried again by itself: a
second strip of paper must be a reprint that says so (R-58).
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import NamedTuple

from controller.metrics import Stats
from controller.slip_escpos import SEND_S, NotPrinted, send
from controller.wiring import PrinterPlan

WAITING_MAX = 4
"""Slips that may wait at one printer; no more are taken before it has printed."""
ANSWER_S = SEND_S + 5.0
"""So long a person waits to be told; a slip that has not begun by then is not printed any more."""
RESULTS = ("printed", "failed", "unknown")
"""What came of a print: taken whole, not (whole), or not known: the printer had not answered in time."""

_log = logging.getLogger("meterd.printer")


class _Job(NamedTuple):
    printed: bytes
    done: "Future[None]"


class SlipPrinter:
    """One printer. ``take`` belongs to the event loop; its thread begins with the first slip."""

    def __init__(self, plan: PrinterPlan, timer: Callable[[], float], answer_s: float = ANSWER_S) -> None:
        self.plan = plan
        self.counts: dict[str, int] = dict.fromkeys(RESULTS, 0)
        """Since the start, by what came of it."""
        self._timer, self._answer_s = timer, answer_s
        self._waiting: queue.Queue[_Job | None] = queue.Queue(WAITING_MAX)
        self._thread: threading.Thread | None = None
        self._ended = False
        self._printing: _Job | None = None

    @property
    def is_full(self) -> bool:
        """Whether no more slips may wait here now."""
        return self._ended or self._waiting.full()

    async def take(self, printed: bytes) -> None:
        """Print; returns once the printer has taken every byte, or raises NotPrinted, at most ``ANSWER_S`` later."""
        if self.is_full:
            self._count("failed")
            raise self._not_printed("too many slips wait there; nothing was printed")
        job = _Job(printed, Future())
        self._waiting.put_nowait(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"printer {self.plan.id}", daemon=True)
            self._thread.start()
        try:
            await self._answered(job)
        except NotPrinted:
            self._count("unknown" if job.done.running() else "failed")
            raise
        self._count("printed")

    async def _answered(self, job: _Job) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(job.done)), self._answer_s)
        except TimeoutError as late:
            if job.done.cancel():  # its turn has not come, and will not
                raise self._not_printed("other slips are before this one; nothing was printed") from late
            if not job.done.done():
                remedy = "destroy what comes out, look at cable, paper, cover and power, then print the slip again"
                raise NotPrinted(self.plan.name, f"it has not answered for {self._answer_s:g} s", remedy) from late
            job.done.result()  # just now

    def _not_printed(self, why: str) -> NotPrinted:
        return NotPrinted(self.plan.name, why, "look at its cable, paper, cover and power, then print the slip again")

    def _count(self, result: str) -> None:
        self.counts[result] += 1

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None:
            if job.done.set_running_or_notify_cancel():
                self._printing = job
                self._print(job)
                self._printing = None

    def _print(self, job: _Job) -> None:
        try:
            send(self.plan.path, job.printed, self._timer, baud=self.plan.baud)
        except (NotPrinted, OSError, ValueError) as wrong:
            _log.warning("printer %s: a slip was not printed: %s", self.plan.id, wrong)
            told = wrong if isinstance(wrong, NotPrinted) else self._not_printed(f"{wrong}; nothing is known of it")
            _tell(job, told)
        else:
            _tell(job, None)

    def end(self) -> None:
        """Take nothing more: what waits is given up, and what is at the printer is not waited for; both are told."""
        self._ended = True
        printing = self._printing
        if printing is not None:
            remedy = "look whether it came out; destroy a strip that is not whole, then print the slip again"
            _tell(printing, NotPrinted(self.plan.name, "the controller is being stopped while it prints", remedy))
        with suppress(queue.Empty):
            while (job := self._waiting.get_nowait()) is not None:
                if job.done.set_running_or_notify_cancel():
                    job.done.set_exception(self._not_printed("the controller is being stopped; nothing was printed"))
        self._waiting.put_nowait(None)


def _tell(job: _Job, wrong: NotPrinted | None) -> None:
    """Say what came of a slip, once: the first to know says it."""
    with suppress(InvalidStateError):
        if wrong is None:
            job.done.set_result(None)
        else:
            job.done.set_exception(wrong)


class Printers:
    """Every configured printer by its id, in the order of the configuration."""

    def __init__(
        self, plans: Iterable[PrinterPlan], timer: Callable[[], float], stats: Stats, answer_s: float = ANSWER_S
    ) -> None:
        """``timer`` counts steady seconds; ``stats`` gets what came of the slips of each printer."""
        self.by_id = {plan.id: SlipPrinter(plan, timer, answer_s) for plan in plans}
        stats.slips = {name: printer.counts for name, printer in self.by_id.items()}

    def serving(self, table: str) -> list[PrinterPlan]:
        """The printers at which slips of a table may be printed."""
        return [printer.plan for printer in self.by_id.values() if printer.plan.serves(table)]

    def end(self) -> None:
        """End every printer; returns at once."""
        for printer in self.by_id.values():
            printer.end()
