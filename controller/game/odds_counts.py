"""How many of the C(53,7) hands make which hands at once: exact counts by rank pattern and long suit. Pure.

Every hand is counted by its rank pattern (49,205 of seven cards, 18,395 of six beside the joker). Then the hands with a
long suit - five cards of it, or four beside the joker; no hand has two - are moved to what they make besides: a flush,
straight flush, royal flush. So 154,143,080 hands cost some 300,000 steps (58 Pa. Code section 688a.12).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, prod

from controller.game import hands
from controller.game.cards import HAND_CARDS

HANDS = comb(53, HAND_CARDS)
"""All hands of seven of 53 cards: 154,143,080."""
SUITS = 4
RANKS = 13
ACE = RANKS - 1

# A rank pattern is one whole number, so that patterns grow by mere addition: three bits of count for each rank, then
# the mask of ranks present, then four bits each for how many ranks stand once, twice, three times, four times.
_COUNT_BITS = 3
_MASK_AT = _COUNT_BITS * RANKS
_SIZES_AT = _MASK_AT + RANKS
_CODE = (1 << _MASK_AT) - 1
_MASK = (1 << RANKS) - 1


def _rank_patterns(cards: int) -> list[int]:
    """Every multiset of that many ranks with at most four of each, as packed numbers."""
    grown: list[list[int]] = [[] for _ in range(cards + 1)]
    grown[cards] = [0]
    for rank in range(RANKS):
        more = [list(patterns) for patterns in grown]
        for count in range(1, SUITS + 1):
            one = count << _COUNT_BITS * rank | 1 << _MASK_AT + rank | 1 << _SIZES_AT + 4 * (count - 1)
            for left in range(count, cards + 1):
                more[left - count] += [pattern + one for pattern in grown[left]]
        grown = more
    return grown[0]


def _sizes_of(packed: int) -> list[int]:
    """How many of each rank present, in ascending order: ``[1, 1, 2, 3]``."""
    return [count for count in range(1, SUITS + 1) for _ in range(packed >> 4 * (count - 1) & 15)]


def of_kinds(sizes: Sequence[int]) -> int:
    """What so many of each rank present make, in any order, as bits of ``controller.game.hands``."""
    first, second, third = sorted([*sizes, 0, 0], reverse=True)[:3]
    made = hands.FIVE_KIND if first >= 5 else 0
    if first >= 4:
        made |= hands.FOUR_KIND
    if first >= 3:
        made |= hands.THREE_KIND
    if first >= 3 and second >= 2:
        made |= hands.FULL_HOUSE
    return made | (hands.THREE_PAIR if third >= 2 else 0)


def beside_joker(sizes: Sequence[int], aces: int, wild: bool) -> int:
    """The same with the joker: it is another ace or, fully wild, another of any one rank."""
    made = hands.FIVE_ACES if aces == SUITS else 0
    if not wild:
        others = list(sizes)
        if aces:
            others.remove(aces)
        return made | of_kinds([*others, aces + 1])
    for place in range(len(sizes)):
        made |= of_kinds([size + (turn == place) for turn, size in enumerate(sizes)])
    return made


def _code(ranks: Iterable[int]) -> int:
    return sum([1 << _COUNT_BITS * rank for rank in ranks])


def _codes_by_ways(cards: int) -> dict[int, list[int]]:
    """The cards beside a long suit: for each number of ways to suit the whole hand, the codes of their ranks."""
    codes: dict[int, list[int]] = {}
    for ranks in combinations_with_replacement(range(RANKS), cards):
        ways = SUITS * prod(comb(SUITS - 1, ranks.count(rank)) for rank in set(ranks))
        codes.setdefault(ways, []).append(_code(ranks))
    return codes


def _move_long_suits(counts: Counter[int], by_rank: Mapping[int, int], cards: int, joker: bool) -> None:
    """Move the hands with a long suit from what their ranks make to what their suit makes besides."""
    for length in range(5 - joker, cards + 1):
        by_suit: dict[int, list[int]] = {}
        for ranks in combinations(range(RANKS), length):
            suited = hands.SUITED[joker][sum([1 << rank for rank in ranks])]
            by_suit.setdefault(suited, []).append(_code(ranks))
        for ways, others in _codes_by_ways(cards - length).items():
            for suited, codes in by_suit.items():
                for made, turns in Counter([by_rank[code + other] for other in others for code in codes]).items():
                    counts[made] -= turns * ways
                    counts[made | suited] += turns * ways


def _move_royal_matches(counts: Counter[int], by_rank: Mapping[int, int], cards: int, joker: bool) -> None:
    """Five suited cards (four beside the joker) of a royal flush, and two others: a king and queen of one suit."""
    suited = hands.SUITED[joker][hands.ROYAL_RANKS]
    for ranks in combinations(range(ACE - 4, RANKS), cards - 2):
        made = by_rank[_code([*ranks, ACE - 1, ACE - 2])] | suited
        ways = SUITS * (SUITS - 1)
        counts[made] -= ways
        counts[made | hands.ROYAL_MATCH] += ways


def _count(made_of: Callable[[Sequence[int], int], int], cards: int, joker: bool) -> Counter[int]:
    """All hands of so many natural cards; ``made_of`` tells what the sizes and the number of aces make."""
    kinds = cache(lambda packed, aces: made_of(_sizes_of(packed), aces))
    ways_of = cache(lambda packed: prod(comb(SUITS, size) for size in _sizes_of(packed)))
    runs = hands.RUNS[joker]
    counts: Counter[int] = Counter()
    by_rank: dict[int, int] = {}
    for pattern in _rank_patterns(cards):
        code, sizes = pattern & _CODE, pattern >> _SIZES_AT
        made = kinds(sizes, code >> _COUNT_BITS * ACE) | runs[pattern >> _MASK_AT & _MASK]
        by_rank[code] = made
        counts[made] += ways_of(sizes)
    _move_long_suits(counts, by_rank, cards, joker)
    _move_royal_matches(counts, by_rank, cards, joker)
    return counts


@cache
def _natural_hands() -> Counter[int]:
    return _count(lambda sizes, _: of_kinds(sizes), HAND_CARDS, False)


@cache
def count_hands(wild: bool) -> Mapping[int, int]:
    """How many of the 154,143,080 hands make exactly these hands; ``wild``: the joker is fully wild, else standard.

    The keys are bits of ``controller.game.hands``, ``PAIR`` and ``ACE_HIGH`` apart. About 0.4 s, once.
    """
    return _natural_hands() + _count(lambda sizes, aces: beside_joker(sizes, aces, wild), HAND_CARDS - 1, True)


def count_rows(rows: Sequence[tuple[str, int]], wild: bool) -> dict[str, int]:
    """Hands that get each row, the topmost that they satisfy, and ``none``; each row is an outcome and its bits."""
    found = dict.fromkeys([outcome for outcome, _ in rows], 0) | {"none": 0}
    for made, hands_of_it in count_hands(wild).items():
        found[next((outcome for outcome, bits in rows if made & bits), "none")] += hands_of_it
    return found
