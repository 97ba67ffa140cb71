"""People sign in and are kept out, over the real desk, register and vault (WE-02, WE-05, WE-09, R-105)."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from people_house import (
    ANNA,
    BROWSER,
    SECRET,
    PeopleHouse,
    PeopleServed,
    Screen,
    people_app,
    screens,
)

from controller.register import registered
from controller.web.serve import TlsFiles
from controller.wiring import WebPlan

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


# Signing in


def test_a_page_for_people_leads_a_browser_to_the_sign_in_page(screen: Screen) -> None:
    answer = screen.client.get("/people", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?back=/people")


def test_who_signs_in_comes_back_to_the_page_and_is_named_there(screen: Screen) -> None:
    answer = screen.sign_in("anna")
    assert (answer.status_code, answer.headers["location"]) == (303, "/people")
    assert "Anna" in screen.client.get("/people", headers=BROWSER).text


def test_a_session_cookie_is_out_of_reach_of_scripts_and_other_sites(screen: Screen) -> None:
    cookie = screen.sign_in("anna").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_under_tls_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, tls_cert=tmp_path / "c", tls_key=tmp_path / "k"))
    with screens(house, tmp_path, 1) as (screen,):
        screen.origin = {"origin": "https://testserver"}
        cookie = screen.sign_in("anna").headers["set-cookie"]
    assert cookie.startswith("__Host-meterd=")
    assert "Secure" in cookie
    assert "Path=/" in cookie


@pytest.mark.parametrize(("name", "secret"), [("anna", "wrong wrong wrong"), ("nobody", SECRET), ("", "")])
def test_a_wrong_secret_and_an_unknown_name_are_told_the_same(screen: Screen, name: str, secret: str) -> None:
    """WE-09."""
    answer = screen.sign_in(name, secret)
    assert answer.status_code == 403
    assert "name or secret is wrong: type both again" in answer.text


def test_a_disabled_person_cannot_sign_in(house: PeopleHouse, two: list[Screen]) -> None:
    two[0].sign_in("dora")
    two[0].act("person-disabled", "disable-1", {"id": "anna", "reason": "left"})
    assert two[1].sign_in("anna").status_code == 403


def test_a_sign_in_is_in_the_access_log_with_its_peer(house: PeopleHouse, screen: Screen) -> None:
    """R-102."""
    screen.sign_in("anna")
    (act,) = house.done
    assert (act.kind, act.by, act.fields["peer"]) == ("signed-in", ANNA, "127.0.0.1")


def test_wrong_sign_ins_are_kept_at_each_doubling_only(house: PeopleHouse, screen: Screen) -> None:
    """SD-09."""
    for _ in range(6):
        screen.sign_in("anna", "wrong")
        house.later(60)
    assert [act.fields["count"] for act in house.done if act.kind == "sign-in-refused"] == [1, 2, 4]


def test_a_name_that_nobody_has_is_not_kept_for_it_may_be_a_secret(house: PeopleHouse, screen: Screen) -> None:
    """CF-06."""
    screen.sign_in("my-secret-in-the-wrong-field")
    assert "my-secret" not in str(house.done)


def test_guessing_is_slowed_down_and_told_how_long(screen: Screen) -> None:
    """WE-05."""
    answers = [screen.sign_in("anna", "wrong") for _ in range(5)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_a_header_that_the_caller_writes_slows_nobody_else_and_helps_nobody(screen: Screen) -> None:
    """WE-05."""
    answers = [screen.sign_in("anna", "wrong", **{"x-forwarded-for": f"10.0.0.{n}"}).status_code for n in range(8)]
    assert answers[-1] == 429


def test_an_open_session_goes_on_while_others_guess_at_its_name(house: PeopleHouse, two: list[Screen]) -> None:
    """WE-05."""
    two[0].sign_in("anna")
    for _ in range(40):
        two[1].sign_in("anna", "wrong")
    assert two[0].client.get("/people", headers=BROWSER).status_code == 200


def test_signing_in_from_another_sites_page_is_refused(screen: Screen) -> None:
    """WE-02: login CSRF."""
    screen.origin = {"origin": "http://evil.example"}
    assert screen.sign_in("anna").status_code == 403


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_no_other_host(screen: Screen, back: str) -> None:
    form = {"name": "anna", "secret": SECRET, "back": back}
    assert screen.client.post("/sign-in", data=form, headers=screen.origin).headers["location"] == "/"


# How a session ends


def test_a_session_ends_after_idle_minutes(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    house.later(15 * 60 + 1)
    assert screen.client.get("/people").status_code == 401


def test_a_page_that_asks_by_itself_keeps_no_session_awake(house: PeopleHouse, screen: Screen) -> None:
    """A screen that is left alone goes on asking for news: it must end all the same."""
    screen.sign_in("anna")
    statuses = []
    for _ in range(4):
        house.later(5 * 60)
        statuses.append(screen.client.get("/people", headers={"hx-request": "true"}).status_code)
    assert statuses == [200, 200, 200, 401]


def test_what_an_act_came_to_is_told_to_the_person_and_not_to_a_page_that_asks(
    house: PeopleHouse, screen: Screen
) -> None:
    screen.sign_in("anna")
    form = {"csrf": screen.csrf, "act_id": "a" * 32, "back": "/people", "id": "nobody"}
    screen.client.post("/acts/person-enabled", data=form, headers=screen.origin | BROWSER)
    asked = screen.client.get("/people", headers={"hx-request": "true"}).text
    told = screen.client.get("/people", headers=BROWSER).text
    assert ('class="flash' in asked, 'class="flash' in told) == (False, True)


def test_a_page_that_asks_after_the_session_s_end_is_loaded_anew(house: PeopleHouse, screen: Screen) -> None:
    """So that the browser comes to the sign-in page, and back."""
    screen.sign_in("anna")
    house.later(15 * 60 + 1)
    answer = screen.client.get("/people", headers={"hx-request": "true", "accept": "text/html"})
    assert (answer.status_code, answer.headers["hx-refresh"]) == (401, "true")


def test_a_session_in_use_ends_after_its_hours(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    for _ in range(12 * 5):
        house.later(12 * 60)
        assert screen.client.get("/people").status_code == 200
    house.later(2)
    assert screen.client.get("/people").status_code == 401


def test_signing_out_ends_the_session(house: PeopleHouse, screen: Screen) -> None:
    screen.sign_in("anna")
    cookie = screen.client.cookies["meterd"]
    screen.client.post("/sign-out", data={"csrf": screen.csrf}, headers=screen.origin)
    assert screen.client.get("/people", headers={"cookie": f"meterd={cookie}"}).status_code == 401
    assert house.kinds()[-1] == "signed-out"


def test_disabling_somebody_ends_their_session_at_once(two: list[Screen]) -> None:
    two[0].sign_in("dora")
    two[1].sign_in("anna")
    two[0].act("person-disabled", "disable-1", {"id": "anna", "reason": "left"})
    assert two[1].client.get("/people").status_code == 401


def test_a_changed_role_ends_sessions_of_before(house: PeopleHouse, tmp_path: Path) -> None:
    """WE-03."""
    with screens(house, tmp_path, 3) as (dora, carla, anna):
        for screen, name in ((dora, "dora"), (carla, "carla"), (anna, "anna")):
            screen.sign_in(name)
        house.later(5)
        dora.act("person-change-proposed", "change-01", {"id": "anna", "role": "shift-manager",
                                                         "department": "table-games"})
        assert anna.client.get("/people").status_code == 200
        carla.act("person-change-enabled", "change-02", {"id": "anna"})
        assert anna.client.get("/people").status_code == 401


def test_a_session_outlives_a_restart_of_the_daemon(house: PeopleHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, 1) as (before,):
        before.sign_in("anna")
        cookie = before.client.cookies["meterd"]
    with screens(house, tmp_path, 1) as (after,):
        assert after.client.get("/people", headers={"cookie": f"meterd={cookie}"}).status_code == 200


@pytest.mark.parametrize("cookie", ["x", "", "'; DROP TABLE session", "\u00e9".encode().decode("latin-1")])
def test_an_odd_cookie_is_nobody(screen: Screen, cookie: str) -> None:
    assert screen.client.get("/people", headers={"cookie": f"meterd={cookie}".encode("latin-1")}).status_code == 401


# Changes need the session's own token and origin (WE-02)


@pytest.mark.parametrize("origin", [{}, {"origin": "null"}, {"origin": "http://evil.example"},
                                    {"origin": "http://evil.example", "sec-fetch-site": "same-origin"}])
def test_an_act_from_another_origin_is_refused(house: PeopleHouse, screen: Screen, origin: dict[str, str]) -> None:
    screen.sign_in("dora")
    form = {"csrf": screen.csrf, "act_id": "disable-1", "id": "anna", "reason": "left"}
    assert screen.client.post("/acts/person-disabled", data=form, headers=origin).status_code == 403
    assert "person-disabled" not in house.kinds()


@pytest.mark.parametrize("token", ["", "x", "\u00e9"])
def test_an_act_without_the_sessions_token_is_refused(house: PeopleHouse, screen: Screen, token: str) -> None:
    screen.sign_in("dora")
    form = {"csrf": token, "act_id": "disable-1", "id": "anna", "reason": "left"}
    assert screen.client.post("/acts/person-disabled", data=form, headers=screen.origin).status_code == 403
    assert "person-disabled" not in house.kinds()


def test_another_sessions_token_is_not_this_ones(two: list[Screen]) -> None:
    two[0].sign_in("dora")
    two[1].sign_in("boris")
    form = {"csrf": two[1].csrf, "act_id": "disable-1", "id": "anna", "reason": "left"}
    assert two[0].client.post("/acts/person-disabled", data=form, headers=two[0].origin).status_code == 403


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/json", ""])
def test_a_form_of_another_type_is_refused(screen: Screen, kind: str) -> None:
    screen.sign_in("dora")
    sent = screen.client.post("/acts/person-disabled", content=b"{}", headers=screen.origin | {"content-type": kind})
    assert sent.status_code == 415


def test_nothing_is_changed_by_get(screen: Screen) -> None:
    screen.sign_in("dora")
    for path in ("/acts/person-disabled", "/api/v1/acts/person-disabled", "/sign-out", "/tokens"):
        assert screen.client.get(path).status_code == 405


def test_a_body_has_a_bound(screen: Screen) -> None:
    screen.sign_in("dora")
    form = {"csrf": "x" * 70_000}
    assert screen.client.post("/acts/person-disabled", data=form, headers=screen.origin).status_code == 413


def test_a_field_that_stands_twice_is_refused(screen: Screen) -> None:
    screen.sign_in("dora")
    head = screen.origin | {"content-type": "application/x-www-form-urlencoded"}
    assert screen.client.post("/acts/person-disabled", content=b"id=anna&id=dora", headers=head).status_code == 422


# Remote access


def test_from_outside_the_sites_networks_nobody_signs_in(house: PeopleHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, 1, peer="203.0.113.9") as (outside,):
        assert "remote access is off" in outside.sign_in("emil").text


def test_remote_access_is_for_one_named_person_for_one_session_until_its_end(tmp_path: Path) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, remote=True))
    with screens(house, tmp_path, 1) as (boris,):
        boris.sign_in("boris")
        boris.act("remote-opened", "remote-01", {"id": "emil", "minutes": "10", "reason": "a call to the maker"})
    with screens(house, tmp_path, 2, peer="203.0.113.9") as (emil, again):
        assert again.sign_in("dora").status_code == 403
        assert emil.sign_in("emil").status_code == 303
        assert again.sign_in("emil").status_code == 403
        assert emil.client.get("/people").status_code == 200
        house.later(10 * 60 + 1)
        assert emil.client.get("/people").status_code == 401


def test_no_second_person_signs_on_a_remote_screen(tmp_path: Path) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, remote=True))
    with screens(house, tmp_path, 1) as (boris,):
        boris.sign_in("boris")
        boris.act("remote-opened", "remote-01", {"id": "anna", "minutes": "10", "reason": "a question"})
    fields = {"table": "PG-01", "game": "41", "seat": "1", "spot": "progressive", "reason": "x"}
    with screens(house, tmp_path, 1, peer="203.0.113.9") as (anna,):
        anna.sign_in("anna")
        told = anna.act("hit-withdrawn", "withdraw-1", fields, second_name="boris", second_secret=SECRET)
    assert "no other person signs on a remote screen" in told


def test_while_remote_access_is_open_for_nobody_no_secret_is_looked_at(tmp_path: Path) -> None:
    with screens(PeopleHouse(WebPlan("127.0.0.1", 0, remote=True)), tmp_path, 1, peer="203.0.113.9") as (outside,):
        assert "open for nobody" in outside.sign_in("emil", "wrong wrong wrong").text


def test_a_local_sessions_cookie_carried_outside_opens_nothing(house: PeopleHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, 1) as (inside,):
        inside.sign_in("emil")
        cookie = inside.client.cookies["meterd"]
    with screens(house, tmp_path, 1, peer="203.0.113.9") as (outside,):
        assert outside.client.get("/people", headers={"cookie": f"meterd={cookie}"}).status_code == 401


def test_behind_a_listed_proxy_the_true_peer_counts(tmp_path: Path) -> None:
    """WE-05."""
    house = PeopleHouse(WebPlan("127.0.0.1", 0, proxies=("10.9.9.9/32",)))
    with screens(house, tmp_path, 1, peer="10.9.9.9") as (screen,):
        told = screen.sign_in("anna", **{"x-forwarded-for": "127.0.0.1, 203.0.113.9"}).text
    assert "remote access is off" in told


# Text is text, and pages keep the house rules


def test_a_script_in_a_name_is_shown_as_text(house: PeopleHouse, screen: Screen) -> None:
    """WE-01."""
    screen.sign_in("dora")
    screen.act("person-proposed", "hugo-0001", NEW | {"name": "<script>alert(1)</script>"})
    assert "<script>alert" not in screen.client.get("/people", headers=BROWSER).text


@pytest.mark.parametrize("path", ["/sign-in", "/people", "/secret"])
def test_every_page_for_people_says_what_is_not_production(screen: Screen, path: str) -> None:
    screen.sign_in("anna")
    assert '<p class="environment"><strong>TEST' in screen.client.get(path, headers=BROWSER).text


def test_an_application_without_people_says_so(house: PeopleHouse, tmp_path: Path) -> None:
    app = people_app(house, tmp_path)
    app.state.sign_ins = None
    assert TestClient(app).get("/people").status_code == 503


def test_unknown_and_known_names_take_the_same_time(house: PeopleHouse, tmp_path: Path) -> None:
    """WE-09: medians of the check itself differ by less than a third."""
    from statistics import median
    from time import perf_counter

    from controller.vault import Vault, hash_secret

    vault = Vault(tmp_path / "people.db")
    printed = vault.keep_hash("anna", hash_secret(SECRET))
    from controller.vault import verify_secret

    def took(name: str, print_: str) -> float:
        times = []
        for _ in range(9):
            began = perf_counter()
            verify_secret(vault.hash_of(name, print_), "wrong wrong")
            times.append(perf_counter() - began)
        return median(times)

    known, unknown = took("anna", printed), took("nobody", "")
    assert abs(known - unknown) < max(known, unknown) / 3




# A floor that is closed to those who have not signed in


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Screen]:
    with screens(PeopleHouse(WebPlan("127.0.0.1", 0, open_floor_page=False)), tmp_path, 1) as (screen,):
        yield screen


@pytest.mark.parametrize(("path", "status"), [
    ("/", 401), ("/api/v1/meters", 401), ("/api/v1/log", 401), ("/metrics", 401), ("/events/floor", 401),
    ("/api/v1/openapi.json", 401), ("/signed", 401), ("/healthz", 200), ("/readyz", 200), ("/sign/kiosk-1", 200),
    ("/static/house.css", 200), ("/sign-in", 200)])
def test_a_closed_floor_shows_signs_and_health_only(closed: Screen, path: str, status: int) -> None:
    answer = closed.client.get(path)
    assert answer.status_code == status
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_closed_floor_opens_to_who_signs_in(closed: Screen) -> None:
    assert closed.client.get("/", headers=BROWSER).headers["location"] == "/sign-in?back=/"
    closed.sign_in("anna")
    assert closed.client.get("/").status_code == 200


def test_a_closed_floor_gives_its_metrics_to_a_token(closed: Screen) -> None:
    closed.sign_in("dora")
    token = closed.make_token("read")
    closed.client.cookies.clear()
    assert closed.client.get("/metrics", headers={"authorization": f"Bearer {token}"}).status_code == 200


# TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    folder = tmp_path_factory.mktemp("tls")
    files = TlsFiles(folder / "cert.pem", folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files.key, "-out", files.cert],
        check=True, capture_output=True)
    return files


def test_the_pages_speak_tls_themselves_and_set_a_secure_cookie(tls: TlsFiles, tmp_path: Path) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, tls_cert=tls.cert, tls_key=tls.key))
    server = PeopleServed(house, tmp_path, tls)
    try:
        with httpx.Client(verify=ssl.create_default_context(cafile=str(tls.cert)), base_url=server.url) as client:
            form = {"name": "anna", "secret": SECRET, "back": "/people"}
            signed = client.post("/sign-in", data=form, headers={"origin": server.url})
            assert signed.headers["set-cookie"].startswith("__Host-meterd=")
            assert client.get("/people").status_code == 200
            plain = {"origin": server.url.replace("https", "http")}
            assert client.post("/sign-in", data=form, headers=plain).status_code == 403
    finally:
        server.stop()


def test_behind_a_proxy_that_speaks_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, proxies=("127.0.0.1/32",)))
    with screens(house, tmp_path, 1) as (screen,):
        screen.origin = {"origin": "https://testserver"}
        told = screen.sign_in("anna", **{"x-forwarded-for": "10.0.0.5", "x-forwarded-proto": "https"})
    assert told.headers["set-cookie"].startswith("__Host-meterd=")
    assert house.done[0].fields["peer"] == "10.0.0.5"


def test_a_certificate_that_is_not_there_is_named(tls: TlsFiles, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no\.pem"):
        TlsFiles(tmp_path / "no.pem", tls.key).check()


def test_a_key_of_another_certificate_is_refused(tls: TlsFiles, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", other], check=True)
    with pytest.raises(OSError, match="belong together"):
        TlsFiles(tls.cert, other).check()
    tls.check()
