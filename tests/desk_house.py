"""A book in memory with people at its desk: the engine, what a table says, and acts signed by named persons."""

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from floors import contract_floor, plan_of

from controller import desk
from controller.acts import Acted, ActRefused, Why, read_act
from controller.floor import Floor
from controller.floor_state import ACCOUNTS, round_row
from controller.people import Person, Role
from controller.plan import FloorPlan
from firmware_bridge.messages import Close, Count, Hit, Hits, Lock, Numbered, Void, Wager

ANNA = Person("anna", Role.SUPERVISOR, "table-games")
BEN = Person("ben", Role.SUPERVISOR, "table-games")
CARL = Person("carl", Role.SHIFT_MANAGER, "table-games")
DORA = Person("dora", Role.ACCOUNTING, "accounting")
EVE = Person("eve", Role.TECHNICIAN, "it")
FAY = Person("fay", Role.SURVEILLANCE, "surveillance")
GUS = Person("gus", Role.AUDITOR, "audit")
HAL = Person("hal", Role.ADMINISTRATOR, "it")
IDA = Person("ida", Role.SHIFT_MANAGER, "security")
EVERYBODY = (ANNA, BEN, CARL, DORA, EVE, FAY, GUS, HAL, IDA)
AT = 1_796_162_400_000_000
HOUR = 3_600_000_000


def plan_with(table: Mapping[str, Any] | None = None, **awards: Any) -> FloorPlan:
    """The contract's floor with keys added to every table, and an ``[awards]`` section."""
    floor, paytables = deepcopy(contract_floor())
    for one in floor["table"]:
        one.update(table or {})
    plan = plan_of((floor, paytables))
    if not awards:
        return plan
    from controller.config import build

    return build({**plan.document, "awards": awards})


class Desk:
    """A fresh book. Messages come from ``hub-01`` (PG-01), ``hub-02`` (PG-02), ``hub-03`` (PG-03)."""

    def __init__(self, plan: FloorPlan | None = None) -> None:
        self.plan = plan or plan_with()
        self.floor = Floor.opened(self.plan, at=AT)
        self.at = AT
        self._seq: dict[str, int] = {}
        self._ids = count(1)
        self._closed: dict[str, Any] = {}
        """Closed games as a ledger would find them again by their entries."""

    def _say(self, table: str, make: Any) -> Any:
        device = self.plan.tables[table].device
        self._seq[device] = self._seq.get(device, 0) + 1
        message: Numbered = make(device, "b1", self._seq[device])
        (taken,) = self.floor.take(message, self.at)
        return taken

    def lock(self, number: int, *seats: int, table: str = "PG-01") -> Any:
        """A lock-out of ``seats`` at the table's first spot."""
        spot = self.plan.tables[table].spots[0]
        wagers = tuple(Wager(seat, spot.id, spot.paytable.wager_cents) for seat in seats)
        return self._say(table, lambda *key: Lock(*key, number, wagers))

    def hit(self, number: int, seat: int, outcome: str, *, envy_only: bool = False, table: str = "PG-01") -> Any:
        """One winning hand."""
        hit = Hit(seat, self.plan.tables[table].spots[0].id, outcome, envy_only)
        return self._say(table, lambda *key: Hits(*key, number, (hit,), key[1]))

    def chips(self, number: int, chips: int, table: str = "PG-01") -> Any:
        """The dealer's count."""
        return self._say(table, lambda *key: Count(*key, number, chips, key[1]))

    def close(self, number: int, table: str = "PG-01") -> Any:
        """The game is over."""
        found = self.floor.tables[table].open
        if found is not None:
            self._closed[found.key] = round_row(found) | {"since": {"state": "closed"}}
        return self._say(table, lambda *key: Close(*key, number, key[1]))

    def void(self, number: int, table: str = "PG-01") -> Any:
        """Misdeal."""
        return self._say(table, lambda *key: Void(*key, number, "misdeal", key[1]))

    def act(self, kind: str, *people: Person, act_id: str = "", **fields: Any) -> Acted:
        """An act signed by up to three people; table PG-01 and its first spot where nothing else is said."""
        from controller.acts import KINDS

        names = {field.name for field in KINDS[kind].fields}
        given = {name: said for name, said in {"table": "PG-01", "spot": "progressive"}.items() if name in names}
        by, second, third = (*people, None, None)[:3]
        made = read_act(kind, act_id or f"act-{next(self._ids):06d}", given | fields, by, second, third)
        game = desk.names_game(made)
        if game is not None and self.floor.find_game(game.key) is None and game.key in self._closed:
            self.floor.remember_game(self._closed[game.key], self.plan.tables[game.table])
        return desk.act(self.floor, made, self.at)

    def refused(self, kind: str, *people: Person, **fields: Any) -> Why:
        """Why an act is refused; and nothing has moved."""
        before = self.books()
        with pytest.raises(ActRefused) as wrong:
            self.act(kind, *people, **fields)
        assert self.books() == before
        return wrong.value.why

    def pay(self, game: int, seat: int, handed: str, *people: Person, **more: Any) -> Acted:
        """Pay an award in chips."""
        return self.act("award-paid", *people, game=game, seat=seat, handed=handed, how="chips", **more)

    def accounts(self, meter: str = "pg-link") -> dict[str, int]:
        """Every account of a meter in microcents."""
        return {account: getattr(self.floor.meters[meter], account) for account in ACCOUNTS}

    def books(self) -> Any:
        """Everything of the book that money depends on."""
        return ({name: self.accounts(name) for name in self.floor.meters}, self.floor.number, self.floor.awards_pending)

    def state(self, game: int, seat: int, table: str = "PG-01") -> str:
        """The state of an award."""
        found = self.floor.find_game(f"{table}/{game}")
        assert found is not None
        return found.cases[seat, "progressive"].state
