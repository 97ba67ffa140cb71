"""Takes the README's pictures: ``python tests/browser/pictures.py [FOLDER]`` writes floor.png and sign.png."""

import sys
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from demo_snapshot import NOW, SECOND, busy_snapshot, quiet_snapshot
from web_house import House, served

from controller.snapshot import Snapshot

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def take(browser: Browser, snapshot: Snapshot, path: str, picture: Path, width: int, height: int, scheme: str) -> None:
    """One picture of one page once it is live."""
    with served(House(snapshot)) as server:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(server.url + path)
        page.wait_for_selector('html[data-live="live"]')
        page.screenshot(path=picture)
        page.close()


def main(folder: Path) -> None:
    """Write both pictures into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        take(browser, busy_snapshot(), "/", folder / "floor.png", 1920, 1080, "light")
        quiet = replace(quiet_snapshot(), at=NOW + 60 * SECOND)
        take(browser, quiet, "/sign/kiosk-1", folder / "sign.png", 1920, 1080, "dark")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"))
