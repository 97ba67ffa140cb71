"""SD-09: ten thousand alarms that come and go. What they write, keep, say and show is bounded; what stands is not lost.

Time is the test's own: a flood of hours runs in seconds, with every flap in it.
"""

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from demo_snapshot import SECOND, sign_plan
from fastapi.testclient import TestClient
from people_house import BROWSER, Screen, people_app
from test_alarm_page import AlarmHouse
from watch_house import WatchHouse, live, silent

from controller.alarm_kinds import ALARMS, Place
from controller.alarm_out import AlarmOut
from controller.alarm_plan import AlarmPlan
from controller.alarm_way import WAITING_MAX, Way
from controller.alarms import State
from controller.log import BURST, BURST_OF_ALL, MergeRepeats
from controller.snapshot import SignHealth
from controller.watch import LOSSES, Told
from controller.watcher import AGAIN_US, News

FLOOD = 10_000
HOUR_US = 3_600 * SECOND
ENTRIES_AN_HOUR = 20
"""What docs/ALARMS.md promises of one alarm that comes and goes."""


@pytest.fixture
def house() -> WatchHouse:
    return WatchHouse()


def jump(house: WatchHouse, seconds: float, **changes: object) -> None:
    """One look, so much later."""
    house.shelf.at += int(seconds * SECOND)
    house.change(at=house.shelf.at, **changes)
    house.watcher.look(house.snapshot, house.told, house.shelf.at)


def gone(house: WatchHouse, seconds: float = 0, table: str = "PG-01") -> None:
    """The unit of a table was last heard now, and some seconds go by."""
    since = house.shelf.at
    jump(house, 1, devices=silent(house.snapshot, table, since))
    if seconds:
        jump(house, seconds)


def back(house: WatchHouse, seconds: float = 1) -> None:
    jump(house, seconds, devices=live(house.snapshot))


def hours(house: WatchHouse, began: int) -> float:
    return max(1.0, (house.shelf.at - began) / HOUR_US)


def kept(house: WatchHouse) -> int:
    """The largest collection that the watcher holds, and its view of lately."""
    held = [*vars(house.watcher).values(), *vars(house.watcher._spans).values()]
    return max(len(one) for one in held if isinstance(one, dict | list))


# ---------------------------------------------------------------------- one thing, ten thousand times


@pytest.mark.parametrize(("away", "here", "times"), [
    (2, 2, FLOOD), (12, 2, FLOOD), (65, 5, FLOOD), (65, 540, FLOOD // 10), (65, 601, FLOOD // 10)])
def test_ten_thousand_losses_of_a_table_unit_make_twenty_entries_an_hour_at_most(
    house: WatchHouse, away: int, here: int, times: int
) -> None:
    """Silences too short to ring, long ones, and (a thousand, for days) those just within and beyond what is damped."""
    began = house.shelf.at
    for _ in range(times):
        gone(house, away)
        back(house, here)
    gone(house, 61)
    made = len(house.entered("table-offline"))
    print(f"{made} entries in {hours(house, began):.1f} h")
    assert made <= ENTRIES_AN_HOUR * hours(house, began)
    assert (house.standing(), len(house.kept())) == ({"table-offline/PG-01"}, 1)


def test_a_unit_that_comes_and_goes_rings_though_it_is_never_silent_for_a_minute(house: WatchHouse) -> None:
    """A loose cable: dark for twelve seconds of every fourteen, all night, and each time too short to ring."""
    back(house)
    for _ in range(LOSSES - 1):
        gone(house, 11)
        back(house, 2)
    before = house.standing()
    gone(house, 11)
    alarm = house.alarm("table-offline", "PG-01")
    assert (before, alarm and alarm.what) == (set(), "The table unit of PG-01 was lost 6 times in 10 minutes")


def test_a_unit_that_comes_and_goes_is_told_on_like_a_break(house: WatchHouse) -> None:
    for _ in range(150):
        gone(house, 11)
        back(house, 2)
    assert house.steps("table-offline") == ["raised", "escalated", "escalated"]


def test_a_unit_that_came_and_went_is_well_when_it_was_heard_for_five_minutes(house: WatchHouse) -> None:
    """Before the shift manager is told of what is over."""
    for _ in range(LOSSES + 2):
        gone(house, 11)
        back(house, 2)
    house.look(280)
    before = house.steps("table-offline")
    house.look(10)
    alarm = house.alarm("table-offline", "PG-01")
    assert alarm is not None
    assert (before, house.steps("table-offline"), alarm.state) == (["raised"], ["raised", "cleared"], State.GONE)


def test_a_unit_that_came_and_went_and_then_stays_dark_is_one_alarm(house: WatchHouse) -> None:
    for _ in range(LOSSES + 2):
        gone(house, 11)
        back(house, 2)
    gone(house)
    house.look(1_900)
    assert house.steps("table-offline") == ["raised", "escalated", "escalated"]


def test_a_closed_table_may_come_and_go(house: WatchHouse) -> None:
    tables = {**house.snapshot.tables, "PG-01": replace(house.snapshot.tables["PG-01"], closed=True)}
    house.change(tables=tables)
    for _ in range(LOSSES * 2):
        gone(house, 11)
        back(house, 2)
    assert house.standing() == set()


def test_ten_thousand_differences_of_the_count_are_one_alarm_that_says_how_many(house: WatchHouse) -> None:
    began = house.shelf.at
    for number in range(FLOOD):
        house.happens("count", {"message": {"chips": number % 7}, "accepted": 9, "difference": number % 7 - 9})
        jump(house, 0.25)
    jump(house, 60)
    alarm = house.alarm("chip-difference", "PG-01")
    minutes = (house.shelf.at - began) // AGAIN_US + 1
    print(f"{len(house.entered())} entries for {FLOOD} differences in {minutes} minutes")
    assert alarm is not None
    assert (alarm.count, house.entered().count("raised") <= minutes, len(house.entered()) <= minutes + 2) == (
        FLOOD, True, True)


def test_ten_thousand_differences_over_restarts_are_no_more_entries_and_none_is_forgotten(house: WatchHouse) -> None:
    """A restart forgets when it last counted: it may count once more at once, and no more than that."""
    for number in range(FLOOD):
        house.happens("count", {"message": {"chips": 1}, "accepted": 2, "difference": -1})
        jump(house, 0.05)
        if number % 1_000 == 999:
            house.restart()
    minutes = FLOOD * 0.05 / 60 + 1
    assert house.standing() == {"chip-difference/PG-01"}
    assert len(house.entered()) <= minutes + FLOOD // 1_000


# ---------------------------------------------------------------------- everything at once


class Deaf:
    """A way out that hangs until the end."""

    name = "deaf"

    def __init__(self) -> None:
        self.let = threading.Event()

    def send(self, site: str, environment: str, news: News) -> None:
        self.let.wait(30)


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    made = Deaf()
    yield made
    made.let.set()


class Storm(WatchHouse):
    """Signs, units and messages that come and go at random, told to a broker that is down and a way that hangs."""

    def __init__(self, seed: int, deaf: Deaf) -> None:
        super().__init__(signs=(sign_plan("led-1", None, ("pg-link",)),))
        self.random = Random(seed)
        self.lines = 0
        self.merge = MergeRepeats(lambda: self.shelf.at / SECOND)
        self.out = AlarmOut(AlarmPlan(), "demo", "", lambda *_: False)
        self.out.ways = [Way(deaf, "demo", "")]
        self.watcher = self._watcher()
        self.watcher._tell = self._hear

    def _hear(self, news: News) -> None:
        self.news.append(news)
        self.out.tell(news)

    def filter(self, record: logging.LogRecord) -> bool:
        """Counts the lines that the daemon's own merger lets through."""
        self.lines += self.merge.filter(record)
        return False

    def gust(self) -> None:
        """Something goes, comes, or happens."""
        draw = self.random
        table = draw.choice(sorted(self.snapshot.tables))
        sign = f"led-{draw.randrange(13)}"
        what = draw.randrange(5)
        if what == 0:
            self.change(devices=silent(self.snapshot, table, self.shelf.at))
        elif what == 1:
            self.change(devices=live(self.snapshot))
        elif what == 2:
            up = draw.random() < 0.5
            self.change(signs={**self.snapshot.signs, sign: SignHealth(sign, "alpha", up, "", 0)})
        elif what == 3:
            self.told = Told(clock_synchronised=draw.random() < 0.5, slow_commits=draw.randrange(6))
        else:
            kind, body = draw.choice([
                ("count", {"message": {"chips": 3}, "accepted": 4, "difference": -1}),
                ("void", {"message": {"type": "void", "reason": "exposed"}}),
                ("refused", {"message": {"type": "lock"}, "reason": "wrong-wager"})])
            self.happens(kind, body, table=table)
        jump(self, draw.choice((0.1, 1, 5, 12, 70)))
        self.out.look(self.watcher.alarms(), self.shelf.at)


@pytest.fixture
def storm(deaf: Deaf) -> Iterator[Storm]:
    seed = 20_261_201
    print(f"seed {seed}")
    made = Storm(seed, deaf)
    log = logging.getLogger("meterd.alarm")
    log.addFilter(made)
    yield made
    log.removeFilter(made)
    deaf.let.set()
    made.out.end()


def test_in_a_storm_of_ten_thousand_everything_is_bounded_and_what_stands_at_the_end_is_known(storm: Storm) -> None:
    began = storm.shelf.at
    for _ in range(FLOOD):
        storm.gust()
    storm.look(90)
    places = len(storm.watcher.alarms())
    spent = hours(storm, began)
    waits = storm.out.ways[0]._waiting.qsize(), len(storm.out._unpublished)
    made = len(storm.entered())
    print(f"{made} entries, {len(storm.news)} steps, {storm.lines} lines in {spent:.0f} h, {places} places")
    assert places == len(storm.kept()) <= len(ALARMS) * (len(storm.snapshot.tables) + 13)
    assert made <= places * spent * 60
    assert (max(waits), kept(storm) <= places + 13) == (WAITING_MAX, True)
    assert storm.lines <= spent * 60 * (3 * BURST_OF_ALL + places * BURST)
    dark = {f"table-offline/{one.table}" for one in storm.snapshot.devices.values() if one.state.value != "live"}
    down = {f"sign-not-reached/{one.sign}" for one in storm.snapshot.signs.values() if not one.up}
    assert dark | down <= storm.standing()


def test_in_a_storm_the_latest_steps_are_those_that_wait(storm: Storm) -> None:
    for _ in range(FLOOD // 10):
        storm.gust()
    assert [news for news, _ in storm.out._unpublished] == storm.news[-WAITING_MAX:]


# ---------------------------------------------------------------------- the page


def test_the_page_does_not_grow_with_how_often_something_rang(tmp_path: Path) -> None:
    """Every kind at each of its places, once and then a hundred times more each: all that is added is how often."""
    house = AlarmHouse()
    plan = house.snapshot().plan
    places = {Place.TABLE: list(plan.tables), Place.METER: list(plan.meters), Place.SIGN: ["led-1"],
              Place.FLOOR: ["floor"]}
    rung = [(kind.name, place) for kind in ALARMS.values() for place in places[kind.place]]
    with TestClient(people_app(house, tmp_path), follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        Screen(client).sign_in("anna")
        sizes = []
        for _ in range(2):
            for kind, place in rung * (1 if not sizes else 100):
                house.ring(kind, place)
            sizes.append([len(client.get(path, headers=BROWSER).text) for path in ("/alarms", "/api/v1/alarms", "/")])
    print(f"{len(rung)} alarms: pages of {sizes} letters")
    assert max(after - before for before, after in zip(*sizes, strict=True)) <= 50 * len(rung)
