"""The engine's own rules that no message of a file can show (design sections 4 and 9)."""

import pytest
from floors import contract_floor, plan_of

from controller import losses
from controller.floor import FAULTS_KEPT, Floor
from controller.journal import post
from controller.meter import BrokenInvariant
from firmware_bridge.messages import Lock, Wager

PLAN = plan_of(contract_floor())
ONE = (Wager(1, "progressive", 500),)


def lock(seq: int, number: int) -> Lock:
    return Lock("hub-01", "b1", seq, number, ONE)


def test_what_the_host_holds_inside_an_accepted_loss_is_posted_and_only_the_rest_is_lost() -> None:
    """I5: a wager that is here is never given up because its neighbours are gone."""
    floor = Floor.opened(PLAN)
    for seq in (1, 4, 6):
        floor.take(lock(seq, seq), 1)
    assert losses.lose(floor, "hub-01", "b1", 2, 6, 2)
    taken = losses.accept_loss(floor, "PG-01", "the unit was changed", 3)
    assert [(one.seq, one.result) for one in taken] == [(4, "posted"), (6, "posted")]
    assert floor.meters["pg-link"].display == 1_000_000_000_000 + 3 * 5_000_000


def test_a_loss_of_a_table_is_entered_once() -> None:
    floor = Floor.opened(PLAN)
    floor.take(lock(1, 1), 1)
    assert [losses.lose(floor, "hub-01", "b1", 2, 6, 2), losses.lose(floor, "hub-01", "b1", 2, 6, 3)] == [True, False]


def test_nothing_is_accepted_where_nothing_is_lost() -> None:
    assert losses.accept_loss(Floor.opened(PLAN), "PG-01", "by mistake", 1) == []


def test_postings_that_do_not_sum_to_zero_are_a_broken_invariant() -> None:
    """R-19: the identity is checked after every entry."""
    meter = Floor.opened(PLAN).meters["pg-link"]
    with pytest.raises(BrokenInvariant, match="do not sum to zero"):
        post(meter, (("players", -5), ("display", 4)))


def test_an_account_below_zero_is_a_broken_invariant() -> None:
    """MO-03: a negative amount is refused where it would arise."""
    meter = Floor.opened(PLAN).meters["pg-link"]
    with pytest.raises(BrokenInvariant, match="below zero"):
        post(meter, (("house", 5), ("reserve", -5)))


def test_a_unit_that_repeats_one_number_with_ever_other_contents_cannot_flood_the_ledger() -> None:
    """I5, SD-09: the first contents are evidence enough; every one is answered as a fault."""
    floor = Floor.opened(PLAN)
    floor.take(lock(1, 1), 1)
    before = floor.number
    results = {floor.take(lock(1, number), 1)[0].result for number in range(2, 200)}
    assert (results, floor.number - before) == ({"fault"}, FAULTS_KEPT)
