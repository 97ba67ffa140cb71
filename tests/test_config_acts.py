"""A configuration is proposed by one and activated by another department, all or nothing (D2, D5, CF-04, R-33)."""

import json
from copy import deepcopy
from typing import Any

from desk_house import ANNA, CARL, DORA, EVE, HAL, IDA, Desk, plan_with

from controller.acts import Why
from controller.config_build import build
from controller.config_change import differences
from controller.floor import Floor
from controller.floor_state import StateRow

TOP = "7-card-straight-flush"
APPROVED = {"authority": "Gaming Control Board", "approval": "2026-117", "approved": "2026-11-30"}


def changed(desk: Desk, change: Any) -> dict[str, Any]:
    """The document in force with something changed."""
    document: dict[str, Any] = deepcopy(json.loads(json.dumps(dict(desk.plan.document))))
    change(document)
    return document


def activated(desk: Desk, change: Any) -> dict[str, Any]:
    """What an activated change told."""
    document = changed(desk, change)
    name = desk.act("config-proposed", EVE, document=document, reason="as approved").told["hash"]
    return dict(desk.act("config-activated", DORA, hash=name, **APPROVED).told)


def pay_order(document: Any) -> None:
    document["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]


def limit(text: str, meter: int = 0, **more: str) -> Any:
    return lambda document: document["meter"][meter].update(limit=text, **more)


def test_a_table_follows_at_its_next_lock_out_and_its_open_game_does_not() -> None:
    """A round is settled under the version it was locked under."""
    desk = Desk()
    desk.lock(1, 3)
    activated(desk, pay_order)
    found = desk.floor.tables["PG-01"].open
    assert found is not None
    assert found.plan.pay_order == (1, 2, 3, 4, 5, 6)
    desk.lock(2, 3)
    found = desk.floor.tables["PG-01"].open
    assert found is not None
    assert found.plan.pay_order == (6, 5, 4, 3, 2, 1)


def test_the_proposer_does_not_activate_and_neither_does_the_same_department() -> None:
    """R-36, R-101."""
    desk = Desk()
    name = desk.act("config-proposed", HAL, document=changed(desk, pay_order), reason="x").told["hash"]
    assert desk.refused("config-activated", EVE, hash=name, **APPROVED) is Why.NOT_ALLOWED
    assert desk.refused("config-activated", HAL, hash=name, **APPROVED) is Why.NOT_ALLOWED
    desk.act("config-activated", CARL, hash=name, **APPROVED)


def test_a_configuration_that_nobody_proposed_is_not_activated() -> None:
    """D5: activation needs the hash of the approved configuration."""
    assert Desk().refused("config-activated", DORA, hash="0" * 64, **APPROVED) is Why.NOT_FOUND


def test_a_wrong_configuration_is_refused_as_a_whole() -> None:
    """CF-04."""
    desk = Desk()
    document = changed(desk, lambda one: one["table"][-1].update(seats="many"))
    assert desk.refused("config-proposed", EVE, document=document, reason="x") is Why.WRONG_FIELD


def test_a_meter_s_own_keys_wait_for_its_next_reset() -> None:
    """R-34: a change made to a jackpot with money in it takes effect only after that jackpot is won."""
    desk = Desk()
    told = activated(desk, limit("$300,000.00"))
    assert told["waits"] == ["pg-link"]
    assert desk.floor.plan.meters["pg-link"].limit_cents is None
    desk.lock(1, 3)
    desk.hit(1, 3, TOP)
    assert desk.floor.plan.meters["pg-link"].limit_cents is None
    desk.close(1)
    assert desk.floor.plan.meters["pg-link"].limit_cents == 30_000_000
    assert "waiting" not in desk.floor.rows["config"]


def test_a_hit_that_resets_nothing_frees_nothing() -> None:
    desk = Desk()
    activated(desk, limit("$300,000.00"))
    desk.lock(1, 3)
    desk.hit(1, 3, "four-of-a-kind")
    desk.close(1)
    assert desk.floor.plan.meters["pg-link"].limit_cents is None


def test_a_meter_that_says_now_changes_at_once() -> None:
    desk = Desk()
    told = activated(desk, limit("$300,000.00", change="now"))
    assert (told["waits"], desk.floor.plan.meters["pg-link"].limit_cents) == ([], 30_000_000)


def test_a_changed_seed_of_a_shared_paytable_waits_with_its_meter() -> None:
    desk = Desk()

    def seed(document: Any) -> None:
        document["paytable"]["progressive-4"]["meter"]["main"]["seed"] = "$20,000.00"
        pay_order(document)

    told = activated(desk, seed)
    assert told["waits"] == ["pg-link"]
    assert desk.floor.plan.meters["pg-link"].seed_cents == 1_000_000
    assert desk.floor.plan.tables["PG-01"].pay_order == (6, 5, 4, 3, 2, 1)


def test_a_limit_at_or_below_the_current_amount_is_refused() -> None:
    """R-40."""
    desk = Desk()
    desk.lock(1, 3)
    document = changed(desk, limit("$10,000.01"))
    assert desk.refused("config-proposed", EVE, document=document, reason="x") is Why.NOT_NOW


def test_a_meter_with_money_cannot_vanish() -> None:
    """CF-04: a removed table with a non-zero meter."""
    desk = Desk()

    def drop(document: Any) -> None:
        document["meter"] = [one for one in document["meter"] if one["id"] != "pg-solo"]
        document["table"] = [one for one in document["table"] if one["id"] != "PG-03"]

    for table in ("PG-01", "PG-02", "PG-03"):
        desk.act("table-closed", ANNA, table=table)
    assert desk.refused("config-proposed", EVE, document=changed(desk, drop), reason="x") is Why.NOT_NOW


def test_a_table_joins_or_leaves_a_link_only_when_it_is_closed() -> None:
    """R-30."""
    desk = Desk(plan_with())

    def leave(document: Any) -> None:
        new = deepcopy(document["meter"][0]) | {"id": "pg-new"}
        document["meter"].append(new)
        document["table"][1]["spot"][0]["meters"] = {"main": "pg-new"}

    document = changed(desk, leave)
    assert desk.refused("config-proposed", EVE, document=document, reason="x") is Why.NOT_NOW
    desk.act("table-closed", ANNA, table="PG-02")
    desk.act("config-proposed", EVE, document=document, reason="x")


def new_meter() -> Desk:
    """PG-02 feeds a meter that is new by an activated configuration."""
    desk = Desk()
    desk.act("table-closed", ANNA, table="PG-02")

    def leave(document: Any) -> None:
        document["meter"].append(deepcopy(document["meter"][0]) | {"id": "pg-new"})
        document["table"][1]["spot"][0]["meters"] = {"main": "pg-new"}

    activated(desk, leave)
    return desk


def test_a_new_meter_is_not_playable_until_its_opening_is_entered_and_accepted() -> None:
    """R-38, R-43, R-44."""
    desk = new_meter()
    assert desk.refused("table-opened", ANNA, table="PG-02") is Why.NOT_NOW
    assert desk.refused("opening-accepted", DORA, meter="pg-new", base="$12,000.00") is Why.NOT_FOUND
    desk.act("opening-entered", CARL, meter="pg-new", base="$12,000.00", brought="$2,000.00", source="the old link",
             approval="2026-117")
    assert desk.refused("opening-accepted", CARL, meter="pg-new", base="$12,000.00") is Why.SAME_PERSON
    desk.act("opening-accepted", DORA, meter="pg-new", base="$12,000.00")
    assert desk.accounts("pg-new")["display"] == 1_200_000_000_000
    desk.act("table-opened", ANNA, table="PG-02")
    assert desk.lock(2, 3, table="PG-02").result == "posted"


def test_an_opening_below_the_seed_is_refused() -> None:
    """R-44, R-11."""
    assert new_meter().refused("opening-entered", CARL, meter="pg-new", base="$9,999.99", approval="1") is (
        Why.WRONG_FIELD)


def test_what_waits_and_what_is_proposed_survives_a_restart() -> None:
    desk = Desk()
    activated(desk, limit("$300,000.00"))
    desk.act("config-proposed", EVE, document=changed(desk, pay_order), reason="next")
    rows: dict[tuple[str, str], StateRow] = {(row.kind, row.key): row for row in desk.floor.drain()[1]}
    again = Floor.loaded(desk.floor.plan, "main", rows.values(), desk.floor.number, desk.floor.plan_entry,
                         {desk.floor.plan_entry: desk.floor.plan}, boots_elsewhere=False)
    assert again.rows["config"] == desk.floor.rows["config"]
    assert again.rows["config-proposed"] == desk.floor.rows["config-proposed"]


def test_a_proposal_is_withdrawn_by_whoever_may_propose() -> None:
    desk = Desk()
    name = desk.act("config-proposed", EVE, document=changed(desk, pay_order), reason="x").told["hash"]
    desk.act("config-withdrawn", HAL, hash=name)
    assert desk.refused("config-activated", IDA, hash=name, **APPROVED) is Why.NOT_FOUND


def test_differences_are_lines_that_people_can_read() -> None:
    desk = Desk()
    document = changed(desk, lambda one: (limit("$300,000.00")(one), pay_order(one)))
    assert differences(desk.plan.document, build(document).document) == [
        "meter pg-link, limit: none -> $300,000.00",
        "table PG-01, pay_order: 1, 2, 3, 4, 5, 6 -> 6, 5, 4, 3, 2, 1",
    ]
