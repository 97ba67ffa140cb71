"""Cards and hands as they are written and as one number."""

import pytest

from controller.game.cards import CARD, DECK, NAMES, CardError, double_card, has_joker, names_of, read_hand, suits_of


def test_the_deck_is_52_cards_and_the_joker() -> None:
    assert len(NAMES) == len(set(NAMES)) == 53 and sum(CARD.values()) == DECK


def test_a_hand_has_one_bit_for_each_card_and_gives_its_cards_back() -> None:
    assert names_of(read_hand("2c Jo Td As Kh Ks 9c")) == ["Jo", "As", "Ks", "Kh", "Td", "9c", "2c"]


def test_spaces_do_not_matter() -> None:
    assert read_hand("  As  Kd ", 2) == CARD["As"] | CARD["Kd"]


def test_the_suits_are_rank_masks_from_the_two_to_the_ace() -> None:
    assert suits_of(read_hand("2c 3c Ad Kh 2s As Jo")) == (0b11, 1 << 12, 1 << 11, 1 << 12 | 1)


def test_the_joker_is_known() -> None:
    assert has_joker(CARD["Jo"]) and not has_joker(CARD["As"])


@pytest.mark.parametrize(("written", "said"), [
    ("As Xx", '"Xx" is not a card; write rank and suit like As Kd Th 2c, the joker Jo'),
    ("As kD", '"kD" is not a card; did you mean Kd?'),
    ("As 10h", '"10h" is not a card; did you mean Th?'),
    ("As JOKER", '"JOKER" is not a card; did you mean Jo?'),
    ("As \x07", '"?" is not a card; write rank and suit like As Kd Th 2c, the joker Jo'),
    ("As As", "As stands twice"),
    ("Jo Jo", "Jo stands twice"),
    ("As", "1 cards where 2 are meant"),
    ("As Kd Qh", "3 cards where 2 are meant"),
    ("2c 2c 2c", "2c stands twice"),
])  # fmt: skip
def test_a_wrong_card_is_named(written: str, said: str) -> None:
    with pytest.raises(CardError) as wrong:
        read_hand(written, 2)
    assert str(wrong.value) == said


def test_two_copies_that_add_up_to_another_card_are_still_a_double() -> None:
    """2c + 2c has the bit of 3c: the number of bits tells."""
    with pytest.raises(CardError, match="2c stands twice"):
        read_hand("2c 2c 4c 5c 6c 7c 8c")


def test_a_card_in_two_hands_is_found() -> None:
    assert double_card(read_hand("As Kd", 2), read_hand("Qh Kd", 2)) == "Kd"


def test_two_hands_of_one_deck_share_no_card() -> None:
    assert double_card(read_hand("As Kd", 2), read_hand("Ks Ad", 2)) is None
