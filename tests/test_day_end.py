"""How a day ended, over nights of a change, restarts, other books, clocks set back, and random nights of people."""

from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from award_night import Night
from day_house import day_end, summed
from desk_house import CARL, DORA, IDA
from ledger_night import LedgerEngine
from report_house import HOUR, Played, evenly, keep, made, moment, reading, table

from controller import desk
from controller.acts import read_act
from controller.carried import OpenItems, listed, owing
from controller.floor_state import ACCOUNTS
from controller.gaming_day import gaming_day_of
from controller.ledger import ranges as ranges_room
from controller.ledger import verify as verifying
from controller.ledger.day_end import read_day_end
from controller.ledger.ranges import Stretches
from controller.ledger.reader import Reader, tell_act
from controller.ledger.verify import verify
from controller.money import MICROCENTS_PER_CENT
from controller.plan import FloorPlan
from controller.reports.reading import AskedFor, scope_of


@pytest.fixture(params=[7, 20_000])
def stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of other lengths, the whole ledger in one too."""
    monkeypatch.setattr(ranges_room, "STRETCH", request.param)


def every_day(path: Path, plan: FloorPlan, first: str, count: int) -> None:
    """Each day's balances are those of the sum by plain SQL, and those that the reports close it with."""
    known, differed = Stretches(), 0
    for back in range(count):
        day = date.fromisoformat(first) + timedelta(days=back)
        report, scope = made(path, "reconciliation", day.isoformat())
        closing = dict(zip([row[0] for row in table(report, "The meter's own").rows],
                           [row[9] for row in table(report, "The meter's own").rows], strict=True))
        for book in plan.books:
            full = in_full(path, day, book, known)
            assert full == summed(path, scope.end, book)
            assert {name: sum(full[name][account] for account in ("display", "reserve", "overflow"))
                    for name in full} == {name: closing[name] for name in full}
            differed += full != summed(path, 1 << 62, book)
    assert differed, "a look at the present would have told the same"


def in_full(path: Path, day: date, book: str, known: Stretches) -> dict[str, dict[str, int]]:
    """The balances at a day's end, as if the day before had been closed."""
    closed = {"day": (day - timedelta(days=1)).isoformat()}
    told = read_day_end(path, known, book, day, closed, 1 << 60, lambda _: ())
    assert told is not None
    if told.balances is None:  # a day before the book began
        return {}
    return {meter: dict(accounts) for meter, accounts in told.balances.items()}


@pytest.mark.usefixtures("stretch")
@pytest.mark.parametrize("start", ["00:00", "02:30", "06:00"])
@pytest.mark.parametrize("night", ["2026-03-08", "2026-11-01"])
def test_a_day_of_23_or_25_hours_ends_as_its_reports_say(tmp_path: Path, night: str, start: str) -> None:
    """SD-07: with a restart in the night, and in every book."""
    play = Played(tmp_path / "ledger.db", 8, moment(f"{night}T00:00") - 20 * HOUR, start)
    hours = [moment(f"{night}T00:00") - HOUR + place * 30 * HOUR // 120 for place in range(160)]
    play.go_on(hours[:75])
    play.restart()
    play.go_on(hours[75:])
    first = gaming_day_of(play.plan.timezone, play.plan.gaming_day_start, moment(f"{night}T00:00") - 20 * HOUR).on
    every_day(play.path, play.plan, first.isoformat(), 3)


@pytest.mark.usefixtures("stretch")
def test_with_a_clock_set_back_each_entry_counts_for_the_day_of_its_own_time(tmp_path: Path) -> None:
    play = Played(tmp_path / "ledger.db", 18, moment("2026-06-01T06:30"))
    play.go_on(evenly("2026-06-01T07:00", "2026-06-02T07:00", 120))
    play.go_on(evenly("2026-06-02T04:00", "2026-06-02T09:00", 120))
    play.go_on(evenly("2026-06-01T20:00", "2026-06-01T23:00", 60))
    every_day(play.path, play.plan, "2026-06-01", 2)


class Cut(NamedTuple):
    """A gaming day's end within a night, and what was open then by the engine itself."""

    path: Path
    day: date
    end: int
    open: OpenItems
    pending: dict[str, int]


def cut_night(folder: Path, seed: int) -> Cut:
    """A random night with a gaming day's end in its middle; the engine is asked at that moment."""
    night = Night(seed, engine=lambda plan, at: LedgerEngine(plan, at, folder / "night.db"))
    engine = night.engine
    assert isinstance(engine, LedgerEngine)
    for _ in range(60):
        night.step()
    day = gaming_day_of(engine.plan.timezone, engine.plan.gaming_day_start, engine.at)
    engine.at = day.end - 1
    for _ in range(3):
        night.step()
    open_ = owing(engine.every_round())
    open_ = OpenItems(list(open_.awards), list(open_.envy))
    pending = {name: engine.accounts(name)["pending"] for name in engine.floor.meters}
    engine.at = day.end
    names, weights = [name for _, name in night.STEPS], [weight for weight, _ in night.STEPS]
    for name in night.rng.choices(names, weights, k=60):
        if name != "wager":  # the oracle knows of no days: yesterday's uncounted wagers stand
            night.do(name)
    engine.at += HOUR
    engine.close()
    return Cut(engine.path, day.on, day.end, open_, pending)


@pytest.mark.parametrize("seed", range(24))
def test_what_was_open_at_a_day_s_end_is_told_after_a_night_of_payments_and_corrections(
    tmp_path: Path, seed: int
) -> None:
    """The engine's own list at that moment, the meters' pending balances, and the report of open items: all agree."""
    cut = cut_night(tmp_path, seed)
    told = day_end(cut.path, cut.day, cut.end + 2 * HOUR)
    assert told is not None and told.balances is not None
    assert {part: told.open[part] for part in ("awards", "envy")} == listed(cut.open)
    assert {name: accounts["pending"] for name, accounts in told.balances.items()} == cut.pending
    shares = dict.fromkeys(cut.pending, 0)
    for award in told.open["awards"]["listed"]:
        for meter, cents in award["meters"].items():
            shares[meter] += cents * MICROCENTS_PER_CENT
    assert told.open["awards"]["more"] or shares == cut.pending
    rows = table(made(cut.path, "open-items", cut.day.isoformat())[0], "Awards and envy").rows
    assert sum(int(str(row[6])) for row in rows) == told.open["awards"]["cents"]
    assert sum(int(str(row[7])) for row in rows) == told.open["envy"]["cents"]


def test_the_end_of_a_day_is_the_end_of_its_reports(tmp_path: Path) -> None:
    cut = cut_night(tmp_path, 1)
    with reading(cut.path) as look:
        scope = scope_of(look, AskedFor(cut.day.isoformat()))
    told = day_end(cut.path, cut.day, cut.end)
    assert told is not None
    assert (told.end, told.first) == (scope.end, cut.day)
    assert all(set(accounts) == set(ACCOUNTS) for accounts in (told.balances or {}).values())


@pytest.mark.parametrize("seed", range(6))
def test_a_day_closed_after_such_a_night_is_replayed_by_one_that_lets_go_of_its_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """And the shift handed over at the end of it."""
    monkeypatch.setattr(verifying, "_KEPT", 1)
    monkeypatch.setattr(verifying, "_FORGET_EACH", 3)
    cut = cut_night(tmp_path, seed)
    reader = Reader(cut.path)
    floor, at = reader.floor(None, "main"), cut.end + 2 * HOUR
    for number, (kind, people, fields) in enumerate((
            ("day-closed", (DORA,), {"day": cut.day.isoformat()}), ("handed-over", (CARL, IDA), {}))):
        made_act = read_act(kind, f"closing-{number}", fields, *people)
        tell_act(floor, made_act, reader.recall_act, lambda *_: None, lambda day: day_end(cut.path, day, at),
                 lambda: reader.games_owing("main"))
        desk.act(floor, made_act, at)
        keep(cut.path, floor)
    reader.close()
    assert verify(cut.path, replay=True)
