"""An alarm's life on a real engine: raised, acknowledged, cleared, told on, counted, kept; and its acts' rules."""

import itertools
import json
from copy import deepcopy
from typing import Any

import pytest
from floors import contract_floor, plan_of

from controller.acts import Act, ActRefused, Why
from controller.alarm_acts import ALARM_RULES, may_answer
from controller.alarm_kinds import ALARMS, FLOOR, ORDER, Place
from controller.alarms import (
    LIFE,
    Alarm,
    NotInItsLife,
    State,
    Step,
    alarm_from,
    alarm_of,
    alarm_row,
    alarms_of,
    book_of,
    clear_alarm,
    enter_again,
    escalate,
    moved,
    next_rung_at,
    raise_alarm,
    worst_first,
)
from controller.floor import Floor
from controller.people import Person, Role

AT = 1_796_162_400_000_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
ANNA = Person("anna", Role.SUPERVISOR, "table-games")
CARL = Person("carl", Role.SHIFT_MANAGER, "table-games")
EVE = Person("eve", Role.TECHNICIAN, "it")
PLAN = plan_of(contract_floor())


@pytest.fixture
def floor() -> Floor:
    found = Floor.opened(PLAN, at=AT)
    found.drain()
    return found


def answered(floor: Floor, act: str, kind: str, place: str, by: Person = ANNA, at: int = AT) -> Any:
    """One act about an alarm, by its rule."""
    return ALARM_RULES[act](floor, Act(act, "act-00000001", by, None, None, {"alarm": kind, "place": place}), at)


def refused(floor: Floor, act: str, kind: str, place: str, by: Person = ANNA) -> Why:
    before = dict(floor.rows.get("alarm", {}))
    with pytest.raises(ActRefused) as wrong:
        answered(floor, act, kind, place, by)
    assert floor.rows.get("alarm", {}) == before
    return wrong.value.why


def steps(floor: Floor) -> list[str]:
    """The steps of the daemon's entries since the last look."""
    entries, _ = floor.drain()
    return [json.loads(entry.body)["step"] for entry in entries if entry.kind == "alarm"]


def offline(floor: Floor, at: int = AT) -> Alarm:
    return raise_alarm(
        floor, "table-offline", "PG-01", "The table unit of PG-01 is not heard", at, since=at - MINUTE, table="PG-01")


def misdeal(floor: Floor, entry: int, at: int = AT, count: int = 1) -> Alarm:
    return raise_alarm(floor, "misdeal", "PG-01", f"Game {entry}: misdealt", at, entry=entry, count=count)


def state(floor: Floor, kind: str = "table-offline", place: str = "PG-01") -> State:
    alarm = alarm_of(floor, kind, place)
    return State.NONE if alarm is None else alarm.state


# ---------------------------------------------------------------------- life


@pytest.mark.parametrize(("before", "step"), list(itertools.product(State, Step)))
def test_every_step_in_every_state_is_in_the_table_or_refused(before: State, step: Step) -> None:
    if step in LIFE[before]:
        assert moved(before, step) is LIFE[before][step]
    else:
        with pytest.raises(NotInItsLife):
            moved(before, step)


def test_an_alarm_is_raised_acknowledged_and_cleared_with_who_and_when(floor: Floor) -> None:
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01", at=AT + 5)
    cleared = clear_alarm(floor, "table-offline", "PG-01", AT + 9)
    assert (cleared.state, cleared.raised_at, cleared.acknowledged_by, cleared.acknowledged_at, cleared.cleared_at) == (
        State.CLEARED, AT, ANNA, AT + 5, AT + 9)


def test_an_alarm_whose_cause_goes_first_still_waits_for_somebody(floor: Floor) -> None:
    offline(floor)
    gone = clear_alarm(floor, "table-offline", "PG-01", AT + 9)
    assert gone.waits
    assert gone.state is State.GONE


def test_acknowledging_an_alarm_whose_cause_has_gone_ends_it(floor: Floor) -> None:
    offline(floor)
    clear_alarm(floor, "table-offline", "PG-01", AT + 9)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    assert state(floor) is State.CLEARED


def test_the_same_again_counts_up_and_is_one_alarm(floor: Floor) -> None:
    misdeal(floor, 7)
    misdeal(floor, 9, count=2)
    (alarm,) = alarms_of(floor).values()
    assert (alarm.count, alarm.entry, alarm.what) == (3, 9, "Game 9: misdealt")


def test_what_happens_again_after_somebody_acknowledged_it_waits_anew(floor: Floor) -> None:
    misdeal(floor, 7)
    answered(floor, "alarm-acknowledged", "misdeal", "PG-01")
    again = misdeal(floor, 9, AT + MINUTE)
    assert (again.state, again.count, again.rung, again.acknowledged_by) == (State.RAISED, 2, 0, None)


def test_a_cause_that_holds_is_not_raised_over_somebodys_acknowledgement(floor: Floor) -> None:
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    with pytest.raises(NotInItsLife):
        offline(floor, AT + 1)


def test_after_it_was_cleared_the_next_one_counts_from_one(floor: Floor) -> None:
    misdeal(floor, 7)
    answered(floor, "alarm-acknowledged", "misdeal", "PG-01")
    answered(floor, "alarm-cleared", "misdeal", "PG-01")
    assert misdeal(floor, 9).count == 1


def test_one_entry_for_each_step_and_none_besides(floor: Floor) -> None:
    offline(floor)
    escalate(floor, "table-offline", "PG-01", ["shift-manager"], AT + 1)
    clear_alarm(floor, "table-offline", "PG-01", AT + 2)
    assert steps(floor) == ["raised", "escalated", "cleared"]


def test_the_entry_says_alarm_place_what_step_and_its_table(floor: Floor) -> None:
    offline(floor)
    (entry,), _ = floor.drain()
    assert (entry.kind, entry.table) == ("alarm", "PG-01")
    assert json.loads(entry.body) == {
        "alarm": "table-offline", "place": "PG-01", "step": "raised", "what": "The table unit of PG-01 is not heard",
        "cause": 0, "count": 1, "since": AT - MINUTE}


def test_clearing_what_was_never_raised_is_an_error_and_no_entry(floor: Floor) -> None:
    with pytest.raises(KeyError):
        clear_alarm(floor, "table-offline", "PG-01", AT)
    assert steps(floor) == []


# ---------------------------------------------------------------------- kept, and made again


def test_an_alarm_survives_a_restart_by_its_row(floor: Floor) -> None:
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    before = alarms_of(floor)
    _, rows = floor.drain()
    kept = [row for row in rows if row.kind == "alarm"]
    again = Floor.loaded(PLAN, "main", kept, floor.number, 2, {}, boots_elsewhere=False)
    assert alarms_of(again) == before


def test_a_row_is_read_back_as_it_was_written(floor: Floor) -> None:
    alarm = offline(floor)
    assert alarm_from(json.loads(json.dumps(alarm_row(alarm)))) == alarm


def test_the_daemons_entries_are_made_again_the_same_from_their_bodies(floor: Floor) -> None:
    offline(floor)
    escalate(floor, "table-offline", "PG-01", ["shift-manager"], AT + 1, table="PG-01")
    clear_alarm(floor, "table-offline", "PG-01", AT + 2, more=3, table="PG-01")
    misdeal(floor, 7, AT + 3)
    made, rows = floor.drain()
    again = Floor.opened(PLAN, at=AT)
    again.drain()
    for entry in made:
        enter_again(again, json.loads(entry.body), entry.table, entry.at)
    assert again.drain() == (made, rows)


def test_a_kind_that_this_version_does_not_know_is_no_alarm_of_it(floor: Floor) -> None:
    floor.keep("alarm", "old-kind/PG-01", {"kind": "old-kind"})
    assert alarms_of(floor) == {}


# ---------------------------------------------------------------------- acts


def test_an_alarm_cannot_be_acknowledged_twice(floor: Floor) -> None:
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    assert refused(floor, "alarm-acknowledged", "table-offline", "PG-01", CARL) is Why.ALREADY_DONE


def test_nobody_acknowledges_an_alarm_that_is_not(floor: Floor) -> None:
    assert refused(floor, "alarm-acknowledged", "table-offline", "PG-02") is Why.NOT_FOUND


def test_nobody_acknowledges_an_alarm_of_no_kind(floor: Floor) -> None:
    assert refused(floor, "alarm-acknowledged", "volcano", "PG-01") is Why.NOT_FOUND


def test_nobody_silences_what_is_anothers_to_look_at(floor: Floor) -> None:
    raise_alarm(floor, "certificate-ending", FLOOR, "A certificate ends in 3 days", AT)
    assert refused(floor, "alarm-acknowledged", "certificate-ending", FLOOR, ANNA) is Why.NOT_ALLOWED


def test_whom_the_ladder_names_may_acknowledge(floor: Floor) -> None:
    raise_alarm(floor, "certificate-ending", FLOOR, "A certificate ends in 3 days", AT)
    answered(floor, "alarm-acknowledged", "certificate-ending", FLOOR, EVE)
    assert state(floor, "certificate-ending", FLOOR) is State.ACKNOWLEDGED


def test_an_alarm_whose_cause_holds_is_cleared_by_nobody(floor: Floor) -> None:
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    assert refused(floor, "alarm-cleared", "table-offline", "PG-01") is Why.NOT_NOW


def test_a_misdeal_is_cleared_by_a_person_only_after_somebody_acknowledged_it(floor: Floor) -> None:
    misdeal(floor, 7)
    assert refused(floor, "alarm-cleared", "misdeal", "PG-01") is Why.NOT_NOW


def test_who_cleared_a_misdeal_is_kept(floor: Floor) -> None:
    misdeal(floor, 7)
    answered(floor, "alarm-acknowledged", "misdeal", "PG-01", ANNA)
    answered(floor, "alarm-cleared", "misdeal", "PG-01", CARL, AT + 3)
    alarm = alarm_of(floor, "misdeal", "PG-01")
    assert alarm is not None
    assert (alarm.cleared_by, alarm.cleared_at) == (CARL, AT + 3)


def test_what_an_act_tells_is_for_the_floor(floor: Floor) -> None:
    misdeal(floor, 7)
    told = answered(floor, "alarm-acknowledged", "misdeal", "PG-01").told
    assert told["words"] == "alarm acknowledged: A game was misdealt, table PG-01"


# ---------------------------------------------------------------------- the table of kinds


@pytest.mark.parametrize("kind", list(ALARMS.values()), ids=lambda kind: kind.name)
def test_a_ladder_rises_and_begins_when_the_alarm_is_raised(kind: Any) -> None:
    times = [rung.after_s for rung in kind.ladder]
    assert times == sorted(set(times))
    assert times[0] in (0, 60)
    assert all(rung.roles for rung in kind.ladder)


@pytest.mark.parametrize("kind", list(ALARMS.values()), ids=lambda kind: kind.name)
def test_whoever_is_told_may_answer_but_surveillance_which_only_looks(kind: Any) -> None:
    assert all(may_answer(kind, role) == (role is not Role.SURVEILLANCE) for role in kind.roles())
    assert not may_answer(kind, Role.SURVEILLANCE)


def test_a_break_is_told_on_at_60_seconds_10_minutes_and_30_minutes() -> None:
    """R-90: surveillance and the shift's supervisor after 60 s, then ever higher."""
    kind = ALARMS["table-offline"]
    assert kind.after_s == 60
    assert [rung.after_s for rung in kind.ladder] == [60, 600, 1_800]
    assert set(kind.ladder[0].roles) == {Role.SUPERVISOR, Role.SURVEILLANCE}


def test_a_breaks_clock_goes_on_though_somebody_acknowledged_it(floor: Floor) -> None:
    """R-90: it is the break that lasts too long, not the silence of people."""
    offline(floor)
    answered(floor, "alarm-acknowledged", "table-offline", "PG-01")
    alarm = alarm_of(floor, "table-offline", "PG-01")
    assert alarm is not None
    assert next_rung_at(alarm) == AT - MINUTE + 10 * MINUTE


def test_what_is_acknowledged_and_no_break_is_told_on_no_more(floor: Floor) -> None:
    misdeal(floor, 7)
    answered(floor, "alarm-acknowledged", "misdeal", "PG-01")
    alarm = alarm_of(floor, "misdeal", "PG-01")
    assert alarm is not None
    assert next_rung_at(alarm) is None


def test_nobody_is_told_beyond_the_top_of_a_ladder(floor: Floor) -> None:
    offline(floor)
    for _ in range(2):
        escalate(floor, "table-offline", "PG-01", [], AT)
    alarm = alarm_of(floor, "table-offline", "PG-01")
    assert alarm is not None
    assert next_rung_at(alarm) is None


def test_what_stops_play_stands_before_what_does_not() -> None:
    made = [Alarm(kind, "x", State.RAISED, "", 0, 0) for kind in reversed(ALARMS)]
    ordered = [alarm.told_of.stops for alarm in worst_first(made)]
    assert ordered == sorted(ordered, reverse=True)


def test_what_waits_for_somebody_stands_before_what_was_acknowledged() -> None:
    stopped = Alarm("books-stopped", FLOOR, State.ACKNOWLEDGED, "", 0, 0)
    slow = Alarm("ledger-slow", FLOOR, State.RAISED, "", 0, 0)
    assert worst_first([stopped, slow]) == (slow, stopped)


def test_an_alarm_is_kept_in_the_book_of_its_table_or_meter_else_in_the_first() -> None:
    floor, paytables = deepcopy(contract_floor())
    solo = next(meter for meter in floor["meter"] if meter["id"] == "pg-solo")
    solo["book"] = "second"
    plan = plan_of((floor, paytables))
    assert [book_of(plan, "table-offline", "PG-03"), book_of(plan, "limit-reached", "pg-solo"),
            book_of(plan, "clock-unsynchronised", FLOOR), book_of(plan, "sign-differs", "led-1")] == [
        "second", "second", "main", "main"]


def test_every_kind_of_the_floors_issue_is_there() -> None:
    wanted = {
        "table-offline", "messages-lost", "chip-difference", "totals-differ", "lock-refused", "sign-not-reached",
        "ledger-slow", "ledger-failing", "award-waiting", "limit-reached", "clock-unsynchronised",
        "certificate-ending", "rate-drift", "hits-drift", "misdeal", "settled-apart", "books-stopped"}
    assert wanted <= set(ALARMS)


def test_the_order_names_every_kind() -> None:
    assert set(ORDER) == set(ALARMS)
    assert all(kind.place is Place.FLOOR for kind in ALARMS.values() if kind.name.startswith(("books", "ledger")))
