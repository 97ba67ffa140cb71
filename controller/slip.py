"""A slip: the record of one award on paper, with its working, its people and the code of its ledger entry. Pure.

It holds what a win record must hold (R-57, MO-10), so that a stranger can add it up again to the cent. The caller gives
times as local text; ``lines`` is the one content that the PDF and the 80 mm print share. What does not add up is
printed with a warning at the top, never silently.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from controller.money import MICROCENTS_PER_CENT, PPM, Rounding, format_cents, format_rate, share_of_meter
from controller.people import Person
from controller.plan import Environment

ROWS_MAX = 64
"""At most so many meters, envy payments, lit spots, steps or lines of a checklist on one slip."""
TEXT_MAX = 400
SITE_MAX = 64
HASH_BYTES = 32
TO_WRITE = "_" * 20
"""An answer that is written by hand."""

ROUNDING_WORDS = {
    Rounding.UP: "up to the whole cent, in the player's favour",
    Rounding.DOWN: "down to the whole cent; the fraction stays on the meter",
}
"""How a share of a meter goes to whole cents, as every slip says it (D30)."""
WHOLE_WORDS = "whole cents only; the fraction stays on the meter"


class SlipState(StrEnum):
    """What has become of the award; a refused or withdrawn one keeps its slip and its number (R-58)."""

    TO_PAY = "to pay"
    PAID = "paid"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    PAID_IN_ERROR = "paid in error"


class MeterWorking(NamedTuple):
    """How one meter paid its part of the award. Meter, next-jackpot money (the reserve) and overflow in microcents.

    ``before`` is the meter as this award found it, ``after`` as the settlement of the game left it; ``others_cents``
    were taken between the two by other hands, ``house`` put in by the house, ``since`` contributed. ``shared_by`` hands
    of 100% split the meter.
    """

    meter: str
    name: str
    seed_cents: int
    share_ppm: int
    rounding: Rounding
    before: int
    award_cents: int
    after: int
    reserve_before: int
    reserve_after: int
    overflow_before: int = 0
    overflow_after: int = 0
    house: int = 0
    since: int = 0
    others_cents: int = 0
    shared_by: int = 1


class EnvyPaid(NamedTuple):
    """Envy of one seat in cents, and what became of it (``paid in chips``, ``not claimed``), if anything."""

    seat: int
    cents: int
    words: str = ""


class LitSeat(NamedTuple):
    """A bet sensor that was lit at lock-out: an accepted wager in cents."""

    seat: int
    spot: str
    cents: int


class Step(NamedTuple):
    """One person's part in the award's life: ``Verified``, by whom, and the local time as text."""

    what: str
    person: Person
    at: str


class Override(NamedTuple):
    """The money handed over in cents where it differs from what is due: why, and who decided (R-59)."""

    handed_cents: int
    reason: str
    third: Person


class Paper(NamedTuple):
    """The checklist of an award of ``from_cents`` or more (R-61, D26): labels and answers; "" is written by hand."""

    from_cents: int
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """Everything that one slip shows. Money in cents, meters in microcents, times as local text.

    ``due_cents`` is what the ledger says is due to the seat, without envy. ``entry`` and ``hash`` (32 bytes) are of the
    ledger entry that the slip stands for. Raises ValueError for what no slip can hold.
    """

    number: int
    site: str
    site_name: str
    environment: Environment
    state: SlipState
    book: str
    entry: int
    hash: bytes
    won_at: str
    printed_at: str
    table: str
    game: int
    seat: int
    spot: str
    hand: str
    paytable: str
    citation: str
    wager_cents: int
    due_cents: int
    workings: tuple[MeterWorking, ...]
    fixed_cents: int
    returned_cents: int
    envy: tuple[EnvyPaid, ...]
    lit: tuple[LitSeat, ...]
    steps: tuple[Step, ...]
    reprint: int = 0
    """0 is the first print, 2 the second reprint."""
    given_before: bool = False
    """Whether this very copy has been given out before, or nobody can know."""
    several_books: bool = False
    """Whether the floor has several books: each has a series of numbers of its own, and its name stands in them."""
    player: str = ""
    cards: str = ""
    how: str = ""
    """What it was paid in: chips, cash, cheque, wire."""
    reason: str = ""
    """Why it was refused, withdrawn or paid in error."""
    override: Override | None = None
    paper: Paper | None = None
    replaces: int | None = None
    replaced_by: int | None = None

    def __post_init__(self) -> None:
        if min(self.number, self.entry) < 1 or self.reprint < 0:
            raise ValueError("slip and ledger entry are numbered from 1, reprints from 0")
        answers = () if self.paper is None else self.paper.answers
        for name, rows in (("meters", self.workings), ("envy", self.envy), ("lit spots", self.lit),
                           ("steps", self.steps), ("checklist", answers)):
            if len(rows) > ROWS_MAX:
                raise ValueError(f"{len(rows)} lines of {name}; a slip has room for {ROWS_MAX}")
        if max(map(len, _texts(self))) > TEXT_MAX or len(self.site) > SITE_MAX:
            raise ValueError(f"a text of a slip is longer than {TEXT_MAX} letters")
        if len(self.hash) != HASH_BYTES:
            raise ValueError(f"the hash of a ledger entry has {HASH_BYTES} bytes, not {len(self.hash)}")
        amounts = [self.wager_cents, self.due_cents, self.fixed_cents, self.returned_cents, *_amounts(self)]
        if min(amounts) < 0:
            raise ValueError("an amount of a slip is below zero")
        if any(not 0 <= working.share_ppm <= PPM or working.shared_by < 1 for working in self.workings):
            raise ValueError("a share of a meter is from 0% to 100%, split by one hand or more")

    @property
    def parts_cents(self) -> int:
        """The parts of the award added up again: meters, fixed part, wager returned."""
        return sum(working.award_cents for working in self.workings) + self.fixed_cents + self.returned_cents

    @property
    def envy_cents(self) -> int:
        """Envy of all other seats; never a part of the award itself."""
        return sum(paid.cents for paid in self.envy)

    @property
    def title(self) -> str:
        """``demo-000042``: the site and its own gapless number (R-58); ``demo-solo-000042`` beside other books."""
        return self.named(self.number)

    def named(self, number: int) -> str:
        """A number of the slip's own series as it is printed."""
        return slip_name(self.site, self.book if self.several_books else "", number)


def slip_name(site: str, book: str, number: int) -> str:
    """A slip's number as it is printed; ``book``: of a floor with several, which."""
    return "-".join([site, *([book] if book else []), f"{number:06d}"])


def _texts(slip: Slip) -> Iterator[str]:
    yield from (slip.site, slip.site_name, slip.book, slip.won_at, slip.printed_at, slip.table, slip.spot, slip.hand,
                slip.paytable, slip.citation, slip.player, slip.cards, slip.how, slip.reason)
    for working in slip.workings:
        yield from (working.meter, working.name)
    yield from (paid.words for paid in slip.envy)
    yield from (lit.spot for lit in slip.lit)
    for step in slip.steps:
        yield from (step.what, step.person.id, step.person.department, step.at)
    if slip.override is not None:
        yield from (slip.override.reason, slip.override.third.id, slip.override.third.department)
    for label, answer in () if slip.paper is None else slip.paper.answers:
        yield from (label, answer)


def _amounts(slip: Slip) -> Iterator[int]:
    for working in slip.workings:
        yield from (working.seed_cents, working.before, working.award_cents, working.after, working.others_cents,
                    working.reserve_before, working.reserve_after, working.overflow_before, working.overflow_after)
    yield from (paid.cents for paid in slip.envy)
    yield from (lit.cents for lit in slip.lit)
    if slip.override is not None:
        yield slip.override.handed_cents
    if slip.paper is not None:
        yield slip.paper.from_cents


def exact(value: int, decimals: int = 8) -> str:
    """An amount in dollars with all its digits, at least two: ``$2,000.056``. ``value`` counts 10^-decimals dollars."""
    whole, part = divmod(abs(value), 10**decimals)
    digits = f"{part:0{decimals}d}".rstrip("0").ljust(2, "0")
    return f"{'-' if value < 0 else ''}${whole:,}.{digits}"


def differences(slip: Slip) -> list[str]:
    """What of a slip does not add up, in words; empty where all of it does (MO-10)."""
    found = []
    if slip.parts_cents != slip.due_cents:
        found.append(f"the parts make {format_cents(slip.parts_cents)}, due is {format_cents(slip.due_cents)}")
    for working in slip.workings:
        taken = (working.award_cents + working.others_cents) * MICROCENTS_PER_CENT
        was = working.before + working.reserve_before + working.overflow_before
        now = working.after + working.reserve_after + working.overflow_after
        off = was - taken + working.house + working.since - now
        if off:
            found.append(f"{working.name}: before and after differ by {exact(off)}")
        if working.award_cents not in _right_awards(working):
            found.append(f"{working.name}: {format_cents(working.award_cents)} is not the share of the meter")
    return found


def _right_awards(working: MeterWorking) -> tuple[int, ...]:
    """What the share comes to; a split meter gives its first hands one odd cent more."""
    whole = share_of_meter(working.before, working.share_ppm, working.rounding)
    each, odd = divmod(whole, working.shared_by)
    return (each, each + 1) if odd else (each,)


class Look(StrEnum):
    """How a row stands on the paper."""

    TEXT = "text"
    MONEY = "money"
    TOTAL = "total"
    LOUD = "loud"
    SIGN = "sign"


class Row(NamedTuple):
    """One line: its label on the left, its text on the right. A ``SIGN`` row is a line to sign on, above its label."""

    label: str
    text: str
    look: Look = Look.TEXT


class Block(NamedTuple):
    """Rows that belong together, under a title."""

    title: str
    rows: tuple[Row, ...]


def banners(slip: Slip) -> list[str]:
    """What must be seen before anything else, loudest first; on every page and at both ends of a strip of paper."""
    found = []
    if slip.environment is not Environment.PRODUCTION:
        found.append(f"{slip.environment.value.upper()}: NO REAL MONEY")
    if slip.state not in (SlipState.TO_PAY, SlipState.PAID):
        found.append(slip.state.value.upper())
    if slip.replaced_by is not None:
        found.append(f"VOID: REPLACED BY SLIP {slip.named(slip.replaced_by)}")
    if slip.given_before:
        found.append("REPRINT: THIS COPY WAS GIVEN OUT BEFORE")
    if slip.reprint:
        found.append(f"REPRINT {slip.reprint}")
    if differences(slip):
        found.append("DOES NOT ADD UP: DO NOT PAY, CALL ACCOUNTING")
    return found


def lines(slip: Slip) -> list[Block]:
    """The whole slip as blocks of labelled rows, in the order of reading; shared by every way of printing."""
    blocks = [
        Block("", _head(slip)),
        *(Block("Does not add up", (Row("", words, Look.LOUD),)) for words in differences(slip)),
        *(Block(f"{working.name} ({working.meter})", tuple(_working(working))) for working in slip.workings),
        Block("Award", tuple(_award(slip))),
        Block("Envy, paid by the house to other seats", tuple(_envy(slip))),
        Block(f"Evidence: lit at lock-out of game {slip.game}", tuple(_lit(slip))),
        Block("Payment", tuple(_payment(slip))),
        Block("Who and when", tuple(Row(f"{step.what}, {step.at}", step.person.words()) for step in slip.steps)),
        *_checklist(slip),
        Block(f"Signatures: {_total(slip)}", tuple(Row(label, "", Look.SIGN) for label in _signatures(slip))),
        Block("", tuple(_tie(slip))),
    ]
    return [block for block in blocks if block.rows]


def _head(slip: Slip) -> tuple[Row, ...]:
    optional = (("Cards", slip.cards), ("Player", slip.player),
                ("Replaces slip", "" if slip.replaces is None else slip.named(slip.replaces)))
    return (
        Row("Slip", slip.title),
        Row("Won", slip.won_at),
        Row("Table", slip.table),
        Row("Game", str(slip.game)),
        Row("Seat", f"{slip.seat}, {slip.spot}"),
        Row("Hand", slip.hand),
        Row("Paytable", f"{slip.paytable} ({slip.citation})" if slip.citation else slip.paytable),
        Row("Wager", format_cents(slip.wager_cents), Look.MONEY),
        *(Row(label, text) for label, text in optional if text),
    )


def _working(working: MeterWorking) -> Iterator[Row]:
    share = format_rate(working.share_ppm)
    yield Row("Meter before", exact(working.before), Look.MONEY)
    yield Row(f"{share} of it", exact(working.before * working.share_ppm, 14), Look.MONEY)
    yield Row("Rounding", WHOLE_WORDS if working.share_ppm == PPM else ROUNDING_WORDS[working.rounding])
    if working.shared_by > 1:
        yield Row("Shared equally", f"by {working.shared_by} hands; odd cents to the first in pay order")
    yield Row("From the meter", format_cents(working.award_cents), Look.MONEY)
    moved = (
        ("Other hands of this game", -working.others_cents * MICROCENTS_PER_CENT),
        ("Put in by the house", working.house),
        ("Wagers since the hand", working.since),
        ("From next-jackpot money", working.reserve_before - working.reserve_after),
        ("From above the limit", working.overflow_before - working.overflow_after),
    )
    yield from (Row(label, exact(amount), Look.MONEY) for label, amount in moved if amount)
    yield Row("Seed of the meter", format_cents(working.seed_cents), Look.MONEY)
    yield Row("Meter after", exact(working.after), Look.MONEY)
    yield Row("Next-jackpot money before", exact(working.reserve_before), Look.MONEY)
    yield Row("Next-jackpot money after", exact(working.reserve_after), Look.MONEY)
    if working.overflow_before or working.overflow_after:
        yield Row("Above the limit before", exact(working.overflow_before), Look.MONEY)
        yield Row("Above the limit after", exact(working.overflow_after), Look.MONEY)


_TOTAL_WORDS = {
    SlipState.TO_PAY: "TO PAY", SlipState.PAID: "PAID", SlipState.REFUSED: "REFUSED, NOT TO PAY",
    SlipState.WITHDRAWN: "WITHDRAWN, NOT TO PAY", SlipState.PAID_IN_ERROR: "PAID IN ERROR",
}


def _award(slip: Slip) -> Iterator[Row]:
    for working in slip.workings:
        yield Row(f"Share of {working.name}", format_cents(working.award_cents), Look.MONEY)
    yield Row("Fixed part", format_cents(slip.fixed_cents), Look.MONEY)
    yield Row("Wager returned", format_cents(slip.returned_cents), Look.MONEY)
    yield Row("DUE" if slip.override else _TOTAL_WORDS[slip.state], format_cents(slip.due_cents), Look.TOTAL)


def _total(slip: Slip) -> str:
    cents = slip.due_cents if slip.override is None else slip.override.handed_cents
    return f"{_TOTAL_WORDS[slip.state]} {format_cents(cents)}"


def _envy(slip: Slip) -> Iterator[Row]:
    for paid in slip.envy:
        yield Row(f"Seat {paid.seat}" + (f", {paid.words}" if paid.words else ""), format_cents(paid.cents), Look.MONEY)
    if slip.envy:
        yield Row("Envy in all, not in the award", format_cents(slip.envy_cents), Look.MONEY)


def _lit(slip: Slip) -> Iterator[Row]:
    seats: dict[tuple[str, int], list[int]] = {}
    for lit in slip.lit:
        seats.setdefault((lit.spot, lit.cents), []).append(lit.seat)
    for (spot, cents), at in seats.items():
        yield Row(f"{spot}, {format_cents(cents)}", "seat " + ", ".join(map(str, sorted(at))))
    if (slip.seat, slip.spot) not in {(lit.seat, lit.spot) for lit in slip.lit}:
        yield Row("", f"Seat {slip.seat}, {slip.spot}, was NOT lit", Look.LOUD)


def _payment(slip: Slip) -> Iterator[Row]:
    if slip.how:
        yield Row("Paid in", slip.how)
    if slip.override is not None:
        yield Row("OVERRIDE", "the amount handed over differs", Look.LOUD)
        yield Row("Due", format_cents(slip.due_cents), Look.MONEY)
        yield Row("Handed over", format_cents(slip.override.handed_cents), Look.TOTAL)
        yield Row("Difference", format_cents(slip.override.handed_cents - slip.due_cents), Look.MONEY)
        yield Row("Override reason", slip.override.reason)
        yield Row("Decided by", slip.override.third.words())
    if slip.reason:
        yield Row("Reason", slip.reason)


def _checklist(slip: Slip) -> Iterator[Block]:
    if slip.paper is not None:
        rows = tuple(Row(label, answer or TO_WRITE) for label, answer in slip.paper.answers)
        yield Block(f"Checklist: {format_cents(slip.paper.from_cents)} and more", rows)


def _signatures(slip: Slip) -> list[str]:
    """One line for each person who had a part, and the player's unless nothing is paid; blanks before anybody had."""
    people = [f"{step.what}: {step.person.words()}" for step in slip.steps]
    if slip.override is not None:
        people.append(f"Override: {slip.override.third.words()}")
    if slip.state is SlipState.TO_PAY:
        done = {step.what.casefold() for step in slip.steps}
        people += [f"{what} by" for what in ("Verified", "Paid") if what.casefold() not in done]
    if slip.state in (SlipState.TO_PAY, SlipState.PAID):
        people.append(f"Player: {slip.player}" if slip.player else "Player")
    return list(dict.fromkeys(people))


def _tie(slip: Slip) -> Iterator[Row]:
    yield Row("Code", slip_code(slip.entry, slip.hash))
    yield Row("Ledger entry", f"{slip.entry}, book {slip.book}")
    yield Row("Printed", slip.printed_at)


_CODE = re.compile(r"([1-9]\d{0,15})((?:[ -]+[0-9A-F]{4}){4})[ -]+(\d\d)", re.ASCII)
_MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1"})


class Tie(NamedTuple):
    """What a slip's code says: the number of its ledger entry, and the first 16 hex digits of that entry's hash."""

    entry: int
    start: str

    def fits(self, entry: int, entry_hash: bytes) -> bool:
        """Whether the slip stands for that entry, unchanged."""
        return self.entry == entry and self.start == entry_hash.hex()[:16].upper()


def slip_code(entry: int, entry_hash: bytes) -> str:
    """``12-3F2A-9C01-77DE-04B1-35``: entry, start of its hash, two check digits. ``entry`` from 1."""
    start = entry_hash.hex()[:16].upper()
    groups = [start[place : place + 4] for place in range(0, 16, 4)]
    return "-".join([str(entry), *groups, _check_digits(str(entry) + start)])


def read_code(text: str) -> Tie:
    """A code as a person typed it, in either case; raises ValueError where a sign is wrong, missing or swapped."""
    match = _CODE.fullmatch(text.strip().upper().translate(_MISREAD))
    if match is None:
        raise ValueError("this is not a slip's code; write it as printed, like 12-3F2A-9C01-77DE-04B1-35")
    start = re.sub(r"[ -]", "", match[2])
    if _check_digits(match[1] + start) != match[3]:
        raise ValueError("a sign of the code is mistyped; read it from the slip again")
    return Tie(int(match[1]), start)


def _check_digits(signs: str) -> str:
    # 10 is a primitive root of 97: one wrong sign, or any two swapped, always changes the remainder.
    remainder = 0
    for sign in signs:
        remainder = (remainder * 10 + int(sign, 16)) % 97
    return f"{-100 * remainder % 97:02d}"


_SPELT = {"Æ": "AE", "æ": "ae", "Ø": "O", "ø": "o", "Œ": "OE", "œ": "oe", "ß": "ss", "Þ": "Th", "þ": "th", "Ð": "D",
          "ð": "d", "Đ": "D", "đ": "d", "Ł": "L", "ł": "l", "ı": "i", "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-",
          "—": "-", "…": "...", "€": "EUR", "§": "sec.", "\u00a0": " ", "♠": "s", "♥": "h", "♦": "d", "♣": "c"}
"""Letters that Unicode does not take apart, as they are spelt on a passport or a card sheet."""


def printable(text: str, *, latin: bool = False) -> str:
    """Text that a printer can print: ASCII, or with ``latin`` what ISO 8859-1 shows. Never fails, hides nothing.

    Accents are dropped where the letter without them is printable; what has no spelling, control signs too, is shown
    by its number: ``[U+738B]`` (WE-01).
    """
    return "".join(_printable_sign(sign, latin) for sign in unicodedata.normalize("NFC", text))


def _printable_sign(sign: str, latin: bool) -> str:
    if " " <= sign <= "~" or (latin and "\u00a1" <= sign <= "\u00ff" and sign != "\u00ad"):
        return sign
    if sign in _SPELT:
        return _SPELT[sign]
    bare = "".join(part for part in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(part))
    return bare if bare and all(" " <= part <= "~" for part in bare) else f"[U+{ord(sign):04X}]"
