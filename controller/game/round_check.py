"""A written round made ready to be settled: hands read, paytables and meters joined, contradictions refused. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from controller.config_reader import MONEY_CENTS_MAX
from controller.game.cap import CAP_CENTS_MIN, most_at_minimum
from controller.game.cards import CardError, double_card
from controller.game.classify import AceHigh, NotThisGame, SevenCards, classifier
from controller.game.round_form import PROBLEMS_MAX, Round, RoundError, RoundMeter, Seat, Wagers
from controller.game.set_hands import SetHand, read_set_hand
from controller.game.tables import BonusTable, GameTable
from controller.meter import Amounts
from controller.money import format_cents, parse_money
from controller.paytable import Paytable
from controller.plan import MeterPlan

KINDS = ("main", "ace_high", "fortune", "progressive")
"""The wagers of a seat in the order in which they are settled (and in which the cap is used up)."""


@dataclass(frozen=True, slots=True)
class Ace:
    """The Ace High bonus of the table."""

    table: BonusTable
    reader: AceHigh


@dataclass(frozen=True, slots=True)
class Fortune:
    """The Fortune bonus of the table."""

    table: BonusTable
    reader: SevenCards


@dataclass(frozen=True, slots=True)
class Progressive:
    """The progressive wager of the table: its paytable and, by part, its meters."""

    table: Paytable
    reader: SevenCards
    meters: Mapping[str, tuple[MeterPlan, Amounts]]


@dataclass(frozen=True, slots=True)
class SeatHand:
    """One seat: its set hand and wagers."""

    seat: int
    hand: SetHand
    wagers: Wagers


@dataclass(frozen=True, slots=True)
class ReadyRound:
    """A whole round without contradiction; seats by number. ``cap_cents`` None is no maximum payout."""

    form: Round
    dealer: SetHand
    seats: Mapping[int, SeatHand]
    ace_high: Ace | None
    fortune: Fortune | None
    progressive: Progressive | None
    cap_cents: int | None


def make_ready(form: Round, load: Callable[[str], GameTable]) -> ReadyRound:
    """Check a round; ``load`` gives a paytable by id. Raises RoundError, or what ``load`` raises."""
    problems: list[str] = []
    ace, fortune, progressive = _bonuses(form, load, problems)
    seats = _seats(form, problems)
    dealer = _hand("dealer", form.dealer.high, form.dealer.low, problems)
    if dealer is not None:
        if dealer.fouled:
            problems.append("dealer: the low hand outranks the high hand; set the dealer's hand again by the house way")
        problems += _doubles({"dealer": dealer} | {f"seat {seat.seat}": seat.hand for seat in seats.values()})
    problems += _table_problems(form, ace, fortune, progressive)
    for seat in form.seats:
        problems += _wager_problems(form, seat, progressive)
    cap = _cap(form, ace, fortune, progressive, problems)
    if problems or dealer is None:
        raise RoundError("\n".join(problems[:PROBLEMS_MAX]))
    return ReadyRound(form, dealer, seats, ace, fortune, progressive, cap)


def _bonuses(
    form: Round, load: Callable[[str], GameTable], problems: list[str]
) -> tuple[Ace | None, Fortune | None, Progressive | None]:
    ace: Ace | None = None
    fortune: Fortune | None = None
    progressive: Progressive | None = None
    for kind in KINDS[1:]:
        name = getattr(form.paytables, kind)
        if name is None:
            continue
        table = load(name)
        try:
            reader = classifier(table)
        except NotThisGame as wrong:
            problems.append(f"paytables.{kind}: {wrong}")
            continue
        if isinstance(table, Paytable) and isinstance(reader, SevenCards) and kind == "progressive":
            progressive = Progressive(table, reader, _meters(form, table, problems))
        elif isinstance(table, BonusTable) and isinstance(reader, AceHigh) and kind == "ace_high":
            ace = Ace(table, reader)
        elif isinstance(table, BonusTable) and isinstance(reader, SevenCards) and kind == "fortune":
            fortune = Fortune(table, reader)
        else:
            problems.append(f"paytables.{kind}: {name} is a paytable of another wager")
    if form.paytables.progressive is None and form.meters:
        problems.append("meters: there is no progressive paytable that they belong to")
    return ace, fortune, progressive


def _meters(form: Round, table: Paytable, problems: list[str]) -> dict[str, tuple[MeterPlan, Amounts]]:
    """The meters by the paytable's part; every part needs one, and no other may stand there."""
    parts = {part.part for part in table.parts}
    problems += [f"meters.{part}: missing; {table.id} pays from it" for part in sorted(parts - set(form.meters))]
    problems += [f"meters.{part}: {table.id} has no such part" for part in sorted(set(form.meters) - parts)]
    made = {}
    for part in sorted(parts & set(form.meters)):
        meter = form.meters[part]
        plan = _meter_plan(table, part, meter)
        if plan.limit_cents is not None and plan.limit_cents <= plan.seed_cents:
            problems.append(f"meters.{part}.limit: not above the seed")
        made[part] = plan, Amounts(meter.display_microcents, meter.reserve_microcents, meter.overflow_microcents)
    return made


def _meter_plan(table: Paytable, part: str, meter: RoundMeter) -> MeterPlan:
    filed = table.part(part)
    return MeterPlan(
        id=part,
        name=part,
        book="main",
        paytable=table,
        part=part,
        seed_cents=filed.seed_cents,
        base_cents=filed.seed_cents,
        reserve_ppm=filed.reserve_ppm,
        tie_policy=meter.tie_policy,
        order=meter.order,
        below_seed=meter.below_seed,
        reserve_surplus=meter.reserve_surplus,
        rounding=meter.rounding,
        limit_cents=None if meter.limit == "none" else parse_money(meter.limit),
        overflow=meter.overflow,
        unreasonable_cents=MONEY_CENTS_MAX,
    )


def _hand(whose: str, high: str, low: str, problems: list[str]) -> SetHand | None:
    try:
        return read_set_hand(high, low)
    except CardError as wrong:
        problems.append(f"{whose}: {wrong}")
        return None


def _seats(form: Round, problems: list[str]) -> dict[int, SeatHand]:
    made: dict[int, SeatHand] = {}
    for seat in form.seats:
        hand = _hand(f"seat {seat.seat}", seat.high, seat.low, problems)
        if seat.seat > form.table.seats:
            problems.append(f"seat {seat.seat}: the table has {form.table.seats} seats")
        if seat.seat in made:
            problems.append(f"seat {seat.seat}: stands twice")
        if hand is not None:
            made[seat.seat] = SeatHand(seat.seat, hand, seat.wagers)
    return dict(sorted(made.items()))


def _doubles(held: Mapping[str, SetHand]) -> Iterator[str]:
    """One deck: no card is in two hands."""
    names = list(held)
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            double = double_card(held[first].seven, held[second].seven)
            if double is not None:
                yield f"{second}: {double} is in the hand of {first} too"


def _table_problems(
    form: Round, ace: Ace | None, fortune: Fortune | None, progressive: Progressive | None
) -> Iterator[str]:
    if sorted(form.table.pay_order) != list(range(1, form.table.seats + 1)):
        yield f"table.pay_order: name every seat from 1 to {form.table.seats} once"
    envy = any(bonus is not None and bonus.table.has_envy for bonus in (fortune, progressive))
    if envy and form.table.envy_hand is None:
        yield 'table.envy_hand: missing; a paytable has envy: choose "any-player" or "wagering-player"'
    for seat in form.seats:
        for kind, bonus in (("ace_high", ace), ("fortune", fortune), ("progressive", progressive)):
            named = getattr(form.paytables, kind)
            if getattr(seat.wagers, kind) is not None and bonus is None and named is None:
                yield f"seat {seat.seat}: wagers.{kind}: the round names no such paytable"


def _wager_problems(form: Round, seat: Seat, progressive: Progressive | None) -> Iterator[str]:
    price = progressive.table.wager_cents if progressive is not None else None
    wagered = seat.wagers.progressive
    if price is not None and wagered is not None and wagered != price:
        yield f"seat {seat.seat}: wagers.progressive: {format_cents(wagered)} where {format_cents(price)} is the wager"
    for kind in KINDS:
        least, wagered = getattr(form.table.minimum_wagers, kind), getattr(seat.wagers, kind)
        if least is not None and wagered is not None and wagered < least:
            yield f"seat {seat.seat}: wagers.{kind}: {format_cents(wagered)} is under the minimum wager"


def _cap(
    form: Round, ace: Ace | None, fortune: Fortune | None, progressive: Progressive | None, problems: list[str]
) -> int | None:
    """The maximum payout in cents, refused below what subsection (e) allows; None for none."""
    if form.table.maximum_payout == "none":
        return None
    least, asked = form.table.minimum_wagers, {"main": True, "ace_high": ace, "fortune": fortune}
    missing = [kind for kind, bonus in asked.items() if bonus and getattr(least, kind) is None]
    if missing:
        problems += [f"table.minimum_wagers.{kind}: missing; a maximum payout depends on it" for kind in missing]
        return None
    floor = max(CAP_CENTS_MIN, most_at_minimum(
        least.main or 0,
        (ace.table, least.ace_high or 0) if ace else None,
        (fortune.table, fortune.reader, least.fortune or 0) if fortune else None,
        (progressive.table, progressive.reader) if progressive else None,
        form.table.dealer_ace_high,
    ))  # fmt: skip
    cap = parse_money(form.table.maximum_payout)
    if cap < floor:
        problems.append(f"table.maximum_payout: {format_cents(cap)} is under the least that subsection (e) allows, "
                        f"{format_cents(floor)}")
    return cap
