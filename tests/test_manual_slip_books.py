"""A slip written by hand is entered once on the whole floor, whichever book its table is in (R-58)."""

import asyncio
from pathlib import Path

import pytest
from desk_house import ANNA, CARL, IDA

from controller.acts import Act, ActRefused, Why, read_act
from controller.ledger.verify import verify
from tests.books_house import BooksHouse
from tests.ledger_house import AT, opened, rows
from tests.test_config_books import PLAN

SLIPS = "SELECT book, count(*) FROM entry WHERE kind = 'manual-slip' GROUP BY book"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return opened(tmp_path / "two.db", PLAN)


def slip(name: str, table: str, written: str = "A-17") -> Act:
    fields = {"table": table, "written": written, "when": PLAN.local(AT).isoformat(), "seat": "1", "outcome": "other",
              "handed": "$1.00", "reason": "the box was down"}
    return read_act("manual-slip", name, fields, ANNA, CARL)._replace(third=IDA)


@pytest.mark.parametrize(("first", "then"), [("main", "solo"), ("solo", "main")])
async def test_a_slip_that_one_book_has_is_entered_in_no_other(path: Path, first: str, then: str) -> None:
    """However its letters are written; the refusal is kept where it was asked."""
    table = {"main": "PG-01", "solo": "PG-03"}
    async with BooksHouse(path, PLAN) as house:
        done = await house.books.act(first, slip("slip-00001", table[first]))
        with pytest.raises(ActRefused) as refused:
            await house.books.act(then, slip("slip-00002", table[then], "a-17"))
        assert refused.value.why is Why.ALREADY_DONE
        assert refused.value.what == f"the slip a-17 has been entered in book {first}, table {table[first]}"
        again = await house.books.act(first, slip("slip-00001", table[first]))
        assert (again.before, again.entry) == (True, done.entry)
        await house.books.act(then, slip("slip-00003", table[then], "A-18"))
    assert rows(path, SLIPS) == [("main", 1), ("solo", 1)]
    assert rows(path, "SELECT book FROM entry WHERE kind = 'act-refused'") == [(then,)]
    assert verify(path, replay=True)


async def test_of_two_who_enter_one_slip_in_two_books_at_once_one_does(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        came = await asyncio.gather(
            house.books.act("main", slip("slip-00001", "PG-01")), house.books.act("solo", slip("slip-00002", "PG-03")),
            return_exceptions=True)
    assert [type(one) for one in came].count(ActRefused) == 1
    assert len(rows(path, SLIPS)) == 1


async def test_a_slip_that_another_book_had_before_a_restart_is_not_entered_again(path: Path) -> None:
    async with BooksHouse(path, PLAN) as house:
        await house.books.act("solo", slip("slip-00001", "PG-03"))
    async with BooksHouse(path, PLAN) as house:
        with pytest.raises(ActRefused, match="in book solo"):
            await house.books.act("main", slip("slip-00002", "PG-01"))
    assert rows(path, SLIPS) == [("solo", 1)]
