"""A file beside a plan that people have activated: what fits is used, the rest is left out and told (ADR 0009)."""

from pathlib import Path

import pytest
from floor_files import FLOOR, Copy, contract_floor

from controller.config_fit import (
    Fitting,
    ledger_of,
    read_fitting,
    read_raw,
    read_strictly,
    still_fitting,
    without_leaving,
)
from controller.config_reader import ConfigError
from controller.plan import FloorPlan

LINE_1 = '[[line]]\nid = "one"\ndevice = "hub-01"\nport = "/dev/one"'
LINE_3 = '[[line]]\nid = "three"\ndevice = "hub-03"\nport = "/dev/three"'
SIGN_3 = '[[sign]]\nid = "PG-03"\nkind = "page"\ntable = "PG-03"'
BOTH = '[[sign]]\nid = "both"\nkind = "page"\nmeters = ["pg-link", "pg-solo"]'
PRINTERS = '[[printer]]\nid = "pit"\npath = "/dev/pit"\ntables = ["PG-01", "PG-03"]\n' \
           '[[printer]]\nid = "solo"\npath = "/dev/solo"\ntables = ["PG-03"]'


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path).add("\n".join((LINE_1, LINE_3, SIGN_3, BOTH, PRINTERS)))


def smaller(floor: Copy, folder: Path) -> FloorPlan:
    """The plan without PG-03 and its meter."""
    folder.mkdir()
    copy = contract_floor(folder)
    text = (folder / FLOOR).read_text()
    first, second = text.index('[[meter]]\nid = "pg-solo"'), text.index("[[table]]")
    (folder / FLOOR).write_text(text[:first] + text[second:text.index('[[table]]\nid = "PG-03"')])
    return copy.plan()


def fitting(floor: Copy, plan: FloorPlan) -> Fitting:
    return read_fitting(floor.folder / FLOOR, plan)


def left_out(found: Fitting) -> list[str]:
    return [one.key for one in found.left_out]


def test_a_file_that_fits_is_used_as_a_whole(floor: Copy) -> None:
    plan, wiring = floor.load()
    assert fitting(floor, plan) == Fitting(wiring)
    assert fitting(floor, plan).words() == ""


@pytest.mark.parametrize(("wrong", "key"), [
    ('[[line]]\nid = "x"\ndevice = "hub-09"\nport = "/dev/x"', '[[line]] "x" device'),
    ('[[line]]\nid = "x"\ndevice = "hub-02"\nport = "/dev/one"', '[[line]] "x" port'),
    ('[[line]]\nid = "one"\ndevice = "hub-02"\nport = "/dev/x"', '[[line]] "one" id'),
    ('[[sign]]\nid = "x"\nkind = "page"\ntable = "PG-09"', '[[sign]] "x" table'),
    ('[[sign]]\nid = "x"\nkind = "mqtt"\nmeters = ["pg-link"]', '[[sign]] "x" kind'),
    ('[[printer]]\nid = "x"\npath = "/dev/x"\ntables = ["PG-09"]', '[[printer]] "x" tables'),
    ('[mqtt]\nhost = 5', "[mqtt] host"),
    ('[alarms]\nwebhook = "no"', "[alarms] webhook"),
    ('[[lines]]\nid = "x"', "lines"),
])
def test_what_does_not_fit_is_left_out_alone_and_told(floor: Copy, wrong: str, key: str) -> None:
    plan, wiring = floor.load()
    found = fitting(floor.add(wrong), plan)
    assert (found.wiring, left_out(found)) == (wiring, [key])
    assert key in found.words()
    assert [key in what for what, _ in found.told("")] == [True]


def test_the_file_may_be_ahead_of_what_is_in_force(floor: Copy, tmp_path: Path) -> None:
    """A proposal waits for its approval, and the lines and signs of its new table stand in the file already."""
    found = fitting(floor, smaller(floor, tmp_path / "small"))
    assert [line.id for line in found.wiring.lines] == ["one"]
    assert left_out(found) == [
        '[[line]] "three" device', '[[sign]] "PG-03" table', '[[sign]] "both" meters', '[[printer]] "pit" tables',
        '[[printer]] "solo" tables']


@pytest.mark.parametrize("wrong", ["[[[", "[web]\nport = 99999", "[web]\nremote = 1"])
def test_pages_and_ledger_are_not_guessed(floor: Copy, wrong: str) -> None:
    plan = floor.plan()
    with pytest.raises(ConfigError):
        fitting(floor.add(wrong), plan)


def test_the_ledger_is_known_from_a_file_whose_tables_are_wrong(floor: Copy) -> None:
    before = ledger_of(floor.folder / FLOOR)
    floor.change(FLOOR, 'device = "hub-02"', 'device = "hub-01"').refused()
    assert ledger_of(floor.folder / FLOOR) == before
    with pytest.raises(ConfigError):
        ledger_of(floor.change(FLOOR, "sqlite:///", "mysql:///").folder / FLOOR)


def test_what_is_wrong_in_the_floor_itself_is_told_beside_its_wiring(floor: Copy) -> None:
    plan = floor.plan()
    floor.change(FLOOR, "seats = 7", "seats = 99").add('[[sign]]\nid = "x"\nkind = "page"\ntable = "PG-09"')
    with pytest.raises(ConfigError) as caught:
        floor.load()
    told = left_out(fitting(floor, plan).also(caught.value.problems))
    assert told[0] == '[[sign]] "x" table'
    assert len([one for one in told if "[[sign]]" in one]) == 1
    assert any("seats" in one for one in told)


def test_what_leaves_with_a_new_plan_is_simply_not_opened(floor: Copy, tmp_path: Path) -> None:
    old, new = floor.plan(), smaller(floor, tmp_path / "small")
    raw = without_leaving(read_raw(floor.folder / FLOOR), old, new)
    wiring = read_strictly(floor.folder / FLOOR, raw, new)
    assert [line.device for line in wiring.lines] == ["hub-01"]
    assert [(sign.id, sign.meters) for sign in wiring.signs] == [("both", ("pg-link",))]
    assert [(printer.id, printer.tables) for printer in wiring.printers] == [("pit", ("PG-01",))]


def test_what_neither_plan_has_is_refused(floor: Copy, tmp_path: Path) -> None:
    old, new = floor.plan(), smaller(floor, tmp_path / "small")
    floor.add('[[line]]\nid = "x"\ndevice = "hub-09"\nport = "/dev/x"')
    raw = without_leaving(read_raw(floor.folder / FLOOR), old, new)
    with pytest.raises(ConfigError, match="hub-09"):
        read_strictly(floor.folder / FLOOR, raw, new)


def test_the_running_wiring_goes_on_without_what_the_plan_no_longer_has(floor: Copy, tmp_path: Path) -> None:
    plan, wiring = floor.load()
    assert still_fitting(wiring, plan) == wiring
    found = still_fitting(wiring, smaller(floor, tmp_path / "small"))
    assert [line.device for line in found.lines] == ["hub-01"]
    assert [(sign.id, sign.meters) for sign in found.signs] == [("both", ("pg-link",))]
    assert [(printer.id, printer.tables) for printer in found.printers] == [("pit", ("PG-01",))]
    assert (found.web, found.mqtt, found.ledger_url) == (wiring.web, wiring.mqtt, wiring.ledger_url)
