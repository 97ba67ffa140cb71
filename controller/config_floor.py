"""Reads ``[[meter]]`` and ``[[table]]``: each on its own, then how they hang together. Pure.

A policy of design section 4 has no default: an operator must have written it. What is wrong is noted, and the meter or
table is then None; a reference to one that is None says nothing more, so that one mistake is told once.
"""

from collections.abc import Collection, Mapping
from itertools import product

from controller.config_paytable import DECKS_MAX
from controller.config_reader import Section, nearest, shown
from controller.money import Rounding
from controller.paytable import MeterPart, Paytable
from controller.plan import (
    BelowSeed,
    EnvyHand,
    Feed,
    MeterPlan,
    Order,
    Overflow,
    ReserveSurplus,
    SpotPlan,
    TablePlan,
    TiePolicy,
    frozen,
)

METERS_MAX = 500
TABLES_MAX = 500
SPOTS_MAX = 16
SEATS_MAX = 64
WAGERS_MAX = 64
"""Wagers in one ``lock``: a full table must fit (contract, answer 3)."""

Paytables = Mapping[str, Paytable | None]


def read_meters(top: Section, paytables: Paytables, known: Collection[str]) -> dict[str, MeterPlan | None]:
    """The meters by id, in their written order."""
    meters: dict[str, MeterPlan | None] = {}
    rows = top.rows("meter", METERS_MAX)
    if not rows and top.good("meter"):
        top.missing("meter", "write at least one [[meter]]")
    for row in rows:
        name = row.ident("id")
        if name and name in meters:
            row.refuse("id", "stands twice", "give each meter an id of its own")
        meters[name] = _read_meter(row, name, paytables, known)
    return meters


def _read_meter(row: Section, name: str, paytables: Paytables, known: Collection[str]) -> MeterPlan | None:
    paytable = _paytable_of(row, paytables, known)
    part = _part_of(row, paytable)
    seed = part.seed_cents if part else None
    limit = _read_limit(row, seed)
    base = row.money("base", default=seed or 0)
    if row.has("base") and row.good("base", "limit") and limit is not None and base > limit:
        row.refuse("base", "above the limit", "lower the base or raise the limit")
    tie_policy, order = row.choice("tie_policy", TiePolicy), row.choice("order", Order)
    below_seed, surplus = row.choice("below_seed", BelowSeed), row.choice("reserve_surplus", ReserveSurplus)
    rounding, overflow = row.choice("rounding", Rounding), row.choice("overflow", Overflow)
    label = row.text("name", default=name)
    book = row.ident("book", default="main")
    unreasonable = row.money("unreasonable_contribution", low=1)
    if paytable is None or part is None or not row.sound:
        return None
    return MeterPlan(
        id=name,
        name=label,
        book=book,
        paytable=paytable,
        part=part.part,
        seed_cents=part.seed_cents,
        base_cents=base,
        reserve_ppm=part.reserve_ppm,
        tie_policy=tie_policy,
        order=order,
        below_seed=below_seed,
        reserve_surplus=surplus,
        rounding=rounding,
        limit_cents=limit,
        overflow=overflow,
        unreasonable_cents=unreasonable,
        reserve_to_house=row.flag("reserve_to_house", default=False),
        seed_recovery=row.flag("seed_recovery", default=False),
        change_now=row.has("change") and row.one_of("change", ("next-reset", "now")) == "now",
    )


def _paytable_of(row: Section, paytables: Paytables, known: Collection[str]) -> Paytable | None:
    name = row.ident("paytable")
    if not row.good("paytable") or name in paytables:
        return paytables.get(name)
    if name not in known:
        row.refuse("paytable", f"there is no paytable {shown(name)}", nearest(name, sorted(known)))
    return None


def _part_of(row: Section, paytable: Paytable | None) -> MeterPart | None:
    name = row.ident("part")
    if paytable is None or not row.good("part"):
        return None
    parts = {part.part: part for part in paytable.parts}
    if name not in parts:
        row.refuse("part", f'paytable "{paytable.id}" has no meter part {shown(name)}', nearest(name, parts))
    return parts.get(name)


def _read_limit(row: Section, seed: int | None) -> int | None:
    """Cents, or None for ``"none"`` (R-12). A limit must leave room above the seed."""
    if row.raw.get("limit") == "none":
        return None
    if not row.has("limit"):
        row.missing("limit", 'write an amount like "$250,000.00", or "none"')
        return None
    limit = row.money("limit", low=1)
    if seed is not None and row.good("limit") and limit <= seed:
        row.refuse("limit", "not above the seed", 'write more than the seed, or "none"')
    return limit


def read_tables(
    top: Section, paytables: Paytables, known: Collection[str], meters: Mapping[str, MeterPlan | None]
) -> dict[str, TablePlan | None]:
    """The tables by id, in their written order; every meter must be fed by one of them."""
    tables: dict[str, TablePlan | None] = {}
    devices: set[str] = set()
    fed: set[str] = set()
    rows = top.rows("table", TABLES_MAX)
    if not rows and top.good("table"):
        top.missing("table", "write at least one [[table]]")
    for row in rows:
        name, device = row.ident("id"), row.ident("device")
        if name and name in tables:
            row.refuse("id", "stands twice", "give each table an id of its own")
        if device and device in devices:
            row.refuse("device", f"{shown(device)} stands at two tables", "give each table a device of its own")
        devices.add(device)
        tables[name] = _read_table(row, name, paytables, known, meters, fed)
    if rows:
        for name in meters:
            if name and name not in fed:
                top.refuse(f"[[meter]] {shown(name)}", "no table feeds it", "name it in a spot's meters, or remove it")
    return tables


def _read_table(
    row: Section,
    name: str,
    paytables: Paytables,
    known: Collection[str],
    meters: Mapping[str, MeterPlan | None],
    fed: set[str],
) -> TablePlan | None:
    """One table. The meters that it names are added to ``fed``."""
    seats = row.whole("seats", 1, SEATS_MAX)
    pay_order = _read_pay_order(row, seats)
    decks = row.whole("decks", 1, DECKS_MAX) if row.has("decks") else None
    spots = _read_spots(row, paytables, known, meters, decks, fed)
    books = dict.fromkeys(plan.book for spot in spots for plan in _plans(spot, meters))
    if len(books) > 1:
        row.refuse("spot", f"its meters are in the books {', '.join(books)}", "put a table's meters in one book")
    if seats * len(spots) > WAGERS_MAX and row.good("seats"):
        row.refuse("seats", f"{seats} seats of {len(spots)} spots", f"a lock-out carries at most {WAGERS_MAX} wagers")
    envy_hand = _read_envy_hand(row, spots)
    asset = row.text("asset", default="")
    sign_from = row.money("sign_from", default=0)
    tray_limit = row.money("tray_limit", default=0)
    hold_from = row.money("hold_from", low=1) if row.has("hold_from") else None
    if not row.sound or not books:
        return None
    return TablePlan(
        id=name,
        device=str(row.raw["device"]),
        seats=seats,
        pay_order=pay_order,
        envy_hand=envy_hand,
        decks=decks,
        book=next(iter(books)),
        asset=asset,
        sign_from_cents=sign_from,
        spots=tuple(spots),
        spot=frozen({spot.id: spot for spot in spots}),
        pay_rank=frozen({place: rank for rank, place in enumerate(product(pay_order, (spot.id for spot in spots)))}),
        meters=frozen({plan.id: plan for spot in spots for plan in _plans(spot, meters)}),
        tray_limit_cents=tray_limit,
        hold_from_cents=hold_from,
    )


def _plans(spot: SpotPlan, meters: Mapping[str, MeterPlan | None]) -> list[MeterPlan]:
    return [plan for feed in spot.feeds if (plan := meters[feed.meter]) is not None]


def _read_pay_order(row: Section, seats: int) -> tuple[int, ...]:
    found = row.raw.get("pay_order")
    if not row.good("seats"):
        return ()
    remedy = f"list each of the seats 1 to {seats} once, in the dealer's order of paying"
    if not isinstance(found, list):
        row.refuse("pay_order", "missing" if found is None else "not a list of seats", remedy)
        return ()
    whole = all(isinstance(seat, int) and not isinstance(seat, bool) for seat in found)
    if not whole or sorted(found) != list(range(1, seats + 1)):
        row.refuse("pay_order", "not every seat exactly once", remedy)
        return ()
    return tuple(found)


def _read_envy_hand(row: Section, spots: list[SpotPlan]) -> EnvyHand | None:
    """Needed where a paytable has envy (design section 4); without one it changes nothing, which a remark says."""
    if row.has("envy_hand") or any(spot.paytable.has_envy for spot in spots):
        return row.choice("envy_hand", EnvyHand)
    return None


def _read_spots(
    row: Section,
    paytables: Paytables,
    known: Collection[str],
    meters: Mapping[str, MeterPlan | None],
    decks: int | None,
    fed: set[str],
) -> list[SpotPlan]:
    sections = row.rows("spot", SPOTS_MAX)
    if not sections and row.good("spot"):
        row.missing("spot", "write at least one [[table.spot]] under it")
    spots: dict[str, SpotPlan | None] = {}
    for section in sections:
        name = section.ident("id")
        if name and name in spots:
            section.refuse("id", "stands twice", "give each spot of the table an id of its own")
        paytable = _paytable_of(section, paytables, known)
        meter_of = _read_meter_of(section, paytable, meters)
        fed.update(meter_of.values())
        spots[name] = _spot(section, name, paytable, meter_of, meters, decks)
    return [spot for spot in spots.values() if spot is not None]


def _read_meter_of(
    section: Section, paytable: Paytable | None, meters: Mapping[str, MeterPlan | None]
) -> dict[str, str]:
    """The meter of each part of the spot's paytable, as far as it is one of the floor's."""
    meter_of: dict[str, str] = {}
    for part, meter in section.table("meters").items():
        if not isinstance(meter, str) or meter not in meters or not meter:
            section.refuse("meters", f"there is no meter {shown(meter)}", nearest(str(meter), filter(None, meters)))
        elif meter in meter_of.values():
            section.refuse("meters", f"two parts feed {shown(meter)}", "give each part a meter of its own")
        else:
            meter_of[part] = meter
            _check_part(section, paytable, part, meters[meter])
    if paytable is not None and section.good("meters"):
        for needed in (one.part for one in paytable.parts if one.part not in meter_of):
            section.refuse("meters", f'part "{needed}" has no meter', f'add {needed} = "..."')
    return meter_of


def _check_part(section: Section, paytable: Paytable | None, part: str, meter: MeterPlan | None) -> None:
    if paytable is None:
        return
    parts = [one.part for one in paytable.parts]
    if part not in parts:
        section.refuse("meters", f'paytable "{paytable.id}" has no meter part {shown(part)}', nearest(part, parts))
    elif meter is not None and (meter.paytable.id, meter.part) != (paytable.id, part):
        what = f'part "{part}" of "{paytable.id}" cannot feed "{meter.id}"'
        remedy = f'that meter is for part "{meter.part}" of "{meter.paytable.id}"'
        section.refuse("meters", what, remedy)


def _spot(
    section: Section,
    name: str,
    paytable: Paytable | None,
    meter_of: Mapping[str, str],
    meters: Mapping[str, MeterPlan | None],
    decks: int | None,
) -> SpotPlan | None:
    if paytable is None or not section.good("id", "meters"):
        return None
    rates = {part.part: part.rate_for(decks) for part in paytable.parts}
    if None in rates.values():
        what = f'the rate of "{paytable.id}" depends on the number of decks'
        remedy = "write decks at the table" if decks is None else f"it has no rate for {decks} decks"
        section.refuse("paytable", what, remedy)
    places = list(meters)
    feeds = [
        Feed(part.part, meter_of[part.part], rate, paytable.wager_cents * rate, paytable.wager_cents * part.reserve_ppm)
        for part in paytable.parts
        if (rate := rates[part.part]) is not None
    ]
    return SpotPlan(
        id=name,
        paytable=paytable,
        feeds=tuple(sorted(feeds, key=lambda feed: places.index(feed.meter))),
        prizes=frozen({prize.outcome: prize for prize in paytable.prizes}),
        meter_of=frozen(meter_of),
    )
