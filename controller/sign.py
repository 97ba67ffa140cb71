"""What a sign shows: one pure function for kiosk pages, LED signs and the retained MQTT topic.

Only durable amounts come in (a ``Snapshot``), so none can be shown before its commit (D12, R-25). A sign never shows
more than the durable amount, calls an award PENDING, and says that it is not live rather than let an old number look
live (DI-01). Every text is printable ASCII, whatever names were configured (WE-01).
"""

import json
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from controller.award import OPEN, PAID
from controller.money import format_cents, format_rate, share_of_meter, whole_cents
from controller.paytable import Prize
from controller.plan import Environment, FloorPlan, MeterPlan, Overflow, SpotPlan
from controller.snapshot import AwardView, MeterView, Snapshot
from controller.wiring import SignPlan

PENDING_US = 60_000_000
"""How long an award stands on the signs (R-24, R-27)."""
VALID_S = 3
"""How long an amount may look live after the moment it was true (DI-01)."""
PACE_US = 1_000_000
"""A paced amount has arrived after this long (R-24)."""
TEXT_MAX = 64
NOT_LINKED = "Not linked to"
_LED_NAME_MAX = 24
_LED_LINES_MAX = 3

AlphaPage = tuple[str, int | None]
"""Words on an LED sign, and the number of the running amount after them, if any."""


@dataclass(frozen=True, slots=True)
class Pace:
    """An amount on its way up: where it started, where it goes (cents), and since when (UTC microseconds)."""

    start_cents: int
    target_cents: int
    since: int


@dataclass(frozen=True, slots=True)
class MeterShown:
    """One meter on a sign. ``capped``: the meter is above what the sign's digits can show (R-26)."""

    id: str
    name: str
    amount: str
    amount_cents: int
    capped: bool
    limit: str
    """``Limit $250,000.00`` or ``No limit`` (R-29)."""
    tables: tuple[str, ...]
    """The linked tables."""
    pace: Pace


@dataclass(frozen=True, slots=True)
class RowShown:
    """What one row wins now: ``pays`` in its parts (``$5,000.00 + $2,000.04``), ``total`` in one; envy may be empty."""

    label: str
    wager: str
    pays: str
    total: str
    envy: str


@dataclass(frozen=True, slots=True)
class TableShown:
    """The sign's own table. ``state``: OPEN, CLOSED (table unit never heard) or PROGRESSIVE OFF (R-30, R-31)."""

    id: str
    state: str
    why: str
    notice: str = ""
    """The linked jackpots that it has left, until it is linked to them again (R-30)."""


@dataclass(frozen=True, slots=True)
class WinShown:
    """An award not yet verified (R-27). ``award`` is prize money: shares and fixed part, without the returned wager.

    ``meters`` are those of this sign that it took from, or all of the sign when it took from none.
    """

    status: str
    table: str
    seat: int
    label: str
    award: str
    award_cents: int
    new_value: str
    meters: tuple[str, ...]
    at: int
    others: int
    """Awards that stand beside this newest, largest one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything one sign shows. ``at``: when the amounts were true; ``why``: the reason when it is not live."""

    sign: str
    environment: str
    """``TEST`` or ``TRAINING``; empty in production (D8)."""
    title: str
    meters: tuple[MeterShown, ...]
    rows: tuple[RowShown, ...]
    lines: tuple[str, ...]
    """What of a wager funds something else than the shown prize (R-28)."""
    table: TableShown | None
    win: WinShown | None
    live: bool
    why: str
    at: int


def show(sign: SignPlan, snapshot: Snapshot, now: int, previous: Shown | None) -> Shown:
    """What ``sign`` shows at ``now`` (UTC microseconds).

    With ``previous``, a rise runs up like an odometer within a second; None shows the durable amount at once. A fall, a
    standing award or a sign that is not live always jumps (R-24, R-25).
    """
    why = _not_live(sign, snapshot, now)
    awards = [] if why else _standing_awards(sign, snapshot, now)
    paced = None if why or awards or previous is None else previous
    before = {meter.id: meter.pace for meter in paced.meters} if paced else {}
    views = [snapshot.meters[meter] for meter in sign.meters]
    meters = tuple(_meter(sign, view, now, before.get(view.plan.id)) for view in views)
    return Shown(
        sign=sign.id,
        environment=_environment(snapshot.plan),
        title=printable(snapshot.plan.name),
        meters=meters,
        rows=tuple(_rows(sign, snapshot)),
        lines=tuple(_funding(sign, snapshot)),
        table=_table(sign, snapshot),
        win=_win(awards, meters, snapshot) if awards else None,
        live=not why,
        why=why,
        at=snapshot.at,
    )


@lru_cache(maxsize=4_096)
def printable(text: str) -> str:
    """The text in printable ASCII, at most 64 characters: accents are dropped, anything else becomes ``?`` (WE-01)."""
    plain = (mark for mark in unicodedata.normalize("NFKD", text[:TEXT_MAX]) if not unicodedata.combining(mark))
    return "".join(mark if " " <= mark <= "~" else "?" for mark in plain)[:TEXT_MAX]


def _environment(plan: FloorPlan) -> str:
    return "" if plan.environment is Environment.PRODUCTION else plan.environment.value.upper()


def _not_live(sign: SignPlan, snapshot: Snapshot, now: int) -> str:
    if snapshot.stopped:
        return "The jackpot is stopped"
    for view in (snapshot.meters[meter] for meter in sign.meters):
        limit = view.plan.limit_cents
        if limit is not None and whole_cents(view.display_microcents) > limit:
            return "An amount is above its limit"  # no sign ever shows what cannot be won (D11, D23)
    # A snapshot from the future is as wrong as an old one: the clock was set.
    return "No fresh amounts" if abs(now - snapshot.at) > VALID_S * 1_000_000 else ""


def _meter(sign: SignPlan, view: MeterView, now: int, before: Pace | None) -> MeterShown:
    durable, most = whole_cents(view.display_microcents), 10**sign.digits - 1
    pace = _pace(min(durable, most), before, now)
    cents = _paced_cents(pace, now)
    limit = view.plan.limit_cents
    return MeterShown(
        id=view.plan.id,
        name=printable(view.plan.name),
        amount=format_cents(cents),
        amount_cents=cents,
        capped=durable > most,
        limit="No limit" if limit is None else f"Limit {format_cents(limit)}",
        tables=tuple(printable(table) for table in view.tables),
        pace=pace,
    )


def _pace(target: int, before: Pace | None, now: int) -> Pace:
    if before is None or target < before.target_cents:
        return Pace(target, target, now)
    if target == before.target_cents:
        return before
    # From the old target, not from the pixels: so the sign is never behind the amount of a second ago.
    return Pace(before.target_cents, target, now)


def _paced_cents(pace: Pace, now: int) -> int:
    elapsed = now - pace.since
    if not 0 <= elapsed < PACE_US:
        return pace.target_cents
    return pace.start_cents + (pace.target_cents - pace.start_cents) * elapsed // PACE_US


def _spots(sign: SignPlan, snapshot: Snapshot) -> Iterable[SpotPlan]:
    """The spots whose rows stand on the sign: its own table's, else one of each kind that feeds its meters."""
    if sign.table is not None:
        yield from snapshot.plan.tables[sign.table].spots
        return
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for table in snapshot.plan.tables.values():
        for spot in table.spots:
            kind = (spot.paytable.id, tuple(sorted(spot.meter_of.items())))
            if kind not in seen and not set(sign.meters).isdisjoint(spot.meter_of.values()):
                seen.add(kind)
                yield spot


def _rows(sign: SignPlan, snapshot: Snapshot) -> Iterable[RowShown]:
    for spot in _spots(sign, snapshot):
        wager = format_cents(spot.paytable.wager_cents)
        for prize in spot.paytable.prizes:
            shares = _shares(prize, spot, snapshot)
            parts = ([prize.fixed_cents] if prize.fixed_cents or not shares else []) + shares
            yield RowShown(
                label=printable(prize.label),
                wager=wager,
                pays=" + ".join(format_cents(part) for part in parts),
                total=format_cents(sum(parts)),
                envy=format_cents(prize.envy_cents) if prize.envy_cents else "",
            )


def _shares(prize: Prize, spot: SpotPlan, snapshot: Snapshot) -> list[int]:
    views = [(snapshot.meters[spot.meter_of[part]], ppm) for part, ppm in prize.shares]
    return [share_of_meter(view.display_microcents, ppm, view.plan.rounding) for view, ppm in views]


def _funding(sign: SignPlan, snapshot: Snapshot) -> Iterable[str]:
    plans = [snapshot.plan.meters[meter] for meter in sign.meters]
    for plan in plans:
        name = f" of {printable(plan.name)}" if len(plans) > 1 else ""
        if plan.reserve_ppm:
            yield f"{format_rate(plan.reserve_ppm)} of each wager funds the next jackpot{name}"
        if plan.limit_cents is not None:
            yield _above_limit(plan) + name


def _above_limit(plan: MeterPlan) -> str:
    if plan.overflow is Overflow.NEXT_METER:
        return "What wagers add above the limit funds the next jackpot"
    return "What wagers add above the limit is set aside, not added to the jackpot"


def _table(sign: SignPlan, snapshot: Snapshot) -> TableShown | None:
    if sign.table is None:
        return None
    made = _table_state(sign.table, snapshot)
    view = snapshot.tables.get(sign.table)
    left = " and ".join(printable(name) for name in view.unlinked) if view is not None else ""
    return replace(made, notice=f"{NOT_LINKED} {left}" if left else "")


def _table_state(table: str, snapshot: Snapshot) -> TableShown:
    name = printable(table)
    device = snapshot.devices.get(snapshot.plan.tables[table].device)
    if device is None or not (device.heard_at or device.playable):
        return TableShown(name, "CLOSED", "Table unit not heard")
    view = snapshot.tables.get(table)
    if view is not None and view.closed:
        return TableShown(name, "CLOSED", "")
    reason = (view.loss if view else "") or ("" if device.playable else device.reason or "Not playable")
    return TableShown(name, "PROGRESSIVE OFF" if reason else "OPEN", printable(reason))


_ON_SIGN = OPEN | {PAID}
"""What the dealer pays from the tray, and what is refused or withdrawn, never stands on a sign."""


def _prize_cents(award: AwardView) -> int:
    return award.total_cents - award.returned_cents


def _standing_awards(sign: SignPlan, snapshot: Snapshot, now: int) -> list[AwardView]:
    """Awards of the last minute on this sign's table or meters, newest first, the largest of a moment first."""

    def stands(award: AwardView) -> bool:
        table = snapshot.plan.tables.get(award.table)
        if table is None:  # it was taken off the floor
            return False
        mine = award.table == sign.table or any(meter in sign.meters for meter, _ in award.meters)
        large = _prize_cents(award) >= max(1, table.sign_from_cents)
        return mine and large and award.state in _ON_SIGN and now - award.at < PENDING_US

    return sorted(filter(stands, snapshot.awards), key=lambda award: (-award.at, -_prize_cents(award)))


def _win(awards: list[AwardView], meters: tuple[MeterShown, ...], snapshot: Snapshot) -> WinShown:
    award = awards[0]
    took = {meter for meter, _ in award.meters}
    changed = [meter for meter in meters if meter.id in took] or list(meters)
    plan = snapshot.plan.tables[award.table]
    return WinShown(
        status="PENDING" if award.state in OPEN else "WIN",
        table=printable(plan.asset or award.table),
        seat=award.seat,
        label=printable(award.label),
        award=format_cents(_prize_cents(award)),
        award_cents=_prize_cents(award),
        new_value=", ".join(f"{meter.name} {meter.amount}" if len(changed) > 1 else meter.amount for meter in changed),
        meters=tuple(meter.id for meter in changed),
        at=award.at,
        others=len(awards) - 1,
    )


def to_json(shown: Shown) -> dict[str, Any]:
    """A sign as the page and the API give it: the fields of ``Shown``, times in ISO 8601, and how long it is valid."""
    made: dict[str, Any] = asdict(shown) | {"at": _written_time(shown.at), "valid_s": VALID_S}
    for meter in made["meters"]:
        del meter["pace"]
    if shown.win is not None:
        made["win"]["at"] = _written_time(shown.win.at)
    return made


def meter_topics(shown: Shown) -> dict[str, bytes]:
    """The retained payload of ``meterd/<site>/meter/<meter>`` for each meter of an MQTT sign (design section 7).

    A reader shows the amount until ``at`` + ``valid_s`` seconds and then that it is not live; 0 is not live at once.
    ``pending`` is there while an award that took from the meter stands; ``amount`` is then the new value.
    """
    made = {}
    for meter in shown.meters:
        payload: dict[str, Any] = {
            "amount": _decimal(meter.amount_cents),
            "at": _written_time(shown.at),
            "valid_s": VALID_S if shown.live else 0,
        }
        win = shown.win
        if win is not None and meter.id in win.meters:
            payload["pending"] = {
                "table": win.table,
                "seat": win.seat,
                "label": win.label,
                "award": _decimal(win.award_cents),
                "at": _written_time(win.at),
            }
        made[meter.id] = json.dumps(payload, separators=(",", ":")).encode()
    return made


def alpha_pages(sign: SignPlan, plan: FloorPlan) -> tuple[AlphaPage, ...]:
    """The fixed TEXT of an LED sign: each meter's name before its running amount, in the order of ``sign.meters``."""
    banner = _environment(plan)
    before = f"{banner} " if banner else ""
    return tuple(
        (f"{before}{printable(plan.meters[meter].name)[:_LED_NAME_MAX]} ", line)
        for line, meter in enumerate(sign.meters)
    )


def alpha_texts(shown: Shown) -> tuple[tuple[str, ...], tuple[AlphaPage, ...]]:
    """The running amounts of an LED sign, and the alert over them: not live, an award, a table not playing, or none.

    Amounts run on inside an alert, so that it is written once and not at every wager.
    """
    amounts = tuple(meter.amount for meter in shown.meters)
    if not shown.live:
        return amounts, (("NOT LIVE", None),)
    running = [(meter.id, line) for line, meter in enumerate(shown.meters)]
    if (win := shown.win) is not None:
        now_in_play = [line for meter, line in running if meter in win.meters][:_LED_LINES_MAX]
        words = (win.status, f"TABLE {win.table[:_LED_NAME_MAX]}", f"SEAT {win.seat} {win.award}")
        return amounts, (*((word, None) for word in words), *(("NOW ", line) for line in now_in_play))
    if shown.table is not None and (shown.table.state != "OPEN" or shown.table.notice):
        said = [] if shown.table.state == "OPEN" else [shown.table.state]
        if shown.table.notice:
            said += [NOT_LINKED.upper(), shown.table.notice.removeprefix(f"{NOT_LINKED} ")[:_LED_NAME_MAX]]
        return amounts, (*((word, None) for word in said),
                         *(("JACKPOT ", line) for _, line in running[:_LED_LINES_MAX]))
    return amounts, ()


def _decimal(cents: int) -> str:
    return format_cents(cents).replace("$", "").replace(",", "")


def _written_time(at: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
