"""Random nights at a desk: messages, acts of many people, repeats, restarts; each step told to engine and oracle alike.

``Night`` chooses by a ``Random`` and looks at the oracle to know what is likely; it compares the engine's decisions and
balances with the oracle's after every step.
"""

import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from award_house import PeopleEngine, check_accounts, check_bounds, check_signatures, plan_of_night
from desk_house import ANNA, AT, BEN, CARL, DORA, FAY, IDA
from floors import CHOICES, named_floor, random_floor
from oracle import Round
from oracle_meter import money
from oracle_people import NotDone, PeopleOracle

from controller.acts import ActRefused
from controller.money import format_cents
from controller.people import Person
from controller.plan import FloorPlan

Json = dict[str, Any]
FLOOR_PEOPLE = (ANNA, BEN, CARL, IDA)
EVERYBODY = (ANNA, BEN, CARL, IDA, DORA, FAY, Person("jack", ANNA.role, "table-games"))
LINKED = ("progressive-1", "progressive-2", "progressive-4", "progressive-4", "progressive-6")


def linked_floor(rng: Random) -> tuple[Json, dict[str, Json]]:
    """Two linked tables on a shipped paytable with small seeds and any policies."""
    policies = {key: rng.choice(choices) for key, choices in CHOICES.items()}
    seed = rng.choice((50, 333, 100_000))
    policies["limit"] = rng.choice(("none", format_cents(seed + rng.choice((1, 100, 5_000)))))
    if policies["limit"] == "none":
        del policies["limit"]
    floor, paytables = named_floor(rng.choice(LINKED), policies | {"seed": format_cents(seed)})
    if rng.random() < 0.5:
        for meter in floor["meter"]:
            meter["base"] = format_cents(max(1, seed + rng.choice((-40, -1, 1))))
    return floor, paytables


def any_floor(rng: Random) -> tuple[Json, dict[str, Json]]:
    """A linked floor or a wholly random one; paytables without dates, no meter near the end of its account."""
    while True:
        floor, paytables = linked_floor(rng) if rng.random() < 0.5 else random_floor(rng)
        for paytable in paytables.values():
            paytable.pop("valid_from", None)
            paytable.pop("valid_to", None)
        if all(len(meter.get("base", "")) < 14 for meter in floor["meter"]):
            return floor, paytables


class Night:
    """Engine and oracle side by side."""

    def __init__(
        self, seed: int, *, linked: bool = False, engine: Callable[[FloorPlan, int], PeopleEngine] = PeopleEngine,
    ) -> None:
        self.rng = Random(seed)
        floor, paytables = linked_floor(self.rng) if linked else any_floor(self.rng)
        release = self.rng.choice((None, 1_000, 50_000))
        if not linked and self.rng.random() < 0.5:
            for table in floor["table"]:
                table["tray_limit"] = self.rng.choice(("$5.00", "$2,000.00"))
        if self.rng.random() < 0.5:
            for table in floor["table"]:
                table["hold_from"] = self.rng.choice(("$1.00", "$500.00"))
        awards = {"release_from": format_cents(release)} if release else {}
        self.oracle = PeopleOracle(floor, paytables, AT, release)
        self.engine = engine(plan_of_night(floor, paytables, **awards), AT)
        self.tables = {table.rules["id"]: (device, table) for device, table in self.oracle.tables.items()}
        self.boots = {table: ["b1"] for table in self.tables}
        self.seq, self.rounds = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self.latest = dict.fromkeys(self.tables, ("b1", 1))
        """By table: boot and number of its latest round."""
        self.sent: list[tuple[str, list[Person], Json, str]] = []
        self.log: list[Any] = []

    # ------------------------------------------------------------------ what may happen

    STEPS: tuple[tuple[int, str], ...] = (
        (14, "lock"), (14, "hits"), (4, "end"), (4, "count"), (12, "add"), (7, "change"), (8, "withdraw"),
        (4, "refuse"), (22, "verify"), (9, "release"), (16, "pay"), (7, "in_error"), (5, "wager"), (3, "close_count"),
        (4, "again"), (5, "envy"), (2, "turn"), (2, "slip"),
        (2, "restart"), (2, "forget"), (2, "reboot"),
    )

    def step(self) -> None:
        """One random step, and everything compared."""
        (name,) = self.rng.choices([name for _, name in self.STEPS], [weight for weight, _ in self.STEPS])
        self.do(name)

    def do(self, name: str) -> None:
        """One step of that kind, and everything compared."""
        getattr(self, name)()
        self.compare()

    def compare(self) -> None:
        """Balances are the oracle's; what must hold, holds."""
        for name, meter in self.oracle.meters.items():
            assert self.engine.accounts(name) == meter.accounts, f"{name} after {self.log[-1]}"
            assert self.engine.floor.meters[name].paid == self.oracle.paid[name] * 1_000_000
        check_accounts(self.engine)
        check_signatures(self.engine)
        for entry in self.engine.entries:
            for meter_id in {posting.meter for posting in entry.postings}:
                assert sum(each.microcents for each in entry.postings if each.meter == meter_id) == 0
        self.engine.entries.clear()

    def say(self, table: str, fields: Json, boot: str = "") -> None:
        """A message of a table, of its newest boot where nothing is said."""
        boot = boot or self.boots[table][-1]
        self.seq[table, boot] += 1
        message = {"v": 1, "device": self.tables[table][0], "boot": boot, "seq": self.seq[table, boot]} | fields
        self.log.append(message)
        line = json.dumps(message).encode()
        assert self.engine.take(line) == self.oracle.take(line), f"answers differ: {message}"

    def act(self, kind: str, people: list[Person], said: Json, act_id: str = "") -> bool:
        """An act, decided alike by both; whether it was done."""
        self.log.append((kind, [person.id for person in people], said))
        try:
            self.oracle.act(kind, [(person.id, person.role.value) for person in people],
                            said | ({"handed": cents(said["handed"])} if "handed" in said else {}))
            right = True
        except NotDone:
            right = False
        try:
            acted = self.engine.act(kind, people, said, act_id)
        except ActRefused as no:
            assert not right, f"refused against the text: {kind} {said}: {no}"
            return False
        assert right, f"done against the text: {kind} {said} by {[person.id for person in people]}"
        assert not acted.before, f"said to have been done before: {kind}"
        self.sent.append((kind, people, said, f"act-{self.engine.ids:06d}"))
        return True

    # ------------------------------------------------------------------ choices

    def table(self) -> str:
        return str(self.rng.choice(list(self.tables)))

    def round(self, likely: Callable[[Round], Any] = lambda _: True) -> tuple[str, int, Round] | None:
        """A game that has been, mostly a late one of the likely ones."""
        games = list(self.oracle.games)
        if self.rng.random() < 0.9:
            games = [key for key in games if likely(self.oracle.games[key])] or games
        if not games:
            return None
        table, game = self.rng.choice(games[-6:] if self.rng.random() < 0.8 else games)
        return table, game, self.oracle.games[table, game]

    def people(self, many: int, pool: tuple[Person, ...] = FLOOR_PEOPLE) -> list[Person]:
        """So many people, mostly the right ones."""
        pool = EVERYBODY if self.rng.random() < 0.06 else pool
        return self.rng.sample(pool, many) if self.rng.random() > 0.02 else self.rng.choices(pool, k=many)

    def place(self, likely: list[tuple[int, str]], table: str) -> tuple[int, str]:
        """A seat and spot, mostly a likely one."""
        spots = list(self.tables[table][1].spots)
        if likely and self.rng.random() < 0.93:
            return self.rng.choice(likely)
        return self.rng.randint(1, 7), self.rng.choice(spots)

    def outcome(self, table: str, spot: str) -> str:
        """A row, mostly one with a share."""
        rows = self.oracle.paytables[self.tables[table][1].spots[spot]["paytable"]]["prize"]
        shared = [row for row in rows if "share" in row]
        return str(self.rng.choice(shared if self.rng.random() < 0.75 else rows)["outcome"])

    def wager_cents(self, table: str, spot: str) -> int:
        """What a wager of a spot costs."""
        return int(money(self.oracle.paytables[self.tables[table][1].spots[spot]["paytable"]]["wager"]))

    # ------------------------------------------------------------------ messages

    def of_latest(self, table: str) -> Json:
        """How a message of the newest boot names the table's latest round."""
        boot, number = self.latest[table]
        return {"round": number} | ({} if boot == self.boots[table][-1] else {"round_boot": boot})

    def reboot(self) -> None:
        """The table unit starts anew; most nights it does so seldom."""
        if self.engine.knows_late_locks:
            table = self.table()
            self.boots[table].append(f"b{len(self.boots[table]) + 1}")

    def lock(self) -> None:
        """A lock-out, now and then one that the unit had kept over a start: it contributes and opens nothing."""
        table = self.table()
        boot = self.rng.choice(self.boots[table]) if self.rng.random() < 0.2 else self.boots[table][-1]
        number = self.rounds[table, boot] + 1
        _, spoken = self.tables[table]
        places = [(seat, spot) for seat in range(1, spoken.rules["seats"] + 1) for spot in spoken.spots]
        chosen = self.rng.sample(places, self.rng.randint(min(2, len(places)), min(5, len(places))))
        wagers = [{"seat": seat, "spot": spot, "cents": self.wager_cents(table, spot)} for seat, spot in chosen]
        before = spoken.open
        self.say(table, {"type": "lock", "round": number, "wagers": wagers}, boot)
        self.rounds[table, boot] = number
        if spoken.open is not before and spoken.open is not None:
            self.latest[table] = (boot, number)

    def hits(self) -> None:
        table = self.table()
        found = self.tables[table][1].open
        if found is None:
            return
        hits: dict[tuple[int, str], Json] = {}
        for _ in range(self.rng.choice((1, 1, 2))):
            place = self.place(list(found.wagers), table)
            outcome = found.hits.get(place) or self.outcome(table, place[1])
            alone = place in found.envy_only
            hits[place] = {"seat": place[0], "spot": place[1], "outcome": outcome, "envy_only": alone}
        self.say(table, {"type": "hits", "hits": list(hits.values())} | self.of_latest(table))

    def end(self) -> None:
        self.say(table := self.table(), self.of_latest(table) | {"type": "close"} | (
            {} if self.rng.random() < 0.6 else {"type": "void", "reason": "misdeal"}))

    def count(self) -> None:
        table = self.table()
        found = self.tables[table][1].open
        chips = len(found.wagers) if found and self.rng.random() < 0.5 else self.rng.randint(0, 8)
        self.say(table, {"type": "count", "chips": chips} | self.of_latest(table))

    # ------------------------------------------------------------------ acts

    def _on(self, kind: str, people: list[Person], likely: Callable[[Round], list[tuple[int, str]]],
            more: Callable[[str, int, tuple[int, str]], Json]) -> None:
        found = self.round(likely)
        if found is not None:
            table, game, played = found
            places = likely(played)
            if not places and self.rng.random() < 0.8:
                return
            seat, spot = self.place(places, table)
            self.act(kind, people, {"table": table, "game": game, "seat": seat, "spot": spot}
                     | more(table, game, (seat, spot)))

    def _awards(self, *states: str) -> Callable[[Round], list[tuple[int, str]]]:
        return lambda found: [
            place for place, award in self.oracle.told[found].awards.items() if award.state in states]

    def _open_wagers(self, found: Round) -> list[tuple[int, str]]:
        told = self.oracle.told[found]
        return [] if told.any_hit or told.agreed or told.void else list(found.wagers)

    def _missed(self, found: Round) -> list[tuple[int, str]]:
        """Places without a wager of a game whose wagers do not stand yet."""
        spots = {spot for _, spot in self._open_wagers(found)}
        return [(seat, spot) for spot in spots for seat in range(1, 7) if (seat, spot) not in found.wagers]

    def add(self) -> None:
        def more(table: str, game: int, place: tuple[int, str]) -> Json:
            alone = place not in self.oracle.games[table, game].wagers and self.rng.random() < 0.9
            return {"outcome": self.outcome(table, place[1]), "reason": "no keypad"} | (
                {"envy_only": True} if alone else {})

        def likely(found: Round) -> list[tuple[int, str]]:
            wrong = self._awards("in-error")(found)
            return [one for one in found.wagers if one not in found.hits or one in wrong]

        self._on("hit-added", self.people(2), likely, more)

    def change(self) -> None:
        self._on("hit-changed", self.people(2), lambda found: list(found.hits),
                 lambda table, _, place: {"outcome": self.outcome(table, place[1]), "reason": "read again"})

    def withdraw(self) -> None:
        self._on("hit-withdrawn", self.people(2), lambda found: list(found.hits), lambda *_: {"reason": "misread"})

    def refuse(self) -> None:
        self._on("award-refused", self.people(2), self._awards("pending", "verified", "released"),
                 lambda *_: {"reason": "another deck"})

    def verify(self) -> None:
        self._on("award-verified", self.people(1), self._awards("pending"), lambda *_: {})

    def release(self) -> None:
        self._on("award-released", self.people(1, (CARL, DORA, IDA)), self._awards("verified"), lambda *_: {})

    def pay(self) -> None:
        differs = self.rng.random() < 0.1

        def more(table: str, game: int, place: tuple[int, str]) -> Json:
            found = self.oracle.games[table, game]
            due = self.oracle.due(found, place) if place in found.hits else 100
            return {"handed": format_cents(due + differs), "how": "cash"} | ({"reason": "so"} if differs else {})

        people = self.people(1) + ([self.rng.choice((CARL, DORA, IDA))] if differs else [])
        self._on("award-paid", people, self._awards("verified", "released"), more)

    def in_error(self) -> None:
        self._on("paid-in-error", [*self.people(2), DORA], self._awards("paid"), lambda *_: {"reason": "wrong deck"})

    def wager(self) -> None:
        if self.rng.random() < 0.5:
            self._on("wager-added", self.people(2), self._missed, lambda *_: {"reason": "missed"})
        else:
            self._on("wager-removed", self.people(2), self._open_wagers, lambda *_: {"reason": "a glass"})

    def close_count(self) -> None:
        found = self.round(lambda played: self.oracle.told[played].chips not in (None, len(played.wagers)))
        if found is not None:
            table, game, played = found
            seat = self.rng.choice([seat for seat, _ in played.wagers] or [1])
            self.act("count-closed", self.people(2), {"table": table, "game": game, "seat": seat, "finding": "a chip"})

    def envy(self) -> None:
        """A line of envy, mostly one that is due."""
        kind = self.rng.choice(("envy-paid", "envy-paid", "envy-unclaimed"))
        found = self.round(self._envied)
        if found is None or not found[2].hits or not found[2].wagers:
            return
        table, game, played = found
        seat, spot = self.rng.choice(self._envied(played) or list(played.hits))
        if not self._envied(played) and self.rng.random() < 0.8:
            return
        due = list(self.oracle.envy_of(played, (seat, spot)))
        to = self.rng.choice(due if due and self.rng.random() < 0.9 else [one for one, _ in played.wagers])
        more = {"how": "chips"} if kind == "envy-paid" else {"reason": "the player left"}
        many = self.rng.choice((1, 2)) if kind == "envy-paid" else 1
        self.act(kind, self.people(many), {"table": table, "game": game, "seat": seat, "spot": spot, "to": to} | more)

    def _envied(self, found: Round) -> list[tuple[int, str]]:
        """Hands that earn others their envy, and are looked at already."""
        seen = [*self._awards("verified", "released", "paid")(found), *found.envy_only]
        return [place for place in seen if self.oracle.envy_of(found, place)]

    def turn(self) -> None:
        """A table is closed, or opened again."""
        table = self.table()
        self.act("table-opened" if table in self.oracle.closed else "table-closed", self.people(1), {"table": table})

    def slip(self) -> None:
        """A slip of an award: no money, one more step."""
        found = self.round(lambda played: self.oracle.told[played].awards)
        if found is not None and self.oracle.told[found[2]].awards:
            table, game, played = found
            seat, spot = self.rng.choice(list(self.oracle.told[played].awards))
            said = {"table": table, "game": game, "seat": seat, "spot": spot}
            self.log.append(("slip-printed", said))
            numbers = self.engine.act("slip-printed", [DORA], said).told
            assert numbers["copy"] >= 1

    def again(self) -> None:
        """A form that was sent before, by its id: the first answer, and nothing done (MO-06)."""
        if self.sent:
            kind, people, said, act_id = self.rng.choice(self.sent)
            self.log.append(("again", kind, act_id))
            assert self.engine.act(kind, people, said, act_id).before

    def restart(self) -> None:
        self.log.append("restart")
        self.engine.restart_and_compare()

    def forget(self) -> None:
        self.log.append("forget")
        self.engine.forget_games()

    def settle_down(self) -> None:
        """At the end: a start from the rows has the same books, and what is kept is bounded."""
        self.engine.restart_and_compare()
        check_bounds(self.engine)


def cents(text: str) -> int:
    """Cents of ``$1,234.56``."""
    return int(text.replace("$", "").replace(",", "").replace(".", ""))

