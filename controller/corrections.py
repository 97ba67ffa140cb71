"""Putting right what the table got wrong: hands and wagers, by two people, always a new entry. Pure (R-62).

A round is settled as one, however late a hand is added, changed or withdrawn (design section 4). Wagers are corrected
from the lock-out until an agreeing chip count or the first hit, towards the count where there is one; after that they
stand. Nobody's two signatures make both a wager and a hand of it.
"""

from controller import award, rounds
from controller.acts import Act, ActRefused, Why
from controller.award_acts import (
    can,
    case_of,
    game_of,
    of_old_day,
    place_of,
    refuse_paid_envy,
    refuse_retired,
    set_aside,
    settled_of,
    step,
    take_away,
)
from controller.floor import Floor
from controller.floor_state import Round
from controller.journal import CHECKED_RULES, ENVY_RULES, Posting, post
from controller.outcome import Outcome
from controller.refusal import WORDS, Refusal
from firmware_bridge.messages import Hit, Wager

PAST_MAX = 64
"""Awards of one game that people have refused, withdrawn or changed."""


def _correctable(floor: Floor, act: Act, at: int) -> Round:
    """The game, if it may still be put right."""
    found = game_of(floor, act)
    refuse_retired(floor, found)
    if len(found.past) >= PAST_MAX:
        raise ActRefused(Why.NOT_NOW, f"game {found.game} has been corrected {PAST_MAX} times", "call accounting")
    if found.state == "void":
        raise ActRefused(Why.NOT_NOW, f"game {found.game} was a misdeal", "a misdeal has no hands and no wagers")
    days = (floor.plan.gaming_day(at) - floor.plan.gaming_day(found.at)).days
    most = floor.plan.awards.late_hit_days
    if found.state == "closed" and days > most:
        raise ActRefused(Why.NOT_NOW, f"game {found.game} is {days} gaming days old; {most} are allowed",
                         "call accounting: it is put right outside the meters")
    return found


def _refused(refusal: Refusal) -> ActRefused:
    what, remedy = WORDS[refusal]
    return ActRefused(Why.NOT_NOW, what, remedy)


def _outcome(floor: Floor, found: Round, done: rounds.Done, waited: int, at: int) -> Outcome:
    floor.touch_meters(*done.touched)
    floor.touch_round(found, waited)
    told = dict(done.answer) | settled_of(done) | of_old_day(floor, found, at)
    return Outcome(told, tuple(done.postings), found.plan.id, found.game)


def _remember_hands(found: Round, place: tuple[int, str], act: Act) -> None:
    """Everybody who ever corrected a wager or hand takes no part in its award."""
    found.hands[place] = list(dict.fromkeys([*found.hands.get(place, ()), *_signers(act)]))


def _remember_wager(floor: Floor, found: Round, place: tuple[int, str], act: Act) -> None:
    """Who corrected a wager; and one that makes the wagers what was counted is the agreement (issue 3, part 4)."""
    _remember_hands(found, place, act)
    if floor.rules >= CHECKED_RULES:
        found.wagered[place] = list(dict.fromkeys([*found.wagered.get(place, ()), *_signers(act)]))
        found.agreed = found.agreed or found.chips == len(found.wagers)


def _not_their_wager(floor: Floor, found: Round, place: tuple[int, str], act: Act) -> None:
    """Who made a wager enter no hand of it by themselves: two people would make an award out of nothing."""
    if floor.rules >= CHECKED_RULES and set(_signers(act)) <= set(found.wagered.get(place, ())):
        raise ActRefused(Why.TOUCHED_IT, f"both have corrected the wager of seat {place[0]}",
                         "let another person sign for the hand")


def _signers(act: Act) -> list[str]:
    return [person.id for person in act.people()]


def add_hit(floor: Floor, act: Act, at: int) -> Outcome:
    """A hand that was not keyed, or of a table without a keypad."""
    found, (seat, spot) = _correctable(floor, act, at), place_of(act)
    hit = Hit(seat, spot, act.fields["outcome"], act.fields.get("envy_only", False))
    refusal, instead = rounds.refuse_hit(found, hit, set()), _in_error(floor, found, (seat, spot))
    if refusal is not None and not (instead and refusal is Refusal.ALREADY_HIT):
        raise _refused(refusal)
    if (seat, spot) in found.hits and not instead:
        raise ActRefused(Why.ALREADY_DONE, f"seat {seat} has this hand in game {found.game}", "nothing to do")
    _not_their_wager(floor, found, (seat, spot), act)
    waited = award.waiting(found)
    if instead:
        _stand_aside(found, (seat, spot))
    done = rounds.restand(floor.meters, found, [hit], (), at, floor.rules, _signers(act))
    made = _outcome(floor, found, done, waited, at)
    return made._replace(told={**made.told, "instead": True}) if instead else made


def _in_error(floor: Floor, found: Round, place: tuple[int, str]) -> bool:
    """Whether what was paid at a place was found paid in error: the true hand may be entered there."""
    case = found.cases.get(place)
    return floor.rules >= CHECKED_RULES and case is not None and case.state == award.IN_ERROR


def _stand_aside(found: Round, place: tuple[int, str]) -> None:
    """An award that was paid in error makes room for the true hand: what was paid, and counted as won, stays so.

    Envy that was paid for it stays paid as well; the true hand has lines of its own.
    """
    found.hands[place] = list(dict.fromkeys([*found.hands.get(place, ()), *found.cases[place].touched]))
    set_aside(found, place)
    del found.hits[place]
    found.lines = {line: state for line, state in found.lines.items() if line[:2] != place}


def change_hit(floor: Floor, act: Act, at: int) -> Outcome:
    """Another hand than the one keyed: the old award is set aside, the round settled anew."""
    found, place = _correctable(floor, act, at), place_of(act)
    standing = found.hits.get(place)
    if standing is None:
        raise ActRefused(Why.NOT_FOUND, f"seat {place[0]} has no hand in game {found.game}", "add it instead")
    hit = standing.hit._replace(outcome=act.fields["outcome"])
    if hit == standing.hit:
        raise ActRefused(Why.ALREADY_DONE, f"seat {place[0]} has this hand already", "nothing to do")
    if hit.outcome not in found.plan.spot[hit.spot].prizes:
        raise _refused(Refusal.UNKNOWN_OUTCOME)
    refuse_paid_envy(found, place)
    _not_their_wager(floor, found, place, act)
    waited, signers = award.waiting(found), _signers(act)
    if not hit.envy_only:
        case = case_of(floor, found, place)
        can(floor, case, "withdraw")
        step(floor, case, act, "withdraw", at, {"reason": act.fields["reason"]})
        signers = list(dict.fromkeys([*case.touched, *signers]))
        set_aside(found, place)
    done = rounds.restand(floor.meters, found, [hit], [place], at, floor.rules, signers)
    return _outcome(floor, found, done, waited, at)


def withdraw_hit(floor: Floor, act: Act, at: int) -> Outcome:
    """A hand that was keyed and was none."""
    found, place = _correctable(floor, act, at), place_of(act)
    standing = found.hits.get(place)
    refuse_paid_envy(found, place)
    if standing is None or not standing.hit.envy_only:
        return take_away(floor, act, found, place, "withdraw", at)
    _remember_hands(found, place, act)
    done = rounds.restand(floor.meters, found, (), [place], at, floor.rules)
    return _outcome(floor, found, done, award.waiting(found), at)


def _wagers_open(floor: Floor, found: Round, change: int, at: int) -> None:
    """Raise ActRefused unless the wagers may be corrected now, by one more (1) or one less (-1)."""
    if found.hits or found.was_hit:
        raise ActRefused(Why.NOT_NOW, f"game {found.game} has a hand: its wagers stand",
                         "close the difference with a finding")
    if found.agreed:
        raise ActRefused(Why.NOT_NOW, f"a chip count of game {found.game} has agreed: its wagers stand",
                         "close the difference with a finding")
    if floor.rules < CHECKED_RULES:
        return
    if found.chips is None and found.state != "open" and of_old_day(floor, found, at):
        raise ActRefused(Why.NOT_NOW, f"nobody counted the chips of game {found.game}, and its gaming day is over",
                         "call accounting: its wagers stand")
    wagers = len(found.wagers)
    if found.chips is not None and abs(found.chips - wagers - change) > abs(found.chips - wagers):
        raise ActRefused(Why.NOT_NOW, f"{found.chips} chips were counted in game {found.game} against {wagers} wagers: "
                         "this leads away from the count", "count again while the game is open")


def add_wager(floor: Floor, act: Act, at: int) -> Outcome:
    """A wager that the sensor did not see: it contributes now."""
    found, place = _correctable(floor, act, at), place_of(act)
    _wagers_open(floor, found, 1, at)
    if list(place) in found.rebooked:
        return _back_from_house(floor, act, found, place, at)
    spot = found.plan.spot.get(place[1])
    cents = spot.paytable.wager_cents if spot is not None else 0
    done = rounds.add_wager(floor.plan, floor.meters, found, Wager(*place, cents))
    if isinstance(done, Refusal):
        raise _refused(done)
    _remember_wager(floor, found, place, act)
    return _outcome(floor, found, done, award.waiting(found), at)


def _back_from_house(floor: Floor, act: Act, found: Round, place: tuple[int, str], at: int) -> Outcome:
    """A wager that was taken away stands again: its contribution is on the meter already, and the players' again."""
    found.rebooked.remove(list(place))
    spot = found.plan.spot[place[1]]
    found.wagers[place] = spot.paytable.wager_cents
    postings = _rebook(floor, found, place, -1)
    _remember_wager(floor, found, place, act)
    floor.touch_round(found)
    told = {"accepted": len(found.wagers)} | of_old_day(floor, found, at)
    return Outcome(told, tuple(postings), found.plan.id, found.game)


def _rebook(floor: Floor, found: Round, place: tuple[int, str], times: int) -> list[Posting]:
    """A wager's contribution from the players to the house (1), or back (-1)."""
    postings: list[Posting] = []
    for feed in found.plan.spot[place[1]].feeds:
        fed = times * (feed.display + feed.reserve)
        found.fed[feed.meter] = found.fed.get(feed.meter, 0) - fed
        postings += post(floor.meters[feed.meter], (("players", fed), ("house", -fed)))
        floor.touch_meters(feed.meter)
    return postings


def remove_wager(floor: Floor, act: Act, at: int) -> Outcome:
    """A wager that was none: what it contributed is re-booked to the house, and no display falls."""
    found, place = _correctable(floor, act, at), place_of(act)
    _wagers_open(floor, found, -1, at)
    if place not in found.wagers:
        raise _refused(Refusal.SEAT_WITHOUT_WAGER)
    del found.wagers[place]
    found.rebooked.append(list(place))
    postings = _rebook(floor, found, place, 1)
    _remember_wager(floor, found, place, act)
    floor.touch_round(found)
    told = {"accepted": len(found.wagers)} | of_old_day(floor, found, at)
    return Outcome(told, tuple(postings), found.plan.id, found.game)


def close_count(floor: Floor, act: Act, at: int) -> Outcome:
    """The chips and the wagers differ, and people have found why: an award on that seat needs the third release.

    Those of the other seats do no more; so who writes it takes, and has taken, no step of an award of the game.
    """
    found = _correctable(floor, act, at)
    if found.chips is None or found.chips == len(found.wagers):
        raise ActRefused(Why.NOT_NOW, f"the chip count of game {found.game} shows no difference", "nothing to do")
    seat = act.fields.get("seat", 0)
    if seat > found.plan.seats:
        raise _refused(Refusal.UNKNOWN_SEAT)
    if seat in found.doubted and not (floor.rules >= CHECKED_RULES and found.unexplained):
        raise ActRefused(Why.ALREADY_DONE, f"the difference of game {found.game} is closed", "nothing to do")
    if floor.rules >= CHECKED_RULES:
        _find(floor, found, act)
    if seat not in found.doubted:
        found.doubted.append(seat)
    floor.touch_round(found)
    told = {"accepted": len(found.wagers), "difference": found.chips - len(found.wagers)} | of_old_day(floor, found, at)
    return Outcome(told, (), found.plan.id, found.game)


def _find(floor: Floor, found: Round, act: Act) -> None:
    """Who writes the finding has verified, released and paid nothing of the game; and it is of this difference."""
    for place, case in found.cases.items():
        for taken in award.signed_steps(case):
            signed = {"verify", "release", "pay"} & {taken["step"]} and set(_signers(act)) & set(taken["by"])
            if signed:
                raise ActRefused(Why.TOUCHED_IT, f"{min(signed)} has taken a step of the award of seat {place[0]} "
                                 f"({taken['step']})", "ask another person")
    if floor.rules >= ENVY_RULES:
        _not_a_payer(found, act)
    found.explained = (found.chips or 0) - len(found.wagers)
    found.finders = list(dict.fromkeys([*found.finders, *_signers(act)]))


def _not_a_payer(found: Round, act: Act) -> None:
    """Nor has who writes it handed over envy of the game, or an award of it that was found paid in error."""
    for (seat, _, to), people in found.payers.items():
        if not set(people).isdisjoint(_signers(act)):
            raise ActRefused(Why.TOUCHED_IT, f"one of the two has paid seat {to} the envy for the hand of seat {seat}",
                             "ask another person")
    for gone in found.past:
        if any(taken["step"] == "pay" and not set(taken["by"]).isdisjoint(_signers(act)) for taken in gone["steps"]):
            raise ActRefused(Why.TOUCHED_IT, f"one of the two has paid the award of seat {gone['seat']}",
                             "ask another person")


RULES = {
    "hit-added": add_hit, "hit-changed": change_hit, "hit-withdrawn": withdraw_hit, "wager-added": add_wager,
    "wager-removed": remove_wager, "count-closed": close_count,
}
