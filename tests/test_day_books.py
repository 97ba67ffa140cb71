"""A day is closed, and a shift handed over, while the books run: aside, at once, in every book (R-84)."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from day_house import DAY, summed
from desk_house import CARL, DORA, IDA
from report_house import HOUR, keep, moment

from controller import books as books_room
from controller.acts import Act, ActRefused, Why, read_act
from controller.config import build
from controller.floor import GAMES_KEPT, Floor
from controller.gaming_day import microseconds
from controller.ledger.day_end import read_day_end
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, create
from controller.plan import FloorPlan
from controller.taken import DayEnd
from controller.whole_floor import act_everywhere
from tests.books_house import DEADLINE_S, BooksHouse
from tests.ledger_house import AT, applied, contract_plan, hit, lock, rows, said
from tests.test_config_books import PLAN as TWO_BOOKS

END = moment("2026-12-01T06:00")
SMALL = "four-of-a-kind"


def yesterday(path: Path, plan: FloorPlan, *messages: Any) -> Path:
    """A ledger that began a day ago, with what was said then."""
    create(path, [Batch(book, *Floor.opened(plan, book, AT - DAY).drain()) for book in plan.books])
    applied(path, messages, plan, AT - DAY)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return yesterday(tmp_path / "l.db", contract_plan(), lock(1, 1, 1, 2), hit(2, 1, 1, SMALL),
                     said("close", 3, round=1))


def closing(name: str, day: str = "2026-11-30") -> Act:
    return read_act("day-closed", name, {"day": day}, DORA)


def over(act_id: str) -> Act:
    return read_act("handed-over", act_id, {}, CARL, IDA)


async def test_a_day_is_closed_between_wagers_and_the_replay_agrees(path: Path) -> None:
    async with BooksHouse(path) as house:
        for number in range(2, 40):
            house.take(lock(3 + number * 2 - 3, number, 1, 2), said("close", 3 + number * 2 - 2, round=number))
        told = (await house.books.act("main", closing("closing-1"))).told
        house.take(lock(80, 40, 1))
        again = await house.books.act("main", closing("closing-1"))
        await house.until(lambda: len(house.answers) == 77)
    assert told["balances"] == summed(path, END) != summed(path, AT + 1)
    assert (again.before, again.told) == (True, told)
    assert [one["seat"] for one in told["carried"]["awards"]["listed"]] == [1]
    assert verify(path, replay=True)


async def test_of_two_people_who_close_one_day_at_once_one_does(path: Path) -> None:
    done, why = [], []
    async with BooksHouse(path) as house:
        for came in await asyncio.gather(*(house.books.act("main", closing(f"closing-{one}")) for one in range(3)),
                                         return_exceptions=True):
            if isinstance(came, ActRefused):
                why.append(came.why)
            else:
                done.append(came)
    assert (len(done), why) == (1, [Why.ALREADY_DONE] * 2)
    assert verify(path, replay=True)


async def test_every_book_is_closed_with_its_own_balances(tmp_path: Path) -> None:
    path = yesterday(tmp_path / "two.db", TWO_BOOKS, lock(1, 1, 1), lock(1, 1, 2, device="hub-03"))
    async with BooksHouse(path, TWO_BOOKS) as house:
        await act_everywhere(house.books, closing("closing-1"))
        await act_everywhere(house.books, over("over-0001"))
        with pytest.raises(ActRefused, match="are closed"):
            await act_everywhere(house.books, closing("closing-2"))
        for book, meter in (("main", "pg-link"), ("solo", "pg-solo")):
            balances = house.books.floors[book].rows["day"]["closed"]
            assert balances["day"] == "2026-11-30"
            told = house.reader.entries(book, latest=1, kinds=("day-closed",))[0].body
            assert f'"{meter}":' in told and told.count('"display":') == 1
    assert verify(path, replay=True)


async def test_a_day_start_that_changes_after_the_closing_changes_nothing_of_the_closed_day(tmp_path: Path) -> None:
    """In Tokyo a day ends before midnight (UTC): what another book has since is not what the day was closed by."""
    def tokyo(floor: Any) -> None:
        floor["site"].update(timezone="Asia/Tokyo")
        floor["meter"][1].update(book="solo")

    plan = contract_plan(tokyo)
    end = microseconds(datetime(2026, 12, 1, 21, tzinfo=UTC))
    path = tmp_path / "two.db"
    create(path, [Batch(book, *Floor.opened(plan, book, end - 23 * HOUR).drain()) for book in plan.books])
    async with BooksHouse(path, plan) as house:
        house.at = end + HOUR
        await act_everywhere(house.books, closing("closing-1", "2026-12-01"))
    later = build(json.loads(json.dumps({**plan.document, "site": {
        **plan.document["site"], "gaming_day_start": "08:00"}})))
    reader = Reader(path)
    for book in plan.books:
        floor = reader.floor(plan, book)
        floor.configure(later, end + 2 * HOUR)
        keep(path, floor)
    reader.close()
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'day-closed'") == [(2,)]
    assert verify(path, replay=True)


async def test_what_is_long_out_of_memory_is_handed_over_too(tmp_path: Path) -> None:
    games = GAMES_KEPT + 40
    played = [one for game in range(1, games + 1) for one in (
        lock(3 * game - 2, game, 1), hit(3 * game - 1, game, 1, SMALL), said("close", 3 * game, round=game))]
    path = yesterday(tmp_path / "l.db", contract_plan(), *played)
    async with BooksHouse(path) as house:
        told = (await house.books.act("main", over("over-0001"))).told
        await house.send(lock(3 * games + 1, games + 1, 1))
        assert len(house.books.floors["main"].games) <= GAMES_KEPT
    assert [one["game"] for one in told["open"]["awards"]["listed"]] == list(range(1, games + 1))
    assert told["awards_pending"] == games
    assert verify(path, replay=True)


async def test_an_entry_of_a_clock_set_back_into_the_day_stops_its_closing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at would not be all of it."""
    looked, go = threading.Event(), threading.Event()

    def held(*asked: Any) -> DayEnd | None:
        told = read_day_end(*asked)
        looked.set()
        assert go.wait(DEADLINE_S)
        return told

    monkeypatch.setattr(books_room, "read_day_end", held)
    async with BooksHouse(path) as house:
        asked = asyncio.create_task(house.books.act("main", closing("closing-1")))
        assert await asyncio.to_thread(looked.wait, DEADLINE_S)
        house.at = END - HOUR
        await house.send(lock(4, 2, 1))
        house.at = AT
        go.set()
        with pytest.raises(ActRefused, match="the clock was set back"):
            await asked
        assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'day-closed'") == [(0,)]
        told = (await house.books.act("main", closing("closing-2"))).told
    assert told["balances"] == summed(path, END)
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'lock' AND at < ?", END) == [(2,)]
    assert verify(path, replay=True)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(*_asked: Any) -> DayEnd | None:
        raise LedgerError("the disk does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(books_room, "read_day_end", fail)
        yield


@pytest.mark.usefixtures("unread")
async def test_a_ledger_that_cannot_be_asked_closes_no_day(path: Path) -> None:
    async with BooksHouse(path) as house:
        with pytest.raises(ActRefused, match="cannot be read"):
            await house.books.act("main", closing("closing-1"))
        await house.until(lambda: not house.books.trouble)
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'day-closed'") == [(0,)]


async def test_a_day_that_cannot_be_closed_is_refused_before_the_ledger_is_searched(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []
    async with BooksHouse(path) as house:
        monkeypatch.setattr(house.reader, "games_owing", lambda *asked: searched.append(asked))
        for number, day in enumerate(("2026-11-29", "2026-12-01", "2026-12-05", "no day")):
            with suppress(ActRefused):
                await house.books.act("main", closing(f"closing-{number}", day))
    assert searched == []
