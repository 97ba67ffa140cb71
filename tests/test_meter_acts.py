"""Meters changed by hand: a closed list of reasons, two departments, both sides booked, nothing else (R-33..R-46)."""

import json
from pathlib import Path
from typing import Any

import pytest
from books_house import BooksHouse
from desk_house import ANNA, AT, BEN, CARL, DORA, EVE, FAY, GUS, HAL, IDA, Desk
from ledger_house import entered, opened
from meter_house import (
    ADJUST,
    CENT,
    DAY,
    DOLLAR,
    OPENING,
    RATE,
    RETIRE,
    SEED,
    TENTH,
    TOP,
    TWO,
    WHY,
    MeterDesk,
    accepting,
    announced,
    dollars,
    grown,
    loaded_again,
    meter_plan,
    noticed,
    notices,
)

from controller import desk as the_desk
from controller.acts import KINDS, Act, ActRefused, Why, read_act
from controller.award import due_cents
from controller.floor import Floor
from controller.floor_state import meter_row
from controller.ledger.verify import verify
from controller.meter_acts import NOTICE_US, RULES
from controller.money import ACCOUNT_MICROCENTS_MAX

# ---------------------------------------------------------------------- who, and for what


def test_every_change_but_openings_and_notices_asks_two_of_different_departments() -> None:
    """R-36, R-99."""
    alone = {"notice-sent", "opening-entered", "opening-accepted"}
    assert {name for name in RULES if not (KINDS[name].second and KINDS[name].other_department)} == alone


@pytest.mark.parametrize("person", [ANNA, EVE, FAY, GUS, HAL])
@pytest.mark.parametrize("kind", sorted(RULES))
def test_a_role_that_answers_for_no_money_changes_no_meter(kind: str, person: Any) -> None:
    """WE-03: whoever else signs; the fields are looked at later."""
    desk = MeterDesk()
    asked = Act(kind, "act-0000", person, DORA if KINDS[kind].second else None, None, {"meter": "pg-link"})
    with pytest.raises(ActRefused) as wrong:
        the_desk.act(desk.floor, asked, AT)
    assert wrong.value.why is Why.NOT_ALLOWED


def test_two_shift_managers_of_one_department_are_not_enough() -> None:
    """Carl and Ben's like: one department is one interest (R-36)."""
    desk = MeterDesk()
    other = CARL._replace(id="olga")
    assert desk.refused("meter-adjusted", CARL, other, **ADJUST) is Why.SAME_DEPARTMENT


def test_shift_managers_of_two_departments_are_enough() -> None:
    desk = MeterDesk()
    desk.act("meter-adjusted", CARL, IDA, **ADJUST)
    assert desk.accounts()["display"] == SEED + DOLLAR


def test_one_person_alone_adjusts_nothing() -> None:
    assert MeterDesk().refused("meter-adjusted", DORA, **ADJUST) is Why.SECOND_PERSON


def test_a_supervisor_does_not_sign_as_the_second() -> None:
    assert MeterDesk().refused("meter-adjusted", DORA, BEN, **ADJUST) is Why.NOT_ALLOWED


@pytest.mark.parametrize(("direction", "code", "good"), [
    ("raise", "malfunction-correction", True), ("raise", "limit-correction", False), ("raise", "restoration", True),
    ("lower", "malfunction-correction", True), ("lower", "limit-correction", True), ("lower", "restoration", False),
])
def test_each_direction_has_its_closed_list_of_reasons(direction: str, code: str, good: bool) -> None:
    """R-37; a restoration only raises, and only what stands above a limit is lowered to it."""
    desk = MeterDesk()
    if code == "limit-correction" and good:
        stand_above_limit(desk)
        desk.adjust(direction, "$5.00", code, "pg-solo")
        assert desk.accounts("pg-solo")["display"] == 250_002 * DOLLAR + CENT // 2
    elif good:
        desk.adjust(direction, "$5.00", code)
        assert desk.accounts()["display"] == SEED + (5 if direction == "raise" else -5) * DOLLAR
    else:
        more = {"meter": "pg-link", "direction": direction, "by_amount": "$5.00", "code": code, **WHY}
        assert desk.refused("meter-adjusted", *TWO, **more) is Why.WRONG_FIELD


def stand_above_limit(desk: Desk) -> None:
    """pg-solo stands $7.00 and half a cent above its limit of $250,000.00, as a withdrawn hand can leave it."""
    solo = desk.floor.meters["pg-solo"]
    solo.players -= 250_007 * DOLLAR + CENT // 2 - solo.display
    solo.display = 250_007 * DOLLAR + CENT // 2


@pytest.mark.parametrize(("meter", "amount"), [("pg-link", "$5.00"), ("pg-solo", "$5.00")])
def test_a_limit_is_no_reason_where_the_meter_has_none_or_does_not_stand_above_it(meter: str, amount: str) -> None:
    """R-37: a reason that is not so would lower any meter."""
    fields = {"meter": meter, "direction": "lower", "by_amount": amount, "code": "limit-correction", **WHY}
    assert MeterDesk().refused("meter-adjusted", *TWO, **fields) is Why.NOT_NOW


@pytest.mark.parametrize(("amount", "good"), [("$7.00", True), ("$7.01", False), ("$250,007.00", False)])
def test_what_stands_above_a_limit_is_lowered_to_it_and_no_further(amount: str, good: bool) -> None:
    desk = MeterDesk()
    stand_above_limit(desk)
    if good:
        desk.adjust("lower", amount, "limit-correction", "pg-solo")
        assert desk.accounts("pg-solo")["display"] == 250_000 * DOLLAR + CENT // 2
    else:
        fields = {"meter": "pg-solo", "direction": "lower", "by_amount": amount, "code": "limit-correction", **WHY}
        assert desk.refused("meter-adjusted", *TWO, **fields) is Why.NOT_NOW


def test_by_the_first_rules_a_limit_was_only_a_word() -> None:
    """Old entries are replayed by their own rules."""
    desk = MeterDesk()
    desk.floor.rules = 1
    desk.adjust("lower", "$5.00", "limit-correction")
    assert desk.accounts()["display"] == SEED - 5 * DOLLAR


@pytest.mark.parametrize("missing", ["reason", "approval", "code", "by_amount"])
def test_a_change_without_its_reason_approval_or_amount_is_no_change(missing: str) -> None:
    """R-38: documented, or not done."""
    with pytest.raises(ActRefused) as wrong:
        read_act("meter-adjusted", "act-0000", {**ADJUST, missing: " "}, *TWO)
    assert wrong.value.why is Why.WRONG_FIELD


# ---------------------------------------------------------------------- how much


def test_an_adjustment_moves_the_display_and_the_house_and_nothing_else() -> None:
    desk = MeterDesk()
    desk.wager(3)
    before = desk.accounts()
    desk.adjust("raise", "$12.34")
    moved = 1_234 * CENT
    assert desk.accounts() == before | {"display": before["display"] + moved, "house": before["house"] - moved}


def test_a_lowering_leaves_the_fraction_of_a_cent_where_it_is() -> None:
    """PG-03 contributes 28 cents, so the odd microcents come from a share of the meter that is rounded (R-15, R-16)."""
    desk = MeterDesk()
    desk.floor.meters["pg-link"].display += 123_456
    desk.floor.meters["pg-link"].players -= 123_456
    desk.adjust("lower", "$10,000.00")
    assert desk.accounts()["display"] == 123_456


def test_a_meter_is_not_lowered_below_zero() -> None:
    """MO-03: one cent below is refused, all of it is not."""
    desk = MeterDesk()
    less = ADJUST | {"direction": "lower", "by_amount": "$10,000.01", "code": "malfunction-correction"}
    assert desk.refused("meter-adjusted", *TWO, **less) is Why.NOT_NOW
    desk.adjust("lower", "$10,000.00")
    assert desk.accounts()["display"] == 0


def test_a_microcent_short_is_short() -> None:
    """MO-03: the fraction of a cent counts below, too."""
    desk = MeterDesk()
    desk.floor.meters["pg-link"].display -= 1
    desk.floor.meters["pg-link"].players += 1
    all_of_it = ADJUST | {"direction": "lower", "by_amount": "$10,000.00", "code": "malfunction-correction"}
    assert desk.refused("meter-adjusted", *TWO, **all_of_it) is Why.NOT_NOW


def test_nothing_is_no_adjustment() -> None:
    assert MeterDesk().refused("meter-adjusted", *TWO, **ADJUST | {"by_amount": "$0.00"}) is Why.WRONG_FIELD


def test_a_meter_is_raised_to_its_limit_and_not_a_cent_above() -> None:
    """D11: pg-solo stands at $10,000.00 and is filed with a limit of $250,000.00."""
    desk = MeterDesk()
    above = ADJUST | {"meter": "pg-solo", "by_amount": "$240,000.01"}
    assert desk.refused("meter-adjusted", *TWO, **above) is Why.NOT_NOW
    desk.adjust("raise", "$240,000.00", meter="pg-solo")
    assert desk.accounts("pg-solo")["display"] == 250_000 * DOLLAR


def test_a_fraction_of_a_cent_below_the_limit_counts() -> None:
    desk = MeterDesk()
    solo = desk.floor.meters["pg-solo"]
    solo.display, solo.players = solo.display + 1, solo.players - 1
    to_limit = ADJUST | {"meter": "pg-solo", "by_amount": "$240,000.00"}
    assert desk.refused("meter-adjusted", *TWO, **to_limit) is Why.NOT_NOW


def test_a_meter_without_a_limit_is_raised_to_what_an_account_holds() -> None:
    """MO-03: the cap is explicit."""
    desk = MeterDesk()
    desk.adjust("raise", "$8,999,990,000.00")
    assert desk.accounts()["display"] == ACCOUNT_MICROCENTS_MAX
    assert desk.refused("meter-adjusted", *TWO, **ADJUST | {"by_amount": "$0.01"}) is Why.NOT_NOW


@pytest.mark.parametrize("cents", [2**31 - 1, 2**31, 2**32 - 1, 2**32])
def test_the_boundaries_of_narrow_integers_are_exact(cents: int) -> None:
    """MO-03: $21,474,836.47 / .48 and $42,949,672.95 / .96."""
    desk = MeterDesk()
    desk.adjust("raise", dollars(cents * CENT - SEED))
    desk.adjust("lower", dollars(cents * CENT))
    assert desk.accounts()["display"] == 0


def test_a_meter_that_nobody_filed_is_not_found() -> None:
    assert MeterDesk().refused("meter-adjusted", *TWO, **ADJUST | {"meter": "pg-nowhere"}) is Why.NOT_FOUND


def test_before_after_and_reason_stand_in_the_entry() -> None:
    """R-38."""
    desk = MeterDesk()
    desk.floor.drain()
    desk.adjust("lower", "$250.00", "malfunction-correction")
    (entry,) = desk.floor.drain()[0]
    body = json.loads(entry.body)
    assert (body["fields"]["code"], body["fields"]["approval"]) == ("malfunction-correction", "PGCB-17")
    assert body["told"]["before"]["pg-link"]["display"] - body["told"]["after"]["pg-link"]["display"] == 250 * DOLLAR
    assert [body["by"][0], body["second"][0]] == ["carl", "dora"]


# ---------------------------------------------------------------------- notices


def test_a_lowering_is_a_notice_due_within_a_day() -> None:
    """R-38: named by the entry that lowered."""
    desk = MeterDesk()
    acted = desk.adjust("lower", "$1.00")
    (number, owed), = notices(desk).items()
    assert (int(number), acted.told["notice"]) == (acted.entry, acted.entry)
    assert (owed["lowered"], owed["meter"], owed["due"]) == (DOLLAR, "pg-link", desk.at + DAY)


def test_a_raise_owes_no_notice() -> None:
    desk = MeterDesk()
    desk.adjust("raise", "$1.00")
    assert notices(desk) == {}


@pytest.mark.parametrize(("later", "late"), [(NOTICE_US, False), (NOTICE_US + 1, True)])
def test_a_notice_that_was_sent_is_off_the_list_and_late_ones_are_said_to_be(later: int, late: bool) -> None:
    desk = MeterDesk()
    number = desk.adjust("lower", "$1.00").entry
    desk.at += later
    sent = desk.act("notice-sent", DORA, **noticed(desk, number), how="by mail to the bureau")
    assert (sent.told["late"], sent.told["meter"], notices(desk)) == (late, "pg-link", {})


def test_a_notice_is_sent_once() -> None:
    desk = MeterDesk()
    number = desk.adjust("lower", "$1.00").entry
    desk.act("notice-sent", DORA, **noticed(desk, number), how="by mail")
    assert desk.refused("notice-sent", CARL, **noticed(desk, number), how="again") is Why.NOT_FOUND


def test_an_entry_that_lowered_nothing_owes_no_notice() -> None:
    desk = MeterDesk()
    number = desk.adjust("raise", "$1.00").entry
    assert desk.refused("notice-sent", DORA, **noticed(desk, number), how="by mail") is Why.NOT_FOUND


# ---------------------------------------------------------------------- reserve and seed


def test_next_jackpot_money_is_not_the_house_s_where_no_key_says_so() -> None:
    """R-64: the house is its custodian."""
    desk = grown()
    more = {"meter": "pg-link", "by_amount": "$1.00", **WHY}
    assert desk.refused("reserve-to-house", *TWO, **more) is Why.NOT_NOW


def test_next_jackpot_money_is_booked_as_the_house_s_where_a_key_says_so() -> None:
    """R-65."""
    desk = MeterDesk(reserve_to_house=True)
    desk.wager(40, "PG-04")
    before = desk.accounts("pg-next")
    acted = desk.act("reserve-to-house", *TWO, meter="pg-next", by_amount="$1.50", **WHY)
    moved = 150 * CENT
    assert desk.accounts("pg-next") == before | {
        "reserve": before["reserve"] - moved, "house": before["house"] + moved}
    assert notices(desk)[str(acted.entry)]["why"] == "reserve-to-house"


@pytest.mark.parametrize("amount", ["$0.00", "$2.01"])
def test_no_more_reserve_is_taken_than_there_is(amount: str) -> None:
    desk = MeterDesk(reserve_to_house=True)
    desk.wager(40, "PG-04")
    assert desk.refused("reserve-to-house", *TWO, meter="pg-next", by_amount=amount, **WHY) is Why.NOT_NOW


def test_seed_is_not_recovered_where_no_key_says_so() -> None:
    desk = grown()
    assert desk.refused("seed-recovered", *TWO, meter="pg-link", by_amount="$1.00", **WHY) is Why.NOT_NOW


@pytest.mark.parametrize(("amount", "good"), [("$2.00", True), ("$2.01", False), ("$0.00", False)])
def test_seed_is_recovered_down_to_the_seed_and_no_further(amount: str, good: bool) -> None:
    """R-65: 40 wagers have put $2.00 above it."""
    desk = MeterDesk(seed_recovery=True)
    desk.wager(40, "PG-04")
    asked = {"meter": "pg-next", "by_amount": amount, **WHY}
    if good:
        desk.act("seed-recovered", *TWO, **asked)
        assert desk.accounts("pg-next")["display"] == SEED
    else:
        assert desk.refused("seed-recovered", *TWO, **asked) is Why.NOT_NOW


def test_no_more_seed_is_recovered_than_the_house_has_put_in() -> None:
    """The reserve taken as receipts and the seed recovered are one account: it never turns against the players."""
    desk = MeterDesk(seed_recovery=True)
    meter = desk.floor.meters["pg-next"]
    meter.display, meter.players, meter.house = SEED + 5 * DOLLAR, -SEED - 4 * DOLLAR, -DOLLAR
    asked = {"meter": "pg-next", "by_amount": "$1.01", **WHY}
    assert desk.refused("seed-recovered", *TWO, **asked) is Why.NOT_NOW
    desk.act("seed-recovered", *TWO, **asked | {"by_amount": "$1.00"})
    assert desk.accounts("pg-next")["house"] == 0


# ---------------------------------------------------------------------- what a change does to a round


def test_an_adjustment_between_two_hits_makes_the_rest_of_the_round_apart() -> None:
    """The second hand is paid from the meter as people left it, and the first is not settled again (R-39)."""
    desk = MeterDesk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TENTH)
    first, left = award(desk, 1), desk.accounts()["display"]
    desk.adjust("raise", "$500.00")
    taken = desk.hit(1, 2, TENTH)
    ten = -(-(left + 500 * DOLLAR) // 10 // CENT)
    assert (award(desk, 1), award(desk, 2)) == (first, ten)
    assert taken.answer()["apart"] == ["pg-link"]


def award(desk: Desk, seat: int) -> int:
    """Cents of game 1's award of a seat, its share of the meter."""
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    return sum(found.hits[seat, "progressive"].shares.values())


def test_a_hit_after_an_adjustment_cannot_undo_it() -> None:
    """What the round kept of the meter is older than what people did."""
    desk = MeterDesk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TENTH)
    desk.adjust("lower", "$4,000.00")
    inside, house = desk.inside(), desk.of_house()
    desk.hit(1, 2, TENTH)
    assert (desk.inside(), desk.of_house()) == (inside, house)


def test_a_late_hit_after_an_adjustment_is_settled_from_the_meter_as_it_stands() -> None:
    """The closed game's kept state is dropped, for good."""
    desk = MeterDesk()
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TENTH)
    desk.close(1)
    desk.adjust("raise", "$100.00")
    stands = desk.accounts()["display"]
    desk.act("hit-added", ANNA, BEN, game=1, seat=2, outcome=TENTH, reason="not keyed")
    assert award(desk, 2) == -(-stands // 10 // CENT)


def test_a_hit_that_was_pending_can_still_be_refused_after_an_adjustment() -> None:
    """Its money comes back onto the meter as people left it."""
    desk = MeterDesk()
    desk.lock(1, 1)
    desk.hit(1, 1, TENTH)
    desk.close(1)
    paid, left = award(desk, 1), desk.accounts()["display"]
    desk.adjust("raise", "$7.00")
    desk.act("award-refused", ANNA, BEN, game=1, seat=1, reason="no such hand")
    assert desk.accounts()["display"] == left + 7 * DOLLAR + paid * CENT


def test_an_award_can_be_paid_after_the_meter_was_moved() -> None:
    desk = MeterDesk()
    desk.lock(1, 1)
    desk.hit(1, 1, TOP)
    desk.close(1)
    desk.wager(1, first=2)
    desk.shut("PG-01", "PG-02")
    desk.move()
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    handed = dollars(due_cents(found, (1, "progressive")) * CENT)
    desk.act("award-verified", ANNA, game=1, seat=1)
    desk.pay(1, 1, handed, BEN)
    assert desk.accounts()["pending"] == 0


# ---------------------------------------------------------------------- the whole of it


def test_all_meters_together_change_only_by_what_the_house_does() -> None:
    """R-64: after every step the meters hold what players and house have put in, less what was paid."""
    desk = MeterDesk(reserve_to_house=True, seed_recovery=True)
    desk.wager(40)
    desk.wager(40, "PG-04")
    fed = desk.inside() - desk.of_house()
    desk.adjust("raise", "$31.41")
    desk.adjust("lower", "$27.18", meter="pg-next")
    desk.act("reserve-to-house", *TWO, meter="pg-next", by_amount="$0.77", **WHY)
    desk.shut("PG-01", "PG-02")
    desk.move()
    desk.act("seed-recovered", *TWO, meter="pg-next", by_amount="$0.10", **WHY)
    assert fed == 80 * 2 * RATE
    assert desk.inside() - desk.of_house() == fed


def test_the_same_form_sent_twice_adjusts_once() -> None:
    """MO-06."""
    desk = MeterDesk()
    first = desk.act("meter-adjusted", *TWO, act_id="form-0001", **ADJUST)
    again = desk.act("meter-adjusted", *TWO, act_id="form-0001", **ADJUST)
    assert (again.entry, again.before, desk.accounts()["display"]) == (first.entry, True, SEED + DOLLAR)


def busy_life(floor: Floor) -> None:
    """Every act of this room but openings, on a book of ``meter_plan``."""
    desk = MeterDesk.__new__(MeterDesk)
    desk.__dict__.update(MeterDesk(floor.plan).__dict__)
    desk.floor = floor
    desk.wager(40)
    desk.wager(40, "PG-04")
    desk.lock(41, 1, 2)
    desk.hit(41, 1, TENTH)
    number = desk.adjust("lower", "$5.00").entry
    desk.hit(41, 2, TENTH)
    desk.close(41)
    desk.adjust("raise", "$1.00", "restoration")
    desk.act("notice-sent", DORA, **noticed(desk, number), how="by mail")
    desk.act("reserve-to-house", *TWO, meter="pg-next", by_amount="$0.77", **WHY)
    desk.act("seed-recovered", *TWO, meter="pg-next", by_amount="$0.10", **WHY)
    for seat in (1, 2):
        desk.act("award-refused", ANNA, BEN, game=41, seat=seat, reason="a trial")
    desk.shut("PG-01", "PG-02")
    announced(desk=desk)
    desk.move()
    desk.act("meter-retired", *TWO, **RETIRE)


def test_a_ledger_of_every_change_is_replayed_to_the_same_books(tmp_path: Path) -> None:
    path = opened(tmp_path / "ledger.db", meter_plan(reserve_to_house=True, seed_recovery=True))
    entered(path, busy_life)
    assert verify(path, replay=True)[0].replayed


def test_a_ledger_with_an_opening_over_restarts_is_replayed_to_the_same_books(tmp_path: Path) -> None:
    """Each step on a floor that was read back."""
    path = opened(tmp_path / "ledger.db", meter_plan(new=False))
    entered(path, lambda floor: floor.configure(meter_plan(), AT))
    entered(path, lambda floor: _do(floor, "opening-entered", CARL, OPENING))
    entered(path, lambda floor: _do(floor, "opening-accepted", DORA, accepting()))
    raised = ADJUST | {"meter": "pg-next"}
    entered(path, lambda floor: the_desk.act(floor, read_act("meter-adjusted", "act-raise", raised, *TWO), AT))
    assert verify(path, replay=True)[0].replayed


def _do(floor: Floor, kind: str, by: Any, fields: dict[str, Any]) -> None:
    the_desk.act(floor, read_act(kind, f"act-{kind}", fields, by), AT)


async def test_an_adjustment_is_answered_when_it_is_durable_and_shown(tmp_path: Path) -> None:
    """Design section 8: nothing is shown before the commit."""
    async with BooksHouse(opened(tmp_path / "ledger.db")) as house:
        await house.books.act("main", read_act("meter-adjusted", "act-raise", ADJUST, *TWO))
        assert house.shown() == SEED + DOLLAR
    assert verify(tmp_path / "ledger.db", replay=True)[0].replayed


def test_a_loaded_book_has_the_same_meters_notices_and_retirements() -> None:
    desk = announced("2026-12-31")
    desk.adjust("lower", "$1.00")
    desk.move()
    rows = {kind: dict(kept) for kind, kept in desk.floor.rows.items() if kept}
    meters = {name: meter_row(meter) for name, meter in desk.floor.meters.items()}
    floor = loaded_again(desk)
    assert {name: meter_row(meter) for name, meter in floor.meters.items()} == meters
    assert {kind: kept for kind, kept in floor.rows.items() if kept} == rows
