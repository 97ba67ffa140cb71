"""The forms of awards, games and tables: which of them a person sees, with what is known filled in.

Only those whose role may do an act see its form, and whoever may not sign it reads why; the rules of the act decide
again. What was rendered too early is refused by them: no step is done twice (MO-08).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.acts import KINDS, ActKind, Field
from controller.game_file import AwardFile, EnvyDue, GameFile
from controller.money import format_cents
from controller.people import Person, Role
from controller.plan import AwardRules
from controller.snapshot import TableView
from controller.web.sessions import fresh_act_id
from controller.wiring import PrinterPlan

Choices = Mapping[str, Sequence[tuple[str, str]]]
NEXT_STEPS = ("award-verified", "award-released", "paper-done", "award-paid")
_VERB = {"award-verified": "verify", "award-released": "release", "paper-done": "complete the checklist",
         "award-paid": "pay"}
_ASIDE = {"award-verified": "The cards do not agree with the hand",
          "award-paid": "The amount handed over differs from the award, or a slip written by hand has paid it"}
"""What asks for a reason and for another person, in two acts that mostly ask for neither."""


class Form(NamedTuple):
    """One form. ``values`` are sent along unseen, ``given`` stand in their fields.

    ``aside``: the fields ``apart`` and the third person stand under these words, ``third``: a third person must sign.
    ``cards``: with the card picker for that paytable; ``lines``: each must be ticked.
    """

    kind: ActKind
    act_id: str
    values: Mapping[str, str]
    button: str
    choices: Choices
    given: Mapping[str, str]
    asked: tuple[Field, ...]
    apart: tuple[Field, ...]
    aside: str
    third: bool
    cards: str
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is for, in the words of its button."""
        return self.button


class Next(NamedTuple):
    """The next step of an award: in words, who takes it, and the form if the person who looks may."""

    words: str
    roles: str
    form: Form | None
    why_not: str


def roles_for(kind: str, rules: AwardRules) -> frozenset[Role]:
    """Who may do an act here: as the floor's own rules say (``[awards]``), or else the table of acts."""
    return rules.by(kind) or KINDS[kind].by


def roles_words(roles: frozenset[Role]) -> str:
    """``a supervisor or a shift manager``."""
    departments = (Role.ACCOUNTING, Role.SURVEILLANCE)
    words = [role.value if role in departments else f"a{'n' if role.value[0] in 'aeiou' else ''} {role.value}"
             for role in Role if role in roles]
    return " or ".join(words).replace("-", " ") or "nobody"


def step_words(kind: str) -> str:
    """``verify``: a step in the floor's words."""
    return _VERB[kind]


def form_of(
    kind: str, person: Person, rules: AwardRules, values: Mapping[str, str], button: str = "", *,
    choices: Choices | None = None, given: Mapping[str, str] | None = None, third: bool = False, cards: str = "",
    lines: tuple[str, ...] = (),
) -> Form | None:
    """A form of an act, for a person whose role may do it; else None."""
    if person.role not in roles_for(kind, rules):
        return None
    found = KINDS[kind]
    aside = _ASIDE.get(kind, "")
    asked = [one for one in found.fields if one.name not in values and not (cards and one.name == "cards")
             and not (lines and one.name == "ticked")]
    apart = [one for one in asked if aside and one.name in ("reason", "slip")]
    return Form(found, fresh_act_id(), values, button or found.title, choices or {}, given or {},
                tuple([one for one in asked if one not in apart]), tuple(apart), aside, third, cards, lines)


# ---------------------------------------------------------------------- one award


def place_values(game: GameFile, seat: int, spot: str) -> dict[str, str]:
    """What every form of one award sends along."""
    return {"table": game.table, "game": str(game.game), "seat": str(seat), "spot": spot}


def next_step(game: GameFile, one: AwardFile, person: Person, *, picker: bool) -> Next | None:
    """The next step of an award; None when it waits for nobody."""
    kind = next((kind for kind in one.acts if kind in NEXT_STEPS), None)
    if kind is None:
        return None
    rules = game.floor.awards
    life, due = one.life, format_cents(one.life.due_cents)
    withheld = next((int(act.told["withheld"]) for act in reversed(life.acts) if act.kind == "paper-done"), 0)
    handed = format_cents(life.due_cents - withheld)
    buttons = {"award-verified": f"Verify {due}", "award-released": f"Release {due}", "award-paid": f"Pay {handed}",
               "paper-done": "The checklist is complete"}
    spot = game.round.plan.spot[life.spot]
    why_not = one.why_not(kind, person.id, person.role) if person.role in roles_for(kind, rules) else ""
    seen = {"due": due} if any(field.name == "due" for field in KINDS[kind].fields) else {}
    form = None if why_not else form_of(
        kind, person, rules, place_values(game, *life.place) | seen, buttons[kind], given={"handed": handed},
        choices={"taxable": (("taxable", "yes"), ("not-taxable", "no"))},
        cards=spot.paytable.id if picker and kind == "award-verified" else "",
        lines=rules.paper if kind == "paper-done" else ())
    return Next(_VERB[kind], roles_words(roles_for(kind, rules)), form, why_not)


def other_forms(game: GameFile, one: AwardFile, person: Person, at: int) -> list[Form]:
    """What else may be done about an award: refuse it, put the hand right, find it paid in error."""
    rules, life = game.floor.awards, one.life
    values = place_values(game, *life.place)
    correctable = bool(game.round.state != "void" and (
        game.round.state == "open" or game.floor.gaming_day(at) <= game.last_day()))
    made = []
    for kind in one.acts:
        if kind in NEXT_STEPS or (kind in ("hit-changed", "hit-withdrawn") and not correctable):
            continue
        hands = [hand for hand in _hands(game, life.spot) if hand[0] != life.outcome]
        made.append(form_of(kind, person, rules, values, choices={"outcome": hands}, third=kind == "paid-in-error"))
    return [form for form in made if form is not None]


def print_form(game: GameFile, one: AwardFile, person: Person, printer: PrinterPlan | None = None) -> Form | None:
    """Printing its slip, as PDF or at a printer: every print is an entry, the first issues the number (R-58)."""
    button = "Print the slip again" if one.printed else "Print the slip"
    number = str(one.printed[0].number) if one.printed else ""
    values = place_values(game, *one.life.place) | {"printer": "", "number": number}
    if printer is not None:
        button = f"Print again at {printer.name}" if one.printed else f"Print at {printer.name}"
        values["printer"] = printer.id
    return form_of("slip-printed", person, game.floor.awards, values, button)


def envy_forms(
    game: GameFile, seat: int, spot: str, due: EnvyDue, person: Person, *, alone: bool
) -> tuple[Form | None, Form | None]:
    """Paying one seat's envy, and leaving it unclaimed; of a hand that stands ``alone`` two people pay it."""
    values = place_values(game, seat, spot) | {"to": str(due.to)}
    rules = game.floor.awards
    pay = form_of("envy-paid", person, rules, values, f"Pay {format_cents(due.cents)} to seat {due.to}",
                  third=alone or bool(due.second))
    if pay is not None and due.second:
        pay = pay._replace(kind=pay.kind._replace(third=rules.release - {person.role}))
    leave = form_of("envy-unclaimed", person, rules, values, "Not claimed") if due.state != "unclaimed" else None
    return pay, leave


def _hands(game: GameFile, spot: str) -> list[tuple[str, str]]:
    return [(prize.outcome, prize.label) for prize in game.round.plan.spot[spot].paytable.prizes]


# ---------------------------------------------------------------------- the whole game, and its table


def correction_forms(game: GameFile, person: Person, at: int) -> list[Form]:
    """Putting the game right: a hand or wager added, a wager removed, a difference of the count closed."""
    made = [_correction(game, kind, person) for kind in game.corrections(at) if kind != "hit-added"]
    if "hit-added" in game.corrections(at):
        made[:0] = [_add_hand(game, person, lit=True), _add_hand(game, person, lit=False)]
    return [form for form in made if form is not None]


def _add_hand(game: GameFile, person: Person, *, lit: bool) -> Form | None:
    """Adding a hand at a lit seat, or at one without a wager, whose hand only earns the others their envy."""
    places = [place for place in game.open_places() if (place in game.round.wagers) == lit]
    button = "Add a hand" if lit else "Add a hand of a seat without a wager"
    values = {"table": game.table, "game": str(game.game), "envy_only": "no" if lit else "yes"}
    return _seated(game, "hit-added", person, values, places, button) if places else None


def _correction(game: GameFile, kind: str, person: Person) -> Form | None:
    plan = game.round.plan
    values = {"table": game.table, "game": str(game.game)}
    every = [(seat, spot.id) for seat in range(1, plan.seats + 1) for spot in plan.spots]
    if kind == "wager-removed":
        every = list(game.round.wagers)
    elif kind == "wager-added":
        every = [place for place in every if place not in game.round.wagers]
    return _seated(game, kind, person, values, every)


def _seated(
    game: GameFile, kind: str, person: Person, values: dict[str, str], places: Sequence[tuple[int, str]],
    button: str = "",
) -> Form | None:
    """A form that asks for one of some seats, for the bet where a seat has several, and for a hand."""
    spots = game.round.plan.spots
    known = {"spot": spots[0].id} if len(spots) == 1 and kind != "count-closed" else {}
    hands = dict(hand for spot in spots for hand in _hands(game, spot.id))
    seats = [(str(seat), str(seat)) for seat in sorted({seat for seat, _ in places})]
    choices = {"seat": seats, "spot": [(spot.id, spot.id) for spot in spots], "outcome": list(hands.items())}
    return form_of(kind, person, game.floor.awards, values | known, button, choices=choices)


def table_forms(view: TableView, person: Person, rules: AwardRules, *, unheard: bool) -> Iterator[Form]:
    """Opening or closing a table, and accepting its loss; one whose unit is not heard is closed by two people."""
    values = {"table": view.plan.id}
    kinds = ["table-opened" if view.closed else "table-closed"] + (["loss-accepted-by"] if view.loss else [])
    for kind in kinds:
        made = form_of(kind, person, rules, values, third=unheard and kind == "table-closed")
        if made is not None:
            yield made


