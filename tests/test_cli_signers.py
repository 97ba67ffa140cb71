"""On the box two people of two departments sign what is done while no daemon runs (R-73, R-101)."""

from pathlib import Path

import pytest
from desk_house import ANNA, CARL, DORA, EVE

from controller import losses
from controller.people_on_box import Newcomer, begin
from tests.ledger_house import AT, entered, meterctl, opened, rows

SECRET = "a-secret-of-the-test"


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    path = opened(tmp_path / "l.db")
    begin(path, "a test", [Newcomer(person, person.id, SECRET) for person in (CARL, DORA, EVE, ANNA)], AT)
    entered(path, lambda floor: floor.stop("a trial", AT))
    return path


def cleared(path: Path, *names: str, secrets: str = f"{SECRET}\n{SECRET}\n") -> tuple[int, str]:
    by = [word for name in names for word in ("--by", name)]
    ran = meterctl("clear", "--ledger", path, "--reason", "looked at", "--secret-stdin", *by, feed=secrets.encode())
    return ran.returncode, ran.stderr + ran.stdout


def test_two_people_of_two_departments_clear_a_stopped_book_and_stand_in_the_reason(stopped: Path) -> None:
    assert cleared(stopped, "carl", "dora")[0] == 0
    (body,) = rows(stopped, "SELECT body FROM entry WHERE kind = 'clear'")[0]
    assert "signed by carl (shift-manager, table-games) and dora (accounting, accounting)" in body


@pytest.mark.parametrize(("names", "told"), [
    ((), "two people sign"), (("carl",), "two people sign"), (("carl", "carl"), "two people sign"),
    (("carl", "nobody"), "name or secret is wrong"), (("carl", "anna"), "may not sign")])
def test_nobody_clears_a_book_alone_or_without_the_right(stopped: Path, names: tuple[str, ...], told: str) -> None:
    code, said = cleared(stopped, *names)
    assert (code, told in said) == (2, True)


def test_a_wrong_secret_clears_nothing(stopped: Path) -> None:
    assert cleared(stopped, "carl", "dora", secrets=f"{SECRET}\nwrong\n")[0] == 2
    assert rows(stopped, "SELECT count(*) FROM entry WHERE kind = 'clear'") == [(0,)]


def test_a_loss_is_accepted_on_the_box_by_two(tmp_path: Path) -> None:
    path = opened(tmp_path / "l.db")
    begin(path, "a test", [Newcomer(person, person.id, SECRET) for person in (CARL, DORA)], AT)
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 1, 4, AT))
    ran = meterctl("accept-loss", "--ledger", path, "--table", "PG-01", "--reason", "a new unit", "--by", "carl",
                   "--by", "dora", "--secret-stdin", feed=f"{SECRET}\n{SECRET}\n".encode())
    assert ran.returncode == 0
