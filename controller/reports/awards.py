"""Awards as they come to stand and cease to: each entry's difference to what stood before it. Pure.

An entry tells all awards of its game as they then stand. What stood before is kept, or read again from the game's own
lock-out on; so a range that begins within a game, or a correction days later, counts the difference and nothing twice.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controller.journal import Entry
from controller.plan import TablePlan
from controller.reports.games import CORRECTED, game_of
from controller.reports.reading import Reading, body_of

HIT_KINDS = frozenset(("hits", "hit-added", "hit-changed", "hit-withdrawn", "award-refused"))
"""Entries that change which hands of a game stand."""
_CHANGING = HIT_KINDS | CORRECTED.keys()
GAMES_KEPT = 4_096
ENVY_WAGER_CENTS = 500
"""A wager that qualifies for envy (58 Pa. Code section 688a.1: five dollars or more)."""


class Hand(NamedTuple):
    """One standing hand. Money in cents; ``won`` is by meter, ``envy`` what the other seats are due for it."""

    table: str
    game: int
    seat: int
    spot: str
    paytable: str
    outcome: str
    label: str
    won: tuple[tuple[str, int], ...]
    shares: tuple[tuple[str, int], ...]
    """Its share of each meter in ppm, by the paytable of the lock-out."""
    fixed: int
    returned: int
    envy: int
    envy_only: bool
    tray: bool
    """The dealer pays it, and its envy, with the hand (``tray_limit`` of the table)."""

    @property
    def from_meters(self) -> int:
        """Cents won from all meters."""
        return sum(cents for _, cents in self.won)

    @property
    def due(self) -> int:
        """What the player is due: shares, fixed part and returned wager."""
        return self.from_meters + self.fixed + self.returned


class Change(NamedTuple):
    """One hand of one entry: as it stood before (None: it did not) and as it stands after."""

    before: Hand | None
    after: Hand | None

    @property
    def hand(self) -> Hand:
        """The hand it is about."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a change of nothing")
        return found

    @property
    def words(self) -> str:
        """What has become of it."""
        if self.before is None:
            return "won"
        return "stands no more" if self.after is None else "changed"


@dataclass(slots=True)
class _Hands:
    """The hands of one game, under the table as it was at the lock-out."""

    plan: TablePlan
    wagers: dict[tuple[int, str], int]
    touched: set[tuple[int, str]] = field(default_factory=set)
    hands: dict[tuple[int, str], Hand] = field(default_factory=dict)


def told_of(entry: Entry) -> Mapping[str, Any]:
    """What an entry tells of awards: its body, or of a person's act what was told."""
    body = body_of(entry)
    told: Mapping[str, Any] = body.get("told", body)
    return told


def instead_of(entry: Entry) -> tuple[int, str] | None:
    """Seat and spot at which an entry adds the true hand in the place of one that was paid in error, or None."""
    if entry.kind != "hit-added" or not told_of(entry).get("instead"):
        return None
    fields = body_of(entry)["fields"]
    return fields["seat"], fields["spot"]


class Awards:
    """Follows the hands of one book's games through a stream of entries."""

    def __init__(self, reading: Reading, book: str) -> None:
        self._reading, self._book = reading, book
        self._games: OrderedDict[tuple[str, int], _Hands | Entry] = OrderedDict()
        """By game: its hands, or as long as nobody has asked for them its lock-out."""

    def take(self, entry: Entry) -> list[Change]:
        """One entry of the range; the hands that it changed."""
        if entry.table is None or entry.game is None:
            return []
        if entry.kind == "lock":
            self._keep((entry.table, entry.game), entry)
            return []
        if entry.kind not in _CHANGING:
            return []
        return _changed(self._known(entry), entry)

    def standing(self, entry: Entry, seat: int, spot: str) -> Hand | None:
        """The hand of a seat as it stands when an entry of its game is made; None: it has none."""
        return self._known(entry).hands.get((seat, spot))

    def _fresh(self, lock: Entry) -> _Hands:
        plan = self._reading.plan_at(self._book, lock.number)
        game = game_of(lock, plan)
        return _Hands(plan.tables[game.table], {(seat, spot): cents for seat, spot, cents in game.wagers})

    def _keep(self, key: tuple[str, int], made: _Hands | Entry) -> None:
        if len(self._games) >= GAMES_KEPT and key not in self._games:
            self._games.popitem(last=False)
        self._games[key] = made

    def _known(self, entry: Entry) -> _Hands:
        """The game of an entry as it stood before it."""
        key = (entry.table or "", entry.game or 0)
        known = self._games.get(key)
        if isinstance(known, _Hands):
            return known
        if known is not None:
            made = self._fresh(known)
        else:
            lock = self._reading.lock_of(self._book, *key, entry.number)
            if lock is None:
                raise ValueError(f"entry {entry.number} speaks of {key[0]} game {key[1]}, which was never locked")
            made = self._fresh(lock)
            for earlier in self._reading.seldom(self._book, _CHANGING, lock.number, entry.number - 1):
                if (earlier.table, earlier.game) == key:
                    _changed(made, earlier)
        self._keep(key, made)
        return made


def _changed(known: _Hands, entry: Entry) -> list[Change]:
    """Let an entry change a game's hands; each difference."""
    body = body_of(entry)
    if entry.kind in CORRECTED:
        _correct_wager(known, entry.kind, body["fields"])
        return []
    now = {hand_place(hand): hand for hand in _standing(known, entry, body)}
    before, known.hands = known.hands, now
    place = instead_of(entry)
    if place is not None:
        before.pop(place, None)  # paid in error, and that stays so: the true hand is another one
    places = [*before, *(place for place in now if place not in before)]
    return [Change(before.get(place), now.get(place)) for place in places if before.get(place) != now.get(place)]


def hand_place(hand: Hand) -> tuple[int, str]:
    """Seat and spot of a hand."""
    return hand.seat, hand.spot


def _correct_wager(known: _Hands, kind: str, fields: Mapping[str, Any]) -> None:
    place = (fields["seat"], fields["spot"])
    known.touched.add(place)
    if kind == "wager-added":
        known.wagers[place] = known.plan.spot[place[1]].paytable.wager_cents
    else:
        known.wagers.pop(place, None)


def _standing(known: _Hands, entry: Entry, body: Mapping[str, Any]) -> Iterator[Hand]:
    """All hands of a game after an entry: its awards, and hands without a wager of their own, which are due nothing."""
    told = body.get("told", body)
    for award in told["awards"]:
        yield _award(known, entry, award)
    fields = body.get("fields", {})
    if entry.kind == "hits":
        named = {(hit["seat"], hit["spot"]): hit["outcome"] for hit in body["message"]["hits"] if hit.get("envy_only")}
    else:
        named = {(fields["seat"], fields["spot"]): fields.get("outcome", "")}
    for place, hand in known.hands.items():
        if hand.envy_only and (entry.kind == "hits" or place not in named):
            yield hand
    for (seat, spot), outcome in named.items():
        alone = known.hands.get((seat, spot))
        stood = alone is not None and alone.envy_only
        if entry.kind == "hits":
            if not stood:
                yield _envy_only(known, entry, seat, spot, outcome)
        elif (fields.get("envy_only") and entry.kind == "hit-added") or (stood and entry.kind == "hit-changed"):
            yield _envy_only(known, entry, seat, spot, outcome)


def _award(known: _Hands, entry: Entry, award: Mapping[str, Any]) -> Hand:
    seat, spot, outcome = award["seat"], award["spot"], award["outcome"]
    plan = known.plan.spot[spot]
    prize = plan.prizes[outcome]
    envy = _envy(known, seat, spot, prize.envy_cents)
    before = known.hands.get((seat, spot))
    tray = [seat, spot] in told_of(entry).get("tray", [])
    if before is not None and before.outcome == outcome:
        tray = before.tray
    won = tuple((plan.meter_of[part], cents) for part, cents in award["meters"].items())
    shares = tuple((plan.meter_of[part], share) for part, share in prize.shares)
    return Hand(entry.table or "", entry.game or 0, seat, spot, plan.paytable.id, outcome, prize.label, won, shares,
                award["fixed"], award["returned"], envy, False, tray)


def _envy_only(known: _Hands, entry: Entry, seat: int, spot: str, outcome: str) -> Hand:
    plan = known.plan.spot[spot]
    prize = plan.prizes[outcome]
    envy = _envy(known, seat, spot, prize.envy_cents)
    return Hand(entry.table or "", entry.game or 0, seat, spot, plan.paytable.id, outcome, prize.label, (), (), 0, 0,
                envy, True, False)


def _envy(known: _Hands, seat: int, spot: str, cents: int) -> int:
    """What all other seats are due for one hand."""
    return cents * sum(
        other != seat and at == spot and wager >= ENVY_WAGER_CENTS for (other, at), wager in known.wagers.items())
