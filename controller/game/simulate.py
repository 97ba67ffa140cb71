"""The life of a meter, from hit to hit: many runs of many wagers by the exact probabilities. Pure.

Wagers that win no share of the meter only add to it, so a run jumps from one winning hand to the next: the gap is
geometric, the row drawn by its share of all hits. The meter itself is whole numbers under the rules of
``controller.meter``, one wager a round; all runs advance together, one event at a time (docs/ODDS.md).
"""

from collections.abc import Iterator
from fractions import Fraction
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.game.odds import MeterOdds
from controller.money import ACCOUNT_MICROCENTS_MAX, MICROCENTS_PER_CENT, PPM, Rounding, format_microcents
from controller.plan import BelowSeed, Overflow, ReserveSurplus

DAYS_PER_YEAR = 365
HITS_MAX = 20_000_000
"""Expected hits over all runs: what is kept of them stays under 1 GB."""
RUN_HITS_MAX = 500_000
"""Expected hits in one run: the steps that all runs take together."""
_BLOCK_NUMBERS = 500_000

Whole = NDArray[np.int64]


class SimulationTooLong(ValueError):
    """More hits or money than a run may hold, or no hits at all; the text says how many and what to change."""


class Policies(NamedTuple):
    """The meter's written policies (design section 4); with one wager a round, ties and their order never matter."""

    below_seed: BelowSeed
    reserve_surplus: ReserveSurplus
    rounding: Rounding
    limit_cents: int | None
    overflow: Overflow


class Span(NamedTuple):
    """How long and how often: whole wagers a day, years of 365 days, independent runs."""

    wagers_per_day: int
    years: int
    runs: int

    @property
    def wagers(self) -> int:
        """Wagers of one run."""
        return self.wagers_per_day * DAYS_PER_YEAR * self.years


class Lives(NamedTuple):
    """What happened: first one number for each 100% hit over all runs, then one for each run. Whole cents, wagers."""

    hit_cents: Whole
    """Amount of each 100% hit."""
    gaps: Whole
    """Wagers since the hit before it in its run, or since the start."""
    of_first_run: NDArray[np.bool_]
    """Which of the hits, in their order, are those of the first run."""
    hits: Whole
    house_seeds: Whole
    """Hits after which the house paid some of the new seed, because the reserve did not hold it."""
    house_seed_cents: Whole
    """What the house paid for new seeds."""
    top_up_cents: Whole
    """What the house paid to raise the meter to its seed (``below_seed = "top-up"``)."""
    below_seed_wagers: Whole
    """Wagers that found the meter under its seed."""
    display_cents: Whole
    reserve_cents: Whole
    overflow_cents: Whole
    """What stood in each account at the end."""


class Events(NamedTuple):
    """A block of steps by runs: wagers since the step before, and the row that the last of them wins (-1: none)."""

    gaps: Whole
    rows: Whole


class _Meter:
    """One meter in every run. Its unit is the largest that makes contributions and cents whole."""

    def __init__(self, odds: MeterOdds, policies: Policies, runs: int) -> None:
        rate, reserve = odds.wager_cents * odds.rate_ppm, odds.wager_cents * odds.reserve_ppm
        unit = gcd(rate, reserve, MICROCENTS_PER_CENT)
        self.per_cent = MICROCENTS_PER_CENT // unit
        self.rate, self.reserve_rate = rate // unit, reserve // unit
        self.seed = odds.seed_cents * self.per_cent
        self.policies = policies
        self.limit = None if policies.limit_cents is None else policies.limit_cents * self.per_cent
        self.display = np.full(runs, self.seed, np.int64)
        self.reserve = np.zeros(runs, np.int64)
        self.overflow = np.zeros(runs, np.int64)
        self.below = np.zeros(runs, np.int64)
        self.waited = np.zeros(runs, np.int64)
        self.hits = np.zeros(runs, np.int64)
        self.house_seeds = np.zeros(runs, np.int64)
        self.seeded = np.zeros(runs, np.int64)
        self.topped_up = np.zeros(runs, np.int64)
        shares = [Fraction(share, PPM) for _, share, _ in odds.shares]
        # The last place is that of no event: it takes nothing.
        self._numerators = np.array([*(share.numerator for share in shares), 0])
        self._divisors = np.array([*(share.denominator * self.per_cent for share in shares), 1])

    def contribute(self, wagers: Whole) -> None:
        """So many wagers in each run."""
        self.waited += wagers
        if self.rate:
            short = -((self.display - self.seed) // self.rate)
            self.below += np.clip(short, 0, wagers)
        self.display += wagers * self.rate
        if self.reserve_rate:
            self.reserve += wagers * self.reserve_rate
        if self.limit is not None:
            over = np.maximum(self.display - self.limit, 0)
            self.display -= over
            self.overflow += over

    def award(self, rows: Whole) -> Whole:
        """Take the share of each run's row, in whole cents; returns the cents."""
        divisors, numerators = self._divisors[rows], self._numerators[rows]
        # Parted so that no product passes 64 bits, whatever the meter holds.
        whole, rest = np.divmod(self.display, divisors)
        up = divisors - 1 if self.policies.rounding is Rounding.UP else 0
        cents: Whole = np.minimum(
            whole * numerators + (rest * numerators + up) // divisors, self.display // self.per_cent
        )
        cents[numerators == 0] = 0
        self.display -= cents * self.per_cent
        return cents

    def reset(self, runs: Whole) -> Whole:
        """Seed the meter of these runs after a 100% hit; returns the wagers since the one before."""
        gaps = self.waited[runs]
        self.waited[runs] = 0
        self.hits[runs] += 1
        from_house = np.maximum(self.seed - self.reserve[runs], 0)
        self.reserve[runs] -= self.seed - from_house
        self.display[runs] += self.seed
        self.seeded[runs] += from_house
        self.house_seeds[runs] += from_house > 0
        if self.policies.reserve_surplus is ReserveSurplus.ADD:
            self._move(self.reserve, runs)
        if self.policies.overflow is Overflow.NEXT_METER:
            self._move(self.overflow, runs)
        return gaps

    def _move(self, account: Whole, runs: Whole) -> None:
        room = account[runs]
        if self.limit is not None:
            room = np.clip(self.limit - self.display[runs], 0, room)
        self.display[runs] += room
        account[runs] -= room

    def raise_to_seed(self, rows: Whole) -> None:
        """After a share was taken: up to exactly the seed, from the reserve first, then the house."""
        lack = np.where(rows >= 0, np.maximum(self.seed - self.display, 0), 0)
        from_reserve = np.minimum(self.reserve, lack)
        self.reserve -= from_reserve
        self.display += lack
        self.topped_up += lack - from_reserve


def simulate(odds: MeterOdds, policies: Policies, span: Span, seed: int) -> Lives:
    """Play all runs; the same arguments give the same lives. Raises SimulationTooLong beyond the bounds above."""
    _refuse_too_long(odds, span)
    meter = _Meter(odds, policies, span.runs)
    full = np.array([share == PPM for _, share, _ in odds.shares] + [False])
    amounts, gaps, firsts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)]
    for block in events_of(odds, span, np.random.default_rng(seed)):
        for wagers, rows, hit in zip(block.gaps, block.rows, full[block.rows], strict=True):
            meter.contribute(wagers)
            cents = meter.award(rows)
            runs = np.flatnonzero(hit)
            if runs.size:
                amounts.append(cents[runs])
                gaps.append(meter.reset(runs))
                firsts.append(runs == 0)
            if policies.below_seed is BelowSeed.TOP_UP:
                meter.raise_to_seed(rows)
    return Lives(
        hit_cents=np.concatenate(amounts),
        gaps=np.concatenate(gaps),
        of_first_run=np.concatenate(firsts),
        hits=meter.hits,
        house_seeds=meter.house_seeds,
        house_seed_cents=meter.seeded // meter.per_cent,
        top_up_cents=meter.topped_up // meter.per_cent,
        below_seed_wagers=meter.below,
        display_cents=meter.display // meter.per_cent,
        reserve_cents=meter.reserve // meter.per_cent,
        overflow_cents=meter.overflow // meter.per_cent,
    )


def _refuse_too_long(odds: MeterOdds, span: Span) -> None:
    chance = sum((chance for _, _, chance in odds.shares), Fraction(0))
    expected = float(chance * span.wagers)
    if not odds.hit:
        raise SimulationTooLong(f"no hand takes 100% of meter {odds.part}: it has no hits to simulate")
    if expected > RUN_HITS_MAX or expected * span.runs > HITS_MAX:
        found = f"{expected:,.0f} hits in each run, {expected * span.runs:,.0f} in all"
        raise SimulationTooLong(f"{found}: at most {RUN_HITS_MAX:,} and {HITS_MAX:,}; take fewer years, wagers or runs")
    contributions = span.wagers * odds.wager_cents * (odds.rate_ppm + odds.reserve_ppm)
    if contributions + odds.hit * span.wagers * odds.seed_cents * MICROCENTS_PER_CENT > ACCOUNT_MICROCENTS_MAX:
        most = format_microcents(ACCOUNT_MICROCENTS_MAX)
        raise SimulationTooLong(f"contributions and seeds of a run pass {most}; take fewer years or wagers")


def events_of(odds: MeterOdds, span: Span, random: np.random.Generator) -> Iterator[Events]:
    """The hands with a share of the meter in all runs, in blocks of steps, until every run has played its wagers."""
    chances = [chance for _, _, chance in odds.shares]
    any_row = sum(chances, Fraction(0))
    edges = np.cumsum([float(chance / any_row) for chance in chances])[:-1]
    scale = 1.0 / np.log1p(-float(any_row))
    steps = max(1, min(1000, _BLOCK_NUMBERS // span.runs))
    played = np.zeros(span.runs, np.int64)
    while (played < span.wagers).any():
        # Plain uniform numbers, turned here: so the lives do not hang on a library's way of drawing.
        waits = np.log1p(-random.random((steps, span.runs))) * scale
        rows = np.searchsorted(edges, random.random((steps, span.runs)), side="right").astype(np.int64)
        gaps = np.minimum(waits, float(span.wagers)).astype(np.int64) + 1
        at = played + np.cumsum(gaps, axis=0)
        rows[at > span.wagers] = -1
        at = np.minimum(at, span.wagers)
        yield Events(np.diff(at, axis=0, prepend=played[np.newaxis]), rows)
        played = at[-1]
