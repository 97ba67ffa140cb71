"""The shipped paytables against the figures of 58 Pa. Code section 688a.12(d), and each form that a paytable may take.

The figures below were written from the text by hand; the files are read. Whoever changes one must find the other.
"""

import tomllib
from datetime import date
from pathlib import Path

import pytest

from controller.config_paytable import read_paytable
from controller.config_reader import Problems
from controller.money import parse_money
from controller.paytable import Paytable, Prize

PAYTABLES = Path(__file__).parent.parent / "config" / "paytables"
EXAMPLES = PAYTABLES / "examples"

#      wager   returned joker        seed          rate      reserve
HEADS = {
    1: ("$1", False, "standard", "$10,000", 280_000, 0),
    2: ("$1", False, "fully-wild", "$10,000", 70_000, 0),
    3: ("$5", False, "standard", "$10,000", 290_000, 0),
    4: ("$5", True, "standard", "$10,000", 10_000, 10_000),
    5: ("$1", False, "fully-wild", "$5,000", 170_000, 0),
    6: ("$1", False, "fully-wild", "$2,000", 170_000, 0),
    7: ("$1", False, "fully-wild", "$1,000", 260_000, 0),
}

ROWS = {
    1: """
        7-card-straight-flush            | 7 card straight flush         |        | 100% |
        five-aces                        | Five aces                     |        |  10% |
        royal-flush                      | Royal flush                   | $500   |      |
        straight-flush                   | Straight flush                | $100   |      |
        four-of-a-kind                   | Four-of-a-kind                | $75    |      |
        full-house                       | Full house                    | $4     |      |
        """,
    2: """
        7-card-natural-straight-flush    | 7 card natural straight flush |        | 100% |
        7-card-wild-straight-flush       | 7 card wild straight flush    |        |  10% |
        five-of-a-kind                   | Five-of-a-kind                | $500   |      |
        royal-flush                      | Royal flush                   | $300   |      |
        straight-flush                   | Straight flush                | $100   |      |
        four-of-a-kind                   | Four-of-a-kind                | $30    |      |
        full-house                       | Full house                    | $7     |      |
        """,
    3: """
        7-card-straight-flush            | 7 card straight flush         |        | 100% |
        five-aces                        | Five aces                     |        |  10% |
        royal-flush                      | Royal flush                   | $2,500 |      |
        straight-flush                   | Straight flush                | $500   |      |
        four-of-a-kind                   | Four-of-a-kind                | $375   |      |
        full-house                       | Full house                    | $20    |      |
        """,
    4: """
        7-card-straight-flush            | 7 card straight flush         | $5,000 | 100% | $1,000
        royal-flush-royal-match          | Royal flush + royal match     | $5,000 |  20% | $750
        7-card-straight-flush-with-joker | 7 card straight flush w/joker | $5,000 |  10% | $250
        five-aces                        | Five aces                     | $2,500 |      | $100
        royal-flush                      | Royal flush                   | $500   |      | $50
        straight-flush                   | Straight flush                | $200   |      | $20
        four-of-a-kind                   | Four-of-a-kind                | $100   |      | $5
        """,
    5: """
        7-card-straight-flush            | 7 card straight flush         |        | 100% |
        five-aces                        | Five aces                     |        |  10% |
        five-of-a-kind                   | Five-of-a-kind                | $1,000 |      |
        royal-flush                      | Royal flush                   | $500   |      |
        straight-flush                   | Straight flush                | $100   |      |
        four-of-a-kind                   | Four-of-a-kind                | $20    |      |
        full-house                       | Full house                    | $5     |      |
        """,
    6: """
        7-card-straight-flush            | 7 card straight flush         |        | 100% |
        five-aces                        | Five aces                     |        |  10% |
        five-of-a-kind                   | Five-of-a-kind                | $800   |      |
        royal-flush                      | Royal flush                   | $400   |      |
        straight-flush                   | Straight flush                | $75    |      |
        four-of-a-kind                   | Four-of-a-kind                | $10    |      |
        """,
    7: """
        five-aces                        | Five aces                     |        | 100% |
        royal-flush                      | Royal flush                   | $500   |      |
        straight-flush                   | Straight flush                | $100   |      |
        four-of-a-kind                   | Four-of-a-kind                | $75    |      |
        full-house                       | Full house                    | $5     |      |
        """,
}
"""Outcome, wording, pay, share of the meter, envy: row by row as printed."""

NUMBERS = sorted(HEADS)


def read(path: Path) -> Paytable:
    problems = Problems()
    paytable = read_paytable(tomllib.loads(path.read_text()), path.stem, path.name, problems)
    assert problems.first == []
    assert paytable is not None
    return paytable


def shipped(number: int) -> Paytable:
    return read(PAYTABLES / f"progressive-{number}.toml")


def example(name: str) -> Paytable:
    return read(EXAMPLES / f"{name}.toml")


def prize(paytable: Paytable, outcome: str) -> Prize:
    return next(row for row in paytable.prizes if row.outcome == outcome)


def printed_rows(number: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for line in ROWS[number].strip().splitlines():
        outcome, label, pay, share, envy = (cell.strip() for cell in line.split("|"))
        shares = (("main", int(share.rstrip("%")) * 10_000),) if share else ()
        rows.append((outcome, label, parse_money(pay or "$0"), shares, parse_money(envy or "$0")))
    return rows


@pytest.mark.parametrize("number", NUMBERS)
def test_every_row_of_a_paytable_is_as_printed(number: int) -> None:
    """R-17; 58 Pa. Code section 688a.12(d)."""
    read_rows = [
        (row.outcome, row.label, row.fixed_cents, row.shares, row.envy_cents) for row in shipped(number).prizes
    ]
    assert read_rows == printed_rows(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_wager_joker_seed_and_rates_of_a_paytable_are_as_printed(number: int) -> None:
    """R-17."""
    paytable = shipped(number)
    part = paytable.part("main")
    wager, returned, joker, seed, rate, reserve = HEADS[number]
    assert (
        paytable.wager_cents, paytable.wager_returned, paytable.joker, part.seed_cents, part.rate_ppm, part.reserve_ppm,
    ) == (parse_money(wager), returned, joker, parse_money(seed), rate, reserve)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_a_wager_goes_back_only_where_the_text_returns_it(number: int) -> None:
    returned = 500 if number == 4 else 0
    assert {row.returned_cents for row in shipped(number).prizes} == {returned}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_joker_question_is_answered_exactly_where_the_text_leaves_it_open(number: int) -> None:
    """Design section 4: paytables 1, 3, 5 and 6 print only "7 card straight flush"; shipped as true."""
    expected = True if number in (1, 3, 5, 6) else None
    assert shipped(number).seven_card_straight_flush_includes_joker is expected


@pytest.mark.parametrize("number", NUMBERS)
def test_a_paytable_names_its_text(number: int) -> None:
    assert shipped(number).citation == f"58 Pa. Code § 688a.12(d), Paytable {number}"


def test_only_paytable_4_has_envy() -> None:
    assert [number for number in NUMBERS if shipped(number).has_envy] == [4]


def test_there_are_no_other_progressive_paytables() -> None:
    found = sorted(path.stem for path in PAYTABLES.glob("progressive-*.toml"))
    assert found == [f"progressive-{number}" for number in NUMBERS]


def test_the_contracts_paytables_are_the_shipped_ones() -> None:
    contract = sorted((Path(__file__).parent / "contract" / "paytables").glob("*.toml"))
    assert [read(path) for path in contract] == [shipped(1), shipped(4)]


def test_one_wager_may_feed_three_meters() -> None:
    """58 Pa. Code section 655a.12(c), paytables C and D."""
    paytable = example("three-meters")
    assert {(part.part, part.rate_ppm) for part in paytable.parts} == {
        ("mega", 140_000), ("major", 65_000), ("minor", 32_500),
    }  # fmt: skip


def test_each_of_three_meters_has_a_row_of_its_own() -> None:
    shares = [row.shares for row in example("three-meters").prizes if row.shares]
    assert shares == [(("mega", 1_000_000),), (("major", 1_000_000),), (("minor", 1_000_000),)]


def test_two_progressive_wagers_of_a_table_have_paytables_of_their_own() -> None:
    """58 Pa. Code section 641a.1."""
    four, five = example("four-card"), example("five-card")
    assert (four.wager_cents, four.has_envy, five.wager_cents, five.has_envy) == (500, True, 1_000, True)


def test_a_prize_may_be_a_fixed_sum_plus_a_share() -> None:
    row = prize(example("fixed-and-share"), "five-aces")
    assert (row.fixed_cents, row.shares, row.returned_cents) == (500_000, (("main", 200_000),), 500)


def test_a_prize_for_1_is_a_multiple_of_the_wager_which_stays_with_the_house() -> None:
    row = prize(example("for-one"), "four-of-a-kind")
    assert (row.fixed_cents, row.returned_cents) == (150_000, 0)


def test_a_prize_to_1_is_a_multiple_of_the_wager_which_goes_back_too() -> None:
    row = prize(example("to-one"), "four-of-a-kind")
    assert (row.fixed_cents, row.returned_cents) == (150_000, 500)


def test_a_wager_goes_back_with_a_prize_to_1_only() -> None:
    assert prize(example("to-one"), "royal-flush").returned_cents == 0


def test_a_seed_may_be_a_multiple_of_the_wager() -> None:
    """58 Pa. Code section 633b.17: 2000 x $5.00."""
    assert example("seed-by-wager").part("main").seed_cents == 1_000_000


@pytest.mark.parametrize(("decks", "rate"), [(3, 200_000), (4, 170_000), (8, 170_000), (2, None), (None, None)])
def test_a_rate_may_depend_on_the_number_of_decks(decks: int | None, rate: int | None) -> None:
    """58 Pa. Code section 633b.17: 20% with 3 decks, 17% with 4 or more."""
    assert example("rate-by-decks").part("main").rate_for(decks) == rate


def test_two_rows_may_each_take_the_whole_of_one_meter() -> None:
    assert [row.shares for row in example("two-top-rows").prizes[:2]] == [(("main", 1_000_000),)] * 2


@pytest.mark.parametrize(
    ("day", "valid"),
    [("2026-03-22", False), ("2026-03-23", True), ("2028-03-23", True), ("2028-03-24", False)],
)
def test_a_paytable_is_played_from_its_first_to_its_last_day_both_included(day: str, valid: bool) -> None:
    """58 Pa. Code section 653b.3."""
    assert example("with-dates").valid_on(date.fromisoformat(day)) is valid


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_is_read_without_a_problem(path: Path) -> None:
    assert read(path).id == path.stem
