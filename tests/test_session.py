"""One device as the host knows it: there or not, which boot, what is missing (design sections 7 and 9)."""

import random
from collections import deque

import pytest

from firmware_bridge.messages import (
    Ack,
    Bet,
    Close,
    Committed,
    Down,
    Heartbeat,
    Hello,
    Kept,
    Lock,
    Refused,
    Up,
    Wager,
    Welcome,
    Who,
)
from firmware_bridge.session import (
    BOOTS_MAX,
    MISSING_MAX,
    NO_HELLO,
    OFFLINE,
    TWO_LINES,
    Difference,
    Loss,
    Session,
)

LINE = "serial-1"


def hello(boot: str = "b1", *kept: Kept) -> Hello:
    return Hello("hub-01", boot, "fw 1.2", "power on", 7, kept)


def heartbeat(boot: str = "b1", last_seq: int = 0, wagers_total: int = 0) -> Heartbeat:
    return Heartbeat("hub-01", boot, last_seq, wagers_total, (Bet(1, "progressive"),))


def close(seq: int, boot: str = "b1") -> Close:
    return Close("hub-01", boot, seq, 1, boot)


@pytest.fixture
def session() -> Session:
    """A device that has said hello at time 0."""
    made = Session("hub-01")
    made.heard(LINE, hello(), 0.0)
    return made


def test_a_device_never_heard_is_offline() -> None:
    assert Session("hub-01").state(0.0) == "offline"


@pytest.mark.parametrize(
    ("silent", "state"), [(0.0, "live"), (1.5, "live"), (1.6, "stale"), (3.0, "stale"), (3.1, "offline")]
)
def test_three_missing_heartbeats_are_offline(session: Session, silent: float, state: str) -> None:
    assert session.state(silent) == state


def test_any_message_is_a_sign_of_life(session: Session) -> None:
    session.heard(LINE, close(1), 5.0)
    assert session.state(6.0) == "live"


def test_a_hello_tells_who_is_there(session: Session) -> None:
    assert (session.boot, session.firmware, session.reset_cause, session.seats) == ("b1", "fw 1.2", "power on", 7)


def test_a_heartbeat_tells_where_chips_lie(session: Session) -> None:
    session.heard(LINE, heartbeat(), 1.0)
    assert session.bets == (Bet(1, "progressive"),)


def test_a_hello_itself_is_not_answered_with_who(session: Session) -> None:
    assert session.heard(LINE, hello("b2"), 1.0) == []


def test_a_boot_that_has_not_said_hello_is_asked_who_it_is() -> None:
    assert Session("hub-01").heard(LINE, heartbeat(), 0.0) == [Who()]


def test_who_is_asked_once_in_two_seconds() -> None:
    session = Session("hub-01")
    asked = [session.heard(LINE, heartbeat(), now) for now in (0.0, 1.0, 1.9, 2.0, 3.0)]
    assert asked == [[Who()], [], [], [Who()], []]


def test_a_line_that_opens_asks_for_the_hello_that_is_due_whatever_was_asked_before() -> None:
    session = Session("hub-01")
    assert session.heard(LINE, heartbeat(), 1.0) == [Who()]
    assert session.ask(1.1) == [Who()]
    assert session.heard(LINE, heartbeat(), 1.2) == []


def test_a_line_that_opens_asks_nobody_who_has_said_hello(session: Session) -> None:
    assert session.ask(1.0) == []
    session.lost(LINE)
    assert session.ask(2.0) == [Who()]


def test_a_new_boot_whose_hello_was_lost_is_asked(session: Session) -> None:
    assert session.heard(LINE, heartbeat("b2"), 1.0) == [Who()]


def test_a_message_kept_from_an_older_boot_needs_no_hello_of_its_own() -> None:
    session = Session("hub-01")
    session.heard(LINE, hello("b2", Kept("b1", 3, 5)), 0.0)
    assert session.heard(LINE, close(3, "b1"), 0.1) == []


def test_a_new_boot_is_counted_once(session: Session) -> None:
    for boot in ("b1", "b2", "b2", "b1", "b2"):
        session.heard(LINE, hello(boot), 1.0)
    assert session.reboots == 1


def test_endless_boots_do_not_fill_the_memory(session: Session) -> None:
    for number in range(1000):
        session.heard(LINE, hello(f"x{number}", Kept(f"x{number}", 1, 2)), 1.0)
        session.heard(LINE, close(1, f"y{number}"), 1.0)
    assert len(session._greeted) == len(session._numbers) == BOOTS_MAX


def test_a_line_that_is_lost_is_offline_at_once(session: Session) -> None:
    session.lost(LINE)
    assert (session.state(0.1), session.playable(0.1)) == ("offline", (False, OFFLINE))


def test_a_device_is_asked_for_a_hello_after_its_line_was_lost(session: Session) -> None:
    session.lost(LINE)
    assert session.heard(LINE, heartbeat(), 1.0) == [Who()]
    assert session.playable(1.0) == (False, NO_HELLO)


def test_what_waited_for_a_lost_line_is_not_said_to_the_next_one(session: Session) -> None:
    session.outbox.ack("b1", 5)
    session.lost(LINE)
    assert len(session.outbox) == 0


def test_a_live_device_that_said_hello_is_playable(session: Session) -> None:
    assert session.playable(1.0) == (True, "")


def test_a_device_without_a_hello_is_not_playable() -> None:
    session = Session("hub-01")
    session.heard(LINE, heartbeat(), 0.0)
    assert session.playable(0.0) == (False, NO_HELLO)


def test_a_silent_device_is_not_playable_and_comes_back_by_itself(session: Session) -> None:
    assert session.playable(4.0) == (False, OFFLINE)
    session.heard(LINE, heartbeat(), 5.0)
    assert session.playable(5.0) == (True, "")


def test_a_device_live_on_two_lines_is_played_on_neither(session: Session) -> None:
    session.heard("mqtt", heartbeat(), 1.0)
    assert session.playable(1.0) == (False, TWO_LINES)


def test_a_device_moved_to_another_line_is_playable_once_the_first_is_silent(session: Session) -> None:
    for now in (1.0, 2.0, 3.0, 3.5):
        session.heard("mqtt", heartbeat(), now)
    assert session.playable(3.5) == (True, "")
    assert session.line == "mqtt"


def test_a_line_that_is_lost_ends_the_trouble_of_two_lines(session: Session) -> None:
    session.heard("mqtt", heartbeat(), 1.0)
    session.lost(LINE)
    assert not session.two_lines(1.0)


def test_a_retained_copy_is_no_sign_of_life_mq_01() -> None:
    session = Session("hub-01")
    session.heard("mqtt", hello(), 0.0, retained=True)
    session.heard("mqtt", heartbeat(), 0.0, retained=True)
    assert (session.state(0.0), session.boot, session.line) == ("offline", None, None)


def test_numbers_that_did_not_come_are_counted_as_a_gap(session: Session) -> None:
    for seq in (1, 2, 5):
        session.heard(LINE, close(seq), 0.1)
    assert session.gaps == 2


def test_numbers_that_came_late_are_told_from_repeats_mq_13(session: Session) -> None:
    for seq in (1, 2, 5, 6, 3, 4, 4):
        session.heard(LINE, close(seq), 0.1)
    assert (session.gaps, session.late, session.duplicates) == (2, 2, 1)


def test_the_first_number_after_a_start_of_the_daemon_is_no_gap() -> None:
    session = Session("hub-01")
    session.heard(LINE, close(900), 0.1)
    assert session.gaps == 0


def test_a_gap_before_the_first_number_a_device_keeps_is_counted() -> None:
    session = Session("hub-01")
    session.heard(LINE, hello("b1", Kept("b1", 3, 6)), 0.0)
    session.heard(LINE, close(5), 0.1)
    assert session.gaps == 2


def test_missing_numbers_are_remembered_up_to_a_bound(session: Session) -> None:
    session.heard(LINE, close(1), 0.1)
    session.heard(LINE, close(2**32 - 1), 0.1)
    session.heard(LINE, close(2**31), 0.1)
    assert len(session._numbers["b1"].missing) == MISSING_MAX
    assert session.gaps == 2**32 - 3


def test_a_device_that_keeps_everything_after_the_ledger_has_lost_nothing(session: Session) -> None:
    assert session.losses(hello("b2", Kept("b1", 5, 9), Kept("b2", 1, 1)), {"b1": 4}) == []


def test_what_a_device_no_longer_keeps_is_a_loss_i5(session: Session) -> None:
    said = hello("b2", Kept("b1", 7, 9), Kept("b2", 3, 3))
    assert session.losses(said, {"b1": 4}) == [Loss("b1", 5, 7), Loss("b2", 1, 3)]


def test_a_gap_of_a_boot_the_device_keeps_nothing_of_is_a_loss_i5(session: Session) -> None:
    assert session.losses(hello("b2"), {"b1": 4, "b2": 0}, held={"b1": 8, "b2": 3}) == [Loss("b1", 5, 8)]


def beats(session: Session, totals: list[tuple[int, int, int, int]]) -> list[Difference | None]:
    """The answers to heartbeats of (last_seq, device's total) against (committed, host's total)."""
    return [session.totals(heartbeat("b1", seq, device), done, host) for seq, device, done, host in totals]


def test_a_difference_of_totals_is_told_at_each_third_heartbeat_r_94(session: Session) -> None:
    """The books may have been shut when it was told first."""
    found = Difference("b1", 4, 12, 11)
    assert beats(session, [(4, 12, 4, 11)] * 7) == [None, None, found, None, None, found, None]


def test_equal_totals_are_no_difference_r_94(session: Session) -> None:
    assert beats(session, [(4, 12, 4, 12)] * 4) == [None] * 4


def test_totals_are_not_compared_while_numbers_are_on_their_way_r_94(session: Session) -> None:
    assert beats(session, [(5, 16, 4, 12)] * 4) == [None] * 4


def test_a_difference_that_went_away_starts_again_r_94(session: Session) -> None:
    answers = beats(session, [(4, 12, 4, 11)] * 2 + [(4, 12, 4, 12)] + [(4, 12, 4, 11)] * 3)
    assert answers == [None] * 5 + [Difference("b1", 4, 12, 11)]


def test_heartbeats_that_cannot_be_compared_do_not_end_a_difference_r_94(session: Session) -> None:
    answers = beats(session, [(4, 12, 4, 11), (5, 16, 4, 11), (5, 16, 5, 15), (6, 20, 5, 15), (6, 20, 6, 19)])
    assert answers == [None] * 4 + [Difference("b1", 6, 20, 19)]


def test_a_difference_of_another_boot_starts_anew_r_94(session: Session) -> None:
    beats(session, [(4, 12, 4, 11)] * 2)
    assert session.totals(heartbeat("b2", 4, 12), 4, 11) is None


class Hub:
    """A small good device: numbers, keeps, resends; at most 16 in flight (design section 7)."""

    def __init__(self, boot: str) -> None:
        self.boot = boot
        self.seq = 0
        self.kept: deque[Lock] = deque()

    def hello(self) -> Hello:
        older = dict.fromkeys(lock.boot for lock in self.kept if lock.boot != self.boot)
        kept = [Kept(boot, *self._span(boot)) for boot in older]
        first = next((lock.seq for lock in self.kept if lock.boot == self.boot), self.seq + 1)
        return Hello("hub-01", self.boot, "fw", "power on", 7, (*kept, Kept(self.boot, first, self.seq + 1)))

    def _span(self, boot: str) -> tuple[int, int]:
        numbers = [lock.seq for lock in self.kept if lock.boot == boot]
        return numbers[0], numbers[-1] + 1

    def lock(self) -> None:
        self.seq += 1
        self.kept.append(Lock("hub-01", self.boot, self.seq, self.seq, (Wager(1, "progressive", 500),)))

    def restart(self, boot: str) -> None:
        self.boot, self.seq = boot, 0

    def told(self, message: Down) -> None:
        pairs = message.committed if isinstance(message, Welcome) else (message,)
        for one in pairs:
            if isinstance(one, Ack | Refused | Committed):
                self.kept = deque(lock for lock in self.kept if lock.boot != one.boot or lock.seq > one.seq)


class Host:
    """The rest of the house, as small as can be: posts in order, refuses each tenth, answers by the session."""

    def __init__(self) -> None:
        self.session = Session("hub-01")
        self.committed: dict[str, int] = {}
        self.held: dict[tuple[str, int], Lock] = {}
        self.posted: list[tuple[str, int]] = []

    def take(self, message: Up, now: float) -> None:
        for _who in self.session.heard(LINE, message, now):
            self.session.outbox.who()
        if isinstance(message, Hello):
            done = tuple(Committed(boot, seq) for boot, seq in self.committed.items())
            self.session.outbox.welcome(Welcome(done, None))
            assert self.session.losses(message, self.committed) == []
        if isinstance(message, Lock):
            self.held[message.boot, message.seq] = message
            while (turn := (message.boot, self.committed.get(message.boot, 0) + 1)) in self.held:
                del self.held[turn]
                self.posted.append(turn)
                self.committed[turn[0]] = turn[1]
            done_seq = self.committed.get(message.boot, 0)
            if message.seq % 10 == 0 and message.seq <= done_seq:
                self.session.outbox.refused(message.boot, message.seq, "wrong-wager")
            elif message.seq <= done_seq:
                self.session.outbox.ack(message.boot, done_seq)


class Wire:
    """One direction that loses, repeats and reorders."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._on_the_way: list[Up | Down] = []

    def put(self, message: Up | Down) -> bool:
        self._on_the_way += [message] * self._chance.choice([0, 1, 1, 1, 2])
        return True

    def out(self) -> list[Up | Down]:
        self._chance.shuffle(self._on_the_way)
        count = self._chance.randint(0, len(self._on_the_way))
        taken, self._on_the_way = self._on_the_way[:count], self._on_the_way[count:]
        return taken


@pytest.mark.parametrize("seed", range(20))
def test_every_lock_is_posted_once_over_a_wire_that_loses_repeats_and_reorders_i1(seed: int) -> None:
    chance = random.Random(seed)
    hub, host = Hub("b0"), Host()
    up, down = Wire(chance), Wire(chance)
    said: list[tuple[str, int]] = []
    now = 0.0
    while now < 60 or hub.kept:
        now += 0.25
        assert now < 400, f"seed {seed}: the hub still keeps {len(hub.kept)}"
        if now < 60 and chance.random() < 0.5 and len(hub.kept) < 40:
            hub.lock()
            said.append((hub.boot, hub.seq))
        if now < 60 and chance.random() < 0.02:
            hub.restart(f"b{now}")
            up.put(hub.hello())
        if now % 1 == 0:
            up.put(Heartbeat("hub-01", hub.boot, hub.seq, hub.seq, ()))
            for lock in list(hub.kept)[:16]:
                up.put(lock)
        for message in up.out():
            assert not isinstance(message, Down)
            host.take(message, now)
        host.session.outbox.drain(down.put)
        for answer in down.out():
            assert isinstance(answer, Down)
            hub.told(answer)
            if isinstance(answer, Who):
                up.put(hub.hello())
    assert sorted(host.posted) == sorted(said), f"seed {seed}"
    assert len(host.posted) == len(set(host.posted)), f"seed {seed}"
