"""The awards of one game as its entries tell them: how each came out of its meters, and what was done about it. Pure.

The working is added up again from what the entries say of each settlement, hand by hand in the order of paying, so that
a page and a slip show what a stranger can check (R-57, MO-10). Nothing here is taken from derived state.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from controller import award
from controller.floor_state import Round, coming_from
from controller.journal import Entry
from controller.meter import Amounts, settle
from controller.money import MICROCENTS_PER_CENT, PPM
from controller.people import Person, person_from
from controller.plan import MeterPlan, Order, TiePolicy
from controller.slip import MeterWorking

STEP_OF: Mapping[str, str] = {
    "award-verified": "verify", "award-released": "release", "award-paid": "pay", "award-refused": "refuse",
    "paid-in-error": "find-in-error", "hit-changed": "withdraw", "hit-withdrawn": "withdraw", "paper-done": "paper",
    "slip-printed": "slip",
}
"""By kind of act: the step of an award's life that it is; the last two move it nowhere."""

_ENDS = frozenset(("hit-changed", "hit-withdrawn", "award-refused"))

Place = tuple[int, str]


class ActDone(NamedTuple):
    """One thing that people did, as its entry keeps it; ``people`` in the order of signing."""

    entry: int
    at: int
    kind: str
    id: str
    people: tuple[Person, ...]
    fields: Mapping[str, Any]
    told: Mapping[str, Any]
    token: str = ""
    """The API token by which it came, or empty."""


@dataclass(slots=True)
class Life:
    """One award, from the entry that made it to the one that took it away (``gone``; 0: it stands)."""

    seat: int
    spot: str
    outcome: str
    entry: int
    at: int
    state: str
    entered_by: tuple[Person, ...]
    """Who entered the hand; empty for the table's own keypad."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """Cents by part of the paytable, as the latest entry tells them."""
    fixed_cents: int = 0
    returned_cents: int = 0
    workings: dict[str, MeterWorking] = field(default_factory=dict)
    acts: list[ActDone] = field(default_factory=list)
    envy: dict[int, ActDone] = field(default_factory=dict)
    """Of one that is gone: the last act about each seat's envy."""
    apart: set[str] = field(default_factory=set)
    """Meters that paid it as they stood, not with the rest of its game: another game had taken in between."""
    gone: int = 0

    @property
    def place(self) -> Place:
        """Seat and spot."""
        return self.seat, self.spot

    @property
    def due_cents(self) -> int:
        """What the player is due, without envy."""
        return sum(self.parts.values()) + self.fixed_cents + self.returned_cents


class Lives:
    """Every award of a game, those that stand no more too, told entry by entry in their order."""

    def __init__(self, found: Round, meters: Mapping[str, MeterPlan], entries: Iterable[Entry]) -> None:
        """``meters`` as at the lock-out; ``entries`` of this game, oldest first, others are passed over."""
        self._round, self._meters = found, meters
        self._standing: dict[Place, Life] = {}
        self._house: dict[str, int] = {}
        self.past: list[Life] = []
        self.envy: dict[tuple[int, str, int], ActDone] = {}
        """The last act about each envy amount: hand's seat and spot, and the seat that is due it."""
        for entry in entries:
            if (entry.table, entry.game) == (found.plan.id, found.game):
                self._take(entry, json.loads(entry.body))

    @property
    def standing(self) -> list[Life]:
        """The awards that stand, in the order of paying."""
        rank = self._round.plan.pay_rank
        return sorted(self._standing.values(), key=lambda life: rank[life.place])

    def envy_of(self, place: Place) -> dict[int, ActDone]:
        """By seat that is due it: the last act about the envy of the hand that stands at a place."""
        return {line[2]: act for line, act in self.envy.items() if line[:2] == place}

    def _take(self, entry: Entry, body: Mapping[str, Any]) -> None:
        act = act_of(entry, body)
        if act is not None and "seat" in act.fields and act.kind != "count-closed":
            self._act(act)
        told = body if act is None else act.told
        if "awards" in told:
            self._stand(entry, act, told)

    def _act(self, act: ActDone) -> None:
        place = (act.fields["seat"], act.fields.get("spot", ""))
        if act.kind in ("envy-paid", "envy-unclaimed"):
            self.envy[*place, act.fields["to"]] = act
        life = self._standing.get(place) or next((one for one in reversed(self.past) if one.place == place), None)
        if act.kind in _ENDS or _instead(act):  # what another hand of the same seat earns the others is dealt with anew
            lines = {line[2]: self.envy.pop(line) for line in list(self.envy) if line[:2] == place}
            if life is not None and not life.gone:
                life.envy = lines
        if life is not None and act.kind in STEP_OF:
            life.acts.append(act)
            life.state = award.STEPS[life.state].get(STEP_OF[act.kind], life.state)

    def _stand(self, entry: Entry, act: ActDone | None, told: Mapping[str, Any]) -> None:
        now = {(one["seat"], one["spot"]): one for one in told["awards"]}
        for place, life in list(self._standing.items()):
            true_hand = act is not None and _instead(act) and place == (act.fields["seat"], act.fields["spot"])
            if place not in now or now[place]["outcome"] != life.outcome or true_hand:
                life.gone = entry.number
                self.past.append(self._standing.pop(place))
        new = [place for place in now if place not in self._standing]
        tray = told.get("tray", ())
        for place in new:
            state = award.TRAY if list(place) in tray else award.PENDING
            people = () if act is None else act.people
            self._standing[place] = Life(*place, now[place]["outcome"], entry.number, entry.at, state, people)
        for place, one in now.items():
            life = self._standing[place]
            life.parts, life.fixed_cents, life.returned_cents = one["meters"], one["fixed"], one["returned"]
        for meter, settled in told.get("settled", {}).items():
            claimed = new if settled["apart"] else list(now)
            self._work(self._meters[meter], settled, [self._standing[place] for place in claimed])

    def _work(self, meter: MeterPlan, settled: Mapping[str, Any], lives: Sequence[Life]) -> None:
        """The working of each hand that one settlement of a meter paid."""
        house = settled["house"]
        if not settled["apart"]:
            house = self._house[meter.id] = self._house.get(meter.id, 0) + house
        if "coming" in settled:  # a reset by keys that waited for it, or have come into force since the lock-out
            meter = replace(meter, **coming_from(settled["coming"])._asdict())
        claims = [(life, *taken) for life in lives if (taken := self._part(life, meter.id)) is not None]
        to = Amounts(*settled["to"])
        paid = [life.parts[part] for life, part, _ in claims]
        found = found_by(meter, Amounts(*settled["from"]), [share for _, _, share in claims], paid)
        for (life, part, share), one in zip(claims, found, strict=True):
            cents = life.parts[part]
            if settled["apart"]:
                life.apart.add(meter.id)
            life.workings[meter.id] = MeterWorking(
                meter.id, meter.name, meter.seed_cents, share, meter.rounding, one.meter.display, cents, to.display,
                one.meter.reserve, to.reserve, one.meter.overflow, to.overflow, house - one.house,
                0 if settled["apart"] else sum(settled["since"]), one.left_cents - cents, one.shared_by)

    def _part(self, life: Life, meter: str) -> tuple[str, int] | None:
        spot = self._round.plan.spot[life.spot]
        return next(((part, share) for part, share in spot.prizes[life.outcome].shares
                     if spot.meter_of[part] == meter), None)


def _instead(act: ActDone) -> bool:
    """Whether a hand was added in the place of one that was paid in error."""
    return bool(act.told.get("instead"))


def act_of(entry: Entry, body: Mapping[str, Any]) -> ActDone | None:
    """What people did, from its entry; None for what a table unit said."""
    if "by" not in body:
        return None
    people = tuple([person_from(body[name]) for name in ("by", "second", "third") if body.get(name) is not None])
    return ActDone(entry.number, entry.at, entry.kind, entry.boot or "", people, body["fields"], body.get("told", {}),
                   body.get("token", ""))


class FoundBy(NamedTuple):
    """The meter as one hand found it; what the house had put in before, and cents that were still to be taken."""

    meter: Amounts
    house: int
    left_cents: int
    shared_by: int


def found_by(plan: MeterPlan, start: Amounts, shares: Sequence[int], paid: Sequence[int]) -> list[FoundBy]:
    """How each hand found the meter in one settlement: shares in ppm and cents paid, in the order of paying (R-54)."""
    found: dict[int, FoundBy] = {}
    meter, house, left = start, 0, sum(paid)
    for turn in _turns(plan, shares):
        found.update(dict.fromkeys(turn, FoundBy(meter, house, left, len(turn))))
        cents = sum(paid[claim] for claim in turn)
        left -= cents
        if shares[turn[0]] < PPM:
            meter = meter._replace(display=meter.display - cents * MICROCENTS_PER_CENT)
        else:
            reset = settle(plan, meter, [PPM] * len(turn))
            meter, house = reset.after, house + reset.house
    return [found[claim] for claim in range(len(shares))]


def _turns(plan: MeterPlan, shares: Sequence[int]) -> list[list[int]]:
    """The hands that are paid together, in the order of the meter's policies (design section 4)."""
    every = range(len(shares))
    tops = [claim for claim in every if shares[claim] >= PPM]
    if plan.order is Order.PARTIALS_FIRST:
        every_in_turn = [claim for claim in every if shares[claim] < PPM] + tops
    else:
        every_in_turn = list(every)
    if plan.tie_policy is not TiePolicy.SPLIT:
        return [[claim] for claim in every_in_turn]
    return [tops if claim in tops else [claim] for claim in every_in_turn if claim not in tops[1:]]
