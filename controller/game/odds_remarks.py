"""What an operator should know of a paytable before it is played, found from its exact odds. Pure.

Paytables are kept as the text prints them; a slip in the text is not corrected here but shown, each time from the
cards and never from a list (R-10, R-13).
"""

from collections.abc import Iterator
from fractions import Fraction

from controller.game.odds import NONE, MeterOdds, Odds
from controller.game.tables import BonusTable, GameTable
from controller.money import PPM, format_cents

RAREST = Fraction(1, 100_000_000)
"""No row that takes 100% of a meter may be rarer (R-10)."""
_RAREST_WORDS = f"1 in {RAREST.denominator:,} (R-10)"
RARER = 2
"""A row is out of line when it is at least this many times rarer than one that pays as much or more."""


def too_rare(odds: Odds) -> list[str]:
    """The outcomes that take 100% of a meter and are rarer than 1 in 100,000,000: refused (R-10)."""
    rows = {outcome: chance for meter in odds.meters for outcome, share, chance in meter.shares if share == PPM}
    return [outcome for outcome, chance in rows.items() if chance < RAREST]


def too_rare_words(table: GameTable, odds: Odds, outcome: str) -> str:
    """Why such a row is refused, for the person who wrote the paytable."""
    label = next(prize.label for prize in table.prizes if prize.outcome == outcome)
    chance = odds.chance(outcome)
    comes = f"comes 1 in {round(1 / chance):,} hands" if chance else "never comes"
    return f"{label} takes 100% of a meter and {comes}; no such row may be rarer than {_RAREST_WORDS}"


def paytable_remarks(table: GameTable, odds: Odds) -> list[str]:
    """A return above 100%, rows that never come, and rows out of line with their rarity, as sentences."""
    found = []
    if odds.at_seed > 1:
        found.append(f"returns {float(odds.at_seed):.2%} even with its meter at the seed")
    elif odds.returned > 1:
        found.append(f"returns {float(odds.returned):.2%} in the long run, more than is wagered")
    found += (words for outcome in odds.counts if outcome != NONE for words in _row_remarks(table, odds, outcome))
    return [f"Paytable {table.id}: {words}." for words in found]


def _row_remarks(table: GameTable, odds: Odds, outcome: str) -> Iterator[str]:
    labels = {prize.outcome: prize.label for prize in table.prizes}
    count = odds.counts[outcome]
    if not count:
        yield f"no hand ever gets {labels[outcome]}, because the rows above take all of them"
        return
    other = _commonest_that_pays_as_much(outcome, _pays(table), odds)
    if odds.counts[other] >= RARER * count:
        when = " while its meter stands at the seed" if odds.meters else ""
        rare, common = (f"{labels[row]} (1 in {float(1 / odds.chance(row)):,.0f})" for row in (outcome, other))
        yield f"{rare} pays no more than {common}{when}"


def limit_remark(meter: MeterOdds, limit_cents: int | None) -> str | None:
    """A mean hit that the limit would cut off (R-13); None where all is well."""
    if limit_cents is None or meter.mean_cents is None or meter.mean_cents <= limit_cents:
        return None
    mean = format_cents(round(meter.mean_cents))
    return f"a hit is expected at {mean}, above the limit of {format_cents(limit_cents)}"


def _pays(table: GameTable) -> dict[str, Fraction]:
    """What each row pays, in one unit for the whole paytable; shares at the seed."""
    if isinstance(table, BonusTable):
        return {prize.outcome: Fraction(prize.odds) for prize in table.prizes}
    seeds = {part.part: part.seed_cents for part in table.parts}
    return {
        prize.outcome: prize.fixed_cents
        + sum((Fraction(share * seeds[part], PPM) for part, share in prize.shares), Fraction(0))
        for prize in table.prizes
    }


def _commonest_that_pays_as_much(outcome: str, pays: dict[str, Fraction], odds: Odds) -> str:
    """The row itself where every commoner one pays less."""
    return max((other for other in pays if pays[other] >= pays[outcome]), key=odds.counts.__getitem__)
