"""The pages, the JSON API and their headers, over a stand-in for the daemon."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from demo_snapshot import NOW, SECOND, busy_snapshot, device, meter_view, quiet_snapshot, wiring
from fastapi.testclient import TestClient
from web_house import House

from controller.plan import Environment
from controller.snapshot import LineState, Note, Snapshot
from controller.web import models
from controller.web.app import create_app
from controller.web.floor_page import FloorPage
from controller.web.problems import Problem, Weight, problems
from controller.web.templates import make_templates

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
ROOT = Path(__file__).parent.parent
WEB = ROOT / "controller" / "web"
BROWSER = {"accept": "text/html"}
PAGES = ("/", "/sign/kiosk-1", "/paytables", "/paytables/progressive-4", "/no-such-page")


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
def client(house: House) -> Iterator[TestClient]:
    with TestClient(create_app(house)) as opened:
        yield opened


def client_of(snapshot: Snapshot) -> TestClient:
    return TestClient(create_app(House(snapshot)))


def found(snapshot: Snapshot) -> tuple[Problem, ...]:
    return problems(snapshot, lambda at: f"at {at}")


# The floor page


def test_the_floor_page_shows_every_meter_with_cents_and_thousands(client: TestClient) -> None:
    page = client.get("/").text
    assert "$9,604.70" in page
    assert "$86,409.13" in page


def test_the_floor_page_shows_staff_the_reserve_the_overflow_and_what_is_pending(house: House) -> None:
    house.tell(house.meter("pg-link", overflow_microcents=12_345 * 1_000_000))
    page = TestClient(create_app(house)).get("/").text
    for amount in ("$1,832.15", "$123.45", "$2,401.18"):
        assert amount in page


def test_a_line_state_stands_in_words_beside_its_shape(client: TestClient) -> None:
    page = client.get("/").text
    for state, shape in (("live", "icon-good"), ("stale", "icon-warn"), ("offline", "icon-stop")):
        assert re.search(rf'{shape}"[^>]*>.*?</svg>\s*{state}', page, re.S)


def test_a_table_that_is_not_playable_says_why(client: TestClient) -> None:
    assert "PROGRESSIVE OFF: the table unit is not heard" in client.get("/").text


def test_the_seats_with_an_accepted_wager_are_lit(client: TestClient) -> None:
    card = client.get("/").text.split('id="part-table-PG-01"')[1].split("</article>")[0]
    assert re.findall(r'seat-lit"><span>(\d)', card) == ["1", "3", "4", "6"]


def test_a_note_stands_with_its_cause_and_what_to_do(client: TestClient) -> None:
    page = client.get("/").text
    assert "wrong-wager" in page
    assert "check the chips on the sensors and lock again" in page


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("environment", [Environment.TEST, Environment.TRAINING])
def test_every_page_says_what_is_not_production(environment: Environment, path: str) -> None:
    """D8: nobody takes a test floor for the real one."""
    assert environment.value.upper() in client_of(busy_snapshot(environment)).get(path, headers=BROWSER).text


@pytest.mark.parametrize("path", PAGES)
def test_a_production_page_has_no_environment_banner(path: str) -> None:
    page = client_of(busy_snapshot(Environment.PRODUCTION)).get(path, headers=BROWSER).text
    assert "not in production" not in page


def test_a_part_is_not_rendered_again_while_it_shows_the_same() -> None:
    floor, snapshot = FloorPage(make_templates()), busy_snapshot()
    first = floor.parts(snapshot)
    heard = {name: replace(hub, heard_at=hub.heard_at + SECOND) for name, hub in snapshot.devices.items()}
    again = floor.parts(replace(snapshot, at=snapshot.at + SECOND, devices=heard))
    assert again["table-PG-01"] is first["table-PG-01"]


def test_times_stand_in_the_floors_own_time_of_day(client: TestClient) -> None:
    """The last word of hub-03, 47 s before 15:32:11 in New York."""
    assert "15:31:24" in client.get("/").text


# What is wrong


def test_a_quiet_floor_is_all_in_order() -> None:
    assert "All in order" in client_of(quiet_snapshot()).get("/").text


def test_a_stopped_book_is_the_first_problem() -> None:
    first = found(replace(busy_snapshot(), stopped="the disk is full"))[0]
    assert first.weight is Weight.STOP
    assert "the disk is full" in first.what


def test_what_stops_wagers_stands_before_what_can_wait() -> None:
    assert [problem.weight for problem in found(busy_snapshot())] == [Weight.STOP, Weight.WARN, Weight.WARN]


def test_a_loss_is_told_before_the_state_of_the_line() -> None:
    quiet = quiet_snapshot()
    lost = replace(quiet.tables["PG-01"], loss="3 messages are missing")
    (problem,) = found(replace(quiet, tables={**quiet.tables, "PG-01": lost}))
    assert problem.what == "PG-01: 3 messages are missing"


def test_a_table_that_was_never_heard_is_offline() -> None:
    quiet = quiet_snapshot()
    (problem,) = found(replace(quiet, devices={k: v for k, v in quiet.devices.items() if k != "hub-02"}))
    assert problem.what == "PG-02 is offline"


def test_a_live_line_with_a_table_out_of_play_is_a_problem() -> None:
    quiet = quiet_snapshot()
    off = device(quiet.plan, "PG-01", playable=False, reason="totals differ")
    (problem,) = found(replace(quiet, devices={**quiet.devices, "hub-01": off}))
    assert (problem.weight, problem.what) == (Weight.STOP, "PG-01: PROGRESSIVE OFF, totals differ")


def test_an_alarm_stands_on_top_for_a_quarter_of_an_hour() -> None:
    quiet = quiet_snapshot()
    alarm = Note(NOW - 14 * 60 * SECOND, "alarm", "count-differs", "PG-02", "3 chips", "compare", 7)
    old = replace(alarm, at=NOW - 16 * 60 * SECOND)
    assert [len(found(replace(quiet, notes=(note,)))) for note in (alarm, old)] == [1, 0]


# Text is text, and nothing comes from elsewhere


def hostile() -> Snapshot:
    busy = busy_snapshot(name=SCRIPT)
    hub = device(busy.plan, "PG-01", playable=False, reason=SCRIPT, firmware=SCRIPT, state=LineState.LIVE)
    note = Note(NOW, "fault", SCRIPT, SCRIPT, SCRIPT, SCRIPT, None)
    awards = tuple(replace(award, label=SCRIPT) for award in busy.awards)
    return replace(busy, devices={"hub-01": hub}, notes=(note,), awards=awards, stopped=SCRIPT)


@pytest.mark.parametrize("path", ["/", "/sign/kiosk-1", f"/{SCRIPT}"])
def test_a_script_in_a_name_or_reason_is_shown_as_text(path: str) -> None:
    """WE-01."""
    page = client_of(hostile()).get(path, headers=BROWSER).text
    assert "<script>alert" not in page
    assert "<img" not in page


@pytest.mark.parametrize("path", ["/", "/sign/kiosk-1", "/api/v1/meters", "/static/live.js", "/nowhere", "/metrics"])
def test_every_answer_forbids_inline_script_framing_and_guessing(client: TestClient, path: str) -> None:
    """WE-01, WE-02."""
    headers = client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_no_page_asks_another_host_for_anything() -> None:
    for path in sorted([*WEB.glob("templates/*"), *WEB.glob("static/*.*")]):
        links = re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"']*", path.read_text())
        assert [link for link in links if link != "http://www.w3.org/2000/svg"] == [], path.name


def test_the_scripts_of_others_are_as_they_were_published() -> None:
    """Each with its licence; docs/PAGES.md names the version, the package and this sum of every file."""
    vendor = sorted((WEB / "static/vendor").iterdir())
    told = (ROOT / "docs/PAGES.md").read_text()
    named = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in vendor if path.suffix != ".LICENSE"}
    assert [name for name, digest in named.items() if f"| `{name}` |" not in told or digest not in told] == []
    assert {path.stem for path in vendor if path.suffix == ".LICENSE"} == {name.partition(".")[0] for name in named}


def test_no_template_has_inline_style_or_script() -> None:
    for path in sorted(WEB.glob("templates/*")):
        text = path.read_text()
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|<script(?! src=)", text), path.name


def test_no_template_switches_escaping_off() -> None:
    """Only the finished parts, rendered by the same escaping templates, go in as they are."""
    for path in sorted(WEB.glob("templates/*")):
        safe = re.findall(r"\{\{[^}]*\|\s*safe[^}]*\}\}|autoescape", path.read_text())
        assert [each for each in safe if not each.startswith("{{ parts[")] == [], path.name


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "nothing.css", "/etc/passwd"])
def test_only_the_named_static_files_are_given(client: TestClient, name: str) -> None:
    """WE-07."""
    assert client.get(f"/static/{name}").status_code == 404


# The API


def test_money_in_the_api_is_a_decimal_string_with_two_places(client: TestClient) -> None:
    """MO-09."""
    meter = client.get("/api/v1/meters/pg-link").json()
    assert (meter["display"], meter["reserve"], meter["limit"]) == ("9604.70", "1832.15", None)


def test_microcents_are_strings_that_keep_every_digit(house: House) -> None:
    """MO-09: above 2^53 a JSON reader would lose some."""
    house.tell(house.meter("pg-link", display_microcents=900_000_000_000_000_001))
    body = TestClient(create_app(house)).get("/api/v1/meters/pg-link").json()
    assert body["display_microcents"] == "900000000000000001"


@pytest.mark.parametrize(("cents", "text"), [(29, "0.29"), (115, "1.15"), (-995, "-9.95"), (2**32, "42949672.96")])
def test_dollars_are_written_without_loss(cents: int, text: str) -> None:
    """MO-03, MO-09."""
    assert models.dollars(cents) == text


def test_a_table_tells_its_line_its_games_and_why_it_is_not_playable(client: TestClient) -> None:
    table = client.get("/api/v1/tables/PG-03").json()
    assert (table["playable"], table["reason"]) == (False, "the table unit is not heard")
    assert table["line"]["state"] == "offline"
    assert table["games"][0]["wagers"][0] == {"seat": 2, "spot": "progressive", "amount": "1.00"}


def test_pending_awards_name_their_parts_and_add_up(client: TestClient) -> None:
    award = client.get("/api/v1/awards").json()["awards"][0]
    assert (award["meters"], award["fixed"], award["returned"]) == ({"pg-link": "2401.18"}, "5000.00", "5.00")
    assert award["total"] == "7406.18"


def test_a_sign_gives_what_it_shows(client: TestClient) -> None:
    sign = client.get("/api/v1/signs/solo").json()
    assert sign["meters"][0]["amount"] == "$86,409.13"
    assert sign["table"]["state"] == "PROGRESSIVE OFF"


def test_the_status_tells_the_environment_and_the_notes(client: TestClient) -> None:
    status = client.get("/api/v1/status").json()
    assert (status["environment"], status["tables"], status["playable"]) == ("test", 3, 2)
    assert status["notes"][0]["cause"] == "wrong-wager"


def test_the_log_is_read_page_by_page_to_its_first_entry(house: House, client: TestClient) -> None:
    house.entries = [{"number": n, "kind": "lock", "at": NOW} for n in range(5, 0, -1)]
    first = client.get("/api/v1/log?count=3").json()
    rest = client.get(f"/api/v1/log?count=3&before={first['next_before']}").json()
    assert [entry["number"] for entry in first["entries"] + rest["entries"]] == [5, 4, 3, 2, 1]
    assert rest["next_before"] is None


def test_a_posting_in_the_log_keeps_every_digit(house: House, client: TestClient) -> None:
    """MO-09."""
    posting = {"meter": "pg-link", "account": "display", "microcents": 2**53 + 1, "balance": 2**53 + 1}
    house.entries = [{"number": 1, "kind": "lock", "at": NOW, "postings": [posting]}]
    (entry,) = client.get("/api/v1/log").json()["entries"]
    assert entry["postings"][0]["microcents"] == "9007199254740993"


def test_wins_are_bounded_by_the_count_asked_for(client: TestClient) -> None:
    assert len(client.get("/api/v1/wins?count=1").json()) == 1


@pytest.mark.parametrize("query", ["/log?count=501", "/log?count=0", "/log?before=x", "/wins?count=501"])
def test_a_wrong_query_is_answered_with_what_is_wrong(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/v1{query}")
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "remedy"}


@pytest.mark.parametrize(
    "path",
    ["/api/v1/meters/x", "/api/v1/tables/x", "/api/v1/signs/x", "/api/v1/log?book=x", "/api/v1/x", "/x", "/sign/x",
     "/events/sign/x", "/docs", "/redoc", "/api/v1/docs"],
)  # fmt: skip
def test_an_unknown_address_is_404_with_what_to_do(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["remedy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_changed_through_any_address(client: TestClient, method: str) -> None:
    """WE-02: every address is read-only."""
    api = client.get("/api/v1/openapi.json").json()["paths"]
    paths = [*api, "/", "/sign/kiosk-1", "/metrics", "/events/floor"]
    answers = {path: client.request(method, path.replace("{", "").replace("}", "")).status_code for path in paths}
    assert set(answers.values()) == {405}


def test_the_openapi_document_lists_every_address_of_the_api(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    one = {"alarms", "meters", "meters/{meter}", "tables", "tables/{table}", "awards", "wins", "log", "signs",
           "signs/{sign}", "status", "classify"}
    assert set(paths) == {f"/api/v1/{path}" for path in one} | {"/healthz", "/readyz"}


# Health


def test_a_running_process_is_healthy_whatever_the_book_says() -> None:
    assert client_of(replace(busy_snapshot(), stopped="broken")).get("/healthz").json()["status"] == "alive"


def test_an_open_book_that_takes_wagers_is_ready(client: TestClient) -> None:
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("changes", [{"stopped": "the disk is full"}, {"ready": False}])
def test_a_stopped_or_starting_book_is_not_ready_and_says_what_to_do(changes: dict[str, object]) -> None:
    answer = client_of(replace(busy_snapshot(), **changes)).get("/readyz")  # type: ignore[arg-type]
    assert answer.status_code == 503
    assert answer.json()["remedy"]


# The sign page


def test_a_sign_page_shows_the_amount_the_rows_and_the_wager() -> None:
    page = client_of(quiet_snapshot()).get("/sign/kiosk-1").text
    for text in ("$12,005.88", "$17,005.88", "$5.00", "Linked tables PG-01, PG-02", "funds the next jackpot"):
        assert text in page


def test_a_win_on_a_sign_is_pending_with_table_award_and_new_value() -> None:
    """R-27, D10."""
    house = House(replace(busy_snapshot(), at=NOW - 30 * SECOND))
    page = TestClient(create_app(house)).get("/sign/kiosk-1").text
    for text in ("PENDING", "Table A-1002", "$7,401.18", "$9,604.70"):
        assert text in page


@pytest.mark.parametrize("later_s", [4, 600])
def test_a_sign_whose_amounts_are_old_shows_none(later_s: int) -> None:
    """DI-01."""
    house = House(quiet_snapshot())
    house.sign_later_us = later_s * SECOND
    page = TestClient(create_app(house)).get("/sign/kiosk-1").text
    assert "NOT LIVE" in page.split('id="part-sign"')[1].split("</div>")[0]
    assert "$12,005.88" not in page


def test_a_sign_of_two_meters_shows_both() -> None:
    quiet = quiet_snapshot()
    meters = {**quiet.meters, "pg-link": meter_view(quiet.plan, "pg-link", 2**32)}
    page = TestClient(create_app(House(replace(quiet, meters=meters), wiring()))).get("/sign/both").text
    assert "$42,949,672.96" in page
    assert "$86,409.13" in page
