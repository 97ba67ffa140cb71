"""A book in memory that is told lines and acts, restarts from its rows alone, and what must hold of it at any time."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from engine import Engine

from controller import desk
from controller.acts import Act, Acted, ActRefused, read_act
from controller.award import OPEN, due_cents, signed_steps
from controller.config import build
from controller.floor_state import ACCOUNTS, Round, canonical, round_row
from controller.people import Person
from controller.plan import FloorPlan

Json = dict[str, Any]


def plan_of_night(floor: Json, paytables: dict[str, Json], **awards: Any) -> FloorPlan:
    """The product's reading of a floor, with an ``[awards]`` section."""
    made = {
        "site": {key: said for key, said in floor["site"].items() if key != "paytables"},
        "meter": floor["meter"], "table": floor["table"], "paytable": paytables,
    }
    return build(json.loads(json.dumps(made)) | ({"awards": awards} if awards else {}))


class PeopleEngine(Engine):
    """An engine with people at its desk. What it forgets it finds again as the ledger's reader would."""

    knows_late_locks = False
    """Whether a game that was never open (a lock-out kept over a start) can be found again, as a ledger can."""

    def __init__(self, plan: FloorPlan, at: int = 0) -> None:
        self.seen: dict[str, Round] = {}
        """Every round by game, as the floor last had it: what ``old_game`` makes of the entries."""
        self.kept_acts: dict[str, tuple[str, Json, int]] = {}
        self.ids = 0
        super().__init__(plan, at)

    def _keep(self) -> None:
        self._see()
        for entry in self.floor.entries:
            if entry.device == desk.DESK:
                self.kept_acts[str(entry.boot)] = (entry.kind, json.loads(entry.body), entry.number)
        super()._keep()

    def _see(self) -> None:
        for table in self.floor.tables.values():
            if table.open is not None:
                self.seen[table.open.key] = table.open

    def restart(self) -> None:
        """A start from the rows."""
        super().restart()
        self._see()

    def say(self, message: Json) -> list[Json]:
        """The answers to one message."""
        return self.take(json.dumps(message).encode())

    def act(self, kind: str, people: list[Person], said: Mapping[str, Any], act_id: str = "") -> Acted:
        """Do an act, or raise ActRefused; a refusal changes nothing but the number of entries."""
        self.ids += 1
        by = people[0]
        second, third = (*people[1:], None, None)[:2]
        if kind in ("award-verified", "award-paid", "envy-paid"):  # an override's other signature is the third one
            second, third = third, second
        return self.do(read_act(kind, act_id or f"act-{self.ids:06d}", dict(said), by, second, third))

    def submit(self, made: Act) -> str:
        """Why an act was refused, or empty: it is done."""
        try:
            self.do(made)
        except ActRefused as no:
            return no.why.value
        return ""

    def do(self, made: Act) -> Acted:
        """``act`` with one that has been read."""
        self._tell(made.id, str(made.fields.get("table", "")), made.fields.get("game"))
        before = self.books()
        try:
            acted = desk.act(self.floor, made, self.at)
        except ActRefused as no:
            assert self.books() == before, "a refused act has changed something"
            desk.refuse(self.floor, made, no, self.at)
            self._keep()
            raise
        if acted.before:
            assert self.books() == before, "an act that had been done was done again"
        self._keep()
        return acted

    def _tell(self, act_id: str, table: str, game: int | None) -> None:
        """What a reader would tell the floor: whether the act is done, and its game."""
        if act_id in self.kept_acts and act_id not in self.floor.acts:
            desk.remember(self.floor, act_id, *self.kept_acts[act_id])
        if game is not None and table in self.floor.tables:
            self.game(table, game)

    def game(self, table: str, game: int) -> Round | None:
        """A game, from memory, its row, or (with nothing but wagers known) its entries."""
        key = f"{table}/{game}"
        if self.floor.find_game(key) is None and key in self.seen:
            row = self.rows.get(("award", key))
            old = round_row(self.seen[key])
            bare = old | {"since": {"state": self.seen[key].state}, "hits": []}
            self.floor.remember_game(bare if row is None else json.loads(row.body)["round"], self.plan.tables[table])
        return self.floor.find_game(key)

    def forget_games(self) -> None:
        """The floor lets go of every closed game."""
        self.floor.games.clear()
        self.floor.acts.clear()

    def books(self) -> str:
        """Everything of the book but its entries, in one text."""
        floor = self.floor
        return canonical({
            "meters": {name: [getattr(meter, account) for account in ACCOUNTS] for name, meter in floor.meters.items()},
            "kept": {name: sorted(map(str, meter.kept.items())) for name, meter in floor.meters.items()},
            "games": {key: round_row(found) for key, found in floor.games.items() if found.told},
            "tables": {name: [table.closed, table.held_by, table.open and round_row(table.open)]
                       for name, table in floor.tables.items()},
            "waiting": floor.awards_pending, "rows": floor.rows,
        })

    def restart_and_compare(self) -> None:
        """What is read back from the rows is what was in memory."""
        before, games = self.books(), {key: round_row(found) for key, found in self.floor.games.items() if found.told}
        self.restart()
        for key in games:
            table, _, game = key.rpartition("/")
            self.game(table, int(game))
        assert json.loads(self.books()) == json.loads(before)

    def every_round(self) -> list[Round]:
        """All rounds of the night, read back where they are not in memory."""
        return [found for key in self.seen if (found := self.game(key.rpartition("/")[0], int(key.rpartition("/")[2])))]


def check_accounts(engine: PeopleEngine) -> None:
    """Sums are zero; nothing inside is below zero; pending is the sum of the shares of open awards (to the cent)."""
    pending: Counter[str] = Counter()
    waiting = 0
    for found in engine.every_round():
        for place, case in found.cases.items():
            waiting += case.state in OPEN
            if case.state in OPEN:
                standing = found.hits[place]
                for part, cents in standing.shares.items():
                    pending[found.plan.spot[place[1]].meter_of[part]] += cents
    for name, meter in engine.floor.meters.items():
        assert sum(getattr(meter, account) for account in ACCOUNTS) == 0, f"{name} does not sum to zero"
        assert min(meter.display, meter.reserve, meter.overflow, meter.pending) >= 0
        assert meter.pending == pending[name] * 1_000_000, f"{name}: pending is not the open awards' shares"
    assert engine.floor.awards_pending == waiting, "awards_pending does not count the open awards"


def check_signatures(engine: PeopleEngine) -> None:
    """One payment at most for each award; nobody took two of its steps; who touched it took none (MO-08)."""
    for found in engine.every_round():
        for case in found.cases.values():
            by = {name: [step["by"] for step in signed_steps(case) if step["step"] == name]
                  for name in ("verify", "release", "pay")}
            assert all(len(each) <= 1 for each in by.values()), "a step was taken twice"
            signed = [person for each in by.values() for people in each for person in people]
            assert len(set(signed)) == len(signed), "one person took two steps of an award"
            assert not set(signed) & set(case.touched), "a person who touched the award signed it"
            if case.state in ("paid", "paid-in-error"):
                assert len(by["pay"]) == 1
        assert all(one["state"] in ("refused", "withdrawn", "paid-in-error") for one in found.past)


def check_bounds(engine: PeopleEngine) -> None:
    """What a meter keeps for rounds is bounded: one closed round, and the open ones."""
    for meter in engine.floor.meters.values():
        assert len(meter.kept) <= 1 + len(engine.floor.tables), f"{meter.plan.id} keeps {len(meter.kept)} rounds"


def due_of(engine: PeopleEngine, table: str, game: int, seat: int, spot: str) -> int:
    """Cents of an award that stands, 0 when there is none."""
    found = engine.game(table, game)
    return due_cents(found, (seat, spot)) if found is not None and (seat, spot) in found.hits else 0
