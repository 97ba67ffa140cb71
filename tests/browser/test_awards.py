"""Awards in a real Chromium: verified by one, paid by another, refused, put right; tables and slips."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from award_screens import Pages, opened_game, sign_in
from awards_house import AwardsHouse, plan_with
from desk_house import ANNA, BEN
from playwright.sync_api import Browser, Page, expect
from test_floor import CONTRAST

GAME = "/awards/PG-01/1"
FLASH = ".flash"


@pytest.fixture
def house(tmp_path: Path) -> AwardsHouse:
    return opened_game(AwardsHouse(tmp_path))


@pytest.fixture
def pages(house: AwardsHouse, tmp_path: Path) -> Iterator[Pages]:
    server = Pages(house, tmp_path)
    yield server
    server.stop()


def second(form: str, page: Page, name: str) -> None:
    """Let a second person sign on the first one's screen."""
    signer = page.locator(form).locator("fieldset.signer")
    signer.get_by_label("Name").fill(name)
    signer.get_by_label("Secret").fill("correct horse battery")


def unfolded(page: Page, form: str) -> None:
    """Open what hides a form, by keyboard."""
    page.locator("details", has=page.locator(form)).last.locator("summary").first.press("Enter")


def test_anna_verifies_with_the_cards_and_ben_pays(
    page: Page, pages: Pages, house: AwardsHouse, chromium: Browser
) -> None:
    sign_in(page, pages, "anna")
    page.get_by_role("link", name="Verify the award of PG-01, seat 2").click()
    for name in ("As", "Ks", "Qs", "Js", "Ts", "Kd", "Qd"):
        page.locator(f'[data-card="{name}"]').click()
    page.get_by_role("button", name="Verify $7,005.03").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Verify.")
    expect(page.locator(".now-do .barred")).to_contain_text("anna has signed another step")
    context = chromium.new_context()
    other = context.new_page()
    sign_in(other, pages, "ben")
    other.get_by_role("link", name="Pay the award of PG-01, seat 2").click()
    expect(other.get_by_label("Handed over")).to_have_value("$7,005.03")
    other.get_by_label("Paid in").first.select_option("chips")
    other.get_by_role("button", name="Pay $7,005.03").click()
    expect(other.locator(FLASH)).to_contain_text("Done: Pay.")
    expect(other.locator("#award-2-progressive")).to_contain_text("paid")
    context.close()
    assert house.game(1).awards[0].life.state == "paid"


def test_two_people_refuse_on_one_screen(page: Page, pages: Pages, house: AwardsHouse) -> None:
    sign_in(page, pages, "anna", GAME)
    form = 'form[action="/acts/award-refused"]'
    unfolded(page, form)
    page.locator(form).get_by_label("Reason").fill("the joker was of another deck")
    second(form, page, "ben")
    page.locator(form).get_by_role("button").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Refuse.")
    expect(page.locator(".past")).to_contain_text("refused")
    assert house.game(1).past[0].life.acts[-1].people == (ANNA, BEN)


def test_a_hand_is_added(page: Page, pages: Pages, house: AwardsHouse) -> None:
    sign_in(page, pages, "anna", GAME)
    form = "#corrections form.act-hit-added >> nth=0"
    page.get_by_text("Add a hand", exact=True).first.press("Enter")
    page.locator(form).get_by_label("Seat").select_option("4")
    page.locator(form).get_by_label("Hand", exact=True).select_option(label="Five aces")
    page.locator(form).get_by_label("Reason").fill("the keypad was dark")
    second(form, page, "ben")
    page.locator(form).get_by_role("button").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Add a hand.")
    expect(page.locator("#award-4-progressive")).to_contain_text("anna has entered or corrected this hand")
    assert [one.life.seat for one in house.game(1).awards] == [2, 4]


def test_a_hand_is_changed(page: Page, pages: Pages, house: AwardsHouse) -> None:
    sign_in(page, pages, "anna", GAME)
    form = 'form[action="/acts/hit-changed"]'
    unfolded(page, form)
    page.locator(form).get_by_label("Hand", exact=True).select_option(label="Royal flush")
    page.locator(form).get_by_label("Reason").fill("read wrongly")
    second(form, page, "carl")
    page.locator(form).get_by_role("button").click()
    expect(page.locator("#award-2-progressive h2")).to_contain_text("Royal flush")
    assert house.game(1).awards[0].life.outcome == "royal-flush"


def test_a_table_is_closed_and_opened(page: Page, pages: Pages, house: AwardsHouse) -> None:
    sign_in(page, pages, "carl", "/tables/PG-01")
    page.get_by_role("button", name="Close the table").click()
    expect(page.locator("#open")).to_contain_text("Closed: no lock-out is accepted")
    assert house.floor.tables["PG-01"].closed
    page.get_by_role("button", name="Open the table").click()
    expect(page.locator("#open")).to_contain_text("Open for wagers")
    assert not house.floor.tables["PG-01"].closed


def test_the_slip_comes_as_a_pdf_of_the_copy_that_was_printed(page: Page, pages: Pages, house: AwardsHouse) -> None:
    sign_in(page, pages, "anna", GAME)
    with page.expect_response(lambda answer: "slip.pdf" in answer.url) as got:
        page.get_by_role("button", name="Print the slip").click()
    assert got.value.headers["content-disposition"] == 'inline; filename="demo-000001-1.pdf"'
    assert page.request.get(got.value.url).body().startswith(b"%PDF-")
    page.wait_for_url("**/slip.pdf*")
    page.goto(pages.url + GAME)
    expect(page.locator(".copies")).to_contain_text("Slip 1")
    expect(page.get_by_role("button", name="Print the slip again")).to_be_visible()


def test_a_checklist_is_not_sent_before_every_line_is_ticked(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("paper")
    house = opened_game(AwardsHouse(folder, plan_with(paper_from="$1,200.00", paper=["Identity", "Cards to camera"])))
    house.sign("award-verified", ANNA, game=1, seat=2)
    pages = Pages(house, folder)
    sign_in(page, pages, "carl", GAME)
    page.get_by_label("Taxable").select_option(label="yes")
    page.get_by_role("checkbox", name="Identity").check()
    page.get_by_role("button", name="The checklist is complete").click()
    assert house.game(1).awards[0].paper
    page.get_by_label("Cards to camera").check()
    page.get_by_role("button", name="The checklist is complete").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Complete the checklist.")
    pages.stop()


def test_the_whole_way_works_without_scripts(pages: Pages, house: AwardsHouse, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, pages, "anna", GAME)
    page.get_by_role("button", name="Verify $7,005.03").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Verify.")
    context.close()


@pytest.mark.parametrize("path", ["/awards", GAME, "/tables/PG-01"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_button_and_link_is_large_enough_for_a_finger(
    page: Page, pages: Pages, path: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    sign_in(page, pages, "anna", path)
    small = page.evaluate("""() => [...document.querySelectorAll("main button, main a, main summary, main select")]
        .filter(one => one.checkVisibility()).map(one => [one.textContent.trim(), one.getBoundingClientRect()])
        .filter(([words, box]) => box.height < 43.9 && words !== "").map(([words, box]) => words + " " + box.height)""")
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/awards", GAME, "/tables/PG-01"])
def test_every_text_has_enough_contrast(chromium: Browser, pages: Pages, path: str, scheme: str) -> None:
    """WCAG AA: 4.5 to 1."""
    page = chromium.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    sign_in(page, pages, "anna", path)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate(CONTRAST) == []
    page.close()


@pytest.mark.parametrize("path", ["/awards", GAME, "/tables/PG-01"])
def test_every_field_has_a_label_and_every_id_is_there_once(page: Page, pages: Pages, path: str) -> None:
    sign_in(page, pages, "anna", path)
    found = json.loads(page.evaluate("""() => {
        const fields = [...document.querySelectorAll("main input:not([type=hidden]), main select, main textarea")];
        const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
        return JSON.stringify({ bare: fields.filter(one => one.labels.length === 0).map(one => one.name),
            twice: ids.filter((id, place) => ids.indexOf(id) !== place) }); }"""))
    assert found == {"bare": [], "twice": []}


def test_a_difference_of_the_count_is_put_right_by_two_people(
    page: Page, pages: Pages, house: AwardsHouse
) -> None:
    """A chip that the sensor took for two: one wager is removed, and the count then agrees."""
    house.lock(2, 1, 2, 3)
    house.say("count", 2, chips=2)
    sign_in(page, pages, "anna", "/awards/PG-01/2")
    form = "#corrections form.act-wager-removed >> nth=0"
    page.get_by_text("Remove a wager", exact=True).first.press("Enter")
    page.locator(form).get_by_label("Seat").select_option("3")
    page.locator(form).get_by_label("Reason").fill("seen on camera: no chip lay there")
    second(form, page, "ben")
    page.locator(form).get_by_role("button").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Remove a wager.")
    assert sorted(house.game(2).round.wagers) == [(1, "progressive"), (2, "progressive")]


def test_a_difference_that_nobody_can_explain_is_closed_with_a_finding(
    page: Page, pages: Pages, house: AwardsHouse
) -> None:
    house.lock(2, 1, 2, 3)
    house.say("count", 2, chips=2)
    sign_in(page, pages, "anna", "/awards/PG-01/2")
    form = "#corrections form.act-count-closed >> nth=0"
    page.get_by_text("Close a difference of the count", exact=True).first.press("Enter")
    page.locator(form).get_by_label("Finding").fill("the chip of seat 3 was taken back after the lock-out")
    second(form, page, "ben")
    page.locator(form).get_by_role("button").click()
    expect(page.locator(FLASH)).to_contain_text("Done: Close a difference of the count.")
