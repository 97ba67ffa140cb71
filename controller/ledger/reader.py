"""Everything that is read from a ledger, on short read-only connections (DB-03). Never writes."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from controller import desk
from controller.acts import Act
from controller.config import ConfigError, build
from controller.floor import BOOTS_KEPT, STATE_KINDS, Floor
from controller.floor_state import Round, StateRow, plan_entries, read_back, round_from
from controller.journal import Entry, Posting
from controller.ledger import schema
from controller.ledger.old_game import old_game
from controller.ledger.place import LedgerError, inspect_file, reading_engine
from controller.ledger.schema import entry, posting, state
from controller.plan import FloorPlan
from controller.taken import Asked, DayEnd, Recalled
from firmware_bridge.messages import Numbered, content

OWES_NOTHING = '"owed":0,'
"""What stands in the row of a game that owes nothing more."""
BOOTS_READ = 4_096
"""Boot rows read at a start; older boots are recalled when they speak again."""


class Origin(NamedTuple):
    """Whose ledger it is, from its first entry: fixed when it was made."""

    site: str
    environment: str
    made_by: str


def tell(floor: Floor, message: Numbered, recall: Callable[[Asked], Recalled]) -> None:
    """Give a floor what it must know of the ledger before it takes ``message``, and the held ones it sets free."""
    for asked in floor.asks(message):
        floor.remember(asked, recall(asked))
    boot = floor.boots.get((message.device, message.boot))
    if boot is not None and boot.held and message.seq == boot.next:
        for held in boot.held.values():
            for asked in floor.asks(held):
                floor.remember(asked, recall(asked))


def tell_act(
    floor: Floor, act: Act, recall: Callable[[str], tuple[str, dict[str, Any], int] | None],
    recall_game: Callable[[str, int], tuple[dict[str, Any], FloorPlan] | None],
    recall_day: Callable[[date], DayEnd | None] = lambda _: None, recall_owing: Callable[[], Iterable[Round]] = tuple,
) -> None:
    """Give a floor what it must know of the ledger before it does ``act``.

    Whether it is done; the game it speaks of; how a gaming day ended that it closes; the games that owe something.
    """
    if act.id not in floor.acts:
        known = recall(act.id)
        if known is not None:
            desk.remember(floor, act.id, *known)
    game = desk.names_game(act)
    if game is not None and game.table in floor.tables and floor.find_game(game.key) is None:
        found = recall_game(*game)
        if found is not None:
            floor.remember_game(found[0], found[1].tables[game.table])
    day = desk.names_day(floor, act)
    floor.day_end = None if day is None else recall_day(day)
    if act.kind == "handed-over":
        for owes in recall_owing():
            if floor.find_game(owes.key) is None:
                floor.games[owes.key] = owes


class Reader:
    """Reads one SQLite ledger."""

    def __init__(self, path: Path) -> None:
        inspect_file(path)
        self._path = path
        self._engine = reading_engine(path)

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self._path

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except (SQLAlchemyError, ConfigError, ValueError, KeyError, TypeError, AttributeError) as wrong:
            # What is written in a ledger is JSON of known forms: anything else has been damaged.
            raise LedgerError(
                f"{self._path}: cannot be read, it may be damaged: {getattr(wrong, 'orig', None) or wrong}; "
                "run `meterctl verify`, keep the file as it is and restore a backup") from wrong

    def origin(self) -> Origin:
        """Site, environment and maker of the ledger."""
        with self._connected() as connection:
            body = connection.scalar(select(entry.c.body).where(entry.c.number == 1).limit(1))
            if body is None:
                raise LedgerError(f"{self._path}: has no first entry; restore a backup")
            made = json.loads(body)
            return Origin(made["site"], made["environment"], made["made_by"])

    def heads(self) -> dict[str, tuple[int, bytes]]:
        """Last number and hash of every book."""
        with self._connected() as connection:
            rows = connection.execute(select(state.c.book, state.c.body).where(state.c.kind == "head")).all()
            made = {book: json.loads(body) for book, body in rows}
            return {book: (head["number"], bytes.fromhex(head["hash"])) for book, head in made.items()}

    def states(self, book: str, kind: str, latest: int | None = None, having: str = "") -> list[StateRow]:
        """State rows of one kind, newest first; at most ``latest``. ``having``: only those with this text."""
        query = select(state.c.kind, state.c.key, state.c.number, state.c.body)
        query = query.where(state.c.book == book, state.c.kind == kind).order_by(state.c.number.desc(), state.c.key)
        if having:
            query = query.where(state.c.body.contains(having, autoescape=True))
        with self._connected() as connection:
            return [StateRow(*row) for row in connection.execute(query.limit(latest))]

    def config_entry(self, book: str, number: int | None = None) -> tuple[int, dict[str, Any]]:
        """The latest config entry of a book (or that one): its number and body."""
        with self._connected() as connection:
            if number is None:
                number = next(iter(self._latest_of(connection, book, ("config",), 1)), 0)
            query = select(entry.c.number, entry.c.body).where(entry.c.book == book, entry.c.kind == "config")
            row = connection.execute(query.where(entry.c.number == number)).one_or_none()
            if row is None:
                raise LedgerError(f"{self._path}: book {book} has no configuration entry; restore a backup")
            return row[0], json.loads(row[1])

    def _latest_of(self, connection: Connection, book: str, kinds: tuple[str, ...], latest: int) -> list[int]:
        query = schema.latest_seldom(self._engine.dialect)
        return list(connection.scalars(query, {"book": book, "kinds": list(kinds), "latest": latest}))

    def plan(self, book: str) -> FloorPlan:
        """The floor plan of a book's latest config entry."""
        with self._connected():
            return build(self.config_entry(book)[1]["document"])

    def floor(self, plan: FloorPlan | None, book: str) -> Floor:
        """The book as its state rows have it, under ``plan`` (None: the plan of its latest config entry).

        A round still open stays under the plan it was locked under, whatever ``plan`` is now.
        """
        plan_entry, body = self.config_entry(book)
        with self._connected():
            latest = plan if plan is not None and plan.hash == body["hash"] else build(body["document"])
            meters, tables = self.states(book, "meter"), self.states(book, "table")
            boots, elsewhere = self._latest_boots(book)
            plans = {plan_entry: latest}
            for number in plan_entries(json.loads(row.body) for row in tables) - {plan_entry}:
                plans[number] = build(self.config_entry(book, number)[1]["document"])
            rows = [*meters, *tables, *boots, *self.states(book, "book"), *self.people_rows(book)]
            number = self.heads()[book][0]
            return Floor.loaded(plan or latest, book, rows, number, plan_entry, plans, boots_elsewhere=elsewhere)

    def _latest_boots(self, book: str) -> tuple[list[StateRow], bool]:
        """The boots of each unit that spoke last, those with held messages, and whether the ledger has more."""
        kept: dict[str, StateRow] = {}
        seen: dict[str, int] = {}
        rows = self.states(book, "boot", BOOTS_READ)
        for row in rows:
            device = row.key.split("/")[0]
            seen[device] = seen.get(device, 0) + 1
            if seen[device] <= BOOTS_KEPT:
                kept[row.key] = row
        elsewhere = len(rows) == BOOTS_READ or len(kept) < len(rows)
        return list((kept | {row.key: row for row in self._waiting(book)}).values()), elsewhere

    def people_rows(self, book: str) -> list[StateRow]:
        """Every row of the kinds that ``Floor.keep`` keeps, in the order of their keys."""
        query = select(state.c.kind, state.c.key, state.c.number, state.c.body).where(
            state.c.book == book, state.c.kind.not_in(STATE_KINDS)).order_by(state.c.kind, state.c.key)
        with self._connected() as connection:
            return [StateRow(*row) for row in connection.execute(query)]

    def _waiting(self, book: str) -> list[StateRow]:
        """The boots with messages held ahead of their turn, at most ``BOOTS_READ``."""
        return self.states(book, "boot", BOOTS_READ, having='"held":{"')

    def recall(self, book: str, asked: Asked) -> Recalled:
        """What the ledger knows of a boot, and of one of its numbers (design section 8)."""
        key = f"{asked.device}/{asked.boot}"
        with self._connected() as connection:
            body = connection.scalar(
                select(state.c.body).where(state.c.book == book, state.c.kind == "boot", state.c.key == key))
            known = None if body is None else json.loads(body)
            if asked.seq is None:
                return Recalled(known)
            row = connection.execute(
                select(entry.c.number, entry.c.body).where(
                    entry.c.device == asked.device, entry.c.boot == asked.boot, entry.c.seq == asked.seq)
            ).one_or_none()
            if row is None:
                return Recalled(known)
            made = json.loads(row[1])
            text = content(read_back(asked.device, asked.boot, asked.seq, made["message"]))
            return Recalled(known, text, made.get("reason", ""), row[0])

    def recall_act(self, act_id: str) -> tuple[str, dict[str, Any], int] | None:
        """An act by its id: its kind, body and entry; None when it was never done in any book."""
        query = select(entry.c.kind, entry.c.body, entry.c.number).where(
            entry.c.device == desk.DESK, entry.c.boot == act_id, entry.c.seq == 1)
        with self._connected() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None else (row[0], json.loads(row[1]), row[2])

    def recall_game(self, book: str, table: str, game: int) -> tuple[dict[str, Any], FloorPlan] | None:
        """A closed game as its award row has it, or else its entries; with the plan that it was locked under."""
        query = select(state.c.body).where(
            state.c.book == book, state.c.kind == "award", state.c.key == f"{table}/{game}")
        with self._connected() as connection:
            body = connection.scalar(query)
            made = json.loads(body)["round"] if body is not None else old_game(connection, book, table, game)
            if made is None:
                return None
            return made, build(self.config_entry(book, made["plan_entry"])[1]["document"])

    def games_owing(self, book: str, since: int | None = None) -> Iterator[Round]:
        """The games that owe something, and those that changed by entry ``since`` or a later one. Blocks."""
        owes = ~state.c.body.contains(OWES_NOTHING)
        query = select(state.c.key, state.c.body).where(state.c.book == book, state.c.kind == "award")
        query = query.where(owes if since is None else owes | (state.c.number >= since))
        with self._connected() as connection:
            plans: dict[int, FloorPlan] = {}
            for key, body in connection.execute(query):
                made = json.loads(body)["round"]
                number = made["plan_entry"]
                if number not in plans:
                    plans[number] = build(self.config_entry(book, number)[1]["document"])
                yield round_from(made, plans[number].tables[key.rpartition("/")[0]])

    def earliest_after(self, book: str, number: int) -> int | None:
        """The earliest time of the entries after one; None: there are none."""
        query = select(func.min(entry.c.at)).where(entry.c.book == book, entry.c.number > number)
        with self._connected() as connection:
            found: int | None = connection.scalar(query)
            return found

    def latest_lock(self, book: str, device: str, boot: str) -> int | None:
        """The number of the latest lock-out that was posted of a boot."""
        query = select(entry.c.number).where(entry.c.book == book, entry.c.device == device, entry.c.boot == boot)
        query = query.where(entry.c.kind == "lock", entry.c.seq.is_not(None)).order_by(entry.c.seq.desc())
        with self._connected() as connection:
            return connection.scalar(query.limit(1))

    def entries(
        self, book: str, *, before: int | None = None, latest: int = 100, kinds: tuple[str, ...] = (),
        numbers: Collection[int] | None = None,
    ) -> list[Entry]:
        """Entries of a book with their postings, newest first, at most ``latest``.

        ``kinds``: only these, each one of the seldom ones; ``numbers``: only those with these numbers.
        """
        query = select(*entry.c[:11]).where(entry.c.book == book)
        if before is not None:
            query = query.where(entry.c.number < before)
        with self._connected() as connection:
            if kinds:
                numbers = self._latest_of(connection, book, kinds, latest)
            if numbers is not None:
                query = query.where(entry.c.number.in_(numbers))
            rows = connection.execute(query.order_by(entry.c.number.desc()).limit(latest)).all()
            lines = connection.execute(
                select(*posting.c[1:]).where(posting.c.book == book, posting.c.entry.in_([row[1] for row in rows]))
                .order_by(posting.c.line)).all()
        by_entry: dict[int, list[Posting]] = {}
        for line in lines:
            by_entry.setdefault(line[0], []).append(Posting(*line[2:]))
        return [Entry._make([*row, tuple(by_entry.get(row[1], ()))]) for row in rows]

    def close(self) -> None:
        """Nothing stays open."""
        self._engine.dispose()
