"""``meterctl slip``: an issued slip again, at a printer of the floor's file or at a device; and what it refuses."""

from pathlib import Path

import pytest
from awards_house import AwardsHouse, awards_app
from click.testing import CliRunner, Result
from desk_house import ANNA
from floor_files import FLOOR, contract_floor
from people_house import SECRET
from printer_house import paper
from test_award_pages import MATCH
from test_slip_escpos import printed_text

from controller.cli_slip import slip

ASKED = ("--table", "PG-01", "--game", "1", "--seat", "2")


@pytest.fixture
def house(tmp_path: Path) -> AwardsHouse:
    """Slip 1 of PG-01, game 1, has been issued once."""
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2, 4)
    made.hit(1, 2, MATCH)
    made.sign("slip-printed", ANNA, game=1, seat=2)
    awards_app(made, tmp_path)  # and a vault that knows everybody's secret
    return made


def config(folder: Path, printer: str) -> str:
    """The contract's floor with one printer and the house's ledger."""
    (folder / "floor").mkdir()
    floor = contract_floor(folder / "floor").add(printer)
    floor.change(FLOOR, "sqlite:///ledger.db", f"sqlite:///{folder / 'ledger.db'}")
    return str(floor.folder / FLOOR)


def run(*given: str) -> Result:
    return CliRunner().invoke(slip, [*given, "--as", "anna", "--secret-stdin"], input=f"{SECRET}\n")


def test_an_issued_slip_comes_out_of_the_printer_that_the_floor_names(house: AwardsHouse, tmp_path: Path) -> None:
    with paper() as (plan, out):
        file = config(tmp_path, f'[[printer]]\nid = "pit-1"\nname = "Pit 1"\npath = "{plan.path}"\ncolumns = 42')
        said = run("--config", file, *ASKED, "--printer", "pit-1")
        (printed,) = out.slips(1)
    assert (said.exit_code, said.output) == (
        0, "Sent slip 1 to Pit 1. A printer gives no proof: look that it is whole.\n")
    assert max(len(line) for line in printed_text(printed).splitlines()) == 42


def test_without_a_file_of_the_floor_a_printer_is_its_device(house: AwardsHouse, tmp_path: Path) -> None:
    said = run("--ledger", str(house.path), *ASKED, "--printer", str(tmp_path / "slips.prn"))
    assert said.exit_code == 0
    assert "demo-000001" in printed_text((tmp_path / "slips.prn").read_bytes())


def test_a_printer_that_the_floor_does_not_have_is_refused_with_those_it_has(
    house: AwardsHouse, tmp_path: Path
) -> None:
    said = run("--config", config(tmp_path, '[[printer]]\nid = "pit-1"\npath = "x.prn"'), *ASKED, "--printer", "pit-2")
    assert (said.exit_code, "--printer pit-2: the floor has pit-1" in said.output) == (2, True)


def test_a_printer_that_is_not_there_is_said_and_nothing_else_is_made(house: AwardsHouse, tmp_path: Path) -> None:
    said = run("--ledger", str(house.path), *ASKED, "--printer", str(tmp_path / "none" / "printer"))
    assert (said.exit_code, "nothing was printed" in said.output) == (2, True)


@pytest.mark.parametrize("given", [("--printer", "a", "--pdf", "b"), (), ("--printer", "a")])
def test_what_it_needs_is_said(house: AwardsHouse, given: tuple[str, ...]) -> None:
    assert run(*ASKED, *given).exit_code == 2
