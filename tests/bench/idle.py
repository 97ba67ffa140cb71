"""A hundred quiet tables: what the daemon costs beyond a bare loop that is woken by the same heartbeats."""

import os
import select
import subprocess
import sys
import time

from controller.demo import free_port
from firmware_bridge.frames import encode_frame
from firmware_bridge.messages import Heartbeat, Hello, encode_binary
from tests.bench.daemon import ended, start
from tests.bench.measure import cpu_seconds, floor, resident_mb

TABLES = 100
SECONDS = 20
SETTLE_S = 8

_BARE = """
import asyncio, os, sys
async def main():
    loop = asyncio.get_running_loop()
    for name in sys.argv[1:]:
        port = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        loop.add_reader(port, os.read, port, 4096)
    await asyncio.sleep(3600)
asyncio.run(main())
"""


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    ptys = [os.openpty() for _ in range(TABLES)]
    names = [os.ttyname(slave) for _, slave in ptys]
    masters = [master for master, _ in ptys]
    for master, slave in ptys:
        os.set_blocking(master, False)
        _raw(slave)

    def line(number: int) -> str:
        return f'\n[[line]]\nid = "l{number}"\ndevice = "hub-{number:03d}"\nport = "{names[number - 1]}"\n'

    with ended(subprocess.Popen([sys.executable, "-c", _BARE, *names])) as bare:
        _beat(masters, SETTLE_S)
        spent = cpu_seconds(bare.pid)
        _beat(masters, SECONDS)
        base = (cpu_seconds(bare.pid) - spent) / SECONDS
    with floor(TABLES, f"[web]\nport = {free_port()}\n\n", line) as folder, ended(start(folder)) as daemon:
        _beat(masters, SETTLE_S)
        spent = cpu_seconds(daemon.pid)
        _beat(masters, SECONDS)
        ours = (cpu_seconds(daemon.pid) - spent) / SECONDS
        memory = resident_mb(daemon.pid)
    for pair in ptys:
        for end in pair:
            os.close(end)
    return [
        (f"idle, {TABLES} quiet tables", f"{ours:.2%} of a core", f"{ours - base:.2%} beyond a bare loop ({base:.2%})",
         "< 2% beyond"),
        ("resident memory, the same", f"{memory:.0f} MB", "", "< 100 MB"),
    ]


def _raw(slave: int) -> None:
    import tty

    tty.setraw(slave)


def _beat(masters: list[int], seconds: float) -> None:
    """Heartbeats of every unit once a second, spread over it; what the host says is read and dropped."""
    ends = time.monotonic() + seconds
    for number, master in enumerate(masters, start=1):
        _write(master, encode_frame(encode_binary(Hello(f"hub-{number:03d}", "idle", "bench", "power-on", 6, ()))))
    beats = [encode_frame(encode_binary(Heartbeat(f"hub-{number:03d}", "idle", 0, 0, ())))
             for number in range(1, len(masters) + 1)]
    poll = select.poll()
    for master in masters:
        poll.register(master, select.POLLIN)
    due, place = time.monotonic(), 0
    while time.monotonic() < ends:
        if time.monotonic() >= due:
            _write(masters[place], beats[place])
            place = (place + 1) % len(masters)
            due += 1.0 / len(masters)
        for master, _ in poll.poll(max(1, int((due - time.monotonic()) * 1000))):
            os.read(master, 65_536)


def _write(master: int, frame: bytes) -> None:
    try:
        os.write(master, frame)
    except BlockingIOError:
        return
