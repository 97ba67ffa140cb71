"""What a table unit is told of its table at its welcome, and whether a serial line can carry what the two say. Pure."""

from controller.plan import TablePlan
from firmware_bridge.frames import FRAME_BYTES_MAX
from firmware_bridge.messages import (
    Down,
    Lamp,
    Lamps,
    Layout,
    Lock,
    SpotLayout,
    SpotOutcomes,
    Up,
    Wager,
    encode_binary,
)

_CODING_BYTES = 2 + FRAME_BYTES_MAX // 254 + 1
"""CRC and COBS overhead of the longest frame."""


def layout_of(table: TablePlan) -> Layout:
    """The spots of a table with their wagers, and the outcomes of each that the dealer keys."""
    return Layout(
        tuple([SpotLayout(spot.id, spot.paytable.wager_cents) for spot in table.spots]),
        tuple([SpotOutcomes(spot.id, tuple([prize.outcome for prize in spot.paytable.prizes if prize.keyed]))
               for spot in table.spots]))


def fits_a_line(table: TablePlan) -> bool:
    """Whether the layout, a full table's lamps and its lock-out each fit one frame; ids that are too long do not."""
    places = [(seat, spot.id) for seat in range(1, table.seats + 1) for spot in table.spots]
    boot = "b" * 64
    said: tuple[Up | Down, ...] = (
        layout_of(table),
        Lamps(1, tuple([Lamp(*place, "locked") for place in places])),
        Lock(table.device, boot, 1, 1, tuple([Wager(*place, 1) for place in places])),
    )
    return max(len(encode_binary(one)) for one in said) + _CODING_BYTES <= FRAME_BYTES_MAX
