"""The kinds of field a message can have, each with its JSON check and its binary form. Pure.

Binary: numbers are big-endian; ids and texts have a length byte; a list has a count byte; an optional field is a tag
byte, a length byte and its bytes after the fixed fields, and a reader skips tags that it does not know.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
LINE_MAX = 200
CENTS_MAX = 10_000_000


class WrongField(ValueError):
    """A field is missing, of the wrong type, or out of range."""


class Reader:
    """Reads the fields of one payload from the front; WrongField when it ends too soon."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        part = self._payload[self._at : self._at + count]
        if len(part) != count:
            raise WrongField("cut short")
        self._at += count
        return part

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def left(self) -> int:
        """How many bytes are left."""
        return len(self._payload) - self._at

    def tagged(self) -> tuple[int, bytes]:
        """The next optional field: its tag and its bytes."""
        tag = self.byte()
        return tag, self.take(self.byte())


class Kind:
    """One kind of field. ``check`` takes a JSON value and returns it decoded, or raises WrongField."""

    def __init__(
        self,
        words: str,
        check: Callable[[Any], Any],
        pack: Callable[[Any, bytearray], None],
        unpack: Callable[[Reader], Any],
        to_json: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.words, self.check, self.pack, self.unpack, self.to_json = words, check, pack, unpack, to_json

    def unpack_whole(self, part: bytes) -> Any:
        """A value that must fill ``part`` exactly."""
        reader = Reader(part)
        value = self.unpack(reader)
        if reader.left():
            raise WrongField("too long")
        return value


_MISSING: Any = object()


class Field(NamedTuple):
    """A named field. One with a ``tag`` is optional: absent means ``default``; null is a wrong type, not absent."""

    name: str
    kind: Kind
    tag: int = 0
    default: Any = None

    def from_json(self, fields: dict[str, Any]) -> Any:
        """The decoded value in a JSON object; raises WrongField."""
        value = fields.get(self.name, _MISSING)
        if value is _MISSING:
            if self.tag:
                return self.default
            raise WrongField(f"{self.name} is missing")
        return self.kind.check(value)

    def pack_tagged(self, value: Any, out: bytearray) -> None:
        """Append the optional field's binary form."""
        part = bytearray()
        self.kind.pack(value, part)
        out += bytes((self.tag, len(part)))
        out += part


def _number(low: int, high: int, width: int) -> Kind:
    def check(value: Any) -> int:
        if type(value) is int and low <= value <= high:
            return value
        raise WrongField(f"not a whole number from {low} to {high}")

    def pack(value: int, out: bytearray) -> None:
        out += value.to_bytes(width, "big")

    return Kind(
        f"{low}..{high}", check, pack, lambda reader: check(int.from_bytes(reader.take(width), "big"))
    )


@lru_cache(maxsize=4096)
def _known_id(text: str) -> str:
    # A house has few ids and says them all day. Only good ones stay in the cache: a raise is not kept.
    if _ID.fullmatch(text):
        return text
    raise WrongField("not an id of 1 to 64 of A-Z a-z 0-9 . _ -")


def _id(value: Any) -> str:
    if type(value) is str:
        return _known_id(value)
    raise WrongField("not an id")


def _line(value: Any) -> str:
    if type(value) is str and 1 <= len(value) <= LINE_MAX and value.isprintable():
        return value
    raise WrongField("not 1 to 200 printable characters")


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise WrongField("not true or false")


def _pack_text(value: str, out: bytearray) -> None:
    raw = value.encode()
    out += len(raw).to_bytes(2, "big")
    out += raw


def _unpack_text(reader: Reader) -> str:
    try:
        return _line(reader.take(int.from_bytes(reader.take(2), "big")).decode())
    except UnicodeDecodeError as wrong:
        raise WrongField("not UTF-8") from wrong


def _pack_id(value: str, out: bytearray) -> None:
    out.append(len(value))
    out += value.encode("ascii")


def _unpack_id(reader: Reader) -> str:
    return _id(reader.take(reader.byte()).decode("latin-1"))


def _unpack_bool(reader: Reader) -> bool:
    value = reader.byte()
    if value > 1:
        raise WrongField("not 0 or 1")
    return value == 1


U32 = _number(1, (1 << 32) - 1, 4)
TOTAL = _number(0, (1 << 32) - 1, 4)
SEAT = _number(0, 255, 1)
CENTS = _number(0, CENTS_MAX, 4)
CHIPS = _number(0, 10_000, 2)
ID = Kind("id", _id, _pack_id, _unpack_id)
LINE = Kind("text", _line, _pack_text, _unpack_text)
BOOL = Kind("true/false", _bool, lambda value, out: out.append(1 if value else 0), _unpack_bool)


def choice(words: tuple[str, ...]) -> Kind:
    """One of a closed list of words; in binary its place in the list."""

    def check(value: Any) -> str:
        if type(value) is str and value in words:
            return value
        raise WrongField("not one of " + ", ".join(words))

    def unpack(reader: Reader) -> str:
        place = reader.byte()
        if place >= len(words):
            raise WrongField("not a known word")
        return words[place]

    return Kind(" / ".join(words), check, lambda value, out: out.append(words.index(value)), unpack)


def _struct(cls: Any, fields: tuple[Field, ...]) -> tuple[Callable[[Any], Any], Any, Any, Any]:
    """check, pack, unpack and to_json of a group of fields (of a bare single field when ``cls`` is None)."""
    if cls is None:
        kind = fields[0].kind
        return kind.check, kind.pack, kind.unpack, kind.to_json
    fixed = tuple(field for field in fields if not field.tag)
    optional = tuple(field for field in fields if field.tag)

    def check(value: Any) -> Any:
        if type(value) is not dict:
            raise WrongField("not an object")
        return cls(*[field.from_json(value) for field in fields])

    def pack(value: Any, out: bytearray) -> None:
        for field in fixed:
            field.kind.pack(getattr(value, field.name), out)
        if optional:
            present = [field for field in optional if getattr(value, field.name) != field.default]
            out.append(len(present))
            for field in present:
                field.pack_tagged(getattr(value, field.name), out)

    def unpack(reader: Reader) -> Any:
        values = {field.name: field.kind.unpack(reader) for field in fixed}
        if optional:
            for _ in range(reader.byte()):
                tag, part = reader.tagged()
                for field in optional:
                    if field.tag == tag:
                        values[field.name] = field.kind.unpack_whole(part)
        return cls(**values)

    def to_json(value: Any) -> dict[str, Any]:
        made = {}
        for field in fields:
            one = getattr(value, field.name)
            if not field.tag or one != field.default:
                made[field.name] = field.kind.to_json(one)
        return made

    return check, pack, unpack, to_json


def listing(
    cls: Any,
    fields: tuple[Field, ...],
    most: int,
    minimum: int = 0,
    check: Callable[[Any], tuple[Any, ...]] | None = None,
) -> Kind:
    """A list of at most ``most`` groups of fields (bare values when ``cls`` is None).

    ``check`` is a faster form of the same check, where speed counts.
    """
    check_one, pack_one, unpack_one, to_json = _struct(cls, fields)

    def check_each(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or not minimum <= len(value) <= most:
            raise WrongField(f"not a list of {minimum} to {most}")
        return tuple([check_one(one) for one in value])

    def pack(values: tuple[Any, ...], out: bytearray) -> None:
        out.append(len(values))
        for value in values:
            pack_one(value, out)

    def unpack(reader: Reader) -> tuple[Any, ...]:
        count = reader.byte()
        if not minimum <= count <= most:
            raise WrongField(f"not a list of {minimum} to {most}")
        return tuple([unpack_one(reader) for _ in range(count)])

    words = "list of " + ("`" + fields[0].name + "`" if cls is None else "{" + ", ".join(f.name for f in fields) + "}")
    return Kind(words, check or check_each, pack, unpack, lambda values: [to_json(value) for value in values])


def nullable(cls: Any, fields: tuple[Field, ...]) -> Kind:
    """A group of fields or null; in binary a byte 0 or 1 before it."""
    check_one, pack_one, unpack_one, to_json = _struct(cls, fields)

    def pack(value: Any, out: bytearray) -> None:
        out.append(0 if value is None else 1)
        if value is not None:
            pack_one(value, out)

    return Kind(
        "{" + ", ".join(field.name for field in fields) + "} or null",
        lambda value: None if value is None else check_one(value),
        pack,
        lambda reader: unpack_one(reader) if _unpack_bool(reader) else None,
        lambda value: None if value is None else to_json(value),
    )
