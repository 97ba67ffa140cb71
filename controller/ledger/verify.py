"""Proof of a ledger from itself alone: chain, sums, balances, keys and state; and a replay of every entry.

``verify`` streams the rows once. ``replay`` runs every entry through the engine again, by the rules of its version and
the configuration in force, and compares what comes out (design section 8).
"""

import json
import sys
from collections import deque
from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from controller import begun, day_acts, desk, drift, losses
from controller.acts import ActRefused, act_from
from controller.alarms import enter_again
from controller.config import build
from controller.floor import Floor
from controller.floor_state import ACCOUNTS, Round, StateRow, canonical, read_back, round_from
from controller.journal import RULES_VERSION, Entry, Posting
from controller.ledger import chain, schema
from controller.ledger.day_end import day_end_in
from controller.ledger.old_game import old_game
from controller.ledger.place import LedgerError, inspect_file, reading_engine
from controller.ledger.put_away import PutAway
from controller.ledger.ranges import Ranges, Stretches
from controller.ledger.reader import OWES_NOTHING, tell_act
from controller.meter import BrokenInvariant
from controller.plan import FloorPlan
from controller.taken import DayEnd, Recalled
from controller.waiting_config import configure_again

_ROWS = 5_000
_TAIL = 1_000
"""Entries that a start proves; the rest is proved by ``verify``."""
_FORGET_EACH = 1_000
"""Entries between two times that a replay lets go of old digests, games and acts."""
_KEPT = 64
"""Games and acts that it keeps in memory then, the latest."""
_ENTRIES = text("SELECT * FROM entry WHERE book = :book AND number >= :since ORDER BY number")
_POSTINGS = text(
    "SELECT entry, line, meter, account, microcents, balance FROM posting "
    "WHERE book = :book AND entry >= :since ORDER BY entry, line")


class BadEntry(Exception):
    """The first entry that does not hold, and why (exit code 1)."""

    def __init__(self, book: str, number: int, why: str) -> None:
        super().__init__(f"book {book}, entry {number}: {why}")
        self.book, self.number, self.why = book, number, why


class Verified(NamedTuple):
    """What was proved of one book."""

    book: str
    entries: int
    postings: int
    head: str
    replayed: bool


def verify(path: Path, *, replay: bool = False) -> list[Verified]:
    """Prove every book of a ledger; raises BadEntry for the first entry that is wrong, LedgerError for the file."""
    inspect_file(path)
    engine = reading_engine(path)
    try:
        with engine.connect() as connection:
            # The whole check compares every index with its table: only a replay takes the time for it.
            _refuse_foreign(connection, path)
            problem = connection.exec_driver_sql(f"PRAGMA {'integrity' if replay else 'quick'}_check").scalar()
            if problem != "ok":
                raise LedgerError(f"{path}: the database file is damaged: {problem}; keep it and restore a backup")
            return [_verify_book(connection, book, replay) for book in _books(connection)]
    except SQLAlchemyError as wrong:
        raise LedgerError(f"{path}: cannot be read: {getattr(wrong, 'orig', None) or wrong}") from wrong
    finally:
        engine.dispose()


def verify_tail(path: Path) -> None:
    """The quick proof of a start (R-69): the last entries chain up to the kept head, and kept balances sum to zero.

    Raises BadEntry or LedgerError. All else is ``verify``'s.
    """
    inspect_file(path)
    engine = reading_engine(path)
    try:
        with engine.connect() as connection:
            _refuse_foreign(connection, path)
            heads = connection.exec_driver_sql("SELECT book, number, body FROM state WHERE kind = 'head'").all()
            if not heads:
                raise LedgerError(f"{path}: has no entries; restore a backup")
            for book, number, body in heads:
                _verify_tail_of(connection, book, number, _head_hash(book, number, body))
    except SQLAlchemyError as wrong:
        raise LedgerError(f"{path}: cannot be read: {getattr(wrong, 'orig', None) or wrong}") from wrong
    finally:
        engine.dispose()


def replayed_rows(connection: Connection) -> Iterator[tuple[str, Iterator[StateRow]]]:
    """Book after book, the state rows that a replay of all its entries ends with; raises BadEntry where one differs."""
    for book in _books(connection):
        again = _Replay(book, connection)
        previous = chain.START
        for row, postings in _read(connection, book):
            previous = chain.link(*[previous, *row[:11], postings])
            if previous != row[12]:
                raise BadEntry(book, row[1], "its content does not match its hash")
            again.entry(Entry._make([*row[:11], tuple([Posting(*posting) for posting in postings])]))
        yield book, again.rows()


def _refuse_foreign(connection: Connection, path: Path) -> None:
    """A ledger has tables and indexes; a trigger or a view in it could change or hide what is written next."""
    query = "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY name"
    foreign = connection.exec_driver_sql(query).first()
    if foreign is not None:
        raise LedgerError(f"{path}: has a {foreign.type} {foreign.name}, not made by this program; "
                          "keep the file as it is and restore a backup")


def _verify_tail_of(connection: Connection, book: str, head: int, head_hash: str) -> None:
    since = max(1, head - _TAIL)
    previous: bytes | None = None
    number = since - 1
    for row, postings in _read(connection, book, since):
        if row[1] != number + 1 or (previous is not None and row[11] != previous):
            raise BadEntry(book, row[1], "it does not follow the entry before it")
        number = row[1]
        previous = chain.link(*[row[11], *row[:11], postings])
        if previous != row[12]:
            raise BadEntry(book, number, "its content does not match its hash")
        _check_zero(book, number, postings)
    if number != head or previous is None or previous.hex() != head_hash:
        raise BadEntry(book, number, "it is not the last entry that the ledger had: entries are missing at the end")
    rows = connection.execute(
        text("SELECT key, number, body FROM state WHERE book = :book AND kind = 'meter'"), {"book": book})
    for key, kept_at, body in rows:
        if sum(_balances(book, kept_at, key, body)):
            raise BadEntry(book, kept_at, f"the kept balances of {key} do not sum to zero")


def _head_hash(book: str, number: int, body: str) -> str:
    try:
        return str(json.loads(body)["hash"])
    except (ValueError, KeyError, TypeError) as wrong:
        raise BadEntry(book, number, "what is kept of the last entry cannot be read") from wrong


def _books(connection: Connection) -> list[str]:
    """Every book that any row names, by one step of an index for each."""
    found: set[str] = set()
    for column in (schema.entry.c.book, schema.posting.c.book, schema.state.c.book):
        book = connection.scalar(select(func.min(column)))
        while book is not None:
            found.add(book)
            book = connection.scalar(select(func.min(column)).where(column > book))
    return sorted(found)


def _balances(book: str, number: int, key: str, body: str) -> list[int]:
    """The balances in a meter's state row, in the order of ``ACCOUNTS``."""
    try:
        made = json.loads(body)
        balances = [made[account] for account in ACCOUNTS]
    except (ValueError, KeyError, TypeError) as wrong:
        raise BadEntry(book, number, f"the kept state of meter {key} cannot be read") from wrong
    if any(type(balance) is not int for balance in balances):
        raise BadEntry(book, number, f"the kept state of meter {key} has a balance that is no whole number")
    return balances


def _verify_book(connection: Connection, book: str, replay: bool) -> Verified:
    balances: dict[tuple[str, str], int] = {}
    again = _Replay(book, connection) if replay else None
    previous, number, lines = chain.START, 0, 0
    for row, postings in _read(connection, book):
        _entry_book, entry_number, at, kind, table, game, device, boot, seq, rules, body, before, hashed = row
        if entry_number != number + 1:
            raise BadEntry(book, entry_number, f"entry {number + 1} is missing")
        number = entry_number
        if before != previous:
            raise BadEntry(book, number, "it does not name the hash of the entry before it")
        previous = chain.link(before, book, number, at, kind, table, game, device, boot, seq, rules, body, postings)
        if previous != hashed:
            raise BadEntry(book, number, "its content does not match its hash")
        if postings:
            _check_postings(book, number, postings, balances)
            lines += len(postings)
        if again is not None:
            made = Entry(book, number, at, kind, table, game, device, boot, seq, rules, body,
                         tuple([Posting(*posting) for posting in postings]))
            again.entry(made)
    _check_states(connection, book, number, previous, balances)
    if again is not None:
        again.compare_states(connection)
    return Verified(book, number, lines, previous.hex(), replay)


def _read(connection: Connection, book: str, since: int = 0) -> Iterator[tuple[Any, list[tuple[str, str, int, int]]]]:
    """Every entry with its postings, streamed side by side from two cursors of one snapshot."""
    stream = connection.execution_options(stream_results=True, yield_per=_ROWS)
    lines = _driver_rows(stream, _POSTINGS, book, since)
    following = next(lines, None)
    for row in _driver_rows(stream, _ENTRIES, book, since):
        number = row[1]
        postings: list[tuple[str, str, int, int]] = []
        while following is not None and following[0] <= number:
            if following[0] < number or following[1] != len(postings):
                raise BadEntry(book, following[0], "it has a posting too many, or one is missing")
            postings.append(following[2:])
            following = next(lines, None)
        yield row, postings
    if following is not None:
        raise BadEntry(book, following[0], "there is a posting without its entry")


def _driver_rows(connection: Connection, query: Any, book: str, since: int) -> Iterator[Any]:
    """The driver's own tuples, fetched in pieces: twice as quick as row objects over millions of rows."""
    cursor = connection.execute(query, {"book": book, "since": since}).cursor
    while cursor is not None and (rows := cursor.fetchmany(_ROWS)):
        yield from rows


def _check_postings(
    book: str, number: int, postings: list[tuple[str, str, int, int]], balances: dict[tuple[str, str], int]
) -> None:
    for meter, account, microcents, balance in postings:
        now = balances.get((meter, account), 0) + microcents
        if now != balance or account not in ACCOUNTS:
            raise BadEntry(book, number, f"the balance of {meter} {account} is {balance}, but its postings make {now}")
        balances[meter, account] = now
    _check_zero(book, number, postings)


def _check_zero(book: str, number: int, postings: list[tuple[str, str, int, int]]) -> None:
    sums: dict[str, int] = {}
    for meter, _account, microcents, _balance in postings:
        sums[meter] = sums.get(meter, 0) + microcents
    for meter, total in sums.items():
        if total:
            raise BadEntry(book, number, f"its postings for {meter} do not sum to zero but to {total} microcents")


def _check_states(
    connection: Connection, book: str, number: int, head: bytes, balances: dict[tuple[str, str], int]
) -> None:
    """The state rows that a start trusts say the same as the entries."""
    rows = connection.execute(
        text("SELECT kind, key, number, body FROM state WHERE book = :book AND kind IN ('head', 'meter')"),
        {"book": book}).all()
    heads = [tuple(row) for row in rows if row.kind == "head"]
    if heads != [("head", book, number, canonical({"hash": head.hex(), "number": number}))]:
        raise BadEntry(book, number, "it is not the last entry that the ledger had: entries are missing at the end")
    ahead = connection.execute(
        text("SELECT kind, key, number FROM state WHERE book = :book AND (number > :head OR number < 1)"),
        {"book": book, "head": number}).first()
    if ahead is not None:
        raise BadEntry(book, number, f"the state of {ahead.kind} {ahead.key} is kept as of entry {ahead.number}")
    seen = set()
    for row in rows:
        if row.kind == "meter":
            seen.add(row.key)
            for account, kept in zip(ACCOUNTS, _balances(book, row.number, row.key, row.body), strict=True):
                if kept != balances.get((row.key, account), 0):
                    raise BadEntry(book, row.number, f"the kept balance of {row.key} {account} is not its postings'")
    missing = {meter for meter, _ in balances} - seen
    if missing:
        raise BadEntry(book, number, f"there is no kept state for {', '.join(sorted(missing))}")


class _Replay:
    """Runs a book's entries through the engine again and compares them one by one."""

    def __init__(self, book: str, connection: Connection) -> None:
        self._book, self._connection = book, connection
        self._plans: dict[int, FloorPlan] = {}
        self._known = Stretches()
        self._file: Path | None = None
        self._floor: Floor | None = None
        self._rules = 0
        """The version of the rules of the entry before."""
        self._made: deque[Entry] = deque()
        self._away = PutAway()
        self._owing: set[str] = set()
        """The games that owed something when their rows were put away."""
        self._latest: dict[tuple[str, str], int] = {}
        """By kind and key of a state row: the last entry that surely changed it, since rows were put away."""

    def entry(self, entry: Entry) -> None:
        """Recompute one entry; raises BadEntry when the engine makes another."""
        if not 1 <= entry.rules <= RULES_VERSION:
            raise BadEntry(self._book, entry.number, f"it was made by rules version {entry.rules}, unknown here")
        if entry.rules < self._rules:
            raise BadEntry(self._book, entry.number, f"its rules version is {entry.rules}, older than that before it")
        self._rules = entry.rules
        if self._floor is not None:
            self._floor.rules = entry.rules
        if not self._made:
            try:
                self._do(entry, json.loads(entry.body))
            except (ActRefused, BrokenInvariant, KeyError, TypeError, ValueError) as wrong:
                raise BadEntry(self._book, entry.number, f"it cannot be replayed: {wrong}") from wrong
        if not self._made:
            raise BadEntry(self._book, entry.number, "replayed, it would make no entry")
        made = self._made.popleft()
        if made != entry:
            different = [name for name in Entry._fields if getattr(made, name) != getattr(entry, name)]
            raise BadEntry(self._book, entry.number, f"replayed, it differs in {', '.join(different)}")
        if entry.kind == "config":
            self._plans[entry.number] = build(json.loads(entry.body)["document"])
        if entry.boot is not None and entry.device != desk.DESK:
            self._latest["boot", f"{entry.device}/{entry.boot}"] = entry.number
        if entry.game is not None and entry.kind != "notice" and entry.device != desk.DESK:
            self._latest["table", str(entry.table)] = entry.number
        for posting in entry.postings:
            self._latest["meter", posting.meter] = entry.number
        if entry.kind == "hits":
            self._latest["award", f"{entry.table}/{entry.game}"] = self._latest["book", self._book] = entry.number

    def _do(self, entry: Entry, body: Any) -> None:
        floor = self._floor
        if entry.kind == "init":
            floor = self._floor = Floor(self._book)
            floor.rules = entry.rules
            floor.enter("init", entry.at, body=body)
        elif floor is None:
            raise ValueError("the book does not begin with its first entry")
        elif entry.kind == "config":
            configure_again(floor, body, entry.at)
        elif entry.kind == "opening":
            floor.open_meter(floor.meters[body["meter"]], entry.at)
        elif entry.kind == "heard":
            floor.hear(str(entry.device), str(entry.boot), entry.at)
        elif entry.kind == "loss":
            self._hold(floor, entry, body)
        elif entry.kind == "recounted":
            losses.recount(floor, str(entry.device), str(entry.boot), body["theirs"], entry.at)
        elif entry.kind == "loss-accepted":
            losses.accept_loss(floor, str(entry.table), body["reason"], entry.at)
        elif entry.kind == "stop":
            floor.stop(body["reason"], entry.at)
        elif entry.kind == "clear":
            floor.clear(body["reason"], entry.at)
        elif entry.kind == "alarm":
            enter_again(floor, body, entry.table, entry.at)
        elif entry.kind == drift.ENTRY:
            drift.begin(floor, entry.at)
        elif entry.kind == begun.ENTRY:
            begun.enter(floor, body, entry.at)
        elif entry.device == desk.DESK or entry.kind == "act-refused":
            self._act(floor, entry, body)
        else:
            self._take(floor, entry, body)
        self._made.extend(floor.entries)
        floor.entries.clear()
        if entry.number % _FORGET_EACH == 0:
            self._put_away(floor)
            floor.forget(floor.number, boots_kept=sys.maxsize)

    def _put_away(self, floor: Floor) -> None:
        """Keep the rows that have changed, and let go of the games and acts that can be found again by them."""
        rows = floor.drain()[1]
        for row in rows:
            if row.kind == "award":
                (self._owing.discard if OWES_NOTHING in row.body else self._owing.add)(row.key)
        self._away.put(rows, self._latest)
        self._latest.clear()
        for game in list(floor.games)[:-_KEPT]:
            del floor.games[game]
        for act_id in list(floor.acts)[:-_KEPT]:
            del floor.acts[act_id]

    def _take(self, floor: Floor, entry: Entry, body: Any) -> None:
        device, boot = str(entry.device), str(entry.boot)
        seq = entry.seq if entry.seq is not None else body["seq"]
        if entry.kind == "fault":  # what it differed from may be long forgotten
            for asked in floor.asks(read_back(device, boot, seq, body["message"])):
                floor.remember(asked, Recalled(None, "something else"))
        floor.take(read_back(device, boot, seq, body["message"]), entry.at)

    def _act(self, floor: Floor, entry: Entry, body: Any) -> None:
        act_id = str(entry.boot)
        if entry.kind != "act-refused":
            if not self._away.is_new(act_id):
                raise ValueError("an entry before it is of the same act")
            asked = act_from(entry.kind, act_id, body)
            tell_act(floor, asked, lambda _: None, self._game, partial(self._day, floor, entry),
                     partial(self._games, floor))
        desk.again(floor, entry.kind, act_id, body, entry.at)

    def _game(self, table: str, game: int) -> tuple[dict[str, Any], FloorPlan] | None:
        """A game that is not in memory: as it was put away or, before people spoke of it, by its lock-out's entry."""
        row = self._away.body("award", f"{table}/{game}")
        made = json.loads(row)["round"] if row is not None else old_game(self._connection, self._book, table, game)
        return None if made is None else (made, self._plans[made["plan_entry"]])

    def _day(self, floor: Floor, entry: Entry, day: date) -> DayEnd | None:
        """How a gaming day ended, again from the entries before the one that closes it."""
        if self._file is None:
            listed = self._connection.exec_driver_sql("PRAGMA database_list").all()
            self._file = Path(next(file for _, name, file in listed if name == "main"))
        closed = floor.rows.get("day", {}).get(day_acts.CLOSED)
        look = Ranges(self._file, self._known, until={self._book: entry.number - 1}, within=self._connection)
        return day_end_in(look, self._book, day, closed, entry.at, partial(self._games, floor))

    def _games(self, floor: Floor, since: int | None = None) -> list[Round]:
        """The games in memory; and of those put away the ones that owe something, or changed by entry ``since`` on."""
        found = day_acts.games_of(floor)
        keys = set(self._owing)
        if since is not None:
            keys |= self._away.keys_since("award", since)
        for key in keys - {game.key for game in found}:
            made = json.loads(self._away.body("award", key) or "")["round"]
            found.append(round_from(made, self._plans[made["plan_entry"]].tables[key.rpartition("/")[0]]))
        return found

    def _hold(self, floor: Floor, entry: Entry, body: Any) -> None:
        device, boot = str(entry.device), body["boot"]
        if body["kind"] == "loss":
            losses.lose(floor, device, boot, body["first"], body["kept_first"], entry.at)
        else:
            losses.differ(floor, device, boot, body["theirs"], body["ours"], entry.at)

    def rows(self) -> Iterator[StateRow]:
        """The state rows that the book ends with."""
        if self._floor is not None:
            self._put_away(self._floor)
        return self._away.rows()

    def compare_states(self, connection: Connection) -> None:
        """The kept state of every meter, table, boot and award is what the replay ends with."""
        floor = self._floor
        if floor is None:
            return
        self._put_away(floor)
        query = text("SELECT kind, key, body, number FROM state WHERE book = :book AND kind <> 'head' "
                     "ORDER BY kind, key")
        stream = connection.execution_options(stream_results=True, yield_per=_ROWS)
        kept: Iterator[Any] = iter(stream.execute(query, {"book": self._book}))
        for made, found in zip_longest(self._away.rows(), kept):
            if made is None or found is None or (made.kind, made.key, made.body) != (found.kind, found.key, found.body):
                kind, key = min((row.kind, row.key) for row in (made, found) if row is not None)
                raise BadEntry(self._book, floor.number, f"the kept state of {kind} {key} is not what replay makes")
            changed = self._away.changed(found.kind, found.key)
            if found.number < changed:
                raise BadEntry(
                    self._book, changed, f"the state of {found.kind} {found.key} is kept as of entry {found.number}")
