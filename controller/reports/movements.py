"""Every posting under one heading: contribution, win, payment ...; what no heading knows stays visible. Pure.

The classes follow the entry's kind and the sums its postings, so whatever is entered one day, opening plus all classes
is closing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.journal import Entry
from controller.reports.reading import Balances

INSIDE = ("display", "reserve", "overflow")
"""The accounts that are the meter's own money; ``pending`` is owed to players already."""


class Class(StrEnum):
    """What kind of movement an entry is."""

    OPENING = "Openings"
    CONTRIBUTION = "Contributions"
    VOID = "Games voided"
    WIN = "Wins"
    PAYMENT = "Payments"
    CORRECTION = "Corrections"
    ADJUSTMENT = "Adjustments"
    OTHER = "Other movements"


CLASS_OF: Mapping[str, Class] = {
    "opening": Class.OPENING,
    "opening-accepted": Class.OPENING,
    "lock": Class.CONTRIBUTION,
    "void": Class.VOID,
    "hits": Class.WIN,
    "award-paid": Class.PAYMENT,
    "hit-added": Class.CORRECTION,
    "hit-changed": Class.CORRECTION,
    "hit-withdrawn": Class.CORRECTION,
    "wager-added": Class.CORRECTION,
    "wager-removed": Class.CORRECTION,
    "award-refused": Class.CORRECTION,
    "paid-in-error": Class.CORRECTION,
    "reserve-to-house": Class.ADJUSTMENT,
    "seed-recovered": Class.ADJUSTMENT,
}
"""Kinds of entries that move money, and their class. ``meter-...`` and ``transfer...`` kinds are adjustments."""


def class_of(kind: str) -> Class:
    """The class of a kind of entry."""
    known = CLASS_OF.get(kind)
    if known is not None:
        return known
    return Class.ADJUSTMENT if kind.startswith(("meter-", "transfer", "adjust")) else Class.OTHER


@dataclass(slots=True)
class Flow:
    """What one class moved of one meter, in microcents. Each figure is the change of that account, with its sign."""

    entries: int = 0
    accounts: dict[str, int] = field(default_factory=dict)

    def add(self, account: str, microcents: int) -> None:
        """One posting more."""
        self.accounts[account] = self.accounts.get(account, 0) + microcents

    def of(self, *accounts: str) -> int:
        """The change of some accounts together."""
        return sum(self.accounts.get(account, 0) for account in accounts)

    @property
    def inside(self) -> int:
        """The change of the meter's own money."""
        return self.of(*INSIDE)


class Movements:
    """All movements of a stream of entries, by meter and class; and by kind where no class knows it."""

    def __init__(self) -> None:
        self.flows: dict[tuple[str, Class], Flow] = {}
        self.strange: dict[tuple[str, str], Flow] = {}
        """By (kind, meter): what stands under "other movements"."""

    def take(self, entry: Entry) -> None:
        """One entry more."""
        kind = class_of(entry.kind)
        touched = set()
        for meter, account, microcents, _ in entry.postings:
            flow = self.flows.setdefault((meter, kind), Flow())
            flow.add(account, microcents)
            touched.add(meter)
            if kind is Class.OTHER:
                self.strange.setdefault((entry.kind, meter), Flow()).add(account, microcents)
        for meter in touched:
            self.flows[meter, kind].entries += 1
            if kind is Class.OTHER:
                self.strange[entry.kind, meter].entries += 1

    def of(self, meter: str, kind: Class) -> Flow:
        """What a class moved of a meter; an empty flow for nothing."""
        return self.flows.get((meter, kind), Flow())

    def all_of(self, meter: str) -> Flow:
        """What all classes moved of a meter."""
        whole = Flow()
        for kind in Class:
            flow = self.of(meter, kind)
            whole.entries += flow.entries
            for account, microcents in flow.accounts.items():
                whole.add(account, microcents)
        return whole


def balance(balances: Balances, meter: str, *accounts: str) -> int:
    """Some accounts of a meter together, in microcents."""
    return sum(balances.get((meter, account), 0) for account in accounts)


def meters_of(*balances: Balances, also: Iterable[str] = ()) -> list[str]:
    """Every meter that any of these names: those ``also`` named first, in their order, then the others."""
    others = sorted({meter for known in balances for meter, _ in known})
    return list(dict.fromkeys([*also, *others]))
