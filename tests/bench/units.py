"""``python -m tests.bench.units PORT BOOT DEVICES EACH WINDOW``: many table units in one process, as quick as it can.

Speaks MQTT 3.1.1 by hand on one socket, so that the sender is never what is measured.
"""

import json
import select
import socket
import sys
import time
from collections.abc import Iterator

from tests.bench.measure import lock_text

SEND_AT_ONCE = 20
ENDS_S = 120.0


def text(words: str) -> bytes:
    """A string as MQTT writes it."""
    raw = words.encode()
    return len(raw).to_bytes(2, "big") + raw


def packet(head: int, rest: bytes) -> bytes:
    """A packet: its first byte, the length, and the rest."""
    length, size = len(rest), bytearray()
    while True:
        length, part = divmod(length, 128)
        size.append(part | (128 if length else 0))
        if not length:
            return bytes((head,)) + bytes(size) + rest


def packets(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Whole packets taken from the front of ``buffer``."""
    while len(buffer) >= 2:
        length, shift, at = 0, 0, 1
        while at < len(buffer):
            length |= (buffer[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if not buffer[at - 1] & 128:
                break
        else:
            return
        if len(buffer) < at + length:
            return
        yield buffer[0], bytes(buffer[at : at + length])
        del buffer[: at + length]


class Units:
    """All units of a floor on one connection."""

    def __init__(self, port: int, boot: str, devices: int, each: int, window: int) -> None:
        self._boot, self._each, self._window = boot, each, window
        self._hubs = [f"hub-{number:03d}" for number in range(1, devices + 1)]
        self._acked, self._sent = dict.fromkeys(self._hubs, 0), dict.fromkeys(self._hubs, 0)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._in, self._out, self._id = bytearray(), bytearray(), 0
        self._socket.sendall(packet(0x10, text("MQTT") + bytes((4, 2, 0, 0)) + text(f"units-{boot}")))
        self._socket.sendall(packet(0x82, b"\0\1" + text("meterd/bench/dev/+/down") + b"\0"))
        time.sleep(0.3)
        self._socket.setblocking(False)

    def run(self) -> None:
        """Send everything, then keep the connection until ended."""
        ends = time.monotonic() + ENDS_S
        while time.monotonic() < ends:
            more = self._fill() if len(self._out) < 65_536 else True
            can_read, can_write, _ = select.select([self._socket], [self._socket] if self._out else [], [], 0.5)
            if can_write:
                del self._out[: self._socket.send(self._out)]
            if can_read:
                self._read()
            if not more and not self._out and min(self._acked.values()) >= self._each and self._window:
                return

    def _fill(self) -> bool:
        for hub in self._hubs:
            sent = self._sent[hub]
            limit = min(self._each, self._acked[hub] + self._window if self._window else sent + SEND_AT_ONCE)
            for number in range(sent + 1, limit + 1):
                self._id = self._id % 65_000 + 1
                payload = lock_text(hub, self._boot, number).encode()
                self._out += packet(0x32, text(f"meterd/bench/dev/{hub}/up") + self._id.to_bytes(2, "big") + payload)
            self._sent[hub] = max(sent, limit)
        return min(self._sent.values()) < self._each

    def _read(self) -> None:
        self._in += self._socket.recv(262_144)
        for head, rest in packets(self._in):
            if head >> 4 != 3:
                continue
            end = 2 + int.from_bytes(rest[:2], "big")
            said = json.loads(rest[end:]) if b'"ack"' in rest else {}
            if said.get("boot") == self._boot:
                self._acked[rest[2:end].decode().split("/")[3]] = said["seq"]


if __name__ == "__main__":
    Units(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6])).run()
