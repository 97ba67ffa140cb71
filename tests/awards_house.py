"""A floor on a real ledger with people at its desk: what tables say, what people sign, and the same as a ``Source``.

Every message and act is written to the ledger before the board learns it, as in the daemon; the engine forgets closed
games, so that acts find them again in the ledger.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from demo_snapshot import device, wiring
from desk_house import EVERYBODY
from floors import contract_floor, plan_of
from ledger_house import hit, lock, opened, said
from people_house import HASH, people_app
from web_house import House

from controller import desk
from controller.acts import KINDS, Act, Acted, ActRefused, read_act
from controller.board_reader import read_board
from controller.config import build
from controller.desk_log import AwardLog, AwardsLately, Owed, TableAct, read_owed, read_table_acts
from controller.floor import Floor
from controller.game_file import GameFile, read_game
from controller.ledger.reader import Reader, tell, tell_act
from controller.ledger.writer import Batch, open_writer
from controller.people import Person
from controller.plan import FloorPlan
from controller.printers import ANSWER_S, Printers
from controller.register import Registered, to_row
from controller.snapshot import Snapshot
from controller.vault import fingerprint
from controller.web.award_pages import award_routes
from controller.web.templates import make_templates
from controller.wiring import PrinterPlan, WebPlan
from firmware_bridge.messages import decode_json

AT = 1_796_162_400_000_000
"""2026-12-01 22:00 UTC, 17:00 on the floor."""
MINUTE = 60_000_000
SPOT = "progressive"


def plan_with(
    table: Mapping[str, Any] | None = None, meter: Mapping[str, Any] | None = None, **awards: Any
) -> FloorPlan:
    """The contract's floor with keys added to every table and meter, and an ``[awards]`` section."""
    floor, paytables = deepcopy(contract_floor())
    for one in floor["table"]:
        one.update(table or {})
    for one in floor["meter"]:
        one.update(meter or {})
    plan = plan_of((floor, paytables))
    return build({**plan.document, "awards": awards}) if awards else plan


class AwardsHouse(House):
    """A book on disk. Messages come from ``hub-01`` (PG-01) and ``hub-02`` (PG-02)."""

    def __init__(
        self, folder: Path, plan: FloorPlan | None = None, printers: Sequence[PrinterPlan] = (),
        answer_s: float = ANSWER_S,
    ) -> None:
        self.plan = plan or plan_with()
        self.path = opened(folder / "ledger.db", self.plan)
        self.reader = Reader(self.path)
        self.floor = self.reader.floor(self.plan, "main")
        self.board = read_board(self.reader, self.plan)
        self.log_of_awards = AwardLog(self.reader, self.plan)
        self.at = AT
        self._guard = threading.Lock()
        self._seq: dict[str, int] = {}
        self._ids = count(1)
        for person in EVERYBODY:
            known = Registered(
                person, person.id.title(), "enabled", 1, None, fingerprint(HASH), AT, False, "")
            self.floor.keep("person", person.id, to_row(known))
        self._write()
        super().__init__(self._made(), replace(wiring(), web=WebPlan("127.0.0.1", 0), printers=tuple(printers)))
        self.printers = Printers(printers, time.monotonic, self.stats, answer_s)

    # ------------------------------------------------------------------ the ledger

    def _write(self) -> None:
        writer = open_writer(self.path, self.reader.heads())
        entries, states = self.floor.drain()
        writer.write([Batch("main", entries, states)])
        writer.close()
        self.board.learn("main", entries, states)
        self.floor.games.clear()

    def _made(self) -> Snapshot:
        board = self.board
        devices = {plan.device: device(self.plan, name) for name, plan in self.plan.tables.items()}
        return Snapshot(
            plan=self.plan, at=self.at, started_at=AT, version="0.1.0", entries=dict(board.entries),
            meters=dict(board.meters), tables=dict(board.tables), awards=board.awards, envy=board.envy,
            pending_awards=board.awards_pending, notes=board.notes, stopped="", devices=devices, waiting=board.waiting)

    # ------------------------------------------------------------------ what the table says

    def say(self, word: str, number: int, table: str = "PG-01", **fields: Any) -> None:
        """One message of a table's unit about its game ``number``."""
        unit = self.plan.tables[table].device
        self._seq[unit] = self._seq.get(unit, 0) + 1
        made = {"lock": lock, "hits": hit}.get(word)
        if made is None:
            message = said(word, self._seq[unit], unit, round=number, **fields)
        elif word == "lock":
            message = lock(self._seq[unit], number, *fields["seats"], device=unit, cents=fields.get("cents", 500))
        else:
            message = hit(self._seq[unit], number, fields["seat"], fields["outcome"], unit)
        numbered = decode_json(json.dumps(message).encode())
        with self._guard:
            tell(self.floor, numbered, lambda asked: self.reader.recall("main", asked))  # type: ignore[arg-type]
            (taken,) = self.floor.take(numbered, self.at)  # type: ignore[arg-type]
            assert taken.result == "posted", taken
            self._write()
        self.tell(self._made())

    def lock(self, number: int, *seats: int, table: str = "PG-01", cents: int = 500) -> None:
        """A lock-out."""
        self.say("lock", number, table, seats=seats, cents=cents)

    def hit(self, number: int, seat: int, outcome: str, table: str = "PG-01") -> None:
        """One hand entered at the keypad."""
        self.say("hits", number, table, seat=seat, outcome=outcome)

    def later(self, minutes: int = 1) -> None:
        """Let time pass."""
        self.at += minutes * MINUTE
        self.tell(self._made())

    def change(self, change: Callable[[Floor, int], object]) -> None:
        """Let something else make entries on the book."""
        with self._guard:
            change(self.floor, self.at)
            self._write()
        self.tell(self._made())

    # ------------------------------------------------------------------ what people sign

    def sign(self, kind: str, *people: Person | None, act_id: str = "", **fields: Any) -> Acted:
        """An act of up to three people; of table PG-01 and its progressive spot where nothing else is said."""
        names = {one.name for one in KINDS[kind].fields}
        given = {name: word for name, word in {"table": "PG-01", "spot": SPOT}.items() if name in names}
        by, second, third = (*people, None, None)[:3]
        assert by is not None
        made = read_act(kind, act_id or f"act-{next(self._ids):06d}", given | fields, by, second, third)
        return self._do(made)

    def _do(self, asked: Act) -> Acted:
        with self._guard:
            tell_act(self.floor, asked, self.reader.recall_act,
                     lambda table, game: self.reader.recall_game("main", table, game))
            try:
                acted = desk.act(self.floor, asked, self.at)
            except ActRefused as refused:
                desk.refuse(self.floor, asked, refused, self.at)
                raise
            finally:
                self._write()
        self.tell(self._made())
        return acted

    # ------------------------------------------------------------------ the pages' source

    async def act(self, book: str, act: Act) -> Acted:
        return self._do(act)

    def rows(self, book: str, kind: str) -> Mapping[str, Mapping[str, Any]]:
        return self.floor.rows.get(kind, {})

    def alarms(self) -> Sequence[Any]:
        return ()

    async def game_file(self, table: str, game: int) -> GameFile | None:
        return await asyncio.to_thread(self.file, table, game)

    async def awards_lately(self) -> AwardsLately:
        return await asyncio.to_thread(self.log_of_awards.lately)

    async def table_acts(self, table: str) -> Sequence[TableAct]:
        return await asyncio.to_thread(read_table_acts, self.reader, self.plan, table)

    async def owed_at(self, table: str) -> Sequence[Owed]:
        return await asyncio.to_thread(read_owed, self.reader, self.plan, table)

    def file(self, table: str, game: int) -> GameFile | None:
        """A game's file, read from the ledger now."""
        return read_game(self.reader, self.plan, "main", table, game)

    def game(self, game: int, table: str = "PG-01") -> GameFile:
        """The same, of a game that is there."""
        found = self.file(table, game)
        assert found is not None
        return found


def mount_awards(app: Any, house: AwardsHouse) -> None:
    """Add the pages of awards to an application that has none yet."""
    if not any(getattr(route, "path", "") == "/awards" for route in app.routes):
        app.include_router(award_routes(house, make_templates()))


def awards_app(house: AwardsHouse, folder: Path) -> Any:
    """The application over a house, with everybody's secret and the pages of awards."""
    app = people_app(house, folder)  # type: ignore[arg-type]
    mount_awards(app, house)
    return app
