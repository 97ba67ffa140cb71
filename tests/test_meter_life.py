"""A meter comes, goes and moves: openings, transfers and retirements, by two people (R-38, R-41..R-46, D19, D20)."""

import json
from typing import Any

import pytest
from desk_house import ANNA, AT, BEN, CARL, DORA
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
    notices,
)

from controller.acts import ActRefused, Why
from controller.config import build
from controller.journal import RULES_VERSION
from controller.money import ACCOUNT_MICROCENTS_MAX

# ---------------------------------------------------------------------- a new meter


def with_new_meter(**keys: Any) -> MeterDesk:
    """A book that has run without ``pg-next``, and has it by a changed configuration."""
    desk = MeterDesk(meter_plan(new=False))
    desk.plan = meter_plan(**keys)
    desk.floor.configure(desk.plan, desk.at)
    return desk


def test_a_new_meter_holds_nothing_and_takes_no_wager_until_it_is_opened() -> None:
    """R-44."""
    desk = with_new_meter()
    taken = desk.lock(1, 1, table="PG-04")
    assert (taken.reason, set(desk.accounts("pg-next").values())) == ("meter-not-open", {0})


def test_one_enters_a_new_meter_s_opening_and_another_department_accepts_it() -> None:
    """R-38, R-44."""
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING)
    assert desk.lock(1, 1, table="PG-04").reason == "meter-not-open"
    told = desk.act("opening-accepted", DORA, **accepting()).told
    after = desk.accounts("pg-next")
    assert (after["display"], after["house"]) == (10_500 * DOLLAR, -10_500 * DOLLAR)
    assert (told["entered"]["source"], told["entered"]["brought"]) == ("the old link", 50_000)
    assert desk.lock(2, 1, table="PG-04").result == "posted"


@pytest.mark.parametrize(("by", "why"), [(CARL, Why.SAME_PERSON), (CARL._replace(id="olga"), Why.SAME_DEPARTMENT)])
def test_nobody_accepts_an_opening_of_the_own_department(by: Any, why: Why) -> None:
    """R-36, MO-08."""
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING)
    assert desk.refused("opening-accepted", by, **accepting()) is why


def test_an_opening_is_accepted_once() -> None:
    """MO-08."""
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING)
    desk.act("opening-accepted", DORA, **accepting())
    assert desk.refused("opening-accepted", DORA, **accepting()) is Why.NOT_FOUND
    assert desk.refused("opening-entered", CARL, **OPENING) is Why.ALREADY_DONE


@pytest.mark.parametrize("wrong", [
    {"base": "$9,999.99"}, {"brought": "$10,500.01"}, {"source": ""},
], ids=["below-the-seed", "more-brought-than-the-base", "brought-from-nowhere"])
def test_an_opening_below_the_seed_or_from_nowhere_is_refused(wrong: dict[str, str]) -> None:
    assert with_new_meter().refused("opening-entered", CARL, **OPENING | wrong) is Why.WRONG_FIELD


def test_a_new_meter_may_open_at_its_seed_all_of_it_brought_in() -> None:
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING | {"base": "$10,000.00", "brought": "$10,000.00"})
    desk.act("opening-accepted", DORA, **accepting("$10,000.00"))
    assert desk.accounts("pg-next")["display"] == SEED


def test_an_opening_above_the_limit_is_refused() -> None:
    """D11."""
    assert with_new_meter(limit="$10,400.00").refused("opening-entered", CARL, **OPENING) is Why.NOT_NOW


def test_an_opening_that_a_later_configuration_forbids_is_not_accepted() -> None:
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING)
    desk.floor.configure(meter_plan(limit="$10,400.00"), desk.at)
    assert desk.refused("opening-accepted", DORA, **accepting()) is Why.NOT_NOW


def test_nothing_but_its_opening_is_done_to_a_meter_that_is_not_opened() -> None:
    desk = with_new_meter()
    desk.wager(1)
    desk.shut("PG-01", "PG-02")
    whys = [
        desk.refused("meter-adjusted", *TWO, **ADJUST | {"meter": "pg-next"}),
        desk.refused("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY),
        desk.refused("retirement-announced", *TWO, meter="pg-next", effective="2026-12-24", **WHY),
    ]
    assert whys == [Why.NOT_NOW] * 3


def test_an_opening_that_was_entered_is_accepted_after_a_restart() -> None:
    desk = with_new_meter()
    desk.act("opening-entered", CARL, **OPENING)
    desk.floor = loaded_again(desk)
    desk.act("opening-accepted", DORA, **accepting())
    assert desk.accounts("pg-next")["display"] == 10_500 * DOLLAR


# ---------------------------------------------------------------------- transfer


def test_a_transfer_takes_what_is_above_the_seed_and_the_reserve() -> None:
    """R-41: 40 wagers of $5 at 1% and 1%: $2.00 above the seed, $2.00 reserve."""
    desk = grown()
    told = desk.move().told
    source, target = desk.accounts("pg-link"), desk.accounts("pg-next")
    assert (source["display"], source["reserve"]) == (SEED, 0)
    assert (target["display"], target["reserve"]) == (SEED + 40 * RATE, 40 * RATE)
    assert told["moved"] == 80 * RATE


def test_a_transfer_puts_both_sides_into_one_entry_and_the_house_gains_nothing() -> None:
    """D19: it balances on its face."""
    desk = grown()
    desk.floor.drain()
    house = desk.of_house()
    desk.move()
    (entry,) = desk.floor.drain()[0]
    sums = {meter: sum(p.microcents for p in entry.postings if p.meter == meter) for meter in ("pg-link", "pg-next")}
    assert (sums, desk.of_house()) == ({"pg-link": 0, "pg-next": 0}, house)
    assert sum(posting.microcents for posting in entry.postings if posting.account == "house") == 0


def test_what_the_target_cannot_show_is_kept_for_its_next_jackpot() -> None:
    """R-42: 40 wagers make $2.00, and $0.50 is left up to the limit."""
    desk = grown(limit="$10,000.50")
    desk.move()
    target = desk.accounts("pg-next")
    assert (target["display"], target["overflow"]) == (SEED + 50 * CENT, 150 * CENT)


def test_the_overflow_moves_as_overflow() -> None:
    desk = MeterDesk(limit="$10,000.50")
    desk.wager(40, "PG-04")
    desk.shut("PG-04")
    assert desk.accounts("pg-next")["overflow"] == 150 * CENT
    desk.move("pg-next", "pg-link")
    moved = desk.accounts("pg-link")
    assert (moved["display"], moved["overflow"], moved["reserve"]) == (SEED + 50 * CENT, 150 * CENT, 200 * CENT)


def test_a_transfer_takes_the_fraction_of_a_cent_along() -> None:
    desk = grown()
    link = desk.floor.meters["pg-link"]
    link.display, link.players = link.display + 7, link.players - 7
    desk.move()
    assert (desk.accounts("pg-link")["display"], desk.accounts("pg-next")["display"]) == (SEED, SEED + 40 * RATE + 7)


def test_a_transfer_owes_a_notice_for_what_left_the_display() -> None:
    desk = grown()
    acted = desk.move()
    assert notices(desk)[str(acted.entry)]["lowered"] == 40 * RATE


def test_a_meter_below_its_seed_gives_only_its_reserve_and_owes_no_notice() -> None:
    desk = grown()
    desk.adjust("lower", "$100.00")
    before, owed = desk.accounts("pg-link")["display"], len(notices(desk))
    desk.move()
    assert (desk.accounts("pg-link")["display"], desk.accounts("pg-next")["display"]) == (before, SEED)
    assert (desk.accounts("pg-next")["reserve"], len(notices(desk))) == (40 * RATE, owed)


def test_a_meter_is_not_moved_while_a_table_feeds_it() -> None:
    desk = MeterDesk()
    desk.wager(1)
    desk.shut("PG-01")
    assert desk.refused("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY) is Why.NOT_NOW


@pytest.mark.parametrize(("to", "why"), [
    ("pg-solo", Why.NOT_NOW), ("pg-link", Why.WRONG_FIELD), ("pg-nowhere", Why.NOT_FOUND)])
def test_a_meter_moves_only_to_another_like_it(to: str, why: Why) -> None:
    """R-41: similar wager and probability, so the same paytable and part."""
    assert grown().refused("meter-transferred", *TWO, meter="pg-link", to=to, **WHY) is why


def test_a_target_that_cannot_hold_it_refuses_all_of_it() -> None:
    """Account-full: both meters stay as they are."""
    desk = grown()
    desk.adjust("raise", dollars(ACCOUNT_MICROCENTS_MAX - SEED), meter="pg-next")
    assert desk.refused("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY) is Why.NOT_NOW


def test_a_meter_with_nothing_but_its_seed_is_not_moved() -> None:
    desk = MeterDesk()
    desk.shut("PG-01", "PG-02")
    assert desk.refused("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY) is Why.NOT_NOW


def test_awards_that_wait_stay_with_the_meter_they_were_won_of() -> None:
    desk = MeterDesk()
    desk.lock(1, 3)
    desk.hit(1, 3, TENTH)
    desk.close(1)
    desk.shut("PG-01", "PG-02")
    pending = desk.accounts()["pending"]
    desk.move()
    assert (pending, desk.accounts()["pending"], desk.accounts("pg-next")["pending"]) == (100_001 * CENT, pending, 0)


def test_a_game_that_was_locked_before_its_table_was_moved_away_still_holds_the_meter() -> None:
    """The table feeds another meter by the new configuration, and its open game can still win the old one."""
    desk = MeterDesk()
    desk.shut("PG-02")
    desk.lock(1, 3)
    floor, document = desk.floor, json.loads(json.dumps(desk.plan.document))
    document["table"][0]["spot"][0]["meters"] = {"main": "pg-next"}
    floor.configure(build(document), desk.at)
    assert desk.refused("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY) is Why.NOT_NOW


# ---------------------------------------------------------------------- retirement


def test_a_retired_meter_holds_nothing_and_the_house_has_its_seed_back() -> None:
    """R-46, D20: notice, transfer, retirement; the players' contributions went with the transfer."""
    desk = announced()
    desk.move()
    desk.act("meter-retired", *TWO, **RETIRE)
    after = desk.accounts()
    assert [after[account] for account in ("display", "reserve", "overflow", "pending")] == [0, 0, 0, 0]
    assert after["house"] == 80 * RATE, "the whole of the players' contributions, on its way to pg-next"
    assert desk.accounts("pg-next")["house"] == -SEED - 80 * RATE


def test_a_retired_meter_s_retirement_is_announced_no_more() -> None:
    assert retired().floor.rows["retiring"] == {}


def test_a_retirement_that_lowers_a_display_owes_a_notice() -> None:
    """R-37 names closure among the reasons for a lower display, R-38 the notice."""
    desk = announced()
    desk.move()
    acted = desk.act("meter-retired", *TWO, **RETIRE)
    assert notices(desk)[str(acted.entry)]["lowered"] == SEED


def test_a_meter_is_not_retired_without_notice() -> None:
    desk = grown()
    desk.move()
    assert desk.refused("meter-retired", *TWO, **RETIRE) is Why.NOT_NOW


@pytest.mark.parametrize(("days", "good"), [(29, False), (30, True)])
def test_a_meter_is_not_retired_before_the_announced_gaming_day(days: int, good: bool) -> None:
    desk = announced("2026-12-31")
    desk.move()
    desk.at += days * DAY
    if good:
        desk.act("meter-retired", *TWO, **RETIRE)
    else:
        assert desk.refused("meter-retired", *TWO, **RETIRE) is Why.NOT_NOW


@pytest.mark.parametrize("account", ["display", "reserve", "overflow"])
def test_what_players_put_in_is_transferred_before_a_meter_is_retired(account: str) -> None:
    """D20: patrons' money, one microcent of it."""
    desk = announced()
    desk.move()
    link = desk.floor.meters["pg-link"]
    setattr(link, account, getattr(link, account) + 1)
    link.players -= 1
    assert desk.refused("meter-retired", *TWO, **RETIRE) is Why.NOT_NOW


def test_awards_are_settled_before_a_meter_is_retired() -> None:
    desk = MeterDesk()
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    desk.shut("PG-01", "PG-02")
    announced(desk=desk)
    if desk.accounts()["display"] > SEED or desk.accounts()["reserve"]:
        desk.move()
    assert desk.refused("meter-retired", *TWO, **RETIRE) is Why.NOT_NOW


@pytest.mark.parametrize("effective", ["2026-11-30", "2026-13-01", "20261231", "2026-W53-4", "soon"])
def test_a_day_that_is_past_or_no_day_announces_nothing(effective: str) -> None:
    """DI-03: one written form."""
    desk = MeterDesk()
    assert desk.refused("retirement-announced", *TWO, meter="pg-link", effective=effective, **WHY) is Why.WRONG_FIELD


def test_a_retirement_is_announced_once() -> None:
    desk = announced("2026-12-24")
    later = {"meter": "pg-link", "effective": "2026-12-25", **WHY}
    assert desk.refused("retirement-announced", *TWO, **later) is Why.ALREADY_DONE


def retired() -> MeterDesk:
    """pg-link is retired."""
    desk = announced()
    desk.move()
    desk.act("meter-retired", *TWO, **RETIRE)
    return desk


def owing(*done: tuple[str, dict[str, Any]]) -> MeterDesk:
    """pg-link has nothing of the players' left, but game 41 of PG-01 won a hand that no meter pays: $2,505.00, envy."""
    desk = MeterDesk()
    desk.wager(40)
    desk.lock(41, 1, 2)
    desk.hit(41, 1, "five-aces")
    desk.close(41)
    desk.shut("PG-01", "PG-02")
    announced(desk=desk)
    desk.move()
    for kind, fields in done:
        desk.act(kind, *{"award-verified": (ANNA,)}.get(kind, (BEN,)), game=41, seat=1, **fields)
    return desk


VERIFIED = ("award-verified", dict[str, Any]())
PAID = ("award-paid", {"handed": "$2,505.00", "how": "chips"})
ENVY = ("envy-paid", {"to": 2, "how": "chips"})
LEFT = ("envy-unclaimed", {"to": 2, "reason": "the player left"})


@pytest.mark.parametrize("done", [(), (VERIFIED,), (VERIFIED, PAID)])
def test_a_meter_is_not_retired_while_its_tables_owe_an_award_or_envy(done: Any) -> None:
    """R-46: the remaining liability is brought to zero, fixed parts too; the tables and their numbers are named."""
    desk = owing(*done)
    with pytest.raises(ActRefused, match=f"not paid: {2 if PAID not in done else 1} at PG-01"):
        desk.act("meter-retired", *TWO, **RETIRE)
    desk.floor.rules = 1  # an old entry is replayed as it was made
    desk.act("meter-retired", *TWO, **RETIRE)


def test_a_meter_is_retired_once_its_tables_owe_nothing() -> None:
    assert "unclaimed" not in owing(VERIFIED, PAID, ENVY).act("meter-retired", *TWO, **RETIRE).told


def test_envy_that_nobody_claimed_forbids_no_retirement_and_is_told_with_it() -> None:
    """It stays the house's liability; waiting for who does not come would keep the meter for ever."""
    desk = owing(VERIFIED, PAID, LEFT)
    desk.floor = loaded_again(desk)
    assert desk.act("meter-retired", *TWO, **RETIRE).told["unclaimed"] == {"PG-01": 1}


def test_a_table_that_has_left_the_meter_still_counts_for_its_retirement() -> None:
    desk = owing()
    desk.floor.keep("unlinked", "PG-01", {"meters": ["pg-next"]})
    desk.shut("PG-04")
    announce = {"meter": "pg-next", "effective": "2026-12-01", **WHY}
    desk.act("retirement-announced", *TWO, **announce)
    with pytest.raises(ActRefused, match="2 at PG-01"):
        desk.act("meter-retired", *TWO, meter="pg-next", **WHY)


def test_nothing_is_done_to_a_retired_meter() -> None:
    desk = retired()
    whys = [
        desk.refused("meter-adjusted", *TWO, **ADJUST),
        desk.refused("meter-transferred", *TWO, meter="pg-next", to="pg-link", **WHY),
        desk.refused("retirement-announced", *TWO, meter="pg-link", effective="2026-12-24", **WHY),
        desk.refused("meter-retired", *TWO, **RETIRE),
    ]
    assert whys == [Why.NOT_NOW] * 4


def test_a_table_of_a_retired_meter_is_not_opened_again() -> None:
    """It would take no wager."""
    assert retired().refused("table-opened", ANNA, table="PG-01") is Why.NOT_NOW


def opened_by_old_rules(desk: MeterDesk) -> None:
    """Rules version 1 let a table of a retired meter be opened."""
    desk.floor.rules = 1
    desk.act("table-opened", ANNA, table="PG-01")
    desk.floor.rules = RULES_VERSION


def test_a_retired_meter_gets_no_wager_though_its_table_is_opened_again() -> None:
    desk = retired()
    opened_by_old_rules(desk)
    taken = desk.lock(41, 1)
    assert (taken.result, taken.reason) == ("refused", "meter-not-open")


def test_a_retired_meter_stays_retired_after_a_restart() -> None:
    desk = retired()
    opened_by_old_rules(desk)
    desk.floor = loaded_again(desk)
    desk.floor.hear("hub-01", "b1", AT)
    assert desk.refused("meter-adjusted", *TWO, **ADJUST) is Why.NOT_NOW
    assert desk.lock(41, 1).reason == "meter-not-open"


def test_a_retired_meter_is_not_opened_again() -> None:
    """Though a configuration has left it out and names it again."""
    desk = retired()
    desk.floor.keep("unopened", "pg-link", {"since": desk.floor.number})
    assert desk.refused("opening-entered", CARL, **OPENING | {"meter": "pg-link"}) is Why.NOT_NOW


def settled_and_retired() -> MeterDesk:
    """Game 1 has no hand, game 2 one that is paid; then pg-link is retired, within the days for late hands."""
    desk = MeterDesk()
    desk.wager(1)
    desk.lock(2, 3)
    desk.hit(2, 3, TENTH)
    desk.close(2)
    verified = desk.act("award-verified", ANNA, game=2, seat=3)
    desk.pay(2, 3, dollars(verified.told["due"] * CENT), BEN)
    desk.shut("PG-01", "PG-02")
    announced(desk=desk)
    desk.move()
    desk.act("meter-retired", *TWO, **RETIRE)
    return desk


@pytest.mark.parametrize(("kind", "fields"), [
    ("hit-added", {"game": 1, "seat": 1, "outcome": TOP}), ("wager-added", {"game": 1, "seat": 2}),
    ("paid-in-error", {"game": 2, "seat": 3})])
def test_no_late_correction_puts_money_on_a_retired_meter(kind: str, fields: dict[str, Any]) -> None:
    """A late 100% hand would win $0.00 of it and lay a new seed on it, where no wager can ever win it (D20)."""
    desk = settled_and_retired()
    people = (ANNA, BEN, DORA) if kind == "paid-in-error" else (ANNA, BEN)
    assert desk.refused(kind, *people, **fields, reason="a late finding") is Why.NOT_NOW
