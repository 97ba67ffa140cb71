"""D28: a configuration with dates is previewed in the floor's local time, and acts exactly when the preview says.

A promotion kiosk's start time was set wrong elsewhere, and nobody saw it before it acted. Here what is shown is read
back, and held against what the engine does at that instant and just before it, on the nights when the clocks change.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from engine import Engine
from fastapi.testclient import TestClient
from floors import contract_floor, plan_of
from people_house import BROWSER, CARLA, EMIL, PeopleHouse, Screen, people_app
from test_words_doc import found_in

from controller import desk
from controller.acts import read_act
from controller.config_times import dated_paytables, local_time, preview
from controller.floor import Floor
from controller.gaming_day import gaming_day, microseconds
from controller.plan import FloorPlan
from controller.web.config_pages import config_routes
from controller.web.templates import make_templates

NEW_YORK, BERLIN, LORD_HOWE = (ZoneInfo(name) for name in ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe"))
SPRING, AUTUMN = date(2026, 3, 8), date(2026, 11, 1)
"""The nights of change in New York."""
STARTS = ("00:00", "01:30", "02:00", "02:30", "03:00", "06:00")
WRITTEN = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \S+, UTC([+-]\d\d:\d\d)"


def utc(text: str) -> int:
    """UTC microseconds of a written time."""
    return microseconds(datetime.fromisoformat(text).replace(tzinfo=UTC))


def shown_at(line: str) -> list[int]:
    """The instants (UTC microseconds) that a reader of a line understands."""
    return [microseconds(datetime.fromisoformat(f"{local}{offset}")) for local, offset in re.findall(WRITTEN, line)]


def plan_for(start: str = "06:00", zone: str = "America/New_York", sheet: dict[str, Any] | None = None,
             **site: Any) -> FloorPlan:
    """The contract's floor by another clock; ``sheet``: keys of paytable 1, which table PG-03 plays."""
    floor, paytables = contract_floor()
    floor["site"].update(timezone=zone, gaming_day_start=start, **site)
    paytables["progressive-1"].update(sheet or {})
    return plan_of((floor, paytables))


def taken(plan: FloorPlan, at: int) -> str:
    """What the engine says to a wager on paytable 1 at an instant: ``posted``, or why not."""
    wager = (b'{"v":1,"type":"lock","device":"hub-03","boot":"b1","seq":1,"round":1,'
             b'"wagers":[{"seat":1,"spot":"progressive","cents":100}]}')
    (answer,) = Engine(plan, at).take(wager)
    return str(answer.get("reason", answer["result"]))


# ---------------------------------------------------------------------- shown, and used


@pytest.mark.parametrize("night", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("start", STARTS)
def test_d28_a_paytable_with_dates_is_played_exactly_when_the_preview_says_on_the_nights_of_change(
    start: str, night: date
) -> None:
    """D28. From the first instant of its first gaming day to the last of its last, 23, 24 or 25 hours later."""
    plan = plan_for(start, sheet={"valid_from": night.isoformat(), "valid_to": night.isoformat()})
    (line,) = dated_paytables(plan, utc("2026-01-01"))
    begins, ends = shown_at(line)
    assert [taken(plan, at) for at in (begins - 1, begins, ends - 1, ends)] == [
        "paytable-not-valid", "posted", "posted", "paytable-not-valid"]


@pytest.mark.parametrize(("start", "night", "shown"), [
    ("02:30", SPRING, "from 2026-03-08 03:00:00 EDT, UTC-04:00 until 2026-03-09 02:30:00 EDT, UTC-04:00"),
    ("01:30", AUTUMN, "from 2026-11-01 01:30:00 EDT, UTC-04:00 until 2026-11-02 01:30:00 EST, UTC-05:00"),
    ("00:00", AUTUMN, "from 2026-11-01 00:00:00 EDT, UTC-04:00 until 2026-11-02 00:00:00 EST, UTC-05:00"),
    ("06:00", AUTUMN, "from 2026-11-01 06:00:00 EST, UTC-05:00 until 2026-11-02 06:00:00 EST, UTC-05:00"),
])
def test_d28_the_preview_is_what_the_clock_on_the_wall_will_show(start: str, night: date, shown: str) -> None:
    """D28. A start that the clocks skip is the instant of the skip; one that they show twice is the first."""
    plan = plan_for(start, sheet={"valid_from": night.isoformat(), "valid_to": night.isoformat()})
    assert dated_paytables(plan, utc("2026-01-01")) == [f"Paytable progressive-1 is played {shown}; now it is not"]


def test_d28_the_hour_that_comes_twice_is_told_apart() -> None:
    first, second = local_time(NEW_YORK, utc("2026-11-01T05:30")), local_time(NEW_YORK, utc("2026-11-01T06:30"))
    assert (first, second) == ("2026-11-01 01:30:00 EDT, UTC-04:00", "2026-11-01 01:30:00 EST, UTC-05:00")


@pytest.mark.parametrize(("zone", "night", "words"), [
    (NEW_YORK, date(2026, 10, 31), "25 hours"), (NEW_YORK, date(2026, 3, 7), "23 hours"),
    (NEW_YORK, date(2026, 7, 1), "24 hours"), (BERLIN, date(2026, 10, 24), "25 hours"),
    (LORD_HOWE, date(2026, 4, 4), "24 hours 30 minutes"), (LORD_HOWE, date(2026, 10, 3), "23 hours 30 minutes")])
def test_d28_a_gaming_day_is_previewed_with_both_its_ends_and_its_length(
    zone: ZoneInfo, night: date, words: str
) -> None:
    plan = plan_for("06:00", zone.key)
    day = gaming_day(zone, time(6), night)
    line = preview(plan, day.start)[1]
    assert (shown_at(line), line.endswith(words)) == ([day.start, day.end], True), line


@pytest.mark.parametrize("at", ["2026-06-01T12:00", "2026-12-01T12:00"])
def test_d28_the_next_change_of_the_clocks_is_told_half_a_year_before(at: str) -> None:
    lines = [line for line in preview(plan_for(), utc(at)) if line.startswith("The clocks change")]
    night = "2026-10-31" if "06-01" in at else "2027-03-13"
    assert [line.split(":")[0] for line in lines] == [f"The clocks change in gaming day {night}"]


def test_d28_where_no_clock_ever_changes_nothing_of_it_is_told() -> None:
    lines = preview(plan_for(zone="America/Phoenix"), utc("2026-06-01T12:00"))
    assert not any("clocks change" in line for line in lines)


def test_d28_shifts_are_previewed_on_the_night_of_change() -> None:
    """The night shift of the autumn night has nine hours."""
    plan = plan_for(shifts=["06:00", "14:00", "22:00"])
    lines = [line for line in preview(plan, utc("2026-11-01T03:00")) if line.startswith("Shift")]
    assert [shown_at(line)[0] for line in lines] == [utc(f"2026-{on}:00") for on in (
        "10-31T10", "10-31T18", "11-01T02")]


@pytest.mark.parametrize(("start", "zone", "at", "words"), [
    ("08:00", "America/New_York", "2026-11-01T12:30", "Now it is gaming day 2026-11-01; it would be 2026-10-31"),
    ("06:00", "America/Los_Angeles", "2026-11-01T12:30", "Now it is gaming day 2026-11-01; it would be 2026-10-31"),
    ("05:00", "America/New_York", "2026-11-01T10:30", "Now it is gaming day 2026-10-31; it would be 2026-11-01")])
def test_d28_who_would_make_today_another_day_is_told_before_it_acts(
    start: str, zone: str, at: str, words: str
) -> None:
    """D28. A start or a zone that is set wrong moves today: it is said in the preview, not found in the reports."""
    assert words in preview(plan_for(start, zone), utc(at), plan_for())


# ---------------------------------------------------------------------- on the page, before anybody activates it


class ConfigHouse(PeopleHouse):
    """A floor with people, at half past one of the autumn night for the second time."""

    def __init__(self) -> None:
        super().__init__()
        plan, people = plan_for(), self.first.rows["person"]
        self.tell(replace(self.snapshot(), plan=plan, at=utc("2026-11-01T06:30")))
        self.floors = {book: Floor.opened(plan, book, 1) for book in plan.books}
        for name, row in people.items():
            self.first.keep("person", name, row)

    async def versions(self, count: int) -> list[Any]:
        return []

    def propose(self, document: Any, by: Any = EMIL) -> None:
        """As the button does."""
        act = read_act("config-proposed", "act-00000001", {"document": document, "reason": "Promotion"}, by)
        desk.act(self.first, act, self.snapshot().at)


@pytest.fixture
def house() -> ConfigHouse:
    return ConfigHouse()


@pytest.fixture
def client(house: ConfigHouse, tmp_path: Path) -> Iterator[TestClient]:
    app = people_app(house, tmp_path)
    if not any(getattr(route, "path", "") == "/configuration" for route in app.routes):
        app.include_router(config_routes(house, make_templates()))  # type: ignore[arg-type]
    with TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000)) as made:
        yield made


def page(client: TestClient) -> str:
    """The page as accounting sees it, who would activate what is proposed."""
    Screen(client).sign_in(CARLA.id)
    return str(client.get("/configuration", headers=BROWSER).text).replace("&#39;", "'")


def test_d28_a_proposal_is_shown_with_its_times_before_anybody_activates_it(
    house: ConfigHouse, client: TestClient
) -> None:
    """D28. Whoever activates it sees when it will act, by the clock on the wall, on the form's own page."""
    plan = house.first.plan
    house.propose(plan_for(sheet={"valid_from": "2026-11-02"}).document)
    shown = page(client)
    proposed = shown[shown.index("Its times by the floor's clock"):]
    begins = local_time(plan.timezone, gaming_day(plan.timezone, plan.gaming_day_start, date(2026, 11, 2)).start)
    assert f"Paytable progressive-1 is played from {begins}; now it is not" in proposed
    assert proposed.index(begins) < proposed.index("Activate a configuration")


def test_d28_the_page_tells_the_second_half_past_one_from_the_first(house: ConfigHouse, client: TestClient) -> None:
    house.propose(plan_for(name="New name").document)
    assert "at 2026-11-01 01:30:00 EST, UTC-05:00. Hash" in page(client)


def test_d28_the_times_speak_the_floors_words() -> None:
    plan = plan_for(shifts=["06:00", "14:00", "22:00"], sheet={"valid_from": "2026-11-01"})
    assert found_in(" ".join(preview(plan, utc("2026-11-01T06:30"), plan_for("08:00")))) == []
