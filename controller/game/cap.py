"""The maximum payout of subsection (e): its least permissible amount, and what it takes. Pure.

It may be no lower than $50,000, nor than what one player can win in a round at the minimum wagers; it never touches
meter payouts or envy (58 Pa. Code section 688a.12(e), R-18).
"""

from controller.game.cards import read_hand
from controller.game.classify import SevenCards
from controller.game.round_form import DealerAceHigh
from controller.game.rows import BOTH
from controller.game.tables import BonusTable
from controller.paytable import Paytable

CAP_CENTS_MIN = 5_000_000

KINDS_OF_HAND = tuple(map(read_hand, (
    "As Ks Qs Js Ts 9s 8s", "9s 8s 7s 6s 5s 4s 3s", "As Ks Qs Js Ts Kd Qd", "As Ks Qs Js Ts 9s Jo",
    "9s 8s 7s 6s 5s 4s Jo", "As Ah Ad Ac Jo Kd 2h", "Ks Kh Kd Kc Jo 3d 2h", "As Ks Qs Js Ts 3d 2h",
    "9s 8s 7s 6s 5s 3d 2h", "Ks Kh Kd Kc Js 3d 2h", "Ks Kh Kd Qs Qh 3d 2h", "Ks Js 9s 7s 5s 3d 2h",
    "Ks Kh Kd Js 9h 7d 2h", "9s 8h 7d 6s 5h Kd 2h", "Ks Kh Qs Qh Js Jh 2d",
)))  # fmt: skip
"""A hand of each kind that any row of section 688a.12 pays, the best one of its kind for the other rows."""


def most_at_minimum(
    main_cents: int,
    ace_high: tuple[BonusTable, int] | None,
    fortune: tuple[BonusTable, SevenCards, int] | None,
    progressive: tuple[Paytable, SevenCards] | None,
    policy: DealerAceHigh,
) -> int:
    """Cents that one player can win at most in a round at the minimum wagers, meters and envy apart."""
    odds = {prize.outcome: prize.odds * ace_high[1] for prize in ace_high[0].prizes} if ace_high else {}
    main_too = main_cents if policy is DealerAceHigh.PLAY else 0
    dealers = max((cents for outcome, cents in odds.items() if outcome != BOTH), default=0)
    best = odds.get(BOTH, 0) + main_too
    for hand in KINDS_OF_HAND:
        bonus = _fortune(hand, fortune) + _fixed(hand, progressive)
        best = max(best, bonus + max(main_cents, dealers + main_too))
    return best


def _fortune(hand: int, fortune: tuple[BonusTable, SevenCards, int] | None) -> int:
    if fortune is None:
        return 0
    table, reader, cents = fortune
    row = reader.row(hand)
    return sum(prize.odds * cents for prize in table.prizes if row is not None and prize.outcome == row.outcome)


def _fixed(hand: int, progressive: tuple[Paytable, SevenCards] | None) -> int:
    if progressive is None:
        return 0
    table, reader = progressive
    row = reader.row(hand)
    return sum(prize.fixed_cents for prize in table.prizes if row is not None and prize.outcome == row.outcome)
