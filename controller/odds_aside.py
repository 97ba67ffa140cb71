"""The exact odds of a running daemon's paytables, reckoned once by a process of their own (D6).

Counting hands keeps an interpreter busy; in the daemon's own it would hold up wagers. A floor's paytables do not change
while a daemon runs: one with another configuration begins again, and reckons anew. Nothing waits for the odds, and
nothing but the pages of the paytables and the watch of the hits misses them.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction

from controller.config_remarks import odds_by, paytables_of
from controller.drift import chances_of
from controller.floor_state import canonical
from controller.game.odds import Odds
from controller.plan import FloorPlan

RECKON_S = 300.0
"""A process that has not told everything after so long is ended: a floor's odds take seconds."""
LINE_MAX = 65_536
REMEDY = "wagers go on; let the technician look at the log, and start meterd again in a quiet hour"
PROGRAM = (sys.executable, "-m", "controller.odds_process")

_log = logging.getLogger("meterd.odds")


class OddsFailed(Exception):
    """The process did not tell what it was asked; the words say how it ended."""


class OddsAside:
    """The odds of one plan. Every method belongs to the event loop's thread.

    ``learned`` gets the chance of a hit per wager, by meter, once all is known; ``failed`` once what went wrong, and
    what to do.
    """

    def __init__(
        self, plan: FloorPlan, learned: Callable[[Mapping[str, Fraction]], object],
        failed: Callable[[str, str], object], program: tuple[str, ...] = PROGRAM, within_s: float = RECKON_S,
    ) -> None:
        self._plan, self._learned, self._failed = plan, learned, failed
        self._program, self._within_s = program, within_s
        self._paytables = paytables_of(plan)
        self._found: dict[str, Odds | str] = {}
        self._reckoning: asyncio.Task[None] | None = None

    def look(self, paytable: str) -> Odds | str | None:
        """The odds of a paytable by its id, or why there are none; None while they are being reckoned."""
        return self._found.get(paytable)

    def start(self) -> None:
        """Begin to reckon."""
        self._reckoning = asyncio.create_task(self._reckon(), name="odds")

    async def end(self) -> None:
        """End the process, if it still runs, and wait until it is gone."""
        if self._reckoning is not None:
            self._reckoning.cancel()
            await asyncio.wait({self._reckoning})

    async def _reckon(self) -> None:
        try:
            await asyncio.wait_for(self._ask(), self._within_s)
        except (OSError, OddsFailed, TimeoutError) as wrong:
            why = str(wrong) or f"they took longer than {self._within_s:.0f} s"
            what = f"Hits are not compared with the odds, which could not be reckoned: {why}"
            _log.error("%s", what)
            for name in self._paytables.keys() - self._found.keys():
                self._found[name] = f"they could not be reckoned: {why}"
            self._failed(what, REMEDY)
        known = {name: odds for name, odds in self._found.items() if isinstance(odds, Odds)}
        self._learned(chances_of(self._plan, known))

    async def _ask(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, limit=LINE_MAX)
        try:
            said = await self._hear(process)
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if self._paytables.keys() != self._found.keys():
            raise OddsFailed(said or f"the process ended with {process.returncode}")

    async def _hear(self, process: asyncio.subprocess.Process) -> str:
        """Ask, and take in each answer as it comes; returns what it said last that was none."""
        assert process.stdin is not None and process.stdout is not None
        asked = canonical(dict(self._plan.document))
        said = ""
        with suppress(ConnectionError):  # it ended early: what it said last, or its exit code, tells why
            process.stdin.write(asked.encode() + b"\n")
            await process.stdin.drain()
        try:
            while line := await process.stdout.readline():
                said = self._take(line.decode(errors="replace").strip()) or said
        except (ConnectionError, ValueError) as wrong:  # a line has no end
            raise OddsFailed(said or str(wrong)) from wrong
        return said

    def _take(self, line: str) -> str:
        """Take in one line; what is no answer comes back."""
        try:
            told = json.loads(line)
            paytable = self._paytables[told["paytable"]]
            unknown = told.get("unknown")
            self._found[paytable.id] = odds_by(paytable, told["counts"]) if unknown is None else str(unknown)
        except (ValueError, KeyError, TypeError, AttributeError):
            return line[:200]
        return ""
