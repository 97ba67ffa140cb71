"""The pages of meters: what waits, what each meter holds and how that adds up, its changes, and changing it by hand.

A change is asked for on the meter's page and repeated in full on a page of its own, as a trial on the ledger's books
has it, before two people sign it there (DI-03, R-36). Plain forms; the desk decides again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Depends, HTTPException, Path, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment as Templates

from controller.acts import KINDS, Act, ActKind, ActRefused, Field, Is, read_act
from controller.alarms import Alarm
from controller.board import link_of, meter_view
from controller.floor_state import Meter, meter_row
from controller.ledger.place import LedgerError
from controller.meter_file import Change, MeterFile, MetersDue, NoticeDue, Opening
from controller.money import format_cents, format_microcents, format_rate
from controller.outcome import Outcome
from controller.people import Person
from controller.plan import MeterPlan
from controller.slip import exact
from controller.snapshot import MeterView, Snapshot
from controller.web.api import missing
from controller.web.desk_routes import read_form
from controller.web.floor_page import clock_of
from controller.web.sessions import Signed, check_csrf, fresh_act_id, page_values, signed_in
from controller.web.source import Source

CHANGES_SHOWN = 100
MINUTE_US = 60_000_000
ACCOUNT_WORDS = {
    "display": "shown", "reserve": "next-jackpot money", "overflow": "above the limit",
    "pending": "awards not yet paid",
}
_WHY_WORDS = {
    "reserve-to-house": "next-jackpot money taken for the house", "seed-recovery": "seed recovered",
    "malfunction-correction": "correction of a malfunction", "limit-correction": "correction for a limit",
}
_CHANGES = ("meter-adjusted", "meter-transferred", "reserve-to-house", "seed-recovered", "retirement-announced",
            "meter-retired")
_CONFIRMED = (*_CHANGES, "opening-entered", "opening-accepted")
_IN_PLAY = frozenset(("meter-adjusted", "reserve-to-house", "seed-recovered"))
"""Changes of a meter that goes on taking wagers meanwhile."""
_Signed = Annotated[Signed, Depends(signed_in)]
_Id = Annotated[str, Path(max_length=64)]


class MeterSource(Source, Protocol):
    """What these pages need of the daemon besides the pages' ``Source``. All of it is durable."""

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that people should see."""

    async def meters_due(self) -> MetersDue:
        """What waits for people at all meters. Raises LedgerError."""

    async def meter_file(self, meter: str) -> MeterFile:
        """The changes of a meter of the plan, and what is due. Raises LedgerError."""

    async def meter_trial(self, act: Act) -> Outcome:
        """What an act would do to the meters as the ledger has them. Raises ActRefused, LedgerError."""


class Ask(NamedTuple):
    """A form for a change: its act, what it asks, what it knows, and what may be chosen."""

    kind: ActKind
    fields: tuple[Field, ...]
    values: Mapping[str, str]
    id: str


class NoticeLine(NamedTuple):
    """A notice due with its time left, and the form that says it was sent; ``ask`` None: not this reader's."""

    notice: NoticeDue
    name: str
    late: bool
    left: str
    why: str
    kind: ActKind | None
    act_id: str


class MeterLine(NamedTuple):
    """One meter among all: its view, and its state in words, empty for one in play."""

    view: MeterView
    state: str


def meter_routes(source: MeterSource, templates: Templates) -> APIRouter:
    """``/meters``, ``/meters/{meter}`` and the page that repeats a change; all for signed-in people."""
    routes = APIRouter(include_in_schema=False)

    def page(request: Request, signed: Signed, name: str, shown: dict[str, Any], status: int = 200) -> HTMLResponse:
        snapshot = source.snapshot()
        values = page_values(request, signed) | {
            "clock": clock_of(snapshot), "csrf": signed.csrf,
            "back": request.url.path, "account_words": ACCOUNT_WORDS, "exact": exact}
        return HTMLResponse(templates.get_template(name).render(**values | shown), status)

    @routes.get("/meters")
    async def meters_page(request: Request, signed: _Signed) -> HTMLResponse:
        due: MetersDue = await _ask(source.meters_due())
        return page(request, signed, "meters.html", _meters(source.snapshot(), due, signed.person))

    @routes.get("/meters/{meter}")
    async def meter_page(request: Request, signed: _Signed, meter: _Id) -> HTMLResponse:
        plan = _plan_of(source, meter)
        file: MeterFile = await _ask(source.meter_file(meter))
        return page(request, signed, "meter.html", _meter(source.snapshot(), plan, file, signed.person))

    @routes.post("/meters/{meter}/confirm")
    async def confirm(request: Request, signed: _Signed, meter: _Id) -> HTMLResponse:
        """Repeat a change in full, with the form that books it. It changes nothing."""
        form = await read_form(request)
        check_csrf(request, signed, form.pop("csrf", ""))
        plan, kind = _plan_of(source, meter), form.pop("kind", "")
        if kind not in _CONFIRMED:
            raise HTTPException(404, {"error": "a meter is not changed so", "remedy": "use the forms of its page"})
        shown: dict[str, Any] = {"meter": plan, "kind": KINDS[kind], "back": f"/meters/{meter}", "refused": None}
        try:
            act = read_act(kind, fresh_act_id(), form | {"meter": meter}, signed.person)
            told: Outcome = await _ask(source.meter_trial(act))
        except ActRefused as refused:
            return page(request, signed, "meter_confirm.html", shown | {"refused": refused}, 409)
        shown |= _repeated(source.snapshot(), act, told.told) | {"act_id": act.id}
        return page(request, signed, "meter_confirm.html", shown)

    return routes


async def _ask(asked: Any) -> Any:
    """What the ledger says; 503 when it cannot be read."""
    try:
        return await asked
    except LedgerError as wrong:
        told = {"error": "the ledger cannot be read now", "remedy": "call the technician; change no meter without it"}
        raise HTTPException(503, told) from wrong


def _plan_of(source: MeterSource, meter: str) -> MeterPlan:
    found = source.snapshot().plan.meters.get(meter)
    if found is None:
        raise missing("meter", meter, "the page of meters")
    return found


def _view(snapshot: Snapshot, meter: MeterPlan) -> MeterView:
    """A meter as the ledger has it; one that is not opened yet holds nothing."""
    known = snapshot.meters.get(meter.id)
    return known or meter_view(meter, *link_of(snapshot.plan, meter.id), meter_row(Meter(meter)))


# ---------------------------------------------------------------------- all meters


def _meters(snapshot: Snapshot, due: MetersDue, person: Person) -> dict[str, Any]:
    plan = snapshot.plan
    waits = [due.openings[name] for name in plan.meters if name in due.openings and name in due.unopened]
    return {
        "lines": [MeterLine(_view(snapshot, meter), due.state(meter.id)) for meter in plan.meters.values()],
        "notices": [_notice(snapshot, notice, person) for notice in due.notices],
        "openings": [(plan.meters[opening.meter], opening) for opening in waits],
        "to_open": [meter for meter in plan.meters.values() if meter.id in due.unopened - due.openings.keys()],
        "retiring": [(plan.meters[name], retiring, retiring.effective <= plan.gaming_day(snapshot.at))
                     for name, retiring in due.retiring.items() if name in plan.meters],
    }


def _notice(snapshot: Snapshot, notice: NoticeDue, person: Person) -> NoticeLine:
    kind, left = KINDS["notice-sent"], notice.due - snapshot.at
    known = snapshot.plan.meters.get(notice.meter)
    return NoticeLine(notice, notice.meter if known is None else known.name, left < 0, span(abs(left)),
                      _WHY_WORDS.get(notice.why, notice.why), kind if person.role in kind.by else None, fresh_act_id())


def span(microseconds: int) -> str:
    """``less than a minute``, ``12 min``, ``23 h 5 min``, ``3 days``."""
    minutes = microseconds // MINUTE_US
    if minutes < 1:
        return "less than a minute"
    days, hours = minutes // 1_440, minutes // 60
    if days > 1:
        return f"{days} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


# ---------------------------------------------------------------------- one meter


def _meter(snapshot: Snapshot, plan: MeterPlan, file: MeterFile, person: Person) -> dict[str, Any]:
    view = _view(snapshot, plan)
    return {
        "meter": plan,
        "view": view,
        "state": file.due.state(plan.id),
        "notices": [_notice(snapshot, one, person) for one in file.due.notices if one.meter == plan.id],
        "opening": file.due.openings.get(plan.id) if plan.id in file.due.unopened else None,
        "retiring": file.due.retiring.get(plan.id),
        "filed": tuple(_filed(view)),
        "came": tuple(_came(view, file)),
        "inside": tuple(_inside(view)),
        "total": sum(microcents for _, microcents in _inside(view)),
        "asks": tuple(_asks(snapshot, plan, file.due, person)),
        "changes": file.changes[:CHANGES_SHOWN],
        "more_changes": len(file.changes) > CHANGES_SHOWN or not file.whole,
        "signs": _signs,
    }


def _filed(view: MeterView) -> Iterator[tuple[str, str]]:
    """The parameters as they are filed (R-01, R-02)."""
    plan = view.plan
    yield "Part of the paytable", plan.part
    yield "First amount (base)", format_cents(plan.base_cents)
    yield "Amount after a win (seed)", format_cents(plan.seed_cents)
    yield "Rate of progression", format_rate(view.rate_ppm)
    yield "Rate for next-jackpot money", format_rate(plan.reserve_ppm)
    yield "Limit", "none" if plan.limit_cents is None else format_cents(plan.limit_cents)
    yield "Above the limit", {"next-meter": "goes to the next jackpot", "keep": "stays apart"}[plan.overflow.value]
    yield "Most of one lock-out", format_cents(plan.unreasonable_cents)
    yield "Several 100% hands of a game", {
        "split": "share it", "sequential": "win it one after the other"}[plan.tie_policy.value]
    yield "Smaller shares", {
        "partials-first": "before the 100% hands", "pay-order": "in the order of paying"}[plan.order.value]
    yield "Left below the seed", {"allow": "stays there", "top-up": "the house tops it up"}[plan.below_seed.value]
    yield "Next-jackpot money left over", {
        "keep": "is kept", "add": "goes to the new jackpot"}[plan.reserve_surplus.value]
    yield "Shares are rounded", plan.rounding.value
    yield "The house may take next-jackpot money", "yes, two people" if plan.reserve_to_house else "no"
    yield "The house may recover seed", "yes, two people" if plan.seed_recovery else "no"


def _came(view: MeterView, file: MeterFile) -> Iterator[tuple[str, int]]:
    """Where what the meter holds came from; these lines add up to it (R-05)."""
    yield "Put in by the house: opening, seeds, top-ups, misdeals", view.house_microcents - file.adjusted
    yield "Contributed by wagers that stand", view.contributed_microcents
    yield "Adjusted, transferred or taken by people", file.adjusted
    yield "Paid to players, by people at the table", -view.paid_microcents


def _inside(view: MeterView) -> Iterator[tuple[str, int]]:
    yield "Shown on the signs", view.display_microcents
    yield "Next-jackpot money", view.reserve_microcents
    yield "Above the limit", view.overflow_microcents
    yield "Awards not yet paid", view.pending_microcents


def _asks(snapshot: Snapshot, plan: MeterPlan, due: MetersDue, person: Person) -> Iterator[Ask]:
    """The forms that this person may fill in now; the desk decides again."""
    for name in _possible(snapshot, plan, due, person):
        kind = KINDS[name]
        if person.role in kind.by:
            values = {"meter": plan.id}
            if name == "opening-accepted" and plan.id in due.openings:
                values["base"] = format_cents(due.openings[plan.id].base_cents)
            fields = tuple([_to_choose(snapshot, plan, field) for field in kind.fields if field.name not in values])
            yield Ask(kind, fields, {name: values[name] for name in values if name != "meter"}, f"ask-{name}")


def _possible(snapshot: Snapshot, plan: MeterPlan, due: MetersDue, person: Person) -> Iterator[str]:
    opening: Opening | None = due.openings.get(plan.id)
    if plan.id in due.retired:
        return
    if plan.id in due.unopened:
        if opening is not None and opening.by.id != person.id and opening.by.department != person.department:
            yield "opening-accepted"
        yield "opening-entered"
        return
    yield "meter-adjusted"
    if _likes(snapshot, plan):
        yield "meter-transferred"
    if plan.reserve_to_house:
        yield "reserve-to-house"
    if plan.seed_recovery:
        yield "seed-recovered"
    yield "meter-retired" if plan.id in due.retiring else "retirement-announced"


def _likes(snapshot: Snapshot, plan: MeterPlan) -> tuple[str, ...]:
    """Meters that this one may be transferred to: of the same paytable, part and book (R-41)."""
    return tuple([other.id for other in snapshot.plan.meters.values() if other.id != plan.id and (
        other.paytable.id, other.part, other.book) == (plan.paytable.id, plan.part, plan.book)])


def _to_choose(snapshot: Snapshot, plan: MeterPlan, field: Field) -> Field:
    return field._replace(kind=Is.CHOICE, choices=_likes(snapshot, plan)) if field.name == "to" else field


def _signs(change: Change) -> str:
    return ", ".join(person.words() for person in change.people)


# ---------------------------------------------------------------------- before it is booked


class Moves(NamedTuple):
    """An amount of a meter before and after a change, in microcents."""

    meter: str
    account: str
    before: int
    after: int


def _repeated(snapshot: Snapshot, act: Act, told: Mapping[str, Any]) -> dict[str, Any]:
    """What a change does, in full: one sentence, the amounts before and after, and the form's values as read."""
    plan = snapshot.plan
    moves = [Moves(plan.meters[name].name, account, told["before"][name][account], after[account])
             for name, after in told.get("after", {}).items() for account in ACCOUNT_WORDS
             if told["before"][name][account] != after[account]]
    values = {}
    for field in KINDS[act.kind].fields:
        given = act.fields.get(field.name, "")
        values[field.name] = format_cents(given) if field.kind is Is.MONEY and given != "" else str(given)
    said = [(field.label, values[field.name]) for field in KINDS[act.kind].fields
            if field.name != "meter" and values[field.name]]
    return {"sentence": sentence(snapshot, act, told), "moves": moves, "values": values, "said": said,
            "notice": "notice" in told, "in_play": act.kind in _IN_PLAY}


def sentence(snapshot: Snapshot, act: Act, told: Mapping[str, Any]) -> str:
    """``Lower Face Up Pai Gow Link from $12,345.67 to $12,000.00``: what is about to be booked."""
    meters, fields = snapshot.plan.meters, act.fields
    meter = meters[fields["meter"]]
    was, now = (told.get(when, {}).get(meter.id, {}) for when in ("before", "after"))

    def from_to(account: str) -> str:
        return f"from {format_microcents(was[account])} to {format_microcents(now[account])}"

    if act.kind == "meter-adjusted":
        return f"{fields['direction'].capitalize()} {meter.name} {from_to('display')}"
    if act.kind == "meter-transferred":
        other = meters[fields["to"]]
        return f"Move {format_microcents(told['moved'])} from {meter.name} to {other.name}"
    if act.kind == "reserve-to-house":
        return f"Take {format_cents(fields['by_amount'])} of {meter.name}'s next-jackpot money for the house"
    if act.kind == "seed-recovered":
        return f"Take {format_cents(fields['by_amount'])} of seed back from {meter.name}: {from_to('display')}"
    if act.kind == "retirement-announced":
        return f"Announce today, {told['notice']}, that {meter.name} may be retired from {told['effective']}"
    if act.kind == "meter-retired":
        seed = format_microcents(was["display"])
        return f"Retire {meter.name} for good: its {seed} goes back to the house, and it never takes a wager again"
    entered = told.get("entered", fields)
    brought = entered.get("brought", 0)
    more = f", of it {format_cents(brought)} brought in from {entered['source']}" if brought else ""
    return f"Open {meter.name} at {format_cents(entered['base'])}{more}"
