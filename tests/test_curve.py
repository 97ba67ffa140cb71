"""A meter's amount over time: the ledger's own amounts, however many entries there were, and the page that draws it."""

import json
import random
import re
from bisect import bisect_left
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from meters_house import MeterScreen, MetersHouse, meters_app

from controller.ledger.curve import POINTS_MAX, Curve, Point, read_curve
from controller.ledger.place import LedgerError
from controller.web.curve_page import ROWS_MAX, rows_of
from tests.ledger_house import AT, applied, hit, lock, opened, rows, said

SECOND_US = 1_000_000
TOP = "7-card-straight-flush"
CENT = 1_000_000


def played(path: Path, games: int, seed: int) -> Path:
    """So many games at a table, a second apart, some of them with a win of the whole meter."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    applied(path, [])
    seq = 0
    for number in range(1, games + 1):
        messages = [lock(seq + 1, number, 1, 2)]
        if chance.random() < 0.1:
            messages.append(hit(seq + 2, number, 1, TOP))
        messages.append(said("close", seq + len(messages) + 1, round=number))
        seq += len(messages)
        applied(path, messages, at=AT + number * SECOND_US)
    return path


def shown(path: Path, meter: str = "pg-link") -> list[tuple[int, int]]:
    """Time and amount after every entry that moved a meter, read entry by entry: the oracle."""
    query = """SELECT e.number, e.at, p.balance FROM entry e JOIN posting p ON p.book = e.book AND p.entry = e.number
               WHERE p.meter = ? AND p.account = 'display' ORDER BY e.number, p.line"""
    last = {number: (at, balance) for number, at, balance in rows(path, query, meter)}
    return list(last.values())


def test_a_short_time_has_a_point_for_every_movement(tmp_path: Path) -> None:
    path = played(tmp_path / "ledger.db", 40, seed=1)
    curve = read_curve(path, "main", "pg-link", AT, AT + 1_000 * SECOND_US)
    moved = shown(path)
    assert [(point.at, point.close) for point in curve.points] == moved
    assert all(point.low == point.high == point.close for point in curve.points)


def test_a_long_time_loses_no_peak_and_no_fall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few points are drawn, the highest and lowest amounts ever shown are among them."""
    path = played(tmp_path / "ledger.db", 60, seed=2)
    monkeypatch.setattr("controller.ledger.curve.POINTS_MAX", 7)
    monkeypatch.setattr("controller.ledger.curve.PIECE", 50)
    curve = read_curve(path, "main", "pg-link", AT, AT + 1_000 * SECOND_US)
    moved = [amount for _, amount in shown(path)]
    assert len(curve.points) <= 7
    assert (min(point.low for point in curve.points), max(point.high for point in curve.points)) == (
        min(moved), max(moved))
    assert curve.points[-1].close == moved[-1]


def test_an_amount_between_a_win_and_its_reset_was_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    applied(path, [lock(1, 1, 1), hit(2, 1, 1, TOP), said("close", 3, round=1)])
    curve = read_curve(path, "main", "pg-link", AT, AT + SECOND_US)
    assert min(point.low for point in curve.points) >= 10_000 * 100 * CENT


@pytest.mark.parametrize("start_s", [0, 1, 17, 39, 40])
def test_a_curve_begins_with_what_stood_before_it(tmp_path: Path, start_s: int) -> None:
    path = played(tmp_path / "ledger.db", 40, seed=3)
    start = AT + start_s * SECOND_US
    curve = read_curve(path, "main", "pg-link", start, AT + 1_000 * SECOND_US)
    moved = shown(path)
    place = bisect_left([at for at, _ in moved], start)
    assert curve.opening == (moved[place - 1][1] if place else 0)
    assert [point.at for point in curve.points] == [at for at, _ in moved[place:]]


def test_a_meter_that_did_not_move_has_no_curve(tmp_path: Path) -> None:
    path = opened(tmp_path / "ledger.db")
    assert read_curve(path, "main", "pg-link", AT + SECOND_US, AT + 2 * SECOND_US) == Curve(None, ())


def test_the_end_of_a_time_is_not_in_it(tmp_path: Path) -> None:
    path = played(tmp_path / "ledger.db", 5, seed=4)
    curve = read_curve(path, "main", "pg-link", AT, AT + 3 * SECOND_US)
    assert max(point.at for point in curve.points) == AT + 2 * SECOND_US


def test_a_long_reading_is_given_up_when_the_daemon_ends(tmp_path: Path) -> None:
    path = played(tmp_path / "ledger.db", 3, seed=5)

    def ended() -> None:
        raise LedgerError("the daemon ends")

    with pytest.raises(LedgerError, match="the daemon ends"):
        read_curve(path, "main", "pg-link", 0, AT + 1_000 * SECOND_US, ended)


def test_a_missing_ledger_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"none\.db"):
        read_curve(tmp_path / "none.db", "main", "pg-link", 0, 1)


def test_the_table_below_a_curve_is_short_and_keeps_lowest_and_highest() -> None:
    points = [Point(at, 100 - at % 7, 200 + at % 5, 150) for at in range(POINTS_MAX)]
    made = rows_of(points, 0, POINTS_MAX)
    assert len(made) <= ROWS_MAX
    assert (min(row.low for row in made), max(row.high for row in made)) == (94, 204)
    assert [row.at for row in made] == sorted((row.at for row in made), reverse=True)


# ---------------------------------------------------------------------- the page


@pytest.fixture
def house(tmp_path: Path) -> MetersHouse:
    return MetersHouse(tmp_path)


@pytest.fixture
def screen(house: MetersHouse, tmp_path: Path) -> Iterator[MeterScreen]:
    with TestClient(meters_app(house, tmp_path), follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        yield MeterScreen(client)


def drawn(page: str) -> dict[str, Any]:
    """What a page gives its script to draw."""
    found = re.search(r'data-curve="([^"]*)"', page)
    assert found is not None, page
    return dict(json.loads(unescape(found[1])))


def test_the_page_draws_cents_as_the_signs_show_them(house: MetersHouse, screen: MeterScreen) -> None:
    house.wager(7)
    screen.sign_in("carl")
    told = drawn(screen.page("/meters/pg-link/curve"))
    view = house.snapshot().meters["pg-link"]
    assert told["close"][-1] == view.display_microcents // CENT
    assert told["at"] == sorted(told["at"])


def test_the_page_says_the_same_in_words(house: MetersHouse, screen: MeterScreen) -> None:
    house.wager(40)
    screen.sign_in("carl")
    words = screen.words("/meters/pg-link/curve", part="curve")
    assert "stands at $10,002.00 now" in words
    assert "highest: $10,002.00" in words


def test_a_page_that_asks_gets_the_part_alone(house: MetersHouse, screen: MeterScreen) -> None:
    house.wager(1)
    screen.sign_in("carl")
    part = screen.client.get("/meters/pg-link/curve?span=week", headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<section class="card" id="curve"')
    assert "The last 7 days" in part


@pytest.mark.parametrize(("path", "status"), [
    ("/meters/nobody/curve", 404), ("/meters/pg-link/curve?span=century", 422), ("/meters/pg-link/curve", 200)])
def test_only_meters_and_times_that_are_there_have_a_curve(screen: MeterScreen, path: str, status: int) -> None:
    screen.sign_in("carl")
    assert screen.client.get(path).status_code == status


def test_nobody_sees_a_curve_without_signing_in(screen: MeterScreen) -> None:
    assert screen.client.get("/meters/pg-link/curve").status_code == 401


def test_a_ledger_that_cannot_be_read_is_said(
    house: MetersHouse, screen: MeterScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_given: object) -> Curve:
        raise LedgerError("the disk")

    monkeypatch.setattr(house, "meter_curve", broken)
    screen.sign_in("carl")
    answer = screen.client.get("/meters/pg-link/curve")
    assert (answer.status_code, answer.json()["error"]) == (503, "the ledger cannot be read now")
