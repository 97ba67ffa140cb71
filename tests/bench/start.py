"""How long a start takes on a ledger of a million entries: from the state rows and the tail."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from controller.apply import apply
from controller.config import load
from controller.daemon import clock
from controller.demo import free_port
from tests.bench.measure import floor, median

ENTRIES = int(os.environ.get("BENCH_START_ENTRIES", "1000000"))


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report. BENCH_START_ENTRIES makes a smaller ledger."""
    with floor(1, f"[web]\nport = {free_port()}\n\n") as folder:
        source = folder / "notices.jsonl"
        with source.open("w") as file:
            for number in range(1, ENTRIES + 1):
                file.write(
                    f'{{"v":1,"device":"hub-001","boot":"b1","seq":{number},"type":"lock","round":{number},'
                    '"wagers":[{"seat":1,"spot":"progressive","cents":500}]}\n')
        with source.open("rb") as lines:
            apply(load(folder / "floor.toml")[0], str(folder / "ledger.db"), lines, at=None, clock=clock, out=None)
        took = median(lambda: _ready(folder))
    return [(f"start on {ENTRIES:,} entries", f"{took:.2f} s to READY", "", "< 3 s")]


def _ready(folder: Path) -> float:
    """Seconds from the process's start to READY=1."""
    address = folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as box:
        box.bind(str(address))
        box.settimeout(60)
        began = time.perf_counter()
        daemon = subprocess.Popen(
            [sys.executable, "-m", "controller", "--config", str(folder / "floor.toml")],
            env=os.environ | {"NOTIFY_SOCKET": str(address)}, stderr=subprocess.DEVNULL)
        try:
            while b"READY=1" not in box.recv(4096):
                pass
            return time.perf_counter() - began
        finally:
            daemon.terminate()
            daemon.wait(timeout=10)
            address.unlink()
