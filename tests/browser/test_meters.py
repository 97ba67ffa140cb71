"""Meters in a real Chromium: adjusted and transferred by two people, repeated in full before it is booked."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk_house import CARL
from meter_house import ADJUST, CENT, TENTH, TWO, WHY, meter_plan
from meters_house import MetersHouse, meters_app
from people_house import SECRET, PeopleServed
from playwright.sync_api import Page, expect

from controller.web import headers
from controller.web.serve import Server, listen

PICTURES = os.environ.get("PMC_PICTURES", "")
"""A folder for pictures of the pages; empty: none are made."""


class MetersServed(PeopleServed):
    """A running server with the pages of meters."""

    def __init__(self, house: MetersHouse, folder: Path) -> None:
        self.house = house
        self.app = meters_app(house, folder)
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = Server(self.app)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()


@pytest.fixture
def house(tmp_path: Path) -> MetersHouse:
    """40 wagers, a hit that waits, and a lowering of which nobody has been told."""
    made = MetersHouse(tmp_path, meter_plan(reserve_to_house=True, limit="$10,000.50"))
    made.wager(40)
    made.wager(40, "PG-04")
    made.lock(41, 1, 2)
    made.hit(41, 2, TENTH)
    made.say("close", 41)
    lowering = {"direction": "lower", "by_amount": "$250.00", "code": "malfunction-correction"}
    made.sign("meter-adjusted", *TWO, **ADJUST | lowering)
    made.sign("retirement-announced", *TWO, meter="pg-next", effective="2026-12-31", **WHY)
    made.later(25 * 60)
    made.sign("meter-adjusted", *TWO, **ADJUST | lowering | {"by_amount": "$1.25"})
    made.later(90)
    return made


@pytest.fixture
def pages(house: MetersHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetersServed]:
    policy = headers.POLICY.replace("form-action 'none'", "form-action 'self'")
    monkeypatch.setitem(headers.HEADERS, "content-security-policy", policy)
    server = MetersServed(house, tmp_path)
    yield server
    server.stop()


def signed_in(page: Page, pages: MetersServed, path: str = "/meters", name: str = "carl") -> None:
    """Somebody signs in and comes to a page."""
    page.goto(f"{pages.url}{path}")
    page.fill("#name", name)
    page.fill("#secret", SECRET)
    page.keyboard.press("Enter")
    page.locator("nav.desk").wait_for()
    page.wait_for_load_state()


def picture(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to look."""
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def fill_in(page: Page, kind: str, **fields: str) -> None:
    """Open a form of the meter's page, fill it in and go on."""
    form = page.locator(f"#ask-{kind}")
    form.locator("summary").click()
    for name, text in fields.items():
        field = form.locator(f'[name="{name}"]')
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(text)
        else:
            field.fill(text)
    form.get_by_role("button").click()
    page.locator("#confirm").wait_for()


def sign(page: Page, name: str = "dora") -> None:
    """The second person signs."""
    page.locator('[name="second_name"]').fill(name)
    page.locator('[name="second_secret"]').fill(SECRET)
    page.locator("form.act button").click()


REASONED = {"reason": "The display board had lost a digit", "approval": "PGCB-2026-17"}


def test_a_meter_is_adjusted_by_two_people(page: Page, pages: MetersServed, house: MetersHouse) -> None:
    """DI-03: the amounts stand in full on the page that books it."""
    before = house.board.meters["pg-link"].display_microcents
    signed_in(page, pages)
    page.get_by_role("link", name="Face Up Pai Gow Link").first.click()
    fill_in(page, "meter-adjusted", direction="raise", by_amount="$250.00", code="restoration", **REASONED)
    expect(page.locator("#sentence")).to_contain_text("Raise Face Up Pai Gow Link from $8,750.64 to $9,000.64")
    picture(page, "confirm")
    sign(page)
    expect(page.get_by_role("status")).to_have_text("Done: Adjust a meter.")
    expect(page.locator("#history li").first).to_contain_text("Signed by carl (shift-manager, table-games), dora")
    assert house.board.meters["pg-link"].display_microcents == before + 25_000 * CENT


def test_a_meter_is_transferred_to_one_like_it(page: Page, pages: MetersServed, house: MetersHouse) -> None:
    """R-41, R-42: what its limit keeps off the display stands above the limit."""
    for table in ("PG-01", "PG-02", "PG-04"):
        house.sign("table-closed", CARL, table=table)
    signed_in(page, pages, "/meters/pg-next")
    fill_in(page, "meter-transferred", to="pg-link", **REASONED)
    expect(page.locator("#sentence")).to_have_text("Move $4.00 from Face Up Pai Gow Next to Face Up Pai Gow Link")
    picture(page, "confirm-transfer")
    sign(page)
    expect(page.get_by_role("status")).to_have_text("Done: Transfer a meter.")
    expect(page.locator("#amount")).to_have_text("$10,000.00")
    picture(page, "meter-after")


def test_what_is_wrong_is_told_before_anybody_signs(page: Page, pages: MetersServed) -> None:
    signed_in(page, pages, "/meters/pg-link")
    fill_in(page, "meter-adjusted", direction="lower", by_amount="10.000", code="restoration", **REASONED)
    expect(page.get_by_role("alert")).to_contain_text("not an amount")
    expect(page.locator("#confirm")).to_contain_text('write dollars and cents like "$1,234.50"')
    expect(page.locator('[name="second_secret"]')).to_have_count(0)
    picture(page, "refused")


def test_a_late_notice_is_seen_and_reported(page: Page, pages: MetersServed) -> None:
    signed_in(page, pages)
    late = page.locator(".duty-late")
    expect(late).to_contain_text("Late by")
    picture(page, "meters")
    late.locator("summary").click()
    late.get_by_label("How and to whom").fill("By mail to the bureau")
    late.get_by_role("button").click()
    expect(page.get_by_role("status")).to_have_text("Done: A notice was sent.")
    expect(page.locator(".duty-late")).to_have_count(0)


@pytest.mark.parametrize("path", ["/meters", "/meters/pg-link"])
def test_every_control_is_large_enough_and_labelled(page: Page, pages: MetersServed, path: str) -> None:
    signed_in(page, pages, path)
    page.set_viewport_size({"width": 390, "height": 800})
    for summary in page.locator("summary").all():
        summary.click()
    controls = page.locator("main a:visible, button:visible, input:visible, select:visible, summary:visible")
    small = controls.evaluate_all(
        "all => all.filter(one => one.getBoundingClientRect().height < 43.5 && !one.closest('p, dd'))"
        ".map(one => one.outerHTML)")
    fields = page.locator("main input:not([type=hidden]), main select, main textarea")
    picture(page, "narrow" + path.replace("/", "-"))
    assert small == []
    assert fields.evaluate_all("all => all.filter(one => one.labels.length !== 1).length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def keys(page: Page, *pressed: str) -> None:
    """Type words and press keys."""
    for one in pressed:
        if one in ("Tab", "Enter"):
            page.keyboard.press(one)
        else:
            page.keyboard.type(one)


def test_a_change_is_booked_by_keyboard_alone(page: Page, pages: MetersServed, house: MetersHouse) -> None:
    signed_in(page, pages, "/meters/pg-link")
    page.locator("#ask-meter-adjusted summary").focus()
    keys(page, "Enter", "Tab", "raise", "Tab", "$1.00", "Tab", "restoration", "Tab", "Restored", "Tab", "P-1", "Enter")
    page.locator('[name="second_name"]').focus()
    keys(page, "dora", "Tab", SECRET, "Enter")
    expect(page.get_by_role("status")).to_have_text("Done: Adjust a meter.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_meter_can_be_read_in_light_and_dark(page: Page, pages: MetersServed, scheme: str) -> None:
    """WCAG AA: 4.5 to 1, of the colours as they are computed."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    signed_in(page, pages, "/meters/pg-link")
    picture(page, f"meter-{scheme}")
    low = page.evaluate("""() => {
      const parts = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (text) => { const [r, g, b] = parts(text).slice(0, 3).map((c) => {
        const s = c / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const ground = (one) => { for (let at = one; at; at = at.parentElement) {
        const found = getComputedStyle(at).backgroundColor; const p = parts(found);
        if (p.length === 3 || p[3] > 0) return found; } return "rgb(255,255,255)"; };
      return [...document.querySelectorAll("a, button, label, p, td, th, h1, h2, dt, dd, strong, small, summary")]
        .filter((one) => one.offsetParent !== null && one.textContent.trim())
        .map((one) => { const a = light(getComputedStyle(one).color), b = light(ground(one));
          return [one.tagName, one.textContent.trim().slice(0, 30),
                  (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; })
        .filter(([, , ratio]) => ratio < 4.5); }""")
    assert low == []
