"""A set hand: five cards as the high hand, two as the low hand, and which of two hands ranks higher. Pure.

For the Face Up Pai Gow Poker wager (58 Pa. Code section 688a.12(a)), always with the standard joker: an ace, or a card
that completes a straight, flush, straight flush or royal flush; never a card that the hand already holds.
"""

from collections import Counter
from enum import IntEnum
from typing import NamedTuple

from controller.game.best import RUNS_DOWN
from controller.game.cards import JOKER, RANKS, hand_of, has_joker, names_of


class Category(IntEnum):
    """High hands from the lowest to the highest."""

    HIGH_CARD = 0
    PAIR = 1
    TWO_PAIR = 2
    THREE_OF_A_KIND = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    FOUR_OF_A_KIND = 7
    STRAIGHT_FLUSH = 8
    ROYAL_FLUSH = 9
    FIVE_ACES = 10

    @property
    def words(self) -> str:
        """``three of a kind``."""
        return self.name.lower().replace("_", " ")


class Rank(NamedTuple):
    """What two hands are compared by; ``ranks`` break ties (0 the two, 12 the ace; runs by their standing)."""

    category: Category
    ranks: tuple[int, ...]


class SetHand(NamedTuple):
    """A player's or the dealer's seven cards as set: bits of ``cards``, five and two."""

    high: int
    low: int

    @property
    def seven(self) -> int:
        """All seven cards."""
        return self.high | self.low

    @property
    def fouled(self) -> bool:
        """Whether the low hand outranks the high hand; equal as far as two cards go is not outranked."""
        high, low = rank_high(self.high), rank_low(self.low)
        return (low.category, low.ranks) > (high.category, high.ranks[: len(low.ranks)])


def read_set_hand(high: str, low: str) -> SetHand:
    """A set hand as written; raises CardError for a wrong, double or missing card."""
    high_cards, low_cards = high.split(), low.split()
    hand_of([*high_cards, *low_cards])
    return SetHand(hand_of(high_cards, 5), hand_of(low_cards, 2))


def rank_low(low: int) -> Rank:
    """A low hand: a pair or two high cards; the joker is an ace."""
    ranks = sorted((12 if name == "Jo" else RANKS.index(name[0]) for name in names_of(low)), reverse=True)
    return Rank(Category.PAIR, (ranks[0],)) if ranks[0] == ranks[1] else Rank(Category.HIGH_CARD, tuple(ranks))


def rank_high(high: int) -> Rank:
    """A high hand, its joker used best. A-2-3-4-5 is the second highest straight."""
    natural = [(RANKS.index(name[0]), name[1]) for name in names_of(high & ~JOKER)]
    if not has_joker(high):
        return _rank_natural(natural)
    best = _rank_natural([*natural, (12, "")])
    for suit in "cdhs":
        for rank in range(13):
            if (rank, suit) not in natural:
                completed = _rank_natural([*natural, (rank, suit)])
                best = max(best, completed) if completed.category in _COMPLETED else best
    return best


_COMPLETED = {Category.STRAIGHT, Category.FLUSH, Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH}
_BY_COUNTS = {
    (5,): Category.FIVE_ACES,
    (4, 1): Category.FOUR_OF_A_KIND,
    (3, 2): Category.FULL_HOUSE,
    (3, 1, 1): Category.THREE_OF_A_KIND,
    (2, 2, 1): Category.TWO_PAIR,
    (2, 1, 1, 1): Category.PAIR,
    (1, 1, 1, 1, 1): Category.HIGH_CARD,
}
_STANDING = {run: standing for standing, run in enumerate(reversed(RUNS_DOWN))}
"""The ten runs of five from the lowest (0) to the highest (9)."""


def _rank_natural(cards: list[tuple[int, str]]) -> Rank:
    """Five cards with their ranks and suits; an ace of no suit is the joker as an ace."""
    groups = sorted(((count, rank) for rank, count in Counter(rank for rank, _ in cards).items()), reverse=True)
    by_ranks = Rank(_BY_COUNTS[tuple(count for count, _ in groups)], tuple(rank for _, rank in groups))
    flush = len({suit for _, suit in cards}) == 1
    standing = _STANDING.get(sum(1 << rank for rank in {rank for rank, _ in cards}))
    if standing is None:
        return max(by_ranks, Rank(Category.FLUSH, by_ranks.ranks)) if flush else by_ranks
    if not flush:
        return Rank(Category.STRAIGHT, (standing,))
    royal = standing == len(_STANDING) - 1
    return Rank(Category.ROYAL_FLUSH if royal else Category.STRAIGHT_FLUSH, (standing,))


