"""docs/ROLES.md against every route and every act; and the whole matrix role x act, asked for real (WE-03).

Run as a program, this file writes the table of acts anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from people_house import PeopleHouse, Screen, people_app, screens
from starlette.routing import Route

from controller.acts import KINDS, ActKind, Is
from controller.people import Person, Role
from controller.people_acts import MADE_INSIDE

DOC = Path(__file__).parents[1] / "docs" / "ROLES.md"
BEGIN, END = "<!-- acts: written by tests/test_roles_doc.py from the table of acts -->", "<!-- end -->"
ONE_OF_EACH = tuple(Person(f"a-{role.value}", role, "security") for role in Role)


def who(roles: frozenset[Role]) -> str:
    """Roles in a cell."""
    if roles == frozenset(Role):
        return "every role"
    return ", ".join(role.value for role in Role if role in roles)


def act_row(kind: ActKind) -> str:
    """One act as a row."""
    by = "itself" if kind.name in MADE_INSIDE else who(kind.by)
    second = who(kind.second) + (", another department" if kind.other_department else "")
    third = f"{who(kind.third)}, where asked" if kind.third else ""
    return f"| `{kind.name}` | {kind.title} | {by} | {second} | {third} |"


def acts_table() -> str:
    """Every act, by its name."""
    head = ["| act | in words | who | second person | another person |", "|---|---|---|---|---|"]
    return "\n".join(head + [act_row(KINDS[name]) for name in sorted(KINDS)])


def documented_acts() -> str:
    return DOC.read_text().split(BEGIN)[1].split(END)[0].strip()


def documented_routes() -> dict[str, str]:
    return dict(re.findall(r"^\| `((?:GET|POST) [^`]+)` \| ([^|]+?) \|$", DOC.read_text(), re.M))


def routes(app: object) -> dict[str, Route]:
    """Every route of the application as ``METHOD /path``."""
    found = {}

    def walk(some: object) -> None:
        for route in getattr(some, "routes", []):
            if isinstance(route, APIRoute | Route):
                for method in sorted((route.methods or set()) - {"HEAD"}):
                    found[f"{method} {route.path}"] = route
            else:
                walk(getattr(route, "original_router", route))

    walk(app)
    return found


def test_the_table_of_acts_is_the_one_that_decides() -> None:
    assert documented_acts() == acts_table(), "run `python tests/test_roles_doc.py`"


def test_every_address_stands_in_the_table(tmp_path: Path) -> None:
    assert set(documented_routes()) == set(routes(people_app(PeopleHouse(), tmp_path)))


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[Screen]:
    with screens(PeopleHouse(), tmp_path, 1) as (screen,):
        yield screen


@pytest.mark.parametrize("route", sorted(documented_routes()))
def test_an_address_lets_in_without_a_session_whom_the_table_says(nobody: Screen, route: str) -> None:
    method, path = route.split(" ")
    if path.startswith("/events/"):
        return  # a stream without an end: that it is open is the browser tests'
    answer = nobody.client.request(method, re.sub(r"\{\w+\}", "x", path))
    assert (answer.status_code == 401) == documented_routes()[route].startswith("signed in")


def fields(kind: ActKind) -> dict[str, object]:
    """Something to read in every field."""
    words: dict[Is, object] = {
        Is.DOCUMENT: {}, Is.ID: "a-nobody", Is.MONEY: "$1.00", Is.NUMBER: "1", Is.TEXT: "because", Is.YES_NO: "yes",
        Is.DATE: "2026-01-31"}
    made: dict[str, object] = {
        field.name: field.choices[0] if field.kind is Is.CHOICE else words[field.kind] for field in kind.fields}
    return made | ({"department": "security"} if "department" in made else {})


@pytest.mark.parametrize("role", list(Role))
def test_a_role_does_what_the_table_says_and_nothing_else(tmp_path: Path, role: Role) -> None:
    """WE-03: each act asked for by each role, through the program's door."""
    house = PeopleHouse(staff=ONE_OF_EACH)
    with screens(house, tmp_path, 1) as (screen,):
        assert screen.sign_in(f"a-{role.value}").status_code == 303
        head = screen.origin | {"x-csrf": screen.csrf}
        wrong = []
        for number, kind in enumerate(KINDS.values()):
            body = {"id": f"matrix-{number:04}", "fields": fields(kind)}
            answer = screen.client.post(f"/api/v1/acts/{kind.name}", json=body, headers=head)
            told = answer.json()
            if kind.name in MADE_INSIDE:
                good = answer.status_code == 404
            elif role in kind.by:
                good = answer.status_code != 401 and "may not do this" not in str(told)
            else:
                good = (answer.status_code, told["why"]) == (403, "not-allowed")
            if not good:
                wrong.append((kind.name, answer.status_code, told))
    assert wrong == []


def write() -> None:
    """Write the table of acts into the document."""
    text = DOC.read_text()
    before, rest = text.split(BEGIN)
    DOC.write_text(f"{before}{BEGIN}\n{acts_table()}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    write()

