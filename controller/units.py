"""The daemon's side of the table units: what each says goes to the books, what it must be told comes back.

One ``Unit`` for each table. A unit is acknowledged only what is durable; whether it may take the progressive wager is
decided here from its line, its losses and the books, and told with every pulse (design sections 5 and 7).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from controller.board import Board, loss_words
from controller.books import Books, held_of
from controller.floor import Taken
from controller.intake import NotTaken
from controller.metrics import Stats
from controller.plan import TablePlan
from controller.refusal import WORDS, Refusal
from controller.snapshot import DeviceView, LineState, Note
from firmware_bridge.messages import (
    Committed,
    Down,
    Heartbeat,
    Hello,
    Lamp,
    Lamps,
    Layout,
    OpenRound,
    Playable,
    SpotLayout,
    SpotOutcomes,
    Up,
    Wager,
    Welcome,
)
from firmware_bridge.session import OFFLINE, Session

BOOTS_TOLD = 64
LIVE_NOTES = 50
FAULT_LAMPS_S = 10.0
"""How long the lamps of a refused lock-out show the fault."""


@dataclass(slots=True)
class Wire:
    """How a unit is reached: the line's name, and whether it took a message."""

    name: str
    send: Callable[[Down], bool]


class Unit:
    """One table unit. All methods belong to the event loop's thread; times are seconds of the daemon's timer."""

    def __init__(self, table: TablePlan, books: Books, board: Board, timer: Callable[[], float]) -> None:
        self.table, self._books, self._board, self._timer = table, books, board, timer
        self.session = Session(table.device)
        self.wire: Wire | None = None
        self.heard_at = 0
        self.counts = dict.fromkeys(("dropped", "malformed", "reconnects"), 0)
        self._told: Playable | None = None
        self._told_lamps: Lamps | None = None
        self._fault_until = 0.0
        self.view: DeviceView | None = None

    # ------------------------------------------------------------------ what it says

    def heard(self, wire: Wire, message: Up, at: int, *, retained: bool = False) -> None:
        """A message of this unit, on a wire that is its own. ``at``: UTC microseconds, for people."""
        now = self._timer()
        if not retained:
            self.wire, self.heard_at = wire, at
        for asked in self.session.heard(wire.name, message, now, retained=retained):
            wire.send(asked)
        if isinstance(message, Hello):
            if not retained:
                self._hello(message)
        elif isinstance(message, Heartbeat):
            self._heartbeat(message)
        elif not self._books.take(message, self.answer):
            self.counts["dropped"] += 1

    def _hello(self, hello: Hello) -> None:
        device, book = self.table.device, self.table.book
        self._books.hear(device, hello.boot)
        names = dict.fromkeys([*(kept.boot for kept in hello.kept), hello.boot])
        known = {name: boot for name in names if (boot := self._books.boot(device, name)) is not None}
        committed = {name: boot.next - 1 for name, boot in known.items()}
        held = held_of(self._books.floors[book].boots.items(), device)
        for loss in self.session.losses(hello, committed, held):
            self._books.enter(book, lambda floor, at, loss=loss: floor.lose(  # type: ignore[misc]
                device, loss.boot, loss.first_missing, loss.kept_first, at))
        self._books.when_durable(lambda: self._welcome(hello))

    def _welcome(self, hello: Hello) -> None:
        device = self.table.device
        floor = self._books.floor_of(device)
        committed = []
        for name in dict.fromkeys([*(kept.boot for kept in hello.kept), hello.boot]):
            boot = floor.boots.get((device, name))
            if boot is not None and boot.next > 1:
                committed.append(Committed(name, boot.next - 1))
        found = floor.tables[self.table.id].open
        open_round = None if found is None else OpenRound(
            found.boot, found.round, tuple([Wager(seat, spot, cents) for (seat, spot), cents in found.wagers.items()]))
        self.session.outbox.welcome(Welcome(tuple(committed[-BOOTS_TOLD:]), open_round), self._layout())
        self._told = self._told_lamps = None
        self.flush()

    def _layout(self) -> Layout:
        spots = self.table.spots
        return Layout(
            tuple([SpotLayout(spot.id, spot.paytable.wager_cents) for spot in spots]),
            tuple([SpotOutcomes(spot.id, tuple(prize.outcome for prize in spot.paytable.prizes)) for spot in spots]))

    def _heartbeat(self, beat: Heartbeat) -> None:
        device = self.table.device
        floor = self._books.floor_of(device)
        boot = floor.boots.get((device, beat.boot))
        if boot is None:
            self._books.hear(device, beat.boot)
            return
        difference = self.session.totals(beat, boot.next - 1, boot.wagers_total)
        if difference is not None:
            self._books.enter(self.table.book, lambda found, at: found.differ(
                device, difference.boot, difference.device_total, difference.host_total, at))

    # ------------------------------------------------------------------ what it is told

    def answer(self, taken: Taken) -> None:
        """An answer whose entry is durable: acknowledge or refuse. What is held or too far ahead is not answered."""
        box = self.session.outbox
        if taken.result == "posted":
            box.ack(taken.boot, taken.seq)
        elif taken.result == "duplicate":
            if taken.first:
                box.refused(taken.boot, taken.seq, taken.first)
            else:
                box.ack(taken.boot, taken.seq)
        elif taken.result == "refused" and taken.entry is not None:
            box.refused(taken.boot, taken.seq, taken.reason)
            if taken.lock:
                self._fault_until = self._timer() + FAULT_LAMPS_S
        elif taken.result == "fault" and taken.posted_before:
            box.fault(taken.boot, taken.seq, taken.reason)

    def flush(self) -> None:
        """Say what waits, as far as the wire takes it."""
        wire = self.wire
        if wire is not None and len(self.session.outbox):
            self.session.outbox.drain(wire.send)

    def pulse(self, *, always: bool) -> None:
        """Tell whether the table is playable and what the lamps show: on every change, and ``always`` once a second."""
        if self.wire is None or self.session.state(self._timer()) == "offline":
            return
        yes, reason = self.playable()
        told = Playable(yes, reason or "ready")
        if always or told != self._told:
            self.session.outbox.playable(told)
            self._told = told
        lamps = self._lamps(yes)
        if lamps != self._told_lamps:
            self.session.outbox.lamps(lamps)
            self._told_lamps = lamps
        self.flush()

    def playable(self) -> tuple[bool, str]:
        """Whether the progressive wager may be taken at this table, and why not, in the floor's words."""
        now = self._timer()
        if self.wire is None:
            return False, OFFLINE
        yes, why = self.session.playable(now)
        if not yes:
            return yes, why
        loss = self._books.floors[self.table.book].tables[self.table.id].loss
        why = self._books.why_closed(self.table.book) or loss_words(loss)
        return not why, why

    def _lamps(self, playable: bool) -> Lamps:
        """The lamps: locked comes only from a durable lock-out (R-21)."""
        game = self._board.tables[self.table.id].open_game
        bets = {(bet.seat, bet.spot) for bet in self.session.bets}
        if self._timer() < self._fault_until:
            return Lamps(0, tuple([Lamp(seat, spot, "fault") for seat, spot in sorted(bets)]))
        if game is not None:
            locked = {(seat, spot) for seat, spot, _ in game.wagers}
            spots = [Lamp(seat, spot, "locked") for seat, spot in sorted(locked)]
            return Lamps(self._open_number(), tuple(spots))
        spots = [
            Lamp(seat, spot.id, "placed" if (seat, spot.id) in bets else "invite" if playable else "no-bet")
            for seat in range(1, self.table.seats + 1) for spot in self.table.spots
        ]
        return Lamps(0, tuple(spots[:255]))

    def _open_number(self) -> int:
        found = self._books.floors[self.table.book].tables[self.table.id].open
        return found.round if found is not None else 0

    def look(self, frames: dict[str, int]) -> bool:
        """Make the unit's view anew; True when people should see a change. ``frames``: the line's own counts."""
        session, now = self.session, self._timer()
        yes, why = self.playable()
        counts = {
            "frames_good": frames.get("good", 0),
            "frames_damaged": sum(count for name, count in frames.items() if name.startswith("damaged_")),
            "gaps": session.gaps, "duplicates": session.duplicates, **self.counts,
        }
        bets = tuple(sorted((bet.seat, bet.spot) for bet in session.bets))
        made = DeviceView(
            self.table.device, self.table.id, self.wire.name if self.wire else "", LineState(session.state(now)), yes,
            why, session.boot or "", session.firmware, self.heard_at, bets, counts)
        before, self.view = self.view, made
        return before is None or _seen(before) != _seen(made)


def _seen(view: DeviceView) -> tuple[object, ...]:
    return (view.line, view.state, view.playable, view.reason, view.boot, view.firmware, view.bets)


class Strays:
    """Messages that are no entry: counted, and the latest kept for people to see (bounded)."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self.notes: deque[Note] = deque(maxlen=LIVE_NOTES)

    def add(self, stray: NotTaken, table: str, line: str, at: int) -> None:
        """A message that could not be taken, from ``line``."""
        self._stats.refused(stray.reason.value)
        what, remedy = WORDS[Refusal(stray.reason)]
        self.notes.appendleft(Note(
            at, "refusal", stray.reason.value, table, f"On {line}: {what} ({stray.cause})", remedy, None))

    def line(self, cause: str, table: str, what: str, remedy: str, at: int) -> None:
        """A line went or came back."""
        kind = "fault" if remedy else "notice"
        self.notes.appendleft(Note(at, kind, cause, table, what, remedy or "nothing to do", None))
