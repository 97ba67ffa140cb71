"""Configurations that people activate, on real ledgers: what leaves the floor, failing commits, two books (CF-04)."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, CARL, DORA, EVE, IDA, Desk
from meter_house import MeterDesk, meter_plan

from controller.acts import Act, ActRefused, Why, read_act
from controller.config import build
from controller.ledger.place import LedgerError
from controller.ledger.verify import verify
from controller.people import Person
from controller.people_on_box import Newcomer, begin
from controller.plan import FloorPlan
from tests.books_house import BooksHouse
from tests.ledger_house import AT, contract_plan, lock, opened, rows

APPROVED = {"authority": "the Board", "approval": "2026-117", "approved": "2026-11-30"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return opened(tmp_path / "l.db")


def form(kind: str, act_id: str, *people: Person, **fields: str) -> Act:
    return read_act(kind, act_id, fields, *people)


def document_of(plan: FloorPlan, change: Callable[[Any], object]) -> dict[str, Any]:
    made: dict[str, Any] = deepcopy(json.loads(json.dumps(dict(plan.document))))
    change(made)
    return made


def proposed(name: str, document: dict[str, Any]) -> Act:
    return read_act("config-proposed", name, {"document": document, "reason": "as approved"}, EVE)


def activated(name: str, hashed: str) -> Act:
    return read_act("config-activated", name, {"hash": hashed, **APPROVED}, DORA)


def turned(document: Any) -> None:
    document["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]


def rewired(document: Any) -> None:
    document["table"][0]["device"] = "hub-77"


def without_solo(document: Any) -> None:
    document["meter"] = [one for one in document["meter"] if one["id"] != "pg-solo"]
    document["table"] = [one for one in document["table"] if one["id"] != "PG-03"]


async def test_a_meter_and_a_table_that_leave_the_floor_leave_a_ledger_that_can_be_replayed(path: Path) -> None:
    """Retired, dropped, restarted: every book goes on, and the replay agrees."""
    async with BooksHouse(path) as house:
        await house.books.act("main", form("table-closed", "closed-001", ANNA, table="PG-03"))
        day = house.plan.gaming_day(AT).isoformat()
        money = {"reason": "the game ends", "approval": "7"}
        for number, (kind, more) in enumerate((("retirement-announced", {"effective": day}), ("meter-retired", {}))):
            await house.books.act("main", read_act(
                kind, f"retired-{number}", {"meter": "pg-solo", **money, **more}, CARL, DORA))
        told = (await house.books.act("main", proposed("proposed-1", document_of(house.plan, without_solo)))).told
        await house.books.act("main", activated("activated-1", told["hash"]))
    plan = build(document_of(contract_plan(), without_solo))
    async with BooksHouse(path, plan) as house:
        await house.send(lock(1, 1))
        with pytest.raises(ActRefused):
            await house.books.act("main", form("table-opened", "opened-001", ANNA, table="PG-03"))
        await house.books.act("main", form("handed-over", "handed-001", CARL, IDA))
    assert verify(path, replay=True)


async def test_a_commit_that_reports_a_failure_does_not_undo_what_two_departments_activated(path: Path) -> None:
    """MO-06, D5: the books go on with what the ledger says."""
    begin(path, "a test", [Newcomer(person, person.id, "a-secret-of-the-test") for person in (CARL, DORA)], AT)
    async with BooksHouse(path) as house:
        told = (await house.books.act("main", proposed("proposed-1", document_of(house.plan, turned)))).told
        failing = house.writer.calls + 1

        def fail(call: int) -> None:
            if call == failing:
                raise LedgerError("the connection was lost")

        house.writer.after = fail
        await house.books.act("main", activated("activated-1", told["hash"]))
        await house.until(lambda: not house.books.trouble)
        assert house.books.floors["main"].plan.hash == told["hash"]
    assert rows(path, "SELECT count(*) FROM entry WHERE kind = 'config'") == [(2,)]
    assert verify(path, replay=True)


async def test_until_it_has_begun_again_a_floor_with_another_plan_takes_no_message(path: Path) -> None:
    """A unit that the new plan does not name must not stop the books."""
    async with BooksHouse(path) as house:
        await house.books.act("main", form("table-closed", "closed-001", ANNA, table="PG-01"))
        told = (await house.books.act("main", proposed("proposed-1", document_of(house.plan, rewired)))).told
        await house.books.act("main", activated("activated-1", told["hash"]))
        assert house.take(lock(1, 1)) == [False]
        assert not house.books.why_closed("main")


def test_a_table_gets_another_unit_only_when_it_is_closed() -> None:
    desk = Desk()
    document = document_of(desk.plan, lambda one: one["table"][0].update(device="hub-77"))
    assert desk.refused("config-proposed", EVE, document=document, reason="x") is Why.NOT_NOW


def test_a_table_that_owes_awards_or_envy_stays_on_the_floor() -> None:
    """D20, D21."""
    desk = Desk()
    desk.lock(1, 3, 5, table="PG-02")
    desk.hit(1, 3, "four-of-a-kind", table="PG-02")
    desk.close(1, table="PG-02")
    desk.act("table-closed", ANNA, table="PG-02")

    def drop(document: Any) -> None:
        document["table"] = [one for one in document["table"] if one["id"] != "PG-02"]

    document = document_of(desk.plan, drop)
    assert desk.refused("config-proposed", EVE, document=document, reason="x") is Why.NOT_NOW
    desk.act("award-refused", ANNA, CARL, table="PG-02", game=1, seat=3, reason="another hand")
    desk.act("config-proposed", EVE, document=document, reason="x")


def test_money_that_was_transferred_is_never_recovered_as_seed() -> None:
    """R-64, R-65: players' money stays players' money, whatever account it came by."""
    desk = MeterDesk(meter_plan(seed_recovery=True))
    desk.adjust("raise", "$15,000.00")
    desk.shut("PG-01", "PG-02")
    desk.move()
    recovered = {"meter": "pg-next", "by_amount": "$12,000.00", "reason": "x", "approval": "7"}
    assert desk.refused("seed-recovered", CARL, DORA, **recovered) is Why.NOT_NOW
