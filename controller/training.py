"""The folder of a training floor: only a new or empty one is taken, and only one that is marked is gone on with.

A floor's configuration, ledger and people are never written over. The mark says by its digest which ``floor.toml`` was
written here; what anybody else has put in its place is left alone.
"""

import fcntl
import hashlib
import os
from pathlib import Path

from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader

MARK, FLOOR, LEDGER = "training-floor", "floor.toml", "ledger.db"
TRAINING = "training"
_WORDS = "A training floor of `meterctl training` or `make demo`: nothing here is real.\n"


class NotOurs(Exception):
    """A folder that is no training floor of this program: what is there, and what to do now."""


class TrainingFolder:
    """A folder held by one run. Raises NotOurs, or OSError, and touches nothing, where it is not ours to use."""

    def __init__(self, folder: Path) -> None:
        """Take a new or empty folder, or go on with a marked one."""
        self._floor, self._mark = folder / FLOOR, folder / MARK
        if folder.exists() and not folder.is_dir():
            raise NotOurs(f"{folder} is no folder; name a new one")
        if not self._mark.is_file():
            _refuse_others(folder)
            folder.mkdir(parents=True, exist_ok=True)
            self._mark.write_text(_WORDS, encoding="ascii")
        self._held = self._mark.open("r+", encoding="ascii", errors="replace")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as wrong:
            self._held.close()
            raise NotOurs(f"{folder}: this training floor is running; end that run, or name another folder") from wrong
        try:
            self._check(folder)
        except BaseException:
            self._held.close()
            raise

    def _check(self, folder: Path) -> None:
        if self._floor.exists() and _digest(self._floor.read_bytes()) not in self._held.read().split():
            raise NotOurs(f"{self._floor} is not the one that was written here: it is left as it is. Name another "
                          "folder, or move that file away; to run it, use meterd --config")
        ledger = folder / LEDGER
        if ledger.exists():
            try:
                reader = Reader(ledger)
                environment = reader.origin().environment
                reader.close()
            except (LedgerError, KeyError, ValueError) as wrong:
                raise NotOurs(f"{ledger}: no training ledger can be read there ({wrong}). It is left as it is; name "
                              "another folder") from wrong
            if environment != TRAINING:
                raise NotOurs(f"{ledger} is the ledger of a {environment} floor. It is left as it is; name another "
                              "folder")

    def write_floor(self, text: str) -> Path:
        """Write the configuration, all of it or nothing; a run that is cut off leaves the old one, still marked."""
        made = text.encode()
        old = [_digest(self._floor.read_bytes())] if self._floor.exists() else []
        self._held.seek(0)
        self._held.write(_WORDS + "\n".join([*old, _digest(made)]) + "\n")
        self._held.truncate()
        self._held.flush()
        os.fsync(self._held.fileno())
        new = self._floor.with_name(f"{FLOOR}.new")
        new.write_bytes(made)
        new.replace(self._floor)
        return self._floor

    def close(self) -> None:
        """Let another run have it."""
        self._held.close()


def _refuse_others(folder: Path) -> None:
    """Raise NotOurs unless there is nothing yet."""
    found = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if found:
        named = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        raise NotOurs(f"{folder} is not empty ({named}) and is no training floor: everything in it is left as it is. "
                      "Name a new or an empty folder, or move this one away")


def _digest(made: bytes) -> str:
    return hashlib.sha256(made).hexdigest()
