"""A replay keeps in memory what it needs next, and finds the rest again: years of games and acts are many."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from desk_house import ANNA, BEN

from controller import desk
from controller.acts import read_act
from controller.award import due_cents
from controller.floor import Floor
from controller.ledger import put_away
from controller.ledger import verify as verifying
from controller.ledger.migrate import _replace
from controller.ledger.place import LedgerError, writing_engine
from controller.ledger.reader import Reader
from controller.ledger.verify import BadEntry, replayed_rows, verify
from controller.ledger.writer import Batch, open_writer
from controller.money import format_cents
from tests.books_house import message_of
from tests.ledger_house import AT, contract_plan, hit, lock, opened, rows, said

GAMES = 30
LATER = 12
"""Games played between a hand and its payment: far more than a replay is let keep here."""


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay that keeps one game and one act, and lets go after every third entry."""
    monkeypatch.setattr(verifying, "_KEPT", 1)
    monkeypatch.setattr(verifying, "_FORGET_EACH", 3)


def play(floor: Floor) -> Iterator[int]:
    """Games with a hand each, verified at once and paid much later."""
    for game in range(1, GAMES + 1):
        seq = 3 * game - 2
        for message in (lock(seq, game, 1, 3), hit(seq + 1, game, 3, "four-of-a-kind"),
                        said("close", seq + 2, round=game)):
            assert floor.take(message_of(message), AT + game)[-1].result == "posted"
        act(floor, "award-verified", game)
        if game > LATER:
            act(floor, "award-paid", game - LATER)
        yield game


def act(floor: Floor, kind: str, game: int) -> None:
    where = {"table": "PG-01", "game": str(game), "seat": "3", "spot": "progressive"}
    found = floor.find_game(f"PG-01/{game}")
    assert found is not None
    more = {"handed": format_cents(due_cents(found, (3, "progressive"))), "how": "chips"} if "paid" in kind else {}
    by = BEN if "paid" in kind else ANNA
    desk.act(floor, read_act(kind, f"{kind}-{game:03d}", where | more, by), AT + game)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = opened(tmp_path / "l.db", contract_plan())
    reader = Reader(made)
    floor, writer = reader.floor(None, "main"), open_writer(made, reader.heads())
    for _ in play(floor):
        writer.write([Batch("main", *floor.drain())])
    writer.close()
    reader.close()
    return made


def test_a_game_that_was_let_go_is_found_again_when_people_pay_it(path: Path) -> None:
    (proved,) = verify(path, replay=True)
    assert (proved.replayed, rows(path, "SELECT count(*) FROM entry WHERE kind = 'award-paid'")) == (
        True, [(GAMES - LATER,)])


def test_a_kept_state_that_is_not_the_replays_is_found_though_the_game_was_let_go(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM state WHERE kind = 'award' AND key = 'PG-01/4'")
    with pytest.raises(BadEntry, match="the kept state of award PG-01/4 is not what replay makes"):
        verify(path, replay=True)


def test_the_rows_that_a_migration_makes_are_those_of_the_ledger(path: Path) -> None:
    """Written in pieces, book after book, as they come."""
    query = "SELECT kind, key, body FROM state ORDER BY kind, key"
    before = rows(path, query)
    engine = writing_engine(path)
    with engine.begin() as connection:
        for book, made in replayed_rows(connection):
            _replace(connection, book, made)
    engine.dispose()
    assert rows(path, query) == before
    assert verify(path, replay=True)


def test_an_act_that_stands_twice_is_found_though_it_was_let_go(path: Path) -> None:
    """The ledger's own key keeps it out; a forger's file may have none."""
    reader = Reader(path)
    entries = reader.entries("main", latest=10_000)[::-1]
    reader.close()
    engine = writing_engine(path)
    with engine.connect() as connection:
        replay = verifying._Replay("main", connection)
        for entry in entries:
            replay.entry(entry)
        old = next(entry for entry in entries if entry.kind == "award-verified")
        with pytest.raises(BadEntry, match="an entry before it is of the same act"):
            replay.entry(old._replace(number=entries[-1].number + 1))
    engine.dispose()


def test_a_temporary_file_that_cannot_be_written_is_no_damage_of_the_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 with its own words, not 1."""
    monkeypatch.setattr(put_away, "_TABLES", put_away._TABLES + "PRAGMA max_page_count = 5;")
    with pytest.raises(LedgerError, match=r"temporary file of the replay cannot be written: .*full; make room"):
        verify(path, replay=True)
