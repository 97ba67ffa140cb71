"""What many lives of a meter have in common: the figures that people read (docs/ODDS.md). Pure."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller.game.odds import MeterOdds
from controller.game.simulate import Lives, Policies, Span, Whole
from controller.money import format_cents

_POINTS = {"p05": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}


def life_json(odds: MeterOdds, policies: Policies, span: Span, lives: Lives) -> dict[str, Any]:
    """The answer of ``meterctl simulate --json``. Cents are whole; days and parts are rounded for display."""
    hits = int(lives.hits.sum())
    wagered = span.wagers * span.runs * odds.wager_cents
    house = int(lives.house_seed_cents.sum()) + int(lives.top_up_cents.sum())
    house_seeds = int(lives.house_seeds.sum())
    return {
        "meter": odds.part,
        "wagers_per_run": span.wagers,
        "runs": span.runs,
        "policies": _policies_json(policies),
        "hits": hits,
        "runs_without_hit": int((lives.hits == 0).sum()),
        "amount_at_hit_cents": _spread(lives.hit_cents, whole=True),
        "days_between_hits": _spread(lives.gaps / span.wagers_per_day, whole=False),
        "house": {
            "seeds": house_seeds,
            "part_of_seeds": _part(house_seeds, hits),
            "seed_cents_per_run": _spread(lives.house_seed_cents, whole=True),
            "top_up_cents_per_run": _spread(lives.top_up_cents, whole=True),
            "per_dollar": _part(house, wagered),
        },
        "reserve": {
            "seeds_paid_whole": hits - house_seeds,
            "part_of_seeds_paid_whole": _part(hits - house_seeds, hits),
            "end_cents": _spread(lives.reserve_cents, whole=True),
            "enough_in_runs": int((lives.house_seed_cents == 0).sum()),
        },
        "below_seed_part_of_wagers": _part(int(lives.below_seed_wagers.sum()), span.wagers * span.runs),
        "overflow_end_cents": _spread(lives.overflow_cents, whole=True),
    }


def _policies_json(policies: Policies) -> dict[str, str]:
    limit = "none" if policies.limit_cents is None else format_cents(policies.limit_cents)
    return {
        "below_seed": policies.below_seed.value,
        "reserve_surplus": policies.reserve_surplus.value,
        "rounding": policies.rounding.value,
        "limit": limit,
        "overflow": policies.overflow.value,
    }


def _part(some: int, all_of_them: int) -> float | None:
    return some / all_of_them if all_of_them else None


def _spread(found: Whole | NDArray[np.float64], whole: bool) -> dict[str, float | int] | None:
    """Mean, least, greatest and the points between; None of nothing. Whole numbers are those that occurred."""
    if not found.size:
        return None
    points = np.percentile(found, list(_POINTS.values()), method="inverted_cdf" if whole else "linear")
    spread = dict(zip(_POINTS, points, strict=True)) | {"mean": found.mean(), "min": found.min(), "max": found.max()}
    names = ("mean", "min", *_POINTS, "max")
    return {name: round(float(spread[name])) if whole else round(float(spread[name]), 3) for name in names}
