"""The page of alarms and the banner: who sees which form, and what a form does, through the real desk."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from demo_snapshot import quiet_snapshot
from fastapi.testclient import TestClient
from people_house import ANNA, BROWSER, EMIL, GUNTHER, PeopleHouse, Screen, people_app

from controller.alarm_kinds import ALARMS, FLOOR
from controller.alarms import Alarm, State, alarms_of, clear_alarm, raise_alarm
from controller.people import Person
from controller.web.alarm_banner import BANNER_MAX, make_banner
from controller.web.alarm_page import alarm_routes
from controller.web.floor_page import clock_of
from controller.web.sessions import Signed, fresh_act_id
from controller.web.templates import make_templates

SCRIPT = '<script>document.title="x"</script>'


class AlarmHouse(PeopleHouse):
    """A floor with people and alarms."""

    def alarms(self) -> list[Alarm]:
        return list(alarms_of(self.first).values())

    def ring(self, kind: str = "table-offline", place: str = "PG-01", what: str = "It is not heard") -> None:
        raise_alarm(self.first, kind, place, what, self.snapshot().at)


@pytest.fixture
def house() -> AlarmHouse:
    return AlarmHouse()


@pytest.fixture
def client(house: AlarmHouse, tmp_path: Path) -> Iterator[TestClient]:
    app = people_app(house, tmp_path)
    if not any(getattr(route, "path", "") == "/alarms" for route in app.routes):
        app.include_router(alarm_routes(house, make_templates()))
    with TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000)) as made:
        yield made


def page(client: TestClient, person: Person = ANNA) -> str:
    """The page as somebody sees it."""
    Screen(client).sign_in(person.id)
    return str(client.get("/alarms", headers=BROWSER).text)


def sent(client: TestClient, shown: str, act: str) -> int:
    """Send the first form of an act exactly as the page has it."""
    form = re.search(rf'<form class="act" method="post" action="/acts/{act}".*?</form>', shown, re.S)
    assert form is not None
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0]))
    fields = {name: html.unescape(value) for name, value in fields.items()}
    return int(client.post(f"/acts/{act}", data=fields, headers={"origin": "http://testserver", **BROWSER}).status_code)


def banner(house: AlarmHouse, person: Person | None = None) -> str:
    signed = Signed(person, person.id, "c" * 24, "s") if person is not None else None
    shown = make_banner(house.alarms(), person.role if person else None, fresh_act_id)
    template = make_templates().get_template("part_alarms.html")
    return template.render(banner=shown, clock=clock_of(house.snapshot()), csrf="c" * 24 if signed else "", back="/")


# ---------------------------------------------------------------------- the page


def test_nobody_sees_the_page_without_signing_in(client: TestClient) -> None:
    answer = client.get("/alarms", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?back=/alarms")


def test_no_program_reads_alarms_without_a_session_or_token(client: TestClient) -> None:
    assert client.get("/api/v1/alarms").status_code == 401


def test_a_quiet_floor_says_so(client: TestClient) -> None:
    assert "No alarm waits for anybody" in page(client)


def test_an_alarm_stands_there_with_what_where_when_and_what_to_do(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    shown = page(client)
    said = ("Table unit not heard", "table PG-01", "15:32:11", "It is not heard", "check the unit", "1 alarm waits")
    assert [part for part in said if part not in shown] == []


def test_a_name_that_somebody_typed_is_words(client: TestClient, house: AlarmHouse) -> None:
    """WE-01."""
    house.ring(what=SCRIPT)
    assert SCRIPT not in page(client)


def test_a_supervisor_acknowledges_an_alarm_on_the_page(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    assert sent(client, page(client), "alarm-acknowledged") == 303
    (alarm,) = house.alarms()
    assert (alarm.state, alarm.acknowledged_by) == (State.ACKNOWLEDGED, ANNA)


def test_who_acknowledged_it_and_when_stands_there(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    sent(client, page(client), "alarm-acknowledged")
    assert "Acknowledged by anna (supervisor, table-games) at 15:32:11" in client.get("/alarms", headers=BROWSER).text


def test_the_next_page_says_what_was_done(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    sent(client, page(client), "alarm-acknowledged")
    assert "Done: alarm acknowledged: Table unit not heard, table PG-01." in client.get("/alarms", headers=BROWSER).text


def test_a_misdeal_is_cleared_on_the_page_after_somebody_acknowledged_it(client: TestClient, house: AlarmHouse) -> None:
    house.ring("misdeal")
    sent(client, page(client), "alarm-acknowledged")
    sent(client, client.get("/alarms", headers=BROWSER).text, "alarm-cleared")
    (alarm,) = house.alarms()
    assert (alarm.state, alarm.cleared_by) == (State.CLEARED, ANNA)


def test_what_is_over_stands_there_with_who_and_when(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    clear_alarm(house.first, "table-offline", "PG-01", house.snapshot().at)
    sent(client, page(client), "alarm-acknowledged")
    shown = client.get("/alarms", headers=BROWSER).text
    assert [part for part in ("anna, 15:32:11", "by itself, 15:32:11") if part not in shown] == []


def test_an_auditor_sees_alarms_and_no_form(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    shown = page(client, GUNTHER)
    assert "Table unit not heard" in shown
    assert "/acts/alarm" not in shown


def test_who_is_not_named_by_the_ladder_is_told_whom_it_is_for(client: TestClient, house: AlarmHouse) -> None:
    house.ring("certificate-ending", FLOOR)
    shown = page(client, ANNA)
    assert "For administrator, technician" in shown
    assert "/acts/alarm" not in shown


def test_whom_the_ladder_names_gets_the_form(client: TestClient, house: AlarmHouse) -> None:
    house.ring("certificate-ending", FLOOR)
    assert "/acts/alarm-acknowledged" in page(client, EMIL)


def test_the_same_form_sent_twice_is_done_once(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    shown = page(client)
    sent(client, shown, "alarm-acknowledged")
    sent(client, shown, "alarm-acknowledged")
    assert house.kinds().count("alarm-acknowledged") == 2
    assert [entry.kind for entry in house.first.entries].count("alarm-acknowledged") == 1


def test_programs_read_what_stands(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    Screen(client).sign_in("anna")
    (made,) = client.get("/api/v1/alarms").json()["alarms"]
    assert (made["alarm"], made["place"], made["state"]) == ("table-offline", "PG-01", "raised")


@pytest.mark.parametrize("kind", list(ALARMS))
def test_every_kind_can_be_shown(client: TestClient, house: AlarmHouse, kind: str) -> None:
    house.ring(kind)
    assert html.escape(ALARMS[kind].title, quote=False) in html.unescape(page(client))


# ---------------------------------------------------------------------- the banner


def test_no_alarm_makes_no_banner(house: AlarmHouse) -> None:
    assert banner(house).strip() == ""


def test_the_banner_has_a_button_for_those_who_may(house: AlarmHouse) -> None:
    house.ring()
    assert "/acts/alarm-acknowledged" in banner(house, ANNA)


def test_the_live_pages_banner_has_a_link_and_no_form(house: AlarmHouse) -> None:
    """One live page is made for all its readers: nobody's token may be in it."""
    house.ring()
    shown = banner(house)
    assert 'href="/alarms#alarm-table-offline-PG-01"' in shown
    assert "<form" not in shown


def test_what_somebody_acknowledged_is_on_no_banner(client: TestClient, house: AlarmHouse) -> None:
    house.ring()
    sent(client, page(client), "alarm-acknowledged")
    assert banner(house).strip() == ""


def test_what_is_over_stays_on_the_banner_until_somebody_has_seen_it(house: AlarmHouse) -> None:
    house.ring()
    clear_alarm(house.first, "table-offline", "PG-01", house.snapshot().at)
    assert "It is over since 15:32:11" in banner(house)


def test_the_worst_stand_first_and_the_rest_is_counted(house: AlarmHouse) -> None:
    for kind in reversed(ALARMS):
        house.ring(kind)
    shown = make_banner(house.alarms(), None, str)
    assert [line.alarm.kind for line in shown.lines] == ["books-stopped", "ledger-failing", "table-offline"]
    assert shown.more == len(ALARMS) - BANNER_MAX


# ---------------------------------------------------------------------- every other page


def quiet(house: AlarmHouse) -> None:
    """Nothing is wrong on the floor itself."""
    house.tell(quiet_snapshot())


def test_a_quiet_floor_with_an_alarm_is_not_all_in_order(house: AlarmHouse, client: TestClient) -> None:
    quiet(house)
    before = client.get("/", headers=BROWSER).text
    house.ring("limit-reached", "pg-solo", "It stands at its limit")
    after = client.get("/", headers=BROWSER).text
    assert ("All in order" in before, "All in order" in after) == (True, False)
    assert "1 alarm waits for somebody" in after


def test_the_awards_that_wait_longest_stand_at_the_top_of_the_floor_page(client: TestClient) -> None:
    top = client.get("/", headers=BROWSER).text.split('id="meters"')[0]
    assert re.search(r"<strong>\$7,406\.18</strong> waits at PG-02, game 229, seat 2", top)


@pytest.mark.parametrize("path", ["/paytables", "/paytables/progressive-4", "/people", "/secret"])
def test_every_page_of_a_signed_in_person_tells_the_alarms(house: AlarmHouse, client: TestClient, path: str) -> None:
    """R-89."""
    house.ring()
    Screen(client).sign_in("anna")
    shown = client.get(path, headers=BROWSER).text
    assert ('class="alarm-banner"' in shown, 'class="desk"' in shown) == (True, True)


def test_a_paytable_tells_visitors_no_alarm(house: AlarmHouse, client: TestClient) -> None:
    house.ring()
    assert "alarm-banner" not in client.get("/paytables/progressive-4", headers=BROWSER).text


def test_while_the_book_is_stopped_no_banner_offers_what_would_be_refused(
    house: AlarmHouse, client: TestClient
) -> None:
    house.ring()
    Screen(client).sign_in("anna")
    offered = 'action="/acts/alarm-acknowledged"'
    before = client.get("/people", headers=BROWSER).text
    house.tell(replace(house.snapshot(), stopped="the disk is full"))
    after = client.get("/people", headers=BROWSER).text
    assert (offered in before, offered in after) == (True, False)
    assert "Look at the alarms" in after


# ---------------------------------------------------------------------- news of them


def news(client: TestClient, shown: str) -> str:
    """What a page that was loaded earlier is told now."""
    asked = re.search(r'id="news"[^>]* hx-get="([^"]+)"', shown)
    assert asked is not None
    return client.get(html.unescape(asked[1]), headers={"hx-request": "true"}).text.strip()


def test_a_page_is_told_of_an_alarm_that_came_after_it(house: AlarmHouse, client: TestClient) -> None:
    """R-31, R-89: shown on every page until it is acknowledged."""
    Screen(client).sign_in("anna")
    shown = client.get("/people", headers=BROWSER).text
    assert news(client, shown) == ""
    house.ring()
    assert "1 alarm waits" in news(client, shown)


def test_a_page_is_not_told_again_of_what_it_shows(house: AlarmHouse, client: TestClient) -> None:
    house.ring()
    Screen(client).sign_in("anna")
    shown = client.get("/people", headers=BROWSER).text
    house.ring()
    assert news(client, shown) == ""


def test_the_page_of_alarms_is_told_only_of_what_it_does_not_show(house: AlarmHouse, client: TestClient) -> None:
    house.ring()
    shown = page(client)
    assert news(client, shown) == ""
    house.ring("limit-reached", "pg-solo", "It stands at its limit")
    assert "2 alarms wait" in news(client, shown)


def test_news_lead_to_no_other_host(house: AlarmHouse, client: TestClient) -> None:
    house.ring()
    Screen(client).sign_in("anna")
    told = client.get("/news?known=x&back=//evil.example", headers={"hx-request": "true"}).text
    assert 'href="/"' in told
