"""The due list: what, where, by when, how it is entered; done, late, overdue; and it does not change afterwards."""

from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, BEN, CARL, DORA, EVE, GUS, HAL, Desk
from ledger_house import contract_plan
from report_house import HOUR, column, keep, kept, made, moment, plan_in, reading, table

from controller.acts import Why
from controller.checks import CHECKS
from controller.reports.as_csv import as_csv
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, scope_of

DAY, NEXT = "2026-12-01", "2026-12-02"
TOP = "7-card-straight-flush"
Line = dict[str, Any]


def lines(path: Path, day: str | None = DAY, **asked: str) -> list[Line]:
    """The lines of a due list, by their heads."""
    rows = table(made(path, "due", day, **asked)[0], "Due,")
    return [dict(zip([one.head for one in rows.columns], row, strict=True)) for row in rows.rows]


def states(path: Path, source: str, day: str | None = DAY, **asked: str) -> list[tuple[object, object]]:
    """Where and in what state the duties of a source are."""
    return [(line["Where"], line["State"]) for line in lines(path, day, **asked) if line["Because of"] == source]


def closed(desk: Desk, day: str) -> None:
    """Accounting closes a day; the entry as the list reads it, whatever else closing comes to ask."""
    body = {"by": list(DORA), "fields": {"day": day}, "told": {"day": day}}
    desk.floor.enter("day-closed", desk.at, device="@desk", boot=f"close-{day}", seq=1, body=body)


def lowered(desk: Desk) -> int:
    """pg-link falls by a dollar by two people's hand; the entry."""
    desk.lock(1, 3)
    return desk.act("meter-adjusted", DORA, CARL, meter="pg-link", direction="lower", by_amount="$1.00",
                    code="malfunction-correction", reason="doubled", approval="Board 12").entry


# ---------------------------------------------------------------------- what falls due, and how it is answered


def test_a_day_lists_every_duty_with_place_time_source_and_the_act_that_answers_it(tmp_path: Path) -> None:
    found = lines(kept(tmp_path / "a.db", Desk()))
    assert {(line["Because of"], line["Where"], line["To enter it"]) for line in found} == {
        ("R-80", "pg-link", "Enter what a sign shows"), ("R-80", "pg-solo", "Enter what a sign shows"),
        ("R-82", "pg-link", "Enter a check as done: monthly-reading"),
        ("R-82", "pg-solo", "Enter a check as done: monthly-reading"),
        ("R-79", "pg-link", "Enter a check as done: sign-variance"),
        ("R-79", "pg-solo", "Enter a check as done: sign-variance"),
        ("R-81", "PG-01", "Enter a check as done: line-test"), ("R-81", "PG-02", "Enter a check as done: line-test"),
        ("R-81", "PG-03", "Enter a check as done: line-test"),
        ("R-104", "the floor", "Enter a check as done: rights-review"),
        ("R-120", "the floor", "Enter a check as done: configuration-check"),
        ("R-83", "the floor", "Enter a check as done: day-one, entry 2"),
    }


@pytest.mark.parametrize(("source", "by"), [
    ("R-80", "2026-12-02T06:00"), ("R-82", "2027-01-01T06:00"), ("R-81", "2027-01-01T06:00"),
    ("R-120", "2027-01-01T06:00"), ("R-83", "2026-12-03T06:00")])
def test_a_duty_is_due_at_the_end_of_its_day_month_quarter_year_or_next_day(
    tmp_path: Path, source: str, by: str
) -> None:
    path = kept(tmp_path / "a.db", Desk())
    assert {line["By"] for line in lines(path) if line["Because of"] == source} == {moment(by)}


def test_a_check_answers_its_own_place_and_no_other(tmp_path: Path) -> None:
    desk = Desk()
    desk.act("check-done", EVE, check="line-test", table="PG-02", finding="a test bet lit and counted")
    path = kept(tmp_path / "a.db", desk)
    assert states(path, "R-81") == [("PG-01", "due"), ("PG-02", "done"), ("PG-03", "due")]
    entered = table(made(path, "due", DAY)[0], "Checks entered")
    assert [row[1:5] for row in entered.rows] == [
        ("line-test", "PG-02", "a test bet lit and counted", "eve (technician)")]


def test_the_first_award_of_each_hand_is_reconciled_by_the_end_of_the_next_day(tmp_path: Path) -> None:
    """R-83; the second one of the kind is not asked for."""
    desk = Desk()
    for game in (1, 2):
        desk.lock(game, 3, 5)
        desk.hit(game, 3, TOP)
        desk.close(game)
    first = [line for line in lines(kept(tmp_path / "a.db", desk)) if "first-award" in line["To enter it"]]
    assert [(line["Where"], line["By"]) for line in first] == [
        ("pg-link; table PG-01, game 1", moment("2026-12-03T06:00"))]


def test_a_first_award_is_asked_for_again_when_its_paytable_changes_and_not_when_a_table_does(tmp_path: Path) -> None:
    def turned(floor: Any) -> None:
        floor["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]

    def cheaper(floor: Any) -> None:
        floor["meter"][0]["rounding"] = "down"

    desk, asked = Desk(), []
    for game, change in enumerate((None, turned, cheaper), 1):
        if change is not None:
            desk.floor.configure(contract_plan(change), desk.at)
        desk.lock(game, 3, 5)
        desk.hit(game, 3, TOP)
        desk.close(game)
        path = kept(tmp_path / f"{game}.db", desk) if game == 1 else keep(tmp_path / "1.db", desk.floor)
        asked.append(sum("first-award" in line["To enter it"] for line in lines(path)))
    assert asked == [1, 1, 2]


def test_day_one_is_answered_by_the_check_that_names_its_entry(tmp_path: Path) -> None:
    desk = Desk()
    desk.act("check-done", DORA, check="day-one", entry="2", finding="opening equals the base")
    path = kept(tmp_path / "a.db", desk)
    desk.floor.configure(contract_plan(lambda floor: floor["table"][0].update(pay_order=[6, 5, 4, 3, 2, 1])), desk.at)
    assert states(keep(path, desk.floor), "R-83") == [("the floor", "done"), ("the floor", "due")]


def test_a_lowering_is_due_to_be_told_within_24_hours_and_then_overdue(tmp_path: Path) -> None:
    """R-38."""
    desk = Desk()
    lowered(desk)
    path = kept(tmp_path / "a.db", desk)
    by = [line["By"] for line in lines(path) if line["Because of"] == "R-38"]
    desk.at += 25 * HOUR
    desk.lock(2, 3)
    path = keep(path, desk.floor)
    assert (by, states(path, "R-38", NEXT), states(path, "R-38", "2026-12-03")) == (
        [desk.at - HOUR], [("pg-link", "OVERDUE")], [("pg-link", "OVERDUE")])


@pytest.mark.parametrize(("hours", "state"), [(1, "done"), (30, "done late")])
def test_a_notice_that_was_sent_is_done_in_time_or_late(tmp_path: Path, hours: int, state: str) -> None:
    desk = Desk()
    entry = lowered(desk)
    desk.at += hours * HOUR
    desk.act("notice-sent", DORA, meter="pg-link", notice=entry, how="by letter")
    path = kept(tmp_path / "a.db", desk)
    assert states(path, "R-38", None, since=DAY, until=NEXT) == [("pg-link", state)]


def test_a_sign_is_read_on_its_day_or_missed(tmp_path: Path) -> None:
    desk = Desk()
    desk.act("sign-read", ANNA, meter="pg-link", read="$10,000.00")
    desk.at += 24 * HOUR
    desk.lock(1, 3)
    path = kept(tmp_path / "a.db", desk)
    assert states(path, "R-80") == [("pg-link", "done"), ("pg-solo", "missed")]


def test_a_day_is_closed_within_the_next_one(tmp_path: Path) -> None:
    desk = Desk()
    desk.at += 24 * HOUR
    path = kept(tmp_path / "a.db", desk)
    desk.lock(1, 3)
    before = states(keep(path, desk.floor), "R-84", NEXT)
    closed(desk, DAY)
    assert (before, states(keep(path, desk.floor), "R-84", NEXT)) == ([("the floor", "due")], [("the floor", "done")])


def test_days_that_nobody_closed_stand_in_one_line_until_they_are(tmp_path: Path) -> None:
    desk = Desk()
    desk.at += 5 * 24 * HOUR
    desk.lock(1, 3)
    path = kept(tmp_path / "a.db", desk)
    found = [line for line in lines(path, "2026-12-06") if line["Because of"] == "R-84"]
    assert [(line["What"], line["State"]) for line in found] == [
        ("Reconcile every meter and close the gaming day 2026-12-01, and all up to 2026-12-04", "OVERDUE"),
        ("Reconcile every meter and close the gaming day 2026-12-05", "due")]
    for day in range(1, 5):
        closed(desk, f"2026-12-0{day}")
    assert states(keep(path, desk.floor), "R-84", "2026-12-06") == [("the floor", "done late"), ("the floor", "due")]


# ---------------------------------------------------------------------- periods


def test_a_check_not_made_in_its_quarter_is_overdue_until_it_is_made_late(tmp_path: Path) -> None:
    desk = Desk()
    path = kept(tmp_path / "a.db", desk)
    desk.at = moment("2027-02-10T12:00")
    desk.lock(1, 3)
    keep(path, desk.floor)
    before = states(path, "R-81", "2027-02-10", table="PG-01")
    desk.act("check-done", ANNA, check="line-test", table="PG-01", finding="as it should be")
    keep(path, desk.floor)
    assert (before, states(path, "R-81", "2027-02-10", table="PG-01")) == (
        [("PG-01", "OVERDUE"), ("PG-01", "due")], [("PG-01", "done late"), ("PG-01", "done")])


def test_years_without_a_check_are_one_overdue_line_since_the_oldest(tmp_path: Path) -> None:
    desk = Desk()
    path = kept(tmp_path / "a.db", desk)
    desk.at = moment("2030-06-01T12:00")
    desk.lock(1, 3)
    keep(path, desk.floor)
    yearly = [(line["By"], line["State"]) for line in lines(path, "2030-06-01") if line["Because of"] == "R-120"]
    assert yearly == [(moment("2027-01-01T06:00"), "OVERDUE"), (moment("2031-01-01T06:00"), "due")]


def test_a_table_that_came_later_is_due_from_its_own_quarter_on(tmp_path: Path) -> None:
    def without(floor: Any) -> None:
        floor["table"].pop()
        floor["meter"].pop()

    desk = Desk(contract_plan(without))
    path = kept(tmp_path / "a.db", desk)
    desk.at = moment("2027-02-10T12:00")
    desk.floor.configure(contract_plan(), desk.at)
    keep(path, desk.floor)
    assert states(path, "R-81", "2027-02-10", table="PG-03") == [("PG-03", "due")]


def test_a_range_of_a_year_has_each_of_its_periods_once(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.db", Desk())
    found = states(path, "R-81", None, since="2027-01-01", until="2027-12-31", table="PG-01")
    assert [state for _, state in found] == ["due"] * 5  # the last quarter of 2026 is open when the range begins


def test_what_falls_due_before_the_present_is_overdue_though_no_entry_was_made_since(tmp_path: Path) -> None:
    desk = Desk()
    lowered(desk)
    path = kept(tmp_path / "a.db", desk)
    with reading(path) as look:
        scope = scope_of(look, AskedFor(NEXT))._replace(now=desk.at + 24 * HOUR)
        rows = table(REPORTS["due"].make(look, scope), "Due,")
    assert ("pg-link", "OVERDUE") in [(row[2], row[3]) for row in rows.rows if row[6] == "R-38"]


def test_the_list_of_a_day_that_is_over_stays_as_it_was_whatever_is_done_later(tmp_path: Path) -> None:
    """Not by a byte (docs/REPORTS.md, section 1)."""
    desk = Desk()
    entry = lowered(desk)
    path = kept(tmp_path / "a.db", desk)
    desk.at = moment("2026-12-02T06:00")
    desk.close(1)
    report, scope = made(keep(path, desk.floor), "due", DAY)
    before = as_csv(report, scope.zone)
    desk.act("notice-sent", DORA, meter="pg-link", notice=entry, how="by letter")
    closed(desk, DAY)
    desk.act("check-done", DORA, check="day-one", entry="2", finding="good")
    report, scope = made(keep(path, desk.floor), "due", DAY)
    assert as_csv(report, scope.zone) == before


def test_the_numbers_of_how_it_stands_are_those_of_the_lines(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.db", Desk())
    counted = table(made(path, "due", DAY)[0], "How it stands")
    found = [line["State"] for line in lines(path)]
    assert {row[0]: row[1] for row in counted.rows} == {str(row[0]): found.count(row[0]) for row in counted.rows}


# ---------------------------------------------------------------------- the act


@pytest.mark.parametrize(("person", "fields", "why"), [
    (ANNA, {"check": "day-one", "entry": "2"}, Why.NOT_ALLOWED),
    (DORA, {"check": "line-test", "table": "PG-01"}, Why.NOT_ALLOWED),
    (HAL, {"check": "configuration-check"}, Why.NOT_ALLOWED),
    (EVE, {"check": "line-test"}, Why.WRONG_FIELD),
    (EVE, {"check": "line-test", "table": "PG-01", "meter": "pg-link"}, Why.WRONG_FIELD),
    (EVE, {"check": "line-test", "table": "PG-99"}, Why.NOT_FOUND),
    (DORA, {"check": "sign-variance", "meter": "nope"}, Why.NOT_FOUND),
    (DORA, {"check": "first-award"}, Why.WRONG_FIELD),
    (DORA, {"check": "first-award", "entry": "999"}, Why.NOT_FOUND),
    (DORA, {"check": "first-award", "entry": "0"}, Why.NOT_FOUND),
    (GUS, {"check": "configuration-check", "table": "PG-01"}, Why.WRONG_FIELD),
])
def test_a_check_is_entered_by_whom_it_is_for_and_names_what_it_is_of(
    person: Any, fields: dict[str, str], why: Why
) -> None:
    """Who proposes or activates a configuration does not check it (R-120)."""
    assert Desk().refused("check-done", person, **{"finding": "good", "table": None, **fields}) is why


@pytest.mark.parametrize("name", list(CHECKS))
def test_every_check_can_be_entered_and_moves_no_money(tmp_path: Path, name: str) -> None:
    desk, check = Desk(), CHECKS[name]
    before = {meter: desk.accounts(meter) for meter in desk.floor.meters}
    of = {"a table": {"table": "PG-01"}, "a meter": {"meter": "pg-link"}, "an entry": {"entry": "2"}}
    person = next(one for one in (ANNA, BEN, DORA, EVE, GUS) if one.role in check.by)
    desk.act("check-done", person, **{"check": name, "table": None, "finding": "good", **of.get(check.of.value, {})})
    path = kept(tmp_path / "a.db", desk)
    entered = table(made(path, "due", DAY)[0], "Checks entered")
    assert ({meter: desk.accounts(meter) for meter in desk.floor.meters}, column(entered, "Check")) == (before, [name])
    assert plan_in(path).hash == desk.plan.hash
