"""The rows of the paytables: which hands each outcome stands for. Pure.

An outcome's id is its printed name in lower case with hyphens (58 Pa. Code section 688a.12(b)-(d)).
"""

from collections.abc import Mapping

from controller.game import hands

SEVEN = "7-card-straight-flush"

BITS: Mapping[str, int] = {
    "7-card-natural-straight-flush": hands.NATURAL_SEVEN,
    "7-card-wild-straight-flush": hands.JOKER_SEVEN,
    "7-card-straight-flush-with-joker": hands.JOKER_SEVEN,
    "royal-flush-royal-match": hands.ROYAL_MATCH,
    "five-aces": hands.FIVE_ACES,
    "five-of-a-kind": hands.FIVE_KIND,
    "royal-flush": hands.ROYAL,
    "straight-flush": hands.STRAIGHT_FLUSH,
    "four-of-a-kind": hands.FOUR_KIND,
    "full-house": hands.FULL_HOUSE,
    "flush": hands.FLUSH,
    "three-of-a-kind": hands.THREE_KIND,
    "straight": hands.STRAIGHT,
    "three-pair": hands.THREE_PAIR,
}
"""The bits of ``hands.made`` that satisfy each row; that of ``SEVEN`` depends on the paytable: ``row_bits``."""

SEVEN_CARD_OUTCOMES = (SEVEN, *BITS)
BOTH, DEALER_JOKER, DEALER_PLAIN = "both-ace-high", "dealer-ace-high-with-joker", "dealer-ace-high-no-joker"
ACE_HIGH_OUTCOMES = (BOTH, DEALER_JOKER, DEALER_PLAIN)


def row_bits(outcome: str, includes_joker: bool | None) -> int:
    """The bits of which any one satisfies a row. ``includes_joker``: the paytable's key of design section 4; None where
    a row of its own stands for the hand with the joker. Raises KeyError for an outcome that is no hand of the game."""
    if outcome == SEVEN:
        return hands.NATURAL_SEVEN | (hands.JOKER_SEVEN if includes_joker else 0)
    return BITS[outcome]
