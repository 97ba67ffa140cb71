"""The bonus paytables without a meter: Ace High (b) and Fortune (c) of 58 Pa. Code section 688a.12. Pure.

Their files have the form of the progressive ones (docs/CONFIG.md, ``[[prize]]``), without wager, meter and share: what
a row pays is written as printed, ``pay = "5,000 to 1"`` or ``pay = "Push"``. Progressive paytables are read by
``controller.config_paytable``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.config_paytable import read_paytable
from controller.config_reader import Problems, Section, nearest, shown
from controller.game.rows import ACE_HIGH_OUTCOMES, SEVEN_CARD_OUTCOMES
from controller.paytable import Paytable

PRIZES_MAX = 64
ODDS_MAX = 1_000_000
"""No bonus row pays more times the wager."""

_ODDS = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,7}) to 1", re.ASCII)
_METERED = ("wager", "wager_returned", "seven_card_straight_flush_includes_joker", "valid_from", "valid_to")
_BONUS_ONLY = "has no meaning in a bonus paytable, which has no meter and takes wagers of any size"


@dataclass(frozen=True, slots=True)
class BonusPrize:
    """One row: what it pays for each unit of the wager ("to 1"; 0 is a push), and envy in cents to each other seat."""

    outcome: str
    label: str
    odds: int
    envy_cents: int


@dataclass(frozen=True, slots=True)
class BonusTable:
    """A whole Fortune or Ace High paytable; a paid wager, and one that pushes, goes back to the player."""

    id: str
    title: str
    citation: str
    game: str
    joker: str
    seven_card_straight_flush_includes_joker: None
    prizes: tuple[BonusPrize, ...]

    @property
    def is_ace_high(self) -> bool:
        """Whether its rows are for the dealer's hand and a player's, not for one hand."""
        return self.prizes[0].outcome in ACE_HIGH_OUTCOMES

    @property
    def has_envy(self) -> bool:
        """True where some row pays the other players."""
        return any(prize.envy_cents for prize in self.prizes)


GameTable = Paytable | BonusTable


def read_table(raw: Mapping[str, Any], name: str, file: str, problems: Problems) -> GameTable | None:
    """A paytable of any kind: with a ``[meter...]`` a progressive one, else a bonus; None when anything is wrong."""
    if "meter" in raw:
        return read_paytable(raw, name, file, problems)
    return read_bonus(raw, name, file, problems)


def read_bonus(raw: Mapping[str, Any], name: str, file: str, problems: Problems) -> BonusTable | None:
    """The bonus paytable ``name`` (its file's name); None when anything in it is wrong, which is then noted."""
    section = Section(raw, "paytable", "", file, problems)
    if section.ident("id") != name and section.good("id"):
        section.refuse("id", f"{shown(raw['id'])} stands in a file named {name}.toml", "make the two the same")
    for key in _METERED:
        if section.has(key):
            section.refuse(key, _BONUS_ONLY, "remove it")
    table = BonusTable(
        id=name,
        title=section.text("title", default=name),
        citation=section.text("citation", default=""),
        game=section.text("game", default=""),
        joker=section.one_of("joker", ("standard",)),
        seven_card_straight_flush_includes_joker=None,
        prizes=_read_prizes(section),
    )
    return table if section.sound else None


def _read_prizes(section: Section) -> tuple[BonusPrize, ...]:
    rows = section.rows("prize", PRIZES_MAX)
    if not rows and section.good("prize"):
        section.missing("prize", "write one [[prize]] for each row of the paytable")
    prizes: dict[str, BonusPrize] = {}
    for row in rows:
        prize = _read_prize(row)
        if prize.outcome in prizes:
            row.refuse("outcome", f'"{prize.outcome}" stands twice', "give each row an outcome of its own")
        prizes[prize.outcome] = prize
    dealers = [outcome for outcome in prizes if outcome in ACE_HIGH_OUTCOMES]
    if dealers and len(dealers) < len(prizes):
        section.refuse("prize", "rows of the dealer's ace high beside rows of one hand", "write them in two files")
    return tuple(prizes.values())


def _read_prize(row: Section) -> BonusPrize:
    outcome = row.ident("outcome")
    known = (*SEVEN_CARD_OUTCOMES, *ACE_HIGH_OUTCOMES)
    if outcome and outcome not in known:
        row.refuse("outcome", f"{shown(outcome)} is not a hand of the game", nearest(outcome, known))
    if row.has("share"):
        row.refuse("share", _BONUS_ONLY, "remove it")
    if row.has("envy") and outcome in ACE_HIGH_OUTCOMES:
        row.refuse("envy", "the dealer's hand earns nobody envy", "remove it")
    return BonusPrize(
        outcome=outcome,
        label=row.text("label", default=outcome),
        odds=_read_odds(row),
        envy_cents=row.money("envy", low=1) if row.has("envy") else 0,
    )


def _read_odds(row: Section) -> int:
    """The odds "to 1"; 0 for a push."""
    found = row.raw.get("pay")
    if found == "Push":
        return 0
    match = _ODDS.fullmatch(found) if isinstance(found, str) else None
    odds = int(match[1].replace(",", "")) if match else 0
    if not 1 <= odds <= ODDS_MAX:
        what = "missing" if found is None else f"{shown(found)} is not odds"
        row.refuse("pay", what, f'write "20 to 1" (at most {ODDS_MAX:,} to 1), or "Push"')
    return odds
