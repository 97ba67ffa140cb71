"""Alarms in a real Chromium: seen, and acknowledged with the keyboard alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from people_house import SECRET, PeopleHouse, PeopleServed
from playwright.sync_api import Page, expect

from controller import watch
from controller.alarm_kinds import FLOOR
from controller.alarms import Alarm, State, alarm_of, alarms_of, raise_alarm
from controller.web.alarm_page import alarm_routes
from controller.web.templates import make_templates

WHAT = "Game 412: 3 chips counted, 4 wagers accepted"


class RingingHouse(PeopleHouse):
    """Four alarms, of which two stop play."""

    def __init__(self) -> None:
        super().__init__()
        at = self.snapshot().at
        for kind, place, what in (
            ("table-offline", "PG-03", "The table unit of PG-03 is not heard"), ("chip-difference", "PG-01", WHAT),
            ("ledger-failing", FLOOR, "No wagers are taken: the disk is full"),
            ("sign-not-reached", "led-1", "Sign led-1 is not reached; it was last told $12,005.61"),
        ):
            raise_alarm(self.first, kind, place, what, at - watch.MINUTE_US)

    def alarms(self) -> list[Alarm]:
        return list(alarms_of(self.first).values())


@pytest.fixture
def ringing(tmp_path: Path) -> Iterator[tuple[RingingHouse, PeopleServed]]:
    house = RingingHouse()
    server = PeopleServed(house, tmp_path)
    if not any(getattr(route, "path", "") == "/alarms" for route in server.app.routes):
        server.app.include_router(alarm_routes(house, make_templates()))
    yield house, server
    server.stop()


def signed_in(page: Page, server: PeopleServed, name: str = "anna") -> None:
    page.goto(f"{server.url}/alarms")
    page.fill("#name", name)
    page.fill("#secret", SECRET)
    page.keyboard.press("Enter")
    page.locator("#waiting").wait_for()


def test_the_worst_alarm_stands_first(page: Page, ringing: tuple[RingingHouse, PeopleServed]) -> None:
    signed_in(page, ringing[1])
    expect(page.locator("#waiting .alarm").first).to_contain_text("The ledger cannot be written")
    expect(page.locator("#waiting .alarm")).to_have_count(4)


def test_an_alarm_is_acknowledged_with_the_keyboard(page: Page, ringing: tuple[RingingHouse, PeopleServed]) -> None:
    house, server = ringing
    signed_in(page, server)
    page.locator("#alarm-chip-difference-PG-01 button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answered")).to_contain_text("Acknowledged by anna")
    alarm = alarm_of(house.first, "chip-difference", "PG-01")
    assert alarm is not None
    assert alarm.state is State.ACKNOWLEDGED


def test_every_button_is_large_enough_to_touch(page: Page, ringing: tuple[RingingHouse, PeopleServed]) -> None:
    signed_in(page, ringing[1])
    boxes = [button.bounding_box() for button in page.locator(".alarm button").all()]
    assert boxes
    assert all(box is not None and box["height"] >= 44 and box["width"] >= 44 for box in boxes)


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_page(page: Page, ringing: tuple[RingingHouse, PeopleServed], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    signed_in(page, ringing[1])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
