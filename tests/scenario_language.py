"""The scenario files' small language: a game told line by line, run against the engine through the same JSON messages.

    floor: NAME, KEY VALUE, ...          a fresh floor: a shipped paytable (``a+b``: two spots), keys of [[meter]]
                                         (and seed, rates and ``today``); two linked tables, PG-01 and PG-02
    table PG-01 has 7 seats, paid 7 6 5 4 3 2 1, envy wagering-player
                                         before its first message; else 6 seats, paid in their order, any-player
    table PG-01: ACTION                  that table from here on; ``table PG-01 number 3: ...`` gives the message's
                                         number, ``table PG-01 old boot: ...`` sends it from before the last restart
    ACTION                               of the same table
        seats 1 2 3 wager [$5.00] [on SPOT ...] [; seat 4 wagers ...] [in 20 games]
        nobody wagers | closes | voids | counts 4 chips | restarts | reports door-open | sends it again
        seat 1 hits OUTCOME [on SPOT] [in the game of number 1]
        seat 5 holds OUTCOME [on SPOT]   without a wager: envy only
        later seat 2 hits OUTCOME        hits in lines that follow one another are one message; ``later`` begins the next
    posted | held | duplicate | refused: REASON | fault: REASON [| posted ...]
                                         what the message is answered (several: its own answer, then the held ones');
                                         ``posted`` where nothing is said
    award seat 2: $1,000.02 from the meter, $5,000.00 fixed, $5.00 wager returned
    envy seat 1: $750.00                 all awards in pay order, all envy by seat, as they now stand
    no award | no envy | apart: METER ... | accepted 4 | accepted 4, difference -1
    meter [NAME] shows $10,000.00, reserve $0.00, overflow $0.00, pending $10.00, house $10,000.00
                                         exact, with more decimals where a fraction of a cent is left; any of them

Every answer and balance is also compared with the oracle's. An error names file and line.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from engine import Engine
from floors import named_floor, plan_of
from oracle import Oracle
from oracle_meter import MICROCENTS, money

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


def _has(house: House, table: str, seats: str, paid: str | None, envy: str | None, decks: str | None) -> None:
    keys: Json = {"seats": int(seats)}
    if paid:
        keys["pay_order"] = [int(seat) for seat in paid.split()]
    if envy:
        keys["envy_hand"] = envy
    if decks:
        keys["decks"] = int(decks)
    house.change_table(table, keys)


_WAGER = re.compile(r"seats? ([\d ]+?) wagers?(?: (\$\S+))?(?: on ([\w -]+))?")


def _wager(house: House, said: str, games: str | None) -> None:
    for _ in range(int(games or 1)):
        wagers = []
        for group in said.split("; "):
            if not (match := _WAGER.fullmatch(group)):
                raise WrongScenario(f"no wager: {group}")
            seats, each, spots = match.groups()
            wagers += [
                {"seat": int(seat), "spot": spot, "cents": int(money(each or house.wager(spot)))}
                for seat in seats.split() for spot in house.spots(spots)
            ]
        house.send({"type": "lock", "wagers": wagers})


def _hit(
    house: House, later: str | None, seat: str, way: str, outcome: str, spot: str | None, game: str | None
) -> None:
    if later:
        house.flush()
    hit: Json = {"seat": int(seat), "spot": house.spots(spot)[0], "outcome": outcome}
    house.hits.append(hit | ({"envy_only": True} if way == "holds" else {}))
    if game:
        house.hits_game = (house.hub().boots[-2 if house.old_boot else -1], int(game))


def _restart(house: House) -> None:
    hub = house.hub()
    hub.boots.append(f"boot-{len(hub.boots) + 1}")


def _result(house: House, said: str) -> None:
    got = " | ".join(
        answer["result"] + (f": {answer['reason']}" if "reason" in answer else "") for answer in house.answers
    )
    house.asked = True
    if got != said:
        raise WrongScenario(f"answered {got}")


def _awards(house: House, lines: list[re.Match[str]]) -> None:
    got = []
    for award in house.last("awards") or []:
        meters = award["meters"]
        parts = [f"{shown(cents * MICROCENTS)} from {'the meter' if len(meters) == 1 else part}"
                 for part, cents in sorted(meters.items())]
        parts += [f"{shown(award['fixed'] * MICROCENTS)} fixed"] if award["fixed"] else []
        parts += [f"{shown(award['returned'] * MICROCENTS)} wager returned"] if award["returned"] else []
        got.append(f"award seat {award['seat']}: {', '.join(parts)}")
    wanted = [line[0] for line in lines]
    if got != wanted:
        raise WrongScenario("the awards are\n    " + "\n    ".join(got or ["no award"]))


def _envy(house: House, lines: list[re.Match[str]]) -> None:
    got = [f"envy seat {due['seat']}: {shown(due['cents'] * MICROCENTS)}" for due in house.last("envy") or []]
    if got != [line[0] for line in lines]:
        raise WrongScenario("the envy is\n    " + "\n    ".join(got or ["no envy"]))


def _accepted(house: House, accepted: str, difference: str | None) -> None:
    got = (house.last("accepted"), house.last("difference"))
    if got != (int(accepted), int(difference) if difference else None):
        raise WrongScenario(f"accepted and difference are {got}")


def _apart(house: House, meters: str) -> None:
    if house.last("apart") != meters.split():
        raise WrongScenario(f"apart is {house.last('apart')}")


def _shows(house: House, meter: str | None, said: str) -> None:
    house.check_posted()
    balances = house.balances(meter)
    for part in f"display {said}".split(", "):
        account, amount = part.split(" ", 1)
        if account not in balances:
            raise WrongScenario(f"no account {account}; there are {' '.join(balances)}")
        if balances[account] != money(amount) * MICROCENTS:
            raise WrongScenario(f"{account} is {shown(balances[account])}")


def shown(microcents: int) -> str:
    """Dollars with two decimals, and more where a fraction of a cent is left."""
    whole, rest = divmod(microcents, 100 * MICROCENTS)
    return f"${whole:,}.{str(rest).zfill(8)[:2]}{str(rest).zfill(8)[2:].rstrip('0')}"


_ACTION: list[tuple[str, Callable[..., None]]] = [
    (r"(seats? [\d ]+ wagers?.*?)(?: in (\d+) games)?", _wager),
    (r"nobody wagers", lambda house: house.send({"type": "lock", "wagers": []})),
    (r"closes", lambda house: house.send({"type": "close"})),
    (r"voids", lambda house: house.send({"type": "void", "reason": "misdeal"})),
    (r"counts (\d+) chips", lambda house, chips: house.send({"type": "count", "chips": int(chips)})),
    (r"reports ([a-z-]+)", lambda house, kind: house.send({"type": "notice", "kind": kind})),
    (r"restarts", _restart),
    (r"sends it again", lambda house: house.send_line()),
]
_HIT = r"(later )?seat (\d+) (hits|holds) (\S+)(?: on (\S+))?(?: in the game of number (\d+))?"
_CHECK: list[tuple[str, Callable[..., None]]] = [
    (r"table (\S+) has (\d+) seats(?:, paid ([\d ]+))?(?:, envy (\S+))?(?:, (\d+) decks)?", _has),
    (r"((?:posted|held|duplicate|(?:refused|fault): [a-z-]+)(?: \| posted| \| refused: [a-z-]+)*)", _result),
    (r"no award", lambda house: _awards(house, [])),
    (r"no envy", lambda house: _envy(house, [])),
    (r"accepted (\d+)(?:, difference (-?\d+))?", _accepted),
    (r"apart: (.+)", _apart),
    (r"meter (?:(\S+) )?shows (.+)", _shows),
]
_LISTS = [(r"award seat \d+: .+", _awards), (r"envy seat \d+: .+", _envy)]


def run(path: Path) -> int:
    """Run a scenario file; the number of floors in it. Raises WrongScenario, naming file and line."""
    lines = [(number, line.split("#")[0].strip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
    told = [(number, line) for number, line in lines if line]
    house: House | None = None
    floors = place = 0
    while place < len(told):
        number, line = told[place]
        try:
            if line.startswith("floor: "):
                finish(house)
                house, floors, place = House(line.removeprefix("floor: ")), floors + 1, place + 1
            elif house is None:
                raise WrongScenario("a scenario begins with a floor")
            else:
                place += _line(house, [line for _, line in told[place:]])
            if place == len(told):
                finish(house)
        except (WrongScenario, FileNotFoundError) as wrong:
            raise WrongScenario(f"{path.name}, line {number}: {line}\n  {wrong}") from wrong
    return floors


def finish(house: House | None) -> None:
    """Send what is left, and look at the last answer."""
    if house is not None:
        house.flush()
        house.check_posted()


def _line(house: House, lines: list[str]) -> int:
    """Do the first of ``lines``, or the first few that belong together; how many were used."""
    line = lines[0]
    if spoken := re.fullmatch(r"table (\S+?)( old boot)?(?: number (\d+))?: (.+)", line):
        house.flush()
        house.table, house.old_boot = spoken[1], bool(spoken[2])
        house.number = int(spoken[3]) if spoken[3] else None
        line = spoken[4]
    if hit := re.fullmatch(_HIT, line):
        _hit(house, *hit.groups())
        return 1
    house.flush()
    for pattern, check in _LISTS:
        found = [re.fullmatch(pattern, each) for each in lines]
        count = next((n for n, match in enumerate(found) if match is None), len(found))
        if count:
            check(house, [match for match in found[:count] if match])
            return count
    for pattern, act in [*_ACTION, *_CHECK]:
        if match := re.fullmatch(pattern, line):
            act(house, *match.groups())
            return 1
    raise WrongScenario("this line says nothing known")
