"""Slips: one gapless series of numbers for each book, counted reprints, and what is given out. Pure (R-58).

The first print of an award issues its number; every print is an entry. Nothing ever takes a number back.
"""

from typing import Any

from controller.acts import KINDS, Act, ActRefused, Why
from controller.award_acts import game_of, place_of
from controller.floor import Floor
from controller.floor_state import Round
from controller.journal import SLIP_RULES
from controller.manual_slips import BY_HAND, enter_manual
from controller.outcome import Outcome

SERIES = "series"
COPIES_MAX = 99


def next_number(floor: Floor) -> int:
    """The next number of the book's series."""
    return int(floor.rows.get("slip", {}).get(SERIES, {"next": 1})["next"])


def print_slip(floor: Floor, act: Act, at: int) -> Outcome:
    """A slip is printed: the first time it gets its number, afterwards it is a reprint and says so.

    With a ``number`` it is that slip, of an award that stands no more too. What goes to a printer is given out by that.
    """
    found, place = game_of(floor, act), place_of(act)
    steps = _steps_of(found, place, act.fields.get("number", 0))
    if steps is None:
        raise ActRefused(Why.NOT_FOUND, f"seat {place[0]} has no award in game {found.game}, or no such slip",
                         "check seat, game and number")
    printed = [step for step in steps if step["step"] == "slip"]
    if len(printed) >= COPIES_MAX:
        raise ActRefused(Why.NOT_NOW, f"this slip was printed {COPIES_MAX} times", "find a copy of it")
    number = printed[0]["number"] if printed else next_number(floor)
    if not printed:
        floor.keep("slip", SERIES, {"next": number + 1})
    copy = len(printed) + 1
    step = {"at": at, "by": [person.id for person in act.people()], "copy": copy, "number": number, "step": "slip"}
    if floor.rules >= SLIP_RULES:
        step["given"] = int("printer" in act.fields)
    steps.append(step)
    floor.touch_round(found)
    return Outcome({"copy": copy, "number": number}, (), found.plan.id, found.game)


def give_slip(floor: Floor, act: Act, _at: int) -> Outcome:
    """A copy leaves the controller: once as the original that was issued, and ever after it says REPRINT.

    Whoever only audits gets no original, and takes it from nobody. What was issued before version 4 may be out already.
    """
    found, place = game_of(floor, act), place_of(act)
    number, copy = act.fields["number"], act.fields["copy"]
    steps = _steps_of(found, place, number)
    step = next((step for step in steps or () if step["step"] == "slip" and step["copy"] == copy), None)
    if step is None:
        raise ActRefused(Why.NOT_FOUND, f"no slip {number}, copy {copy}, was printed for seat {place[0]} in game "
                         f"{found.game}", "print the slip on the page of its game")
    given = step.get("given", 1)
    original = not given and act.by.role in KINDS["slip-printed"].by
    if original:
        step["given"] = given + 1
        floor.touch_round(found)
    return Outcome({"original": original}, (), found.plan.id, found.game)


def _steps_of(found: Round, place: tuple[int, str], number: int) -> list[dict[str, Any]] | None:
    """The steps of the award whose slip has a number; 0: of the one that stands at a place, or stood there last."""
    of_place = [one["steps"] for one in found.past if (one["seat"], one["spot"]) == place]
    if place in found.cases:
        of_place.append(found.cases[place].steps)
    if number:
        of_place = [steps for steps in of_place
                    if any(step["step"] == "slip" and step["number"] == number for step in steps)]
    return of_place[-1] if of_place else None


RULES = {"slip-printed": print_slip, "slip-given": give_slip, BY_HAND: enter_manual}
