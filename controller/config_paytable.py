"""Reads one paytable: the filed figures of a progressive wager, checked on their own. Pure.

The form is that of the files in ``config/paytables/``; every key is explained in docs/CONFIG.md.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from controller.config_reader import MONEY_CENTS_MAX, Problems, Section, is_id, nearest, shown, unsupported
from controller.money import format_cents, parse_money
from controller.paytable import MeterPart, Paytable, Prize, RateByDecks

PARTS_MAX = 8
PRIZES_MAX = 64
WAGER_CENTS_MAX = 10_000_000
"""A message carries at most this many cents in a wager (contract, answer 3)."""
DECKS_MAX = 99
JOKERS = ("standard", "fully-wild")

_MULTIPLE = r"(\d{1,3}(?:,\d{3})+|\d{1,9})"
_SEED = re.compile(_MULTIPLE + r" x wager", re.ASCII)
_ODDS = re.compile(_MULTIPLE + r" (for|to) 1", re.ASCII)
_DECKS = re.compile(r"([1-9]\d?)(\+?)", re.ASCII)

_DEALERS = "outcomes that need the dealer's cards"
_SEVEN_CARD = "7-card-straight-flush"
_SEVEN_CARD_APART = frozenset(
    {f"{_SEVEN_CARD}-with-joker", "7-card-natural-straight-flush", "7-card-wild-straight-flush"}
)
_INCLUDES_JOKER = "seven_card_straight_flush_includes_joker"


def read_paytable(raw: Mapping[str, Any], name: str, file: str, problems: Problems) -> Paytable | None:
    """The paytable ``name`` (its file's name); None when anything in it is wrong, which is then noted."""
    section = Section(raw, "paytable", "", file, problems)
    if section.ident("id") != name and section.good("id"):
        section.refuse("id", f"{shown(raw['id'])} stands in a file named {name}.toml", "make the two the same")
    wager = section.money("wager", low=1, high=WAGER_CENTS_MAX)
    returned = section.flag("wager_returned")
    parts = _read_parts(section, wager)
    prizes = _read_prizes(section, wager, returned, {part.part for part in parts})
    first, last = _read_date(section, "valid_from"), _read_date(section, "valid_to")
    if first and last and last < first:
        section.refuse("valid_to", "before valid_from", "make it the last day on which the paytable is played")
    paytable = Paytable(
        id=name,
        title=section.text("title", default=name),
        citation=section.text("citation", default=""),
        game=section.text("game", default=""),
        wager_cents=wager,
        wager_returned=returned,
        joker=section.one_of("joker", JOKERS),
        seven_card_straight_flush_includes_joker=_read_includes_joker(section, prizes),
        valid_from=first,
        valid_to=last,
        parts=parts,
        prizes=prizes,
    )
    return paytable if section.sound else None


def _read_parts(section: Section, wager: int) -> tuple[MeterPart, ...]:
    """The ``[meter.NAME]`` tables by name: the order of the file must not matter to a rebuilt floor."""
    named = section.raw.get("meter")
    if not isinstance(named, Mapping) or not 1 <= len(named) <= PARTS_MAX:
        section.refuse("meter", f"not 1 to {PARTS_MAX} meters", "write [meter.main] with seed and rates")
        return ()
    return tuple(_read_part(section, name, named[name], wager) for name in sorted(named))


def _read_part(section: Section, name: str, raw: object, wager: int) -> MeterPart:
    place = f"[meter.{shown(name)[1:-1]}]"
    if not is_id(name) or not isinstance(raw, Mapping):
        section.refuse(place, "not a meter part", "name it with 1 to 64 of A-Z a-z 0-9 . _ - and give it its keys")
        return MeterPart(name, 0, 0, (), 0)
    part = Section(raw, "part", place, section.file, section.problems)
    rates = _read_rates(part) if isinstance(part.raw.get("rate_of_progression"), Mapping) else ()
    return MeterPart(
        part=name,
        seed_cents=_read_seed(part, wager),
        rate_ppm=None if rates else part.rate("rate_of_progression") if part.good("rate_of_progression") else 0,
        rates_by_decks=rates,
        reserve_ppm=part.rate("reserve_rate"),
    )


def _read_seed(part: Section, wager: int) -> int:
    found = part.raw.get("seed")
    match = _SEED.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        return part.money("seed")
    cents = int(match[1].replace(",", "")) * wager
    if not 0 < cents <= MONEY_CENTS_MAX:
        part.refuse("seed", f"{shown(found)} is out of range", f"stay from $0.01 to {format_cents(MONEY_CENTS_MAX)}")
    return cents


def _read_rates(part: Section) -> tuple[RateByDecks, ...]:
    """Rates by number of decks, such as ``{ "3" = "20%", "4+" = "17%" }`` (58 Pa. Code section 633b.17)."""
    key = "rate_of_progression"
    rows = []
    for decks, rate in part.table(key).items():
        match = _DECKS.fullmatch(decks)
        if match is None:
            part.refuse(key, f"{shown(decks)} is not a number of decks", 'write "3", or "4+" for four and more')
        else:
            rows.append(RateByDecks(int(match[1]), match[2] == "+", part.rate_of(key, rate)))
    if not rows and part.good(key):
        part.refuse(key, "names no number of decks", 'write { "3" = "20%", "4+" = "17%" }')
    return tuple(sorted(rows, key=lambda row: (row.decks, row.and_more)))


def _read_prizes(section: Section, wager: int, returned: bool, parts: set[str]) -> tuple[Prize, ...]:
    rows = section.rows("prize", PRIZES_MAX)
    if not rows and section.good("prize"):
        section.missing("prize", "write one [[prize]] for each row of the paytable")
    prizes: dict[str, Prize] = {}
    for row in rows:
        prize = _read_prize(row, wager, returned, parts)
        feature = _DEALERS if "dealer" in prize.outcome.lower() else unsupported(prize.outcome)
        if prize.outcome in prizes:
            row.refuse("outcome", f'"{prize.outcome}" stands twice', "give each row an outcome of its own")
        elif feature:
            row.refuse("outcome", f"not supported: {feature}", "remove the row; this controller does not offer it")
        elif prize.outcome:
            prizes[prize.outcome] = prize
    return tuple(prizes.values())


def _read_prize(row: Section, wager: int, returned: bool, parts: set[str]) -> Prize:
    outcome = row.ident("outcome")
    fixed, to_one = _read_pay(row, wager)
    shares = _read_shares(row, parts)
    if row.good("pay", "share") and not fixed and not shares:
        row.refuse("pay", "nothing is due", 'write pay = "$500.00", share = { main = "10%" }, or both')
    keyed = row.flag("keyed", default=True)
    if not keyed and (shares or row.has("envy")):
        row.refuse("keyed", "a share of a meter or envy is due", "such a hand must be keyed: remove the key")
    return Prize(
        outcome=outcome,
        label=row.text("label", default=outcome),
        fixed_cents=fixed,
        shares=shares,
        envy_cents=row.money("envy", default=0),
        returned_cents=wager if returned or to_one else 0,
        keyed=keyed,
    )


def _read_pay(row: Section, wager: int) -> tuple[int, bool]:
    """The fixed part in cents, and whether it is "to 1": then the wager goes back as well."""
    found = row.raw.get("pay")
    if found is None:
        return 0, False
    odds = _ODDS.fullmatch(found) if isinstance(found, str) else None
    try:
        cents = int(odds[1].replace(",", "")) * wager if odds else parse_money(found) if isinstance(found, str) else -1
    except ValueError:
        cents = -1
    if 0 <= cents <= MONEY_CENTS_MAX:
        return cents, odds is not None and odds[2] == "to"
    what = "is neither money nor odds" if cents < 0 else f"is over {format_cents(MONEY_CENTS_MAX)}"
    row.refuse("pay", f"{shown(found)} {what}", 'write "$500.00", "300 for 1" or "300 to 1"')
    return 0, False


def _read_shares(row: Section, parts: set[str]) -> tuple[tuple[str, int], ...]:
    if not row.has("share"):
        return ()
    shares = row.table("share")
    for part in shares:
        if part not in parts:
            row.refuse("share", f"there is no meter part {shown(part)}", nearest(part, sorted(parts)))
    if not shares and row.good("share"):
        row.refuse("share", "names no meter part", 'write { main = "10%" }, or leave it out')
    return tuple((part, row.rate_of("share", shares[part], low=1)) for part in sorted(shares) if part in parts)


def _read_includes_joker(section: Section, prizes: tuple[Prize, ...]) -> bool | None:
    """Exactly for paytables that print only "7 card straight flush": whether one made with the joker counts."""
    outcomes = {prize.outcome for prize in prizes}
    if _SEVEN_CARD in outcomes and not outcomes & _SEVEN_CARD_APART:
        return section.flag(_INCLUDES_JOKER)
    if section.has(_INCLUDES_JOKER):
        section.refuse(_INCLUDES_JOKER, "has no meaning here: the rows themselves say it", "remove it")
    return None


def _read_date(section: Section, key: str) -> date | None:
    found = section.raw.get(key)
    if found is None or (isinstance(found, date) and not isinstance(found, datetime)):
        return found
    if isinstance(found, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", found, re.ASCII):
        try:
            return date.fromisoformat(found)
        except ValueError:
            pass  # the shape of a date, but no day of the calendar: refused below like any other
    section.refuse(key, f"{shown(found)} is not a date", "write year-month-day, like 2026-03-23")
    return None
