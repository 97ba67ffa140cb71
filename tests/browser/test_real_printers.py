"""A real meterd with a printer that prints and one that nobody reads: wagers, pages and the end wait for neither."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_real_floor
from playwright.sync_api import Browser, expect
from printer_house import Paper
from test_real_floor import Floorhouse, signed_in
from test_slip_escpos import printed_text

from controller.demo import SECRET, floor_text
from controller.ledger.verify import verify
from tests.ledger_house import rows

ROOT = Path(__file__).parents[2]


class PrintHouse(Floorhouse):
    """The demo's floor with ``pit`` (a pseudo-terminal) and ``cage`` (a FIFO that nobody reads)."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = Paper()
        os.mkfifo(folder / "cage")
        printers = (f'\n[[printer]]\nid = "pit"\nname = "Pit 1"\npath = "{self.out.path}"\nbaud = 9600\n'
                    '\n[[printer]]\nid = "cage"\nname = "Cage"\npath = "cage"\n')
        monkeypatch.setattr(test_real_floor, "floor_text", lambda *given: floor_text(*given) + printers)
        super().__init__(folder)

    def meterctl(self, *given: str) -> subprocess.CompletedProcess[str]:
        """A command of its own, as anna."""
        return subprocess.run(
            [sys.executable, "-m", "controller.cli", *given], cwd=ROOT, input=f"{SECRET}\n", capture_output=True,
            text=True, timeout=60, check=False)

    def act(self, printer: str) -> subprocess.CompletedProcess[str]:
        """Print seat 4's slip of game 2."""
        return self.meterctl("act", "--url", self.at(""), "--as", "anna", "--secret-stdin", "slip-printed",
                             "table=PG-01", "game=2", "seat=4", "spot=progressive", f"printer={printer}")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrintHouse]:
    made = PrintHouse(tmp_path, monkeypatch)
    yield made
    if made.process.poll() is None:
        made.end()
    made.out.end()


def test_slips_come_out_by_button_and_by_command_and_the_ledger_tells_each(
    chromium: Browser, house: PrintHouse
) -> None:
    anna = signed_in(chromium, house, "anna")
    anna.goto(house.at("/awards/PG-01/2"))
    anna.get_by_role("button", name="Print at Pit 1").click()
    expect(anna.locator("p.flash")).to_contain_text("is printed at Pit 1")
    failed, printed = house.act("cage"), house.act("pit")
    assert (failed.returncode, "Not printed: slip 1 at Cage" in failed.stdout) == (1, True), failed
    assert (printed.returncode, "It says REPRINT 2." in printed.stdout) == (0, True), printed
    again = house.meterctl("slip", "--config", str(house.config), "--table", "PG-01", "--game", "2", "--seat", "4",
                           "--printer", "pit", "--url", house.at(""), "--as", "anna", "--secret-stdin")
    assert again.returncode == 0, again
    texts = [printed_text(slip) for slip in house.out.slips(3)]
    assert ["REPRINT" in text for text in texts] == [False, True, True]
    assert [kind for (kind,) in rows(house.ledger, "SELECT kind FROM entry WHERE kind IN (?, ?, ?) ORDER BY number",
                                     "slip-printed", "printed", "print-failed")] == [
        "slip-printed", "printed", "slip-printed", "print-failed", "slip-printed", "printed"]
    told = urllib.request.urlopen(house.at("/metrics"), timeout=10).read().decode()
    assert 'meterd_slips_total{printer="pit",result="printed"} 2.0' in told
    assert 'meterd_slips_total{printer="cage",result="failed"} 1.0' in told
    began = time.monotonic()
    house.end()
    assert time.monotonic() - began < 10
    assert house.process.returncode == 0
    assert verify(house.ledger, replay=True)
