"""``make demo`` as people run it: addresses, Ctrl-C, and a second time on the same ledger (issue 2)."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest
from floor_files import ROOT

HEARS = ("env", "--default-signal=INT")
"""A terminal's program hears Ctrl-C; one begun by a test in the background of a shell would not."""


class Demo:
    """One run of the demo in a folder, in a process group of its own, as a terminal gives it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._out = folder, folder / "out.txt"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [*HEARS, sys.executable, "-m", "controller.demo"], cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True, env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"})

    @property
    def said(self) -> str:
        """Everything on its terminal."""
        return self._out.read_text()

    def until(self, words: str, seconds: float = 40) -> None:
        """Wait until it says something."""
        ends = time.monotonic() + seconds
        while words not in self.said:
            assert time.monotonic() < ends and self.process.poll() is None, self.said
            time.sleep(0.05)

    def end(self, *, group: bool) -> tuple[int, float]:
        """Ctrl-C, to the whole group as a terminal sends it or to the program alone; exit code and seconds."""
        began = time.monotonic()
        (os.killpg if group else os.kill)(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return self.process.returncode, time.monotonic() - began

    def left(self) -> list[str]:
        """Processes that still work in the folder."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != self.process.pid:
                words = _words(process)
                if str(self.folder) in words or ("var/demo" in words and _works_in(process, self.folder)):
                    found.append(words)
        return found


def _words(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return (process / "cwd").readlink() == folder
    except OSError:
        return False


def meterctl(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "controller.cli", *words], cwd=folder, capture_output=True, text=True, timeout=60,
        check=False, env=os.environ | {"PYTHONPATH": str(ROOT)})


@pytest.mark.timeout(180)
def test_the_demo_runs_ends_on_ctrl_c_and_goes_on_from_its_ledger(tmp_path: Path) -> None:
    """Twice: with Ctrl-C as a terminal sends it, and with SIGINT to the program alone."""
    entries = []
    for turn, greeting in enumerate(("A new ledger was made.", "Going on from the ledger of last time.")):
        since = datetime.now(UTC).isoformat()
        demo = Demo(tmp_path)
        demo.until("Ctrl-C ends it")
        assert greeting in demo.said
        pages = _pages(demo)
        _until_all_play(pages, since)
        code, took = demo.end(group=turn == 0)
        assert (code, took < 5, demo.left()) == (0, True, []), demo.said
        assert "line lost" not in demo.said and "Traceback" not in demo.said, demo.said
        assert " off, " not in (tmp_path / "var/demo/meterd.log").read_text()
        verified = meterctl(tmp_path, "verify", "--replay", "--ledger", "var/demo/ledger.db")
        assert verified.returncode == 0, verified.stderr
        entries.append(int(re.findall(r"([\d,]+) entries", verified.stdout)[0].replace(",", "")))
    assert 8 < entries[0] < entries[1]


def _pages(demo: Demo) -> str:
    found = re.search(r"floor page +(http://127\.0\.0\.1:\d+)/", demo.said)
    assert found is not None, demo.said
    for path in ("/sign/PG-01", "/metrics", "/api/v1/meters"):
        with urllib.request.urlopen(found[1] + path, timeout=5) as answer:
            assert answer.status == 200
    return found[1]


def _until_all_play(pages: str, since: str) -> None:
    """Two tables on serial lines and one on MQTT, each with a game of this run."""
    ends = time.monotonic() + 40
    while True:
        with urllib.request.urlopen(f"{pages}/api/v1/tables", timeout=5) as answer:
            tables = json.load(answer)
        played = [table["line"]["line"] for table in tables if any(game["at"] > since for game in table["games"])]
        if len(played) == 3:
            assert sorted(name.split("/")[0].split("-")[0] for name in played) == ["mqtt", "serial", "serial"]
            return
        assert time.monotonic() < ends, tables
        time.sleep(0.1)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("after_s", [0.3, 1.5])
def test_ctrl_c_while_the_demo_starts_leaves_nothing_behind(tmp_path: Path, after_s: float) -> None:
    demo = Demo(tmp_path)
    time.sleep(after_s)
    demo.end(group=True)
    ends = time.monotonic() + 3
    while demo.left() and time.monotonic() < ends:
        time.sleep(0.05)
    assert demo.left() == []
