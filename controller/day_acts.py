"""The gaming day: signs are read, checks made, shifts handed over, and accounting closes the day. Pure (R-79..R-84).

A day is closed once, in its order from the ledger's first one on, after it has ended; what is entered later falls in
the open day. What the entry says of a day is how it ended, whenever it is signed: the ledger is asked for it before.
"""

from datetime import date, timedelta
from typing import Any

from controller.acts import Act, ActRefused, Why, named
from controller.alarms import alarms_of
from controller.carried import how_many, listed, listed_alarms, owing
from controller.checks import CHECKS, Check, Of
from controller.floor import Floor
from controller.floor_state import ACCOUNTS, Round
from controller.journal import DAY_RULES
from controller.meter_acts import meter_of
from controller.money import MICROCENTS_PER_CENT, whole_cents
from controller.outcome import Outcome

CLOSED = "closed"
HOLDS_MAX = 64
COUNTS_KEPT = 2_000
"""Games whose counts differ that are followed from one day to the next; of more, the last by table and game."""


def last_closed(floor: Floor) -> date | None:
    """The last gaming day that accounting has closed in this book, or None."""
    kept = floor.rows.get("day", {}).get(CLOSED)
    return None if kept is None else date.fromisoformat(kept["day"])


def read_day(text: str) -> date | None:
    """A gaming day as people write it, or None."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def balances(floor: Floor) -> dict[str, dict[str, int]]:
    """Every account of every meter, in microcents."""
    return {name: {account: getattr(meter, account) for account in ACCOUNTS} for name, meter in floor.meters.items()}


def close_day(floor: Floor, act: Act, at: int) -> Outcome:
    """Accounting signs a day that has ended: with the balances at its end, and what is carried over from it.

    Awards, envy and counts are those that were open at the day's end; alarms, those that are when it is signed.
    """
    day = read_day(act.fields["day"])
    if day is None:
        raise ActRefused(Why.WRONG_FIELD, f"{act.fields['day'][:20]} is no day", "write a day like 2026-12-31")
    if floor.rules < DAY_RULES:
        return _close_as_it_stands(floor, act, at, day)
    told, last = floor.day_end, last_closed(floor)
    if told is None or told.day != day:
        raise ActRefused(Why.WRONG_FIELD, f"no ledger has a day {day}", "write a day like 2026-12-31")
    if last is not None and day <= last:
        raise ActRefused(Why.ALREADY_DONE, f"the days up to {last} are closed", f"close {last + timedelta(days=1)}")
    if day < told.first:
        raise ActRefused(Why.NOT_FOUND, f"this ledger begins with the gaming day {told.first}",
                         f"close {told.next}")
    if at < told.end:
        raise ActRefused(Why.NOT_NOW, f"the gaming day {day} has not ended", "close it when the next one has begun")
    if day != told.next:
        raise ActRefused(Why.NOT_NOW, f"{told.next} is not closed yet",
                         f"close the days in their order: {told.next} first")
    if told.balances is None or told.after != ("" if last is None else last.isoformat()):
        raise ActRefused(Why.NOT_NOW, "another day was closed in this moment", "look at the page, and close it again")
    floor.keep("day", CLOSED, {"at": at, "by": list(act.by), "counts": told.counts[-COUNTS_KEPT:],
                               "day": day.isoformat()})
    carried = {**told.open, "alarms": listed_alarms(alarms_of(floor).values())}
    return Outcome({"awards_pending": how_many(told.open["awards"]), "balances": told.balances, "carried": carried,
                    "day": day.isoformat(), "end": told.end})


def _close_as_it_stands(floor: Floor, act: Act, at: int, day: date) -> Outcome:
    """As the rules were before version 3: with the balances at the moment of signing, beginning with any day."""
    if day >= floor.plan.gaming_day(at):
        raise ActRefused(Why.NOT_NOW, f"the gaming day {day} has not ended", "close it when the next one has begun")
    last = last_closed(floor)
    if last is not None and day <= last:
        raise ActRefused(Why.ALREADY_DONE, f"the days up to {last} are closed", "close the next one")
    if last is not None and day != last + timedelta(days=1):
        raise ActRefused(Why.NOT_NOW, f"{last + timedelta(days=1)} is not closed yet", "close the days in their order")
    floor.keep("day", CLOSED, {"at": at, "by": list(act.by), "day": day.isoformat()})
    return Outcome({"awards_pending": floor.awards_pending, "balances": balances(floor), "day": day.isoformat()})


def read_sign(floor: Floor, act: Act, _at: int) -> Outcome:
    """What staff read on a sign, against the meter at that moment; a difference is for people to explain (D15)."""
    meter = meter_of(floor, act.fields["meter"])
    read, shown = act.fields["read"], whole_cents(meter.display)
    told: dict[str, Any] = {"difference": read - shown, "meter": shown,
                            "fraction": meter.display - shown * MICROCENTS_PER_CENT}
    return Outcome(told)


def enter_check(floor: Floor, act: Act, at: int) -> Outcome:
    """A check of the due list has been made: which, of what, and what was found (R-79, R-81..R-83, R-104, R-120)."""
    check = CHECKS[act.fields["check"]]
    if act.by.role not in check.by:
        raise ActRefused(Why.NOT_ALLOWED, f"{act.by.words()} may not enter this check: {check.name}",
                         f"ask {named(check.by)}")
    _refuse_place(floor, act, check)
    table = act.fields.get("table")
    return Outcome({"day": floor.plan.gaming_day(at).isoformat(), "words": f"{check.name} is entered as done"},
                   table=table)


def _refuse_place(floor: Floor, act: Act, check: Check) -> None:
    """Raise ActRefused unless an act names just what its check is of: a table, a meter, or the entry that asks."""
    asked = {Of.TABLE: "table", Of.METER: "meter", Of.ENTRY: "entry"}.get(check.of)
    if asked is not None and asked not in act.fields:
        raise ActRefused(Why.WRONG_FIELD, f"{check.name} is of {check.of}, and none is named", f"name the {asked}")
    allowed = {asked, "table", "meter"} if check.of is Of.ENTRY else {asked}
    for field in ("table", "meter", "entry"):
        if field in act.fields and field not in allowed:
            raise ActRefused(Why.WRONG_FIELD, f"{check.name} is of {check.of}, not of a {field}",
                             f"leave the {field} empty")
    for field, known in (("table", floor.tables), ("meter", floor.meters)):
        if act.fields.get(field) not in (None, *known):
            raise ActRefused(Why.NOT_FOUND, f"there is no {field} {act.fields[field]}", "choose one from the page")
    if not 1 <= act.fields.get("entry", 1) <= floor.number:
        raise ActRefused(Why.NOT_FOUND, f"there is no entry {act.fields['entry']}", "look at the due list")


def hand_over(floor: Floor, _act: Act, _at: int) -> Outcome:
    """One shift manager hands the floor to the next: what is open goes with it, listed, and signed by both.

    The games that owe something must be in memory: ``tell_act``.
    """
    held = sorted(name for name, table in floor.tables.items() if table.loss is not None or table.held_by)
    if floor.rules >= DAY_RULES:
        open_ = listed(owing(games_of(floor))) | {"alarms": listed_alarms(alarms_of(floor).values())}
        return Outcome({"awards_pending": floor.awards_pending, "held": held, "open": open_})
    alarms = [f"{alarm.kind}/{alarm.place}" for alarm in alarms_of(floor).values() if alarm.stands]
    return Outcome({"alarms": sorted(alarms), "awards_pending": floor.awards_pending, "held": held})


def games_of(floor: Floor) -> list[Round]:
    """The games in memory."""
    return [*floor.games.values(), *(table.open for table in floor.tables.values() if table.open is not None)]


def set_hold(floor: Floor, act: Act, at: int) -> Outcome:
    """What the history beside the ledger keeps is pruned no more: a dispute may need it (D17)."""
    holds = floor.rows.get("hold", {})
    if act.fields["id"] in holds:
        raise ActRefused(Why.ALREADY_DONE, f"the hold {act.fields['id']} is set", "nothing to do")
    if len(holds) >= HOLDS_MAX:
        raise ActRefused(Why.NOT_NOW, f"{HOLDS_MAX} holds are set", "lift one that is not needed")
    floor.keep("hold", act.fields["id"], {"at": at, "by": list(act.by), "reason": act.fields["reason"]})
    return Outcome()


def lift_hold(floor: Floor, act: Act, _at: int) -> Outcome:
    """The dispute is over: two people say so."""
    if act.fields["id"] not in floor.rows.get("hold", {}):
        raise ActRefused(Why.NOT_FOUND, f"there is no hold {act.fields['id']}", "look at the list of holds")
    floor.keep("hold", act.fields["id"], None)
    return Outcome()


RULES = {
    "check-done": enter_check, "day-closed": close_day, "handed-over": hand_over, "hold-lifted": lift_hold,
    "hold-set": set_hold, "sign-read": read_sign,
}
