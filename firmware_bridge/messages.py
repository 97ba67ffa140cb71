"""The one table of messages, version 1: JSON (MQTT, files) and binary (serial frames) forms of the same fields. Pure.

``docs/PROTOCOL.md`` holds the same table for firmware authors; a test compares the two. A numbered message that can be
read as far as its ``seq`` but is wrong further on becomes ``Malformed``: it is refused durably and uses up its number,
so that nothing ever stands in the way of the next one (design section 7). Anything less is ``Unreadable``.
"""

import json
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from firmware_bridge.fields import (
    BOOL,
    CENTS,
    CENTS_MAX,
    CHIPS,
    ID,
    LINE,
    SEAT,
    TOTAL,
    U32,
    Field,
    Reader,
    WrongField,
    choice,
    listing,
    nullable,
)
from firmware_bridge.message_types import (
    Ack,
    Bet,
    Close,
    Committed,
    Count,
    Down,
    Fault,
    Heard,
    Heartbeat,
    Hello,
    Hit,
    Hits,
    Kept,
    Lamp,
    Lamps,
    Layout,
    Lock,
    Malformed,
    Notice,
    Numbered,
    OpenRound,
    Playable,
    Refused,
    SpotLayout,
    SpotOutcomes,
    Unreadable,
    Up,
    Void,
    Wager,
    Welcome,
    Who,
)

__all__ = [
    "DOWN",
    "LAMP_STATES",
    "LIST_MAX",
    "MESSAGE_BYTES_MAX",
    "NOTICE_KINDS",
    "SEQ_MAX",
    "UP",
    "VERSION",
    "Ack",
    "Bet",
    "Close",
    "Committed",
    "Count",
    "Down",
    "Fault",
    "Heard",
    "Heartbeat",
    "Hello",
    "Hit",
    "Hits",
    "Kept",
    "Lamp",
    "Lamps",
    "Layout",
    "Lock",
    "Malformed",
    "Notice",
    "Numbered",
    "OpenRound",
    "Playable",
    "Refused",
    "Spec",
    "SpotLayout",
    "SpotOutcomes",
    "Unreadable",
    "Up",
    "Void",
    "Wager",
    "Welcome",
    "Who",
    "content",
    "decode_binary",
    "decode_binary_down",
    "decode_fields",
    "decode_json",
    "decode_json_down",
    "encode_binary",
    "encode_json",
    "from_content",
    "to_fields",
]

VERSION = 1
MESSAGE_BYTES_MAX = 1 << 20
"""Longer messages are not read at all; no message of this table comes near it."""

SEQ_MAX = (1 << 32) - 1

NOTICE_KINDS = ("late-bet", "bet-removed", "no-lock-out", "sensor-fault", "door-open", "door-closed")
LAMP_STATES = ("invite", "placed", "locked", "no-bet", "fault", "late", "removed")
LIST_MAX = 64

_check_id = ID.check
_new = tuple.__new__
_WAGER = (Field("seat", SEAT), Field("spot", ID), Field("cents", CENTS))
_HIT = (Field("seat", SEAT), Field("spot", ID), Field("outcome", ID), Field("envy_only", BOOL, tag=1, default=False))
_KEPT = (Field("boot", ID), Field("first", U32), Field("next", U32))
_ROUND_BOOT = Field("round_boot", ID, tag=1)
"""Absent: the message's own boot. Filled in when decoding, so that both ways of writing it compare equal."""


def _check_wagers(listed: Any) -> tuple[Wager, ...]:
    # What listing(Wager, _WAGER, LIST_MAX) checks, written out: nearly every message of a day is a lock.
    if type(listed) is not list or len(listed) > LIST_MAX:
        raise WrongField(f"not a list of 0 to {LIST_MAX}")
    made = []
    known = None
    try:
        for one in listed:
            seat, spot, cents = one["seat"], one["spot"], one["cents"]
            if type(seat) is not int or not 0 <= seat <= 255 or type(cents) is not int or not 0 <= cents <= CENTS_MAX:
                raise WrongField("a seat or cents out of range")
            if spot is None or spot != known:
                known = _check_id(spot)
            made.append(_new(Wager, (seat, known, cents)))
    except (KeyError, TypeError) as wrong:
        raise WrongField("a wager without seat, spot or cents") from wrong
    return tuple(made)


class Spec(NamedTuple):
    """One row of the table: binary code, class, fields after device and boot (and seq, when numbered)."""

    code: int
    cls: type[Any]
    fields: tuple[Field, ...]
    numbered: bool = False


UP: dict[str, Spec] = {
    "hello": Spec(1, Hello, (
        Field("firmware", LINE), Field("reset_cause", LINE), Field("seats", SEAT),
        Field("kept", listing(Kept, _KEPT, LIST_MAX)))),
    "heartbeat": Spec(2, Heartbeat, (
        Field("last_seq", TOTAL), Field("wagers_total", TOTAL),
        Field("bets", listing(Bet, (Field("seat", SEAT), Field("spot", ID)), LIST_MAX)))),
    "lock": Spec(16, Lock, (
        Field("round", U32), Field("wagers", listing(Wager, _WAGER, LIST_MAX, check=_check_wagers))), numbered=True),
    "count": Spec(17, Count, (Field("round", U32), Field("chips", CHIPS), _ROUND_BOOT), numbered=True),
    "hits": Spec(18, Hits, (
        Field("round", U32), Field("hits", listing(Hit, _HIT, LIST_MAX, minimum=1)), _ROUND_BOOT), numbered=True),
    "close": Spec(19, Close, (Field("round", U32), _ROUND_BOOT), numbered=True),
    "void": Spec(20, Void, (Field("round", U32), Field("reason", LINE), _ROUND_BOOT), numbered=True),
    "notice": Spec(21, Notice, (
        Field("kind", choice(NOTICE_KINDS)), Field("round", U32, tag=2, default=None),
        Field("seat", SEAT, tag=3, default=None), Field("spot", ID, tag=4, default=None)), numbered=True),
}
"""Device to host. Codes 1 and 2 carry no number; every other code does, known or not."""

DOWN: dict[str, Spec] = {
    "who": Spec(129, Who, ()),
    "welcome": Spec(130, Welcome, (
        Field("committed", listing(Committed, (Field("boot", ID), Field("seq", TOTAL)), LIST_MAX)),
        Field("open_round", nullable(OpenRound, (
            Field("boot", ID), Field("round", U32), Field("wagers", listing(Wager, _WAGER, LIST_MAX))))))),
    "layout": Spec(131, Layout, (
        Field("wagers", listing(SpotLayout, (Field("spot", ID), Field("cents", CENTS)), LIST_MAX)),
        Field("outcomes", listing(SpotOutcomes, (
            Field("spot", ID), Field("outcomes", listing(None, (Field("outcome", ID),), LIST_MAX))), LIST_MAX)))),
    "ack": Spec(132, Ack, (Field("boot", ID), Field("seq", TOTAL))),
    "refused": Spec(133, Refused, (Field("boot", ID), Field("seq", U32), Field("reason", LINE))),
    "fault": Spec(134, Fault, (Field("boot", ID), Field("seq", U32), Field("reason", LINE))),
    "lamps": Spec(135, Lamps, (
        Field("round", TOTAL), Field("spots", listing(Lamp, (
            Field("seat", SEAT), Field("spot", ID), Field("state", choice(LAMP_STATES))), 255)))),
    "playable": Spec(136, Playable, (Field("yes", BOOL), Field("reason", LINE))),
}
"""Host to device."""

_NAME_OF = {spec.cls: name for name, spec in (UP | DOWN).items()}
_BY_CODE = {spec.code: name for name, spec in (UP | DOWN).items()}


class _DoubledKey(ValueError):
    """A JSON object named one key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _DoubledKey
    return made


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Digits(str):
    """A whole number too long for any range, kept as written: the wrong type for every field."""


def _whole(digits: str) -> int | _Digits:
    return int(digits) if len(digits) <= 4_000 else _Digits(digits)


_plain = json.JSONDecoder(parse_constant=_constant).raw_decode
_strict = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_whole).decode
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_compact = json.JSONEncoder(separators=(",", ":")).encode


def _load(data: bytes) -> Any:
    """One strict JSON text; raises ValueError, _DoubledKey or RecursionError."""
    text = data.decode("utf-8")
    if text.startswith("{"):
        try:
            value, end = _plain(text)
        except ValueError:
            return _strict(text)
        # Each key has a colon, doubled ones too: as many colons as keys that are left prove that none was doubled.
        if text.count(":") == _keys(value) and (end == len(text) or not text[end:].strip(" \t\r\n")):
            return value
    return _strict(text)


def _keys(value: dict[str, Any]) -> int:
    """The keys of an object and of the objects in its lists; those further in are left out."""
    keys = len(value)
    for inner in value.values():
        if type(inner) is list:
            for one in inner:
                if type(one) is dict:
                    keys += len(one)
    return keys


def decode_json(data: bytes) -> Up | Unreadable | None:
    """The message in one JSON text; None for a pulse that nobody can be named for (never answered)."""
    if len(data) > MESSAGE_BYTES_MAX:
        return Unreadable("too long")
    try:
        value = _load(data)
    except _DoubledKey:
        return None if _is_pulse(data) else Unreadable("a key is doubled")
    except (ValueError, RecursionError):
        return Unreadable("not JSON in UTF-8")
    return decode_fields(value) if type(value) is dict else Unreadable("not a JSON object")


def _is_pulse(data: bytes) -> bool:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return type(value) is dict and value.get("type") in ("hello", "heartbeat")


def decode_fields(value: dict[str, Any]) -> Up | Unreadable | None:
    """The message in a JSON object already parsed; see ``decode_json``."""
    name = value.get("type")
    spec = UP.get(name) if type(name) is str else None
    pulse = spec is not None and not spec.numbered
    if type(version := value.get("v")) is not int or version != VERSION:
        return None if pulse else Unreadable("v is not 1")
    try:
        device, boot = _check_id(value.get("device")), _check_id(value.get("boot"))
    except WrongField:
        return None if pulse else Unreadable("device or boot is not an id")
    if spec is not None and pulse:
        try:
            return spec.cls(device, boot, *[field.from_json(value) for field in spec.fields])  # type: ignore[no-any-return]
        except WrongField:
            return Heard(device, boot)
    seq = value.get("seq")
    if type(seq) is not int or not 1 <= seq <= SEQ_MAX:
        return Unreadable("seq is not a number from 1 to 4294967295")
    if spec is None:
        return _malformed(device, boot, seq, value)
    try:
        made: Up = _own_boot(spec.cls(device, boot, seq, *[field.from_json(value) for field in spec.fields]))
    except WrongField:
        return _malformed(device, boot, seq, value)
    return made


def _malformed(device: str, boot: str, seq: int, value: dict[str, Any]) -> Malformed | Unreadable:
    try:
        return Malformed(device, boot, seq, _canonical(value))
    except RecursionError:
        return Unreadable("nested too deeply")


def _own_boot(made: Any) -> Any:
    return made._replace(round_boot=made.boot) if getattr(made, "round_boot", "") is None else made


def encode_json(message: Up | Down) -> bytes:
    """One message as JSON in UTF-8, without a line end."""
    if type(message) is Ack:
        return f'{{"v":{VERSION},"type":"ack","boot":"{message.boot}","seq":{message.seq}}}'.encode()
    return _compact(to_fields(message)).encode()


def to_fields(message: Up | Down) -> dict[str, Any]:
    """One message as a JSON object. A Malformed has no such form: TypeError."""
    name = _NAME_OF.get(type(message))
    if name is None:
        raise TypeError(f"{type(message).__name__} has no written form")
    made: dict[str, Any] = {"v": VERSION, "type": name}
    if name in UP:
        made |= {"device": message.device, "boot": message.boot}  # type: ignore[union-attr]
    spec = UP.get(name) or DOWN[name]
    if spec.numbered:
        made["seq"] = message.seq  # type: ignore[union-attr]
    made |= _content_fields(message, spec)
    return made


def _content_fields(message: Any, spec: Spec) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field in spec.fields:
        value = getattr(message, field.name)
        if field.tag and (value == field.default or (field is _ROUND_BOOT and value == message.boot)):
            continue
        made[field.name] = field.kind.to_json(value)
    return made


@lru_cache(maxsize=4096)
def _wager_text(wager: Wager) -> str:
    # A table has few seats, spots and stakes, so the same wagers come all day.
    return f'{{"cents":{wager.cents},"seat":{wager.seat},"spot":"{wager.spot}"}}'


def content(message: Numbered) -> str:
    """The canonical text of what a message says (not its key): equal texts are equal contents."""
    if type(message) is Lock:
        wagers = ",".join(map(_wager_text, message.wagers))
        return f'{{"round":{message.round},"type":"lock","wagers":[{wagers}]}}'
    if type(message) is Malformed:
        return message.text
    name = _NAME_OF[type(message)]
    return _canonical({"type": name} | _content_fields(message, UP[name]))


def from_content(device: str, boot: str, seq: int, value: dict[str, Any]) -> Numbered:
    """The message whose ``content`` parses to ``value``; raises ValueError when it is none."""
    made = decode_fields(value | {"v": VERSION, "device": device, "boot": boot, "seq": seq})
    if made is None or isinstance(made, Unreadable | Hello | Heartbeat | Heard | Malformed):
        raise ValueError(f"no message: {value}")
    return made


def encode_binary(message: Up | Down) -> bytes:
    """One message as the payload of a frame."""
    name = _NAME_OF.get(type(message))
    if name is None:
        raise TypeError(f"{type(message).__name__} has no binary form")
    spec = UP.get(name) or DOWN[name]
    out = bytearray((VERSION, spec.code))
    if name in UP:
        ID.pack(message.device, out)  # type: ignore[union-attr]
        ID.pack(message.boot, out)  # type: ignore[union-attr]
    if spec.numbered:
        U32.pack(message.seq, out)  # type: ignore[union-attr]
    _pack_fields(message, spec, out)
    return bytes(out)


def _pack_fields(message: Any, spec: Spec, out: bytearray) -> None:
    for field in spec.fields:
        value = getattr(message, field.name)
        if not field.tag:
            field.kind.pack(value, out)
        elif not (value == field.default or (field is _ROUND_BOOT and value == message.boot)):
            field.pack_tagged(value, out)


def decode_binary(payload: bytes) -> Up | Unreadable | None:
    """The device's message in one frame; None for a pulse that nobody can be named for (never answered)."""
    reader = Reader(payload)
    try:
        version, code = reader.byte(), reader.byte()
    except WrongField:
        return Unreadable("too short")
    name = _BY_CODE.get(code)
    spec = UP.get(name) if name is not None else None
    pulse = spec is not None and not spec.numbered
    if version != VERSION:
        return None if pulse else Unreadable("v is not 1")
    try:
        device, boot = ID.unpack(reader), ID.unpack(reader)
        seq = 0 if pulse else U32.unpack(reader)
    except WrongField:
        return None if pulse else Unreadable("device, boot or seq cannot be read")
    if spec is None:
        return Malformed(device, boot, seq, _hex_text(payload))
    try:
        values = _unpack_fields(spec.fields, reader)
    except WrongField:
        return Heard(device, boot) if pulse else Malformed(device, boot, seq, _hex_text(payload))
    key = (device, boot, seq) if spec.numbered else (device, boot)
    return _own_boot(spec.cls(*key, *values))  # type: ignore[no-any-return]


def decode_binary_down(payload: bytes) -> Down | Unreadable:
    """The host's message in one frame, as a device reads it."""
    reader = Reader(payload)
    try:
        version, code = reader.byte(), reader.byte()
        name = _BY_CODE.get(code)
        if version != VERSION or name not in DOWN:
            return Unreadable("not a message of the host")
        return DOWN[name].cls(*_unpack_fields(DOWN[name].fields, reader))  # type: ignore[no-any-return]
    except WrongField as wrong:
        return Unreadable(str(wrong))


def decode_json_down(data: bytes) -> Down | Unreadable:
    """The host's message in one JSON text, as a device reads it."""
    try:
        value = _load(data)
        name = value.get("type") if type(value) is dict and value.get("v") == VERSION else None
        if type(name) is not str or name not in DOWN:
            return Unreadable("not a message of the host")
        spec = DOWN[name]
        return spec.cls(*[field.from_json(value) for field in spec.fields])  # type: ignore[no-any-return]
    except (ValueError, RecursionError) as wrong:
        return Unreadable(str(wrong))


def _unpack_fields(fields: tuple[Field, ...], reader: Reader) -> list[Any]:
    values = [field.kind.unpack(reader) if not field.tag else field.default for field in fields]
    tagged = {field.tag: place for place, field in enumerate(fields) if field.tag}
    while reader.left():
        tag, part = reader.tagged()
        if tag in tagged:
            values[tagged[tag]] = fields[tagged[tag]].kind.unpack_whole(part)
    return values


def _hex_text(payload: bytes) -> str:
    return _canonical({"frame": payload.hex()})
