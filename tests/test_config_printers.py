"""The slip printers of a configuration: what is read, what is refused, and what ``check`` says of them."""

from pathlib import Path

import pytest
from floor_files import FLOOR, Copy, contract_floor

from controller.describe import describe
from controller.wiring import PrinterPlan

PRINTER = '[[printer]]\nid = "pit"\npath = "/dev/usb/lp0"\n'
LINE = '[[line]]\nid = "l1"\ndevice = "hub-01"\nport = "/dev/a"\n'


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


def test_a_floor_without_printers_has_none(floor: Copy) -> None:
    assert floor.wiring().printers == ()


def test_a_printer_serves_every_table_on_80_mm_paper_unless_configured(floor: Copy) -> None:
    (found,) = floor.add(PRINTER).wiring().printers
    assert found == PrinterPlan("pit", "pit", Path("/dev/usb/lp0"), 48, (), None)
    assert found.serves("PG-01")


def test_every_key_of_a_printer_is_read(floor: Copy) -> None:
    floor.add('[[printer]]\nid = "pit"\nname = "Pit 1"\npath = "slips.prn"\ncolumns = 42\n'
              'tables = ["PG-02"]\nbaud = 9600')  # fmt: skip
    (found,) = floor.wiring().printers
    assert found == PrinterPlan("pit", "Pit 1", floor.folder / "slips.prn", 42, ("PG-02",), 9600)
    assert (found.serves("PG-01"), found.serves("PG-02")) == (False, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[printer]]\nid = "pit"', '[[printer]] "pit" path: missing'),
        ('[[printer]]\npath = "/dev/usb/lp0"', "[[printer]] number 1 id: missing"),
        (PRINTER + PRINTER.replace("lp0", "lp1"), '"pit" id: stands twice'),
        (PRINTER + PRINTER.replace("pit", "two"), '"two" path: "/dev/usb/lp0" is also that of [[printer]] "pit"'),
        (LINE + PRINTER.replace("/dev/usb/lp0", "/dev/a"), '"pit" path: "/dev/a" is also that of [[line]] "l1"'),
        (PRINTER.replace("/dev/usb/lp0", "tcp://192.0.2.1:9100"), '"pit" path: no device and no file'),
        (PRINTER.replace("/dev/usb/lp0", "ledger.db"), '"pit" path: a file of the ledger'),
        (PRINTER.replace("/dev/usb/lp0", "ledger.db-wal"), '"pit" path: a file of the ledger'),
        (PRINTER.replace("/dev/usb/lp0", "./people.db"), '"pit" path: a file of the ledger'),
        (PRINTER + "columns = 20", '"pit" columns: 20 is not allowed'),
        (PRINTER + "baud = 9601", '"pit" baud: 9601 is not a speed'),
        (PRINTER + 'baud = "9600"', '"pit" baud: "9600" is not allowed'),
        (PRINTER + 'tables = ["PG-09"]', '"pit" tables: there is no table "PG-09"'),
        (PRINTER + "tables = []", '"pit" tables: not a list of tables'),
        (PRINTER + 'tables = ["PG-01", "PG-01"]', '"pit" tables: a table stands twice'),
        (PRINTER + 'pth = "x"', '"pit" pth: unknown key; did you mean "path"?'),
    ],
)
def test_a_printer_that_cannot_work_is_refused(floor: Copy, text: str, said: str) -> None:
    assert said in floor.add(text).refused()


def test_a_printer_does_not_change_the_hash(floor: Copy) -> None:
    before = floor.plan().hash
    assert floor.add(PRINTER).plan().hash == before


def test_the_check_of_a_file_names_each_printer_and_what_it_serves(floor: Copy) -> None:
    plan, wiring = floor.add(PRINTER + 'tables = ["PG-02"]\n').load()
    words = " ".join(describe(plan, wiring).split())
    assert "pit: printer pit at /dev/usb/lp0, 48 columns; slips of PG-02." in words


def test_a_ledger_elsewhere_is_no_printer_either(floor: Copy) -> None:
    floor.change(FLOOR, "sqlite:///ledger.db", "sqlite:////var/lib/meterd/book.db")
    said = floor.add(PRINTER.replace("/dev/usb/lp0", "/var/lib/meterd/book.db")).refused()
    assert '"pit" path: a file of the ledger' in said
