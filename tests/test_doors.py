"""What is refused before it reaches the desk is in the audit trail too, merged: nobody can fill it (R-108, SD-09)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from people_house import BROWSER, SECRET, PeopleHouse, Screen, screens
from test_web_acts import by_token


@pytest.fixture
def house() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def screen(house: PeopleHouse, tmp_path: Path) -> Iterator[Screen]:
    with screens(house, tmp_path, 1) as (one,):
        yield one


def refusals(house: PeopleHouse) -> list[tuple[str, str, Any]]:
    """Who was refused what, why and how often, oldest first."""
    return [(act.by.id, f"{act.fields['what']}: {act.fields['reason']}", act.fields["count"])
            for act in house.done if act.kind == "door-refused"]


def test_a_token_that_may_only_read_and_tries_to_act_is_entered(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("dora")
    assert by_token(screen, screen.make_token("read")) == 403
    assert refusals(house) == [("dora", "act person-disabled: this token may only read", 1)]
    assert house.done[-1].token == "nightly"


def test_another_persons_signature_with_a_token_is_entered(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    token = screen.make_token()
    screen.client.cookies.clear()
    body = {"id": "with-second", "fields": {"table": "PG-01", "reason": "r"},
            "second": {"name": "dora", "secret": SECRET}}
    answer = screen.client.post("/api/v1/acts/loss-accepted-by", json=body,
                                headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 403
    assert refusals(house) == [("anna", "act loss-accepted-by: second-person", 1)]


def test_a_wrong_role_at_a_pages_door_is_entered(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    assert screen.client.post("/evidence", headers=screen.origin | BROWSER).status_code == 403
    assert refusals(house) == [("anna", "POST /evidence: not for this role", 1)]


def test_a_form_that_no_rule_has_seen_is_entered_without_what_was_written(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    screen.act("no-such-act-" + SECRET.replace(" ", ""), "form-00001", {})
    screen.act("signed-in", "form-00002", {})
    assert refusals(house) == [("anna", "an act that there is none of: not-found", 1),
                               ("anna", "act signed-in: not-found", 1)]
    assert SECRET.replace(" ", "") not in str([act.fields for act in house.done])


def test_whoever_tries_again_and_again_makes_few_entries(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("frida")
    for _ in range(100):
        screen.client.post("/tokens", headers=screen.origin)
        screen.client.get("/awards/x/1/1/progressive/slip.pdf?copy=1", headers=BROWSER)
    counts = [count for who, what, count in refusals(house) if (who, "slip.pdf" in what) == ("frida", True)]
    assert counts == [1, 2, 4, 8, 16, 32, 64]


def test_an_act_that_its_rules_refuse_is_entered_once_as_that(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    screen.act("person-disabled", "form-00003", {"id": "dora", "reason": "x"})
    assert ([act.kind for act, _ in house.refused], refusals(house)) == (["person-disabled"], [])
