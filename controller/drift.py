"""Whether a meter rises, and is hit, as its configuration says: wagers since the last change against it. Pure (D6).

The figures at a change of configuration are kept by one entry, ``watch-begun``; under a book's first configuration
they are all zero and need none. Whole numbers only. The bounds:

- rate: what the wagers since the change contributed lies between 80% of the lowest configured contribution a wager
  and 100% of the highest, once there are ``WAGERS_MIN`` wagers. (Misdeals re-book contributions to the house; where
  they are more than a fifth of the play, that is worth an alarm too.)
- hits: with ``expected`` hits by the exact odds, their square distance is at most 36 x (expected + 1): six standard
  deviations of rare events and one hit of grace. Right play breaks it less than once in ten million looks at new hits.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from controller.floor import Floor
from controller.game.odds import Odds
from controller.plan import FloorPlan, SpotPlan
from controller.snapshot import MeterView, Snapshot
from controller.watch import Condition

ROW = "drift"
ENTRY = "watch-begun"
FIRST_CONFIG = 2
"""The number of a book's first configuration entry."""
WAGERS_MIN = 100
VOID_PARTS = (4, 5)
"""The least part of the lowest contribution that stands: the rest are misdeals."""
HITS_BOUND = 36


class Figures(NamedTuple):
    """What a meter had taken when its configuration began: wagers, microcents contributed, hits."""

    wagers: int = 0
    contributed: int = 0
    hits: int = 0


def needs_begin(floor: Floor) -> bool:
    """Whether a book's configuration is not its first and its figures are not kept yet."""
    if floor.plan_entry <= FIRST_CONFIG:
        return False
    rows = floor.rows.get(ROW, {})
    return any(rows.get(meter, {}).get("config") != floor.plan_entry for meter in floor.meters)


def begin(floor: Floor, at: int) -> None:
    """Enter every meter's figures as they stand: from here the new configuration is watched. Also for a replay."""
    made = {}
    for name, meter in floor.meters.items():
        figures = Figures(meter.wagers, -meter.players, sum(row.hits for row in meter.rows.values()))
        made[name] = {"config": floor.plan_entry, **figures._asdict()}
    floor.enter(ENTRY, at, body={"config": floor.plan_entry, "meters": made})
    for name, row in made.items():
        floor.keep(ROW, name, row)


def begun(rows: Mapping[str, Mapping[str, Any]], plan_entry: int, meter: str) -> Figures | None:
    """A meter's figures at the begin of a configuration; None while they are not known."""
    if plan_entry <= FIRST_CONFIG:
        return Figures()
    row = rows.get(meter)
    if row is None or row["config"] != plan_entry:
        return None
    return Figures(row["wagers"], row["contributed"], row["hits"])


def drifts(
    snapshot: Snapshot, begins: Mapping[str, Figures], chances: Mapping[str, Fraction]
) -> Iterator[Condition]:
    """The meters that drift. ``begins``: their figures at the last change; ``chances``: of a hit, per wager."""
    for name, meter in snapshot.meters.items():
        since = begins.get(name)
        if since is not None and meter.wagers - since.wagers >= WAGERS_MIN:
            wagers = meter.wagers - since.wagers
            yield from _rate(snapshot.plan, meter, wagers, meter.contributed_microcents - since.contributed)
            if name in chances:
                yield from _hits(meter, wagers, meter.hits - since.hits, chances[name])


def chances_of(plan: FloorPlan, odds: Mapping[str, Odds]) -> dict[str, Fraction]:
    """The chance that a wager is counted as a hit of each meter; without those whose tables differ, or have no odds.

    ``odds``: by paytable. A hit is counted at every meter that it has a share of, one without a share at the spot's
    first meter; rows that dealers do not key are not counted.
    """
    found: dict[str, set[Fraction | None]] = {}
    for table in plan.tables.values():
        for spot in table.spots:
            known = odds.get(spot.paytable.id)
            for feed in spot.feeds:
                chance = None if known is None else _chance(spot, feed.meter, known)
                found.setdefault(feed.meter, set()).add(chance)
    sure = {meter: next(iter(chances)) for meter, chances in found.items() if len(chances) == 1}
    return {meter: chance for meter, chance in sure.items() if chance}


def _chance(spot: SpotPlan, meter: str, odds: Odds) -> Fraction:
    total = Fraction(0)
    for prize in spot.paytable.prizes:
        counted = {spot.meter_of[part] for part, _ in prize.shares} or {spot.feeds[0].meter}
        if prize.keyed and meter in counted:
            total += odds.chance(prize.outcome)
    return total


def rate_bounds(plan: FloorPlan, meter: str) -> tuple[int, int]:
    """The lowest and highest contribution of one wager to a meter, in microcents: reserve included."""
    # A wager that feeds one meter by several parts is counted once for each of them.
    adds = [feed.display + feed.reserve for table in plan.tables.values() for spot in table.spots
            for feed in spot.feeds if feed.meter == meter]
    return (min(adds), max(adds)) if adds else (0, 0)


def _rate(plan: FloorPlan, meter: MeterView, wagers: int, contributed: int) -> Iterator[Condition]:
    low, high = rate_bounds(plan, meter.plan.id)
    part, whole = VOID_PARTS
    if contributed > high * wagers or contributed * whole < low * wagers * part:
        seen = contributed // wagers
        what = f"{wagers:,} wagers since the last change added {_cents(seen)} each, configured are {_cents(low)}"
        yield Condition("rate-drift", meter.plan.id, what + (f" to {_cents(high)}" if high != low else ""))


def _hits(meter: MeterView, wagers: int, hits: int, chance: Fraction) -> Iterator[Condition]:
    ways, of = chance.numerator, chance.denominator
    if (hits * of - wagers * ways) ** 2 > HITS_BOUND * of * (wagers * ways + of):
        expected = wagers * ways // of
        what = f"{hits:,} hits in {wagers:,} wagers since the last change; the odds make about {expected:,}"
        yield Condition("hits-drift", meter.plan.id, what)


def _cents(microcents: int) -> str:
    """An amount smaller than a cent, too: ``1.25 cents``."""
    whole, rest = divmod(microcents, 1_000_000)
    digits = f"{rest:06d}".rstrip("0")
    return f"{whole}.{digits} cents" if digits else f"{whole} cents"
