"""Frames: COBS + CRC-16/IBM-3740 found again in any stream of bytes (SE-05, R-92)."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.frames import FRAME_BYTES_MAX, FrameReader, cobs_decode, cobs_encode, crc16, encode_frame
from firmware_bridge.messages import Ack, Heartbeat, Lock, Wager, encode_binary

LOCK = encode_binary(Lock("hub-01", "b1", 7, 3, (Wager(1, "progressive", 500), Wager(0, "progressive", 0))))
HEARTBEAT = encode_binary(Heartbeat("hub-01", "b1", 7, 12, ()))
PAYLOADS = [LOCK, HEARTBEAT, encode_binary(Ack("b1", 256)), b"\x00", b"\x00" * 9, bytes(range(256)) * 3]

RUN_254 = bytes(range(1, 255))
COBS_VECTORS = [
    (b"", b"\x01"),
    (b"\x00", b"\x01\x01"),
    (b"\x00\x00", b"\x01\x01\x01"),
    (b"\x00\x11\x00", b"\x01\x02\x11\x01"),
    (b"\x11\x22\x00\x33", b"\x03\x11\x22\x02\x33"),
    (b"\x11\x22\x33\x44", b"\x05\x11\x22\x33\x44"),
    (b"\x11\x00\x00\x00", b"\x02\x11\x01\x01\x01"),
    (RUN_254, b"\xff" + RUN_254),
    (b"\x00" + RUN_254, b"\x01\xff" + RUN_254),
    (RUN_254 + b"\xff", b"\xff" + RUN_254 + b"\x02\xff"),
    (RUN_254 + b"\x00", b"\xff" + RUN_254 + b"\x01\x01"),
    (RUN_254[1:] + b"\x00\x01", b"\xfe" + RUN_254[1:] + b"\x02\x01"),
]


def damage(reader: FrameReader) -> int:
    return sum(reader.damaged.values())


def test_the_crc_has_its_published_check_value() -> None:
    assert crc16(b"123456789") == 0x29B1


@pytest.mark.parametrize(("plain", "coded"), COBS_VECTORS)
def test_cobs_encodes_the_known_vectors(plain: bytes, coded: bytes) -> None:
    assert cobs_encode(plain) == coded


@pytest.mark.parametrize(("plain", "coded"), COBS_VECTORS)
def test_cobs_decodes_the_known_vectors(plain: bytes, coded: bytes) -> None:
    assert cobs_decode(coded) == plain


@given(st.lists(st.sampled_from([b"\x00", b"\x01", b"x" * 253, b"y" * 254, b"\xff"]), max_size=8).map(b"".join))
def test_cobs_gives_back_what_it_took_and_holds_no_zero(plain: bytes) -> None:
    coded = cobs_encode(plain)
    assert 0 not in coded
    assert cobs_decode(coded) == plain


def test_a_block_that_runs_past_the_end_is_no_cobs() -> None:
    assert cobs_decode(b"\x05\x11") is None


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_frame_is_read_whole(payload: bytes) -> None:
    assert FrameReader().feed(encode_frame(payload)) == [payload]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_frame_is_read_one_byte_at_a_time(payload: bytes) -> None:
    reader = FrameReader()
    got = [found for byte in encode_frame(payload) for found in reader.feed(bytes((byte,)))]
    assert got == [payload]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=6), st.integers(1, 64))
def test_frames_are_the_same_wherever_the_stream_is_cut(payloads: list[bytes], size: int) -> None:
    stream = b"".join(encode_frame(payload) for payload in payloads)
    reader = FrameReader()
    got = [found for at in range(0, len(stream), size) for found in reader.feed(stream[at : at + size])]
    assert got == payloads


def test_a_delimiter_before_a_frame_is_harmless_and_not_counted() -> None:
    reader = FrameReader()
    assert reader.feed(b"\x00\x00" + encode_frame(LOCK)) == [LOCK]
    assert (reader.good, damage(reader)) == (1, 0)


def test_a_damaged_frame_is_counted_and_the_next_one_is_read() -> None:
    broken = bytearray(encode_frame(LOCK))
    broken[10] ^= 0x04
    reader = FrameReader()
    assert reader.feed(bytes(broken) + encode_frame(HEARTBEAT)) == [HEARTBEAT]
    assert (reader.good, damage(reader)) == (1, 1)


def test_damage_is_counted_by_its_cause() -> None:
    reader = FrameReader()
    reader.feed(b"\x03\x11\x22\x00")  # two bytes and no room for a payload
    reader.feed(b"\x09\x11\x22\x00")  # a block past the end
    reader.feed(b"\x05\x11\x22\x33\x44\x00")  # a wrong CRC
    reader.feed(b"\x11" * (FRAME_BYTES_MAX + 1) + b"\x00")
    assert reader.damaged == {"short": 1, "cobs": 1, "crc": 1, "too_long": 1}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_single_bit_error_inside_a_frame_is_refused_r_92(payload: bytes) -> None:
    frame = encode_frame(payload)
    for bit in range((len(frame) - 1) * 8):
        broken = bytearray(frame)
        broken[bit // 8] ^= 1 << (bit % 8)
        reader = FrameReader()
        assert reader.feed(bytes(broken) + encode_frame(HEARTBEAT)) == [HEARTBEAT], f"bit {bit}"
        assert damage(reader) >= 1, f"bit {bit}"


def test_every_single_bit_error_of_the_delimiter_is_refused_r_92() -> None:
    for bit in range(8):
        broken = bytearray(encode_frame(LOCK))
        broken[-1] ^= 1 << bit
        reader = FrameReader()
        assert reader.feed(bytes(broken) + encode_frame(LOCK) + encode_frame(HEARTBEAT)) == [HEARTBEAT]


@pytest.mark.parametrize("payload", [LOCK, HEARTBEAT])
def test_a_frame_cut_at_any_offset_costs_no_more_than_the_next_one_se_05(payload: bytes) -> None:
    frame = encode_frame(payload)
    for cut in range(1, len(frame) - 1):
        reader = FrameReader()
        got = reader.feed(frame[:cut] + encode_frame(b"swallowed") + encode_frame(b"after"))
        assert got[-1] == b"after" and set(got) <= {b"swallowed", b"after"}, f"cut at {cut}"
        assert damage(reader) == 1, f"cut at {cut}"


def test_a_cut_frame_that_was_ended_costs_nothing_more_se_05() -> None:
    frame = encode_frame(LOCK)
    for cut in range(1, len(frame) - 1):
        reader = FrameReader()
        assert reader.feed(frame[:cut] + b"\x00" + encode_frame(b"after")) == [b"after"], f"cut at {cut}"


@pytest.mark.parametrize(
    "noise",
    [
        b"\x02\xff\xff\x00",
        b"\r\nets Jun  8 2016 00:22:57\r\nrst:0x1 (POWERON_RESET)\r\n\x00",
        b"\x00\x00",
        encode_frame(LOCK)[1:],
        encode_frame(LOCK)[:5] + b"\x55" + encode_frame(LOCK)[5:],
        encode_frame(LOCK)[:5] + encode_frame(LOCK)[6:],
    ],
)
def test_noise_between_frames_costs_no_frame_and_gives_none_se_05(noise: bytes) -> None:
    reader = FrameReader()
    payloads = [number.to_bytes(2, "big") for number in range(1, 101)]
    got = [found for payload in payloads for found in reader.feed(noise + encode_frame(payload))]
    assert got == payloads


def test_a_good_frame_is_found_after_64_kib_of_noise_and_none_inside_it_se_05() -> None:
    chance = random.Random(2)
    reader = FrameReader()
    got = [found for _ in range(64) for found in reader.feed(chance.randbytes(1024))]
    assert got == []
    assert reader.feed(b"\x00" + encode_frame(LOCK)) == [LOCK]
    assert damage(reader) > 100


def test_a_reader_never_holds_more_than_the_longest_frame() -> None:
    reader = FrameReader()
    for _ in range(50):
        reader.feed(b"\x55" * 1000)
        assert len(reader._rest) <= FRAME_BYTES_MAX


def test_an_endless_frame_is_counted_once_and_the_one_after_it_is_read() -> None:
    reader = FrameReader()
    for _ in range(50):
        reader.feed(b"\x55" * 1000)
    assert reader.feed(b"\x55\x00" + encode_frame(LOCK)) == [LOCK]
    assert reader.damaged["too_long"] == 1 and damage(reader) == 1


def test_the_longest_frame_is_sent_and_read() -> None:
    payload = b"\x00" * (FRAME_BYTES_MAX - 3)
    frame = encode_frame(payload)
    assert len(frame) == FRAME_BYTES_MAX + 1
    assert FrameReader().feed(frame) == [payload]


def test_a_longer_frame_is_not_made() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        encode_frame(b"\x00" * (FRAME_BYTES_MAX - 2))


def test_an_empty_frame_is_not_made() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        encode_frame(b"")


def test_half_a_frame_is_forgotten_when_the_line_starts_over() -> None:
    reader = FrameReader()
    reader.feed(encode_frame(LOCK)[:7])
    reader.start_over()
    assert reader.feed(encode_frame(HEARTBEAT)) == [HEARTBEAT]
    assert damage(reader) == 0
