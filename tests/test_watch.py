"""The watch: what is wrong, and what has happened, each as its alarm; the incidents by their names."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from demo_snapshot import NOW, SECOND, award, quiet_snapshot, sign_plan
from watch_house import CARL, WatchHouse, live, silent

from controller import desk, drift
from controller.acts import read_act
from controller.alarm_kinds import FLOOR
from controller.alarms import Key
from controller.board import loss_words
from controller.config_remarks import floor_odds
from controller.refusal import WORDS, Refusal
from controller.snapshot import SignHealth, Snapshot
from controller.watch import Spans, Told, conditions, happened, shown_cents
from controller.watcher import AGAIN_US
from tests.books_house import BooksHouse
from tests.ledger_house import contract_plan, lock, opened, said

CENT = 1_000_000
QUIET = Told()


def found(snapshot: Snapshot, told: Told = QUIET, **more: Any) -> set[Key]:
    return set(conditions(snapshot, told, **more))


@pytest.fixture
def house() -> WatchHouse:
    return WatchHouse()


# ---------------------------------------------------------------------- what is wrong


def test_a_quiet_floor_has_no_condition() -> None:
    assert found(quiet_snapshot()) == set()


@pytest.mark.parametrize(("changes", "key"), [
    ({"stopped": "a trial"}, ("books-stopped", FLOOR)),
    ({"trouble": "the ledger cannot be written: disk full"}, ("ledger-failing", FLOOR)),
])
def test_a_book_in_trouble_is_a_condition(changes: Any, key: Key) -> None:
    assert found(replace(quiet_snapshot(), **changes)) == {key}


@pytest.mark.parametrize(("told", "key"), [
    (Told(clock_synchronised=False), ("clock-unsynchronised", FLOOR)),
    (Told(certificate_days=30), ("certificate-ending", FLOOR)),
    (Told(certificate_days=-1), ("certificate-ending", FLOOR)),
    (Told(stuck_us=2_000_000), ("ledger-slow", FLOOR)),
    (Told(slow_commits=3), ("ledger-slow", FLOOR)),
])
def test_what_the_box_tells_is_a_condition(told: Told, key: Key) -> None:
    assert found(quiet_snapshot(), told) == {key}


@pytest.mark.parametrize("told", [
    Told(clock_synchronised=True), Told(clock_synchronised=None), Told(certificate_days=31),
    Told(certificate_days=None), Told(stuck_us=1_999_999), Told(slow_commits=2),
])
def test_a_well_box_is_no_condition(told: Told) -> None:
    assert found(quiet_snapshot(), told) == set()


def test_a_table_that_people_have_closed_may_be_dark() -> None:
    quiet = quiet_snapshot()
    tables = {**quiet.tables, "PG-01": replace(quiet.tables["PG-01"], closed=True)}
    assert found(replace(quiet, devices=silent(quiet), tables=tables)) == set()


@pytest.mark.parametrize(("loss", "kind"), [
    ({"kind": "loss", "first": 4, "kept_first": 5}, "messages-lost"),
    ({"kind": "loss", "first": 4, "kept_first": 9}, "messages-lost"),
    ({"kind": "difference", "theirs": 4, "ours": 5}, "totals-differ"),
])
def test_a_loss_is_told_from_a_difference_by_the_boards_own_words(loss: Any, kind: str) -> None:
    quiet = quiet_snapshot()
    tables = {**quiet.tables, "PG-02": replace(quiet.tables["PG-02"], loss=loss_words(loss))}
    assert found(replace(quiet, tables=tables)) == {(kind, "PG-02")}


def test_a_meter_at_its_limit_is_a_condition_and_a_cent_below_is_none() -> None:
    quiet = quiet_snapshot()

    def at(cents: int) -> set[Key]:
        meter = replace(quiet.meters["pg-solo"], display_microcents=cents * CENT)
        return found(replace(quiet, meters={**quiet.meters, "pg-solo": meter}))

    assert (at(24_999_999), at(25_000_000)) == (set(), {("limit-reached", "pg-solo")})


def test_the_oldest_award_of_a_table_is_named_once_it_has_waited_too_long() -> None:
    late, later = award("PG-02", 229, 2, NOW - 1_800 * SECOND), award("PG-02", 230, 4, NOW - 1_801 * SECOND)
    (one,) = conditions(replace(quiet_snapshot(), waiting=(later, late)), Told()).values()
    assert (one.place, one.what) == ("PG-02", "Game 230, seat 4: $7,406.18 has waited for 30 minutes")


def test_an_award_has_not_waited_too_long_before_its_minutes_are_over() -> None:
    waiting = (award("PG-02", 229, 2, NOW - 299 * SECOND),)
    assert found(replace(quiet_snapshot(), waiting=waiting), Told(award_minutes=5)) == set()


def test_a_way_by_which_alarms_do_not_get_through_rings_after_a_minute_and_is_named(house: WatchHouse) -> None:
    house.told = Told(not_told={"mail": "SMTPAuthenticationError 535", "webhook": "Refused 500"})
    house.look(60)
    before = house.standing()
    house.look()
    alarm = house.alarm("alarms-not-told", "floor")
    assert (before, alarm and alarm.what) == (
        set(), "Alarms do not get through by mail (SMTPAuthenticationError 535) and webhook (Refused 500)")


def test_a_way_that_fails_for_a_moment_only_rings_nowhere(house: WatchHouse) -> None:
    for why in ("OSError 111", "") * 5:
        house.told = Told(not_told={"mail": why} if why else {})
        house.look(40)
    assert house.standing() == set()


# ---------------------------------------------------------------------- incidents


def test_d1_a_hit_that_a_line_fault_kept_back_is_not_forgotten(house: WatchHouse) -> None:
    """D1: the line breaks over a winning hand. Line, held hand and unpaid award each ring until people answer."""
    house.look(61, devices=silent(house.snapshot))
    house.happens("held", {"message": {"type": "hits", "hits": []}, "seq": 9}, game=None)
    house.look(devices=live(house.snapshot))
    waiting = (award("PG-01", 413, 2, house.snapshot.at),)
    house.look(1_801, waiting=waiting)
    assert house.standing() == {"table-offline/PG-01", "hit-waits/PG-01", "award-waiting/PG-01"}


def test_d1_a_hand_that_is_not_accepted_rings_at_once(house: WatchHouse) -> None:
    house.happens("refused", {"message": {"type": "hits"}, "reason": "round-closed"})
    house.look()
    assert house.standing() == {"hit-refused/PG-01"}


def drifting(wagers: int, contributed: int, plan_entry: int = 9, begun_at: int = 92_041) -> WatchHouse:
    """A link whose configuration changed at ``begun_at`` wagers; since then ``wagers`` added ``contributed``."""
    house = WatchHouse()
    floor = house.shelf.floors["main"]
    meter = house.snapshot.meters["pg-link"]
    for name, view in house.snapshot.meters.items():
        floor.meters[name].wagers, floor.meters[name].players = view.wagers, -view.contributed_microcents
    floor.plan_entry = plan_entry
    house.look()
    total = meter.contributed_microcents + contributed
    changed = replace(meter, wagers=begun_at + wagers, contributed_microcents=total)
    house.look(meters={**house.snapshot.meters, "pg-link": changed})
    return house


FIVE_DOLLARS = 10 * CENT
"""What a $5.00 wager of paytable 4 adds: 1% to the meter and 1% to the reserve."""


def test_d6_a_rate_that_was_set_wrong_rings_within_the_first_hundred_wagers() -> None:
    """D6: for three days a progressive rose at another rate than approved, and nobody knew."""
    house = drifting(100, 100 * FIVE_DOLLARS // 2)
    assert house.standing() == {"rate-drift/pg-link"}


def test_d6_the_words_name_both_rates() -> None:
    alarm = drifting(100, 100 * FIVE_DOLLARS * 2).alarm("rate-drift", "pg-link")
    assert alarm is not None
    assert alarm.what == "100 wagers since the last change added 20 cents each, configured are 10 cents"


@pytest.mark.parametrize(("wagers", "contributed", "rings"), [
    (100, 100 * FIVE_DOLLARS, False),
    (100, 100 * FIVE_DOLLARS + 1, True),
    (100, 80 * FIVE_DOLLARS, False),
    (100, 80 * FIVE_DOLLARS - 1, True),
    (99, 0, False),
])
def test_d6_the_bounds_of_the_rate_are_exact(wagers: int, contributed: int, rings: bool) -> None:
    assert (drifting(wagers, contributed).standing() == {"rate-drift/pg-link"}) is rings


def test_d6_under_the_first_configuration_the_watch_begins_at_nothing_and_makes_no_entry() -> None:
    house = drifting(0, 0, plan_entry=2)
    assert house.shelf.entries == []


def test_d6_a_changed_configuration_makes_one_entry_for_each_book() -> None:
    house = drifting(0, 0)
    house.look(5)
    assert [entry.kind for entry in house.shelf.entries] == ["watch-begun"]


def test_d6_the_entry_of_a_watch_is_made_again_the_same() -> None:
    house = drifting(0, 0)
    floor = house.shelf.floors["main"]
    floor.number -= 1
    drift.begin(floor, house.shelf.entries[0].at)
    assert floor.drain()[0] == house.shelf.entries


def hits_seen(hits: int, wagers: int, chance: Fraction) -> bool:
    meter = replace(quiet_snapshot().meters["pg-link"], wagers=wagers, contributed_microcents=wagers * FIVE_DOLLARS,
                    rows=(replace(quiet_snapshot().meters["pg-link"].rows[0], hits=hits),))
    snapshot = replace(quiet_snapshot(), meters={"pg-link": meter})
    return any(one.kind == "hits-drift" for one in drift.drifts(
        snapshot, {"pg-link": drift.Figures()}, {"pg-link": chance}))


@pytest.mark.parametrize(("hits", "rings"), [(500, False), (635, True), (365, True), (634, False), (366, False)])
def test_d6_hits_ring_beyond_six_deviations_of_rare_events(hits: int, rings: bool) -> None:
    """With 500 expected: (hits - 500) squared against 36 x 501 = 18,036, whose root is 134.3."""
    assert hits_seen(hits, 500_000, Fraction(1, 1_000)) is rings


def test_d6_one_lucky_hit_of_a_rare_row_is_no_drift() -> None:
    assert not hits_seen(3, 200, Fraction(1, 1_000_000))


def test_d6_the_chance_of_a_hit_is_that_of_the_shipped_paytable() -> None:
    """A hand of paytable 1 or 4: both list four of a kind and better, paytable 1 full houses too."""
    plan = contract_plan()
    chances = drift.chances_of(plan, floor_odds(plan).known)
    assert set(chances) == set(plan.meters)
    assert all(Fraction(1, 1_000) < chance < Fraction(1, 10) for chance in chances.values())


def signed(told: str, cents: int, digits: int = 11, up: bool = True, **more: Any) -> WatchHouse:
    """A LED sign that was told ``told`` while its meter stands at ``cents``, watched for a minute."""
    sign = replace(sign_plan("led-1", None, ("pg-link",)), digits=digits)
    house = WatchHouse(signs=(sign,))
    meter = replace(house.snapshot.meters["pg-link"], display_microcents=cents * CENT)
    house.look(60, meters={**house.snapshot.meters, "pg-link": meter},
               signs={"led-1": SignHealth("led-1", "alpha", up, told, NOW)}, **more)
    return house


def test_d15_a_sign_that_shows_less_than_its_meter_holds_rings() -> None:
    """D15: the sign showed $835.06 while the device held $1,000,000.82."""
    house = signed("$835.06", 100_000_082)
    assert house.standing() == {"sign-differs/led-1"}


def test_d15_the_words_name_both_amounts() -> None:
    alarm = signed("$835.06", 100_000_082).alarm("sign-differs", "led-1")
    assert alarm is not None
    assert alarm.what == "Sign led-1 was told $835.06, meter pg-link stands at $1,000,000.82"


@pytest.mark.parametrize("told", ["$12,005.88", "", "NOT LIVE", "PENDING / TABLE PG-02 / SEAT 2 $7,401.18 / NOW "])
def test_d15_a_sign_that_agrees_or_says_something_else_is_right(told: str) -> None:
    assert signed(told, 1_200_588).standing() == set()


def test_d15_a_sign_with_too_few_digits_shows_as_much_as_it_can() -> None:
    assert signed("$9,999.99", 1_200_588, digits=6).standing() == set()


def test_d15_a_sign_a_moment_behind_a_busy_meter_is_right(house: WatchHouse) -> None:
    """A line of a LED sign is written now and then: any amount of the last 15 s will do."""
    spans, meter = Spans(), house.snapshot.meters["pg-link"]
    signs = (sign_plan("led-1", None, ("pg-link",)),)
    kinds = set()
    for second in range(300):
        cents = 1_200_000 + second
        told = SignHealth("led-1", "alpha", True, f"${(cents - 9) // 100:,}.{(cents - 9) % 100:02d}", NOW)
        shown = replace(house.snapshot, at=NOW + second * SECOND, signs={"led-1": told},
                        meters={"pg-link": replace(meter, display_microcents=cents * CENT)})
        spans.note(shown)
        kinds |= found(shown, signs=signs, spans=spans) if second > 15 else set()
    assert kinds == set()


@pytest.mark.parametrize(("told", "cents"), [
    ("$1,234.56", [123_456]), ("$1,234.56 / $0.07", [123_456, 7]), ("$1,234.56, $2.00", [123_456, 200]),
])
def test_d15_amounts_are_read_as_the_sign_was_told(told: str, cents: list[int]) -> None:
    assert shown_cents(SignHealth("s", "alpha", True, told, NOW), len(cents)) == cents


def read_on_the_sign(house: WatchHouse, amount: str) -> set[str]:
    """Staff enter what a sign shows, by the desk's own act; what rings then."""
    floor = house.shelf.floors["main"]
    floor.meters["pg-link"].display, floor.meters["pg-link"].house = 1_200_588 * CENT, -1_200_588 * CENT
    act = read_act("sign-read", "act-00000001", {"meter": "pg-link", "read": amount}, CARL)
    house.shelf.enter("main", lambda one, at: desk.act(one, act, at))
    house.look()
    return house.standing()


def test_d15_what_staff_read_on_a_sign_rings_when_it_is_not_what_the_meter_holds(house: WatchHouse) -> None:
    assert read_on_the_sign(house, "$835.06") == {"reading-differs/pg-link"}


def test_d15_what_staff_read_rings_not_when_it_agrees(house: WatchHouse) -> None:
    assert read_on_the_sign(house, "$12,005.88") == set()


def test_d27_each_sign_that_is_not_reached_rings_for_itself(house: WatchHouse) -> None:
    """D27: a display problem at 13 linked machines; a group's health says nothing of one sign."""
    signs = {f"led-{number}": SignHealth(f"led-{number}", "alpha", number != 7, "$1.00", NOW) for number in range(13)}
    house.look(11, signs=signs)
    assert house.standing() == {"sign-not-reached/led-7"}


def test_d27_a_second_sign_is_a_second_alarm(house: WatchHouse) -> None:
    signs = {name: SignHealth(name, "alpha", False, "", 0) for name in ("led-1", "led-2")}
    house.look(11, signs=signs)
    assert house.entered() == ["raised", "raised"]


def test_we05_guessing_secrets_rings_and_a_slip_of_the_finger_does_not(house: WatchHouse) -> None:
    """WE-05: the register's own doubling tells how often."""
    house.happens("sign-in-refused", {"by": [], "fields": {"count": 4}, "told": {}}, table=None, game=None)
    house.look()
    before = house.standing()
    house.happens("sign-in-refused", {"by": [], "fields": {"count": 8}, "told": {}}, table=None, game=None)
    house.look()
    assert (before, house.standing()) == (set(), {"sign-in-guessed/floor"})


# ---------------------------------------------------------------------- what has happened


@pytest.mark.parametrize(("kind", "body", "alarm"), [
    ("count", {"message": {"chips": 3}, "accepted": 4, "difference": -1}, "chip-difference"),
    ("void", {"message": {"type": "void", "reason": "exposed card"}}, "misdeal"),
    ("hits", {"message": {"type": "hits"}, "apart": ["pg-link"]}, "settled-apart"),
    ("refused", {"message": {"type": "lock"}, "reason": "unreasonable-contribution"}, "lock-refused"),
    ("refused", {"message": {"malformed": "x"}, "reason": "malformed"}, "unit-fault"),
    ("fault", {"message": {"type": "lock"}, "reason": "content-differs", "seq": 4}, "unit-fault"),
])
def test_what_happened_at_a_table_rings_there(house: WatchHouse, kind: str, body: Any, alarm: str) -> None:
    house.happens(kind, body)
    house.look()
    assert house.standing() == {f"{alarm}/PG-01"}


@pytest.mark.parametrize(("kind", "body"), [
    ("count", {"message": {"chips": 4}, "accepted": 4}),
    ("hits", {"message": {"type": "hits"}, "apart": []}),
    ("refused", {"message": {"type": "count"}, "reason": "no-such-round"}),
    ("held", {"message": {"type": "lock"}, "seq": 4}),
    ("lock", {"message": {"type": "lock"}}),
])
def test_what_is_as_it_should_be_rings_nowhere(house: WatchHouse, kind: str, body: Any) -> None:
    house.happens(kind, body)
    house.look()
    assert house.standing() == set()


def test_every_reason_of_a_refusal_has_words_for_the_alarm(house: WatchHouse) -> None:
    entry = house.shelf.floors["main"].enter("refused", NOW, table="PG-01")
    for reason in Refusal:
        made = happened(entry, {"message": {"type": "lock"}, "reason": reason.value})
        assert made is not None
        assert made.what == WORDS[reason][0]


def test_every_misdeal_is_counted_though_entries_are_a_minute_apart(house: WatchHouse) -> None:
    for _ in range(9):
        house.happens("void", {"message": {"type": "void"}})
        house.look(10)
    house.look(60)
    alarm = house.alarm("misdeal", "PG-01")
    assert alarm is not None
    assert (alarm.count, house.entered()) == (9, ["raised", "raised", "raised"])


def test_sd09_a_flood_of_refused_lock_outs_makes_an_entry_a_minute(house: WatchHouse) -> None:
    """SD-09: a thousand refused messages a second write no thousand alarms."""
    for _ in range(120):
        for _ in range(50):
            house.happens("refused", {"message": {"type": "lock"}, "reason": "wrong-wager"})
        house.look()
    alarm = house.alarm("lock-refused", "PG-01")
    assert alarm is not None
    assert len(house.entered()) == 120 * SECOND // AGAIN_US
    assert alarm.count == 50 * 61


def test_what_happened_while_an_entry_could_not_be_made_is_not_lost(house: WatchHouse) -> None:
    house.happens("void", {"message": {"type": "void"}})
    house.shelf.fails = True
    house.look(3)
    house.shelf.fails = False
    house.look(60)
    assert (house.standing(), house.steps("misdeal")) == ({"misdeal/PG-01"}, ["raised"])


def test_what_was_counted_before_a_restart_is_not_counted_again(house: WatchHouse) -> None:
    body = {"message": {"type": "void"}}
    number = house.happens("void", body)
    house.look()
    house.restart()
    entry = house.shelf.floors["main"].enter("void", house.shelf.at, table="PG-01", game=7, body=body)
    house.shelf.board.learn_entry(entry._replace(number=number), body)
    house.look(61)
    alarm = house.alarm("misdeal", "PG-01")
    assert alarm is not None
    assert alarm.count == 1


# ---------------------------------------------------------------------- on a real ledger


async def test_real_entries_of_a_table_ring(tmp_path: Path) -> None:
    """A misdeal, a wrong count and a refused lock-out as the engine writes them."""
    path = opened(tmp_path / "l.db")
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1))
        await house.send(said("count", 2, round=1, chips=3))
        await house.send(said("void", 3, round=1, reason="exposed"))
        await house.send(lock(4, 2, cents=400))
        await house.send(said("hits", 5, round=9, hits=[{"seat": 1, "spot": "progressive", "outcome": "five-aces"}]))
        made = [happened(entry, json.loads(entry.body)) for entry in house.reader.entries("main")]
    kinds = {one.kind for one in made if one is not None}
    assert kinds == {"chip-difference", "misdeal", "lock-refused", "hit-refused"}
