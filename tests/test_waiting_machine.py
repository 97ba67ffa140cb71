"""Random nights at one link whose keys change at resets, beside the oracle's meter (R-34, R-40, R-53, R-54).

Hands come in any number of messages, late ones by people, some are withdrawn; the other table wagers in between; the
daemon starts again. After every step the meter and every award are what the oracle makes of the same. By default 200
nights, the same ones each time; with ``PMC_CAMPAIGN=long`` 5,000 new ones.
"""

import json
import os
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from desk_house import ANNA, BEN, DORA, EVE, Desk
from floors import CHOICES
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_meter import MICROCENTS, Balances, Json, Meter, Shares, money
from test_config_acts import APPROVED
from test_waiting_config import plan_where, waits

from controller.acts import ActRefused
from controller.floor import Floor
from controller.floor_state import StateRow
from controller.money import format_cents

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
CAMPAIGN = settings(deadline=None, database=None, derandomize=not LONG, max_examples=5_000 if LONG else 200)
SHARES = {"7-card-straight-flush": Fraction(1), "royal-flush-royal-match": Fraction(1, 5),
          "7-card-straight-flush-with-joker": Fraction(1, 10), "five-aces": Fraction(0)}
WAGER = Fraction(5)
"""Cents that one $5 wager adds to the display, and as much to the reserve (paytable 4: 1% and 1%)."""
SEEDS = ("$10,000.00", "$12,345.67", "$9,000.01", "$20,000.00")

pytestmark = pytest.mark.timeout(14_400 if LONG else 120)


class Night:
    """The product, and the oracle's meter beside it: ``stands`` has the keys in force, ``coming`` those that wait."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        keys, seed = self.keys(SEEDS[0]), SEEDS[0]
        self.desk = Desk(plan_where(lambda document: document["meter"][0].update(keys)))
        self.stands, self.coming = Meter(keys, money(seed), Balances(money(seed), house=money(seed))), None
        self.now, self.contributed = self.stands.now, Fraction(0)
        self.rows: dict[tuple[str, str], StateRow] = {}
        self.plans = {self.desk.floor.plan_entry: self.desk.floor.plan}
        self.games, self.other = 0, 0
        self.hits: dict[int, str] = {}
        self.begin()

    def keys(self, seed: str) -> Json:
        """Policies of the meter as its TOML has them."""
        made: Json = {name: self.rng.choice(choices) for name, choices in CHOICES.items()}
        above = money(seed) + self.rng.choice((1, 50, 900, 100_000))
        return made | {"limit": self.rng.choice(("none", format_cents(int(above))))}

    # ------------------------------------------------------------------ steps

    def begin(self) -> None:
        """A game of all seats at PG-01; it will be paid by the keys that are in force."""
        self.games += 1
        self.desk.plan = self.desk.floor.plan  # under which the desk finds the game again once it is closed
        self.desk.lock(self.games, *range(1, 7))
        self.locked, self.kept, self.resets_by, self.open = self.stands, None, None, True
        self.hits, self.due = {}, {}
        self.wagers(6)

    def wagers(self, count: int) -> None:
        self.now = self.stands.contribute(self.now, WAGER * count, WAGER * count)
        self.contributed += WAGER * count

    def elsewhere(self) -> None:
        """The other table wagers."""
        self.other += 1
        seats = self.rng.randint(1, 6)
        self.desk.lock(self.other, *range(1, seats + 1), table="PG-02")
        self.wagers(seats)

    def activate(self) -> None:
        """Other keys, mostly with another seed; refused while the game that has won the meter is open."""
        seed = self.rng.choice(SEEDS)
        keys = self.keys(seed)
        limit = None if keys["limit"] == "none" else money(keys["limit"])
        same = limit == self.stands.limit
        good = (same or limit is None or limit > self.now.display) and not (self.open and self.has_reset())
        good = good and (self.stands.limit is None or money(seed) < self.stands.limit)  # put in under that
        document: Any = deepcopy(json.loads(json.dumps(dict(self.desk.floor.plan.document))))
        document["meter"][0].update(keys)
        document["paytable"]["progressive-4"]["meter"]["main"]["seed"] = seed
        try:
            name = self.desk.act("config-proposed", EVE, document=document, reason="x").told["hash"]
        except ActRefused as no:
            assert not good or no.why.value == "already-done", no
            return
        assert good
        told = self.desk.act("config-activated", DORA, hash=name, **APPROVED).told
        self.coming = Meter(keys, money(seed), self.now) if told["waits"] else None
        assert bool(told["waits"]) == (keys != self.stands.rules or money(seed) != self.stands.seed)

    def hand(self) -> None:
        """A hand of a seat that has none, keyed or entered by people."""
        free = [seat for seat in range(1, 7) if seat not in self.hits]
        if not free:
            return
        seat, outcome = self.rng.choice(free), self.rng.choice(list(SHARES))
        if self.open:
            self.desk.hit(self.games, seat, outcome)
        else:
            self.desk.act("hit-added", ANNA, BEN, game=self.games, seat=seat, outcome=outcome, reason="not keyed")
        self.hits[seat] = outcome
        if SHARES[outcome]:
            self.settle(fresh=True)

    def withdraw(self) -> None:
        """A hand that was none."""
        if self.hits:
            seat = self.rng.choice(list(self.hits))
            self.desk.act("hit-withdrawn", ANNA, BEN, game=self.games, seat=seat, reason="misread")
            if SHARES[self.hits.pop(seat)]:
                self.settle(fresh=False)

    def end(self) -> None:
        """The game is over: what it has reset by keys that waited is in force, unless the amount is above the limit."""
        if self.open:
            self.desk.close(self.games)
            self.open = False
            self.follow()

    def follow(self) -> None:
        """``stands`` once a round that used what waits is over."""
        if self.coming is not None and self.resets_by is self.coming:
            limit = self.coming.limit
            if limit is None or limit == self.stands.limit or self.now.display <= limit:
                self.stands, self.coming = self.coming, None

    def restart(self) -> None:
        """A start from the rows; closed games are read from the ledger when people speak of them."""
        self.drain()
        floor = self.desk.floor
        self.desk.floor = Floor.loaded(floor.plan, "main", self.rows.values(), floor.number, floor.plan_entry,
                                       self.plans, boots_elsewhere=False)
        self.desk.floor.games = floor.games

    def drain(self) -> None:
        floor = self.desk.floor
        self.plans[floor.plan_entry] = floor.plan
        self.rows |= {(row.kind, row.key): row for row in floor.drain()[1]}

    # ------------------------------------------------------------------ the reckoning

    def has_reset(self) -> bool:
        return any(SHARES[outcome] == 1 for outcome in self.hits.values())

    def settle(self, *, fresh: bool) -> None:
        """All standing hands of the game, as one, from where its first found the meter."""
        if self.kept is None:
            self.kept = (self.now, self.contributed)
        if not self.has_reset():
            self.resets_by = None
        elif self.resets_by is None:
            self.resets_by = self.coming or self.stands
        sharing: Shares = [((seat, "progressive"), SHARES[outcome]) for seat, outcome in sorted(self.hits.items())
                           if SHARES[outcome]]
        start, contributed = self.kept
        settled, self.due = self.locked.settle(replace(start, pending=Fraction(0)), sharing, self.resets_by)
        since = self.contributed - contributed
        after = self.stands.contribute(settled, since, since)
        if not fresh and after.display < self.now.display:
            after = replace(after, house=after.house + self.now.display - after.display, display=self.now.display)
            self.kept = (replace(start, house=start.house + after.house - settled.house), contributed)
        self.now = after
        if not self.open:
            self.follow()

    def check(self) -> None:
        """The meter, every award, and what waits."""
        meter, now = self.desk.floor.meters["pg-link"], self.now
        assert [meter.display, meter.reserve, meter.overflow, meter.pending - self.before] == [
            int(cents * MICROCENTS) for cents in (now.display, now.reserve, now.overflow, sum(self.due.values()))]
        assert waits(self.desk) == ([] if self.coming is None else ["pg-link"])
        assert self.desk.floor.plan.meters["pg-link"].seed_cents == self.stands.seed
        limit = meter.plan.limit_cents
        assert limit == self.stands.limit

    @property
    def before(self) -> int:
        """Microcents pending of older games."""
        found = self.desk.floor.find_game(f"PG-01/{self.games}")
        mine = sum(sum(standing.shares.values()) for standing in found.hits.values()) if found is not None else 0
        return self.desk.floor.meters["pg-link"].pending - mine * MICROCENTS


@CAMPAIGN
@given(st.integers(0, 2**32))
def test_a_reset_begins_the_next_meter_by_what_waits_however_the_round_is_settled(seed: int) -> None:
    rng = Random(seed)
    night = Night(rng)
    for _ in range(rng.randint(5, 40)):
        step = rng.choice((night.activate, night.hand, night.hand, night.hand, night.elsewhere, night.withdraw,
                           night.end, night.restart))
        step()
        if not night.open and rng.random() < 0.3:
            night.begin()
        night.drain()
        night.check()
