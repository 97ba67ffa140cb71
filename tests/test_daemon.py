"""The running daemon and its table units: pulse, welcome, answers, lamps, strays (design sections 5, 7 and 9).

One real meterd for all tests of this file, on a real ledger, a real pty and a real broker; each test is a new boot.
"""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from running_floor import Broker, RunningFloor, running, until
from table_unit import SPOT, Cable, MqttUnit, WiredUnit

from firmware_bridge import messages
from firmware_bridge.fields import CENTS_MAX
from firmware_bridge.frames import encode_frame
from firmware_bridge.messages import Bet, Hit, OpenRound, Wager

BOOTS = itertools.count(1)


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFloor]:
    folder = tmp_path_factory.mktemp("floor")
    broker = Broker(folder)

    async def begin(floor: RunningFloor) -> None:
        await broker.begin()
        await floor.start()

    with running(folder, broker=broker) as made:
        asyncio.run(begin(made))
        yield made
    broker.end()


@pytest.fixture(scope="module")
def cable(floor: RunningFloor) -> Iterator[Cable]:
    made = Cable(floor.port_of("hub-01"))
    yield made
    made.pull()


@pytest.fixture
async def unit(floor: RunningFloor, cable: Cable) -> AsyncIterator[WiredUnit]:
    made = WiredUnit(cable.port, "hub-01", f"s{next(BOOTS)}", cable=cable)
    await made.close_open_round()
    made.live()
    await made.until_playable()
    made.heard.clear()
    yield made
    await made.end()


@pytest.fixture
async def hub(floor: RunningFloor) -> AsyncIterator[MqttUnit]:
    assert floor.broker is not None
    async with MqttUnit(floor.broker.port, "hub-03", f"m{next(BOOTS)}") as made:
        await made.close_open_round()
        made.live()
        await made.until_playable()
        made.heard.clear()
        yield made


async def note(floor: RunningFloor, words: str, seconds: float = 5) -> dict[str, Any]:
    """Wait for a note that people see; the latest whose text has ``words``."""
    ends = time.monotonic() + seconds
    while True:
        found = [one for one in await floor.notes() if words in one["what"] or words in one["cause"]]
        if found:
            return dict(found[0])
        assert time.monotonic() < ends, [one["what"] for one in await floor.notes()]
        await asyncio.sleep(0.05)


# ---------------------------------------------------------------------- pulse and welcome


async def test_the_pulse_comes_every_second_though_nothing_changes(unit: WiredUnit) -> None:
    began, before = time.monotonic(), unit.count(messages.Playable)
    await until(lambda: unit.count(messages.Playable) >= before + 3)
    assert 1.5 < time.monotonic() - began < 4.5


async def test_a_unit_is_told_what_is_durable_and_which_round_is_open(unit: WiredUnit) -> None:
    unit.lock(1, (2, 4))
    await unit.acknowledged(1)
    unit.counted(1, 2)
    unit.hello((unit.boot, 2, 2))
    await until(lambda: unit.count(messages.Welcome))
    told = unit.last(messages.Welcome)
    assert told is not None
    assert (told.committed, told.open_round) == (
        (messages.Committed(unit.boot, 1),), OpenRound(unit.boot, 1, (Wager(2, SPOT, 500), Wager(4, SPOT, 500))))


async def test_a_new_boot_is_told_of_the_round_its_unit_left_open(unit: WiredUnit) -> None:
    """Design section 7: the keypad goes on with the round, naming its boot."""
    unit.lock(1, (3,))
    await unit.acknowledged(1)
    old, unit.boot = unit.boot, f"{unit.boot}-again"
    unit.hello((unit.boot, 1, 1))
    await until(lambda: unit.count(messages.Welcome))
    told = unit.last(messages.Welcome)
    assert told is not None and told.open_round == OpenRound(old, 1, (Wager(3, SPOT, 500),))


async def test_the_layout_follows_the_welcome(unit: WiredUnit) -> None:
    unit.hello((unit.boot, 1, 1))
    await until(lambda: unit.count(messages.Layout))
    told = unit.last(messages.Layout)
    assert told is not None and told.wagers == (messages.SpotLayout(SPOT, 500),)


# ---------------------------------------------------------------------- answers


async def test_a_lock_out_is_acknowledged_when_it_is_in_the_ledger(floor: RunningFloor, unit: WiredUnit) -> None:
    """MQ-02, I3: no ``ack`` precedes the commit."""
    with floor.writing_held_up():
        for seq in range(1, 6):
            unit.lock(seq)
            await asyncio.sleep(0.1)
        assert not unit.all(messages.Ack)
    await unit.acknowledged(5)
    assert floor.rows("SELECT MAX(seq) FROM entry WHERE boot = ?", unit.boot) == [(5,)]
    unit.counted(5, 5)


async def test_the_lamps_are_locked_only_after_the_commit(floor: RunningFloor, unit: WiredUnit) -> None:
    """R-21."""
    unit.bets = (Bet(1, SPOT), Bet(5, SPOT))
    await until(lambda: unit.lamps.get(5) == "placed")
    with floor.writing_held_up():
        unit.lock(1, (1, 5))
        await asyncio.sleep(0.5)
        assert "locked" not in unit.lamps.values()
    await until(lambda: unit.lamps == {1: "locked", 5: "locked"})
    unit.counted(1, 2)


async def test_a_refused_lock_out_shows_its_cause_and_fault_lamps_where_chips_lie(unit: WiredUnit) -> None:
    unit.bets = (Bet(2, SPOT),)
    await until(lambda: unit.lamps.get(2) == "placed")
    unit.lock(1, (2,), cents=400)
    await until(lambda: unit.lamps == {2: "fault"})
    assert unit.last(messages.Refused) == messages.Refused(unit.boot, 1, "wrong-wager")


async def test_the_dealer_may_lock_again_after_a_refusal_and_the_fault_lamps_go(unit: WiredUnit) -> None:
    unit.bets = (Bet(2, SPOT),)
    unit.lock(1, (2,), cents=400)
    await unit.acknowledged(1)
    unit.lock(2, (2,), round_=2)
    await until(lambda: unit.lamps == {2: "locked"}, 3)
    unit.counted(2, 2)


async def test_a_repeated_message_gets_its_first_answer_again(floor: RunningFloor, unit: WiredUnit) -> None:
    """MQ-01, MQ-09, I1."""
    unit.lock(1, cents=300)
    unit.lock(2, (1, 2))
    await unit.acknowledged(2)
    display = floor.display()
    unit.heard.clear()
    unit.lock(1, cents=300)
    unit.lock(2, (1, 2))
    await until(lambda: unit.count(messages.Refused) and unit.count(messages.Ack))
    assert (unit.last(messages.Refused), unit.last(messages.Ack)) == (
        messages.Refused(unit.boot, 1, "wrong-wager"), messages.Ack(unit.boot, 2))
    assert floor.display() == display
    unit.counted(2, 3)


async def test_one_number_with_two_contents_is_a_fault_and_evidence_is_kept(
    floor: RunningFloor, unit: WiredUnit
) -> None:
    unit.lock(1, (1,))
    await unit.acknowledged(1)
    unit.lock(1, (1, 2))
    await until(lambda: unit.count(messages.Fault))
    assert unit.last(messages.Fault) == messages.Fault(unit.boot, 1, "content-differs")
    assert floor.rows("SELECT COUNT(*) FROM entry WHERE boot = ? AND kind = 'fault'", unit.boot) == [(1,)]


async def test_a_message_ahead_of_its_turn_is_not_acknowledged_until_the_missing_one_came(unit: WiredUnit) -> None:
    """MQ-13."""
    unit.lock(2, round_=2)
    unit.lock(1, round_=1)
    await unit.acknowledged(1)
    await until(lambda: (unit.last(messages.Ack) or messages.Ack("", 0)).seq == 2)
    assert [ack.seq for ack in unit.all(messages.Ack)] in ([2], [1, 2])


async def test_numbers_in_any_order_and_twice_are_counted_once(floor: RunningFloor, hub: MqttUnit) -> None:
    """MQ-13: 1, 2, 5, 6, 3, 4, 4; paytable 1 takes 28 cents of a one dollar wager."""
    before = floor.display("pg-solo")
    for seq in (1, 2, 5, 6, 3, 4, 4):
        hub.lock(seq, cents=100)
    await hub.acknowledged(6)
    assert floor.display("pg-solo") - before == 6 * 28_000_000
    hub.counted(6, 6)


async def test_a_message_too_far_ahead_is_not_answered_on_the_wire(floor: RunningFloor, unit: WiredUnit) -> None:
    for seq in range(2, 68):
        unit.lock(seq)
        await asyncio.sleep(0.005)
    await until(lambda: floor.rows(
        "SELECT COUNT(*) FROM entry WHERE boot = ? AND kind = 'held'", unit.boot) == [(64,)])
    await asyncio.sleep(0.3)
    metrics = (await floor.read("metrics")).decode()
    assert 'meterd_refusals_total{reason="too-far-ahead"} 2.0' in metrics
    assert not unit.all(messages.Ack) and not unit.all(messages.Refused)
    unit.lock(1)
    await unit.acknowledged(65)
    unit.counted(65, 65)


async def test_a_hit_is_on_the_sign_page_and_the_topic_within_a_second(floor: RunningFloor, hub: MqttUnit) -> None:
    """Issue 2, "The sign": PENDING, within a second of the commit."""
    await hub.client.subscribe("meterd/demo/meter/pg-solo", qos=1)
    hub.lock(1, (2,), cents=100)
    await hub.acknowledged(1)
    hub.say(messages.Hits(hub.device, hub.boot, 2, 1, (Hit(2, SPOT, "five-aces"),), hub.boot))
    await hub.acknowledged(2)
    began = time.monotonic()
    while True:
        awards = await floor.ask("api/v1/awards")
        if any(award["table"] == "PG-03" for award in awards["awards"]):
            break
        assert time.monotonic() - began < 1.0
    hub.counted(2, 1)


# ---------------------------------------------------------------------- strays


async def test_frames_and_messages_are_counted_for_serial_and_mqtt_units(
    floor: RunningFloor, unit: WiredUnit, hub: MqttUnit
) -> None:
    unit.write(b"\x01\x02\x03 noise \x00")
    unit.beat()
    await asyncio.sleep(1.2)
    counts = [(await floor.table(table))["line"]["counts"] for table in ("PG-01", "PG-03")]
    assert all(count["frames_good"] > 1 for count in counts) and counts[0]["frames_damaged"] >= 1, counts


async def test_a_damaged_frame_is_counted_and_the_next_one_is_taken(floor: RunningFloor, unit: WiredUnit) -> None:
    """SE-05."""
    good = encode_frame(messages.encode_binary(messages.Lock(unit.device, unit.boot, 1, 1, (Wager(1, SPOT, 500),))))
    unit.write(good[:7] + bytes((good[7] ^ 4,)) + good[8:])
    unit.write(good)
    await unit.acknowledged(1)
    assert floor.rows("SELECT COUNT(*) FROM entry WHERE boot = ? AND seq IS NOT NULL", unit.boot) == [(1,)]


NONSENSE = [
    b"\xff\xfe\x00", b"", b"null", b"[]", b"[" * 1000, b"\xef\xbb\xbf{}", b'{"v":1,"v":1}', b"{" * 60_000,
    b'{"v":1,"type":"lock","device":"hub-03","boot":"b","seq":1.0}',
]


@pytest.mark.parametrize("payload", NONSENSE, ids=lambda payload: repr(payload[:12]))
async def test_nonsense_on_a_topic_is_kept_for_people_and_the_next_wager_counts(
    floor: RunningFloor, hub: MqttUnit, payload: bytes
) -> None:
    """MQ-06: within a second."""
    hub.publish(payload)
    hub.lock(1, cents=100)
    began = time.monotonic()
    await hub.acknowledged(1)
    took = time.monotonic() - began
    told = await note(floor, "On mqtt/hub-03")
    assert (told["cause"], took < 1.0) == ("malformed", True)


async def test_a_topic_that_makes_no_sense_ends_nothing(floor: RunningFloor, hub: MqttUnit) -> None:
    """MQ-06, MQ-11."""
    for topic in ("meterd/demo/dev/a b/up", "meterd/demo/dev/" + "x" * 300 + "/up", "meterd/demo/dev/$SYS/up"):
        hub.publish(b"{}", topic=topic)
    hub.lock(1, cents=100)
    await hub.acknowledged(1, 2)


async def test_a_unit_that_speaks_on_another_units_topic_moves_no_meter(floor: RunningFloor, hub: MqttUnit) -> None:
    """MQ-11: topic and payload must agree; people see who spoke where, and what to do."""
    display = floor.display()
    lie = messages.Lock("hub-01", "liar", 1, 1, (Wager(1, SPOT, 500),))
    hub.publish(messages.encode_json(lie))
    told = await note(floor, "hub-01 spoke on the line of hub-03")
    assert (floor.display(), told["remedy"] != "", floor.rows("SELECT 1 FROM entry WHERE boot = 'liar'")) == (
        display, True, [])


async def test_an_unknown_unit_is_told_to_people_by_its_name(floor: RunningFloor, hub: MqttUnit) -> None:
    stranger = messages.Lock("hub-77", "b1", 1, 1, ())
    hub.publish(messages.encode_json(stranger), topic="meterd/demo/dev/hub-77/up")
    told = await note(floor, "hub-77")
    assert (told["cause"], "does not belong" in told["remedy"]) == ("unknown-device", True)


async def test_one_talkative_stranger_does_not_push_other_notes_out(floor: RunningFloor, hub: MqttUnit) -> None:
    hub.publish(b"once only", topic="meterd/demo/dev/hub-55/up")
    await note(floor, "hub-55")
    beat = messages.encode_json(messages.Heartbeat("hub-66", "b1", 0, 0, ()))
    for _ in range(200):
        hub.publish(beat, topic="meterd/demo/dev/hub-66/up")
    await note(floor, "(200 times)")
    assert [one["what"] for one in await floor.notes() if "hub-55" in one["what"]]


# ---------------------------------------------------------------------- money at its edges


async def test_a_wager_at_the_end_of_its_range_is_refused_by_name_and_not_by_size(unit: WiredUnit) -> None:
    """MO-03: no path takes an amount for a narrower one."""
    unit.lock(1, cents=CENTS_MAX)
    await unit.acknowledged(1)
    assert unit.last(messages.Refused) == messages.Refused(unit.boot, 1, "wrong-wager")


async def test_pages_api_and_metrics_say_what_the_ledger_says(floor: RunningFloor, unit: WiredUnit) -> None:
    """I4, MO-09: to the cent."""
    unit.lock(1, (1, 2, 3))
    await unit.acknowledged(1)
    unit.counted(1, 3)
    cents = floor.display() // 1_000_000
    amount = f"{cents // 100}.{cents % 100:02}"
    meter = await floor.ask("api/v1/meters/pg-link")
    metrics = (await floor.read("metrics")).decode()
    line = next(one for one in metrics.splitlines() if one.startswith('meterd_meter_display_dollars{meter="pg-link"}'))
    assert amount in json.dumps(meter) and round(float(line.split()[1]) * 100) == cents


async def test_the_log_head_has_the_versions_and_the_effective_configuration(floor: RunningFloor) -> None:
    log = floor.log()
    assert "meterd 0." in log and '"id": "pg-solo"' in log and "gaming_day_start" in log and "book main at entry" in log


def test_every_line_of_the_log_is_one_line_of_bounded_length(floor: RunningFloor) -> None:
    """SD-09."""
    assert all(len(line) < 4_100 and line.startswith("<") for line in floor.log().splitlines())
