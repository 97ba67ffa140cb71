"""A machine that plays at random floors and holds the engine to the laws of money after every step.

Zero-sum entries and conservation (I2, R-15, R-19), no account below zero (MO-03), every answer and balance the
oracle's, also after a restart of the daemon and when the floor has forgotten what its book can tell.

By default some 200 plays of 50 steps, the same ones each time; with ``PMC_CAMPAIGN=long`` 3,000 plays of 120 new ones.
"""

import json
import os
from random import Random
from typing import Any

import pytest
from engine import Engine
from floors import plan_of, random_floor
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle import Oracle, Table
from oracle_meter import money

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
INSIDE = ("display", "reserve", "overflow", "pending")
PICK = st.integers(0, 1_000)
"""Any number; the machine takes it modulo what there is to choose from."""

settings.register_profile(
    "campaign", deadline=None, database=None, derandomize=not LONG, suppress_health_check=list(HealthCheck),
)
CAMPAIGN = settings.get_profile("campaign")

Json = dict[str, Any]


class FloorMachine(RuleBasedStateMachine):
    """One floor: engine and oracle side by side."""

    @initialize(seed=st.integers(0, 2**32))
    def open(self, seed: int) -> None:
        self.floor = random_floor(Random(seed))
        self.oracle, self.engine = Oracle(*self.floor), Engine(plan_of(self.floor))
        self.tables = list(self.oracle.tables.items())
        self.boots = {device: ["b1"] for device, _ in self.tables}
        self.numbers: dict[tuple[str, str], int] = {}
        self.sent: list[Json] = []
        self.skipped: list[Json] = []
        self.checked = 0

    def say(self, table: int, fields: Json, boot: int = 0) -> Json:
        """A numbered message of a table, from its newest boot or an older one."""
        device, _ = self.tables[table % len(self.tables)]
        name = self.boots[device][-1 - boot % len(self.boots[device])]
        number = self.numbers.get((device, name), 0) + 1
        self.numbers[device, name] = number
        message: Json = {"v": 1, "device": device, "boot": name, "seq": number} | fields
        message.setdefault("round", number)
        if message.get("round_boot") == name:
            del message["round_boot"]
        return message

    def send(self, message: Json) -> None:
        """Both answer it, and alike."""
        line = json.dumps(message).encode()
        self.sent.append(message)
        assert self.engine.take(line) == self.oracle.take(line)

    def open_round(self, table: int) -> tuple[Table, Json]:
        """A table, and how a message names its open round (or some round that is not open)."""
        _, spoken = self.tables[table % len(self.tables)]
        for name, boot in spoken.boots.items():
            for number, found in boot.rounds.items():
                if found is spoken.open:
                    return spoken, {"round": number, "round_boot": name}
        return spoken, {"round": 1}

    def paytable(self, table: Table, spot: str) -> Json:
        """The paytable of a spot."""
        return self.oracle.paytables[table.spots[spot]["paytable"]]

    def wagers(self, table: int, chosen: int) -> list[Json]:
        """Wagers of some seats and spots: the set bits of ``chosen``."""
        _, spoken = self.tables[table % len(self.tables)]
        places = [(seat, spot) for seat in range(1, spoken.rules["seats"] + 1) for spot in spoken.spots]
        return [
            {"seat": seat, "spot": spot, "cents": int(money(self.paytable(spoken, spot)["wager"]))}
            for bit, (seat, spot) in enumerate(places) if chosen >> bit & 1
        ]

    @rule(table=PICK, chosen=st.integers(0, 2**14 - 1), old=st.sampled_from((0, 0, 0, 1)))
    def lock(self, table: int, chosen: int, old: int) -> None:
        self.send(self.say(table, {"type": "lock", "wagers": self.wagers(table, chosen)}, old))

    @rule(table=PICK, picks=st.lists(st.tuples(PICK, PICK), min_size=1, max_size=4))
    def hit(self, table: int, picks: list[tuple[int, int]]) -> None:
        spoken, named = self.open_round(table)
        places = list(spoken.open.wagers) if spoken.open else []
        hits = {}
        for place, row in picks:
            if places:
                seat, spot = places[place % len(places)]
                prizes = self.paytable(spoken, spot)["prize"]
                standing = spoken.open.hits.get((seat, spot)) if spoken.open else None
                outcome = standing or prizes[row % len(prizes)]["outcome"]
                hits[seat, spot] = {"seat": seat, "spot": spot, "outcome": outcome}
        if hits:
            self.send(self.say(table, {"type": "hits", "hits": list(hits.values())} | named))

    @rule(table=PICK, seat=st.integers(0, 8), row=PICK, envy_only=st.booleans())
    def claim(self, table: int, seat: int, row: int, envy_only: bool) -> None:
        """A hit that may be of a seat without a wager, unknown, or a second one."""
        spoken, named = self.open_round(table)
        spot = list(spoken.spots)[row % len(spoken.spots)]
        prizes = self.paytable(spoken, spot)["prize"]
        hit = {"seat": seat, "spot": spot, "outcome": prizes[row % len(prizes)]["outcome"], "envy_only": envy_only}
        self.send(self.say(table, {"type": "hits", "hits": [hit]} | named))

    @rule(table=PICK, kind=st.sampled_from(("close", "void", "count")), chips=st.integers(0, 14))
    def finish(self, table: int, kind: str, chips: int) -> None:
        more: dict[str, Json] = {"close": {}, "void": {"reason": "misdeal"}, "count": {"chips": chips}}
        self.send(self.say(table, {"type": kind} | more[kind] | self.open_round(table)[1]))

    @rule(table=PICK)
    def restart_device(self, table: int) -> None:
        device, _ = self.tables[table % len(self.tables)]
        self.boots[device].append(f"b{len(self.boots[device]) + 1}")

    @precondition(lambda self: self.sent)
    @rule(place=PICK, changed=st.booleans())
    def send_again(self, place: int, changed: bool) -> None:
        old = self.sent[place % len(self.sent)]
        self.send(old | {"round": 4_000_000_000} if changed else old)

    @precondition(lambda self: len(self.skipped) < 8)
    @rule(table=PICK, chosen=st.integers(0, 2**14 - 1))
    def skip(self, table: int, chosen: int) -> None:
        self.skipped.append(self.say(table, {"type": "lock", "wagers": self.wagers(table, chosen)}))

    @precondition(lambda self: self.skipped)
    @rule(place=PICK)
    def send_skipped(self, place: int) -> None:
        self.send(self.skipped.pop(place % len(self.skipped)))

    @rule()
    def restart_daemon(self) -> None:
        self.engine.restart()

    @rule()
    def forget(self) -> None:
        self.engine.forget()

    @invariant()
    def every_entry_sums_to_zero(self) -> None:
        for entry in self.engine.entries:
            for meter in {posting.meter for posting in entry.postings}:
                assert sum(each.microcents for each in entry.postings if each.meter == meter) == 0
        self.engine.entries.clear()

    @invariant()
    def nothing_is_below_zero_and_nothing_is_lost(self) -> None:
        for name, meter in self.engine.floor.meters.items():
            balances = self.engine.accounts(name)
            assert min(balances[account] for account in INSIDE) >= 0
            assert sum(balances[account] for account in INSIDE) == balances["house"] + balances["players"] - meter.paid

    @invariant()
    def every_balance_is_the_oracles(self) -> None:
        for name, meter in self.oracle.meters.items():
            assert self.engine.accounts(name) == meter.accounts


TestFloorMachine = FloorMachine.TestCase
TestFloorMachine.settings = settings(
    CAMPAIGN, max_examples=3_000 if LONG else 200, stateful_step_count=120 if LONG else 50,
)
TestFloorMachine.pytestmark = [pytest.mark.timeout(14_400 if LONG else 120)]  # type: ignore[attr-defined]
