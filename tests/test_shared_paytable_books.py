"""Meters of two books that share a paytable: its new seed waits for both, and acts once both were won (R-34)."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk_house import CARL, DORA

from controller.apply import apply
from controller.floor import Floor
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, open_writer
from controller.people_on_box import Newcomer, begin
from controller.plan import FloorPlan
from controller.waiting_config import Agreed, agreed_of, follow, keep_waiting
from tests.books_house import BooksHouse
from tests.ledger_house import AT, Json, contract_plan, hit, lock, opened, said
from tests.test_config_books import activate, document

TOP = "7-card-straight-flush"
OLD, NEW = 1_000_000, 2_000_000
UNIT = {"main": "hub-01", "solo": "hub-03"}
ORDERS = [("main", "solo"), ("solo", "main")]


def shared(floor: Any) -> None:
    """PG-03 feeds pg-solo, in book solo, by the paytable of pg-link in book main."""
    floor["meter"][1].update(book="solo", paytable="progressive-4", limit="none")
    floor["table"][2]["envy_hand"] = "any-player"
    floor["table"][2]["spot"][0]["paytable"] = "progressive-4"


PLAN = contract_plan(shared)


def new_seed(made: Any) -> None:
    made["paytable"]["progressive-4"]["meter"]["main"]["seed"] = "$20,000.00"


def new_limits(made: Any) -> None:
    for meter in made["meter"]:
        meter.update(limit="$90,000.00")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = opened(tmp_path / "two.db", PLAN)
    begin(made, "a test", [Newcomer(person, person.id, "a-secret-of-the-test") for person in (CARL, DORA)], AT)
    return made


def won(device: str) -> list[Json]:
    """A unit's first game wins its meter."""
    return [lock(1, 1, 1, device=device), hit(2, 1, 1, TOP, device), said("close", 3, device, round=1)]


def kept(path: Path) -> dict[str, Agreed]:
    """What each book is under, from the ledger."""
    reader = Reader(path)
    found = {book: agreed_of(reader.floor(None, book)) for book in PLAN.books}
    reader.close()
    return found


def one(path: Path) -> Agreed:
    """What both books are under; they agree."""
    main, solo = kept(path).values()
    assert main.plan.hash == solo.plan.hash
    assert (main.waiting, main.reset) == (solo.waiting, solo.reset)
    return main


def seeds(plan: FloorPlan) -> list[int]:
    return [meter.seed_cents for meter in plan.meters.values()]


def waits(agreed: Agreed) -> list[str]:
    return [] if agreed.waiting is None else list(agreed.waiting["meters"])


@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("order", ORDERS)
async def test_a_seed_that_two_books_share_is_in_force_once_both_meters_were_won(
    path: Path, order: tuple[str, str], restarts: bool
) -> None:
    """Whichever is won first; both books say the same after each entry."""
    async with BooksHouse(path, PLAN) as house:
        assert (await activate(house, document(new_seed, plan=PLAN)))["waits"] == ["pg-link", "pg-solo"]
        for book in order if not restarts else ():
            for message in won(UNIT[book]):
                await house.send(message)
            main, solo = (agreed_of(floor) for floor in house.books.floors.values())
            assert (main.plan.hash, main.waiting, main.reset) == (solo.plan.hash, solo.waiting, solo.reset)
    for number, book in enumerate(order if restarts else ()):
        async with BooksHouse(path, one(path).plan) as house:
            for message in won(UNIT[book]):
                await house.send(message)
        assert seeds(one(path).plan) == [(OLD, NEW)[number]] * 2
    assert (seeds(one(path).plan), waits(one(path)), one(path).reset) == ([NEW, NEW], [], None)
    assert verify(path, replay=True)


@pytest.mark.parametrize("order", ORDERS)
async def test_the_later_of_two_meters_begins_again_at_the_seed_that_they_waited_for(
    path: Path, order: tuple[str, str]
) -> None:
    async with BooksHouse(path, PLAN) as house:
        await activate(house, document(new_seed, plan=PLAN))
        stood = []
        for book in order:
            for message in won(UNIT[book])[:2]:
                await house.send(message)
            (meter,) = house.books.floors[book].meters.values()
            stood.append(meter.display // 1_000_000)
            await house.send(won(UNIT[book])[2])
    assert stood == [OLD, NEW]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("limits", [False, True])
async def test_what_was_reset_in_one_book_and_waits_for_the_other_is_known_in_both(
    path: Path, order: tuple[str, str], limits: bool
) -> None:
    """Only a limit goes on waiting: the other book does not know the amount that it comes over (R-40)."""
    first = {"main": "pg-link", "solo": "pg-solo"}[order[0]]
    new = document(new_seed, *([new_limits] if limits else []), plan=PLAN)
    agreed = Agreed(PLAN, {"document": new, "meters": ["pg-link", "pg-solo"]}, {"meters": [first]})
    async with BooksHouse(path, PLAN) as house:
        house.books.enter(order[0], lambda floor, at: follow(floor, agreed, at))
        for message in won(UNIT[order[1]])[:1]:
            await house.send(message)
        assert one(path).reset == {"meters": [first]}
        for message in won(UNIT[order[1]])[1:]:
            await house.send(message)
    told = one(path)
    assert (waits(told), told.reset, seeds(told.plan)) == (
        ([first], None, [OLD, OLD]) if limits else ([], None, [NEW, NEW]))
    assert told.plan.meters[first].limit_cents is None
    assert verify(path, replay=True)


@pytest.mark.parametrize("order", ORDERS)
def test_messages_applied_from_a_file_bring_both_books_under_the_seed(tmp_path: Path, order: tuple[str, str]) -> None:
    made = tmp_path / "two.db"

    def file(*messages: Json) -> None:
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        apply(PLAN, str(made), io.BytesIO(lines.encode()), at=AT, clock=lambda: AT, out=None)

    file()
    new = document(new_seed, plan=PLAN)
    entered_in_each(made, lambda floor: keep_waiting(floor, new, ["pg-link", "pg-solo"]))
    file(*won(UNIT[order[0]]), *won(UNIT[order[1]]))
    assert (seeds(one(made).plan), waits(one(made))) == ([NEW, NEW], [])


def entered_in_each(path: Path, change: Callable[[Floor], object]) -> None:
    """Each book is changed with an entry of its own."""
    reader = Reader(path)
    writer = open_writer(path, reader.heads())
    for book in PLAN.books:
        floor = reader.floor(None, book)
        change(floor)
        floor.configure(floor.plan, AT)
        writer.write([Batch(book, *floor.drain())])
    writer.close()
    reader.close()
