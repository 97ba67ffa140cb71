"""What is done, refused or taken away by an API token is told apart in the ledger from what a person did (R-108)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from awards_house import AwardsHouse
from desk_house import Desk
from people_house import ANNA, DORA, PeopleHouse, Screen, screens
from test_award_pages import GAME, MATCH
from test_award_pages import screens as award_screens
from test_web_acts import by_token

from controller import desk
from controller.acts import Act, ActRefused, Why, act_body, act_from
from controller.people import Person, Role
from controller.people_on_box import Newcomer, begin
from tests.books_house import BooksHouse
from tests.ledger_house import AT, opened

REFUSED = Act("person-disabled", "refused-1", ANNA, None, None, {"id": "dora", "reason": "x"})


@pytest.fixture
def house() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def screen(house: PeopleHouse, tmp_path: Path) -> Iterator[Screen]:
    with screens(house, tmp_path, 1) as (one,):
        yield one


def test_an_act_by_a_token_keeps_its_name_and_one_in_a_session_none(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("dora")
    assert by_token(screen, screen.make_token()) == 200
    assert [(act.kind, act.token) for act in house.done] == [
        ("signed-in", ""), ("token-made", ""), ("person-disabled", "nightly")]
    assert json.loads(house.first.entries[-1].body)["token"] == "nightly"
    assert "token" not in json.loads(house.first.entries[-2].body)


def test_an_act_that_is_refused_to_a_token_is_asked_for_in_its_name(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    assert by_token(screen, screen.make_token()) == 403
    assert [(act.by, act.token) for act, _ in house.refused] == [(ANNA, "nightly")]


def test_the_entry_of_a_refusal_says_by_which_token() -> None:
    floor = Desk().floor
    no = ActRefused(Why.NOT_ALLOWED, "not this person", "ask another")
    for asked in (REFUSED._replace(token="nightly"), REFUSED):
        desk.refuse(floor, asked, no, AT)
    first, second = [json.loads(entry.body)["act"] for entry in floor.entries[-2:]]
    assert (first["token"], "token" in second) == ("nightly", False)


def test_an_act_is_read_back_with_its_token_and_old_ones_without() -> None:
    asked = REFUSED._replace(token="nightly")
    assert act_from(asked.kind, asked.id, act_body(asked)) == asked
    assert act_from(asked.kind, asked.id, act_body(REFUSED)) == REFUSED


def test_the_same_act_by_a_token_and_by_its_person_is_one_act() -> None:
    """MO-06: the id makes it one, whichever way it was sent again."""
    made = Desk()
    anna = Person("anna", Role.SUPERVISOR, "table-games")
    asked = Act("table-closed", "close-0001", anna, None, None, {"table": "PG-01"})
    first = desk.act(made.floor, asked._replace(token="nightly"), AT)
    assert desk.act(made.floor, asked, AT) == first._replace(before=True)


async def test_refusals_of_a_token_and_of_its_person_are_counted_apart(tmp_path: Path) -> None:
    """SD-09 merges what is alike: a script's refusals must not hide those of a person."""
    path = opened(tmp_path / "ledger.db")
    carl = Person("carl", Role.SHIFT_MANAGER, "table-games")
    begin(path, "test", [Newcomer(carl, "Carl", "a long secret"), Newcomer(DORA, "Dora", "another long one")], AT)
    async with BooksHouse(path) as house:
        for number, token in enumerate(("", "", "", "nightly", "nightly", "weekly")):
            asked = Act("award-verified", f"refused-{number}", DORA, None, None,
                        {"table": "PG-01", "game": 1, "seat": 1, "spot": "progressive"}, token)
            with pytest.raises(ActRefused):
                await house.books.act("main", asked)
        bodies = [json.loads(entry.body) for entry in house.reader.entries("main", kinds=("act-refused",))]
    assert [body["act"].get("token", "") for body in reversed(bodies)] == ["", "", "nightly", "nightly", "weekly"]


def test_the_history_of_a_game_says_by_which_token(tmp_path: Path) -> None:
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 2)
    house.hit(1, 2, MATCH)
    with award_screens(house, tmp_path, "anna") as (anna,):
        made: dict[str, Any] = {"csrf": anna.client.get("/api/v1/session").json()["csrf"], "act_id": "token-act-1",
                                "id": "nightly", "scope": "act", "days": "30"}
        anna.client.post("/tokens", data=made, headers={"origin": "http://testserver"})
        token = anna.told("/people").rpartition(" ")[2]
        fields = {"table": "PG-01", "game": 1, "seat": 2, "spot": "progressive"}
        answer = anna.client.post("/api/v1/acts/slip-printed", json={"id": "by-script-1", "fields": fields},
                                  headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        assert "By the token: nightly" in anna.page(GAME)
