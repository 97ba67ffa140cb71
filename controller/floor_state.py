"""What the books know of meters, tables and units, and its form in the ledger's state rows. Pure.

Every field changes only through an entry, so a state row is a derived, checkable copy that makes a start quick.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controller.meter import Amounts, Coming
from controller.plan import BelowSeed, MeterPlan, Overflow, ReserveSurplus, TablePlan
from firmware_bridge.messages import Hit, Malformed, Numbered, content, from_content

canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""The one written form of a JSON value in the ledger."""

ACCOUNTS = ("display", "reserve", "overflow", "pending", "players", "paid", "house")
"""The accounts of a meter; the last three stand outside it. All seven sum to zero, always (design section 3)."""


class StateRow(NamedTuple):
    """One row of derived state: what kind of thing, which one, the entry as of which it stands, its JSON."""

    kind: str
    key: str
    number: int
    body: str


@dataclass(slots=True)
class RowCount:
    """A prize row's counters: hits, and cents won from the meter, fixed, returned and in envy."""

    hits: int = 0
    won: int = 0
    fixed: int = 0
    returned: int = 0
    envy: int = 0


@dataclass(slots=True)
class Kept:
    """A meter as a round's first hit with a share of it found it, and what was contributed since (microcents).

    ``apart``: another round has taken from the meter since, so the rest of the round is settled apart, for good.
    ``closed``: the round is closed; a late hit is still settled from here, until somebody else takes from the meter.
    """

    amounts: Amounts
    house: int = 0
    since_rate: int = 0
    since_reserve: int = 0
    apart: bool = False
    closed: bool = False
    coming: Coming | None = None
    """The keys by which the round's 100% award has begun the next meter; settled again, it begins the same one."""


@dataclass(slots=True)
class Meter:
    """One meter's accounts in microcents and its counters. ``kept`` is by game, as ``table/game``."""

    plan: MeterPlan
    display: int = 0
    reserve: int = 0
    overflow: int = 0
    pending: int = 0
    players: int = 0
    paid: int = 0
    house: int = 0
    wagers: int = 0
    rows: dict[str, RowCount] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)
    waits: Callable[[set[str]], MeterPlan] | None = None
    """Its keys once it is reset, with which other meters, where a change waits for that; derived, not kept."""

    def amounts(self) -> Amounts:
        """Display, reserve and overflow as they stand."""
        return Amounts(self.display, self.reserve, self.overflow)

    def shown(self) -> tuple[int, int, int, int]:
        """The four amounts of an answer."""
        return self.display, self.reserve, self.overflow, self.pending

    def row(self, outcome: str) -> RowCount:
        """The counters of a prize row."""
        return self.rows.setdefault(outcome, RowCount())

    def taken_by(self, game: str) -> None:
        """A game (or people, ``""``) has taken from the meter: every other game's later hits are settled apart."""
        for other in [key for key, kept in self.kept.items() if key != game]:
            if self.kept[other].closed:
                del self.kept[other]
            else:
                self.kept[other].apart = True


@dataclass(slots=True)
class Standing:
    """A hit that stands, and its award per part in cents."""

    hit: Hit
    shares: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Case:
    """What people have done about one award: its state (``controller.award``) and each step with who and when."""

    state: str = "pending"
    steps: list[dict[str, Any]] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    """Who entered or corrected a wager or a hit of it: they may not verify, release or pay it."""


@dataclass(slots=True)
class Round:
    """One round of a table: lock-out to lock-out, settled under the plan it was locked under."""

    boot: str
    round: int
    game: int
    plan: TablePlan
    plan_entry: int
    wagers: dict[tuple[int, str], int]
    fed: dict[str, int]
    """Microcents contributed by meter, for a void round."""
    at: int = 0
    """When it was locked, in UTC microseconds: its gaming day."""
    hits: dict[tuple[int, str], Standing] = field(default_factory=dict)
    chips: int | None = None
    state: str = "open"
    """``open``, ``closed`` or ``void``."""
    cases: dict[tuple[int, str], Case] = field(default_factory=dict)
    lines: dict[tuple[int, str, int], str] = field(default_factory=dict)
    """Envy that people have dealt with: by hand's seat, spot and the seat that is due it, ``paid`` or ``unclaimed``."""
    took: list[str] = field(default_factory=list)
    """Meters from which it has taken."""
    doubted: list[int] = field(default_factory=list)
    """Seats (0: all) whose wager people could not prove: an award there needs the third release."""
    hands: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """By place: who corrected its wager."""
    was_hit: bool = False
    """Whether a hit has ever stood: from then on its wagers stand."""
    agreed: bool = False
    """Whether a chip count has ever agreed with its wagers: from then on they stand."""
    rebooked: list[list[Any]] = field(default_factory=list)
    """Places whose wager people took away: its contribution is the house's and still on the meter."""
    owed: int = 0
    """Its part in what its table owes."""
    entries: list[int] = field(default_factory=list)
    """The entries of its hits and of all that people did about it."""
    past: list[dict[str, Any]] = field(default_factory=list)
    """Awards that were refused, withdrawn, or paid in error and followed by the true hand, as they stood."""
    explained: int | None = None
    """The difference of the chip count, chips beyond wagers, that people's latest finding is about."""
    finders: list[str] = field(default_factory=list)
    """Who wrote a finding: they verify, release and pay nothing of the game."""
    wagered: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """By place: who added or removed a wager there."""
    freed: list[str] = field(default_factory=list)
    """Meters whose waiting keys its 100% awards have acted by: they are in force once it is over."""
    unclaimed: int = 0
    """Its part in the envy of its table that nobody claimed."""
    payers: dict[tuple[int, str, int], list[str]] = field(default_factory=dict)
    """Who signed that envy was paid, by the line it was paid for, also where the hand stands no more."""

    @property
    def key(self) -> str:
        """``table/game``: the name by which meters and the ledger keep it."""
        return f"{self.plan.id}/{self.game}"

    @property
    def told(self) -> bool:
        """Whether more than its wagers is known of it: then the ledger has an award row for it."""
        return bool(self.hits or self.was_hit or self.doubted or self.hands)

    @property
    def paid(self) -> bool:
        """Whether people have paid an award of it: later hits are settled apart (design section 4)."""
        states = (*(case.state for case in self.cases.values()), *(one["state"] for one in self.past))
        return not _PAID.isdisjoint(states)

    @property
    def unexplained(self) -> bool:
        """Whether the latest chip count differs from the wagers, and nobody has found why."""
        return unexplained(self.chips, len(self.wagers), self.explained, bool(self.doubted))


_PAID = frozenset(("paid", "paid-in-error"))


def unexplained(chips: int | None, wagers: int, explained: int | None, found: bool) -> bool:
    """Whether chips counted (None: nobody did) and accepted wagers differ otherwise than people have ``explained``.

    ``found``: there is a finding; one of rules version 1 does not say of which difference.
    """
    if chips is None or chips == wagers:
        return False
    return not found if explained is None else chips - wagers != explained


@dataclass(slots=True)
class Table:
    """One table: game numbers given so far, its open round, and the boot order of its latest one."""

    plan: TablePlan
    games: int = 0
    open: Round | None = None
    latest_heard: int = 0
    """When the boot of the latest round was first heard (an entry number); 0 before the first round."""
    loss: dict[str, Any] | None = None
    """What people must accept before the table plays again: the loss or difference, or None."""
    closed: bool = False
    """People have closed the table: no lock-out is accepted."""
    held_by: list[list[Any]] = field(default_factory=list)
    """Unverified awards that hold the table, as game, seat and spot."""
    owed: int = 0
    """Awards that wait for people, and envy that is not paid: such a table stays on the floor."""
    unheard: int = 0
    """The entry by which two people closed it while its unit was not heard; 0: it was heard, or is open."""
    unclaimed: int = 0
    """Of what it owes: amounts of envy that nobody claimed, and that stay owed."""
    shut: str = ""
    """Why no lock-out is accepted, in the floor's words: it feeds a meter that is not opened yet, or is retired.
    Derived, not kept."""
    prices: dict[str, int] = field(init=False)
    """Cents of a wager by spot, of those whose paytable has no dates: enough for nearly every wager."""

    def __post_init__(self) -> None:
        self.follow(self.plan)

    def follow(self, plan: TablePlan) -> None:
        """Work under a plan from now on; an open round keeps its own."""
        self.plan = plan
        self.prices = {spot.id: spot.paytable.wager_cents for spot in plan.spots if not spot.paytable.dated}


@dataclass(slots=True)
class Boot:
    """One start of a unit: its sequence, and short memory of what it said."""

    heard: int
    """The entry by which it was first heard: the order of boots."""
    last: int = 0
    """Its latest entry that this process has made; not in the ledger's row."""
    next: int = 1
    newest: int = 0
    """Its newest locked round; 0 before the first."""
    wagers_total: int = 0
    recount: bool = False
    """A loss was accepted: the unit's next comparable total becomes the host's."""
    held: dict[int, Numbered] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Digests of the first differing contents, kept as evidence; a unit that goes on cannot flood the ledger."""
    said: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    """By seq: content, refusal reason or empty, entry. Not in the ledger's row: it is looked up there instead."""


def meter_row(meter: Meter) -> dict[str, Any]:
    """A meter's state as JSON."""
    made: dict[str, Any] = {account: getattr(meter, account) for account in ACCOUNTS}
    made["wagers"] = meter.wagers
    made["rows"] = {
        outcome: [row.hits, row.won, row.fixed, row.returned, row.envy] for outcome, row in meter.rows.items()
    }
    made["kept"] = {
        game: [*kept.amounts, kept.house, kept.since_rate, kept.since_reserve, kept.apart, kept.closed,
               *([] if kept.coming is None else [list(kept.coming)])]
        for game, kept in meter.kept.items()
    }
    return made


def meter_from(plan: MeterPlan, made: dict[str, Any]) -> Meter:
    """A meter from its state."""
    accounts = {account: made[account] for account in ACCOUNTS}
    return Meter(
        plan,
        **accounts,
        wagers=made["wagers"],
        rows={outcome: RowCount(*row) for outcome, row in made["rows"].items()},
        kept={
            game: Kept(Amounts(*kept[:3]), kept[3], kept[4], kept[5], kept[6], kept[7],
                       coming_from(kept[8]) if len(kept) > 8 else None)
            for game, kept in made["kept"].items()
        },
    )


def coming_from(made: list[Any]) -> Coming:
    """The keys of a reset from their JSON."""
    return Coming(made[0], made[1], ReserveSurplus(made[2]), Overflow(made[3]), BelowSeed(made[4]))


def table_row(table: Table) -> dict[str, Any]:
    """A table's state as JSON."""
    return {
        "games": table.games,
        "latest_heard": table.latest_heard,
        "loss": table.loss,
        "open": None if table.open is None else round_row(table.open),
    } | ({"closed": True} if table.closed else {}) | ({"held_by": table.held_by} if table.held_by else {}) | (
        {"owed": table.owed} if table.owed else {}) | ({"unheard": table.unheard} if table.unheard else {}) | (
        {"unclaimed": table.unclaimed} if table.unclaimed else {})


def round_row(found: Round) -> dict[str, Any]:
    """A round's state as JSON; what most rounds never have is left out."""
    made: dict[str, Any] = {
        "boot": found.boot,
        "round": found.round,
        "game": found.game,
        "plan_entry": found.plan_entry,
        "wagers": [[seat, spot, cents] for (seat, spot), cents in found.wagers.items()],
        "fed": found.fed,
        "at": found.at,
        "hits": [[*standing.hit, standing.shares] for standing in found.hits.values()],
        "chips": found.chips,
    }
    if found.agreed:
        made["agreed"] = True
    if found.told or found.took or found.state != "open":
        made["since"] = {
            "cases": [[*place, case.state, case.steps, case.touched] for place, case in found.cases.items()],
            "doubted": found.doubted,
            "entries": found.entries,
            "hands": [[*place, people] for place, people in found.hands.items()],
            "lines": [[*line, state] for line, state in found.lines.items()],
            "owed": found.owed,
            "past": found.past,
            "rebooked": found.rebooked,
            "state": found.state,
            "took": found.took,
            "was_hit": found.was_hit,
        } | _seldom(found)
    return made


def _seldom(found: Round) -> dict[str, Any]:
    """What only rounds have whose count, wagers or envy people have dealt with, since rules version 2."""
    made: dict[str, Any] = {}
    if found.explained is not None:
        made["explained"] = found.explained
    if found.finders:
        made["finders"] = found.finders
    if found.wagered:
        made["wagered"] = [[*place, people] for place, people in found.wagered.items()]
    if found.freed:
        made["freed"] = found.freed
    if found.unclaimed:
        made["unclaimed"] = found.unclaimed
    if found.payers:
        made["payers"] = [[*line, people] for line, people in found.payers.items()]
    return made


def round_from(made: dict[str, Any], plan: TablePlan) -> Round:
    """A round from its state; ``plan`` is its table under the version it was locked under."""
    since = made.get("since", {})
    return Round(
        made["boot"],
        made["round"],
        made["game"],
        plan,
        made["plan_entry"],
        {(seat, spot): cents for seat, spot, cents in made["wagers"]},
        dict(made["fed"]),
        made["at"],
        {(hit[0], hit[1]): Standing(Hit(*hit[:4]), hit[4]) for hit in made["hits"]},
        made["chips"],
        since.get("state", "open"),
        {(seat, spot): Case(state, steps, touched) for seat, spot, state, steps, touched in since.get("cases", ())},
        {(seat, spot, to): state for seat, spot, to, state in since.get("lines", ())},
        list(since.get("took", ())),
        list(since.get("doubted", ())),
        {(seat, spot): people for seat, spot, people in since.get("hands", ())},
        since.get("was_hit", False),
        made.get("agreed", False),
        list(since.get("rebooked", ())),
        since.get("owed", 0),
        list(since.get("entries", ())),
        list(since.get("past", ())),
        since.get("explained"),
        list(since.get("finders", ())),
        {(seat, spot): people for seat, spot, people in since.get("wagered", ())},
        list(since.get("freed", ())),
        since.get("unclaimed", 0),
        {(seat, spot, to): people for seat, spot, to, people in since.get("payers", ())},
    )


def table_from(plan: TablePlan, made: dict[str, Any], locked_plan: TablePlan | None) -> Table:
    """A table from its state; ``locked_plan`` is the table under the version its open round was locked under."""
    table = Table(
        plan, made["games"], None, made["latest_heard"], made["loss"], made.get("closed", False),
        list(made.get("held_by", ())), made.get("owed", 0), made.get("unheard", 0),
        made.get("unclaimed", 0))
    if made["open"] is not None:
        table.open = round_from(made["open"], locked_plan or plan)
    return table


def boot_row(boot: Boot) -> dict[str, Any]:
    """A boot's state as JSON, without its short memory of what it said."""
    return {
        "heard": boot.heard,
        "next": boot.next,
        "newest": boot.newest,
        "wagers_total": boot.wagers_total,
        "recount": boot.recount,
        "faults": boot.faults,
        "held": {str(seq): written(message) for seq, message in boot.held.items()},
    }


def boot_from(device: str, name: str, made: dict[str, Any]) -> Boot:
    """A boot from its state."""
    return Boot(
        made["heard"],
        next=made["next"],
        newest=made["newest"],
        wagers_total=made["wagers_total"],
        recount=made["recount"],
        held={int(seq): read_back(device, name, int(seq), message) for seq, message in made["held"].items()},
        faults=list(made["faults"]),
    )


def idle_boots(
    boots: dict[tuple[str, str], Boot], changed: set[tuple[str, str]], durable: int, kept: int, crowd: int
) -> list[tuple[str, str]]:
    """Boots of one unit that the ledger can tell of: all but the latest ``kept``.

    Those with held messages stay, too, unless the unit has ``crowd`` times more boots than are kept.
    """
    many = len(boots) > kept * crowd
    idle = [(boot.heard, key) for key, boot in boots.items()
            if (many or not boot.held) and key not in changed and max(boot.last, boot.heard) <= durable]
    return [key for _, key in sorted(idle)[:-kept]]


def written(message: Numbered) -> dict[str, Any]:
    """A message's content as kept in bodies and state rows."""
    if isinstance(message, Malformed):
        return {"malformed": message.text}
    made: dict[str, Any] = json.loads(content(message))
    return made


def read_back(device: str, boot: str, seq: int, made: dict[str, Any]) -> Numbered:
    """The message whose content was ``written``."""
    if "malformed" in made:
        return Malformed(device, boot, seq, made["malformed"])
    return from_content(device, boot, seq, made)


def plan_entries(tables: Iterable[dict[str, Any]]) -> set[int]:
    """The config entries under which rounds still open were locked."""
    return {made["open"]["plan_entry"] for made in tables if made["open"] is not None}
