"""Putting right what the table got wrong: hands and wagers, by two people, the round settled as one (R-62)."""

from desk_house import ANNA, BEN, CARL, DORA, HOUR, IDA, Desk, plan_with

from controller.acts import Why

TOP = "7-card-straight-flush"
FOUR = "four-of-a-kind"
DAY = 24 * HOUR


def played(*seats: int) -> Desk:
    desk = Desk()
    desk.lock(1, *seats)
    return desk


def test_a_late_hit_of_a_closed_game_is_paid_as_if_it_had_been_keyed_in_time() -> None:
    """A round is settled as one, however many messages it takes."""
    keyed = played(3, 5)
    keyed.hit(1, 3, TOP)
    keyed.close(1)
    keyed.lock(2, 1)
    late = played(3, 5)
    late.close(1)
    late.lock(2, 1)
    late.act("hit-added", ANNA, BEN, game=1, seat=3, outcome=TOP, reason="the keypad was dark")
    # The late one finds what game 2 has contributed; no other hit has taken from the meter in between.
    assert sum(late.accounts().values()) == 0
    assert late.floor.awards_pending == keyed.floor.awards_pending == 1
    assert late.accounts()["players"] == keyed.accounts()["players"]


def test_two_hands_of_one_closed_game_are_settled_together_from_where_the_first_found_the_meter() -> None:
    together = played(3, 5)
    together.hit(1, 3, TOP)
    together.hit(1, 5, "royal-flush-royal-match")
    apart = played(3, 5)
    apart.hit(1, 3, TOP)
    apart.close(1)
    apart.act("hit-added", ANNA, BEN, game=1, seat=5, outcome="royal-flush-royal-match", reason="seen on camera")
    assert apart.accounts() == together.accounts()


def test_a_hand_withdrawn_leaves_the_meter_as_if_it_had_never_been() -> None:
    desk = played(3, 5)
    before = desk.accounts()
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.act("hit-withdrawn", ANNA, BEN, game=1, seat=3, reason="it was a flush")
    assert desk.accounts() == before
    assert desk.floor.awards_pending == 0


def test_a_hand_changed_is_settled_as_the_other_one_and_the_old_one_is_kept() -> None:
    desk, other = played(3, 5), played(3, 5)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.act("hit-changed", ANNA, BEN, game=1, seat=3, outcome="royal-flush-royal-match", reason="read again")
    other.hit(1, 3, "royal-flush-royal-match")
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    assert (desk.accounts(), found.past[0]["state"]) == (other.accounts(), "withdrawn")


def test_a_hand_of_a_game_with_a_paid_award_is_settled_apart() -> None:
    """Design section 4: as long as no award of the round is paid."""
    desk = played(3, 5)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.act("award-verified", ANNA, game=1, seat=3)
    from test_award_acts import due

    desk.pay(1, 3, due(desk), BEN)
    told = desk.act("hit-added", ANNA, BEN, game=1, seat=5, outcome=TOP, reason="seen on camera").told
    assert told["apart"] == ["pg-link"]


def test_a_hand_of_a_closed_game_after_another_game_took_from_the_meter_is_settled_apart() -> None:
    desk = played(3, 5)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.lock(1, 2, table="PG-02")
    desk.hit(1, 2, TOP, table="PG-02")
    told = desk.act("hit-added", ANNA, BEN, game=1, seat=5, outcome=TOP, reason="seen on camera").told
    assert told["apart"] == ["pg-link"]
    assert sum(desk.accounts().values()) == 0


def test_a_withdrawal_never_lowers_a_display() -> None:
    """The house makes up the difference: PG-03's meter is below its seed, and a 100% hit had raised it."""
    desk = Desk()
    desk.lock(1, 1, table="PG-03")
    desk.hit(1, 1, "straight-flush", table="PG-03")
    desk.close(1, table="PG-03")
    shown = desk.accounts("pg-solo")["display"]
    desk.act("hit-withdrawn", ANNA, BEN, table="PG-03", game=1, seat=1, reason="misread")
    assert desk.accounts("pg-solo")["display"] >= shown
    assert sum(desk.accounts("pg-solo").values()) == 0


def test_a_game_older_than_the_allowed_days_is_not_corrected_here() -> None:
    desk = Desk(plan_with(late_hit_days=2))
    desk.lock(1, 3)
    desk.close(1)
    desk.at += 3 * DAY
    assert desk.refused("hit-added", ANNA, BEN, game=1, seat=3, outcome=FOUR, reason="late") is Why.NOT_NOW


def test_a_correction_of_an_older_day_names_that_day() -> None:
    desk = played(3)
    desk.hit(1, 3, FOUR)
    desk.close(1)
    desk.at += DAY
    told = desk.act("hit-changed", ANNA, BEN, game=1, seat=3, outcome=TOP, reason="read again").told
    assert told["of_day"] == desk.plan.gaming_day(desk.at - DAY).isoformat()


def test_a_misdeal_is_not_corrected() -> None:
    desk = played(3)
    desk.hit(1, 3, FOUR)
    assert desk.void(1).result == "refused"


def test_a_wager_that_the_sensor_missed_contributes_when_it_is_added() -> None:
    desk, seen = played(3), played(3, 5)
    desk.act("wager-added", ANNA, BEN, game=1, seat=5, reason="a chip too far from the sensor")
    assert desk.accounts() == seen.accounts()


def test_a_wager_that_was_none_is_re_booked_to_the_house_and_no_display_falls() -> None:
    desk = played(3, 5)
    shown = desk.accounts()["display"]
    desk.act("wager-removed", ANNA, BEN, game=1, seat=5, reason="a glass stood there")
    after = desk.accounts()
    assert (after["display"], sum(after.values())) == (shown, 0)
    assert after["players"] == -contribution(1)


def contribution(wagers: int) -> int:
    """What so many $5 wagers of PG-01 put in: 1% on the meter and 1% in the reserve (paytable 4)."""
    desk = Desk()
    before = desk.accounts()["players"]
    desk.lock(1, *range(1, wagers + 1))
    return before - desk.accounts()["players"]


def test_wagers_stand_from_an_agreeing_chip_count_on() -> None:
    desk = played(3, 5)
    desk.chips(1, 2)
    assert desk.refused("wager-added", ANNA, BEN, game=1, seat=1, reason="late") is Why.NOT_NOW


def test_wagers_stand_from_the_first_hand_on() -> None:
    desk = played(3, 5)
    desk.hit(1, 3, FOUR)
    assert desk.refused("wager-removed", ANNA, BEN, game=1, seat=5, reason="late") is Why.NOT_NOW


def test_a_difference_closed_with_a_finding_makes_awards_of_that_seat_need_the_third_release() -> None:
    desk = played(3, 5)
    desk.chips(1, 3)
    desk.act("count-closed", CARL, IDA, game=1, seat=3, finding="one chip lay beside the sensor")
    desk.hit(1, 3, FOUR)
    desk.act("award-verified", ANNA, game=1, seat=3)
    from test_award_acts import due

    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="chips") is Why.NOT_NOW
    desk.act("award-released", DORA, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)


def test_who_corrected_a_wager_does_not_verify_its_award() -> None:
    desk = played(3)
    desk.act("wager-added", ANNA, BEN, game=1, seat=5, reason="missed")
    desk.hit(1, 5, FOUR)
    assert desk.refused("award-verified", ANNA, game=1, seat=5) is Why.TOUCHED_IT


def test_a_closed_table_accepts_no_lock_out_until_it_is_opened() -> None:
    """R-30."""
    desk = played(3)
    desk.close(1)
    desk.act("table-closed", ANNA)
    assert desk.lock(2, 3).reason == "table-closed"
    desk.act("table-opened", ANNA)
    assert desk.lock(3, 3).result == "posted"


def test_a_table_with_an_open_game_is_not_closed() -> None:
    assert played(3).refused("table-closed", ANNA) is Why.NOT_NOW
