"""What a paytable is worth: exact counts of its rows, return, house edge, and the arithmetic of its meter. Pure.

Everything is computed from the cards (``odds_counts``, ``odds_ace_high``) in whole numbers and fractions; floats appear
only in ``as_json``. How each figure is meant: docs/ODDS.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from controller.game.classify import NotThisGame
from controller.game.odds_ace_high import PAIRS, count_pairs
from controller.game.odds_counts import HANDS, count_rows
from controller.game.rows import row_bits
from controller.game.tables import BonusTable, GameTable
from controller.money import PPM
from controller.paytable import Paytable

NONE = "none"
"""The hands that no row pays."""


@dataclass(frozen=True, slots=True)
class MeterOdds:
    """One meter of a progressive paytable, for one wager of ``wager_cents``; policies of the meter apart."""

    part: str
    wager_cents: int
    seed_cents: int
    rate_ppm: int
    reserve_ppm: int
    shares: tuple[tuple[str, int, Fraction], ...]
    """Rows that take a share of it: outcome, ppm, probability."""

    @property
    def hit(self) -> Fraction:
        """Probability that a wager takes 100% of the meter."""
        return sum((chance for _, share, chance in self.shares if share == PPM), Fraction(0))

    @property
    def taken(self) -> Fraction:
        """Expected share of the meter that one wager takes: 100% rows and smaller ones together."""
        return sum((chance * Fraction(share, PPM) for _, share, chance in self.shares), Fraction(0))

    @property
    def wagers_between_hits(self) -> Fraction | None:
        """Mean number of wagers from one 100% hit to the next; None where no row takes all."""
        return 1 / self.hit if self.hit else None

    @property
    def mean_cents(self) -> Fraction | None:
        """Long-run mean of the meter as a hand finds it, its own contribution in it, in cents.

        What goes in equals what goes out: contribution + hit x seed = taken x mean. Holds without limit, ``top-up`` or
        ``reserve_surplus = "add"``.
        """
        contribution = Fraction(self.wager_cents * self.rate_ppm, PPM)
        return (contribution + self.hit * self.seed_cents) / self.taken if self.taken else None

    @property
    def seed_cost(self) -> Fraction:
        """What new seeds cost for each dollar wagered, whoever pays them."""
        return self.hit * self.seed_cents / self.wager_cents

    @property
    def house_seed_cost(self) -> Fraction:
        """What the house pays of it in the long run: what the reserve rate does not cover."""
        return max(Fraction(0), self.seed_cost - Fraction(self.reserve_ppm, PPM))


@dataclass(frozen=True, slots=True)
class Odds:
    """A paytable's exact odds. Returns are parts of the wager, the returned wager counted, envy not."""

    paytable: str
    total: int
    counts: Mapping[str, int]
    """Hands (ace high: pairs) that get each row, in the paytable's order, then ``none``."""
    fixed: Fraction
    """Return of everything but shares of meters."""
    envy_cents: Fraction
    """Expected envy in cents for each other seat with a qualifying wager, per hand of this player."""
    meters: tuple[MeterOdds, ...] = ()

    def chance(self, outcome: str) -> Fraction:
        """Probability of a row; raises KeyError."""
        return Fraction(self.counts[outcome], self.total)

    @property
    def at_seed(self) -> Fraction:
        """Return while every meter stands at its seed."""
        return self.fixed + sum(meter.taken * meter.seed_cents / meter.wager_cents for meter in self.meters)

    @property
    def returned(self) -> Fraction:
        """Return in the long run: each meter at its long-run mean."""
        means = ((meter.taken, meter.mean_cents or Fraction(0), meter.wager_cents) for meter in self.meters)
        return self.fixed + sum(taken * mean / wager for taken, mean, wager in means)

    @property
    def break_even_cents(self) -> Fraction | None:
        """The meter at which the return is 100%; None with several meters, or where no row takes a share."""
        if len(self.meters) != 1 or not self.meters[0].taken:
            return None
        return (1 - self.fixed) * self.meters[0].wager_cents / self.meters[0].taken

    def as_json(self) -> dict[str, Any]:
        """The answer of ``meterctl odds --json``: counts exact, everything else rounded for display."""
        shown: dict[str, Any] = {
            "paytable": self.paytable,
            "total": self.total,
            "outcomes": dict(self.counts),
            "probabilities": {outcome: float(self.chance(outcome)) for outcome in self.counts},
            "return": float(self.returned),
            "house_edge": float(1 - self.returned),
            "envy_cents_per_other_seat": float(self.envy_cents),
        }
        if self.meters:
            shown["return_at_seed"] = float(self.at_seed)
            shown["break_even_cents"] = _cents(self.break_even_cents)
            shown["meters"] = {meter.part: _meter_json(meter) for meter in self.meters}
        return shown


def _cents(exact: Fraction | None) -> int | None:
    return None if exact is None else round(exact)


def _meter_json(meter: MeterOdds) -> dict[str, Any]:
    between = meter.wagers_between_hits
    rate, reserve = Fraction(meter.rate_ppm, PPM), Fraction(meter.reserve_ppm, PPM)
    return {
        "seed_cents": meter.seed_cents,
        "mean_cents": _cents(meter.mean_cents),
        "wagers_between_hits": None if between is None else float(between),
        "seed_cost_per_dollar": float(meter.seed_cost),
        "house_seed_cost_per_dollar": float(meter.house_seed_cost),
        "reserve_covers_seed": reserve >= meter.seed_cost,
        "rate_and_reserve_cover_seed": rate + reserve >= meter.seed_cost,
    }


def odds_of(table: GameTable) -> Odds:
    """The exact odds of a paytable; raises NotThisGame for one with a row that is no hand of the game."""
    return odds_from(table, counts_of(table))


def counts_of(table: GameTable) -> dict[str, int]:
    """Hands (ace high: pairs) that get each row, then ``none``: all that takes long. Raises NotThisGame."""
    if isinstance(table, BonusTable) and table.is_ace_high:
        return _ace_high_counts(table)
    return _seven_card_counts(table)


def odds_from(table: GameTable, counts: Mapping[str, int]) -> Odds:
    """The odds that follow from what ``counts_of`` has counted. Raises NotThisGame, and ValueError for other counts."""
    total = PAIRS if isinstance(table, BonusTable) and table.is_ace_high else HANDS
    if list(counts) != [*(prize.outcome for prize in table.prizes), NONE] or sum(counts.values()) != total:
        raise ValueError(f"{table.id}: these are not the counts of its rows")
    chances = {outcome: Fraction(count, total) for outcome, count in counts.items()}
    if isinstance(table, BonusTable):
        # A paid wager goes back with its winnings, and one that pushes goes back alone.
        due = sum((chances[prize.outcome] * (prize.odds + 1) for prize in table.prizes), Fraction(0))
        return Odds(table.id, total, counts, due, _envy(table, chances))
    due = sum(
        (chances[prize.outcome] * (prize.fixed_cents + prize.returned_cents) for prize in table.prizes), Fraction(0)
    )
    return Odds(
        paytable=table.id,
        total=total,
        counts=counts,
        fixed=due / table.wager_cents,
        envy_cents=_envy(table, chances),
        meters=tuple(_meter(table, part.part, chances) for part in table.parts),
    )


def _seven_card_counts(table: GameTable) -> dict[str, int]:
    includes_joker = table.seven_card_straight_flush_includes_joker
    try:
        rows = [(prize.outcome, row_bits(prize.outcome, includes_joker)) for prize in table.prizes]
    except KeyError as wrong:
        raise NotThisGame(f"{table.id}: {wrong.args[0]} is no hand of seven cards of this game") from wrong
    return count_rows(rows, table.joker == "fully-wild")


def _ace_high_counts(table: BonusTable) -> dict[str, int]:
    """Rows that are left out fall to ``none``."""
    pairs = count_pairs()
    found = {prize.outcome: pairs[prize.outcome] for prize in table.prizes}
    return {**found, NONE: PAIRS - sum(found.values())}


def _envy(table: GameTable, chances: Mapping[str, Fraction]) -> Fraction:
    return sum((chances[prize.outcome] * prize.envy_cents for prize in table.prizes), Fraction(0))


def _meter(table: Paytable, name: str, chances: Mapping[str, Fraction]) -> MeterOdds:
    part = table.part(name)
    if part.rate_ppm is None:
        raise NotThisGame(f"{table.id}: its rate of progression depends on the number of decks; this game has one")
    shares = [(prize.outcome, dict(prize.shares).get(name, 0)) for prize in table.prizes]
    return MeterOdds(
        part=name,
        wager_cents=table.wager_cents,
        seed_cents=part.seed_cents,
        rate_ppm=part.rate_ppm,
        reserve_ppm=part.reserve_ppm,
        shares=tuple((outcome, share, chances[outcome]) for outcome, share in shares if share),
    )
