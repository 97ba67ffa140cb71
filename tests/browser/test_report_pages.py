"""Reports in a real Chromium: chosen by a form, read on a tablet, taken as a file; by keyboard and without errors."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ledger_house import every_kind
from people_house import SECRET, PeopleHouse, PeopleServed
from playwright.sync_api import Page, expect

from controller.reports.catalogue import REPORTS
from controller.web import report_pages
from controller.web.report_pages import report_routes
from controller.web.templates import make_templates

DAY = "2026-12-01"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[PeopleServed]:
    """The pages over a ledger with every kind of entry."""
    people = PeopleHouse()
    people.wiring = replace(people.wiring, ledger_url=f"sqlite:///{every_kind(tmp_path / 'ledger.db')}")
    server = PeopleServed(people, tmp_path)
    if not any(getattr(route, "path", "") == "/reports" for route in server.app.routes):
        server.app.include_router(report_routes(people, make_templates()))
    yield server
    server.stop()


@pytest.fixture
def told(page: Page) -> list[str]:
    """What the browser complains of."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def open_list(page: Page, pages: PeopleServed) -> None:
    """Carla of accounting signs in and comes to the list."""
    page.goto(f"{pages.url}/reports")
    page.fill("#name", "carla")
    page.fill("#secret", SECRET)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Reports", exact=True)).to_be_visible()


def choose(page: Page, report: str) -> None:
    """Choose a report of the day by the form."""
    page.get_by_label("Report", exact=True).select_option(label=report)
    page.get_by_label("Gaming day").fill(DAY)
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name=report, exact=True)).to_be_visible()
    page.wait_for_load_state("load")


def test_a_report_is_chosen_and_its_equations_hold(page: Page, pages: PeopleServed, told: list[str]) -> None:
    open_list(page, pages)
    choose(page, "Reconciliation")
    expect(page.get_by_role("heading", name="Every equation holds")).to_be_visible()
    assert told == []


def test_a_report_is_taken_as_csv(page: Page, pages: PeopleServed) -> None:
    open_list(page, pages)
    choose(page, "Meter sheet")
    with page.expect_download() as taken:
        page.get_by_role("link", name="CSV").click()
    assert (taken.value.suggested_filename, Path(taken.value.path()).read_bytes()[:7]) == (
        f"meter-sheet-{DAY}.csv", b"Report,")


def test_a_wide_sheet_scrolls_in_itself_and_the_page_does_not(page: Page, pages: PeopleServed) -> None:
    page.set_viewport_size({"width": 768, "height": 1024})
    open_list(page, pages)
    choose(page, "Table sheet per shift")
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]


def test_a_wide_sheet_is_reached_and_moved_by_keyboard(page: Page, pages: PeopleServed) -> None:
    page.set_viewport_size({"width": 768, "height": 1024})
    open_list(page, pages)
    choose(page, "Table sheet per shift")
    sheet = page.get_by_role("region", name="By gaming day, shift and table, rows")
    sheet.press("ArrowRight")
    for _ in range(100):  # ``wait_for_function`` asks again from within the page, where its policy forbids eval
        if page.evaluate("document.activeElement.scrollLeft") > 0:
            return
        page.wait_for_timeout(50)
    pytest.fail("the sheet did not move")


def test_a_wrong_range_says_what_to_write(page: Page, pages: PeopleServed) -> None:
    open_list(page, pages)
    page.get_by_label("or from").fill("last week")
    page.get_by_label("to, included").fill("today")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("body")).to_contain_text("Write it like 2026-11-01")


def test_what_can_be_pressed_is_large_enough_for_a_finger(page: Page, pages: PeopleServed) -> None:
    open_list(page, pages)
    choose(page, "Liability")
    for pressed in page.locator("main button, main select, main input, .files a").all():
        box = pressed.bounding_box()
        assert box is not None
        assert box["height"] >= 44


def test_a_report_that_takes_long_shows_a_bar_and_then_itself(
    page: Page, pages: PeopleServed, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar asks again by itself, and the report comes without a hand."""
    gate, make = threading.Event(), REPORTS["reserve"].make

    def held(reading: Any, scope: Any) -> Any:
        gate.wait(30)
        return make(reading, scope)

    monkeypatch.setitem(report_pages.REPORTS, "reserve", REPORTS["reserve"]._replace(make=held))
    monkeypatch.setattr(report_pages, "PATIENCE_S", 0.0)
    open_list(page, pages)
    with page.expect_response(lambda answer: "hx-request" in answer.request.headers and "/reports/" in answer.url):
        page.goto(f"{pages.url}/reports/reserve?day={DAY}")
        expect(page.get_by_role("progressbar")).to_be_visible()
    gate.set()
    expect(page.get_by_role("heading", name="Every equation holds")).to_be_visible()
    assert told == []
