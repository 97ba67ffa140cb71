"""Two people at one closed game, and a ledger that reports what is not so: nothing is paid twice (MO-06, MO-08)."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, BEN, CARL

from controller.acts import Acted, ActRefused, read_act
from controller.floor import GAMES_KEPT
from controller.ledger.place import LedgerError
from controller.people import Person
from tests.books_house import BooksHouse, message_of
from tests.ledger_house import AT, entered, hit, lock, opened, said

WHERE = {"table": "PG-01", "game": 1, "seat": 2, "spot": "progressive"}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Closed games, more than are kept in memory, each with a hand that the house pays $205.00 for."""
    path = opened(tmp_path / "ledger.db")
    entered(path, lambda floor: [floor.take(message_of(one), AT) for game in range(1, GAMES_KEPT + 4) for one in (
        lock(3 * game - 2, game, 2, 4), hit(3 * game - 1, game, 2, "straight-flush"),
        said("close", 3 * game, round=game))])
    return path


class SlowRecall:
    """The reader's ``recall_game``; what the first call has read is answered only when ``go`` is set."""

    def __init__(self, house: BooksHouse) -> None:
        self.read, self.go, self._first, self._recall = threading.Event(), threading.Event(), [True], (
            house.reader.recall_game)
        house.reader.recall_game = self  # type: ignore[assignment, method-assign]

    def __call__(self, *named: Any) -> Any:
        found, waits = self._recall(*named), self._first.pop() if self._first else False
        if waits:
            self.read.set()
            self.go.wait(10)
        return found


async def act(house: BooksHouse, kind: str, act_id: str, by: Person, **fields: Any) -> Acted:
    """One act on the game."""
    return await house.books.act("main", read_act(kind, act_id, WHERE | fields, by))


async def test_a_game_read_before_another_paid_it_is_not_paid_again(ledger: Path) -> None:
    """D14. What was read aside is older than a payment made, and forgotten by a rebuild, while it was being read."""
    async with BooksHouse(ledger) as house:
        await act(house, "award-verified", "verify-0001", ANNA)
    async with BooksHouse(ledger) as house:
        slow = SlowRecall(house)
        late = asyncio.create_task(act(house, "award-paid", "pay-late-01", CARL, handed="$205.00", how="chips"))
        await house.until(slow.read.is_set)

        def unsaid(_call: int) -> None:
            house.writer.after = lambda _call: None
            raise LedgerError("the commit was done, and its report was lost")

        house.writer.after = unsaid
        await act(house, "award-paid", "pay-first-1", BEN, handed="$205.00", how="chips")
        await house.until(lambda: not house.books.trouble)
        slow.go.set()
        with pytest.raises(ActRefused):
            await late
        assert len(house.reader.entries("main", kinds=("award-paid",))) == 1


async def test_a_game_read_before_another_paid_it_is_not_paid_again_after_it_was_forgotten(ledger: Path) -> None:
    """The same with nothing failing: 64 other games come between."""
    async with BooksHouse(ledger) as house:
        await act(house, "award-verified", "verify-0001", ANNA)
    async with BooksHouse(ledger) as house:
        slow = SlowRecall(house)
        late = asyncio.create_task(act(house, "award-paid", "pay-late-01", CARL, handed="$205.00", how="chips"))
        await house.until(slow.read.is_set)
        await act(house, "award-paid", "pay-first-1", BEN, handed="$205.00", how="chips")
        for game in range(2, GAMES_KEPT + 4):
            await act(house, "award-verified", f"verify-more-{game}", ANNA, game=game)
        slow.go.set()
        with pytest.raises(ActRefused):
            await late
        assert len(house.reader.entries("main", kinds=("award-paid",))) == 1
