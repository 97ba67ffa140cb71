"""Changing a meter by hand: only for a listed reason, by two people of different departments. Pure (R-37..R-46).

Before, after and reason stand in the entry. Every change counts as a taking by others: a round's later hits are then
settled apart, so that no settlement can undo what people did. A lowering is listed as a notice due within 24 hours.
"""

from datetime import date
from typing import Any

from controller.acts import Act, ActRefused, Why
from controller.floor import Floor
from controller.floor_state import Meter
from controller.journal import TABLE_RULES, Posting, post
from controller.links import forget_meter, tables_that_left
from controller.meter import lay
from controller.money import ACCOUNT_MICROCENTS_MAX, MICROCENTS_PER_CENT, format_cents, format_microcents
from controller.outcome import Outcome

RAISES = ("restoration", "malfunction-correction")
LOWERS = ("malfunction-correction", "limit-correction")
NOTICE_US = 24 * 3_600 * 1_000_000
"""A lowering is reported within so long (R-38)."""


def meter_of(floor: Floor, name: str) -> Meter:
    """A meter of the plan by its id; raises ActRefused."""
    meter = floor.meters.get(name)
    if meter is None or name not in floor.plan.meters:
        raise ActRefused(Why.NOT_FOUND, f"there is no meter {name} in this book", "choose one from the page")
    return meter


def _open_meter(floor: Floor, name: str) -> Meter:
    meter = meter_of(floor, name)
    if name in floor.rows.get("retired", {}):
        raise ActRefused(Why.NOT_NOW, f"the meter {name} is retired", "choose another one")
    if name in floor.unopened():
        raise ActRefused(Why.NOT_NOW, f"the meter {name} is not opened yet", "enter and accept its opening first")
    return meter


def _done(floor: Floor, meters: list[Meter], before: list[dict[str, int]], postings: list[Posting],
          more: dict[str, Any] | None = None) -> Outcome:
    for meter in meters:
        meter.taken_by("")
        floor.touch_meters(meter.plan.id)
    told = {"after": {meter.plan.id: amounts(meter) for meter in meters},
            "before": {meter.plan.id: was for meter, was in zip(meters, before, strict=True)}}
    return Outcome(told | dict(more or {}), tuple(postings))


def amounts(meter: Meter) -> dict[str, int]:
    """What a meter holds inside, in microcents."""
    return {account: getattr(meter, account) for account in ("display", "reserve", "overflow", "pending")}


def _owe_notice(floor: Floor, meter: Meter, microcents: int, why: str, at: int) -> dict[str, Any]:
    """A lowering: the regulator is to be told; its number is that of the entry made next."""
    number = str(floor.number + 1)
    floor.keep("notice-due", number, {
        "at": at, "due": at + NOTICE_US, "lowered": microcents, "meter": meter.plan.id, "why": why})
    return {"notice": int(number)}


def adjust(floor: Floor, act: Act, at: int) -> Outcome:
    """Raise or lower a display for a listed reason; the house stands on the other side."""
    meter = _open_meter(floor, act.fields["meter"])
    up, cents, code = act.fields["direction"] == "raise", act.fields["by_amount"], act.fields["code"]
    if code not in (RAISES if up else LOWERS):
        raise ActRefused(Why.WRONG_FIELD, f"a meter is not {'raised' if up else 'lowered'} for {code}",
                         "use one of " + ", ".join(RAISES if up else LOWERS))
    move = cents * MICROCENTS_PER_CENT
    if not cents:
        raise ActRefused(Why.WRONG_FIELD, "nothing is to be moved", "write an amount")
    if up:
        _refuse_beyond_limit(meter, meter.display + move)
    elif code == "limit-correction" and floor.rules >= TABLE_RULES:
        _refuse_below_limit(meter, meter.display - move)
    elif move > meter.display:
        raise ActRefused(Why.NOT_NOW, f"the meter stands at {format_microcents(meter.display)}",
                         "lower it by no more than that")  # MO-03
    before = amounts(meter)
    moved = move if up else -move
    postings = post(meter, (("display", moved), ("house", -moved)))
    more = {} if up else _owe_notice(floor, meter, move, code, at)
    return _done(floor, [meter], [before], postings, more)


def _refuse_beyond_limit(meter: Meter, display: int) -> None:
    """Nothing is put above a limit by hand (R-40, D11)."""
    limit = meter.plan.limit_cents
    if limit is not None and display > limit * MICROCENTS_PER_CENT:
        raise ActRefused(Why.NOT_NOW, f"the meter's limit is {format_cents(limit)}", "raise it by less")
    if display > ACCOUNT_MICROCENTS_MAX:
        raise ActRefused(Why.NOT_NOW, "the meter cannot hold so much", "raise it by less")


def _refuse_below_limit(meter: Meter, display: int) -> None:
    """What stands above a limit is brought down to it, and no further (R-37, R-40)."""
    limit = meter.plan.limit_cents
    if limit is None or meter.display <= limit * MICROCENTS_PER_CENT:
        what = "has no limit" if limit is None else f"does not stand above its limit, {format_cents(limit)}"
        raise ActRefused(Why.NOT_NOW, f"the meter {meter.plan.id} {what}", "give the true reason")
    if display < limit * MICROCENTS_PER_CENT:
        over = format_cents((meter.display - limit * MICROCENTS_PER_CENT) // MICROCENTS_PER_CENT)
        raise ActRefused(Why.NOT_NOW, f"the meter stands {over} above its limit, {format_cents(limit)}",
                         "lower it by no more than that")


def _tables_closed(floor: Floor, meter: str) -> None:
    """Nothing more may come to a meter, or be won of it by an open game: also one locked under an older plan."""
    linked = floor.plan.linked_tables(meter)
    for name, table in floor.tables.items():
        if name in linked and not table.closed:
            raise ActRefused(Why.NOT_NOW, f"table {name} still feeds {meter}", "close its tables first")
        if table.open is not None and any(feed.meter == meter for spot in table.open.plan.spots for feed in spot.feeds):
            raise ActRefused(Why.NOT_NOW, f"game {table.open.game} of table {name} may still win {meter}",
                             "let the dealer end the game first")


def transfer(floor: Floor, act: Act, at: int) -> Outcome:
    """What is above the seed, and reserve and overflow, goes to a like meter: both sides in one entry (R-41, D19)."""
    source, target = _open_meter(floor, act.fields["meter"]), _open_meter(floor, act.fields["to"])
    if source is target:
        raise ActRefused(Why.WRONG_FIELD, "a meter is not moved to itself", "choose another one")
    if (source.plan.paytable.id, source.plan.part) != (target.plan.paytable.id, target.plan.part):
        raise ActRefused(Why.NOT_NOW, f"{target.plan.id} is not a like meter: its paytable or part is another",
                         "choose one of the same paytable")
    _tables_closed(floor, source.plan.id)
    above = max(0, source.display - source.plan.seed_cents * MICROCENTS_PER_CENT)
    reserve, overflow = source.reserve, source.overflow
    if not above + reserve + overflow:
        raise ActRefused(Why.NOT_NOW, f"nothing is on {source.plan.id} but its seed", "nothing to do")
    laid = lay(target.plan, target.amounts(), above, reserve)
    laid = laid._replace(overflow=laid.overflow + overflow)
    if max(laid) > ACCOUNT_MICROCENTS_MAX:
        raise ActRefused(Why.NOT_NOW, f"{target.plan.id} cannot hold so much", "choose another one")
    before = [amounts(source), amounts(target)]
    whole = above + reserve + overflow
    was = target.amounts()
    postings = post(source, (("display", -above), ("reserve", -reserve), ("overflow", -overflow), ("house", whole)))
    postings += post(target, (
        ("display", laid.display - was.display), ("reserve", laid.reserve - was.reserve),
        ("overflow", laid.overflow - was.overflow), ("house", -whole)))
    _bring(floor, target, whole)
    more: dict[str, Any] = {"moved": whole}
    if above:
        more |= _owe_notice(floor, source, above, "transfer", at)
    return _done(floor, [source, target], before, postings, more)


def give_notice(floor: Floor, act: Act, at: int) -> Outcome:
    """A retirement is announced: its day of notice and the day from which it may be retired (R-46, D20)."""
    meter = _open_meter(floor, act.fields["meter"])
    effective = _day(act.fields["effective"])
    today = floor.plan.gaming_day(at)
    if effective < today:
        raise ActRefused(Why.WRONG_FIELD, f"{effective} is past", "write a day to come")
    if meter.plan.id in floor.rows.get("retiring", {}):
        raise ActRefused(Why.ALREADY_DONE, f"the retirement of {meter.plan.id} is announced", "nothing to do")
    floor.keep("retiring", meter.plan.id, {"effective": effective.isoformat(), "notice": today.isoformat()})
    return Outcome({"effective": effective.isoformat(), "notice": today.isoformat()})


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
        if day.isoformat() != text:
            raise ValueError(text)
    except ValueError as wrong:
        raise ActRefused(Why.WRONG_FIELD, f"{text[:20]} is no day", "write a day like 2026-12-31") from wrong
    return day


def retire(floor: Floor, act: Act, at: int) -> Outcome:
    """The meter ends: nothing of the players' is left on it, and the house takes its seed back."""
    meter = _open_meter(floor, act.fields["meter"])
    name = meter.plan.id
    announced = floor.rows.get("retiring", {}).get(name)
    if announced is None:
        raise ActRefused(Why.NOT_NOW, f"the retirement of {name} is not announced", "give notice first")
    if floor.plan.gaming_day(at) < date.fromisoformat(announced["effective"]):
        raise ActRefused(Why.NOT_NOW, f"{name} may be retired from {announced['effective']}", "wait for that day")
    _tables_closed(floor, name)
    if meter.pending:
        raise ActRefused(Why.NOT_NOW, f"{format_microcents(meter.pending)} of awards are not paid", "settle them first")
    left = _refuse_owing(floor, name)
    if meter.display > meter.plan.seed_cents * MICROCENTS_PER_CENT or meter.reserve or meter.overflow:
        raise ActRefused(Why.NOT_NOW, "what players have put in is still on it", "transfer it to a like meter first")
    before = amounts(meter)
    postings = post(meter, (("display", -meter.display), ("house", meter.display)))
    floor.keep("retiring", name, None)
    floor.note_resets({name})
    floor.keep("retired", name, {"at": at})
    forget_meter(floor, name)
    more = {"notice_day": announced["notice"]} | ({"unclaimed": left} if left else {})
    if before["display"]:
        more |= _owe_notice(floor, meter, before["display"], "retirement", at)
    return _done(floor, [meter], [before], postings, more)


def _refuse_owing(floor: Floor, meter: str) -> dict[str, int]:
    """A meter is not retired while its tables owe awards or envy: also fixed parts, which no meter pays (R-46).

    Returns, by table, how many amounts of envy nobody claimed: they stay the house's liability, and could forbid a
    retirement for ever. Tables that have left the meter count, too.
    """
    if floor.rules < TABLE_RULES:
        return {}
    linked = {*floor.plan.linked_tables(meter), *tables_that_left(floor, meter)}
    tables = [table for name, table in floor.tables.items() if name in linked]
    owing = [f"{table.owed - table.unclaimed} at {table.plan.id}" for table in tables if table.owed > table.unclaimed]
    if owing:
        raise ActRefused(Why.NOT_NOW, f"awards or amounts of envy are not paid: {', '.join(owing)}",
                         "look at the pages of these tables: pay or refuse them, or note envy as not claimed")
    return {table.plan.id: table.unclaimed for table in tables if table.unclaimed}


def reserve_to_house(floor: Floor, act: Act, at: int) -> Outcome:
    """Next-jackpot money is booked as the house's receipts, where the configuration allows it (R-65)."""
    meter = _open_meter(floor, act.fields["meter"])
    _allowed(meter.plan.reserve_to_house, "next-jackpot money is not taken by the house here")
    move = act.fields["by_amount"] * MICROCENTS_PER_CENT
    if not 0 < move <= meter.reserve:
        raise ActRefused(Why.NOT_NOW, f"the next-jackpot money is {format_microcents(meter.reserve)}", "take no more")
    before = amounts(meter)
    postings = post(meter, (("reserve", -move), ("house", move)))
    return _done(floor, [meter], [before], postings, _owe_notice(floor, meter, move, "reserve-to-house", at))


def brought_in(floor: Floor, meter: Meter) -> int:
    """Microcents of the players that came to a meter by the house's account: transferred, or brought at its opening."""
    return int(floor.rows.get("brought", {}).get(meter.plan.id, {"microcents": 0})["microcents"])


def _bring(floor: Floor, meter: Meter, microcents: int) -> None:
    if microcents:
        floor.keep("brought", meter.plan.id, {"microcents": brought_in(floor, meter) + microcents})


def recover_seed(floor: Floor, act: Act, at: int) -> Outcome:
    """The house takes back seed that it has put in, never below the seed, where the configuration allows it (R-65)."""
    meter = _open_meter(floor, act.fields["meter"])
    _allowed(meter.plan.seed_recovery, "seed is not recovered here")
    move = act.fields["by_amount"] * MICROCENTS_PER_CENT
    most = min(-meter.house - brought_in(floor, meter), meter.display - meter.plan.seed_cents * MICROCENTS_PER_CENT)
    if not 0 < move <= most:
        raise ActRefused(Why.NOT_NOW, f"at most {format_microcents(max(0, most))} can be recovered", "take no more")
    before = amounts(meter)
    postings = post(meter, (("display", -move), ("house", move)))
    return _done(floor, [meter], [before], postings, _owe_notice(floor, meter, move, "seed-recovery", at))


def _allowed(key: bool, what: str) -> None:
    if not key:
        raise ActRefused(Why.NOT_NOW, what, "it must be allowed by the meter's configuration")


def send_notice(floor: Floor, act: Act, at: int) -> Outcome:
    """The regulator has been told of a lowering."""
    number = str(act.fields["notice"])
    owed = floor.rows.get("notice-due", {}).get(number)
    if owed is None or owed["meter"] != act.fields["meter"]:
        raise ActRefused(Why.NOT_FOUND, f"there is no notice due of entry {number}", "look at the list of notices")
    floor.keep("notice-due", number, None)
    return Outcome({"late": at > owed["due"], **owed})


def enter_opening(floor: Floor, act: Act, _at: int) -> Outcome:
    """A new meter's opening is entered: its base, what is brought in and from where, the approval (R-38, R-44)."""
    name, base = act.fields["meter"], act.fields["base"]
    meter = meter_of(floor, name)
    if name in floor.rows.get("retired", {}):
        raise ActRefused(Why.NOT_NOW, f"the meter {name} is retired", "give a new meter another id")
    if name not in floor.unopened():
        raise ActRefused(Why.ALREADY_DONE, f"the meter {name} is open", "nothing to do")
    _refuse_base(meter, base)
    brought = act.fields.get("brought", 0)
    if brought > base or (brought and "source" not in act.fields):
        raise ActRefused(Why.WRONG_FIELD, "money brought in is part of the base and comes from somewhere",
                         "write how much of the base it is, and from where")
    floor.keep("opening", name, {"base": base, "brought": brought, "by": list(act.by), "number": floor.number + 1,
                                 "source": act.fields.get("source", "")})
    return Outcome()


def _refuse_base(meter: Meter, base: int) -> None:
    """Not below the default, which is the seed, and not above the limit (R-44)."""
    if base < meter.plan.seed_cents:
        raise ActRefused(Why.WRONG_FIELD, f"the seed is {format_cents(meter.plan.seed_cents)}", "open it with no less")
    _refuse_beyond_limit(meter, base * MICROCENTS_PER_CENT)


def accept_opening(floor: Floor, act: Act, _at: int) -> Outcome:
    """Another person of another department accepts it: only now the meter is there, and playable."""
    name = act.fields["meter"]
    meter, entered = meter_of(floor, name), floor.rows.get("opening", {}).get(name)
    if entered is None:
        raise ActRefused(Why.NOT_FOUND, f"no opening of {name} is entered", "enter it first")
    if act.fields["base"] != entered["base"]:
        raise ActRefused(Why.NOT_NOW, f"the base entered is {format_cents(entered['base'])}", "look at it again")
    if act.by.id == entered["by"][0]:
        raise ActRefused(Why.SAME_PERSON, f"{act.by.id} has entered it", "let another person accept it")
    if act.by.department == entered["by"][2]:
        raise ActRefused(Why.SAME_DEPARTMENT, "it was entered by the same department", "ask another department")
    _refuse_base(meter, entered["base"])  # the configuration may be another one since
    move = entered["base"] * MICROCENTS_PER_CENT
    before = amounts(meter)
    postings = post(meter, (("house", -move), ("display", move)))
    _bring(floor, meter, entered["brought"] * MICROCENTS_PER_CENT)
    floor.keep("opening", name, None)
    floor.keep("unopened", name, None)
    return _done(floor, [meter], [before], postings, {"entered": entered})


RULES = {
    "meter-adjusted": adjust, "meter-transferred": transfer, "retirement-announced": give_notice,
    "meter-retired": retire, "reserve-to-house": reserve_to_house, "seed-recovered": recover_seed,
    "notice-sent": send_notice, "opening-entered": enter_opening, "opening-accepted": accept_opening,
}
