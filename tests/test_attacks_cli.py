"""``meterctl`` misused: whatever it gets, it says what is wrong, with an exit code of the list, and no traceback."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.floors import CONTRACT
from tests.ledger_house import FLOOR, METERCTL, ROOT, change, every_kind, lock, meterctl, rows

DAY_FILE = CONTRACT / "day.jsonl"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A good ledger, in one file."""
    path = every_kind(tmp_path_factory.mktemp("kept") / "l.db")
    rows(path, "PRAGMA journal_mode=DELETE")
    return path.read_bytes()


@pytest.fixture
def ledger(kept: bytes, tmp_path: Path) -> Path:
    """A good ledger of its own for each test."""
    path = tmp_path / "l.db"
    path.write_bytes(kept)
    return path


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Something on a loopback port that is not meterd, and gives one answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.recv(4_096)
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize("answer", [
    b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\n\r\n[1]",
], ids=["another protocol", "cut short", "another object", "a list"])
def test_what_answers_but_is_not_meterd_is_a_usage_error(answer: bytes) -> None:
    with answering(answer) as url:
        ran = meterctl("log", "--url", url)
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False), ran.stderr


def test_an_entry_number_that_no_ledger_can_hold_is_a_usage_error(ledger: Path) -> None:
    ran = meterctl("log", "--ledger", ledger, "--before", 1 << 63)
    assert (ran.returncode, "Traceback" in ran.stderr) == (2, False), ran.stderr


def test_a_ledger_name_that_is_not_utf_8_is_a_ledger_error(tmp_path: Path) -> None:
    ran = meterctl("apply", "--config", FLOOR, "--ledger", tmp_path / "l\udcff.db", "-")
    assert (ran.returncode, "Traceback" in ran.stderr) == (3, False), ran.stderr


def test_an_input_file_that_breaks_while_it_is_read_is_an_input_error(tmp_path: Path) -> None:
    ran = meterctl("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", "/proc/self/mem")
    assert (ran.returncode, ran.stderr) == (2, "input or output: Input/output error\n")


def test_no_standard_input_is_an_input_error(tmp_path: Path) -> None:
    command = [*METERCTL, "apply", "--config", str(FLOOR), "--ledger", str(tmp_path / "l.db"), "-"]
    ran = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, cwd=ROOT, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"-: there is no standard input\n")


@pytest.mark.parametrize("words", [("check", FLOOR), ("apply", "--config", FLOOR, "--ledger", "l.db", DAY_FILE)],
                         ids=["check", "apply"])
def test_an_output_that_is_full_is_said_with_exit_2(words: tuple[object, ...], tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([*METERCTL, *map(str, words)], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path,
                             env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"input or output: No space left on device\n")


def test_verify_that_nobody_listens_to_does_not_say_that_a_check_failed(ledger: Path) -> None:
    """Exit 1 is for a bad entry; a closed pipe is what other programs end with, 141."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*METERCTL, "verify", "--ledger", str(ledger)], stdout=writing, stderr=subprocess.PIPE,
                         cwd=ROOT, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_an_interrupted_apply_ends_with_130_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file, path = tmp_path / "locks.jsonl", tmp_path / "l.db"
    apply = ["apply", "--config", str(FLOOR), "--ledger", str(path)]
    with subprocess.Popen([*METERCTL, *apply, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, cwd=ROOT) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        lines = b"".join(json.dumps(lock(seq, seq)).encode() + b"\n" for seq in range(1, 2_501))
        running.stdin.write(lines)
        running.stdin.flush()
        ends = time.monotonic() + 30
        while not (path.exists() and rows(path, "SELECT 1 FROM entry WHERE kind = 'lock' LIMIT 1")):
            assert time.monotonic() < ends
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert (running.returncode, b"Traceback" in said) == (130, False), said
    file.write_bytes(lines)
    again = json.loads(meterctl(*apply, "--quiet", file).stdout)
    assert (again["posted"] + again["duplicate"], again["meters"]["pg-link"]["reserve_microcents"]) == (
        2_500, 2_500 * 5_000_000)


@pytest.mark.parametrize(("command", "statement"), [
    ("meters", "UPDATE state SET body = '[]' WHERE kind = 'meter'"),
    ("tables", "UPDATE state SET body = '{\"stopped\":5,\"awards_pending\":\"x\"}' WHERE kind = 'book'"),
    ("wins", "UPDATE state SET body = '{\"awards\":5,\"entry\":7,\"envy\":[]}' WHERE kind = 'award'"),
    ("log", "UPDATE entry SET body = '[1]' WHERE kind = 'clear'"),
    ("log", "UPDATE entry SET body = x'ff00' WHERE number = 6"),
], ids=["a meter's state", "a book's state", "an award", "a body of another form", "a body of bytes"])
def test_a_damaged_ledger_is_said_to_be_damaged_by_whatever_shows_it(
    command: str, statement: str, ledger: Path
) -> None:
    """SD-10; exit 3."""
    change(ledger, statement)
    ran = meterctl(command, "--ledger", ledger)
    assert (ran.returncode, "may be damaged" in ran.stderr, "Traceback" in ran.stderr) == (3, True, False), ran.stderr
