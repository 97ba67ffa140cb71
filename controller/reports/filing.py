"""The filing sheet: what is filed before first use, as it was in force at the range's end (R-45). Pure."""

from controller.acts import KINDS
from controller.config_remarks import floor_odds
from controller.describe import (
    BELOW_SEED_SENTENCE,
    ORDER_SENTENCE,
    OVERFLOW_SENTENCE,
    ROUNDING_SENTENCE,
    SURPLUS_SENTENCE,
    TIE_SENTENCE,
)
from controller.manual_slips import BY_HAND
from controller.money import format_cents, format_rate
from controller.people import Role
from controller.plan import FloorPlan, MeterPlan
from controller.reports.not_metered import NOT_METERED
from controller.reports.reading import Reading, Scope, facts
from controller.reports.report import Column, Report, Rows, Table, cents, format_exact
from controller.reports.software import began_before, software_words
from controller.reports.words import key_words


def filing(reading: Reading, scope: Scope) -> Report:
    """Amounts, rates and split, odds, limits, roles, software, link members and signs, each as it is in force."""
    plan = reading.plan_before(reading.books()[0], scope.end)
    made = facts(reading, scope)
    made += [("Software", software_words(reading, scope)),
             ("Configuration", plan.hash), ("Time zone and gaming day",
                                            f"{plan.timezone.key}, from {plan.gaming_day_start:%H:%M}"),
             ("Currency", plan.currency)]
    tables = [_meters(plan, scope), _policies(plan, scope), _tables(plan, scope), _odds(plan, scope),
              _signs(reading, scope), _roles(plan)]
    notes = ("Odds are computed from the cards for one wager; a row without odds is of a game that is not computed.",
             "Secrets are kept as argon2id hashes, never as they are typed; every sign-in and act is an entry.",
             "Not metered: the dealer pays such a hand without keying it; no report counts it.")
    return Report("filing", "Filing sheet", tuple(made), tuple(tables), (), notes)


def _chosen(plan: FloorPlan, scope: Scope) -> list[MeterPlan]:
    return [meter for meter in plan.meters.values() if scope.has_meter(meter.id)]


def _meters(plan: FloorPlan, scope: Scope) -> Table:
    rows = Rows("Meters", Column("Meter"), Column("Name"), Column("Paytable"), cents("Initial amount"),
                cents("Reset amount (seed)"), Column("Limit"), Column("Rate of progression"),
                Column("Rate for next-jackpot money"), Column("Of each wager to display / next-jackpot money"),
                Column("Linked tables"))
    for meter in _chosen(plan, scope):
        feeds = [(spot.paytable.wager_cents, feed) for table in plan.tables.values() for spot in table.spots
                 for feed in spot.feeds if feed.meter == meter.id]
        rates = sorted({feed.rate_ppm for _, feed in feeds})
        split = sorted({f"{format_cents(wager)}: {format_exact(feed.display)} / {format_exact(feed.reserve)}"
                        for wager, feed in feeds})
        limit = "none" if meter.limit_cents is None else format_cents(meter.limit_cents)
        rows.add(meter.id, meter.name, meter.paytable.id, meter.base_cents, meter.seed_cents, limit,
                 ", ".join(format_rate(rate) for rate in rates), format_rate(meter.reserve_ppm), "; ".join(split),
                 ", ".join(plan.linked_tables(meter.id)))
    return rows.table(totals=False)


def _policies(plan: FloorPlan, scope: Scope) -> Table:
    rows = Rows("Written policies", Column("Meter"), Column("Policy"), Column("Chosen"), Column("It means"))
    for meter in _chosen(plan, scope):
        for key, chosen, words in (
            ("tie_policy", meter.tie_policy.value, TIE_SENTENCE[meter.tie_policy]),
            ("order", meter.order.value, ORDER_SENTENCE[meter.order]),
            ("below_seed", meter.below_seed.value, BELOW_SEED_SENTENCE[meter.below_seed]),
            ("reserve_surplus", meter.reserve_surplus.value, SURPLUS_SENTENCE[meter.reserve_surplus]),
            ("rounding", meter.rounding.value, ROUNDING_SENTENCE[meter.rounding]),
            ("overflow", meter.overflow.value, OVERFLOW_SENTENCE[meter.overflow]),
            ("unreasonable_contribution", format_cents(meter.unreasonable_cents),
             "A lock-out that would add more is refused (R-04)."),
        ):
            rows.add(meter.id, key_words(key), chosen, words)
    return rows.table()


def _tables(plan: FloorPlan, scope: Scope) -> Table:
    rows = Rows("Tables", Column("Table"), Column("Asset"), Column("Table unit"), Column("Seats"), Column("Pay order"),
                Column("Decks"), Column("Bets: paytable and meters"))
    for table in plan.tables.values():
        if scope.has_table(table.id):
            bets = [f"{spot.id}: {spot.paytable.id} ({', '.join(sorted({feed.meter for feed in spot.feeds}))})"
                    for spot in table.spots]
            rows.add(table.id, table.asset, table.device, str(table.seats), " ".join(map(str, table.pay_order)),
                     "" if table.decks is None else str(table.decks), "; ".join(bets))
    return rows.table()


def _odds(plan: FloorPlan, scope: Scope) -> Table:
    rows = Rows("Prizes and odds", Column("Paytable"), Column("Citation"), Column("Hand"), Column("One in"),
                Column("Share of meters"), cents("Fixed"), cents("Wager returned"), cents("Envy"), Column("Metered"))
    odds = floor_odds(plan).known
    shown = {meter.paytable.id for meter in _chosen(plan, scope)}
    used = {spot.paytable.id: spot.paytable for table in plan.tables.values() for spot in table.spots}
    for name, paytable in used.items():
        if scope.meter is not None and name not in shown:
            continue
        for prize in paytable.prizes:
            hits = odds[name].counts.get(prize.outcome, 0) if name in odds else 0
            one_in = _one_in(odds[name].total, hits) if hits else "not computed"
            shares = ", ".join(f"{format_rate(share)} of {part}" for part, share in prize.shares)
            rows.add(name, paytable.citation, prize.label, one_in, shares, prize.fixed_cents, prize.returned_cents,
                     prize.envy_cents, "yes" if prize.keyed else NOT_METERED)
    return rows.table(totals=False)


def _one_in(total: int, hits: int) -> str:
    """``1,234.5``: rounded half up to a tenth, in whole numbers."""
    tenths = (20 * total + hits) // (2 * hits)
    return f"{tenths // 10:,}.{tenths % 10}"


def _signs(reading: Reading, scope: Scope) -> Table:
    """The signs with which the controller began last before the range's end; else those of today, and it says so."""
    found = began_before(reading, scope.end)
    title = "Signs" if found is not None else "Signs as they are today: the ledger does not tell those of the range"
    rows = Rows(title, Column("Sign"), Column("Kind"), Column("Where"))
    for sign in scope.signs if found is None else found.signs:
        rows.add(*sign)
    return rows.table()


def _roles(plan: FloorPlan) -> Table:
    """Who signs each act, as the configuration of the range has it where it names roles of its own."""
    rows = Rows("Who signs what", Column("Act"), Column("By"), Column("Second person"), Column("Third person"),
                Column("Of another department"))
    for kind in KINDS.values():
        by, third = plan.awards.by(kind.name) or kind.by, kind.third
        if kind.name == "envy-paid":
            third = third | plan.awards.release
        elif kind.name == BY_HAND:
            third = plan.awards.release
        rows.add(kind.title, *(_named(roles) for roles in (by, kind.second, third)),
                 "yes" if kind.other_department else "")
    return rows.table()


def _named(roles: frozenset[Role]) -> str:
    return ", ".join(sorted(role.value for role in roles))


