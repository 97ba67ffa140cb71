"""What a hand of seven cards holds: every hand of the paytables that can be made of it, at once. Pure.

``made`` returns one bit for each kind of hand that the seven cards satisfy, so that a paytable is read by asking its
rows from the top (58 Pa. Code section 688a.12). The joker is *standard* (an ace, or any card that completes a straight,
flush, straight flush or royal flush) or *fully wild* (any card). A-2-3-4-5 is a run, and no other run wraps.

Everything is looked up in tables over 13-bit rank masks (bit 0 the two, bit 12 the ace), one for each suit.
"""

from controller.game.cards import SUIT_MASK

NATURAL_SEVEN = 1 << 0
"""Seven cards of one suit in a row, without the joker."""
JOKER_SEVEN = 1 << 1
"""The same with the joker as one of them."""
ROYAL_MATCH = 1 << 2
"""A royal flush (joker allowed in it), and the two other cards are a natural king and queen of one suit."""
FIVE_ACES = 1 << 3
"""Four aces and the joker."""
FIVE_KIND = 1 << 4
"""Five of a rank: four natural ones and a fully wild joker, or five aces."""
ROYAL = 1 << 5
STRAIGHT_FLUSH = 1 << 6
FOUR_KIND = 1 << 7
FULL_HOUSE = 1 << 8
FLUSH = 1 << 9
THREE_KIND = 1 << 10
STRAIGHT = 1 << 11
THREE_PAIR = 1 << 12
PAIR = 1 << 13
"""Two cards of a rank: only to know what is not ace high."""
ACE_HIGH = 1 << 14
"""No pair, straight or flush, and an ace or the joker as one (ace high pai gow)."""

ACE = 1 << 12
ROYAL_RANKS = 0b11111 << 8
KING_QUEEN = 0b11 << 10
FIVES = (*(0b11111 << low for low in range(9)), ACE | 0b1111)
"""The ten runs of five ranks; the last is A-2-3-4-5."""
SEVENS = (*(0b1111111 << low for low in range(7)), ACE | 0b111111)
"""The eight runs of seven ranks; the last is A to 7."""


def _runs(ranks: int, joker: int) -> bool:
    return any((ranks & run).bit_count() + joker >= 5 for run in FIVES)


def _suited(ranks: int, joker: int) -> int:
    """What the cards of one suit make, with so many jokers (0 or 1)."""
    if ranks.bit_count() + joker < 5:
        return 0
    bits = FLUSH
    if _runs(ranks, joker):
        bits |= STRAIGHT_FLUSH
    if (ranks & ROYAL_RANKS).bit_count() + joker >= 5:
        bits |= ROYAL
    if any((ranks & run).bit_count() + joker >= 7 for run in SEVENS):
        bits |= JOKER_SEVEN if joker else NATURAL_SEVEN
    return bits


def _grouped(code: int) -> int:
    """What ranks held at least twice (bits 0-1 of the code), three times (2-3) and four times (4) make."""
    twice, thrice, four = code & 3, code >> 2 & 3, code >> 4
    bits = PAIR if twice else 0
    if thrice:
        bits |= THREE_KIND
    if thrice and twice >= 2:
        bits |= FULL_HOUSE
    if four:
        bits |= FOUR_KIND
    return bits | THREE_PAIR if twice >= 3 else bits


def _grouped_wild(code: int) -> int:
    """The same with a fully wild joker beside six natural cards; three pair apart."""
    twice, thrice, four = code & 3, code >> 2 & 3, code >> 4
    bits = PAIR
    if twice:
        bits |= THREE_KIND
    if thrice or twice >= 2:
        bits |= FULL_HOUSE
    if thrice:
        bits |= FOUR_KIND
    return bits | FIVE_KIND if four else bits


SUITED = tuple(tuple(_suited(ranks, joker) for ranks in range(1 << 13)) for joker in (0, 1))
"""By joker and the ranks of one suit: flush, straight flush, royal and seven-card bits."""
RUNS = tuple(tuple(STRAIGHT if _runs(ranks, joker) else 0 for ranks in range(1 << 13)) for joker in (0, 1))
"""By joker and the ranks of the whole hand: the straight."""
GROUPED = tuple(_grouped(code) for code in range(32))
GROUPED_WILD = tuple(_grouped_wild(code) for code in range(32))


def made(hand: int, wild: bool = False) -> int:
    """The bits of all hands that seven cards satisfy; ``wild``: the joker is fully wild, else standard."""
    joker = hand >> 52
    clubs, diamonds = hand & SUIT_MASK, hand >> 13 & SUIT_MASK
    hearts, spades = hand >> 26 & SUIT_MASK, hand >> 39 & SUIT_MASK
    minor, major = clubs | diamonds, hearts | spades
    minor_both, major_both = clubs & diamonds, hearts & spades
    ranks = minor | major
    suited = SUITED[joker]
    bits = suited[clubs] | suited[diamonds] | suited[hearts] | suited[spades] | RUNS[joker][ranks]
    twice = minor_both | major_both | minor & major
    if twice or joker:
        thrice, four = minor_both & major | major_both & minor, minor_both & major_both
        if not joker:
            bits |= GROUPED[twice.bit_count() | thrice.bit_count() << 2 | four.bit_count() << 4]
        else:
            bits |= _with_joker(ranks, twice, thrice, four, wild)
            ranks |= ACE
    if bits & ROYAL and _royal_match(hand, suited):
        bits |= ROYAL_MATCH
    return bits if bits & (PAIR | STRAIGHT | FLUSH) or not ranks & ACE else bits | ACE_HIGH


def _with_joker(ranks: int, twice: int, thrice: int, four: int, wild: bool) -> int:
    """What the ranks of six natural cards and the joker make: those held once or more, twice, three and four times."""
    bits = FIVE_ACES | FIVE_KIND if four & ACE else 0
    if wild:
        pairs = twice.bit_count()
        if pairs >= 3 or (pairs == 2 and ranks != twice):
            bits |= THREE_PAIR
        return bits | GROUPED_WILD[pairs | thrice.bit_count() << 2 | four.bit_count() << 4]
    four |= thrice & ACE
    thrice |= twice & ACE
    twice |= ranks & ACE
    return bits | GROUPED[twice.bit_count() | thrice.bit_count() << 2 | four.bit_count() << 4]


def _royal_match(hand: int, suited: tuple[int, ...]) -> bool:
    """Whether a suit other than the royal one holds king and queen: with five of seven cards, they are the others."""
    held = [hand >> first & SUIT_MASK for first in (0, 13, 26, 39)]
    return any(ranks & KING_QUEEN == KING_QUEEN and not suited[ranks] & ROYAL for ranks in held)
