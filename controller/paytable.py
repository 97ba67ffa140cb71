"""A paytable: what a wager costs, what each winning hand is due, and how the wager feeds its meters. Pure.

Figures come from the filed text (58 Pa. Code section 688a.12 and its sister chapters); the shipped files are in
``config/paytables/``. How a file is read and refused: ``controller.config``.
"""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class RateByDecks:
    """A rate of progression in ppm for tables with ``decks`` decks, or that many and more."""

    decks: int
    and_more: bool
    rate_ppm: int


@dataclass(frozen=True, slots=True)
class MeterPart:
    """One meter that a paytable feeds and pays from: seed in cents, rates in ppm of the wager."""

    part: str
    seed_cents: int
    rate_ppm: int | None
    rates_by_decks: tuple[RateByDecks, ...]
    reserve_ppm: int

    def rate_for(self, decks: int | None) -> int | None:
        """The rate at a table with ``decks`` decks: an exact number goes before ``n+``; None if none fits."""
        if self.rate_ppm is not None:
            return self.rate_ppm
        if decks is None:
            return None
        for row in self.rates_by_decks:
            if not row.and_more and row.decks == decks:
                return row.rate_ppm
        open_rows = [row for row in self.rates_by_decks if row.and_more and decks >= row.decks]
        return max(open_rows, key=lambda row: row.decks).rate_ppm if open_rows else None


@dataclass(frozen=True, slots=True)
class Prize:
    """One row: a fixed sum in cents from the house, shares of meters in ppm, and envy in cents to the others."""

    outcome: str
    label: str
    fixed_cents: int
    shares: tuple[tuple[str, int], ...]
    envy_cents: int
    returned_cents: int
    """The original wager when it goes back to the player (wager_returned, or a pay "to 1"), else 0."""
    keyed: bool = True
    """Whether the dealer keys it; a row that is not is paid from the tray unseen, and reports say so."""


@dataclass(frozen=True, slots=True)
class Paytable:
    """A whole paytable. ``valid_from`` and ``valid_to`` are gaming days, both included; None is open."""

    id: str
    title: str
    citation: str
    game: str
    wager_cents: int
    wager_returned: bool
    joker: str
    seven_card_straight_flush_includes_joker: bool | None
    valid_from: date | None
    valid_to: date | None
    parts: tuple[MeterPart, ...]
    prizes: tuple[Prize, ...]

    @property
    def has_envy(self) -> bool:
        """True where some row pays the other players."""
        return any(prize.envy_cents for prize in self.prizes)

    def part(self, name: str) -> MeterPart:
        """The meter part of that name; raises KeyError."""
        for part in self.parts:
            if part.part == name:
                return part
        raise KeyError(name)

    @property
    def dated(self) -> bool:
        """Whether the paytable has a first or a last day."""
        return self.valid_from is not None or self.valid_to is not None

    def valid_on(self, day: date) -> bool:
        """Whether the paytable may be played on a gaming day."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day <= self.valid_to)
