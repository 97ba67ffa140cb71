"""The 80 mm print of a slip: 48 columns, safe bytes, and a printer that may not listen."""

import fcntl
import os
import pty
import re
import termios
import time
import tty
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.people import Person, Role
from controller.slip import Override, SlipState, Step
from controller.slip_escpos import NotPrinted, escpos, send, strip
from controller.wiring import COLUMNS
from tests.slip_house import WON, slip

SHORT_S = 0.1
COMMANDS = re.compile(rb"\x1b@|\x1bt\x00|\x1bE[\x00\x01]|\x1d![\x00\x01]|\x1dVB\x60")
GOLDEN = """\
            TRAINING: NO REAL MONEY
                  Demo Casino
            JACKPOT SLIP demo-000042
------------------------------------------------
Slip                                 demo-000042
Won                      2026-11-01 21:10:44 EST
Table                                      PG-01
Game                                          41
Seat                              2, progressive
Hand                   Royal flush + royal match
Paytable
  Progressive, paytable 4 (58 Pa. Code sec.
  688a.12(d), Paytable 4)
Wager                                      $5.00
Player                                Jose Nunez
------------------------------------------------
Face Up Pai Gow Link (pg-link)
Meter before                          $10,000.28
20% of it                             $2,000.056
Rounding
  up to the whole cent, in the player's favour
From the meter                         $2,000.06
Seed of the meter                     $10,000.00
Meter after                            $8,000.22
Next-jackpot money before                  $0.35
Next-jackpot money after                   $0.35
------------------------------------------------
Award
Share of Face Up Pai Gow Link          $2,000.06
Fixed part                             $5,000.00
Wager returned                             $5.00
PAID                                   $7,005.06
------------------------------------------------
Envy, paid by the house to other seats
Seat 1, paid in chips                    $750.00
Seat 4                                   $750.00
Envy in all, not in the award          $1,500.00
------------------------------------------------
Evidence: lit at lock-out of game 41
progressive, $5.00                  seat 1, 2, 4
------------------------------------------------
Payment
Paid in                                    chips
------------------------------------------------
Who and when
Verified, 2026-11-01 21:14:05 EST
  anna (supervisor, table-games)
Released, 2026-11-01 21:16:30 EST
  ben (shift-manager, table-games)
Paid, 2026-11-01 21:19:58 EST
  anna (supervisor, table-games)
------------------------------------------------
Signatures: PAID $7,005.06


________________________________________________
Verified: anna (supervisor, table-games)


________________________________________________
Released: ben (shift-manager, table-games)


________________________________________________
Paid: anna (supervisor, table-games)


________________________________________________
Player: Jose Nunez
------------------------------------------------
Code                   12-3F40-4142-4344-4546-26
Ledger entry                       12, book main
Printed                  2026-11-01 21:20:00 EST

            TRAINING: NO REAL MONEY
"""


def printed_text(printed: bytes) -> str:
    """What stands on the paper: the print without the printer's commands."""
    return COMMANDS.sub(b"", printed).decode("ascii")


def test_the_award_of_paytable_4_prints_like_this() -> None:
    """$5,000 and 20% of the meter, a returned wager, two envy payments (MO-10)."""
    assert printed_text(escpos(WON)) == GOLDEN


def test_the_printer_is_set_up_first_and_the_paper_cut_last() -> None:
    """Whatever was printed before leaves no trace in this slip."""
    printed = escpos(WON)
    assert (printed[:5], printed[-4:]) == (b"\x1b@\x1bt\x00", b"\x1dVB\x60")


def test_a_refused_reprint_says_so_at_both_ends() -> None:
    """A strip of paper can be torn at either end (R-58)."""
    said = printed_text(escpos(slip(state=SlipState.REFUSED, reprint=2, reason="exposed card"))).splitlines()
    assert [line.strip() for line in said[:3]] == [line.strip() for line in said[-3:]] == [
        "TRAINING: NO REAL MONEY", "REFUSED", "REPRINT 2"]


@given(st.text(max_size=400), st.text(max_size=400), st.text(max_size=64))
@settings(deadline=None)
def test_no_line_is_wider_than_the_paper(player: str, reason: str, name: str) -> None:
    """Any names, any script."""
    person = Person(name, Role.SHIFT_MANAGER, name)
    made = slip(player=player, site=name, site_name=reason, hand=name, override=Override(1, reason, person),
                steps=(Step(name, person, player),))
    assert max(len(line.text) for line in strip(made)) <= COLUMNS


@given(st.text(max_size=400))
def test_no_name_is_a_command_to_the_printer(name: str) -> None:
    """What remains beside our own commands is printable ASCII and line ends (WE-01, DI-03)."""
    assert re.fullmatch(r"[ -~\n]*", printed_text(escpos(slip(player=name, site_name=name))))


@pytest.mark.parametrize("name", ["\x1b@", "\x1dV\x00", "\x10\x04\x01", "\x9bm"])
def test_a_command_in_a_name_is_printed_as_its_numbers(name: str) -> None:
    """The escape sign itself is shown, and does nothing."""
    assert f"[U+{ord(name[0]):04X}]" in printed_text(escpos(slip(player=name)))


def test_a_file_takes_one_slip_after_the_other(tmp_path: Path) -> None:
    """A file stands for a printer; it is made when its folder is there."""
    path = tmp_path / "slips.prn"
    send(path, b"one", time.monotonic)
    send(path, b"two", time.monotonic)
    assert path.read_bytes() == b"onetwo"


def test_a_device_takes_every_byte_of_a_slip() -> None:
    """A real terminal line stands for the printer."""
    ours, theirs = pty.openpty()
    try:
        tty.setraw(theirs)
        send(Path(os.ttyname(theirs)), escpos(WON), time.monotonic)
        assert _all_of(ours, len(escpos(WON))) == escpos(WON)
    finally:
        os.close(ours)
        os.close(theirs)


def _all_of(handle: int, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += os.read(handle, size)
    return found


def test_a_device_that_takes_nothing_more_is_reported_in_time() -> None:
    """A printer without paper does not stop the house; the message says what to do with the part that came out."""
    ours, theirs = pty.openpty()
    try:
        tty.setraw(theirs)
        began = time.monotonic()
        with pytest.raises(NotPrinted, match=r"takes nothing more after 0\.1 s, .*destroy the part"):
            send(Path(os.ttyname(theirs)), b"x" * 1_000_000, time.monotonic, SHORT_S)
        assert time.monotonic() - began < 5
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_slow_printer_has_no_more_than_the_whole_time(tmp_path: Path) -> None:
    """Taking a little now and then does not make the wait longer."""
    ticks = iter(range(1000))
    with pytest.raises(NotPrinted, match="512 of 1000 bytes"):
        send(tmp_path / "slips.prn", b"x" * 1000, lambda: next(ticks), 1.0)


def test_a_pipe_that_nobody_reads_is_reported_at_once(tmp_path: Path) -> None:
    """Opening does not wait for a reader."""
    os.mkfifo(tmp_path / "printer")
    with pytest.raises(NotPrinted, match="nothing was printed"):
        send(tmp_path / "printer", b"slip", time.monotonic)


def test_a_pipe_whose_reader_stands_still_is_reported_in_time(tmp_path: Path) -> None:
    """A full pipe."""
    os.mkfifo(tmp_path / "printer")
    reader = os.open(tmp_path / "printer", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(NotPrinted, match="of 1000000 bytes were taken"):
            send(tmp_path / "printer", b"x" * 1_000_000, time.monotonic, SHORT_S)
    finally:
        os.close(reader)


def test_a_missing_printer_never_becomes_a_file_among_the_devices() -> None:
    """An unplugged printer would swallow slips for ever."""
    path = Path("/dev/no-such-printer-here")
    with pytest.raises(NotPrinted, match="nothing was printed"):
        send(path, b"slip", time.monotonic)
    assert not path.exists()


def test_a_name_that_leads_to_a_missing_printer_makes_no_file(tmp_path: Path) -> None:
    """A stable name is a link to the device while it is plugged in."""
    (tmp_path / "receipt").symlink_to(tmp_path / "lp0")
    with pytest.raises(NotPrinted, match="nothing was printed"):
        send(tmp_path / "receipt", b"slip", time.monotonic)
    assert not (tmp_path / "lp0").exists()


@pytest.mark.parametrize("name", ["", "no-folder/slips.prn"])
def test_what_cannot_be_written_to_is_reported(tmp_path: Path, name: str) -> None:
    """A folder, or one that is not there."""
    with pytest.raises(NotPrinted, match="nothing was printed"):
        send(tmp_path / name, b"slip", time.monotonic)


def test_a_full_disk_is_reported() -> None:
    """The device that is always full."""
    with pytest.raises(NotPrinted, match="No space left"):
        send(Path("/dev/full"), b"slip", time.monotonic)


@pytest.mark.parametrize("columns", [32, 42, 64])
def test_a_narrower_or_wider_printer_gets_lines_of_its_own_width(columns: int) -> None:
    """Some printers have 42 signs on 80 mm paper."""
    made = strip(WON, columns)
    assert max(len(line.text) for line in made) == columns
    assert "PAID" + "$7,005.06".rjust(columns - 4) in [line.text for line in made]


def test_two_programs_never_mix_their_slips(tmp_path: Path) -> None:
    """The daemon and `meterctl slip` may both print there."""
    path = tmp_path / "slips.prn"
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(NotPrinted, match="another program is printing there; nothing was printed"):
            send(path, b"slip", time.monotonic, SHORT_S)
    send(path, b"slip", time.monotonic, SHORT_S)
    assert path.read_bytes() == b"slip"


def test_a_serial_printer_is_set_to_its_speed_and_takes_bytes_as_they_are() -> None:
    """A port that nobody has set up would turn line ends round and echo what the printer says."""
    ours, theirs = pty.openpty()
    try:
        send(Path(os.ttyname(theirs)), b"one\ntwo\n", time.monotonic, baud=19_200)
        assert _all_of(ours, 8) == b"one\ntwo\n"
        settings = termios.tcgetattr(theirs)
        assert settings[4:6] == [termios.B19200, termios.B19200]
        assert (settings[0] & termios.IXON, settings[3] & termios.ECHO) == (termios.IXON, 0)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_file_has_no_speed_to_be_set_to(tmp_path: Path) -> None:
    """A floor may be tried with a file before the printer is there."""
    send(tmp_path / "slips.prn", b"slip", time.monotonic, baud=9600)
    assert (tmp_path / "slips.prn").read_bytes() == b"slip"
