"""The sign page in a real Chromium: never a live-looking amount without a live daemon, and everything on one screen."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from demo_snapshot import NOW, SECOND, busy_snapshot, meter_view, quiet_snapshot
from playwright.sync_api import Page, expect
from web_house import House, Served, served

from controller.snapshot import Snapshot

FIGURE = "#part-sign .figure text"


@pytest.fixture
def house() -> House:
    return House(quiet_snapshot())


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    with served(house) as running:
        yield running


def live(page: Page, server: Served, sign: str = "kiosk-1") -> None:
    page.goto(f"{server.url}/sign/{sign}")
    page.wait_for_selector('html[data-live="live"]')


def test_the_amount_on_a_sign_moves_without_a_reload(page: Page, server: Served, house: House) -> None:
    live(page, server)
    house.tell(house.meter("pg-link", display_microcents=1_234_567_000_000))
    expect(page.locator(FIGURE)).to_have_text("$12,345.67")


def test_a_sign_goes_not_live_when_the_controller_is_gone(page: Page, server: Served) -> None:
    """DI-01: after 3 s of silence no amount is left to see."""
    live(page, server)
    expect(page.locator(FIGURE)).to_be_visible()
    server.stop()
    expect(page.get_by_text("NOT LIVE")).to_be_visible(timeout=5000)
    expect(page.locator(FIGURE)).to_be_hidden()


def test_a_sign_shows_no_amount_before_its_first_event(page: Page, server: Served) -> None:
    """DI-01: a page whose script or stream never started must not look live."""
    page.route("**/events/**", lambda route: route.abort())
    page.goto(f"{server.url}/sign/kiosk-1")
    expect(page.locator(FIGURE)).to_be_hidden()


def test_a_hit_is_on_the_sign_within_a_second(page: Page, server: Served, house: House) -> None:
    """R-24, R-27."""
    live(page, server)
    house.tell(replace(busy_snapshot(), at=NOW - 30 * SECOND))
    expect(page.get_by_text("PENDING")).to_be_visible(timeout=1000)
    expect(page.locator(FIGURE)).to_have_text("$7,401.18")


def long_amounts() -> Snapshot:
    quiet = quiet_snapshot()
    return replace(quiet, meters={**quiet.meters, "pg-link": meter_view(quiet.plan, "pg-link", 99_999_999_999)})


SIZES = [(1920, 1080), (1080, 1920), (1280, 720)]


@pytest.mark.parametrize(
    ("sign", "snapshot"),
    [
        ("kiosk-1", quiet_snapshot()),
        ("both", quiet_snapshot()),
        ("solo", busy_snapshot()),
        ("kiosk-1", long_amounts()),
        ("kiosk-1", replace(busy_snapshot(), at=NOW - 30 * SECOND)),
    ],
    ids=["one meter", "two meters", "off", "long amount", "pending"],
)
def test_a_sign_fits_its_screen(page: Page, server: Served, house: House, sign: str, snapshot: Snapshot) -> None:
    """Every text stands inside the screen: nothing is cut off, and nothing would have to be scrolled to."""
    house.tell(snapshot)
    live(page, server, sign)
    outside = {}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        outside[width, height] = page.evaluate(OUTSIDE)
    assert outside == {size: [] for size in SIZES}


OUTSIDE = """[...document.querySelectorAll('#part-sign :is(p, td, th, svg)')].filter(part => {
    const box = part.getBoundingClientRect();
    return box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
}).map(part => part.textContent.trim())"""


@pytest.mark.parametrize("sign", ["kiosk-1", "both"])
@pytest.mark.parametrize("size", [(1920, 1080), (1080, 1920)])
def test_the_amount_is_the_largest_thing_on_a_sign(
    page: Page, server: Served, size: tuple[int, int], sign: str
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    live(page, server, sign)
    figure = page.evaluate(f"document.querySelector('{FIGURE}').getBoundingClientRect().height")
    others = page.evaluate(
        """Math.max(...[...document.querySelectorAll('#part-sign p, #part-sign td')]
        .map(part => parseInt(getComputedStyle(part).fontSize)))"""
    )
    assert figure > 1.5 * others
