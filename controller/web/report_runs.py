"""Reports made aside: each in a thread, few at once, with breaths between pieces, so that wagers never wait (SD-02).

A finished gaming day is made once and kept for a while; a range not yet over is made again after a minute.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.ledger.place import LedgerError
from controller.ledger.ranges import STRETCH, Ranges, Stretches
from controller.reports.catalogue import Named
from controller.reports.reading import NOT_OVER, AskedFor, Scope, scope_of
from controller.reports.report import Report

AT_ONCE = 2
OPEN_MAX = 8
"""Reports being made or waiting for their turn."""
KEPT_MAX = 16
ROWS_KEPT = 200_000
"""Rows of all kept reports together; the oldest are let go of first."""
FRESH_US = 60_000_000
BREATH_S = 0.004
"""A pause after each piece of entries: the event loop gets the interpreter to itself."""

Signs = tuple[tuple[str, str, str], ...]


class TooManyReports(Exception):
    """As many reports are being made as this machine makes at once."""


class _Stopped(Exception):
    """The daemon ends."""


@dataclass(slots=True)
class Run:
    """One report on its way. ``read``: entries read so far, of about ``total`` (0: not known yet); ``wrong``: what was
    asked cannot be made, and why."""

    named: Named
    asked: AskedFor
    at: int
    read: int = 0
    total: int = 0
    wrong: str = ""
    trouble: str = ""
    report: Report | None = None
    scope: Scope | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether the range was over when it was made: such a report does not change any more."""
        return self.report is not None and NOT_OVER not in dict(self.report.facts)

    @property
    def part(self) -> int:
        """How far it is, of ``total``; 0: nobody can say, as where a report reads some entries twice."""
        return self.read if self.read < self.total else 0

    @property
    def rows(self) -> int:
        """Rows of all its tables."""
        return 0 if self.report is None else sum(len(table.rows) for table in self.report.tables)


def _unmeasured(known: Stretches, book: str, last: int) -> int:
    """Entries of a book that the first look at it has still to read."""
    return max(0, last - STRETCH * len(known.of_book.get(book, ())))


class ReportRuns:
    """The reports of one ledger that are being made, and the last ones made. One event loop owns it."""

    def __init__(self, path: Path, version: str, signs: Signs, stopping: Callable[[], bool]) -> None:
        self._path, self._version, self._signs, self._stopping = path, version, signs, stopping
        self._known = Stretches()
        self._runs: dict[tuple[str, AskedFor], Run] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    def find(self, named: Named, asked: AskedFor, at: int) -> Run:
        """The run of a report: one kept, one on its way, or a new one; raises TooManyReports. ``at``: now."""
        key = (named.name, asked)
        known = self._runs.get(key)
        if known is not None and (not known.done.is_set() or known.over or 0 <= at - known.at < FRESH_US):
            return known
        if sum(not run.done.is_set() for run in self._runs.values()) >= OPEN_MAX:
            raise TooManyReports
        self._runs.pop(key, None)
        run = self._runs[key] = Run(named, asked, at)
        run.task = asyncio.create_task(self._follow(run), name=f"report {named.name}")
        return run

    async def wait(self, run: Run, seconds: float) -> bool:
        """Wait for a run, but not longer; whether it is done. Raises what went wrong in making it."""
        try:
            if not run.done.is_set():
                await asyncio.wait_for(run.done.wait(), seconds)
        except TimeoutError:
            return False
        if run.task is not None:
            await run.task
        return True

    async def _follow(self, run: Run) -> None:
        try:
            async with self._turns:
                await asyncio.to_thread(self._make, run)
        except _Stopped:
            run.trouble = "the daemon ends"
        finally:
            run.done.set()
            if run.report is None:
                self._runs.pop((run.named.name, run.asked), None)
            self._let_go()

    def _make(self, run: Run) -> None:
        """In a thread."""

        def breathe(count: int) -> None:
            run.read += count
            if self._stopping():
                raise _Stopped
            time.sleep(BREATH_S)

        try:
            ranges = Ranges(self._path, self._known, breathe)
        except LedgerError as wrong:
            run.trouble = str(wrong)
            return
        try:
            run.total = sum(_unmeasured(self._known, book, ranges.last(book)[0]) for book in ranges.books())
            try:
                scope = scope_of(ranges, run.asked)
            except ValueError as wrong:
                run.wrong = str(wrong)
                return
            within = sum(max(0, ranges.last_before(book, scope.end) - ranges.first_since(book, scope.start) + 1)
                         for book in ranges.books())
            run.total = run.read + within
            run.scope = scope._replace(version=self._version, signs=self._signs, now=run.at)
            run.report = run.named.make(ranges, run.scope)
        except LedgerError as wrong:
            run.trouble = str(wrong)
        finally:
            ranges.close()

    def _let_go(self) -> None:
        done = [key for key, run in self._runs.items() if run.done.is_set()]
        rows = sum(self._runs[key].rows for key in done)
        for place, key in enumerate(done[:-1]):
            if len(done) - place <= KEPT_MAX and rows <= ROWS_KEPT:
                break
            rows -= self._runs.pop(key).rows
