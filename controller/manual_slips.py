"""Slips written by hand while the controller was down: entered later by two people, each once, tied to what it paid.

The money counts once, when the slip is entered. What closes its award or envy afterwards (``how`` is ``manual-slip``)
names the slip and hands nothing over again; and nobody pays in the ordinary way what a slip has paid. Pure (R-58).
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from controller import award
from controller.acts import Act, ActRefused, Why, need_third
from controller.floor import Floor
from controller.floor_state import Round
from controller.gaming_day import instant, microseconds
from controller.journal import SLIP_RULES
from controller.money import MICROCENTS_PER_CENT, PPM, format_cents
from controller.outcome import Outcome
from controller.paytable import Prize
from controller.plan import TablePlan

BY_HAND = "manual-slip"
"""The kind of act and of its rows, and how an award was paid that a slip has paid."""
ENVY, OTHER = "envy", "other"
"""What a slip may have paid besides a hand of the table's paytables."""
OLD_DAYS_MAX = 366
_WHEN = "write date and time as they stand on the slip, like 2026-12-31 23:10"


class Paid(NamedTuple):
    """What an act says was paid: to which seat, for which hand, how many cents were due; ``key`` names it for ever."""

    key: list[Any]
    seat: int
    outcome: str
    due: int


def enter_manual(floor: Floor, act: Act, at: int) -> Outcome:
    """A slip that was written by hand while the controller was down: its own number, once, and what it says."""
    if floor.rules < SLIP_RULES:
        return _enter_as_written(floor, act)
    fields = act.fields
    table, written = floor.tables.get(fields["table"]), fields["written"]
    if table is None:
        raise ActRefused(Why.NOT_FOUND, f"there is no table {fields['table']}", "choose one from the page")
    before = slip_of_number(floor, written)
    if before is not None:
        raise ActRefused(Why.ALREADY_DONE, f"the slip {before[0]} has been entered", "look at the slip register")
    if not 1 <= fields["seat"] <= table.plan.seats:
        raise ActRefused(Why.WRONG_FIELD, f"Seat: {table.plan.id} has seats 1 to {table.plan.seats}", "check the slip")
    if fields["outcome"] not in (*_outcomes(table.plan), OTHER):
        raise ActRefused(Why.WRONG_FIELD, f"Hand: no hand of {table.plan.id}", f"choose one of it, or {OTHER}")
    when = _moment(floor, fields["when"], at)
    _check_amount(floor, table.plan, act)
    row = {"amount": fields["handed"], "at": when, "outcome": fields["outcome"], "seat": fields["seat"],
           "table": table.plan.id, "written": written}
    if "game" in fields:
        row |= {"game": fields["game"], "spot": _award_of(floor, act, when)}
    floor.keep(BY_HAND, written.casefold(), row)
    return Outcome({"at": when}, table=table.plan.id, game=fields.get("game"))


def _enter_as_written(floor: Floor, act: Act) -> Outcome:
    """As the rules were before version 4: whatever stood on it."""
    table, written = act.fields["table"], act.fields["written"]
    if table not in floor.tables:
        raise ActRefused(Why.NOT_FOUND, f"there is no table {table}", "choose one from the page")
    if written in floor.rows.get(BY_HAND, {}):
        raise ActRefused(Why.ALREADY_DONE, f"the slip {written} has been entered", "look at the slip register")
    floor.keep(BY_HAND, written, {"amount": act.fields["handed"], "table": table})
    return Outcome(table=table)


def slip_of_number(floor: Floor, written: str) -> tuple[str, dict[str, Any]] | None:
    """The row's key and the row of a slip's number, however its letters are written; None: it was not entered."""
    rows = floor.rows.get(BY_HAND, {})
    return next(((key, row) for key, row in rows.items() if key.casefold() == written.casefold()), None)


def refuse_in_another_book(floors: Mapping[str, Floor], floor: Floor, act: Act) -> None:
    """Raise ActRefused for a slip that another book of the floor has: one slip is one payment, whatever table it names.

    Asked when people act, where the other books are at hand; what the ledger has already is not asked again.
    """
    if act.kind != BY_HAND or act.id in floor.acts:
        return
    for other in floors.values():
        before = None if other is floor else slip_of_number(other, act.fields["written"])
        if before is not None:
            table = before[1]["table"]
            raise ActRefused(Why.ALREADY_DONE, f"the slip {before[0]} has been entered in book {other.book}, table "
                             f"{table}", "look at the slip register")


def _outcomes(table: TablePlan) -> tuple[str, ...]:
    """What the wagers of a table can win: its hands, and envy where one of them earns it."""
    prizes = [prize for spot in table.spots for prize in spot.paytable.prizes]
    envy = (ENVY,) if any(prize.envy_cents for prize in prizes) else ()
    return (*dict.fromkeys(prize.outcome for prize in prizes), *envy)


def _moment(floor: Floor, text: str, at: int) -> int:
    """The date and time on a slip, by the floor's clock, in UTC microseconds; raises ActRefused for none that was."""
    try:
        made = datetime.fromisoformat(text) if len(text) >= len("2026-12-31 23:10") and ":" in text else None
        when = None if made is None else (
            microseconds(made) if made.tzinfo is not None else instant(floor.plan.timezone, made))
    except (ValueError, OverflowError):
        when = None
    if when is None:
        raise ActRefused(Why.WRONG_FIELD, f"Date and time on the slip: {text[:40]} is none", _WHEN)
    if when > at:
        raise ActRefused(Why.WRONG_FIELD, "Date and time on the slip: that is still to come", _WHEN)
    if at - when > timedelta(days=OLD_DAYS_MAX) // timedelta(microseconds=1):
        raise ActRefused(Why.WRONG_FIELD, f"Date and time on the slip: more than {OLD_DAYS_MAX} days ago", _WHEN)
    return when


def _check_amount(floor: Floor, table: TablePlan, act: Act) -> None:
    """Refuse what no hand of the table can ever have won; what is large, or more than it wins now, a third signs."""
    handed, outcome, released = act.fields["handed"], act.fields["outcome"], floor.plan.awards.release_from_cents
    now, most = 0, 0
    for spot in table.spots:
        for prize in spot.paytable.prizes:
            if outcome in (prize.outcome, ENVY, OTHER):
                one = _worth(floor, spot.meter_of, prize, outcome)
                now, most = max(now, one[0]), max(most, one[1])
    if not 0 < handed <= most:
        raise ActRefused(Why.WRONG_FIELD, f"Handed over: {format_cents(handed)}; no such hand of {table.id} can have "
                         f"won more than {format_cents(most)}, or nothing", "check the slip")
    if outcome == OTHER:
        need_third(act, "the slip is for none of the table's hands")
    elif released is not None and handed >= released:
        need_third(act, f"slips from {format_cents(released)}")
    elif handed > now:
        need_third(act, f"such a hand wins {format_cents(now)} at most as the meters stand")


def _worth(floor: Floor, meter_of: Any, prize: Prize, outcome: str) -> tuple[int, int]:
    """What a hand, or its envy, wins as the meters stand, and could have won at most since they began, in cents."""
    if outcome == ENVY:
        return prize.envy_cents, prize.envy_cents
    fixed = prize.fixed_cents + prize.returned_cents
    shown, laid = 0, 0
    for part, share in prize.shares:
        meter = floor.meters[meter_of[part]]
        shown += -(-meter.display * share // (PPM * MICROCENTS_PER_CENT))
        laid += -((meter.players + meter.house) * share // (PPM * MICROCENTS_PER_CENT))
    if outcome == OTHER:
        return 0, fixed + laid
    return fixed + shown, fixed + laid


def _award_of(floor: Floor, act: Act, when: int) -> str:
    """The spot of the award that a slip names as paid by it; raises ActRefused unless it stands and waits."""
    table, game, seat, outcome = (act.fields[name] for name in ("table", "game", "seat", "outcome"))
    if outcome in (ENVY, OTHER):
        raise ActRefused(Why.WRONG_FIELD, f"Game: a slip for {outcome} names none", "leave the game empty")
    found = floor.find_game(f"{table}/{game}")
    if found is None:
        raise ActRefused(Why.NOT_FOUND, f"table {table} has no game {game}", "leave the game empty if it has none")
    if when < found.at:
        raise ActRefused(Why.WRONG_FIELD, f"the slip is older than game {game}", "check the game and the slip")
    spots = [spot for (at_seat, spot), standing in found.hits.items()
             if at_seat == seat and standing.hit.outcome == outcome]
    if not spots:
        raise ActRefused(Why.NOT_FOUND, f"seat {seat} has no such hand in game {game}",
                         "put the hand right first, then enter the slip")
    open_ = [spot for spot in spots if (seat, spot) in found.cases
             and found.cases[seat, spot].state in award.OPEN and _bound(floor, table, game, seat, spot) is None]
    if not open_:
        raise ActRefused(Why.ALREADY_DONE, f"the award of seat {seat}, game {game}, does not wait to be paid",
                         "look at the award; leave the game empty if the slip is for another hand")
    return open_[0]


def _bound(floor: Floor, table: str, game: int, seat: int, spot: str) -> str | None:
    """The number of the slip that names an award as paid by it, or None."""
    return next((row["written"] for row in floor.rows.get(BY_HAND, {}).values()
                 if (row["table"], row.get("game"), row.get("seat"), row.get("spot")) == (table, game, seat, spot)),
                None)


# ---------------------------------------------------------------------- what closes an award, or envy


def close_by(floor: Floor, act: Act, found: Round, paid: Paid) -> dict[str, Any]:
    """What an act that pays tells of a slip; raises ActRefused where slips and act do not fit. Changes nothing yet."""
    if floor.rules < SLIP_RULES:
        return {}
    written = act.fields.get("slip")
    if act.fields["how"] == BY_HAND:
        if written is None:
            raise ActRefused(Why.WRONG_FIELD, "Number of the slip written by hand: missing", "write it")
        row = _fitting(floor, act, found, paid, written)
        return {"handed": row["amount"], "slip": row["written"]}
    if written is not None:
        raise ActRefused(Why.WRONG_FIELD, f"a slip written by hand is named, and paid in {act.fields['how']}",
                         f"choose {BY_HAND}, or leave the slip empty")
    for row in _of_same(floor, found, paid):
        if row.get("game") == found.game:
            raise ActRefused(Why.NOT_NOW, f"the slip {row['written']}, written by hand, has paid it",
                             f"choose {BY_HAND} and write {row['written']}: nothing is handed over again")
        what = f"the slip {row['written']}, written by hand after this game, is of this seat and hand"
        if "reason" not in act.fields and act.kind == "award-paid":
            raise ActRefused(Why.WRONG_FIELD, what, f"choose {BY_HAND} and write {row['written']}; or give the reason "
                             "why it is for another hand, and let a third person sign")
        need_third(act, what)
    return {}


def _of_same(floor: Floor, found: Round, paid: Paid) -> Iterator[dict[str, Any]]:
    """Entered slips that have closed nothing yet: first what names it, then the same seat and hand, not older."""
    waiting = [row for row in floor.rows.get(BY_HAND, {}).values()
               if row["table"] == found.plan.id and "at" in row and "closes" not in row]
    yield from (row for row in waiting if "game" in row and [row["game"], row["seat"], row["spot"]] == paid.key)
    yield from (row for row in waiting if "game" not in row and row["at"] >= found.at
                and (row["seat"], row["outcome"]) == (paid.seat, paid.outcome))


def _fitting(floor: Floor, act: Act, found: Round, paid: Paid, written: str) -> dict[str, Any]:
    """The slip that has paid what an act closes, as it was entered; raises ActRefused."""
    known = slip_of_number(floor, written)
    if known is None or "at" not in known[1]:
        raise ActRefused(Why.NOT_FOUND, f"no slip {written} has been entered", "enter it first, on the page Day")
    row = known[1]
    number = str(row["written"])
    if "closes" in row:
        raise ActRefused(Why.ALREADY_DONE, f"the slip {number} has closed another payment", "look at the slip register")
    if row["table"] != found.plan.id or row.get("game") not in (None, found.game):
        raise ActRefused(Why.WRONG_FIELD, f"the slip {number} is of another table or game", "check its number")
    if act.fields.get("handed", row["amount"]) != row["amount"]:
        raise ActRefused(Why.WRONG_FIELD, f"on the slip {number} stands {format_cents(row['amount'])}", "write that")
    differs = [words for words, one, other in (
        ("seat", row["seat"], paid.seat), ("hand", row["outcome"], paid.outcome)) if one != other]
    if act.kind != "award-paid" and row["amount"] != paid.due:
        differs.append("amount")
    if row["at"] < found.at:
        differs.append("time")
    if differs:
        if "reason" not in act.fields and act.kind == "award-paid":
            raise ActRefused(Why.WRONG_FIELD, f"the slip {number} has another {differs[0]}",
                             "give a reason and let a third person sign")
        need_third(act, f"the slip {number} has another {differs[0]}")
    return row


def note_closed(floor: Floor, told: dict[str, Any], paid: Paid) -> None:
    """A slip has closed what it paid: it closes nothing else."""
    if "slip" in told:
        key, row = slip_of_number(floor, told["slip"]) or (told["slip"], {})
        floor.keep(BY_HAND, key, {**row, "closes": paid.key})


def by_hand_words(rows: Iterable[Mapping[str, Any]], table: str, since: int) -> list[str]:
    """The slips of a table that were written from an instant on and have closed nothing yet, in words for a page."""
    return [f"Slip {row['written']}, written by hand for seat {row['seat']}, {row['outcome']}"
            + (f", of game {row['game']}" if "game" in row else "") + f": {format_cents(row['amount'])}"
            for row in rows if row["table"] == table and row.get("at", 0) >= since and "closes" not in row]
