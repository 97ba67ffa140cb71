"""The simulated hub keeps every rule of a good device (design section 7; R-91, R-93), however bad its line is."""

import random
from collections.abc import Iterator

import pytest

from firmware_bridge.device import IN_FLIGHT_MAX, Dealer, Faults, Hub, KeypadRefusal
from firmware_bridge.messages import (
    Ack,
    Bet,
    Close,
    Committed,
    Down,
    Fault,
    Heartbeat,
    Hello,
    Hit,
    Hits,
    Kept,
    Lamp,
    Lamps,
    Layout,
    Lock,
    Numbered,
    OpenRound,
    Playable,
    Refused,
    SpotLayout,
    SpotOutcomes,
    Unreadable,
    Up,
    Void,
    Wager,
    Welcome,
    Who,
    decode_json,
    encode_json,
)

LAYOUT = Layout((SpotLayout("progressive", 500),), (SpotOutcomes("progressive", ("royal", "straight")),))
WELCOME = Welcome((), None)
PLAY = Playable(True, "live")


def hub_at_start(seed: int = 1) -> Hub:
    return Hub("hub-01", 6, random.Random(seed), 0.0)


def hub_in_play(seed: int = 1) -> Hub:
    hub = hub_at_start(seed)
    hub.tick(0.0)
    for message in (WELCOME, LAYOUT, PLAY):
        hub.received(message, 0.0)
    return hub


def numbered(said: list[Up]) -> list[Numbered]:
    return [message for message in said if not isinstance(message, Hello | Heartbeat)]


def seqs(said: list[Up]) -> list[int]:
    return [message.seq for message in numbered(said)]


def kept_of(hub: Hub, now: float) -> tuple[Kept, ...]:
    hub.received(Who(), now)
    hello = next(message for message in hub.tick(now) if isinstance(message, Hello))
    return hello.kept


class House:
    """A tiny host: commits each boot's messages in order, acknowledges, welcomes and pulses."""

    def __init__(self) -> None:
        self.committed: dict[str, int] = {}
        self.posted: list[Numbered] = []
        self.round: OpenRound | None = None
        self._boot = ""
        self._held: dict[tuple[str, int], Numbered] = {}
        self._pulse_at = 0.0

    def hears(self, message: Up) -> Iterator[Down]:
        if isinstance(message, Hello):
            self._boot = message.boot
            yield Welcome(tuple(Committed(*one) for one in self.committed.items()), self.round)
            yield LAYOUT
        elif isinstance(message, Heartbeat):
            if message.boot != self._boot:
                yield Who()
        else:
            self._held.setdefault((message.boot, message.seq), message)
            while one := self._held.pop((message.boot, self.committed.get(message.boot, 0) + 1), None):
                self._post(one)
            yield Ack(message.boot, self.committed.get(message.boot, 0))

    def _post(self, message: Numbered) -> None:
        self.committed[message.boot] = message.seq
        self.posted.append(message)
        if isinstance(message, Lock):
            self.round = OpenRound(message.boot, message.round, message.wagers)
        elif isinstance(message, Close | Void):
            self.round = None

    def pulse(self, now: float) -> Iterator[Down]:
        if now >= self._pulse_at:
            self._pulse_at = now + 1.0
            yield PLAY


class Evening:
    """Hub and house on a bad line, in virtual time; watches the window of 16 on the way."""

    def __init__(self, seed: int, faults: str) -> None:
        print(f"seed {seed}")
        self.faults = Faults.parse(faults, random.Random(seed), text=True)
        self.hub, self.house, self.now = hub_at_start(seed), House(), 0.0
        self.dealer = Dealer(random.Random(seed), 0.0, pace=0.1, hit_rate=0.2)
        self.said: dict[tuple[str, int], Numbered] = {}
        self.acknowledged: dict[str, int] = {}
        self.most_in_flight = 0

    def play(self, seconds: float, *, deal: bool) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += 0.05
            if deal:
                self.faults.every_second(self.hub, self.now)
                self.dealer.act(self.hub, self.now)
            for message in self.hub.tick(self.now):
                self._note(message)
                self.faults.up(encode_json(message), self.now)
            for pulse in self.house.pulse(self.now):
                self._tell(pulse)
            for chunk in self.faults.arrived(self.now):
                self._arrives(chunk)

    def _note(self, message: Up) -> None:
        if not isinstance(message, Hello | Heartbeat):
            self.said[message.boot, message.seq] = message
            in_flight = message.seq - self.acknowledged.get(message.boot, 0)
            self.most_in_flight = max(self.most_in_flight, in_flight)

    def _arrives(self, chunk: bytes) -> None:
        message = decode_json(chunk)
        if message is not None and not isinstance(message, Unreadable):
            for answer in self.house.hears(message):
                self._tell(answer)

    def _tell(self, message: Down) -> None:
        if not self.faults.hears(self.now):
            return
        for boot, seq in message.committed if isinstance(message, Welcome) else ():
            self.acknowledged[boot] = max(seq, self.acknowledged.get(boot, 0))
        if isinstance(message, Ack):
            self.acknowledged[message.boot] = max(message.seq, self.acknowledged.get(message.boot, 0))
        self.hub.received(message, self.now)


ROUGH = "drop=0.2,dup=0.1,reorder=0.2,delay=0.05,bitflip=0.05,truncate=0.05,noise=0.05,silence=0.02"


@pytest.mark.parametrize("seed", range(6))
def test_every_numbered_message_is_delivered_exactly_in_order_on_a_bad_line(seed: int) -> None:
    """R-91, R-93, MQ-13: loss, doubles, overtaking, damage and restarts change neither order nor content."""
    evening = Evening(seed, ROUGH + ",reboot=0.03")
    evening.play(90.0, deal=True)
    evening.play(120.0, deal=False)
    assert len(evening.said) > 30
    by_boot: dict[str, list[Numbered]] = {}
    for message in evening.house.posted:
        by_boot.setdefault(message.boot, []).append(message)
    delivered = {(boot, seq): m for boot, posted in by_boot.items() for seq, m in enumerate(posted, 1)}
    assert delivered == evening.said


@pytest.mark.parametrize("seed", range(3))
def test_older_boots_are_posted_before_newer_ones(seed: int) -> None:
    """Kept messages of older boots go first (design section 7)."""
    evening = Evening(seed, ROUGH + ",reboot=0.1")
    evening.play(90.0, deal=True)
    evening.play(120.0, deal=False)
    boots = [message.boot for message in evening.house.posted]
    changes = [boot for place, boot in enumerate(boots) if place == 0 or boots[place - 1] != boot]
    assert len(changes) > 1
    assert len(changes) == len(set(changes))


def test_nothing_is_kept_once_a_bad_line_has_become_quiet() -> None:
    evening = Evening(7, ROUGH)
    evening.play(60.0, deal=True)
    evening.play(120.0, deal=False)
    assert evening.hub.unacknowledged == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_line_has_sixteen_messages_in_flight_and_never_more(seed: int) -> None:
    evening = Evening(seed, "drop=0.3,silence=0.05,reorder=0.2")
    for _ in range(300):
        evening.hub.notice("door-open")
        evening.play(0.1, deal=False)
    assert evening.most_in_flight == IN_FLIGHT_MAX


def test_the_seventeenth_message_waits_for_an_acknowledgement() -> None:
    hub = hub_in_play()
    for _ in range(20):
        hub.notice("door-open")
    assert seqs(hub.tick(0.1)) == list(range(1, 17))
    assert seqs(hub.tick(0.2)) == []
    hub.received(Ack(hub.boot, 2), 0.3)
    assert seqs(hub.tick(0.3)) == [17, 18]


def test_messages_are_resent_from_the_first_unacknowledged_after_1_2_4_8_and_8_seconds() -> None:
    hub = hub_in_play()
    for _ in range(3):
        hub.notice("door-open")
    assert seqs(hub.tick(0.0)) == [1, 2, 3]
    hub.received(Ack(hub.boot, 1), 0.0)
    sent = {tenth: found for tenth in range(1, 320) if (found := seqs(hub.tick(tenth / 10)))}
    assert sent == {10: [2, 3], 30: [2, 3], 70: [2, 3], 150: [2, 3], 230: [2, 3], 310: [2, 3]}


def test_an_acknowledgement_that_moves_on_starts_the_waits_again() -> None:
    hub = hub_in_play()
    hub.notice("door-open"), hub.notice("door-closed")
    hub.tick(0.0), hub.tick(1.0), hub.tick(3.0)
    hub.received(Ack(hub.boot, 1), 5.0)
    assert [seqs(hub.tick(at)) for at in (5.9, 6.0, 7.9, 8.0)] == [[], [2], [], [2]]


@pytest.mark.parametrize("kind", ["ack", "refused", "fault"])
def test_every_kind_of_answer_acknowledges_all_numbers_up_to_its_own(kind: str) -> None:
    hub = hub_in_play()
    for _ in range(3):
        hub.notice("door-open")
    answers: dict[str, Down] = {
        "ack": Ack(hub.boot, 2), "refused": Refused(hub.boot, 2, "x"), "fault": Fault(hub.boot, 2, "x")
    }
    hub.received(answers[kind], 0.1)
    assert kept_of(hub, 0.1) == (Kept(hub.boot, 3, 4),)


def test_an_acknowledgement_of_another_boot_does_no_harm() -> None:
    hub = hub_in_play()
    hub.notice("door-open")
    hub.received(Ack("b-stranger", 9), 0.1)
    assert hub.unacknowledged == 1


def test_a_hub_says_hello_and_its_first_heartbeat_at_once() -> None:
    hub = hub_at_start()
    hello, heartbeat = hub.tick(0.0)
    assert hello == Hello("hub-01", hub.boot, "sim-1.0", "power-on", 6, (Kept(hub.boot, 1, 1),))
    assert heartbeat == Heartbeat("hub-01", hub.boot, 0, 0, ())


def test_hello_is_repeated_until_a_welcome_comes_because_either_can_be_lost() -> None:
    hub = hub_at_start()
    times = [t for t in range(0, 40) if any(isinstance(m, Hello) for m in hub.tick(float(t)))]
    hub.received(WELCOME, 40.0)
    after = [t for t in range(40, 60) if any(isinstance(m, Hello) for m in hub.tick(float(t)))]
    assert (times, after) == ([0, 1, 3, 7, 15, 23, 31, 39], [])


def test_numbered_messages_wait_for_the_welcome_that_says_what_is_durable() -> None:
    hub = hub_at_start()
    hub.notice("door-open"), hub.notice("door-closed")
    assert seqs(hub.tick(0.0)) == []
    hub.received(Welcome((Committed(hub.boot, 1),), None), 0.1)
    assert seqs(hub.tick(0.1)) == [2]


def test_a_new_welcome_makes_the_hub_send_again_what_is_not_durable() -> None:
    hub = hub_in_play()
    hub.notice("door-open"), hub.notice("door-closed")
    hub.tick(0.0)
    hub.received(WELCOME, 0.2)
    assert seqs(hub.tick(0.2)) == [1, 2]


def test_a_heartbeat_comes_every_second_with_the_counts_of_its_boot() -> None:
    hub = hub_in_play()
    hub.lock([Wager(1, "progressive", 500), Wager(2, "progressive", 100)])
    hub.bet(3, "progressive")
    beats = [(t, m) for t in range(1, 31) for m in hub.tick(t / 10) if isinstance(m, Heartbeat)]
    beat = Heartbeat("hub-01", hub.boot, 1, 2, (Bet(3, "progressive"),))
    assert beats == [(10, beat), (20, beat), (30, beat)]


def test_the_wagers_total_counts_refused_locks_too() -> None:
    hub = hub_in_play()
    seq = hub.lock([Wager(1, "progressive", 999)])
    hub.received(Refused(hub.boot, seq, "wrong-wager"), 0.1)
    beat = next(m for m in hub.tick(1.0) if isinstance(m, Heartbeat))
    assert (beat.last_seq, beat.wagers_total) == (1, 1)


def test_a_restart_keeps_unacknowledged_messages_and_numbers_its_own_from_one() -> None:
    """As with FRAM (R-91)."""
    hub = hub_in_play()
    first = hub.boot
    for _ in range(3):
        hub.notice("door-open")
    hub.received(Ack(first, 1), 0.1)
    hub.restart("watchdog", 1.0)
    hub.notice("door-closed")
    assert kept_of(hub, 1.0) == (Kept(first, 2, 4), Kept(hub.boot, 1, 2))


def test_messages_of_the_boot_before_are_sent_alone_until_all_are_acknowledged() -> None:
    hub = hub_in_play()
    first = hub.boot
    hub.notice("door-open"), hub.notice("door-closed")
    hub.restart("watchdog", 1.0)
    hub.notice("sensor-fault")
    hub.received(WELCOME, 1.0)
    assert [m.boot for m in numbered(hub.tick(1.0))] == [first, first]
    hub.received(Ack(first, 2), 1.1)
    assert [m.boot for m in numbered(hub.tick(1.1))] == [hub.boot]


def test_a_restart_that_loses_its_memory_shows_the_gap_in_hello() -> None:
    """Design section 9: kept.first beyond the committed number + 1 is a loss."""
    hub = hub_in_play()
    first = hub.boot
    for _ in range(3):
        hub.notice("door-open")
    hub.received(Ack(first, 1), 0.1)
    hub.restart("brown-out", 1.0, lost=True)
    assert kept_of(hub, 1.0) == (Kept(first, 4, 4), Kept(hub.boot, 1, 1))


def test_a_loss_is_told_until_the_host_has_settled_it() -> None:
    hub = hub_in_play()
    first = hub.boot
    hub.notice("door-open")
    hub.restart("brown-out", 1.0, lost=True)
    hub.received(Welcome((), None), 1.0)
    before = kept_of(hub, 1.1)
    hub.received(Welcome((Committed(first, 1),), None), 1.2)
    assert (before, kept_of(hub, 1.3)) == ((Kept(first, 2, 2), Kept(hub.boot, 1, 1)), (Kept(hub.boot, 1, 1),))


def test_a_boot_that_left_nothing_behind_is_forgotten() -> None:
    hub = hub_in_play()
    hub.restart("watchdog", 1.0)
    assert kept_of(hub, 1.0) == (Kept(hub.boot, 1, 1),)


def test_every_start_has_a_new_boot_id() -> None:
    hub = hub_at_start()
    boots = {hub.boot}
    for _ in range(50):
        hub.restart("watchdog", 0.0)
        boots.add(hub.boot)
    assert len(boots) == 51


def test_hello_names_at_most_64_boots_and_always_its_own() -> None:
    hub = hub_in_play()
    for _ in range(80):
        hub.notice("door-open")
        hub.restart("watchdog", 1.0)
    kept = kept_of(hub, 1.0)
    assert (len(kept), kept[-1].boot) == (64, hub.boot)


def test_no_wager_is_taken_before_the_welcome() -> None:
    hub = hub_at_start()
    hub.received(PLAY, 0.0)
    with pytest.raises(KeypadRefusal, match="no welcome"):
        hub.lock([])


def test_no_wager_is_taken_when_no_pulse_was_heard_for_three_seconds() -> None:
    """R-88."""
    hub = hub_in_play()
    hub.tick(3.0)
    still = hub.playable
    hub.tick(3.1)
    assert (still, hub.playable, hub.not_playable_because) == (True, False, "no pulse from the host")


def test_no_wager_is_taken_while_the_host_says_no() -> None:
    hub = hub_in_play()
    hub.received(Playable(False, "count differs"), 0.5)
    with pytest.raises(KeypadRefusal, match="count differs"):
        hub.lock([])


def test_the_keypad_shows_why_it_refused() -> None:
    hub = hub_in_play()
    with pytest.raises(KeypadRefusal):
        hub.close()
    assert hub.keypad == "no round is open"


def test_a_forced_lock_goes_out_although_the_table_is_not_playable() -> None:
    hub = hub_in_play()
    hub.received(Playable(False, "closed"), 0.0)
    hub.lock([], force=True)
    assert seqs(hub.tick(0.0)) == [1]


def test_a_lock_without_a_list_takes_the_chips_that_lie_there_at_the_spots_worth() -> None:
    hub = hub_in_play()
    for seat in (4, 1, 2):
        hub.bet(seat, "progressive")
    hub.lift(2, "progressive")
    hub.lock()
    assert numbered(hub.tick(0.0)) == [
        Lock("hub-01", hub.boot, 1, 1, (Wager(1, "progressive", 500), Wager(4, "progressive", 500)))
    ]


def test_the_dealer_takes_the_chips_off_the_sensors_to_count_them() -> None:
    hub = hub_in_play()
    hub.bet(1, "progressive")
    hub.lock()
    hub.count()
    assert hub.bets == set()


def test_a_refused_lock_opens_no_round_and_leaves_the_one_before_open() -> None:
    hub = hub_in_play()
    hub.lock([Wager(1, "progressive", 500)])
    seq = hub.lock([Wager(1, "progressive", 999)])
    hub.received(Refused(hub.boot, seq, "wrong-wager"), 0.1)
    assert hub.round == OpenRound(hub.boot, 1, (Wager(1, "progressive", 500),))
    assert hub.keypad == "wrong-wager"


def test_a_lock_after_a_refused_one_has_a_new_number_and_a_new_round() -> None:
    hub = hub_in_play()
    hub.received(Refused(hub.boot, hub.lock([Wager(1, "x", 1)]), "unknown-spot"), 0.0)
    hub.lock([])
    assert hub.round == OpenRound(hub.boot, 2, ())


def test_a_refused_void_leaves_its_round_open() -> None:
    hub = hub_in_play()
    hub.lock([Wager(1, "progressive", 500)])
    hub.received(Refused(hub.boot, hub.void("misdeal"), "round-has-awards"), 0.1)
    assert hub.round is not None


def test_after_a_restart_the_dealer_goes_on_with_the_round_the_host_names() -> None:
    hub = hub_in_play()
    first = hub.boot
    hub.restart("watchdog", 1.0)
    hub.received(Welcome((), OpenRound(first, 7, (Wager(1, "progressive", 500),))), 1.0)
    hub.hits([Hit(1, "progressive", "royal")])
    assert numbered(hub.tick(1.0)) == [Hits("hub-01", hub.boot, 1, 7, (Hit(1, "progressive", "royal"),), first)]


def test_an_old_welcome_does_not_take_away_the_round_the_dealer_has_opened_since() -> None:
    hub = hub_in_play()
    hub.received(Ack(hub.boot, hub.lock([])), 0.1)
    hub.received(WELCOME, 0.2)
    assert hub.round == OpenRound(hub.boot, 1, ())


def test_after_a_restart_a_kept_close_still_ends_the_round_the_host_thinks_open() -> None:
    hub = hub_in_play()
    first = hub.boot
    hub.received(Ack(first, hub.lock([])), 0.0)
    hub.close()
    hub.restart("watchdog", 1.0)
    hub.received(Welcome((Committed(first, 1),), OpenRound(first, 1, ())), 1.0)
    assert hub.round is None


def test_after_a_restart_a_kept_lock_is_the_open_round() -> None:
    hub = hub_in_play()
    first = hub.boot
    hub.lock([Wager(1, "progressive", 500)])
    hub.restart("watchdog", 1.0)
    hub.received(WELCOME, 1.0)
    assert hub.round == OpenRound(first, 1, (Wager(1, "progressive", 500),))


def test_lamps_show_what_the_host_told() -> None:
    hub = hub_in_play()
    hub.received(Lamps(1, (Lamp(1, "progressive", "locked"),)), 0.0)
    hub.received(Lamps(1, (Lamp(2, "progressive", "fault"),)), 0.0)
    assert hub.lamps == {(2, "progressive"): "fault"}
