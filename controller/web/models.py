"""The JSON API's forms, and how each is made from a view.

Dollars are decimal strings with two places ("12345.67"). ``..._microcents`` are whole numbers as strings, for they pass
2^53, above which JSON readers lose digits (MO-09). Times are ISO 8601 in UTC.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict

from controller.money import format_rate, share_of_meter, whole_cents
from controller.sign import Shown, to_json
from controller.snapshot import AwardView, DeviceView, GameView, MeterView, Note, SignHealth, Snapshot, TableView
from controller.wiring import SignPlan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dollars(cents: int) -> str:
    """``-1234.56``: no thousands separator, for machines; the same in every locale (DI-03)."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def utc(at: int) -> str:
    """UTC microseconds as ``2026-12-01T08:12:11.000000Z``."""
    return (_EPOCH + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Row(BaseModel):
    """One prize row of a meter (R-01, R-03): hits, and dollars won from the meter and from the house."""

    outcome: str
    label: str
    now: str
    """What a hit would take of this meter now."""
    hits: int
    won: str
    fixed: str
    returned: str
    envy: str


class Meter(BaseModel):
    """One meter as the ledger has it; ``limit`` null is no limit."""

    id: str
    name: str
    book: str
    display: str
    display_microcents: str
    reserve: str
    reserve_microcents: str
    overflow: str
    overflow_microcents: str
    pending: str
    contributed: str
    house: str
    paid: str
    seed: str
    base: str
    limit: str | None
    rate: str
    reserve_rate: str
    wagers: int
    hits: int
    won: str
    rows: list[Row]
    tables: list[str]


class Award(BaseModel):
    """One award: shares by meter, the house's fixed part, the returned wager, and the sum; in dollars."""

    table: str
    game: int
    seat: int
    spot: str
    outcome: str
    label: str
    meters: dict[str, str]
    fixed: str
    returned: str
    total: str
    state: str
    """pending, verified, released, paid, paid-by-dealer, refused, withdrawn or paid-in-error."""
    entry: int
    at: str


class Awards(BaseModel):
    """The awards that wait for people: how many there are, and the newest of them."""

    pending: int
    awards: list[Award]


class Wager(BaseModel):
    """One accepted wager: a lit seat."""

    seat: int
    spot: str
    amount: str


class Envy(BaseModel):
    """What one seat is due in envy."""

    seat: int
    amount: str


class Game(BaseModel):
    """One game of a table; ``state`` is open, closed, void or late."""

    game: int
    at: str
    state: str
    wagers: list[Wager]
    chips: int | None
    awards: list[Award]
    envy: list[Envy]


class Line(BaseModel):
    """The table's line as it is now; ``heard_at`` null: never."""

    device: str
    line: str
    state: str
    firmware: str
    heard_at: str | None
    counts: dict[str, int]


class Table(BaseModel):
    """One table: whether it may take wagers and why not, its line, its latest games (newest first)."""

    id: str
    asset: str
    device: str
    seats: int
    playable: bool
    reason: str
    line: Line | None
    meters: list[str]
    games: list[Game]


class NoteLine(BaseModel):
    """A refusal, notice, fault or alarm, with what to do."""

    at: str
    kind: str
    cause: str
    table: str
    what: str
    remedy: str
    entry: int | None


class Status(BaseModel):
    """The floor in short; ``stopped`` says why the book is stopped, or is empty."""

    site: str
    name: str
    environment: str
    version: str
    config_hash: str
    at: str
    started_at: str
    ready: bool
    stopped: str
    entries: dict[str, int]
    tables: int
    playable: int
    pending_awards: int
    notes: list[NoteLine]


class LogPosting(BaseModel):
    """One signed amount of an entry, and the account's balance after it."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    meter: str
    account: str
    microcents: str
    balance: str


class LogEntry(BaseModel):
    """One entry of the ledger as it was written; ``at`` in UTC microseconds."""

    model_config = ConfigDict(extra="allow")

    number: int
    kind: str
    at: int
    book: str | None = None
    table: str | None = None
    game: int | None = None
    device: str | None = None
    boot: str | None = None
    seq: int | None = None
    body: Any = None
    postings: list[LogPosting] = []


class Log(BaseModel):
    """A page of the ledger, newest first; ask on with ``before`` = ``next_before`` until it is null."""

    book: str
    entries: list[LogEntry]
    next_before: int | None


class Win(BaseModel):
    """One award of the ledger, pending or not."""

    model_config = ConfigDict(extra="allow")

    table: str
    game: int
    seat: int


class SignMeter(BaseModel):
    """One meter on a sign; ``capped``: it stands above what the sign's digits can show (R-26)."""

    id: str
    name: str
    amount: str
    amount_cents: int
    capped: bool
    limit: str
    tables: list[str]


class SignRow(BaseModel):
    """What one row wins now."""

    label: str
    wager: str
    pays: str
    total: str
    envy: str


class SignTable(BaseModel):
    """The sign's own table."""

    id: str
    state: str
    why: str
    notice: str
    """The linked jackpots that it has left, or empty (R-30)."""


class SignWin(BaseModel):
    """A standing award that is not verified yet (R-27)."""

    status: str
    table: str
    seat: int
    label: str
    award: str
    award_cents: int
    new_value: str
    at: str
    others: int


class Sign(BaseModel):
    """Everything that a sign shows; valid until ``at`` + ``valid_s`` seconds, then it is not live (DI-01)."""

    sign: str
    environment: str
    title: str
    live: bool
    why: str
    at: str
    valid_s: int
    meters: list[SignMeter]
    rows: list[SignRow]
    lines: list[str]
    table: SignTable | None
    win: SignWin | None


class SignNow(BaseModel):
    """A sign of the floor: ``told`` is what its line or topic was last told, ``shown`` what it is to show now."""

    id: str
    kind: str
    table: str | None
    reached: bool
    told: str
    told_at: str | None
    shown: Sign | None


class Health(BaseModel):
    """One word on the process, and what to do when it is not well."""

    status: str
    what: str = ""
    remedy: str = ""


class Problem(BaseModel):
    """An answer that is not what was asked for: what is wrong, and what to do."""

    error: str
    remedy: str


def _whole(microcents: int) -> str:
    return dollars(whole_cents(microcents))


def meter(view: MeterView) -> Meter:
    """The API's form of a meter."""
    plan = view.plan
    return Meter(
        id=plan.id,
        name=plan.name,
        book=plan.book,
        display=_whole(view.display_microcents),
        display_microcents=str(view.display_microcents),
        reserve=_whole(view.reserve_microcents),
        reserve_microcents=str(view.reserve_microcents),
        overflow=_whole(view.overflow_microcents),
        overflow_microcents=str(view.overflow_microcents),
        pending=_whole(view.pending_microcents),
        contributed=_whole(view.contributed_microcents),
        house=_whole(view.house_microcents),
        paid=_whole(view.paid_microcents),
        seed=dollars(plan.seed_cents),
        base=dollars(plan.base_cents),
        limit=None if plan.limit_cents is None else dollars(plan.limit_cents),
        rate=format_rate(view.rate_ppm),
        reserve_rate=format_rate(plan.reserve_ppm),
        wagers=view.wagers,
        hits=view.hits,
        won=dollars(view.won_cents),
        rows=[
            Row(
                outcome=row.outcome,
                label=row.label,
                now=dollars(_share_now(view, row.outcome)),
                hits=row.hits,
                won=dollars(row.won_cents),
                fixed=dollars(row.fixed_cents),
                returned=dollars(row.returned_cents),
                envy=dollars(row.envy_cents),
            )
            for row in view.rows
        ],
        tables=list(view.tables),
    )


def _share_now(view: MeterView, outcome: str) -> int:
    """Cents of a meter that a hit of a row would take now, alone."""
    for prize in view.plan.paytable.prizes:
        if prize.outcome == outcome:
            shares = dict(prize.shares)
            return share_of_meter(view.display_microcents, shares.get(view.plan.part, 0), view.plan.rounding)
    return 0


def award(view: AwardView) -> Award:
    """The API's form of an award."""
    return Award(
        table=view.table,
        game=view.game,
        seat=view.seat,
        spot=view.spot,
        outcome=view.outcome,
        label=view.label,
        meters={name: dollars(cents) for name, cents in view.meters},
        fixed=dollars(view.fixed_cents),
        returned=dollars(view.returned_cents),
        total=dollars(view.total_cents),
        state=view.state,
        entry=view.entry,
        at=utc(view.at),
    )


def awards(snapshot: Snapshot) -> Awards:
    """The pending awards of a snapshot."""
    return Awards(pending=snapshot.pending_awards, awards=[award(view) for view in snapshot.waiting[: -51 : -1]])


def _game(view: GameView) -> Game:
    return Game(
        game=view.game,
        at=utc(view.at),
        state=view.state,
        wagers=[Wager(seat=seat, spot=spot, amount=dollars(cents)) for seat, spot, cents in view.wagers],
        chips=view.chips,
        awards=[award(each) for each in view.awards],
        envy=[Envy(seat=each.seat, amount=dollars(each.cents)) for each in view.envy],
    )


def _line(view: DeviceView) -> Line:
    return Line(
        device=view.device,
        line=view.line,
        state=view.state.value,
        firmware=view.firmware,
        heard_at=utc(view.heard_at) if view.heard_at else None,
        counts=dict(view.counts),
    )


def table(view: TableView, device: DeviceView | None) -> Table:
    """The API's form of a table and its line."""
    plan = view.plan
    return Table(
        id=plan.id,
        asset=plan.asset,
        device=plan.device,
        seats=plan.seats,
        playable=device is not None and device.playable and not view.loss,
        reason=view.loss or (device.reason if device is not None else "the table unit was never heard"),
        line=None if device is None else _line(device),
        meters=list(dict.fromkeys(feed.meter for spot in plan.spots for feed in spot.feeds)),
        games=[_game(game) for game in view.games],
    )


def sign_now(plan: SignPlan, shown: Shown | None, health: SignHealth | None) -> SignNow:
    """The API's form of a sign."""
    return SignNow(
        id=plan.id,
        kind=plan.kind.value,
        table=plan.table,
        reached=health is not None and health.up,
        told="" if health is None else health.told,
        told_at=utc(health.told_at) if health is not None and health.told_at else None,
        shown=None if shown is None else Sign.model_validate(to_json(shown)),
    )


def status(snapshot: Snapshot) -> Status:
    """The floor in short."""
    plan = snapshot.plan
    playable = [device for device in snapshot.devices.values() if device.playable]
    return Status(
        site=plan.site,
        name=plan.name,
        environment=plan.environment.value,
        version=snapshot.version,
        config_hash=plan.hash,
        at=utc(snapshot.at),
        started_at=utc(snapshot.started_at),
        ready=snapshot.ready,
        stopped=snapshot.stopped,
        entries=dict(snapshot.entries),
        tables=len(snapshot.tables),
        playable=len(playable),
        pending_awards=snapshot.pending_awards,
        notes=[_note(note) for note in snapshot.notes],
    )


def _note(note: Note) -> NoteLine:
    return NoteLine(
        at=utc(note.at),
        kind=note.kind,
        cause=note.cause,
        table=note.table,
        what=note.what,
        remedy=note.remedy,
        entry=note.entry,
    )


def log(book: str, entries: Iterable[LogEntry], count: int) -> Log:
    """A page of the ledger that was asked for with ``count``."""
    page = list(entries)
    last = page[-1].number if len(page) == count else None
    return Log(book=book, entries=page, next_before=last if last is not None and last > 1 else None)
