"""The scenario files: games told in plain words, each answer and balance worked out by hand (see scenario_language)."""

from pathlib import Path

import pytest
from scenario_house import WrongScenario
from scenario_language import run

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_the_house_does_what_the_scenario_says(path: Path) -> None:
    assert run(path) > 0


def test_a_wrong_amount_in_a_scenario_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text("floor: progressive-1\n\ntable PG-01: seats 1 wagers\nmeter shows $10,000.27\n")
    with pytest.raises(WrongScenario, match=r"wrong\.txt, line 4.*\n.*\$10,000\.28"):
        run(path)


def test_a_message_that_is_not_posted_must_be_told(tmp_path: Path) -> None:
    path = tmp_path / "silent.txt"
    path.write_text("floor: progressive-1\ntable PG-01: seats 1 wagers $5.00\ncloses\n")
    with pytest.raises(WrongScenario, match=r"line 3.*\n.*wrong-wager"):
        run(path)


def test_a_line_that_says_nothing_known_is_named(tmp_path: Path) -> None:
    path = tmp_path / "riddle.txt"
    path.write_text("floor: progressive-1\ntable PG-01: seats 1 win a goose\n")
    with pytest.raises(WrongScenario, match="line 2"):
        run(path)
