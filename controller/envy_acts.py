"""Envy: each seat's amount for each hand is a line of its own, paid once, or left unclaimed. Pure (58 Pa. 688a.12).

It is the house's money, never a meter's. Who entered or corrected the hand, or the wager of the seat that is paid, does
not pay it; a large amount, or one for a seat in doubt, is paid by two people, the second of a role that releases.
Who has paid it does not verify the hand when its award becomes another amount, and writes no finding of the game.
"""

from controller import award, manual_slips, rounds
from controller.acts import FLOOR, Act, ActRefused, Why, named, need_third
from controller.award_acts import DONE, game_of, independent, needs_release, no_finder, place_of
from controller.floor import Floor
from controller.floor_state import Round
from controller.journal import CHECKED_RULES, ENVY_RULES
from controller.outcome import Outcome

Line = tuple[int, str, int]
"""Seat and spot of the hand, and the seat that is due envy for it."""


def _line_of(floor: Floor, act: Act, found: Round) -> tuple[Line, int]:
    """The line of envy that an act speaks of, and its cents."""
    seat, spot = place_of(act)
    standing = found.hits.get((seat, spot))
    due = {} if standing is None else rounds.envy_of(found, standing.hit)
    to = act.fields["to"]
    if to not in due:
        raise ActRefused(Why.NOT_FOUND, f"seat {to} is due no envy for the hand of seat {seat}", "check the seats")
    case = found.cases.get((seat, spot))
    if case is not None and case.state == award.PENDING:
        raise ActRefused(Why.NOT_NOW, "the hand is not verified", "verify the hand first")
    if case is not None and case.state == award.IN_ERROR:
        raise ActRefused(Why.NOT_NOW, "the hand was found paid in error", "no envy is due for it")
    why = "" if case is None else needs_release(floor, found, (seat, spot))
    if case is not None and case.state == award.VERIFIED and why:
        raise ActRefused(Why.NOT_NOW, f"the hand is not released: {why}", "let it be released first")
    if case is not None and case.state == award.TRAY:
        raise ActRefused(Why.ALREADY_DONE, "the dealer has paid it with the hand", DONE)
    return (seat, spot, to), due[to]


def pay_envy(floor: Floor, act: Act, _at: int) -> Outcome:
    """One seat's envy for one hand has been handed over."""
    found = game_of(floor, act)
    line, cents = _line_of(floor, act, found)
    if found.lines.get(line) == "paid":
        raise ActRefused(Why.ALREADY_DONE, f"the envy of seat {line[2]} is paid", DONE)
    case = found.cases.get(line[:2])
    if case is not None:
        independent(found, case, act, "verify")
    else:
        need_third(act, "nobody verifies the hand of a seat without a wager")
        no_finder(found, act)
    if case is None and not {person.id for person in act.people()}.isdisjoint(found.hands.get(line[:2], ())):
        raise ActRefused(Why.TOUCHED_IT, "one of the two has entered or corrected this hand",
                         "ask another person")
    if floor.rules >= CHECKED_RULES:
        _signers(floor, act, found, line, cents)
    paid = manual_slips.Paid([found.game, *line], line[2], manual_slips.ENVY, cents)
    by_hand = manual_slips.close_by(floor, act, found, paid)
    manual_slips.note_closed(floor, by_hand, paid)
    found.lines[line] = "paid"
    if floor.rules >= ENVY_RULES:
        signers = [person.id for person in act.people()]
        found.payers[line] = list(dict.fromkeys([*found.payers.get(line, ()), *signers]))
    floor.touch_round(found)
    return Outcome({"cents": cents, "how": act.fields["how"]} | by_hand, (), found.plan.id, found.game)


def _signers(floor: Floor, act: Act, found: Round, line: Line, cents: int) -> None:
    """Nobody pays a seat whose wager they have made; a large amount, or one in doubt, has a second person sign."""
    for person in act.people():
        if person.id in found.hands.get((line[2], line[1]), ()):
            raise ActRefused(Why.TOUCHED_IT, f"{person.id} has entered or corrected the wager of seat {line[2]}",
                             "ask another person")
    rules = floor.plan.awards
    why = award.envy_why(rules, found, line[2], cents)
    if why and act.third is None:
        raise ActRefused(Why.THIRD_PERSON, f"{why}: a second person must sign as well",
                         f"ask {named(rules.release - {act.by.role})}")
    if act.third is None:
        return
    asked = rules.release - {act.by.role} if why else FLOOR if line[:2] not in found.cases else rules.release | FLOOR
    if act.third.role not in asked:
        raise ActRefused(Why.NOT_ALLOWED, f"{act.third.words()} may not sign this: {why or 'Pay envy'}",
                         f"ask {named(asked)}")


def leave_envy(floor: Floor, act: Act, _at: int) -> Outcome:
    """Nobody claimed it: it stays a liability, and may still be paid."""
    found = game_of(floor, act)
    line, cents = _line_of(floor, act, found)
    if line in found.lines:
        raise ActRefused(Why.ALREADY_DONE, f"the envy of seat {line[2]} is {found.lines[line]}", DONE)
    found.lines[line] = "unclaimed"
    floor.touch_round(found)
    return Outcome({"cents": cents}, (), found.plan.id, found.game)


RULES = {"envy-paid": pay_envy, "envy-unclaimed": leave_envy}
