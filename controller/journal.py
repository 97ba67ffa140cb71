"""Entries and postings as they are made: numbered, summing to zero, checked. Pure; the ledger writes them.

A posting's sign is the account's: ``players`` and ``house`` go down by what they put in, ``display`` goes up.
"""

from collections.abc import Iterable
from typing import NamedTuple

from controller.floor_state import ACCOUNTS, Meter
from controller.meter import BrokenInvariant

RULES_VERSION = 6
"""The version of the engine's rules; each entry names it and is replayed by it for ever (docs/LEDGER.md)."""
CHECKED_RULES = 2
"""From this version on chips that differ are doubt about a whole game until people have found why; the person who may
not sign is told by role, wager and finding too; a true hand comes in the place of one that was paid in error."""

DAY_RULES = 3
"""From this version on a day is closed with the balances and what was open at its own end, from the ledger's first day
on; and what is handed over with a shift is listed."""
SLIP_RULES = 4
"""From this version on a slip written by hand is what a table can have paid, and closes its award; surveillance signs
nothing; a remote opening ends the session of the one before it."""
TABLE_RULES = 5
"""From this version on a closed table still counts what its unit kept of before; a table is opened only when all its
meters are; a reset puts in the seed that waits for it, and no limit comes into force under the amount; a limit is a
reason to lower a meter only where one stands above it, and no meter is retired while its tables owe something."""
ENVY_RULES = 6
"""From this version on it is kept who paid envy: they do not verify its hand, nor write a finding of the game; nor does
who paid an award that was in error. And no seed waits for a reset that is not below the limit in force."""


class Posting(NamedTuple):
    """One signed amount of an entry, and the account's balance after it, in microcents."""

    meter: str
    account: str
    microcents: int
    balance: int


class Entry(NamedTuple):
    """One durable line of the ledger, before its place in the chain of hashes is known. ``at`` in UTC microseconds."""

    book: str
    number: int
    at: int
    kind: str
    table: str | None
    game: int | None
    device: str | None
    boot: str | None
    seq: int | None
    rules: int
    body: str
    postings: tuple[Posting, ...]


def post(meter: Meter, moves: Iterable[tuple[str, int]]) -> list[Posting]:
    """Move microcents between one meter's accounts; raises BrokenInvariant unless they sum to zero.

    Display, reserve, overflow and pending may not fall below zero (MO-03), and the identity of design section 3 is
    checked after every entry (R-19).
    """
    postings, total = [], 0
    for account, microcents in moves:
        if microcents:
            balance = getattr(meter, account) + microcents
            setattr(meter, account, balance)
            total += microcents
            postings.append(Posting(meter.plan.id, account, microcents, balance))
    check(meter, total)
    return postings


def contribute(meter: Meter, display: int, overflow: int, reserve: int) -> list[Posting]:
    """``post`` for the one movement made thousands of times a second: from the players onto the meter."""
    name = meter.plan.id
    total = display + overflow + reserve
    meter.players -= total
    postings = [Posting(name, "players", -total, meter.players)] if total else []
    if display:
        meter.display += display
        postings.append(Posting(name, "display", display, meter.display))
    if overflow:
        meter.overflow += overflow
        postings.append(Posting(name, "overflow", overflow, meter.overflow))
    if reserve:
        meter.reserve += reserve
        postings.append(Posting(name, "reserve", reserve, meter.reserve))
    check(meter)
    return postings


def check(meter: Meter, total: int = 0) -> None:
    """Raise BrokenInvariant unless a meter's accounts are sound and ``total`` of its postings is zero."""
    inside = meter.display + meter.reserve + meter.overflow + meter.pending
    if total or inside + meter.players + meter.paid + meter.house:
        raise BrokenInvariant(f"{meter.plan.id}: postings do not sum to zero")
    if meter.display < 0 or meter.reserve < 0 or meter.overflow < 0 or meter.pending < 0:
        balances = ", ".join(f"{account} {getattr(meter, account)}" for account in ACCOUNTS[:4])
        raise BrokenInvariant(f"{meter.plan.id}: an account is below zero: {balances}")
