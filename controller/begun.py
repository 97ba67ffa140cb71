"""What ran when: one entry at each start of the controller, so that a sheet of an old day tells its own software. Pure.

The entry stands in the first book and moves no money. Hashes are SHA-256 in hex; ``controller.programs`` makes them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.floor import Floor
from controller.journal import RULES_VERSION
from controller.wiring import SignPlan

ENTRY = "program-begun"


class Software(NamedTuple):
    """The software of a controller: its version, the hash of its program, its interpreter and libraries."""

    version: str
    program: str
    """Of all files of the program."""
    python: str
    interpreter: str
    system: str
    libraries: Mapping[str, str]
    """By name and version: the hash of what was installed of each."""
    rules: int = RULES_VERSION
    """The version of the ledger's rules that it enters by."""


Sign = tuple[str, str, str]
"""A sign's id, kind, and the table or meters that it shows."""


def sign_told(sign: SignPlan) -> Sign:
    """A sign as sheets tell it."""
    return sign.id, sign.kind.value, sign.table or ", ".join(sign.meters)


def begin(floor: Floor, software: Software, signs: tuple[Sign, ...], at: int) -> None:
    """Enter that the controller begins, with its software, its signs, and the configuration that it found in force."""
    made = software._asdict() | {"libraries": dict(software.libraries)}
    enter(floor, made | {"config": floor.plan.hash, "signs": [list(sign) for sign in signs]}, at)


def enter(floor: Floor, body: Mapping[str, Any], at: int) -> None:
    """The entry itself; also for a replay."""
    floor.enter(ENTRY, at, body=dict(body))


def begun_from(body: Mapping[str, Any]) -> tuple[Software, tuple[Sign, ...]]:
    """Software and signs from an entry's body."""
    software = Software(**{name: body[name] for name in Software._fields})
    return software, tuple((sign[0], sign[1], sign[2]) for sign in body["signs"])
