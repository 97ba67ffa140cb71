"""The gaming day is closed by accounting, once and in order; signs are read; shifts are handed over (R-79..R-84)."""

import json
from pathlib import Path

import pytest
from day_house import DAY, DayDesk, day_end, summed
from desk_house import ANNA, BEN, CARL, DORA, IDA, Desk
from ledger_house import bad_entry, rows
from report_house import HOUR, column, made, moment, table
from test_verify import rechained

from controller.acts import ActRefused, Why
from controller.alarms import raise_alarm
from controller.carried import LISTED_MAX
from controller.floor_state import canonical
from controller.ledger.verify import verify

NIGHT_END = moment("2026-12-02T06:00")
TOP, SMALL = "7-card-straight-flush", "four-of-a-kind"


@pytest.fixture
def desk(tmp_path: Path) -> DayDesk:
    return DayDesk(tmp_path / "ledger.db")


def refused(desk: DayDesk, day: str) -> ActRefused:
    with pytest.raises(ActRefused) as no:
        desk.sign("day-closed", DORA, day=day)
    return no.value


def test_a_day_is_closed_with_every_balance_as_it_was_at_its_end_whenever_it_is_signed(desk: DayDesk) -> None:
    """What stood in the books when the day ended, the meter sheet of the day, and a sum by plain SQL: all are one."""
    desk.lock(1, 3, 5)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.at = NIGHT_END - 1
    desk.lock(2, 3)
    stood = {name: desk.accounts(name) for name in desk.floor.meters}
    desk.at = NIGHT_END
    desk.close(2)
    desk.lock(3, 1, 2, 3)
    desk.at += DAY
    told = desk.sign("day-closed", DORA, day="2026-12-01").told
    assert told["balances"] == stood == summed(desk.path, NIGHT_END) != {
        name: desk.accounts(name) for name in desk.floor.meters}
    sheet = table(made(desk.path, "meter-sheet", "2026-12-01")[0], "Meters at the end")
    for account, head in (("display", "Displayed, with fraction"), ("reserve", "Next-jackpot money"),
                          ("overflow", "Above the limit"), ("pending", "Pending awards")):
        assert column(sheet, head) == [told["balances"][name][account] for name in column(sheet, "Meter")]
    assert told["end"] == NIGHT_END
    assert verify(desk.path, replay=True)


def test_what_is_carried_over_is_what_was_open_at_the_end_of_the_day(desk: DayDesk) -> None:
    """One award is paid the next morning, one is hit then: the first was open when the day ended, the second not."""
    desk.lock(1, 3, 5, 6)
    desk.hit(1, 3, TOP)
    desk.chips(1, 4)
    desk.close(1)
    desk.act("award-verified", ANNA, game=1, seat=3)
    pending = desk.accounts()["pending"]
    desk.at = NIGHT_END + HOUR
    desk.act("count-closed", CARL, IDA, game=1, seat=3, finding="a chip of another player")
    desk.act("award-released", DORA, game=1, seat=3)
    desk.pay(1, 3, "$15,005.15", BEN)
    desk.act("envy-unclaimed", ANNA, game=1, seat=3, to=5, reason="left")
    desk.lock(2, 3)
    desk.hit(2, 3, SMALL)
    raise_alarm(desk.floor, "table-offline", "PG-02", "not heard", desk.at)
    told = desk.sign("day-closed", DORA, day="2026-12-01").told
    carried = told["carried"]
    assert carried["awards"] == {"cents": 1_500_515, "more": 0, "listed": [
        {"table": "PG-01", "game": 1, "seat": 3, "spot": "progressive", "outcome": TOP, "state": "verified",
         "cents": 1_500_515, "meters": {"pg-link": pending // 10**6}}]}
    assert [(one["seat"], one["to"], one["state"]) for one in carried["envy"]["listed"]] == [
        (3, 5, "pending"), (3, 6, "pending")]
    assert carried["counts"]["listed"] == [{"table": "PG-01", "game": 1, "chips": 4, "wagers": 3}]
    assert [(one["alarm"], one["place"]) for one in carried["alarms"]["listed"]] == [("table-offline", "PG-02")]
    assert told["awards_pending"] == 1
    desk.at += DAY
    carried = desk.sign("day-closed", DORA, day="2026-12-02").told["carried"]
    assert [(one["game"], one["state"]) for one in carried["awards"]["listed"]] == [(2, "pending")]
    assert [(one["to"], one["state"]) for one in carried["envy"]["listed"]] == [(5, "unclaimed"), (6, "pending")]
    assert carried["counts"]["listed"] == []
    assert verify(desk.path, replay=True)


def test_a_count_that_differs_is_carried_from_day_to_day_until_people_have_found_why(desk: DayDesk) -> None:
    desk.lock(1, 3)
    desk.chips(1, 2)
    desk.close(1)
    desk.lock(2, 3)
    desk.chips(2, 2)
    desk.chips(2, 1)
    desk.close(2)
    games = []
    for day in ("2026-12-01", "2026-12-02", "2026-12-03"):
        desk.at += DAY
        if day == "2026-12-03":
            desk.at = moment("2026-12-04T05:00")
            desk.act("count-closed", ANNA, CARL, game=1, seat=3, finding="a chip fell")
            desk.at += 2 * HOUR
        told = desk.sign("day-closed", DORA, day=day).told
        games.append([one["game"] for one in told["carried"]["counts"]["listed"]])
    assert games == [[1], [1], []]
    assert verify(desk.path, replay=True)


def test_of_more_than_an_entry_lists_the_rest_is_counted_with_its_cents(desk: DayDesk) -> None:
    games = LISTED_MAX + 3
    for number in range(1, games + 1):
        desk.lock(number, 3)
        desk.hit(number, 3, SMALL)
        desk.close(number)
    due = sum(json.loads(entry.body)["awards"][0]["fixed"] + json.loads(entry.body)["awards"][0]["returned"]
              + sum(json.loads(entry.body)["awards"][0]["meters"].values())
              for entry in desk.floor.entries if entry.kind == "hits")
    desk.at += DAY
    awards = desk.sign("day-closed", DORA, day="2026-12-01").told["carried"]["awards"]
    assert (len(awards["listed"]), awards["more"], awards["cents"]) == (LISTED_MAX, 3, due)


def test_a_day_that_has_not_ended_is_not_closed(desk: DayDesk) -> None:
    desk.at = NIGHT_END - 1
    assert refused(desk, "2026-12-01").why is Why.NOT_NOW
    desk.at = NIGHT_END
    assert desk.sign("day-closed", DORA, day="2026-12-01").entry


def test_days_are_closed_in_order_from_the_first_of_the_ledger_on(desk: DayDesk) -> None:
    """SD-07: each closing once; who asks for another day is told which is the next."""
    desk.at += 3 * DAY
    before, later = refused(desk, "2026-11-30"), refused(desk, "2026-12-02")
    assert (before.why, before.remedy) == (Why.NOT_FOUND, "close 2026-12-01")
    assert (later.why, later.what) == (Why.NOT_NOW, "2026-12-01 is not closed yet")
    desk.sign("day-closed", DORA, day="2026-12-01")
    again = refused(desk, "2026-12-01")
    assert (again.why, again.remedy) == (Why.ALREADY_DONE, "close 2026-12-02")
    assert refused(desk, "2026-12-03").why is Why.NOT_NOW
    desk.sign("day-closed", DORA, day="2026-12-02")


@pytest.mark.parametrize("day", ["yesterday", "0001-01-01", "9999-12-31", "2026-13-01"])
def test_what_is_no_day_of_a_ledger_is_refused(desk: DayDesk, day: str) -> None:
    assert refused(desk, day).why is Why.WRONG_FIELD


def test_only_accounting_closes_the_day(desk: DayDesk) -> None:
    desk.at += DAY
    assert desk.refused("day-closed", CARL, day=desk.day(1)) is Why.NOT_ALLOWED


def test_a_day_closed_by_the_rules_of_before_is_replayed_by_them_and_the_next_one_by_these(desk: DayDesk) -> None:
    """Version 2 let a day before the ledger be closed, with the balances of the moment; such an entry stays valid."""
    desk.floor.rules = 2
    desk.floor.entries = [entry._replace(rules=2) for entry in desk.floor.entries]
    desk.lock(1, 3)
    assert desk.act("day-closed", DORA, day="2026-11-29").told["balances"]["pg-link"] == desk.accounts()
    assert "alarms" in desk.act("handed-over", CARL, IDA).told
    desk.floor.rules = 3
    desk.at += DAY
    assert refused(desk, "2026-11-30").remedy == "close 2026-12-01"
    desk.sign("day-closed", DORA, day="2026-12-01")
    assert rows(desk.path, "SELECT DISTINCT rules FROM entry") == [(2,), (3,)]
    assert verify(desk.path, replay=True)


@pytest.mark.parametrize("forged", ["balances", "carried"])
def test_a_forged_balance_or_award_of_a_closed_day_is_found_by_a_replay(desk: DayDesk, forged: str) -> None:
    desk.lock(1, 3)
    desk.hit(1, 3, SMALL)
    desk.at += DAY
    entry = desk.sign("day-closed", DORA, day="2026-12-01").entry
    assert bad_entry(desk.path, replay=True) == (0, "")
    body = json.loads(rows(desk.path, "SELECT body FROM entry WHERE number = ?", entry)[0][0])
    if forged == "balances":
        body["told"]["balances"]["pg-link"]["display"] += 1
    else:
        body["told"]["carried"]["awards"]["listed"][0]["cents"] -= 1
    rechained(desk.path, entry, body=canonical(body))
    assert bad_entry(desk.path, replay=True) == (entry, "replayed, it differs in body")


def test_the_order_of_the_look_does_not_matter_to_a_day_that_is_over(desk: DayDesk) -> None:
    """Asked an hour or a week later, with the games of the week in between, a day has ended the same way."""
    desk.lock(1, 3, 5)
    desk.hit(1, 3, TOP)
    desk.at = NIGHT_END + 1
    desk.close(1)
    desk.sign("handed-over", CARL, IDA)
    day = desk.plan.gaming_day(NIGHT_END - 1)
    first = day_end(desk.path, day, desk.at)
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.at += 7 * DAY
    desk.pay(1, 3, "$15,005.10", BEN)
    desk.sign("handed-over", CARL, IDA)
    again = day_end(desk.path, day, desk.at)
    assert first is not None and again is not None
    assert again._replace(number=0) == first._replace(number=0)


def test_a_sign_that_shows_something_else_than_the_meter_is_told_with_the_difference() -> None:
    """D15: $835.06 on the sign, more in the books."""
    told = Desk().act("sign-read", ANNA, meter="pg-link", read="$835.06").told
    assert told["difference"] == 83_506 - 1_000_000


def test_both_shift_managers_sign_a_list_of_what_is_handed_over(desk: DayDesk) -> None:
    """The games are long closed and out of memory: the list is the ledger's."""
    for table_ in ("PG-02", "PG-01"):
        desk.lock(1, 3, 5, table=table_)
        desk.hit(1, 3, SMALL if table_ == "PG-02" else TOP, table=table_)
        desk.close(1, table=table_)
    raise_alarm(desk.floor, "table-offline", "PG-03", "not heard", desk.at)
    assert desk.refused("handed-over", CARL) is Why.SECOND_PERSON
    told = desk.sign("handed-over", CARL, IDA).told
    assert [(one["table"], one["seat"], one["cents"]) for one in told["open"]["awards"]["listed"]] == [
        ("PG-01", 3, 1_500_520), ("PG-02", 3, 10_500)]
    assert {(one["table"], one["to"]) for one in told["open"]["envy"]["listed"]} == {("PG-01", 5), ("PG-02", 5)}
    assert [one["alarm"] for one in told["open"]["alarms"]["listed"]] == ["table-offline"]
    assert told["awards_pending"] == 2
    assert verify(desk.path, replay=True)
