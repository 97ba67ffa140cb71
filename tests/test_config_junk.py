"""Whatever stands in a configuration, it is read or refused in words, never with a traceback (CF-01)."""

import copy
from typing import Any

import pytest
from floor_files import CONTRACT, FLOOR

from controller.config import ConfigError, build, load
from controller.plan import FloorPlan

Path = tuple[str | int, ...]

SOUND: dict[str, Any] = dict(load(CONTRACT / FLOOR)[0].document)
JUNK: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, "", "x", "$1.00", "100%", "\n", [], [[]], [1], ["x"], [{}], {}, {"x": 1}, {"id": []},
]  # fmt: skip


def places(part: Any, path: Path = ()) -> list[Path]:
    """Every place in a document."""
    steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [inner for key, below in steps for inner in ((*path, key), *places(below, (*path, key)))]


def with_junk(path: Path, junk: Any) -> dict[str, Any]:
    document = copy.deepcopy(SOUND)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = junk
    return document


def outcome(document: dict[str, Any]) -> FloorPlan | ConfigError:
    try:
        return build(document)
    except ConfigError as error:
        return error


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_at_any_place_is_refused_in_one_line_a_problem_or_read_as_it_stands(junk: Any) -> None:
    for path in places(SOUND):
        found = outcome(with_junk(path, junk))
        if isinstance(found, ConfigError):
            assert len(str(found).splitlines()) == len(found.problems) > 0
        else:
            assert build(found.document) == found
