"""Frames on a serial line: COBS(payload + CRC-16/IBM-3740, big-endian), ended by 0x00. Bytes in, payloads out. Pure.

A zero byte stands nowhere inside a frame, so the next one always ends whatever damage came before it: a reader is back
in step after at most one frame (SE-05). Damage is counted by cause and never raised (R-92); the message that was lost
shows as a gap in ``seq``.
"""

from binascii import crc_hqx
from typing import Final

FRAME_BYTES_MAX: Final = 4096
"""The longest frame in bytes without its ending 0x00: 0.36 s at 115,200 baud, and the bound of a reader's buffer."""

_CRC_START: Final = 0xFFFF
_CRC_BYTES: Final = 2
_BLOCK_MAX: Final = 254
"""The most bytes of a COBS block; such a block has the code 0xFF and no zero after it."""


def crc16(data: bytes) -> int:
    """CRC-16/IBM-3740 (poly 1021, init FFFF, not reflected): 0x29B1 for ``123456789`` (sensor-links section 5)."""
    return crc_hqx(data, _CRC_START)


def encode_frame(payload: bytes) -> bytes:
    """One payload as it goes on the wire, ending 0x00 included; ValueError when empty or above FRAME_BYTES_MAX."""
    if not payload:
        raise ValueError("a frame carries at least one byte")
    frame = cobs_encode(payload + crc16(payload).to_bytes(_CRC_BYTES, "big"))
    if len(frame) > FRAME_BYTES_MAX:
        raise ValueError(f"a payload of {len(payload)} bytes does not fit a frame of {FRAME_BYTES_MAX}")
    return frame + b"\x00"


def cobs_encode(plain: bytes) -> bytes:
    """``plain`` without any zero byte: each zero becomes the distance to the next one."""
    out = bytearray()
    runs = plain.split(b"\x00")
    last = len(runs) - 1
    for place, run in enumerate(runs):
        at = 0
        # A full block says "no zero follows", so a run goes on after it, and one at the very end needs no more.
        while len(run) - at >= _BLOCK_MAX:
            out.append(_BLOCK_MAX + 1)
            out += run[at : at + _BLOCK_MAX]
            at += _BLOCK_MAX
        if at == 0 or at < len(run) or place != last:
            out.append(len(run) - at + 1)
            out += run[at:]
    return bytes(out)


def cobs_decode(coded: bytes) -> bytes | None:
    """The bytes that ``cobs_encode`` was given; None when a block runs past the end. ``coded`` holds no zero byte."""
    length = len(coded)
    if length and coded[0] == length:
        return coded[1:]
    out = bytearray()
    at = 0
    while at < length:
        code = coded[at]
        end = at + code
        if end > length:
            return None
        out += coded[at + 1 : end]
        at = end
        if code <= _BLOCK_MAX and at < length:
            out.append(0)
    return bytes(out)


class FrameReader:
    """Finds the good frames in a stream of bytes cut anywhere. Holds at most FRAME_BYTES_MAX bytes between calls."""

    def __init__(self) -> None:
        self.good = 0
        """Frames handed on since the start."""
        self.damaged = {"crc": 0, "cobs": 0, "too_long": 0, "short": 0}
        """Frames refused since the start, by cause. Two delimiters in a row are no frame and not counted."""
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads of all good frames that end in ``data``, in order."""
        if self._skipping:
            end = data.find(b"\x00")
            if end < 0:
                return []
            self._skipping = False
            data = data[end:]
        frames = (self._rest + data).split(b"\x00")
        self._rest = frames.pop()
        payloads = [payload for frame in frames if frame and (payload := self._payload(frame))]
        if len(self._rest) > FRAME_BYTES_MAX:
            self.damaged["too_long"] += 1
            self._rest = b""
            self._skipping = True
        return payloads

    def _payload(self, frame: bytes) -> bytes | None:
        if len(frame) > FRAME_BYTES_MAX:
            self.damaged["too_long"] += 1
            return None
        plain = cobs_decode(frame)
        if plain is None:
            self.damaged["cobs"] += 1
            return None
        if len(plain) <= _CRC_BYTES:
            self.damaged["short"] += 1
            return None
        # A message followed by its own CRC leaves the remainder zero.
        if crc_hqx(plain, _CRC_START):
            self.damaged["crc"] += 1
            return None
        self.good += 1
        return plain[:-_CRC_BYTES]

    def start_over(self) -> None:
        """Forget a half frame: the line was closed and opened again. Counts are kept."""
        self._rest = b""
        self._skipping = False
