"""What waits for people at the end of a range: counts, alarms, notices, proposals, openings, losses (R-84, R-86)."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, AT, BEN, CARL, DORA, EVE, HAL, HOUR, IDA, Desk
from report_house import column, kept, made, table

from controller import losses
from controller.alarms import clear_alarm, raise_alarm

DAY = "2026-12-01"


@pytest.fixture
def desk() -> Desk:
    """A floor on which nothing is open."""
    return Desk()


def items(path: Path, desk: Desk, **asked: str) -> list[tuple[object, ...]]:
    """What is listed for people, each with its sort, table, meter and words."""
    found = table(made(kept(path / "ledger.db", desk), "open-items", DAY, **asked)[0], "Waiting for people")
    return list(zip(*(column(found, head) for head in ("What", "Table", "Meter", "What is to be done")), strict=True))


def differing(desk: Desk) -> None:
    """Game 1: wagers of two seats, five chips."""
    desk.lock(1, 3, 5)
    desk.chips(1, 5)
    desk.close(1)


def test_nothing_waits_on_a_fresh_floor(tmp_path: Path, desk: Desk) -> None:
    assert items(tmp_path, desk) == []


def test_a_count_that_differs_waits_until_people_have_found_why(tmp_path: Path, desk: Desk) -> None:
    differing(desk)
    words = "game 1: 5 chips counted, 2 wagers: two people find out why"
    assert items(tmp_path, desk) == [("count difference", "PG-01", None, words)]


def test_a_count_that_people_have_explained_waits_no_more(tmp_path: Path, desk: Desk) -> None:
    differing(desk)
    desk.act("count-closed", ANNA, BEN, game=1, finding="three chips of the game before")
    assert items(tmp_path, desk) == []


def test_a_count_made_again_and_right_waits_no_more(tmp_path: Path, desk: Desk) -> None:
    desk.lock(1, 3, 5)
    desk.chips(1, 5)
    desk.chips(1, 2)
    assert items(tmp_path, desk) == []


def test_a_count_is_open_at_the_end_of_its_day_though_it_is_explained_later(tmp_path: Path, desk: Desk) -> None:
    differing(desk)
    desk.at += 24 * HOUR
    desk.act("count-closed", ANNA, BEN, game=1, finding="three chips of the game before")
    assert [one[0] for one in items(tmp_path, desk)] == ["count difference"]


def test_an_alarm_waits_with_its_place_and_who_has_acknowledged_it(tmp_path: Path, desk: Desk) -> None:
    raise_alarm(desk.floor, "misdeal", "PG-01", "Game 1: misdealt", AT, table="PG-01")
    raise_alarm(desk.floor, "limit-reached", "pg-link", "at $20,000.00", AT)
    desk.act("alarm-acknowledged", ANNA, alarm="misdeal", place="PG-01")
    assert items(tmp_path, desk) == [
        ("alarm", None, "pg-link", "Meter at its limit; meter pg-link; at $20,000.00; nobody acknowledged it"),
        ("alarm", "PG-01", None, "A game was misdealt; table PG-01; Game 1: misdealt; "
                                 "acknowledged by anna (supervisor, table-games)")]


def test_an_alarm_that_is_over_waits_no_more(tmp_path: Path, desk: Desk) -> None:
    raise_alarm(desk.floor, "limit-reached", "pg-link", "at $20,000.00", AT)
    desk.act("alarm-acknowledged", CARL, alarm="limit-reached", place="pg-link")
    clear_alarm(desk.floor, "limit-reached", "pg-link", AT)
    assert items(tmp_path, desk) == []


def lowered(desk: Desk) -> int:
    """The meter is lowered by two dollars; the number of the notice."""
    told = desk.act("meter-adjusted", DORA, IDA, meter="pg-link", direction="lower", by_amount="$2.00",
                    code="malfunction-correction", reason="a stuck sensor", approval="117").told
    return int(told["notice"])


def test_a_lowering_waits_for_its_notice_to_the_regulator(tmp_path: Path, desk: Desk) -> None:
    notice = lowered(desk)
    words = (f"pg-link was lowered by $2.00: the regulator is told of entry {notice} in writing by "
             "2026-12-02 17:00:00 EST")
    assert items(tmp_path, desk) == [("notice due", None, "pg-link", words)]


def test_a_notice_that_was_sent_waits_no_more(tmp_path: Path, desk: Desk) -> None:
    notice = lowered(desk)
    desk.act("notice-sent", DORA, meter="pg-link", notice=notice, how="by mail")
    assert items(tmp_path, desk) == []


def test_a_proposed_person_and_a_proposed_configuration_wait_for_another_department(tmp_path: Path, desk: Desk) -> None:
    desk.act("people-begun", HAL, DORA, name="Hal", second_name="Dora")
    desk.act("person-proposed", HAL, id="joe", name="Joe", role="supervisor", department="table-games")
    document: Any = deepcopy(dict(desk.plan.document))
    document["site"] = {**document["site"], "name": "Another name"}
    name = str(desk.act("config-proposed", EVE, document=document, reason="a new name").told["hash"])
    assert items(tmp_path, desk) == [
        ("proposal", None, None, "joe as a new person (supervisor, table-games), proposed by hal (administrator): "
                                 "another department enables it"),
        ("proposal", None, None, f"configuration {name[:12]}, proposed by eve (technician): another department "
                                 "activates it")]


def test_what_was_proposed_and_withdrawn_waits_no_more(tmp_path: Path, desk: Desk) -> None:
    desk.act("people-begun", HAL, DORA, name="Hal", second_name="Dora")
    desk.act("person-proposed", HAL, id="joe", name="Joe", role="supervisor", department="table-games")
    desk.act("person-withdrawn", HAL, id="joe", reason="a slip of the pen")
    assert items(tmp_path, desk) == []


def test_a_loss_and_a_stopped_book_wait_for_two_people(tmp_path: Path, desk: Desk) -> None:
    desk.lock(1, 3)
    losses.lose(desk.floor, "hub-01", "b1", 2, 6, AT)
    desk.floor.stop("a trial", AT)
    assert [(sort, where) for sort, where, *_ in items(tmp_path, desk)] == [
        ("loss", "PG-01"), ("stopped book", None)]


def test_only_what_is_of_the_table_or_meter_asked_for_is_listed(tmp_path: Path, desk: Desk) -> None:
    differing(desk)
    lowered(desk)
    both = [[one[0] for one in items(tmp_path, desk, **asked)]
            for asked in ({"table": "PG-01"}, {"table": "PG-02"}, {"meter": "pg-link"})]
    assert both == [["count difference"], [], ["notice due"]]
