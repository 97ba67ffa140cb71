"""A copy of a slip is given out once as it was issued, then as a REPRINT; the trail has each (R-58, R-108)."""

import json
from pathlib import Path
from typing import Any

import pytest
from awards_house import AwardsHouse, awards_app
from click.testing import CliRunner, Result
from desk_house import ANNA, BEN, CARL, DORA, Desk
from people_house import BROWSER, SECRET
from report_house import keep
from slip_house import pages_of
from test_award_pages import GAME, MATCH, screens
from test_slip_escpos import printed_text

from controller.acts import Act, Acted, ActRefused, Why
from controller.cli_evidence import evidence_command
from controller.cli_reports import report
from controller.cli_slip import slip
from controller.ledger.place import HeldLedger
from controller.ledger.ranges import Ranges
from controller.ledger.verify import verify
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, scope_of
from controller.vault import Vault, beside
from tests.ledger_house import AT

AGAIN = "REPRINT: THIS COPY WAS GIVEN OUT BEFORE"
COPY = f"{GAME}/2/progressive/slip.pdf?number=1&copy=1"


@pytest.fixture
def house(tmp_path: Path) -> AwardsHouse:
    """Seat 2 of game 1 wins $7,005.03, and its slip is issued as copy 1, given to nobody yet."""
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2, 4)
    made.hit(1, 2, MATCH)
    made.sign("slip-printed", ANNA, game=1, seat=2)
    return made


def words(answer: Any) -> str:
    """The words of a PDF."""
    assert answer.status_code == 200, answer.text
    return " ".join(text for page in pages_of(answer.content) for text in page)


def given(house: AwardsHouse) -> list[tuple[str, bool]]:
    """Who was given a copy, and whether it was the original, oldest first."""
    bodies = [json.loads(one.body) for one in house.reader.entries("main", kinds=("slip-given",))]
    return [(body["by"][0], body["told"]["original"]) for body in reversed(bodies)]


def test_a_copy_is_given_out_unmarked_once_and_every_fetch_is_an_entry(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna", "dora") as (anna, dora):
        marked = [AGAIN in words(one.client.get(COPY, headers=BROWSER)) for one in (anna, anna, dora)]
    assert marked == [False, True, True]
    assert given(house) == [("anna", True), ("anna", False), ("dora", False)]


@pytest.mark.parametrize("name", ["fay", "eve", "hal"])
def test_a_slip_with_a_payee_is_not_for_those_who_print_none(house: AwardsHouse, tmp_path: Path, name: str) -> None:
    with screens(house, tmp_path, name) as (other,):
        assert other.client.get(COPY, headers=BROWSER).status_code == 403
    assert given(house) == []


def test_an_auditor_sees_a_marked_copy_and_takes_the_original_from_nobody(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "gus", "anna") as (gus, anna):
        marked = [AGAIN in words(one.client.get(COPY, headers=BROWSER)) for one in (gus, anna)]
    assert marked == [True, False]


def test_what_a_printer_was_given_comes_as_a_reprint_from_the_pages() -> None:
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, "four-of-a-kind")
    desk.act("slip-printed", ANNA, game=1, seat=3, printer="pit-1")
    assert desk.act("slip-given", ANNA, game=1, seat=3, number=1, copy=1).told == {"original": False}


def test_a_copy_that_was_issued_before_these_rules_may_be_out_already() -> None:
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, "four-of-a-kind")
    desk.floor.rules = 3
    desk.act("slip-printed", ANNA, game=1, seat=3)
    desk.floor.rules = 4
    assert desk.act("slip-given", ANNA, game=1, seat=3, number=1, copy=1).told == {"original": False}
    assert desk.refused("slip-given", ANNA, game=1, seat=3, number=1, copy=2) is Why.NOT_FOUND


def test_while_the_book_is_stopped_a_copy_is_a_reprint_and_its_export_is_entered_later(
    house: AwardsHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped(_book: str, act: Act) -> Acted:
        raise ActRefused(Why.NOT_NOW, "the book is stopped", "call the technician")

    with screens(house, tmp_path, "anna") as (anna,):
        with monkeypatch.context() as shut:
            shut.setattr(house, "act", stopped)
            assert AGAIN in words(anna.client.get(COPY, headers=BROWSER))
        kept = Vault(tmp_path / "people.db").first_kept()
        assert kept is not None
        assert (kept.kind, kept.by[0], "slip 1, copy 1" in kept.fields["what"]) == ("exported", "anna", True)


# ---------------------------------------------------------------------- a refused award's slip, and several books


def refused_and_another() -> Desk:
    """The slip 1 of a refused award, and another hand at its place with slip 2."""
    desk = Desk()
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, "royal-flush-royal-match")
    desk.act("slip-printed", ANNA, game=1, seat=3)
    desk.act("award-refused", ANNA, BEN, game=1, seat=3, reason="misread")
    desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome="four-of-a-kind", reason="read again")
    desk.act("slip-printed", ANNA, game=1, seat=3)
    return desk


def test_the_slip_of_a_refused_award_is_printed_again_as_a_counted_copy_of_its_own_number() -> None:
    desk = refused_and_another()
    assert desk.act("slip-printed", DORA, game=1, seat=3, number=1).told == {"copy": 2, "number": 1}
    assert desk.act("slip-printed", DORA, game=1, seat=3, number=2).told == {"copy": 2, "number": 2}
    assert desk.act("slip-printed", DORA, game=1, seat=3).told == {"copy": 3, "number": 2}
    assert desk.refused("slip-printed", DORA, game=1, seat=3, number=3) is Why.NOT_FOUND


def test_the_slip_register_shows_series_amount_hand_and_state_of_each_slip(tmp_path: Path) -> None:
    desk = refused_and_another()
    desk.act("award-verified", CARL, game=1, seat=3)
    desk.lock(2, 1, 2, 3)
    desk.hit(2, 2, "four-of-a-kind")
    desk.act("award-verified", CARL, game=2, seat=2)
    desk.pay(2, 2, "$105.00", BEN)
    desk.act("slip-printed", ANNA, game=2, seat=2)
    desk.act("paid-in-error", ANNA, BEN, DORA, game=2, seat=2, reason="another seat")
    desk.act("slip-given", DORA, game=2, seat=2, number=3, copy=1)
    path = keep(tmp_path / "ledger.db", desk.floor)
    assert verify(path, replay=True)[0].replayed
    ranges = Ranges(path)
    found = REPORTS["slips"].make(ranges, scope_of(ranges, AskedFor(since="2026-11-20", until="2026-12-20")))
    ranges.close()
    heads = [column.head for column in found.tables[0].columns]
    rows = [dict(zip(heads, row, strict=True)) for row in found.tables[0].rows]
    shown = [tuple(row[head] for head in ("Slip", "Hand", "Award", "State")) for row in rows]
    assert shown[1:] == [("demo-000002", "Four-of-a-kind", 10_500, "verified"),
                         ("demo-000003", "Four-of-a-kind", 10_500, "paid in error")]
    assert (shown[0][0], shown[0][3], found.holds) == ("demo-000001", "refused", True)


# ---------------------------------------------------------------------- meterctl


@pytest.fixture
def boxed(house: AwardsHouse, tmp_path: Path) -> Path:
    """The house's ledger with a vault that knows everybody's secret, and no daemon."""
    awards_app(house, tmp_path)
    return house.path


def ctl(command: Any, *given: object, said: str = SECRET + "\n") -> Result:
    return CliRunner().invoke(command, [str(one) for one in given], input=said)


def kept(ledger: Path) -> tuple[str, str]:
    """What waits to be entered: by whom, and what."""
    found = Vault(beside(ledger)).first_kept()
    return ("", "") if found is None else (found.by[0], found.fields["what"])


ASKED = ("--table", "PG-01", "--game", "1", "--seat", "2")


def test_without_a_daemon_meterctl_slip_asks_who_prints_a_reprint_and_keeps_it(boxed: Path, tmp_path: Path) -> None:
    out = tmp_path / "slips.prn"
    assert ctl(slip, "--ledger", boxed, *ASKED, "--printer", out).exit_code == 2
    assert ctl(slip, "--ledger", boxed, *ASKED, "--printer", out, "--as", "anna", said="wrong\n").exit_code == 2
    assert ctl(slip, "--ledger", boxed, *ASKED, "--printer", out, "--as", "eve").exit_code == 2
    assert (out.exists(), kept(boxed)) == (False, ("", ""))
    made = ctl(slip, "--ledger", boxed, *ASKED, "--printer", out, "--as", "anna")
    assert (made.exit_code, AGAIN in printed_text(out.read_bytes())) == (0, True), made.output
    by, what = kept(boxed)
    assert (by, what.startswith("slip 1, copy 1, of table PG-01, game 1, seat 2, to printer")) == ("anna", True)


def test_while_a_daemon_has_the_ledger_meterctl_slip_goes_through_it_or_not_at_all(boxed: Path, tmp_path: Path) -> None:
    held = HeldLedger(boxed, "a test", "now")
    try:
        made = ctl(slip, "--ledger", boxed, "--url", "http://127.0.0.1:9", *ASKED, "--pdf", tmp_path / "a.pdf",
                   "--as", "anna")
    finally:
        held.close()
    assert (made.exit_code, "no daemon answers" in made.output, (tmp_path / "a.pdf").exists()) == (2, True, False)


@pytest.mark.parametrize("form", [("--csv",), ("--json",), ("--pdf", "made.pdf")])
def test_a_report_that_meterctl_takes_away_is_kept_for_the_trail(
    boxed: Path, tmp_path: Path, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ctl(report, "liability", "--ledger", boxed, "--day", "2026-12-01", *form).exit_code == 0
    assert kept(boxed)[1].startswith(f"report liability as {form[0].strip('-').upper()}, 2026-12-01, by meterctl")


def test_a_report_that_is_only_read_is_no_export(boxed: Path) -> None:
    assert ctl(report, "liability", "--ledger", boxed, "--day", "2026-12-01").exit_code == 0
    assert kept(boxed) == ("", "")


def test_evidence_that_meterctl_makes_is_kept_for_the_trail(boxed: Path, tmp_path: Path) -> None:
    command = evidence_command(lambda: AT, "a test")
    made = ctl(command, "--ledger", boxed, "--table", "PG-01", "--game", "1", "--by", "Anna", "--out",
               tmp_path / "e.zip")
    assert (made.exit_code, "for Anna" in kept(boxed)[1]) == (0, True), made.output


def test_nothing_is_exported_where_it_cannot_be_written_down(boxed: Path, tmp_path: Path) -> None:
    beside(boxed).chmod(0o644)
    command = evidence_command(lambda: AT, "a test")
    out = tmp_path / "e.zip"
    made = ctl(command, "--ledger", boxed, "--table", "PG-01", "--game", "1", "--by", "Anna", "--out", out)
    assert (made.exit_code, "Not exported" in made.output, out.exists()) == (2, True, False)
