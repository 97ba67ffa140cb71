"""The simulated dealer deals whole games, faults do what they are called, and the hub's memory is bounded."""

import random

import pytest
from test_device import LAYOUT, WELCOME, Evening, hub_at_start, hub_in_play, kept_of

from firmware_bridge.device import KEPT_MAX, LOG_MAX, Dealer, Faults, KeypadRefusal, SimulationError
from firmware_bridge.messages import Ack, Hits, Kept, Lock, Numbered, Unreadable, Wager, decode_json, encode_json


def test_a_seeded_dealer_deals_the_same_games_again() -> None:
    def evening() -> list[Numbered]:
        game = Evening(11, "")
        game.play(20.0, deal=True)
        return game.house.posted

    assert evening() == evening()


def test_a_dealer_deals_whole_games_with_hits_of_the_layout_only() -> None:
    evening = Evening(3, "")
    evening.play(60.0, deal=True)
    kinds = {type(message).__name__ for message in evening.house.posted}
    outcomes = {hit.outcome for m in evening.house.posted if isinstance(m, Hits) for hit in m.hits}
    assert kinds >= {"Lock", "Count", "Hits", "Close"}
    assert outcomes == {"royal", "straight"}


def test_a_dealer_without_luck_reports_no_hits() -> None:
    evening = Evening(3, "")
    evening.dealer = Dealer(random.Random(3), 0.0, pace=0.1, hit_rate=0.0)
    evening.play(20.0, deal=True)
    assert not [m for m in evening.house.posted if isinstance(m, Hits)]


def test_a_dealer_hits_only_what_its_weights_allow() -> None:
    evening = Evening(3, "")
    evening.dealer = Dealer(random.Random(3), 0.0, pace=0.1, hit_rate=0.5, weights={"royal": 1})
    evening.play(20.0, deal=True)
    outcomes = {hit.outcome for m in evening.house.posted if isinstance(m, Hits) for hit in m.hits}
    assert outcomes == {"royal"}


def test_a_dealer_locks_nothing_while_the_table_is_not_playable() -> None:
    hub = hub_at_start()
    hub.received(WELCOME, 0.0)
    hub.received(LAYOUT, 0.0)
    dealer = Dealer(random.Random(1), 0.0, pace=0.1, notice_rate=0.0)
    for tenth in range(100):
        dealer.act(hub, tenth / 10)
    assert (dealer.games, hub.unacknowledged) == (0, 0)


def test_an_unknown_fault_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(SimulationError, match="unknown fault 'bitflp'; did you mean 'bitflip'"):
        Faults.parse("drop=0.1,bitflp=0.2", random.Random(1))


@pytest.mark.parametrize("written", ["drop", "drop=2", "drop=-1", "drop=5%", "drop=nan"])
def test_a_fault_needs_a_probability_from_0_to_1(written: str) -> None:
    with pytest.raises(SimulationError, match="write a probability from 0 to 1"):
        Faults.parse(written, random.Random(1))


def test_no_faults_pass_every_message_on_at_once_and_whole() -> None:
    faults = Faults.parse("", random.Random(1))
    faults.up(b"one", 0.0)
    faults.up(b"two", 0.0)
    assert faults.arrived(0.0) == [b"one", b"two"]


def test_a_flipped_bit_turns_no_json_message_into_another_one() -> None:
    faults = Faults.parse("bitflip=1", random.Random(5), text=True)
    lock = encode_json(Lock("hub-01", "b1", 1, 1, (Wager(1, "progressive", 500),)))
    for _ in range(500):
        faults.up(lock, 0.0)
        (damaged,) = faults.arrived(0.0)
        assert isinstance(decode_json(damaged), Unreadable)


def test_a_reboot_with_loss_really_loses() -> None:
    hub = hub_in_play()
    hub.notice("door-open")
    Faults.parse("reboot-loss=1", random.Random(1)).every_second(hub, 1.0)
    assert (hub.reset_cause, hub.unacknowledged) == ("brown-out", 0)


def test_faults_hold_back_a_bounded_number_of_messages() -> None:
    faults = Faults.parse("delay=1", random.Random(1))
    for _ in range(1000):
        faults.up(b"x", 0.0)
    assert len(faults.arrived(100.0)) == 256


def test_a_full_memory_takes_nothing_more_and_loses_nothing() -> None:
    hub = hub_at_start()
    for _ in range(KEPT_MAX):
        hub.notice("door-open")
    with pytest.raises(KeypadRefusal, match="memory is full"):
        hub.notice("door-open")
    assert kept_of(hub, 0.0) == (Kept(hub.boot, 1, KEPT_MAX + 1),)


def test_the_log_of_answers_is_bounded() -> None:
    hub = hub_in_play()
    for seq in range(LOG_MAX + 50):
        hub.received(Ack(hub.boot, seq), 0.0)
    assert len(hub.log) == LOG_MAX


def test_due_names_the_next_moment_at_which_the_hub_speaks() -> None:
    hub = hub_in_play()
    hub.tick(0.0)
    hub.notice("door-open")
    hub.tick(0.25)
    silent = [hub.tick(t / 100) for t in range(26, 100)]
    assert (hub.due, any(silent), bool(hub.tick(hub.due))) == (1.0, False, True)
