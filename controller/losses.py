"""What a table unit has lost, or counts otherwise: an entry, and a table that waits until people accept it. Pure.

Nothing is ever guessed: what is held is posted, the rest is lost (design section 9, R-94).
"""

from collections.abc import Callable
from typing import Any

from controller.floor import Floor
from controller.floor_state import Table
from controller.taken import Taken


def lose(floor: Floor, device: str, boot: str, first: int, kept_first: int, at: int) -> bool:
    """A gap the unit can no longer fill: an entry with the numbers; the table waits for people. True when new."""
    table = floor.tables[floor.plan.table_of_device[device].id]
    return _hold(floor, table, {"boot": boot, "first": first, "kind": "loss", "kept_first": kept_first}, at)


def differ(floor: Floor, device: str, boot: str, theirs: int, ours: int, at: int) -> bool:
    """The unit's and the host's totals of wagers differ for good: an entry; the table waits for people."""
    table = floor.tables[floor.plan.table_of_device[device].id]
    return _hold(floor, table, {"boot": boot, "kind": "difference", "ours": ours, "theirs": theirs}, at)


def _hold(floor: Floor, table: Table, loss: dict[str, Any], at: int) -> bool:
    if table.loss is not None:
        return False
    table.loss = loss
    floor.enter("loss", at, table=table.plan.id, device=table.plan.device, body=loss)
    floor.touch_table(table.plan.id)
    return True


def accept_loss(floor: Floor, table_id: str, reason: str, at: int) -> list[Taken]:
    """Somebody on the box accepts what is lost; while the daemon runs two people do (``table_acts``)."""
    table = floor.tables[table_id]
    if table.loss is None:
        return []
    device, loss = table.plan.device, table.loss
    if (device, loss["boot"]) not in floor.boots:
        floor.hear(device, loss["boot"], at)
    floor.enter("loss-accepted", at, table=table_id, device=device, body={"loss": loss, "reason": reason})
    return accept(floor, table, at)()


def accept(floor: Floor, table: Table, at: int) -> Callable[[], list[Taken]]:
    """A loss is accepted by the entry that is made next; what is returned must follow that entry.

    Then what is held, and what the unit kept, takes its turn.
    """
    device, loss = table.plan.device, table.loss or {}
    table.loss = None
    boot = floor.boots.get((device, loss["boot"])) or floor.hear(device, loss["boot"], at)
    floor.touch_table(table.plan.id)
    floor.touch_boot(device, loss["boot"])
    if loss["kind"] == "difference":
        boot.wagers_total += loss["theirs"] - loss["ours"]  # locks may have come since it was found
        return list
    boot.recount = True

    def take_turns() -> list[Taken]:
        taken = []
        for seq in sorted(seq for seq in boot.held if seq < loss["kept_first"]):
            boot.next = seq
            taken.append(floor.in_turn(boot, boot.held.pop(seq), at))
        boot.next = max(boot.next, loss["kept_first"])
        floor.touch_boot(device, loss["boot"])
        return taken + floor.held_in_turn(boot, at)

    return take_turns


def recount(floor: Floor, device: str, boot_name: str, theirs: int, at: int) -> None:
    """After an accepted loss the unit's total stands: what was lost was never the host's to count."""
    boot = floor.boots[device, boot_name]
    boot.recount = False
    body = {"ours": boot.wagers_total, "theirs": theirs}
    table = floor.plan.table_of_device[device].id
    floor.enter("recounted", at, table=table, device=device, boot=boot_name, body=body)
    boot.wagers_total = theirs
    floor.touch_boot(device, boot_name)
