"""One real Chromium for all browser tests; it reaches nothing but loopback."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from web_house import House, Served, served

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One for each file: while Playwright runs, its event loop stands in the way of every asynchronous test."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(8000)
    yield context.new_page()
    context.close()


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    with served(house) as running:
        yield running
