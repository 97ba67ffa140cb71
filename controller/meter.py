"""The meter: how it takes contributions and what awards take from it. Pure functions of whole microcents.

Settlement is one function of a meter as it stands and the shares claimed of it, in pay order (design section 4). What
is paid is what is debited; a fraction of a cent stays on the meter and is carried into the next one (R-15, R-56).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controller.money import MICROCENTS_PER_CENT, PPM, share_of_meter
from controller.plan import BelowSeed, MeterPlan, Order, Overflow, ReserveSurplus, TiePolicy


class BrokenInvariant(Exception):
    """The books do not add up: the book must stop until a person clears it (design section 9)."""


class Amounts(NamedTuple):
    """A meter's display, reserve and overflow in microcents, none below zero."""

    display: int
    reserve: int
    overflow: int


class Settlement(NamedTuple):
    """Awards in cents in the order of the shares claimed, the meter after them, and what the house put in."""

    awards: tuple[int, ...]
    after: Amounts
    house: int


class Coming(NamedTuple):
    """The keys of the meter that a reset begins: its seed (cents), and what is laid on it up to which limit.

    They are those that are in force, or wait for this reset; the awards themselves are settled by the keys under which
    their round was locked (R-34).
    """

    seed_cents: int
    limit_cents: int | None
    reserve_surplus: ReserveSurplus
    overflow: Overflow
    below_seed: BelowSeed


def coming(plan: MeterPlan) -> Coming:
    """Of a meter's keys those that a reset acts by."""
    return Coming(*[getattr(plan, key) for key in Coming._fields])


def room(plan: MeterPlan | Coming, display: int, wanted: int) -> int:
    """How much of ``wanted`` microcents the display may still take below its limit."""
    if plan.limit_cents is None:
        return wanted
    return min(wanted, max(0, plan.limit_cents * MICROCENTS_PER_CENT - display))


def lay(plan: MeterPlan, amounts: Amounts, rate_part: int, reserve_part: int) -> Amounts:
    """The meter with a contribution laid on it: on the display up to the limit, the rest on the overflow (R-12)."""
    taken = room(plan, amounts.display, rate_part)
    return Amounts(amounts.display + taken, amounts.reserve + reserve_part, amounts.overflow + rate_part - taken)


def settle(plan: MeterPlan, before: Amounts, shares: Sequence[int], new: Coming | None = None) -> Settlement:
    """Take ``shares`` (ppm, in pay order) from a meter by its written policies; all or nothing.

    ``new``: the keys by which a 100% award begins the next meter, where they are other ones than the plan's.
    """
    meter, house = before, 0
    now: MeterPlan | Coming = plan
    awards = [0] * len(shares)
    for turn in _turns(plan, shares):
        if shares[turn[0]] < PPM:
            award = share_of_meter(meter.display, shares[turn[0]], plan.rounding)
            awards[turn[0]] = award
            meter = meter._replace(display=meter.display - award * MICROCENTS_PER_CENT)
            continue
        whole = meter.display // MICROCENTS_PER_CENT
        each, odd = divmod(whole, len(turn))
        for place, claim in enumerate(turn):
            awards[claim] = each + (1 if place < odd else 0)
        now = plan if new is None else new
        meter, seeded = _reset(now, meter._replace(display=meter.display - whole * MICROCENTS_PER_CENT))
        house += seeded
    if shares and now.below_seed is BelowSeed.TOP_UP:
        meter, seeded = _raise(meter, max(0, now.seed_cents * MICROCENTS_PER_CENT - meter.display))
        house += seeded
    return Settlement(tuple(awards), meter, house)


def _turns(plan: MeterPlan, shares: Sequence[int]) -> Iterator[list[int]]:
    """Who is paid together, and in which order: one claim each, or all 100% claims of a split."""
    tops = [claim for claim, share in enumerate(shares) if share >= PPM]
    together = tops if plan.tie_policy is TiePolicy.SPLIT else []
    if plan.order is Order.PARTIALS_FIRST:
        order = [claim for claim, share in enumerate(shares) if share < PPM] + tops
    else:
        order = list(range(len(shares)))
    for claim in order:
        if claim not in together:
            yield [claim]
        elif claim == together[0]:
            yield together


def _raise(meter: Amounts, wanted: int) -> tuple[Amounts, int]:
    """Add ``wanted`` to the display, from the reserve first; the rest is the house's, and returned (R-63)."""
    from_reserve = min(wanted, meter.reserve)
    raised = meter._replace(display=meter.display + wanted, reserve=meter.reserve - from_reserve)
    return raised, wanted - from_reserve


def _reset(plan: MeterPlan | Coming, meter: Amounts) -> tuple[Amounts, int]:
    """Seed the meter after a 100% award: the fraction of a cent stays, the seed is added to it (R-56)."""
    meter, house = _raise(meter, plan.seed_cents * MICROCENTS_PER_CENT)
    if plan.reserve_surplus is ReserveSurplus.ADD:
        moved = room(plan, meter.display, meter.reserve)
        meter = meter._replace(display=meter.display + moved, reserve=meter.reserve - moved)
    if plan.overflow is Overflow.NEXT_METER:
        moved = room(plan, meter.display, meter.overflow)
        meter = meter._replace(display=meter.display + moved, overflow=meter.overflow - moved)
    return meter, house
