"""Signed-in pages keep themselves in step in a real browser, against a real meterd; and the curve is drawn there."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_real_floor import Floorhouse, signed_in

IN_STEP_MS = 12_000
"""A page asks every 5 s."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floorhouse]:
    made = Floorhouse(tmp_path_factory.mktemp("floor"))
    yield made
    made.end()


def verify(page: Page, house: Floorhouse, game: int) -> None:
    """Verify the award of a game."""
    page.goto(house.at(f"/awards/PG-01/{game}"))
    page.get_by_role("button", name="Verify").first.click()
    expect(page.locator("p.flash-good")).to_be_visible()


def test_what_another_person_does_is_seen_without_loading_again(chromium: Browser, house: Floorhouse) -> None:
    """Awards page and table page, twice each: a part that was replaced goes on asking."""
    mona, anna, ben = (signed_in(chromium, house, name) for name in ("mona", "anna", "ben"))
    table = mona.context.new_page()
    table.goto(house.at("/tables/PG-01"))
    mona.goto(house.at("/awards"))
    loads: list[str] = []
    mona.on("load", lambda _: loads.append("awards"))
    table.on("load", lambda _: loads.append("table"))
    expect(mona.locator("#waits")).to_contain_text("not verified")
    expect(table.locator("#played")).to_contain_text("not verified")
    verify(anna, house, 2)
    expect(mona.locator("#waits")).to_contain_text("verified, not paid", timeout=IN_STEP_MS)
    expect(table.locator("#played")).to_contain_text("verified by anna", timeout=IN_STEP_MS)
    ben.goto(house.at("/awards/PG-01/2"))
    form = ben.locator("form[action='/acts/award-paid']").first
    form.locator("select[name=how]").select_option("chips")
    form.locator("button[type=submit]").click()
    expect(ben.locator("p.flash-good")).to_be_visible()
    expect(mona.locator("#done")).to_contain_text("paid", timeout=IN_STEP_MS)
    expect(table.locator("#played")).to_contain_text("paid by ben", timeout=IN_STEP_MS)
    assert loads == []


def test_the_keyboard_stays_where_it_was_when_a_part_is_replaced(chromium: Browser, house: Floorhouse) -> None:
    mona, anna = signed_in(chromium, house, "mona"), signed_in(chromium, house, "anna")
    mona.goto(house.at("/awards"))
    link = mona.locator("#waits a[href*='/awards/PG-01/1']").first
    link.focus()
    verify(anna, house, 1)
    expect(mona.locator("#waits")).to_contain_text("verified, not paid", timeout=IN_STEP_MS)
    expect(mona.locator("#waits a[href*='/awards/PG-01/1']").first).to_be_focused()


def test_what_became_of_an_alarm_is_told_on_a_page_with_forms(chromium: Browser, house: Floorhouse) -> None:
    """R-31, R-89: and nothing that somebody is filling in is touched."""
    mona, carl = signed_in(chromium, house, "mona"), signed_in(chromium, house, "mona")
    mona.goto(house.at("/meters/pg-link"))
    mona.get_by_text("Adjust a meter").click()
    mona.locator("#ask-meter-adjusted-reason").fill("half a sentence")
    expect(mona.locator("#news")).to_be_empty()
    carl.goto(house.at("/alarms"))
    for _ in range(carl.get_by_role("button", name="Acknowledge").count()):
        carl.get_by_role("button", name="Acknowledge").first.click()
        expect(carl.locator("p.flash-good")).to_be_visible()
    expect(mona.locator("#news")).to_contain_text("No alarm waits any more", timeout=IN_STEP_MS)
    expect(mona.locator("#ask-meter-adjusted-reason")).to_have_value("half a sentence")
    mona.locator("#news-show").click()
    expect(mona.locator("section.alarm-banner")).to_have_count(0)
    expect(mona.locator("#news")).to_be_empty()


def test_the_curve_of_a_meter_is_drawn_and_its_time_can_be_chosen(chromium: Browser, house: Floorhouse) -> None:
    mona = signed_in(chromium, house, "mona")
    wrong: list[str] = []
    mona.on("pageerror", lambda error: wrong.append(str(error)))
    mona.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    mona.goto(house.at("/meters/pg-link"))
    expect(mona.locator("#curve canvas")).to_be_visible()
    mona.locator("#span-month").click()
    expect(mona.locator("#curve h2")).to_have_text("The last 31 days")
    expect(mona.locator("#curve canvas")).to_be_visible()
    assert wrong == []


def test_a_session_that_has_ended_leads_an_open_page_to_sign_in(chromium: Browser, house: Floorhouse) -> None:
    mona = signed_in(chromium, house, "mona")
    mona.goto(house.at("/awards"))
    mona.context.clear_cookies()
    expect(mona).to_have_url(house.at("/sign-in?back=/awards"), timeout=IN_STEP_MS)


def test_a_page_says_when_it_hears_nothing_more(chromium: Browser, house: Floorhouse) -> None:
    """DI-04. It is the last here: the daemon ends."""
    mona = signed_in(chromium, house, "mona")
    mona.goto(house.at("/awards"))
    house.end()
    expect(mona.locator("#unheard")).to_contain_text("No news from the controller since", timeout=30_000)
