"""What an act of people is: its kind, what it asks, who signs, why it is refused, and what came of it. Pure values."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from controller.floor_state import canonical
from controller.people import Person, Role

TEXT_MAX = 400


class Why(StrEnum):
    """Why an act was refused: the closed list, as answered and as kept in the ledger."""

    NOT_ALLOWED = "not-allowed"
    SECOND_PERSON = "second-person"
    THIRD_PERSON = "third-person"
    SAME_PERSON = "same-person"
    SAME_DEPARTMENT = "same-department"
    WRONG_FIELD = "wrong-field"
    ACT_DIFFERS = "act-differs"
    NOT_FOUND = "not-found"
    ALREADY_DONE = "already-done"
    NOT_NOW = "not-now"
    TOUCHED_IT = "touched-it"


class ActRefused(Exception):
    """An act that is not done, and nothing of it is: why, what is so, and what to do now."""

    def __init__(self, why: Why, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.why, self.what, self.remedy = why, what, remedy


class Is(StrEnum):
    """What a field of an act holds."""

    TEXT = "text"
    MONEY = "money"
    NUMBER = "number"
    DATE = "date"
    """A date, written and kept like ``2026-12-31``."""
    ID = "id"
    CHOICE = "choice"
    YES_NO = "yes-no"
    DOCUMENT = "document"
    """A JSON object; no form asks for one."""


class Field(NamedTuple):
    """One thing that an act asks. Money is written ``$1,234.50`` and kept as cents."""

    name: str
    label: str
    kind: Is = Is.TEXT
    choices: tuple[str, ...] = ()
    optional: bool = False
    most: int = TEXT_MAX
    """Letters of a text at most."""


class ActKind(NamedTuple):
    """One kind of act: its entry's kind, its words, what it asks, and the roles of those who sign."""

    name: str
    title: str
    fields: tuple[Field, ...]
    by: frozenset[Role]
    second: frozenset[Role] = frozenset()
    """Roles of a second person, another one than the first; empty: one person does it alone."""
    third: frozenset[Role] = frozenset()
    """Roles of a third person, where the act needs one (the rules of the act say when)."""
    other_department: bool = False
    """The second person must be of another department (R-36, R-99)."""


class Act(NamedTuple):
    """One act as it is asked for. ``id`` names the form or request: the same one is done once, however often sent."""

    kind: str
    id: str
    by: Person
    second: Person | None
    third: Person | None
    fields: Mapping[str, Any]
    token: str = ""
    """The name of the API token by which it came; empty: a person was there, in a session or on the box."""

    def people(self) -> list[Person]:
        """Everybody who signed."""
        return [person for person in (self.by, self.second, self.third) if person is not None]

    def content(self) -> str:
        """What makes two acts the same, in its one written form: by which token it came is no part of that."""
        return canonical(act_body(self._replace(token="")))


class Acted(NamedTuple):
    """What came of an act: its entry, and what the answer tells; ``before``: it had been done already."""

    entry: int
    told: Mapping[str, Any]
    before: bool = False


def act_body(act: Act) -> dict[str, Any]:
    """An act as its entry's body keeps it."""
    made: dict[str, Any] = {"by": list(act.by), "fields": dict(act.fields)}
    for name, person in (("second", act.second), ("third", act.third)):
        if person is not None:
            made[name] = list(person)
    if act.token:
        made["token"] = act.token
    return made


def act_from(kind: str, act_id: str, body: Mapping[str, Any]) -> Act:
    """The act that an entry's body keeps."""
    people = [None if body.get(name) is None else Person(body[name][0], Role(body[name][1]), body[name][2])
              for name in ("by", "second", "third")]
    if people[0] is None:
        raise ValueError("an act by nobody")
    return Act(kind, act_id, people[0], people[1], people[2], body["fields"], body.get("token", ""))
