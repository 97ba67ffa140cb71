"""How the cards of a hand make it, in words for people: ``As Ks Qs Js Jo=Ts``. Pure.

Cards of a rank are written from spades to clubs, runs from the top; ``Jo=Ts`` is the joker as the ten of spades.
"""

from collections.abc import Callable, Mapping

from controller.game import hands
from controller.game.cards import RANKS, SUIT_MASK, SUITS, has_joker, names_of

_SUITS = (3, 2, 1, 0)
_RANKS_DOWN = range(12, -1, -1)

RUNS_DOWN = (hands.FIVES[8], hands.FIVES[9], *reversed(hands.FIVES[:8]))
"""Runs of five from the best: A-2-3-4-5 is the second highest straight."""


def best_of(hand: int, bit: int, wild: bool) -> str:
    """How ``hand`` makes the hand of one ``bit`` of ``hands.made``, which it must satisfy."""
    sizes = _SIZES.get(bit)
    return _grouped(hand, sizes, wild) if sizes else _RUNS[bit](hand)


def _suit(hand: int, suit: int) -> int:
    return hand >> 13 * suit & SUIT_MASK


def _cards(held: int, suit: int, run: int) -> str:
    """The cards of a run in one suit; a missing one is the joker's. A-2-3-4-5 begins with the ace."""
    letter = SUITS[suit]
    words = []
    for rank in _ranks_of(run):
        card = RANKS[rank] + letter
        words.append(card if held >> rank & 1 else "Jo=" + card)
    return " ".join(words)


def _ranks_of(run: int) -> list[int]:
    ranks = [rank for rank in _RANKS_DOWN if run >> rank & 1]
    return [*ranks[1:], ranks[0]] if ranks[0] - ranks[1] > 1 else ranks


def _run_in_suit(hand: int, runs: tuple[int, ...], length: int) -> tuple[int, int]:
    """The suit and the best of the runs that it makes, with the joker for a missing card."""
    joker = has_joker(hand)
    for run in runs:
        for suit in _SUITS:
            if (_suit(hand, suit) & run).bit_count() + joker >= length:
                return suit, run
    raise ValueError("no such run in this hand")


def _in_suit(runs: tuple[int, ...], length: int) -> Callable[[int], str]:
    def words(hand: int) -> str:
        suit, run = _run_in_suit(hand, runs, length)
        return _cards(_suit(hand, suit), suit, run)

    return words


_royal = _in_suit(RUNS_DOWN[:1], 5)


def _royal_match(hand: int) -> str:
    royal, _ = _run_in_suit(hand, RUNS_DOWN[:1], 5)
    kings = [suit for suit in _SUITS if _suit(hand, suit) & hands.KING_QUEEN == hands.KING_QUEEN]
    other = next(suit for suit in kings if suit != royal)
    return f"{_royal(hand)} + {_cards(hands.KING_QUEEN, other, hands.KING_QUEEN)}"


def _flush(hand: int) -> str:
    """The five highest of the suit; the joker stands in for a missing fifth."""
    joker = has_joker(hand)
    suit = next(suit for suit in _SUITS if _suit(hand, suit).bit_count() + joker >= 5)
    held = [RANKS[rank] + SUITS[suit] for rank in _RANKS_DOWN if _suit(hand, suit) >> rank & 1]
    return " ".join(held[:5] if len(held) >= 5 else [*held, "Jo"])


def _straight(hand: int) -> str:
    joker = has_joker(hand)
    suits = [_suit(hand, suit) for suit in range(4)]
    ranks = suits[0] | suits[1] | suits[2] | suits[3]
    run = next(run for run in RUNS_DOWN if (ranks & run).bit_count() + joker >= 5)
    words = []
    for rank in _ranks_of(run):
        held = [suit for suit in _SUITS if suits[suit] >> rank & 1]
        words.append(RANKS[rank] + SUITS[held[0]] if held else "Jo=" + RANKS[rank])
    return " ".join(words)


def _grouped(hand: int, sizes: tuple[int, ...], wild: bool) -> str:
    """Cards of a rank in groups of these sizes; natural ones if they suffice, else with the joker in one group."""
    of_rank: dict[str, list[str]] = {}
    for name in names_of(hand):
        of_rank.setdefault(name[0], []).append(name)
    joker = "J" in of_rank and of_rank["J"][0] == "Jo"
    if joker:
        del of_rank["J"][0]
    for at in (None, *range(len(sizes))) if joker else (None,):
        words = _groups(of_rank, sizes, at, wild)
        if words is not None:
            return " ".join(words)
    raise ValueError("no such groups in this hand")


def _groups(of_rank: Mapping[str, list[str]], sizes: tuple[int, ...], at: int | None, wild: bool) -> list[str] | None:
    """The groups with the joker in the one numbered ``at``; None when they cannot be made so."""
    used: set[str] = set()
    words: list[str] = []
    for place, size in enumerate(sizes):
        mine = place == at
        need = size - mine
        ranks = "A" if mine and not wild else reversed(RANKS)
        rank = next((rank for rank in ranks if rank not in used and len(of_rank.get(rank, ())) >= need), None)
        if rank is None:
            return None
        used.add(rank)
        words += of_rank[rank][:need]
        if mine:
            words.append("Jo=" + rank)
    return words


_SIZES = {
    hands.FIVE_ACES: (5,),
    hands.FIVE_KIND: (5,),
    hands.FOUR_KIND: (4,),
    hands.FULL_HOUSE: (3, 2),
    hands.THREE_KIND: (3,),
    hands.THREE_PAIR: (2, 2, 2),
}
_SEVENS_DOWN = (hands.SEVENS[6], hands.SEVENS[7], *reversed(hands.SEVENS[:6]))
_RUNS: Mapping[int, Callable[[int], str]] = {
    hands.NATURAL_SEVEN: _in_suit(_SEVENS_DOWN, 7),
    hands.JOKER_SEVEN: _in_suit(_SEVENS_DOWN, 7),
    hands.ROYAL_MATCH: _royal_match,
    hands.ROYAL: _royal,
    hands.STRAIGHT_FLUSH: _in_suit(RUNS_DOWN, 5),
    hands.FLUSH: _flush,
    hands.STRAIGHT: _straight,
}
