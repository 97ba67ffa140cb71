"""What a hand is by a paytable: the topmost row that its seven cards satisfy, however it is set. Pure.

Ace High paytables are read for the dealer's hand and a player's together (58 Pa. Code section 688a.12(b)).
"""

import json
from typing import NamedTuple

from controller.game import hands
from controller.game.best import best_of
from controller.game.cards import JOKER, RANKS, CardError, double_card, hand_of, has_joker, names_of
from controller.game.hands import made
from controller.game.rows import ACE_HIGH_OUTCOMES, BOTH, DEALER_JOKER, DEALER_PLAIN, SEVEN_CARD_OUTCOMES, row_bits
from controller.game.tables import GameTable
from controller.paytable import Paytable


class NotThisGame(ValueError):
    """The paytable names a hand that the game of section 688a.12 does not have; the text names it."""


class Row(NamedTuple):
    """A row as classification needs it: its outcome and printed label, and the bits that satisfy it."""

    outcome: str
    label: str
    bits: int


class Verdict(NamedTuple):
    """The row of a hand and how the cards make it; all None where no row is satisfied."""

    outcome: str | None
    label: str | None
    best: str | None


NOTHING = Verdict(None, None, None)


class SevenCards:
    """One seven-card paytable (Fortune or progressive), ready to classify hands."""

    def __init__(self, table: GameTable) -> None:
        """Raises NotThisGame."""
        known = set(SEVEN_CARD_OUTCOMES)
        strange = [prize.outcome for prize in table.prizes if prize.outcome not in known]
        if strange:
            raise NotThisGame(f'paytable "{table.id}": "{strange[0]}" is not a hand of one player in this game')
        includes = table.seven_card_straight_flush_includes_joker
        self.id = table.id
        self.wild = table.joker == "fully-wild"
        self.rows = tuple(Row(prize.outcome, prize.label, row_bits(prize.outcome, includes)) for prize in table.prizes)
        self._row_of: dict[int, Row | None] = {}
        """The topmost row by what is made; it can hold no more than the combinations of fifteen bits."""
        opening = f'", "paytable": {json.dumps(self.id)}, "outcome": '
        self._none = opening + 'null, "label": null, "best": null}\n'
        self._middle = {
            row: f'{opening}{json.dumps(row.outcome)}, "label": {json.dumps(row.label)}, "best": "' for row in self.rows
        }

    def row(self, hand: int) -> Row | None:
        """The topmost row that the seven cards satisfy."""
        bits = made(hand, self.wild)
        try:
            return self._row_of[bits]
        except KeyError:
            row = next((row for row in self.rows if row.bits & bits), None)
            self._row_of[bits] = row
            return row

    def best(self, hand: int, row: Row) -> str:
        """How the cards make the row."""
        bits = row.bits
        if bits & hands.NATURAL_SEVEN and bits & hands.JOKER_SEVEN:
            bits = hands.JOKER_SEVEN if has_joker(hand) else hands.NATURAL_SEVEN
        return best_of(hand, bits, self.wild)

    def verdict(self, hand: int) -> Verdict:
        """The row and how the cards make it."""
        row = self.row(hand)
        return NOTHING if row is None else Verdict(row.outcome, row.label, self.best(hand, row))

    def answer(self, text: str) -> str:
        """One line of JSON for a written hand; raises CardError. Written by hand: a line costs a few microseconds."""
        written = text.split()
        hand = hand_of(written)
        row = self.row(hand)
        cards = " ".join(written)
        if row is None:
            return f'{{"cards": "{cards}{self._none}'
        return f'{{"cards": "{cards}{self._middle[row]}{self.best(hand, row)}"}}\n'


class AceHigh:
    """One Ace High paytable, ready to classify a dealer's hand and a player's."""

    def __init__(self, table: GameTable) -> None:
        """Raises NotThisGame."""
        strange = [prize.outcome for prize in table.prizes if prize.outcome not in ACE_HIGH_OUTCOMES]
        if strange:
            raise NotThisGame(f'paytable "{table.id}": "{strange[0]}" is not an outcome of the dealer\'s ace high')
        self.id = table.id
        self.labels = {prize.outcome: prize.label for prize in table.prizes}

    def verdict(self, dealer: int, player: int) -> Verdict:
        """The row of two hands of one deck; raises CardError where both hold the same card."""
        double = double_card(dealer, player)
        if double is not None:
            raise CardError(f"{double} stands in the dealer's hand and in the player's")
        if not is_ace_high(dealer):
            return NOTHING
        if is_ace_high(player):
            best = f"dealer {_ace_high_words(dealer)}; player {_ace_high_words(player)}"
            return self._found(BOTH, best)
        return self._found(DEALER_JOKER if dealer & JOKER else DEALER_PLAIN, f"dealer {_ace_high_words(dealer)}")

    def _found(self, outcome: str, best: str) -> Verdict:
        return Verdict(outcome, self.labels[outcome], best) if outcome in self.labels else NOTHING

    def answer(self, text: str) -> str:
        """One line of JSON for ``dealer | player``; raises CardError."""
        hands_written = text.split("|")
        if len(hands_written) != 2:
            raise CardError(f"{len(hands_written)} hands where the dealer's | the player's are meant")
        dealer, player = (written.split() for written in hands_written)
        verdict = self.verdict(named_hand("dealer", dealer), named_hand("player", player))
        cards = f"{' '.join(dealer)} | {' '.join(player)}"
        return json.dumps({"cards": cards, "paytable": self.id, **verdict._asdict()}) + "\n"


Classifier = SevenCards | AceHigh


def classifier(table: GameTable) -> Classifier:
    """The classifier of a paytable; raises NotThisGame."""
    if isinstance(table, Paytable) or not table.is_ace_high:
        return SevenCards(table)
    return AceHigh(table)


def is_ace_high(hand: int) -> bool:
    """Whether seven cards are ace high: no pair, straight or flush; the joker counts as an ace or completes one."""
    return bool(made(hand) & hands.ACE_HIGH)


def named_hand(whose: str, written: list[str]) -> int:
    """A hand whose errors say whose it is; raises CardError."""
    try:
        return hand_of(written)
    except CardError as wrong:
        raise CardError(f"{whose}: {wrong}") from None


def _ace_high_words(hand: int) -> str:
    """The seven cards from the ace down."""
    cards = sorted(names_of(hand & ~JOKER), key=lambda card: RANKS.index(card[0]), reverse=True)
    return " ".join(["Jo=A", *cards] if has_joker(hand) else cards)
