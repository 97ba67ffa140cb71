"""Every route of the OpenAPI document, asked what it does not expect: no 5xx, no answer that it does not name.

Asked by a visitor, by a script with a token to read, and by one that may act: what lies behind signing in is tried too.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from people_house import PeopleHouse, Screen, people_app
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 25
"""A quarter of schemathesis's own hundred for each route."""


class Fuzzed(NamedTuple):
    """The document's routes by name, and what each asker sends with every request."""

    operations: dict[str, Any]
    askers: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Fuzzed:
    return made(tmp_path_factory.mktemp("vault"))


def made(folder: Path) -> Fuzzed:
    """An application with people, and tokens that dora made for herself."""
    app = people_app(PeopleHouse(), folder)
    with TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        screen = Screen(client)
        screen.sign_in("dora")
        acts = screen.make_token()

    async def on_the_box(scope: Any, receive: Any, send: Any) -> None:
        """Asked from the site's own network: a token is known nowhere else."""
        await app(scope | {"client": ("127.0.0.1", 50_000)}, receive, send)

    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", on_the_box)
    found = [result.ok() for result in schema.get_all_operations()]
    return Fuzzed({f"{one.method.upper()} {one.path}": one for one in found},
                  {"visitor": {}, "script": {"authorization": f"Bearer {acts}"}})


@pytest.mark.parametrize("asker", ["visitor", "script"])
def test_no_route_answers_what_the_document_does_not_name(fuzzed: Fuzzed, asker: str) -> None:
    """Every query, path and body is tried."""
    assert len(fuzzed.operations) > 10
    wrong = {}
    for name, operation in fuzzed.operations.items():

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))
        def ask(case: Any) -> None:
            case.call_and_validate(checks=CHECKS, headers=fuzzed.askers[asker])

        try:
            ask()
        except (AssertionError, ExceptionGroup) as found:
            wrong[name] = str(found)[:400]
    assert wrong == {}


def test_a_script_is_known_by_its_token(fuzzed: Fuzzed) -> None:
    """Else the trial above would try nothing that a visitor does not."""
    operation = fuzzed.operations["GET /api/v1/alarms"]
    statuses = {asker: operation.Case().call(headers=headers).status_code
                for asker, headers in fuzzed.askers.items()}
    assert statuses == {"visitor": 401, "script": 200}
