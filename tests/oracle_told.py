"""What the oracle of people knows of an award and of a round beside its hits."""

from dataclasses import dataclass, field

from oracle import Table
from oracle_meter import SpotOfSeat

ROLES = {"floor": {"supervisor", "shift-manager"}, "release": {"shift-manager", "accounting"}}
Signers = list[tuple[str, str]]
"""Id and role of each person, in the order of signing."""


class NotDone(Exception):
    """The text does not allow it."""


@dataclass
class Award:
    """One award as people see it; ``did``: who verified and released it, and ``roles`` of them."""

    state: str
    touched: set[str]
    did: dict[str, set[str]] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)


@dataclass
class Told:
    """What is known of a round beside its hits: who did what, what stands since when."""

    table: Table
    awards: dict[SpotOfSeat, Award] = field(default_factory=dict)
    hands: dict[SpotOfSeat, set[str]] = field(default_factory=dict)
    rebooked: set[SpotOfSeat] = field(default_factory=set)
    """By place: everybody who ever corrected its wager."""
    apart: set[str] = field(default_factory=set)
    paid: bool = False
    void: bool = False
    any_hit: bool = False
    agreed: bool = False
    chips: int | None = None
    doubted: set[int] = field(default_factory=set)
    lines: dict[tuple[SpotOfSeat, int], str] = field(default_factory=dict)
    """Envy by hand and seat that is due it: paid, unclaimed, cancelled; pending where there is none."""
    explained: int | None = None
    finders: set[str] = field(default_factory=set)
    wagered: dict[SpotOfSeat, set[str]] = field(default_factory=dict)
    alone: dict[SpotOfSeat, set[str]] = field(default_factory=dict)
    """Who entered a standing hand that has no wager of its own."""
    payers: dict[tuple[SpotOfSeat, int], set[str]] = field(default_factory=dict)
    """By line of envy: everybody who has ever paid it."""
    paid_wrongly: set[str] = field(default_factory=set)
    """Who paid an award that was in error and in whose place the true hand came."""

    def paid_envy(self, place: SpotOfSeat) -> set[str]:
        """Who has paid envy of the hand that stands there."""
        paid = [who for line, who in self.payers.items() if line[0] == place and self.lines.get(line) == "paid"]
        return set().union(*paid)
