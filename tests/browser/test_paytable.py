"""The page of a paytable in a real Chromium: it fills in its odds, lives, and says when it does not."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from test_floor import CONTRAST
from web_house import House, Served, served

from controller.web.paytable_page import paytable_routes
from controller.web.templates import make_templates


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    with served(house) as running:
        running.app.router.routes[:0] = paytable_routes(house, make_templates()).routes
        yield running


def test_the_odds_fill_in_by_themselves(page: Page, server: Served) -> None:
    page.goto(server.url + "/paytables/progressive-4")
    expect(page.locator("#fresh")).to_contain_text("1 in 4,816,971")
    expect(page.locator("#fresh")).to_contain_text("Return in the long run")


def test_the_paytables_amounts_change_without_a_reload(page: Page, server: Served, house: House) -> None:
    page.goto(server.url + "/paytables/progressive-4")
    page.evaluate("window.stayed = true")
    house.tell(house.meter("pg-link", display_microcents=1_234_567_000_000))
    expect(page.locator(".stands")).to_have_text("$12,345.67")
    assert page.evaluate("window.stayed")


def test_a_paytable_page_says_stale_once_the_controller_is_gone(page: Page, server: Served) -> None:
    """DI-04."""
    page.goto(server.url + "/paytables/progressive-4")
    expect(page.locator("#fresh")).to_contain_text("1 in 4,816,971")
    server.stop()
    expect(page.locator("#stale")).to_contain_text("No news from the controller since 15:32:11", timeout=12_000)


def test_nothing_on_the_page_breaks_its_own_policy(page: Page, server: Served) -> None:
    """WE-01: no blocked script, style or file."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(server.url + "/paytables/progressive-4")
    page.wait_for_selector('html[data-live="live"]')
    assert errors == []


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_no_width_scrolls_sideways(page: Page, server: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(server.url + "/paytables/progressive-4")
    expect(page.locator("#fresh")).to_contain_text("1 in 4,816,971")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(chromium: Browser, server: Served, scheme: str) -> None:
    """WCAG AA: 4.5 to 1."""
    page = chromium.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(server.url + "/paytables/progressive-4")
    page.wait_for_selector('html[data-live="live"]')
    assert page.evaluate(CONTRAST) == []
    page.close()


def test_the_keyboard_reaches_the_rows(page: Page, server: Served) -> None:
    """Rows that do not fit are scrolled by keyboard."""
    page.goto(server.url + "/paytables/progressive-4")
    page.wait_for_selector('html[data-live="live"]')
    reached = []
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 13)"))
    assert reached[:3] == ["Skip to the p", "Floor", "All paytables"]
    assert page.evaluate("document.activeElement.className") == "scroll"
