"""Intake: bytes of a message become something for the books, or a refusal that uses up no number. Pure.

Device, topic and line must name the same table; who is not of this floor is refused by name (MQ-11, SE-02).
"""

from hashlib import sha256
from typing import NamedTuple

from controller.plan import FloorPlan
from controller.refusal import Refusal
from firmware_bridge.messages import Heard, Heartbeat, Hello, Malformed, Unreadable, Up, decode_binary, decode_json

EVIDENCE_MAX = 4_000
"""Characters of a malformed message that are kept; a longer one is cut and named by its digest."""


class NotTaken(NamedTuple):
    """A message that is no entry: counted, kept in a bounded list, shown."""

    reason: Refusal
    cause: str
    device: str
    pulse: bool = False
    """A hello or heartbeat: never answered."""


def read_json(plan: FloorPlan, text: bytes) -> Up | NotTaken | None:
    """The message in one JSON text; None for a hello or heartbeat with something wrong."""
    return _of_this_floor(plan, decode_json(text))


def read_frame(plan: FloorPlan, payload: bytes) -> Up | NotTaken | None:
    """The message in one binary frame; None for a hello or heartbeat with something wrong."""
    return _of_this_floor(plan, decode_binary(payload))


def _of_this_floor(plan: FloorPlan, message: Up | Unreadable | None) -> Up | NotTaken | None:
    if message is None:
        return None
    if isinstance(message, Unreadable):
        return NotTaken(Refusal.MALFORMED, message.cause, "")
    if isinstance(message, Malformed) and len(message.text) > EVIDENCE_MAX:
        digest = sha256(message.text.encode()).hexdigest()
        message = message._replace(text=f"{message.text[:EVIDENCE_MAX]} ... cut, sha256 {digest}")
    if message.device not in plan.table_of_device:
        return NotTaken(Refusal.UNKNOWN_DEVICE, "no table has this unit", message.device, _is_pulse(message))
    return message


def from_its_line(message: Up | NotTaken | None, device: str) -> Up | NotTaken | None:
    """The message if it speaks for ``device``, whose line or topic it came on; else a refusal naming both."""
    if message is None or isinstance(message, NotTaken) or message.device == device:
        return message
    cause = f"{message.device} spoke on the line of {device}"
    return NotTaken(Refusal.UNKNOWN_DEVICE, cause, message.device, _is_pulse(message))


def _is_pulse(message: Up) -> bool:
    return isinstance(message, Hello | Heartbeat | Heard)
