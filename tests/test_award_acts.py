"""An award's life: verified by one, paid by another, or refused; once, and never undone (R-49, R-57..R-59)."""

import pytest
from desk_house import ANNA, BEN, CARL, DORA, EVERYBODY, FAY, GUS, IDA, Desk, plan_with

from controller.acts import Why
from controller.award import OPEN, STEPS
from controller.money import format_cents
from controller.people import Role

HIT = "four-of-a-kind"
ROYAL = "royal-flush"
TOP = "7-card-straight-flush"


def won(outcome: str = TOP, seat: int = 3, **plan: object) -> Desk:
    """Game 1 of PG-01 with wagers at seats 3 and 5, closed, and one hit."""
    desk = Desk(plan_with(**plan) if plan else None)  # type: ignore[arg-type]
    desk.lock(1, 3, 5)
    desk.hit(1, seat, outcome)
    desk.close(1)
    return desk


def due(desk: Desk, seat: int = 3) -> str:
    """What the award of game 1 is due, as people write it."""
    from controller.award import due_cents
    from controller.money import format_cents

    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    return format_cents(due_cents(found, (seat, "progressive")))


def test_one_verifies_and_another_pays_and_the_meter_s_pending_becomes_paid() -> None:
    desk = won()
    pending = desk.accounts()["pending"]
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)
    after = desk.accounts()
    assert (desk.state(1, 3), after["pending"], after["paid"]) == ("paid", 0, pending)
    assert sum(after.values()) == 0


def test_nobody_verifies_and_pays_the_same_award() -> None:
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-paid", ANNA, game=1, seat=3, handed=due(desk), how="chips") is Why.SAME_PERSON


def test_an_award_that_is_not_verified_is_not_paid() -> None:
    desk = won()
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="chips") is Why.NOT_NOW


def test_a_second_payment_is_refused_and_names_who_was_quicker() -> None:
    """MO-08, D13."""
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)
    with pytest.raises(Exception, match="paid by ben"):
        desk.pay(1, 3, due(desk), CARL)


def test_the_same_form_sent_again_gives_the_first_answer_and_pays_nothing() -> None:
    """MO-06: a double click, a lost reply."""
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    first = desk.pay(1, 3, due(desk), BEN, act_id="form-0001")
    before = desk.books()
    again = desk.pay(1, 3, due(desk), BEN, act_id="form-0001")
    assert (again.entry, again.before, desk.books()) == (first.entry, True, before)


def test_the_same_form_with_something_else_in_it_is_refused() -> None:
    """MO-06: same key, other body."""
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3, act_id="form-0001")
    assert desk.refused("award-verified", BEN, game=1, seat=3, act_id="form-0001") is Why.ACT_DIFFERS


def test_what_is_handed_over_beyond_the_award_needs_a_reason_and_a_third_person_and_is_the_house_s() -> None:
    """R-59: the meter pays the award, never the difference."""
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    pending = desk.accounts()["pending"]
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed="$1.00", how="chips") is Why.WRONG_FIELD
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed="$1.00", how="chips", reason="so") is Why.THIRD_PERSON
    from controller.acts import read_act
    from controller.desk import act

    made = read_act("award-paid", "form-0002", {
        "table": "PG-01", "spot": "progressive", "game": 1, "seat": 3, "handed": "$1.00", "how": "chips",
        "reason": "the rest tomorrow"}, BEN, None, CARL)
    told = act(desk.floor, made, desk.at).told
    assert told["difference"] == 100 - told["due"]
    assert desk.accounts()["paid"] == pending


def test_a_refused_award_gives_the_money_back_to_the_meter() -> None:
    """D21: a refusal has a reason and a second person, and is kept."""
    desk = won()
    desk.act("award-refused", ANNA, BEN, game=1, seat=3, reason="the joker was a card of another deck")
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    assert (found.past[0]["state"], desk.accounts()["pending"], desk.floor.awards_pending) == ("refused", 0, 0)
    assert desk.accounts()["display"] == 1_000_000_000_000 + 2 * 5_000_000


def test_a_refusal_needs_a_second_person() -> None:
    assert won().refused("award-refused", ANNA, game=1, seat=3, reason="no") is Why.SECOND_PERSON


def test_large_awards_are_released_by_a_third_person_before_they_are_paid() -> None:
    """D26."""
    desk = won(release_from="$1,000.00")
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="chips") is Why.NOT_NOW
    assert desk.refused("award-released", ANNA, game=1, seat=3) is Why.NOT_ALLOWED
    desk.act("award-released", DORA, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)
    assert desk.state(1, 3) == "paid"


def test_small_awards_need_no_release_and_take_none() -> None:
    desk = won(HIT, release_from="$1,000.00")
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-released", CARL, game=1, seat=3) is Why.NOT_NOW


def test_who_added_a_hand_may_not_verify_or_pay_it() -> None:
    """Who entered or corrected a wager or hit of it may not verify, release or pay it."""
    desk = Desk()
    desk.lock(1, 3, 5)
    desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome=TOP, reason="no keypad")
    assert desk.refused("award-verified", BEN, game=1, seat=3) is Why.TOUCHED_IT
    desk.act("award-verified", CARL, game=1, seat=3)
    assert desk.refused("award-paid", ANNA, game=1, seat=3, handed=due(desk), how="chips") is Why.TOUCHED_IT
    desk.pay(1, 3, due(desk), IDA)


def test_what_the_tray_pays_is_paid_with_the_hit_and_asks_nobody() -> None:
    """It must fit a real shift: small wins may not cost a supervisor a walk."""
    desk = won(HIT, table={"tray_limit": "$5,000.00"})
    assert (desk.state(1, 3), desk.floor.awards_pending) == ("paid-by-dealer", 0)


def test_an_award_with_a_share_of_a_meter_is_never_the_tray_s() -> None:
    desk = won(TOP, table={"tray_limit": "$900,000.00"})
    assert (desk.state(1, 3), desk.floor.awards_pending) == ("pending", 1)


def test_what_was_paid_in_error_stays_paid_and_the_house_makes_the_meter_whole() -> None:
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)
    before = desk.accounts()
    assert desk.refused("paid-in-error", ANNA, BEN, game=1, seat=3, reason="wrong deck") is Why.THIRD_PERSON
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="wrong deck")
    after = desk.accounts()
    assert after["paid"] == before["paid"]
    assert after["display"] - before["display"] == before["paid"] == before["house"] - after["house"]


def test_an_unverified_award_of_a_large_sum_holds_its_table() -> None:
    """R-50."""
    desk = won(table={"hold_from": "$1,000.00"})
    assert desk.floor.tables["PG-01"].held_by == [[1, 3, "progressive"]]
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.floor.tables["PG-01"].held_by == []


@pytest.mark.parametrize("person", [one for one in EVERYBODY if one.role not in (Role.SUPERVISOR, Role.SHIFT_MANAGER)])
def test_only_the_floor_verifies(person: object) -> None:
    """WE-03."""
    assert won().refused("award-verified", person, game=1, seat=3) is Why.NOT_ALLOWED  # type: ignore[arg-type]


def test_surveillance_and_auditors_sign_nothing_here() -> None:
    desk = won()
    assert desk.refused("award-refused", ANNA, FAY, game=1, seat=3, reason="no") is Why.NOT_ALLOWED
    assert desk.refused("award-refused", ANNA, GUS, game=1, seat=3, reason="no") is Why.NOT_ALLOWED


def test_one_person_under_one_name_cannot_sign_twice() -> None:
    assert won().refused("award-refused", ANNA, ANNA, game=1, seat=3, reason="no") is Why.SAME_PERSON


def test_cards_that_do_not_agree_need_a_reason_and_a_second_person() -> None:
    """D24, D29: the claimed hand is read from the cards."""
    desk = won()
    cards = "As Kd Th 2c 5d 7h 9s"
    assert desk.refused("award-verified", ANNA, game=1, seat=3, cards=cards) is Why.WRONG_FIELD
    assert desk.refused("award-verified", ANNA, game=1, seat=3, cards=cards, reason="so") is Why.THIRD_PERSON


def test_cards_that_agree_are_kept_with_the_award() -> None:
    desk = won()
    told = desk.act("award-verified", ANNA, game=1, seat=3, cards="8s 9s Ts Js Qs Ks As").told
    assert (told["agrees"], told["cards"]) == (True, "8s 9s Ts Js Qs Ks As")


def test_from_a_configured_amount_the_cards_must_be_entered() -> None:
    assert won(cards_from="$500.00").refused("award-verified", ANNA, game=1, seat=3) is Why.WRONG_FIELD


def test_large_awards_are_paid_only_when_every_line_of_the_checklist_is_ticked() -> None:
    """R-58, R-61."""
    desk = won(paper_from="$1,200.00", paper=["Identity checked", "Cards to camera"])
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="cash") is Why.NOT_NOW
    paper = {"game": 1, "seat": 3, "taxable": "taxable", "form": "W-2G 7", "withheld": "$100.00"}
    assert desk.refused("paper-done", CARL, **paper, ticked="Identity checked") is Why.WRONG_FIELD
    told = desk.act("paper-done", CARL, **paper, ticked="Identity checked; Cards to camera").told
    assert told["net"] == told["due"] - 10_000
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="cash") is Why.WRONG_FIELD
    paid = desk.pay(1, 3, format_cents(told["net"]), BEN).told
    assert (paid["difference"], paid["withheld"]) == (0, 10_000)


def test_each_envy_amount_is_a_line_of_its_own_paid_once() -> None:
    """58 Pa. Code section 688a.12: never from a meter."""
    desk = won()
    assert desk.refused("envy-paid", BEN, game=1, seat=3, to=5, how="chips") is Why.NOT_NOW
    desk.act("award-verified", ANNA, game=1, seat=3)
    before = desk.accounts()
    told = desk.act("envy-paid", BEN, game=1, seat=3, to=5, how="chips").told
    assert told["cents"] > 0
    assert desk.accounts() == before
    assert desk.refused("envy-paid", CARL, game=1, seat=3, to=5, how="chips") is Why.ALREADY_DONE


def test_unclaimed_envy_stays_due_and_may_still_be_paid() -> None:
    desk = won()
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("envy-unclaimed", BEN, game=1, seat=3, to=5, reason="the player left")
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    assert found.lines[3, "progressive", 5] == "unclaimed"
    assert desk.act("envy-paid", BEN, game=1, seat=3, to=5, how="chips").told["cents"] > 0
    assert found.lines[3, "progressive", 5] == "paid"


def test_every_state_is_in_the_table_of_steps() -> None:
    reached = {after for steps in STEPS.values() for after in steps.values()}
    assert reached <= STEPS.keys()
    assert all(STEPS[state] for state in OPEN)


def test_who_took_a_hand_away_takes_no_part_in_what_is_keyed_in_its_place() -> None:
    desk = Desk()
    desk.lock(1, 3, 5)
    desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome=HIT, reason="no keypad")
    desk.act("hit-withdrawn", CARL, IDA, game=1, seat=3, reason="read again")
    desk.hit(1, 3, HIT)
    for person in (ANNA, BEN, CARL, IDA):
        assert desk.refused("award-verified", person, game=1, seat=3) is Why.TOUCHED_IT
