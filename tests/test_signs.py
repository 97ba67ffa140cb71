"""The signs of a running daemon: who is told what, and when (design section 5, DI-01, DI-07)."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from alpha_panel import PtyPanel
from demo_snapshot import busy_snapshot, wiring

from controller.signs import Signs
from controller.snapshot import Snapshot
from controller.wiring import SerialSettings, SignKind, SignPlan, Wiring

SECOND = 1_000_000


class Told:
    """The retained topics as a broker would get them."""

    def __init__(self, snapshot: Snapshot, *more: SignPlan, up: bool = True) -> None:
        self.up = up
        self.topics: list[tuple[str, dict[str, object]]] = []
        self.snapshot = replace(snapshot, awards=())
        wired = wiring()
        signs = (*[sign for sign in wired.signs if sign.kind is SignKind.PAGE], *more)
        self.signs = Signs(snapshot.plan, replace_signs(wired, signs), lambda: 0, self._publish)

    def _publish(self, meter: str, payload: bytes) -> bool:
        if self.up:
            self.topics.append((meter, json.loads(payload)))
        return self.up

    def update(self, version: int = 1, after_us: int = 0) -> bool:
        """As the daemon's ticker does, ``after_us`` after the snapshot's time; a live daemon renews its time."""
        now = self.snapshot.at + after_us
        return self.signs.update(replace(self.snapshot, at=now), version, now)

    def raised(self, meter: str, cents: int) -> None:
        """The meter has more."""
        meters = dict(self.snapshot.meters)
        meters[meter] = replace(meters[meter], display_microcents=meters[meter].display_microcents + cents * SECOND)
        self.snapshot = replace(self.snapshot, meters=meters)


def replace_signs(wired: Wiring, signs: Sequence[SignPlan]) -> Wiring:
    return replace(wired, signs=tuple(signs))


@pytest.fixture
def told() -> Told:
    return Told(busy_snapshot())


def test_every_meter_has_a_topic_though_no_sign_asks_for_it(told: Told) -> None:
    told.update()
    assert {meter for meter, _ in told.topics} == set(told.snapshot.plan.meters)


def test_a_topic_is_renewed_every_second_and_not_in_between(told: Told) -> None:
    """DI-01: it is valid for three seconds."""
    told.update()
    count = len(told.topics)
    told.update(after_us=SECOND // 2)
    assert len(told.topics) == count
    told.update(after_us=SECOND)
    assert len(told.topics) == 2 * count


def test_a_topic_tells_a_change_at_once(told: Told) -> None:
    told.update()
    count = len(told.topics)
    meter = next(iter(told.snapshot.meters))
    told.raised(meter, 25)
    told.update(version=2, after_us=SECOND // 4)
    assert [name for name, _ in told.topics[count:]] == [meter]


def test_a_topic_that_could_not_be_told_is_told_when_the_broker_is_back(told: Told) -> None:
    told.up = False
    told.update()
    told.up = True
    told.update(after_us=1)
    assert {meter for meter, _ in told.topics} == set(told.snapshot.plan.meters)


def test_pages_are_told_of_a_change_only_when_there_is_one(told: Told) -> None:
    assert [told.update(), told.update(after_us=SECOND)] == [True, False]


def test_a_quiet_sign_is_as_young_as_its_snapshot(told: Told) -> None:
    """DI-01: a page shows no number older than three seconds, so a quiet one must be vouched for."""
    told.update()
    told.update(after_us=5 * SECOND)
    assert {shown.at for shown in told.signs.shown.values()} == {told.snapshot.at + 5 * SECOND}


def test_an_amount_runs_up_to_the_durable_one_and_never_over_it(told: Told) -> None:
    """R-24, R-25, I4."""
    told.update()
    name, sign = next((name, sign) for name, sign in told.signs.shown.items() if sign.meters)
    meter, start = sign.meters[0].id, sign.meters[0].amount_cents
    told.raised(meter, 100)
    seen = []
    for quarter in range(6):
        told.update(version=2, after_us=SECOND + quarter * SECOND // 4)
        seen.append(told.signs.shown[name].meters[0].amount_cents)
    assert (seen == sorted(seen), seen[-1], max(seen)) == (True, start + 100, start + 100)
    assert not told.signs.moving


async def test_led_signs_are_told_their_amounts_and_at_the_end_not_live(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "led")
    snapshot = busy_snapshot()
    meter = next(iter(snapshot.plan.meters))
    serial = SerialSettings(str(panel.link), 9600, 7, "E", 1)
    told = Told(snapshot, SignPlan("led", SignKind.ALPHA, None, (meter,), 9, serial, True))
    told.update()
    told.signs.start()
    await told.signs.told(10)
    shown = told.signs.shown["led"].meters[0].amount
    health = told.signs.health()["led"]
    await until(lambda: shown in panel.lit)  # the panel reads in its own time
    await told.signs.end()
    await until(lambda: panel.lit == "NOT LIVE")
    panel.unplug()
    assert health.up


async def until(reached: Callable[[], bool]) -> None:
    """Wait for a condition, at most five seconds."""
    for _ in range(250):
        if reached():
            return
        await asyncio.sleep(0.02)
    pytest.fail("the condition was not reached within five seconds")


async def test_an_absent_led_sign_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    snapshot = busy_snapshot()
    serial = SerialSettings(str(tmp_path / "nowhere"), 9600, 7, "E", 1)
    told = Told(snapshot, SignPlan("led", SignKind.ALPHA, None, (next(iter(snapshot.plan.meters)),), 9, serial, True))
    told.update()
    told.signs.start()
    async with asyncio.timeout(2):
        await told.signs.told(0.2)
    assert not told.signs.health()["led"].up
    await told.signs.end()
