"""A bad day: simulated tables with faults on their lines, and a house in which everything is taken away now and then.

The devices keep their own numbered log of what they said, so that what the ledger holds can be counted from outside.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom

from running_floor import until

from firmware_bridge import messages
from firmware_bridge.device import Dealer, Faults, Hub
from firmware_bridge.messages import Numbered
from firmware_bridge.simulator import FrameLine, Line, MqttHubLine, parse_target, pty_port, run_hub

PACE_S = 0.05


class LoggingHub(Hub):
    """A hub that writes down every numbered message when it first leaves."""

    def __init__(self, device: str, seats: int, now: float) -> None:
        super().__init__(device, seats, SystemRandom(), now)
        self.said: dict[tuple[str, int], Numbered] = {}
        self.changed: list[tuple[str, int]] = []
        """Numbers that left with two contents: a fault of the device, never to happen here."""

    def tick(self, now: float) -> list[messages.Up]:
        sent = super().tick(now)
        for message in sent:
            if not isinstance(message, messages.Hello | messages.Heartbeat | messages.Heard):
                key = (message.boot, message.seq)
                if self.said.setdefault(key, message) != message:
                    self.changed.append(key)
        return sent


class TillEvening:
    """A dealer who goes on until the evening, and ends the game that is open."""

    def __init__(self, dealer: Dealer) -> None:
        self._dealer = dealer
        self.evening = False

    @property
    def due(self) -> float:
        """When the dealer acts next."""
        return float("inf") if self.evening else self._dealer.due

    def act(self, hub: Hub, now: float) -> None:
        """One step, while it is day."""
        if not self.evening:
            self._dealer.act(hub, now)


@dataclass
class Table:
    """One simulated table: its hub lives on while its line is cut."""

    hub: LoggingHub
    day: TillEvening
    faults: Faults
    line: Callable[[], Line]
    _running: asyncio.Task[None] | None = field(default=None)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def plug(self) -> None:
        """Connect it."""
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(
            run_hub(self.hub, self.day, self.line(), self.faults, self._stop))  # type: ignore[arg-type]

    async def unplug(self) -> None:
        """Pull its cable, or its plug from the network."""
        self._stop.set()
        if self._running is not None:
            await self._running

    async def finished(self, seconds: float) -> None:
        """Evening: no more games, and everything said is acknowledged."""
        self.day.evening = True
        await until(lambda: not self.hub.unacknowledged, seconds, f"{self.hub.device}: all acknowledged")
        await self.unplug()


def table(device: str, rng: Random, faults: str, *, pty: Path | None = None, mqtt: str = "") -> Table:
    """A table on a pty or at ``mqtt://...``, with faults written as for ``meterctl simulate-device``."""
    now = asyncio.get_running_loop().time()
    dealer = Dealer(rng, now, pace=PACE_S, hit_rate=0.15, void_rate=0.1, notice_rate=0.05)
    hub = LoggingHub(device, 6, now)

    def line() -> Line:
        if pty is not None:
            return FrameLine(lambda: pty_port(pty))
        return MqttHubLine(parse_target(mqtt), device, None)

    return Table(hub, TillEvening(dealer), Faults.parse(faults, rng, text=pty is None), line)


async def misfortunes(rng: Random, ends: float, happen: list[Callable[[], object]]) -> None:
    """Let one of ``happen`` come about now and then until the loop's time ``ends``."""
    while asyncio.get_running_loop().time() < ends:
        await asyncio.sleep(rng.uniform(0.1, 2.5))
        done = rng.choice(happen)()
        if asyncio.iscoroutine(done):
            await done


@contextlib.asynccontextmanager
async def ending(*tables: Table):  # type: ignore[no-untyped-def]
    """Leave no simulated table behind."""
    try:
        yield
    finally:
        await asyncio.gather(*(one.unplug() for one in tables), return_exceptions=True)
