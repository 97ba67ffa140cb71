"""What programs ask at the desk besides acts: a secret, a token, what is proposed (WE-02, WE-03, CF-06)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from people_house import SECRET, PeopleHouse, Screen, screens

from controller.wiring import WebPlan

NEW = "four new words here"


@pytest.fixture
def house() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def screen(house: PeopleHouse, tmp_path: Path) -> Iterator[Screen]:
    with screens(house, tmp_path, 1) as (one,):
        yield one


def change(screen: Screen, **changes: Any) -> Any:
    """Change anna's secret, with something else than she sends."""
    return screen.client.post("/api/v1/secret", json={"name": "anna", "secret": SECRET, "new": NEW} | changes)


def test_a_changed_secret_ends_every_open_session(screen: Screen) -> None:
    screen.sign_in("anna")
    assert change(screen).json() == {"id": "anna"}
    assert screen.client.get("/api/v1/session").status_code == 401
    assert screen.sign_in("anna").status_code == 403
    assert screen.sign_in("anna", NEW).status_code == 303


@pytest.mark.parametrize(("changes", "status"), [
    ({"secret": "another long one"}, 403), ({"name": "nobody"}, 403), ({"new": "short"}, 422), ({"new": SECRET}, 422),
    ({"new": 7}, 422), ({"name": None}, 422), ({"more": "x"}, 422)])
def test_a_change_that_is_no_good_changes_nothing(
    house: PeopleHouse, screen: Screen, changes: dict[str, Any], status: int
) -> None:
    assert change(screen, **changes).status_code == status
    assert "secret-changed" not in house.kinds()


def test_guesses_at_this_door_are_slowed_down_like_those_at_the_other(screen: Screen) -> None:
    """WE-05."""
    said = [change(screen, secret="another long one").json()["error"] for _ in range(8)]
    assert "too many wrong tries" in said
    assert screen.sign_in("anna").status_code == 429


def test_nobody_changes_a_secret_from_outside_by_a_program(tmp_path: Path) -> None:
    """R-105: also where remote access may be opened."""
    house = PeopleHouse(WebPlan("127.0.0.1", 0, remote=True))
    with screens(house, tmp_path, 1, peer="203.0.113.9") as (one,):
        assert change(one).status_code == 403
    assert "secret-changed" not in house.kinds()


def test_a_form_of_another_page_changes_no_secret(screen: Screen) -> None:
    """A browser sends JSON to another site only after asking it."""
    assert screen.client.post("/api/v1/secret", data={"name": "anna", "secret": SECRET, "new": NEW}).status_code == 415


def test_a_token_is_made_in_a_session_with_its_own_mark_only(house: PeopleHouse, screen: Screen) -> None:
    """WE-02; and no token makes another."""
    asked = {"id": "ask-0001", "name": "nightly", "scope": "read", "days": "30"}
    assert screen.client.post("/api/v1/tokens", json=asked).status_code == 401
    screen.sign_in("anna")
    assert screen.client.post("/api/v1/tokens", json=asked, headers=screen.origin).status_code == 403
    head = screen.origin | {"x-csrf": screen.csrf}
    assert screen.client.post("/api/v1/tokens", json=asked | {"days": "0"}, headers=head).status_code == 422
    token = screen.client.post("/api/v1/tokens", json=asked, headers=head).json()["token"]
    screen.client.cookies.clear()
    bearer = {"authorization": f"Bearer {token}"}
    assert screen.client.get("/api/v1/configuration", headers=bearer).json()["proposals"] == []
    assert screen.client.post("/api/v1/tokens", json=asked | {"name": "more"}, headers=bearer).status_code == 403
    assert house.kinds().count("token-made") == 1
