"""What the written text of awards and corrections asks, one sentence each; sequences found by the oracle's nights.

Design section 4 ("a round is settled as one"), section 9, and the text of awards (R-49, R-50, R-57..R-62, MO-06,
MO-08).
"""

import pytest
from award_house import PeopleEngine, plan_of_night
from desk_house import ANNA, AT, BEN, CARL, DORA, IDA, Desk, plan_with
from floors import contract_floor, named_floor

from controller.acts import ActRefused, Why
from controller.award import due_cents
from controller.money import format_cents

TOP = "7-card-straight-flush"
ROYAL = "royal-flush-royal-match"
FOUR = "four-of-a-kind"
WRONG = {"reason": "read again"}


def due(desk: Desk, game: int, seat: int, table: str = "PG-01") -> str:
    """What an award is due, as people write it."""
    found = desk.floor.find_game(f"{table}/{game}")
    assert found is not None
    return format_cents(due_cents(found, (seat, "progressive")))


def paid(desk: Desk, game: int, seat: int, table: str = "PG-01") -> None:
    """Verified by Anna and paid by Ben."""
    desk.act("award-verified", ANNA, table=table, game=game, seat=seat)
    desk.pay(game, seat, due(desk, game, seat, table), BEN, table=table)


def shown(desk: Desk, meter: str = "pg-link") -> int:
    return desk.accounts(meter)["display"]


# ---------------------------------------------------------------------- the meter


def test_what_the_house_lays_on_a_meter_for_an_award_paid_in_error_survives_later_hits_of_another_open_game() -> None:
    """Paid in error: the house makes the meter whole; the books must add up whatever comes after."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TOP)
    desk.close(1)
    desk.act("award-verified", ANNA, game=1, seat=1)
    desk.pay(1, 1, due(desk, 1, 1), BEN)
    desk.lock(1, 1, 2, table="PG-02")
    desk.hit(1, 1, ROYAL, table="PG-02")
    before = shown(desk)
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=1, **WRONG)
    made_whole = shown(desk) - before
    assert made_whole > 0
    desk.hit(1, 2, "7-card-straight-flush-with-joker", table="PG-02")
    assert sum(desk.accounts().values()) == 0
    assert shown(desk) >= made_whole * 9 // 10


def test_a_hand_changed_to_one_without_a_share_is_a_withdrawal_for_the_meter_and_does_not_lower_its_display() -> None:
    """A withdrawal never lowers a display: the house makes up the difference."""
    floor, paytables = named_floor("progressive-4", {"below_seed": "allow"})
    floor["meter"][0]["base"] = "$9,000.00"
    desk = Desk(plan_of_night(floor, paytables))
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TOP)
    raised = shown(desk, "main")
    desk.act("hit-changed", ANNA, BEN, game=1, seat=1, outcome=FOUR, **WRONG)
    assert shown(desk, "main") >= raised
    assert sum(desk.accounts("main").values()) == 0


def test_a_withdrawal_tops_nothing_up_from_the_reserve() -> None:
    """``below_seed`` is after a settlement that took from the meter; the house makes up a withdrawal's difference."""
    floor, paytables = named_floor("progressive-4", {"below_seed": "top-up"})
    floor["meter"][0]["base"] = "$9,000.00"
    desk = Desk(plan_of_night(floor, paytables))
    desk.lock(1, 1, 2)
    reserve = desk.accounts("main")["reserve"]
    desk.hit(1, 1, ROYAL)
    desk.act("hit-withdrawn", ANNA, BEN, game=1, seat=1, **WRONG)
    assert desk.accounts("main")["reserve"] == reserve


def test_once_an_award_of_a_game_is_paid_every_meter_of_it_is_settled_apart() -> None:
    """As long as no award of the round is paid: also one without a share of that meter."""
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, FOUR)
    paid(desk, 1, 3)
    desk.hit(1, 1, TOP)
    told = desk.hit(1, 2, TOP)
    assert told.answer()["apart"] == ["pg-link"]


def test_a_meter_keeps_nothing_of_late_hands_whose_meter_others_have_taken_from() -> None:
    """Every list has a bound."""
    desk = Desk()
    for game in range(1, 21):
        desk.lock(game, 1, 2)
        desk.close(game)
        desk.act("hit-added", ANNA, BEN, game=game, seat=1, outcome=ROYAL, **WRONG)
    assert len(desk.floor.meters["pg-link"].kept) <= 2


# ---------------------------------------------------------------------- who may sign


def test_everybody_who_ever_corrected_the_wager_of_an_award_keeps_away_from_it() -> None:
    """Who entered or corrected a wager or hit of it may not verify, release or pay it."""
    desk = Desk()
    desk.lock(1, 1)
    desk.act("wager-added", ANNA, BEN, game=1, seat=2, reason="missed")
    desk.act("wager-removed", CARL, IDA, game=1, seat=2, reason="a glass")
    desk.act("wager-added", CARL, IDA, game=1, seat=2, reason="a chip after all")
    desk.hit(1, 2, FOUR)
    assert desk.refused("award-verified", ANNA, game=1, seat=2) is Why.TOUCHED_IT


def test_an_award_of_a_seat_whose_wager_could_not_be_proved_is_not_paid_from_the_tray() -> None:
    """An award on that seat needs the third release."""
    desk = Desk(plan_with(table={"tray_limit": "$5,000.00"}))
    desk.lock(1, 1, 2)
    desk.chips(1, 3)
    desk.act("count-closed", ANNA, BEN, game=1, seat=1, finding="one chip lay beside the sensor")
    desk.hit(1, 1, FOUR)
    assert desk.state(1, 1) == "pending"


@pytest.mark.parametrize(("role", "kind"), [("verify", "award-verified"), ("pay", "award-paid")])
def test_people_of_a_configured_role_may_do_what_they_are_configured_for(role: str, kind: str) -> None:
    """Verifying and paying are done by two different people of the configured roles (here: the cage pays)."""
    desk = Desk(plan_with(**{role: ["accounting"]}))
    desk.lock(1, 1, 2)
    desk.hit(1, 1, FOUR)
    if kind == "award-verified":
        desk.act(kind, DORA, game=1, seat=1)
        assert desk.state(1, 1) == "verified"
    else:
        desk.act("award-verified", ANNA, game=1, seat=1)
        desk.pay(1, 1, due(desk, 1, 1), DORA)
        assert desk.state(1, 1) == "paid"


def test_supervisors_release_where_they_are_configured_to() -> None:
    """A third role must release it: the configured one."""
    desk = Desk(plan_with(release=["supervisor"], release_from="$50.00"))
    desk.lock(1, 1, 2)
    desk.hit(1, 1, FOUR)
    desk.act("award-verified", CARL, game=1, seat=1)
    desk.act("award-released", ANNA, game=1, seat=1)
    assert desk.state(1, 1) == "released"


# ---------------------------------------------------------------------- who was quicker


def test_a_refused_second_payment_names_the_payer_also_after_the_slip_was_printed_by_somebody_else() -> None:
    """MO-08: a conflict naming who."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, FOUR)
    paid(desk, 1, 1)
    desk.act("slip-printed", DORA, game=1, seat=1)
    with pytest.raises(ActRefused, match="paid by ben"):
        desk.pay(1, 1, due(desk, 1, 1), CARL)


def test_a_refused_second_payment_says_when_the_first_was_made() -> None:
    """MO-08: a conflict naming who and when (16:40 by the floor's clock)."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, FOUR)
    paid(desk, 1, 1)
    with pytest.raises(ActRefused, match=r"\b(\d{1,2}:\d\d)\b"):
        desk.pay(1, 1, due(desk, 1, 1), CARL)


# ---------------------------------------------------------------------- envy


def test_a_new_hand_s_envy_begins_pending_after_the_old_hand_s_was_left_unclaimed() -> None:
    """Each envy amount is its own line: pending, paid, unclaimed."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, FOUR)
    desk.act("award-verified", ANNA, game=1, seat=1)
    desk.act("envy-unclaimed", BEN, game=1, seat=1, to=2, reason="the player left")
    desk.act("hit-changed", ANNA, BEN, game=1, seat=1, outcome=TOP, **WRONG)
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    assert found.lines.get((1, "progressive", 2), "pending") == "pending"


def test_a_hand_whose_envy_is_paid_is_not_refused_as_if_it_had_never_been() -> None:
    """As a hand whose envy is paid is neither changed nor withdrawn; else the next hand's envy would count as paid."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TOP)
    desk.act("award-verified", ANNA, game=1, seat=1)
    desk.act("envy-paid", BEN, game=1, seat=1, to=2, how="chips")
    assert desk.refused("award-refused", CARL, IDA, game=1, seat=1, **WRONG) is Why.ALREADY_DONE
    assert desk.state(1, 1) == "verified"


def test_who_added_a_hand_without_a_wager_does_not_pay_its_envy() -> None:
    """Who entered a hit may not pay what it is due; nobody else has looked at it either."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome=TOP, envy_only=True, **WRONG)
    assert desk.refused("envy-paid", ANNA, game=1, seat=3, to=2, how="chips") is Why.THIRD_PERSON


# ---------------------------------------------------------------------- wagers


def test_wagers_stand_after_an_agreeing_count_whatever_is_counted_later() -> None:
    """From the lock until an agreeing count."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.chips(1, 2)
    desk.chips(1, 3)
    assert desk.refused("wager-added", ANNA, BEN, game=1, seat=3, reason="missed") is Why.NOT_NOW


def test_wagers_stand_after_the_first_hand_also_when_it_had_no_wager_of_its_own_and_was_withdrawn() -> None:
    """Until an agreeing count or the first hit."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.hit(1, 3, FOUR, envy_only=True)
    desk.act("hit-withdrawn", ANNA, BEN, game=1, seat=3, **WRONG)
    assert desk.refused("wager-removed", ANNA, BEN, game=1, seat=2, reason="a glass") is Why.NOT_NOW


@pytest.mark.parametrize("closed", [False, True])
def test_a_withdrawn_hand_without_a_wager_stays_withdrawn_after_a_restart(closed: bool) -> None:
    """A restart keeps everything."""
    engine = PeopleEngine(plan_of_night(*contract_floor()), AT)
    lock = {"v": 1, "type": "lock", "device": "hub-01", "boot": "b1", "seq": 1, "round": 1,
            "wagers": [{"seat": seat, "spot": "progressive", "cents": 500} for seat in (1, 2)]}
    hit = {"seat": 3, "spot": "progressive", "outcome": FOUR, "envy_only": True}
    engine.say(lock)
    engine.say({"v": 1, "type": "hits", "device": "hub-01", "boot": "b1", "seq": 2, "round": 1, "hits": [hit]})
    if closed:
        engine.say({"v": 1, "type": "close", "device": "hub-01", "boot": "b1", "seq": 3, "round": 1})
    at = {"table": "PG-01", "game": 1, "seat": 3, "spot": "progressive"}
    engine.act("hit-withdrawn", [ANNA, BEN], at | WRONG)
    engine.restart()
    found = engine.game("PG-01", 1)
    assert found is not None
    assert found.hits == {}


def test_a_difference_is_not_closed_for_a_seat_that_the_table_has_not() -> None:
    """Else no award would need the third release for it."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.chips(1, 3)
    with pytest.raises(ActRefused):
        desk.act("count-closed", ANNA, BEN, game=1, seat=99, finding="one chip lay beside the sensor")
