"""A second classifier, slow and plain: the joker is replaced by every card, every five of the seven cards are looked
at, and the paytable is read from the top. It shares nothing with ``controller.game``; hands are lists of cards.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations

RANKS = "23456789TJQKA"
NATURAL = [rank + suit for rank in RANKS for suit in "cdhs"]
RUNS = [set("A2345"), *(set(RANKS[low : low + 5]) for low in range(9))]
SEVEN_RUNS = [set("A234567"), *(set(RANKS[low : low + 7]) for low in range(7))]
COMPLETED = {"straight", "flush", "straight-flush", "royal-flush"}
"""What a standard joker may complete as any card."""


@cache
def five(ranks: str, one_suit: bool) -> frozenset[str]:
    """What exactly five cards are, as every hand that they satisfy; ``ranks`` is sorted."""
    groups = sorted(Counter(ranks).values(), reverse=True)
    names = set()
    if set(ranks) in RUNS:
        names.add("straight")
    if one_suit:
        names.add("flush")
    if one_suit and set(ranks) in RUNS:
        names.add("straight-flush")
    if one_suit and set(ranks) == set("TJQKA"):
        names.add("royal-flush")
    if groups == [5]:
        names.add("five-of-a-kind")
    if ranks == "AAAAA":
        names.add("five-aces")
    if groups[0] >= 4:
        names.add("four-of-a-kind")
    if groups[0] >= 3:
        names.add("three-of-a-kind")
    if groups == [3, 2]:
        names.add("full-house")
    if groups[0] >= 2:
        names.add("pair")
    return frozenset(names)


def _five(cards: Iterable[str]) -> frozenset[str]:
    held = list(cards)
    return five("".join(sorted(card[0] for card in held)), len({card[1] for card in held}) == 1)


def _seven(cards: list[str], joker: str | None) -> set[str]:
    """What needs all seven cards; ``joker`` is the card that the joker stands for, the last of them."""
    names = set()
    natural = cards if joker is None else cards[:6]
    if len({card[1] for card in cards}) == 1 and {card[0] for card in cards} in SEVEN_RUNS:
        names.add("seven-natural" if joker is None else "seven-joker")
    for chosen in combinations(range(7), 5):
        others = [cards[place] for place in range(7) if place not in chosen]
        match = {card[0] for card in others} == {"K", "Q"} and len({card[1] for card in others}) == 1
        if match and all(card in natural for card in others):
            royal = "royal-flush" in _five(cards[place] for place in chosen)
            names |= {"royal-match"} if royal else set()
    return names


def _three_pair(cards: list[str]) -> bool:
    return sum(count >= 2 for count in Counter(card[0] for card in cards).values()) >= 3


def held(hand: list[str], joker_rule: str) -> set[str]:
    """Every hand that seven cards satisfy, the joker ``standard`` or ``fully-wild``."""
    if "Jo" not in hand:
        names = _seven(hand, None) | {"three-pair"} if _three_pair(hand) else _seven(hand, None)
        return names.union(*(_five(chosen) for chosen in combinations(hand, 5)))
    natural = [card for card in hand if card != "Jo"]
    names = set().union(*(_five(chosen) for chosen in combinations(natural, 5)))
    fours = [("".join(card[0] for card in four), {card[1] for card in four}) for four in combinations(natural, 4)]
    for card in NATURAL:
        free = joker_rule == "fully-wild" or card[0] == "A"
        for ranks, suits in fours:
            made = five("".join(sorted(ranks + card[0])), suits == {card[1]})
            names |= made if free else made & COMPLETED
        names |= _seven_with(natural, card, free)
    return names


def _seven_with(natural: list[str], card: str, free: bool) -> set[str]:
    names = _seven([*natural, card], card) if len({other[1] for other in natural}) <= 2 else set()
    if free and _three_pair([*natural, card]):
        names.add("three-pair")
    return names


def outcome(rows: list[str], names: set[str], includes_joker: bool | None) -> str | None:
    """The topmost of a paytable's rows that is satisfied."""
    asked = {
        "7-card-straight-flush": {"seven-natural"} | ({"seven-joker"} if includes_joker else set()),
        "7-card-natural-straight-flush": {"seven-natural"},
        "7-card-wild-straight-flush": {"seven-joker"},
        "7-card-straight-flush-with-joker": {"seven-joker"},
        "royal-flush-royal-match": {"royal-match"},
    }
    return next((row for row in rows if asked.get(row, {row}) & names), None)


def is_ace_high(hand: list[str]) -> bool:
    """No pair, straight or flush in any five of seven cards, and an ace, which the joker may be."""
    names = held(hand, "standard")
    ace = any(card[0] == "A" or card == "Jo" for card in hand)
    return ace and not names & {"pair", "straight", "flush"}
