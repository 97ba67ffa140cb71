"""A floor that runs: meterd as a real process beside real ptys, a real Mosquitto and a real ledger, all on loopback."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from floor_files import FLOOR, ROOT, contract_floor

from controller.config import load
from controller.demo import make_ledger

READY_S = 30.0


async def until(true: Callable[[], Any], seconds: float = 10.0, why: str = "") -> None:
    """Wait for a condition; the test fails when it does not come."""
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, f"did not come within {seconds} s: {why or true}"
        await asyncio.sleep(0.01)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Broker:
    """A private Mosquitto; it keeps sessions and retained messages over a restart, in ``mosquitto.db``."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.port, self.folder = free_port(), folder
        self._file = folder / "mosquitto.conf"
        user = "user root\n" if os.geteuid() == 0 else ""
        kept = f"persistence true\npersistence_location {folder}/\n"
        self._file.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n{user}{kept}{more}\n")
        self._process: subprocess.Popen[bytes] | None = None

    async def begin(self) -> None:
        """Start, and wait until it listens."""
        self._spawn()
        await until(self._listens)

    def _spawn(self) -> None:
        self._process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", self._file], stderr=subprocess.DEVNULL)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def freeze(self) -> None:
        """It answers nobody, and closes nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Stop it."""
        self.thaw()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    close = end


class RunningFloor:
    """The contract's floor in a folder, and one meterd on it after the other."""

    def __init__(
        self, folder: Path, *, serial: Sequence[str] = ("hub-01",), broker: Broker | None = None, more: str = ""
    ) -> None:
        self.folder, self.broker, self.pages = folder, broker, free_port()
        self.ledger, self.log_file = folder / "ledger.db", folder / "meterd.log"
        self._process: subprocess.Popen[bytes] | None = None
        copy = contract_floor(folder)
        copy.add(f"[web]\nport = {self.pages}")
        if broker is not None:
            copy.add(f'[mqtt]\nhost = "127.0.0.1"\nport = {broker.port}')
        for device in serial:
            copy.add(f'[[line]]\nid = "serial-{device[-2:]}"\ndevice = "{device}"\nport = "{self.port_of(device)}"')
        copy.add(more)
        self.config = folder / FLOOR
        self._listen()

    def _listen(self) -> None:
        self._told: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        (self.folder / "notify").unlink(missing_ok=True)
        self._socket.bind(str(self.folder / "notify"))
        self._socket.setblocking(False)

    def port_of(self, device: str) -> Path:
        """Where a device's line ends: a link to a pty."""
        return self.folder / device

    def make_ledger(self) -> None:
        """As ``meterctl init`` makes it."""
        plan, wiring = load(self.config)
        make_ledger(plan, wiring.ledger_url)

    def told(self) -> list[str]:
        """Everything that the service manager was told so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._told += self._socket.recv(65_536).decode().split("\n")
        return self._told

    def spawn(self) -> "subprocess.Popen[bytes]":
        """Start meterd; does not wait."""
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "controller", "--config", str(self.config)], stderr=out, cwd=ROOT,
                env=os.environ | {"NOTIFY_SOCKET": str(self.folder / "notify")})
        return self._process

    async def start(self) -> None:
        """Start meterd, and wait until it says READY."""
        self.told()
        self._told = []
        process = self.spawn()
        await until(
            lambda: "READY=1" in self.told() or process.poll() is not None, READY_S, "READY")
        assert process.poll() is None, self.log()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """The meterd that runs, or ran last."""
        assert self._process is not None
        return self._process

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to meterd."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """As when the power of the box is cut, as far as the process can tell."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()

    async def stop(self) -> tuple[int, float]:
        """SIGTERM; the exit code, and the seconds it took."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        await until(lambda: self.process.poll() is not None, 15, "the end of meterd")
        return self.process.returncode, time.monotonic() - began

    def end(self) -> None:
        """Leave nothing behind."""
        self.kill()
        self._socket.close()

    def log(self) -> str:
        """What all meterds have logged."""
        return self.log_file.read_text(errors="replace")

    # ------------------------------------------------------------------ looking

    async def ask(self, path: str) -> Any:
        """A JSON answer of the pages; whatever its status."""
        return json.loads(await self.read(path))

    async def read(self, path: str) -> bytes:
        """The body of an answer of the pages."""
        return await asyncio.to_thread(self._read, path)

    def _read(self, path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.pages}/{path}", timeout=5) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as refused:
            return refused.read()

    async def table(self, table: str = "PG-01") -> Any:
        """A table as the API tells it."""
        return await self.ask(f"api/v1/tables/{table}")

    async def notes(self) -> list[Any]:
        """What people are told, newest first."""
        return list((await self.ask("api/v1/status"))["notes"])

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the ledger, read beside the daemon."""
        with contextlib.closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as found:
            return found.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def writing_held_up(self) -> Iterator[None]:
        """As a disk that takes its time: a commit of meterd waits until this is over."""
        with contextlib.closing(sqlite3.connect(self.ledger, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    def kinds(self, *kinds: str) -> list[dict[str, Any]]:
        """The bodies of all entries of some kinds, in order."""
        marks = ",".join("?" * len(kinds))
        return [json.loads(body) for body, in self.rows(
            f"SELECT body FROM entry WHERE kind IN ({marks}) ORDER BY number", *kinds)]

    def display(self, meter: str = "pg-link") -> int:
        """A meter's durable display in microcents."""
        found = self.rows("SELECT balance FROM posting WHERE meter = ? AND account = 'display' "
                          "ORDER BY entry DESC, line DESC LIMIT 1", meter)
        return int(found[0][0])

    def meterctl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line."""
        return subprocess.run(
            [sys.executable, "-m", "controller.cli", *words], cwd=ROOT, capture_output=True, text=True, timeout=120,
            check=False)

    def verified(self) -> str:
        """What ``verify --replay`` says; the test fails unless it is good."""
        done = self.meterctl("verify", "--replay", "--ledger", str(self.ledger))
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextlib.contextmanager
def running(folder: Path, **wiring: Any) -> Iterator[RunningFloor]:
    """A floor with its ledger made; ended with the test."""
    floor = RunningFloor(folder, **wiring)
    floor.make_ledger()
    try:
        yield floor
    finally:
        floor.end()
