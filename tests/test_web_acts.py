"""What people do through the pages and the API: acts, people, tokens, over the real desk (WE-03, MO-06, CF-06)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from people_house import (
    ANNA,
    BORIS,
    BROWSER,
    DORA,
    SECRET,
    STAFF,
    PeopleHouse,
    Screen,
    screens,
)

from controller.acts import KINDS, Act
from controller.people_acts import MADE_INSIDE
from controller.register import registered

NEW = {"id": "hugo", "name": "Hugo Beispiel", "role": "supervisor", "department": "table-games"}


@pytest.fixture
def house() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def two(house: PeopleHouse, tmp_path: Path) -> Iterator[list[Screen]]:
    with screens(house, tmp_path) as opened:
        yield opened


@pytest.fixture
def screen(two: list[Screen]) -> Screen:
    return two[0]


def row(house: PeopleHouse, name: str) -> Any:
    return registered(house.first.rows["person"], name)


# Acts


def test_an_act_is_done_by_the_person_of_the_session_whatever_the_form_says(
    house: PeopleHouse, screen: Screen
) -> None:
    """WE-03: extra fields."""
    screen.sign_in("dora")
    told = screen.act("person-disabled", "disable-1", {"id": "anna", "reason": "left", "by": "boris"})
    assert "by: nothing that this act asks" in told
    assert "person-disabled" not in house.kinds()


def test_a_form_sent_twice_is_done_once(house: PeopleHouse, screen: Screen) -> None:
    """MO-06."""
    screen.sign_in("dora")
    screen.act("person-disabled", "disable-1", {"id": "anna", "reason": "left"})
    entries = house.first.number
    assert "done already" in screen.act("person-disabled", "disable-1", {"id": "anna", "reason": "left"})
    assert house.first.number == entries


def test_a_refused_act_tells_why_and_what_to_do(screen: Screen) -> None:
    screen.sign_in("anna")
    told = screen.act("person-disabled", "disable-1", {"id": "emil", "reason": "left"})
    assert "anna (supervisor, table-games) may not do this" in told
    assert "ask a shift-manager or an administrator" in told


def test_an_act_that_only_the_controller_makes_is_no_forms(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("dora")
    for kind in MADE_INSIDE:
        assert "the controller makes it" in screen.act(kind, f"inside-{kind[:20]}", {})
    assert [act.by.id for act in house.done if act.kind != "signed-in"] == ["dora"] * len(MADE_INSIDE)
    assert set(house.kinds()) == {"signed-in", "door-refused"}


def second_kind() -> str:
    """An act of the table that needs a second person."""
    return next(kind.name for kind in KINDS.values() if kind.name == "hit-withdrawn")


WITHDRAWN = {"table": "PG-01", "game": "41", "seat": "1", "spot": "progressive", "reason": "the dealer erred"}


def asked(house: PeopleHouse) -> Act:
    """The act that came to the desk last, done or refused."""
    return house.refused[-1][0]


def test_the_second_person_signs_with_own_name_and_secret(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    screen.act(second_kind(), "withdraw-1", WITHDRAWN, second_name="boris", second_secret=SECRET)
    assert (asked(house).by, asked(house).second) == (ANNA, BORIS)


def test_a_second_person_with_a_wrong_secret_signs_nothing(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    told = screen.act(second_kind(), "withdraw-1", WITHDRAWN, second_name="boris", second_secret="wrong")
    assert "the second person: name or secret is wrong" in told
    assert house.refused == []


def test_nobody_is_their_own_second_person(house: PeopleHouse, screen: Screen) -> None:
    """WE-03."""
    screen.sign_in("anna")
    told = screen.act(second_kind(), "withdraw-1", WITHDRAWN, second_name="anna", second_secret=SECRET)
    assert "one person signed twice" in told


def test_a_second_person_whose_secret_is_too_old_signs_nothing(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    boris = house.first.rows["person"]["boris"]
    house.first.keep("person", "boris", boris | {"must_change": True})
    told = screen.act(second_kind(), "withdraw-1", WITHDRAWN, second_name="boris", second_secret=SECRET)
    assert "boris must change the secret first" in told
    assert house.refused == []


def test_a_second_persons_secret_stands_nowhere(
    house: PeopleHouse, screen: Screen, caplog: pytest.LogCaptureFixture
) -> None:
    """CF-06."""
    marker = "marker-of-a-secret-7731"
    screen.sign_in("anna")
    told = screen.act(second_kind(), "withdraw-1", WITHDRAWN, second_name="boris", second_secret=marker)
    screen.sign_in("boris", marker)
    assert marker not in told + caplog.text + str(house.done) + str(house.refused) + str(house.first.entries)


# People


def test_one_proposes_another_enables_and_the_new_person_chooses_a_secret(
    house: PeopleHouse, tmp_path: Path
) -> None:
    """R-104, WE-03: neither of the two who made the account ever knows its whole first secret."""
    with screens(house, tmp_path, 3) as (dora, carla, hugo):
        dora.sign_in("dora")
        carla.sign_in("carla")
        halves = [re.findall(r"[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}", said)[0] for said in (
            dora.act("person-proposed", "hugo-0001", NEW), carla.act("person-enabled", "hugo-0002", {"id": "hugo"}))]
        assert hugo.sign_in("hugo", halves[1]).status_code == 403
        assert hugo.sign_in("hugo", "-".join(halves)).status_code == 303
        assert hugo.client.get("/people", headers=BROWSER).headers["location"] == "/secret"
        assert hugo.client.get("/people").status_code == 403
        form = {"csrf": hugo.csrf, "secret": "-".join(halves), "new": "four words are enough",
                "again": "four words are enough"}
        assert hugo.client.post("/secret", data=form, headers=hugo.origin).status_code == 303
        assert hugo.client.get("/people", headers=BROWSER).status_code == 200
    assert not row(house, "hugo").must_change


def test_nobody_enables_what_they_or_their_department_proposed(house: PeopleHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, 2) as (dora, boris):
        dora.sign_in("dora")
        boris.sign_in("boris")
        dora.act("person-proposed", "hugo-0001", NEW)
        assert "dora has proposed it" in dora.act("person-enabled", "hugo-0002", {"id": "hugo"})
        boris.act("person-proposed", "ida-00001", NEW | {"id": "ida"})
        assert row(house, "hugo").state == row(house, "ida").state == "proposed"


@pytest.mark.parametrize(("new", "again", "said"), [
    ("short", "short", "shorter than 12"), ("anna-loves-cats", "anna-loves-cats", "own name"),
    (SECRET, SECRET, "the old one"), ("twelve letters a", "twelve letters b", "differently"),
    ("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "one letter"),
])  # fmt: skip
def test_a_weak_secret_is_refused_with_why(screen: Screen, new: str, again: str, said: str) -> None:
    screen.sign_in("anna")
    form = {"csrf": screen.csrf, "secret": SECRET, "new": new, "again": again}
    answer = screen.client.post("/secret", data=form, headers=screen.origin)
    assert answer.status_code == 422
    assert said in answer.text


def test_a_changed_secret_ends_the_other_sessions(two: list[Screen]) -> None:
    for screen in two:
        screen.sign_in("anna")
    form = {"csrf": two[0].csrf, "secret": SECRET, "new": "another long one", "again": "another long one"}
    two[0].client.post("/secret", data=form, headers=two[0].origin)
    assert [screen.client.get("/people").status_code for screen in two] == [200, 401]


def test_an_old_secret_must_be_changed_before_anything_else(house: PeopleHouse, screen: Screen) -> None:
    """R-104: every quarter."""
    house.later(90 * 86_400 + 1)
    screen.sign_in("anna")
    assert screen.client.get("/people", headers=BROWSER).headers["location"] == "/secret"


def test_a_hash_put_into_the_side_file_opens_nothing(house: PeopleHouse, tmp_path: Path) -> None:
    """The ledger's fingerprint says which secret counts."""
    with screens(house, tmp_path, 1) as (screen,):
        from controller.vault import Vault, hash_secret

        Vault(tmp_path / "people.db").keep_hash("anna", hash_secret("planted by somebody"))
        assert screen.sign_in("anna", "planted by somebody").status_code == 403


def test_the_page_lists_everybody_with_role_department_and_state(screen: Screen) -> None:
    """R-104: a listing of people and functions."""
    screen.sign_in("gunther")
    page = screen.client.get("/people", headers=BROWSER).text
    for person in STAFF:
        assert re.search(rf'id="person-{person.id}".*?{person.role.value}.*?{person.department}', page, re.S)


def test_the_page_offers_only_what_a_role_may_do(two: list[Screen]) -> None:
    two[0].sign_in("anna")
    two[1].sign_in("dora")
    assert "/acts/person-" not in two[0].client.get("/people", headers=BROWSER).text
    assert "/acts/person-proposed" in two[1].client.get("/people", headers=BROWSER).text


# Tokens


def by_token(screen: Screen, token: str, kind: str = "person-disabled") -> int:
    screen.client.cookies.clear()
    body = {"id": "by-token-1", "fields": {"id": "anna", "reason": "left"}}
    return int(screen.client.post(f"/api/v1/acts/{kind}", json=body, headers={"authorization": f"Bearer {token}"})
               .status_code)


def test_a_script_acts_by_a_token_of_its_person(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("dora")
    assert by_token(screen, screen.make_token()) == 200
    assert house.done[-1].by == DORA


def test_a_reading_token_does_nothing(screen: Screen) -> None:
    screen.sign_in("dora")
    assert by_token(screen, screen.make_token("read")) == 403


def test_a_token_ends_with_its_days(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("dora")
    token = screen.make_token(days="1")
    house.later(86_401)
    assert by_token(screen, token) == 401


def test_a_token_that_was_ended_opens_nothing(screen: Screen) -> None:
    screen.sign_in("dora")
    token = screen.make_token()
    screen.act("token-ended", "token-end-1", {"id": "nightly", "reason": "not needed"})
    assert by_token(screen, token) == 401


def test_a_tokens_secret_is_kept_as_a_digest_only(house: PeopleHouse, screen: Screen, tmp_path: Path) -> None:
    screen.sign_in("dora")
    secret = screen.make_token().partition(".")[2]
    assert secret not in str(house.first.entries)
    assert secret.encode() not in (tmp_path / "people.db").read_bytes()


@pytest.mark.parametrize("token", ["", "x", "nightly.", "nightly.\u00e9", "nightly." + "0" * 64])
def test_an_odd_token_is_401(screen: Screen, token: str) -> None:
    """WE-09."""
    screen.sign_in("dora")
    screen.make_token()
    head = {"authorization": f"Bearer {token}".encode()}
    screen.client.cookies.clear()
    assert screen.client.get("/people", headers=head).status_code == 401


# The program's door


def test_a_program_with_a_session_needs_its_token_too(screen: Screen) -> None:
    screen.sign_in("dora")
    body = {"id": "by-page-01", "fields": {"id": "anna", "reason": "left"}}
    bare = screen.client.post("/api/v1/acts/person-disabled", json=body, headers=screen.origin)
    head = screen.origin | {"x-csrf": screen.csrf}
    good = screen.client.post("/api/v1/acts/person-disabled", json=body, headers=head)
    assert (bare.status_code, good.status_code) == (403, 200)
    assert good.json()["told"] == {"id": "anna"}


def test_a_program_signs_in_and_finds_its_token(screen: Screen) -> None:
    form = {"name": "dora", "secret": SECRET, "back": "/api/v1/session"}
    signed = screen.client.post("/sign-in", data=form, headers=screen.origin, follow_redirects=True).json()
    assert (signed["id"], signed["role"], signed["csrf"]) == ("dora", "administrator", screen.csrf)


def test_a_program_with_a_wrong_secret_is_told_in_json(screen: Screen) -> None:
    answer = screen.client.post("/sign-in", data={"name": "dora", "secret": "wrong"}, headers=screen.origin)
    assert (answer.status_code, answer.json()["error"]) == (403, "name or secret is wrong")


@pytest.mark.parametrize(("name", "kind", "body", "status"), [
    ("anna", "person-disabled", {"id": "program-1", "fields": {"id": "emil", "reason": "x"}}, 403),
    ("dora", "person-disabled", {"id": "program-1", "fields": {"id": "nobody", "reason": "x"}}, 404),
    ("dora", "person-disabled", {"id": "program-1", "fields": {"id": "emil"}}, 422),
    ("dora", "person-disabled", {"id": "short", "fields": {"id": "emil", "reason": "x"}}, 422),
    ("dora", "person-enabled", {"id": "program-1", "fields": {"id": "emil"}}, 409),
    ("dora", "no-such-act", {"id": "program-1", "fields": {}}, 404),
    ("dora", "person-disabled", [], 422), ("dora", "person-disabled", {"second": 7}, 422),
    ("dora", "person-disabled", {"id": 7, "fields": 7}, 422),
])  # fmt: skip
def test_a_refused_program_is_told_by_status(screen: Screen, name: str, kind: str, body: Any, status: int) -> None:
    screen.sign_in(name)
    answer = screen.client.post(f"/api/v1/acts/{kind}", json=body, headers=screen.origin | {"x-csrf": screen.csrf})
    assert answer.status_code == status
    assert answer.json()["remedy"]
