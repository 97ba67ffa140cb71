"""Faults and alarms: each by its own cause, with its place, whom it was told to, and who did what (R-86, R-108)."""

from contextlib import suppress
from pathlib import Path

from desk_house import ANNA, AT, Desk
from report_house import column, kept, made, table

from controller import desk as desk_of
from controller.acts import ActRefused, read_act
from controller.alarms import clear_alarm, escalate, raise_alarm
from controller.reports.report import Report


def of(path: Path, desk: Desk) -> Report:
    """The report of the day of a desk."""
    return made(kept(path / "ledger.db", desk), "faults", "2026-12-01")[0]


def lines(report: Report) -> list[tuple[object, ...]]:
    """Each line: what, cause, details, by."""
    each = table(report, "In their order")
    return list(zip(*(column(each, head) for head in ("What", "Cause", "Details", "By")), strict=True))


def test_each_alarm_has_its_own_cause(tmp_path: Path) -> None:
    desk = Desk()
    raise_alarm(desk.floor, "misdeal", "PG-01", "Game 6: wrong deck", AT, table="PG-01")
    raise_alarm(desk.floor, "reading-differs", "pg-solo", "$10.00 was read", AT)
    raise_alarm(desk.floor, "reading-differs", "pg-solo", "$11.00 was read", AT, count=2)
    sums = table(of(tmp_path, desk), "By cause").rows
    assert sums == (("alarm raised", "A game was misdealt", "PG-01", 1),
                    ("alarm raised", "What was read on a sign is not what its meter holds", "", 3))


def test_an_acknowledged_alarm_is_named_with_its_place_and_note(tmp_path: Path) -> None:
    desk = Desk()
    raise_alarm(desk.floor, "sign-not-reached", "led-1", "Sign led-1 is not reached", AT)
    desk.act("alarm-acknowledged", ANNA, alarm="sign-not-reached", place="led-1", note="the cable")
    assert lines(of(tmp_path, desk))[-1] == (
        "alarm acknowledged", "Sign not confirmed", "sign led-1; Sign led-1 is not reached; the cable",
        "anna (supervisor)")


def test_an_alarm_says_whom_it_was_told_to_next(tmp_path: Path) -> None:
    desk = Desk()
    raise_alarm(desk.floor, "misdeal", "PG-01", "Game 6: wrong deck", AT, table="PG-01")
    escalate(desk.floor, "misdeal", "PG-01", ["shift-manager", "surveillance"], AT, table="PG-01")
    assert lines(of(tmp_path, desk))[-1] == (
        "alarm told on", "A game was misdealt", "table PG-01; Game 6: wrong deck; told to shift-manager, surveillance",
        "")


def test_an_alarm_that_came_again_says_how_often_when_it_is_over(tmp_path: Path) -> None:
    desk = Desk()
    raise_alarm(desk.floor, "table-offline", "PG-02", "not heard", AT, table="PG-02")
    clear_alarm(desk.floor, "table-offline", "PG-02", AT, more=4, table="PG-02")
    assert lines(of(tmp_path, desk))[-1] == (
        "alarm over", "Table unit not heard", "table PG-02; not heard; came 4 times more", "")


def test_a_refused_act_names_who_asked_for_it(tmp_path: Path) -> None:
    desk = Desk()
    asked = read_act("award-refused", "act-00000001",
                     {"table": "PG-01", "game": 9, "seat": 1, "spot": "progressive", "reason": "x"}, ANNA)
    with suppress(ActRefused):
        desk_of.act(desk.floor, asked, AT)
    try:
        desk_of.check(desk.floor, asked)
    except ActRefused as no:
        desk_of.refuse(desk.floor, asked, no, AT)
    assert lines(of(tmp_path, desk)) == [
        ("act refused", "second person", "Refuse: a second person must sign", "anna (supervisor)")]
