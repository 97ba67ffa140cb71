"""How the oracle reads a line: strict JSON, then the ranges of the contract's list, field by field.

Written from the contract alone; it shares no table with ``firmware_bridge``.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

Json = dict[str, Any]
Check = Callable[[Any], bool]

NUMBER_DIGITS_MAX = 300
"""Whole numbers longer than this are out of every range; kept as infinity."""


@dataclass(frozen=True)
class Line:
    """One line: an ``answer`` at once, or nothing to answer (``seq`` None), or a numbered message."""

    answer: Json | None = None
    device: str = ""
    boot: str = ""
    seq: int | None = None
    malformed: bool = False
    fields: Json = field(default_factory=dict)
    content: Any = None

    @property
    def key(self) -> Json:
        """The head of every answer to a numbered message."""
        return {"device": self.device, "boot": self.boot, "seq": self.seq}


def whole(low: int, high: int) -> Check:
    """A whole number in a range, never true, false or 5.0."""
    return lambda said: type(said) is int and low <= said <= high


def is_id(said: Any) -> bool:
    """1 to 64 of A-Z a-z 0-9 . _ -"""
    return type(said) is str and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", said) is not None


def is_reason(said: Any) -> bool:
    """1 to 200 printable characters."""
    return type(said) is str and 1 <= len(said) <= 200 and said.isprintable()


U32 = whole(1, 2**32 - 1)
WAGER: dict[str, Check] = {"seat": whole(0, 255), "spot": is_id, "cents": whole(0, 10_000_000)}
HIT: dict[str, Check] = {"seat": whole(0, 255), "spot": is_id, "outcome": is_id, "envy_only": lambda s: type(s) is bool}
KINDS = ("late-bet", "bet-removed", "no-lock-out", "sensor-fault", "door-open", "door-closed")


def _each(checks: dict[str, Check], fewest: int) -> Check:
    def check(said: Any) -> bool:
        return type(said) is list and fewest <= len(said) <= 64 and all(_fits(one, checks) for one in said)

    return check


def _fits(said: Any, checks: dict[str, Check]) -> bool:
    return type(said) is dict and all(
        check(said[name]) if name in said else name in OPTIONAL for name, check in checks.items()
    )


OPTIONAL = {"envy_only", "round_boot"}
MESSAGES: dict[str, dict[str, Check]] = {
    "lock": {"round": U32, "wagers": _each(WAGER, 0)},
    "count": {"round": U32, "chips": whole(0, 10_000), "round_boot": is_id},
    "hits": {"round": U32, "hits": _each(HIT, 1), "round_boot": is_id},
    "close": {"round": U32, "round_boot": is_id},
    "void": {"round": U32, "reason": is_reason, "round_boot": is_id},
}
NOTICE: dict[str, Check] = {"round": U32, "seat": whole(0, 255), "spot": is_id}
"""All three may be absent."""


class _Doubled(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> Json:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _Doubled
    return dict(pairs)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= NUMBER_DIGITS_MAX else float("inf")


def read_line(raw: bytes, number: int, devices: set[str]) -> Line:
    """One line of a file: contract, answers 1, then the fields of the message."""
    if not raw.strip():
        return Line()
    malformed = Line(answer={"line": number, "result": "refused", "reason": "malformed"})
    try:
        said = json.loads(raw.decode(), object_pairs_hook=_pairs, parse_constant=_no_constant, parse_int=_number)
    except _Doubled:
        return Line() if _is_pulse_all_the_same(raw) else malformed
    except (ValueError, RecursionError):
        return malformed
    if type(said) is not dict:
        return malformed
    pulse = said.get("type") in ("hello", "heartbeat")
    known = whole(1, 1)(said.get("v")) and is_id(said.get("device")) and is_id(said.get("boot"))
    if pulse:
        return Line(device=said["device"], boot=said["boot"]) if known else Line()
    if not known or not U32(said.get("seq")):
        return malformed
    if said["device"] not in devices:
        return Line(answer={"line": number, "result": "refused", "reason": "unknown-device"})
    return _numbered(said)


def _is_pulse_all_the_same(raw: bytes) -> bool:
    """Whether a text with a doubled key is JSON otherwise, and a hello or heartbeat."""
    try:
        said = json.loads(raw.decode(), parse_constant=_no_constant, parse_int=_number)
    except (ValueError, RecursionError):
        return False
    return type(said) is dict and said.get("type") in ("hello", "heartbeat")


def _numbered(said: Json) -> Line:
    key = {"device": said["device"], "boot": said["boot"], "seq": said["seq"]}
    fields = _decoded(said)
    if fields is None:
        return Line(**key, malformed=True, content=json.dumps(said, sort_keys=True))
    return Line(**key, fields=fields, content=fields)


def _decoded(said: Json) -> Json | None:
    """The fields that count, absent ones at their defaults; None for a malformed message."""
    kind = said.get("type")
    if kind == "notice":
        named = {name: said[name] for name in NOTICE if name in said}
        right = said.get("kind") in KINDS and all(NOTICE[name](named[name]) for name in named)
        return {"type": kind, "kind": said["kind"]} | named if right else None
    if type(kind) is not str or kind not in MESSAGES or not _fits(said, MESSAGES[kind]):
        return None
    fields: Json = {"type": kind} | {name: said.get(name) for name in MESSAGES[kind]}
    if kind == "lock":
        fields["wagers"] = [{name: one[name] for name in WAGER} for one in fields["wagers"]]
    if kind == "hits":
        fields["hits"] = [{name: one.get(name, False) for name in HIT} for one in fields["hits"]]
    if "round_boot" in fields and fields["round_boot"] is None:
        fields["round_boot"] = said["boot"]
    return fields
