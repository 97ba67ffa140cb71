"""Keys that wait for a reset: it begins the next meter by them, the round is paid by its own (R-34, R-40, D2)."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, AT, BEN, DORA, EVE, IDA, Desk
from meter_house import DOLLAR, TENTH, TOP, loaded_again
from test_config_acts import APPROVED, activated, changed, limit, pay_order

from controller.acts import Why
from controller.award_lives import Lives
from controller.config import build
from controller.floor import Floor
from controller.floor_state import meter_row, round_row
from controller.journal import RULES_VERSION, TABLE_RULES
from controller.ledger.verify import verify
from controller.ledger.writer import Batch, create
from controller.plan import FloorPlan
from controller.waiting_config import waiting_words
from tests.ledger_house import entered

RATE = 5 * DOLLAR // 100
Change = Callable[[Any], object]


def seed(text: str) -> Change:
    """Paytable 4 has another seed."""
    return lambda document: document["paytable"]["progressive-4"]["meter"]["main"].update(seed=text)


def link(**keys: str) -> Change:
    """Keys of pg-link."""
    return lambda document: document["meter"][0].update(keys)


def both(*changes: Change) -> Change:
    """All of them."""
    return lambda document: [change(document) for change in changes]


def plan_where(change: Change) -> FloorPlan:
    """The contract's floor with something else from the start."""
    document: Any = deepcopy(json.loads(json.dumps(dict(Desk().plan.document))))
    change(document)
    return build(document)


def in_force(desk: Desk, meter: str = "pg-link") -> Any:
    """A meter's keys in force."""
    return desk.floor.plan.meters[meter]


def waits(desk: Desk) -> list[str]:
    """The meters that wait."""
    kept = desk.floor.rows.get("config", {}).get("waiting")
    return [] if kept is None else list(kept["meters"])


# ---------------------------------------------------------------------- the reset uses what waits for it


def test_a_waiting_seed_is_paid_in_by_the_reset_it_waited_for() -> None:
    """Not by the one after it: the meter never stands below the seed in force."""
    desk = Desk()
    activated(desk, seed("$20,000.00"))
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    assert (desk.accounts()["display"], in_force(desk).seed_cents) == (20_000 * DOLLAR, 1_000_000)
    desk.close(1)
    assert (desk.accounts()["display"], in_force(desk).seed_cents, waits(desk)) == (20_000 * DOLLAR, 2_000_000, [])


def test_a_lower_seed_that_waits_is_paid_in_too_and_the_house_puts_in_less() -> None:
    desk = Desk()
    activated(desk, seed("$4,000.00"))
    desk.lock(1, 3)
    house = desk.accounts()["house"]
    desk.hit(1, 3, TOP)
    reserve = RATE  # one wager's part, put into the new meter first
    assert (desk.accounts()["display"], house - desk.accounts()["house"]) == (4_000 * DOLLAR, 4_000 * DOLLAR - reserve)


def test_awards_of_the_round_are_rounded_shared_and_ordered_by_the_keys_it_was_locked_under() -> None:
    """The activation changes all of them; what is paid is what the players wagered for."""
    change = both(link(tie_policy="sequential", order="pay-order", rounding="down"), seed("$20,000.00"))
    new, old = Desk(), Desk()
    activated(new, change)
    for desk in (new, old):
        desk.lock(1, 1, 2, 3)
        for seat, outcome in ((1, TOP), (2, TENTH), (3, TOP)):
            desk.hit(1, seat, outcome)
    found, before = new.floor.find_game("PG-01/1"), old.floor.find_game("PG-01/1")
    assert found is not None and before is not None
    assert {place: standing.shares for place, standing in found.hits.items()} == {
        place: standing.shares for place, standing in before.hits.items()}
    assert new.accounts()["display"] - old.accounts()["display"] == 10_000 * DOLLAR


def test_a_late_hand_after_the_change_has_come_into_force_is_paid_by_the_old_keys_from_the_new_seed() -> None:
    """Settled as one, whenever it is entered: the same meter is begun again."""
    change = both(link(tie_policy="sequential", rounding="down"), seed("$20,000.00"))
    at_once, late = Desk(), Desk()
    for desk in (at_once, late):
        activated(desk, change)
        desk.lock(1, 1, 2, 3)
        desk.hit(1, 1, TOP)
    at_once.hit(1, 2, TENTH)
    at_once.hit(1, 3, TOP)
    for desk in (at_once, late):
        desk.close(1)
    assert waits(late) == []
    for seat, outcome in ((2, TENTH), (3, TOP)):
        late.act("hit-added", ANNA, BEN, game=1, seat=seat, outcome=outcome, reason="not keyed")
    assert late.accounts() == at_once.accounts()


def test_keys_that_come_into_force_between_lock_out_and_hand_do_not_change_what_the_hand_is_paid() -> None:
    """A round is settled under the version it was locked under, also where the meter says ``now``."""
    desk, other = Desk(plan_where(link(change="now"))), Desk()
    for one in (desk, other):
        one.lock(1, 1, 2)
        one.hit(1, 1, TENTH)  # leaves a fraction of a cent
        one.close(1)
        one.lock(2, 1, 2)
    activated(desk, link(rounding="down", change="now"))
    assert in_force(desk).rounding.value == "down"
    for one in (desk, other):
        one.hit(2, 2, TENTH)
    assert desk.accounts()["pending"] == other.accounts()["pending"]


def test_a_hand_that_is_withdrawn_in_time_leaves_the_change_waiting() -> None:
    """No 100% award stands when the game is over: nothing was reset."""
    desk = Desk()
    desk.lock(1, 3)
    before = desk.accounts()
    activated(desk, seed("$20,000.00"))
    desk.hit(1, 3, TOP)
    desk.act("hit-withdrawn", ANNA, BEN, game=1, seat=3, reason="another hand")
    desk.close(1)
    assert (waits(desk), in_force(desk).seed_cents) == (["pg-link"], 1_000_000)
    most = max(before["display"], 20_000 * DOLLAR)  # a withdrawal never lowers a display (design section 4)
    assert (desk.accounts()["display"], desk.accounts()["pending"]) == (most, 0)


def test_paying_an_award_of_a_reset_before_the_activation_puts_nothing_in_force() -> None:
    """The next reset does; a payment is none."""
    desk = Desk()
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    activated(desk, limit("$300,000.00"))
    desk.act("award-verified", ANNA, game=1, seat=3)
    assert (waits(desk), in_force(desk).limit_cents) == (["pg-link"], None)


def test_nothing_is_activated_about_a_meter_while_the_game_that_has_won_it_is_open() -> None:
    """The game may be settled again by its own keys; tables may change meanwhile."""
    desk = Desk()
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    assert desk.refused("config-proposed", EVE, document=changed(desk, seed("$20,000.00")), reason="x") is Why.NOT_NOW
    activated(desk, pay_order)
    desk.plan = desk.floor.plan
    desk.close(1)
    activated(desk, seed("$20,000.00"))


def test_the_surplus_is_laid_on_the_new_meter_up_to_the_limit_that_waited() -> None:
    """What is above stays in the reserve, and the limit comes into force with the meter at it."""
    desk = Desk(plan_where(link(reserve_surplus="add")))
    meter = desk.floor.meters["pg-link"]
    meter.reserve, meter.players = 15_000 * DOLLAR, -15_000 * DOLLAR
    activated(desk, limit("$12,000.00"))
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    assert (meter.display, meter.reserve) == (12_000 * DOLLAR, 3_000 * DOLLAR + RATE)
    desk.close(1)
    assert (in_force(desk).limit_cents, waits(desk)) == (1_200_000, [])


def test_the_working_of_an_award_shows_the_seed_that_was_paid_in() -> None:
    """Page and slip add it up again from the entries."""
    desk = Desk()
    activated(desk, seed("$20,000.00"))
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    found = desk.floor.find_game("PG-01/1")
    assert found is not None
    lives = Lives(found, dict(found.plan.meters), desk.floor.entries)
    working = lives.standing[0].workings["pg-link"]
    assert (working.seed_cents, working.after) == (2_000_000, 20_000 * DOLLAR)


# ---------------------------------------------------------------------- no seed over the limit it is put in under


def under_a_limit() -> Desk:
    """pg-link has a limit above its seed."""
    desk = Desk(plan_where(limit("$11,000.00")))
    desk.plan = desk.floor.plan
    return desk


@pytest.mark.parametrize("text", ["$11,000.00", "$20,000.00"])
def test_a_seed_that_would_be_put_in_at_or_above_the_limit_in_force_is_refused(text: str) -> None:
    """Until the game is over every wager of the link would go to the overflow, and the signs would say so."""
    desk = under_a_limit()
    document = changed(desk, both(seed(text), limit("$30,000.00")))
    assert desk.refused("config-proposed", EVE, document=document, reason="as approved") is Why.NOT_NOW


def test_such_a_seed_waits_once_the_limit_has_been_raised_at_once_and_the_wagers_go_on_the_display() -> None:
    desk = under_a_limit()
    activated(desk, limit("$30,000.00", change="now"))
    desk.plan = desk.floor.plan
    assert activated(desk, both(seed("$20,000.00"), link(change="next-reset")))["waits"] == ["pg-link"]
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.lock(1, 1, 2, table="PG-02")
    assert (desk.accounts()["display"], desk.accounts()["overflow"]) == (20_000 * DOLLAR + 2 * RATE, 0)


def test_one_that_was_proposed_under_older_rules_is_refused_when_it_would_be_activated() -> None:
    desk = under_a_limit()
    desk.floor.rules = TABLE_RULES
    document = changed(desk, both(seed("$20,000.00"), limit("$30,000.00")))
    name = desk.act("config-proposed", EVE, document=document, reason="as approved").told["hash"]
    desk.floor.rules = RULES_VERSION
    assert desk.refused("config-activated", DORA, hash=name, **APPROVED) is Why.NOT_NOW


# ---------------------------------------------------------------------- no limit under the amount


def shared_sheet(document: Any) -> None:
    """pg-solo has pg-link's paytable, and no limit."""
    document["meter"][1].update(paytable="progressive-4", limit="none", unreasonable_contribution="$20.00")
    document["table"][2]["envy_hand"] = "any-player"
    document["table"][2]["spot"][0].update(paytable="progressive-4")


def test_a_limit_does_not_come_into_force_by_the_reset_of_another_meter() -> None:
    desk = Desk(plan_where(shared_sheet))
    activated(desk, both(link(rounding="down"), limit("$10,005.00", 1, change="now")))
    for number in range(1, 60):
        desk.lock(number, 1, 2, 3, 4, 5, 6, table="PG-03")
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    assert desk.accounts("pg-solo")["display"] > 10_005 * DOLLAR
    assert (in_force(desk).rounding.value, in_force(desk, "pg-solo").limit_cents, waits(desk)) == (
        "down", None, ["pg-solo"])


def above_its_limit() -> Desk:
    """The new limit waits, and after the reset people raise the meter above it before the game is over."""
    desk = Desk()
    activated(desk, limit("$10,001.00"))
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.act("meter-adjusted", DORA, IDA, meter="pg-link", direction="raise", by_amount="$5.00",
             code="restoration", reason="a sign had shown more", approval="P-1")
    desk.close(1)
    return desk


def test_a_limit_that_is_under_the_amount_by_now_waits_for_the_next_reset_and_is_seen_to() -> None:
    """R-40: an entry tells it, whatever has raised the meter in between."""
    desk = above_its_limit()
    assert (in_force(desk).limit_cents, waits(desk)) == (None, ["pg-link"])
    told = [json.loads(entry.body) for entry in desk.floor.entries if entry.kind == "limit-waits"]
    assert told == [{"display": desk.accounts()["display"], "limit_cents": 1_000_100, "meter": "pg-link"}]
    desk.lock(2, 3)
    desk.hit(2, 3, TOP)
    desk.close(2)
    assert (in_force(desk).limit_cents, waits(desk)) == (1_000_100, [])


def test_keys_that_make_no_sense_beside_a_paytable_still_in_force_wait_for_it() -> None:
    """A new limit under the old seed: the paytable waits with the other meter, and no book stops."""
    desk = Desk(plan_where(shared_sheet))
    activated(desk, both(seed("$5,000.00"), limit("$10,000.01"), limit("$10,000.02", 1)))
    old = both(seed("$5,000.00"), limit("$8,000.00"), limit("$10,000.02", 1))
    desk.floor.keep("config", "waiting", {"document": changed(desk, old), "meters": ["pg-link", "pg-solo"]})
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    assert (waits(desk), in_force(desk).limit_cents) == (["pg-link", "pg-solo"], None)
    assert desk.accounts()["display"] == 10_000 * DOLLAR
    desk.lock(1, 3, table="PG-03")
    desk.hit(1, 3, TOP, table="PG-03")
    desk.close(1, table="PG-03")
    assert waits(desk) == ["pg-link"]
    assert in_force(desk, "pg-solo").limit_cents == 1_000_002


def test_a_limit_that_stands_is_no_reason_against_another_change() -> None:
    """A meter at its limit does not forbid every new configuration."""
    desk = Desk()
    solo = desk.floor.meters["pg-solo"]
    solo.display, solo.players = 250_000 * DOLLAR, solo.players - 240_000 * DOLLAR
    activated(desk, pay_order)


# ---------------------------------------------------------------------- in words


def test_the_page_says_when_a_new_seed_is_put_in() -> None:
    plan, new = Desk().plan, plan_where(seed("$20,000.00"))
    assert waiting_words(plan, new.document, ["pg-link"], {}) == [
        "Face Up Pai Gow Link: the new seed, $20,000.00, is put in by the next 100% award, which itself takes the "
        "amount as it stands"]


def test_the_page_says_that_a_shared_paytable_waits_for_all_its_meters() -> None:
    plan = plan_where(shared_sheet)
    new = plan_where(both(shared_sheet, seed("$20,000.00")))
    words = waiting_words(plan, new.document, ["pg-link", "pg-solo"], {})
    assert words[0] == ("Face Up Pai Gow Link: the new seed, $20,000.00, is put in by the next 100% award after "
                        "Face Up Pai Gow Solo has been won too: they share a paytable")


def test_the_page_says_that_a_waiting_limit_is_not_above_the_amount() -> None:
    plan, new = Desk().plan, plan_where(limit("$12,000.00"))
    assert waiting_words(plan, new.document, ["pg-link"], {"pg-link": 12_000 * DOLLAR}) == [
        "Face Up Pai Gow Link: the new limit, $12,000.00, is not above the amount, $12,000.00: it waits for a reset "
        "that leaves it so"]
    assert waiting_words(plan, new.document, ["pg-link"], {"pg-link": 12_000 * DOLLAR - 1}) == []


# ---------------------------------------------------------------------- restarts and replay


def test_a_restart_in_the_middle_of_a_reset_changes_nothing() -> None:
    """What the reset was begun by is kept with the round."""
    desk = Desk()
    activated(desk, both(seed("$20,000.00"), link(rounding="down")))
    desk.lock(1, 1, 2)
    desk.hit(1, 1, TOP)
    row, found = meter_row(desk.floor.meters["pg-link"]), desk.floor.tables["PG-01"].open
    assert found is not None
    again = loaded_again(desk)
    loaded = again.tables["PG-01"].open
    assert loaded is not None
    assert (meter_row(again.meters["pg-link"]), round_row(loaded)) == (row, round_row(found))
    desk.floor = again
    desk.hit(1, 2, TENTH)
    desk.close(1)
    assert (in_force(desk).seed_cents, waits(desk)) == (2_000_000, [])


@pytest.mark.parametrize("rules", [1, TABLE_RULES - 1, RULES_VERSION])
def test_a_ledger_with_a_reset_that_was_waited_for_is_replayed_by_the_rules_it_was_made_by(
    tmp_path: Path, rules: int
) -> None:
    """By the older ones the reset still used the seed that was in force."""
    path = first_entries(tmp_path / "l.db", rules)

    def night(floor: Floor) -> None:
        desk = Desk()
        desk.floor, floor.rules = floor, rules
        activated(desk, both(seed("$20,000.00"), limit("$300,000.00")))
        desk.lock(1, 1, 2, 3)
        desk.hit(1, 1, TOP)
        desk.hit(1, 2, TENTH)
        desk.close(1)
        desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome=TENTH, reason="not keyed")
        desk.lock(2, 1)

    entered(path, night)
    assert verify(path, replay=True)[0].replayed


def first_entries(path: Path, rules: int) -> Path:
    """A fresh ledger as a version of those rules made it."""
    plan, floor = Desk().plan, Floor("main")
    floor.rules = rules
    floor.enter("init", AT, body={"environment": plan.environment.value, "made_by": "init", "site": plan.site})
    floor.configure(plan, AT)
    for meter in floor.meters.values():
        floor.open_meter(meter, AT)
    create(path, [Batch("main", *floor.drain())])
    return path


def test_of_two_activations_that_wait_the_later_one_acts() -> None:
    """The second activation replaces the first, and waits for the reset in its place."""
    desk = Desk()
    activated(desk, seed("$20,000.00"))
    document = changed(desk, seed("$30,000.00"))
    name = desk.act("config-proposed", EVE, document=document, reason="more").told["hash"]
    desk.act("config-activated", DORA, hash=name, **APPROVED)
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    desk.close(1)
    assert (desk.accounts()["display"], in_force(desk).seed_cents) == (30_000 * DOLLAR, 3_000_000)
