"""A whole round settled at once: every wager of every seat, envy, meter shares and the maximum payout. Pure.

Main wagers pay 1 to 1 (58 Pa. Code section 688a.12(a)); bonuses by their paytables (b)-(d) from all seven cards,
however they are set; shares of a meter by ``controller.meter.settle``; the maximum payout by (e), never on meter shares
or envy.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from controller.game.classify import is_ace_high
from controller.game.round_check import KINDS, Progressive, ReadyRound, SeatHand
from controller.game.round_form import DealerAceHigh, RoundError
from controller.game.set_hands import SetHand, rank_high, rank_low
from controller.meter import Settlement
from controller.meter import settle as settle_meter
from controller.plan import EnvyHand
from controller.rounds import ENVY_WAGER_CENTS


class Due(NamedTuple):
    """What one wager is due before the cap: ``win``, ``push`` or ``lose``; winnings in cents from the house."""

    result: str
    outcome: str | None = None
    label: str | None = None
    best: str | None = None
    pay_cents: int = 0
    returned_cents: int = 0


@dataclass(slots=True)
class WagerResult:
    """One wager settled. ``pay_cents``: winnings from the house after the cap, without meter shares and envy."""

    wager: str
    wager_cents: int
    result: str
    outcome: str | None
    label: str | None
    best: str | None
    pay_cents: int
    returned_cents: int
    cap_took_cents: int
    meters: dict[str, int] = field(default_factory=dict)
    """Cents of each meter part of which the row has a share."""


def settle(ready: ReadyRound) -> dict[str, Any]:
    """The round's result in the form of docs/GAME.md."""
    dealer_ace_high = is_ace_high(ready.dealer.seven)
    results = {seat.seat: _settle_seat(ready, seat, dealer_ace_high) for seat in ready.seats.values()}
    meters = _settle_meters(ready, results)
    envy = _envy(ready)
    seats = [_told_seat(seat, results[seat.seat], envy.get(seat.seat, [])) for seat in ready.seats.values()]
    return {
        "dealer": {
            "high": rank_high(ready.dealer.high).category.words,
            "low": rank_low(ready.dealer.low).category.words,
            "ace_high": dealer_ace_high,
        },
        "seats": seats,
        "meters": meters,
        "totals": {key: sum(seat["totals"][key] for seat in seats) for key in _totals([], [])},
    }


def _settle_seat(ready: ReadyRound, seat: SeatHand, dealer_ace_high: bool) -> list[WagerResult]:
    """A seat's wagers in their order; the cap is used up in that order too, and takes nothing from the main wager."""
    left = ready.cap_cents
    results = []
    for kind in KINDS:
        wager = getattr(seat.wagers, kind)
        if wager is None:
            continue
        due = _due(ready, seat, kind, wager, dealer_ace_high)
        pay = due.pay_cents
        if left is not None:
            pay = pay if kind == "main" else min(pay, left)
            left = max(0, left - pay)
        results.append(WagerResult(
            kind, wager, due.result, due.outcome, due.label, due.best, pay, due.returned_cents, due.pay_cents - pay))
    return results


def _due(ready: ReadyRound, seat: SeatHand, kind: str, wager: int, dealer_ace_high: bool) -> Due:
    if kind == "main":
        return _main(ready, seat.hand, wager, dealer_ace_high)
    if kind == "ace_high" and ready.ace_high is not None:
        verdict = ready.ace_high.reader.verdict(ready.dealer.seven, seat.hand.seven)
        odds = next((prize.odds for prize in ready.ace_high.table.prizes if prize.outcome == verdict.outcome), None)
        return _bonus(wager, odds, *verdict)
    if kind == "fortune" and ready.fortune is not None:
        verdict = ready.fortune.reader.verdict(seat.hand.seven)
        odds = next((prize.odds for prize in ready.fortune.table.prizes if prize.outcome == verdict.outcome), None)
        return _bonus(wager, odds, *verdict)
    if ready.progressive is not None:
        return _progressive(ready.progressive, seat.hand)
    raise RoundError(f"seat {seat.seat}: wagers.{kind}: the round names no such paytable")


def _main(ready: ReadyRound, hand: SetHand, wager: int, dealer_ace_high: bool) -> Due:
    """1 to 1 where both hands are better; a tie is the dealer's; one each is a push; a fouled hand loses."""
    if dealer_ace_high and ready.form.table.dealer_ace_high is DealerAceHigh.PUSH:
        return Due("push", best="the dealer has ace high pai gow", returned_cents=wager)
    if hand.fouled:
        return Due("lose", best="fouled: the low hand outranks the high hand")
    high, low = rank_high(hand.high), rank_low(hand.low)
    better = (high > rank_high(ready.dealer.high)) + (low > rank_low(ready.dealer.low))
    best = f"high {high.category.words}, low {low.category.words}"
    if better == 2:
        return Due("win", best=best, pay_cents=wager, returned_cents=wager)
    return Due("push", best=best, returned_cents=wager) if better else Due("lose", best=best)


def _bonus(wager: int, odds: int | None, outcome: str | None, label: str | None, best: str | None) -> Due:
    """A bonus "to 1": a paid wager goes back too; odds of 0 are a push; None is no row."""
    if odds is None:
        return Due("lose")
    return Due("win" if odds else "push", outcome, label, best, odds * wager, wager)


def _progressive(progressive: Progressive, hand: SetHand) -> Due:
    """The fixed part of a progressive row; its shares are settled for all seats together."""
    verdict = progressive.reader.verdict(hand.seven)
    for prize in progressive.table.prizes:
        if prize.outcome == verdict.outcome:
            return Due("win", *verdict, prize.fixed_cents, prize.returned_cents)
    return Due("lose")


def _settle_meters(ready: ReadyRound, results: dict[int, list[WagerResult]]) -> dict[str, Any]:
    """Each meter's shares in pay order, as one settlement (design section 4); cents go to the wagers' results."""
    if ready.progressive is None:
        return {}
    prizes = {prize.outcome: dict(prize.shares) for prize in ready.progressive.table.prizes}
    told = {}
    for part, (plan, before) in ready.progressive.meters.items():
        claims = []
        for seat in ready.form.table.pay_order:
            for result in results.get(seat, []):
                if result.wager == "progressive" and result.outcome and part in prizes[result.outcome]:
                    claims.append((result, prizes[result.outcome][part]))
        done = settle_meter(plan, before, [share for _, share in claims]) if claims else Settlement((), before, 0)
        for (result, _), award in zip(claims, done.awards, strict=True):
            result.meters[part] = award
        told[part] = {
            "before": _told_amounts(*before), "after": _told_amounts(*done.after),
            "paid_cents": sum(done.awards), "house_microcents": done.house,
        }  # fmt: skip
    return told


def _told_amounts(display: int, reserve: int, overflow: int) -> dict[str, int]:
    return {"display_microcents": display, "reserve_microcents": reserve, "overflow_microcents": overflow}


def _envy(ready: ReadyRound) -> dict[int, list[dict[str, Any]]]:
    """By seat: for each qualifying hand of another player, envy to every wager of the same kind of $5 or more."""
    due: dict[int, list[dict[str, Any]]] = {}
    for kind, bonus in (("fortune", ready.fortune), ("progressive", ready.progressive)):
        if bonus is None:
            continue
        cents_of = {prize.outcome: prize.envy_cents for prize in bonus.table.prizes}
        for holder in ready.seats.values():
            row = bonus.reader.row(holder.hand.seven)
            cents = cents_of[row.outcome] if row is not None else 0
            wagering = getattr(holder.wagers, kind) is not None
            if row is None or not cents or not (wagering or ready.form.table.envy_hand is EnvyHand.ANY_PLAYER):
                continue
            for seat in ready.seats.values():
                if seat.seat != holder.seat and (getattr(seat.wagers, kind) or 0) >= ENVY_WAGER_CENTS:
                    due.setdefault(seat.seat, []).append(
                        {"wager": kind, "from_seat": holder.seat, "outcome": row.outcome, "cents": cents})
    return due


def _told_seat(seat: SeatHand, results: list[WagerResult], envy: list[dict[str, Any]]) -> dict[str, Any]:
    wagers = [{key: getattr(result, key) for key in WagerResult.__slots__} for result in results]
    return {
        "seat": seat.seat,
        "fouled": seat.hand.fouled,
        "wagers": wagers,
        "envy": envy,
        "totals": _totals(results, envy),
    }


def _totals(results: list[WagerResult], envy: list[dict[str, Any]]) -> dict[str, int]:
    """Cents; ``handed_cents`` is all that goes to the player: winnings, returned wagers, meter shares, envy."""
    pay, returned = sum(result.pay_cents for result in results), sum(result.returned_cents for result in results)
    meter, due = sum(sum(result.meters.values()) for result in results), sum(entry["cents"] for entry in envy)
    return {
        "wagered_cents": sum(result.wager_cents for result in results), "pay_cents": pay, "returned_cents": returned,
        "meter_cents": meter, "envy_cents": due, "cap_took_cents": sum(result.cap_took_cents for result in results),
        "handed_cents": pay + returned + meter + due,
    }  # fmt: skip
