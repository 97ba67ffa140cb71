"""A claimed hand against the seven cards on the felt: what they are by the paytable, and whether that is claimed. Pure.

Before an award is paid its cards are read once more (58 Pa. Code section 688a.12(b)-(d)); a key that was pressed for
another row is found here, not after the money has gone. For an Ace High paytable the dealer's cards and the player's
stand together, parted by ``|``.
"""

from dataclasses import dataclass

from controller.game.cards import CardError, read_hand
from controller.game.classify import AceHigh, Verdict, classifier, named_hand
from controller.game.tables import GameTable
from controller.game.this_game import require_this_game

CARDS_TEXT_MAX = 200
"""Two hands with generous spaces are far shorter."""


class NoSuchRow(ValueError):
    """The claim names an outcome that the paytable does not have; the text says which, and which there are."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The cards as they were read, the claimed outcome, what the cards are, and both in words for the floor."""

    paytable: str
    cards: str
    """One space between cards; an Ace High pair as ``dealer | player``."""
    outcome: str
    """The outcome that is claimed."""
    verdict: Verdict
    agrees: bool
    """Whether the cards are exactly the claimed row: neither a lower nor a higher one."""
    words: str


def check_claim(table: GameTable, cards_text: str, outcome: str) -> Claim:
    """Judge a claim by the cards; raises CardError, NoSuchRow, or NotThisGame where the game is another."""
    rows = [prize.outcome for prize in table.prizes]
    if outcome not in rows:
        raise NoSuchRow(f'paytable {table.id} has no row "{outcome[:64]}"; its rows are {", ".join(rows)}')
    cards, verdict = read_cards(table, cards_text)
    agrees = verdict.outcome == outcome
    return Claim(table.id, cards, outcome, verdict, agrees, _words(table, verdict, outcome))


def read_cards(table: GameTable, cards_text: str) -> tuple[str, Verdict]:
    """The cards, written with single spaces, and what they are; raises CardError, NotThisGame."""
    if len(cards_text) > CARDS_TEXT_MAX:
        raise CardError(f"{len(cards_text)} letters are no hand; write seven cards like As Kd Th 2c")
    require_this_game(table)
    reader = classifier(table)
    if not isinstance(reader, AceHigh):
        written = cards_text.split()
        return " ".join(written), reader.verdict(read_hand(cards_text))
    hands = [hand.split() for hand in cards_text.split("|")]
    if len(hands) != 2:
        raise CardError("this claim needs two hands: the dealer's seven cards | the player's seven cards")
    dealer, player = hands
    verdict = reader.verdict(named_hand("dealer", dealer), named_hand("player", player))
    return f"{' '.join(dealer)} | {' '.join(player)}", verdict


def verdict_words(verdict: Verdict) -> str:
    """What the cards are: ``Royal flush (As Ks Qs Js Ts)``, or that no row of the paytable is satisfied."""
    return f"{verdict.label} ({verdict.best})" if verdict.outcome else "no row of the paytable"


def _words(table: GameTable, verdict: Verdict, outcome: str) -> str:
    labels = {prize.outcome: prize.label for prize in table.prizes}
    made = verdict_words(verdict)
    if verdict.outcome == outcome:
        return f"The cards agree with the claim: {made}."
    rank = ""
    if verdict.outcome is not None:
        order = list(labels)
        rank = ", a higher row" if order.index(verdict.outcome) < order.index(outcome) else ", a lower row"
    return (
        f"The cards do not agree with the claim: {labels[outcome]} is claimed, the cards are {made}{rank}. "
        "Pay nothing yet: read the cards again, and if they are right have the claim corrected."
    )
