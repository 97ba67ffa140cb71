"""An act is done on no stopped book: not when it waited while the book stopped, nor at the desk itself (design 9)."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from day_house import DAY
from desk_house import ANNA, BEN, CARL, DORA, IDA, Desk

from controller import books as books_room
from controller import desk
from controller.acts import Act, ActRefused, Why, read_act
from controller.ledger.place import LedgerError
from controller.ledger.verify import verify
from controller.people_on_box import Newcomer, begin, set_secrets
from tests.books_house import DEADLINE_S, BooksHouse
from tests.ledger_house import AT, applied, contract_plan, entered, hit, lock, opened, rows, said
from tests.test_day_books import yesterday

GAME = {"table": "PG-01", "game": "1", "seat": "1", "spot": "progressive"}
WAITING: dict[str, Act] = {
    "for a closed game": read_act("award-refused", "refused-0001", {**GAME, "reason": "no such hand"}, ANNA, BEN),
    "for the day's end": read_act("day-closed", "closing-0001", {"day": "2026-11-30"}, DORA),
    "for what is owed": read_act("handed-over", "over-0000001", {}, CARL, IDA),
}
"""By what an act waits for before it is done."""


class Held:
    """A reading that is begun, and goes on when it is let."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self._real, self.begun, self.go = real, threading.Event(), threading.Event()

    def __call__(self, *asked: Any) -> Any:
        """What it really is, once it may."""
        found = self._real(*asked)
        self.begun.set()
        assert self.go.wait(DEADLINE_S)
        return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A hand of yesterday waits to be paid."""
    made = yesterday(tmp_path / "l.db", contract_plan())
    applied(made, [lock(1, 1, 1, 2), hit(2, 1, 1, "four-of-a-kind"), said("close", 3, round=1)], contract_plan(),
            AT - DAY + 1)
    return made


async def _refused_after(
    path: Path, monkeypatch: pytest.MonkeyPatch, asked: Act, meanwhile: Callable[[BooksHouse], object]
) -> ActRefused:
    """What an act is told that waits for a reading while something happens to its book."""
    async with BooksHouse(path) as house:
        held = Held({"award-refused": house.reader.recall_game, "day-closed": books_room.read_day_end,
                     "handed-over": house.reader.games_owing}[asked.kind])
        if asked.kind == "day-closed":
            monkeypatch.setattr(books_room, "read_day_end", held)
        else:
            monkeypatch.setattr(house.reader, "recall_game" if asked.kind == "award-refused" else "games_owing", held)
        house.books.floors["main"].games.clear()
        doing = asyncio.create_task(house.books.act("main", asked))
        await house.until(held.begun.is_set)
        meanwhile(house)
        held.go.set()
        with pytest.raises(ActRefused) as refused:
            await doing
        await house.until(lambda: house.books.stuck_s() == 0)
    return refused.value


@pytest.mark.parametrize("what", WAITING)
async def test_an_act_that_waited_while_its_book_stopped_is_not_done(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Whether the stop is written by then or not."""
    asked = WAITING[what]
    refused = await _refused_after(path, monkeypatch, asked, lambda house: house.books._break("it does not add up"))
    assert (refused.why, refused.what) == (Why.NOT_NOW, "the books are stopped: call the technician")
    assert rows(path, "SELECT kind FROM entry ORDER BY number DESC LIMIT 1") == [("stop",)]
    assert rows(path, f"SELECT count(*) FROM entry WHERE boot = '{asked.id}'") == [(0,)]
    assert verify(path, replay=True)


@pytest.mark.parametrize("what", WAITING)
async def test_an_act_that_waited_while_the_ledger_came_to_be_out_of_reach_is_not_done(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    refused = await _refused_after(path, monkeypatch, WAITING[what], lambda house: house.books._fail("disk full"))
    assert refused.what == "the ledger cannot be written: call the technician"
    assert rows(path, f"SELECT count(*) FROM entry WHERE boot = '{WAITING[what].id}'") == [(0,)]


@pytest.mark.parametrize("what", WAITING)
async def test_an_act_that_waited_while_the_controller_began_to_end_is_not_done(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def end(house: BooksHouse) -> None:
        house.books._closing = True

    refused = await _refused_after(path, monkeypatch, WAITING[what], end)
    assert refused.what == "the controller is being stopped"
    assert rows(path, f"SELECT count(*) FROM entry WHERE boot = '{WAITING[what].id}'") == [(0,)]


def test_the_desk_does_nothing_on_a_stopped_book_and_tells_what_was_done_before() -> None:
    the = Desk()
    first = read_act("table-closed", "closed-0001", {"table": "PG-01"}, ANNA)
    acted = desk.act(the.floor, first, AT)
    the.floor.stop("a trial", AT)
    with pytest.raises(ActRefused, match="book main is stopped") as refused:
        desk.act(the.floor, read_act("table-closed", "closed-0002", {"table": "PG-02"}, ANNA), AT)
    assert refused.value.why is Why.NOT_NOW
    assert desk.act(the.floor, first, AT) == acted._replace(before=True)
    the.floor.clear("proved", AT)
    desk.act(the.floor, read_act("table-closed", "closed-0002", {"table": "PG-02"}, ANNA), AT)


def test_people_who_are_to_clear_a_stopped_book_set_their_secrets_on_the_box(tmp_path: Path) -> None:
    path = opened(tmp_path / "l.db", contract_plan())
    begin(path, "a test", [Newcomer(one, one.id, "a-secret-of-the-test") for one in (CARL, DORA)], AT)
    entered(path, lambda floor: floor.stop("a trial", AT))
    set_secrets(path, "a test", {CARL: "another of the test", DORA: "one more of the test"}, AT)
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'secret-set-on-box'") == [(2,)]
    assert verify(path, replay=True)


# ---------------------------------------------------------------------- the same form, while nothing is taken

REFUSE = WAITING["for a closed game"]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_form_that_was_done_is_told_so_while_nothing_is_taken(path: Path, restarted: bool) -> None:
    """MO-06: a double click on Pay, its second one in the moment when the disk is full: it did not fail."""
    async with BooksHouse(path) as house:
        done = await house.books.act("main", REFUSE)
        if not restarted:
            house.books.trouble = "the disk is full"
            again = await house.books.act("main", REFUSE)
    if restarted:
        async with BooksHouse(path) as house:
            house.books.trouble = "the disk is full"
            again = await house.books.act("main", REFUSE)
    assert (again.before, again.entry, again.told) == (True, done.entry, done.told)
    assert len(rows(path, "SELECT number FROM entry WHERE kind = 'award-refused'")) == 1


async def test_a_form_that_was_not_done_is_told_so_while_nothing_is_taken(path: Path) -> None:
    async with BooksHouse(path) as house:
        house.books.trouble = "the disk is full"
        with pytest.raises(ActRefused) as refused:
            await house.books.act("main", REFUSE)
    assert "nothing was done" in refused.value.remedy


async def test_what_a_form_did_is_not_guessed_where_the_ledger_cannot_say(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with BooksHouse(path) as house:
        def broken(_: str) -> None:
            raise LedgerError("the disk is gone")

        house.books.trouble = "the disk is full"
        monkeypatch.setattr(house.reader, "recall_act", broken)
        with pytest.raises(ActRefused) as refused:
            await house.books.act("main", REFUSE)
    assert "it is not known" in refused.value.remedy


async def test_other_words_under_a_form_s_id_are_refused_while_nothing_is_taken_too(path: Path) -> None:
    async with BooksHouse(path) as house:
        await house.books.act("main", REFUSE)
        house.books.trouble = "the disk is full"
        with pytest.raises(ActRefused) as refused:
            await house.books.act("main", REFUSE._replace(fields={**REFUSE.fields, "reason": "another"}))
    assert refused.value.why is Why.ACT_DIFFERS
