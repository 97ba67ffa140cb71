"""The card picker in a real Chromium: by mouse, by keyboard, by typing, and without script."""

import re
from collections.abc import Iterator

import pytest
from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from playwright.sync_api import Browser, Page, expect
from test_floor import CONTRAST
from web_house import House, Served, served

from controller.web.paytable_page import paytable_routes
from controller.web.templates import make_templates

FORM = """{% extends "base.html" %}{% block title %}Cards{% endblock %}
{% block body %}<main><h1>Cards</h1><form method="get" action="/nowhere">
{% include "card_picker.html" %}</form></main>{% endblock %}"""
ROYAL = ["As", "Ks", "Qs", "Js", "Ts", "4d", "2c"]
SAID = "#cards-said"


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    """The pages with one more, which holds nothing but a picker."""
    templates = make_templates()
    only = APIRouter()

    @only.get("/pick")
    async def pick(cards: str = "") -> HTMLResponse:
        return HTMLResponse(templates.from_string(FORM).render(paytable_id="progressive-4", cards=cards))

    with served(house) as running:
        own = paytable_routes(house, templates)
        running.app.router.routes[:0] = [*own.routes, *only.routes]
        yield running


@pytest.fixture
def picker(page: Page, server: Served) -> Page:
    page.goto(server.url + "/pick")
    expect(page.locator(".picker-deck")).to_be_visible()
    return page


def test_seven_cards_picked_by_mouse_are_judged(picker: Page) -> None:
    for name in ROYAL:
        picker.locator(f'[data-card="{name}"]').click()
    expect(picker.locator(SAID)).to_have_text("Royal flush (As Ks Qs Js Ts)")
    expect(picker.locator("input[name=cards]")).to_have_value("As Ks Qs Js Ts 4d 2c")


def test_seven_cards_picked_by_keyboard_are_judged(picker: Page) -> None:
    """From the ace of spades: four to the right, then down to the diamonds and the clubs; no mouse."""
    picker.locator("input[name=cards]").focus()
    picker.keyboard.press("Tab")
    picker.keyboard.press("Tab")
    picker.keyboard.press("Space")
    for _ in range(4):
        picker.keyboard.press("ArrowRight")
        picker.keyboard.press("Space")
    for key in ("ArrowDown", "ArrowDown", "End", "ArrowLeft", "ArrowLeft", "Enter"):  # the four of diamonds
        picker.keyboard.press(key)
    for key in ("ArrowDown", "End", "Enter"):  # the two of clubs
        picker.keyboard.press(key)
    expect(picker.locator("input[name=cards]")).to_have_value("As Ks Qs Js Ts 4d 2c")
    expect(picker.locator(SAID)).to_have_text("Royal flush (As Ks Qs Js Ts)")


def test_the_joker_is_reached_below_the_clubs(picker: Page) -> None:
    picker.locator('[data-card="9c"]').focus()
    picker.keyboard.press("ArrowDown")
    picker.keyboard.press("Space")
    expect(picker.locator("input[name=cards]")).to_have_value("Jo")


def test_a_card_picked_again_is_taken_back(picker: Page) -> None:
    picker.locator('[data-card="As"]').click()
    picker.locator('[data-card="Kd"]').click()
    picker.locator('[data-card="As"]').click()
    expect(picker.locator("input[name=cards]")).to_have_value("Kd")
    expect(picker.locator(SAID)).to_have_text("1 of 7 cards")


def test_an_eighth_card_is_not_taken(picker: Page) -> None:
    for name in [*ROYAL, "3c"]:
        picker.locator(f'[data-card="{name}"]').click()
    expect(picker.locator("input[name=cards]")).to_have_value("As Ks Qs Js Ts 4d 2c")
    expect(picker.locator(SAID)).to_have_text("Seven cards are chosen: take one back first.")


def test_typed_cards_stand_pressed_in_the_deck_and_are_judged(picker: Page) -> None:
    picker.locator("input[name=cards]").fill("As Ad Ah Ac Jo 4d 2c")
    expect(picker.locator(SAID)).to_have_text(re.compile("^Five aces "))
    pressed = picker.locator('[aria-pressed="true"]')
    assert sorted(str(each.get_attribute("data-card")) for each in pressed.all()) == [
        "2c", "4d", "Ac", "Ad", "Ah", "As", "Jo"]  # fmt: skip


def test_a_wrong_card_is_named_with_what_to_write(picker: Page) -> None:
    picker.locator("input[name=cards]").fill("As Ks Qs Js 10s 4d 2c")
    expect(picker.locator(SAID)).to_have_text(
        '"10s" is not a card; did you mean Ts?: write seven cards like As Kd Th 2c Jo'
    )


def test_cards_of_no_row_are_told(picker: Page) -> None:
    picker.locator("input[name=cards]").fill("As Kd Jh 9c 7s 5d 3h")
    expect(picker.locator(SAID)).to_have_text("No row of the paytable")


def test_all_cards_are_taken_back_at_once(picker: Page) -> None:
    picker.locator('[data-card="As"]').click()
    picker.get_by_role("button", name="Take all back").click()
    expect(picker.locator('[aria-pressed="true"]')).to_have_count(0)


def test_cards_that_were_sent_before_stand_there_again(page: Page, server: Served) -> None:
    page.goto(server.url + "/pick?cards=As+Ad+Ah+Ac+Jo+4d+2c")
    expect(page.locator(SAID)).to_have_text(re.compile("^Five aces "))


def test_a_picker_without_answer_says_so(picker: Page, server: Served) -> None:
    server.stop()
    picker.locator("input[name=cards]").fill("As Kd Jh 9c 7s 5d 3h")
    expect(picker.locator(SAID)).to_contain_text("No answer from the controller")


@pytest.mark.parametrize("width", [390, 1280])
def test_every_card_is_large_enough_for_a_finger(page: Page, server: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(server.url + "/pick")
    expect(page.locator(".picker-deck")).to_be_visible()
    sizes = [each.bounding_box() for each in page.locator("[data-card]").all()]
    assert len(sizes) == 53
    assert all(size is not None and size["width"] >= 44 and size["height"] >= 44 for size in sizes)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_script_the_cards_are_typed(chromium: Browser, server: Served) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server.url + "/pick")
    expect(page.locator("input[name=cards]")).to_be_visible()
    expect(page.locator(".picker-deck")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(chromium: Browser, server: Served, scheme: str) -> None:
    """WCAG AA: 4.5 to 1, chosen cards too."""
    page = chromium.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(server.url + "/pick?cards=As+Ah+Ad+Ac+Jo+4d+2c")
    expect(page.locator(SAID)).to_have_text(re.compile("^Five aces "))
    assert page.evaluate(CONTRAST) == []
    page.close()
