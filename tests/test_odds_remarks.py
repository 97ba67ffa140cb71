"""What is remarked of a paytable comes from its odds, never from a list (issue "The game", R-10, R-13)."""

from dataclasses import replace
from fractions import Fraction

import pytest

from controller.game.odds import odds_of
from controller.game.odds_remarks import limit_remark, paytable_remarks, too_rare, too_rare_words
from controller.game.tables import BonusTable
from controller.paytable import Paytable
from controller.paytable_files import SHIPPED, ids, load_table

AT_SEED = "Five aces (1 in 136,652) pays no more than Royal flush (1 in 5,908) while its meter stands at the seed"
REMARKED = {
    "fortune-1": ["Three pair (1 in 54) pays no more than Straight (1 in 14)"],
    "fortune-5": ["Four-of-a-kind (1 in 501) pays no more than Full house (1 in 37)"],
    "progressive-3": [AT_SEED],
    "progressive-5": [AT_SEED],
    "progressive-6": [AT_SEED],
    "progressive-7": ["returns 121.86% in the long run, more than is wagered"],
}


def of_shipped(name: str) -> list[str]:
    """What is remarked of a shipped paytable."""
    table = load_table(SHIPPED, name)
    return paytable_remarks(table, odds_of(table))


@pytest.mark.parametrize("name", ids(SHIPPED))
def test_the_shipped_figures_are_kept_as_printed_and_what_is_odd_is_remarked(name: str) -> None:
    """All 18."""
    assert of_shipped(name) == [f"Paytable {name}: {words}." for words in REMARKED.get(name, [])]


def test_a_paytable_put_right_is_remarked_no_more() -> None:
    """Fortune 5 with 25 to 1 for four of a kind."""
    table = load_table(SHIPPED, "fortune-5")
    assert isinstance(table, BonusTable)
    right = replace(
        table,
        prizes=tuple(replace(prize, odds=25) if prize.outcome == "four-of-a-kind" else prize for prize in table.prizes),
    )
    assert paytable_remarks(right, odds_of(right)) == []


def test_a_row_that_no_hand_ever_gets_is_remarked() -> None:
    """A flush below three of a kind is got; a royal flush below a straight flush never is."""
    table = load_table(SHIPPED, "progressive-1")
    assert isinstance(table, Paytable)
    rows = {prize.outcome: prize for prize in table.prizes}
    under = replace(table, prizes=(rows["straight-flush"], rows["royal-flush"]))
    said = "no hand ever gets Royal flush, because the rows above take all of them"
    assert f"Paytable progressive-1: {said}." in paytable_remarks(under, odds_of(under))


@pytest.mark.parametrize("name", [f"progressive-{number}" for number in range(1, 8)])
def test_no_shipped_row_that_takes_the_meter_is_rarer_than_1_in_100_million(name: str) -> None:
    """R-10."""
    assert too_rare(odds_of(load_table(SHIPPED, name))) == []


def test_a_row_that_takes_the_meter_and_is_rarer_than_1_in_100_million_is_named() -> None:
    """R-10: a chance of one hand in all but is too rare."""
    odds = odds_of(load_table(SHIPPED, "progressive-1"))
    rare = replace(odds.meters[0], shares=(("royal-flush", 1_000_000, Fraction(1, 154_143_080)),))
    assert too_rare(replace(odds, meters=(rare,))) == ["royal-flush"]


def test_a_refused_row_is_told_with_its_rarity() -> None:
    """R-10."""
    table = load_table(SHIPPED, "progressive-1")
    odds = odds_of(table)
    rare = replace(odds, counts={**odds.counts, "royal-flush": 1})
    assert too_rare_words(table, rare, "royal-flush") == (
        "Royal flush takes 100% of a meter and comes 1 in 154,143,080 hands; "
        "no such row may be rarer than 1 in 100,000,000 (R-10)"
    )


@pytest.mark.parametrize(("limit", "remarked"), [(13_333_351, True), (13_333_353, False), (None, False)])
def test_a_mean_hit_above_the_limit_is_remarked(limit: int | None, remarked: bool) -> None:
    """R-13; progressive 1 is hit at $133,333.52 on average."""
    meter = odds_of(load_table(SHIPPED, "progressive-1")).meters[0]
    assert (limit_remark(meter, limit) is not None) is remarked
