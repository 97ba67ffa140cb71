"""What ran on a day, from the ledger alone: filing sheet and software verification (R-45, R-69, R-111, R-114)."""

import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from desk_house import DORA, EVE, GUS, HOUR, Desk, plan_with
from report_house import column, kept, made, table

from controller.begun import Sign, Software, begin
from controller.ledger.verify import verify
from controller.programs import ROOMS, software
from controller.reports.report import Report
from controller.reports.software import NOT_TOLD

DAY, NEXT = "2026-12-01", "2026-12-02"
ROOT = Path(__file__).parents[1]
OLD = Software("1.0", "aa" * 32, "3.11.7", "bb" * 32, "Linux", {"fpdf2 2.8": "cc" * 32}, 4)
NEW = OLD._replace(version="1.1", program="dd" * 32)
LED: tuple[Sign, ...] = (("led-1", "alpha", "PG-01"),)
PAGE: tuple[Sign, ...] = (("page-1", "page", "PG-01"),)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A floor that began with one program and one sign, and a day later with others."""
    desk = Desk()
    begin(desk.floor, OLD, LED, desk.at)
    desk.at += 24 * HOUR
    begin(desk.floor, NEW, PAGE, desk.at)
    return kept(tmp_path / "ledger.db", desk)


def of(path: Path, name: str, day: str = DAY) -> Report:
    """A report of a day."""
    return made(path, name, day)[0]


def test_an_old_sheet_has_the_software_and_the_signs_of_its_day(path: Path) -> None:
    sheets = [of(path, "filing", day) for day in (DAY, NEXT)]
    words = [dict(sheet.facts)["Software"] for sheet in sheets]
    assert [word.split(",")[:2] for word in words] == [
        ["meterd 1.0", f" program {'aa' * 32}"], ["meterd 1.1", f" program {'dd' * 32}"]]
    assert [table(sheet, "Signs").rows for sheet in sheets] == [LED, PAGE]


def test_a_ledger_that_does_not_tell_its_software_says_so(tmp_path: Path) -> None:
    sheet = of(kept(tmp_path / "ledger.db", Desk()), "filing")
    assert dict(sheet.facts)["Software"].startswith(NOT_TOLD)
    assert any("does not tell" in one.title for one in sheet.tables)


def test_who_signs_is_what_the_days_configuration_says(tmp_path: Path) -> None:
    """[awards] lets supervisors alone verify, and accounting alone release."""
    plan = plan_with(verify=["supervisor"], release=["accounting"])
    sheet = table(of(kept(tmp_path / "ledger.db", Desk(plan)), "filing"), "Who signs what")
    signs = {row[0]: row[1:4] for row in sheet.rows}
    floor = "shift-manager, supervisor"
    assert [signs[act] for act in ("Verify", "Pay", "Release", "Enter a slip written by hand")] == [
        ("supervisor", "", floor), (floor, "", "accounting, shift-manager"), ("accounting", "", ""),
        (floor, f"accounting, {floor}", "accounting")]


def test_every_start_of_the_range_says_what_had_changed(path: Path) -> None:
    starts = table(of(path, "software", NEXT), "Starts")
    assert (column(starts, "Version"), column(starts, "Changed")) == (["1.0", "1.1"], ["", "program, signs"])


def test_a_start_with_the_same_software_has_changed_nothing(tmp_path: Path) -> None:
    desk = Desk()
    begin(desk.floor, OLD, LED, desk.at)
    begin(desk.floor, OLD, LED, desk.at)
    starts = table(of(kept(tmp_path / "ledger.db", desk), "software"), "Starts")
    assert column(starts, "Changed") == ["first start told", "nothing"]


def test_a_library_that_came_or_went_is_named_with_its_hash(tmp_path: Path) -> None:
    desk = Desk()
    begin(desk.floor, OLD, LED, desk.at)
    begin(desk.floor, OLD._replace(libraries={"fpdf2 2.9": "ee" * 32}), LED, desk.at)
    parts = table(of(kept(tmp_path / "ledger.db", desk), "software"), "What ran").rows
    assert [row[1:] for row in parts if row[1] == "library"] == [
        ("library", "fpdf2 2.9", "ee" * 32), ("library", "fpdf2 2.8 is no more", "")]


def test_all_parts_of_the_first_start_stand_with_their_hashes(path: Path) -> None:
    assert [row[1:] for row in table(of(path, "software"), "What ran").rows] == [
        ("program", "meterd 1.0", "aa" * 32), ("ledger rules", "4", ""), ("interpreter", "Python 3.11.7", "bb" * 32),
        ("system", "Linux", ""), ("configuration", "", plan_with().hash), ("signs", "led-1, alpha, PG-01", "")]


def test_libraries_and_configurations_stand_with_their_hashes(path: Path) -> None:
    report = of(path, "software")
    (configuration,) = column(table(report, "Configurations"), "Hash")
    assert (table(report, "Libraries").rows, configuration) == ((("fpdf2 2.8", "cc" * 32),), plan_with().hash)


def test_a_configuration_of_the_range_stands_with_the_one_before(tmp_path: Path) -> None:
    desk = Desk()
    desk.at += 24 * HOUR
    document: Any = deepcopy(dict(desk.plan.document))
    document["site"] = {**document["site"], "name": "Another name"}
    name = desk.act("config-proposed", EVE, document=document, reason="a new name").told["hash"]
    desk.act("config-activated", DORA, hash=name, authority="the Board", approval="1", approved="2026-11-30")
    hashes = column(table(of(kept(tmp_path / "ledger.db", desk), "software", NEXT), "Configurations"), "Hash")
    assert hashes == [plan_with().hash, name]


def test_each_row_of_the_standards_has_an_answer(path: Path) -> None:
    asked = table(of(path, "software"), "What is asked")
    assert column(asked, "Row") == ["R-45", "R-69", "R-111", "R-114", "R-114", "R-115", "R-120"]
    assert all(column(asked, "Answer"))


def test_the_configuration_check_of_people_is_listed(tmp_path: Path) -> None:
    desk = Desk()
    desk.act("check-done", GUS, check="configuration-check", table="", finding="verify --replay: GOOD")
    rows = table(of(kept(tmp_path / "ledger.db", desk), "software"), "Checks").rows
    assert [row[1:3] for row in rows] == [("verify --replay: GOOD", "gus (auditor)")]


def test_a_replay_makes_every_start_again(path: Path) -> None:
    assert [book.replayed for book in verify(path, replay=True)] == [True]


def test_the_hash_of_the_program_is_what_other_tools_compute() -> None:
    line = (f"find {' '.join(ROOMS)} -type f -not -path '*__pycache__*' | LC_ALL=C sort | xargs -d '\\n' sha256sum "
            "| sha256sum")
    told = subprocess.run(["/bin/sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.split()[0] == software("1.0").program
