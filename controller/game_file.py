"""One game as people and slips need it: lit seats, hands, awards with their working, envy, who did what, and what next.

It is made from the game's row and entries in the ledger alone. ``as_of`` gives the same game as it was at one of its
entries, so that a copy of a slip is the same for ever (R-57, R-58).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

from controller import award, rounds
from controller.acts import KINDS, Field, Is
from controller.award_lives import ActDone, Life, Lives, Place, act_of
from controller.config import build
from controller.floor_state import Round, round_from
from controller.journal import Entry
from controller.ledger.entry_hashes import hashes
from controller.ledger.reader import Reader
from controller.money import format_cents
from controller.people import Person, Role
from controller.plan import AwardRules, EnvyHand, FloorPlan, TablePlan
from controller.slip import LitSeat
from firmware_bridge.messages import Hit

PRIVATE = frozenset(("payee",))
"""Fields that no page repeats."""
_DONE = {
    "award-verified": "Verified", "award-released": "Released", "award-paid": "Paid", "award-refused": "Refused",
    "paid-in-error": "Found paid in error", "paper-done": "Checklist complete", "envy-paid": "Envy paid",
    "envy-unclaimed": "Envy not claimed", "slip-printed": "Slip printed", "hit-added": "Hand added",
    "hit-changed": "Hand changed", "hit-withdrawn": "Hand withdrawn", "wager-added": "Wager added",
    "wager-removed": "Wager removed", "count-closed": "Difference of the count closed",
}


_INDEPENDENT: Mapping[str, tuple[str, ...]] = {
    "award-verified": (), "award-released": ("award-verified",), "envy-paid": ("award-verified",),
    "award-paid": ("award-verified", "award-released"),
}
"""Acts of one who has not entered or corrected the hand; and the other acts that this one may not have signed."""


_OTHER_ROLE: Mapping[str, str] = {"award-released": "award-verified", "award-paid": "award-released"}
"""By act: the one before it that another role must have done."""
_ROLE_DID = {"award-verified": "verified", "award-released": "released"}


class Printed(NamedTuple):
    """One print of a slip: its number and copy (1: the first), the entry that issued it and that entry's hash."""

    number: int
    copy: int
    act: ActDone
    hash: bytes


class EnvyDue(NamedTuple):
    """Envy that one hand earns one seat, in cents. ``state``: pending, paid, unclaimed, paid-by-dealer, cancelled."""

    to: int
    cents: int
    state: str
    act: ActDone | None
    """What people did about it last."""
    second: str = ""
    """Why a second person of a role that releases must sign for it, or empty."""
    barred: tuple[str, ...] = ()
    """Who entered or corrected the wager of the seat that is due it: they do not pay it."""

    def paid_by(self, person: str) -> bool:
        """Whether a person has signed that it was paid."""
        return self.state == award.PAID and self.act is not None and person in [one.id for one in self.act.people]


class Told(NamedTuple):
    """One line of a game's history. ``people`` empty: the table itself; ``words``: what was said, label and text.

    ``entry`` is 0 for the lock-out.
    """

    entry: int
    at: int
    title: str
    people: tuple[Person, ...]
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AwardFile:
    """One award. ``release``: why it needs the third release; ``paper``: the checklist is still to be done."""

    life: Life
    label: str
    wager_cents: int
    envy: tuple[EnvyDue, ...]
    printed: tuple[Printed, ...]
    release: str
    paper: bool
    acts: tuple[str, ...]
    """The acts that are possible now, the next step first; printing is always."""
    touched: tuple[str, ...]
    """Who entered or corrected the hand or its wager: they verify, release and pay nothing of it."""
    finders: tuple[str, ...] = ()
    """Who closed a difference of the count of its game: they do none of it either."""

    @property
    def anchor(self) -> str:
        """Its place on a page."""
        return f"award-{self.life.seat}-{self.life.spot}"

    @property
    def cards(self) -> str:
        """The seven cards as they were verified, or empty."""
        return next((str(act.fields["cards"]) for act in reversed(self.life.acts) if "cards" in act.fields), "")

    def why_not(self, kind: str, person: str, role: Role | None = None) -> str:
        """Why a person, or one of that ``role``, may not sign an act of this award, in the floor's words, or empty."""
        if kind not in _INDEPENDENT:
            return ""
        if person in self.touched:
            return f"{person} has entered or corrected this hand or its wager"
        if person in self.finders:
            return f"{person} has closed a difference of the count of this game"
        others = _INDEPENDENT[kind]
        signed = [act for act in self.life.acts if act.kind in others and person in [one.id for one in act.people]]
        if signed:
            return f"{person} has signed another step: {KINDS[signed[0].kind].title}"
        if kind == "award-verified" and any(due.paid_by(person) for due in self.envy):
            return f"{person} has paid envy of this hand"
        before = _OTHER_ROLE.get(kind, "")
        roles = {one.role for act in self._latest(before) for one in act.people}
        return f"a {role.value.replace('-', ' ')} has {_ROLE_DID[before]} it" if role in roles and role else ""

    def _latest(self, kind: str) -> list[ActDone]:
        """The latest act of a kind, if it was done: an award whose amount has changed was verified anew."""
        return [act for act in self.life.acts if act.kind == kind][-1:]


@dataclass(frozen=True, slots=True)
class GameFile:
    """One game. ``floor`` is the present plan, ``locked`` the one at its lock-out; times in UTC microseconds."""

    floor: FloorPlan
    locked: FloorPlan
    book: str
    round: Round
    entries: tuple[Entry, ...]
    hashes: Mapping[int, bytes]
    awards: tuple[AwardFile, ...]
    past: tuple[AwardFile, ...]
    """Awards that were refused or withdrawn, as they stood."""
    envy_only: tuple[tuple[int, str, str, tuple[EnvyDue, ...]], ...]
    """Hands of seats without a wager of their own: seat, spot, hand, and what they earn the others."""
    history: tuple[Told, ...]

    @property
    def table(self) -> str:
        """The table's id."""
        return self.round.plan.id

    @property
    def game(self) -> int:
        """The game number that people see."""
        return self.round.game

    @property
    def lit(self) -> tuple[LitSeat, ...]:
        """The accepted wagers, by seat: the evidence that a seat was in the game."""
        return tuple(sorted(LitSeat(seat, spot, cents) for (seat, spot), cents in self.round.wagers.items()))

    @property
    def difference(self) -> int:
        """Chips counted beyond the accepted wagers; 0 where nobody counted."""
        return 0 if self.round.chips is None else self.round.chips - len(self.round.wagers)

    def award_of(self, seat: int, spot: str) -> AwardFile | None:
        """The award that stands at a place, or else the last one that was refused or withdrawn there."""
        return next((one for one in (*self.awards, *reversed(self.past)) if one.life.place == (seat, spot)), None)

    def as_of(self, entry: int) -> "GameFile":
        """The game as it was when an entry of it was made; lit seats and count as they are known now."""
        return file_of(self.floor, self.locked, self.book, self.round,
                       [one for one in self.entries if one.number <= entry], self.hashes)

    def last_day(self) -> date:
        """The last gaming day on which the game may still be put right."""
        return self.floor.gaming_day(self.round.at) + timedelta(days=self.floor.awards.late_hit_days)

    def wagers_open(self, at: int) -> bool:
        """Whether wagers may still be corrected; which of them, the rules of the act decide."""
        found = self.round
        over = found.chips is None and found.state == "closed" and (
            self.floor.gaming_day(at) != self.floor.gaming_day(found.at))
        return not (found.hits or found.was_hit or found.agreed or over)

    def corrections(self, at: int) -> tuple[str, ...]:
        """The acts that put the whole game right and are possible now; each names its seat."""
        late = self.round.state == "closed" and self.floor.gaming_day(at) > self.last_day()
        if self.round.state == "void" or late:
            return ()
        return tuple(self._corrections(at))

    def _corrections(self, at: int) -> Iterator[str]:
        if self.round.unexplained:
            yield "count-closed"
        if self.open_places():
            yield "hit-added"
        counted = self.round.chips is not None
        if self.wagers_open(at):
            if not counted or self.difference > 0:
                yield "wager-added"
            if self.round.wagers and (not counted or self.difference < 0):
                yield "wager-removed"

    def open_places(self) -> tuple[Place, ...]:
        """The seats and spots at which a hand may still be added: also where one was paid in error."""
        plan = self.round.plan
        hits = [place for place in self.round.hits
                if place not in self.round.cases or self.round.cases[place].state != award.IN_ERROR]
        places = [(seat, spot.id) for seat in range(1, plan.seats + 1) for spot in plan.spots]
        return tuple(place for place in places if place not in hits and (
            place in self.round.wagers or plan.envy_hand is EnvyHand.ANY_PLAYER))


def read_game(reader: Reader, plan: FloorPlan, book: str, table: str, game: int) -> GameFile | None:
    """A game of the ledger; None when the table has had no such game. Raises LedgerError. Blocks: not for a loop."""
    if table not in plan.tables:
        return None
    row = next((row for row in reader.states(book, "table") if row.key == table), None)
    opened = None if row is None else json.loads(row.body)["open"]
    if opened is not None and opened["game"] == game:
        made: dict[str, Any] = opened
        locked = build(reader.config_entry(book, made["plan_entry"])[1]["document"])
    else:
        recalled = reader.recall_game(book, table, game)
        if recalled is None:
            return None
        made, locked = recalled
    found = round_from(made, locked.tables[table])
    entries = reader.entries(book, numbers=found.entries, latest=len(found.entries)) if found.entries else []
    prints = [entry.number for entry in entries if entry.kind == "slip-printed"]
    return file_of(plan, locked, book, found, entries[::-1], hashes(reader, book, prints) if prints else {})


def file_of(
    plan: FloorPlan, locked: FloorPlan, book: str, found: Round, entries: Sequence[Entry], hashed: Mapping[int, bytes]
) -> GameFile:
    """A game's file from its round and its entries, oldest first; ``locked``: the plan at its lock-out."""
    lives = Lives(found, locked.meters, entries)
    envy_only = tuple([
        (hit.seat, hit.spot, label_of(found.plan, hit.spot, hit.outcome),
         _envy(plan.awards, found, hit, lives.envy_of((hit.seat, hit.spot))))
        for hit in [standing.hit for standing in rounds.in_pay_order(found)] if hit.envy_only])
    return GameFile(
        plan, locked, book, found, tuple(entries), hashed,
        tuple([_award_file(plan.awards, found, lives, life, hashed) for life in lives.standing]),
        tuple([_award_file(plan.awards, found, lives, life, hashed) for life in lives.past]),
        envy_only, tuple(_history(found, entries)))


def label_of(plan: TablePlan, spot: str, outcome: str) -> str:
    """A hand's name as the paytable prints it."""
    return plan.spot[spot].prizes[outcome].label


def _award_file(
    rules: AwardRules, found: Round, lives: Lives, life: Life, hashed: Mapping[int, bytes]
) -> AwardFile:
    release = award.release_why(rules, found, life.seat, life.due_cents)
    needed = rules.paper_from_cents is not None and life.due_cents >= rules.paper_from_cents
    paper = needed and not any(act.kind == "paper-done" for act in life.acts)
    printed = tuple([
        Printed(act.told["number"], act.told["copy"], act, hashed.get(act.entry, b""))
        for act in life.acts if act.kind == "slip-printed"])
    case = None if life.gone else found.cases.get(life.place)
    touched = [] if case is None else case.touched
    hit = Hit(life.seat, life.spot, life.outcome)
    envy = _envy(rules, found, hit, life.envy if life.gone else lives.envy_of(life.place), life.state)
    stands = any(due.state == award.PAID for due in envy)
    return AwardFile(
        life, label_of(found.plan, life.spot, life.outcome), found.wagers.get(life.place, 0), envy, printed, release,
        paper, tuple(_possible(life, release, paper, stands)), tuple(dict.fromkeys(touched)), tuple(found.finders))


def _possible(life: Life, release: str, paper: bool, stands: bool) -> Iterator[str]:
    """The acts of an award, the next step first; ``stands``: envy for it is paid, so that the hand stands."""
    steps = award.STEPS[life.state]
    if "verify" in steps:
        yield "award-verified"
    if "release" in steps and release:
        yield "award-released"
    if life.state in award.OPEN and paper:
        yield "paper-done"
    if "pay" in steps and not paper and not ("release" in steps and release):
        yield "award-paid"
    if "refuse" in steps and not stands:
        yield "award-refused"
    if "withdraw" in steps and not stands:
        yield "hit-changed"
        yield "hit-withdrawn"
    if "find-in-error" in steps:
        yield "paid-in-error"


def _envy(
    rules: AwardRules, found: Round, hit: Hit, acts: Mapping[int, ActDone], state: str = ""
) -> tuple[EnvyDue, ...]:
    """What one hand earns each other seat, and what became of it; ``state`` of its award, where it has one."""
    made = []
    for seat, cents in sorted(rounds.envy_of(found, hit).items()):
        act = acts.get(seat)
        done = "" if act is None else "paid" if act.kind == "envy-paid" else "unclaimed"
        if state == award.IN_ERROR and done != award.PAID:
            done = award.CANCELLED
        made.append(EnvyDue(
            seat, cents, award.TRAY if state == award.TRAY else done or award.PENDING, act,
            award.envy_why(rules, found, seat, cents), tuple(found.hands.get((seat, hit.spot), ()))))
    return tuple(made)


# ---------------------------------------------------------------------- history


def _history(found: Round, entries: Sequence[Entry]) -> Iterator[Told]:
    yield Told(0, found.at, "Locked out", (), (("Lit seats", _seats(found)),))
    for entry in entries:
        if (entry.table, entry.game) != (found.plan.id, found.game):
            continue
        body = json.loads(entry.body)
        act = act_of(entry, body)
        if act is not None:
            seat = f", seat {act.fields['seat']}" if "seat" in act.fields else ""
            title = _DONE.get(act.kind, KINDS[act.kind].title) + seat
            yield Told(act.entry, act.at, title, act.people, tuple(_said(found.plan, act)))
        elif entry.kind == "hits":
            hands = tuple([(f"Seat {hit['seat']}", label_of(found.plan, hit["spot"], hit["outcome"]))
                           for hit in body["message"]["hits"]])
            yield Told(entry.number, entry.at, "Hand entered", (), hands)
        elif entry.kind in ("close", "void"):
            title = "Game closed" if entry.kind == "close" else "Misdeal"
            yield Told(entry.number, entry.at, title, (), ())


def _seats(found: Round) -> str:
    return ", ".join(str(seat) for seat in sorted({seat for seat, _ in found.wagers})) or "none"


def _said(plan: TablePlan, act: ActDone) -> Iterator[tuple[str, str]]:
    known = {"table", "game", "seat", *PRIVATE} | ({"spot"} if len(plan.spots) == 1 else set())
    for asked in KINDS[act.kind].fields:
        if asked.name in act.fields and asked.name not in known:
            yield asked.label, _text(plan, act, asked)
    if act.kind == "slip-printed":
        yield "Slip", f"{act.told['number']}, copy {act.told['copy']}"
    if act.token:
        yield "By the token", act.token
    if act.kind == "award-paid" and act.told.get("difference"):
        yield "Differs from the award by", format_cents(act.told["difference"])


def _text(plan: TablePlan, act: ActDone, asked: Field) -> str:
    given = act.fields[asked.name]
    if asked.kind is Is.MONEY:
        return format_cents(given)
    if asked.name == "outcome" and act.fields.get("spot") in plan.spot:
        prizes = plan.spot[act.fields["spot"]].prizes
        return prizes[given].label if given in prizes else str(given)
    return "yes" if given is True else str(given)
