"""What a replay knows and does not need next, in a temporary file: years of games and acts are more than memory holds.

The file has no name, SQLite makes it where temporary files lie, and it is gone with the process, whatever ends that.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from controller.floor_state import StateRow
from controller.ledger.place import LedgerError

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE row (kind TEXT, key TEXT, number INTEGER, body TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE changed (kind TEXT, key TEXT, number INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID;
CREATE TABLE act (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as wrong:
        raise LedgerError(f"a temporary file of the replay cannot be written: {wrong}; make room") from wrong


class PutAway:
    """One book's state rows as they last stood, the entries that changed them, and the ids of its acts.

    What cannot be written raises LedgerError.
    """

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.executescript(_TABLES)

    def put(self, rows: Iterable[StateRow], changed: Mapping[tuple[str, str], int]) -> None:
        """Keep rows that have changed, and by kind and key the last entries that surely changed one."""
        last = [(*named, number) for named, number in changed.items()]
        with _writing():
            self._file.execute("BEGIN")
            self._file.executemany("INSERT OR REPLACE INTO row VALUES (?, ?, ?, ?)", rows)
            self._file.executemany("INSERT OR REPLACE INTO changed VALUES (?, ?, ?)", last)
            self._file.execute("COMMIT")

    def body(self, kind: str, key: str) -> str | None:
        """The body of a row; None: there is none."""
        found = self._file.execute("SELECT body FROM row WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return None if found is None else str(found[0])

    def keys_since(self, kind: str, number: int) -> set[str]:
        """The keys of a kind's rows that were put away as of an entry from ``number`` on."""
        found = self._file.execute("SELECT key FROM row WHERE kind = ? AND number >= ?", (kind, number))
        return {str(key) for (key,) in found}

    def changed(self, kind: str, key: str) -> int:
        """The last entry that surely changed a row; 1 where none is known."""
        found = self._file.execute("SELECT number FROM changed WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return 1 if found is None else int(found[0])

    def rows(self) -> Iterator[StateRow]:
        """Every row, ordered by kind and key."""
        return map(StateRow._make, self._file.execute("SELECT * FROM row ORDER BY kind, key"))

    def is_new(self, act_id: str) -> bool:
        """Note an act; whether it was not noted before."""
        with _writing():
            return self._file.execute("INSERT OR IGNORE INTO act VALUES (?)", (act_id,)).rowcount == 1
