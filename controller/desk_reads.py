"""What the desk's pages ask of the ledger, each read aside in a thread: the daemon's part of their sources."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from controller.acts import KINDS, Act, Acted
from controller.config import load
from controller.day_log import DayAct, DayOpen, read_day_acts, read_day_open
from controller.desk_log import AwardLog, AwardsLately, Owed, TableAct, read_owed, read_table_acts
from controller.game_file import GameFile, read_game
from controller.ledger.curve import Curve, read_curve
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.listing import latest_awards, log_entry
from controller.meter_file import MeterFile, MetersDue, read_due, read_meter, try_act
from controller.outcome import Outcome
from controller.plan import FloorPlan
from controller.versions import Version, versions_of
from controller.web.models import award


class DeskReads:
    """Reads of one ledger under one plan. Every method raises LedgerError when the ledger cannot be read."""

    def __init__(self, reader: Reader, plan: FloorPlan, config: Path, stopping: Callable[[], bool]) -> None:
        self._reader, self._plan, self._config, self._stopping = reader, plan, config, stopping
        self._awards = AwardLog(reader, plan)
        self._curve_turn = asyncio.Semaphore()

    async def game_file(self, table: str, game: int) -> GameFile | None:
        """One game of a table of the plan; None when it has had none of that number."""
        book = self._plan.tables[table].book
        return await asyncio.to_thread(read_game, self._reader, self._plan, book, table, game)

    async def awards_lately(self) -> AwardsLately:
        """Envy that is owed, and awards that were done lately."""
        return await asyncio.to_thread(self._awards.lately)

    async def table_acts(self, table: str) -> Sequence[TableAct]:
        """What was done about a table, newest first."""
        return await asyncio.to_thread(read_table_acts, self._reader, self._plan, table)

    async def owed_at(self, table: str) -> Sequence[Owed]:
        """What a table of the plan owes, however old."""
        return await asyncio.to_thread(read_owed, self._reader, self._plan, table)

    async def answered(self, asked: Act, acted: Acted) -> Acted:
        """The answer to an act with what it lists beside what the entry tells: after a closing, what the table owes."""
        if asked.kind != "table-closed" or not acted.told.get("owed"):
            return acted
        try:
            owed = await self.owed_at(asked.fields["table"])
        except LedgerError:
            words = ["the ledger cannot be read now: look at the report of open items"]
        else:
            words = [one.words() for one in owed]
        told = {"owing": words, "words": f"{KINDS[asked.kind].title}. Still owed at it: {'; '.join(words)}"}
        return acted._replace(told={**acted.told, **told})

    async def meters_due(self) -> MetersDue:
        """What waits for people at all meters."""
        return await asyncio.to_thread(read_due, self._reader, self._plan)

    async def meter_file(self, meter: str) -> MeterFile:
        """The changes of a meter of the plan, and what is due."""
        return await asyncio.to_thread(read_meter, self._reader, self._plan, meter)

    async def meter_curve(self, meter: str, start: int, end: int) -> Curve:
        """What a meter of the plan showed from ``start`` on and before ``end``; one curve is read after another."""
        book = self._plan.meters[meter].book
        async with self._curve_turn:
            return await asyncio.to_thread(read_curve, self._reader.path, book, meter, start, end, self._go_on)

    def _go_on(self) -> None:
        """Between two pieces of a long reading; raises LedgerError when the daemon ends."""
        if self._stopping():
            raise LedgerError("the daemon ends; ask again when it runs")

    async def trial(self, act: Act, at: int) -> Outcome:
        """What an act would do to the meters as the ledger has them; raises ActRefused."""
        return await asyncio.to_thread(try_act, self._reader, self._plan, act, at)

    async def day_acts(self) -> Sequence[DayAct]:
        """The latest readings, hand-overs, closings and hand-written slips of all books."""
        return await asyncio.to_thread(read_day_acts, self._reader, self._plan.books)

    async def day_open(self) -> DayOpen:
        """What is owed in all books, and the gaming day that is to be closed next."""
        return await asyncio.to_thread(read_day_open, self._reader, self._plan)

    async def log(self, book: str, before: int | None, count: int) -> Sequence[Mapping[str, Any]]:
        """Entries of a book, newest first."""
        found = await asyncio.to_thread(partial(self._reader.entries, book, before=before, latest=count))
        return [log_entry(entry) for entry in found]

    async def wins(self, count: int) -> Sequence[Mapping[str, Any]]:
        """The latest awards in the ledger, newest first."""
        found = await asyncio.to_thread(latest_awards, self._reader, self._plan, count)
        return [award(one).model_dump() for one in found]

    async def versions(self, count: int) -> Sequence[Version]:
        """The latest configurations of the first book, newest first."""
        return await asyncio.to_thread(versions_of, self._reader, self._plan.books[0], count)

    async def file_document(self) -> Mapping[str, Any]:
        """What the configuration file on the box says now; raises ConfigError."""
        return (await asyncio.to_thread(load, self._config))[0].document
