"""The pages of meters over a real ledger: the floor of ``meter_house``, people at its desk, and a browser's screen."""

import asyncio
import html
import re
from pathlib import Path
from typing import Any

from awards_house import AwardsHouse
from meter_house import meter_plan
from people_house import BROWSER, SECRET, Screen, people_app

from controller.acts import Act
from controller.board_reader import read_board
from controller.ledger.curve import Curve, read_curve
from controller.ledger.writer import Batch, open_writer
from controller.meter_file import MeterFile, MetersDue, read_due, read_meter, try_act
from controller.outcome import Outcome
from controller.plan import FloorPlan
from controller.web.curve_page import curve_routes
from controller.web.meter_pages import meter_routes
from controller.web.templates import make_templates


class MetersHouse(AwardsHouse):
    """A ``MeterSource``: everything that the pages say is read from the ledger."""

    def __init__(self, folder: Path, plan: FloorPlan | None = None) -> None:
        super().__init__(folder, plan or meter_plan(reserve_to_house=True, seed_recovery=True))

    def wager(self, times: int, table: str = "PG-01", first: int = 1) -> None:
        """So many games of one wager, each ended."""
        for number in range(first, first + times):
            self.lock(number, 1, table=table)
            self.say("close", number, table)

    def configure(self, plan: FloorPlan) -> None:
        """Another configuration acts from here on."""
        self.plan = plan
        self.floor.configure(plan, self.at)
        entries, states = self.floor.drain()
        writer = open_writer(self.path, self.reader.heads())
        writer.write([Batch("main", entries, states)])
        writer.close()
        self.board = read_board(self.reader, plan)
        self.tell(self._made())

    async def meters_due(self) -> MetersDue:
        return await asyncio.to_thread(read_due, self.reader, self.plan)

    async def meter_file(self, meter: str) -> MeterFile:
        return await asyncio.to_thread(read_meter, self.reader, self.plan, meter)

    async def meter_curve(self, meter: str, start: int, end: int) -> Curve:
        return await asyncio.to_thread(read_curve, self.path, "main", meter, start, end)

    async def meter_trial(self, act: Act) -> Outcome:
        return await asyncio.to_thread(try_act, self.reader, self.plan, act, self.at)


def meters_app(house: MetersHouse, folder: Path) -> Any:
    """The application over a house, with the pages of meters."""
    app = people_app(house, folder)  # type: ignore[arg-type]
    if not any(getattr(route, "path", "") == "/meters" for route in app.routes):
        app.include_router(meter_routes(house, make_templates()))
        app.include_router(curve_routes(house, make_templates()))
    return app


class MeterScreen(Screen):
    """Somebody at the pages of meters."""

    def page(self, path: str = "/meters") -> str:
        """A page as text."""
        return str(self.client.get(path, headers=BROWSER).text)

    def words(self, path: str = "/meters", part: str = "main") -> str:
        """What a part of a page says, without marks: ``part`` is an id or ``main``."""
        return plain(part_of(self.page(path), part))

    def ask(self, meter: str, kind: str, **fields: str) -> Any:
        """Fill in a form of a meter's page."""
        form = {"csrf": self.csrf, "kind": kind, **fields}
        return self.client.post(f"/meters/{meter}/confirm", data=form, headers=self.origin | BROWSER)

    def book(self, repeated: str, second: str = "") -> str:
        """Send the form of the page that repeats a change as it stands, with a second person; what is told then."""
        form = re.search(r'<form class="act" method="post" action="(/acts/[^"]+)".*?</form>', repeated, re.S)
        assert form is not None, plain(repeated)
        fields = {name: html.unescape(value)
                  for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0])}
        if second:
            fields |= {"second_name": second, "second_secret": SECRET}
        answer = self.client.post(form[1], data=fields, headers=self.origin | BROWSER)
        assert answer.status_code == 303, answer.text
        back = self.page(answer.headers["location"])
        found = re.search(r'class="flash[^>]*>(.*?)</p>', back, re.S)
        return html.unescape(found[1]) if found else ""


def part_of(page: str, part: str) -> str:
    """The section or list item with an id, or the main part."""
    if part == "main":
        return page.partition("<main")[2]
    found = re.search(rf'<(section|li|table|p|h1)[^>]* id="{re.escape(part)}".*?</\1>', page, re.S)
    return found[0] if found else ""


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
