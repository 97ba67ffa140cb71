"""How a written configuration is read and refused: every mistake with its file, its key and what to do about it. Pure.

A ``Section`` is one table of a TOML file. Its methods return the meaning of a key, or note a problem and return a
harmless stand-in; a configuration with any problem is never used, so no stand-in leaves this room (CF-01, CF-02).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

from controller.money import ACCOUNT_MICROCENTS_MAX, MICROCENTS_PER_CENT, format_cents, parse_money, parse_rate

PROBLEMS_MAX = 50
"""Problems kept and shown of one configuration; the rest is only counted."""

MONEY_CENTS_MAX = ACCOUNT_MICROCENTS_MAX // MICROCENTS_PER_CENT - 1
"""The largest amount that may be configured: a cent under what an account may hold (design section 3)."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "floor": ("site", "awards", "ledger", "meter", "table", "line", "mqtt", "web", "sign", "alarms", "printer"),
    "document": ("site", "awards", "meter", "table", "paytable"),
    "site": (
        "id", "name", "environment", "currency", "timezone", "gaming_day_start", "paytables", "departments", "shifts",
    ),
    "awards": (
        "verify", "pay", "release", "release_from", "paper_from", "paper", "cards_from", "late_hit_days",
    ),
    "ledger": ("url",),
    "alarms": (
        "award_minutes", "certificate_days", "smtp", "smtp_tls", "smtp_username", "smtp_password_file", "smtp_ca_file",
        "mail_from", "mail_to", "mail_roles", "webhook", "webhook_secret_file", "webhook_ca_file",
    ),
    "meter": (
        "id", "name", "paytable", "part", "base", "book", "tie_policy", "order", "below_seed", "reserve_surplus",
        "rounding", "limit", "overflow", "unreasonable_contribution", "reserve_to_house", "seed_recovery",
        "change",
    ),
    "table": (
        "id", "device", "seats", "pay_order", "envy_hand", "decks", "asset", "sign_from",
        "tray_limit", "hold_from", "spot",
    ),
    "spot": ("id", "paytable", "meters"),
    "paytable": (
        "id", "title", "citation", "game", "wager", "wager_returned", "joker",
        "seven_card_straight_flush_includes_joker", "valid_from", "valid_to", "meter", "prize",
    ),
    "part": ("seed", "rate_of_progression", "reserve_rate"),
    "prize": ("outcome", "label", "pay", "share", "envy", "keyed"),
    "line": ("id", "device", "port", "baud", "bits", "parity", "stop"),
    "mqtt": (
        "host", "port", "client_id", "username", "password_file", "tls", "ca_file", "cert_file", "key_file",
    ),
    "web": (
        "bind", "port", "tls_cert", "tls_key", "idle_minutes", "session_hours", "secret_days", "proxies", "networks",
        "remote", "open_floor_page",
    ),
    "sign": (
        "id", "kind", "table", "meters", "digits", "port", "baud", "bits", "parity", "stop", "checksum",
    ),
    "printer": ("id", "name", "path", "columns", "tables", "baud"),
}  # fmt: skip
"""Every key by section; docs/CONFIG.md lists the same ones, which a test holds."""

_UNSUPPORTED = (
    (re.compile(r"must_?hit|mystery"), "must-hit-by"),
    (re.compile(r"random|lucky_(player|seat)|magic_card"), "random seats"),
    (re.compile(r"declared|(house|trump|magic|lucky)_suit"), "a house-declared suit"),
    (re.compile(r"dealer_?s?_(card|hand|up_?card|outcome)"), "outcomes that need the dealer's cards"),
)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_SECRET_KEYS = frozenset({"password", "passwd", "secret", "token", "pass"})

_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class WrittenFloat:
    """A number with a point as it was written; no key takes one (CF-02)."""

    digits: str

    def __str__(self) -> str:
        return self.digits


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it stands, what is wrong, and what to do now. Never shows a secret (CF-06)."""

    file: str
    key: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}: {self.what}; {self.remedy}"


class ConfigError(Exception):
    """A configuration that is refused as a whole. ``str()`` gives one problem a line."""

    def __init__(self, problems: Iterable[Problem], more: int = 0) -> None:
        self.problems = tuple(problems)
        self.more = more
        """Problems found beyond the first ``PROBLEMS_MAX``."""
        super().__init__(self.problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        return "\n".join([*lines, f"and {self.more} more"] if self.more else lines)


class Problems:
    """Collects what is wrong, so that an operator sees all of it at once."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0

    def add(self, file: str, key: str, what: str, remedy: str) -> None:
        """Notes one problem; only the first ``PROBLEMS_MAX`` are kept."""
        self.count += 1
        if len(self.first) < PROBLEMS_MAX:
            self.first.append(Problem(file, key, what, remedy))

    def error(self) -> ConfigError:
        """All of them as an error to raise."""
        return ConfigError(self.first, self.count - len(self.first))


def shown(found: object) -> str:
    """A short, one-line form of what was written, for a message; never called for a secret."""
    if isinstance(found, str):
        printable = "".join(letter if letter.isprintable() else "?" for letter in found[:41])
        return f'"{printable}"' if len(found) <= 40 else f'"{printable[:37]}..."'
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, int | WrittenFloat):
        return str(found) if len(str(found)) <= 40 else "a very long number"
    if isinstance(found, Mapping):
        return "a table"
    return "a list" if isinstance(found, list | tuple) else str(found)[:40]


def unsupported(word: str) -> str | None:
    """The feature that a key or outcome names and that this controller does not have, or None."""
    plain = word.lower().replace("-", "_")
    return next((feature for pattern, feature in _UNSUPPORTED if pattern.search(plain)), None)


def nearest(word: str, choices: Iterable[str]) -> str:
    """A remedy that names the nearest valid word, or all of them when none is near."""
    valid = list(choices)
    close = get_close_matches(word, valid, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    return "use one of " + ", ".join(valid[:20]) if valid else "remove it"


def is_id(word: object) -> bool:
    """Whether a word may be an id: 1 to 64 of ``A-Z a-z 0-9 . _ -``, safe in MQTT topics and file names (MQ-11)."""
    return isinstance(word, str) and _ID.fullmatch(word) is not None


class Section:
    """One table of a configuration, of a ``kind`` in ``KEYS``. Unknown keys are noted when it is made."""

    def __init__(self, raw: Mapping[str, Any], kind: str, place: str, file: str, problems: Problems) -> None:
        self.raw = raw
        self.place = place
        self.file = file
        self.problems = problems
        self._start = problems.count
        self._bad: set[str] = set()
        for key in raw:
            if key not in KEYS[kind]:
                self._refuse_unknown(key, KEYS[kind])

    @property
    def sound(self) -> bool:
        """Nothing has been found wrong since this section was begun, in it or in what stands inside it."""
        return self.problems.count == self._start

    def good(self, *keys: str) -> bool:
        """None of these keys has a problem, so they may be compared with others."""
        return self._bad.isdisjoint(keys)

    def has(self, key: str) -> bool:
        """Whether the key is written."""
        return key in self.raw

    def refuse(self, key: str, what: str, remedy: str) -> None:
        """Notes a problem of one key."""
        self._bad.add(key)
        self.problems.add(self.file, f"{self.place} {key}".strip(), what, remedy)

    def _refuse_unknown(self, key: str, valid: Sequence[str]) -> None:
        if key in _SECRET_KEYS:
            self.refuse(key, "a secret may not stand in this file", "name a file that holds it: password_file")
            return
        found = self.raw[key]
        feature = unsupported(key) or (unsupported(found) if isinstance(found, str) else None)
        place = shown(key)[1:-1]
        if feature:
            self.refuse(place, f"not supported: {feature}", "remove it; this controller does not offer it")
        else:
            self.refuse(place, "unknown key", nearest(key, valid))

    def missing(self, key: str, remedy: str) -> None:
        """Notes that a required key is absent."""
        self.refuse(key, "missing", remedy)

    def text(self, key: str, default: str | None = None) -> str:
        """Printable text of 1 to 200 characters; empty only where the default is empty too."""
        found = self.raw.get(key, default)
        low = 0 if default == "" else 1
        if found is None:
            self.missing(key, f'write {key} = "..."')
        elif not isinstance(found, str):
            self.refuse(key, f"{shown(found)} is not text", "put it in quotes")
        elif found != default and not (low <= len(found) <= 200 and found.isprintable()):
            self.refuse(key, "not 1 to 200 printable characters", "write it on one line, without control characters")
        else:
            return found
        return ""

    def ident(self, key: str, default: str | None = None) -> str:
        """An id (MQ-11)."""
        found = self.raw.get(key, default)
        if found is None:
            self.missing(key, f'write {key} = "..."')
        elif not is_id(found):
            self.refuse(key, f"{shown(found)} is not an id", "use 1 to 64 of A-Z a-z 0-9 . _ - in quotes")
        else:
            return str(found)
        return ""

    def one_of(self, key: str, choices: Sequence[str]) -> str:
        """One of the written choices; there is no default."""
        listed = ", ".join(f'"{choice}"' for choice in choices)
        found = self.raw.get(key)
        if found is None:
            self.missing(key, f"choose one of {listed}")
        elif found not in choices or not isinstance(found, str):
            self.refuse(key, f"{shown(found)} is not a choice", f"choose one of {listed}")
        else:
            return found
        return choices[0]

    def choice(self, key: str, choices: type[_E]) -> _E:
        """A member of an enumeration by its written word; there is no default (design section 4)."""
        return choices(self.one_of(key, [str(member) for member in choices]))

    def flag(self, key: str, default: bool | None = None) -> bool:
        """``true`` or ``false``."""
        found = self.raw.get(key, default)
        if found is None:
            self.missing(key, "write true or false")
        elif not isinstance(found, bool):
            self.refuse(key, f"{shown(found)} is neither true nor false", "write true or false without quotes")
        else:
            return found
        return False

    def whole(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number from ``low`` to ``high``."""
        found = self.raw.get(key, default)
        if found is None:
            self.missing(key, f"write a whole number from {low} to {high}")
        elif isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
            self.refuse(key, f"{shown(found)} is not allowed", f"write a whole number from {low} to {high}")
        else:
            return found
        return low

    def money(self, key: str, low: int = 0, high: int = MONEY_CENTS_MAX, default: int | None = None) -> int:
        """Cents of a written amount from ``low`` to ``high`` cents (design section 3)."""
        found = self.raw.get(key)
        remedy = 'write dollars and cents in quotes, like "$10,000.00"'
        if found is None and default is not None:
            return default
        if found is None:
            self.missing(key, remedy)
            return low
        try:
            cents = parse_money(found) if isinstance(found, str) else -1
        except ValueError:
            cents = -1
        if cents < 0:
            self.refuse(key, f"{shown(found)} is not money", remedy)
        elif not low <= cents <= high:
            remedy = f"write an amount from {format_cents(low)} to {format_cents(high)}"
            self.refuse(key, f"{shown(found)} is out of range", remedy)
        else:
            return cents
        return low

    def rate(self, key: str, low: int = 0) -> int:
        """Parts per million of a written percentage, from ``low`` ppm to 100% (CF-02)."""
        found = self.raw.get(key)
        if found is None:
            self.missing(key, 'write a percentage in quotes, like "28%"')
            return low
        return self.rate_of(key, found, low)

    def rate_of(self, key: str, found: object, low: int = 0) -> int:
        """The same for a percentage that stands inside ``key``."""
        try:
            ppm = parse_rate(found) if isinstance(found, str) else -1
        except ValueError:
            ppm = -1
        if ppm >= low:
            return ppm
        remedy = 'write a percentage up to 100% in quotes, like "28%" or "1.5%"'
        self.refuse(key, f"{shown(found)} is not a rate" if ppm < 0 else f"{shown(found)} is too low", remedy)
        return low

    def inside(self, key: str, kind: str, place: str) -> "Section | None":
        """The table at ``key``; None when it is absent (which is then noted) or is no table."""
        found = self.raw.get(key)
        if isinstance(found, Mapping):
            return Section(found, kind, place, self.file, self.problems)
        self.refuse(key, "missing" if found is None else "not a table", f"write it as {place}")
        return None

    def rows(self, key: str, high: int) -> list["Section"]:
        """The ``[[key]]`` tables, 0 to ``high`` of them; each is placed by its id or its number."""
        found = self.raw.get(key, [])
        if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
            self.refuse(key, "not a list of tables", f"write each as [[{key}]]")
            return []
        if len(found) > high:
            self.refuse(key, f"{len(found)} of them", f"at most {high} are allowed")
            return []
        return [
            Section(row, key, _place_of(self.place, key, row, number), self.file, self.problems)
            for number, row in enumerate(found, start=1)
        ]

    def table(self, key: str) -> Mapping[str, Any]:
        """An inline table with keys of the operator's own; noted when absent or no table."""
        found = self.raw.get(key)
        if isinstance(found, Mapping):
            return found
        self.refuse(key, "missing" if found is None else "not a table", f"write {key} = {{ ... }}")
        return {}


def _place_of(outer: str, key: str, row: Mapping[str, Any], number: int) -> str:
    named = row.get("id", row.get("outcome"))
    name = shown(named) if isinstance(named, str) and named else f"number {number}"
    return f"{outer} {key} {name}" if outer else f"[[{key}]] {name}"
