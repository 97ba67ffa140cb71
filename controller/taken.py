"""What became of a message, and what the engine must be told from the ledger before it can take one. Pure values."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from controller.money import MICROCENTS_PER_CENT


class Taken(NamedTuple):
    """What became of one message. ``answer()`` is its contract form; ``first``: of a duplicate, why it was refused."""

    device: str
    boot: str
    seq: int
    result: str
    reason: str = ""
    entry: int | None = None
    game: int | None = None
    added: Mapping[str, Any] | None = None
    meters: tuple[tuple[str, int, int, int, int], ...] | None = None
    first: str = ""
    lock: bool = False
    """Whether it was a lock-out."""
    posted_before: bool = False
    """A fault against a message that is durable (not against one that is held)."""

    def answer(self) -> dict[str, Any]:
        """The JSON answer (contract README, answers 2 to 4)."""
        made: dict[str, Any] = {"device": self.device, "boot": self.boot, "seq": self.seq, "result": self.result}
        if self.reason:
            made["reason"] = self.reason
        if self.entry is not None:
            made["entry"] = self.entry
        if self.game is not None:
            made["game"] = self.game
        if self.added:
            made |= self.added
        if self.meters is not None:
            made["meters"] = {name: amounts_answer(amounts) for name, *amounts in self.meters}
        return made


def amounts_answer(amounts: Iterable[int]) -> dict[str, int]:
    """A meter's four amounts in the form of an answer."""
    display, reserve, overflow, pending = amounts
    return {
        "display_microcents": display,
        "reserve_microcents": reserve,
        "overflow_microcents": overflow,
        "pending_cents": pending // MICROCENTS_PER_CENT,
    }


class Asked(NamedTuple):
    """What the engine must be told from the ledger before it can take a message: a boot, and one of its numbers."""

    device: str
    boot: str
    seq: int | None


class Recalled(NamedTuple):
    """The ledger's answer: the boot's state (None: never heard), and that number's content and first reason."""

    state: dict[str, Any] | None
    content: str | None = None
    reason: str = ""
    entry: int = 0


class DayEnd(NamedTuple):
    """A gaming day that people are about to close, as the ledger has it. Times in UTC microseconds."""

    day: date
    end: int
    """The first instant after it."""
    first: date
    """The book's first gaming day."""
    after: str
    """The last day that was closed when the ledger was asked; empty: none."""
    number: int = 0
    """The last entry that was looked at."""
    balances: Mapping[str, Mapping[str, int]] | None = None
    """By meter and account, at its end; None: it is not over, or not the next one to close."""
    open: Mapping[str, Any] = {}
    """What was open at its end, as the entry lists it: awards, envy, counts."""
    counts: tuple[tuple[Any, ...], ...] = ()
    """The counts that differed at its end, for the day after it."""

    @property
    def next(self) -> date:
        """The day that is to be closed next."""
        return max(self.first, date.fromisoformat(self.after) + timedelta(days=1)) if self.after else self.first
