"""What the page of a proposed configuration tells: who activates it sees every key that would be another (D2, D5)."""

import json
from copy import deepcopy
from typing import Any

import pytest

from controller.config_change import differences
from tests.floors import contract_floor, plan_of


def document() -> dict[str, Any]:
    """The contract's floor as a document."""
    made: dict[str, Any] = json.loads(json.dumps(dict(plan_of(deepcopy(contract_floor())).document)))
    return made


def leaves(found: Any) -> list[str]:
    """Every value of a section, as text, by another walk than the one that is tried."""
    if isinstance(found, dict):
        return [text for value in found.values() for text in leaves(value)]
    if isinstance(found, list) and any(isinstance(one, dict) for one in found):
        return [text for value in found for text in leaves(value)]
    return [", ".join(str(one) for one in found) if isinstance(found, list) else str(found)]


SECTIONS = {
    "meter": lambda made: made["meter"],
    "table": lambda made: made["table"],
}


@pytest.mark.parametrize("section", SECTIONS)
def test_a_new_section_is_told_key_by_key(section: str) -> None:
    old, new = document(), document()
    added = deepcopy(SECTIONS[section](new)[0]) | {"id": "added"}
    SECTIONS[section](new).append(added)
    told = differences(old, new)
    assert told[0] == f"{section} added: new"
    missing = [text for text in leaves(added) if not any(line.endswith(f"-> {text}") for line in told)]
    assert missing == []
    assert all(line.startswith(f"{section} added") for line in told)


def test_a_new_paytable_is_told_with_every_prize() -> None:
    old, new = document(), document()
    name, sheet = next(iter(new["paytable"].items()))
    new["paytable"]["added"] = deepcopy(sheet)
    told = differences(old, new)
    assert told[0] == "paytable, added: new"
    for prize in sheet["prize"]:
        lines = [line for line in told if line.startswith(f"paytable, added, prize {prize['outcome']}")]
        missing = [text for text in leaves(prize) if not any(line.endswith(f"-> {text}") for line in lines)]
        assert missing == [], (name, prize)


def test_a_section_that_goes_is_said_to_go() -> None:
    old, new = document(), document()
    gone = new["table"].pop()["id"]
    assert differences(old, new) == [f"table {gone}: goes"]


def test_a_changed_key_is_told_from_what_to_what() -> None:
    old, new = document(), document()
    new["meter"][0]["limit"] = "$20,000.00"
    assert differences(old, new) == ["meter pg-link, limit: none -> $20,000.00"]


def test_the_seed_and_rates_of_a_changed_paytable_are_told() -> None:
    old, new = document(), document()
    new["paytable"]["progressive-4"]["meter"]["main"] = {"seed": "$20,000.00", "rate_of_progression": "2%"}
    assert differences(old, new) == [
        "paytable, progressive-4, meter, main, seed: $10,000.00 -> $20,000.00",
        "paytable, progressive-4, meter, main, rate_of_progression: 1% -> 2%",
        "paytable, progressive-4, meter, main, reserve_rate: 1% -> not there"]


def test_nothing_is_told_of_the_same_document() -> None:
    assert differences(document(), document()) == []
