"""What waits to be said to a device: merged, bounded, in the right order (design section 7; SE-09)."""

from firmware_bridge.messages import Ack, Down, Fault, Lamp, Lamps, Layout, Playable, Refused, Welcome, Who
from firmware_bridge.outbox import ANSWERS_MAX, BOOTS_MAX, Outbox

WELCOME = Welcome((), None)
LAYOUT = Layout((), ())
OLD_LAMPS = Lamps(1, (Lamp(1, "p", "placed"),))
LAMPS = Lamps(1, (Lamp(1, "p", "locked"),))


def said(outbox: Outbox) -> list[Down]:
    """Everything that waits, taken by a line with room for all of it."""
    taken: list[Down] = []

    def send(message: Down) -> bool:
        taken.append(message)
        return True

    assert outbox.drain(send)
    return taken


def test_acknowledgements_of_a_boot_merge_to_the_highest() -> None:
    outbox = Outbox()
    for seq in (3, 5, 4):
        outbox.ack("b1", seq)
    assert said(outbox) == [Ack("b1", 5)]


def test_acknowledgements_of_two_boots_stand_apart() -> None:
    outbox = Outbox()
    outbox.ack("b1", 5)
    outbox.ack("b2", 1)
    assert said(outbox) == [Ack("b1", 5), Ack("b2", 1)]


def test_the_newest_lamps_and_pulse_replace_older_ones() -> None:
    outbox = Outbox()
    outbox.lamps(OLD_LAMPS)
    outbox.playable(Playable(True, "open"))
    outbox.lamps(LAMPS)
    outbox.playable(Playable(False, "closed"))
    assert said(outbox) == [LAMPS, Playable(False, "closed")]


def test_a_refusal_goes_before_the_acknowledgement_that_covers_it() -> None:
    outbox = Outbox()
    outbox.ack("b1", 5)
    outbox.refused("b1", 4, "wrong-wager")
    assert said(outbox) == [Refused("b1", 4, "wrong-wager"), Ack("b1", 5)]


def test_refusals_and_faults_go_in_the_order_of_their_numbers() -> None:
    outbox = Outbox()
    outbox.refused("b1", 7, "wrong-wager")
    outbox.fault("b1", 4, "content-differs")
    assert said(outbox) == [Fault("b1", 4, "content-differs"), Refused("b1", 7, "wrong-wager")]


def test_the_same_answer_twice_is_said_once() -> None:
    outbox = Outbox()
    outbox.refused("b1", 4, "wrong-wager")
    outbox.refused("b1", 4, "wrong-wager")
    assert said(outbox) == [Refused("b1", 4, "wrong-wager")]


def test_a_welcome_and_its_layout_go_before_all_else() -> None:
    outbox = Outbox()
    outbox.playable(Playable(True, "open"))
    outbox.ack("b1", 5)
    outbox.lamps(LAMPS)
    outbox.who()
    outbox.welcome(WELCOME, LAYOUT)
    assert said(outbox) == [Who(), WELCOME, LAYOUT, Ack("b1", 5), LAMPS, Playable(True, "open")]


def test_nothing_is_said_twice() -> None:
    outbox = Outbox()
    outbox.who()
    outbox.welcome(WELCOME, LAYOUT)
    outbox.refused("b1", 4, "wrong-wager")
    outbox.fault("b1", 3, "content-differs")
    outbox.ack("b1", 5)
    outbox.lamps(LAMPS)
    outbox.playable(Playable(True, "open"))
    assert len(said(outbox)) == 8
    assert (said(outbox), len(outbox)) == ([], 0)


def test_what_a_full_line_did_not_take_stays_and_still_merges_se_09() -> None:
    outbox = Outbox()
    outbox.refused("b1", 4, "wrong-wager")
    outbox.ack("b1", 5)
    outbox.lamps(OLD_LAMPS)
    taken: list[Down] = []

    def room_for_one(message: Down) -> bool:
        if taken:
            return False
        taken.append(message)
        return True

    assert not outbox.drain(room_for_one)
    outbox.ack("b1", 6)
    outbox.lamps(LAMPS)
    assert taken + said(outbox) == [Refused("b1", 4, "wrong-wager"), Ack("b1", 6), LAMPS]


def test_refusals_waiting_are_bounded_and_the_rest_counted() -> None:
    outbox = Outbox()
    for seq in range(1, ANSWERS_MAX + 11):
        outbox.refused("b1", seq, "malformed")
    assert (len(outbox), outbox.dropped) == (ANSWERS_MAX, 10)


def test_a_refusal_that_found_no_room_is_not_acknowledged_over_so_that_it_comes_again() -> None:
    outbox = Outbox()
    for seq in range(1, ANSWERS_MAX + 1):
        outbox.refused("b1", seq, "malformed")
    outbox.ack("b1", ANSWERS_MAX + 5)
    outbox.refused("b1", ANSWERS_MAX + 1, "malformed")
    outbox.ack("b1", ANSWERS_MAX + 9)
    assert all(isinstance(message, Refused) for message in said(outbox))
    outbox.refused("b1", ANSWERS_MAX + 1, "malformed")
    outbox.ack("b1", ANSWERS_MAX + 9)
    assert said(outbox) == [Refused("b1", ANSWERS_MAX + 1, "malformed"), Ack("b1", ANSWERS_MAX + 9)]


def test_acknowledgements_of_endless_boots_are_bounded() -> None:
    outbox = Outbox()
    for boot in range(1000):
        outbox.ack(f"b{boot}", 1)
    assert len(outbox) == BOOTS_MAX


def test_a_line_that_is_gone_leaves_nothing_to_say() -> None:
    outbox = Outbox()
    outbox.welcome(WELCOME, LAYOUT)
    outbox.refused("b1", 4, "wrong-wager")
    outbox.ack("b1", 5)
    outbox.lamps(LAMPS)
    outbox.clear()
    assert (len(outbox), said(outbox)) == (0, [])
