"""The checks that people make at their time and enter as done: what each is, of what, how often, and by whom. Pure.

Reading signs, closing the day and sending notices are acts of their own; these are the others of the due list
(docs/REPORTS.md). An installation with another calendar changes this table in a version of its own.
"""

from enum import StrEnum
from typing import NamedTuple

from controller.act_types import ActKind, Field, Is
from controller.people import Role


class Of(StrEnum):
    """What one check is of, and is therefore named when it is entered."""

    FLOOR = "the floor"
    TABLE = "a table"
    METER = "a meter"
    ENTRY = "an entry"


class Check(NamedTuple):
    """One kind of check. ``months``: due in each calendar period of so many months; 0: once after an entry."""

    name: str
    words: str
    of: Of
    months: int
    source: str
    by: frozenset[Role]


_ACCOUNTING = frozenset((Role.ACCOUNTING,))
CHECKS = {check.name: check for check in (
    Check("day-one", "Reconcile every meter at the close of the day of a new configuration", Of.ENTRY, 0, "R-83",
          _ACCOUNTING),
    Check("first-award", "Reconcile the first award of its kind, and the amount that follows it", Of.ENTRY, 0, "R-83",
          _ACCOUNTING),
    Check("monthly-reading", "Read turnover and progressive meters, keep the form", Of.METER, 1, "R-82", _ACCOUNTING),
    Check("line-test", "Prove the table's line by a test bet or a reconciliation", Of.TABLE, 3, "R-81",
          frozenset((Role.SUPERVISOR, Role.SHIFT_MANAGER, Role.TECHNICIAN))),
    Check("sign-variance", "Reconcile the meter with its signs; a variance is owed to players", Of.METER, 3, "R-79",
          _ACCOUNTING),
    Check("rights-review", "Review who may do what, and end the rights of who has left", Of.FLOOR, 3, "R-104",
          frozenset((Role.ACCOUNTING, Role.AUDITOR, Role.ADMINISTRATOR))),
    Check("configuration-check", "Let independent people check the configuration, with a live test", Of.FLOOR, 12,
          "R-120", frozenset((Role.AUDITOR,))),
)}
"""By name. Who checks a configuration is none of those who propose or activate one (R-120)."""

CHECK_KINDS = (
    ActKind("check-done", "Enter a check as done",
            (Field("check", "Check", Is.CHOICE, tuple(CHECKS)), Field("table", "Table", Is.ID, optional=True),
             Field("meter", "Meter", Is.ID, optional=True),
             Field("entry", "Entry that asks for it", Is.NUMBER, optional=True),
             Field("finding", "What was found")),
            frozenset[Role]().union(*(check.by for check in CHECKS.values()))),
)
"""The one act that enters a check; ``controller.day_acts`` says who may enter which, and of what."""
