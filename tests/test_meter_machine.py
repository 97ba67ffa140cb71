"""A machine that plays at three meters while people change them by hand, beside a reckoning of its own.

After every step: each account is what the reckoning says, refusals too; no account inside is below zero (MO-03); what
all meters hold is what players and house have put in, less what was paid (R-64); and a restart changes nothing.
"""

import os
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest
from desk_house import ANNA, BEN, CARL, DORA, HOUR, IDA
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from meter_house import CENT, SEED, TENTH, TOP, WHY, MeterDesk, dollars, noticed

from controller.acts import ActRefused, Why
from controller.award import waiting
from controller.floor import Floor
from controller.floor_state import StateRow, meter_row
from controller.people import Person
from controller.rounds import award_row

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
LIMITS = {"none": None, "$10,000.50": SEED + 50 * CENT, "$10,030.00": SEED + 3_000 * CENT}
LINKS = {"pg-link": ("PG-01", "PG-02"), "pg-next": ("PG-04",), "pg-solo": ("PG-03",)}
TABLES = ("PG-01", "PG-02", "PG-03", "PG-04")
FULL = 900_000_000_000 * CENT
ALLOWED = {("raise", "malfunction-correction"), ("raise", "restoration"), ("lower", "malfunction-correction"),
           ("lower", "limit-correction")}
METERS = st.sampled_from(sorted(LINKS))
PEOPLE = st.sampled_from([
    *[(CARL, DORA)] * 16, (DORA, IDA), (CARL, IDA), (CARL, CARL), (CARL, ANNA), (BEN, DORA), (DORA,)])
AMOUNTS = st.one_of(st.integers(0, 400), st.integers(0, 1_100_000), st.sampled_from([1_000_000, 2**31, 2**32 - 1]))

PAIRS = st.sampled_from([
    *[("pg-link", "pg-next"), ("pg-next", "pg-link")] * 4, ("pg-link", "pg-solo"), ("pg-solo", "pg-solo")])
PARTS = st.integers(0, 4)
"""Thirds of what there is; four are too many."""


class Reckoned(NamedTuple):
    """What a meter holds, and what the house has put in, in microcents."""

    display: int
    reserve: int
    overflow: int
    pending: int
    house: int


class MeterMachine(RuleBasedStateMachine):
    """One floor, its engine and the reckoning."""

    @initialize(limit=st.sampled_from(sorted(LIMITS)), taken=st.booleans(), recovered=st.booleans())
    def open(self, limit: str, taken: bool, recovered: bool) -> None:
        self.desk = MeterDesk(limit=limit, reserve_to_house=taken, seed_recovery=recovered)
        self.limits = {"pg-link": None, "pg-next": LIMITS[limit], "pg-solo": 250_000 * 100 * CENT}
        self.keys = {"reserve": taken, "seed": recovered}
        self.rows: dict[tuple[str, str], StateRow] = {}
        self.entries: list[Any] = []
        self.games = dict.fromkeys(TABLES, 0)
        self.playing: dict[str, int] = {}
        self.closed: set[str] = set()
        self.gone: set[str] = set()
        self.retiring: dict[str, date] = {}
        self.owed: dict[int, int] = {}
        self.today = date(2026, 12, 1)
        self.look()

    # ------------------------------------------------------------------ the reckoning

    def look(self) -> None:
        """Take over what the engine has: after wagers and hands, which other tests reckon."""
        self.is_now = {name: self.held(name) for name in LINKS}

    def held(self, name: str) -> Reckoned:
        """What the engine's meter holds."""
        meter = self.desk.floor.meters[name]
        return Reckoned(meter.display, meter.reserve, meter.overflow, meter.pending, -meter.house)

    def quiet(self, name: str) -> bool:
        """Whether nothing feeds a meter."""
        return all(table in self.closed for table in LINKS[name])

    def change(self, kind: str, people: tuple[Person, ...], good: bool, lowered: int, **fields: Any) -> bool:
        """An act that must be done, or refused, as the reckoning says."""
        signed = len(people) == 2 and len({one.department for one in people}) == 2 \
            and all(one in (CARL, DORA, IDA) for one in people)
        try:
            acted = self.desk.act(kind, *people, **WHY, **fields)
        except ActRefused:
            assert not (good and signed), f"{kind} was refused"
            return False
        assert good and signed, f"{kind} was done"
        if lowered:
            self.owed[acted.entry] = lowered
        return True

    def shut(self, name: str) -> None:
        """End the games of a meter's tables and close them."""
        for table in LINKS[name]:
            if table in self.playing:
                self.desk.close(self.playing.pop(table), table)
            if table not in self.closed:
                self.turn_table(table)
        self.look()

    # ------------------------------------------------------------------ the floor plays

    @rule(table=st.sampled_from(TABLES), seats=st.sets(st.integers(1, 6), min_size=1, max_size=4),
          outcome=st.sampled_from(["", "", "", "", TOP, TENTH]), end=st.booleans())
    def play(self, table: str, seats: set[int], outcome: str, end: bool) -> None:
        self.games[table] += 1
        number = self.games[table]
        taken = self.desk.lock(number, *sorted(seats), table=table)
        fed_gone = any(table in LINKS[name] for name in self.gone)
        assert (taken.result == "posted") == (table not in self.closed and not fed_gone)
        if taken.result == "posted":
            self.playing[table] = number
            if outcome and not (table == "PG-03" and outcome == TENTH):
                self.desk.hit(number, min(seats), outcome, table=table)
            if end:
                self.desk.close(number, table)
                del self.playing[table]
        self.look()

    @rule(table=st.sampled_from(TABLES), games=st.integers(1, 12))
    def play_on(self, table: str, games: int) -> None:
        for _ in range(games):
            self.play(table, {1, 2, 3, 4, 5, 6}, "", True)

    @precondition(lambda self: self.playing)
    @rule(seat=st.integers(1, 6), outcome=st.sampled_from([TOP, TENTH]))
    def hit_later(self, seat: int, outcome: str) -> None:
        """A hand of a game that is open, however much people have changed since."""
        table, number = next(iter(self.playing.items()))
        if table != "PG-03":
            self.desk.hit(number, seat, outcome, table=table)
        self.look()

    @precondition(lambda self: self.playing)
    @rule()
    def end_game(self) -> None:
        table, number = self.playing.popitem()
        self.desk.close(number, table)
        self.look()

    @rule(table=st.sampled_from(TABLES))
    def turn_table(self, table: str) -> None:
        if table in self.playing:
            return
        kind = "table-opened" if table in self.closed else "table-closed"
        if kind == "table-opened" and any(table in LINKS[name] for name in self.gone):
            assert self.desk.refused(kind, ANNA, table=table) is Why.NOT_NOW
            return
        self.desk.act(kind, ANNA, table=table)
        self.closed ^= {table}

    @rule(pay=st.booleans(), envy=st.sampled_from(["pay", "leave", ""]))
    def settle_award(self, pay: bool, envy: str) -> None:
        """The oldest award that waits is paid or refused."""
        for key, found in self.desk.floor.games.items():
            waiting = [place for place, case in found.cases.items() if case.state == "pending"]
            if waiting and found.state == "closed":
                table, game = key.split("/")
                named = {"table": table, "game": int(game), "seat": waiting[0][0]}
                if pay:
                    verified = self.desk.act("award-verified", ANNA, **named)
                    self.desk.act("award-paid", BEN, **named, handed=dollars(verified.told["due"] * CENT), how="chips")
                    for *_, to, _, state in award_row(found, 0)["lines"]:
                        if state == "pending" and envy == "pay":
                            self.desk.act("envy-paid", CARL, **named, to=to, how="chips")
                        elif state == "pending" and envy == "leave":
                            self.desk.act("envy-unclaimed", CARL, **named, to=to, reason="nobody came")
                else:
                    self.desk.act("award-refused", ANNA, BEN, **named, reason="a trial")
                break
        self.look()

    # ------------------------------------------------------------------ people change meters

    @rule(name=METERS, direction=st.sampled_from(["raise", "lower"]), cents=AMOUNTS, people=PEOPLE,
          code=st.sampled_from(["malfunction-correction", "limit-correction", "restoration"]))
    def adjust(self, name: str, direction: str, cents: int, people: tuple[Person, ...], code: str) -> None:
        was, move = self.is_now[name], cents * CENT * (1 if direction == "raise" else -1)
        most = FULL if self.limits[name] is None else self.limits[name]
        least = 0 if code != "limit-correction" else FULL if self.limits[name] is None else self.limits[name]
        good = name not in self.gone and cents > 0 and (direction, code) in ALLOWED and was.display + move >= least \
            and (move < 0 or was.display + move <= most)
        if self.change("meter-adjusted", people, good, max(0, -move), meter=name, direction=direction,
                       by_amount=dollars(cents * CENT), code=code):
            self.is_now[name] = was._replace(display=was.display + move, house=was.house + move)

    @rule(pair=PAIRS, people=PEOPLE, shut=st.integers(0, 3))
    def transfer(self, pair: tuple[str, str], people: tuple[Person, ...], shut: int) -> None:
        name, to = pair
        if shut:
            self.shut(name)
        was, other = self.is_now[name], self.is_now[to]
        above = max(0, was.display - SEED)
        whole = above + was.reserve + was.overflow
        room = above if self.limits[to] is None else min(above, max(0, self.limits[to] - other.display))
        after = other._replace(display=other.display + room, reserve=other.reserve + was.reserve,
                               overflow=other.overflow + above - room + was.overflow, house=other.house + whole)
        good = {name, to} == {"pg-link", "pg-next"} and self.gone.isdisjoint({name, to}) and self.quiet(name) \
            and whole > 0 and max(after[:3]) <= FULL
        if self.change("meter-transferred", people, good, above, meter=name, to=to):
            self.is_now[to] = after
            self.is_now[name] = Reckoned(was.display - above, 0, 0, was.pending, was.house - whole)

    @rule(name=METERS, days=st.integers(-1, 2), people=PEOPLE)
    def announce(self, name: str, days: int, people: tuple[Person, ...]) -> None:
        day = self.today + timedelta(days=days)
        good = name not in self.gone and days >= 0 and name not in self.retiring
        if self.change("retirement-announced", people, good, 0, meter=name, effective=day.isoformat()):
            self.retiring[name] = day

    @rule(name=METERS, people=PEOPLE, shut=st.integers(0, 3))
    def retire(self, name: str, people: tuple[Person, ...], shut: int) -> None:
        if shut:
            self.shut(name)
        was = self.is_now[name]
        good = name in self.retiring and self.retiring[name] <= self.today and self.quiet(name) \
            and was.display <= SEED and not was.reserve + was.overflow + was.pending and not self.owes(name)
        if self.change("meter-retired", people, good, was.display, meter=name):
            self.gone.add(name)
            del self.retiring[name]
            self.is_now[name] = was._replace(display=0, house=was.house - was.display)

    def owes(self, name: str) -> bool:
        """Whether a game of a meter's tables has an award that waits, or envy that nobody has paid or left."""
        for found in self.desk.floor.games.values():
            lines = award_row(found, 0)["lines"]
            if found.plan.id in LINKS[name] and (waiting(found) or any(line[4] == "pending" for line in lines)):
                return True
        return False

    @rule(name=st.sampled_from(["pg-next", "pg-next", "pg-link"]), part=PARTS, people=PEOPLE)
    def take_reserve(self, name: str, part: int, people: tuple[Person, ...]) -> None:
        was = self.is_now[name]
        move = was.reserve * part // 3 // CENT * CENT
        good = name == "pg-next" and self.keys["reserve"] and name not in self.gone and 0 < move <= was.reserve
        if self.change("reserve-to-house", people, good, move, meter=name, by_amount=dollars(move)):
            self.is_now[name] = was._replace(reserve=was.reserve - move, house=was.house - move)

    @rule(name=st.sampled_from(["pg-next", "pg-next", "pg-link"]), part=PARTS, people=PEOPLE)
    def recover_seed(self, name: str, part: int, people: tuple[Person, ...]) -> None:
        was = self.is_now[name]
        move = max(0, was.display - SEED) * part // 3 // CENT * CENT
        good = name == "pg-next" and self.keys["seed"] and name not in self.gone and 0 < move <= was.house \
            and was.display - move >= SEED
        if self.change("seed-recovered", people, good, move, meter=name, by_amount=dollars(move)):
            self.is_now[name] = was._replace(display=was.display - move, house=was.house - move)

    @precondition(lambda self: self.owed)
    @rule()
    def send_notice(self) -> None:
        number = min(self.owed)
        meter = self.desk.floor.rows["notice-due"][str(number)]["meter"]
        told = self.desk.act("notice-sent", DORA, **noticed(self.desk, number, meter), how="by mail").told
        assert told["lowered"] == self.owed.pop(number)

    # ------------------------------------------------------------------ time and restarts

    @rule()
    def a_day_later(self) -> None:
        self.desk.at += 24 * HOUR
        self.today += timedelta(days=1)

    @rule()
    def restart(self) -> None:
        self.drain()
        floor = self.desk.floor
        before = {name: meter_row(meter) for name, meter in floor.meters.items()}
        games = floor.games
        self.desk.floor = Floor.loaded(
            self.desk.plan, "main", self.rows.values(), floor.number, floor.plan_entry,
            {floor.plan_entry: self.desk.plan}, boots_elsewhere=False)
        self.desk.floor.games = games  # closed games are read from the ledger when people speak of them
        assert {name: meter_row(meter) for name, meter in self.desk.floor.meters.items()} == before

    def drain(self) -> None:
        """Keep rows and entries as a ledger does."""
        entries, rows = self.desk.floor.drain()
        self.entries += entries
        self.rows |= {(row.kind, row.key): row for row in rows}

    # ------------------------------------------------------------------ the laws

    @invariant()
    def every_meter_is_as_reckoned(self) -> None:
        if hasattr(self, "desk"):
            assert {name: self.held(name) for name in LINKS} == self.is_now

    @invariant()
    def nothing_inside_is_below_zero_and_nothing_is_lost(self) -> None:
        if hasattr(self, "desk"):
            meters = self.desk.floor.meters.values()
            assert all(min(meter.display, meter.reserve, meter.overflow, meter.pending) >= 0 for meter in meters)
            fed, paid = -sum(meter.players for meter in meters), sum(meter.paid for meter in meters)
            assert self.desk.inside() == fed + self.desk.of_house() - paid

    @invariant()
    def every_entry_balances_meter_by_meter(self) -> None:
        if hasattr(self, "desk"):
            self.drain()
            for entry in self.entries:
                for name in {posting.meter for posting in entry.postings}:
                    assert sum(each.microcents for each in entry.postings if each.meter == name) == 0
            self.entries.clear()

    @invariant()
    def the_notices_due_are_those_of_the_lowerings(self) -> None:
        if hasattr(self, "desk"):
            due = self.desk.floor.rows.get("notice-due", {})
            assert {int(number): row["lowered"] for number, row in due.items()} == self.owed


TestMeterMachine = MeterMachine.TestCase
TestMeterMachine.settings = settings(
    deadline=None, database=None, derandomize=not LONG, suppress_health_check=list(HealthCheck),
    max_examples=2_000 if LONG else 200, stateful_step_count=120 if LONG else 50)
TestMeterMachine.pytestmark = [pytest.mark.timeout(14_400 if LONG else 120)]  # type: ignore[attr-defined]
