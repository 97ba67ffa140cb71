"""Slips for tests: one award of paytable 4 with two envy payments and a returned wager, and its PDF's words."""

import re
import zlib
from dataclasses import replace
from typing import Any

from controller.money import Rounding
from controller.people import Person, Role
from controller.plan import Environment
from controller.slip import EnvyPaid, LitSeat, MeterWorking, Slip, SlipState, Step

ANNA = Person("anna", Role.SUPERVISOR, "table-games")
BEN = Person("ben", Role.SHIFT_MANAGER, "table-games")
CARA = Person("cara", Role.ACCOUNTING, "accounting")

LINK = MeterWorking(
    "pg-link", "Face Up Pai Gow Link", seed_cents=1_000_000, share_ppm=200_000, rounding=Rounding.UP,
    before=1_000_028_000_000, award_cents=200_006, after=800_022_000_000, reserve_before=35_000_000,
    reserve_after=35_000_000,
)
"""20% of $10,000.28 is $2,000.056; up to the cent it is $2,000.06, and $8,000.22 stay."""

WON = Slip(
    number=42, site="demo", site_name="Demo Casino", environment=Environment.TRAINING, state=SlipState.PAID,
    book="main", entry=12, hash=bytes(range(0x3F, 0x5F)), won_at="2026-11-01 21:10:44 EST",
    printed_at="2026-11-01 21:20:00 EST", table="PG-01", game=41, seat=2, spot="progressive",
    hand="Royal flush + royal match", paytable="Progressive, paytable 4",
    citation="58 Pa. Code § 688a.12(d), Paytable 4", wager_cents=500, due_cents=700_506, workings=(LINK,),
    fixed_cents=500_000, returned_cents=500, envy=(EnvyPaid(1, 75_000, "paid in chips"), EnvyPaid(4, 75_000)),
    lit=(LitSeat(1, "progressive", 500), LitSeat(2, "progressive", 500), LitSeat(4, "progressive", 500)),
    steps=(Step("Verified", ANNA, "2026-11-01 21:14:05 EST"), Step("Released", BEN, "2026-11-01 21:16:30 EST"),
           Step("Paid", ANNA, "2026-11-01 21:19:58 EST")),
    player="José Núñez", how="chips",
)
"""The award of case MO-10."""


def slip(**changes: Any) -> Slip:
    """The award, with something of it changed."""
    return replace(WON, **changes)


def contents_of(pdf: bytes) -> list[bytes]:
    """Every compressed stream of a PDF, by its written length: a stream may end with any byte."""
    heads = re.finditer(rb"/Filter /FlateDecode\s*/Length (\d+)\s*>>\s*stream\r?\n", pdf)
    return [zlib.decompress(pdf[head.end() : head.end() + int(head[1])]) for head in heads]


def pages_of(pdf: bytes) -> list[list[str]]:
    """The texts that each page of a PDF shows, in the order of writing, read from its content streams."""
    contents = contents_of(pdf)
    return [[_plain(text) for text in re.findall(rb"\(((?:[^()\\]|\\.)*)\) Tj", content, re.DOTALL)]
            for content in contents if b"BT" in content]


def _plain(text: bytes) -> str:
    return re.sub(rb"\\(.)", rb"\1", text, flags=re.DOTALL).decode("latin-1")
