"""Slips written by hand while the controller was down: what one can say, and that its money counts once (R-58)."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, AT, BEN, CARL, DORA, EVE, HOUR, IDA, Desk, plan_with
from report_house import keep

from controller import award
from controller.acts import Why
from controller.ledger.ranges import Ranges
from controller.ledger.schema import APPLICATION_ID, VERSION
from controller.ledger.verify import verify
from controller.money import format_cents
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, scope_of
from controller.reports.report import Report, Table

TOP = "royal-flush-royal-match"
RECORDED = Path(__file__).parent / "recordings" / "slips-rules-3.sql"
"""Slips, openings and signatures that were taken under rules version 3 and would not be now."""
SAID: dict[str, Any] = {"written": "M-7", "when": "2026-12-01 21:00", "seat": 3, "outcome": "four-of-a-kind",
                        "handed": "$100.00", "reason": "the box was down"}


def desk_of(at: int = AT + HOUR, **awards: Any) -> Desk:
    """A desk an hour after the first game, in which seat 3 holds the four of a kind of $105.00."""
    desk = Desk(plan_with(**awards))
    desk.lock(1, 1, 2, 3)
    desk.hit(1, 3, "four-of-a-kind")
    desk.close(1)
    desk.at = at
    return desk


def wall(desk: Desk, at: int) -> str:
    """An instant as people write it."""
    return desk.plan.local(at).strftime("%Y-%m-%d %H:%M:%S")


def due(desk: Desk, game: int = 1, seat: int = 3) -> str:
    """What an award is due."""
    found = desk.floor.find_game(f"PG-01/{game}")
    assert found is not None
    return format_cents(award.due_cents(found, (seat, "progressive")))


def slip(desk: Desk, *people: Any, **said: Any) -> Any:
    """Enter a slip of now, by two people."""
    return desk.act("manual-slip", *(people or (ANNA, CARL)), **{**SAID, "when": wall(desk, desk.at), **said})


@pytest.mark.parametrize("wrong", [
    {"when": "whenever, tomorrow?"}, {"when": "2026-12-01"}, {"when": "21:00"}, {"when": "2026-02-30 21:00"},
    {"when": "2126-12-01 21:00"}, {"when": "1999-12-01 21:00"}, {"when": "0001-01-01 00:00"}, {"seat": 99},
    {"seat": 0}, {"outcome": "no-such-hand"}, {"handed": "$5,000,000.00"}, {"handed": "$0.00"}])
def test_a_slip_says_what_a_table_can_have_paid(wrong: dict[str, Any]) -> None:
    desk = desk_of()
    now = {"when": wall(desk, desk.at)}
    assert desk.refused("manual-slip", ANNA, CARL, **{**SAID, **now, **wrong}) is Why.WRONG_FIELD
    assert desk.floor.rows.get("manual-slip", {}) == {}


def test_a_slip_of_the_next_minute_is_not_taken_and_one_of_this_minute_is() -> None:
    desk = desk_of()
    later = wall(desk, desk.at + 60_000_000)
    assert desk.refused("manual-slip", ANNA, CARL, **{**SAID, "when": later}) is Why.WRONG_FIELD
    assert slip(desk).told["at"] == desk.at


def test_a_number_is_one_however_its_letters_are_written() -> None:
    desk = desk_of()
    slip(desk)
    assert desk.refused("manual-slip", ANNA, CARL, **{**SAID, "written": "m-7"}) is Why.ALREADY_DONE


def test_a_slip_for_none_of_the_hands_of_a_table_is_signed_by_a_third() -> None:
    desk = desk_of()
    other = {"outcome": "other", "handed": "$1.00"}
    assert desk.refused("manual-slip", ANNA, BEN, **{**SAID, "when": wall(desk, desk.at), **other}) is Why.THIRD_PERSON
    assert slip(desk, ANNA, BEN, IDA, **other).entry


def test_a_hand_without_a_share_of_a_meter_never_paid_more_than_its_row() -> None:
    desk = desk_of()
    more = {**SAID, "when": wall(desk, desk.at), "handed": "$105.01"}
    assert desk.refused("manual-slip", ANNA, BEN, IDA, **more) is Why.WRONG_FIELD
    assert slip(desk, handed="$105.00").entry


def test_more_than_the_meter_shows_but_once_held_is_signed_by_a_third() -> None:
    """The meter was paid out since: what stood on the sign then was more."""
    desk = desk_of()
    desk.lock(2, 1, 2, 3)
    desk.hit(2, 1, "7-card-straight-flush")
    desk.lock(3, 1)
    desk.hit(3, 1, TOP)
    said = {"outcome": "7-card-straight-flush", "handed": "$15,500.00"}
    now = {**SAID, "when": wall(desk, desk.at), **said}
    assert desk.refused("manual-slip", ANNA, BEN, **now) is Why.THIRD_PERSON
    assert slip(desk, ANNA, BEN, DORA, **said).entry


def test_a_slip_as_large_as_what_is_released_is_signed_by_one_who_releases() -> None:
    desk = desk_of(release_from="$100.00", release=["accounting"])
    now = {**SAID, "when": wall(desk, desk.at)}
    assert desk.refused("manual-slip", ANNA, CARL, **now) is Why.THIRD_PERSON
    assert desk.refused("manual-slip", ANNA, BEN, CARL, **now) is Why.NOT_ALLOWED
    assert slip(desk, ANNA, BEN, DORA).entry


# ---------------------------------------------------------------------- paid once, by hand


def test_what_a_slip_has_paid_is_closed_by_it_and_by_nothing_else() -> None:
    desk = desk_of()
    slip(desk, game=1, handed="$105.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    pay = {"game": 1, "seat": 3, "handed": "$105.00"}
    assert desk.refused("award-paid", CARL, **pay, how="chips") is Why.NOT_NOW
    assert desk.refused("award-paid", CARL, None, IDA, **pay, how="cash", reason="x") is Why.NOT_NOW
    done = desk.act("award-paid", CARL, **pay, how="manual-slip", slip="m-7")
    assert (done.told["slip"], done.told["difference"], desk.state(1, 3)) == ("M-7", 0, award.PAID)


def test_a_slip_closes_one_award() -> None:
    desk = desk_of()
    slip(desk, handed="$105.00")
    desk.lock(2, 3, 4)
    desk.hit(2, 3, "four-of-a-kind")
    for game in (1, 2):
        desk.act("award-verified", BEN, game=game, seat=3)
    pay = {"seat": 3, "handed": "$105.00", "how": "manual-slip", "slip": "M-7"}
    desk.act("award-paid", CARL, game=1, **pay)
    assert desk.refused("award-paid", CARL, None, IDA, game=2, reason="r", **pay) is Why.ALREADY_DONE


@pytest.mark.parametrize(("said", "why"), [
    ({"how": "manual-slip"}, Why.WRONG_FIELD), ({"how": "manual-slip", "slip": "M-8"}, Why.NOT_FOUND),
    ({"how": "chips", "slip": "M-7"}, Why.WRONG_FIELD),
    ({"how": "manual-slip", "slip": "M-7", "handed": "$104.99"}, Why.WRONG_FIELD)])
def test_a_payment_names_the_slip_that_paid_it_as_it_was_entered(said: dict[str, Any], why: Why) -> None:
    desk = desk_of()
    slip(desk, handed="$105.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    assert desk.refused("award-paid", CARL, **{"game": 1, "seat": 3, "handed": "$105.00", **said}) is why


def test_an_award_that_a_slip_without_a_game_may_have_paid_is_paid_again_only_by_a_third_with_a_reason() -> None:
    desk = desk_of()
    slip(desk)
    desk.act("award-verified", BEN, game=1, seat=3)
    pay = {"game": 1, "seat": 3, "handed": "$105.00", "how": "chips"}
    assert desk.refused("award-paid", CARL, **pay) is Why.WRONG_FIELD
    assert desk.refused("award-paid", CARL, **pay, reason="another hand") is Why.THIRD_PERSON
    assert desk.act("award-paid", CARL, None, IDA, **pay, reason="another hand").told["handed"] == 10_500


def test_a_game_after_the_slip_is_paid_as_any_other() -> None:
    desk = desk_of()
    slip(desk)
    desk.at += HOUR
    desk.lock(2, 3, 4)
    desk.hit(2, 3, "four-of-a-kind")
    desk.act("award-verified", BEN, game=2, seat=3)
    assert desk.pay(2, 3, due(desk, 2), CARL).told["how"] == "chips"


def test_a_slip_of_another_hand_or_seat_closes_an_award_only_with_a_third_and_a_reason() -> None:
    desk = desk_of()
    slip(desk, seat=2, handed="$105.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    pay = {"game": 1, "seat": 3, "handed": "$105.00", "how": "manual-slip", "slip": "M-7"}
    assert desk.refused("award-paid", CARL, **pay) is Why.WRONG_FIELD
    assert desk.refused("award-paid", CARL, **pay, reason="seat misread") is Why.THIRD_PERSON
    assert desk.act("award-paid", CARL, None, IDA, **pay, reason="seat misread").told["slip"] == "M-7"


@pytest.mark.parametrize(("said", "why"), [
    ({"game": 9}, Why.NOT_FOUND), ({"game": 1, "seat": 2}, Why.NOT_FOUND),
    ({"game": 1, "outcome": "five-aces", "handed": "$100.00"}, Why.NOT_FOUND),
    ({"game": 1, "outcome": "envy", "handed": "$1.00"}, Why.WRONG_FIELD)])
def test_a_slip_that_names_a_game_names_an_award_that_stands(said: dict[str, Any], why: Why) -> None:
    desk = desk_of()
    assert desk.refused("manual-slip", ANNA, CARL, **{**SAID, "when": wall(desk, desk.at), **said}) is why


def test_a_slip_names_no_award_that_is_paid_or_that_another_slip_has_paid() -> None:
    desk = desk_of()
    slip(desk, game=1, handed="$105.00")
    again = {**SAID, "when": wall(desk, desk.at), "written": "M-8", "game": 1}
    assert desk.refused("manual-slip", ANNA, CARL, **again) is Why.ALREADY_DONE
    desk.act("award-verified", BEN, game=1, seat=3)
    desk.act("award-paid", CARL, game=1, seat=3, handed="$105.00", how="manual-slip", slip="M-7")
    assert desk.refused("manual-slip", ANNA, CARL, **again) is Why.ALREADY_DONE


def test_envy_that_a_slip_has_paid_is_not_paid_again() -> None:
    desk = desk_of()
    slip(desk, seat=1, outcome="envy", handed="$5.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    envy = {"game": 1, "seat": 3, "to": 1}
    assert desk.refused("envy-paid", CARL, **envy, how="chips") is Why.THIRD_PERSON
    assert desk.act("envy-paid", CARL, **envy, how="manual-slip", slip="M-7").told["slip"] == "M-7"
    assert desk.refused("envy-paid", EVE, game=1, seat=3, to=2, how="manual-slip", slip="M-7") is Why.NOT_ALLOWED
    assert desk.refused("envy-paid", CARL, game=1, seat=3, to=2, how="manual-slip", slip="M-7") is Why.ALREADY_DONE


# ---------------------------------------------------------------------- counted once, in every report


def reports(desk: Desk, folder: Path, *names: str) -> list[Report]:
    """Reports of the whole time."""
    path = keep(folder / "ledger.db", desk.floor)
    assert verify(path, replay=True)[0].replayed
    ranges = Ranges(path)
    scope = scope_of(ranges, AskedFor(since="2026-11-20", until="2026-12-20"))
    made = [REPORTS[name].make(ranges, scope) for name in names]
    ranges.close()
    assert all(report.holds for report in made)
    return made


def total(table: Table, head: str) -> Any:
    """The sum of a column."""
    place = [column.head for column in table.columns].index(head)
    return sum(row[place] or 0 for row in table.rows if isinstance(row[place], int))


def test_what_a_slip_written_by_hand_has_paid_counts_once_in_every_report(tmp_path: Path) -> None:
    desk = desk_of()
    slip(desk, game=1, handed="$105.00")
    slip(desk, written="M-8", seat=1, outcome="envy", handed="$5.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    desk.act("award-paid", CARL, game=1, seat=3, handed="$105.00", how="manual-slip", slip="M-7")
    desk.act("envy-paid", CARL, game=1, seat=3, to=1, how="manual-slip", slip="M-8")
    sheet, paid = reports(desk, tmp_path, "table-sheet", "payments")
    by = {head: total(sheet.tables[0], head) for head in ("By slips written by hand", "Paid by slip", "Envy paid")}
    assert by == {"By slips written by hand": 11_000, "Paid by slip": 0, "Envy paid": 0}
    for table in paid.tables[:3]:
        assert [total(table, head) for head in ("Payments", "Gross", "Handed over")] == [2, 11_000, 11_000]


def test_an_award_beyond_its_slip_counts_the_difference_and_what_is_withheld(tmp_path: Path) -> None:
    desk = desk_of()
    slip(desk, game=1, handed="$100.00")
    desk.act("award-verified", BEN, game=1, seat=3)
    desk.act("award-paid", CARL, None, IDA, game=1, seat=3, handed="$100.00", how="manual-slip", slip="M-7",
             reason="the wager was not returned")
    (paid,) = reports(desk, tmp_path, "payments")
    assert [total(paid.tables[0], head) for head in ("Gross", "Net", "Handed over", "Handed over beyond the net")] == [
        10_500, 10_500, 10_000, -500]


def test_slips_openings_and_signatures_of_before_are_replayed_by_their_own_rules(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as database:
        database.executescript(RECORDED.read_text())
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.close()
    assert verify(path, replay=True)[0].replayed
    ranges = Ranges(path)
    register = REPORTS["slips"].make(ranges, scope_of(ranges, AskedFor(since="2026-11-20", until="2026-12-20")))
    ranges.close()
    assert [check.what for check in register.checks if not check.holds] == [
        "numbers of slips written by hand that stand twice"], "M-7 and m-7 were taken"
