"""``meterctl apply``: the contract's day, restarts between any two lines, gaming days, ledgers it does not touch."""

import io
import json
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.apply import apply, lines
from controller.cli import main
from controller.floor import Floor
from controller.ledger.place import HeldLedger, LedgerError
from controller.ledger.reader import Reader, tell
from controller.ledger.writer import Batch, Writer
from controller.meter import BrokenInvariant
from firmware_bridge.messages import MESSAGE_BYTES_MAX, Lock, decode_json
from tests.ledger_house import (
    AT,
    DAY,
    DAY_EXPECTED,
    FLOOR,
    METERCTL,
    Json,
    applied,
    bad_entry,
    bare,
    contract_plan,
    entered,
    lock,
    meterctl,
    opened,
    rows,
    said,
)


def test_the_contracts_day_gets_the_contracts_answers_from_the_command_line(tmp_path: Path) -> None:
    """Contract README: entry and game apart, in order, exit 0."""
    ran = meterctl("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", FLOOR.parent / "day.jsonl")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert bare(json.loads(line) for line in ran.stdout.splitlines()) == DAY_EXPECTED


def test_the_day_from_standard_input_gets_the_same_answers(tmp_path: Path) -> None:
    """Design section 7: `-`."""
    ran = meterctl("apply", "--config", FLOOR, "--ledger", f"sqlite:///{tmp_path}/l.db", "-", feed=b"".join(DAY))
    assert bare(json.loads(line) for line in ran.stdout.splitlines()) == DAY_EXPECTED


def test_quiet_prints_one_summary_of_the_day(tmp_path: Path) -> None:
    """Design section 7: counts of results, what is still held, the last entry, all meters."""
    ran = meterctl("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", "--quiet", FLOOR.parent / "day.jsonl")
    results = [answer["result"] for answer in DAY_EXPECTED]
    last: Json = {}
    for answer in DAY_EXPECTED:
        last |= answer.get("meters", {})
    wanted = {word: results.count(word) for word in ("posted", "duplicate", "held", "refused", "fault")}
    number = rows(tmp_path / "l.db", "SELECT max(number) FROM entry")[0][0]
    assert json.loads(ran.stdout) == wanted | {
        "messages": len(DAY), "held_left": 0, "entry": number, "meters": last}


@pytest.mark.parametrize("cut", range(1, len(DAY)))
def test_the_day_cut_in_two_runs_gets_the_same_answers(tmp_path: Path, cut: int) -> None:
    """A restart between any two lines changes nothing; the number of a line that is no message begins anew."""
    answers = applied(tmp_path / "l.db", DAY[:cut])[0] + applied(tmp_path / "l.db", DAY[cut:])[0]
    assert [without_line(answer) for answer in bare(answers)] == [without_line(answer) for answer in DAY_EXPECTED]


def without_line(answer: Json) -> Json:
    """An answer without the number of its line."""
    return {key: part for key, part in answer.items() if key != "line"}


def test_a_run_for_each_line_makes_the_entries_of_one_run(tmp_path: Path) -> None:
    """The same numbers, bodies and postings, and a ledger that replays."""
    applied(tmp_path / "one.db", DAY)
    for line in DAY:
        applied(tmp_path / "many.db", [line])
    for query in ("SELECT * FROM entry", "SELECT * FROM posting"):
        assert rows(tmp_path / "many.db", query) == rows(tmp_path / "one.db", query)
    assert bad_entry(tmp_path / "many.db", replay=True) == (0, "")


def test_the_whole_day_a_second_time_moves_no_money(tmp_path: Path) -> None:
    """I1: every message again is a duplicate, or what it was."""
    path = tmp_path / "l.db"
    first = applied(path, DAY)[1]["meters"]
    answers, summary = applied(path, DAY)
    assert (summary["meters"], summary["posted"], {answer["result"] for answer in answers}) == (
        first, 0, {"duplicate", "fault", "refused"})


def test_a_duplicate_of_a_refused_message_says_duplicate_and_remembers_why(tmp_path: Path) -> None:
    """Design section 4: on the wire it gets its first answer again, after a restart too."""
    path = tmp_path / "l.db"
    wrong = lock(1, 1, cents=400)
    applied(path, [wrong])
    reader = Reader(path)
    floor = reader.floor(contract_plan(), "main")
    message = decode_json(json.dumps(wrong).encode())
    assert isinstance(message, Lock)
    tell(floor, message, partial(reader.recall, "main"))
    taken = floor.take(message, AT)[0]
    assert (taken.result, taken.first) == ("duplicate", "wrong-wager")


def test_messages_of_long_ago_are_known_after_their_boot_has_left_memory(tmp_path: Path) -> None:
    """Design section 8: older than the digests, the ledger is asked; a fault is kept once (I1)."""
    path = tmp_path / "l.db"
    old = [lock(n, n) for n in range(1, 80)]
    starts = [said("notice", 1, boot=f"n{n}", kind="door-open") for n in range(12)]
    again = [lock(1, 1), lock(1, 7), lock(1, 7), lock(79, 79), lock(80, 80), starts[0], starts[11]]
    whole = applied(tmp_path / "one.db", [*old, *starts, *again])[0][-7:]
    applied(path, [*old, *starts])
    parted, _ = applied(path, again)
    assert [answer["result"] for answer in parted] == [
        "duplicate", "fault", "fault", "duplicate", "posted", "duplicate", "duplicate"]
    assert (bare(whole), rows(path, "SELECT count(*) FROM entry WHERE kind = 'fault'")) == (bare(parted), [(1,)])
    assert bad_entry(path, replay=True) == (0, "")


def test_a_held_message_about_a_boot_of_long_ago_is_answered_as_if_it_had_never_left(tmp_path: Path) -> None:
    """The floor is asked for the boot that a held message names when its turn comes, not only when it arrives."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, boot="old"), said("close", 2, boot="new", round=1, round_boot="old")])
    for number in range(12):
        applied(path, [said("notice", 1, boot=f"n{number}", kind="door-open")])
    answers, _ = applied(path, [said("notice", 1, boot="new", kind="door-open")])
    assert [answer["result"] for answer in answers] == ["posted", "posted"]
    assert bad_entry(path, replay=True) == (0, "")


def test_what_is_held_is_counted_over_restarts_and_many_boots(tmp_path: Path) -> None:
    """`held_left` is what the ledger holds, not what one run happened to read."""
    path = tmp_path / "l.db"
    held = [said("notice", 2, boot=f"n{n}", kind="door-open") for n in range(20)]
    assert (applied(path, held)[1]["held_left"], applied(path, [])[1]["held_left"]) == (20, 20)


DAYS = {
    # A gaming day of New York begins at 06:00; in 2026 the clocks change on 8 March and 1 November.
    "2026-03-07T10:59:59Z": False, "2026-03-07T11:00:00Z": True, "2026-03-08T09:59:59Z": True,
    "2026-03-08T10:00:00Z": False, "2026-10-31T09:59:59Z": False, "2026-10-31T10:00:00Z": True,
    "2026-11-01T10:59:59Z": True, "2026-11-01T11:00:00Z": False, "2026-11-01T05:30:00Z": True,
    "2026-11-01T06:30:00Z": True,
}
"""23 hours from 7 to 8 March, 25 from 31 October to 1 November; the doubled hour (01:30 twice) is in one day."""


@pytest.mark.parametrize("at", DAYS)
def test_a_paytable_is_valid_by_the_gaming_day_on_days_of_23_and_25_hours(tmp_path: Path, at: str) -> None:
    """SD-07: each wager in exactly one gaming day, by `--at`."""
    day = "2026-03-07" if at < "2026-06" else "2026-10-31"
    (tmp_path / "floor.toml").write_text(FLOOR.read_text())
    sheets = tmp_path / "paytables"
    sheets.mkdir()
    for sheet in (FLOOR.parent / "paytables").iterdir():
        dates = f'valid_from = "{day}"\nvalid_to = "{day}"\n' if sheet.stem == "progressive-4" else ""
        (sheets / sheet.name).write_text(dates + sheet.read_text())
    (tmp_path / "m.jsonl").write_text(json.dumps(lock(1, 1)))
    ran = CliRunner().invoke(main, ["apply", "--config", str(tmp_path / "floor.toml"), "--ledger",
                                    str(tmp_path / "l.db"), "--at", at, str(tmp_path / "m.jsonl")])
    answer = json.loads(ran.stdout)
    assert answer.get("reason", answer["result"]) == ("posted" if DAYS[at] else "paytable-not-valid")


def test_at_is_the_time_of_every_entry(tmp_path: Path) -> None:
    """Design section 7."""
    applied(tmp_path / "l.db", DAY, at=AT)
    assert rows(tmp_path / "l.db", "SELECT DISTINCT at FROM entry") == [(AT,)]


def test_a_ledger_made_by_init_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    """Design section 7: apply writes to no ledger it did not make."""
    path = opened(tmp_path / "l.db")
    before = path.read_bytes()
    ran = meterctl("apply", "--config", FLOOR, "--ledger", path, "-", feed=b"".join(DAY))
    assert (ran.returncode, ran.stdout, path.read_bytes()) == (3, "", before)
    assert "made by `meterctl init`" in ran.stderr


def test_a_ledger_that_is_held_is_refused(tmp_path: Path) -> None:
    """SD-10."""
    held = HeldLedger(tmp_path / "l.db", "meterd", "now")
    with pytest.raises(LedgerError, match="in use by meterd"):
        applied(tmp_path / "l.db", DAY)
    held.close()
    assert not (tmp_path / "l.db").exists()


def test_a_stopped_book_takes_nothing_from_a_file(tmp_path: Path) -> None:
    """Design section 9: until a person clears it."""
    path = tmp_path / "l.db"
    applied(path, DAY)
    entered(path, lambda floor: floor.stop("a trial", AT))
    before = rows(path, "SELECT count(*) FROM entry")
    with pytest.raises(LedgerError, match="the book is stopped: a trial"):
        applied(path, DAY)
    assert rows(path, "SELECT count(*) FROM entry") == before


def test_books_that_do_not_add_up_end_the_run_with_nothing_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design section 9: the batch is not written."""
    def broken(self: Floor, message: object, at: int) -> object:
        raise BrokenInvariant("pg-link: postings do not sum to zero")
    path = tmp_path / "l.db"
    applied(path, DAY)
    before = rows(path, "SELECT count(*) FROM entry")
    monkeypatch.setattr(Floor, "take", broken)
    with pytest.raises(LedgerError, match="do not add up"):
        applied(path, [lock(90, 90)])
    assert rows(path, "SELECT count(*) FROM entry") == before


def test_nothing_is_answered_before_it_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I3: with a commit that fails in the middle of the file, only what was committed is answered."""
    calls, write = [0], Writer.write

    def failing(self: Writer, batches: Sequence[Batch]) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise LedgerError("disk full")
        write(self, batches)
    monkeypatch.setattr(Writer, "write", failing)
    monkeypatch.setattr("controller.apply.BATCH_MESSAGES", 5)
    out = io.StringIO()
    with pytest.raises(LedgerError, match="disk full"):
        apply(contract_plan(), str(tmp_path / "l.db"), io.BytesIO(b"".join(DAY)), at=AT, clock=lambda: AT, out=out)
    answered = [json.loads(line) for line in out.getvalue().splitlines()]
    numbers = [answer["entry"] for answer in answered if "entry" in answer]
    assert answered and bare(answered) == DAY_EXPECTED[: len(answered)]
    assert max(numbers) <= rows(tmp_path / "l.db", "SELECT max(number) FROM entry")[0][0]


def test_pulses_and_blank_lines_are_read_and_not_answered(tmp_path: Path) -> None:
    """Contract README, answer 1: whatever else is wrong with them."""
    quiet = [b"\n", b"  \t\r\n", b'{"v":1,"type":"hello","device":"hub-09"}\n', b'{"v":1,"type":"heartbeat"}\n']
    assert applied(tmp_path / "l.db", quiet)[0] == []


def test_line_numbers_count_blank_lines_and_long_ones_once(tmp_path: Path) -> None:
    """Contract README: N counts lines from 1, blank ones too."""
    long = b'{"v":1,"x":"' + b"y" * (3 * MESSAGE_BYTES_MAX) + b'"}\n'
    answers, _ = applied(tmp_path / "l.db", [b"\n", long, b"\n", b"not json\n", long, b"x"])
    assert [answer["line"] for answer in answers] == [2, 4, 5, 6]


def test_a_line_longer_than_any_message_is_never_whole_in_memory() -> None:
    """Every buffer has a bound."""
    found = list(lines(io.BytesIO(b"a" * 50 * MESSAGE_BYTES_MAX + b"\nb\n")))
    assert [(number, len(line) <= MESSAGE_BYTES_MAX + 2) for number, line in found] == [(1, True), (2, True)]


def test_answers_come_in_the_order_of_the_lines_over_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one batch is written the next one is computed; the answers keep their order."""
    monkeypatch.setattr("controller.apply.BATCH_MESSAGES", 3)
    answers, _ = applied(tmp_path / "l.db", DAY)
    assert bare(answers) == DAY_EXPECTED


@pytest.mark.parametrize("answered", [1, 900, 2_500])
def test_a_run_killed_in_the_middle_and_begun_again_counts_every_wager_once(tmp_path: Path, answered: int) -> None:
    """I1, I3: kill -9 after so many answers; all that was answered is there, the rest comes from the second run."""
    path = tmp_path / "l.db"
    messages = [lock(number, number) for number in range(1, 4_001)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(one) + "\n" for one in messages))
    command = [*METERCTL, "apply", "--config", str(FLOOR), "--ledger", str(path), str(tmp_path / "m.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        told = [json.loads(running.stdout.readline()) for _ in range(answered)]
        running.send_signal(signal.SIGKILL)
    kept = rows(path, "SELECT max(number) FROM entry")[0][0]
    assert told[-1]["entry"] <= kept
    _, summary = applied(path, messages)
    assert summary["posted"] + summary["duplicate"] == 4_000
    assert summary["meters"]["pg-link"]["display_microcents"] == 1_000_000_000_000 + 4_000 * 5_000_000
    assert bad_entry(path, replay=True) == (0, "")


def test_a_hello_of_a_boot_long_forgotten_does_not_begin_it_anew(tmp_path: Path) -> None:
    """I1, SE-04: only the latest boots stay in memory; the ledger knows the others, their numbers and their order."""
    ledger = tmp_path / "l.db"
    applied(ledger, [lock(1, 1, boot=f"b{n}") for n in range(1, 15)])
    for boot in ("b9", "b14"):
        hello = said("hello", 1, boot=boot, firmware="1", reset_cause="power", seats=6, kept=[])
        again = applied(ledger, [hello, lock(1, 1, boot=boot)])[0]
        assert [answer["result"] for answer in again] == ["duplicate"]
    assert (rows(ledger, "SELECT count(*) FROM entry WHERE kind = 'lock'"), bad_entry(ledger, replay=True)) == (
        [(14,)], (0, ""))
