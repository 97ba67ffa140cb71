"""Alarms in a real ledger: a replay makes every entry of them again, and finds a row that somebody changed."""

from pathlib import Path

import pytest

from controller import desk, drift
from controller.acts import read_act
from controller.alarms import raise_alarm
from controller.people import Person, Role
from tests.ledger_house import AT, applied, bad_entry, change, contract_plan, entered, lock, said

CARL = Person("carl", Role.SHIFT_MANAGER, "table-games")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A misdeal raised, acknowledged and cleared; a table unit not heard; a changed configuration."""
    made = tmp_path / "l.db"
    applied(made, [lock(1, 1), said("void", 2, round=1, reason="exposed card")])
    entered(made, lambda floor: raise_alarm(floor, "misdeal", "PG-01", "Game 1: misdealt", AT, entry=6, table="PG-01"))
    for number, kind in enumerate(("alarm-acknowledged", "alarm-cleared")):
        act = read_act(kind, f"act-000000{number}", {"alarm": "misdeal", "place": "PG-01"}, CARL)
        entered(made, lambda floor, act=act: desk.act(floor, act, AT))
    entered(made, lambda floor: raise_alarm(floor, "table-offline", "PG-02", "x", AT, since=AT - 5, table="PG-02"))
    entered(made, lambda floor: floor.configure(contract_plan(), AT))
    entered(made, lambda floor: drift.begin(floor, AT))
    return made


def test_alarms_and_their_acts_are_made_again_by_a_replay(path: Path) -> None:
    assert bad_entry(path, replay=True) == (0, "")


def test_a_row_of_an_alarm_that_somebody_changed_is_found(path: Path) -> None:
    change(path, "UPDATE state SET body = replace(body, 'raised', 'cleared') WHERE key = 'table-offline/PG-02'")
    assert "table-offline/PG-02" in bad_entry(path, replay=True)[1]
