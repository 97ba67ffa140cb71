"""The pages of awards: what waits for whom, one game with its working and its forms, one table; and printed slips.

Plain forms go through the one door of every act; this room shows and never changes anything.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Protocol
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment as Templates

from controller import award
from controller.acts import KINDS
from controller.award_lives import Place
from controller.desk_log import AwardsLately, DoneAward, EnvyOwed, Owed, TableAct
from controller.game_file import AwardFile, EnvyDue, GameFile
from controller.ledger.place import LedgerError
from controller.manual_slips import BY_HAND, by_hand_words
from controller.money import MICROCENTS_PER_CENT, PPM, format_cents, format_rate
from controller.people import Person
from controller.plan import AwardRules
from controller.register import Rows
from controller.slip import ROUNDING_WORDS, WHOLE_WORDS, MeterWorking, exact
from controller.slip_of import payee_of, printed_of, slip_of
from controller.slip_pdf import slip_pdf
from controller.snapshot import AwardView, Snapshot, TableView
from controller.web.api import NUMBER_MAX, missing
from controller.web.award_forms import (
    Form,
    Next,
    correction_forms,
    envy_forms,
    next_step,
    other_forms,
    print_form,
    roles_for,
    roles_words,
    step_words,
    table_forms,
)
from controller.web.evidence_page import MAY_TAKE
from controller.web.live import ASKS_S, is_known, tag_of
from controller.web.sessions import Signed, page_values, require, sign_ins_of, signed_in
from controller.web.slip_prints import slip_prints_of
from controller.web.source import Source
from controller.wiring import PrinterPlan

WAITING_MAX = 100
"""Awards on the page of what waits, oldest first; more are counted."""
DONE_MAX = 40
MINUTE_US = 60_000_000
_Signed = Annotated[Signed, Depends(signed_in)]
_MaySee = Annotated[Signed, Depends(require(KINDS["slip-given"].by))]
_Id = Annotated[str, Path(max_length=64)]
_Number = Annotated[int, Path(ge=1, le=NUMBER_MAX)]
_STATE_WORDS = {
    award.PENDING: "not verified", award.VERIFIED: "verified, not paid", award.RELEASED: "released, not paid",
    award.PAID: "paid", award.REFUSED: "refused", award.WITHDRAWN: "withdrawn", award.IN_ERROR: "paid in error",
    award.TRAY: "paid by the dealer",
}
_STATE_MARKS = {award.PAID: "good", award.TRAY: "good", award.REFUSED: "stop", award.WITHDRAWN: "stop",
                award.IN_ERROR: "stop"}
_ENVY_WORDS = {award.PENDING: "not paid", award.PAID: "paid", "unclaimed": "not claimed, still due",
               award.TRAY: "paid by the dealer", award.CANCELLED: "not due: the hand was paid in error"}


_STEP_WORDS = {"verify": "verified", "release": "released", "pay": "paid", "paper": "checklist complete",
               "slip": "slip printed", "find-in-error": "found paid in error"}


class AwardSource(Source, Protocol):
    """What these pages need of the daemon besides the pages' ``Source``. All of it is durable."""

    def rows(self, book: str, kind: str) -> Rows:
        """The newest state rows of a kind in a book, by key."""

    async def game_file(self, table: str, game: int) -> GameFile | None:
        """One game of a table of the plan; None when it has had none of that number. Raises LedgerError."""

    async def awards_lately(self) -> AwardsLately:
        """Envy that is owed, and awards that were done lately. Raises LedgerError."""

    async def table_acts(self, table: str) -> Sequence[TableAct]:
        """What was done about a table of the plan, newest first. Raises LedgerError."""

    async def owed_at(self, table: str) -> Sequence[Owed]:
        """What a table of the plan owes, however old. Raises LedgerError."""


class Waits(NamedTuple):
    """One award that waits: its next step, who may take it, and whether that is the person who looks."""

    award: AwardView
    age: str
    step: str
    roles: str
    mine: bool
    why_not: str


class EnvyLine(NamedTuple):
    """Envy of one seat with its forms."""

    due: EnvyDue
    words: str
    pay: Form | None
    leave: Form | None


class AwardCard(NamedTuple):
    """One award as it is shown. ``rows`` add up to what is due; ``meters`` show what became of each meter."""

    file: AwardFile
    words: str
    mark: str
    rows: tuple[tuple[str, str, str], ...]
    meters: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]
    next: Next | None
    envy: tuple[EnvyLine, ...]
    envy_barred: str
    others: tuple[Form, ...]
    printing: Form | None
    at_printers: tuple[Form, ...]


def award_routes(source: AwardSource, templates: Templates) -> APIRouter:
    """``/awards``, ``/awards/{table}/{game}``, its slips, and ``/tables/{table}``; all for signed-in people."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/awards")
    async def awards_page(request: Request, signed: _Signed) -> Response:
        snapshot = source.snapshot()
        tag = tag_of(snapshot.awards, snapshot.envy, snapshot.pending_awards, snapshot.at // MINUTE_US)
        if is_known(request, tag):
            return Response(status_code=204)
        lately = await _ask(source.awards_lately())
        shown = _awards(snapshot, lately, signed.person) | {"tag": tag, "asks_s": ASKS_S}
        return _page(request, source, signed, templates, "awards.html", shown)

    @routes.get("/awards/{table}/{game}")
    async def game_page(request: Request, signed: _Signed, table: _Id, game: _Number) -> HTMLResponse:
        found = await _game(source, table, game)
        return _page(request, source, signed, templates, "game.html", _game_shown(source, found, signed.person))

    @routes.get("/tables/{table}")
    async def table_page(request: Request, signed: _Signed, table: _Id) -> Response:
        snapshot = source.snapshot()
        view = snapshot.tables.get(table)
        if view is None:
            raise missing("table", table, "the floor page")
        signs = [source.sign_shown(sign.id) for sign in source.wiring.signs if sign.table == table]
        tag = tag_of(view, snapshot.devices.get(view.plan.device), signs, snapshot.at // MINUTE_US)
        if is_known(request, tag):
            return Response(status_code=204)
        acts, lately = await _ask(source.table_acts(table)), await _ask(source.awards_lately())
        owed = await _ask(source.owed_at(table)) if view.owed else ()
        shown = _table(source, view, acts, signed.person) | {
            "owed": owed, "gone": _gone(lately, table), "tag": tag, "asks_s": ASKS_S}
        return _page(request, source, signed, templates, "table.html", shown)

    @routes.get("/tables/{table}/game", dependencies=[Depends(signed_in)])
    async def look_for_game(table: _Id, number: Annotated[int, Query(ge=1, le=NUMBER_MAX)]) -> Response:
        return RedirectResponse(f"/awards/{quote(table, safe='')}/{number}", 303)

    _slips(routes, source)
    return routes


def _slips(routes: APIRouter, source: AwardSource) -> None:
    @routes.get("/awards/{table}/{game}/{seat}/{spot}/slip", dependencies=[Depends(signed_in)])
    async def just_printed(table: _Id, game: _Number, act: Annotated[str, Query(max_length=64)]) -> Response:
        """Where printing leads: to the copy that this act has issued, or back to the game where it was refused."""
        found = await _game(source, table, game)
        page = f"/awards/{quote(table, safe='')}/{game}"
        for one in (*found.awards, *found.past):
            for done in one.printed:
                if done.act.id == act:
                    place = f"{one.life.seat}/{quote(one.life.spot, safe='')}"
                    page += f"/{place}/slip.pdf?number={done.number}&copy={done.copy}"
                    return RedirectResponse(page, 303)
        return RedirectResponse(page, 303)

    @routes.get("/awards/{table}/{game}/{seat}/{spot}/slip.pdf")
    async def slip(
        request: Request, signed: _MaySee, table: _Id, game: _Number, seat: _Number, spot: _Id,
        copy: Annotated[int, Query(ge=1, le=NUMBER_MAX)],
        number: Annotated[int, Query(ge=0, le=NUMBER_MAX)] = 0,
    ) -> Response:
        """One copy, once as it was printed, later as a reprint of it; without a number, of the award's own slip."""
        found = await _game(source, table, game)
        one = found.award_of(seat, spot)
        wanted = number or (one.printed[0].number if one is not None and one.printed else 0)
        try:
            digest = payee_of(found, seat, spot, wanted, copy)
            player = await asyncio.to_thread(sign_ins_of(request).vault.payee_of, digest)
            given = await slip_prints_of(request).give(sign_ins_of(request), signed, found, (seat, spot), wanted, copy)
            made = slip_of(found, seat, spot, wanted, copy, player=player, given_before=given)
            at = printed_of(found, seat, spot, wanted, copy).act.at
        except LookupError as wrong:
            told = {"error": str(wrong), "remedy": "print the slip on the page of its game"}
            raise HTTPException(404, told) from wrong
        except LedgerError as wrong:
            told = {"error": "the payee cannot be read now", "remedy": "call the technician: look at people.db"}
            raise HTTPException(503, told) from wrong
        except ValueError as wrong:
            told = {"error": f"the slip cannot be made: {wrong}", "remedy": "call accounting"}
            raise HTTPException(422, told) from wrong
        name = f'inline; filename="{made.title}-{copy}.pdf"'
        return Response(slip_pdf(made, at), media_type="application/pdf", headers={"content-disposition": name})


async def _ask(asked: Any) -> Any:
    """What the ledger says; 503 when it cannot be read."""
    try:
        return await asked
    except LedgerError as wrong:
        told = {"error": "the ledger cannot be read now", "remedy": "call the technician; nothing is paid without it"}
        raise HTTPException(503, told) from wrong


async def _game(source: AwardSource, table: str, game: int) -> GameFile:
    if table not in source.snapshot().plan.tables:
        raise missing("table", table, "the floor page")
    found: GameFile | None = await _ask(source.game_file(table, game))
    if found is None:
        told = {"error": f"table {table} has no game {game}", "remedy": f"look at its games: /tables/{table}"}
        raise HTTPException(404, told)
    return found


def _page(
    request: Request, source: AwardSource, signed: Signed, templates: Templates, name: str, shown: dict[str, Any]
) -> HTMLResponse:
    values = page_values(request, signed) | {"now": source.snapshot().at}
    return HTMLResponse(templates.get_template(name).render(**values, **shown))


# ---------------------------------------------------------------------- what waits


def _awards(snapshot: Snapshot, lately: AwardsLately, person: Person) -> dict[str, Any]:
    waiting = [_waits(snapshot, lately, one, person) for one in snapshot.waiting[:WAITING_MAX]]
    pays_envy = person.role in roles_for("envy-paid", snapshot.plan.awards)
    return {
        "mine": [one for one in waiting if one.mine],
        "others": [one for one in waiting if not one.mine],
        "more": snapshot.pending_awards - len(waiting),
        "envy": _envy_by_game(lately.envy)[:WAITING_MAX],
        "pays_envy": pays_envy,
        "done": lately.done[:DONE_MAX],
        "words": _STATE_WORDS,
        "marks": _STATE_MARKS,
    }


def _envy_by_game(owed: Sequence[EnvyOwed]) -> list[tuple[str, int, tuple[int, ...], int]]:
    """Table, game, seats to be paid and the sum of their envy in cents."""
    games: dict[tuple[str, int], list[EnvyOwed]] = {}
    for one in owed:
        games.setdefault((one.table, one.game), []).append(one)
    return [(table, game, tuple(sorted({one.to for one in lines})), sum(one.cents for one in lines))
            for (table, game), lines in games.items()]


def _waits(snapshot: Snapshot, lately: AwardsLately, one: AwardView, person: Person) -> Waits:
    rules = snapshot.plan.awards
    kind = _next_kind(rules, lately, one)
    roles = roles_for(kind, rules)
    why_not = _why_not(one, kind, person) if person.role in roles else ""
    mine = person.role in roles and not why_not
    return Waits(one, age_words(snapshot.at - one.at), step_words(kind), roles_words(roles), mine, why_not)


def _next_kind(rules: AwardRules, lately: AwardsLately, one: AwardView) -> str:
    """The next step as the rules of awards have it; the game's own page decides it from the whole file."""
    if one.state == award.PENDING:
        return "award-verified"
    due = one.total_cents
    doubted = {0, one.seat} & set(lately.doubted.get((one.table, one.game), ()))
    large = rules.release_from_cents is not None and due >= rules.release_from_cents
    if one.state == award.VERIFIED and (large or doubted):
        return "award-released"
    listed = rules.paper_from_cents is not None and due >= rules.paper_from_cents
    if listed and not any(step == "paper" for step, _, _ in one.steps):
        return "paper-done"
    return "award-paid"


def _why_not(one: AwardView, kind: str, person: Person) -> str:
    if kind == "paper-done":
        return ""
    if person.id in one.finders:
        return "you have closed a difference of the count of this game: another person does it"
    before = {"award-released": "verify", "award-paid": "release"}.get(kind, "")
    if person.role.value in dict(one.roles).get(before, ()):
        return "your role has signed the step before: another role does it"
    others = {"award-verified": ("hit",), "award-released": ("hit", "verify")}.get(kind, ("hit", "verify", "release"))
    if any(step in others and person.id in by for step, _, by in one.steps):
        return "you have signed another step: another person does it"
    return ""


def age_words(microseconds: int) -> str:
    """``just now``, ``12 min``, ``2 h 5 min``, ``3 days``."""
    minutes = max(0, microseconds) // MINUTE_US
    if minutes < 1:
        return "just now"
    hours, days = minutes // 60, minutes // 1_440
    if days:
        return f"{days} {'day' if days == 1 else 'days'}"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


# ---------------------------------------------------------------------- one game


def _game_shown(source: AwardSource, game: GameFile, person: Person) -> dict[str, Any]:
    at = source.snapshot().at
    picked = next((one.anchor for one in game.awards if one.acts[:1] == ("award-verified",)
                   and not one.why_not("award-verified", person.id, person.role)), "")
    printers = [printer for printer in source.wiring.printers if printer.serves(game.table)]
    cards = [_card(game, one, person, at, printers, picker=one.anchor == picked) for one in game.awards]
    return {
        "game": game,
        "seats": _seats(game),
        "cards": cards,
        "past": [_card(game, one, person, at, printers, picker=False) for one in game.past],
        "alone": [(seat, label, _envy_lines(game, (seat, spot), due, person, payable=True, alone=True,
                                            barred=_entered(game, (seat, spot), person)))
                  for seat, spot, label, due in game.envy_only],
        "corrections": correction_forms(game, person, at),
        "by_hand": by_hand_words(source.rows(game.book, BY_HAND).values(), game.table, game.round.at),
        "may_take_evidence": person.role in MAY_TAKE,
        "last_day": game.last_day(),
        "with_picker": any(card.next is not None and card.next.form is not None and card.next.form.cards
                           for card in cards),
    }


def _seats(game: GameFile) -> list[tuple[str, list[tuple[int, bool]]]]:
    """Of each spot its seats, and which of them were lit at lock-out."""
    plan = game.round.plan
    return [(spot.id, [(seat, (seat, spot.id) in game.round.wagers) for seat in range(1, plan.seats + 1)])
            for spot in plan.spots]


def _card(
    game: GameFile, one: AwardFile, person: Person, at: int, printers: Sequence[PrinterPlan], *, picker: bool
) -> AwardCard:
    life = one.life
    stands = not life.gone
    meters = tuple([(working.name, tuple(_meter_rows(working))) for working in life.workings.values()])
    barred = one.why_not("envy-paid", person.id) if person.role in roles_for("envy-paid", game.floor.awards) else ""
    waits = stands and life.state not in (award.PENDING, award.TRAY) and any(
        due.state in (award.PENDING, "unclaimed") for due in one.envy)
    return AwardCard(
        one, _STATE_WORDS[life.state], _STATE_MARKS.get(life.state, "pending"), tuple(_due_rows(one)), meters,
        next_step(game, one, person, picker=picker) if stands else None,
        _envy_lines(game, life.place, one.envy, person, payable=waits, barred=barred) if stands else (),
        barred if waits else "",
        tuple(other_forms(game, one, person, at)) if stands else (),
        *_print_forms(game, one, person, printers))


def _print_forms(
    game: GameFile, one: AwardFile, person: Person, printers: Sequence[PrinterPlan]
) -> tuple[Form | None, tuple[Form, ...]]:
    """Printing as PDF, and at each printer of the table; of one that stands no more, what was printed of it."""
    if game.award_of(*one.life.place) is not one and not one.printed:
        return None, ()
    as_pdf = print_form(game, one, person)
    if as_pdf is not None and printers:
        as_pdf = as_pdf._replace(button="Print again as PDF" if one.printed else "Print as PDF")
    at_printers = [print_form(game, one, person, printer) for printer in printers]
    return as_pdf, tuple(form for form in at_printers if form is not None)


def _due_rows(one: AwardFile) -> list[tuple[str, str, str]]:
    """What the award is made of: label, how it comes about, amount."""
    rows = []
    for working in one.life.workings.values():
        share = format_rate(working.share_ppm)
        whole = working.share_ppm == PPM
        how = f"{share} of {exact(working.before)}" + (
            "" if whole else f" = {exact(working.before * working.share_ppm, 14)}")
        if working.shared_by > 1:
            how += f", shared by {working.shared_by} hands, odd cents to the first"
        how += f"; {WHOLE_WORDS if whole else ROUNDING_WORDS[working.rounding]}"
        if working.meter in one.life.apart:
            how += "; paid from the meter as it stood, after another game had taken from it or this one was paid"
        rows.append((working.name, how, format_cents(working.award_cents)))
    rows += [(label, how, format_cents(cents)) for label, how, cents in (
        ("Fixed part", "paid by the house", one.life.fixed_cents),
        ("Wager returned", "paid by the house", one.life.returned_cents)) if cents]
    return rows


def _meter_rows(working: MeterWorking) -> list[tuple[str, str, str]]:
    """From the meter as the hand found it to the meter as the game left it: mark, label, amount; they add up.

    The next-jackpot money stands below it before and after, also where it did not move.
    """
    moved = (
        ("This hand", -working.award_cents * MICROCENTS_PER_CENT),
        ("Other hands of this game", -working.others_cents * MICROCENTS_PER_CENT),
        ("Put in by the house", working.house),
        ("Wagers since the hand", working.since),
        ("From next-jackpot money", working.reserve_before - working.reserve_after),
        ("From above the limit", working.overflow_before - working.overflow_after),
    )
    return [("", "As this hand found it", exact(working.before)),
            *[("+" if amount > 0 else "-", label, exact(abs(amount))) for label, amount in moved if amount],
            ("=", "As the game left it", exact(working.after)),
            ("", "Next-jackpot money before", exact(working.reserve_before)),
            ("", "Next-jackpot money after", exact(working.reserve_after))]


def _entered(game: GameFile, place: Place, person: Person) -> str:
    """Why a person pays no envy for a hand without a wager, or empty."""
    return "entered" if person.id in (*game.round.hands.get(place, ()), *game.round.finders) else ""


def _envy_lines(
    game: GameFile, place: Place, envy: Sequence[EnvyDue], person: Person, *, payable: bool, barred: str,
    alone: bool = False,
) -> tuple[EnvyLine, ...]:
    """Each seat's envy; ``barred``: this person leaves it unclaimed, but does not pay it."""
    lines = []
    for due in envy:
        open_ = payable and due.state in (award.PENDING, "unclaimed")
        pay, leave = envy_forms(game, *place, due, person, alone=alone) if open_ else (None, None)
        words = _ENVY_WORDS[due.state]
        if open_ and due.second:
            words += f"; a second person signs: {due.second}"
        if open_ and person.id in due.barred:
            pay, words = None, f"{words}; another person pays it: {person.id} has corrected its wager"
        if due.act is not None:
            words += f", {due.act.people[0].id}"
        lines.append(EnvyLine(due, words, None if barred else pay, leave))
    return tuple(lines)


# ---------------------------------------------------------------------- one table


def _gone(lately: AwardsLately, table: str) -> dict[int, list[DoneAward]]:
    """The table's awards that were refused or withdrawn lately, by game."""
    found: dict[int, list[DoneAward]] = {}
    for one in lately.done:
        if one.table == table and one.state in (award.REFUSED, award.WITHDRAWN):
            found.setdefault(one.game, []).append(one)
    return found


def _table(source: AwardSource, view: TableView, acts: Sequence[TableAct], person: Person) -> dict[str, Any]:
    snapshot = source.snapshot()
    signs = [(sign.id, shown) for sign in source.wiring.signs if sign.table == view.plan.id
             and (shown := source.sign_shown(sign.id)) is not None]
    device = snapshot.devices.get(view.plan.device)
    why = view.loss or view.held or ("" if device is not None and device.playable else
                                     device.reason if device is not None else "the table unit was never heard")
    silent = device is None or not device.known
    return {
        "view": view,
        "acts": acts,
        "signs": signs,
        "why": "" if view.closed else why,
        "unheard": silent,
        "forms": {form.kind.name: form for form in table_forms(view, person, snapshot.plan.awards, unheard=silent)},
        "paytables": list({spot.paytable.id: spot.paytable for spot in view.plan.spots}.values()),
        "meters": [snapshot.meters[name] for name in dict.fromkeys(
            feed.meter for spot in view.plan.spots for feed in spot.feeds) if name in snapshot.meters],
        "words": _STATE_WORDS,
        "steps": _STEP_WORDS,
    }
