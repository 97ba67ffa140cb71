"""The ledger's tables and writer: forms that a stranger can check, whole numbers, durable or not there at all."""

import hashlib
import io
import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from controller.floor import Floor
from controller.floor_state import ACCOUNTS
from controller.ledger import schema
from controller.ledger.place import BrokenLedger, LedgerError, writing_engine
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, Writer, open_writer
from controller.money import ACCOUNT_MICROCENTS_MAX
from tests.ledger_house import (
    AT,
    Json,
    applied,
    bad_entry,
    change,
    contract_plan,
    entered,
    every_kind,
    lock,
    opened,
    rows,
)

DOCUMENT = (Path(__file__).parent.parent / "docs" / "LEDGER.md").read_text(encoding="utf-8")
COLUMNS = '"book", "number", "at", "kind", "table", "game", "device", "boot", "seq", "rules"'


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry."""
    return every_kind(tmp_path_factory.mktemp("ledger") / "l.db")


def hash_by_the_document(database: sqlite3.Connection, number: int) -> bytes:
    """docs/LEDGER.md section 4, in code that shares nothing with the program."""
    *columns, body, previous = database.execute(
        f"SELECT {COLUMNS}, body, previous FROM entry WHERE number = ?", (number,)).fetchone()
    postings = database.execute(
        "SELECT meter, account, microcents, balance FROM posting WHERE entry = ? ORDER BY line", (number,)).fetchall()
    out = io.BytesIO()
    out.write(previous)
    for column in [*columns, len(postings), body]:
        out.write(b"\\N" if column is None else str(column).encode("utf-8"))
        out.write(b"\x0a")
    for posting in postings:
        out.write(b"\x09".join(str(part).encode("utf-8") for part in posting) + b"\x0a")
    return hashlib.sha256(out.getvalue()).digest()


def test_a_stranger_recomputes_every_hash_by_the_document(ledger: Path) -> None:
    """docs/LEDGER.md section 4; design section 8."""
    with sqlite3.connect(ledger) as database:
        hashes = [row[0] for row in database.execute("SELECT hash FROM entry ORDER BY number")]
        assert [hash_by_the_document(database, n) for n in range(1, len(hashes) + 1)] == hashes


def test_the_chain_begins_with_zeros_and_each_entry_names_the_hash_before_it(ledger: Path) -> None:
    """docs/LEDGER.md section 1."""
    kept = rows(ledger, "SELECT previous, hash FROM entry ORDER BY number")
    assert [previous for previous, _ in kept] == [bytes(32), *[hashed for _, hashed in kept[:-1]]]


def test_a_column_without_content_is_hashed_unlike_an_empty_one(ledger: Path) -> None:
    """A null that became an empty text, or a 0, must not go unseen."""
    copies = {'"table"': "", "game": 0, "device": "", "boot": "", "seq": 0}
    named = {}
    for column, filler in copies.items():
        copy = ledger.with_name(f"{column.strip(chr(34))}.db")
        shutil.copy(ledger, copy)
        assert change(copy, f"UPDATE entry SET {column} = ? WHERE number = 3", filler) == 1
        named[column] = bad_entry(copy)[0]
    assert set(named.values()) == {3}


def test_the_document_names_every_kind_that_the_engine_writes(ledger: Path) -> None:
    """The ledger of this test has every kind of the document, and no other."""
    section = DOCUMENT.split("## 2.")[1].split("## 3.")[0]
    told = {kind for line in section.splitlines() if line.startswith("| `")
            for kind in re.findall(r"`([\w-]+)`", line.split("|")[1])}
    assert told == {row[0] for row in rows(ledger, "SELECT DISTINCT kind FROM entry")}


def test_the_document_names_every_key_of_every_body(ledger: Path) -> None:
    """docs/LEDGER.md section 2 against what is written."""
    section = DOCUMENT.split("## 2.")[1].split("## 3.")[0]
    named: dict[str, set[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            cells = line.split("|")
            named |= {key: set(re.findall(r"`(\w+)`", cells[2])) for key in re.findall(r"`([\w-]+)`", cells[1])}
    untold = {(kind, key) for kind, body in rows(ledger, "SELECT kind, body FROM entry")
              for key in json.loads(body) if key not in named[kind]}
    assert untold == set()


def test_the_document_names_every_column_and_account() -> None:
    """docs/LEDGER.md sections 1 and 3."""
    columns = [column.name for table in (schema.entry, schema.posting, schema.state) for column in table.columns]
    assert [name for name in (*columns, *ACCOUNTS) if f"`{name}`" not in DOCUMENT] == []


def test_every_money_column_is_a_whole_number(ledger: Path) -> None:
    """DB-05: no binary float inside."""
    assert rows(ledger, "SELECT DISTINCT typeof(microcents), typeof(balance) FROM posting") == [("integer", "integer")]


def test_no_number_of_a_state_row_or_body_has_a_point(ledger: Path) -> None:
    """DB-05, MO-09: JSON money is whole, too."""
    bodies = [row[0] for row in rows(ledger, "SELECT body FROM entry UNION ALL SELECT body FROM state")]
    floats: list[str] = []
    for body in bodies:
        json.loads(body, parse_float=floats.append)
    assert floats == []


@pytest.mark.parametrize("base", ["$90,071,992.54", "$8,999,999,999.95", "$8,999,999,999.99"])
def test_amounts_around_2_to_the_53rd_and_nine_thousand_million_dollars_are_exact(tmp_path: Path, base: str) -> None:
    """DB-05, DB-09, MO-09: near 2^53 microcents ($90,071,992.54) and at the most an account may hold."""
    def put(floor: Json) -> None:
        floor["meter"][0]["base"] = base
    path = tmp_path / "l.db"
    plan = contract_plan(put)
    answers, summary = applied(path, [lock(1, 1)], plan)
    cents = int(base[1:].replace(",", "").replace(".", ""))
    added = 0 if cents * 1_000_000 + 5_000_000 > ACCOUNT_MICROCENTS_MAX else 5_000_000
    shown = summary["meters"]["pg-link"]["display_microcents"]
    summed = rows(path, "SELECT sum(microcents) FROM posting WHERE meter = 'pg-link' AND account = 'display'")[0][0]
    assert (shown, summed, bad_entry(path, replay=True)) == (cents * 1_000_000 + added, shown, (0, ""))
    assert answers[0]["result"] == ("posted" if added else "refused")


def test_the_writing_connection_is_durable(tmp_path: Path) -> None:
    """DB-04: read back, WAL and synchronous=FULL (2), also after the connection was made anew."""
    engine = writing_engine(opened(tmp_path / "l.db"))
    found = []
    for _ in range(2):
        with engine.begin() as connection:
            found.append([connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in
                          ("journal_mode", "synchronous")])
        engine.dispose()
    assert found == [["wal", 2], ["wal", 2]]


def test_a_disk_that_cannot_keep_a_write_ahead_log_is_refused() -> None:
    """DB-04: a database in memory stands for a file system on which SQLite quietly keeps another journal."""
    engine = writing_engine(Path(":memory:"))
    with pytest.raises(LedgerError, match="write-ahead log"), engine.connect():
        pass


def test_a_batch_that_does_not_follow_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    """Design section 8: numbers without a gap; a broken invariant, not weather."""
    path = opened(tmp_path / "l.db")
    before = path.read_bytes()
    reader = Reader(path)
    floor = reader.floor(None, "main")
    floor.number += 1
    floor.stop("a trial", AT)
    writer = open_writer(path, reader.heads())
    with pytest.raises(BrokenLedger, match="does not follow"):
        writer.write([Batch("main", *floor.drain())])
    writer.close()
    assert path.read_bytes() == before


def test_the_same_key_twice_is_refused_and_nothing_of_its_batch_is_there(tmp_path: Path) -> None:
    """I1, design section 5: the unique key is the second wall."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1)])
    count = rows(path, "SELECT count(*) FROM entry")
    with pytest.raises(BrokenLedger, match="already holds"):
        entered(path, _repeat_a_key)
    assert (rows(path, "SELECT count(*) FROM entry"), bad_entry(path, replay=True)) == (count, (0, ""))


def _repeat_a_key(floor: Floor) -> None:
    floor.clear("before it", AT)
    floor.enter("close", AT, table="PG-01", game=1, device="hub-01", boot="b1", seq=1)


def test_a_commit_that_fails_is_rolled_back_and_the_next_one_goes_on(tmp_path: Path) -> None:
    """DB-01: a ledger busy for too long fails one batch, not the connection."""
    path = opened(tmp_path / "l.db")
    reader = Reader(path)
    floor = reader.floor(None, "main")
    writer = open_writer(path, reader.heads())
    writer.probe()
    with writer._engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA busy_timeout=1")  # type: ignore[union-attr]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    floor.stop("a trial", AT)
    batch = Batch("main", *floor.drain())
    with pytest.raises(LedgerError, match="locked"):
        writer.write([batch])
    other.execute("ROLLBACK")
    other.close()
    writer.write([batch])
    writer.close()
    assert bad_entry(path, replay=True) == (0, "")


def test_creation_refuses_what_is_there_and_leaves_it(tmp_path: Path) -> None:
    """Design section 8."""
    path = tmp_path / "l.db"
    path.write_text("a letter")
    with pytest.raises(LedgerError, match="there is a file already"):
        opened(path)
    assert path.read_text() == "a letter"


def test_a_creation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger appears whole or not at all."""
    def fail(*_: object) -> None:
        raise LedgerError("no")
    monkeypatch.setattr(Writer, "write", fail)
    with pytest.raises(LedgerError):
        opened(tmp_path / "l.db")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_creation_left_is_no_hindrance(tmp_path: Path) -> None:
    """The unfinished file has another name, and the next creation begins anew."""
    for ending in ("", "-wal", "-shm"):
        (tmp_path / f"l.db.making{ending}").write_bytes(b"half a ledger")
    path = opened(tmp_path / "l.db")
    assert ([file.name for file in tmp_path.iterdir()], bad_entry(path)) == (["l.db"], (0, ""))


def test_a_new_ledger_is_one_file_before_it_gets_its_name(tmp_path: Path) -> None:
    """Nothing of it may still be in a log that does not get the name."""
    path = opened(tmp_path / "l.db")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.copy(path, moved / "l.db")
    assert verify(moved / "l.db")[0].entries == 4


def test_migrating_again_after_a_kill_at_any_statement_ends_with_the_whole_schema(tmp_path: Path) -> None:
    """DB-10: each step and its row are one transaction; a kill is a connection that goes away before its commit."""
    whole = tmp_path / "whole.db"
    with writing_engine(whole).connect() as connection:
        schema.migrate(connection)
    wanted = rows(whole, "SELECT name, sql FROM sqlite_schema ORDER BY name")
    for killed_after in range(8):
        path = tmp_path / f"{killed_after}.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("BEGIN IMMEDIATE")
        for _, sql in [row for row in wanted if row[1]][:killed_after]:
            if sql.startswith("CREATE TABLE"):
                database.execute(sql)
        database.close()
        engine = writing_engine(path)
        with engine.connect() as connection:
            version = schema.version_of(connection)
            connection.rollback()
            schema.migrate(connection, version)
            assert schema.version_of(connection) == schema.VERSION
        engine.dispose()
        assert rows(path, "SELECT name, sql FROM sqlite_schema ORDER BY name") == wanted


def postgresql_text() -> list[str]:
    """The schema as PostgreSQL gets it."""
    dialect: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    made = []
    for table in schema.metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=dialect)))
        made += [str(CreateIndex(index).compile(dialect=dialect)) for index in sorted(table.indexes, key=str)]
    return made


def test_money_and_numbers_are_64_bit_on_postgresql() -> None:
    """DB-05, DB-09."""
    text = "\n".join(postgresql_text())
    for column in ("number", "at", "game", "seq", "entry", "microcents", "balance"):
        assert re.search(rf'"?\b{column}\b"? BIGINT', text), column


def test_nothing_in_the_schema_is_sqlites_own() -> None:
    """One schema for both: no rowid clause, no autoincrement, no type that the other lacks."""
    assert re.search(r"ROWID|AUTOINCREMENT|SERIAL|FLOAT|NUMERIC", "\n".join(postgresql_text())) is None
