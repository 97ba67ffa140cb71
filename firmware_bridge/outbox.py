"""What the host must still tell one device. Pure, and bounded in every part.

Nothing here is the only copy: a device that misses an answer sends its message again and gets the same answer. So an
answer may be lost, but an acknowledgement must never overtake the refusal that it covers.
"""

from collections.abc import Callable
from typing import Final

from firmware_bridge.messages import Ack, Down, Fault, Lamps, Layout, Playable, Refused, Welcome, Who

ANSWERS_MAX: Final = 64
"""Refusals and faults waiting; a device has at most 16 messages in flight (design section 7)."""
BOOTS_MAX: Final = 64
"""Boots with an acknowledgement waiting."""


class Outbox:
    """Messages for one device, merged while they wait. ``dropped`` counts refusals that found no room."""

    def __init__(self) -> None:
        self.dropped = 0
        self._who: Who | None = None
        self._welcome: Welcome | None = None
        self._layout: Layout | None = None
        self._answers: dict[tuple[str, int], Refused | Fault] = {}
        self._acks: dict[str, Ack] = {}
        self._lamps: Lamps | None = None
        self._playable: Playable | None = None
        self._held_back: dict[str, int] = {}

    def __len__(self) -> int:
        """Messages waiting."""
        single = (self._who, self._welcome, self._layout, self._lamps, self._playable)
        return len(self._answers) + len(self._acks) + sum(one is not None for one in single)

    def who(self) -> None:
        """Ask for a hello."""
        self._who = Who()

    def welcome(self, welcome: Welcome, layout: Layout | None = None) -> None:
        """Answer a hello; the newest welcome and layout stand."""
        self._welcome = welcome
        self._layout = layout or self._layout

    def ack(self, boot: str, seq: int) -> None:
        """Everything of ``boot`` up to ``seq`` is durable; the highest stands."""
        limit = self._held_back.get(boot)
        if limit is not None and seq >= limit:
            return
        waiting = self._acks.pop(boot, None)
        self._acks[boot] = waiting if waiting is not None and waiting.seq > seq else Ack(boot, seq)
        if len(self._acks) > BOOTS_MAX:
            del self._acks[next(iter(self._acks))]

    def refused(self, boot: str, seq: int, reason: str) -> None:
        """``seq`` was refused, durably."""
        self._answer(Refused(boot, seq, reason))

    def fault(self, boot: str, seq: int, reason: str) -> None:
        """``seq`` came again with other content, and the evidence is durable."""
        self._answer(Fault(boot, seq, reason))

    def lamps(self, lamps: Lamps) -> None:
        """What the sensors' lamps show now; replaces older lamps."""
        self._lamps = lamps

    def playable(self, playable: Playable) -> None:
        """The host's pulse; replaces an older one."""
        self._playable = playable

    def clear(self) -> None:
        """Forget everything: the line is gone, and the device will ask again."""
        for box in (self._answers, self._acks, self._held_back):
            box.clear()
        self._who = self._welcome = self._layout = self._lamps = self._playable = None

    def drain(self, send: Callable[[Down], bool]) -> bool:
        """Give the messages to ``send`` in the order to be said, until it returns False; True when all are gone.

        A message that ``send`` did not take stays, and may still merge with newer ones.
        """
        for message in self._in_order():
            if not send(message):
                return False
            self._said(message)
        self._held_back.clear()
        return True

    def _in_order(self) -> list[Down]:
        # Refusals before acknowledgements: an ack that covers a refused number would end it without its reason.
        single: list[Down | None] = [self._who, self._welcome, self._layout]
        answers = sorted(self._answers.values(), key=lambda answer: answer.seq)
        waiting = [*single, *answers, *self._acks.values(), self._lamps, self._playable]
        return [message for message in waiting if message is not None]

    def _said(self, message: Down) -> None:
        match message:
            case Refused() | Fault():
                del self._answers[message.boot, message.seq]
            case Ack():
                del self._acks[message.boot]
            case Who():
                self._who = None
            case Welcome():
                self._welcome = None
            case Layout():
                self._layout = None
            case Lamps():
                self._lamps = None
            case Playable():
                self._playable = None

    def _answer(self, answer: Refused | Fault) -> None:
        key = (answer.boot, answer.seq)
        limit = self._held_back.get(answer.boot)
        full = key not in self._answers and len(self._answers) >= ANSWERS_MAX
        if full or (limit is not None and limit <= answer.seq):
            # Not said, so not acknowledged either, nor anything after it: the device sends it again.
            self.dropped += 1
            self._held_back[answer.boot] = min(answer.seq, limit or answer.seq)
            waiting = self._acks.get(answer.boot)
            if waiting is not None and waiting.seq >= answer.seq:
                del self._acks[answer.boot]
            return
        self._answers[key] = answer
