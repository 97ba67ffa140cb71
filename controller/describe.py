"""The effective floor in plain sentences, for the person who signs for it: what ``meterctl check`` prints. Pure."""

import textwrap
from collections.abc import Iterable, Iterator

from controller.config_remarks import NOT_COMPUTED, FloorOdds, paytables_of, remarks
from controller.money import MICROCENTS_PER_CENT, Rounding, format_cents, format_rate
from controller.paytable import Paytable, Prize
from controller.people import Role
from controller.plan import (
    AwardRules,
    BelowSeed,
    EnvyHand,
    FloorPlan,
    MeterPlan,
    Order,
    Overflow,
    ReserveSurplus,
    TablePlan,
    TiePolicy,
)
from controller.wiring import PrinterPlan, SignKind, SignPlan, Wiring

WIDTH = 100

TIE_SENTENCE = {
    TiePolicy.SPLIT: "Several 100% hits in one round share the meter equally (odd cents, one each, to the first in "
    "pay order); it resets once.",
    TiePolicy.SEQUENTIAL: "Several 100% hits in one round are paid in pay order, each next one from the reset meter.",
}
ORDER_SENTENCE = {
    Order.PARTIALS_FIRST: "Shares under 100% are taken before the 100% awards.",
    Order.PAY_ORDER: "Shares under 100% and 100% awards are taken strictly in pay order.",
}
TOGETHER = " The 100% awards stand together, where the first of them stands."
BELOW_SEED_SENTENCE = {
    BelowSeed.ALLOW: "When an award leaves the meter under its seed, it stays there.",
    BelowSeed.TOP_UP: "When an award leaves the meter under its seed, it is raised to the seed: from "
    "next-jackpot money first, then by the house.",
}
SURPLUS_SENTENCE = {
    ReserveSurplus.KEEP: "At a reset next-jackpot money pays for the new seed and the house for the rest; what is left "
    "of it is kept.",
    ReserveSurplus.ADD: "At a reset next-jackpot money pays for the new seed and the house for the rest; what is left "
    "of it is added to the new meter, up to its limit.",
}
ROUNDING_SENTENCE = {
    Rounding.UP: "A share of the meter is rounded up to the whole cent, in the player's favour.",
    Rounding.DOWN: "A share of the meter is rounded down to the whole cent; the fraction stays on the meter.",
}
OVERFLOW_SENTENCE = {
    Overflow.NEXT_METER: "At a reset what is above the limit is moved to the new meter, up to its limit.",
    Overflow.KEEP: "At a reset what is above the limit stays apart.",
}
ENVY_SENTENCE = {
    EnvyHand.ANY_PLAYER: "Envy is earned by the hand of any seat, with or without a wager of its own.",
    EnvyHand.WAGERING_PLAYER: "Envy is earned only by the hand of a seat with a wager of its own.",
}
JOKER_SENTENCE = {
    "standard": "The joker is an ace, or completes a straight, flush, straight flush or royal flush.",
    "fully-wild": "The joker is fully wild.",
}


def describe(plan: FloorPlan, wiring: Wiring, odds: FloorOdds = NOT_COMPUTED) -> str:
    """The whole floor, at most ``WIDTH`` columns wide where no single word is longer; ends with the config hash.

    Remarks from the odds of its paytables are among its remarks when ``odds`` are given (``floor_odds``).
    """
    lines = [
        f"{plan.name} (site {plan.site}), environment {plan.environment}",
        f"Amounts in {plan.currency}. A gaming day begins at {plan.gaming_day_start:%H:%M}, {plan.timezone.key}.",
        *_chapter("METERS", (_meter(plan, meter) for meter in plan.meters.values())),
        *_chapter("TABLES", (_table(wiring, table) for table in plan.tables.values())),
        *_chapter("AWARDS", [_awards(plan.awards)]),
        *_chapter("PAYTABLES", (_paytable(paytable) for paytable in paytables_of(plan).values())),
        *_chapter("SIGNS AND PAGES", [
            [*(_sign(sign) for sign in wiring.signs), *map(_printer, wiring.printers), _pages(wiring)]]),
        *_chapter("REMARKS", [[f"  - {remark}" for remark in remarks(plan, wiring, odds)] or ["  None."]]),
        "",
        f"Config hash {plan.hash}",
    ]
    return "\n".join(_wrap(line) for line in lines) + "\n"


def _wrap(line: str) -> str:
    """Continuation lines stand a little further in than their first line."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False) if len(line) > WIDTH else line


def _chapter(title: str, parts: Iterable[list[str]]) -> Iterator[str]:
    yield from ("", title)
    for part in parts:
        yield from ("", *part)


def exact_cents(microcents: int) -> str:
    """Microcents as cents with as many decimals as they need: ``28 cents``, ``3.25 cents``."""
    whole, part = divmod(microcents, MICROCENTS_PER_CENT)
    number = f"{whole}.{part:06d}".rstrip("0").rstrip(".")
    return f"{number} cent" if number == "1" else f"{number} cents"


def _meter(plan: FloorPlan, meter: MeterPlan) -> list[str]:
    limit = "There is no limit."
    if meter.limit_cents is not None:
        limit = f"Its limit is {format_cents(meter.limit_cents)}; what a wager adds above it is kept above the limit."
    tables = plan.linked_tables(meter.id)
    return [
        f"  {meter.id}: {meter.name}",
        f'    Paytable {meter.paytable.id}, part "{meter.part}", book {meter.book}.',
        f"    Fed by {'table' if len(tables) == 1 else 'the linked tables'} {', '.join(tables)}.",
        f"    First start {format_cents(meter.base_cents)}; after a win {format_cents(meter.seed_cents)} (seed).",
        *_contributions(plan, meter),
        f"    {limit}",
        f"    {OVERFLOW_SENTENCE[meter.overflow]}",
        f"    {TIE_SENTENCE[meter.tie_policy]}",
        f"    {ORDER_SENTENCE[meter.order]}{TOGETHER if _together(meter) else ''}",
        f"    {ROUNDING_SENTENCE[meter.rounding]}",
        f"    {BELOW_SEED_SENTENCE[meter.below_seed]}",
        f"    {SURPLUS_SENTENCE[meter.reserve_surplus]}",
        f"    A lock-out that would add more than {format_cents(meter.unreasonable_cents)} to it is refused.",
    ]


def _together(meter: MeterPlan) -> bool:
    return (meter.tie_policy, meter.order) == (TiePolicy.SPLIT, Order.PAY_ORDER)


def _contributions(plan: FloorPlan, meter: MeterPlan) -> Iterator[str]:
    """One sentence, or one for each rate where it depends on the number of decks."""
    tables_at: dict[str, list[str]] = {}
    for table in plan.tables.values():
        for feed in (feed for spot in table.spots for feed in spot.feeds if feed.meter == meter.id):
            sentence = f"adds {format_rate(feed.rate_ppm)} ({exact_cents(feed.display)}) to the meter"
            if meter.reserve_ppm:
                sentence += (f" and {format_rate(meter.reserve_ppm)} ({exact_cents(feed.reserve)}) to its next-jackpot "
                             "money")
            tables = tables_at.setdefault(sentence, [])
            if table.id not in tables:
                tables.append(table.id)
    wager = format_cents(meter.paytable.wager_cents)
    for sentence, tables in tables_at.items():
        where = f" at {', '.join(tables)}" if len(tables_at) > 1 else ""
        yield f"    Each wager of {wager}{where} {sentence}."


def _table(wiring: Wiring, table: TablePlan) -> list[str]:
    order = ", ".join(str(seat) for seat in table.pay_order)
    asset = f", asset {table.asset}" if table.asset else ""
    decks = f", {table.decks} decks" if table.decks is not None else ""
    lines = [
        f"  {table.id}: {table.seats} seats{decks}{asset}, book {table.book}",
        f"    Device {table.device} on {_line_of(wiring, table)}.",
        f"    Seats are paid in the order {order}; within a seat, spots in the order below.",
    ]
    for spot in table.spots:
        feeds = ", ".join(f"{feed.meter} (part {feed.part})" for feed in spot.feeds)
        wager = format_cents(spot.paytable.wager_cents)
        lines.append(f"    Spot {spot.id}: exactly {wager}, paytable {spot.paytable.id}, feeds {feeds}.")
    if table.envy_hand is not None:
        lines.append(f"    {ENVY_SENTENCE[table.envy_hand]}")
    if table.tray_limit_cents:
        limit = format_cents(table.tray_limit_cents)
        lines.append(f"    Awards without a share of a meter up to {limit}, returned wager and envy included, are the "
                     "dealer's to pay.")
    if table.hold_from_cents is not None:
        lines.append(f"    An unverified award from {format_cents(table.hold_from_cents)} holds the table.")
    if table.sign_from_cents:
        lines.append(f"    Awards under {format_cents(table.sign_from_cents)} do not appear on signs.")
    return lines


def _awards(rules: AwardRules) -> list[str]:
    """Who verifies, releases and pays, and from which amounts more is asked."""
    who = f"Verified by {_roles(rules.verify)}, paid by another person: {_roles(rules.pay)}."
    lines = [f"  {who}"]
    if rules.release_from_cents is not None:
        release = _roles(rules.release)
        lines.append(f"  From {format_cents(rules.release_from_cents)} released by a third person: {release}.")
    if rules.cards_from_cents is not None:
        lines.append(f"  From {format_cents(rules.cards_from_cents)} verified with the seven cards entered.")
    if rules.paper_from_cents is not None:
        ticked = ", ".join(rules.paper)
        lines.append(f"  From {format_cents(rules.paper_from_cents)} paid when this is ticked: {ticked}.")
    lines.append(f"  A closed game may be put right for {rules.late_hit_days} gaming days.")
    return lines


def _roles(roles: frozenset[Role]) -> str:
    return " or ".join(role.value for role in Role if role in roles)


def _line_of(wiring: Wiring, table: TablePlan) -> str:
    for line in wiring.lines:
        if line.device == table.device:
            return f"line {line.id}, {line.serial.port}, {line.serial.baud} baud"
    return f"MQTT, broker {wiring.mqtt.host}:{wiring.mqtt.port}" if wiring.mqtt else "no line"


def _paytable(paytable: Paytable) -> list[str]:
    wager = "goes back to a winner" if paytable.wager_returned else "does not go back to a winner"
    lines = [
        f"  {paytable.id}: {paytable.title}",
        *([f"    {paytable.citation}."] if paytable.citation else []),
        f"    The wager is {format_cents(paytable.wager_cents)} and {wager}.",
        f"    {JOKER_SENTENCE[paytable.joker]}",
    ]
    if paytable.seven_card_straight_flush_includes_joker is not None:
        counts = "counts" if paytable.seven_card_straight_flush_includes_joker else "does not count"
        lines.append(f"    A 7 card straight flush made with the joker {counts} as one.")
    if paytable.valid_from or paytable.valid_to:
        first = f" from {paytable.valid_from}" if paytable.valid_from else ""
        last = f" to {paytable.valid_to}" if paytable.valid_to else ""
        lines.append(f"    Played{first}{last}, both days included.")
    return [*lines, *_rows(paytable)]


def _rows(paytable: Paytable) -> list[str]:
    """The rows as posted: label, what it pays, envy."""
    pays = [pays_words(paytable, prize) for prize in paytable.prizes]
    label_width = min(40, max(len("Outcome"), *(len(prize.label) for prize in paytable.prizes)))
    pays_width = min(44, max(len("Pays"), *(len(line) for line in pays)))
    lines = [("Outcome", "Pays", "Envy" if paytable.has_envy else "")]
    for prize, line in zip(paytable.prizes, pays, strict=True):
        lines.append((prize.label, line, format_cents(prize.envy_cents) if prize.envy_cents else ""))
    return [f"      {label:{label_width}}  {line:{pays_width}}  {envy:>10}".rstrip() for label, line, envy in lines]


def pays_words(paytable: Paytable, prize: Prize) -> str:
    """What a row pays as filed: ``$5,000.00 + 20% of the meter``; the wager only where the row alone gives it back."""
    parts = [format_cents(prize.fixed_cents)] if prize.fixed_cents else []
    for part, share in prize.shares:
        meter = "the meter" if len(paytable.parts) == 1 else f"meter {part}"
        parts.append(f"{format_rate(share)} of {meter}")
    if prize.returned_cents and not paytable.wager_returned:
        parts.append("the wager")
    return " + ".join(parts)


def _sign(sign: SignPlan) -> str:
    where = f" at table {sign.table}" if sign.table else ""
    shows = f"shows {', '.join(sign.meters)} with {sign.digits} digits"
    if sign.kind is SignKind.ALPHA and sign.serial is not None:
        return f"  {sign.id}{where}: LED sign on {sign.serial.port}, {sign.serial.baud} baud; {shows}."
    return f"  {sign.id}{where}: {'page' if sign.kind is SignKind.PAGE else 'MQTT topic'}; {shows}."


def _printer(printer: PrinterPlan) -> str:
    serves = f"slips of {', '.join(printer.tables)}" if printer.tables else "slips of every table"
    speed = f", {printer.baud} baud" if printer.baud is not None else ""
    return f"  {printer.id}: printer {printer.name} at {printer.path}{speed}, {printer.columns} columns; {serves}."


def _pages(wiring: Wiring) -> str:
    if wiring.web is None:
        return "  No pages."
    host = f"[{wiring.web.bind}]" if ":" in wiring.web.bind else wiring.web.bind
    return f"  Pages at http://{host}:{wiring.web.port}/"
