"""Slips: one gapless series of numbers for each book, and counted reprints. Pure (R-58).

The first print of an award issues its number; every print is an entry. Nothing ever takes a number back.
"""

from typing import Any

from controller.acts import Act, ActRefused, Why
from controller.award_acts import game_of, place_of
from controller.floor import Floor
from controller.manual_slips import BY_HAND, enter_manual
from controller.outcome import Outcome

SERIES = "series"
COPIES_MAX = 99


def next_number(floor: Floor) -> int:
    """The next number of the book's series."""
    return int(floor.rows.get("slip", {}).get(SERIES, {"next": 1})["next"])


def print_slip(floor: Floor, act: Act, at: int) -> Outcome:
    """A slip is printed: the first time it gets its number, afterwards it is a reprint and says so."""
    found, place = game_of(floor, act), place_of(act)
    steps = _steps_of(found.cases, found.past, place)
    if steps is None:
        raise ActRefused(Why.NOT_FOUND, f"seat {place[0]} has no award in game {found.game}", "check seat and game")
    printed = [step for step in steps if step["step"] == "slip"]
    if len(printed) >= COPIES_MAX:
        raise ActRefused(Why.NOT_NOW, f"this slip was printed {COPIES_MAX} times", "find a copy of it")
    number = printed[0]["number"] if printed else next_number(floor)
    if not printed:
        floor.keep("slip", SERIES, {"next": number + 1})
    copy = len(printed) + 1
    step = {"at": at, "by": [person.id for person in act.people()], "copy": copy, "number": number, "step": "slip"}
    steps.append(step)
    floor.touch_round(found)
    return Outcome({"copy": copy, "number": number}, (), found.plan.id, found.game)


def _steps_of(cases: dict[tuple[int, str], Any], past: list[dict[str, Any]], place: tuple[int, str]) -> Any:
    """The steps of the award that stands at a place, or else of the last one that does not stand any more."""
    if place in cases:
        return cases[place].steps
    gone = [one for one in past if (one["seat"], one["spot"]) == place]
    return gone[-1]["steps"] if gone else None


RULES = {"slip-printed": print_slip, BY_HAND: enter_manual}
