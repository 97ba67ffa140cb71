"""Floors in files, for tests of the configuration: copies of the contract's floor, and floors on example paytables."""

import re
import shutil
from pathlib import Path

import pytest

from controller.config import ConfigError, load
from controller.plan import FloorPlan
from controller.wiring import Wiring

ROOT = Path(__file__).parent.parent
CONTRACT = ROOT / "tests" / "contract"
EXAMPLES = ROOT / "config" / "paytables" / "examples"

FLOOR = "floor.toml"
SHEET_1 = "paytables/progressive-1.toml"
SHEET_4 = "paytables/progressive-4.toml"
MARK = "hunter2-marker"


class Copy:
    """A floor in a folder of its own, to be changed and loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def change(self, file: str, old: str, new: str) -> "Copy":
        """Replaces the first place where ``old`` stands; it must stand somewhere."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return self

    def add(self, text: str, file: str = FLOOR) -> "Copy":
        """Appends lines."""
        with (self.folder / file).open("a", encoding="utf-8") as out:
            out.write("\n" + text + "\n")
        return self

    def load(self) -> tuple[FloorPlan, Wiring]:
        return load(self.folder / FLOOR)

    def plan(self) -> FloorPlan:
        return self.load()[0]

    def wiring(self) -> Wiring:
        return self.load()[1]

    def refused(self) -> str:
        """What the refusal says."""
        with pytest.raises(ConfigError) as caught:
            self.load()
        return str(caught.value)


def contract_floor(folder: Path) -> Copy:
    """The contract's floor: two linked tables on paytable 4, one on paytable 1."""
    shutil.copy(CONTRACT / FLOOR, folder / FLOOR)
    shutil.copytree(CONTRACT / "paytables", folder / "paytables")
    return Copy(folder)


def example_floor(folder: Path, name: str, table: str = "", meters: str = 'main = "m"') -> Copy:
    """A floor of one table with one spot on an example paytable, and the meters that the spot names."""
    site = (CONTRACT / FLOOR).read_text(encoding="utf-8").split("[ledger]")[0]
    policies = (
        'tie_policy = "split"\norder = "pay-order"\nbelow_seed = "allow"\nreserve_surplus = "keep"\nrounding = "up"\n'
        'limit = "none"\noverflow = "keep"\nunreasonable_contribution = "$100.00"\n'
    )
    plans = (
        f'[[meter]]\nid = "{meter}"\npaytable = "{name}"\npart = "{part}"\n{policies}\n'
        for part, meter in re.findall(r'(\w+) = "([\w-]+)"', meters)
    )
    tables = (
        f'[[table]]\nid = "T"\ndevice = "hub"\nseats = 2\npay_order = [1, 2]\n{table}\n'
        f'[[table.spot]]\nid = "s"\npaytable = "{name}"\nmeters = {{ {meters} }}\n'
    )
    (folder / FLOOR).write_text(site + "".join(plans) + tables, encoding="utf-8")
    shutil.copytree(EXAMPLES, folder / "paytables")
    return Copy(folder)
