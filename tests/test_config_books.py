"""One configuration over two books: all of both or nothing, whatever fails between, and both wait (D2, CF-04)."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, CARL, DORA, EVE
from running_floor import RunningFloor

from controller import desk
from controller.acts import ActRefused, Why, read_act
from controller.floor import Floor
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.people_on_box import Newcomer, begin
from controller.plan import FloorPlan
from controller.start import refuse_changes
from controller.waiting_config import waiting_of
from tests.books_house import BooksHouse
from tests.ledger_house import AT, contract_plan, entered, hit, lock, opened, rows, said

APPROVED = {"authority": "the Board", "approval": "2026-117", "approved": "2026-11-30"}
TOP = "7-card-straight-flush"
PLAN = contract_plan(lambda floor: floor["meter"][1].update(book="solo"))
"""PG-01 and PG-02 feed pg-link in book main, PG-03 feeds pg-solo in book solo."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = opened(tmp_path / "two.db", PLAN)
    begin(made, "a test", [Newcomer(person, person.id, "a-secret-of-the-test") for person in (CARL, DORA)], AT)
    return made


def document(*changes: Callable[[Any], object], plan: FloorPlan = PLAN) -> dict[str, Any]:
    made: dict[str, Any] = deepcopy(json.loads(json.dumps(dict(plan.document))))
    for change in changes:
        change(made)
    return made


def both_limits(made: Any) -> None:
    """The limits of both books' meters."""
    made["meter"][0].update(limit="$300,000.00")
    made["meter"][1].update(limit="$400,000.00")


def both_at_once(made: Any) -> None:
    both_limits(made)
    for meter in made["meter"]:
        meter["change"] = "now"


def both_turned(made: Any) -> None:
    """The order of paying at a table of each book."""
    for table in (made["table"][0], made["table"][2]):
        table["pay_order"] = table["pay_order"][::-1]


async def activate(house: BooksHouse, made: dict[str, Any], book: str = "main") -> dict[str, Any]:
    """Proposed by one, activated by another; what the activation tells."""
    proposed = read_act("config-proposed", "proposed-1", {"document": made, "reason": "as approved"}, EVE)
    name = (await house.books.act(book, proposed)).told["hash"]
    told = await house.books.act(book, read_act("config-activated", "activated-1", {"hash": name, **APPROVED}, DORA))
    return dict(told.told)


def in_force(path: Path) -> dict[str, FloorPlan]:
    """What the ledger says of each book."""
    reader = Reader(path)
    found = {book: reader.plan(book) for book in PLAN.books}
    reader.close()
    return found


def limits(path: Path) -> list[list[int | None]]:
    """The limits of both meters, in cents, as each book has them."""
    return [[meter.limit_cents for meter in plan.meters.values()] for plan in in_force(path).values()]


def turned(path: Path) -> list[bool]:
    return [plan.tables["PG-03"].pay_order == (7, 6, 5, 4, 3, 2, 1) for plan in in_force(path).values()]


def waits(path: Path) -> list[list[str]]:
    """The meters that wait, as each book keeps them."""
    found = dict(rows(path, "SELECT book, body FROM state WHERE kind = 'config' AND key = 'waiting'"))
    return [(json.loads(found.get(book, "null")) or {"meters": []})["meters"] for book in PLAN.books]


OLD = [None, 25_000_000]
NEW = [30_000_000, 40_000_000]


async def test_meters_and_tables_of_both_books_change_by_one_activation(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        told = await activate(house, document(both_at_once, both_turned))
        assert {floor.plan.hash for floor in house.books.floors.values()} == {told["in_force"]}
    assert (limits(path), turned(path), waits(path)) == ([NEW, NEW], [True, True], [[], []])
    assert verify(path, replay=True)


async def test_meters_of_both_books_wait_each_for_its_own_reset(path: Path) -> None:
    """R-34: what is reset in one book acts in both, and the rest still waits in both."""
    async with BooksHouse(path, PLAN) as house:
        assert (await activate(house, document(both_limits)))["waits"] == ["pg-link", "pg-solo"]
    assert (limits(path), waits(path)) == ([OLD, OLD], [["pg-link", "pg-solo"]] * 2)
    async with BooksHouse(path, in_force(path)["main"]) as house:
        await house.send(lock(1, 1, device="hub-03", cents=100))
        await house.send(hit(2, 1, 1, TOP, "hub-03"))
        await house.send(said("close", 3, "hub-03", round=1))
    assert (limits(path), waits(path)) == ([[None, NEW[1]]] * 2, [["pg-link"]] * 2)
    assert len({plan.hash for plan in in_force(path).values()}) == 1
    async with BooksHouse(path, in_force(path)["main"]) as house:
        await house.send(lock(1, 1))
        await house.send(hit(2, 1, 1, TOP))
        await house.send(said("close", 3, round=1))
    assert (limits(path), waits(path)) == ([NEW, NEW], [[], []])
    assert verify(path, replay=True)


async def test_what_waits_in_both_books_is_there_again_after_a_restart(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        await activate(house, document(both_limits, both_turned))
    reader = Reader(path)
    refuse_changes(reader, in_force(path)["main"])
    kept = [waiting_of(reader.floor(None, book)) for book in PLAN.books]
    reader.close()
    assert kept[0] is not None and kept[0] == kept[1]
    assert turned(path) == [True, True]


@pytest.mark.parametrize("book", ["main", "solo"])
async def test_an_activation_cut_off_at_either_books_entry_is_in_force_in_none(path: Path, book: str) -> None:
    """Both books' entries are one transaction: what ends it half way undoes both."""
    async with BooksHouse(path, PLAN) as house:
        cut = (f"CREATE TRIGGER cut BEFORE INSERT ON entry WHEN NEW.book = '{book}' AND NEW.kind = 'config' "
               "BEGIN SELECT RAISE(ABORT, 'the power went'); END")
        with closing(sqlite3.connect(path)) as other:
            other.execute(cut)
        with pytest.raises(ActRefused) as refused:
            await activate(house, document(both_at_once, both_turned))
        with closing(sqlite3.connect(path)) as other:
            other.execute("DROP TRIGGER cut")
        await house.until(lambda: not house.books.trouble)
        plans = {floor.plan.hash for floor in house.books.floors.values()}
    assert refused.value.why is Why.NOT_NOW
    assert (plans, limits(path), turned(path)) == ({PLAN.hash}, [OLD, OLD], [False, False])


def activate_in_one_book(path: Path, made: dict[str, Any]) -> None:
    """As a program of before, cut off after the first book: the second knows of nothing."""
    def change(floor: Floor) -> None:
        proposed = read_act("config-proposed", "proposed-1", {"document": made, "reason": "as approved"}, EVE)
        name = desk.act(floor, proposed, AT).told["hash"]
        desk.act(floor, read_act("config-activated", "activated-1", {"hash": name, **APPROVED}, DORA), AT)

    entered(path, change, PLAN)


@pytest.mark.parametrize("change", [both_at_once, both_limits], ids=["at once", "at the next reset"])
async def test_an_activation_that_only_one_book_has_is_completed_at_the_next_start(
    tmp_path: Path, change: Callable[[Any], object]
) -> None:
    """A whole daemon: it comes under what was activated, and so does every book, with what waits."""
    floor = RunningFloor(tmp_path, serial=())
    text = floor.config.read_text()
    floor.config.write_text(text.replace('id = "pg-solo"', 'id = "pg-solo"\nbook = "solo"', 1))
    floor.make_ledger()
    begin(floor.ledger, "a test", [Newcomer(one, one.id, "a-secret-of-the-test") for one in (CARL, DORA)], AT)
    plan = in_force(floor.ledger)["main"]
    try:
        activate_in_one_book(floor.ledger, document(change, both_turned, plan=plan))
        assert turned(floor.ledger) == [True, False]
        await floor.start()
        await floor.stop()
    finally:
        floor.end()
    late = change is both_limits
    assert (limits(floor.ledger), turned(floor.ledger)) == ([OLD, OLD] if late else [NEW, NEW], [True, True])
    assert waits(floor.ledger) == ([["pg-link", "pg-solo"]] * 2 if late else [[], []])
    assert len({plan.hash for plan in in_force(floor.ledger).values()}) == 1
    floor.verified()


def more(made: Any, **meter: str) -> None:
    """A stand-alone meter with a table of its own, PG-04."""
    made["meter"].append(deepcopy(made["meter"][1]) | {"id": "pg-new", **meter})
    table = deepcopy(made["table"][2]) | {"id": "PG-04", "device": "hub-04"}
    table["spot"][0]["meters"] = {"main": "pg-new"}
    made["table"].append(table)


def new_book(made: Any) -> None:
    more(made, book="third")


def no_solo(made: Any) -> None:
    made["meter"], made["table"] = made["meter"][:1], made["table"][:2]


def other_first(made: Any) -> None:
    made["meter"].reverse()


def moved_table(made: Any) -> None:
    made["meter"].append(deepcopy(made["meter"][0]) | {"id": "pg-new", "book": "solo"})
    made["table"][1]["spot"][0]["meters"] = {"main": "pg-new"}


def swapped_units(made: Any) -> None:
    made["table"][0]["device"], made["table"][2]["device"] = "hub-03", "hub-01"


@pytest.mark.parametrize("change", [new_book, no_solo, other_first, moved_table, swapped_units])
async def test_what_one_of_the_books_cannot_come_under_is_refused_as_a_whole(
    path: Path, change: Callable[[Any], object]
) -> None:
    """What is accepted must be able to start."""
    async with BooksHouse(path, PLAN) as house:
        for table, book in (("PG-01", "main"), ("PG-02", "main"), ("PG-03", "solo")):
            await house.books.act(book, read_act("table-closed", f"closed-{table}", {"table": table}, ANNA))
        with pytest.raises(ActRefused) as refused:
            await activate(house, document(change))
        assert refused.value.why is Why.NOT_NOW
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'config'") == [(2,)]


async def test_no_limit_of_the_other_books_meter_is_set_under_its_amount(path: Path) -> None:
    """R-40."""
    async with BooksHouse(path, PLAN) as house:
        await house.send(lock(1, 1, device="hub-03", cents=100))
        with pytest.raises(ActRefused) as refused:
            await activate(house, document(lambda made: made["meter"][1].update(limit="$10,000.01")))
        assert refused.value.what == "meter pg-solo stands above $10,000.01"


async def test_a_table_in_play_of_the_other_book_gets_no_other_unit(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        with pytest.raises(ActRefused) as refused:
            await activate(house, document(lambda made: made["table"][2].update(device="hub-77")))
        assert "close the table first" in refused.value.remedy


async def test_the_other_book_is_asked_again_when_it_is_activated(path: Path) -> None:
    """What was right when it was proposed may be so no more: then neither book changes."""
    async with BooksHouse(path, PLAN) as house:
        made = document(lambda made: made["table"][2].update(device="hub-77"))
        await house.books.act("solo", read_act("table-closed", "closed-001", {"table": "PG-03"}, ANNA))
        proposed = read_act("config-proposed", "proposed-1", {"document": made, "reason": "as approved"}, EVE)
        name = (await house.books.act("main", proposed)).told["hash"]
        await house.books.act("solo", read_act("table-opened", "opened-001", {"table": "PG-03"}, ANNA))
        asked = read_act("config-activated", "activated-1", {"hash": name, **APPROVED}, DORA)
        with pytest.raises(ActRefused):
            await house.books.act("main", asked)
        assert {floor.plan.hash for floor in house.books.floors.values()} == {PLAN.hash}


async def test_the_configuration_is_kept_in_the_first_book(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        with pytest.raises(ActRefused) as refused:
            await activate(house, document(both_turned), "solo")
        assert refused.value.what == "the configuration is kept in book main"


async def test_an_activation_sent_again_is_told_the_same_and_done_once(path: Path) -> None:
    """MO-06."""
    async with BooksHouse(path, PLAN) as house:
        told = await activate(house, document(both_at_once))
        again = read_act("config-activated", "activated-1", {"hash": told["hash"], **APPROVED}, DORA)
        assert (await house.books.act("main", again)).told == told
    assert rows(path, "SELECT book, count(*) FROM entry WHERE kind = 'config' GROUP BY book") == [
        ("main", 2), ("solo", 2)]


async def test_a_new_meter_of_the_other_book_is_opened_there_by_people(path: Path) -> None:
    """R-44."""
    async with BooksHouse(path, PLAN) as house:
        await activate(house, document(more))
    async with BooksHouse(path, in_force(path)["main"]) as house:
        await house.books.act("solo", read_act(
            "opening-entered", "entered-001", {"meter": "pg-new", "base": "$60,000.00", "brought": "$10,000.00",
                                               "source": "the old one", "approval": "7"}, CARL))
        await house.books.act("solo", read_act(
            "opening-accepted", "accepted-001", {"meter": "pg-new", "base": "$60,000.00"}, DORA))
        assert (await house.send(lock(1, 1, device="hub-04", cents=100))).result == "posted"
    assert verify(path, replay=True)
