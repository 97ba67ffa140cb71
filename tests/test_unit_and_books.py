"""A table unit before books whose writer is slow or fails: told nothing that is not durable, and no loss is missed."""

import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from controller import books as books_room
from controller.ledger.place import LedgerError
from controller.units import Unit, Wire
from firmware_bridge import messages
from firmware_bridge.messages import Bet, Down, Heartbeat, Hello, Kept, Lamps, Up, Welcome
from tests.books_house import DEADLINE_S, BooksHouse, message_of
from tests.ledger_house import AT, lock, opened


class Floor:
    """A unit on a wire in the test's hands, and the books behind it."""

    def __init__(self, house: BooksHouse) -> None:
        self.house, self.now = house, 100.0
        self.told: list[Down] = []
        self.unit = Unit(house.plan.tables["PG-01"], house.books, house.board, lambda: self.now)
        self._wire = Wire("serial-1", self._take)

    def _take(self, message: Down) -> bool:
        self.told.append(message)
        return True

    def say(self, *said: Up) -> None:
        """The unit says something."""
        for message in said:
            self.unit.heard(self._wire, message, AT)

    def lock(self, number: int) -> None:
        """Lock-out of seat 1."""
        self.say(message_of(lock(number, number)))

    def hello(self, first: int, following: int) -> None:
        """Hello: so many are kept."""
        self.say(Hello("hub-01", "b1", "test-1", "power-on", 6, (Kept("b1", first, following),)))

    def beat(self, last_seq: int, total: int, *seats: int) -> None:
        """A heartbeat with chips before these seats."""
        self.say(Heartbeat("hub-01", "b1", last_seq, total, tuple([Bet(seat, "progressive") for seat in seats])))

    def last(self, kind: type[messages.Lamps] | type[messages.Welcome]) -> Lamps | Welcome:
        """What the unit was told last of a kind."""
        return [one for one in self.told if isinstance(one, kind)][-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Try again soon."""
    monkeypatch.setattr(books_room, "RETRY_S", 0.02)
    yield


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    async with BooksHouse(opened(tmp_path / "l.db")) as house:
        made = Floor(house)
        made.hello(1, 1)
        await house.until(lambda: any(isinstance(one, Welcome) for one in made.told))
        yield made


async def test_a_welcome_names_nothing_that_was_taken_after_its_hello(floor: Floor) -> None:
    """I3: a welcome acknowledges, so a lock-out that is still being written must not stand in it."""
    house = floor.house
    first, second = threading.Event(), threading.Event()
    base = house.writer.calls
    house.writer.before = lambda call: _wait(first if call == base + 1 else second)
    floor.lock(1)
    await house.until(lambda: house.writer.calls == base + 1)
    floor.told.clear()
    floor.hello(1, 2)
    floor.lock(2)
    first.set()
    await house.until(lambda: house.writer.calls == base + 2)
    floor.lock(3)
    second.set()
    await house.until(lambda: any(isinstance(one, Welcome) for one in floor.told))
    welcome = floor.last(Welcome)
    assert isinstance(welcome, Welcome)
    assert [(one.boot, one.seq) for one in welcome.committed] == [("b1", 1)]


async def test_the_lamps_never_show_an_older_games_wagers_under_the_number_of_one_not_durable(floor: Floor) -> None:
    """R-21: the keypad counts the locked lamps of its round; they come only after the commit."""
    house = floor.house
    floor.lock(1)
    await house.until(lambda: house.board.tables["PG-01"].open_game)
    floor.unit.pulse(always=True)
    house.writer.gate.clear()
    base = house.writer.calls
    floor.lock(2)
    await house.until(lambda: house.writer.calls == base + 1)
    floor.beat(2, 2, 1, 2)
    floor.unit.pulse(always=True)
    lamps = floor.last(Lamps)
    assert isinstance(lamps, Lamps)
    assert lamps.round == 1


async def test_a_loss_whose_entry_could_not_be_written_is_entered_when_the_ledger_is_well(floor: Floor) -> None:
    """Design section 9, I5: the hello that told of it came while the disk was full; no second hello comes."""
    house = floor.house
    base = house.writer.calls

    def fail(call: int) -> None:
        if call == base + 1:
            raise LedgerError("database or disk is full")
    house.writer.before = fail
    floor.hello(4, 5)
    await house.until(lambda: house.books.trouble)
    await house.until(lambda: not house.books.trouble)
    floor.now += 3.0
    floor.beat(4, 4)
    await house.until(lambda: house.board.tables["PG-01"].loss)
    assert house.board.tables["PG-01"].loss == "the table unit has lost messages 1 to 3"


def _wait(event: threading.Event) -> None:
    assert event.wait(DEADLINE_S)


async def test_a_unit_that_was_told_of_the_end_is_not_told_ready_again(floor: Floor) -> None:
    """A hello in the last moments is answered with a welcome; a pulse after it would invite bets nobody takes."""
    floor.unit.goodbye()
    floor.hello(1, 1)
    await floor.house.until(lambda: len([one for one in floor.told if isinstance(one, Welcome)]) == 2)
    floor.unit.pulse(always=True)
    said = [one for one in floor.told if isinstance(one, messages.Playable)]
    assert (said[-1].yes, said[-1].reason) == (False, "the controller is being stopped")
