"""People made on the box, while no daemon runs: the first two, new secrets of two, and whole staffs of demo floors."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from controller import desk
from controller.acts import read_act
from controller.floor import Floor
from controller.offline import put_right
from controller.people import Person
from controller.register import PROPOSERS
from controller.vault import Vault, beside, hash_secret


class Newcomer(NamedTuple):
    """Somebody to be: who, the name that people read, and the chosen secret (it goes no further than its hash)."""

    person: Person
    name: str
    secret: str


def begin(path: Path, program: str, staff: Sequence[Newcomer], at: int) -> None:
    """Make the first two people of a ledger together; any others are proposed by one of them and enabled by the other.

    ``at``: UTC microseconds. Raises ActRefused (nothing is written), LedgerError or VaultError.
    """
    first, second = staff[:2]
    prints = keep_secrets(path, {one.person.id: one.secret for one in staff})
    proposer, enabler = (first, second) if first.person.role in PROPOSERS else (second, first)

    def change(floor: Floor) -> None:
        names = {"name": first.name, "second_name": second.name}
        _act(floor, at, "people-begun", names, first.person, second.person)
        for one in (first, second):
            _act(floor, at, "secret-changed", {"id": one.person.id, "print": prints[one.person.id]}, one.person)
        for one in staff[2:]:
            _join(floor, at, one, prints[one.person.id], proposer.person, enabler.person)

    on_the_register(path, program, at, change)


def _join(floor: Floor, at: int, one: Newcomer, printed: str, proposer: Person, enabler: Person) -> None:
    name = one.person.id
    asked = {"id": name, "name": one.name, "role": one.person.role.value, "department": one.person.department}
    _act(floor, at, "person-proposed", asked, proposer)
    _act(floor, at, "person-enabled", {"id": name}, enabler)
    _act(floor, at, "secret-changed", {"id": name, "print": printed, "first": "yes"}, enabler)
    _act(floor, at, "secret-changed", {"id": name, "print": printed}, one.person)


def set_secrets(path: Path, program: str, two: Mapping[Person, str], at: int) -> None:
    """Set the secrets of two people who sit at the box together, each signing for the other; raises as ``begin``."""
    prints = keep_secrets(path, {person.id: secret for person, secret in two.items()})

    def change(floor: Floor) -> None:
        for person, other in zip(two, reversed(list(two)), strict=True):
            _act(floor, at, "secret-set-on-box", {"id": person.id, "print": prints[person.id]}, person, other)

    on_the_register(path, program, at, change)


def keep_secrets(path: Path, chosen: Mapping[str, str]) -> dict[str, str]:
    """Hash secrets into the vault beside a ledger; their fingerprints, which count once the ledger names them."""
    vault = Vault(beside(path))
    return {name: vault.keep_hash(name, hash_secret(secret)) for name, secret in chosen.items()}


def on_the_register(path: Path, program: str, at: int, change: Callable[[Floor], None]) -> None:
    """Let people's acts be entries of the register's book, the first one."""

    def changing(floor: Floor) -> bool:
        if floor.book != floor.plan.books[0]:
            return False
        change(floor)
        return True

    since = datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    put_right(path, program, since, changing)


def _act(
    floor: Floor, at: int, kind: str, fields: Mapping[str, str], by: Person, second: Person | None = None
) -> None:
    desk.act(floor, read_act(kind, secrets.token_hex(16), fields, by, second), at)
