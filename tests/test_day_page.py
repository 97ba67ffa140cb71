"""The page of the gaming day: what is open, holds in force with their own lift form, what was done in every book."""

import asyncio
import html
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest
from awards_house import AwardsHouse, awards_app
from desk_house import ANNA, CARL, DORA
from fastapi.testclient import TestClient
from people_house import BROWSER, Screen

from controller import desk
from controller.acts import Act, Acted, read_act
from controller.alarms import Alarm, alarms_of, raise_alarm
from controller.day_log import DayAct, DayOpen, read_day_acts, read_day_open
from controller.ledger.day_end import read_day_end
from controller.ledger.ranges import Stretches
from controller.ledger.reader import Reader, tell_act
from controller.taken import DayEnd
from controller.whole_floor import act_everywhere
from tests.books_house import BooksHouse
from tests.ledger_house import AT
from tests.test_config_books import PLAN as TWO_BOOKS
from tests.test_day_books import closing, over, yesterday

TOP = "7-card-straight-flush"


class DayHouse(AwardsHouse):
    """A ``DaySource``: everything that the page says is read from the ledger."""

    def _do(self, asked: Act) -> Acted:
        closed = self.floor.rows.get("day", {}).get("closed")

        def ended(day: date) -> DayEnd | None:
            return read_day_end(self.path, Stretches(), "main", day, closed, self.at,
                                lambda since: self.reader.games_owing("main", since))

        with self._guard:
            tell_act(self.floor, asked, self.reader.recall_act,
                     lambda table, game: self.reader.recall_game("main", table, game), ended,
                     lambda: self.reader.games_owing("main"))
            acted = desk.act(self.floor, asked, self.at)
            self._write()
        self.tell(self._made())
        return acted

    async def day_acts(self) -> Sequence[DayAct]:
        return await asyncio.to_thread(read_day_acts, self.reader, self.plan.books)

    async def day_open(self) -> DayOpen:
        return await asyncio.to_thread(read_day_open, self.reader, self.plan)

    def alarms(self) -> Sequence[Alarm]:
        return tuple(alarms_of(self.floor).values())


@pytest.fixture
def house(tmp_path: Path) -> DayHouse:
    return DayHouse(tmp_path)


@pytest.fixture
def client(house: DayHouse, tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(awards_app(house, tmp_path), follow_redirects=False, client=("127.0.0.1", 50_000)) as made:
        yield made


def page(client: TestClient, name: str) -> str:
    screen = Screen(client)
    screen.sign_in(name)
    return str(client.get("/day", headers=BROWSER).text)


def words(text: str, part: str) -> str:
    """What a section says, by its id or the name of its form, without marks."""
    found = re.search(rf'<section class="card"[^>]*(?:id|aria-label)="{part}".*?</section>', text, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found[0] if found else "")).split())


def test_who_hands_over_the_shift_sees_each_open_award_envy_and_alarm_above_the_form(
    house: DayHouse, client: TestClient
) -> None:
    house.lock(1, 3, 5)
    house.hit(1, 3, TOP)
    house.say("close", 1)
    house.sign("award-verified", ANNA, game=1, seat=3)
    house.change(lambda floor, at: raise_alarm(floor, "table-offline", "PG-02", "not heard since 17:00", at))
    text = page(client, "carl")
    for part in ("open", "Hand over the shift"):
        said = words(text, part)
        assert "Awards that are not paid: 1, $15,005.10 " in said
        assert "PG-01 1 3 progressive verified $15,005.10" in said
        assert "PG-01 1 3 5 pending $" in said
        assert "table PG-02, raised: not heard since 17:00" in said
    assert words(text, "Hand over the shift").index("not heard") < words(text, "Hand over the shift").index("Secret")
    assert "PG-01 1 3 progressive verified" in words(page(client, "fay"), "open"), "also for who signs nothing"


def test_the_form_asks_for_the_next_day_to_close_and_only_when_it_is_over(
    house: DayHouse, client: TestClient
) -> None:
    text = page(client, "dora")
    assert "The gaming day 2026-12-01 is not over." in words(text, "state")
    assert words(text, "Close the gaming day") == ""
    house.later(3 * 24 * 60)
    text = page(client, "dora")
    assert "To be closed next: 2026-12-01." in words(text, "state")
    assert 'name="day" value="2026-12-01"' in text
    house.sign("day-closed", DORA, day="2026-12-01")
    text = page(client, "dora")
    assert "Closed up to 2026-12-01, by dora. To be closed next: 2026-12-02." in words(text, "state")
    assert 'name="day" value="2026-12-02"' in text
    assert "2026-12-01; carried over: no awards, no amounts of envy, no counts that differ, no alarms" \
        in words(text, "done")


def test_each_legal_hold_in_force_stands_on_the_page_with_its_own_form_to_lift_it(
    house: DayHouse, client: TestClient
) -> None:
    assert words(page(client, "carl"), "holds") == "Legal holds in force None"
    house.sign("hold-set", CARL, id="case-17", reason="a player disputes game 41")
    house.sign("hold-set", CARL, id="case-18", reason="the regulator asks")
    text = page(client, "carl")
    assert "case-17 a player disputes game 41. Set by carl (shift-manager, table-games), 17:00:00" in words(
        text, "holds")
    assert re.findall(r'name="id" value="([^"]*)"', text) == ["case-17", "case-18"]
    assert text.count('action="/acts/hold-lifted"') == 2
    said = words(page(client, "fay"), "holds")
    assert "case-18" in said and "Lift" not in said
    house.sign("hold-lifted", CARL, DORA, id="case-17", reason="settled")
    assert "case-17" not in words(page(client, "carl"), "holds")


async def test_what_was_done_in_every_book_stands_on_the_page(tmp_path: Path) -> None:
    """A sign of the second book's meter is read: before, only the first book was looked at."""
    path = yesterday(tmp_path / "two.db", TWO_BOOKS)
    async with BooksHouse(path, TWO_BOOKS) as house:
        await house.books.act("solo", read_act("sign-read", "read-0001", {"meter": "pg-solo", "read": "$1.00"}, ANNA))
        await house.books.act("main", read_act("hold-set", "hold-0001", {"id": "case", "reason": "asked"}, CARL))
        await act_everywhere(house.books, closing("closing-1"))
        await act_everywhere(house.books, over("over-0001"))
    reader = Reader(path)
    acts = read_day_acts(reader, TWO_BOOKS.books)
    found = {(one.book, one.title) for one in acts}
    assert {("solo", "Enter what a sign shows"), ("main", "Set a legal hold"), ("solo", "Hand over the shift"),
            ("main", "Hand over the shift"), ("solo", "Close the gaming day"),
            ("main", "Close the gaming day")} <= found
    assert read_day_open(reader, TWO_BOOKS).closing == TWO_BOOKS.gaming_day(AT)
    assert [one.at for one in acts] == [AT] * len(acts)
    reader.close()
