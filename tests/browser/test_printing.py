"""Slips at a printer in a real Chromium: the button, what comes out, what a person reads when nothing does."""

from pathlib import Path

from award_screens import Pages, opened_game, sign_in
from awards_house import AwardsHouse
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from printer_house import paper
from test_slip_escpos import printed_text

from controller.wiring import PrinterPlan

GAME = "/awards/PG-01/1"
FLASH = ".flash"


def test_a_slip_is_printed_by_a_button_and_printed_again_as_a_reprint(page: Page, tmp_path: Path) -> None:
    with paper() as (plan, out):
        cage = PrinterPlan("cage", "Cage", tmp_path / "none" / "printer")
        pages = Pages(opened_game(AwardsHouse(tmp_path, printers=(plan, cage))), tmp_path)
        try:
            sign_in(page, pages, "anna", GAME)
            page.get_by_role("button", name="Print at Pit 1").click()
            expect(page.locator(FLASH)).to_have_text(
                "Slip demo-000001 is printed at Pit 1. Look that the strip is whole.")
            page.get_by_role("button", name="Print again at Cage").click()
            expect(page.locator(FLASH)).to_contain_text("Not printed: slip 1 at Cage: No such file or directory")
            expect(page.locator(FLASH)).to_contain_text("The next one will say REPRINT 2.")
            page.get_by_role("button", name="Print again at Pit 1").click()
            expect(page.locator(FLASH)).to_contain_text("It says REPRINT 2.")
        finally:
            pages.stop()
        first, second = [printed_text(slip) for slip in out.slips(2)]
    assert ("REPRINT" in first, "REPRINT 2" in second) == (False, True)


def test_the_buttons_keep_nobody_out(page: Page, tmp_path: Path) -> None:
    """WCAG AA by axe-core, with a printer's long name on a narrow screen."""
    printers = [PrinterPlan(f"p{number}", f"High limit room, desk {number}", tmp_path / f"{number}.prn")
                for number in (1, 2)]
    pages = Pages(opened_game(AwardsHouse(tmp_path, printers=printers)), tmp_path)
    try:
        page.set_viewport_size({"width": 360, "height": 760})
        sign_in(page, pages, "anna", GAME)
        expect(page.get_by_role("button", name="Print at High limit room, desk 2")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        wrong = [one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
        assert wrong == []
    finally:
        pages.stop()
