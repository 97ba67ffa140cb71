"""The register of people, tokens and remote openings as the ledger's rows keep it. Pure (R-104, R-105).

Rows of the first book: ``person`` by sign-in name, ``token`` by its id, ``remote`` by the person's sign-in name. No
secret stands in them: of a secret only the fingerprint, of a token only its digest.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.people import Person, Role

Rows = Mapping[str, Mapping[str, Any]]
"""Rows of one kind by key."""

PROPOSERS = frozenset({Role.SHIFT_MANAGER, Role.ADMINISTRATOR})
"""Who may propose a person or a change of rights."""
ENABLERS = PROPOSERS | {Role.ACCOUNTING, Role.AUDITOR}
"""Who may enable what somebody of another department has proposed. Surveillance only looks."""


class Change(NamedTuple):
    """What waits to be enabled: the role and department to be, by whom proposed and when (UTC microseconds)."""

    role: Role
    department: str
    new_secret: bool
    by: Person
    at: int
    act: str


class Registered(NamedTuple):
    """One person of the register. ``state``: proposed, enabled or disabled; ``since``: when rights last changed."""

    person: Person
    name: str
    state: str
    since: int
    waiting: Change | None
    secret: str
    """The fingerprint of the secret's hash; empty: none was set."""
    secret_at: int
    must_change: bool
    """The secret was not chosen by the person: it opens only the page where it is changed."""
    first_by: str
    """Who may set a first secret now: the one who enabled it; empty: nobody."""

    @property
    def enabled(self) -> bool:
        """Whether this person may sign anything."""
        return self.state == "enabled"


def registered(rows: Rows, name: str) -> Registered | None:
    """Somebody of the register by sign-in name, in whatever state."""
    row = rows.get(name)
    return None if row is None else from_row(name, row)


def everybody(rows: Rows) -> list[Registered]:
    """The whole register in the order of sign-in names."""
    return [from_row(name, row) for name, row in sorted(rows.items())]


def from_row(name: str, row: Mapping[str, Any]) -> Registered:
    """A person as a row keeps them; raises KeyError or ValueError for a row that is none."""
    waiting = row["waiting"]
    return Registered(
        Person(name, Role(row["role"]), row["department"]), row["name"], row["state"], row["since"],
        None if waiting is None else Change(
            Role(waiting["role"]), waiting["department"], waiting["new_secret"],
            Person(waiting["by"][0], Role(waiting["by"][1]), waiting["by"][2]), waiting["at"], waiting["act"]),
        row["secret"], row["secret_at"], row["must_change"], row["first_by"])


def to_row(one: Registered) -> dict[str, Any]:
    """A person as a row keeps them."""
    change = one.waiting
    return {
        "department": one.person.department, "first_by": one.first_by, "must_change": one.must_change,
        "name": one.name, "role": one.person.role.value, "secret": one.secret, "secret_at": one.secret_at,
        "since": one.since, "state": one.state,
        "waiting": None if change is None else {
            "act": change.act, "at": change.at, "by": list(change.by), "department": change.department,
            "new_secret": change.new_secret, "role": change.role.value},
    }


def can_go_on(rows: Rows, enablers: frozenset[Role] = ENABLERS) -> bool:
    """Whether two enabled people of two departments are left of whom one can propose and the other enable."""
    able = [one.person for one in everybody(rows) if one.enabled]
    return any(
        first.department != second.department
        for first in able if first.role in PROPOSERS
        for second in able if second.role in enablers
    )


def remote_stands(rows: Rows, name: str, opening: str, at: int) -> bool:
    """Whether the remote access that a session was opened by still stands: one opening, one session (R-105).

    ``opening``: the act that opened it; empty: of before rules version 4, when openings had no name.
    """
    row = rows.get(name)
    return row is not None and int(row["until"]) > at and row.get("opening", "") == opening
