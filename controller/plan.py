"""The floor plan: the effective configuration as frozen values, checked and with every reference resolved. Pure.

``controller.config`` makes one from a TOML file, or from the document kept in a ledger's ``config`` entry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from controller.gaming_day import gaming_day_of
from controller.money import Rounding
from controller.paytable import Paytable, Prize
from controller.people import DEPARTMENTS, FLOOR_ROLES, RELEASE_ROLES, Role

_K = TypeVar("_K")
_V = TypeVar("_V")


class Environment(StrEnum):
    """What a ledger is for; fixed when it is made, and shown on every page unless production (D8)."""

    PRODUCTION = "production"
    TEST = "test"
    TRAINING = "training"


class TiePolicy(StrEnum):
    """Several 100% hits of one meter in one round: equal shares and one reset, or each in turn."""

    SPLIT = "split"
    SEQUENTIAL = "sequential"


class Order(StrEnum):
    """Whether shares under 100% are taken before the 100% awards, or all strictly in pay order."""

    PARTIALS_FIRST = "partials-first"
    PAY_ORDER = "pay-order"


class BelowSeed(StrEnum):
    """What happens to a meter left under its seed by a settlement (R-11)."""

    ALLOW = "allow"
    TOP_UP = "top-up"


class ReserveSurplus(StrEnum):
    """What is left in the reserve after a reset: kept there, or added to the new meter."""

    KEEP = "keep"
    ADD = "add"


class Overflow(StrEnum):
    """What is above the limit: moved to the new meter at a reset, or kept in its account (R-12)."""

    NEXT_METER = "next-meter"
    KEEP = "keep"


class EnvyHand(StrEnum):
    """Whether a seat without a wager of its own can hold the hand that earns the others their envy."""

    ANY_PLAYER = "any-player"
    WAGERING_PLAYER = "wagering-player"


@dataclass(frozen=True, slots=True)
class MeterPlan:
    """One meter and its written policies. Money in cents, rates in ppm; ``limit_cents`` None is no limit."""

    id: str
    name: str
    book: str
    paytable: Paytable
    part: str
    seed_cents: int
    base_cents: int
    reserve_ppm: int
    tie_policy: TiePolicy
    order: Order
    below_seed: BelowSeed
    reserve_surplus: ReserveSurplus
    rounding: Rounding
    limit_cents: int | None
    overflow: Overflow
    unreasonable_cents: int
    reserve_to_house: bool = False
    """Whether people may book reserve money as the house's receipts (R-65)."""
    change_now: bool = False
    """Whether an activated change acts at once, instead of at the next reset (R-34)."""
    seed_recovery: bool = False
    """Whether the house may take back seed that it has put in (R-65)."""


@dataclass(frozen=True, slots=True)
class Feed:
    """What one wager of a spot adds to one meter, in microcents: exact, fixed by paytable and decks."""

    part: str
    meter: str
    rate_ppm: int
    display: int
    reserve: int


@dataclass(frozen=True, slots=True)
class SpotPlan:
    """One kind of bet sensor at a table, its paytable, and the meters its wagers feed."""

    id: str
    paytable: Paytable
    feeds: tuple[Feed, ...]
    prizes: Mapping[str, Prize] = field(repr=False)
    meter_of: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table: its device, seats, order of paying, and spots in their configured order."""

    id: str
    device: str
    seats: int
    pay_order: tuple[int, ...]
    envy_hand: EnvyHand | None
    decks: int | None
    book: str
    asset: str
    sign_from_cents: int
    """Awards under this never stand on a sign."""
    spots: tuple[SpotPlan, ...]
    spot: Mapping[str, SpotPlan] = field(repr=False)
    pay_rank: Mapping[tuple[int, str], int] = field(repr=False)
    """Place of each (seat, spot) in the order of paying, from 0."""
    meters: Mapping[str, MeterPlan] = field(default_factory=dict, repr=False, compare=False)
    """The meters that it feeds, as its own version of the configuration has them."""
    tray_limit_cents: int = 0
    """An award without a share of a meter that does not exceed it, envy included, is the dealer's to pay."""
    hold_from_cents: int | None = None
    """An unverified award of so much holds the table; None: none does (R-50)."""


@dataclass(frozen=True, slots=True)
class AwardRules:
    """What the whole floor does about awards. Amounts in cents; None: never."""

    release_from_cents: int | None = None
    """Awards of so much need a release by a third person (R-58, D26)."""
    paper_from_cents: int | None = None
    """Awards of so much need the checklist before they are paid."""
    paper: tuple[str, ...] = ()
    """The lines of the checklist, in their order."""
    cards_from_cents: int | None = None
    """Awards of so much are verified only with the seven cards entered (D24)."""
    late_hit_days: int = 7
    """For how many gaming days after its own a closed game may still be put right."""
    verify: frozenset[Role] = FLOOR_ROLES
    pay: frozenset[Role] = FLOOR_ROLES
    release: frozenset[Role] = RELEASE_ROLES
    """Who may verify, pay and release."""

    def by(self, kind: str) -> frozenset[Role] | None:
        """Who may do a kind of act, where the configuration says so; None: the table of acts decides."""
        return {"award-verified": self.verify, "award-paid": self.pay, "award-released": self.release}.get(kind)

    def releasers(self, verified: frozenset[Role]) -> frozenset[Role]:
        """Who may release what these roles have verified: a role that is none of them, and leaves another to pay."""
        return frozenset(role for role in self.release - verified if self.pay - {role})


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """The whole effective floor. ``document`` rebuilds it; ``hash`` (SHA-256 hex) names it."""

    site: str
    name: str
    environment: Environment
    currency: str
    timezone: ZoneInfo
    gaming_day_start: time
    meters: Mapping[str, MeterPlan]
    tables: Mapping[str, TablePlan]
    table_of_device: Mapping[str, TablePlan]
    document: Mapping[str, Any] = field(repr=False)
    hash: str
    awards: AwardRules = AwardRules()
    departments: tuple[str, ...] = DEPARTMENTS

    @property
    def books(self) -> tuple[str, ...]:
        """The books in the order of their first meter."""
        return tuple(dict.fromkeys(meter.book for meter in self.meters.values()))

    def local(self, at: int) -> datetime:
        """A time in UTC microseconds by the floor's wall clock."""
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).astimezone(self.timezone)

    def gaming_day(self, at: int) -> date:
        """The gaming day of a time in UTC microseconds: a day begins at ``gaming_day_start`` by the wall clock."""
        return gaming_day_of(self.timezone, self.gaming_day_start, at).on

    def linked_tables(self, meter: str) -> tuple[str, ...]:
        """The tables that feed a meter: its link."""
        return tuple(
            table.id
            for table in self.tables.values()
            if any(feed.meter == meter for spot in table.spots for feed in spot.feeds)
        )


def frozen(items: Mapping[_K, _V]) -> Mapping[_K, _V]:
    """A read-only view of a mapping."""
    return MappingProxyType(dict(items))
