"""Kinds of field: what each takes, in JSON and in binary (contract README, "Ranges")."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.fields import (
    BOOL,
    CENTS,
    CHIPS,
    ID,
    LINE,
    SEAT,
    TOTAL,
    U32,
    Field,
    Kind,
    Reader,
    WrongField,
    _known_id,
    choice,
    listing,
    nullable,
)
from firmware_bridge.messages import Wager

WAGER = (Field("seat", SEAT), Field("spot", ID), Field("cents", CENTS))
RANGES = [(U32, 1, 2**32 - 1), (TOTAL, 0, 2**32 - 1), (SEAT, 0, 255), (CENTS, 0, 10_000_000), (CHIPS, 0, 10_000)]


def packed(kind: Kind, value: Any) -> bytes:
    out = bytearray()
    kind.pack(value, out)
    return bytes(out)


@pytest.mark.parametrize(("kind", "low", "high"), RANGES)
def test_a_number_is_taken_at_both_ends_of_its_range(kind: Kind, low: int, high: int) -> None:
    assert [kind.check(low), kind.check(high)] == [low, high]


@pytest.mark.parametrize(("kind", "low", "high"), RANGES)
def test_a_number_outside_its_range_is_wrong(kind: Kind, low: int, high: int) -> None:
    for number in (low - 1, high + 1):
        with pytest.raises(WrongField):
            kind.check(number)


@pytest.mark.parametrize(("kind", "low", "high"), RANGES)
def test_a_number_outside_its_range_is_wrong_in_binary_too(kind: Kind, low: int, high: int) -> None:
    width = len(packed(kind, high))
    for number in (low - 1, high + 1):
        if 0 <= number < 1 << (8 * width):
            with pytest.raises(WrongField):
                kind.unpack(Reader(number.to_bytes(width, "big")))


@pytest.mark.parametrize("wrong", [500.0, True, "5", None, [5], {}])
def test_only_whole_numbers_are_numbers(wrong: Any) -> None:
    with pytest.raises(WrongField):
        CENTS.check(wrong)


@pytest.mark.parametrize("good", ["a", "A-Z.a_z-09", "x" * 64])
def test_an_id_is_of_the_short_safe_alphabet_mq_11(good: str) -> None:
    assert ID.check(good) == good


@pytest.mark.parametrize(
    "bad", ["", "x" * 65, "a b", "+", "#", "a/b", "../t2", "$SYS", "a\x00", "a\n", "\u0430", "\u0661", 5, None, ["a"]]
)
def test_anything_else_is_no_id_mq_11(bad: Any) -> None:
    for _ in range(2):  # the second time would come from the cache
        with pytest.raises(WrongField):
            ID.check(bad)


def test_the_cache_of_known_ids_is_bounded_and_keeps_no_bad_one() -> None:
    _known_id.cache_clear()
    with pytest.raises(WrongField):
        ID.check("no id")
    assert _known_id.cache_info().currsize == 0
    for number in range(5000):
        ID.check(f"boot-{number}")
    assert _known_id.cache_info().currsize == 4096


@pytest.mark.parametrize("good", ["x", "misdeal: card exposed", "\u20ac" * 200])
def test_a_text_is_printable_and_up_to_200_characters(good: str) -> None:
    assert LINE.unpack(Reader(packed(LINE, LINE.check(good)))) == good


@pytest.mark.parametrize("bad", ["", "x" * 201, "two\nlines", "\x07", "\ud800", 7, None])
def test_a_text_of_other_characters_is_wrong(bad: Any) -> None:
    with pytest.raises(WrongField):
        LINE.check(bad)


def test_a_text_that_is_not_utf_8_is_wrong() -> None:
    with pytest.raises(WrongField):
        LINE.unpack(Reader(b"\x00\x02\xff\xfe"))


def test_true_and_false_are_the_only_truths() -> None:
    assert [BOOL.check(True), BOOL.check(False)] == [True, False]
    for wrong in (0, 1, "true", None):
        with pytest.raises(WrongField):
            BOOL.check(wrong)
    with pytest.raises(WrongField):
        BOOL.unpack(Reader(b"\x02"))


def test_a_word_outside_its_list_is_wrong() -> None:
    kind = choice(("placed", "locked"))
    assert kind.unpack(Reader(packed(kind, "locked"))) == "locked"
    with pytest.raises(WrongField):
        kind.check("shut")
    with pytest.raises(WrongField):
        kind.unpack(Reader(b"\x02"))


def test_a_list_has_its_bounds_in_both_forms() -> None:
    kind = listing(Wager, WAGER, 2, minimum=1)
    for count in (0, 3):
        with pytest.raises(WrongField):
            kind.check([{"seat": 1, "spot": "p", "cents": 5}] * count)
        with pytest.raises(WrongField):
            kind.unpack(Reader(bytes((count,)) + packed(kind, [Wager(1, "p", 5)])[1:] * count))


def test_null_is_a_group_of_fields_or_nothing() -> None:
    kind = nullable(Wager, WAGER)
    assert kind.check(None) is None
    assert kind.unpack(Reader(packed(kind, None))) is None
    assert kind.unpack(Reader(packed(kind, Wager(1, "p", 5)))) == Wager(1, "p", 5)


def test_an_absent_optional_field_has_its_default_and_null_is_wrong() -> None:
    field = Field("envy_only", BOOL, tag=1, default=False)
    assert field.from_json({}) is False
    with pytest.raises(WrongField):
        field.from_json({"envy_only": None})


def test_a_missing_field_is_wrong() -> None:
    with pytest.raises(WrongField, match="round is missing"):
        Field("round", U32).from_json({})


@given(st.binary(max_size=40))
def test_reading_any_bytes_ends_in_a_value_or_in_wrong_field(noise: bytes) -> None:
    for kind in (U32, ID, LINE, BOOL, listing(Wager, WAGER, 64), nullable(Wager, WAGER)):
        try:
            value = kind.unpack(Reader(noise))
        except WrongField:
            continue
        assert kind.unpack(Reader(packed(kind, value))) == value
