"""What people have activated and is not in force yet: a meter's own keys wait for its next reset (R-34). Pure.

The configuration in force, what waits for a reset, and which of that was reset, are the whole floor's: every book keeps
all three. Where a floor has several books, what one of them comes under all come under, in one commit (``spread``).
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from controller.config_build import build
from controller.config_change import released, released_by
from controller.config_reader import ConfigError
from controller.journal import TABLE_RULES
from controller.money import MICROCENTS_PER_CENT, format_cents, format_microcents
from controller.plan import FloorPlan, MeterPlan

if TYPE_CHECKING:
    from controller.floor import Floor


def waiting_of(floor: "Floor") -> dict[str, Any] | None:
    """What waits, as a book keeps it: the activated ``document`` and the ``meters`` that wait for it; None: nothing."""
    return floor.rows.get("config", {}).get("waiting")


def keep_waiting(floor: "Floor", document: Mapping[str, Any], waiting: Iterable[str]) -> None:
    """Keep an activated document that these meters wait for; nothing once none does."""
    meters = sorted(waiting)
    if meters or waiting_of(floor) is not None:
        floor.keep("config", "waiting", {"document": dict(document), "meters": meters} if meters else None)


def tell_meters(floor: "Floor") -> None:
    """Tell each meter of a book whether keys wait for its reset: the reset itself begins the next meter by them."""
    waiting = (waiting_of(floor) or {"meters": ()})["meters"]
    for name, meter in floor.meters.items():
        meter.waits = partial(_after, floor, name) if name in waiting else None


def _after(floor: "Floor", name: str, resets: set[str]) -> MeterPlan:
    """The keys of a waiting meter once it is reset, with those others; as they are where they cannot act yet."""
    kept = waiting_of(floor) or {}
    return _at_reset(floor.plan, kept["document"], set(kept["meters"]) - resets - _done(floor), name)


def waiting_words(
    plan: FloorPlan, document: Mapping[str, Any], meters: Iterable[str], displays: Mapping[str, int]
) -> list[str]:
    """When a waiting seed is paid in, and which waiting limit is not above the amount: lines for people.

    ``displays``: what the meters stand at, in microcents.
    """
    new, waits = build(document), sorted(meters)
    lines = []
    for name in (one for one in waits if one in plan.meters and one in new.meters):
        was, now = plan.meters[name], new.meters[name]
        if now.seed_cents != was.seed_cents:
            seed = f"{now.name}: the new seed, {format_cents(now.seed_cents)}, is put in by the next 100% award"
            if _at_reset(plan, document, {*waits} - {name}, name).seed_cents == now.seed_cents:
                lines.append(f"{seed}, which itself takes the amount as it stands")
            else:
                others = [new.meters[one].name for one in waits
                          if one != name and one in new.meters and new.meters[one].paytable.id == now.paytable.id]
                lines.append(f"{seed} after {' and '.join(others)} has been won too: they share a paytable")
        limit = now.limit_cents
        if limit not in (None, was.limit_cents) and displays.get(name, 0) >= (limit or 0) * MICROCENTS_PER_CENT:
            lines.append(f"{now.name}: the new limit, {format_cents(limit or 0)}, is not above the amount, "
                         f"{format_microcents(displays[name])}: it waits for a reset that leaves it so")
    return lines


def _at_reset(plan: FloorPlan, document: Mapping[str, Any], still: Iterable[str], name: str) -> MeterPlan:
    try:
        return released_by(plan, document, set(still))[0].meters[name]
    except ConfigError:
        return plan.meters[name]


def _done(floor: "Floor") -> set[str]:
    """Waiting meters that were reset, and whose keys cannot act before those of another meter do."""
    return set(floor.rows.get("config", {}).get("reset", {}).get("meters", ()))


def _keep_done(floor: "Floor", meters: set[str]) -> None:
    if meters != _done(floor):
        floor.keep("config", "reset", {"meters": sorted(meters)} if meters else None)


def follow_resets(floor: "Floor", resets: set[str], at: int) -> None:
    """Meters were reset by 100% awards of games that are over, or have ended: what waited for it acts from here on.

    Each meter's keys only by its own reset. A limit that is not above the amount by now goes on waiting, for the next
    reset, and an entry says so (R-40). Where a shared paytable does not allow the keys of one meter without those of
    another, they wait for the other's reset too.
    """
    kept = waiting_of(floor)
    if kept is None or resets.isdisjoint(kept["meters"]):
        return
    if floor.rules < TABLE_RULES:
        _follow_by_first_rules(floor, kept, resets, at)
        return
    new, ready = build(kept["document"]), (resets | _done(floor)) & set(kept["meters"])
    for name in sorted(ready):
        if _is_above(floor, new, name, just_reset=name in resets):
            ready.discard(name)
            if name in floor.meters:
                floor.enter("limit-waits", at, body={"display": floor.meters[name].display, "meter": name,
                                                     "limit_cents": new.meters[name].limit_cents})
    try:
        plan, still = released_by(floor.plan, kept["document"], set(kept["meters"]) - ready)
    except ConfigError:
        _keep_done(floor, ready)
        return
    _keep_done(floor, set())
    if ready:
        keep_waiting(floor, kept["document"], still)
        floor.configure(plan, at)


def _is_above(floor: "Floor", new: FloorPlan, name: str, *, just_reset: bool) -> bool:
    """Whether a limit would come into force under the amount; a reset has just filled the meter up to it at most.

    What a meter of another book, reset before, stands at by now is not known here: it may.
    """
    meter, limit = floor.meters.get(name), new.meters[name].limit_cents if name in new.meters else None
    if limit is None or name not in floor.plan.meters or limit == floor.plan.meters[name].limit_cents:
        return False
    if meter is None:
        return True
    most = limit * MICROCENTS_PER_CENT
    return meter.display > most or (meter.display == most and not just_reset)


def _follow_by_first_rules(floor: "Floor", kept: Mapping[str, Any], resets: set[str], at: int) -> None:
    """As rules version 1 had it."""
    elsewhere = {name for name, meter in floor.plan.meters.items()
                 if name in kept["meters"] and meter.book != floor.book}
    plan, still = released(floor.plan, kept["document"], (floor.opened_meters() | elsewhere) - resets)
    keep_waiting(floor, kept["document"], still)
    floor.configure(plan, at)


class Agreed(NamedTuple):
    """What every book of a floor keeps alike: the plan, what waits, and which waiting meters were reset already."""

    plan: FloorPlan
    waiting: Mapping[str, Any] | None
    reset: Mapping[str, Any] | None


def agreed_of(floor: "Floor") -> Agreed:
    """What a book is under."""
    return Agreed(floor.plan, waiting_of(floor), floor.rows.get("config", {}).get("reset"))


def spread(floors: Iterable["Floor"], leader: "Floor", at: int, before: Agreed | None = None) -> None:
    """Bring every book under what one has come under; their entries must be committed with its own.

    ``before``: what the leader was under before its entries; while that stands, there is nothing to bring.
    """
    agreed = agreed_of(leader)
    if before is not None and all(now is was for now, was in zip(agreed, before, strict=True)):
        return
    for floor in floors:
        if floor is not leader and not agree(floor, agreed):
            follow(floor, agreed, at)


def agree(floor: "Floor", agreed: Agreed) -> bool:
    """Whether a book is under a plan, keeps what waits, and which meters of it were reset."""
    own = agreed_of(floor)
    return (own.plan.hash, own.waiting, own.reset) == (agreed.plan.hash, agreed.waiting, agreed.reset)


def follow(floor: "Floor", agreed: Agreed, at: int) -> None:
    """Enter a configuration that another book has come under, with what waits, and what was reset, beside it."""
    own, kept = agreed_of(floor), dict[str, Mapping[str, Any] | None]()
    if agreed.waiting is not None or own.waiting is not None:
        kept["waiting"] = agreed.waiting
    if agreed.reset != own.reset:
        kept["reset"] = agreed.reset
    _come_under(floor, agreed.plan, kept, at)


def _come_under(floor: "Floor", plan: FloorPlan, kept: Mapping[str, Mapping[str, Any] | None], at: int) -> None:
    for name, row in kept.items():
        floor.keep("config", name, None if row is None else dict(row))
    floor.configure(plan, at, **kept)


def configure_again(floor: "Floor", body: Mapping[str, Any], at: int) -> None:
    """Come under the configuration of an entry ``config`` that no act made, to compare (``verify --replay``)."""
    _come_under(floor, build(body["document"]), {name: body[name] for name in ("waiting", "reset") if name in body}, at)
