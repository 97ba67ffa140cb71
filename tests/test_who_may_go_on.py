"""Whoever got in may go on only while that still holds: one remote session, streams of a closed floor, aged secrets."""

import http.client
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from awards_house import AwardsHouse
from desk_house import CARL, FAY, HAL, Desk
from fastapi.testclient import TestClient
from people_house import BORIS, BROWSER, SECRET, PeopleHouse, PeopleServed, Screen, people_app, screens
from test_award_pages import GAME, MATCH, ORIGIN
from test_award_pages import screens as award_screens
from test_web_acts import by_token

from controller import desk
from controller.acts import KINDS, Act, Acted, ActRefused, Why, read_act
from controller.people import Role
from controller.vault import StoredSession, Vault
from controller.wiring import WebPlan

DAY_S = 86_400


# ---------------------------------------------------------------------- one opening, one session


@contextmanager
def far_and_near(folder: Path) -> Iterator[tuple[PeopleHouse, Screen, Screen, Screen]]:
    """A shift manager on the floor, and two screens from elsewhere."""
    house = PeopleHouse(WebPlan("127.0.0.1", 0, remote=True))
    app = people_app(house, folder)
    peers = ("127.0.0.1", "203.0.113.8", "203.0.113.9")
    near, one, two = [TestClient(app, follow_redirects=False, client=(peer, 5)) for peer in peers]
    with near:
        made = Screen(near)
        made.sign_in("boris")
        yield house, made, Screen(one), Screen(two)


def opens(near: Screen, number: int) -> None:
    assert "Done" in near.act("remote-opened", f"remote-{number:04}", {"id": "emil", "minutes": "60", "reason": "r"})


def inside(one: Screen) -> bool:
    return bool(one.client.get("/people", headers=BROWSER).status_code == 200)


def test_a_second_opening_of_remote_access_ends_the_session_of_the_first(tmp_path: Path) -> None:
    with far_and_near(tmp_path) as (_, near, one, two):
        opens(near, 1)
        assert (one.sign_in("emil").status_code, two.sign_in("emil").status_code) == (303, 403)
        opens(near, 2)
        assert not inside(one)
        assert (two.sign_in("emil").status_code, one.sign_in("emil").status_code) == (303, 403)
        assert (inside(one), inside(two)) == (False, True)


def test_what_was_ended_does_not_come_back_with_a_new_opening(tmp_path: Path) -> None:
    with far_and_near(tmp_path) as (_, near, one, _two):
        opens(near, 1)
        one.sign_in("emil")
        near.act("remote-ended", "remote-end1", {"id": "emil", "reason": "done"})
        opens(near, 2)
        assert not inside(one)


def test_a_remote_session_is_bound_to_its_opening_over_a_restart(tmp_path: Path) -> None:
    with far_and_near(tmp_path) as (house, near, one, _two):
        opens(near, 1)
        one.sign_in("emil")
        assert inside(one)
        app = people_app(house, tmp_path)
        again = TestClient(app, follow_redirects=False, client=("203.0.113.8", 5), cookies=one.client.cookies)
        assert inside(Screen(again))
        opens(near, 2)
        assert not inside(Screen(again))


def test_the_vault_keeps_of_a_remote_session_by_what_it_was_opened(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "people.db")
    one = StoredSession("d" * 64, "emil", "token", 1, 2, True, "remote-0001")
    vault.keep_session(one)
    assert Vault(tmp_path / "people.db").sessions() == [one]
    vault.end_sessions([one.digest])
    vault.keep_session(one._replace(opening=""))
    assert vault.sessions() == [one._replace(opening="")]


# ---------------------------------------------------------------------- streams of a closed floor


class Watcher:
    """Somebody signed in who watches the floor of a running server."""

    def __init__(self, server: PeopleServed, name: str) -> None:
        self._origin = server.url
        self.port = server.port
        form = urllib.parse.urlencode({"name": name, "secret": SECRET, "back": "/"})
        answer = self.ask("POST", "/sign-in", form)
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        self.stream = self.ask("GET", "/events/floor")
        assert self.stream.status == 200

    def ask(self, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        kind = {"content-type": "application/x-www-form-urlencoded"} if body else {}
        cookie = {"cookie": self.cookie} if hasattr(self, "cookie") else {}
        connection.request(method, path, body, {"origin": self._origin, **kind, **cookie})
        return connection.getresponse()

    def ends(self) -> bool:
        """Whether the stream ends, in good order, before it has told ten seconds more."""
        return any(not self.stream.readline() for _ in range(10_000))


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[PeopleServed]:
    server = PeopleServed(PeopleHouse(WebPlan("127.0.0.1", 0, open_floor_page=False)), tmp_path)
    yield server
    server.stop()


def test_the_stream_of_a_closed_floor_ends_when_who_watches_is_disabled(closed: PeopleServed) -> None:
    one = Watcher(closed, "emil")
    gone = read_act("person-disabled", "disable-01", {"id": "emil", "reason": "left"}, BORIS)
    desk.act(closed.house.first, gone, closed.house.snapshot().at)
    assert one.ends()


def test_the_stream_of_a_closed_floor_ends_when_the_session_is_over(closed: PeopleServed) -> None:
    one = Watcher(closed, "emil")
    closed.house.later(2 * DAY_S)
    assert one.ends()


# ---------------------------------------------------------------------- aged secrets


@pytest.mark.parametrize(("scope", "status"), [("act", 403), ("read", 200)])
def test_a_token_of_who_must_change_the_secret_looks_but_does_not_act(
    tmp_path: Path, scope: str, status: int
) -> None:
    house = PeopleHouse()
    with screens(house, tmp_path, 1) as (screen,):
        screen.sign_in("dora")
        token = screen.make_token(scope, "365")
        house.later(120 * DAY_S)
        screen.client.cookies.clear()
        head = {"authorization": f"Bearer {token}"}
        assert screen.client.get("/api/v1/session", headers=head).status_code == status
        assert by_token(screen, token) == 403
    assert "person-disabled" not in house.kinds()


# ---------------------------------------------------------------------- surveillance only looks


def test_surveillance_is_in_no_act_but_those_that_are_everybodys_own() -> None:
    signs = {kind.name for kind in KINDS.values() if Role.SURVEILLANCE in kind.by | kind.second | kind.third}
    everybodys = {kind.name for kind in KINDS.values() if kind.by == frozenset(Role)}
    assert signs == everybodys


def test_surveillance_enables_nobody_and_answers_no_alarm() -> None:
    book = Desk()
    book.act("people-begun", CARL, HAL, name="Carl", second_name="Hal")
    book.act("person-proposed", CARL, id="kim", name="Kim", role="supervisor", department="security")
    assert book.refused("person-enabled", FAY, id="kim") is Why.NOT_ALLOWED
    assert book.refused("alarm-acknowledged", FAY, alarm="table-offline", place="PG-01") is Why.NOT_ALLOWED


# ---------------------------------------------------------------------- a stopped book: evidence all the same (D16)


def test_evidence_is_handed_over_while_the_book_is_stopped_and_its_export_is_entered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 2, 4)
    house.hit(1, 2, MATCH)
    house.wiring = replace(house.wiring, ledger_url=str(house.path))

    async def stopped(_book: str, act: Act) -> Acted:
        raise ActRefused(Why.NOT_NOW, "the book is stopped", "call the technician")

    with award_screens(house, tmp_path, "carl") as (carl,):
        csrf = carl.forms(GAME)["slip-printed"][0]["csrf"]
        with monkeypatch.context() as shut:
            shut.setattr(house, "act", stopped)
            form = {"csrf": csrf, "table": "PG-01", "game": "1"}
            answer: Any = carl.client.post("/evidence", data=form, headers=ORIGIN | BROWSER)
        assert (answer.status_code, answer.content[:2]) == (200, b"PK"), answer.text
        kept = Vault(tmp_path / "people.db").first_kept()
        assert kept is not None
        assert (kept.kind, kept.by[0], kept.fields["what"]) == ("exported", "carl", "evidence of table PG-01, game 1")
