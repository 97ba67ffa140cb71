"""Tables and their linked jackpots: which of them is not there to be played for, and which a table has left. Pure.

A table leaves or joins a link by an activated configuration, and only when it is closed; its sign says what it has left
until it is linked to it again (R-30). That is kept as a row of the book. A jackpot that is retired, or taken off the
floor, is nothing to be linked to any more.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from controller.config_change import links_of
from controller.plan import FloorPlan

if TYPE_CHECKING:
    from controller.floor import Floor

UNLINKED = "unlinked"
"""By table: the meters that it has left."""


_SHUT = (("unopened", "the jackpot {} is not opened yet"), ("retired", "the jackpot {} is retired"))
"""By kind of row that names a meter: why the tables that feed it accept no lock-out, in the floor's words."""


def tell_tables(floor: "Floor") -> None:
    """Tables that feed a meter which is not opened yet, or is retired, accept no lock-out (R-38, R-44)."""
    gone = [(name, words) for kind, words in _SHUT for name in floor.rows.get(kind, {})]
    for table in floor.tables.values():
        table.shut = next((words.format(one.name) for one in table.plan.meters.values()
                           for name, words in gone if name == one.id), "")


def note_links(floor: "Floor", new: FloorPlan) -> None:
    """A book comes under another plan: remember which of its tables leave a meter, and forget what they join."""
    before, now = links_of(floor.plan), links_of(new)
    for table in floor.tables:
        left = set(floor.rows.get(UNLINKED, {}).get(table, {"meters": ()})["meters"])
        left = (left | before.get(table, frozenset())) - now.get(table, frozenset())
        _keep(floor, table, left & new.meters.keys() if table in new.tables else ())


def tables_that_left(floor: "Floor", meter: str) -> list[str]:
    """The tables of a book that have left a meter, and are not linked to it again."""
    return [table for table, made in floor.rows.get(UNLINKED, {}).items() if meter in made["meters"]]


def forget_meter(floor: "Floor", meter: str) -> None:
    """A meter is retired: no table has left it any more."""
    for table, made in list(floor.rows.get(UNLINKED, {}).items()):
        _keep(floor, table, set(made["meters"]) - {meter})


def _keep(floor: "Floor", table: str, meters: Collection[str]) -> None:
    if sorted(meters) != floor.rows.get(UNLINKED, {}).get(table, {"meters": []})["meters"]:
        floor.keep(UNLINKED, table, {"meters": sorted(meters)} if meters else None)


def names_left(plan: FloorPlan, made: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of the jackpots that a table's row says it has left."""
    return tuple([plan.meters[name].name for name in (made or {"meters": ()})["meters"] if name in plan.meters])
