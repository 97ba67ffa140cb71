"""Slips from the page at an 80 mm printer: the button, what comes out, what is kept, and what a person is told.

First the entry with the number and copy, then the paper, then an entry of what came of it (R-58, part 11).
"""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from awards_house import AwardsHouse, awards_app
from desk_house import ANNA, AT, BEN, EVERYBODY, Desk
from fastapi.testclient import TestClient
from people_house import BROWSER
from printer_house import Paper, paper, unread_pipe
from report_house import kept
from test_award_pages import GAME, MATCH, ORIGIN, Screen, screens
from test_slip_escpos import printed_text

from controller.acts import KINDS
from controller.evidence import Asked, make
from controller.ledger.place import LedgerError
from controller.ledger.verify import verify
from controller.wiring import PrinterPlan


def house_with(folder: Path, *printers: PrinterPlan, **keys: Any) -> AwardsHouse:
    """Game 1 of PG-01: seat 2 wins $7,005.03."""
    made = AwardsHouse(folder, printers=printers, **keys)
    made.lock(1, 1, 2, 4)
    made.hit(1, 2, MATCH)
    made.say("close", 1)
    return made


@pytest.fixture
def pit(tmp_path: Path) -> Iterator[tuple[AwardsHouse, Paper]]:
    with paper() as (plan, out):
        yield house_with(tmp_path, plan), out


def entries(house: AwardsHouse, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    """Kind and body of the ledger's entries of some kinds, oldest first."""
    found = house.reader.entries("main", latest=500)
    return [(entry.kind, json.loads(entry.body)) for entry in reversed(found) if entry.kind in kinds]


PRINTS = ("slip-printed", "printed", "print-failed")


def test_the_page_of_an_award_has_a_button_for_each_printer_of_its_table(tmp_path: Path) -> None:
    printers = [PrinterPlan("pit-1", "Pit 1", tmp_path / "a"),
                PrinterPlan("cage", "Cage", tmp_path / "b", tables=("PG-01",)),
                PrinterPlan("pit-2", "Pit 2", tmp_path / "c", tables=("PG-02",))]
    with screens(house_with(tmp_path, *printers), tmp_path, "anna") as (anna,):
        assert [form["printer"] for form in anna.forms(GAME)["slip-printed"]] == ["pit-1", "cage", ""]
        page = anna.page(GAME)
    assert "Print at Pit 1" in page
    assert "Print at Cage" in page
    assert "Print as PDF" in page
    assert "Pit 2" not in page


def test_a_floor_without_printers_has_the_pdf_alone(tmp_path: Path) -> None:
    with screens(house_with(tmp_path), tmp_path, "anna") as (anna,):
        assert [form["printer"] for form in anna.forms(GAME)["slip-printed"]] == [""]


def test_a_slip_comes_out_of_the_printer_and_its_person_is_told(pit: tuple[AwardsHouse, Paper], tmp_path: Path) -> None:
    house, out = pit
    with screens(house, tmp_path, "anna") as (anna,):
        assert anna.send(GAME, "slip-printed").headers["location"] == GAME
        assert anna.told(GAME) == "Slip demo-000001 is printed at Pit 1. Look that the strip is whole."
    text = printed_text(out.slips(1)[0])
    assert "$7,005.03" in text
    assert "REPRINT" not in text
    assert house.stats.slips == {"pit-1": {"printed": 1, "failed": 0, "unknown": 0}}


def test_the_ledger_keeps_the_copy_before_the_paper_and_what_came_of_it_after(
    pit: tuple[AwardsHouse, Paper], tmp_path: Path
) -> None:
    house, _ = pit
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
    (issued, printed) = entries(house, *PRINTS)
    assert (issued[0], issued[1]["fields"]["printer"], issued[1]["told"]) == (
        "slip-printed", "pit-1", {"copy": 1, "number": 1})
    what = {"what": "slip 1, copy 1, at printer pit-1", "table": "PG-01", "game": 1, "seat": 2, "number": 1, "copy": 1}
    assert printed == ("printed", {"by": list(ANNA), "fields": what, "told": {}})
    verify(house.path)


def test_what_came_of_a_print_is_in_the_evidence_of_its_game(pit: tuple[AwardsHouse, Paper], tmp_path: Path) -> None:
    house, _ = pit
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
    archive = tmp_path / "game.zip"
    make(house.path, archive, Asked("PG-01", 1), by="dora, a dispute", at=AT, program="meterctl 1")
    with ZipFile(archive) as file:
        found = [json.loads(line) for line in file.read("entries.jsonl").splitlines()]
        record = file.read("record.txt").decode()
    assert [(one["kind"], one["table"], one["game"]) for one in found if one["kind"] in PRINTS] == [
        ("slip-printed", "PG-01", 1), ("printed", "PG-01", 1)]
    assert "Printed, table PG-01, game 1" in record


def test_what_came_of_a_print_is_made_again_by_a_replay_also_of_a_time_when_it_named_no_game(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 2)
    desk.act("printed", ANNA, table="", what="slip 1, copy 1, at printer pit-1")
    desk.act("print-failed", ANNA, game=1, seat=2, number=1, copy=1, what="slip 1", reason="no paper")
    assert [(entry.kind, entry.table, entry.game) for entry in desk.floor.entries[-2:]] == [
        ("printed", None, None), ("print-failed", "PG-01", 1)]
    assert verify(kept(tmp_path / "ledger.db", desk), replay=True)


def test_the_second_strip_is_a_reprint_that_says_so_however_the_first_was_made(
    pit: tuple[AwardsHouse, Paper], tmp_path: Path
) -> None:
    """One series of numbers, one count of copies, for PDF and paper."""
    house, out = pit
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed", 1)
        anna.send(GAME, "slip-printed", 0)
        told = anna.told(GAME)
    assert "It says REPRINT 1." in told
    assert "REPRINT 1" in printed_text(out.slips(1)[0])


def test_a_failed_print_is_said_kept_and_followed_by_a_reprint(tmp_path: Path) -> None:
    """Nobody knows what lies in a printer's buffer: no two strips may ever be the same."""
    house = house_with(tmp_path, unread_pipe(tmp_path))
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
        told = anna.told(GAME)
        (house.path.parent / "printer").unlink()
        anna.send(GAME, "slip-printed")
        again = anna.told(GAME)
    assert told.startswith("Not printed: slip 1 at Pit 1: ")
    assert "Do now: look at its cable, paper, cover and power, then print the slip again." in told
    assert told.endswith("The next one will say REPRINT 1.")
    assert "It says REPRINT 1." in again
    assert [kind for kind, _ in entries(house, *PRINTS)] == ["slip-printed", "print-failed", "slip-printed", "printed"]
    assert "REPRINT 1" in printed_text((house.path.parent / "printer").read_bytes())
    verify(house.path)


def test_a_form_sent_twice_prints_once(pit: tuple[AwardsHouse, Paper], tmp_path: Path) -> None:
    house, out = pit
    with screens(house, tmp_path, "anna") as (anna,):
        form = anna.forms(GAME)["slip-printed"][0]
        for _ in range(2):
            anna.client.post("/acts/slip-printed", data=form, headers=ORIGIN | BROWSER)
        assert "This form was sent before: look at Pit 1." in anna.told(GAME)
        anna.send(GAME, "slip-printed")
    assert ["REPRINT 1" in printed_text(slip) for slip in out.slips(2)] == [False, True]


@pytest.mark.parametrize(("printer", "said"), [
    ("pit-9", "there is no printer pit-9 for table PG-01; choose one of pit-1"),
    ("pit-2", "there is no printer pit-2 for table PG-01; choose one of pit-1")])
def test_a_printer_that_is_not_there_or_of_other_tables_uses_up_no_number(
    tmp_path: Path, printer: str, said: str
) -> None:
    printers = [PrinterPlan("pit-1", "Pit 1", tmp_path / "a"),
                PrinterPlan("pit-2", "Pit 2", tmp_path / "b", tables=("PG-02",))]
    house = house_with(tmp_path, *printers)
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed", printer=printer)
        assert anna.told(GAME) == f"Not done: {said.replace('; ', '. Do now: ')}."
    assert entries(house, *PRINTS) == []


def test_a_printer_with_too_many_slips_waiting_uses_up_no_number(tmp_path: Path) -> None:
    house = house_with(tmp_path, PrinterPlan("pit-1", "Pit 1", tmp_path / "a"))
    house.printers.end()
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
        assert "Not done: too many slips wait at Pit 1." in anna.told(GAME)
    assert entries(house, *PRINTS) == []


@pytest.mark.parametrize("person", EVERYBODY, ids=lambda person: person.id)
def test_who_may_print_the_pdf_may_print_at_a_printer_and_nobody_else(
    pit: tuple[AwardsHouse, Paper], tmp_path: Path, person: Any
) -> None:
    """WE-03: the role decides before anybody learns which printers there are."""
    house, _ = pit
    with TestClient(awards_app(house, tmp_path), follow_redirects=False, client=("127.0.0.1", 50_000)) as client:
        Screen(client, person.id)
        csrf = client.get("/api/v1/session").json()["csrf"]
        status = {}
        for printer in ("pit-1", "pit-9"):
            fields = {"table": "PG-01", "game": 1, "seat": 2, "spot": "progressive", "printer": printer}
            body = {"id": f"print-at-{printer}", "fields": fields}
            status[printer] = client.post(
                "/api/v1/acts/slip-printed", json=body, headers=ORIGIN | {"x-csrf": csrf}).status_code
    may = person.role in KINDS["slip-printed"].by
    assert status == ({"pit-1": 200, "pit-9": 404} if may else {"pit-1": 403, "pit-9": 403})


def test_a_print_asked_for_by_another_sites_page_is_refused(pit: tuple[AwardsHouse, Paper], tmp_path: Path) -> None:
    """WE-02."""
    house, _ = pit
    with screens(house, tmp_path, "anna") as (anna,):
        form = anna.forms(GAME)["slip-printed"][0]
        evil = anna.client.post("/acts/slip-printed", data=form, headers={"origin": "http://evil.example"})
        bare = anna.client.post("/acts/slip-printed", data=form | {"csrf": "x"}, headers=ORIGIN)
    assert (evil.status_code, bare.status_code) == (403, 403)
    assert entries(house, *PRINTS) == []


def test_a_program_is_told_whether_it_was_printed(tmp_path: Path) -> None:
    house = house_with(tmp_path, unread_pipe(tmp_path))
    with screens(house, tmp_path, "anna") as (anna,):
        csrf = anna.client.get("/api/v1/session").json()["csrf"]
        fields = {"table": "PG-01", "game": 1, "seat": 2, "spot": "progressive", "printer": "pit-1"}
        answer = anna.client.post("/api/v1/acts/slip-printed", json={"id": "program-1", "fields": fields},
                                  headers=ORIGIN | {"x-csrf": csrf})
    assert (answer.status_code, answer.json()["told"]) == (200, {"copy": 1, "number": 1, "printed": False})


def test_a_printer_that_takes_nothing_holds_up_no_wager(tmp_path: Path) -> None:
    """SD-02: while it is waited for, the table plays on and pages are answered."""
    house = house_with(tmp_path, PrinterPlan("pit-1", "Pit 1", tmp_path / "a"), answer_s=0.05)
    waits = house.printers.by_id["pit-1"]
    waits._thread = threading.current_thread()  # so that none begins: the slip never comes to its turn
    with screens(house, tmp_path, "anna", "ben") as (anna, ben):
        anna.send(GAME, "slip-printed")
        house.lock(2, 1)
        assert "1 wager accepted" in ben.page("/awards/PG-01/2")
        assert "Not printed: slip 1 at Pit 1: other slips are before this one" in anna.told(GAME)
    assert [kind for kind, _ in entries(house, *PRINTS)] == ["slip-printed", "print-failed"]


def test_a_slip_that_cannot_be_read_back_is_said_as_not_printed(
    pit: tuple[AwardsHouse, Paper], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, _ = pit
    with screens(house, tmp_path, "anna") as (anna,):
        form = anna.forms(GAME)["slip-printed"][0]

        async def broken(table: str, game: int) -> None:
            raise LedgerError("the ledger cannot be read")

        monkeypatch.setattr(house, "game_file", broken)
        anna.client.post("/acts/slip-printed", data=form, headers=ORIGIN | BROWSER)
        told = anna.told("/people")
    assert "Not printed: slip 1 at Pit 1: the slip cannot be made: the ledger cannot be read" in told


def test_a_refused_award_prints_as_refused(tmp_path: Path) -> None:
    with paper() as (plan, out):
        house = house_with(tmp_path, plan)
        house.sign("award-refused", ANNA, BEN, game=1, seat=2, reason="exposed card")
        with screens(house, tmp_path, "anna") as (anna,):
            anna.send(GAME, "slip-printed")
        assert "REFUSED" in printed_text(out.slips(1)[0])


def test_a_narrow_printer_gets_narrow_lines(tmp_path: Path) -> None:
    with paper(columns=42) as (plan, out):
        with screens(house_with(tmp_path, plan), tmp_path, "anna") as (anna,):
            anna.send(GAME, "slip-printed")
        assert max(len(line) for line in printed_text(out.slips(1)[0]).splitlines()) == 42


def test_the_history_of_the_game_names_the_printer(pit: tuple[AwardsHouse, Paper], tmp_path: Path) -> None:
    house, _ = pit
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
        assert "At the printer: pit-1" in anna.page(GAME)


def test_a_file_stands_for_a_printer_until_there_is_one(tmp_path: Path) -> None:
    house = house_with(tmp_path, PrinterPlan("file", "File", tmp_path / "slips.prn"))
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "slip-printed")
    assert "demo-000001" in printed_text((tmp_path / "slips.prn").read_bytes())
