"""A game's file and its slips from a real ledger: every award re-adds to the cent, however it came to be (MO-10)."""

from dataclasses import fields
from pathlib import Path
from random import Random

import pytest
from awards_house import AT, MINUTE, SPOT, AwardsHouse, plan_with
from desk_house import ANNA, BEN, CARL, DORA, IDA

from controller.acts import ActRefused
from controller.award_lives import found_by
from controller.game_file import GameFile
from controller.meter import Amounts
from controller.money import PPM
from controller.plan import FloorPlan
from controller.slip import SlipState, differences, read_code
from controller.slip_of import slip_of
from controller.slip_pdf import slip_pdf

TOP, MATCH, JOKER, ACES, QUADS = (
    "7-card-straight-flush", "royal-flush-royal-match", "7-card-straight-flush-with-joker", "five-aces",
    "four-of-a-kind")


def house(tmp_path: Path, plan: FloorPlan | None = None) -> AwardsHouse:
    """Game 1 of PG-01: seats 1, 2 and 4 lit, seat 2 wins 20% of the meter; closed."""
    made = AwardsHouse(tmp_path, plan)
    made.lock(1, 1, 2, 4)
    made.hit(1, 2, MATCH)
    made.say("close", 1)
    return made


def rows_agree(found: GameFile) -> bool:
    """Whether states and amounts made from the entries are those that the engine's row has."""
    standing = {place: (case.state, found.round.hits[place].shares) for place, case in found.round.cases.items()}
    told = {one.life.place: (one.life.state, dict(one.life.parts)) for one in found.awards}
    past = [(one["seat"], one["spot"], one["state"], one["due"]) for one in found.round.past]
    return standing == told and past == [
        (one.life.seat, one.life.spot, one.life.state, one.life.due_cents) for one in found.past]


def test_a_game_names_lit_seats_hand_and_the_way_from_the_meter_to_the_award(tmp_path: Path) -> None:
    """20% of $10,000.15 is $2,000.03; $5,000.00 and the wager of $5.00 beside it."""
    one = house(tmp_path).game(1)
    (award,) = one.awards
    working = award.life.workings["pg-link"]
    assert [lit.seat for lit in one.lit] == [1, 2, 4]
    assert (award.label, award.life.due_cents, working.before, working.award_cents, working.after) == (
        "Royal flush + royal match", 700_503, 1_000_015_000_000, 200_003, 800_012_000_000)


def test_a_table_that_never_played_the_game_has_no_file_of_it(tmp_path: Path) -> None:
    made = house(tmp_path)
    assert (made.file("PG-01", 2), made.file("PG-02", 1), made.file("PG-09", 1)) == (None, None, None)


def test_a_game_without_a_hand_is_found_again_by_its_lock_out(tmp_path: Path) -> None:
    made = house(tmp_path)
    for number in (2, 3, 4):
        made.lock(number, number)
    found = made.game(3)
    assert ([lit.seat for lit in found.lit], found.round.state, found.awards) == ([3], "closed", ())


def test_the_open_game_is_found_with_its_count(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.lock(2, 1, 3)
    made.say("count", 2, chips=3)
    found = made.game(2)
    assert (found.round.state, found.difference, found.corrections(made.at)) == (
        "open", 1, ("count-closed", "hit-added", "wager-added"))


def test_the_next_step_stands_first_and_follows_the_award_s_life(tmp_path: Path) -> None:
    made = house(tmp_path, plan_with(release_from="$1,000.00", paper_from="$1,200.00", paper=["Identity checked"]))

    def first() -> str:
        return made.game(1).awards[0].acts[0]

    seen = [first()]
    made.sign("award-verified", ANNA, game=1, seat=2)
    seen.append(first())
    made.sign("award-released", DORA, game=1, seat=2)
    seen.append(first())
    made.sign("paper-done", CARL, game=1, seat=2, ticked="Identity checked", taxable="taxable")
    seen.append(first())
    made.sign("award-paid", BEN, game=1, seat=2, handed="$7,005.03", how="cash")
    seen.append(first())
    assert seen == ["award-verified", "award-released", "paper-done", "award-paid", "paid-in-error"]


def test_whoever_entered_a_hand_is_told_why_another_person_verifies_it(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("hit-added", ANNA, BEN, game=1, seat=4, outcome=ACES, reason="no keypad")
    added = made.game(1).award_of(4, SPOT)
    assert added is not None
    assert [added.why_not("award-verified", name) != "" for name in ("anna", "ben", "carl")] == [True, True, False]


def test_whoever_entered_a_hand_that_others_changed_may_still_not_verify_it(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("hit-added", ANNA, BEN, game=1, seat=4, outcome=ACES, reason="no keypad")
    made.sign("hit-changed", CARL, IDA, game=1, seat=4, outcome=JOKER, reason="read wrongly")
    changed = made.game(1).award_of(4, SPOT)
    assert changed is not None
    assert set(changed.touched) == {"anna", "ben", "carl", "ida"}


def test_whoever_verified_is_told_why_another_person_pays(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    (award,) = made.game(1).awards
    assert "another step" in award.why_not("award-paid", "anna")
    assert award.why_not("award-paid", "ben") == ""


def test_whoever_paid_envy_of_a_hand_is_told_why_another_person_verifies_it_anew(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("envy-paid", BEN, game=1, seat=2, to=1, how="chips")
    (award,) = made.game(1).awards
    told = [award.why_not("award-verified", name) for name in ("ben", "carl")]
    assert told == ["ben has paid envy of this hand", ""]
    assert award.why_not("award-paid", "ben") == ""


def test_a_seat_in_doubt_needs_the_release(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2)
    made.say("count", 1, chips=1)
    made.sign("count-closed", ANNA, BEN, game=1, seat=2, finding="no chip in the tray")
    made.hit(1, 2, ACES)
    made.sign("award-verified", CARL, game=1, seat=2)
    (award,) = made.game(1).awards
    assert (award.acts[0], award.release) == ("award-released", "the wager of this seat could not be proved")


def test_envy_is_a_line_of_each_other_seat_with_what_became_of_it(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("envy-paid", BEN, game=1, seat=2, to=1, how="chips")
    made.sign("envy-unclaimed", BEN, game=1, seat=2, to=4, reason="the player left")
    (award,) = made.game(1).awards
    assert [(due.to, due.cents, due.state) for due in award.envy] == [(1, 75_000, "paid"), (4, 75_000, "unclaimed")]


def test_envy_of_a_changed_hand_is_dealt_with_anew(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("envy-unclaimed", BEN, game=1, seat=2, to=4, reason="the player left")
    made.sign("hit-changed", ANNA, BEN, game=1, seat=2, outcome=ACES, reason="read wrongly")
    found = made.game(1)
    assert [[(due.to, due.state) for due in one.envy] for one in (*found.awards, *found.past)] == [
        [(1, "pending"), (4, "pending")], [(1, "pending"), (4, "unclaimed")]]


def test_a_wager_stands_once_a_count_has_agreed(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2)
    made.say("count", 1, chips=2)
    made.say("count", 1, chips=3)
    assert made.game(1).corrections(made.at) == ("count-closed", "hit-added")


def test_a_hand_without_a_wager_of_its_own_has_only_envy(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2)
    made.sign("hit-added", ANNA, BEN, game=1, seat=5, outcome=ACES, envy_only=True, reason="no wager")
    found = made.game(1)
    assert [(seat, [due.to for due in envy]) for seat, _, _, envy in found.envy_only] == [(5, [1, 2])]
    assert found.awards == ()


def test_the_history_names_everybody_with_role_and_time(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.later()
    made.sign("hit-changed", ANNA, BEN, game=1, seat=2, outcome=ACES, reason="read wrongly")
    last = made.game(1).history[-1]
    assert (last.title, last.at, [person.words() for person in last.people]) == (
        "Hand changed, seat 2", AT + MINUTE,
        ["anna (supervisor, table-games)", "ben (supervisor, table-games)"])
    assert ("Hand", "Five aces") in last.words


def test_a_changed_hand_keeps_the_award_that_it_replaced(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("hit-changed", ANNA, BEN, game=1, seat=2, outcome=ACES, reason="read wrongly")
    found = made.game(1)
    assert [(one.label, one.life.state) for one in (*found.past, *found.awards)] == [
        ("Royal flush + royal match", "withdrawn"), ("Five aces", "pending")]
    assert rows_agree(found)


def test_the_slip_of_an_award_re_adds_and_is_tied_to_its_entry(tmp_path: Path) -> None:
    """MO-10: meter before, share, rounding, after, fixed part, returned wager, envy, persons and times."""
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("award-paid", BEN, game=1, seat=2, handed="$7,005.03", how="chips")
    told = made.sign("slip-printed", ANNA, game=1, seat=2)
    slip = slip_of(made.game(1), 2, SPOT, told.told["number"], told.told["copy"])
    assert differences(slip) == []
    assert (slip.state, slip.due_cents, slip.parts_cents, slip.how, slip.reprint) == (
        SlipState.PAID, 700_503, 700_503, "chips", 0)
    assert [(step.what, step.person.id, step.at) for step in slip.steps] == [
        ("Verified", "anna", "2026-12-01 17:00:00 EST"), ("Paid", "ben", "2026-12-01 17:00:00 EST")]
    assert (slip.entry, slip.hash) == (told.entry, made.reader.heads()["main"][1])


def test_a_slip_s_code_is_read_back_to_its_entry(tmp_path: Path) -> None:
    from controller.slip import slip_code

    made = house(tmp_path)
    told = made.sign("slip-printed", ANNA, game=1, seat=2)
    slip = slip_of(made.game(1), 2, SPOT, 1, 1)
    assert read_code(slip_code(slip.entry, slip.hash)).fits(told.entry, made.reader.heads()["main"][1])


def test_a_copy_once_printed_never_changes(tmp_path: Path) -> None:
    """R-58: a stored copy is unalterable; what happened later stands on later copies."""
    made = house(tmp_path)
    made.sign("slip-printed", ANNA, game=1, seat=2)
    first = slip_pdf(slip_of(made.game(1), 2, SPOT, 1, 1), made.at)
    made.sign("hit-added", ANNA, BEN, game=1, seat=4, outcome=JOKER, reason="no keypad")
    made.sign("award-verified", CARL, game=1, seat=2)
    made.sign("award-refused", ANNA, BEN, game=1, seat=2, reason="another deck")
    made.sign("slip-printed", ANNA, game=1, seat=2)
    assert slip_pdf(slip_of(made.game(1), 2, SPOT, 1, 1), AT) == first
    second = slip_of(made.game(1), 2, SPOT, 1, 2)
    assert (second.state, second.reprint, second.reason) == (SlipState.REFUSED, 1, "another deck")


def test_a_slip_of_a_copy_that_nobody_printed_is_not_made(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("slip-printed", ANNA, game=1, seat=2)
    with pytest.raises(LookupError, match="copy 2"):
        slip_of(made.game(1), 2, SPOT, 1, 2)


def test_a_slip_names_the_one_it_replaces(tmp_path: Path) -> None:
    made = house(tmp_path)
    made.sign("slip-printed", ANNA, game=1, seat=2)
    made.sign("hit-changed", ANNA, BEN, game=1, seat=2, outcome=ACES, reason="read wrongly")
    made.sign("slip-printed", ANNA, game=1, seat=2)
    found = made.game(1)
    assert (slip_of(found, 2, SPOT, 2, 1).replaces, slip_of(found, 2, SPOT, 1, 1).replaced_by) == (1, None)


def test_a_payment_that_differs_stands_on_the_slip_with_who_decided(tmp_path: Path) -> None:
    """R-59."""
    made = house(tmp_path)
    made.sign("award-verified", ANNA, game=1, seat=2)
    made.sign("award-paid", BEN, None, CARL, game=1, seat=2, handed="$7,000.00", how="cash", reason="no coins")
    made.sign("slip-printed", ANNA, game=1, seat=2)
    override = slip_of(made.game(1), 2, SPOT, 1, 1).override
    assert override is not None
    assert (override.handed_cents, override.reason, override.third.id) == (700_000, "no coins", "carl")


def test_the_checklist_stands_on_the_slip_blank_before_and_answered_after(tmp_path: Path) -> None:
    """R-61, D26."""
    made = house(tmp_path, plan_with(paper_from="$1,200.00", paper=["Identity checked"]))
    made.sign("slip-printed", ANNA, game=1, seat=2)
    made.sign("paper-done", CARL, game=1, seat=2, ticked="Identity checked", taxable="taxable", withheld="$5.03")
    made.sign("slip-printed", ANNA, game=1, seat=2)
    before, after = (slip_of(made.game(1), 2, SPOT, 1, copy).paper for copy in (1, 2))
    assert before is not None
    assert after is not None
    assert (before.answers, after.answers) == (
        (("Identity checked", ""),),
        (("Identity checked", "done, carl"), ("Taxable", "yes"), ("Form", "none"), ("Withheld", "$5.03"),
         ("Net", "$7,000.00")))


def test_what_the_tray_paid_is_paid_by_the_dealer_on_page_and_slip(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path, plan_with({"tray_limit": "$200.00"}))
    made.lock(1, 1, 2)
    made.hit(1, 1, QUADS)
    made.sign("slip-printed", ANNA, game=1, seat=1)
    (award,) = made.game(1).awards
    assert ([due.state for due in award.envy], award.life.state) == (["paid-by-dealer"], "paid-by-dealer")
    assert slip_of(made.game(1), 1, SPOT, 1, 1).state is SlipState.PAID


def test_a_difference_closed_after_the_dealer_paid_changes_no_award(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path, plan_with({"tray_limit": "$200.00"}))
    made.lock(1, 1, 2)
    made.say("count", 1, chips=1)
    made.hit(1, 1, QUADS)
    made.sign("count-closed", ANNA, BEN, game=1, seat=1, finding="the chip lay beside the sensor")
    made.hit(1, 2, QUADS)
    assert rows_agree(made.game(1))


def test_a_meter_is_found_by_each_hand_as_the_hands_before_it_left_it() -> None:
    """Partials first: 20% and 10% of what is left, then two hands share the rest and the seed is laid once."""
    meter = plan_with().meters["pg-link"]
    start = Amounts(1_000_000_000_000, 700_000_000_000, 0)
    found = found_by(meter, start, [PPM, 200_000, PPM, 100_000], [360_000, 200_000, 360_000, 80_000])
    assert [(one.meter.display, one.left_cents, one.shared_by) for one in found] == [
        (720_000_000_000, 720_000, 2), (1_000_000_000_000, 1_000_000, 1), (720_000_000_000, 720_000, 2),
        (800_000_000_000, 800_000, 1)]


_KEYS = ("tie_policy", "order", "below_seed", "reserve_surplus", "rounding")
POLICIES = (
    dict(zip(_KEYS, ("split", "partials-first", "allow", "keep", "up"), strict=True)),
    dict(zip(_KEYS, ("sequential", "pay-order", "top-up", "add", "down"), strict=True)),
    dict(zip(_KEYS, ("split", "pay-order", "top-up", "add", "up"), strict=True)),
)


@pytest.mark.parametrize("seed", range(6))
def test_every_slip_of_a_wild_day_re_adds_to_the_cent(tmp_path: Path, seed: int) -> None:
    """Two linked tables, hands keyed, added, changed, withdrawn, refused and paid in any order, under any policies."""
    random = Random(seed)
    made = AwardsHouse(tmp_path, plan_with(meter=POLICIES[seed % 3]))
    outcomes = (TOP, TOP, MATCH, JOKER, JOKER, ACES)
    games = {"PG-01": 0, "PG-02": 0}
    for _ in range(70):
        table = random.choice(("PG-01", "PG-02"))
        if games[table] == 0 or random.random() < 0.2:
            games[table] += 1
            made.lock(games[table], *random.sample(range(1, 7), 5), table=table)
        _something(made, random, table, random.choice((games[table], max(1, games[table] - 1))), outcomes)
    slips = []
    for table, number in ((table, number) for table, last in games.items() for number in range(1, last + 1)):
        for place in {one.life.place for one in (*made.game(number, table).awards, *made.game(number, table).past)}:
            made.sign("slip-printed", ANNA, table=table, game=number, seat=place[0])
        found = made.game(number, table)
        assert rows_agree(found)
        slips += [slip_of(found, one.life.seat, SPOT, done.number, done.copy)
                  for one in (*found.awards, *found.past) for done in one.printed]
    assert [differences(slip) for slip in slips if differences(slip)] == []
    assert len(slips) > 6


def _something(made: AwardsHouse, random: Random, table: str, game: int, outcomes: tuple[str, ...]) -> None:
    """One thing that people or the keypad do about a game; what the rules refuse is not done."""
    seat, outcome = random.randrange(1, 7), random.choice(outcomes)
    where = {"table": table, "game": game, "seat": seat}
    found = made.game(game, table)
    held = [one.life for one in found.awards]
    if held and random.random() < 0.7:
        where["seat"] = random.choice(held).seat
    one = found.award_of(where["seat"], SPOT)
    due = f"${0 if one is None else one.life.due_cents / 100:,.2f}"
    try:
        match random.randrange(9):
            case 0 | 1 | 2:
                made.sign("hit-added", ANNA, BEN, **where, outcome=outcome, reason="no keypad")
            case 3:
                made.sign("hit-changed", ANNA, BEN, **where, outcome=outcome, reason="read wrongly")
            case 4:
                made.sign("hit-withdrawn", ANNA, BEN, **where, reason="was none")
            case 5:
                made.sign("award-refused", ANNA, BEN, **where, reason="another deck")
            case 6:
                made.sign("award-verified", CARL, **where)
                made.sign("award-paid", IDA, **where, handed=due, how="chips")
            case _:
                made.sign("slip-printed", ANNA, **where)
    except ActRefused:
        return


def test_a_file_holds_nothing_that_is_not_in_the_ledger(tmp_path: Path) -> None:
    """A second look at the same ledger gives the same file, field by field."""
    made = house(tmp_path)
    one, two = made.game(1), made.game(1)
    assert [part.name for part in fields(one) if getattr(one, part.name) != getattr(two, part.name)
            and part.name not in ("floor", "locked", "round")] == []
