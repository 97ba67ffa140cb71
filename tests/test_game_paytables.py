"""The eleven bonus paytables against the figures of 58 Pa. Code section 688a.12(b) and (c), and what is refused."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from controller.config_reader import ConfigError, Problems
from controller.game.tables import BonusTable, read_bonus
from controller.paytable_files import SHIPPED, ids, load_table

# fmt: off
ACE_HIGH = {1: (20, 10, 8), 2: (40, 15, 5), 3: (30, 15, 6), 4: (25, 10, 7), 5: (40, 12, 5)}
FORTUNE = {
    1: ((5000, 1000, 750, 250, 100, 50, 20, 5, 4, 3, 2, 0), (1000, 250, 100, 50, 25, 10, 5)),
    2: ((8000, 2000, 1000, 400, 150, 50, 25, 5, 4, 3, 2), (5000, 1000, 500, 250, 50, 20, 5)),
    3: ((5000, 2000, 1000, 400, 150, 50, 25, 5, 4, 3, 2), (3000, 1000, 500, 250, 50, 20, 5)),
    4: ((2500, 1000, 750, 250, 125, 50, 25, 5, 4, 3, 2), (1000, 750, 250, 100, 50, 20, 5)),
    5: ((5000, 1000, 500, 300, 100, 45, 5, 5, 4, 3, 2), (2500, 500, 250, 150, 55, 25, 6)),
    6: ((5000, 2000, 1000, 400, 150, 50, 25, 5, 4, 3, 2), (2500, 500, 250, 150, 55, 25, 6)),
}
"""Odds to 1 (0 is a push), and envy in dollars, in the order of the rows."""
OUTCOMES = (
    ("7-card-straight-flush", "7 card straight flush"),
    ("royal-flush-royal-match", "Royal flush + royal match"),
    ("7-card-straight-flush-with-joker", "7 card straight flush with joker"),
    ("five-aces", "Five aces"), ("royal-flush", "Royal flush"), ("straight-flush", "Straight flush"),
    ("four-of-a-kind", "Four-of-a-kind"), ("full-house", "Full house"), ("flush", "Flush"),
    ("three-of-a-kind", "Three-of-a-kind"), ("straight", "Straight"), ("three-pair", "Three pair"),
)
DEALERS = (
    ("both-ace-high", "Both dealer and player have ace high"),
    ("dealer-ace-high-with-joker", "Only dealer has ace high, with joker"),
    ("dealer-ace-high-no-joker", "Only dealer has ace high, no joker"),
)
# fmt: on


def bonus(name: str) -> BonusTable:
    """A shipped bonus paytable."""
    table = load_table(SHIPPED, name)
    assert isinstance(table, BonusTable)
    return table


@pytest.mark.parametrize("number", FORTUNE)
def test_a_fortune_paytable_has_every_figure_of_the_text(number: int) -> None:
    odds, envy = FORTUNE[number]
    prizes = bonus(f"fortune-{number}").prizes
    assert [(prize.outcome, prize.label, prize.odds, prize.envy_cents) for prize in prizes] == [
        (*names, pays, envy[row] * 100 if row < len(envy) else 0)
        for row, (names, pays) in enumerate(zip(OUTCOMES, odds, strict=False))]


@pytest.mark.parametrize("number", ACE_HIGH)
def test_an_ace_high_paytable_has_every_figure_of_the_text(number: int) -> None:
    prizes = bonus(f"ace-high-{number}").prizes
    assert [(prize.outcome, prize.label, prize.odds, prize.envy_cents) for prize in prizes] == [
        (*names, pays, 0) for names, pays in zip(DEALERS, ACE_HIGH[number], strict=True)]


@pytest.mark.parametrize(("kind", "part", "count"), [("ace-high", "b", 5), ("fortune", "c", 6)])
def test_a_bonus_paytable_cites_its_place(kind: str, part: str, count: int) -> None:
    assert [bonus(f"{kind}-{number}").citation for number in range(1, count + 1)] == [
        f"58 Pa. Code § 688a.12({part}), Paytable {number}" for number in range(1, count + 1)]


def test_all_eighteen_paytables_of_the_section_are_shipped_and_no_other() -> None:
    kinds = (("ace-high", 5), ("fortune", 6), ("progressive", 7))
    assert ids(SHIPPED) == [f"{kind}-{number}" for kind, count in kinds for number in range(1, count + 1)]


def test_every_shipped_paytable_can_be_read() -> None:
    assert [load_table(SHIPPED, name).id for name in ids(SHIPPED)] == ids(SHIPPED)


def refusals(**changed: Any) -> list[str]:
    """What is refused of fortune-1 with some keys changed; None removes a key; ``row`` changes the first row."""
    raw = tomllib.loads((SHIPPED / "fortune-1.toml").read_text())
    row = changed.pop("row", {})
    raw = {key: kept for key, kept in {**raw, **changed}.items() if kept is not None}
    raw["prize"] = [{key: kept for key, kept in {**raw["prize"][0], **row}.items() if kept is not None},
                    *raw["prize"][1:]] if raw.get("prize") else []
    problems = Problems()
    found = read_bonus(raw, "fortune-1", "fortune-1.toml", problems)
    assert (found is None) == bool(problems.count)
    return [str(problem).removeprefix("fortune-1.toml: ") for problem in problems.first]


ROW = 'prize "7-card-straight-flush"'


@pytest.mark.parametrize(("changed", "said"), [
    ({"jokr": "standard"}, 'jokr: unknown key; did you mean "joker"?'),
    ({"joker": None}, 'joker: missing; choose one of "standard"'),
    ({"joker": "fully-wild"}, 'joker: "fully-wild" is not a choice; choose one of "standard"'),
    ({"wager": "$5.00"}, "wager: has no meaning in a bonus paytable"),
    ({"id": "fortune-9"}, 'id: "fortune-9" stands in a file named fortune-1.toml; make the two the same'),
    ({"prize": []}, "prize: missing; write one [[prize]] for each row of the paytable"),
    ({"row": {"pay": "5000"}}, f'[[{ROW.replace(" ", "]] ", 1)} pay: "5000" is not odds'),
    ({"row": {"pay": "5,000 for 1"}}, f'[[{ROW.replace(" ", "]] ", 1)} pay: "5,000 for 1" is not odds'),
    ({"row": {"pay": "0 to 1"}}, f'[[{ROW.replace(" ", "]] ", 1)} pay: "0 to 1" is not odds'),
    ({"row": {"pay": 5000}}, f"[[{ROW.replace(' ', ']] ', 1)} pay: 5000 is not odds"),
    ({"row": {"pay": None}}, f"[[{ROW.replace(' ', ']] ', 1)} pay: missing"),
    ({"row": {"share": {"main": "10%"}}}, f"[[{ROW.replace(' ', ']] ', 1)} share: has no meaning"),
    ({"row": {"envy": "1000"}}, f'[[{ROW.replace(" ", "]] ", 1)} envy: "1000" is not money'),
    ({"row": {"outcome": "five-acse"}}, '[[prize]] "five-acse" outcome: "five-acse" is not a hand of the game; '
                                        'did you mean "five-aces"?'),
    ({"row": {"outcome": "five-aces"}}, '[[prize]] "five-aces" outcome: "five-aces" stands twice'),
    ({"row": {"outcome": "both-ace-high"}}, '[[prize]] "both-ace-high" envy: the dealer\'s hand earns nobody envy'),
])  # fmt: skip
def test_a_bonus_paytable_is_refused_with_key_and_remedy(changed: dict[str, Any], said: str) -> None:
    assert refusals(**changed)[0].startswith(said)


def test_the_dealers_rows_stand_apart_from_those_of_one_hand() -> None:
    assert refusals(row={"outcome": "both-ace-high", "envy": None}) == [
        "prize: rows of the dealer's ace high beside rows of one hand; write them in two files"]


def test_a_shipped_fortune_paytable_has_nothing_to_refuse() -> None:
    assert refusals() == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_table(tmp_path / "none", "fortune-1")
