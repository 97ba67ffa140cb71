"""The engine of a night on a real ledger: every step is written, and whatever it forgets is read back from the file."""

from pathlib import Path

from award_house import PeopleEngine

from controller import desk
from controller.floor_state import Round
from controller.ledger.reader import Reader
from controller.ledger.writer import Batch, Writer, create, open_writer
from controller.plan import FloorPlan


class LedgerEngine(PeopleEngine):
    """``PeopleEngine`` with the product's writer and reader in place of its own memory."""

    writer: Writer | None = None
    knows_late_locks = True

    def __init__(self, plan: FloorPlan, at: int, path: Path) -> None:
        self.path = path
        super().__init__(plan, at)
        self.reader = Reader(path)
        self.writer = open_writer(path, self.reader.heads())

    def _keep(self) -> None:
        self._see()
        entries, rows = self.floor.drain()
        self.entries += entries
        batch = Batch("main", entries, rows)
        if self.writer is None:
            create(self.path, [batch])
        elif entries or rows:
            self.writer.write([batch])
        for entry in entries:
            if entry.device == desk.DESK:
                self.kept_acts[str(entry.boot)] = (entry.kind, {}, entry.number)

    def restart(self) -> None:
        """The daemon ends and starts again from its file."""
        assert self.writer is not None
        self.writer.close()
        self.reader.close()
        self.reader = Reader(self.path)
        self.floor = self.reader.floor(self.plan, "main")
        self.writer = open_writer(self.path, self.reader.heads())
        self._see()

    def _tell(self, act_id: str, table: str, game: int | None) -> None:
        if act_id not in self.floor.acts:
            known = self.reader.recall_act(act_id)
            if known is not None:
                desk.remember(self.floor, act_id, *known)
        if game is not None and table in self.floor.tables:
            self.game(table, game)

    def game(self, table: str, game: int) -> Round | None:
        """A game, from memory or the ledger."""
        key = f"{table}/{game}"
        if self.floor.find_game(key) is None:
            found = self.reader.recall_game("main", table, game)
            if found is not None:
                self.floor.remember_game(found[0], found[1].tables[table])
        return self.floor.find_game(key)

    def every_round(self) -> list[Round]:
        """All games of all tables, those too that were never open."""
        numbers = {name: table.games for name, table in self.floor.tables.items()}
        return [found for name, games in numbers.items() for game in range(1, games + 1)
                if (found := self.game(name, game)) is not None]

    def close(self) -> None:
        """Nothing stays open."""
        if self.writer is not None:
            self.writer.close()
        self.reader.close()
