"""A real meterd and a real broker to measure, each a process of its own."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.config import load
from controller.demo import free_port, make_ledger

MQTT = '[mqtt]\nhost = "127.0.0.1"\nport = {port}\n\n[web]\nport = {pages}\n\n'


@contextmanager
def broker(folder: Path) -> Iterator[int]:
    """A Mosquitto that keeps sessions and queues without bound while it runs; gives its port."""
    port = free_port()
    conf = folder / "mosquitto.conf"
    user = "user root\n" if os.geteuid() == 0 else ""
    conf.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n{user}max_queued_messages 0\n"
        "log_type error\n")
    program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin") or "mosquitto"
    with ended(subprocess.Popen([program, "-c", str(conf)], stderr=subprocess.DEVNULL)):
        time.sleep(0.3)
        yield port


@contextmanager
def ended(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is ended afterwards."""
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=10)


def start(folder: Path) -> "subprocess.Popen[bytes]":
    """meterd on ``folder/floor.toml``; its ledger is made when there is none."""
    plan, wiring = load(folder / "floor.toml")
    make_ledger(plan, wiring.ledger_url)
    command = [sys.executable, "-m", "controller", "--config", str(folder / "floor.toml")]
    with (folder / "meterd.log").open("ab") as log:
        return subprocess.Popen(command, stderr=log)


class Ledger:
    """The durable head of a running daemon's ledger, looked at from outside."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(f"file:{folder / 'ledger.db'}?mode=ro", uri=True)

    def locks(self) -> int:
        """Lock-outs that are durable."""
        return int(self._connection.execute("SELECT count(*) FROM entry WHERE kind = 'lock'").fetchone()[0])

    def last(self) -> int:
        """The last durable entry."""
        return int(self._connection.execute("SELECT max(number) FROM entry").fetchone()[0] or 0)


async def until(true: object, seconds: float = 60.0) -> None:
    """Wait for ``true()``."""
    ends = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        if time.monotonic() > ends:
            raise TimeoutError("the daemon did not get there")
        await asyncio.sleep(0.005)
