"""Money as whole numbers: microcents, cents and rates in parts per million. Pure; no float, no Decimal.

1 cent = 1,000,000 microcents. A wager of whole cents times a rate in ppm is a whole number of microcents, so
contributing needs no rounding rule (design section 3, R-15). Only a share of a meter is rounded: ``share_of_meter``.
"""

import re
from enum import StrEnum

MICROCENTS_PER_CENT = 1_000_000
PPM = 1_000_000
ACCOUNT_MICROCENTS_MAX = 900_000_000_000 * MICROCENTS_PER_CENT
"""$9,000,000,000.00: no display, reserve or overflow may pass it (refusal ``account-full``)."""

_MONEY = re.compile(r"\$(\d{1,3}(?:,\d{3})+|\d{1,10})(?:\.(\d{2}))?", re.ASCII)
_RATE = re.compile(r"(\d{1,3})(?:\.(\d{1,4}))?%", re.ASCII)


class Rounding(StrEnum):
    """Which way a share of a meter goes to whole cents: in the player's favour, or not."""

    UP = "up"
    DOWN = "down"


def parse_money(text: str) -> int:
    """Cents of a written amount such as ``$10,000.00``; raises ValueError for any other form (DI-03)."""
    match = _MONEY.fullmatch(text)
    if match is None:
        raise ValueError(f'{text!r} is not money; write dollars and cents like "$10,000.00"')
    return int(match[1].replace(",", "")) * 100 + int(match[2] or "0")


def parse_rate(text: str) -> int:
    """Parts per million of a written percentage from ``0%`` to ``100%``, at most four decimals (CF-02)."""
    match = _RATE.fullmatch(text)
    ppm = int(match[1]) * 10_000 + int((match[2] or "").ljust(4, "0")) if match else -1
    if not 0 <= ppm <= PPM:
        raise ValueError(f'{text!r} is not a rate; write a percentage from 0% to 100% like "28%" or "1.5%"')
    return ppm


def whole_cents(microcents: int) -> int:
    """The whole cents in an amount of microcents, rounded toward zero: what may be shown."""
    return microcents // MICROCENTS_PER_CENT if microcents >= 0 else -(-microcents // MICROCENTS_PER_CENT)


def format_cents(cents: int) -> str:
    """``$10,000.28`` for 1000028 cents; the same in every locale (DI-03)."""
    sign = "-" if cents < 0 else ""
    return f"{sign}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def format_microcents(microcents: int) -> str:
    """An amount of microcents as dollars and whole cents; a fraction of a cent is not shown."""
    return format_cents(whole_cents(microcents))


def format_rate(ppm: int) -> str:
    """``28%`` for 280,000 ppm; the written digits come back."""
    whole, part = divmod(ppm, 10_000)
    return f"{whole}.{part:04d}".rstrip("0").rstrip(".") + "%"


def share_of_meter(display: int, share_ppm: int, rounding: Rounding) -> int:
    """Cents of a share of a meter of ``display`` microcents (>= 0), never above the meter's whole cents (R-16)."""
    divisor = PPM * MICROCENTS_PER_CENT
    rounded = (display * share_ppm + (divisor - 1 if rounding is Rounding.UP else 0)) // divisor
    return min(rounded, display // MICROCENTS_PER_CENT)
