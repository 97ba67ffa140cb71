"""What can be said on a line, as plain values: the messages of version 1 (design section 7) and their parts. Pure.

``firmware_bridge.messages`` holds the table of their fields and their written forms, and hands these names on.
"""

from typing import NamedTuple, TypeAlias


class Wager(NamedTuple):
    """A bet at lock-out: which seat and spot, and its worth in cents."""

    seat: int
    spot: str
    cents: int


class Hit(NamedTuple):
    """A winning hand; ``envy_only`` names a seat without a wager of that spot, whose hand pays the others only."""

    seat: int
    spot: str
    outcome: str
    envy_only: bool = False


class Kept(NamedTuple):
    """What a device still keeps of one boot: numbers ``first`` up to but not including ``next``."""

    boot: str
    first: int
    next: int


class Bet(NamedTuple):
    """A chip that lies on a sensor now."""

    seat: int
    spot: str


class Lamp(NamedTuple):
    """What the lamp of one sensor shows."""

    seat: int
    spot: str
    state: str


class Committed(NamedTuple):
    """Everything of ``boot`` up to ``seq`` is durable."""

    boot: str
    seq: int


class OpenRound(NamedTuple):
    """The round that is open at a table, told to a device that starts."""

    boot: str
    round: int
    wagers: tuple[Wager, ...]


class SpotLayout(NamedTuple):
    """A spot of the table and the worth of its wager in cents."""

    spot: str
    cents: int


class SpotOutcomes(NamedTuple):
    """The outcomes a keypad may offer for a spot, best first."""

    spot: str
    outcomes: tuple[str, ...]


class Hello(NamedTuple):
    """A device has started, or was asked who it is."""

    device: str
    boot: str
    firmware: str
    reset_cause: str
    seats: int
    kept: tuple[Kept, ...]


class Heartbeat(NamedTuple):
    """Once a second: the device lives; its counts for comparison; chips lying on sensors now."""

    device: str
    boot: str
    last_seq: int
    wagers_total: int
    bets: tuple[Bet, ...]


class Heard(NamedTuple):
    """A hello or heartbeat of which only device and boot can be read: the boot has been heard, no more."""

    device: str
    boot: str


class Lock(NamedTuple):
    """Lock-out: these wagers are to be accepted."""

    device: str
    boot: str
    seq: int
    round: int
    wagers: tuple[Wager, ...]


class Count(NamedTuple):
    """The dealer's count of chips over all spots."""

    device: str
    boot: str
    seq: int
    round: int
    chips: int
    round_boot: str


class Hits(NamedTuple):
    """Winning hands of one round, settled together."""

    device: str
    boot: str
    seq: int
    round: int
    hits: tuple[Hit, ...]
    round_boot: str


class Close(NamedTuple):
    """The round is finished."""

    device: str
    boot: str
    seq: int
    round: int
    round_boot: str


class Void(NamedTuple):
    """Misdeal: the round counts for nothing."""

    device: str
    boot: str
    seq: int
    round: int
    reason: str
    round_boot: str


class Notice(NamedTuple):
    """Something a supervisor should see; no money."""

    device: str
    boot: str
    seq: int
    kind: str
    round: int | None
    seat: int | None
    spot: str | None


class Malformed(NamedTuple):
    """A numbered message that is wrong after its ``seq``. ``text`` is its whole content, compared as such."""

    device: str
    boot: str
    seq: int
    text: str


class Unreadable(NamedTuple):
    """A message without a readable v, device, boot or seq: it uses up no number and gets no entry."""

    cause: str


class Who(NamedTuple):
    """The host asks a device to say hello."""


class Welcome(NamedTuple):
    """The host's answer to hello: what is durable, and the round that is open."""

    committed: tuple[Committed, ...]
    open_round: OpenRound | None


class Layout(NamedTuple):
    """What the table has: spots and the worth of their wagers, and the outcomes of each."""

    wagers: tuple[SpotLayout, ...]
    outcomes: tuple[SpotOutcomes, ...]


class Ack(NamedTuple):
    """All numbers of ``boot`` up to ``seq`` are durable."""

    boot: str
    seq: int


class Refused(NamedTuple):
    """``seq`` was refused, durably; all up to it are acknowledged."""

    boot: str
    seq: int
    reason: str


class Fault(NamedTuple):
    """``seq`` came again with other content; evidence is kept; all up to it are acknowledged."""

    boot: str
    seq: int
    reason: str


class Lamps(NamedTuple):
    """The state of the sensors' lamps in a round (0 when none is open)."""

    round: int
    spots: tuple[Lamp, ...]


class Playable(NamedTuple):
    """The host's pulse: whether the progressive wager may be taken, and if not, why."""

    yes: bool
    reason: str


Numbered: TypeAlias = Lock | Count | Hits | Close | Void | Notice | Malformed
Up: TypeAlias = Hello | Heartbeat | Heard | Numbered
Down: TypeAlias = Who | Welcome | Layout | Ack | Refused | Fault | Lamps | Playable
