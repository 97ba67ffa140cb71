"""The oracle's money: one meter as it stands, contributing and settling, in fractions of a cent.

Written from design sections 3 and 4 alone.
"""

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

Json = dict[str, Any]
SpotOfSeat = tuple[int, str]
Shares = list[tuple[SpotOfSeat, Fraction]]
"""Hits and their shares of one meter, in pay order."""

MICROCENTS = 1_000_000


def money(text: str) -> Fraction:
    """Cents of ``$10,000.00``."""
    return Fraction(text.replace("$", "").replace(",", "")) * 100


def rate(text: str) -> Fraction:
    """``28%`` as 28/100."""
    return Fraction(text.rstrip("%")) / 100


@dataclass(frozen=True)
class Balances:
    """What a meter's own accounts hold, in cents, and what the ``house`` put in."""

    display: Fraction
    reserve: Fraction = Fraction(0)
    overflow: Fraction = Fraction(0)
    pending: Fraction = Fraction(0)
    house: Fraction = Fraction(0)

    def shown(self) -> Json:
        """The form of an answer."""
        return {
            "display_microcents": int(self.display * MICROCENTS),
            "reserve_microcents": int(self.reserve * MICROCENTS),
            "overflow_microcents": int(self.overflow * MICROCENTS),
            "pending_cents": int(self.pending),
        }


@dataclass
class Meter:
    """One meter: its written policies (the table of its TOML), its seed and its balances."""

    rules: Json
    seed: Fraction
    now: Balances
    contributed: Fraction = Fraction(0)
    """To display and overflow together, since the opening."""
    contributed_reserve: Fraction = Fraction(0)
    voided: Fraction = Fraction(0)
    """Contributions of void rounds: moved from the players to the house."""
    takers: list[object] = field(default_factory=list)
    """The round of every posted hit with a share of it, in order."""

    @property
    def accounts(self) -> dict[str, int]:
        """Every account in microcents; the players' and the house's are what they put in."""
        held = self.now
        amounts = {
            "display": held.display,
            "reserve": held.reserve,
            "overflow": held.overflow,
            "pending": held.pending,
            "players": self.contributed + self.contributed_reserve - self.voided,
            "house": held.house + self.voided,
        }
        return {account: int(cents * MICROCENTS) for account, cents in amounts.items()}

    @property
    def limit(self) -> Fraction | None:
        """Cents, or None."""
        return None if self.rules["limit"] == "none" else money(self.rules["limit"])

    def room(self, display: Fraction, offered: Fraction) -> Fraction:
        """How much of ``offered`` the display may still take."""
        return offered if self.limit is None else min(offered, max(Fraction(0), self.limit - display))

    def contribute(self, start: Balances, whole: Fraction, reserve: Fraction) -> Balances:
        """Balances after a contribution: the display up to the limit, the rest on the overflow."""
        part = self.room(start.display, whole)
        return replace(
            start,
            display=start.display + part,
            overflow=start.overflow + whole - part,
            reserve=start.reserve + reserve,
        )

    def settle(
        self, start: Balances, hits: Shares, coming: "Meter | None" = None
    ) -> tuple[Balances, dict[SpotOfSeat, int]]:
        """Balances and cents of each hit, from ``start``; ``hits`` are (seat and spot, share) in pay order (R-54).

        ``coming``: the rules and seed that wait for a reset. What is put on the new meter is put there by them; the
        hits are paid by this meter's own.
        """
        balances, awards, stands = start, dict[SpotOfSeat, int](), self
        for group in self._groups(hits):
            whole_cents = math.floor(balances.display)
            if group[0][1] < 1:
                ((hit, share),) = group
                exact = balances.display * share
                rounded = math.ceil(exact) if self.rules["rounding"] == "up" else math.floor(exact)
                awards[hit] = min(rounded, whole_cents)
                balances = _freeze(balances, awards[hit])
            else:
                for place, (hit, _) in enumerate(group):
                    awards[hit] = whole_cents // len(group) + (1 if place < whole_cents % len(group) else 0)
                stands = coming or self
                balances = stands._reset(_freeze(balances, whole_cents))
        if hits and stands.rules["below_seed"] == "top-up" and balances.display < stands.seed:
            balances = _fund(balances, stands.seed - balances.display)
        return balances, awards

    def _groups(self, hits: Shares) -> list[Shares]:
        """The hits in the order of taking; hits that share one 100% award stand in one group."""
        tops = [hit for hit in hits if hit[1] == 1]
        if self.rules["order"] == "partials-first":
            hits = [hit for hit in hits if hit[1] < 1] + tops
        if self.rules["tie_policy"] == "sequential":
            return [[hit] for hit in hits]
        groups = []
        for hit in hits:
            if hit[1] < 1:
                groups.append([hit])
            elif hit is tops[0]:
                groups.append(tops)
        return groups

    def _reset(self, balances: Balances) -> Balances:
        """Seed on the carry, then the reserve's surplus, then the overflow, each up to the limit."""
        balances = _fund(balances, self.seed)
        if self.rules["reserve_surplus"] == "add":
            moved = self.room(balances.display, balances.reserve)
            balances = replace(balances, display=balances.display + moved, reserve=balances.reserve - moved)
        if self.rules["overflow"] == "next-meter":
            moved = self.room(balances.display, balances.overflow)
            balances = replace(balances, display=balances.display + moved, overflow=balances.overflow - moved)
        return balances


def _freeze(balances: Balances, cents: int) -> Balances:
    return replace(balances, display=balances.display - cents, pending=balances.pending + cents)


def _fund(balances: Balances, needed: Fraction) -> Balances:
    """Raise the display by ``needed``, from the reserve first, then the house."""
    from_reserve = min(needed, balances.reserve)
    return replace(
        balances,
        display=balances.display + needed,
        reserve=balances.reserve - from_reserve,
        house=balances.house + needed - from_reserve,
    )


@dataclass(frozen=True)
class Kept:
    """A meter at a round's first hit with a share of it, and the contributions and takings until then."""

    balances: Balances
    contributed: Fraction
    contributed_reserve: Fraction
    takings: int


def fixed_part(paytable: Json, prize: Json) -> tuple[int, int]:
    """Cents of a prize from the house, and of the wager that goes back ("for 1", "to 1": times the wager)."""
    wager = int(money(paytable["wager"]))
    pay = prize.get("pay", "$0.00")
    returned = wager if paytable["wager_returned"] or pay.endswith(" to 1") else 0
    if pay.endswith(" 1"):
        return int(pay.split()[0].replace(",", "")) * wager, returned
    return int(money(pay)), returned


def rate_at(written: str | dict[str, str], decks: int | None) -> Fraction:
    """The rate of progression, by the table's number of decks where it depends on them."""
    if isinstance(written, str):
        return rate(written)
    if str(decks) in written:
        return rate(written[str(decks)])
    assert decks is not None
    lowest = max(int(key[:-1]) for key in written if key.endswith("+") and int(key[:-1]) <= decks)
    return rate(written[f"{lowest}+"])


def gaming_day(site: Json, at: int) -> str:
    """The gaming day as ``2024-06-22``: it begins at ``gaming_day_start`` by the wall clock."""
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).astimezone(ZoneInfo(site["timezone"]))
    started = local.time() >= time.fromisoformat(site["gaming_day_start"])
    return str(local.date() if started else local.date() - timedelta(days=1))
