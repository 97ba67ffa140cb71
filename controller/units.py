"""The daemon's side of the table units: what each says goes to the books, what it must be told comes back.

One ``Unit`` for each table. A unit is acknowledged only what is durable; whether it may take the progressive wager is
decided here from its line, its losses and the books, and told with every pulse (design sections 5 and 7).
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from controller import losses
from controller.acts import Act, ActRefused, Why, need_third
from controller.board import Board, held_words, loss_words
from controller.books import Books, held_of
from controller.history import NOWHERE, History
from controller.intake import NotTaken
from controller.layout import layout_of
from controller.metrics import Stats
from controller.plan import TablePlan
from controller.refusal import WORDS, Refusal
from controller.snapshot import DeviceView, LineState, Note
from controller.taken import Taken
from firmware_bridge.messages import (
    Committed,
    Down,
    Heard,
    Heartbeat,
    Hello,
    Lamp,
    Lamps,
    OpenRound,
    Playable,
    Up,
    Wager,
    Welcome,
)
from firmware_bridge.session import NO_HELLO, OFFLINE, Session

BOOTS_TOLD = 64
LIVE_NOTES = 50
LAMPS_MAX = 255
FAULT_LAMPS_S = 10.0
"""How long the lamps of a refused lock-out show the fault."""
HELLO_AGAIN_S = 2.0
"""A hello that met shut books, or whose batch failed, is dealt with again after so long."""


@dataclass(slots=True)
class Wire:
    """How a unit is reached: the line's name, and whether it took a message."""

    name: str
    send: Callable[[Down], bool]


class Unit:
    """One table unit. All methods belong to the event loop's thread; times are seconds of the daemon's timer."""

    def __init__(self, table: TablePlan, books: Books, board: Board, timer: Callable[[], float],
                 history: History = NOWHERE) -> None:
        self.table, self._books, self._board, self._timer = table, books, board, timer
        self._history = history
        self.session = Session(table.device)
        self.wire: Wire | None = None
        self.heard_at = 0
        self.counts = dict.fromkeys(("messages", "dropped", "malformed", "reconnects"), 0)
        """``messages``: good ones that came over MQTT; a serial line counts its own frames."""
        self.answered = False
        """Whether the books have answered something since the last pulse."""
        self.playable_seen = (False, OFFLINE)
        """Whether the table may play, and why not, at the last look."""
        self.heard_since = False
        """Whether it was heard since the last look."""
        self._unanswered: tuple[Hello, float] | None = None
        """A hello not yet answered by open books: its losses may not be in the ledger."""
        self._beat: Heartbeat | None = None
        self._told: Playable | None = None
        self._told_lamps: tuple[object, ...] = ()
        self._fault_until = 0.0
        self._left = False
        self._seen: tuple[object, ...] = ()

    # ------------------------------------------------------------------ what it says

    def heard(self, wire: Wire, message: Up, at: int, *, retained: bool = False) -> None:
        """A message of this unit, on a wire that is its own. ``at``: UTC microseconds, for people."""
        now, self.heard_since = self._timer(), True
        if not retained:
            self.wire, self.heard_at = wire, at
        for asked in self.session.heard(wire.name, message, now, retained=retained):
            wire.send(asked)
        if isinstance(message, Hello):
            if not retained:
                self._history.unit(self.table.id, message)
                self._hello(message)
        elif isinstance(message, Heard):
            self._books.hear(message.device, message.boot)
        elif isinstance(message, Heartbeat):
            self._history.bets(self.table.id, message.bets)
            self._heartbeat(message)
        else:
            self._history.key(self.table.id, message)
            if not self._books.take(message, self.answer):
                self.counts["dropped"] += 1

    def ask(self, wire: Wire) -> None:
        """A line to it is open: ask for the hello that is due."""
        for asked in self.session.ask(self._timer()):
            wire.send(asked)

    def _hello(self, hello: Hello) -> None:
        device, book = self.table.device, self.table.book
        self._unanswered = (hello, self._timer())
        self._books.hear(device, hello.boot)
        names = dict.fromkeys([*(kept.boot for kept in hello.kept), hello.boot])
        known = {name: boot for name in names if (boot := self._books.boot(device, name)) is not None}
        committed = {name: boot.next - 1 for name, boot in known.items()}
        held = held_of(self._books.floors[book].boots.items(), device)
        for loss in self.session.losses(hello, committed, held):
            self._books.enter(book, lambda floor, at, loss=loss: losses.lose(  # type: ignore[misc]
                floor, device, loss.boot, loss.first_missing, loss.kept_first, at))
        # Made now, said when all of it is durable: what comes in between is acknowledged by its own commit (I3).
        welcome = self._welcome_of(committed)
        self._books.when_durable(lambda: self._welcome(hello, welcome))

    def _welcome_of(self, committed: Mapping[str, int]) -> Welcome:
        told = [Committed(name, seq) for name, seq in committed.items() if seq]
        found = self._books.floors[self.table.book].tables[self.table.id].open
        open_round = None if found is None else OpenRound(
            found.boot, found.round, tuple([Wager(seat, spot, cents) for (seat, spot), cents in found.wagers.items()]))
        return Welcome(tuple(told[-BOOTS_TOLD:]), open_round)

    def _welcome(self, hello: Hello, welcome: Welcome) -> None:
        mine = self._unanswered is not None and self._unanswered[0] is hello
        if mine and not self._books.why_closed(self.table.book):
            self._unanswered = None
        self.session.outbox.welcome(welcome, layout_of(self.table))
        self._told, self._told_lamps = None, ()
        self.flush()
        self.pulse(always=True)

    def _hello_again(self, beat: Heartbeat) -> None:
        """A hello that shut books could not take in: without this a loss would never be seen (design section 9)."""
        if self._unanswered is None or self._books.why_closed(self.table.book):
            return
        hello, at = self._unanswered
        if hello.boot == beat.boot and self._timer() - at >= HELLO_AGAIN_S:
            self._hello(hello)

    def _heartbeat(self, beat: Heartbeat) -> None:
        self._hello_again(beat)
        self._beat = beat
        device = self.table.device
        floor = self._books.floor_of(device)
        boot = floor.boots.get((device, beat.boot))
        if boot is None:
            self._books.hear(device, beat.boot)
            return
        if boot.recount and beat.last_seq == boot.next - 1:
            self._books.enter(self.table.book, lambda found, at: losses.recount(
                found, device, beat.boot, beat.wagers_total, at))
            return
        difference = self.session.totals(beat, boot.next - 1, boot.wagers_total)
        if difference is not None:
            self.answered = True
            self._books.enter(self.table.book, lambda found, at: losses.differ(
                found, device, difference.boot, difference.device_total, difference.host_total, at))

    def unsent(self) -> int:
        """How many numbers the unit has told of, kept ones of older boots too, that the books have not taken in."""
        told = {kept.boot: kept.next - 1 for kept in self.session.kept if kept.next > kept.first}
        if self._beat is not None:
            told[self._beat.boot] = max(told.get(self._beat.boot, 0), self._beat.last_seq)
        missing = 0
        for name, last in told.items():
            boot = self._books.boot(self.table.device, name)
            missing += max(0, last + 1 - (boot.next if boot is not None else 1))
        return missing

    @property
    def is_known(self) -> bool:
        """Whether what the unit has sent and kept is known now: it is heard, and has said hello and told its totals."""
        silent = self.wire is None or self.session.playable(self._timer())[1] in (OFFLINE, NO_HELLO)
        return not silent and self._beat is not None

    def check_closing(self, asked: Act) -> None:
        """A table is closed when its unit has sent everything; raises ActRefused.

        Where that cannot be known, the unit not being heard, another person signs as well, and a reason is given:
        lock-outs that it kept are then counted when they come (``table_acts.close_table``).
        """
        table, missing = self.table.id, self.unsent()
        if self.is_known:
            if missing:
                raise ActRefused(Why.NOT_NOW, f"the table unit of {table} has not sent everything yet",
                                 "wait a few seconds and close the table again")
            if asked.third is not None:
                raise ActRefused(Why.NOT_NOW, f"the table unit of {table} is heard, and has sent everything",
                                 "close the table without another person")
            return
        kept = f" and has kept {missing} messages, as far as it told" if missing else ""
        need_third(asked, f"the table unit of {table} is not heard{kept}")
        if not asked.fields.get("note"):
            raise ActRefused(Why.WRONG_FIELD, f"the table unit of {table} is not heard{kept}",
                             "write why the table is closed all the same")

    # ------------------------------------------------------------------ what it is told

    def answer(self, taken: Taken) -> None:
        """An answer whose entry is durable: acknowledge or refuse. What is held or too far ahead is not answered."""
        box = self.session.outbox
        self.answered = True
        if taken.result == "posted":
            box.ack(taken.boot, taken.seq)
            if taken.lock:
                self._fault_until = 0.0
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
        if self._left or self.wire is None or self.session.state(self._timer()) == "offline":
            return
        yes, reason = self.playable()
        told = Playable(yes, reason or "ready")
        if always or told != self._told:
            self.session.outbox.playable(told)
            self._told = told
        # What the lamps depend on: they are laid out anew only when it has changed.
        fault = self._timer() < self._fault_until
        lit = (yes, fault, self.session.bets, self._board.tables[self.table.id].open_game)
        if lit != self._told_lamps and not self._between_games():
            lamps = self._lamps(yes, fault)
            self.session.outbox.lamps(lamps)
            self._history.lamps(self.table.id, lamps)
            self._told_lamps = lit
        self.answered = False
        self.flush()

    def playable(self) -> tuple[bool, str]:
        """Whether the progressive wager may be taken at this table, and why not, in the floor's words."""
        now = self._timer()
        if self.wire is None:
            return False, OFFLINE
        yes, why = self.session.playable(now)
        if not yes:
            return yes, why
        found = self._books.floors[self.table.book].tables[self.table.id]
        why = self._books.why_closed(self.table.book) or loss_words(found.loss) or held_words(found)
        return not why, why

    def _lamps(self, playable: bool, fault: bool) -> Lamps:
        """The lamps: locked comes only from a durable lock-out (R-21); a refused one shows fault where chips lie."""
        game = self._board.tables[self.table.id].open_game
        bets = {(bet.seat, bet.spot) for bet in self.session.bets}
        if game is not None and not fault:
            locked = sorted({(seat, spot) for seat, spot, _ in game.wagers})
            return Lamps(self._open_number(), tuple([Lamp(seat, spot, "locked") for seat, spot in locked]))
        spots = [(seat, spot.id) for seat in range(1, self.table.seats + 1) for spot in self.table.spots]
        if fault:
            return Lamps(0, tuple([Lamp(*spot, "fault") for spot in spots if spot in bets or not bets][:LAMPS_MAX]))
        empty = "invite" if playable else "no-bet"
        return Lamps(0, tuple([Lamp(*spot, "placed" if spot in bets else empty) for spot in spots][:LAMPS_MAX]))

    def _between_games(self) -> bool:
        """Whether the game on the board is no longer the engine's: its lamps stay until the next one is durable."""
        shown = self._board.tables[self.table.id].open_game
        found = self._books.floors[self.table.book].tables[self.table.id].open
        return shown is not None and (found is None or found.game != shown.game)

    def _open_number(self) -> int:
        found = self._books.floors[self.table.book].tables[self.table.id].open
        return found.round if found is not None else 0

    def look(self) -> bool:
        """Whether what people see of this unit has changed since the last look."""
        session, self.heard_since = self.session, False
        line, state = self.wire.name if self.wire else "", session.state(self._timer())
        self.playable_seen = self.playable()
        seen = (line, state, self.playable_seen, session.boot, session.firmware, session.bets)
        before, self._seen = self._seen, seen
        return seen != before

    def goodbye(self) -> None:
        """The daemon ends: the unit need not wait for the pulse to fail, and no later pulse takes this back."""
        self._left = True
        if self.wire is not None:
            self.session.outbox.playable(Playable(False, "the controller is being stopped"))
            self.flush()

    def view(self, frames: Mapping[str, int]) -> DeviceView:
        """The unit as people see it now. ``frames``: its serial line's own counts; empty without one."""
        session = self.session
        yes, why = self.playable()
        counts = {
            "frames_good": frames.get("good", 0) + self.counts["messages"],
            "frames_damaged": sum(count for name, count in frames.items() if name.startswith("damaged_")),
            "gaps": session.gaps, "duplicates": session.duplicates,
            **{name: self.counts[name] for name in ("dropped", "malformed", "reconnects")},
        }
        bets = tuple(sorted([(bet.seat, bet.spot) for bet in session.bets]))
        return DeviceView(
            self.table.device, self.table.id, self.wire.name if self.wire else "",
            LineState(session.state(self._timer())), yes, why, session.boot or "", session.firmware, self.heard_at,
            bets, counts, self.is_known)


class Strays:
    """What is no entry: messages that could not be taken, lines and brokers that went or came back.

    Counted, and the latest kept for people to see. The same thing again renews its note, so that one unit that talks
    nonsense every second does not push out what happened at the other tables.
    """

    def __init__(self, stats: Stats) -> None:
        self._stats = stats
        self._kept: OrderedDict[tuple[str, str, str], tuple[Note, int]] = OrderedDict()

    @property
    def notes(self) -> list[Note]:
        """The latest, newest first, at most ``LIVE_NOTES``."""
        return [
            replace(note, what=f"{note.what} ({count} times)") if count > 1 else note
            for note, count in reversed(self._kept.values())
        ]

    def add(self, stray: NotTaken, table: str, line: str, at: int) -> Note:
        """A message that could not be taken, from ``line``."""
        self._stats.refused(stray.reason.value)
        what, remedy = WORDS[Refusal(stray.reason)]
        who = f"{stray.device}: " if stray.device and stray.device not in stray.cause else ""
        text = f"On {line}: {what} ({who}{stray.cause})"
        return self.keep(Note(at, "refusal", stray.reason.value, table, text, remedy, None))

    def keep(self, note: Note) -> Note:
        """Keep a note for people to see; returns it."""
        key = (note.cause, note.table, note.what)
        _, count = self._kept.pop(key, (note, 0))
        self._kept[key] = (note, count + 1)
        if len(self._kept) > LIVE_NOTES:
            self._kept.popitem(last=False)
        return note
