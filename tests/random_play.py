"""Random evenings at a random floor: lines mostly right, sometimes wrong, late, doubled, ahead, or from an older boot.

It looks at the oracle to know which round is open, and at nothing of the product.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from oracle import Oracle, Table
from oracle_meter import money

Json = dict[str, Any]

GARBAGE = (
    b"not json", b"", b"   ", b"[]", b"null", b"\xff\xfe\x00", b'{"v":1}', b'{"v":1,"v":1}', b"\xef\xbb\xbf{}",
    b'{"type":"hello"}', b'{"type":"heartbeat","v":1,"v":2}', b'{"a":{"b":1,"b":1}}', b"{'v':1}", b"NaN",
    b'{"v":true,"type":"lock","device":"hub-1","boot":"x","seq":1}', b'{"v":1,"device":"hub-1","boot":"x","seq":1.0}',
    b'{"v":1,"device":"hub-1","boot":"x","seq":0}', b'{"v":1,"device":"hub-9","boot":"x","seq":1}',
    b'{"v":1,"device":"hub-1","boot":"","seq":1}', b'{"v":1,"device":"hub-1","boot":"a b","seq":1}',
    b'{"v":1,"device":"hub-1","boot":"x","seq":4294967296}', b'{"v":2,"device":"hub-1","boot":"x","seq":1}',
    b'{"v":1,"device":"hub-9","boot":"x","seq":1,"seq":1}', b'{"v":1,"device":null,"boot":"x","seq":1}',
)
"""Lines that are no numbered message of a known device."""

SPOILS: tuple[tuple[str, Any], ...] = (
    ("type", "jackpot"), ("type", None), ("type", []), ("round", "1"), ("round", 0), ("round", 1.0), ("round", True),
    ("round", 2**32), ("wagers", None), ("hits", []), ("chips", -1), ("chips", 10_001), ("kind", "bell"),
    ("reason", ""), ("reason", "a\nb"), ("reason", "x" * 201), ("round_boot", None), ("round_boot", ""),
    ("wagers", [{"seat": 256, "spot": "a", "cents": 1}]), ("wagers", [{"seat": 1, "spot": "", "cents": 1}]),
    ("wagers", [{"seat": 1, "spot": "a"}]), ("hits", [{"seat": 1, "spot": "a", "outcome": "b", "envy_only": None}]),
    ("hits", [{"seat": 1, "spot": "a", "outcome": "b", "envy_only": 1}]), ("hits", [1]), ("seat", None), ("spot", 7),
)
"""A field and what makes it wrong where the message has it; elsewhere it is an unknown field."""

DAMAGE = (b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b" ", b"-", b".", b"0", b"9", b"e", b"\t", b"\x00", b"\xc3",
          b'"round":1,', b'"x":{"a":1,"a":2},', b"null", b"true", b"NaN")


@dataclass
class Hub:
    """One device as it thinks of itself: its boots, the next number of each, and what it has sent or still owes."""

    name: str
    boots: list[str] = field(default_factory=list)
    seq: dict[str, int] = field(default_factory=dict)
    round: dict[str, int] = field(default_factory=dict)
    sent: list[Json] = field(default_factory=list)
    owed: list[Json] = field(default_factory=list)

    def start(self) -> str:
        """A new boot."""
        boot = f"b{len(self.boots) + 1}"
        self.boots.append(boot)
        self.seq[boot], self.round[boot] = 1, 0
        return boot


class Evening:
    """A source of lines for one floor; ``wrong`` is the chance (0 to 1) that a message is spoilt on purpose."""

    def __init__(self, rng: Random, oracle: Oracle, wrong: float) -> None:
        self.rng, self.oracle, self.wrong = rng, oracle, wrong
        self.intact: list[bytes] = []
        """The last line as it should have been, after a damaged copy of it."""
        self.hubs = [Hub(device) for device in oracle.tables]
        for hub in self.hubs:
            hub.start()

    def line(self) -> bytes:
        """The next line."""
        if self.rng.random() < self.wrong / 4:
            return self.rng.choice(GARBAGE)
        if self.intact:
            return self.intact.pop()
        line = json.dumps(self._message()).encode()
        if self.rng.random() < self.wrong / 3 and b'"hello"' not in line:
            self.intact.append(line)
            return self._damaged(line)
        return line

    def _damaged(self, line: bytes) -> bytes:
        """A byte lost, a byte more, a byte changed, or a piece twice."""
        start = self.rng.randrange(len(line))
        end = min(len(line), start + self.rng.choice((1, 1, 2, 9, 30)))
        more = self.rng.choice(DAMAGE)
        return self.rng.choice((
            line[:start] + line[end:], line[:start] + more + line[start:], line[:start] + more + line[end:],
            line[:end] + line[start:],
        ))

    def _message(self) -> Json:
        hub = self.rng.choice(self.hubs)
        chance = self.rng.random()
        if hub.owed and chance < 0.5:
            return self._sent(hub, hub.owed.pop(self.rng.randrange(len(hub.owed))))
        if hub.sent and 0.5 < chance < 0.5 + self.wrong / 6:
            return self._again(self.rng.choice(hub.sent))
        if chance > 0.985:
            boot = hub.start()
            if self.rng.random() < 0.5:
                return {"v": 1, "type": "hello", "device": hub.name, "boot": boot, "firmware": "1", "reset_cause": "x",
                        "seats": 7, "kept": []}
        made = self._new(hub)
        if 0.97 < chance < 0.985 and len(hub.owed) < 70:
            hub.owed.append(made)
            made = self._new(hub, made["boot"])
        return self._sent(hub, made)

    @staticmethod
    def _sent(hub: Hub, made: Json) -> Json:
        hub.sent.append(made)
        return made

    def _again(self, old: Json) -> Json:
        """The same number once more: equal, equal but for a field nobody reads, or other content."""
        way = self.rng.random()
        if way < 0.5:
            return old
        return old | ({"extra": 1} if way < 0.7 else {"round": 77})

    def _new(self, hub: Hub, boot: str = "") -> Json:
        boot = boot or (hub.boots[-1] if self.rng.random() < 0.9 else self.rng.choice(hub.boots))
        table = self.oracle.tables[hub.name]
        kinds: list[tuple[int, Callable[[Hub, str, Table], Json]]] = [
            (22, self._lock), (44, self._hits), (4, self._close), (4, self._void), (4, self._count), (2, self._notice),
        ]
        (make,) = self.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        made = {"v": 1, "device": hub.name, "boot": boot, "seq": hub.seq[boot]} | make(hub, boot, table)
        hub.seq[boot] += 1
        if self.rng.random() < self.wrong / 2:
            name, spoilt = self.rng.choice(SPOILS)
            made[name] = spoilt
        if self.rng.random() < self.wrong / 8:
            made.pop(self.rng.choice([name for name in made if name not in ("v", "device", "boot", "seq")]))
        return made

    def _lock(self, hub: Hub, boot: str, table: Table) -> Json:
        newest = max(hub.round[boot], table.boots[boot].newest if boot in table.boots else 0)
        hub.round[boot] = max(1, newest + (self.rng.choice((0, -1)) if self._slip() else self.rng.choice((1, 1, 3))))
        places = [(seat, spot) for seat in range(1, table.rules["seats"] + 1) for spot in table.spots]
        chosen = self.rng.sample(places, self.rng.randint(min(2, len(places)), len(places)))
        wagers = [{"seat": seat, "spot": spot, "cents": self._wager(table, spot)} for seat, spot in chosen]
        if self._slip():
            wagers.append(self.rng.choice(wagers) | self.rng.choice(({}, {"seat": 0}, {"seat": 99}, {"spot": "x"})))
        if self._slip():
            self.rng.choice(wagers)["cents"] = self.rng.choice((0, 1, 100, 500))
        return {"type": "lock", "round": hub.round[boot], "wagers": wagers if self.rng.random() > 0.03 else []}

    def _wager(self, table: Table, spot: str) -> int:
        return int(money(self.oracle.paytables[table.spots[spot]["paytable"]]["wager"]))

    def _hits(self, hub: Hub, boot: str, table: Table) -> Json:
        hits = [self._hit(table) for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3)))]
        if table.open and table.open.hits and self.rng.random() < 0.3:
            (seat, spot), outcome = self.rng.choice(list(table.open.hits.items()))
            hits.append({"seat": seat, "spot": spot, "outcome": outcome})
        if not self._slip():
            hits = list({(hit["seat"], hit["spot"]): hit for hit in hits}.values())
        return {"type": "hits", "hits": hits} | self._of_open_round(boot, table)

    def _hit(self, table: Table) -> Json:
        """A hit of a seat that wagered in the open round, as a rule."""
        places = list(table.open.wagers) if table.open and table.open.wagers else [(1, next(iter(table.spots)))]
        fresh = [place for place in places if table.open and place not in table.open.hits]
        seat, spot = self.rng.choice(places if not fresh or self._slip() else fresh)
        if self._slip() or self.rng.random() < 0.05:
            seat = self.rng.randint(0, 8)
        if self._slip():
            spot = self.rng.choice((*table.spots, "x"))
        paytable = table.spots.get(spot, table.spots[next(iter(table.spots))])["paytable"]
        rows = self.oracle.paytables[paytable]["prize"]
        hit = {"seat": seat, "spot": spot, "outcome": self.rng.choice(rows)["outcome"]}
        if self._slip():
            hit["outcome"] = "no-such-row"
        if (table.open and (seat, spot) not in table.open.wagers) or self._slip():
            hit["envy_only"] = self.rng.random() < 0.9
        return hit

    def _of_open_round(self, boot: str, table: Table) -> Json:
        """The number of the open round, and its boot when that is another one."""
        for name, other in table.boots.items():
            for number, found in other.rounds.items():
                if found is table.open and not self._slip():
                    return {"round": number} | ({"round_boot": name} if name != boot or self._slip() else {})
        elsewhere = {"round_boot": f"b{self.rng.randint(1, 3)}"} if self._slip() else {}
        return {"round": self.rng.randint(1, 4)} | elsewhere

    def _close(self, hub: Hub, boot: str, table: Table) -> Json:
        return {"type": "close"} | self._of_open_round(boot, table)

    def _void(self, hub: Hub, boot: str, table: Table) -> Json:
        return {"type": "void", "reason": "misdeal"} | self._of_open_round(boot, table)

    def _count(self, hub: Hub, boot: str, table: Table) -> Json:
        chips = len(table.open.wagers) if table.open and self.rng.random() < 0.7 else self.rng.randint(0, 9)
        return {"type": "count", "chips": chips} | self._of_open_round(boot, table)

    def _notice(self, hub: Hub, boot: str, table: Table) -> Json:
        named = {"round": 1, "seat": self.rng.randint(0, 255), "spot": "anything"}
        kept = {name: said for name, said in named.items() if self.rng.random() < 0.5}
        return {"type": "notice", "kind": self.rng.choice(("late-bet", "door-open"))} | kept

    def _slip(self) -> bool:
        return self.rng.random() < self.wrong / 6
