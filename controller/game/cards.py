"""Cards of the 53-card deck, and a hand as one number. Pure.

A card is one bit of a number, suit by suit: bits 0 to 12 are the clubs from the two to the ace, then diamonds, hearts
and spades; bit 52 is the joker. A hand is the sum of its cards: it has as many bits as cards exactly when no card is
double.
"""

from collections.abc import Iterable

RANKS = "23456789TJQKA"
SUITS = "cdhs"
SUIT_MASK = (1 << 13) - 1
JOKER = 1 << 52
"""The joker, written ``Jo``."""
HAND_CARDS = 7

NAMES = (*(rank + suit for suit in SUITS for rank in RANKS), "Jo")
"""The written cards by their bit."""
CARD = {name: 1 << place for place, name in enumerate(NAMES)}
"""The bit of each written card: ``As``, ``Kd``, ``Th``, ``2c``, ``Jo``."""
DECK = (1 << 53) - 1

_card = CARD.__getitem__


class CardError(ValueError):
    """What was written is not the hand that is meant; the text names the card."""


def read_hand(text: str, count: int = HAND_CARDS) -> int:
    """The hand of ``count`` cards parted by spaces; raises CardError (wrong card, double card, another count)."""
    return hand_of(text.split(), count)


def hand_of(written: list[str], count: int = HAND_CARDS) -> int:
    """The same for cards already parted."""
    try:
        hand = sum(map(_card, written))
    except KeyError:
        raise CardError(_wrong_card(written)) from None
    if hand.bit_count() != count or len(written) != count:
        raise CardError(_wrong_count(written, count))
    return hand


def _wrong_card(written: Iterable[str]) -> str:
    wrong = next(word for word in written if word not in CARD)
    shown = "".join(letter if letter.isprintable() else "?" for letter in wrong[:20])
    swapped = wrong[:1].upper().replace("1", "T") + wrong[-1:].lower()
    meant = "Jo" if wrong.lower() in ("jo", "joker") else swapped
    hint = f"; did you mean {meant}?" if meant in CARD else "; write rank and suit like As Kd Th 2c, the joker Jo"
    return f'"{shown}" is not a card{hint}'


def _wrong_count(written: list[str], count: int) -> str:
    seen: set[str] = set()
    for word in written:
        if word in seen:
            return f"{word} stands twice"
        seen.add(word)
    return f"{len(written)} cards where {count} are meant"


def double_card(first: int, second: int) -> str | None:
    """The written form of a card that two hands both hold, or None: there is one deck at the table."""
    both = first & second
    return NAMES[both.bit_length() - 1] if both else None


def names_of(hand: int) -> list[str]:
    """The cards of a hand: the joker, then spades to clubs, each from the ace down."""
    names = []
    while hand:
        top = hand.bit_length() - 1
        names.append(NAMES[top])
        hand ^= 1 << top
    return names


def suits_of(hand: int) -> tuple[int, int, int, int]:
    """The 13-bit rank masks of the four suits, clubs first; bit 0 is the two, bit 12 the ace."""
    return hand & SUIT_MASK, hand >> 13 & SUIT_MASK, hand >> 26 & SUIT_MASK, hand >> 39 & SUIT_MASK


def has_joker(hand: int) -> bool:
    """Whether the joker is among the cards."""
    return bool(hand & JOKER)
