"""A claim holds only where the seven cards are exactly its row (58 Pa. Code section 688a.12(b)-(d))."""

from dataclasses import replace

import pytest

from controller.game.cards import CardError
from controller.game.claim import CARDS_TEXT_MAX, Claim, NoSuchRow, check_claim, read_cards
from controller.game.classify import NotThisGame
from controller.paytable_files import SHIPPED, load_table

ROYAL = "As Ks Qs Js Ts 4d 2c"
FIVE_ACES = "As Ad Ah Ac Jo 4d 2c"
NOTHING = "As Kd Jh 9c 7s 5d 3h"
DEALER = "Jo Kd Jh 9c 7s 5d 3h"
PLAYER = "Kc Qh Ts 9d 7c 6h 3s"


def claim(cards: str, outcome: str, paytable: str = "progressive-4") -> Claim:
    return check_claim(load_table(SHIPPED, paytable), cards, outcome)


@pytest.mark.parametrize(
    ("cards", "outcome"),
    [
        (ROYAL, "royal-flush"),
        (FIVE_ACES, "five-aces"),
        ("9s 8s 7s 6s 5s 4s 3s", "7-card-straight-flush"),
        ("9s 8s Jo 6s 5s 4s 3s", "7-card-straight-flush-with-joker"),
        ("Kh Qh Jh Th Ah Kd Qd", "royal-flush-royal-match"),
        ("9d 8d 7d 6d 5d As 2c", "straight-flush"),
        ("7s 7d 7h 7c As 4d 2c", "four-of-a-kind"),
    ],
)
def test_each_row_of_paytable_4_is_claimed_with_its_cards(cards: str, outcome: str) -> None:
    assert claim(cards, outcome).agrees


def test_a_claim_that_holds_says_how_the_cards_make_it() -> None:
    assert claim(ROYAL, "royal-flush").words == (
        "The cards agree with the claim: Royal flush (As Ks Qs Js Ts)."
    )


def test_a_lower_hand_than_claimed_is_told_and_nothing_is_to_be_paid() -> None:
    said = claim(ROYAL, "five-aces")
    assert (said.agrees, said.words) == (
        False,
        "The cards do not agree with the claim: Five aces is claimed, the cards are Royal flush (As Ks Qs Js Ts), "
        "a lower row. Pay nothing yet: read the cards again, and if they are right have the claim corrected.",
    )


def test_a_higher_hand_than_claimed_does_not_agree_either() -> None:
    """The player is due more than the key that was pressed."""
    said = claim(FIVE_ACES, "royal-flush")
    assert (said.agrees, "a higher row" in said.words) == (False, True)


def test_cards_of_no_row_are_told() -> None:
    said = claim(NOTHING, "four-of-a-kind")
    assert (said.agrees, "the cards are no row of the paytable." in said.words) == (False, True)


def test_the_cards_come_back_with_single_spaces() -> None:
    assert claim("  As Ks  Qs\tJs Ts 4d 2c ", "royal-flush").cards == ROYAL


def test_an_ace_high_claim_is_read_from_the_dealers_cards_and_the_players() -> None:
    said = claim(f"{DEALER} | {PLAYER}", "dealer-ace-high-with-joker", "ace-high-1")
    assert (said.agrees, said.cards) == (True, f"{DEALER} | {PLAYER}")


def test_an_ace_high_claim_of_one_hand_is_refused() -> None:
    with pytest.raises(CardError, match=r"the dealer's seven cards \| the player's seven cards"):
        claim(DEALER, "both-ace-high", "ace-high-1")


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        ("As Ks Qs Js Ts 4d", "6 cards where 7 are meant"),
        ("As As Qs Js Ts 4d 2c", "As stands twice"),
        ("10s Ks Qs Js As 4d 2c", "did you mean Ts"),
        (f"{DEALER} | {PLAYER}", r'"\|" is not a card'),
        ("A" * (CARDS_TEXT_MAX + 1), "letters are no hand"),
    ],
)
def test_wrong_cards_are_refused_by_name(cards: str, said: str) -> None:
    with pytest.raises(CardError, match=said):
        claim(cards, "royal-flush")


def test_a_row_that_the_paytable_has_not_is_refused() -> None:
    with pytest.raises(NoSuchRow, match="no row \"full-house\"; its rows are 7-card-straight-flush, "):
        claim(ROYAL, "full-house")


def test_a_paytable_of_another_game_is_not_judged() -> None:
    """Mississippi Stud has royal flushes too, but of five cards."""
    with pytest.raises(NotThisGame, match='its game is "mississippi-stud", and only hands of "face-up-pai-gow-poker"'):
        read_cards(load_table(SHIPPED / "examples", "three-meters"), ROYAL)


def test_a_paytable_that_names_no_game_is_not_judged() -> None:
    table = replace(load_table(SHIPPED, "progressive-4"), game="")
    with pytest.raises(NotThisGame, match="it names no game"):
        read_cards(table, ROYAL)
