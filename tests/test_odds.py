"""Exact odds (issue "The game"): published counts, sums, an independent sample, and the arithmetic of a meter."""

import json
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, sqrt

import pytest
from click.testing import CliRunner

from controller.cli import main
from controller.game import hands
from controller.game.cards import NAMES
from controller.game.classify import NotThisGame
from controller.game.odds import NONE, Odds, odds_of
from controller.game.odds_ace_high import JOKER, PAIRS, PLAIN, AceHigh, count_ace_high, count_both, suitings
from controller.game.odds_counts import HANDS, count_hands
from controller.game.rows import BOTH, DEALER_JOKER, DEALER_PLAIN
from controller.paytable_files import SHIPPED, load_table
from tests.slow_classifier import held, is_ace_high, outcome

SEVEN_CARD = [*(f"fortune-{number}" for number in range(1, 7)), *(f"progressive-{number}" for number in range(1, 8))]
ACE_HIGH = [f"ace-high-{number}" for number in range(1, 6)]
JOKERS = {"standard": False, "fully-wild": True}


@cache
def odds(name: str) -> Odds:
    """The odds of a shipped paytable."""
    return odds_of(load_table(SHIPPED, name))


def count(bits: int, wild: bool, above: int = 0) -> int:
    """Hands that make any of these, and none of what stands above."""
    return sum(number for made, number in count_hands(wild).items() if made & bits and not made & above)


@pytest.mark.parametrize(
    ("bits", "published"),
    [(hands.NATURAL_SEVEN, 32), (hands.JOKER_SEVEN, 196), (hands.FIVE_ACES, 1_128), (hands.ROYAL, 26_132)],
    ids=["seven-natural", "seven-with-joker", "five-aces", "royal-flush"],
)
@pytest.mark.parametrize("wild", [False, True], ids=list(JOKERS))
def test_the_rare_hands_are_as_many_as_published(bits: int, published: int, wild: bool) -> None:
    """The same under either joker."""
    assert count(bits, wild) == published


def test_a_fully_wild_joker_makes_14664_fives_of_a_kind_five_aces_among_them() -> None:
    """Published count."""
    assert count(hands.FIVE_KIND, wild=True) == 14_664


@pytest.mark.parametrize(("row", "published"), [("four-of-a-kind", 307_472), ("full-house", 4_188_528)])
def test_the_ordinary_rows_are_as_many_as_published_with_a_standard_joker(row: str, published: int) -> None:
    """Fortune 1 prints every better hand above them."""
    assert odds("fortune-1").counts[row] == published


def test_royal_flushes_with_a_royal_match_are_counted_by_hand() -> None:
    """Four royal suits, three suits of king and queen, and the whole royal or one of its five cards the joker."""
    assert count(hands.ROYAL_MATCH, wild=False) == 4 * 3 * (1 + 5)


@pytest.mark.parametrize("name", SEVEN_CARD)
def test_the_rows_of_a_paytable_and_none_are_all_hands(name: str) -> None:
    """C(53,7)."""
    assert sum(odds(name).counts.values()) == odds(name).total == comb(53, 7) == 154_143_080


@pytest.mark.parametrize("name", ACE_HIGH)
def test_the_rows_of_an_ace_high_paytable_and_none_are_all_pairs(name: str) -> None:
    """C(53,7) x C(46,7)."""
    assert sum(odds(name).counts.values()) == odds(name).total == comb(53, 7) * comb(46, 7) == 8_250_459_031_214_400


@pytest.mark.parametrize("name", SEVEN_CARD)
def test_every_row_of_the_paytable_is_counted_in_its_order(name: str) -> None:
    """And ``none`` stands last."""
    assert list(odds(name).counts) == [*(prize.outcome for prize in load_table(SHIPPED, name).prizes), NONE]


def _dealt(number: int, cards: int) -> list[list[str]]:
    deal = random.Random(688)
    return [deal.sample(NAMES, cards) for _ in range(number)]


def _far(found: int, number: int, chance: Fraction) -> float:
    """How many standard deviations a count of a sample lies from the exact odds; a rare row by its excess."""
    expected = number * float(chance)
    return abs(found - expected) / max(1.0, sqrt(expected * (1 - float(chance))))


@pytest.mark.parametrize("joker", list(JOKERS))
def test_a_sample_by_the_slow_classifier_has_the_exact_odds(joker: str) -> None:
    """4,000 hands, read by every paytable with that joker; all rows within five deviations."""
    sample = [held(hand, joker) for hand in _dealt(4_000, 7)]
    for name in SEVEN_CARD:
        table = load_table(SHIPPED, name)
        if table.joker == joker:
            rows = list(odds(name).counts)[:-1]
            includes = table.seven_card_straight_flush_includes_joker
            found = Counter(outcome(rows, names, includes) or NONE for names in sample)
            assert max(_far(found[row], len(sample), odds(name).chance(row)) for row in [*rows, NONE]) < 5


@pytest.mark.parametrize("wild", [False, True], ids=list(JOKERS))
def test_whatever_sampled_hands_make_at_once_has_the_exact_odds(wild: bool) -> None:
    """60,000 hands by the fast classifier, all their hands together, not only the paid one."""
    bit = [1 << place for place in range(53)]
    deal = random.Random(12)
    found = Counter(hands.made(sum(deal.sample(bit, 7)), wild) & ~(hands.PAIR | hands.ACE_HIGH) for _ in range(60_000))
    exact = count_hands(wild)
    assert max(_far(found[made], 60_000, Fraction(exact.get(made, 0), HANDS)) for made in {*exact, *found}) < 5


def test_a_sample_of_pairs_by_the_slow_classifier_has_the_exact_odds() -> None:
    """3,000 dealer / player pairs from one deck."""
    found: Counter[str] = Counter()
    for cards in _dealt(3_000, 14):
        dealer, player = cards[:7], cards[7:]
        if not is_ace_high(dealer):
            found[NONE] += 1
        else:
            alone = DEALER_JOKER if "Jo" in dealer else DEALER_PLAIN
            found[BOTH if is_ace_high(player) else alone] += 1
    exact = odds("ace-high-1")
    assert max(_far(found[row], 3_000, exact.chance(row)) for row in exact.counts) < 5


Held = Counter[tuple[tuple[int, ...], tuple[int, ...]]]
"""Ways by how many cards of each suit two hands hold."""


def _suitings_by_all_suits(one: AceHigh, other: AceHigh, shared: int) -> int:
    """The same number by how many cards of all four suits each hand holds."""
    alone = [(suit, None) for suit in range(4)], [(None, suit) for suit in range(4)]
    both = [(first, second) for first, second in product(range(4), repeat=2) if first != second]
    steps = [both] * shared + [alone[0]] * (one.cards - shared) + [alone[1]] * (other.cards - shared)
    ways: Held = Counter({((0,) * 4, (0,) * 4): 1})
    for step in steps:
        grown: Held = Counter()
        for (held_one, held_other), number in ways.items():
            for first, second in step:
                more = tuple(n + (suit == first) for suit, n in enumerate(held_one))
                others = tuple(n + (suit == second) for suit, n in enumerate(held_other))
                if max(more) < one.flush_at and max(others) < other.flush_at:
                    grown[more, others] += number
        ways = grown
    return sum(ways.values())


@pytest.mark.parametrize(("player", "shared"), [(PLAIN, 3), (JOKER, 2)])
def test_two_hands_are_suited_in_as_many_ways_however_they_are_counted(player: AceHigh, shared: int) -> None:
    """By long suits and by all four suits."""
    assert suitings(PLAIN, player, shared) == _suitings_by_all_suits(PLAIN, player, shared)


def test_an_ace_high_pair_is_as_likely_whichever_hand_holds_the_joker() -> None:
    """The pairs are ordered, the deck is one."""
    assert count_both(JOKER, PLAIN) == count_both(PLAIN, JOKER)


def test_the_dealers_ace_highs_with_the_joker_are_those_hands_times_the_players() -> None:
    """Both rows of the dealer's hand with the joker together."""
    exact = odds("ace-high-1").counts
    assert exact[DEALER_JOKER] + count_both(JOKER, PLAIN) == count_ace_high(JOKER) * (PAIRS // HANDS)


def test_a_push_gives_the_wager_back_and_no_more() -> None:
    """Fortune 1's three pair adds its chance to the return."""
    found, pays = odds("fortune-1"), (5_000, 1_000, 750, 250, 100, 50, 20, 5, 4, 3, 2)
    others = sum(
        (chance * (pay + 1) for chance, pay in zip(map(found.chance, found.counts), pays, strict=False)), Fraction(0)
    )
    assert found.returned - others == found.chance("three-pair")


def test_the_return_at_the_break_even_meter_is_the_whole_wager() -> None:
    """Progressive 1."""
    found = odds("progressive-1")
    assert found.break_even_cents is not None
    assert found.fixed + found.meters[0].taken * found.break_even_cents / 100 == 1


def test_in_the_long_run_a_meter_pays_what_goes_in() -> None:
    """Progressive 2: contributions of 7% and new seeds come back to the players, no more and no less."""
    found = odds("progressive-2")
    assert found.returned - found.fixed == Fraction(7, 100) + found.meters[0].seed_cost


def test_a_reserve_rate_above_the_seeds_cost_leaves_the_house_nothing_to_pay() -> None:
    """Progressive 4: 1% reserve against some 0.04%."""
    assert odds("progressive-4").meters[0].house_seed_cost == 0


def test_without_a_reserve_the_house_pays_every_seed() -> None:
    """Progressive 1: $10,000.00 for each 154,143,080 / 228 wagers of $1.00."""
    assert odds("progressive-1").meters[0].house_seed_cost == Fraction(228 * 10_000, 154_143_080)


def test_envy_is_worth_its_rows_by_their_chances() -> None:
    """Progressive 4, cents for each other seat."""
    cents = {
        "7-card-straight-flush": 100_000, "royal-flush-royal-match": 75_000, "7-card-straight-flush-with-joker": 25_000,
        "five-aces": 10_000, "royal-flush": 5_000, "straight-flush": 2_000, "four-of-a-kind": 500,
    }  # fmt: skip
    found = odds("progressive-4")
    assert found.envy_cents == sum(found.chance(row) * envy for row, envy in cents.items())


def test_a_paytable_of_another_game_is_refused() -> None:
    """Four-card hands are not counted here."""
    with pytest.raises(NotThisGame, match="no hand of seven cards"):
        odds_of(load_table(SHIPPED / "examples", "four-card"))


def test_the_command_answers_total_outcomes_and_none() -> None:
    """The contract's form."""
    answer = json.loads(CliRunner().invoke(main, ["odds", "--paytable", "progressive-7", "--json"]).stdout)
    assert (answer["total"], sum(answer["outcomes"].values()), list(answer["outcomes"])[-1]) == (HANDS, HANDS, "none")


def test_the_command_tells_people_the_rarity_of_a_row() -> None:
    """Labels as printed."""
    found = CliRunner().invoke(main, ["odds", "--paytable", "progressive-4"]).stdout
    assert any("7 card straight flush w/joker" in line and "1 in 786,444.3" in line for line in found.splitlines())


def test_an_unknown_paytable_ends_the_command_with_2_and_the_nearest_id() -> None:
    """Exit codes: 2 is input."""
    found = CliRunner().invoke(main, ["odds", "--paytable", "progresive-4"])
    assert (found.exit_code, "progressive-4" in found.stderr) == (2, True)
