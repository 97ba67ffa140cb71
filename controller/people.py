"""Who does what: named people, each with one role and one department. Pure (R-101, R-104).

A ``Person`` in an act is who they were at that moment; a later change of role changes no entry.
"""

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What a person is on the floor; each has exactly one."""

    SUPERVISOR = "supervisor"
    SHIFT_MANAGER = "shift-manager"
    ACCOUNTING = "accounting"
    SURVEILLANCE = "surveillance"
    TECHNICIAN = "technician"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"


FLOOR_ROLES = frozenset((Role.SUPERVISOR, Role.SHIFT_MANAGER))
"""Who verifies and pays where a configuration names nobody."""
RELEASE_ROLES = frozenset((Role.SHIFT_MANAGER, Role.ACCOUNTING))
"""Who releases large awards where a configuration names nobody."""
DEPARTMENTS = ("table-games", "security", "accounting", "it", "surveillance", "audit")
"""The departments where a configuration names none."""


class Person(NamedTuple):
    """Somebody as they sign an act: sign-in name, role and department."""

    id: str
    role: Role
    department: str

    def words(self) -> str:
        """``anna (supervisor, table-games)``."""
        return f"{self.id} ({self.role.value}, {self.department})"


def person_from(made: list[str]) -> Person:
    """A person as an entry's body keeps them; raises ValueError for an unknown role."""
    name, role, department = made
    return Person(name, Role(role), department)
