"""Pictures of every page of a real meterd, for docs/PAGES.md: ``python tests/browser/page_screens.py [FOLDER]``."""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from award_screens import ARGUMENTS, CHROMIUM
from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.test_real_floor import Floorhouse, signed_in

PAGES = {
    "meters": "/meters", "meter": "/meters/pg-link", "alarms": "/alarms", "day": "/day", "reports": "/reports",
    "report": f"/reports/liability?day={datetime.now(UTC).date()}", "people": "/people",
    "configuration": "/configuration", "secret": "/secret", "paytable": "/paytables/progressive-4",
}


def main(folder: Path) -> None:
    """Write one picture of each page into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    house = Floorhouse(Path(tempfile.mkdtemp()))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = signed_in(browser, house, "mona")
            for name, path in PAGES.items():
                page.goto(house.at(path))
                file = folder / f"{name}.png"
                page.screenshot(path=file, full_page=True)
                with Image.open(file) as taken:
                    taken.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)
            browser.close()
    finally:
        house.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"))
