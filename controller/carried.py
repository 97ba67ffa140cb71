"""What is open when a gaming day ends or a shift is handed over: awards, envy, counts that differ, alarms. Pure.

A game as it stands now is asked itself. As it stood before an instant it is told by its own entries, if any of them was
made since; so the list of a day that is over is the same whenever it is signed (R-84, R-85).
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controller import award
from controller.alarms import Alarm
from controller.floor_state import Round
from controller.journal import Entry
from controller.rounds import envy_of
from firmware_bridge.messages import Hit

LISTED_MAX = 200
"""Things of one sort that an entry lists; more are only counted, with their cents."""
COUNT_KINDS = ("wager-added", "wager-removed", "count-closed", "void")
"""What else than another count settles a count that differs."""
_HANDS = frozenset(("hits", "hit-added", "hit-changed", "hit-withdrawn", "award-refused"))
"""Entries that tell all awards of their game as they then stood."""
_STATES = {"award-verified": award.VERIFIED, "award-released": award.RELEASED, "award-paid": award.PAID,
           "paid-in-error": award.IN_ERROR}
_LINES = {"envy-paid": award.PAID, "envy-unclaimed": "unclaimed"}

Place = tuple[int, str]


class OpenAward(NamedTuple):
    """An award that is not paid: what the player is due in cents, and of it from each meter."""

    table: str
    game: int
    seat: int
    spot: str
    outcome: str
    state: str
    cents: int
    meters: Mapping[str, int]


class OpenEnvy(NamedTuple):
    """Envy that is not paid: seat and spot of the hand, the seat that is due it; pending or unclaimed."""

    table: str
    game: int
    seat: int
    spot: str
    to: int
    state: str
    cents: int


class OpenCount(NamedTuple):
    """A game whose latest chip count differs from its wagers, and nobody has found why."""

    table: str
    game: int
    chips: int
    wagers: int


class OpenItems(NamedTuple):
    """What some games owe, in the order of table and game."""

    awards: Sequence[OpenAward] = ()
    envy: Sequence[OpenEnvy] = ()


@dataclass(slots=True)
class _Stood:
    """One hand as it stood: won with what, worth how many cents, and what was done about it."""

    outcome: str
    due: int = 0
    shares: Mapping[str, int] = field(default_factory=dict)
    state: str = ""
    """Empty: of a seat without a wager of its own, which is due nothing itself."""
    lines: dict[int, str] = field(default_factory=dict)


def owing(rounds: Iterable[Round]) -> OpenItems:
    """What games owe as they stand now."""
    return _sorted([_items(found, _standing(found)) for found in rounds if found.owed])


def owed_before(
    rounds: Iterable[Round], since: int, end: int, named: Callable[[Collection[int]], Iterable[Entry]]
) -> OpenItems:
    """What games owed before an instant.

    ``since``: the first entry made at it or later; ``named``: entries by their numbers, rising.
    """
    items, changed = [], list[Round]()
    for found in rounds:
        if not found.entries or found.entries[-1] < since:
            items.append(_items(found, _standing(found)))
        elif not _is_later(found, end):
            changed.append(found)
    wanted = {number for found in changed for number in found.entries}
    before = {entry.number: entry for entry in named(wanted) if entry.at < end}
    for found in changed:
        items.append(_items(found, _told([before[number] for number in found.entries if number in before])))
    return _sorted(items)


def _is_later(found: Round, end: int) -> bool:
    """Whether nothing of a game surely was before an instant: it was locked, and each of its hands won, after it."""
    steps = [case.steps[0] for case in found.cases.values()] + [one["steps"][0] for one in found.past]
    return found.at >= end and len(found.cases) == len(found.hits) and all(step["at"] >= end for step in steps)


def _sorted(found: list[OpenItems]) -> OpenItems:
    return OpenItems(sorted((one for items in found for one in items.awards), key=lambda one: one[:4]),
                     sorted((one for items in found for one in items.envy), key=lambda one: one[:5]))


def _items(found: Round, hands: Mapping[Place, _Stood]) -> OpenItems:
    table, game = found.plan.id, found.game
    awards, envy = [], []
    for (seat, spot), hand in hands.items():
        if hand.state in award.OPEN:
            meters: dict[str, int] = {}
            for part, cents in hand.shares.items():
                meter = found.plan.spot[spot].meter_of[part]
                meters[meter] = meters.get(meter, 0) + cents
            awards.append(OpenAward(table, game, seat, spot, hand.outcome, hand.state, hand.due, meters))
        if hand.state in (award.TRAY, award.IN_ERROR):
            continue
        for to, cents in envy_of(found, Hit(seat, spot, hand.outcome)).items():
            state = hand.lines.get(to, award.PENDING)
            if state in (award.PENDING, "unclaimed"):
                envy.append(OpenEnvy(table, game, seat, spot, to, state, cents))
    return OpenItems(awards, envy)


def _standing(found: Round) -> dict[Place, _Stood]:
    made = {}
    for place, standing in found.hits.items():
        case = found.cases.get(place)
        lines = {to: state for (*at, to), state in found.lines.items() if tuple(at) == place}
        due = 0 if standing.hit.envy_only else award.due_cents(found, place)
        made[place] = _Stood(standing.hit.outcome, due, standing.shares, "" if case is None else case.state, lines)
    return made


def _told(entries: Iterable[Entry]) -> dict[Place, _Stood]:
    """The hands of a game after some of its entries, in their order."""
    hands: dict[Place, _Stood] = {}
    for entry in entries:
        body = json.loads(entry.body)
        if entry.kind in _HANDS:
            hands = _after(hands, entry.kind, body)
            continue
        fields = body.get("fields", {})
        hand = hands.get((fields.get("seat"), fields.get("spot")))
        if hand is None:
            continue
        if entry.kind in _STATES:
            hand.state = _STATES[entry.kind]
        elif entry.kind in _LINES:
            hand.lines[fields["to"]] = _LINES[entry.kind]
    return hands


def _after(before: Mapping[Place, _Stood], kind: str, body: Mapping[str, Any]) -> dict[Place, _Stood]:
    """The hands after an entry that tells the awards of its game."""
    told, fields = body.get("told", body), body.get("fields", {})
    tray = {(seat, spot) for seat, spot in told.get("tray", ())}
    anew = (fields["seat"], fields["spot"]) if told.get("instead") else None
    hands = _alone(before, kind, body, fields)
    for one in told["awards"]:
        place: Place = (one["seat"], one["spot"])
        due = sum(one["meters"].values()) + one["fixed"] + one["returned"]
        stood = before.get(place)
        if stood is None or stood.outcome != one["outcome"] or place == anew:
            state = award.TRAY if place in tray else award.PENDING
            hands[place] = _Stood(one["outcome"], due, one["meters"], state)
            continue
        state = award.PENDING if stood.state in award.OPEN and stood.due != due else stood.state
        hands[place] = _Stood(stood.outcome, due, one["meters"], state, stood.lines)
    return hands


def _alone(
    before: Mapping[Place, _Stood], kind: str, body: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[Place, _Stood]:
    """The hands of seats without a wager of their own after an entry: no award tells of them."""
    hands = {place: hand for place, hand in before.items() if not hand.state}
    if kind == "hits":
        for hit in body["message"]["hits"]:
            if hit.get("envy_only"):
                hands.setdefault((hit["seat"], hit["spot"]), _Stood(hit["outcome"]))
        return hands
    place = (fields["seat"], fields["spot"])
    stood = hands.pop(place, None)
    if (kind == "hit-added" and fields.get("envy_only")) or (kind == "hit-changed" and stood is not None):
        hands[place] = _Stood(fields["outcome"])
    return hands


# ---------------------------------------------------------------------- counts


def differing(before: Iterable[OpenCount], entries: Iterable[Entry]) -> list[OpenCount]:
    """The games whose count differs after some entries (counts, and ``COUNT_KINDS``) in the order of the ledger.

    ``before``: those that differed before the first of them.
    """
    found = {(one.table, one.game): one for one in before}
    explained: dict[tuple[str, int], int] = {}
    for entry in entries:
        key = (entry.table or "", entry.game or 0)
        stood = found.pop(key, None)
        body = json.loads(entry.body)
        if entry.kind == "count":
            now = OpenCount(*key, body["message"]["chips"], body.get("accepted", 0))
            if "difference" in body and explained.get(key) != now.chips - now.wagers:
                found[key] = now
        elif entry.kind == "count-closed":
            explained[key] = body["told"]["difference"]
        elif entry.kind != "void" and stood is not None:
            now = stood._replace(wagers=stood.wagers + (1 if entry.kind == "wager-added" else -1))
            if now.chips != now.wagers:
                found[key] = now
    return sorted(found.values())


# ---------------------------------------------------------------------- as an entry has them


def listed(items: OpenItems) -> dict[str, Any]:
    """Awards and envy as an entry lists them."""
    return {"awards": _bounded(items.awards, sum(one.cents for one in items.awards)),
            "envy": _bounded(items.envy, sum(one.cents for one in items.envy))}


def listed_counts(found: Sequence[OpenCount]) -> dict[str, Any]:
    """Counts that differ as an entry lists them."""
    return _bounded(found)


def listed_alarms(alarms: Iterable[Alarm]) -> dict[str, Any]:
    """The alarms that are not over, as an entry lists them."""
    stands = [alarm for alarm in alarms if alarm.stands]
    made = [{"alarm": one.kind, "place": one.place, "since": one.since, "state": one.state.value}
            for one in sorted(stands, key=lambda one: one.key)]
    return {"listed": made[:LISTED_MAX], "more": max(0, len(made) - LISTED_MAX)}


def how_many(one: Mapping[str, Any]) -> int:
    """How many things of one sort an entry tells of, listed or not."""
    return len(one["listed"]) + int(one["more"])


def _bounded(found: Sequence[OpenAward | OpenEnvy | OpenCount], cents: int | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"listed": [one._asdict() for one in found[:LISTED_MAX]],
                            "more": max(0, len(found) - LISTED_MAX)}
    return made if cents is None else made | {"cents": cents}
