"""The floor page in a real Chromium: it lives, says when it does not, shows text as text, and needs no mouse."""

from dataclasses import replace

import pytest
from demo_snapshot import NOW, busy_snapshot, device
from playwright.sync_api import Browser, Page, expect
from web_house import House, Served

from controller.plan import frozen
from controller.snapshot import Note, Snapshot

SCRIPT = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
AMOUNT = "#part-meter-pg-link .amount"


def live(page: Page, server: Served, path: str = "/") -> None:
    page.goto(server.url + path)
    page.wait_for_selector('html[data-live="live"]')


def test_an_amount_changes_on_the_page_without_a_reload(page: Page, server: Served, house: House) -> None:
    live(page, server)
    page.evaluate("window.stayed = true")
    house.tell(house.meter("pg-link", display_microcents=1_234_567_000_000))
    expect(page.locator(AMOUNT)).to_have_text("$12,345.67")
    assert page.evaluate("window.stayed")


def test_the_page_says_stale_and_since_when_once_the_controller_is_gone(page: Page, server: Served) -> None:
    """DI-04: within 3 s and a little."""
    live(page, server)
    server.stop()
    expect(page.locator("#stale")).to_contain_text("since 15:32:11", timeout=5000)
    expect(page.locator("#stale")).to_be_visible()
    expect(page.locator(".pulse-stale")).to_be_visible()


def test_the_page_comes_back_by_itself_with_the_newest_amounts(page: Page, server: Served) -> None:
    """DI-04: after a restart the amount may be lower, and event numbers start over."""
    live(page, server)
    server.stop()
    page.wait_for_selector('html[data-live="stale"]')
    fallen = House()
    fallen.tell(fallen.meter("pg-link", display_microcents=1_000_000_000_000))
    again = Served(fallen, server.port)
    try:
        expect(page.locator(AMOUNT)).to_have_text("$10,000.00")
        expect(page.locator("#stale")).to_be_hidden()
    finally:
        again.stop()


def test_a_page_of_another_version_loads_itself_anew(page: Page, server: Served) -> None:
    live(page, server)
    page.evaluate("window.stayed = true")
    server.stop()
    again = Served(House(replace(busy_snapshot(), version="0.2.0")), server.port)
    try:
        expect(page.locator("footer")).to_contain_text("Version 0.2.0")
    finally:
        again.stop()


def hostile() -> Snapshot:
    busy = busy_snapshot(name=SCRIPT)
    hub = device(busy.plan, "PG-01", playable=False, reason=SCRIPT)
    return replace(busy, devices={"hub-01": hub}, notes=(Note(NOW, "fault", "x", "PG-01", SCRIPT, SCRIPT, 1),))


def test_script_in_a_reason_is_shown_as_text_by_a_live_update(page: Page, server: Served, house: House) -> None:
    """WE-01: the first page and the update alike."""
    live(page, server)
    house.tell(hostile())
    expect(page.locator("#part-table-PG-01")).to_contain_text("<script>document.title=1</script>")
    assert page.locator("main img").count() == 0
    assert page.title() == "Demo Casino floor"


def test_nothing_on_the_page_breaks_its_own_policy(page: Page, server: Served, house: House) -> None:
    """No console error: no blocked script, style or file."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    live(page, server)
    house.tell(house.meter("pg-link", display_microcents=1_000_000))
    expect(page.locator(AMOUNT)).to_have_text("$0.01")
    assert errors == []


def test_a_live_update_keeps_the_focus_and_what_was_unfolded(page: Page, server: Served, house: House) -> None:
    live(page, server)
    page.locator("#rows-of-pg-link").click()
    page.locator("#link-pg-link-PG-02").focus()
    house.tell(house.meter("pg-link", display_microcents=1_000_000))
    expect(page.locator(AMOUNT)).to_have_text("$0.01")
    assert page.evaluate("document.activeElement.id") == "link-pg-link-PG-02"
    expect(page.locator("#rows-pg-link table")).to_be_visible()


def test_the_keyboard_reaches_every_control(page: Page, server: Served) -> None:
    live(page, server)
    controls = page.evaluate("document.querySelectorAll('a[href], summary').length")
    reached = set()
    for _ in range(controls):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.getAttribute('href')"))
    assert len(reached) == controls


def test_a_table_unfolds_its_last_games_by_keyboard(page: Page, server: Served) -> None:
    live(page, server)
    page.locator("#games-of-PG-01").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#games-PG-01 li").first).to_be_visible()


@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_no_width_scrolls_sideways(page: Page, server: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    live(page, server)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [320, 390, 1280, 1500, 1920, 2560])
@pytest.mark.parametrize("cents", [999_999, 18_640_913, 999_999_999])
def test_every_amount_of_a_meter_stays_within_its_card(
    page: Page, house: House, server: Served, width: int, cents: int
) -> None:
    """Whatever face the browser has, and however large the jackpot."""
    snapshot = house.snapshot()
    large = {name: replace(view, display_microcents=cents * 1_000_000, reserve_microcents=cents * 1_000_000)
             for name, view in snapshot.meters.items()}
    house.tell(replace(snapshot, meters=frozen(large)))
    page.set_viewport_size({"width": width, "height": 900})
    live(page, server)
    assert page.evaluate("""[...document.querySelectorAll('.meter .amount, .meter dd')].filter((amount) => {
        const text = document.createRange();
        text.selectNodeContents(amount);
        return text.getBoundingClientRect().right > amount.closest('.card').getBoundingClientRect().right;
    }).map((amount) => amount.textContent)""") == []


def test_every_control_is_large_enough_for_a_finger(page: Page, server: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    live(page, server)
    small = page.evaluate(
        """[...document.querySelectorAll('nav a, .linked a, summary')]
        .filter(control => control.getBoundingClientRect().height < 44).map(control => control.outerHTML)"""
    )
    assert small == []


CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = colour => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => { for (let e = element; e; e = e.parentElement) {
    const colour = rgb(getComputedStyle(e).backgroundColor); if (colour[3] === 255) return colour; }
    return [255, 255, 255]; };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push([element.className, element.textContent.trim().slice(0, 30), ratio.toFixed(2)].join(" "));
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(chromium: Browser, server: Served, scheme: str) -> None:
    """WCAG AA: 4.5 to 1."""
    page = chromium.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    live(page, server)
    assert page.evaluate(CONTRAST) == []
    page.close()
