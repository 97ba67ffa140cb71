"""What seven cards hold, and set hands of five and two with the standard joker."""

import pytest

from controller.game import hands
from controller.game.cards import read_hand
from controller.game.hands import made
from controller.game.set_hands import Category, rank_high, rank_low, read_set_hand

KINDS = {name: bit for name, bit in vars(hands).items() if isinstance(bit, int) and name in {
    "NATURAL_SEVEN", "JOKER_SEVEN", "ROYAL_MATCH", "FIVE_ACES", "FIVE_KIND", "ROYAL", "STRAIGHT_FLUSH", "FOUR_KIND",
    "FULL_HOUSE", "FLUSH", "THREE_KIND", "STRAIGHT", "THREE_PAIR", "PAIR", "ACE_HIGH"}}


def kinds(cards: str, wild: bool = False) -> set[str]:
    """The names of all that a hand satisfies."""
    bits = made(read_hand(cards), wild)
    return {name for name, bit in KINDS.items() if bits & bit}


def test_a_natural_seven_card_straight_flush_is_every_lesser_run_too() -> None:
    assert kinds("As Ks Qs Js Ts 9s 8s") == {"NATURAL_SEVEN", "ROYAL", "STRAIGHT_FLUSH", "FLUSH", "STRAIGHT"}


def test_a_flush_and_a_full_house_are_both_held() -> None:
    held = kinds("As Ah Jo Ks 9s 2s Kh")
    assert {"FLUSH", "FULL_HOUSE"} <= held


def test_the_standard_joker_pairs_aces_only() -> None:
    assert kinds("Ks Qh Jo 9d 7c 4s 2h") == {"ACE_HIGH"}


def test_the_fully_wild_joker_pairs_any_card() -> None:
    assert kinds("Ks Qh Jo 9d 7c 4s 2h", wild=True) == {"PAIR"}


def test_three_pair_with_a_wild_joker_needs_a_third_rank() -> None:
    assert "THREE_PAIR" not in kinds("Ks Kh Kd Qs Qh Qd Jo", wild=True)


def test_no_run_wraps_round_the_ace() -> None:
    assert kinds("Qs Kh Ad 2s 3h 7c 9d") == {"ACE_HIGH"}


def test_the_numbers_of_seven_card_straight_flushes_are_the_published_ones() -> None:
    """32 natural and 196 with the joker (rules-pa 1.4): counted over the cards of one suit and the joker."""
    from itertools import combinations

    spades = [f"{rank}s" for rank in "23456789TJQKA"]
    natural = sum("NATURAL_SEVEN" in kinds(" ".join(cards)) for cards in combinations(spades, 7))
    joker = sum("JOKER_SEVEN" in kinds(" ".join([*cards, "Jo"])) for cards in combinations(spades, 6))
    assert (4 * natural, 4 * joker) == (32, 196)


@pytest.mark.parametrize(("cards", "category"), [
    ("As Ah Ad Ac Jo", Category.FIVE_ACES),
    ("As Ks Jo Js Ts", Category.ROYAL_FLUSH),
    ("5s 4s Jo 2s As", Category.STRAIGHT_FLUSH),
    ("As Ah Ad Jo 2c", Category.FOUR_OF_A_KIND),
    ("Ks Kh Ad Ac Jo", Category.FULL_HOUSE),
    ("Ks 9s 4s 2s Jo", Category.FLUSH),
    ("9s 8h Jo 6d 5c", Category.STRAIGHT),
    ("As Ah Jo 9d 5c", Category.THREE_OF_A_KIND),
    ("As Kh Kd Jo 5c", Category.TWO_PAIR),
    ("Ks Kh Jo 9d 5c", Category.PAIR),
    ("Ks Qh Jo 9d 5c", Category.HIGH_CARD),
])  # fmt: skip
def test_the_joker_of_a_high_hand_is_used_best(cards: str, category: Category) -> None:
    assert rank_high(read_hand(cards, 5)).category is category


ORDER = ("2s 3h 4d 5c 7s", "Ks Qh Jo 9d 5c", "2s 2h 3d 4c 5s", "3s 3h 2d 2c 4s", "2s 2h 2d 3c 4s", "2s 3h 4d 5c 6s",
         "9s Th Jd Qc Ks", "As 2h 3d 4c 5s", "As Kh Qd Jc Ts", "2s 3s 4s 5s 7s", "2s 2h 2d 3c 3s", "2s 2h 2d 2c 3s",
         "2s 3s 4s 5s 6s", "9s Ts Js Qs Ks", "As 2s 3s 4s 5s", "As Ks Qs Js Ts", "As Ah Ad Ac Jo")


def test_high_hands_rank_in_their_order_with_a_to_5_the_second_highest_straight() -> None:
    ranks = [rank_high(read_hand(cards, 5)) for cards in ORDER]
    assert ranks == sorted(ranks) and len(set(ranks)) == len(ranks)


def test_a_flush_with_the_joker_holds_no_second_ace_of_its_suit() -> None:
    """The joker stands for the highest missing card."""
    assert rank_high(read_hand("As 9s 4s 2s Jo", 5)) == rank_high(read_hand("As Ks 9s 4s 2s", 5))


@pytest.mark.parametrize(("cards", "same"), [("Jo 4s", "As 4s"), ("Jo As", "Ah Ad")])
def test_the_joker_of_a_low_hand_is_an_ace(cards: str, same: str) -> None:
    assert rank_low(read_hand(cards, 2)) == rank_low(read_hand(same, 2))


def test_any_pair_is_above_any_two_cards() -> None:
    assert rank_low(read_hand("2s 2h", 2)) > rank_low(read_hand("As Kh", 2))


@pytest.mark.parametrize(("high", "low", "fouled"), [
    ("9h 7c 5d 3c 2s", "Jc Jd", True),
    ("9h 9c 5d 3c 2s", "Jc Jd", True),
    ("Qh Qc 5d 3c 2s", "Jc Jd", False),
    ("Jh Js 5d 3c 2s", "Jc Jd", False),
    ("Ah Qc 5d 3c 2s", "Ac Kd", True),
    ("Ah Kc 5d 3c 2s", "Ac Kd", False),
    ("Ah Kc 5d 3c 2s", "Jo Kd", False),
    ("2h 2c 3d 4c 5s", "Ac Kd", False),
    ("Qh Jc 9d 4c 5s", "Jo Kd", True),
])  # fmt: skip
def test_a_set_hand_is_fouled_when_its_low_outranks_its_high(high: str, low: str, fouled: bool) -> None:
    assert read_set_hand(high, low).fouled is fouled
