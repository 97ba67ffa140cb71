"""What standing hits are awarded does not depend on how they were sent (R-54, design section 4).

One message or many, in any order, lists sent again with one more, other tables wagering in between. By default 200
random floors for each rule, the same ones each time; with ``PMC_CAMPAIGN=long`` 20,000 new ones.
"""

import json
import os
from random import Random
from typing import Any

import pytest
from engine import Engine
from floors import Floor, plan_of, random_floor
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_meter import money

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
CAMPAIGN = settings(deadline=None, database=None, derandomize=not LONG, max_examples=20_000 if LONG else 200)

Json = dict[str, Any]
SEEDS = st.integers(0, 2**32)

pytestmark = pytest.mark.timeout(14_400 if LONG else 120)


def a_generous_link(seed: int) -> Floor:
    """A random floor of two like tables on the same meters, on which every lock is accepted."""
    floor, paytables = random_floor(Random(seed))
    table = floor["table"][0]
    used = {spot["paytable"]: paytables[spot["paytable"]] for spot in table["spot"]}
    fed = {name for spot in table["spot"] for name in spot["meters"].values()}
    meters = [meter | {"unreasonable_contribution": "$1,000,000.00"} for meter in floor["meter"] if meter["id"] in fed]
    for meter in meters:
        if meter.get("base", "").startswith("$8,999"):
            del meter["base"]
    for paytable in used.values():
        paytable.pop("valid_from", None)
        paytable.pop("valid_to", None)
    return {**floor, "meter": meters, "table": [table, table | {"id": "other", "device": "hub-other"}]}, used


class Play:
    """One game locked at the first table, every seat wagering on every spot; the other table only wagers."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.engine = Engine(plan_of(floor))
        self.table, self.other = floor[0]["table"]
        self.seq = dict.fromkeys((self.table["device"], self.other["device"]), 0)
        self.answer: Json = {}
        self.lock(self.table)

    def lock(self, table: Json) -> None:
        """Every seat of a table wagers on every spot."""
        self.send(table, {"type": "lock", "round": self.seq[table["device"]] + 1, "wagers": every_wager(self.floor)})

    def hits(self, hits: list[Json]) -> None:
        """One message of hits of the first table's game."""
        self.send(self.table, {"type": "hits", "round": 1, "hits": hits})

    def send(self, table: Json, fields: Json) -> None:
        """The table's next message, which must be posted."""
        self.seq[table["device"]] += 1
        key = {"v": 1, "device": table["device"], "boot": "b", "seq": self.seq[table["device"]]}
        (answer,) = self.engine.take(json.dumps(key | fields).encode())
        assert answer["result"] == "posted"
        if fields["type"] == "hits":
            self.answer = answer

    def outcome(self) -> tuple[list[Json], list[Json], dict[str, dict[str, int]]]:
        """Awards, envy and every balance as they stand."""
        balances = {name: self.engine.accounts(name) for name in self.engine.floor.meters}
        return self.answer["awards"], self.answer["envy"], balances


def every_wager(floor: Floor) -> list[Json]:
    """A wager of every seat on every spot of a table."""
    table = floor[0]["table"][0]
    return [
        {"seat": seat, "spot": spot["id"], "cents": int(money(floor[1][spot["paytable"]]["wager"]))}
        for spot in table["spot"] for seat in range(1, table["seats"] + 1)
    ]


def some_hits(rng: Random, floor: Floor) -> list[Json]:
    """Hits of 2 to 6 seats and spots of the first table."""
    rows = {spot["id"]: floor[1][spot["paytable"]]["prize"] for spot in floor[0]["table"][0]["spot"]}
    wagers = every_wager(floor)
    return [
        {"seat": wager["seat"], "spot": wager["spot"], "outcome": rng.choice(rows[wager["spot"]])["outcome"]}
        for wager in rng.sample(wagers, min(len(wagers), rng.randint(2, 6)))
    ]


def shared_meters(floor: Floor, hits: list[Json]) -> set[str]:
    """The meters of which the hits have a share."""
    shared = set()
    for spot in floor[0]["table"][0]["spot"]:
        for row in floor[1][spot["paytable"]]["prize"]:
            if any((hit["spot"], hit["outcome"]) == (spot["id"], row["outcome"]) for hit in hits):
                shared |= {spot["meters"][part] for part in row.get("share", {})}
    return shared


def cut(rng: Random, hits: list[Json]) -> list[list[Json]]:
    """The hits in any order in any number of messages, sometimes all so far sent again with the new ones."""
    shuffled = rng.sample(hits, len(hits))
    ends = [*sorted(rng.sample(range(1, len(hits)), rng.randint(0, len(hits) - 1))), len(hits)]
    return [shuffled[0 if rng.random() < 0.3 else start : end] for start, end in zip([0, *ends], ends, strict=False)]


@CAMPAIGN
@given(SEEDS)
def test_the_same_hits_give_the_same_awards_in_one_message_and_in_many(seed: int) -> None:
    rng, floor = Random(seed), a_generous_link(seed)
    hits = some_hits(rng, floor)
    whole, parts = Play(floor), Play(floor)
    whole.hits(hits)
    for message in cut(rng, hits):
        parts.hits(message)
    assert parts.outcome() == whole.outcome()


@CAMPAIGN
@given(SEEDS)
def test_wagers_of_another_table_after_the_first_hit_change_no_award_and_go_to_the_next_meter(seed: int) -> None:
    """R-53: the cut is each meter's first hit with a share of it; the other table wagers once all have had theirs."""
    rng, floor = Random(seed), a_generous_link(seed)
    hits = some_hits(rng, floor)
    whole, parts, sent, wagered = Play(floor), Play(floor), list[Json](), 0
    for message in cut(rng, hits):
        parts.hits(message)
        sent += message
        if shared_meters(floor, sent) == shared_meters(floor, hits):
            parts.lock(parts.other)
            wagered += 1
    whole.hits(hits)
    for _ in range(wagered):
        whole.lock(whole.other)
    assert parts.outcome() == whole.outcome()
