"""The dealer's ace high against a player's: exact counts over all ordered pairs of hands from one deck. Pure.

A hand is ace high by its set of ranks (an ace or the joker as one, no pair, no straight) and by having no flush. How
many suits two such hands can take without sharing a card depends on nothing but their sizes and on how many ranks they
have in common. So C(53,7) x C(46,7) = 8,250,459,031,214,400 pairs come down to a sum over that number.
"""

from collections import Counter
from functools import cache
from itertools import combinations, permutations, product
from math import comb
from typing import NamedTuple

from controller.game import hands
from controller.game.cards import HAND_CARDS
from controller.game.odds_counts import ACE, HANDS, SUITS
from controller.game.rows import BOTH, DEALER_JOKER, DEALER_PLAIN

OTHER_HANDS = comb(53 - HAND_CARDS, HAND_CARDS)
PAIRS = HANDS * OTHER_HANDS
"""All ordered pairs of a dealer's and a player's hand: 8,250,459,031,214,400."""


class AceHigh(NamedTuple):
    """One hand that is ace high: with the joker as its ace (then without another), or plain."""

    joker: bool

    @property
    def cards(self) -> int:
        """Natural cards: six or seven, each of another rank."""
        return HAND_CARDS - self.joker

    @property
    def flush_at(self) -> int:
        """So many natural cards of one suit are a flush; no hand can have them in two suits."""
        return 5 - self.joker


_TWO_SUITS = tuple(permutations(range(SUITS), 2))
"""The suits of a rank that both hands hold: never the same card twice."""
PLAIN, JOKER = AceHigh(False), AceHigh(True)


@cache
def _rank_sets(hand: AceHigh) -> tuple[int, ...]:
    """The masks of natural ranks that make neither a pair nor a straight, ace high."""
    others = combinations(range(ACE), hand.cards - (not hand.joker))
    ace = 0 if hand.joker else 1 << ACE
    masks = [ace | sum([1 << rank for rank in ranks]) for ranks in others]
    return tuple(mask for mask in masks if not hands.RUNS[hand.joker][mask])


def _long_suits(one: AceHigh, other: AceHigh, shared: int, long_one: bool, long_other: bool) -> int:
    """Ways to suit two hands with ``shared`` ranks in common, where those marked have a flush, whatever the rest has.

    For each choice of the long suits, the ways are counted by how many cards of them the two hands hold.
    """
    total = 0
    for long in product(range(SUITS) if long_one else [None], range(SUITS) if long_other else [None]):
        shared_rank = Counter((one_suit == long[0], other_suit == long[1]) for one_suit, other_suit in _TWO_SUITS)
        one_alone = Counter((suit == long[0], False) for suit in range(SUITS))
        other_alone = Counter((False, suit == long[1]) for suit in range(SUITS))
        ways = Counter({(0, 0): 1})
        for _ in range(shared):
            ways = _with_rank(ways, shared_rank)
        for _ in range(one.cards - shared):
            ways = _with_rank(ways, one_alone)
        for _ in range(other.cards - shared):
            ways = _with_rank(ways, other_alone)
        low = one.flush_at * long_one, other.flush_at * long_other
        total += sum(count for held, count in ways.items() if held[0] >= low[0] and held[1] >= low[1])
    return total


def _with_rank(ways: Counter[tuple[int, int]], choices: Counter[tuple[bool, bool]]) -> Counter[tuple[int, int]]:
    """The ways by long cards held, with one more rank suited."""
    grown: Counter[tuple[int, int]] = Counter()
    for (held_one, held_other), count in ways.items():
        for (adds_one, adds_other), suits in choices.items():
            grown[held_one + adds_one, held_other + adds_other] += count * suits
    return grown


@cache
def suitings(one: AceHigh, other: AceHigh, shared: int) -> int:
    """Ways to suit two hands with ``shared`` ranks in common so that no card is double and neither has a flush."""
    either = _long_suits(one, other, shared, True, False) + _long_suits(one, other, shared, False, True)
    return _long_suits(one, other, shared, False, False) - either + _long_suits(one, other, shared, True, True)


def count_ace_high(hand: AceHigh) -> int:
    """Hands of the deck that are ace high, with the joker or without."""
    suitings: int = SUITS**hand.cards
    for held in range(hand.flush_at, hand.cards + 1):
        suitings -= SUITS * comb(hand.cards, held) * (SUITS - 1) ** (hand.cards - held)
    return len(_rank_sets(hand)) * suitings


def count_both(dealer: AceHigh, player: AceHigh) -> int:
    """Ordered pairs of disjoint hands that are both ace high; there is but one joker."""
    if dealer.joker and player.joker:
        return 0
    shared = Counter([(one & other).bit_count() for one in _rank_sets(dealer) for other in _rank_sets(player)])
    return sum(pairs * suitings(dealer, player, ranks) for ranks, pairs in shared.items())


@cache
def count_pairs() -> dict[str, int]:
    """Pairs for each outcome of an ace high paytable, and ``none``: the dealer is not ace high."""
    both = {dealer: sum(count_both(dealer, player) for player in (PLAIN, JOKER)) for dealer in (PLAIN, JOKER)}
    found = {
        BOTH: sum(both.values()),
        DEALER_JOKER: count_ace_high(JOKER) * OTHER_HANDS - both[JOKER],
        DEALER_PLAIN: count_ace_high(PLAIN) * OTHER_HANDS - both[PLAIN],
    }
    return {**found, "none": PAIRS - sum(found.values())}
