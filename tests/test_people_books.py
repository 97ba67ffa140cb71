"""People over real books on a real ledger: durable before they may sign, there again after a restart (I4, R-104)."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from people_house import BORIS, CARLA, DORA, SECRET

from controller.acts import Act, Acted, ActRefused, Why
from controller.ledger.place import LedgerError
from controller.ledger.verify import verify
from controller.people_on_box import Newcomer, begin
from controller.register import registered
from controller.vault import Vault, beside
from controller.web.sessions import PeopleSource, SignInRefused, SignIns
from controller.wiring import WebPlan
from tests.books_house import BooksHouse
from tests.ledger_house import AT, opened

PEER = "10.0.0.1"
STAFF = [Newcomer(BORIS, "Boris", SECRET), Newcomer(DORA, "Dora", "another long one"), Newcomer(CARLA, "Carla", SECRET)]


class Source:
    """What sign-ins need of a daemon, over books; time stands still."""

    def __init__(self, house: BooksHouse) -> None:
        self._house = house

    def snapshot(self) -> Any:
        return SimpleNamespace(plan=self._house.plan, at=AT)

    def rows(self, book: str, kind: str) -> Mapping[str, Mapping[str, Any]]:
        return self._house.books.floors[book].rows.get(kind, {})

    async def act(self, book: str, asked: Act) -> Acted:
        return await self._house.books.act(book, asked)


def sign_ins(house: BooksHouse) -> SignIns:
    return SignIns(cast(PeopleSource, Source(house)), Vault(beside(house.path)), WebPlan("127.0.0.1", 0))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = opened(tmp_path / "ledger.db")
    begin(path, "test", STAFF, AT)
    return path


async def test_who_was_made_on_the_box_signs_in_to_the_daemon(ledger: Path) -> None:
    async with BooksHouse(ledger) as house:
        desk = sign_ins(house)
        await desk.open("dora", "another long one", PEER)
        (entry,) = house.reader.entries("main", kinds=("signed-in",))
        assert '"by":["dora","administrator","it"]' in entry.body


async def test_a_changed_secret_counts_after_a_restart_and_the_old_one_does_not(ledger: Path) -> None:
    async with BooksHouse(ledger) as house:
        await sign_ins(house).new_secret("boris", "four words are enough", BORIS, "change-0001")
    async with BooksHouse(ledger) as again:
        desk = sign_ins(again)
        assert (await desk.check("boris", "four words are enough", PEER)).person == BORIS
        with pytest.raises(SignInRefused):
            await desk.check("boris", SECRET, PEER)
    verify(ledger, replay=True)


async def test_a_change_that_the_ledger_could_not_keep_leaves_the_old_secret(ledger: Path) -> None:
    async with BooksHouse(ledger) as house:
        desk = sign_ins(house)

        def full(call: int) -> None:
            raise LedgerError("the disk is full")

        house.writer.before = full
        with pytest.raises(ActRefused) as refused:
            await desk.new_secret("boris", "four words are enough", BORIS, "change-0001")
        assert refused.value.why is Why.NOT_NOW
        house.writer.before = lambda call: None
        await house.until(lambda: not house.books.trouble)
        assert (await desk.check("boris", SECRET, PEER)).person == BORIS


async def test_a_disabled_person_stays_disabled_after_a_restart(ledger: Path) -> None:
    async with BooksHouse(ledger) as house:
        await sign_ins(house).act("person-disabled", "disable-1", BORIS, {"id": "carla", "reason": "left"})
    async with BooksHouse(ledger) as again:
        found = registered(again.books.floors["main"].rows["person"], "carla")
        assert found is not None
        assert found.state == "disabled"


async def test_a_withdrawn_proposal_is_not_there_again_after_a_restart(ledger: Path) -> None:
    new = {"id": "hugo", "name": "Hugo", "role": "supervisor", "department": "table-games"}
    async with BooksHouse(ledger) as house:
        desk = sign_ins(house)
        await desk.act("person-proposed", "propose-1", DORA, new)
        await desk.act("person-withdrawn", "withdraw-1", DORA, {"id": "hugo", "reason": "a mistake"})
    async with BooksHouse(ledger) as again:
        assert sign_ins(again).find("hugo") is None
    verify(ledger, replay=True)


async def test_a_stopped_book_lets_people_in_to_put_it_right(ledger: Path) -> None:
    """Clearing a stopped book takes two people: they must be able to sign in."""
    async with BooksHouse(ledger) as house:
        house.books.floors["main"].stopped = "the books do not add up"
        assert await sign_ins(house).open("boris", SECRET, PEER)


