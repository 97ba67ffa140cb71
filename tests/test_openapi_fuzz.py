"""Every route of the OpenAPI document, asked what it does not expect: no 5xx, no answer that it does not name."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from people_house import PeopleHouse, people_app
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 25
"""A quarter of schemathesis's own hundred for each route."""


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    app = people_app(PeopleHouse(), tmp_path_factory.mktemp("vault"))
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    found = [result.ok() for result in schema.get_all_operations()]
    return {f"{one.method.upper()} {one.path}": one for one in found}


def test_no_route_answers_what_the_document_does_not_name(operations: dict[str, Any]) -> None:
    """Nobody is signed in; every query, path and body is tried."""
    assert len(operations) > 10
    wrong = {}
    for name, operation in operations.items():

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))
        def ask(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        try:
            ask()
        except (AssertionError, ExceptionGroup) as found:
            wrong[name] = str(found)[:400]
    assert wrong == {}
