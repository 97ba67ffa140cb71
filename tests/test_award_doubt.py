"""Money that is in doubt, or large, is signed by people who have no part in it (R-58, R-62, issue 3 parts 2 and 4)."""

import pytest
from desk_house import ANNA, BEN, CARL, DORA, HOUR, IDA, Desk, plan_with
from test_award_acts import due

from controller import rounds
from controller.acts import ActRefused, Why
from controller.floor_state import Round, round_from, round_row
from controller.journal import RULES_VERSION, TABLE_RULES
from controller.people import Person, Role

TOP = "7-card-straight-flush"
ROYAL = "royal-flush-royal-match"
"""$5,000 and a share; $750 envy to each other seat."""
FOUR = "four-of-a-kind"
DAY = 24 * HOUR
JACK = Person("jack", Role.SUPERVISOR, "table-games")
WHY = {"game": 1, "finding": "a chip lay beside the sensor"}


def game(desk: Desk, number: int = 1) -> Round:
    """A game of PG-01."""
    found = desk.floor.find_game(f"PG-01/{number}")
    assert found is not None
    return found


def doubtful(chips: int = 2, **awards: object) -> Desk:
    """Game 1 with wagers at seats 1, 2 and 3, another number of chips, and a hand at seat 3."""
    desk = Desk(plan_with(**awards))  # type: ignore[arg-type]
    desk.lock(1, 1, 2, 3)
    desk.chips(1, chips)
    desk.hit(1, 3, ROYAL)
    return desk


# ---------------------------------------------------------------------- chips and wagers that differ


def test_chips_and_wagers_that_differ_put_every_award_of_the_game_under_the_third_release() -> None:
    desk = doubtful()
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="chips") is Why.NOT_NOW
    desk.act("award-released", CARL, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)


def test_nothing_of_a_game_whose_chips_and_wagers_differ_comes_from_the_tray() -> None:
    states = []
    for chips in (2, 3):
        desk = Desk(plan_with({"tray_limit": "$200.00"}))
        desk.lock(1, 1, 2, 3)
        desk.chips(1, chips)
        desk.hit(1, 3, FOUR)
        states.append(desk.state(1, 3))
    assert states == ["pending", "paid-by-dealer"]


def test_envy_for_a_seat_in_doubt_does_not_come_from_the_tray_with_another_seat_s_hand() -> None:
    desk = Desk(plan_with({"tray_limit": "$200.00"}))
    desk.lock(1, 1, 2, 3)
    desk.chips(1, 2)
    desk.act("count-closed", ANNA, BEN, seat=1, **WHY)
    desk.hit(1, 3, FOUR)
    assert desk.state(1, 3) == "pending"


def test_a_count_that_agrees_at_last_or_a_finding_of_another_seat_takes_the_doubt_away() -> None:
    counted, found = doubtful(), doubtful()
    counted.chips(1, 3)
    found.act("count-closed", CARL, IDA, seat=1, **WHY)
    for desk in (counted, found):
        desk.act("award-verified", ANNA, game=1, seat=3)
        desk.pay(1, 3, due(desk), BEN)


def test_another_difference_than_the_one_that_was_found_is_doubt_again_and_may_be_closed_too() -> None:
    desk = doubtful()
    desk.act("count-closed", CARL, IDA, seat=1, **WHY)
    assert desk.refused("count-closed", CARL, IDA, seat=1, **WHY) is Why.ALREADY_DONE
    desk.chips(1, 1)
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-paid", BEN, game=1, seat=3, handed=due(desk), how="chips") is Why.NOT_NOW
    desk.act("count-closed", CARL, IDA, seat=1, **WHY)
    desk.pay(1, 3, due(desk), BEN)


def test_who_wrote_the_finding_takes_no_step_of_any_award_of_the_game() -> None:
    desk = doubtful(release_from="$1,000.00")
    desk.act("count-closed", CARL, IDA, seat=1, **WHY)
    assert desk.refused("award-verified", CARL, game=1, seat=3) is Why.TOUCHED_IT
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("award-released", IDA, game=1, seat=3) is Why.TOUCHED_IT
    desk.act("award-released", DORA, game=1, seat=3)
    assert desk.refused("award-paid", CARL, game=1, seat=3, handed=due(desk), how="chips") is Why.TOUCHED_IT
    assert desk.refused("envy-paid", CARL, game=1, seat=3, to=2, how="chips") is Why.TOUCHED_IT


def test_who_has_taken_a_step_of_an_award_does_not_write_the_finding_that_frees_it() -> None:
    desk = doubtful()
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("count-closed", ANNA, BEN, seat=1, **WHY) is Why.TOUCHED_IT
    desk.act("count-closed", CARL, IDA, seat=1, **WHY)


@pytest.mark.parametrize("writers", [(BEN, CARL), (CARL, BEN), (JACK, BEN)])
def test_who_has_paid_envy_of_the_game_does_not_write_the_finding_that_frees_it(
    writers: tuple[Person, Person]
) -> None:
    desk = doubtful(chips=3)
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("envy-paid", BEN, game=1, seat=3, to=2, how="chips")
    desk.chips(1, 4)
    assert desk.refused("count-closed", *writers, **WHY) is Why.TOUCHED_IT
    desk.act("count-closed", CARL, IDA, **WHY)


def test_who_paid_an_award_that_was_in_error_does_not_write_the_finding_for_the_true_hand() -> None:
    desk = in_error()
    desk.act("hit-added", ANNA, CARL, game=1, seat=3, outcome=TOP, reason="read again")
    desk.chips(1, 2)
    assert desk.refused("count-closed", BEN, IDA, **WHY) is Why.TOUCHED_IT
    desk.act("count-closed", JACK, IDA, **WHY)


# ---------------------------------------------------------------------- envy


def test_who_has_paid_envy_may_pay_the_award_of_its_hand_as_well() -> None:
    """Both are paying; another person has verified the hand."""
    desk = doubtful(chips=3)
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert desk.refused("envy-paid", ANNA, game=1, seat=3, to=2, how="chips") is Why.SAME_PERSON
    desk.act("envy-paid", BEN, game=1, seat=3, to=2, how="chips")
    desk.pay(1, 3, due(desk), BEN)


@pytest.mark.parametrize("rules", [TABLE_RULES, RULES_VERSION])
def test_who_has_paid_envy_does_not_verify_the_hand_when_its_award_has_become_another_amount(rules: int) -> None:
    """Under the rules before it was not kept who had paid it."""
    desk = doubtful(chips=3)
    desk.floor.rules = rules
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("envy-paid", BEN, game=1, seat=3, to=2, how="chips")
    desk.hit(1, 1, ROYAL)
    assert desk.state(1, 3) == "pending"
    if rules == RULES_VERSION:
        assert round_from(round_row(game(desk)), game(desk).plan).payers == {(3, "progressive", 2): ["ben"]}
        assert desk.refused("award-verified", BEN, game=1, seat=3) is Why.SAME_PERSON
        desk.act("award-verified", ANNA, game=1, seat=3)
    else:
        assert game(desk).payers == {}
        desk.act("award-verified", BEN, game=1, seat=3)


def test_who_entered_or_corrected_the_wager_of_a_seat_does_not_pay_its_envy() -> None:
    desk = Desk()
    desk.lock(1, 1, 3)
    desk.chips(1, 3)
    desk.act("wager-added", ANNA, BEN, game=1, seat=2, reason="missed")
    desk.hit(1, 3, ROYAL)
    desk.act("award-verified", CARL, game=1, seat=3)
    assert desk.refused("envy-paid", ANNA, game=1, seat=3, to=2, how="chips") is Why.TOUCHED_IT
    assert desk.act("envy-paid", ANNA, game=1, seat=3, to=1, how="chips").told["cents"] > 0
    desk.act("envy-paid", IDA, game=1, seat=3, to=2, how="chips")


def test_envy_for_a_seat_in_doubt_is_paid_by_two_the_second_of_another_role_that_releases() -> None:
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.chips(1, 2)
    desk.act("count-closed", BEN, IDA, seat=2, **WHY)
    desk.hit(1, 3, ROYAL)
    desk.act("award-verified", CARL, game=1, seat=3)
    line = {"game": 1, "seat": 3, "to": 2, "how": "chips"}
    assert desk.refused("envy-paid", ANNA, **line) is Why.THIRD_PERSON
    assert desk.refused("envy-paid", ANNA, None, JACK, **line) is Why.NOT_ALLOWED
    desk.act("envy-paid", ANNA, game=1, seat=3, to=1, how="chips")
    desk.act("envy-paid", ANNA, None, DORA, **line)


@pytest.mark.parametrize("alone", [False, True])
def test_envy_of_the_amount_that_is_released_needs_a_second_role_with_an_award_or_without(alone: bool) -> None:
    desk = Desk(plan_with(release_from="$750.00"))
    desk.lock(1, 1, 2, *([] if alone else [3]))
    desk.hit(1, 3, ROYAL, envy_only=alone)
    if not alone:
        desk.act("award-verified", ANNA, game=1, seat=3)
        desk.act("award-released", IDA, game=1, seat=3)
    line = {"game": 1, "seat": 3, "to": 1, "how": "chips"}
    assert desk.refused("envy-paid", BEN, **line) is Why.THIRD_PERSON
    assert desk.refused("envy-paid", BEN, None, JACK, **line) is Why.NOT_ALLOWED
    desk.act("envy-paid", BEN, None, CARL, **line)


# ---------------------------------------------------------------------- a third role releases


def test_who_releases_is_of_another_role_than_who_verified_and_who_pays_than_who_released() -> None:
    desk = Desk(plan_with(release_from="$1,000.00"))
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, ROYAL)
    desk.act("award-verified", CARL, game=1, seat=3)
    assert desk.refused("award-released", IDA, game=1, seat=3) is Why.NOT_ALLOWED
    desk.act("award-released", DORA, game=1, seat=3)
    desk.pay(1, 3, due(desk), IDA)
    desk.hit(1, 2, TOP)
    desk.act("award-verified", ANNA, game=1, seat=2)
    desk.act("award-released", IDA, game=1, seat=2)
    assert desk.refused("award-paid", CARL, game=1, seat=2, handed=due(desk, 2), how="chips") is Why.NOT_ALLOWED
    desk.pay(1, 2, due(desk, 2), BEN)


def test_nothing_is_verified_that_no_other_role_could_release_and_the_remedy_names_who_verifies() -> None:
    desk = Desk(plan_with(release_from="$1,000.00", release=["shift-manager"]))
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, ROYAL)
    with pytest.raises(ActRefused, match=r"nobody could release what a shift-manager has verified; ask a supervisor"):
        desk.act("award-verified", CARL, game=1, seat=3)
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("award-released", CARL, game=1, seat=3)
    desk.pay(1, 3, due(desk), BEN)


def test_nothing_is_released_that_no_other_role_could_pay() -> None:
    desk = Desk(plan_with(release_from="$1,000.00", pay=["shift-manager"]))
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, ROYAL)
    desk.act("award-verified", ANNA, game=1, seat=3)
    with pytest.raises(ActRefused, match=r"nobody of another role could pay .* ask an? accounting to release it"):
        desk.act("award-released", CARL, game=1, seat=3)
    desk.act("award-released", DORA, game=1, seat=3)
    desk.pay(1, 3, due(desk), IDA)


def test_a_small_award_whose_game_is_over_and_counted_is_verified_by_any_role_that_verifies() -> None:
    """No release can come to be needed any more."""
    desk = Desk(plan_with(release_from="$100,000.00", release=["shift-manager"]))
    desk.lock(1, 1, 2, 3)
    desk.chips(1, 3)
    desk.hit(1, 3, FOUR)
    assert desk.refused("award-verified", CARL, game=1, seat=3) is Why.NOT_ALLOWED
    desk.close(1)
    desk.act("award-verified", CARL, game=1, seat=3)


# ---------------------------------------------------------------------- paid in error


def in_error(*paid_envy: int) -> Desk:
    """Game 1: the hand of seat 3 paid, with the envy of some seats, then found paid in error."""
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, ROYAL)
    desk.act("award-verified", ANNA, game=1, seat=3)
    for seat in paid_envy:
        desk.act("envy-paid", BEN, game=1, seat=3, to=seat, how="chips")
    desk.pay(1, 3, due(desk), BEN)
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="it was a four of a kind")
    return desk


def test_envy_that_is_not_paid_is_due_no_more_once_its_hand_was_paid_in_error() -> None:
    desk = in_error(1)
    lines = {line[2]: line[4] for line in rounds.award_row(game(desk), 1)["lines"]}
    assert (lines, desk.floor.tables["PG-01"].owed) == ({1: "paid", 2: "cancelled"}, 0)
    assert rounds.envy(game(desk)) == [{"seat": 1, "cents": 75_000}]
    assert desk.floor.meters["pg-link"].row(ROYAL).envy == 75_000


def test_the_true_hand_of_a_seat_that_was_paid_in_error_is_entered_by_two_with_an_award_of_its_own() -> None:
    desk = in_error()
    before = desk.accounts()
    told = desk.act("hit-added", ANNA, CARL, game=1, seat=3, outcome=TOP, reason="read again").told
    assert (told["apart"], desk.state(1, 3), desk.floor.awards_pending) == (["pg-link"], "pending", 1)
    after = desk.accounts()
    assert after["paid"] == before["paid"]
    assert after["pending"] == before["display"] // 1_000_000 * 1_000_000
    assert sum(after.values()) == 0
    assert [one["state"] for one in game(desk).past] == ["paid-in-error"]
    assert desk.refused("award-verified", CARL, game=1, seat=3) is Why.TOUCHED_IT
    desk.act("award-verified", BEN, game=1, seat=3)
    desk.pay(1, 3, due(desk), IDA)
    assert desk.accounts()["paid"] == before["paid"] + after["pending"]


def test_the_same_hand_may_be_the_true_one_and_earns_envy_lines_of_its_own() -> None:
    """The award went to somebody else."""
    desk = in_error(1)
    desk.act("hit-added", ANNA, CARL, game=1, seat=3, outcome=ROYAL, reason="another player sat there")
    assert desk.floor.tables["PG-01"].owed == 3
    desk.act("award-verified", BEN, game=1, seat=3)
    assert desk.act("envy-paid", IDA, game=1, seat=3, to=1, how="chips").told["cents"] == 75_000


# ---------------------------------------------------------------------- wagers


def test_a_correction_that_makes_the_wagers_what_was_counted_is_the_agreement() -> None:
    desk = Desk()
    desk.lock(1, 1, 3)
    desk.chips(1, 3)
    desk.act("wager-added", ANNA, BEN, game=1, seat=2, reason="missed")
    for kind, seat in (("wager-added", 4), ("wager-removed", 1)):
        with pytest.raises(ActRefused, match="has agreed"):
            desk.act(kind, CARL, IDA, game=1, seat=seat, reason="one more")


def test_no_correction_leads_away_from_the_count() -> None:
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.chips(1, 1)
    assert desk.refused("wager-added", ANNA, BEN, game=1, seat=4, reason="r") is Why.NOT_NOW
    desk.act("wager-removed", ANNA, BEN, game=1, seat=2, reason="r")
    assert desk.refused("wager-added", ANNA, BEN, game=1, seat=2, reason="r") is Why.NOT_NOW
    desk.act("wager-removed", ANNA, BEN, game=1, seat=3, reason="r")
    assert game(desk).agreed


def test_wagers_of_a_game_that_nobody_counted_are_not_corrected_once_its_gaming_day_is_over() -> None:
    desk = Desk()
    desk.lock(1, 1, 3)
    desk.close(1)
    desk.act("wager-added", ANNA, BEN, game=1, seat=2, reason="missed")
    desk.at += DAY
    assert desk.refused("wager-added", ANNA, BEN, game=1, seat=4, reason="missed") is Why.NOT_NOW
    assert desk.refused("wager-removed", ANNA, BEN, game=1, seat=2, reason="none") is Why.NOT_NOW


@pytest.mark.parametrize("two", [(ANNA, BEN), (BEN, ANNA)])
def test_two_who_made_a_wager_do_not_make_a_hand_of_it_by_adding_or_changing_one(two: tuple[Person, Person]) -> None:
    desk = Desk()
    desk.lock(1, 3)
    desk.act("wager-added", ANNA, BEN, game=1, seat=2, reason="missed")
    desk.close(1)
    assert desk.refused("hit-added", *two, game=1, seat=2, outcome=TOP, reason="r") is Why.TOUCHED_IT
    desk.act("hit-added", ANNA, CARL, game=1, seat=2, outcome=FOUR, reason="seen on camera")
    assert desk.refused("hit-changed", *two, game=1, seat=2, outcome=TOP, reason="r") is Why.TOUCHED_IT


# ---------------------------------------------------------------------- the old day


def test_whatever_is_put_right_on_a_later_day_names_the_day_of_its_game() -> None:
    told = {}
    for kind in ("award-refused", "hit-withdrawn", "hit-changed", "paid-in-error"):
        desk = Desk()
        day = desk.plan.gaming_day(desk.at).isoformat()
        desk.lock(1, 1, 2, 3)
        desk.hit(1, 3, ROYAL)
        desk.close(1)
        people = [ANNA, BEN]
        if kind == "paid-in-error":
            desk.act("award-verified", ANNA, game=1, seat=3)
            desk.pay(1, 3, due(desk), BEN)
            people.append(DORA)
        desk.at += DAY
        more = {"outcome": FOUR} if kind == "hit-changed" else {}
        told[kind] = desk.act(kind, *people, game=1, seat=3, reason="r", **more).told.get("of_day", "") == day
    assert all(told.values()), told
