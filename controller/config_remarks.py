"""What ``meterctl check`` says of a sound configuration: what is worth a second look, and what the odds refuse. Pure.

Odds are computed only when ``floor_odds`` is called: a start of the daemon reads its floor without them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from controller.config_reader import Problems
from controller.game.classify import NotThisGame
from controller.game.odds import Odds, counts_of, odds_from
from controller.game.odds_remarks import limit_remark, paytable_remarks, too_rare, too_rare_words
from controller.game.this_game import require_this_game
from controller.money import MICROCENTS_PER_CENT, PPM, format_cents, format_microcents, format_rate
from controller.paytable import MeterPart, Paytable
from controller.people import Role
from controller.plan import AwardRules, FloorPlan, MeterPlan
from controller.wiring import SignPlan, Wiring

ENVY_WAGER_CENTS = 500
"""A wager under this earns no envy (58 Pa. Code section 688a.1, Qualifying Wager)."""


class FloorOdds(NamedTuple):
    """The exact odds of a floor's paytables by id, and why those of another game have none."""

    known: Mapping[str, Odds]
    unknown: Mapping[str, str]


NOT_COMPUTED = FloorOdds({}, {})
"""Remarks without odds."""


def paytables_of(plan: FloorPlan) -> dict[str, Paytable]:
    """The paytables that spots of the floor use, by id, in the order of the tables."""
    return {spot.paytable.id: spot.paytable for table in plan.tables.values() for spot in table.spots}


def floor_odds(plan: FloorPlan) -> FloorOdds:
    """The odds of each paytable in use, computed from the cards, once each; less than 2 seconds for a paytable."""
    found = {name: _odds_or_why(paytable) for name, paytable in paytables_of(plan).items()}
    return FloorOdds({name: odds for name, odds in found.items() if isinstance(odds, Odds)},
                     {name: why.removeprefix(f"{name}: ") for name, why in found.items() if isinstance(why, str)})


def _odds_or_why(paytable: Paytable) -> Odds | str:
    counts = counts_or_why(paytable)
    return counts if isinstance(counts, str) else odds_by(paytable, counts)


def counts_or_why(paytable: Paytable) -> dict[str, int] | str:
    """How many hands get each row, in which all the work is, or why nothing is known of them."""
    try:
        require_this_game(paytable)
        return counts_of(paytable)
    except NotThisGame as wrong:
        return str(wrong)


def odds_by(paytable: Paytable, counts: Mapping[str, int]) -> Odds:
    """The odds of a floor's paytable by its counted hands; raises ValueError for other counts than ``counts_of``'s.

    Where the rate of progression depends on the number of decks, the highest one is reckoned with: it gives the most.
    """
    parts = tuple(replace(part, rate_ppm=_highest_rate(part)) for part in paytable.parts)
    return odds_from(replace(paytable, parts=parts), counts)


def refuse_too_rare(plan: FloorPlan, odds: FloorOdds) -> None:
    """Raises ConfigError where a row that takes 100% of a meter is rarer than 1 in 100,000,000 (R-10)."""
    problems = Problems()
    for name, paytable in paytables_of(plan).items():
        if name in odds.known:
            for outcome in too_rare(odds.known[name]):
                what = too_rare_words(paytable, odds.known[name], outcome)
                remedy = "take its 100% share away, or let a commoner hand satisfy the row"
                problems.add(f"{name}.toml", f'[[prize]] "{outcome}" share', what, remedy)
    if problems.count:
        raise problems.error()


def refuse_unreleasable(plan: FloorPlan) -> None:
    """Raises ConfigError where no award could ever be released: the roles of [awards] leave no third one (R-58)."""
    rules, problems = plan.awards, Problems()
    if not any(rules.releasers(frozenset((role,))) for role in rules.verify):
        problems.add("the configuration", "[awards] release", "nobody could ever release an award: who releases is of "
                     "another role than who verifies and who pays", "name a role that neither verifies nor pays alone")
        raise problems.error()


def _awards_remarks(rules: AwardRules) -> Iterator[str]:
    """Where one of the roles that verify leaves nobody to release."""
    for role in Role:
        if role in rules.verify and not rules.releasers(frozenset((role,))):
            yield (f"[awards]: an award that needs a release is not verified by a {role.value}: nobody of another role "
                   "could release it, or pay it then (R-58).")


def remarks(plan: FloorPlan, wiring: Wiring, odds: FloorOdds = NOT_COMPUTED) -> list[str]:
    """One sentence for each thing that an operator may not have meant, in the order of the file."""
    return [
        *(line for meter in plan.meters.values() for line in _meter_remarks(plan, meter)),
        *(line for meter in plan.meters.values() for line in _limit_remarks(meter, odds)),
        *_awards_remarks(plan.awards),
        *_table_remarks(plan, wiring),
        *(line for paytable in paytables_of(plan).values() for line in _paytable_remarks(paytable)),
        *(line for paytable in paytables_of(plan).values() for line in _odds_remarks(paytable, odds)),
        *(line for sign in wiring.signs for line in _sign_remarks(plan, sign)),
    ]


def _limit_remarks(meter: MeterPlan, odds: FloorOdds) -> Iterator[str]:
    """Where a hit is to be expected only above the limit (R-13)."""
    found = odds.known.get(meter.paytable.id)
    if found is not None:
        own = next(part for part in found.meters if part.part == meter.part)
        said = limit_remark(own, meter.limit_cents)
        if said is not None:
            yield f"Meter {meter.id}: {said} (R-13)."


def _odds_remarks(paytable: Paytable, odds: FloorOdds) -> Iterator[str]:
    if paytable.id in odds.known:
        yield from paytable_remarks(paytable, odds.known[paytable.id])
    if paytable.id in odds.unknown:
        why = odds.unknown[paytable.id]
        yield f"Paytable {paytable.id}: its rarity and return are not checked, as its odds are not known: {why} (R-10)."


def _meter_remarks(plan: FloorPlan, meter: MeterPlan) -> Iterator[str]:
    rates: dict[int, list[str]] = {}
    for table in plan.tables.values():
        feeds = [feed for spot in table.spots for feed in spot.feeds if feed.meter == meter.id]
        for feed in feeds[:1]:
            rates.setdefault(feed.rate_ppm, []).append(table.id)
        most = table.seats * sum(feed.display + feed.reserve for feed in feeds)
        if most > meter.unreasonable_cents * MICROCENTS_PER_CENT:
            yield (
                f"Meter {meter.id}: a full table {table.id} adds {_exact(most)} in one lock-out, more than "
                f"unreasonable_contribution ({format_cents(meter.unreasonable_cents)}): it would be refused (R-04)."
            )
    if len(rates) > 1:
        listed = "; ".join(f"{format_rate(rate)} at {', '.join(tables)}" for rate, tables in rates.items())
        yield f"Meter {meter.id}: its tables feed it at different rates, because they differ in decks (R-47): {listed}."
    if not any(part == meter.part for prize in meter.paytable.prizes for part, _ in prize.shares):
        yield f"Meter {meter.id}: no prize takes a share of it, so nobody can win it."
    if meter.base_cents < meter.seed_cents:
        yield f"Meter {meter.id}: starts at {format_cents(meter.base_cents)}, under its seed (R-11)."


def _exact(microcents: int) -> str:
    whole = format_microcents(microcents)
    return whole if microcents % MICROCENTS_PER_CENT == 0 else f"over {whole}"


def _table_remarks(plan: FloorPlan, wiring: Wiring) -> Iterator[str]:
    on_serial = {line.device for line in wiring.lines}
    for table in plan.tables.values():
        if table.device not in on_serial and wiring.mqtt is None:
            yield f"Table {table.id}: its device {table.device} has no [[line]] and there is no [mqtt]: offline."
        if table.envy_hand is not None and not any(spot.paytable.has_envy for spot in table.spots):
            yield f"Table {table.id}: envy_hand changes nothing, as no paytable of it pays envy."


def _paytable_remarks(paytable: Paytable) -> Iterator[str]:
    if not paytable.citation:
        yield f"Paytable {paytable.id}: names no citation of its filed text (R-17)."
    if paytable.has_envy and paytable.wager_cents < ENVY_WAGER_CENTS:
        yield f"Paytable {paytable.id}: its envy is never due, as its wager is under {format_cents(ENVY_WAGER_CENTS)}."
    taken = sum(_highest_rate(part) + part.reserve_ppm for part in paytable.parts)
    if taken > PPM:
        yield f"Paytable {paytable.id}: its rates together take more than the whole wager."


def _highest_rate(part: MeterPart) -> int:
    return part.rate_ppm or max((row.rate_ppm for row in part.rates_by_decks), default=0)


def _sign_remarks(plan: FloorPlan, sign: SignPlan) -> Iterator[str]:
    most = 10**sign.digits - 1
    for meter in (plan.meters[name] for name in sign.meters):
        if meter.limit_cents is None:
            yield (
                f"Sign {sign.id}: {sign.digits} digits show at most {format_cents(most)}; "
                f"meter {meter.id} has no limit and may pass it."
            )
        elif meter.limit_cents > most:
            yield (
                f"Sign {sign.id}: {sign.digits} digits show at most {format_cents(most)}; the limit of "
                f"meter {meter.id} is {format_cents(meter.limit_cents)}: "
                f"it needs {len(str(meter.limit_cents))} digits."
            )
