"""A closed game of which the ledger keeps no row: found again by its lock-out and what followed it (R-62)."""

import json
from typing import Any

from sqlalchemy import Connection, func, select

from controller.ledger.schema import entry, posting


def old_game(connection: Connection, book: str, table: str, game: int) -> dict[str, Any] | None:
    """The round of a game in the form of ``floor_state.round_row``; None when the table has had no such game.

    Game numbers rise with the entries of a table, so the lock-out is found by halving; nothing is scanned.
    """
    found = _lock_of(connection, book, table, game)
    if found is None:
        return None
    number, at, boot, body = found
    message = json.loads(body)["message"]
    made = {
        "at": at, "boot": boot, "chips": None, "fed": _fed(connection, book, number), "game": game, "hits": [],
        "plan_entry": _config_before(connection, book, number), "round": message["round"],
        "wagers": [[wager["seat"], wager["spot"], wager["cents"]] for wager in message["wagers"]],
        "since": {"state": "closed"},
    }
    _follow(connection, book, table, game, number, made)
    return made


def _lock_of(connection: Connection, book: str, table: str, game: int) -> tuple[int, int, str, str] | None:
    low, high = 1, connection.scalar(select(func.max(entry.c.number)).where(entry.c.book == book)) or 0
    while low <= high:
        middle = (low + high) // 2
        row = _first_lock(connection, book, table, middle)
        if row is None or row.game > game:
            high = middle - 1
        elif row.game < game:
            low = row.number + 1
        else:
            return row.number, row.at, row.boot, row.body
    return None


def _first_lock(connection: Connection, book: str, table: str, since: int) -> Any:
    """The table's first lock-out from an entry on."""
    query = select(entry.c.number, entry.c.game, entry.c.at, entry.c.boot, entry.c.body).where(
        entry.c.book == book, entry.c.number >= since, entry.c.kind == "lock", entry.c.table == table)
    return connection.execute(query.order_by(entry.c.number).limit(1)).one_or_none()


def _fed(connection: Connection, book: str, number: int) -> dict[str, int]:
    """What the lock-out contributed to each meter, in microcents."""
    query = select(posting.c.meter, posting.c.microcents).where(
        posting.c.book == book, posting.c.entry == number, posting.c.account == "players").order_by(posting.c.line)
    return {meter: -microcents for meter, microcents in connection.execute(query)}


def _config_before(connection: Connection, book: str, number: int) -> int:
    """The config entry in force at an entry: all of them are few, and among the seldom kinds."""
    query = select(func.max(entry.c.number)).where(
        entry.c.book == book, entry.c.number < number, entry.c.kind == "config",
        entry.c.kind.not_in(("lock", "count", "close", "held", "heard")))
    return connection.scalar(query) or 0


def _follow(connection: Connection, book: str, table: str, game: int, number: int, made: dict[str, Any]) -> None:
    """The chip count and the end of the game: they stand before the table's next game that opens."""
    after = _first_lock(connection, book, table, number + 1)
    query = select(entry.c.kind, entry.c.body).where(
        entry.c.book == book, entry.c.number > number, entry.c.table == table, entry.c.game == game,
        entry.c.kind.in_(("count", "void")))
    if after is not None and json.loads(after.body).get("opened", True):
        query = query.where(entry.c.number < after.number)
    for kind, body in connection.execute(query.order_by(entry.c.number)):
        if kind == "void":
            made["since"]["state"] = "void"
        else:
            counted = json.loads(body)
            made["chips"] = counted["message"]["chips"]
            if "difference" not in counted:
                made["agreed"] = True
