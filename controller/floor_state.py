"""What the books know of meters, tables and units, and its form in the ledger's state rows. Pure.

Every field changes only through an entry, so a state row is a derived, checkable copy that makes a start quick.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controller.meter import Amounts
from controller.plan import MeterPlan, TablePlan
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
    """

    amounts: Amounts
    house: int = 0
    since_rate: int = 0
    since_reserve: int = 0
    apart: bool = False


@dataclass(slots=True)
class Meter:
    """One meter's accounts in microcents and its counters. ``kept`` is by table."""

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

    def amounts(self) -> Amounts:
        """Display, reserve and overflow as they stand."""
        return Amounts(self.display, self.reserve, self.overflow)

    def shown(self) -> tuple[int, int, int, int]:
        """The four amounts of an answer."""
        return self.display, self.reserve, self.overflow, self.pending

    def row(self, outcome: str) -> RowCount:
        """The counters of a prize row."""
        return self.rows.setdefault(outcome, RowCount())


@dataclass(slots=True)
class Standing:
    """A hit that stands, and its award per part in cents."""

    hit: Hit
    shares: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Round:
    """The open round of a table: lock-out to lock-out, settled under the plan it was locked under."""

    boot: str
    round: int
    game: int
    plan: TablePlan
    plan_entry: int
    wagers: dict[tuple[int, str], int]
    fed: dict[str, int]
    """Microcents contributed by meter, for a void round."""
    hits: dict[tuple[int, str], Standing] = field(default_factory=dict)
    chips: int | None = None


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
        table: [*kept.amounts, kept.house, kept.since_rate, kept.since_reserve, kept.apart]
        for table, kept in meter.kept.items()
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
            table: Kept(Amounts(*kept[:3]), *kept[3:])
            for table, kept in made["kept"].items()
        },
    )


def table_row(table: Table) -> dict[str, Any]:
    """A table's state as JSON."""
    return {
        "games": table.games,
        "latest_heard": table.latest_heard,
        "loss": table.loss,
        "open": None if table.open is None else _round_row(table.open),
    }


def _round_row(open_round: Round) -> dict[str, Any]:
    return {
        "boot": open_round.boot,
        "round": open_round.round,
        "game": open_round.game,
        "plan_entry": open_round.plan_entry,
        "wagers": [[seat, spot, cents] for (seat, spot), cents in open_round.wagers.items()],
        "fed": open_round.fed,
        "hits": [[*standing.hit, standing.shares] for standing in open_round.hits.values()],
        "chips": open_round.chips,
    }


def table_from(plan: TablePlan, made: dict[str, Any], locked_plan: TablePlan | None) -> Table:
    """A table from its state; ``locked_plan`` is the table under the version its open round was locked under."""
    table = Table(plan, made["games"], None, made["latest_heard"], made["loss"])
    open_round = made["open"]
    if open_round is not None:
        table.open = Round(
            open_round["boot"],
            open_round["round"],
            open_round["game"],
            locked_plan or plan,
            open_round["plan_entry"],
            {(seat, spot): cents for seat, spot, cents in open_round["wagers"]},
            dict(open_round["fed"]),
            {(hit[0], hit[1]): Standing(Hit(*hit[:4]), hit[4]) for hit in open_round["hits"]},
            open_round["chips"],
        )
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
