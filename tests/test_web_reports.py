"""The pages of reports: for signed-in people, made aside, by names of the catalogue only (WE-01, WE-07, SD-02)."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from ledger_house import applied, contract_plan, every_kind, lock, rows
from people_house import BROWSER, PeopleHouse, Screen, people_app

from controller.reports.catalogue import REPORTS, Named
from controller.reports.reading import AskedFor
from controller.web import report_pages, report_runs
from controller.web.report_pages import report_routes
from controller.web.report_runs import OPEN_MAX, ReportRuns, Run, TooManyReports
from controller.web.templates import make_templates

DAY = "?day=2026-12-01"


@contextmanager
def screen_on(ledger: Path, folder: Path, signed: bool = True) -> Iterator[Screen]:
    """A browser at the pages over a ledger; anna is signed in."""
    house = PeopleHouse()
    house.wiring = replace(house.wiring, ledger_url=f"sqlite:///{ledger}")
    app = people_app(house, folder)
    if not any(getattr(route, "path", "") == "/reports" for route in app.routes):
        app.include_router(report_routes(house, make_templates()))
    with TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        screen = Screen(client)
        if signed:
            assert screen.sign_in("anna").status_code == 303
        yield screen


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry."""
    return every_kind(tmp_path_factory.mktemp("ledger") / "ledger.db")


@pytest.fixture
def screen(ledger: Path, tmp_path: Path) -> Iterator[Screen]:
    """Anna's browser."""
    with screen_on(ledger, tmp_path) as screen:
        yield screen


def get(screen: Screen, path: str) -> Any:
    """A page as a browser asks for it."""
    return screen.client.get(path, headers=BROWSER)


def test_the_list_names_every_report(screen: Screen) -> None:
    page = get(screen, "/reports").text
    assert [name for name in REPORTS if f"/reports/{name}?day=" not in page] == []


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_has_a_page_of_a_day(screen: Screen, name: str) -> None:
    answer = get(screen, f"/reports/{name}{DAY}")
    assert (answer.status_code, "gaming day 2026-12-01" in answer.text) == (200, True)


@pytest.mark.parametrize(("form", "kind", "begins"), [
    ("csv", "text/csv", b"Report,"), ("pdf", "application/pdf", b"%PDF-"), ("json", "application/json", b"{")])
def test_a_report_is_taken_as_a_file(screen: Screen, form: str, kind: str, begins: bytes) -> None:
    answer = get(screen, f"/reports/wins.{form}{DAY}")
    told = answer.headers
    assert (answer.status_code, told["content-type"].split(";")[0], told["content-disposition"],
            answer.content.startswith(begins)) == (200, kind, f'attachment; filename="wins-2026-12-01.{form}"', True)


def test_the_file_has_the_figures_of_the_page(screen: Screen) -> None:
    page, file = get(screen, f"/reports/wins{DAY}").text, get(screen, f"/reports/wins.json{DAY}").json()
    due = file["tables"][0]["totals"][7]
    assert f"${due // 100:,}.{due % 100:02d}" in page


def test_a_range_and_a_meter_are_chosen_by_a_form(screen: Screen) -> None:
    asked = "since=2026-11-30&until=2026-12-02&meter=pg-link"
    chosen = get(screen, f"/reports/choose?report=reserve&day=2026-12-01&{asked}")
    assert (chosen.status_code, chosen.headers["location"]) == (303, f"/reports/reserve?{asked}")


@pytest.mark.parametrize(
    "path", ["/reports", f"/reports/wins{DAY}", f"/reports/wins.csv{DAY}", "/reports/choose?report=wins"])
def test_nobody_sees_a_report_without_signing_in(ledger: Path, tmp_path: Path, path: str) -> None:
    with screen_on(ledger, tmp_path, signed=False) as screen:
        answers = [screen.client.get(path, headers=headers).status_code for headers in (BROWSER, {})]
    assert answers == [303, 401]


@pytest.mark.parametrize("name", [
    "..%2f..%2fetc%2fpasswd", "..%252fetc%252fpasswd", "%2fetc%2fpasswd", "..\\ledger.db", "ledger.db", "ledger.db-wal",
    "wins%00.csv", "wins.csv.csv", "wins.exe", "wins.", ".csv", "reconciliation2", "Wins", "wins%0a"])
def test_a_name_that_is_no_report_is_not_found(screen: Screen, name: str) -> None:
    """WE-07: and nothing is told of what else there is."""
    answer = get(screen, f"/reports/{name}{DAY}")
    assert (answer.status_code, "No such file" in answer.text, "PRAGMA" in answer.text) == (404, False, False)


@pytest.mark.parametrize("query", [
    "?day=yesterday", "?since=2026-12-01", "?since=2026-12-02&until=2026-12-01", "?day=2026-12-01&meter=..%2fx",
    "?day=9999-12-31", "?day=2026-12-01&table=%3Cscript%3E"])
def test_what_cannot_be_asked_is_answered_with_a_remedy(screen: Screen, query: str) -> None:
    answer = get(screen, f"/reports/wins{query}")
    assert (answer.status_code, "<script>" in answer.text) == (422, False)


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_report_without_a_day_is_its_form(screen: Screen, name: str) -> None:
    answer = get(screen, f"/reports/{name}")
    offered = f'<option value="{name}" selected>' in answer.text and f"/reports/{name}?day=" in answer.text
    assert (answer.status_code, offered, "Name one gaming day" in answer.text) == (200, True, False)


def test_the_form_of_a_report_keeps_the_meter_that_was_named(screen: Screen) -> None:
    page = get(screen, "/reports/reserve?meter=pg-link").text
    assert ("&amp;meter=pg-link" in page, "<option selected>pg-link" in page) == (True, True)


def test_a_day_that_is_none_is_asked_again_with_what_is_wrong_and_what_to_write(screen: Screen) -> None:
    answer = get(screen, "/reports/wins?day=yesterday")
    assert (answer.status_code, "is no day" in answer.text, "Write it like 2026-11-01" in answer.text,
            'name="report"' in answer.text) == (422, True, True, True)


@pytest.mark.parametrize("form", ["csv", "pdf", "json"])
def test_a_file_without_a_day_is_refused_with_a_remedy(screen: Screen, form: str) -> None:
    answer = screen.client.get(f"/reports/wins.{form}")
    assert (answer.status_code, "gaming day" in answer.text) == (422, True)


def test_the_due_list_has_the_form_by_which_a_check_is_entered(screen: Screen) -> None:
    """A supervisor may enter the test of a table's line, and nothing of accounting's."""
    page = get(screen, f"/reports/due{DAY}").text
    assert ('action="/acts/check-done"' in page, "<option>line-test" in page, "<option>day-one" in page) == (
        True, True, False)


def test_a_check_that_a_supervisor_enters_is_done_by_the_desk(ledger: Path, tmp_path: Path) -> None:
    house = PeopleHouse()
    house.wiring = replace(house.wiring, ledger_url=f"sqlite:///{ledger}")
    table = next(iter(house.snapshot().plan.tables))
    with TestClient(people_app(house, tmp_path), follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        screen = Screen(client)
        screen.sign_in("anna")
        told = screen.act("check-done", "check-000001", {"check": "line-test", "table": table, "finding": "lit"})
    assert (house.kinds()[-1], "line-test is entered as done" in told) == ("check-done", True)


def test_a_name_with_script_in_it_is_text_on_the_page_and_no_formula_in_the_file(tmp_path: Path) -> None:
    """WE-01: names come from the configuration, and from there into the ledger."""
    def rename(floor: Any) -> None:
        floor["meter"][0]["name"] = "=HYPERLINK(1)<script>alert(1)</script>"

    path = tmp_path / "ledger.db"
    applied(path, [lock(1, 1)], contract_plan(rename))
    with screen_on(path, tmp_path) as screen:
        page = get(screen, f"/reports/meter-sheet{DAY}").text
        file = get(screen, f"/reports/meter-sheet.csv{DAY}").text
    assert ("<script>alert" in page, "'=HYPERLINK" in file) == (False, True)


def test_a_ledger_that_cannot_be_read_is_said_to_people(tmp_path: Path) -> None:
    with screen_on(tmp_path / "none.db", tmp_path) as screen:
        answer = get(screen, f"/reports/wins{DAY}")
    assert (answer.status_code, "no ledger there" in answer.text) == (503, True)


def test_a_long_report_shows_how_far_it_is_and_then_itself(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_pages, "PATIENCE_S", 0.0)
    waits = get(screen, f"/reports/faults{DAY}")
    monkeypatch.setattr(report_pages, "PATIENCE_S", 10.0)
    done = get(screen, f"/reports/faults{DAY}")
    assert ("entries read so far" in waits.text, 'http-equiv="refresh"' in waits.text, "By cause" in done.text) == (
        True, True, True)


def test_the_page_that_waits_asks_for_its_bar_and_then_for_the_report(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a full load each time; what it asks itself keeps no session awake (``asks_itself``)."""
    gate = threading.Event()

    def held(reading: Any, scope: Any) -> Any:
        gate.wait(20)
        return REPORTS["reserve"].make(reading, scope)

    monkeypatch.setitem(report_pages.REPORTS, "faults", Named("faults", "Faults", "", held))
    monkeypatch.setattr(report_pages, "PATIENCE_S", 0.0)
    page, asks = f"/reports/faults{DAY}", {**BROWSER, "hx-request": "true"}
    waits = [get(screen, page).text, screen.client.get(page, headers=asks).text]
    gate.set()
    monkeypatch.setattr(report_pages, "PATIENCE_S", 20.0)
    done = get(screen, page).status_code
    answer = screen.client.get(page, headers=asks)
    assert [("<progress" in text, f'hx-get="{page}"' in text) for text in waits] == [(True, True)] * 2
    assert (done, answer.status_code, answer.headers.get("hx-refresh")) == (200, 204, "true")


@pytest.mark.parametrize(("read", "total", "part"), [(10, 40, 10), (40, 40, 0), (50, 40, 0), (10, 0, 0)])
def test_a_bar_says_nothing_where_nobody_knows_how_far_it_is(read: int, total: int, part: int) -> None:
    assert Run(REPORTS["wins"], AskedFor("2026-12-01"), 0, read, total).part == part


async def test_what_is_to_be_read_is_the_ledger_at_first_and_the_range(ledger: Path) -> None:
    """Its first look reads every entry, then the day's: here they are the same."""
    entries = len(rows(ledger, "SELECT number FROM entry"))
    runs = runs_on(ledger)
    run = runs.find(REPORTS["reconciliation"], ASKED, 0)
    assert (await runs.wait(run, 20), entries <= run.total <= 3 * entries) == (True, True)


def test_a_file_that_is_not_ready_leads_to_the_page_that_waits(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_pages, "PATIENCE_S", 0.0)
    answer = get(screen, f"/reports/liability.pdf{DAY}")
    assert (answer.status_code, answer.headers.get("location")) == (303, f"/reports/liability{DAY}")


def test_no_page_of_reports_has_inline_script_or_style(screen: Screen) -> None:
    pages = [get(screen, path).text for path in ("/reports", f"/reports/reconciliation{DAY}")]
    inline = [len(re.findall(r"<script(?![^>]*\bsrc=)", page)) for page in pages]
    assert [(scripts, page.count("style=")) for scripts, page in zip(inline, pages, strict=True)] == [(0, 0), (0, 0)]


# ---------------------------------------------------------------------- runs


def slow(name: str, started: list[str], seconds: float = 0.3) -> Named:
    """A report that takes its time, and notes that it has begun."""
    def make(reading: Any, scope: Any) -> Any:
        started.append(name)
        time.sleep(seconds)
        return REPORTS["reserve"].make(reading, scope)

    return Named(name, name, name, make)


def runs_on(ledger: Path) -> ReportRuns:
    """Runs of a ledger, never stopping."""
    return ReportRuns(ledger, "1.0", (), lambda: False)


ASKED = AskedFor("2026-12-01")


async def test_no_more_than_two_reports_are_made_at_once(ledger: Path) -> None:
    runs, started = runs_on(ledger), list[str]()
    for place in range(5):
        runs.find(slow(f"r{place}", started), ASKED, 0)
    await asyncio.sleep(0.15)
    assert len(started) == 2


async def test_too_many_reports_are_refused(ledger: Path) -> None:
    runs = runs_on(ledger)
    for place in range(OPEN_MAX):
        runs.find(slow(f"r{place}", [], 0.01), ASKED, 0)
    with pytest.raises(TooManyReports):
        runs.find(slow("one-more", []), ASKED, 0)


async def test_the_same_report_asked_for_twice_is_made_once(ledger: Path) -> None:
    runs, started = runs_on(ledger), list[str]()
    named = slow("r", started, 0.01)
    first = runs.find(named, ASKED, 0)
    assert (runs.find(named, ASKED, 0) is first, await runs.wait(first, 10), runs.find(named, ASKED, 1) is first,
            len(started)) == (True, True, True, 1)


async def test_a_day_not_yet_over_is_made_again_after_a_minute(ledger: Path) -> None:
    runs = runs_on(ledger)
    first = runs.find(REPORTS["reserve"], ASKED, 0)
    await runs.wait(first, 10)
    again: Run = runs.find(REPORTS["reserve"], ASKED, 61_000_000)
    assert (await runs.wait(again, 10), again is first) == (True, False)


async def test_what_is_kept_is_bounded(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_runs, "KEPT_MAX", 3)
    runs = runs_on(ledger)
    for day in range(1, 9):
        await runs.wait(runs.find(REPORTS["reserve"], AskedFor(f"2026-11-{day:02d}"), 0), 10)
    assert len(runs._runs) <= 4


async def test_a_report_ends_when_the_daemon_does(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.ledger.ranges.PIECE", 1)
    runs = ReportRuns(ledger, "1.0", (), lambda: True)
    run = runs.find(REPORTS["reserve"], ASKED, 0)
    await runs.wait(run, 10)
    assert (run.report, run.trouble) == (None, "the daemon ends")


async def test_an_unknown_fault_of_a_report_is_not_swallowed(ledger: Path) -> None:
    def make(reading: Any, scope: Any) -> Any:
        raise ZeroDivisionError

    runs = runs_on(ledger)
    run = runs.find(Named("broken", "broken", "", make), ASKED, 0)
    with pytest.raises(ZeroDivisionError):
        await runs.wait(run, 10)


async def test_the_event_loop_goes_on_while_a_report_is_made(ledger: Path) -> None:
    """SD-02: no turn of the loop takes longer than a wager may wait."""
    runs = runs_on(ledger)
    run = runs.find(REPORTS["filing"], ASKED, 0)
    longest, before = 0.0, time.perf_counter()
    while not run.done.is_set():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
    assert longest < 1.0


def test_json_of_a_report_is_json(screen: Screen) -> None:
    assert json.loads(get(screen, f"/reports/due.json{DAY}").text)["name"] == "due"
