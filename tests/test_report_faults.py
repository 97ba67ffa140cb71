"""Reports show what is wrong or strange in a ledger; nothing is hidden to make an equation close."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from ledger_house import AT, Json, applied, contract_plan, entered, every_kind, hit, lock, said
from ledger_house import DAY as DAY_LINES
from report_house import column, failing, made, table, total

from controller import losses
from controller.floor import Floor
from controller.journal import post
from controller.reports.catalogue import REPORTS
from controller.reports.report import Report

DAY = "2026-12-01"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with every kind of entry that a table and the daemon make."""
    return every_kind(tmp_path / "ledger.db")


def behind(path: Path, statement: str) -> None:
    """Change a ledger behind the program's back."""
    with sqlite3.connect(path) as database:
        assert database.execute(statement).rowcount > 0
    database.close()


def of(path: Path, name: str, **asked: str) -> Report:
    """A report of the day."""
    return made(path, name, DAY, **asked)[0]


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_takes_every_kind_of_entry(path: Path, name: str) -> None:
    assert failing(of(path, name)) == []


def strange(floor: Floor) -> None:
    """An entry of a kind that no report knows moves money from the house onto the meter."""
    meter = floor.meters["pg-link"]
    moves = (("display", 5_000_000), ("house", -5_000_000))
    floor.enter("thing-from-tomorrow", AT, body={"x": 1}, postings=post(meter, moves))
    floor.touch_meters("pg-link")


def test_a_kind_nobody_knows_stands_under_other_movements(path: Path) -> None:
    entered(path, strange)
    own = table(of(path, "reconciliation"), "The meter's own money")
    assert (total(own, "Other movements"), total(own, "Variance")) == (5_000_000, 0)


def test_a_kind_nobody_knows_is_named(path: Path) -> None:
    entered(path, strange)
    assert column(table(of(path, "reconciliation"), "Other movements"), "Kind") == ["thing-from-tomorrow"]


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_kind_nobody_knows_breaks_no_report(path: Path, name: str) -> None:
    entered(path, strange)
    assert failing(of(path, name)) == []


def test_an_adjustment_has_its_own_column(path: Path) -> None:
    def adjust(floor: Floor) -> None:
        meter = floor.meters["pg-link"]
        floor.enter("meter-adjusted", AT, body={}, postings=post(meter, (("display", 7), ("house", -7))))
        floor.touch_meters("pg-link")

    entered(path, adjust)
    assert total(table(of(path, "reconciliation"), "The meter's own money"), "Adjustments") == 7


def test_a_contribution_changed_behind_the_programs_back_is_found(path: Path) -> None:
    behind(path, "UPDATE posting SET microcents = microcents + 1 WHERE entry = 5 AND account = 'display'")
    assert any("players + house + paid" in what for what in failing(of(path, "reconciliation")))


def test_a_wager_taken_out_of_its_entry_is_found(path: Path) -> None:
    """Wagers x denomination x rates is another sum than the contributions recorded."""
    behind(path, "UPDATE entry SET body = replace(body, '{\"cents\":500,\"seat\":1,\"spot\":\"progressive\"},', '') "
                 "WHERE number = 5")
    assert failing(of(path, "reconciliation")) == ["wagers x denomination x rates = contributions recorded"]


def test_a_contribution_taken_out_is_found_by_the_derivation(path: Path) -> None:
    behind(path, "DELETE FROM posting WHERE entry = 5 AND account IN ('display', 'players')")
    assert any("displayed when its first hand" in what for what in failing(of(path, "derivation", meter="pg-link")))


def test_chips_that_are_not_the_wagers_are_a_variance(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    applied(path, [lock(1, 1, 1, 2), said("count", 2, round=1, chips=3)])
    (check,) = [check for check in of(path, "reconciliation").checks if "chips" in check.what]
    assert (check.left, check.right, check.variance) == (2, 3, -1)


def test_a_count_difference_stands_on_the_table_sheet(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    applied(path, [lock(1, 1, 1, 2), said("count", 2, round=1, chips=3)])
    sheet = table(of(path, "table-sheet"), "By gaming day")
    assert (total(sheet, "Games with a count difference"), total(sheet, "Chips over or short")) == (1, 1)


def test_a_jackpot_is_derived_from_its_contributions(tmp_path: Path) -> None:
    """Ten games of five dollars at 1% each, and a 20% hand: 20% of $10,000.50 rounded up (R-60)."""
    path = tmp_path / "ledger.db"
    applied(path, [*(lock(number, number) for number in range(1, 11)), hit(11, 10, 1, "royal-flush-royal-match")])
    report = of(path, "derivation", meter="pg-link")
    (cents,) = column(table(report, "pg-link: awards"), "Award from this meter")
    rows = table(report, "pg-link: every movement")
    gave = [given for what, given in zip(column(rows, "What"), column(rows, "To the display"), strict=True)
            if what == "contribution"]
    assert (gave, cents) == ([5_000_000] * 10, 200_010)


def test_a_derivation_begins_after_the_jackpot_before(path: Path) -> None:
    """The contract's day has a 100% hit in game 2 of PG-02; the one in game 4 is derived from there on."""
    report, _ = made(path, "derivation", DAY, meter="pg-link", table="PG-02")
    assert "opening" in dict(report.facts)["pg-link starts"]


def test_faults_name_every_refusal_and_loss(path: Path) -> None:
    causes = set(column(table(of(path, "faults"), "By cause"), "Cause"))
    assert causes >= {
        "the table unit sent a message that cannot be read", "a wager is not the paytable's amount",
        "the table unit used one number for two different messages", "loss", "difference", "late bet", "book stopped"}


def test_a_changed_key_is_told_from_what_to_what(path: Path) -> None:
    rows = table(of(path, "changes"), "Configuration").rows
    assert [row[2:5] for row in rows][1:] == [("table PG-01 pay_order", "1, 2, 3, 4, 5, 6", "6, 5, 4, 3, 2, 1")]


def test_a_filing_sheet_has_rates_split_odds_and_link_members(path: Path) -> None:
    report = of(path, "filing")
    meters, odds = table(report, "Meters"), table(report, "Prizes and odds")
    row = meters.rows[0]
    assert (row[3:], odds.rows[0][3]) == (
        (1_000_000, 1_000_000, "none", "1%", "1%", "$5.00: $0.05 / $0.05", "PG-01, PG-02"), "4,816,971.3")


def test_an_unaccepted_loss_is_an_open_item(path: Path) -> None:
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 50, 60, AT))
    assert column(table(of(path, "open-items"), "Waiting for people"), "Table") == ["PG-01"]


def in_two_books(floor: dict[str, Any]) -> None:
    """The second meter and its table in a book of their own."""
    floor["meter"][1]["book"] = "second"


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_floor_of_two_books_is_one_report(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ledger.db"
    applied(path, DAY_LINES, contract_plan(in_two_books))
    assert failing(of(path, name)) == []


def test_two_books_add_up_to_the_same_as_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    applied(one, DAY_LINES)
    applied(two, DAY_LINES, contract_plan(in_two_books))
    tables = [made(path, "reconciliation", DAY)[0].tables for path in (one, two)]
    assert tables[0] == tables[1]


def test_a_day_before_the_ledger_began_is_empty(path: Path) -> None:
    report, _ = made(path, "reconciliation", "2020-01-01")
    own = table(report, "The meter's own money")
    assert (total(own, "Opening"), total(own, "Closing"), failing(report)) == (0, 0, [])


def test_a_change_of_the_day_s_start_cuts_no_old_day_anew(path: Path) -> None:
    """Days join: the day of the change begins by the old configuration, the next by the new one."""
    def later(floor: Json) -> None:
        floor["site"]["gaming_day_start"] = "04:00"

    before = made(path, "reconciliation", DAY)[1]
    entered(path, lambda floor: floor.configure(contract_plan(later), AT + 3_600_000_000))
    days = [made(path, "reconciliation", f"2026-12-0{day}")[1] for day in (1, 2, 3)]
    assert (days[0].start, days[0].end, days[1].end, (days[1].end - days[1].start) // 3_600_000_000) == (
        before.start, days[1].start, days[2].start, 24)
