"""An award is verified, released, paid or refused by people, each step an entry of its own. Pure (R-49, R-57..R-61).

Verifying, releasing and paying are done by different persons, releasing by a third role; who entered or corrected a
wager or a hit of the award, or found why its game's chips differ, does none of them. What is handed over beyond or
below the award is the house's, never the meter's (R-59).
"""

from collections.abc import Mapping
from typing import Any

from controller import award, manual_slips, rounds
from controller.acts import Act, ActRefused, Why, named, need_third
from controller.floor import Floor
from controller.floor_state import Case, Meter, Round
from controller.game.claim import check_claim
from controller.game.classify import NotThisGame
from controller.journal import CHECKED_RULES, Posting, check, post
from controller.meter import lay
from controller.money import MICROCENTS_PER_CENT, format_cents
from controller.outcome import Outcome
from controller.people import Role
from controller.plan import AwardRules

DONE = "look at the award again: somebody was quicker"
_ROLES_KEPT = frozenset(("verify", "release"))
"""Steps that keep the roles of those who signed: who releases is of another role, and so is who pays then."""


def game_of(floor: Floor, act: Act) -> Round:
    """The game that an act speaks of; raises ActRefused when there is none."""
    table, game = act.fields["table"], act.fields["game"]
    found = floor.find_game(f"{table}/{game}")
    if found is None:
        raise ActRefused(Why.NOT_FOUND, f"table {table} has no game {game}", "check the table and the game")
    return found


def refuse_retired(floor: Floor, found: Round) -> None:
    """Nothing is laid on a meter that has ended."""
    fed = {feed.meter for spot in found.plan.spots for feed in spot.feeds}
    gone = sorted(fed & floor.rows.get("retired", {}).keys())
    if gone:
        raise ActRefused(Why.NOT_NOW, f"the meter {gone[0]} is retired",
                         "call accounting: it is put right outside the meters")


def place_of(act: Act) -> tuple[int, str]:
    """The seat and spot that an act speaks of."""
    return act.fields["seat"], act.fields["spot"]


def case_of(floor: Floor, found: Round, place: tuple[int, str]) -> Case:
    """An award of a game; raises ActRefused when the seat has none."""
    case = found.cases.get(place)
    if case is None or place not in found.hits:
        gone = next((one for one in reversed(found.past) if (one["seat"], one["spot"]) == place), None)
        if gone is not None:
            raise ActRefused(Why.ALREADY_DONE, f"the award of seat {place[0]}, game {found.game}, was {gone['state']} "
                             + last_words(floor, gone["steps"]), DONE)
        raise ActRefused(Why.NOT_FOUND, f"seat {place[0]} has no award in game {found.game}", "check seat and game")
    return case


_LIFE = frozenset(name for steps in award.STEPS.values() for name in steps) | {"hit", award.CHANGED}


def last_words(floor: Floor, steps: list[dict[str, Any]]) -> str:
    """Who took the last step of the award's life, and when by the floor's clock (MO-08)."""
    last = next(step for step in reversed(steps) if step["step"] in _LIFE)
    when = floor.plan.local(last["at"]).strftime("%Y-%m-%d %H:%M:%S")
    return f"by {' and '.join(last['by']) or 'the table'} at {when}"


def step(floor: Floor, case: Case, act: Act, name: str, at: int, more: Mapping[str, Any] | None = None) -> None:
    """Take a step of an award's life; raises ActRefused when its state does not have it (MO-08)."""
    can(floor, case, name)
    case.state = award.STEPS[case.state][name]
    made = {"at": at, "by": [person.id for person in act.people()], "step": name} | dict(more or {})
    if name in _ROLES_KEPT and floor.rules >= CHECKED_RULES:
        made["roles"] = [person.role.value for person in act.people()]
    case.steps.append(made)


def can(floor: Floor, case: Case, name: str) -> None:
    """Raise ActRefused unless the award's state has the step, naming who was quicker."""
    if name in award.STEPS[case.state]:
        return
    if name == "pay" and case.state == award.PENDING:
        raise ActRefused(Why.NOT_NOW, "the award is not verified", "verify it first, by another person")
    raise ActRefused(Why.ALREADY_DONE, f"the award is {case.state} {last_words(floor, case.steps)}", DONE)


def independent(found: Round, case: Case, act: Act, *others: str) -> None:
    """Raise ActRefused unless who signs has entered, corrected or found nothing of it, nor taken an ``others`` step."""
    no_finder(found, act)
    for person in act.people():
        if person.id in case.touched:
            raise ActRefused(Why.TOUCHED_IT, f"{person.id} has entered or corrected a wager or hand of this award",
                             "ask another person")
        for taken in award.signed_steps(case):
            if taken["step"] in others and person.id in taken["by"]:
                raise ActRefused(Why.SAME_PERSON, f"{person.id} has taken another step of this award ({taken['step']})",
                                 "ask another person")


def no_finder(found: Round, act: Act) -> None:
    """Raise ActRefused where who signs has written a finding of the game: it would be judged by who it clears."""
    for person in act.people():
        if person.id in found.finders:
            raise ActRefused(Why.TOUCHED_IT, f"{person.id} has closed a difference of the count of this game",
                             "ask another person")


def _not_paid_its_envy(found: Round, place: tuple[int, str], act: Act) -> None:
    """Raise ActRefused where who verifies has paid envy of the hand: since rules version 6 it is known who did."""
    for person in act.people():
        if any(line[:2] == place and found.lines.get(line) == award.PAID and person.id in people
               for line, people in found.payers.items()):
            raise ActRefused(Why.SAME_PERSON, f"{person.id} has paid envy of this hand", "ask another person")


def needs_release(floor: Floor, found: Round, place: tuple[int, str]) -> str:
    """Why an award needs the third release, or empty."""
    due = award.due_cents(found, place)
    return award.release_why(floor.plan.awards, found, place[0], due, floor.rules)


def _refuse_dead_end(floor: Floor, found: Round, place: tuple[int, str], act: Act) -> None:
    """Nothing is verified that nobody could release afterwards: a third role must be left, and another for paying.

    What needs no release now may come to need one while its game is open, or while its chips and wagers differ.
    """
    counted = found.state != "open" and found.chips in (None, len(found.wagers))
    if floor.rules < CHECKED_RULES or (counted and not needs_release(floor, found, place)):
        return
    rules, roles = floor.plan.awards, frozenset(person.role for person in act.people())
    if not rules.releasers(roles):
        others = frozenset(role for role in rules.verify if rules.releasers(frozenset((role,))))
        raise ActRefused(Why.NOT_ALLOWED, f"nobody could release what {named(roles)} has verified",
                         f"ask {named(others)} to verify it" if others else "the roles of [awards] must be changed")


def _roles_of(case: Case, name: str) -> frozenset[Role]:
    """The roles of those who took a step that still counts; none where rules version 1 did not keep them."""
    return frozenset(Role(role) for taken in award.signed_steps(case) if taken["step"] == name
                     for role in taken.get("roles", ()))


def _third_role(rules: AwardRules, case: Case, act: Act) -> None:
    """Who releases is of another role than who verified, and leaves another one that pays (R-58, D26)."""
    verified = _roles_of(case, "verify")
    if not verified:
        return
    releasers = rules.releasers(verified)
    remedy = f"ask {named(releasers)} to release it" if releasers else "refuse it, and let another role verify it anew"
    if act.by.role in verified:
        raise ActRefused(Why.NOT_ALLOWED, f"{named(verified)} has verified it: a third role releases it", remedy)
    if act.by.role not in releasers:
        one = named(frozenset((act.by.role,)))
        raise ActRefused(Why.NOT_ALLOWED, f"nobody of another role could pay what {one} has released", remedy)


def _other_role(rules: AwardRules, case: Case, act: Act) -> None:
    """Who pays a released award is of another role than who released it."""
    released = _roles_of(case, "release")
    if case.state == award.RELEASED and act.by.role in released:
        raise ActRefused(Why.NOT_ALLOWED, f"{named(released)} has released it: another role pays it",
                         f"ask {named(rules.pay - released)}")


def of_old_day(floor: Floor, found: Round, at: int) -> dict[str, str]:
    """A correction falls in the open day and names the day of its game."""
    day = floor.plan.gaming_day(found.at)
    return {} if day == floor.plan.gaming_day(at) else {"of_day": day.isoformat()}


def _old_day(floor: Floor, found: Round, at: int) -> dict[str, str]:
    """``of_old_day`` of an award that stands no more; rules version 1 did not tell it there."""
    return of_old_day(floor, found, at) if floor.rules >= CHECKED_RULES else {}


def _done(found: Round, told: Mapping[str, Any], postings: list[Posting] | None = None) -> Outcome:
    return Outcome(told, tuple(postings or ()), found.plan.id, found.game)


def _about(found: Round, place: tuple[int, str]) -> dict[str, Any]:
    """The award as it stands, for the entry: what is verified or paid is on record with it (R-57)."""
    standing = found.hits[place]
    return {"due": award.due_cents(found, place), "outcome": standing.hit.outcome, "shares": dict(standing.shares)}


def _meters_of(floor: Floor, found: Round, place: tuple[int, str]) -> list[tuple[Meter, int]]:
    """The meters that an award has a share of, and its cents of each, in an order that a restart does not change."""
    standing = found.hits[place]
    meter_of = found.plan.spot[standing.hit.spot].meter_of
    return [(floor.meters[meter_of[part]], cents) for part, cents in sorted(standing.shares.items())]


def _refuse_other_amount(act: Act, due: int) -> None:
    """What a person saw and signs is the award as it stands: a hand changed in between is another one."""
    if act.fields.get("due", due) != due:
        raise ActRefused(Why.NOT_NOW, f"the award has changed: it is {format_cents(due)} now", "load the page again")


def verify(floor: Floor, act: Act, at: int) -> Outcome:
    """The cards, the lit seat and the game have been looked at by a person (D24)."""
    found, place = game_of(floor, act), place_of(act)
    case, rules = case_of(floor, found, place), floor.plan.awards
    can(floor, case, "verify")
    independent(found, case, act)
    _not_paid_its_envy(found, place, act)
    _refuse_dead_end(floor, found, place, act)
    told = _about(found, place) | _cards(rules, found, place, act)
    _refuse_other_amount(act, told["due"])
    for meter, _ in _meters_of(floor, found, place):
        check(meter)  # before an award is verified or paid
    waited = award.waiting(found)
    step(floor, case, act, "verify", at, {name: told[name] for name in ("cards", "agrees") if name in told})
    floor.touch_round(found, waited)
    return _done(found, told)


def _cards(rules: AwardRules, found: Round, place: tuple[int, str], act: Act) -> dict[str, Any]:
    """The seven cards where they are entered or must be; a disagreement needs a second person and a reason."""
    cards = act.fields.get("cards")
    due = award.due_cents(found, place)
    if cards is None:
        if rules.cards_from_cents is not None and due >= rules.cards_from_cents:
            raise ActRefused(Why.WRONG_FIELD, f"awards from {format_cents(rules.cards_from_cents)} are verified with "
                             "the seven cards", "enter the cards as they lie on the table")
        return {}
    standing = found.hits[place]
    try:
        claim = check_claim(found.plan.spot[place[1]].paytable, cards, standing.hit.outcome)
    except NotThisGame:
        return {"cards": cards}  # a game whose hands this controller does not know: people judge them
    except ValueError as wrong:
        raise ActRefused(Why.WRONG_FIELD, f"The seven cards: {wrong}", "enter the cards as they lie") from wrong
    if not claim.agrees:
        if "reason" not in act.fields:
            raise ActRefused(Why.WRONG_FIELD, f"the cards do not agree: {claim.words}",
                             "change the hand, or give a reason and let a second person sign")
        need_third(act, f"the cards do not agree: {claim.words}")
    return {"agrees": claim.agrees, "cards": cards}


def release(floor: Floor, act: Act, at: int) -> Outcome:
    """A third person lets a large award, or one in doubt, be paid (D26)."""
    found, place = game_of(floor, act), place_of(act)
    case = case_of(floor, found, place)
    can(floor, case, "release")
    if not needs_release(floor, found, place):
        raise ActRefused(Why.NOT_NOW, "this award needs no release", "pay it")
    independent(found, case, act, "verify")
    _third_role(floor.plan.awards, case, act)
    _refuse_other_amount(act, award.due_cents(found, place))
    step(floor, case, act, "release", at)
    floor.touch_round(found)
    return _done(found, _about(found, place))


def pay(floor: Floor, act: Act, at: int) -> Outcome:
    """Money has been handed over: the award leaves ``pending`` once and for all (D13)."""
    found, place = game_of(floor, act), place_of(act)
    case, rules, due = case_of(floor, found, place), floor.plan.awards, 0
    can(floor, case, "pay")
    due = award.due_cents(found, place)
    independent(found, case, act, "verify", "release")
    why = needs_release(floor, found, place)
    if case.state == award.VERIFIED and why:
        raise ActRefused(Why.NOT_NOW, f"not released: {why}", f"ask {named(rules.release)} to release it")
    _other_role(rules, case, act)
    if _paper_missing(rules, case, due):
        raise ActRefused(Why.NOT_NOW, "the checklist of this award is not complete", "complete it first")
    handed, withheld = act.fields["handed"], _withheld(case)
    net = due - withheld
    paid = manual_slips.Paid([found.game, *place], place[0], found.hits[place].hit.outcome, net)
    by_hand = manual_slips.close_by(floor, act, found, paid)
    if handed != net:
        if "reason" not in act.fields:
            raise ActRefused(Why.WRONG_FIELD, f"to be handed over is {format_cents(net)}, not {format_cents(handed)}",
                             "hand over that, or give a reason and let a third person sign")
        need_third(act, f"{format_cents(handed)} is handed over where {format_cents(net)} is due")
    postings = []
    for meter, cents in _meters_of(floor, found, place):
        microcents = cents * MICROCENTS_PER_CENT
        postings += post(meter, (("pending", -microcents), ("paid", microcents)))
        floor.touch_meters(meter.plan.id)
    told = _about(found, place) | {"difference": handed - net, "handed": handed, "how": act.fields["how"]}
    told |= by_hand
    manual_slips.note_closed(floor, by_hand, paid)
    if withheld:
        told["withheld"] = withheld
    waited = award.waiting(found)
    step(floor, case, act, "pay", at, {"handed": handed, "how": act.fields["how"]})
    settle_apart(floor, found)
    floor.touch_round(found, waited)
    return _done(found, told, postings)


def _withheld(case: Case) -> int:
    """Cents withheld by the latest checklist, or 0."""
    return next((int(taken["withheld"]) for taken in reversed(award.signed_steps(case)) if taken["step"] == "paper"), 0)


def settle_apart(floor: Floor, found: Round) -> None:
    """Once an award of a round is paid, later hits of it are settled apart (design section 4)."""
    for name in found.took:
        kept = floor.meters[name].kept.get(found.key)
        if kept is None:
            continue
        if kept.closed:
            del floor.meters[name].kept[found.key]
        else:
            kept.apart = True
        floor.touch_meters(name)


def _paper_missing(rules: AwardRules, case: Case, due: int) -> bool:
    needed = rules.paper_from_cents is not None and due >= rules.paper_from_cents
    return needed and not any(taken["step"] == "paper" for taken in award.signed_steps(case))


def paper(floor: Floor, act: Act, at: int) -> Outcome:
    """The checklist of a large award: every configured line ticked; no tax law here, only what was written (R-58)."""
    found, place = game_of(floor, act), place_of(act)
    case, due = case_of(floor, found, place), 0
    if case.state not in award.OPEN:
        can(floor, case, "pay")
    due = award.due_cents(found, place)
    ticked = set(act.fields["ticked"].split("; "))
    missing = [line for line in floor.plan.awards.paper if line not in ticked]
    if missing:
        raise ActRefused(Why.WRONG_FIELD, f"not ticked: {missing[0]}", "tick every line that has been done")
    withheld = act.fields.get("withheld", 0)
    if withheld > due:
        raise ActRefused(Why.WRONG_FIELD, "more is withheld than is due", "check the amount withheld")
    told = _about(found, place) | {"net": due - withheld, "withheld": withheld}
    case.steps.append({"at": at, "by": [act.by.id], "step": "paper", "withheld": withheld,
                       "taxable": act.fields["taxable"], "form": act.fields.get("form", "")})
    floor.touch_round(found)
    return _done(found, told)


def refuse(floor: Floor, act: Act, at: int) -> Outcome:
    """The claim does not stand: the hit is withdrawn with a reason, and kept as refused (D21, R-58)."""
    found, place = game_of(floor, act), place_of(act)
    refuse_paid_envy(found, place)
    return take_away(floor, act, found, place, "refuse", at)


def refuse_paid_envy(found: Round, place: tuple[int, str]) -> None:
    """Envy that has been handed over cannot be unsaid by what becomes of the hand it was for."""
    for (seat, spot, to), state in found.lines.items():
        if (seat, spot) == place and state == "paid":
            raise ActRefused(Why.ALREADY_DONE, f"the envy of seat {to} for this hand is paid",
                             "call the shift manager: the hand stands")


def take_away(floor: Floor, act: Act, found: Round, place: tuple[int, str], name: str, at: int) -> Outcome:
    """A hit stands no more: the round is settled anew without it; its award is kept as it stood."""
    case = case_of(floor, found, place)
    can(floor, case, name)
    waited, told = award.waiting(found), _about(found, place)
    step(floor, case, act, name, at, {"reason": act.fields["reason"]})
    # Whoever entered it, or took it away, takes no part in what is keyed at this seat in its place.
    signers = [person.id for person in act.people()]
    found.hands[place] = list(dict.fromkeys([*found.hands.get(place, ()), *case.touched, *signers]))
    set_aside(found, place)
    done = rounds.restand(floor.meters, found, (), (place,), at, floor.rules)
    floor.touch_meters(*done.touched)
    floor.touch_round(found, waited)
    told |= dict(done.answer) | settled_of(done) | _old_day(floor, found, at)
    return _done(found, told, list(done.postings))


def set_aside(found: Round, place: tuple[int, str]) -> None:
    """Keep an award as it stands among those that stand no more."""
    case = found.cases.pop(place)
    about = _about(found, place)
    found.past.append(about | {"seat": place[0], "spot": place[1], "state": case.state, "steps": case.steps})


def settled_of(done: rounds.Done) -> dict[str, Any]:
    """The working of a settlement, for the entry."""
    return {"settled": done.settled}


def in_error(floor: Floor, act: Act, at: int) -> Outcome:
    """It should not have been paid: what is paid stays paid, and the house makes the meter whole."""
    found, place = game_of(floor, act), place_of(act)
    case = case_of(floor, found, place)
    refuse_retired(floor, found)
    can(floor, case, "find-in-error")
    need_third(act, "accounting signs what was paid in error")
    postings = []
    for meter, cents in _meters_of(floor, found, place):
        before = meter.amounts()
        after = lay(meter.plan, before, cents * MICROCENTS_PER_CENT, 0)
        postings += post(meter, (
            ("display", after.display - before.display), ("overflow", after.overflow - before.overflow),
            ("house", -cents * MICROCENTS_PER_CENT)))
        meter.taken_by("")
        floor.touch_meters(meter.plan.id)
    step(floor, case, act, "find-in-error", at, {"reason": act.fields["reason"]})
    told = _about(found, place) | _old_day(floor, found, at)
    if floor.rules >= CHECKED_RULES:
        told |= _cancel_envy(floor, found, place)
    floor.touch_round(found)
    return _done(found, told, postings)


def _cancel_envy(floor: Floor, found: Round, place: tuple[int, str]) -> dict[str, Any]:
    """No envy is due for a hand that was paid in error: what is not paid never will be, and nobody owes it."""
    hit = found.hits[place].hit
    cancelled = {to: cents for to, cents in rounds.envy_of(found, hit).items()
                 if found.lines.get((*place, to)) != award.PAID}
    for to in cancelled:
        found.lines[*place, to] = award.CANCELLED
    floor.touch_meters(rounds.uncount_envy(floor.meters, found, hit, sum(cancelled.values())))
    return {"cancelled": [[to, cents] for to, cents in cancelled.items()]} if cancelled else {}


RULES = {
    "award-verified": verify, "award-released": release, "award-paid": pay, "award-refused": refuse,
    "paid-in-error": in_error, "paper-done": paper,
}
