"""A rich example floor as views, for the tests of signs, pages, API and metrics: the contract's floor, some minutes in.

Two linked tables on paytable 4 (``pg-link``), one stand-alone table on paytable 1 (``pg-solo``). Everything is built by
hand: no ledger, no clock. Change a part with ``dataclasses.replace``.
"""

from dataclasses import replace
from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

from controller.money import Rounding
from controller.paytable import MeterPart, Paytable, Prize
from controller.plan import (
    BelowSeed,
    Environment,
    EnvyHand,
    Feed,
    FloorPlan,
    MeterPlan,
    Order,
    Overflow,
    ReserveSurplus,
    SpotPlan,
    TablePlan,
    TiePolicy,
    frozen,
)
from controller.snapshot import (
    AwardView,
    DeviceView,
    EnvyView,
    GameView,
    LineState,
    MeterView,
    Note,
    RowView,
    SignHealth,
    Snapshot,
    TableView,
)
from controller.wiring import SignKind, SignPlan, WebPlan, Wiring

NOW = 1_798_835_531_000_000
"""2027-01-01 20:32:11 UTC, 15:32:11 on the floor."""
SECOND = 1_000_000
CENT = 1_000_000


def _prize(outcome: str, label: str, fixed: int, share: int, envy: int, returned: int) -> Prize:
    return Prize(outcome, label, fixed, (("main", share),) if share else (), envy, returned)


def paytable_4() -> Paytable:
    """Paytable 4 of 58 Pa. Code 688a.12(d): $5, reserve 1%, fixed plus share, envy, wager returned."""
    rows = (
        ("7-card-straight-flush", "7 card straight flush", 500_000, 1_000_000, 100_000),
        ("royal-flush-royal-match", "Royal flush + royal match", 500_000, 200_000, 75_000),
        ("7-card-straight-flush-with-joker", "7 card straight flush w/joker", 500_000, 100_000, 25_000),
        ("five-aces", "Five aces", 250_000, 0, 10_000),
        ("royal-flush", "Royal flush", 50_000, 0, 5_000),
        ("straight-flush", "Straight flush", 20_000, 0, 2_000),
        ("four-of-a-kind", "Four-of-a-kind", 10_000, 0, 500),
    )
    return Paytable(
        "progressive-4", "Progressive, paytable 4", "58 Pa. Code § 688a.12(d), Paytable 4", "face-up-pai-gow-poker",
        500, True, "standard", None, None, None, (MeterPart("main", 1_000_000, 10_000, (), 10_000),),
        tuple(_prize(*row, 500) for row in rows),
    )  # fmt: skip


def paytable_1() -> Paytable:
    """Paytable 1 of the same: $1, 28%, no reserve, shares of 100% and 10%."""
    rows = (
        ("7-card-straight-flush", "7 card straight flush", 0, 1_000_000),
        ("five-aces", "Five aces", 0, 100_000),
        ("royal-flush", "Royal flush", 50_000, 0),
        ("straight-flush", "Straight flush", 10_000, 0),
        ("four-of-a-kind", "Four-of-a-kind", 7_500, 0),
        ("full-house", "Full house", 400, 0),
    )
    return Paytable(
        "progressive-1", "Progressive, paytable 1", "58 Pa. Code § 688a.12(d), Paytable 1", "face-up-pai-gow-poker",
        100, False, "standard", True, None, None, (MeterPart("main", 1_000_000, 280_000, (), 0),),
        tuple(_prize(*row, 0, 0) for row in rows),
    )  # fmt: skip


def _meter_plan(meter: str, name: str, paytable: Paytable, reserve_ppm: int, limit: int | None) -> MeterPlan:
    return MeterPlan(
        meter, name, "main", paytable, "main", 1_000_000, 1_000_000, reserve_ppm, TiePolicy.SPLIT,
        Order.PARTIALS_FIRST, BelowSeed.ALLOW, ReserveSurplus.KEEP, Rounding.UP, limit, Overflow.NEXT_METER, 1_000,
    )  # fmt: skip


def _table_plan(table: str, device: str, seats: int, spot: SpotPlan, asset: str) -> TablePlan:
    order = tuple(range(1, seats + 1))
    envy = EnvyHand.ANY_PLAYER if spot.paytable.has_envy else None
    return TablePlan(
        table, device, seats, order, envy, None, "main", asset, 50_000, (spot,), frozen({spot.id: spot}),
        frozen({(seat, spot.id): seat - 1 for seat in order}),
    )  # fmt: skip


def _spot(paytable: Paytable, meter: str, rate_ppm: int, reserve_ppm: int) -> SpotPlan:
    wager = paytable.wager_cents
    feed = Feed("main", meter, rate_ppm, wager * rate_ppm, wager * reserve_ppm)
    prizes = frozen({prize.outcome: prize for prize in paytable.prizes})
    return SpotPlan("progressive", paytable, (feed,), prizes, frozen({"main": meter}))


def floor_plan(environment: Environment = Environment.TEST, name: str = "Demo Casino") -> FloorPlan:
    """The contract's floor as a plan."""
    four, one = paytable_4(), paytable_1()
    link, solo = _spot(four, "pg-link", 10_000, 10_000), _spot(one, "pg-solo", 280_000, 0)
    tables = {
        "PG-01": _table_plan("PG-01", "hub-01", 6, link, "A-1001"),
        "PG-02": _table_plan("PG-02", "hub-02", 6, link, "A-1002"),
        "PG-03": _table_plan("PG-03", "hub-03", 7, solo, ""),
    }
    meters = {
        "pg-link": _meter_plan("pg-link", "Face Up Pai Gow Link", four, 10_000, None),
        "pg-solo": _meter_plan("pg-solo", "Face Up Pai Gow Solo", one, 0, 25_000_000),
    }
    return FloorPlan(
        "demo", name, environment, "USD", ZoneInfo("America/New_York"), time(6), frozen(meters), frozen(tables),
        frozen({table.device: table for table in tables.values()}), frozen({}), "5f3c" * 16,
    )  # fmt: skip


def rows(paytable: Paytable, hits: tuple[int, ...], won: tuple[int, ...]) -> tuple[RowView, ...]:
    """The prize rows of a paytable, with hits and cents won from the meter."""
    return tuple(
        RowView(p.outcome, p.label, n, cents, n * p.fixed_cents, n * p.returned_cents, n * 3 * p.envy_cents)
        for p, n, cents in zip(paytable.prizes, hits, won, strict=True)
    )


def meter_view(plan: FloorPlan, meter: str, display_cents: int, **changes: Any) -> MeterView:
    """A meter standing at ``display_cents`` and 280,000 microcents; other accounts by name."""
    own = plan.meters[meter]
    hits = (0, 1, 0, 2, 5, 31, 118) if meter == "pg-link" else (1, 2, 3, 12, 44, 390)
    won = (0, 240_118, 0, 0, 0, 0, 0) if meter == "pg-link" else (1_432_881, 214_552, 0, 0, 0, 0)
    view = MeterView(
        plan=own,
        display_microcents=display_cents * CENT + 280_000,
        reserve_microcents=183_215 * CENT if own.reserve_ppm else 0,
        overflow_microcents=0,
        pending_microcents=240_118 * CENT if meter == "pg-link" else 0,
        contributed_microcents=920_410 * CENT,
        house_microcents=1_000_000 * CENT,
        paid_microcents=0,
        wagers=92_041 if meter == "pg-link" else 31_877,
        rate_ppm=10_000 if meter == "pg-link" else 280_000,
        rows=rows(own.paytable, hits, won),
        tables=plan.linked_tables(meter),
    )
    return replace(view, **changes)


def award(table: str, game: int, seat: int, at: int) -> AwardView:
    """Royal flush + royal match on paytable 4: $5,000.00, a share of the link, and the wager returned."""
    return AwardView(
        table, game, seat, "progressive", "royal-flush-royal-match", "Royal flush + royal match",
        (("pg-link", 240_118),), 500_000, 500, 4_812, at,
    )  # fmt: skip


def small_award(table: str, game: int, seat: int, at: int) -> AwardView:
    """Four of a kind on paytable 4: $100.00 and the wager returned; no share of any meter."""
    return AwardView(table, game, seat, "progressive", "four-of-a-kind", "Four-of-a-kind", (), 10_000, 500, 4_790, at)


def game(table: str, number: int, at: int, state: str, seats: tuple[int, ...], cents: int = 500) -> GameView:
    """A game with wagers of ``cents`` at the named seats and a count that agrees."""
    wagers = tuple((seat, "progressive", cents) for seat in seats)
    return GameView(table, number, at, state, wagers, len(seats) if state != "open" else None, (), ())


def table_views(plan: FloorPlan) -> dict[str, TableView]:
    """Three tables: one with an open game, one between games after a hit, one playing alone."""
    won = replace(
        game("PG-02", 229, NOW - 95 * SECOND, "closed", (1, 2, 4, 6)),
        awards=(award("PG-02", 229, 2, NOW - 70 * SECOND),),
        envy=tuple(EnvyView("PG-02", 229, seat, 75_000) for seat in (1, 4, 6)),
    )
    first = [game("PG-01", 412, NOW - 21 * SECOND, "open", (1, 3, 4, 6))]
    first += [game("PG-01", 411 - i, NOW - (70 + 50 * i) * SECOND, "closed", (1, 3, 4)) for i in range(4)]
    first[2] = replace(first[2], state="void")
    second = [won] + [game("PG-02", 228 - i, NOW - (150 + 55 * i) * SECOND, "closed", (2, 4)) for i in range(4)]
    third = [game("PG-03", 90 - i, NOW - (12 + 45 * i) * SECOND, "open" if i == 0 else "closed", (2, 5, 7), 100)
             for i in range(5)]  # fmt: skip
    games = {"PG-01": first, "PG-02": second, "PG-03": third}
    return {table: TableView(plan.tables[table], tuple(games[table]), "") for table in plan.tables}


def device(plan: FloorPlan, table: str, **changes: Any) -> DeviceView:
    """A live hub whose table is playable, with two chips on its sensors."""
    counts = {"frames_good": 18_233, "frames_damaged": 2, "gaps": 0, "duplicates": 1, "dropped": 0, "malformed": 0,
              "reconnects": 1}  # fmt: skip
    hub = plan.tables[table].device
    view = DeviceView(hub, table, f"serial-{hub}", LineState.LIVE, True, "", "b7f1", "1.4.2", NOW - SECOND // 2,
                      ((2, "progressive"), (5, "progressive")), counts)  # fmt: skip
    return replace(view, **changes)


def notes() -> tuple[Note, ...]:
    """A refusal, a notice and an alarm, newest first."""
    return (
        Note(NOW - 40 * SECOND, "refusal", "wrong-wager", "PG-03",
             "game 89, seat 5: a wager is not the paytable's amount",
             "check the chips on the sensors and lock again", 4_815),
        Note(NOW - 180 * SECOND, "notice", "late-bet", "PG-01", "seat 2: a chip was laid after lock-out",
             "return the chip; the wager is not accepted", 4_780),
        Note(NOW - 2_400 * SECOND, "alarm", "count-differs", "PG-02",
             "game 201: the dealer counted 3 chips, 4 wagers are accepted",
             "compare the tray with the lit seats and tell the pit", 4_521),
    )  # fmt: skip


def quiet_snapshot(environment: Environment = Environment.TEST, name: str = "Demo Casino") -> Snapshot:
    """A floor where nothing is wrong and nothing was won."""
    plan = floor_plan(environment, name)
    meters = {
        "pg-link": meter_view(plan, "pg-link", 1_200_588, pending_microcents=0),
        "pg-solo": meter_view(plan, "pg-solo", 8_640_913),
    }
    tables = {key: replace(view, games=view.games[:1] if key != "PG-02" else ()) for key, view in
              table_views(plan).items()}  # fmt: skip
    return Snapshot(
        plan=plan, at=NOW, started_at=NOW - 86_400 * SECOND, version="0.1.0", entries=frozen({"main": 4_816}),
        meters=frozen(meters), tables=frozen(tables), awards=(), envy=(), pending_awards=0, notes=(), stopped="",
        devices=frozen({plan.tables[table].device: device(plan, table) for table in plan.tables}),
        signs=frozen({"kiosk-1": SignHealth("kiosk-1", "page", True, "$12,005.88", NOW)}),
    )  # fmt: skip


def busy_snapshot(environment: Environment = Environment.TEST, name: str = "Demo Casino") -> Snapshot:
    """A floor with an award pending for a minute, notes of each kind, one stale line and one table that is off."""
    quiet = quiet_snapshot(environment, name)
    plan = quiet.plan
    won = award("PG-02", 229, 2, NOW - 70 * SECOND)
    devices = {
        "hub-01": device(plan, "PG-01"),
        "hub-02": device(plan, "PG-02", state=LineState.STALE, heard_at=NOW - 2 * SECOND, bets=()),
        "hub-03": device(plan, "PG-03", state=LineState.OFFLINE, playable=False, heard_at=NOW - 47 * SECOND, bets=(),
                         reason="the table unit is not heard"),
    }  # fmt: skip
    signs = {
        "kiosk-1": SignHealth("kiosk-1", "page", True, "$12,005.88", NOW),
        "led-1": SignHealth("led-1", "alpha", False, "$12,005.61", NOW - 31 * SECOND),
    }
    return replace(
        quiet,
        meters=frozen({**quiet.meters, "pg-link": meter_view(plan, "pg-link", 960_470)}),
        tables=frozen(table_views(plan)),
        awards=(won, small_award("PG-01", 408, 4, NOW - 400 * SECOND)),
        envy=tuple(EnvyView("PG-02", 229, seat, 75_000) for seat in (1, 4, 6)),
        pending_awards=2,
        waiting=(small_award("PG-01", 408, 4, NOW - 400 * SECOND), won),
        notes=notes(),
        devices=frozen(devices),
        signs=frozen(signs),
    )


def sign_plan(sign: str = "kiosk-1", table: str | None = "PG-01", meters: tuple[str, ...] = ("pg-link",)) -> SignPlan:
    """A page sign of eleven digits."""
    return SignPlan(sign, SignKind.PAGE, table, meters, 11, None, True)


def wiring() -> Wiring:
    """Two page signs, one of one meter and one of two; no lines, no broker."""
    signs = (sign_plan(), sign_plan("both", None, ("pg-link", "pg-solo")), sign_plan("solo", "PG-03", ("pg-solo",)))
    return Wiring("sqlite:///ledger.db", (), None, WebPlan("127.0.0.1", 0), signs)
