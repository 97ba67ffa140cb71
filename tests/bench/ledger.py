"""``apply`` into SQLite and ``verify``, against bare loops over the same rows."""

import sqlite3
from hashlib import sha256
from pathlib import Path

from controller.apply import apply
from controller.config import load
from controller.daemon import clock
from controller.ledger.verify import verify
from tests.bench.measure import floor, lock_text, median, timed

MESSAGES = 60_000
BATCH = 1_000


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report: what, measured, against, target."""
    with floor(1) as folder:
        source = folder / "locks.jsonl"
        source.write_text("".join(lock_text("hub-001", "b1", n) + "\n" for n in range(1, MESSAGES + 1)))
        pairs = [(_apply(folder, source), _bare_insert(folder)) for _ in range(3)]
        ours, bare = sorted(pairs, key=lambda pair: pair[1] / pair[0])[1]
        path = folder / "ledger.db"
        proof = median(lambda: timed(lambda: verify(path)))
        chain = median(lambda: timed(lambda: _bare_chain(path)))
        replay = timed(lambda: verify(path, replay=True))
    return [
        ("apply, locks of 4 wagers", f"{MESSAGES / ours:,.0f} messages/s ({4 * MESSAGES / ours:,.0f} wagers/s)",
         f"{bare / ours:.0%} of bare executemany", ">= 25%"),
        ("verify", f"{MESSAGES / proof:,.0f} entries/s", f"{chain / proof:.0%} of a bare read and chain", ">= 30%"),
        ("verify --replay", f"{MESSAGES / replay:,.0f} entries/s", "", ""),
    ]


def _remove(path: Path) -> None:
    for file in path.parent.glob(path.name + "*"):
        file.unlink()


def _apply(folder: Path, source: Path) -> float:
    plan = load(folder / "floor.toml")[0]
    _remove(folder / "ledger.db")

    def work() -> None:
        with source.open("rb") as file:
            apply(plan, str(folder / "ledger.db"), file, at=None, clock=clock, out=None)

    return timed(work)


def _bare_insert(folder: Path) -> float:
    """The same rows into the same tables and indexes, same batches and pragmas, by ``executemany`` alone."""
    ledger = sqlite3.connect(folder / "ledger.db")
    tables = ("entry", "posting")
    schema = [row[0] for row in ledger.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name IN (?, ?)", tables)]
    entries = ledger.execute("SELECT * FROM entry ORDER BY number").fetchall()
    postings = ledger.execute("SELECT * FROM posting ORDER BY entry, line").fetchall()
    ledger.close()
    _remove(folder / "bare.db")
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        bare.execute(f"PRAGMA {pragma}")
    for statement in schema:
        bare.execute(statement)

    def work() -> None:
        done = 0
        for first in range(0, len(entries), BATCH):
            part = entries[first : first + BATCH]
            last = done
            while last < len(postings) and postings[last][1] <= part[-1][1]:
                last += 1
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", part)
            bare.executemany("INSERT INTO posting VALUES (?,?,?,?,?,?,?)", postings[done:last])
            bare.execute("COMMIT")
            done = last

    took = timed(work)
    bare.close()
    return took


def _bare_chain(path: Path) -> bytes:
    """Read the same rows in the same order and chain their SHA-256: nothing is checked."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    lines = iter(connection.execute("SELECT * FROM posting ORDER BY entry, line"))
    line = next(lines, None)
    head = bytes(32)
    for row in connection.execute("SELECT * FROM entry ORDER BY number"):
        parts = [repr(row)]
        while line is not None and line[1] <= row[1]:
            parts.append(repr(line))
            line = next(lines, None)
        head = sha256(head + "".join(parts).encode()).digest()
    connection.close()
    return head
