"""A served floor with awards for browser tests; ``python tests/browser/award_screens.py [FOLDER]`` takes pictures."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from awards_house import AwardsHouse, mount_awards, plan_with
from desk_house import ANNA, BEN, CARL
from people_house import SECRET, PeopleServed

from controller.web.paytable_page import paytable_routes
from controller.web.templates import make_templates

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
MATCH, ACES, TOP = "royal-flush-royal-match", "five-aces", "7-card-straight-flush"


class Pages(PeopleServed):
    """A running server over a house, with the pages of awards and of paytables."""

    def __init__(self, house: AwardsHouse, folder: Path) -> None:
        super().__init__(house, folder)  # type: ignore[arg-type]
        mount_awards(self.app, house)
        if not any(getattr(route, "path", "") == "/api/v1/classify" for route in self.app.routes):
            self.app.include_router(paytable_routes(house, make_templates()))


def opened_game(house: AwardsHouse) -> AwardsHouse:
    """Game 1 of PG-01: seats 1, 2 and 4 lit, seat 2 wins $7,005.03; closed."""
    house.lock(1, 1, 2, 4)
    house.say("count", 1, chips=3)
    house.hit(1, 2, MATCH)
    house.say("close", 1)
    return house


def sign_in(page: Page, pages: Pages, name: str, path: str = "/awards") -> None:
    """Sign somebody in and come to a page."""
    page.goto(pages.url + path)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Secret").fill(SECRET)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("nav.desk")).to_be_visible()
    page.wait_for_load_state("load")


def busy(folder: Path) -> AwardsHouse:
    """A floor some hours in: awards in every state, a table closed, a difference of the count."""
    made = AwardsHouse(folder, plan_with(release_from="$10,000.00", paper_from="$5,000.00", paper=[
        "Identity checked", "Cards shown to the camera", "Deck counted"]))
    made.lock(1, 1, 3, 6, table="PG-02")
    made.hit(1, 3, TOP, table="PG-02")
    made.say("close", 1, "PG-02")
    made.sign("award-verified", ANNA, table="PG-02", game=1, seat=3)
    made.later(7)
    for number, seat in ((1, 2), (2, 4)):
        made.lock(number, 1, 2, 4)
        made.say("count", number, chips=3)
        made.hit(number, seat, ACES)
        made.say("close", number)
        made.later(3)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("award-paid", BEN, game=1, seat=2, handed="$2,505.00", how="chips")
    made.sign("award-refused", CARL, BEN, game=2, seat=4, reason="the deck had two jokers")
    made.lock(3, 1, 2, 4, 5)
    made.say("count", 3, chips=4)
    made.hit(3, 2, MATCH)
    made.hit(3, 5, "four-of-a-kind")
    made.say("close", 3)
    made.later(4)
    made.lock(4, 1, 6)
    made.say("count", 4, chips=3)
    return made


def picture(browser: Browser, pages: Pages, name: str, path: str, file: Path, *, width: int = 1280, full: bool = True,
            scheme: str = "light") -> None:
    """One picture of one page as one person sees it."""
    page = browser.new_page(viewport={"width": width, "height": 860}, color_scheme=scheme)  # type: ignore[arg-type]
    sign_in(page, pages, name, path)
    page.screenshot(path=file, full_page=full)
    page.close()
    with Image.open(file) as taken:
        taken.convert("RGB").quantize(255, dither=Image.Dither.NONE).save(file, optimize=True)


def main(folder: Path) -> None:
    """Write the pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp())
    pages = Pages(busy(place), place)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        picture(browser, pages, "anna", "/awards", folder / "awards.png")
        picture(browser, pages, "anna", "/awards/PG-01/3", folder / "game.png")
        picture(browser, pages, "carl", "/tables/PG-01", folder / "table.png")
        browser.close()
    pages.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"))
