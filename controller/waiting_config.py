"""What people have activated and is not in force yet: a meter's own keys wait for its next reset (R-34). Pure.

The configuration in force, and what waits for a reset, are the whole floor's: every book keeps both. Where a floor has
several books, what one of them comes under all come under, in the same commit (``spread``).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from controller.config_build import build
from controller.config_change import released
from controller.plan import FloorPlan

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


def follow_resets(floor: "Floor", resets: set[str], at: int) -> None:
    """Meters were reset by 100% awards of games that are over, or have ended: what waited for it acts from here on."""
    kept = waiting_of(floor)
    if kept is not None and not resets.isdisjoint(kept["meters"]):
        elsewhere = {name for name, meter in floor.plan.meters.items()
                     if name in kept["meters"] and meter.book != floor.book}
        plan, still = released(floor.plan, kept["document"], (floor.opened_meters() | elsewhere) - resets)
        keep_waiting(floor, kept["document"], still)
        floor.configure(plan, at)


def spread(floors: Iterable["Floor"], leader: "Floor", at: int) -> None:
    """Bring every book under what one has come under; their entries must be committed with its own."""
    for floor in floors:
        if floor is not leader and not agree(floor, leader.plan, waiting_of(leader)):
            follow(floor, leader.plan, waiting_of(leader), at)


def agree(floor: "Floor", plan: FloorPlan, waiting: Mapping[str, Any] | None) -> bool:
    """Whether a book is under a plan, and keeps what waits."""
    return floor.plan.hash == plan.hash and waiting_of(floor) == waiting


def follow(floor: "Floor", plan: FloorPlan, waiting: Mapping[str, Any] | None, at: int) -> None:
    """Enter a configuration that another book has come under, with what waits beside it."""
    if waiting is None and waiting_of(floor) is None:
        floor.configure(plan, at)
    else:
        floor.keep("config", "waiting", None if waiting is None else dict(waiting))
        floor.configure(plan, at, waiting=waiting)


def configure_again(floor: "Floor", body: Mapping[str, Any], at: int) -> None:
    """Come under the configuration of an entry ``config`` that no act made, to compare (``verify --replay``)."""
    if "waiting" in body:
        follow(floor, build(body["document"]), body["waiting"], at)
    else:
        floor.configure(build(body["document"]), at)
