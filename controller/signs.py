"""The signs of a running daemon: what each shows; the LED lines and retained topics are told (design section 5).

Pages read ``shown``; everything comes from one pure function of the durable snapshot (``controller.sign``).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

from controller.history import NOWHERE, History
from controller.not_live import alpha_line
from controller.plan import FloorPlan
from controller.sign import Shown, alpha_texts, meter_topics, show
from controller.snapshot import SignHealth, Snapshot
from controller.wiring import SignKind, SignPlan, Wiring
from firmware_bridge.alpha_sign import AlphaLine

TOPIC_EVERY_US = 1_000_000
"""Retained topics are renewed this often: they are valid for three seconds (DI-01)."""


class Signs:
    """All signs. ``publish(meter, payload)`` tells a retained topic; False when the line is down."""

    def __init__(
        self, plan: FloorPlan, wiring: Wiring, clock: Callable[[], int], publish: Callable[[str, bytes], bool],
        history: History = NOWHERE,
    ) -> None:
        self._plans = {sign.id: sign for sign in wiring.signs}
        self._publish, self._history = publish, history
        self.shown: dict[str, Shown] = {}
        self._lines: dict[str, AlphaLine] = {}
        for sign in wiring.signs:
            line = alpha_line(sign, plan, clock)
            if line is not None:
                self._lines[sign.id] = line
        self._topics = [sign for sign in wiring.signs if sign.kind is SignKind.MQTT]
        covered = {meter for sign in self._topics for meter in sign.meters}
        self._topics += [
            SignPlan(f"topic.{meter}"[:64], SignKind.MQTT, None, (meter,), 12, None, True)
            for meter in plan.meters if meter not in covered]
        self._told: dict[tuple[str, str], bytes] = {}
        self._told_at: dict[tuple[str, str], int] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._version = -1

    def start(self) -> None:
        """Begin to drive the LED lines; call on the running loop."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(line.run(), name=f"sign {name}") for name, line in self._lines.items()]

    async def told(self, within_s: float) -> None:
        """Wait until every LED sign has been told its first amounts, or the time is over (DI-01)."""
        ends = asyncio.get_running_loop().time() + within_s
        while not all(line.health.told for line in self._lines.values()):
            if asyncio.get_running_loop().time() > ends:
                return
            await asyncio.sleep(0.02)

    @property
    def moving(self) -> bool:
        """Whether an amount is on its way up."""
        return any(_moves(shown) for shown in self.shown.values())

    def update(self, snapshot: Snapshot, version: int, now: int) -> bool:
        """Decide what every sign shows now and tell those that are driven; True when a page's content changed.

        ``version``: of the snapshot's content; while it stays the same, only what time changes is decided anew.
        """
        changed, same = False, version == self._version
        self._version = version
        for name, sign in self._plans.items():
            before = self.shown.get(name)
            if same and before is not None and before.live and before.win is None and not _moves(before):
                self.shown[name] = replace(before, at=snapshot.at)
                continue
            made = show(sign, snapshot, now, before if sign.kind is SignKind.PAGE else None)
            changed |= before is None or _content(before) != _content(made)
            self.shown[name] = made
            self._history.sign(now, made)
            line = self._lines.get(name)
            if line is not None:
                line.show(*alpha_texts(made))
        for name, line in self._lines.items():
            self._history.sign_line(name, line.health.up, line.health.told)
        for sign in self._topics:
            shown = self.shown.get(sign.id) or show(sign, snapshot, now, None)
            self._tell_topics(sign.id, meter_topics(shown), now)
        return changed

    def _tell_topics(self, sign: str, topics: Mapping[str, bytes], now: int) -> None:
        for meter, payload in topics.items():
            key = (sign, meter)
            what = payload.split(b'"at"', 1)[0] + b'"valid_s"' + payload.split(b'"valid_s"', 1)[-1]
            due = now - self._told_at.get(key, 0) >= TOPIC_EVERY_US
            if (due or what != self._told.get(key)) and self._publish(meter, payload):
                self._told[key], self._told_at[key] = what, now
                self._history.sign_line(f"{sign}/{meter}", True, what.decode())

    def health(self) -> dict[str, SignHealth]:
        """Whether each sign is told what it should show."""
        made = {}
        for name, sign in self._plans.items():
            line = self._lines.get(name)
            if line is not None:
                made[name] = SignHealth(name, sign.kind.value, *line.health)
            else:
                shown = self.shown.get(name)
                told = ", ".join(meter.amount for meter in shown.meters) if shown else ""
                made[name] = SignHealth(name, sign.kind.value, True, told, shown.at if shown else 0)
        return made

    async def end(self) -> None:
        """Tell every LED sign NOT LIVE; bounded in time by each line."""
        await asyncio.gather(*(line.end() for line in self._lines.values()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _moves(shown: Shown) -> bool:
    return any(meter.amount_cents != meter.pace.target_cents for meter in shown.meters)


def _content(shown: Shown) -> tuple[object, ...]:
    amounts = tuple([(meter.amount, meter.capped) for meter in shown.meters])
    return amounts, shown.rows, shown.table, shown.win, shown.live, shown.why
