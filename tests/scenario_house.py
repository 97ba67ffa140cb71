"""A floor while its scenario runs: the dealers' messages go to the engine and the oracle, and both must agree.

The lines of a scenario are read by ``scenario_language``.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

from engine import Engine
from floors import named_floor, plan_of
from oracle import Oracle

Json = dict[str, Any]


class WrongScenario(AssertionError):
    """A scenario does not hold, or cannot be read; names file and line."""


@dataclass
class Hub:
    """A table's device as it counts: its boots, the newest number of each, and the game the dealer speaks of."""

    name: str
    boots: list[str] = field(default_factory=lambda: ["boot-1"])
    number: dict[str, int] = field(default_factory=dict)
    game: tuple[str, int] = ("boot-1", 1)
    """The boot and round of the last lock; a lock's round is its number."""


class House:
    """A floor while its scenario runs: sends what the lines say, and holds the last answers for the lines that ask."""

    def __init__(self, floor: str) -> None:
        name, *settings = floor.split(", ")
        policies = dict(setting.split(" ", 1) for setting in settings)
        day = date.fromisoformat(policies.pop("today", "2026-06-22"))
        self.noon = int(datetime(day.year, day.month, day.day, 16, tzinfo=UTC).timestamp()) * 1_000_000
        self.floor = named_floor(name, policies)
        self.hubs: dict[str, Hub] = {}
        self.table = ""
        self.hits: list[Json] = []
        self.hits_game: tuple[str, int] | None = None
        self.number: int | None = None
        self.old_boot = False
        self.sent: bytes = b""
        self.answers: list[Json] = []
        self.asked = True
        """Whether the last answers were looked at; unasked ones must all be ``posted``."""

    @cached_property
    def engine(self) -> Engine:
        """The product, opened when it is first spoken to."""
        return Engine(plan_of(self.floor), self.noon)

    @cached_property
    def oracle(self) -> Oracle:
        """The second opinion, on the same floor at the same time."""
        return Oracle(*self.floor, at=self.noon)

    def change_table(self, name: str, keys: Json) -> None:
        """Seats, pay order and envy hand of a table, before the first message."""
        table = self._table(name)
        if "engine" in vars(self):
            raise WrongScenario("a table is changed after the floor was opened")
        table |= {"pay_order": list(range(1, keys["seats"] + 1))} | keys

    def _table(self, name: str) -> Json:
        for table in self.floor[0]["table"]:
            if table["id"] == name:
                found: Json = table
                return found
        raise WrongScenario(f"no table {name}")

    def hub(self) -> Hub:
        """The device of the table that is spoken of."""
        if not self.table:
            raise WrongScenario("no table is named yet")
        return self.hubs.setdefault(self.table, Hub(str(self._table(self.table)["device"])))

    def send(self, fields: Json) -> None:
        """One numbered message from the table's device."""
        hub = self.hub()
        boot = hub.boots[-2 if self.old_boot else -1]
        number = self.number or hub.number.get(boot, 0) + 1
        hub.number[boot] = max(number, hub.number.get(boot, 0))
        if fields["type"] == "lock":
            fields["round"] = number
            if not self.old_boot:
                hub.game = (boot, number)
        elif fields["type"] != "notice":
            game = self.hits_game or hub.game
            fields |= {"round": game[1]} | ({"round_boot": game[0]} if game[0] != boot else {})
        self.number, self.old_boot, self.hits_game = None, False, None
        self.sent = json.dumps({"v": 1, "device": hub.name, "boot": boot, "seq": number} | fields).encode()
        self.send_line()

    def send_line(self) -> None:
        """The last message (again); its answers must be the oracle's, and so must every balance."""
        self.check_posted()
        self.answers = self.engine.take(self.sent)
        self.asked = False
        wanted = self.oracle.take(self.sent)
        if self.answers != wanted:
            raise WrongScenario(f"answered {self.answers}, and the oracle says {wanted}")
        for name, meter in self.oracle.meters.items():
            if meter.accounts != self.engine.accounts(name):
                raise WrongScenario(f"{name} holds {self.engine.accounts(name)}, and the oracle says {meter.accounts}")

    def check_posted(self) -> None:
        """The last message was posted, unless a line has said otherwise."""
        if not self.asked and any(answer["result"] != "posted" for answer in self.answers):
            raise WrongScenario(f"the message before was answered {self.answers}")
        self.asked = True

    def flush(self) -> None:
        """Send the hits collected so far as one message."""
        if self.hits:
            hits, self.hits = self.hits, []
            self.send({"type": "hits", "hits": hits})

    def spots(self, said: str | None) -> list[str]:
        """The named spots, or the table's first."""
        return said.split() if said else [str(self._table(self.table)["spot"][0]["id"])]

    def wager(self, spot: str) -> str:
        """The wager of a spot as written in its paytable."""
        found = next((each for each in self._table(self.table)["spot"] if each["id"] == spot), None)
        return str(self.floor[1][found["paytable"]]["wager"]) if found else "$1.00"

    def last(self, key: str) -> Any:
        """A field of the last message's own answer."""
        if not self.answers:
            raise WrongScenario("nothing was answered yet")
        self.check_posted()
        return self.answers[0].get(key)

    def balances(self, meter: str | None) -> dict[str, int]:
        """A meter's accounts in microcents."""
        names = list(self.engine.floor.meters)
        if meter is None and len(names) > 1:
            raise WrongScenario(f"which meter? {' '.join(names)}")
        return self.engine.accounts(meter or names[0])
