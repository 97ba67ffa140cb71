"""From a lock-out leaving its unit to the unit holding the durable acknowledgement, at 200 messages a second."""

import json
import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from controller.demo import free_port
from firmware_bridge.frames import FrameReader, encode_frame
from firmware_bridge.messages import Ack, Hello, Lock, Wager, decode_binary_down, encode_binary, encode_json
from tests.bench.daemon import MQTT, broker, ended, start
from tests.bench.measure import floor, lock_text, quantile
from tests.bench.units import packet, packets, text

RATE = 200
SECONDS = 15
UNITS = 4
"""Four lines: one line of 115,200 baud carries about 100 such lock-outs a second."""


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    rows = []
    for name, took in (("serial", serial()), ("MQTT", _mqtt())):
        half, most = quantile(took, 0.5) * 1000, quantile(took, 0.99) * 1000
        rows.append((f"lock to durable ack, {name}, {RATE}/s", f"p50 {half:.1f} ms, p99 {most:.1f} ms",
                     f"{len(took)} messages", "p99 < 10 ms"))
    return rows


def _locks(hub: str, number: int) -> Lock:
    return Lock(hub, "lat", number, number, tuple([Wager(seat, "progressive", 500) for seat in (1, 2, 4, 6)]))


def serial(
    seconds: int = SECONDS, beside: Callable[[int], AbstractContextManager[object]] = nullcontext
) -> list[float]:
    """Seconds that each lock-out of so many seconds' play took, over four serial lines.

    ``beside``: what goes on meanwhile, given the port of the pages.
    """
    port_of_pages = free_port()
    ptys = [os.openpty() for _ in range(UNITS)]
    for master, _ in ptys:
        os.set_blocking(master, False)

    def line(number: int) -> str:
        port = os.ttyname(ptys[number - 1][1])
        return f'\n[[line]]\nid = "l{number}"\ndevice = "hub-{number:03d}"\nport = "{port}"\n'

    with floor(UNITS, f"[web]\nport = {port_of_pages}\n\n", line) as folder, ended(start(folder)), ExitStack() as stack:
        readers = [FrameReader() for _ in ptys]
        masters = {master: place for place, (master, _) in enumerate(ptys)}
        _greet(list(masters), folder)
        stack.enter_context(beside(port_of_pages))
        sent: dict[tuple[int, int], float] = {}
        took: list[float] = []
        due, count = time.perf_counter() + 0.5, 0
        while count < RATE * seconds or sent:
            now = time.perf_counter()
            if now > due + 30:
                raise TimeoutError("no acknowledgement came")
            if count < RATE * seconds and now >= due:
                unit, number = count % UNITS, count // UNITS + 1
                sent[unit, number] = now
                os.write(ptys[unit][0], encode_frame(encode_binary(_locks(f"hub-{unit + 1:03d}", number))))
                count += 1
                due += 1 / RATE
            wait = max(0.0, min(0.002, due - time.perf_counter())) if count < RATE * seconds else 0.002
            for master in select.select(list(masters), [], [], wait)[0]:
                for payload in readers[masters[master]].feed(os.read(master, 4096)):
                    _acked(decode_binary_down(payload), masters[master], sent, took)
    for pair in ptys:
        for end in pair:
            os.close(end)
    return took


def _greet(masters: list[int], folder: Path) -> None:
    """Wait until the daemon has opened the lines, and say hello on each."""
    ends = time.monotonic() + 20
    while (folder / "meterd.log").read_text().count(": open on") < len(masters):
        if time.monotonic() > ends:
            raise TimeoutError("the daemon did not open its lines")
        time.sleep(0.05)
    for place, master in enumerate(masters, start=1):
        os.write(master, encode_frame(encode_binary(Hello(f"hub-{place:03d}", "lat", "bench", "power-on", 6, ()))))


def _acked(said: object, unit: int, sent: dict[tuple[int, int], float], took: list[float]) -> None:
    if isinstance(said, Ack):
        now = time.perf_counter()
        for key in [key for key in sent if key[0] == unit and key[1] <= said.seq]:
            took.append(now - sent.pop(key))


def _mqtt() -> list[float]:
    with floor(UNITS) as folder, broker(folder) as port:
        config = folder / "floor.toml"
        config.write_text(config.read_text() + "\n" + MQTT.format(port=port, pages=free_port()))
        with ended(start(folder)):
            ends = time.monotonic() + 20
            while "connected as" not in (folder / "meterd.log").read_text():
                if time.monotonic() > ends:
                    raise TimeoutError("the daemon did not reach the broker")
                time.sleep(0.05)
            return _mqtt_run(port)


def _mqtt_run(port: int) -> list[float]:
    wire = socket.create_connection(("127.0.0.1", port))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.sendall(packet(0x10, text("MQTT") + bytes((4, 2, 0, 0)) + text("latency")))
    wire.sendall(packet(0x82, b"\0\1" + text("meterd/bench/dev/+/down") + b"\0"))
    for unit in range(1, UNITS + 1):
        hub = f"hub-{unit:03d}"
        hello = encode_json(Hello(hub, "lat", "bench", "power-on", 6, ()))
        wire.sendall(packet(0x30, text(f"meterd/bench/dev/{hub}/up") + hello))
    buffer, sent, took = bytearray(), {}, []
    due, count = time.perf_counter() + 0.5, 0
    while count < RATE * SECONDS or sent:
        now = time.perf_counter()
        if now > due + 30:
            raise TimeoutError("no acknowledgement came")
        if count < RATE * SECONDS and now >= due:
            unit, number = count % UNITS, count // UNITS + 1
            hub = f"hub-{unit + 1:03d}"
            sent[unit, number] = now
            topic = text(f"meterd/bench/dev/{hub}/up") + (count % 60_000 + 1).to_bytes(2, "big")
            wire.sendall(packet(0x32, topic + lock_text(hub, "lat", number).encode()))
            count += 1
            due += 1 / RATE
        wait = max(0.0, min(0.002, due - time.perf_counter())) if count < RATE * SECONDS else 0.002
        if select.select([wire], [], [], wait)[0]:
            buffer += wire.recv(65_536)
            for head, rest in packets(buffer):
                if head >> 4 == 3 and b'"ack"' in rest:
                    end = 2 + int.from_bytes(rest[:2], "big")
                    said = json.loads(rest[end + (2 if head & 6 else 0) :])
                    unit = int(rest[2:end].decode().split("/")[3][4:]) - 1
                    _acked(Ack(said["boot"], said["seq"]), unit, sent, took)
    wire.close()
    return took
