"""``meterctl`` as people and scripts use it: what it says, and the exit code (0 done, 1 check, 2 usage, 3 ledger)."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from controller import cli_text, losses
from controller.cli import main
from controller.ledger.place import HeldLedger
from controller.web.api import WINS_MAX
from tests.ledger_house import (
    AT,
    DAY,
    FLOOR,
    METERCTL,
    Json,
    applied,
    bad_entry,
    change,
    entered,
    every_kind,
    lock,
    meterctl,
    opened,
    rows,
)


def run(*words: object, feed: str | bytes = "") -> Result:
    """A command in this process: quicker, the same code from the first word on."""
    return CliRunner().invoke(main, [str(word) for word in words], input=feed)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with every kind of entry."""
    return every_kind(tmp_path / "l.db")


def test_init_makes_a_ledger_with_one_opening_for_each_meter(tmp_path: Path) -> None:
    """Design section 8; exit 0."""
    made = meterctl("init", "--config", FLOOR, "--ledger", tmp_path / "new" / "l.db")
    path = tmp_path / "new" / "l.db"
    assert (made.returncode, made.stderr) == (0, "")
    assert "site demo, environment test, 2 meters opened" in made.stdout
    assert [row[0] for row in rows(path, "SELECT kind FROM entry ORDER BY number")] == [
        "init", "config", "opening", "opening"]
    assert (bad_entry(path, replay=True), sorted(file.name for file in path.parent.iterdir()
                                                 if not file.name.endswith(("-wal", "-shm")))) == (
        (0, ""), ["l.db", "l.db.lock"])


def test_init_refuses_a_file_that_is_there_and_leaves_it(tmp_path: Path) -> None:
    """Exit 3: a ledger, or anything else."""
    path = tmp_path / "l.db"
    path.write_text("a letter")
    refused = run("init", "--config", FLOOR, "--ledger", path)
    assert (refused.exit_code, path.read_text(), [file.name for file in tmp_path.iterdir()]) == (
        3, "a letter", ["l.db"])


def test_init_waits_for_nobody_who_is_making_the_same_ledger(tmp_path: Path) -> None:
    """SD-10: two at once would write into one unfinished file."""
    held = HeldLedger(tmp_path / "l.db", "meterctl init", "now")
    refused = run("init", "--config", FLOOR, "--ledger", tmp_path / "l.db")
    held.close()
    assert (refused.exit_code, "in use by meterctl init" in refused.stderr) == (3, True)


@pytest.mark.parametrize("after_ms", [0, 30, 60, 90, 120, 150])
def test_an_init_killed_at_any_moment_leaves_a_whole_ledger_or_none(tmp_path: Path, after_ms: int) -> None:
    """Design section 8: kill -9 after its imports; the next init is not hindered."""
    program = ("import controller.cli, sys, threading; print('ready', flush=True); "
               f"controller.cli.main(['init', '--config', {str(FLOOR)!r}, '--ledger', sys.argv[1]])")
    path = tmp_path / "l.db"
    process = subprocess.Popen([METERCTL[0], "-c", program, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(after_ms / 1000)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if not path.exists():
        assert run("init", "--config", FLOOR, "--ledger", path).exit_code == 0
    assert bad_entry(path, replay=True) == (0, "")


def test_an_init_into_a_place_that_is_no_folder_is_a_ledger_error(tmp_path: Path) -> None:
    """Exit 3, in one line."""
    (tmp_path / "file").write_text("")
    refused = run("init", "--config", FLOOR, "--ledger", tmp_path / "file" / "l.db")
    assert (refused.exit_code, refused.stderr.count("\n")) == (3, 1)


EXIT_2 = {
    "no such configuration": ("check", "nowhere.toml"),
    "a paytable is no floor": ("check", FLOOR.parent / "paytables" / "progressive-1.toml"),
    "no such command": ("pay",),
    "no such option": ("verify", "--fast"),
    "no ledger named": ("verify",),
    "no file to apply": ("apply", "--config", FLOOR, "--ledger", "LEDGER", "nowhere.jsonl"),
    "a folder to apply": ("apply", "--config", FLOOR, "--ledger", "LEDGER", FLOOR.parent),
    "a time that is none": ("apply", "--config", FLOOR, "--ledger", "LEDGER", "--at", "yesterday", "-"),
    "a time before 1970": ("apply", "--config", FLOOR, "--ledger", "LEDGER", "--at", "0001-01-01T00:00:00Z", "-"),
    "a time after 9998": ("apply", "--config", FLOOR, "--ledger", "LEDGER", "--at", "9999-12-31T23:59:59Z", "-"),
    "no daemon to ask": ("meters", "--url", "http://127.0.0.1:9"),
    "an address that is none": ("meters", "--url", "file:///etc"),
    "too many asked for": ("log", "--ledger", "LEDGER", "--count", "501"),
}


@pytest.mark.parametrize("words", EXIT_2)
def test_usage_configuration_or_input_that_is_wrong_exits_with_2(tmp_path: Path, words: str) -> None:
    """Design section 7; nothing is made."""
    given = [tmp_path / "l.db" if word == "LEDGER" else word for word in EXIT_2[words]]
    ran = run(*given)
    assert (ran.exit_code, (tmp_path / "l.db").exists(), "Traceback" in ran.output) == (2, False, False)


READERS = (("verify",), ("verify", "--replay"), ("meters",), ("tables",), ("log",), ("wins",),
           ("backup", "COPY"), ("clear", "--reason", "x"), ("accept-loss", "--table", "PG-01", "--reason", "x"))


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_ledger_that_is_not_there_exits_with_3_and_is_not_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Design section 7 and 8."""
    given = [tmp_path / "copy.db" if word == "COPY" else word for word in words]
    ran = run(given[0], "--ledger", tmp_path / "l.db", *given[1:])
    assert (ran.exit_code, list(tmp_path.iterdir())) == (3, [])
    assert "no ledger there" in ran.stderr


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_ledger_with_a_page_of_rubbish_ends_no_command_with_a_traceback(
    ledger: Path, words: tuple[str, ...]
) -> None:
    """Design section 9: what, where, and what to do now."""
    text = ledger.read_bytes()
    ledger.write_bytes(text[:4096] + b"\xa5" * (len(text) - 4096))
    given = [ledger.with_name("copy.db") if word == "COPY" else word for word in words]
    ran = run(given[0], "--ledger", ledger, *given[1:])
    assert (ran.exit_code, isinstance(ran.exception, SystemExit)) == (3, True)


def test_a_good_ledger_verifies_with_exit_0(ledger: Path) -> None:
    """Chain, sums, balances and keys; or every entry recomputed."""
    head = rows(ledger, "SELECT lower(hex(hash)) FROM entry ORDER BY number DESC LIMIT 1")[0][0]
    for words, how in (((), "chain, sums, balances and keys"), (("--replay",), "every entry recomputed")):
        ran = run("verify", "--ledger", ledger, *words)
        assert (ran.exit_code, ran.stdout.startswith("GOOD: book main, 55 entries")) == (0, True)
        assert how in ran.stdout and head in ran.stdout


def test_a_bad_entry_is_named_with_exit_1(ledger: Path) -> None:
    """Design section 7: a check failed."""
    change(ledger, "UPDATE entry SET body = replace(body, '500', '600') WHERE number = 5")
    ran = meterctl("verify", "--ledger", ledger)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "NOT GOOD: book main, entry 5: its content does not match its hash\n"


def test_backup_says_what_it_proved(ledger: Path) -> None:
    """DB-06."""
    ran = run("backup", "--ledger", ledger, ledger.with_name("copy.db"))
    assert (ran.exit_code, "verified: book main to entry 55" in ran.stdout) == (0, True)
    assert bad_entry(ledger.with_name("copy.db"), replay=True) == (0, "")


def test_clear_clears_a_stopped_book_once(ledger: Path) -> None:
    """Design section 9: an entry; a second time there is nothing to do."""
    entered(ledger, lambda floor: floor.stop("a trial", AT))
    first = run("clear", "--ledger", ledger, "--reason", "the cable was changed")
    again = run("clear", "--ledger", ledger, "--reason", "once more")
    assert (first.exit_code, again.exit_code, "nothing to do" in again.stderr) == (0, 3, True)
    body = json.loads(rows(ledger, "SELECT body FROM entry ORDER BY number DESC LIMIT 1")[0][0])
    assert body == {"reason": "the cable was changed", "was": "a trial"}
    assert bad_entry(ledger, replay=True) == (0, "")


def test_accept_loss_lets_a_table_play_again(tmp_path: Path) -> None:
    """Design section 9: nothing is guessed; the numbers after the gap take their turn."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1), lock(4, 4)])
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 2, 4, AT))
    wrong = run("accept-loss", "--ledger", path, "--table", "PG-02", "--reason", "x")
    ran = run("accept-loss", "--ledger", path, "--table", "PG-01", "--reason", "the unit was changed")
    assert (wrong.exit_code, ran.exit_code) == (3, 0)
    assert rows(path, "SELECT kind, seq FROM entry ORDER BY number DESC LIMIT 2") == [
        ("lock", 4), ("loss-accepted", None)]
    assert bad_entry(path, replay=True) == (0, "")


@pytest.mark.parametrize("words", [("clear", "--reason", "x"), ("accept-loss", "--table", "PG-01", "--reason", "x")])
def test_nobody_puts_a_ledger_right_while_a_daemon_holds_it(ledger: Path, words: tuple[str, ...]) -> None:
    """SD-10."""
    held = HeldLedger(ledger, "meterd", "2026-12-01T20:00:00Z")
    ran = run(words[0], "--ledger", ledger, *words[1:])
    held.close()
    assert (ran.exit_code, f"in use by meterd (pid {os.getpid()}" in ran.stderr) == (3, True)


def test_meters_prints_every_figure_of_a_meter(ledger: Path) -> None:
    """R-01, R-03, R-05."""
    shown = run("meters", "--ledger", ledger).stdout
    found = json.loads(run("meters", "--ledger", ledger, "--json").stdout)[0]
    assert "Face Up Pai Gow Link (pg-link, book main)" in shown
    assert "$10,000.00" in shown and "PG-01, PG-02" in shown
    assert (found["id"], found["display"], found["pending"], found["wagers"], found["hits"]) == (
        "pg-link", "10000.00", "20001.20", 24, 11)


def test_tables_prints_the_latest_game_and_that_no_daemon_was_asked(ledger: Path) -> None:
    """Offline nobody knows the lines."""
    shown = run("tables", "--ledger", ledger).stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["Table", "PG-01", "PG-02", "PG-03"]
    assert all("not running" in line and "no daemon asked" in line for line in shown[1:])


def test_log_prints_the_newest_first_and_goes_back(ledger: Path) -> None:
    """Pages of entries."""
    shown = json.loads(run("log", "--ledger", ledger, "--json", "--count", 3).stdout)
    older = json.loads(run("log", "--ledger", ledger, "--json", "--count", 2, "--before", shown[-1]["number"]).stdout)
    assert [entry["number"] for entry in shown + older] == [55, 54, 53, 52, 51]


def test_log_says_every_kind_of_entry_in_a_line(ledger: Path) -> None:
    """For people."""
    shown = run("log", "--ledger", ledger, "--count", 100).stdout.splitlines()
    assert len(shown) == 56
    assert any("hits" in line and "seat 2 royal-flush-royal-match" in line for line in shown)


def test_wins_lists_the_latest_awards_with_their_total(ledger: Path) -> None:
    """Issue 2: table by default, `--json` for machines."""
    found = json.loads(run("wins", "--ledger", ledger, "--json", "--count", 3).stdout)
    shown = run("wins", "--ledger", ledger, "--count", 3).stdout.splitlines()
    assert (len(found), len(shown)) == (3, 4)
    assert {one["table"] for one in found} <= {"PG-01", "PG-02", "PG-03"}


def test_a_ledger_read_while_it_is_written_to_is_read_as_of_now(ledger: Path) -> None:
    """Short reads beside a writer: no lock is needed, nothing is blocked (DB-03)."""
    held = HeldLedger(ledger, "meterd", "now")
    codes = [run(*words, "--ledger", ledger).exit_code for words in (("meters",), ("log",), ("wins",), ("verify",))]
    held.close()
    assert codes == [0, 0, 0, 0]


class Pages(BaseHTTPRequestHandler):
    """What a daemon's pages answer to these tests."""

    asked: list[str] = []  # noqa: RUF012 (one list for the one server of a test)

    def do_GET(self) -> None:
        """The path that was asked for, in every form."""
        self.asked.append(self.path)
        body = json.dumps({"entries": []} if "log" in self.path else []).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def pages() -> Iterator[str]:
    """A daemon's address."""
    Pages.asked.clear()
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_without_a_ledger_the_running_daemon_is_asked(pages: str) -> None:
    """Issue 2: from the API, or offline with `--ledger`."""
    for words in (("meters",), ("tables",), ("wins", "--count", 7), ("log", "--book", "main", "--before", 9)):
        assert run(*words, "--url", pages).exit_code == 0
    assert Pages.asked == ["/api/v1/meters", "/api/v1/tables", "/api/v1/wins?count=7",
                           "/api/v1/log?book=main&count=50&before=9"]


class Refusing(Pages):
    """A daemon that does not give what is asked for."""

    def do_GET(self) -> None:
        """404, with what is wrong and what to do."""
        body = json.dumps({"error": "there is no book 'west'", "remedy": "look in one of main"}).encode()
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_what_a_running_daemon_refuses_is_said_in_its_own_words() -> None:
    """Design section 9: not `no daemon answers`, which sends people to look for one that is there."""
    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ran = run("log", "--book", "west", "--url", f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    assert (ran.exit_code, "there is no book 'west'; look in one of main" in ran.stderr) == (2, True)


def test_a_book_that_the_ledger_does_not_have_is_refused_by_name(ledger: Path) -> None:
    """Not an empty list, which would look like a book without entries."""
    ran = run("log", "--ledger", ledger, "--book", "west")
    assert (ran.exit_code, "the ledger has main" in ran.stderr) == (2, True)


def test_as_many_wins_as_the_command_takes_are_what_the_api_gives() -> None:
    """One bound for both, so that no count is refused on the way."""
    assert max(option.type.max for option in main.commands["wins"].params if option.name == "count") == WINS_MAX


def test_check_prints_the_floor_and_exits_with_0() -> None:
    """Issue 2: in plain sentences."""
    ran = run("check", FLOOR)
    assert (ran.exit_code, "pg-link" in ran.stdout) == (0, True)


def test_a_simulated_unit_is_not_let_on_a_production_floor(tmp_path: Path) -> None:
    """Issue 2: as far as it can know."""
    text = FLOOR.read_text().replace('environment = "test"', 'environment = "production"').replace(
        'paytables = "paytables"', f'paytables = "{FLOOR.parent / "paytables"}"')
    (tmp_path / "floor.toml").write_text(
        text + '\n[[line]]\nid = "s1"\ndevice = "hub-01"\nport = "/dev/ttyMETER1"\n')
    ran = run("simulate-device", "--device", "hub-01", "--target", "/dev/ttyMETER1", "--config",
              tmp_path / "floor.toml")
    assert (ran.exit_code, "belongs to the production floor" in ran.stderr) == (2, True)


@pytest.mark.parametrize(("text", "shown"), [
    ("0.00", "$0.00"), ("1234567.89", "$1,234,567.89"), ("-0.05", "-$0.05"), ("-1234.50", "-$1,234.50"),
    ("9000000000.00", "$9,000,000,000.00"), (None, "none"),
])
def test_dollars_have_two_decimals_and_thousands_in_every_locale(text: str | None, shown: str) -> None:
    """DI-03, MO-03."""
    assert cli_text.dollars(text) == shown


def test_apply_on_the_command_line_exits_with_3_on_a_foreign_file(tmp_path: Path) -> None:
    """And leaves it."""
    path = tmp_path / "l.db"
    path.write_bytes(b"")
    ran = run("apply", "--config", FLOOR, "--ledger", path, "-", feed=b"".join(DAY))
    assert (ran.exit_code, ran.stdout, path.read_bytes()) == (3, "", b"")


def test_answers_are_json_lines_with_entry_and_game(tmp_path: Path) -> None:
    """Design section 7."""
    ran = run("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", "-", feed=json.dumps(lock(1, 1)))
    answer: Json = json.loads(ran.stdout)
    assert (answer["entry"], answer["game"], list(answer["meters"])) == (5, 1, ["pg-link"])


def test_apply_stamps_the_present_when_no_time_is_given(tmp_path: Path) -> None:
    """UTC microseconds."""
    before = time.time_ns() // 1_000
    run("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", "-", feed=json.dumps(lock(1, 1)))
    assert all(before <= row[0] <= time.time_ns() // 1_000 for row in rows(tmp_path / "l.db", "SELECT at FROM entry"))


def test_a_url_for_the_ledger_is_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design section 7."""
    monkeypatch.chdir(tmp_path)
    assert run("init", "--config", FLOOR, "--ledger", "sqlite:///here.db").exit_code == 0
    assert (run("verify", "--ledger", "here.db").exit_code, (tmp_path / "here.db").exists()) == (0, True)


def test_a_made_ledger_is_named_in_the_refusal_of_a_start_without_one(tmp_path: Path) -> None:
    """What to do now is said."""
    opened(tmp_path / "l.db")
    ran = run("apply", "--config", FLOOR, "--ledger", tmp_path / "l.db", "-")
    assert "apply writes only to its own" in ran.stderr
