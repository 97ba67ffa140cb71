"""What people have activated and is not in force yet: a meter's own keys wait for its next reset (R-34). Pure."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from controller.config_change import released

if TYPE_CHECKING:
    from controller.floor import Floor


def keep_waiting(floor: "Floor", document: Mapping[str, Any], waiting: Iterable[str]) -> None:
    """Keep an activated document that these meters wait for; nothing once none does."""
    meters = sorted(waiting)
    if meters or "waiting" in floor.rows.get("config", {}):
        floor.keep("config", "waiting", {"document": dict(document), "meters": meters} if meters else None)


def follow_resets(floor: "Floor", resets: set[str], at: int) -> None:
    """Meters were reset by 100% awards of games that are over, or have ended: what waited for it acts from here on."""
    kept = floor.rows.get("config", {}).get("waiting")
    if kept is not None and not resets.isdisjoint(kept["meters"]):
        plan, still = released(floor.plan, kept["document"], floor.opened_meters() - resets)
        keep_waiting(floor, kept["document"], still)
        floor.configure(plan, at)
