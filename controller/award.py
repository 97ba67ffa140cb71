"""The life of an award, in one table; who may take which step is decided by ``controller.award_acts``. Pure.

pending -> verified -> (released) -> paid, or refused; a paid one is never undone (R-49, R-57..R-59, D13, D21).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from controller.floor_state import Case, Round
from controller.journal import CHECKED_RULES, RULES_VERSION
from controller.money import format_cents
from controller.plan import AwardRules
from firmware_bridge.messages import Hit

PENDING, VERIFIED, RELEASED, PAID = "pending", "verified", "released", "paid"
REFUSED, TRAY, IN_ERROR, WITHDRAWN = "refused", "paid-by-dealer", "paid-in-error", "withdrawn"

CANCELLED = "cancelled"
"""Envy that nobody is due any more: its hand was paid in error."""

CHANGED = "amount-changed"
"""A step that nobody takes: another hand of the game has made the award another one, and it is pending again."""

STEPS: Mapping[str, Mapping[str, str]] = {
    PENDING: {"verify": VERIFIED, "refuse": REFUSED, "withdraw": WITHDRAWN},
    VERIFIED: {"release": RELEASED, "pay": PAID, "refuse": REFUSED, "withdraw": WITHDRAWN},
    RELEASED: {"pay": PAID, "refuse": REFUSED, "withdraw": WITHDRAWN},
    PAID: {"find-in-error": IN_ERROR},
    TRAY: {"withdraw": WITHDRAWN},  # a hand keyed wrongly; what the dealer paid out is the house's to look for
    REFUSED: {},
    WITHDRAWN: {},
    IN_ERROR: {},
}
"""By state: each step that may be taken, and the state after it."""

OPEN = frozenset((PENDING, VERIFIED, RELEASED))
"""States in which an award waits for people."""


def doubt(found: Round, seat: int, rules: int = RULES_VERSION) -> str:
    """Why the wager of a seat is in doubt by a version of the rules, or empty (R-62)."""
    if rules >= CHECKED_RULES and found.unexplained:
        return "chips and wagers of this game differ, and nobody has found why"
    return "" if {0, seat}.isdisjoint(found.doubted) else "the wager of this seat could not be proved"


def release_why(asked: AwardRules, found: Round, seat: int, due: int, rules: int = RULES_VERSION) -> str:
    """Why an award of a seat and so many cents needs the third release, or empty (R-58, D26)."""
    if asked.release_from_cents is not None and due >= asked.release_from_cents:
        return f"awards from {format_cents(asked.release_from_cents)}"
    return doubt(found, seat, rules)


def envy_why(asked: AwardRules, found: Round, to: int, cents: int, rules: int = RULES_VERSION) -> str:
    """Why envy of so many cents for a seat needs a second person of a role that releases, or empty."""
    if rules < CHECKED_RULES:
        return ""
    if asked.release_from_cents is not None and cents >= asked.release_from_cents:
        return f"envy from {format_cents(asked.release_from_cents)}"
    return doubt(found, to)


def open_case(
    found: Round, hit: Hit, envy: Mapping[int, int], touched_by: Sequence[str], at: int, rules: int = RULES_VERSION
) -> Case:
    """What a new award begins as: paid by the dealer from the tray where the table allows it, else pending.

    An award without a share of a meter whose pay, returned wager and envy together do not exceed the table's
    ``tray_limit`` is posted as paid with the hit; not one that people entered, or of a seat whose wager is in doubt,
    or whose envy is for such a seat or for one whose wager people have corrected.
    """
    prize = found.plan.spot[hit.spot].prizes[hit.outcome]
    whole = prize.fixed_cents + prize.returned_cents + sum(envy.values())
    proved = not doubt(found, hit.seat, rules) and not touched_by
    if rules >= CHECKED_RULES:
        proved = proved and not any(doubt(found, to) or (to, hit.spot) in found.hands for to in envy)
    small = proved and not prize.shares and whole <= found.plan.tray_limit_cents
    step = {"at": at, "by": list(touched_by), "step": "hit"}
    return Case(TRAY if small else PENDING, [step], list(touched_by))


def due_cents(found: Round, place: tuple[int, str]) -> int:
    """What the player at a seat is due for a standing hit: shares, fixed part and returned wager, in cents."""
    standing = found.hits[place]
    prize = found.plan.spot[standing.hit.spot].prizes[standing.hit.outcome]
    return sum(standing.shares.values()) + prize.fixed_cents + prize.returned_cents


def waiting(found: Round) -> int:
    """How many awards of a round wait for people."""
    return sum(case.state in OPEN for case in found.cases.values())


def holding(found: Round) -> list[list[object]]:
    """The unverified awards of a round that hold its table (``hold_from``), as game, seat and spot."""
    hold_from = found.plan.hold_from_cents
    if hold_from is None:
        return []
    return [[found.game, *place] for place, case in found.cases.items()
            if case.state == PENDING and due_cents(found, place) >= hold_from]


def signed_steps(case: Case) -> list[dict[str, Any]]:
    """The steps that still count: those since the award last became another amount."""
    changed = [place for place, step in enumerate(case.steps) if step["step"] == CHANGED]
    return case.steps[changed[-1] :] if changed else case.steps
