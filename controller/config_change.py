"""What differs between two configurations, in words; and which meters wait for their next reset. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from controller.config_build import build
from controller.plan import FloorPlan, MeterPlan

METER_KEYS = (
    "book", "paytable", "part", "seed_cents", "reserve_ppm", "tie_policy", "order", "below_seed", "reserve_surplus",
    "rounding", "limit_cents", "overflow", "unreasonable_cents",
)
"""What makes a meter another one for its players; it changes only by people (R-33, R-34)."""
DIFFERENCES_MAX = 500


def changed_keys(old: FloorPlan, new: FloorPlan, name: str) -> list[str]:
    """The keys of a meter in both plans that differ, the rate of progression at a table that stays among them."""
    was, now = old.meters[name], new.meters[name]
    changed = [key for key in METER_KEYS if getattr(was, key) != getattr(now, key)]
    rates, before = _rates(new, now), _rates(old, was)
    # A table may join or leave a link; those that stay feed it as before.
    tables = [table for table in rates if table in before and rates[table] != before[table]]
    return changed + [f"rate of progression at table {table!r}" for table in tables]


def _rates(plan: FloorPlan, meter: MeterPlan) -> dict[str, list[tuple[int, int]]]:
    """The rate (ppm) and reserve (microcents) of each table that feeds a meter."""
    rates: dict[str, list[tuple[int, int]]] = {}
    for table in plan.tables.values():
        feeds = sorted([(one.rate_ppm, one.reserve) for s in table.spots for one in s.feeds if one.meter == meter.id])
        if feeds:
            rates[table.id] = feeds
    return rates


def links_of(plan: FloorPlan) -> dict[str, frozenset[str]]:
    """By table: the meters that it feeds."""
    return {table.id: frozenset(feed.meter for spot in table.spots for feed in spot.feeds)
            for table in plan.tables.values()}


def waiting_meters(old: FloorPlan, new: FloorPlan, opened: Collection[str]) -> frozenset[str]:
    """The opened meters whose change waits for their next reset, and those bound to one by a shared paytable."""
    both = [name for name in new.meters if name in old.meters and name in opened]
    changed = {name for name in both if changed_keys(old, new, name)}
    waiting = {name for name in changed if not new.meters[name].change_now}
    while True:
        sheets = {old.meters[name].paytable.id for name in waiting}
        bound = {name for name in changed - waiting if old.meters[name].paytable.id in sheets
                 or new.meters[name].paytable.id in sheets}
        if not bound:
            return frozenset(waiting)
        waiting |= bound


def effective(old: Mapping[str, Any], new: Mapping[str, Any], waiting: Collection[str]) -> dict[str, Any]:
    """The document in force while ``waiting`` meters keep their old sections: the rest of it is the new one's."""
    if not waiting:
        return dict(new)
    kept = {meter["id"]: meter for meter in old["meter"] if meter["id"] in waiting}
    paytables = dict(new["paytable"])
    for meter in kept.values():
        paytables[meter["paytable"]] = old["paytable"][meter["paytable"]]
    tables = {table["id"]: table for table in old["table"]}
    return {
        **new,
        "meter": [kept.get(meter["id"], meter) for meter in new["meter"]],
        "paytable": paytables,
        "table": [_with_old_spots(table, tables.get(table["id"]), waiting) for table in new["table"]],
    }


def _with_old_spots(
    table: Mapping[str, Any], was: Mapping[str, Any] | None, waiting: Collection[str]
) -> Mapping[str, Any]:
    """A table whose spots that feed a waiting meter stay as they were."""
    if was is None:
        return table
    old = {spot["id"]: spot for spot in was["spot"] if not set(spot["meters"].values()).isdisjoint(waiting)}
    return {**table, "spot": [old.get(spot["id"], spot) for spot in table["spot"]]}


def released_by(
    plan: FloorPlan, activated: Mapping[str, Any], waits: Collection[str]
) -> tuple[FloorPlan, frozenset[str]]:
    """The plan in force once only ``waits`` still wait for an activated document, and those of them that do.

    Raises ConfigError where the keys of the others make no sense beside a paytable that waits with them.
    """
    new = build(activated)
    still = frozenset(name for name in waits
                      if name in plan.meters and name in new.meters and changed_keys(plan, new, name))
    return build(effective(plan.document, new.document, still)), still


def released(
    plan: FloorPlan, activated: Mapping[str, Any], opened: Collection[str]
) -> tuple[FloorPlan, frozenset[str]]:
    """``released_by`` as rules version 1 had it: only ``opened`` meters may still wait, and any of them may again."""
    new = build(activated)
    still = waiting_meters(plan, new, opened)
    return build(effective(plan.document, new.document, still)), still


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Every difference between two documents as a line: ``meter pg-link, limit: none -> $300,000.00``."""
    found: list[str] = []
    for line in _differ("", old, new):
        if len(found) == DIFFERENCES_MAX:
            return [*found, "and more"]
        found.append(line)
    return found


def _differ(place: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    # A section that comes or goes is told key by key: whoever signs sees every rate, seed and prize of it (D2, D5).
    if old is None and _is_section(new):
        if "id" in new:
            yield f"{place}: new"
        old = type(new)()
    elif new is None and _is_section(old):
        yield f"{place}: goes"
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _differ(f"{place}, {key}" if place else str(key), old.get(key), new.get(key))
    elif _named(old or new) and _named(new or old) and isinstance(old, list) and isinstance(new, list):
        was, now = _by_name(old), _by_name(new)
        for name in dict.fromkeys([*was, *now]):
            yield from _differ(f"{place} {name}", was.get(name), now.get(name))
        if list(was) != list(now) and was.keys() == now.keys():
            yield f"{place}: in another order"
    else:
        yield f"{place}: {_shown(old)} -> {_shown(new)}"


def _is_section(found: Any) -> bool:
    return isinstance(found, Mapping) or _named(found)


def _named(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(
        isinstance(one, Mapping) and ("id" in one or "outcome" in one) for one in found)


def _by_name(found: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(one.get("id", one.get("outcome"))): one for one in found}


def _shown(found: Any) -> str:
    if found is None:
        return "not there"
    return ", ".join(str(one) for one in found) if isinstance(found, list) else str(found)
