"""A second opinion: every answer and balance, worked out again from the written rules and from nothing of the product.

Sources: design sections 3, 4 and 7, and the contract's list of answers. It takes the floor and paytables as the plain
tables of their TOML files, and messages as the lines of a file. Money here is a ``Fraction`` of cents, so that no
integer trick of the engine is repeated. It favours the obvious over the fast, and knows no entries and no ledger.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from oracle_lines import Json, Line, read_line
from oracle_meter import Balances, Kept, Meter, Shares, SpotOfSeat, fixed_part, gaming_day, money, rate, rate_at

HELD_MAX = 64
ACCOUNT_MAX = Fraction(900_000_000_000)
ENVY_WAGER_MIN = 500


@dataclass(eq=False)
class Round:
    """One posted lock: its wagers in cents by seat and spot, its standing hits, and what they are awarded."""

    wagers: dict[SpotOfSeat, int]
    contributed: dict[str, Fraction]
    """By meter, reserve included."""
    hits: dict[SpotOfSeat, str] = field(default_factory=dict)
    envy_only: set[SpotOfSeat] = field(default_factory=set)
    shares: dict[SpotOfSeat, dict[str, int]] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)


@dataclass
class Boot:
    """One start of a device: when it was first heard, its numbers, and its rounds."""

    heard: int
    next: int = 1
    done: dict[int, Any] = field(default_factory=dict)
    held: dict[int, Line] = field(default_factory=dict)
    newest: int = 0
    rounds: dict[int, Round] = field(default_factory=dict)


@dataclass
class Table:
    """One table: the table of its TOML, its boots, and the round that is open."""

    rules: Json
    spots: dict[str, Json]
    boots: dict[str, Boot] = field(default_factory=dict)
    open: Round | None = None
    latest: Boot | None = None
    """The boot of the round opened last."""

    def pay_rank(self, hit: SpotOfSeat) -> tuple[int, int]:
        """The dealer's order of paying: by seat, then by the order of the table's spots."""
        return self.rules["pay_order"].index(hit[0]), list(self.spots).index(hit[1])


class Refusal(Exception):
    """The reason of a refusal."""


class Oracle:
    """A fresh floor that answers lines in turn; ``at`` is the time in UTC microseconds."""

    def __init__(self, floor: Json, paytables: dict[str, Json], at: int = 0) -> None:
        self.paytables = paytables
        self.meters: dict[str, Meter] = {}
        for rules in floor["meter"]:
            paytable = paytables[rules["paytable"]]
            seed = self._seed(paytable, paytable["meter"][rules["part"]]["seed"])
            base = money(rules["base"]) if "base" in rules else seed
            self.meters[rules["id"]] = Meter(rules, seed, Balances(base, house=base))
        self.tables = {
            rules["device"]: Table(rules, {spot["id"]: spot for spot in rules["spot"]}) for rules in floor["table"]
        }
        self.today = gaming_day(floor["site"], at)
        self.lines = 0
        self._heard = 0

    @staticmethod
    def _seed(paytable: Json, text: str) -> Fraction:
        return Fraction(text.split(" x ", 1)[0]) * money(paytable["wager"]) if " x " in text else money(text)

    def take(self, raw: bytes) -> list[Json]:
        """The answers to one line of a file: none, its own, or its own and those of messages that were held."""
        self.lines += 1
        line = read_line(raw, self.lines, set(self.tables))
        if line.answer is not None:
            return [line.answer]
        if line.device not in self.tables:
            return []
        table = self.tables[line.device]
        boot = table.boots.get(line.boot)
        if boot is None:
            self._heard += 1
            boot = table.boots[line.boot] = Boot(self._heard)
        if line.seq is None:
            return []
        return self._in_sequence(table, boot, line)

    def _in_sequence(self, table: Table, boot: Boot, line: Line) -> list[Json]:
        """Contract, answers 2: duplicate, fault, held, too-far-ahead; else the message and those it frees."""
        assert line.seq is not None
        known = boot.done.get(line.seq)
        if line.seq in boot.held:
            known = boot.held[line.seq].content
        if known is not None and known != line.content:
            return [line.key | {"result": "fault", "reason": "content-differs"}]
        if line.seq < boot.next:
            return [line.key | {"result": "duplicate"}]
        if line.seq > boot.next:
            if line.seq not in boot.held and len(boot.held) == HELD_MAX:
                return [line.key | {"result": "refused", "reason": "too-far-ahead", "meters": {}}]
            boot.held[line.seq] = line
            return [line.key | {"result": "held"}]
        answers = [self._in_turn(table, boot, line)]
        while boot.next in boot.held:
            answers.append(self._in_turn(table, boot, boot.held.pop(boot.next)))
        return answers

    def _in_turn(self, table: Table, boot: Boot, line: Line) -> Json:
        boot.done[boot.next] = line.content
        boot.next += 1
        before = {name: meter.now.shown() for name, meter in self.meters.items()}
        try:
            more = self._post(table, boot, line)
        except Refusal as refusal:
            return line.key | {"result": "refused", "reason": str(refusal), "meters": {}}
        changed = {n: m.now.shown() for n, m in self.meters.items() if m.now.shown() != before[n]}
        return line.key | {"result": "posted", "meters": changed} | more

    def _post(self, table: Table, boot: Boot, line: Line) -> Json:
        """Apply one message or raise Refusal; the answer's fields beyond ``meters``."""
        if line.malformed:
            raise Refusal("malformed")
        said = line.fields
        kind = said["type"]
        if kind == "notice":
            return {}
        if kind == "lock":
            self._lock(table, boot, said)
            return {}
        spoken = table.boots.get(said["round_boot"])
        if spoken is None or said["round"] > spoken.newest:
            raise Refusal("no-such-round")
        found = spoken.rounds.get(said["round"])
        if found is None or found is not table.open:
            raise Refusal("round-closed")
        if kind == "hits":
            return self._hits(table, found, said["hits"])
        if kind == "count":
            accepted = len(found.wagers)
            difference = said["chips"] - accepted
            return {"accepted": accepted} | ({"difference": difference} if difference else {})
        if kind == "void":
            if found.hits:
                raise Refusal("round-has-awards")
            for name, cents in found.contributed.items():
                self.meters[name].voided += cents
        table.open = None
        return {}

    def _lock(self, table: Table, boot: Boot, said: Json) -> None:
        if said["round"] <= boot.newest:
            raise Refusal("round-not-newer")
        wagers: dict[SpotOfSeat, int] = {}
        for wager in said["wagers"]:
            hit = (wager["seat"], wager["spot"])
            self._check_seat_and_spot(table, wager)
            paytable = self.paytables[table.spots[wager["spot"]]["paytable"]]
            if hit in wagers:
                raise Refusal("duplicate-wager")
            if not str(paytable.get("valid_from", "")) <= self.today <= str(paytable.get("valid_to", "9999-12-31")):
                raise Refusal("paytable-not-valid")
            if wager["cents"] != money(paytable["wager"]):
                raise Refusal("wrong-wager")
            wagers[hit] = wager["cents"]
        contributed = self._contribute(table, wagers)
        boot.newest = said["round"]
        made = boot.rounds[said["round"]] = Round(wagers, contributed)
        if table.latest is None or boot.heard >= table.latest.heard:
            table.open, table.latest = made, boot

    def _contribute(self, table: Table, wagers: dict[SpotOfSeat, int]) -> dict[str, Fraction]:
        """What all wagers of one lock add to each meter; refused as a whole (R-04)."""
        whole = dict.fromkeys(self.meters, Fraction(0))
        reserve = dict.fromkeys(self.meters, Fraction(0))
        for (_, spot), cents in wagers.items():
            paytable = self.paytables[table.spots[spot]["paytable"]]
            for part, name in table.spots[spot]["meters"].items():
                figures = paytable["meter"][part]
                whole[name] += cents * rate_at(figures["rate_of_progression"], table.rules.get("decks"))
                reserve[name] += cents * rate(figures["reserve_rate"])
        for name, meter in self.meters.items():
            if whole[name] + reserve[name] > money(meter.rules["unreasonable_contribution"]):
                raise Refusal("unreasonable-contribution")
        after = {n: m.contribute(m.now, whole[n], reserve[n]) for n, m in self.meters.items()}
        if any(max(each.display, each.reserve, each.overflow) > ACCOUNT_MAX for each in after.values()):
            raise Refusal("account-full")
        for name, meter in self.meters.items():
            meter.now = after[name]
            meter.contributed += whole[name]
            meter.contributed_reserve += reserve[name]
        return {name: whole[name] + reserve[name] for name in self.meters}

    @staticmethod
    def _check_seat_and_spot(table: Table, said: Json) -> None:
        if not 1 <= said["seat"] <= table.rules["seats"]:
            raise Refusal("unknown-seat")
        if said["spot"] not in table.spots:
            raise Refusal("unknown-spot")

    def _hits(self, table: Table, found: Round, said: list[Json]) -> Json:
        named: set[SpotOfSeat] = set()
        for hit in said:
            self._check_hit(table, found, hit, named)
            named.add((hit["seat"], hit["spot"]))
        fresh = [hit for hit in said if (hit["seat"], hit["spot"]) not in found.hits]
        for hit in fresh:
            found.hits[hit["seat"], hit["spot"]] = hit["outcome"]
            found.shares[hit["seat"], hit["spot"]] = {}
            if hit["envy_only"]:
                found.envy_only.add((hit["seat"], hit["spot"]))
        new = {(hit["seat"], hit["spot"]) for hit in fresh}
        apart = [name for name in self.meters if self._settle(table, found, name, new)]
        answer = {"awards": self._awards(table, found), "envy": self._envy(table, found)}
        return answer | ({"apart": apart} if apart else {})

    def _check_hit(self, table: Table, found: Round, hit: Json, named: set[SpotOfSeat]) -> None:
        self._check_seat_and_spot(table, hit)
        place = (hit["seat"], hit["spot"])
        if hit["envy_only"]:
            if table.rules.get("envy_hand") != "any-player":
                raise Refusal("envy-only-refused")
            if place in found.wagers:
                raise Refusal("seat-has-wager")
        elif place not in found.wagers:
            raise Refusal("seat-without-wager")
        if hit["outcome"] not in self._prizes(table, hit["spot"]):
            raise Refusal("unknown-outcome")
        if place in named or found.hits.get(place, hit["outcome"]) != hit["outcome"]:
            raise Refusal("already-hit")

    def _prizes(self, table: Table, spot: str) -> dict[str, Json]:
        paytable = self.paytables[table.spots[spot]["paytable"]]
        return {prize["outcome"]: prize for prize in paytable["prize"]}

    def _settle(self, table: Table, found: Round, name: str, new: set[SpotOfSeat]) -> bool:
        """Settle one meter for a ``hits`` message; True if the new hits had to be settled apart."""
        sharing = self._sharing(table, found, name)
        fresh = [hit for hit in sharing if hit[0] in new]
        if not fresh:
            return False
        meter = self.meters[name]
        kept = found.kept.setdefault(
            name, Kept(meter.now, meter.contributed, meter.contributed_reserve, len(meter.takers))
        )
        apart = any(taker is not found for taker in meter.takers[kept.takings :])
        if apart:
            meter.now, awards = meter.settle(meter.now, fresh)
        else:
            settled, awards = meter.settle(kept.balances, sharing)
            meter.now = meter.contribute(
                settled,
                meter.contributed - kept.contributed,
                meter.contributed_reserve - kept.contributed_reserve,
            )
        meter.takers.append(found)
        for hit, cents in awards.items():
            found.shares[hit][self._part(table, hit[1], name)] = cents
        return apart

    def _sharing(self, table: Table, found: Round, name: str) -> Shares:
        """Standing hits with a share of the meter, in pay order."""
        sharing = []
        for hit in sorted(found.hits, key=table.pay_rank):
            shares = self._prizes(table, hit[1])[found.hits[hit]].get("share", {})
            for part, share in shares.items():
                if hit not in found.envy_only and table.spots[hit[1]]["meters"][part] == name:
                    sharing.append((hit, rate(share)))
        return sharing

    @staticmethod
    def _part(table: Table, spot: str, name: str) -> str:
        return next(str(part) for part, meter in table.spots[spot]["meters"].items() if meter == name)

    def _awards(self, table: Table, found: Round) -> list[Json]:
        awards = []
        for seat, spot in sorted(found.hits, key=table.pay_rank):
            if (seat, spot) in found.envy_only:
                continue
            paytable = self.paytables[table.spots[spot]["paytable"]]
            prize = self._prizes(table, spot)[found.hits[seat, spot]]
            fixed, returned = fixed_part(paytable, prize)
            awards.append({
                "seat": seat, "spot": spot, "outcome": prize["outcome"],
                "meters": found.shares[seat, spot], "fixed": fixed, "returned": returned,
            })
        return [award | {"meters": dict(award["meters"])} for award in awards]

    def _envy(self, table: Table, found: Round) -> list[Json]:
        due: dict[int, int] = {}
        for (seat, spot), outcome in found.hits.items():
            bonus = int(money(self._prizes(table, spot)[outcome].get("envy", "$0.00")))
            for (other, other_spot), cents in found.wagers.items():
                if bonus and other != seat and other_spot == spot and cents >= ENVY_WAGER_MIN:
                    due[other] = due.get(other, 0) + bonus
        return [{"seat": seat, "cents": due[seat]} for seat in sorted(due)]
