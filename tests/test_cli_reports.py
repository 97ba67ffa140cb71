"""``meterctl report``: text, CSV, JSON, PDF; exit codes; a ledger that is read and never written."""

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ledger_house import every_kind

from controller.cli import Group
from controller.cli_reports import report
from controller.reports.catalogue import REPORTS


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry."""
    return every_kind(tmp_path_factory.mktemp("ledger") / "ledger.db")


def run(*words: object) -> Result:
    """The command as ``meterctl`` runs it, with its exit codes."""
    return CliRunner().invoke(Group(commands={"report": report}), ["report", *map(str, words)])


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_is_told_in_words(ledger: Path, name: str) -> None:
    ran = run(name, "--ledger", ledger, "--day", "2026-12-01")
    assert (ran.exit_code, "gaming day 2026-12-01" in ran.output) == (0, True)


def test_json_has_whole_numbers_in_the_unit_of_their_column(ledger: Path) -> None:
    ran = run("reconciliation", "--ledger", ledger, "--day", "2026-12-01", "--json")
    made = json.loads(ran.output)
    (row,) = [row for row in made["tables"][0]["rows"] if row[0] == "pg-link"]
    assert (row[2], made["tables"][0]["columns"][2], made["holds"]) == (
        1_000_000_000_000, {"head": "Bases laid", "kind": "exact"}, True)


def test_csv_goes_to_standard_output_as_it_is(ledger: Path) -> None:
    ran = run("reserve", "--ledger", ledger, "--from", "2026-12-01", "--to", "2026-12-02", "--csv")
    assert ran.stdout_bytes.startswith(b"Report,Next-jackpot money and above the limit,")


def test_a_pdf_is_written_where_it_is_asked_for(ledger: Path, tmp_path: Path) -> None:
    ran = run("filing", "--ledger", ledger, "--day", "2026-12-01", "--pdf", tmp_path / "filing.pdf")
    assert (ran.exit_code, (tmp_path / "filing.pdf").read_bytes()[:5]) == (0, b"%PDF-")


def test_a_time_without_an_offset_is_the_floor_s_wall_clock(ledger: Path) -> None:
    ran = run("wins", "--ledger", ledger, "--from", "2026-12-01T15:00", "--to", "2026-12-01T16:00", "--json")
    assert json.loads(ran.output)["facts"]["From"] == "2026-12-01 15:00:00 EST"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one gaming day"),
        (["--day", "2026-12-01", "--from", "2026-12-01", "--to", "2026-12-02"], "name one gaming day"),
        (["--from", "2026-12-01"], "name one gaming day"),
        (["--day", "01.12.2026"], "write it like 2026-11-01"),
        (["--day", "20261201"], "write it like 2026-11-01"),
        (["--day", "2026-13-01"], "write it like 2026-11-01"),
        (["--day", "1969-12-31"], "write it like 2026-11-01"),
        (["--from", "2026-12-02", "--to", "2026-12-01"], "the end must come after the beginning"),
        (["--from", "1970-01-02", "--to", "2026-12-01"], "days at most"),
        (["--from", "yesterday", "--to", "2026-12-01"], "no time"),
        (["--day", "2026-12-01", "--meter", "../x"], "no id of a meter"),
        (["--day", "2026-12-01", "--csv", "--json"], "choose one"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_remedy(ledger: Path, words: list[str], said: str) -> None:
    ran = run("wins", "--ledger", ledger, *words)
    assert (ran.exit_code, said in ran.output) == (2, True)


def test_a_missing_ledger_is_exit_code_3(tmp_path: Path) -> None:
    assert run("wins", "--ledger", tmp_path / "none.db", "--day", "2026-12-01").exit_code == 3


def test_a_report_that_does_not_add_up_is_exit_code_1(tmp_path: Path) -> None:
    path = every_kind(tmp_path / "ledger.db")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE posting SET microcents = microcents + 1 WHERE entry = 5 AND account = 'display'")
    database.close()
    ran = run("meter-sheet", "--ledger", path, "--day", "2026-12-01")
    assert (ran.exit_code, "NOT GOOD: pg-link" in ran.output) == (1, True)
