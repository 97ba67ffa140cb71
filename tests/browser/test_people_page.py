"""People in a real Chromium: signing in, acting and being told; by keyboard, without scripts, at 44 pixels and more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from people_house import SECRET, PeopleHouse, PeopleServed
from playwright.sync_api import Page, expect

from controller.web import headers


@pytest.fixture
def people() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def pages(people: PeopleHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PeopleServed]:
    policy = headers.POLICY.replace("form-action 'none'", "form-action 'self'")
    monkeypatch.setitem(headers.HEADERS, "content-security-policy", policy)
    server = PeopleServed(people, tmp_path)
    yield server
    server.stop()


def sign_in(page: Page, pages: PeopleServed, name: str = "dora", secret: str = SECRET) -> None:
    page.goto(f"{pages.url}/people")
    page.fill("#name", name)
    page.fill("#secret", secret)
    page.get_by_role("button", name="Sign in").click()
    if secret == SECRET:
        page.locator("nav.desk").wait_for()
        page.wait_for_load_state("load")


def test_who_signs_in_comes_to_the_page_asked_for(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages)
    expect(page.get_by_role("heading", name="People and their rights")).to_be_visible()
    expect(page.locator("nav.desk")).to_contain_text("Dora")


def test_it_is_done_by_keyboard_alone(page: Page, pages: PeopleServed) -> None:
    page.goto(f"{pages.url}/people")
    expect(page.locator("#name")).to_be_focused()
    for typed in ("dora", "Tab", SECRET, "Enter"):
        if typed in ("Tab", "Enter"):
            page.keyboard.press(typed)
        else:
            page.keyboard.type(typed)
    expect(page.get_by_role("heading", name="People and their rights")).to_be_visible()


def test_a_wrong_secret_is_told_and_focus_is_in_the_form(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages, secret="wrong wrong wrong")
    expect(page.get_by_role("alert")).to_contain_text("type both again")
    expect(page.locator("#name")).to_be_focused()


def test_a_person_is_proposed_on_the_page_and_waits_there(page: Page, pages: PeopleServed, people: PeopleHouse) -> None:
    sign_in(page, pages)
    form = page.locator('form[action="/acts/person-proposed"]')
    form.get_by_label("Sign-in name").fill("hugo")
    form.get_by_label("Name", exact=True).fill("Hugo <b>Beispiel</b>")
    form.get_by_label("Role").select_option("supervisor")
    form.get_by_label("Department").select_option("table-games")
    form.get_by_role("button").click()
    expect(page.get_by_role("status")).to_contain_text("First half of the first secret of hugo")
    expect(page.locator("#waits-hugo")).to_contain_text("Hugo <b>Beispiel</b>")
    assert people.kinds()[-1] == "person-proposed"


def test_signing_out_leaves_nothing_to_see(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages)
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{pages.url}/people")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_every_control_is_large_enough_for_a_finger(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages)
    page.set_viewport_size({"width": 390, "height": 800})
    for summary in page.locator("summary").all():
        summary.click()
    controls = page.locator("a:visible, button:visible, input:visible, select:visible, summary:visible, .tick:visible")
    small = controls.evaluate_all(
        "all => all.filter(one => one.type !== 'checkbox' && one.getBoundingClientRect().height < 43.5)"
        ".map(one => one.outerHTML)")
    assert small == []


def test_a_narrow_screen_does_not_scroll_sideways(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_every_field_has_a_label(page: Page, pages: PeopleServed) -> None:
    sign_in(page, pages)
    fields = page.locator("input:not([type=hidden]), select, textarea")
    assert fields.evaluate_all("all => all.filter(one => one.labels.length !== 1).length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_enough(page: Page, pages: PeopleServed, scheme: str) -> None:
    """WCAG AA: 4.5 to 1, of the colours as they are computed."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    sign_in(page, pages)
    page.goto(f"{pages.url}/people")
    low = page.evaluate("""() => {
      const parts = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (text) => { const [r, g, b] = parts(text).slice(0, 3).map((c) => {
        const s = c / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const ground = (one) => { for (let at = one; at; at = at.parentElement) {
        const found = getComputedStyle(at).backgroundColor; const p = parts(found);
        if (p.length === 3 || p[3] > 0) return found; } return "rgb(255,255,255)"; };
      return [...document.querySelectorAll("a, button, label, p, td, th, h1, h2, small, summary, input, select")]
        .filter((one) => one.offsetParent !== null && one.textContent.trim())
        .map((one) => { const a = light(getComputedStyle(one).color), b = light(ground(one));
          return [one.tagName, one.textContent.trim().slice(0, 30),
                  (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; })
        .filter(([, , ratio]) => ratio < 4.5); }""")
    assert low == []


def test_another_sites_form_reaches_nothing(
    page: Page, pages: PeopleServed, people: PeopleHouse, tmp_path: Path
) -> None:
    """WE-02: a page elsewhere posts a form with the signed-in browser."""
    sign_in(page, pages)
    evil = tmp_path / "evil.html"
    evil.write_text(f'<form method="post" action="{pages.url}/acts/person-disabled"><input name="id" value="anna">'
                    '<input name="reason" value="x"><input name="act_id" value="evil-0001"><button>win</button></form>')
    page.goto(evil.as_uri())
    page.get_by_role("button").click()
    page.wait_for_load_state()
    assert "person-disabled" not in people.kinds()
