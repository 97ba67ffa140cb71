"""The gaming day is closed by accounting, once and in order; signs are read; shifts are handed over (R-79..R-84)."""

from desk_house import ANNA, CARL, DORA, HOUR, IDA, Desk

from controller.acts import Why

DAY = 24 * HOUR


def day_of(desk: Desk, back: int = 0) -> str:
    return desk.plan.gaming_day(desk.at - back * DAY).isoformat()


def test_a_day_is_closed_with_every_balance_as_it_stands() -> None:
    desk = Desk()
    desk.lock(1, 3)
    ended = day_of(desk)
    desk.at += DAY
    told = desk.act("day-closed", DORA, day=ended).told
    assert told["balances"]["pg-link"] == desk.accounts()
    assert told["awards_pending"] == 0


def test_a_day_that_has_not_ended_is_not_closed() -> None:
    desk = Desk()
    assert desk.refused("day-closed", DORA, day=day_of(desk)) is Why.NOT_NOW


def test_a_day_is_closed_once_and_not_behind_a_later_one() -> None:
    """SD-07: each closing once."""
    desk = Desk()
    desk.at += 3 * DAY
    desk.act("day-closed", DORA, day=day_of(desk, 1))
    assert desk.refused("day-closed", DORA, day=day_of(desk, 1)) is Why.ALREADY_DONE
    assert desk.refused("day-closed", DORA, day=day_of(desk, 2)) is Why.ALREADY_DONE


def test_only_accounting_closes_the_day() -> None:
    desk = Desk()
    desk.at += DAY
    assert desk.refused("day-closed", CARL, day=day_of(desk, 1)) is Why.NOT_ALLOWED


def test_a_sign_that_shows_something_else_than_the_meter_is_told_with_the_difference() -> None:
    """D15: $835.06 on the sign, more in the books."""
    told = Desk().act("sign-read", ANNA, meter="pg-link", read="$835.06").told
    assert told["difference"] == 83_506 - 1_000_000


def test_both_shift_managers_sign_what_is_handed_over() -> None:
    desk = Desk()
    desk.lock(1, 3)
    desk.hit(1, 3, "four-of-a-kind")
    assert desk.refused("handed-over", CARL) is Why.SECOND_PERSON
    assert desk.act("handed-over", CARL, IDA).told["awards_pending"] == 1
