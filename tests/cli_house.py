"""A meterd that speaks TLS on a floor of its own, people with secrets, and ``meterctl`` asking it as people call it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result
from floor_files import FLOOR, ROOT, contract_floor
from ledger_house import entered, rows

from controller.cli import main
from controller.config import load
from controller.demo import STAFF, free_port
from controller.floor import Floor
from controller.ledger.writer import Batch, create
from controller.people_on_box import Newcomer, begin

SECRET = "correct horse battery"
BEFORE = time.time_ns() // 1_000 - 60 * 1_000_000
"""A minute ago: what was played and who was made before meterd started."""
BEGAN = BEFORE - 2 * 24 * 3_600 * 1_000_000


def certificate(folder: Path, name: str = "page", *more: str) -> Path:
    """A self-signed certificate for 127.0.0.1 and its key, ``name.pem`` and ``name.key``."""
    made = folder / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
         "-subj", "/CN=meterd.casino.example", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
         made.with_suffix(".key"), "-out", made, *more], check=True, capture_output=True)
    return made


class CliHouse:
    """The contract's floor with ``more`` in its file, in a ledger that began two days ago.

    ``play`` makes entries before meterd starts.
    """

    def __init__(self, folder: Path, more: str = "", play: Callable[[Floor], object] | None = None) -> None:
        self.folder, self.port = folder, free_port()
        self.config, self.ledger, self.cert = folder / FLOOR, folder / "ledger.db", certificate(folder)
        contract_floor(folder).add(more + f'\n[web]\nport = {self.port}\ntls_cert = "page.pem"\ntls_key = "page.key"\n')
        plan, _ = load(self.config)
        create(self.ledger, [Batch(book, *Floor.opened(plan, book, BEGAN).drain()) for book in plan.books])
        begin(self.ledger, "a test", [Newcomer(person, name, SECRET) for person, name in STAFF], BEFORE)
        if play is not None:
            entered(self.ledger, play)
        self._log = (folder / "meterd.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "controller", "--config", str(self.config)], cwd=ROOT, stderr=self._log,
            env=os.environ | {"PYTHONPATH": str(ROOT)})
        self.until(self._listens, 30)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            assert self._process.poll() is None, self.log()
            return False
        return True

    def until(self, true: Callable[[], Any], seconds: float = 10) -> Any:
        """Wait until something is so, and return it."""
        ends = time.monotonic() + seconds
        while not (found := true()):
            assert time.monotonic() < ends, self.log()
            time.sleep(0.1)
        return found

    def log(self) -> str:
        return (self.folder / "meterd.log").read_text(errors="replace")

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(15)
        self._log.close()

    # ------------------------------------------------------------------ meterctl

    def bare(self, *words: object, said: str = "") -> Result:
        """``meterctl`` with these words and nothing else."""
        return CliRunner().invoke(main, [str(word) for word in words], input=said)

    def asks(self, command: str, who: str, *words: object, secrets: str = "") -> Result:
        """A command that somebody signs; the second and third of ``--second``, ``--third`` have the same secret."""
        said = secrets or "\n".join([SECRET] * (1 + words.count("--second") + words.count("--third"))) + "\n"
        options = ("--config", self.config, "--as", who, "--secret-stdin")
        return self.bare(*command.split(), *options, *words, said=said)

    def told(self, command: str, who: str, *words: object) -> Any:
        """What a command tells as JSON."""
        made = self.asks(command, who, *words, "--json")
        assert made.exit_code == 0, f"{command} {words}: {made.output}"
        return json.loads(made.stdout)

    def entries(self, kind: str) -> int:
        """How many entries of a kind the ledger has."""
        return int(rows(self.ledger, "SELECT count(*) FROM entry WHERE kind = ?", kind)[0][0])


def commands(group: click.Group = main, before: str = "") -> list[str]:
    """Every command by its words, those of groups too."""
    found = []
    for name, command in group.commands.items():
        found += commands(command, f"{before}{name} ") if isinstance(command, click.Group) else [before + name]
    return found
