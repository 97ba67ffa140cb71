"""What people do at the desk, in the reports: payments, corrections, overrides, slips, changes (R-58, R-59, R-62)."""

from contextlib import suppress
from dataclasses import replace
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from award_night import Night
from desk_house import ANNA, BEN, CARL, DORA, IDA, Desk, plan_with
from ledger_house import contract_plan
from report_house import HOUR, column, failing, keep, kept, made, moment, moved, plan_in, table, total

from controller.award import OPEN, TRAY, due_cents
from controller.floor_state import Round
from controller.journal import Entry
from controller.ledger.writer import Batch, create
from controller.meter import BrokenInvariant
from controller.reports.catalogue import REPORTS
from controller.reports.reading import shift_walls
from controller.reports.report import Report

DAY = "2026-12-01"
TOP, SMALL = "7-card-straight-flush", "four-of-a-kind"


def of(path: Path, name: str, **asked: str) -> Report:
    """A report of the day of the desk."""
    return made(path, name, DAY, **asked)[0]


def played(desk: Desk, outcome: str = TOP) -> None:
    """Game 1 of PG-01 with wagers at seats 3 and 5, a hit of seat 3, closed."""
    desk.lock(1, 3, 5)
    desk.hit(1, 3, outcome)
    desk.close(1)


def paid(desk: Desk, handed: str, *people: Any, **more: Any) -> None:
    """The award of seat 3 is verified and paid."""
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.pay(1, 3, handed, *people, **more)


def test_a_payment_moves_pending_to_paid(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    paid(desk, "$15,005.10", BEN)
    owed = table(of(kept(tmp_path / "a.db", desk), "reconciliation"), "Pending awards")
    won = 1_000_010 * 10**6
    assert (total(owed, "Won"), total(owed, "Paid"), total(owed, "Closing")) == (won, -won, 0)


def test_a_payment_stands_on_the_table_sheet_as_handed_over(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    paid(desk, "$15,005.10", BEN)
    sheet = table(of(kept(tmp_path / "a.db", desk), "table-sheet"), "By gaming day")
    assert (total(sheet, "Awards due"), total(sheet, "Paid by slip"), total(sheet, "Paid by dealer")) == (
        1_500_510, 1_500_510, 0)


def test_an_award_that_the_dealer_pays_is_paid_by_dealer_with_its_envy(tmp_path: Path) -> None:
    desk = Desk(plan_with({"tray_limit": "$500.00"}))
    played(desk, SMALL)
    sheet = table(of(kept(tmp_path / "a.db", desk), "table-sheet"), "By gaming day")
    assert (total(sheet, "Paid by dealer"), total(sheet, "Paid by slip"), total(sheet, "Envy paid")) == (10_500, 0, 500)


def test_an_award_beyond_the_tray_s_limit_with_its_envy_is_not_paid_by_dealer(tmp_path: Path) -> None:
    """$105.00 and $5.00 of envy at a limit of $107.00."""
    desk = Desk(plan_with({"tray_limit": "$107.00"}))
    played(desk, SMALL)
    path = kept(tmp_path / "a.db", desk)
    owed = sum(column(table(of(path, "liability"), "Owed to players"), "Amount"))  # type: ignore[arg-type]
    assert (total(table(of(path, "table-sheet"), "By gaming day"), "Paid by dealer"), owed) == (0, 11_000)


def test_a_jackpot_withdrawn_after_it_reset_the_meter_is_in_the_next_derivation(tmp_path: Path) -> None:
    """The game of the reset goes on; what it took and gave back stands between the two jackpots (R-60)."""
    desk = Desk()
    desk.lock(1, 3, 5)
    desk.lock(1, 1, table="PG-02")
    desk.hit(1, 3, TOP)
    desk.act("hit-withdrawn", ANNA, BEN, game=1, seat=3, reason="misread")
    desk.hit(1, 1, "royal-flush-royal-match", table="PG-02")
    report = of(kept(tmp_path / "a.db", desk), "derivation", meter="pg-link", table="PG-02")
    what = column(table(report, "pg-link: every movement"), "What")
    assert (what, failing(report)) == (["starts at", "Withdraw a hand (corrections)", "win"], [])


def test_an_award_that_the_dealer_pays_is_not_owed(tmp_path: Path) -> None:
    desk = Desk(plan_with({"tray_limit": "$500.00"}))
    played(desk, SMALL)
    assert total(table(of(kept(tmp_path / "a.db", desk), "liability"), "Owed to players"), "Amount") == 0


def test_a_paid_award_is_owed_no_more_and_its_envy_still_is(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    paid(desk, "$15,005.10", BEN)
    owed = table(of(kept(tmp_path / "a.db", desk), "liability"), "Owed to players")
    assert column(owed, "Amount") == [0, 0, 0, 100_000]


def test_envy_that_is_paid_is_no_open_item_any_more(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    paid(desk, "$15,005.10", BEN)
    desk.act("envy-paid", CARL, game=1, seat=3, to=5, how="chips")
    assert table(of(kept(tmp_path / "a.db", desk), "open-items"), "Awards and envy").rows == ()


def test_envy_that_nobody_claimed_stays_owed(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("envy-unclaimed", CARL, game=1, seat=3, to=5, reason="left the table")
    items = table(of(kept(tmp_path / "a.db", desk), "open-items"), "Awards and envy")
    assert (column(items, "Envy owed"), column(items, "Of it unclaimed")) == ([100_000], [100_000])


def test_another_amount_handed_over_is_an_override_of_everybody_who_signed(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    desk.act("award-verified", ANNA, game=1, seat=3)
    fields = {"game": 1, "seat": 3, "handed": "$15,006.00", "how": "chips", "reason": "no small chips"}
    from controller.acts import Act
    from controller.desk import act

    act(desk.floor, Act("award-paid", "override-1", BEN, None, CARL, {
        "table": "PG-01", "spot": "progressive", **fields, "handed": 1_500_600}), desk.at)
    rows = table(of(kept(tmp_path / "a.db", desk), "corrections"), "By table")
    assert [(row[2], row[3], row[5]) for row in rows.rows] == [
        ("ben", "other amount handed over", 90), ("carl", "other amount handed over", 90)]


def test_a_refused_award_goes_out_of_the_wins_on_its_day(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    desk.act("award-refused", ANNA, BEN, game=1, seat=3, reason="a foul hand")
    levels = table(of(kept(tmp_path / "a.db", desk), "wins"), "By level")
    assert (total(levels, "Hits"), total(levels, "From meters")) == (0, 0)


def test_a_hand_changed_a_day_later_counts_on_that_day_and_names_the_old_one(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    path = kept(tmp_path / "a.db", desk)
    before = of(path, "wins").tables
    desk.at += 24 * HOUR
    desk.act("hit-changed", ANNA, BEN, game=1, seat=3, outcome="royal-flush-royal-match", reason="misread")
    keep(path, desk.floor)
    later, _ = made(path, "wins", "2026-12-02")
    corrections, _ = made(path, "corrections", "2026-12-02")
    levels = zip(column(table(later, "By level"), "Hand"), column(table(later, "By level"), "Hits"), strict=True)
    hits = {hand: hit for hand, hit in levels if hit}
    assert (hits, column(table(corrections, "In their order"), "Of the day"), of(path, "wins").tables == before) == (
        {"7 card straight flush": -1, "Royal flush + royal match": 1}, [DAY], True)


def test_a_wager_that_people_add_is_a_correction_and_not_in_the_wagers_of_its_lock_out(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 3)
    desk.act("wager-added", ANNA, BEN, game=1, seat=5, reason="sensor dark")
    desk.chips(1, 2)
    path = kept(tmp_path / "a.db", desk)
    sheet, own = table(of(path, "table-sheet"), "By gaming day"), table(of(path, "reconciliation"), "The meter's own")
    assert (total(sheet, "Wagers taken"), total(sheet, "Wagers put right"), total(sheet, "Chips over or short"),
            total(own, "Corrections")) == (1, 1, 0, 10_000_000)


def test_slips_are_listed_by_number_with_reprints(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    desk.act("slip-printed", ANNA, game=1, seat=3)
    desk.act("slip-printed", ANNA, game=1, seat=3)
    rows = table(of(kept(tmp_path / "a.db", desk), "slips"), "Slips printed")
    assert list(zip(column(rows, "Slip"), column(rows, "Print"), strict=True)) == [
        ("demo-000001", "first"), ("demo-000001", "reprint 1")]


def test_a_missing_slip_number_is_a_gap(tmp_path: Path) -> None:
    desk = Desk()
    played(desk)
    desk.floor.keep("slip", "series", {"next": 4})
    desk.act("slip-printed", ANNA, game=1, seat=3)
    report = of(kept(tmp_path / "a.db", desk), "slips")
    assert (table(report, "Missing numbers").rows, report.holds) == ((("demo", 1, 3),), False)


def test_a_slip_written_by_hand_is_in_the_register_and_on_the_table_sheet(tmp_path: Path) -> None:
    desk = Desk()
    desk.act("manual-slip", ANNA, BEN, written="M-7", when="2026-12-01 12:10", seat=3, outcome=TOP, handed="$50.00",
             reason="down")
    path = kept(tmp_path / "a.db", desk)
    sheet = table(of(path, "table-sheet"), "By gaming day")
    by_hand = column(table(of(path, "slips"), "Slips written by hand"), "Number on it")
    assert (by_hand, total(sheet, "By slips written by hand")) == (["M-7"], 5_000)


def test_a_meter_lowered_by_people_is_an_adjustment_with_its_approval(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 3)
    desk.act("meter-adjusted", DORA, CARL, meter="pg-link", direction="lower", by_amount="$1.00",
             code="malfunction-correction", reason="doubled", approval="Board 12")
    path = kept(tmp_path / "a.db", desk)
    rows = table(of(path, "adjustments"), "Adjustments")
    own = table(of(path, "reconciliation"), "The meter's own")
    assert (total(own, "Adjustments"), column(rows, "Code and approval")) == (
        -100_000_000, ["malfunction-correction, Board 12"])


def test_a_sign_that_shows_another_amount_than_the_meter_fails_the_sheet(tmp_path: Path) -> None:
    """A difference is an alarm (R-79)."""
    desk = Desk()
    desk.act("sign-read", ANNA, meter="pg-link", read="$10,000.00")
    desk.act("sign-read", ANNA, meter="pg-solo", read="$10,001.00")
    report = of(kept(tmp_path / "a.db", desk), "displayed")
    assert [(check.variance, check.what.split(",")[0]) for check in report.checks] == [(0, "pg-link"), (100, "pg-solo")]


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_takes_everything_that_people_do(tmp_path: Path, name: str) -> None:
    desk = Desk()
    played(desk)
    desk.act("slip-printed", ANNA, game=1, seat=3)
    paid(desk, "$15,005.10", BEN)
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="wrong seat")
    desk.act("meter-adjusted", DORA, IDA, meter="pg-link", direction="raise", by_amount="$2.00",
             code="restoration", reason="lost power", approval="Board 12")
    desk.act("table-closed", ANNA, table="PG-02")
    desk.act("handed-over", CARL, IDA)
    assert failing(of(kept(tmp_path / "a.db", desk), name)) == []


@pytest.mark.parametrize("name", list(REPORTS))
@pytest.mark.parametrize("outcome", [TOP, SMALL])
def test_every_report_takes_the_true_hand_after_one_that_was_paid_in_error(
    tmp_path: Path, name: str, outcome: str
) -> None:
    desk = Desk()
    played(desk)
    paid(desk, "$15,005.10", BEN)
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="another player sat there")
    desk.act("hit-added", ANNA, CARL, game=1, seat=3, outcome=outcome, reason="read again")
    assert failing(of(kept(tmp_path / "a.db", desk), name)) == []


def test_nobody_owes_the_envy_of_a_hand_that_was_paid_in_error_and_the_true_hand_is_owed(tmp_path: Path) -> None:
    owed = []
    for ledger in ("in-error.db", "true-hand.db"):
        desk = Desk()
        played(desk)
        paid(desk, "$15,005.10", BEN)
        desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="it was a four of a kind")
        if ledger == "true-hand.db":
            desk.act("hit-added", ANNA, CARL, game=1, seat=3, outcome=SMALL, reason="read again")
        path = kept(tmp_path / ledger, desk)
        waiting = table(of(path, "open-items"), "Awards and envy")
        owed.append((total(waiting, "Due"), total(waiting, "Envy owed"),
                     sum(column(table(of(path, "liability"), "Owed"), "Amount"))))
    assert owed == [(0, 0, 0), (10_500, 500, 11_000)]


NIGHT_END = moment("2026-12-02T06:00")


def games_and_chips(path: Path, day: str) -> tuple[int, int, int]:
    """Games, chips over or short, and misdeals of a day's table sheet."""
    sheet = table(made(path, "table-sheet", day)[0], "By gaming day")
    return total(sheet, "Games"), total(sheet, "Chips over or short"), total(sheet, "Misdeals")


def test_a_count_just_after_the_day_s_end_belongs_to_its_game(tmp_path: Path) -> None:
    desk = Desk()
    desk.at = NIGHT_END - 10_000_000
    desk.lock(1, 3, 5)
    desk.at = NIGHT_END + 10_000_000
    desk.chips(1, 3)
    desk.close(1)
    path = kept(tmp_path / "a.db", desk)
    assert [games_and_chips(path, day) for day in (DAY, "2026-12-02")] == [(1, 1, 0), (0, 0, 0)]


def test_a_misdeal_just_after_the_day_s_end_falls_in_the_open_day_and_names_the_old_one(tmp_path: Path) -> None:
    desk = Desk()
    desk.at = NIGHT_END - 10_000_000
    desk.lock(1, 3, 5)
    desk.at = NIGHT_END + 10_000_000
    desk.void(1)
    path = kept(tmp_path / "a.db", desk)
    named = column(table(made(path, "corrections", "2026-12-02")[0], "In their order"), "Of the day")
    assert ([games_and_chips(path, day) for day in (DAY, "2026-12-02")], named) == ([(1, 0, 0), (0, 0, 1)], [DAY])


def test_a_hand_just_after_the_day_s_end_belongs_to_its_own_day(tmp_path: Path) -> None:
    desk = Desk()
    desk.at = NIGHT_END - 10_000_000
    desk.lock(1, 3, 5)
    desk.at = NIGHT_END
    desk.hit(1, 3, SMALL)
    path = kept(tmp_path / "a.db", desk)
    hits = [total(table(made(path, "wins", day)[0], "By level"), "Hits") for day in (DAY, "2026-12-02")]
    assert hits == [0, 1]


def other_paytable(floor: Any) -> None:
    """PG-01 on another paytable and another meter, with other hands."""
    floor["table"][0]["spot"] = [{"id": "progressive", "paytable": "progressive-1", "meters": {"main": "pg-solo"}}]
    floor["table"][0].pop("envy_hand", None)


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_game_is_reported_by_the_paytable_of_its_lock_out(tmp_path: Path, name: str) -> None:
    """The configuration changes between the lock-out and the hand; the new paytable does not know the hand."""
    desk = Desk()
    desk.lock(1, 3, 5)
    desk.floor.configure(contract_plan(other_paytable), desk.at)
    desk.hit(1, 3, "royal-flush-royal-match")
    desk.close(1)
    report = of(kept(tmp_path / "a.db", desk), name)
    assert failing(report) == []


def test_shifts_are_those_that_the_site_names(tmp_path: Path) -> None:
    plan = Desk().plan
    site = {**plan.document["site"], "shifts": ["06:00", "12:00", "18:30"]}
    walls = shift_walls(replace(plan, document={**plan.document, "site": site}))
    assert walls == (time(6), time(12), time(18, 30))


# ---------------------------------------------------------------------- random nights


SEEDS = (1, 2, 3, 5, 8, 23, 36, 40)


class Noted(Night):
    """A night whose entries are noted."""

    def __init__(self, seed: int) -> None:
        self.noted: list[Entry] = []
        self.from_tray = 0
        self._standing: set[tuple[str, tuple[int, str]]] = set()
        super().__init__(seed)

    def compare(self) -> None:
        self.noted += self.engine.entries
        self._note_tray()
        super().compare()


    def _note_tray(self) -> None:
        """Cents of each award that has become the dealer's to pay since the last step."""
        standing = set()
        open_rounds = [table.open for table in self.engine.floor.tables.values() if table.open is not None]
        for found in open_rounds:
            for place, case in found.cases.items():
                if case.state == TRAY:
                    standing.add((found.key, place))
                    if (found.key, place) not in self._standing:
                        self.from_tray += due_cents(found, place)
        self._standing = standing


@pytest.fixture(scope="module", params=SEEDS)
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Noted]:
    """A random night with many people, seven minutes between two entries.

    What ends a night early is the engine's matter, and found by its own tests: here it is read as far as it came.
    """
    night = Noted(request.param)
    night.noted += night.engine.entries
    night.engine.entries.clear()
    with suppress(AssertionError, BrokenInvariant):
        for _ in range(220):
            night.step()
    entries = [entry._replace(at=entry.at + entry.number * 7 * 60_000_000) for entry in night.noted]
    path = tmp_path_factory.mktemp("night") / "ledger.db"
    create(path, [Batch("main", entries, [])])
    return path, night


def games_of(night: Noted) -> list[Round]:
    """Every game of a night as the engine has it at the end."""
    found = [night.engine.game(*_parted(key)) for key in night.engine.seen]
    return [game for game in found if game is not None]


def _parted(key: str) -> tuple[str, int]:
    name, _, game = key.rpartition("/")
    return name, int(game)


SPAN = {"since": "2026-12-01", "until": "2026-12-08"}


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_equation_holds_after_a_random_night_of_many_people(night: tuple[Path, Noted], name: str) -> None:
    assert failing(made(night[0], name, **SPAN)[0]) == []


def test_a_random_night_s_days_add_up_to_its_whole(night: tuple[Path, Noted]) -> None:
    heads = ("Games", "Wagers taken", "Awards due", "Envy due", "Paid by dealer", "Paid by slip", "Misdeals")
    whole = table(made(night[0], "table-sheet", **SPAN)[0], "By gaming day")
    days = [table(made(night[0], "table-sheet", f"2026-12-0{day}")[0], "By gaming day") for day in range(1, 9)]
    assert [sum(total(day, head) for day in days) for head in heads] == [total(whole, head) for head in heads]


def test_what_is_owed_is_what_the_floor_has_in_its_cases(night: tuple[Path, Noted]) -> None:
    """The engine's own state is the second opinion here: which awards wait, and what each is due."""
    owed = 0
    for found in games_of(night[1]):
        for place, case in found.cases.items():
            owed += due_cents(found, place) if case.state in OPEN else 0
    report, _ = made(night[0], "open-items", **SPAN)
    assert total(table(report, "Awards and envy"), "Due") == owed


def test_what_the_dealer_paid_is_what_the_floor_had_in_its_cases(night: tuple[Path, Noted]) -> None:
    """An award that the dealer paid and that people withdrew later was paid all the same."""
    sheet = table(made(night[0], "table-sheet", **SPAN)[0], "By gaming day")
    assert total(sheet, "Paid by dealer") == night[1].from_tray


def test_corrections_leave_pending_where_sql_has_it(night: tuple[Path, Noted]) -> None:
    report, scope = made(night[0], "reconciliation", **SPAN)
    owed = table(report, "Pending awards")
    assert total(owed, "Closing") == moved(night[0], "('pending')", 0, scope.end)


def test_the_plan_of_a_night_is_in_its_ledger(night: tuple[Path, Noted]) -> None:
    assert plan_in(night[0]).hash == night[1].engine.plan.hash
