"""The page of a paytable in use, for everybody: what each row pays and would win now, how rare it is, the house edge.

Odds are computed from the cards, aside, once for each start (``controller.odds_aside``); until then the page says so
and fills in by itself. Limits stand there (D22), the rounding (D30), and how a wager is split (R-28).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from pydantic import BaseModel

from controller.describe import JOKER_SENTENCE, ROUNDING_SENTENCE, TIE_SENTENCE, exact_cents, pays_words
from controller.game.cards import CardError
from controller.game.claim import CARDS_TEXT_MAX, read_cards, verdict_words
from controller.game.classify import NotThisGame
from controller.game.odds import NONE, Odds
from controller.money import MICROCENTS_PER_CENT, format_cents, format_rate, share_of_meter
from controller.paytable import Paytable, Prize
from controller.plan import Environment as FloorKind
from controller.plan import Feed, SpotPlan
from controller.snapshot import MeterView, Snapshot
from controller.web import models
from controller.web.api import missing
from controller.web.floor_page import clock_of
from controller.web.sessions import maybe_signed_in, page_values
from controller.web.source import Source

_WRONG: dict[int | str, dict[str, Any]] = {
    404: {"model": models.Problem, "description": "No such paytable in use."},
    422: {"model": models.Problem, "description": "No hand of this game."},
}


class Classified(BaseModel):
    """What the cards are by a paytable; ``outcome``, ``label`` and ``best`` are null where no row is satisfied."""

    paytable: str
    cards: str
    outcome: str | None
    label: str | None
    best: str | None
    words: str
    """The same for people."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The meters that a paytable's wagers feed at some tables: its link. ``feeds`` has each rate once."""

    meters: tuple[MeterView, ...]
    tables: tuple[str, ...]
    feeds: tuple[Feed, ...]

    @property
    def name(self) -> str:
        """The meters' names in one line."""
        return " and ".join(meter.plan.name for meter in self.meters)

    @property
    def rounding(self) -> tuple[str, ...]:
        """How shares of its meters are rounded, each sentence once (D30)."""
        return tuple(dict.fromkeys(ROUNDING_SENTENCE[meter.plan.rounding] for meter in self.meters))

    @property
    def ties(self) -> tuple[str, ...]:
        """What several winners of 100% in one round get, each sentence once (D22)."""
        return tuple(dict.fromkeys(TIE_SENTENCE[meter.plan.tie_policy] for meter in self.meters))


@dataclass(frozen=True, slots=True)
class RowLine:
    """One row as it is shown; ``now_cents`` has what it would win now for each link, the returned wager apart."""

    label: str
    pays: str
    envy_cents: int
    now_cents: tuple[int, ...]
    count: str
    rarity: str


def paytable_routes(source: Source, templates: Environment) -> APIRouter:
    """``/paytables``, ``/paytables/{id}`` and ``/api/v1/classify``; nobody needs to sign in for them."""
    routes = APIRouter()

    @routes.get("/paytables", include_in_schema=False)
    async def list_page(request: Request) -> HTMLResponse:
        snapshot = source.snapshot()
        used = _in_use(snapshot)
        listed = [(paytable, _links(snapshot, paytable)) for paytable in used.values()]
        return HTMLResponse(templates.get_template("paytables.html").render(
            **await _shell(source, request), **_house(snapshot), listed=listed))

    @routes.get("/paytables/{paytable}", include_in_schema=False)
    async def page(request: Request, paytable: Annotated[str, Path(max_length=64)]) -> HTMLResponse:
        snapshot = source.snapshot()
        found = _named(snapshot, paytable)
        shown = _shown(snapshot, found, source.odds(found.id))
        page = templates.get_template("paytable.html")
        return HTMLResponse(page.render(**await _shell(source, request), **_house(snapshot), **shown))

    @routes.get("/api/v1/classify", responses=_WRONG)
    async def classify(
        paytable: Annotated[str, Query(max_length=64)], cards: Annotated[str, Query(max_length=CARDS_TEXT_MAX)]
    ) -> Classified:
        """What seven cards, written like `As Kd Th 2c Jo`, are by a paytable in use."""
        found = _named(source.snapshot(), paytable)
        try:
            read, verdict = read_cards(found, cards)
        except CardError as wrong:
            remedy = "write seven cards like As Kd Th 2c Jo"
            raise HTTPException(422, {"error": str(wrong), "remedy": remedy}) from wrong
        except NotThisGame as wrong:
            remedy = "this hand is judged by people alone: read it against the posted paytable"
            raise HTTPException(422, {"error": str(wrong), "remedy": remedy}) from wrong
        return Classified(paytable=found.id, cards=read, words=verdict_words(verdict), **verdict._asdict())

    return routes


async def _shell(source: Source, request: Request) -> dict[str, Any]:
    """What the page has of the desk for whoever is signed in; for anybody else only what is not production."""
    signed = await maybe_signed_in(request)
    if signed is not None:
        return page_values(request, signed)
    environment = source.snapshot().plan.environment
    return {"environment": "" if environment is FloorKind.PRODUCTION else environment.value.upper()}


def _house(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "plan": snapshot.plan,
        "version": snapshot.version,
        "time_now": clock_of(snapshot).text(snapshot.at),
        "closed": bool(snapshot.stopped) or not snapshot.ready,
    }


def _in_use(snapshot: Snapshot) -> dict[str, Paytable]:
    return {spot.paytable.id: spot.paytable for table in snapshot.plan.tables.values() for spot in table.spots}


def _named(snapshot: Snapshot, name: str) -> Paytable:
    """The paytable in use of that id, or 404."""
    used = _in_use(snapshot)
    if name not in used:
        raise missing("paytable", name, "/paytables")
    return used[name]


def _links(snapshot: Snapshot, paytable: Paytable) -> list[Linked]:
    """The links of a paytable, in the order of the tables."""
    found: dict[tuple[str, ...], list[tuple[str, SpotPlan]]] = {}
    for table in snapshot.plan.tables.values():
        for spot in (spot for spot in table.spots if spot.paytable.id == paytable.id):
            found.setdefault(tuple(feed.meter for feed in spot.feeds), []).append((table.id, spot))
    return [
        Linked(
            meters=tuple(snapshot.meters[meter] for meter in meters),
            tables=tuple(dict.fromkeys(table for table, _ in spots)),
            feeds=tuple(dict.fromkeys(feed for _, spot in spots for feed in spot.feeds)),
        )
        for meters, spots in found.items()
    ]


def _shown(snapshot: Snapshot, paytable: Paytable, odds: Odds | str | None) -> dict[str, Any]:
    links = _links(snapshot, paytable)
    known = odds if isinstance(odds, Odds) else None
    return {
        "paytable": paytable,
        "joker": JOKER_SENTENCE[paytable.joker],
        "links": links,
        "rows": [_row(paytable, prize, links, known) for prize in paytable.prizes],
        "no_row": _rarity(known, NONE) if known is not None else None,
        "total": f"{known.total:,}" if known is not None else "",
        "figures": list(_figures(known, links)) if known is not None else [],
        "computing": odds is None,
        "unknown": odds if isinstance(odds, str) else "",
        "split": [line for link in links for line in _split(paytable, link)],
        "next_jackpot": any(feed.reserve for link in links for feed in link.feeds),
    }


def _row(paytable: Paytable, prize: Prize, links: list[Linked], odds: Odds | None) -> RowLine:
    count, rarity = _rarity(odds, prize.outcome) if odds is not None else ("", "")
    now = tuple(_now_cents(prize, link) for link in links)
    return RowLine(prize.label, pays_words(paytable, prize), prize.envy_cents, now, count, rarity)


def _now_cents(prize: Prize, link: Linked) -> int:
    """The fixed part and the shares of the meters as they stand."""
    meters = {meter.plan.part: meter for meter in link.meters}
    return prize.fixed_cents + sum(
        share_of_meter(meters[part].display_microcents, share, meters[part].plan.rounding)
        for part, share in prize.shares
    )


def _rarity(odds: Odds, outcome: str) -> tuple[str, str]:
    """The number of hands, and ``1 in 4,817``: one decimal below a hundred, three below ten."""
    count = odds.counts[outcome]
    if not count:
        return "0", "never"
    each = 1 / odds.chance(outcome)
    digits = 0 if each >= 100 else 1 if each >= 10 else 3
    return f"{count:,}", f"1 in {float(each):,.{digits}f}"


def _figures(odds: Odds, links: list[Linked]) -> Iterator[tuple[str, str, str]]:
    """What comes back of a wager: name, figure, and what the house keeps or what is meant."""
    yield "Return with the meter at its seed", _percent(odds.at_seed), f"house edge {_percent(1 - odds.at_seed)}"
    for link in links:
        now = _return_now(odds, link)
        where = f"Return now, {link.name}" if len(links) > 1 else "Return as the meter stands now"
        yield where, _percent(now), f"house edge {_percent(1 - now)}"
    yield "Return in the long run", _percent(odds.returned), f"house edge {_percent(1 - odds.returned)}"
    if odds.break_even_cents is not None:
        yield "Break-even meter", format_cents(round(odds.break_even_cents)), "at this meter the return is 100%"


def _return_now(odds: Odds, link: Linked) -> Fraction:
    stands = {meter.plan.part: Fraction(meter.display_microcents, MICROCENTS_PER_CENT) for meter in link.meters}
    return odds.fixed + sum(meter.taken * stands[meter.part] / meter.wager_cents for meter in odds.meters)


def _percent(part: Fraction) -> str:
    """Two decimals of a percentage, without a float: ``24.25%``, ``-18.55%``."""
    hundredths = round(part * 10_000)
    return f"{'-' if hundredths < 0 else ''}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}%"


def _split(paytable: Paytable, link: Linked) -> Iterator[tuple[str, str, str]]:
    """Where a wager of one link goes (R-28): to whom, cents, rate; the rest stays with the house for fixed prizes."""
    names = {meter.plan.id: meter.plan.name for meter in link.meters}
    for feed in link.feeds:
        yield f"To the meter {names[feed.meter]}", exact_cents(feed.display), format_rate(feed.rate_ppm)
        if feed.reserve:
            rate = format_rate(feed.reserve // paytable.wager_cents)
            yield f"To the next-jackpot money of {names[feed.meter]}", exact_cents(feed.reserve), rate
    by_part = {feed.part: feed.display + feed.reserve for feed in link.feeds}
    rest = paytable.wager_cents * MICROCENTS_PER_CENT - sum(by_part.values())
    if len(by_part) == len(link.feeds) and rest >= 0:
        pays = "fixed prizes and envy" if paytable.has_envy else "fixed prizes"
        yield f"To the house, which pays the {pays}", exact_cents(rest), format_rate(rest // paytable.wager_cents)
