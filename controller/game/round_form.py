"""The written form of a whole round, ROUND.json: docs/GAME.md; its JSON Schema is docs/settle.schema.json. Pure.

Cents and microcents are whole numbers. A policy has no default: an operator must have chosen (design section 4).
"""

import json
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from controller.money import ACCOUNT_MICROCENTS_MAX, Rounding
from controller.plan import BelowSeed, EnvyHand, Order, Overflow, ReserveSurplus, TiePolicy

ROUND_BYTES_MAX = 1_000_000
SEATS_MAX = 7
"""One deck of 53 cards deals seven cards to the dealer and at most six players; one seat may stand empty."""
PROBLEMS_MAX = 20

Cents = Annotated[int, Field(ge=1, le=10_000_000)]
Microcents = Annotated[int, Field(ge=0, le=ACCOUNT_MICROCENTS_MAX)]
SeatNumber = Annotated[int, Field(ge=1, le=SEATS_MAX)]
Cards = Annotated[str, Field(max_length=100)]
Money = Annotated[str, Field(pattern=r"^\$(\d{1,3}(,\d{3})+|\d{1,10})(\.\d{2})?$")]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]


class RoundError(ValueError):
    """A round that is refused as a whole; one problem a line, each with its place."""


class DealerAceHigh(StrEnum):
    """What an ace high pai gow of the dealer does to the main wagers."""

    PUSH = "push-main-wagers"
    PLAY = "play-on"


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Wagers(_Form):
    """Wagers of one seat in cents; one that is absent was not made."""

    main: Cents | None = None
    ace_high: Cents | None = None
    fortune: Cents | None = None
    progressive: Cents | None = None


class WrittenHand(_Form):
    """A set hand: five cards and two."""

    high: Cards
    low: Cards


class Seat(WrittenHand):
    """A player's set hand and wagers; a seat without wagers can still hold the hand that earns others their envy."""

    seat: SeatNumber
    wagers: Wagers


class Paytables(_Form):
    """Ids of the paytables chosen for the table."""

    ace_high: Id | None = None
    fortune: Id | None = None
    progressive: Id | None = None


class RoundMeter(_Form):
    """One meter as it stands after the lock-out, this round's contributions in it, and its written policies."""

    display_microcents: Microcents
    reserve_microcents: Microcents
    overflow_microcents: Microcents
    tie_policy: TiePolicy
    order: Order
    below_seed: BelowSeed
    reserve_surplus: ReserveSurplus
    rounding: Rounding
    limit: Money | Literal["none"]
    overflow: Overflow


class Table(_Form):
    """The table's written rules."""

    seats: SeatNumber
    pay_order: Annotated[list[SeatNumber], Field(max_length=SEATS_MAX)]
    dealer_ace_high: DealerAceHigh
    envy_hand: EnvyHand | None = None
    maximum_payout: Money | Literal["none"]
    """The most payable to a player on a single hand (subsection (e))."""
    minimum_wagers: Wagers = Wagers()
    """The least permissible wagers in cents; asked for where there is a maximum payout."""


class Round(_Form):
    """A whole round at one table, as set and wagered."""

    table: Table
    paytables: Paytables
    meters: Annotated[dict[Id, RoundMeter], Field(max_length=8)] = {}
    dealer: WrittenHand
    seats: Annotated[list[Seat], Field(min_length=1, max_length=SEATS_MAX)]


def read_form(text: bytes) -> Round:
    """The round as written; raises RoundError naming every place that is wrong (a doubled key too)."""
    if len(text) > ROUND_BYTES_MAX:
        raise RoundError(f"longer than {ROUND_BYTES_MAX:,} bytes: is it the right file?")
    try:
        json.loads(text, object_pairs_hook=_refuse_doubled)
        return Round.model_validate_json(text)
    except ValidationError as wrong:
        places = [f"{_place(error['loc'])}: {error['msg']}" for error in wrong.errors()[:PROBLEMS_MAX]]
        raise RoundError("\n".join(places)) from None
    except (ValueError, RecursionError) as wrong:
        raise RoundError(f"not JSON: {str(wrong)[:200]}") from None


def _refuse_doubled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError(f"a key stands twice among {', '.join(key for key, _ in pairs)[:100]}")
    return made


def _place(steps: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in steps) or "round"


def schema() -> dict[str, Any]:
    """The JSON Schema of ROUND.json, published as docs/settle.schema.json."""
    made = Round.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "ROUND.json", **made}
