"""A sensor hub as a good device behaves (design section 7), and the dealer who plays on it. Pure: time passed in.

The hub numbers what it says, keeps it until the host has acknowledged it, sends the oldest boot's messages first, and
lets nobody play a progressive wager while the host's pulse is missing. Times are seconds of any steady clock.
"""

import heapq
import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NoReturn

from firmware_bridge import messages

FIRMWARE = "sim-1.0"
IN_FLIGHT_MAX = 16
"""Unacknowledged messages on their way at one time."""
RESEND_S = (1.0, 2.0, 4.0, 8.0)
"""Waits before each repetition; the last one goes on for ever."""
PULSE_S = 3.0
"""Without a ``playable`` for longer than this, no progressive wager (R-88)."""
HEARTBEAT_S = 1.0
KEPT_MAX = 1024
"""Messages the hub's memory holds; when it is full the keypad takes nothing more."""
BOOTS_MAX = 64
LOG_MAX = 256


class KeypadRefusal(Exception):
    """The keypad does not take the dealer's action; the text says why."""


@dataclass(slots=True)
class BootMemory:
    """The unacknowledged messages of one boot; ``next`` is the number its next message has (or would have had)."""

    boot: str
    next: int = 1
    kept: deque[messages.Numbered] = field(default_factory=deque)

    @property
    def first(self) -> int:
        """The first number still kept; equal to ``next`` when none is."""
        return self.kept[0].seq if self.kept else self.next


class Hub:
    """One table's sensor hub. ``rng`` makes the boot ids, so two hubs that share a ledger must not share a seed."""

    def __init__(self, device: str, seats: int, rng: random.Random, now: float) -> None:
        self.device, self.seats, self._rng = device, seats, rng
        self.bets: set[tuple[int, str]] = set()
        """Chips that lie on sensors now."""
        self.log: deque[messages.Ack | messages.Refused | messages.Fault] = deque(maxlen=LOG_MAX)
        """What the host last answered."""
        self.keypad = ""
        """The last cause shown to the dealer."""
        self._older: list[BootMemory] = []
        self._start("power-on", now)

    def _start(self, cause: str, now: float) -> None:
        self.boot, self.reset_cause, self.now = f"b{self._rng.getrandbits(32):08x}", cause, now
        self._memory = BootMemory(self.boot)
        self.spots: dict[str, int] = {}
        self.outcomes: dict[str, tuple[str, ...]] = {}
        self.lamps: dict[tuple[int, str], str] = {}
        self.round: messages.OpenRound | None = None
        self._undo: tuple[int, messages.OpenRound | None] | None = None
        self._rounds = self._wagers_total = 0
        self.welcomed = False
        self._pulse: messages.Playable | None = None
        self._pulse_at = now
        self._in_flight = self._tries = self._hellos = 0
        self._resend_at: float | None = None
        self._hello_at: float | None = now
        self._beat_at = now

    def restart(self, cause: str, now: float, *, lost: bool = False) -> None:
        """Start under a new boot id. Unacknowledged messages are kept, or with ``lost`` gone: a gap in ``kept``."""
        if self._memory.kept:
            self._older.append(self._memory)
        if lost:
            for memory in self._older:
                memory.kept.clear()
        for memory in [one for one in self._older if not one.kept][: max(0, len(self._older) - BOOTS_MAX + 1)]:
            self._older.remove(memory)
        self._start(cause, now)

    # What the hub says.

    def tick(self, now: float) -> list[messages.Up]:
        """The messages to send now, in this order; to be called at ``due`` at the latest and after every action."""
        self.now = now
        said: list[messages.Up] = []
        if self._hello_at is not None and now >= self._hello_at:
            said.append(self._hello())
            # Repeated until the welcome has come: either of the two can be lost on the way.
            self._hello_at = None if self.welcomed else now + RESEND_S[min(self._hellos, 3)]
            self._hellos += 1
        if now >= self._beat_at:
            said.append(self._heartbeat())
            self._beat_at = max(self._beat_at + HEARTBEAT_S, now + HEARTBEAT_S / 2)
        if self.welcomed:
            said += self._numbered(now)
        return said

    @property
    def due(self) -> float:
        """When ``tick`` has something to say if nothing happens before."""
        hello_at, resend_at = self._hello_at, self._resend_at if self.welcomed else None
        return min(at for at in (self._beat_at, hello_at, resend_at) if at is not None)

    @property
    def unacknowledged(self) -> int:
        """How many messages the hub keeps."""
        return sum(len(memory.kept) for memory in self._memories())

    def _memories(self) -> list[BootMemory]:
        return [*self._older, self._memory]

    def _sending(self) -> BootMemory:
        return next((memory for memory in self._older if memory.kept), self._memory)

    def _hello(self) -> messages.Hello:
        memories = [*self._older[: BOOTS_MAX - 1], self._memory]
        kept = tuple(messages.Kept(memory.boot, memory.first, memory.next) for memory in memories)
        return messages.Hello(self.device, self.boot, FIRMWARE, self.reset_cause, self.seats, kept)

    def _heartbeat(self) -> messages.Heartbeat:
        bets = tuple(messages.Bet(seat, spot) for seat, spot in sorted(self.bets)[:messages.LIST_MAX])
        return messages.Heartbeat(self.device, self.boot, self._memory.next - 1, self._wagers_total, bets)

    def _numbered(self, now: float) -> list[messages.Numbered]:
        window = list(self._sending().kept)[:IN_FLIGHT_MAX]
        if self._resend_at is not None and now >= self._resend_at:
            self._in_flight = 0
            self._tries += 1
        fresh = window[self._in_flight :]
        if fresh and self._in_flight == 0:
            self._resend_at = now + RESEND_S[min(self._tries, 3)]
        self._in_flight = len(window)
        return fresh

    # What the hub hears.

    def received(self, message: messages.Down, now: float) -> None:
        """Take one message of the host."""
        self.now = now
        match message:
            case messages.Who():
                self._hello_at = now
            case messages.Welcome():
                self._welcome(message)
            case messages.Layout():
                self.spots = {one.spot: one.cents for one in message.wagers}
                self.outcomes = {one.spot: one.outcomes for one in message.outcomes}
            case messages.Lamps():
                self.lamps = {(lamp.seat, lamp.spot): lamp.state for lamp in message.spots}
            case messages.Playable():
                self._pulse, self._pulse_at = message, now
            case messages.Ack() | messages.Refused() | messages.Fault():
                self.log.append(message)
                if not isinstance(message, messages.Ack):
                    self._refusal(message)
                self._acknowledged(message.boot, message.seq)

    def _welcome(self, message: messages.Welcome) -> None:
        self.welcomed, self._hello_at = True, None
        for boot, seq in message.committed:
            self._acknowledged(boot, seq)
        if self._rounds == 0:
            self.round = message.open_round
            for memory in self._memories():
                for message_kept in memory.kept:
                    self._follow(message_kept)
        self._in_flight, self._tries, self._resend_at = 0, 0, None

    def _follow(self, kept: messages.Numbered) -> None:
        """The host does not know ``kept`` yet: what the table's round will be once it does."""
        match kept:
            case messages.Lock():
                self.round = messages.OpenRound(kept.boot, kept.round, kept.wagers)
            case messages.Close() | messages.Void() if self.round and self.round[:2] == (kept.round_boot, kept.round):
                self.round = None

    def _refusal(self, message: messages.Refused | messages.Fault) -> None:
        self.keypad = message.reason
        # A refused lock opens no round and a refused void closes none.
        if self._undo is not None and (message.boot, message.seq) == (self.boot, self._undo[0]):
            self.round, self._undo = self._undo[1], None

    def _acknowledged(self, boot: str, seq: int) -> None:
        sending = self._sending()
        for memory in self._memories():
            if memory.boot != boot:
                continue
            done = 0
            while memory.kept and memory.kept[0].seq <= seq:
                memory.kept.popleft()
                done += 1
            if memory is not self._memory and seq >= memory.next - 1:
                self._older.remove(memory)
            if done and memory is sending:
                self._in_flight, self._tries = max(0, self._in_flight - done), 0
                self._resend_at = self.now + RESEND_S[0] if self._in_flight else None

    @property
    def playable(self) -> bool:
        """Whether the keypad takes a lock-out now."""
        return not self.not_playable_because

    @property
    def not_playable_because(self) -> str:
        """Why no progressive wager may be taken now; empty when one may."""
        if not self.welcomed:
            return "no welcome from the host yet"
        if self._pulse is None or self.now - self._pulse_at > PULSE_S:
            return "no pulse from the host"
        return "" if self._pulse.yes else self._pulse.reason

    # What the players and the dealer do. Each dealer's action returns the number of its message.

    def bet(self, seat: int, spot: str) -> None:
        """A chip is laid on a sensor."""
        self.bets.add((seat, spot))

    def lift(self, seat: int, spot: str) -> None:
        """A chip is taken off a sensor."""
        self.bets.discard((seat, spot))

    def lock(self, wagers: Iterable[messages.Wager] | None = None, *, force: bool = False) -> int:
        """Lock-out. Without ``wagers``: every chip that lies on a spot of the layout, at that spot's worth."""
        if self.not_playable_because and not force:
            self._refuse(self.not_playable_because)
        if wagers is None:
            lying = [(seat, spot) for seat, spot in sorted(self.bets) if spot in self.spots]
            wagers = [messages.Wager(seat, spot, self.spots[spot]) for seat, spot in lying]
        taken = tuple(wagers)
        if len(taken) > messages.LIST_MAX:
            self._refuse(f"more than {messages.LIST_MAX} wagers")
        seq = self._keep(lambda seq: messages.Lock(self.device, self.boot, seq, self._rounds + 1, taken))
        self._rounds += 1
        self._wagers_total += len(taken)
        self._undo = (seq, self.round)
        self.round = messages.OpenRound(self.boot, self._rounds, taken)
        return seq

    def count(self, chips: int | None = None) -> int:
        """The dealer takes the chips and counts them; without ``chips`` as many as were wagered."""
        boot, number, wagers = self._open()
        chips = len(wagers) if chips is None else chips
        self.bets.clear()
        return self._keep(lambda seq: messages.Count(self.device, self.boot, seq, number, chips, boot))

    def hits(self, hits: Iterable[messages.Hit]) -> int:
        """Winning hands of the open round, settled together."""
        boot, number, _ = self._open()
        listed = tuple(hits)
        return self._keep(lambda seq: messages.Hits(self.device, self.boot, seq, number, listed, boot))

    def close(self) -> int:
        """The round is finished."""
        boot, number, _ = self._open()
        seq = self._keep(lambda seq: messages.Close(self.device, self.boot, seq, number, boot))
        self._finish(None)
        return seq

    def void(self, reason: str) -> int:
        """Misdeal: the open round counts for nothing."""
        boot, number, _ = self._open()
        seq = self._keep(lambda seq: messages.Void(self.device, self.boot, seq, number, reason, boot))
        self._finish((seq, self.round))
        return seq

    def notice(self, kind: str, seat: int | None = None, spot: str | None = None) -> int:
        """Something a supervisor should see (``NOTICE_KINDS``)."""
        own = self.round.round if self.round and self.round.boot == self.boot else None
        return self._keep(lambda seq: messages.Notice(self.device, self.boot, seq, kind, own, seat, spot))

    def _finish(self, undo: tuple[int, messages.OpenRound | None] | None) -> None:
        self.round, self._undo = None, undo
        self.bets.clear()

    def _open(self) -> messages.OpenRound:
        if self.round is None:
            self._refuse("no round is open")
        return self.round

    def _refuse(self, reason: str) -> NoReturn:
        self.keypad = reason
        raise KeypadRefusal(reason)

    def _keep(self, make: Callable[[int], messages.Numbered]) -> int:
        if self.unacknowledged >= KEPT_MAX:
            self._refuse("the hub's memory is full")
        seq = self._memory.next
        self._memory.kept.append(make(seq))
        self._memory.next += 1
        return seq


MISDEALS = ("misdeal", "exposed card", "wrong deck")
IDLE_NOTICES = ("door-open", "door-closed", "sensor-fault", "no-lock-out")


class Dealer:
    """Deals random games on a hub, one step every ``pace`` seconds, from a seeded ``rng``.

    ``bet_rate``: how likely a seat lays a chip on a spot. ``hit_rate``: how likely a wager wins something, far above
    real odds so that there is something to see. ``weights`` (outcome -> weight) shape which; without them each outcome
    is half as likely as the next lower one. ``void_rate`` and ``notice_rate`` count per game.
    """

    def __init__(
        self,
        rng: random.Random,
        now: float,
        *,
        pace: float = 2.0,
        bet_rate: float = 0.7,
        hit_rate: float = 0.05,
        void_rate: float = 0.02,
        notice_rate: float = 0.02,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        self._rng, self.due, self._pace = rng, now, pace
        self._bet_rate, self._hit_rate, self._weights = bet_rate, hit_rate, weights
        self._void_rate, self._notice_rate = void_rate, notice_rate
        self._step: Callable[[Hub], None] = self._bets
        self.games = 0
        """Games begun."""

    def act(self, hub: Hub, now: float) -> None:
        """Take the next step of the game if its time has come; waits while the hub is busy or not playable."""
        if now < self.due:
            return
        self.due = now + self._pace
        if not hub.welcomed or hub.unacknowledged >= IN_FLIGHT_MAX:
            return
        try:
            self._step(hub)
        except KeypadRefusal:
            # The keypad shows the cause (``hub.keypad``); the dealer begins a new game.
            self._step = self._bets

    def _bets(self, hub: Hub) -> None:
        if self._rng.random() < self._notice_rate:
            hub.notice(self._rng.choice(IDLE_NOTICES))
        if not hub.playable:
            return
        for seat in range(1, hub.seats + 1):
            for spot in hub.spots:
                if self._rng.random() < self._bet_rate:
                    hub.bet(seat, spot)
        self._step = self._lock

    def _lock(self, hub: Hub) -> None:
        hub.lock()
        self.games += 1
        self._step = self._count

    def _count(self, hub: Hub) -> None:
        hub.count()
        self._step = self._hands

    def _hands(self, hub: Hub) -> None:
        won = [hit for wager in (hub.round.wagers if hub.round else ()) if (hit := self._hand(hub, wager))]
        # Settled alike however they are sent (design section 4), so sent in either way.
        for hits in [won] if self._rng.random() < 0.5 else [[hit] for hit in won]:
            if hits:
                hub.hits(hits)
        self._step = self._misdeal if not won and self._rng.random() < self._void_rate else self._close

    def _hand(self, hub: Hub, wager: messages.Wager) -> messages.Hit | None:
        outcomes = hub.outcomes.get(wager.spot, ())
        if not outcomes or self._rng.random() >= self._hit_rate:
            return None
        by_place = {outcome: 1 << min(place, 30) for place, outcome in enumerate(outcomes)}
        weights = [(self._weights or by_place).get(outcome, 0) for outcome in outcomes]
        if not any(weights):
            return None
        return messages.Hit(wager.seat, wager.spot, self._rng.choices(outcomes, weights)[0])

    def _close(self, hub: Hub) -> None:
        hub.close()
        self._step = self._bets

    def _misdeal(self, hub: Hub) -> None:
        hub.void(self._rng.choice(MISDEALS))
        self._step = self._bets


HELD_MAX = 256
"""Chunks that faults hold back at one time; more are dropped."""
FAULTS = {
    "drop": "a message is lost, on the way up or down",
    "dup": "a message up comes twice",
    "reorder": "a message up is overtaken by the next ones (held up to 0.3 s)",
    "delay": "a message up is held 0.5 to 5 s",
    "bitflip": "one bit of a message up is turned",
    "truncate": "a message up is cut short",
    "noise": "random bytes come before a message up",
    "reboot": "per second: the hub restarts and keeps its messages",
    "reboot-loss": "per second: the hub restarts and loses them",
    "silence": "per second: nothing goes either way for 1 to 6 s",
}


class SimulationError(ValueError):
    """A target, a list of faults or a script that cannot be used; the text says where and what to do."""


class Faults:
    """What goes wrong on the line, from a seeded ``rng``. ``rates``: probability of each of ``FAULTS``, 0 to 1."""

    def __init__(self, rates: Mapping[str, float], rng: random.Random, *, text: bool = False) -> None:
        self._rates, self._rng, self._text = rates, rng, text
        self._held: list[tuple[float, int, bytes]] = []
        self._order = 0
        self._silent_until = self._next_second = float("-inf")
        self.counts: Counter[str] = Counter()
        """How often each fault has happened."""

    @classmethod
    def parse(cls, written: str, rng: random.Random, *, text: bool = False) -> "Faults":
        """From ``drop=0.05,dup=0.02``; empty for none. ``text``: the messages are JSON, not frames with a CRC."""
        rates: dict[str, float] = {}
        for part in filter(None, (one.strip() for one in written.split(","))):
            name, _, number = part.partition("=")
            if name not in FAULTS:
                near = get_close_matches(name, FAULTS, 1)
                hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(FAULTS)
                raise SimulationError(f"faults: unknown fault {name!r}; {hint}")
            if not re.fullmatch(r"0?\.\d+|[01](\.0*)?", number):
                raise SimulationError(f"faults: {name}={number}: write a probability from 0 to 1, such as {name}=0.05")
            rates[name] = float(number)
        return cls(rates, rng, text=text)

    def _strikes(self, name: str) -> bool:
        struck = self._rng.random() < self._rates.get(name, 0.0)
        self.counts[name] += struck
        return struck

    def up(self, chunk: bytes, now: float) -> None:
        """A message sets out; ``arrived`` gives what becomes of it."""
        if now < self._silent_until or self._strikes("drop"):
            return
        for copy in [chunk] * (1 + self._strikes("dup")):
            at = now + self._strikes("reorder") * self._rng.uniform(0.0, 0.3)
            at += self._strikes("delay") * self._rng.uniform(0.5, 5.0)
            if self._strikes("noise"):
                self._hold(self._rng.randbytes(self._rng.randint(1, 32)), at)
            self._hold(self._damaged(copy), at)

    def _damaged(self, chunk: bytes) -> bytes:
        if self._strikes("bitflip"):
            place = self._rng.randrange(len(chunk))
            # JSON has no CRC of its own: only its top bit is turned, so that it can never read as another message.
            bit = 7 if self._text else self._rng.randrange(8)
            chunk = chunk[:place] + bytes((chunk[place] ^ 1 << bit,)) + chunk[place + 1 :]
        if self._strikes("truncate"):
            chunk = chunk[: self._rng.randrange(len(chunk))]
        return chunk

    def _hold(self, chunk: bytes, at: float) -> None:
        if chunk and len(self._held) < HELD_MAX:
            self._order += 1
            heapq.heappush(self._held, (at, self._order, chunk))

    def arrived(self, now: float) -> list[bytes]:
        """What goes on the line now."""
        chunks = []
        while self._held and self._held[0][0] <= now:
            chunks.append(heapq.heappop(self._held)[2])
        return chunks

    @property
    def due(self) -> float:
        """When something held back is to go on the line."""
        return self._held[0][0] if self._held else float("inf")

    def hears(self, now: float) -> bool:
        """Whether a message of the host arrives."""
        return now >= self._silent_until and not self._strikes("drop")

    def every_second(self, hub: Hub, now: float) -> None:
        """Restarts and silences; call it as often as you like."""
        if now < self._next_second:
            return
        self._next_second = now + 1.0
        if self._strikes("reboot"):
            hub.restart("watchdog", now)
        if self._strikes("reboot-loss"):
            hub.restart("brown-out", now, lost=True)
        if self._strikes("silence"):
            self._silent_until = now + self._rng.uniform(1.0, 6.0)
