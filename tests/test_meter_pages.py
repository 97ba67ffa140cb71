"""The pages of meters: what waits, what adds up, who sees which form, and what is repeated before it is booked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, BEN, CARL, DORA
from fastapi.testclient import TestClient
from meter_house import ADJUST, CENT, OPENING, RETIRE, TENTH, TWO, WHY, accepting, meter_plan, noticed
from meters_house import MeterScreen, MetersHouse, meters_app, part_of, plain

from controller.ledger.verify import verify
from controller.meter_file import read_meter
from controller.web.meter_pages import span

HOUR_US = 3_600_000_000
LOCAL: dict[str, Any] = {"follow_redirects": False, "client": ("127.0.0.1", 50_000)}
REASONED = {"reason": "the sign and the meter differed", "approval": "PGCB-17"}


@pytest.fixture
def house(tmp_path: Path) -> MetersHouse:
    return MetersHouse(tmp_path)


@pytest.fixture
def screen(house: MetersHouse, tmp_path: Path) -> Iterator[MeterScreen]:
    app = meters_app(house, tmp_path)
    with TestClient(app, **LOCAL) as client:
        yield MeterScreen(client)


def carl(screen: MeterScreen) -> MeterScreen:
    """A shift manager of table games signs in."""
    screen.sign_in("carl")
    return screen


# ---------------------------------------------------------------------- all meters


def test_nobody_sees_the_meters_pages_without_signing_in(screen: MeterScreen) -> None:
    statuses = [screen.client.get(path, headers={"accept": "text/html"}).status_code
                for path in ("/meters", "/meters/pg-link")]
    assert statuses == [303, 303]


def test_every_meter_stands_there_in_the_floor_s_words(screen: MeterScreen, house: MetersHouse) -> None:
    house.wager(40)
    words = carl(screen).words(part="meter-pg-link")
    assert words.startswith("Face Up Pai Gow Link pg-link $10,002.00 Next-jackpot money $2.00 Above the limit $0.00")
    assert words.endswith("Awards not yet paid $0.00 Limit none Seed $10,000.00 Hits 0 Fed by PG-01, PG-02")


def test_no_page_speaks_of_what_only_the_ledger_knows(screen: MeterScreen, house: MetersHouse) -> None:
    house.sign("meter-adjusted", *TWO, **ADJUST | {"direction": "lower", "code": "malfunction-correction"})
    carl(screen)
    words = screen.words() + screen.words("/meters/pg-link")
    assert not re.search(r"\b(boot|seq|posting|reserve|overflow|microcents|meter-adjusted)\b", words)


def test_a_notice_due_says_how_long_is_left(screen: MeterScreen, house: MetersHouse) -> None:
    """R-38."""
    lower(house)
    house.later(60)
    words = carl(screen).words(part="due")
    assert "Time left: 23 h 0 min. Report that Face Up Pai Gow Link was lowered by $250.00" in words


def lower(house: MetersHouse) -> int:
    """pg-link is lowered by $250.00; returns the entry."""
    lowering = {"direction": "lower", "by_amount": "$250.00", "code": "malfunction-correction"}
    return house.sign("meter-adjusted", *TWO, **ADJUST | lowering).entry


def test_a_late_notice_is_marked(screen: MeterScreen, house: MetersHouse) -> None:
    lower(house)
    house.later(25 * 60)
    page = carl(screen).page()
    assert "duty-late" in page
    assert "Late by 1 h 0 min" in plain(page)


def test_a_notice_that_was_sent_is_off_the_page(screen: MeterScreen, house: MetersHouse) -> None:
    number = lower(house)
    told = carl(screen).act("notice-sent", "act-sent-01", {
        name: str(value) for name, value in noticed(house, number).items()} | {"how": "by mail"})  # type: ignore[arg-type]
    assert told.startswith("Done")
    assert "Report that" not in screen.words()


def test_announced_retirements_and_new_meters_stand_among_what_waits(tmp_path: Path) -> None:
    """R-44, R-46."""
    house = MetersHouse(tmp_path, meter_plan(new=False))
    house.configure(meter_plan())
    house.sign("retirement-announced", *TWO, meter="pg-link", effective="2026-12-31", **WHY)
    with TestClient(meters_app(house, tmp_path), **LOCAL) as client:
        words = carl(MeterScreen(client)).words(part="due")
        assert "To be opened: Face Up Pai Gow Next is new" in words
        assert "Face Up Pai Gow Link , noticed 2026-12-01, may be retired from 2026-12-31" in words
        house.sign("opening-entered", DORA, **OPENING)
        words = screen_words(client)
        assert "opens at $10,500.00 , of it $500.00 from the old link. Entered by dora (accounting" in words


def screen_words(client: TestClient) -> str:
    """What waits, for whoever is signed in."""
    return MeterScreen(client).words(part="due")


@pytest.mark.parametrize(("microseconds", "words"), [
    (59_000_000, "less than a minute"), (60_000_000, "1 min"), (HOUR_US, "1 h 0 min"), (47 * HOUR_US, "47 h 0 min"),
    (48 * HOUR_US, "2 days")])
def test_a_span_is_told_in_minutes_hours_or_days(microseconds: int, words: str) -> None:
    assert span(microseconds) == words


# ---------------------------------------------------------------------- one meter


def test_a_meter_that_is_not_there_is_told_so(screen: MeterScreen) -> None:
    assert carl(screen).client.get("/meters/pg-nowhere").status_code == 404


def amounts(table: str) -> list[int]:
    """The amounts of a table that adds up, in hundred-millionths of a dollar."""
    found = re.findall(r"<td>(-?)\$([\d,]+)\.(\d+)</td>", table)
    return [int(sign + "1") * int(whole.replace(",", "") + part.ljust(8, "0")) for sign, whole, part in found]


def sums(page: str) -> dict[str, list[int]]:
    """The two tables that add up, by name."""
    return {name: amounts(body) for name, body in
            re.findall(r'<table class="sum" aria-label="([^"]+)">(.*?)</table>', page, re.S)}


def test_what_a_meter_holds_and_where_it_came_from_both_add_up(screen: MeterScreen, house: MetersHouse) -> None:
    """R-05: wagers, a hit that is paid, adjustments, a transfer; re-added from the page alone."""
    house.wager(41)
    house.lock(42, 1)
    house.hit(42, 1, TENTH)
    house.say("close", 42)
    lower(house)
    house.sign("award-verified", ANNA, game=42, seat=1)
    due = house.game(42).awards[0].life.due_cents
    house.sign("award-paid", BEN, game=42, seat=1, handed=f"${due // 100:,}.{due % 100:02d}", how="chips")
    for table in ("PG-01", "PG-02"):
        house.sign("table-closed", CARL, table=table)
    house.sign("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY)
    carl(screen)
    for meter in ("pg-link", "pg-next"):
        made = sums(screen.page(f"/meters/{meter}"))
        held = house.board.meters[meter]
        inside = held.display_microcents + held.reserve_microcents + held.overflow_microcents + held.pending_microcents
        for parts in made.values():
            assert sum(parts[:-1]) == parts[-1] == inside
        assert len(made) == 2


def test_what_people_adjusted_stands_apart_from_what_the_house_seeded(screen: MeterScreen, house: MetersHouse) -> None:
    house.wager(40)
    lower(house)
    came = sums(carl(screen).page("/meters/pg-link"))["Where it came from"]
    dollar = 100 * CENT
    assert came == [10_000 * dollar, 4 * dollar, -250 * dollar, 0, 9_754 * dollar]


def test_a_new_meter_s_opening_is_the_house_s_seed_and_no_adjustment(tmp_path: Path) -> None:
    house = MetersHouse(tmp_path, meter_plan(new=False))
    house.configure(meter_plan())
    house.sign("opening-entered", DORA, **OPENING)
    house.sign("opening-accepted", CARL, **accepting())
    file = read_meter(house.reader, house.plan, "pg-next")
    assert (file.adjusted, [change.kind for change in file.changes]) == (0, ["opening-accepted", "opening-entered"])


def test_the_parameters_stand_there_as_they_are_filed(screen: MeterScreen) -> None:
    """R-01, R-02."""
    words = carl(screen).words("/meters/pg-solo", "filed")
    for filed in ("First amount (base) $10,000.00", "Amount after a win (seed) $10,000.00", "Rate of progression 28%",
                  "Rate for next-jackpot money 0%", "Limit $250,000.00", "Most of one lock-out $5.00",
                  "Above the limit goes to the next jackpot", "Shares are rounded down",
                  "Left below the seed the house tops it up"):
        assert filed in words


def test_the_history_says_who_when_and_from_what_to_what(screen: MeterScreen, house: MetersHouse) -> None:
    """R-38."""
    number = lower(house)
    words = carl(screen).words("/meters/pg-link", f"entry-{number}")
    assert words.startswith("Adjust a meter 17:00:00")
    for said in ("Shown: $10,000.00 to $9,750.00", "Raise or lower: lower", "By how much: $250.00",
                 "Number of the approval: PGCB-17",
                 "Signed by carl (shift-manager, table-games), dora (accounting, accounting)"):
        assert said in words


def test_a_transfer_stands_in_the_history_of_both_meters(screen: MeterScreen, house: MetersHouse) -> None:
    house.wager(1)
    for table in ("PG-01", "PG-02"):
        house.sign("table-closed", CARL, table=table)
    number = house.sign("meter-transferred", *TWO, meter="pg-link", to="pg-next", **WHY).entry
    carl(screen)
    shown = [screen.words(f"/meters/{meter}", f"entry-{number}") for meter in ("pg-link", "pg-next")]
    assert ["Shown: $10,000.05 to $10,000.00" in shown[0], "Shown: $10,000.00 to $10,000.05" in shown[1]] == [True] * 2


def forms(page: str) -> list[str]:
    """The changes that a page offers."""
    return re.findall(r'name="kind" value="([^"]+)"', page)


@pytest.mark.parametrize(("person", "meter", "offered"), [
    ("carl", "pg-link", ["meter-adjusted", "meter-transferred", "retirement-announced"]),
    ("dora", "pg-next", ["meter-adjusted", "meter-transferred", "reserve-to-house", "seed-recovered",
                         "retirement-announced"]),
    ("carl", "pg-solo", ["meter-adjusted", "retirement-announced"]),
    ("anna", "pg-link", []), ("gus", "pg-link", []), ("hal", "pg-next", []),
])
def test_a_form_stands_only_where_a_role_may_and_the_meter_can(
    screen: MeterScreen, person: str, meter: str, offered: list[str]
) -> None:
    screen.sign_in(person)
    assert forms(screen.page(f"/meters/{meter}")) == offered


def test_a_retired_meter_offers_nothing_and_says_so(screen: MeterScreen, house: MetersHouse) -> None:
    for table in ("PG-01", "PG-02"):
        house.sign("table-closed", CARL, table=table)
    house.sign("retirement-announced", *TWO, meter="pg-link", effective="2026-12-01", **WHY)
    house.sign("meter-retired", *TWO, **RETIRE)
    page = carl(screen).page("/meters/pg-link")
    assert (forms(page), plain(part_of(page, "state"))) == ([], "retired")


# ---------------------------------------------------------------------- before it is booked


def test_a_change_is_repeated_in_full_before_it_is_booked(screen: MeterScreen, house: MetersHouse) -> None:
    """DI-03."""
    house.wager(40)
    answer = carl(screen).ask("pg-link", "meter-adjusted", direction="lower", by_amount="$2.00",
                              code="malfunction-correction", **REASONED)
    assert answer.status_code == 200
    assert plain(part_of(answer.text, "sentence")) == "Lower Face Up Pai Gow Link from $10,002.00 to $10,000.00"
    assert house.board.meters["pg-link"].display_microcents == 1_000_200 * CENT


def test_what_was_repeated_is_booked_with_the_second_person_s_secret(screen: MeterScreen, house: MetersHouse) -> None:
    answer = carl(screen).ask("pg-link", "meter-adjusted", direction="raise", by_amount="$1,234.56", code="restoration",
                              **REASONED)
    assert screen.book(answer.text, "dora") == "Done: Adjust a meter."
    assert house.board.meters["pg-link"].display_microcents == 1_123_456 * CENT
    assert verify(house.path)


def test_the_same_page_sent_twice_books_once(screen: MeterScreen, house: MetersHouse) -> None:
    """MO-06."""
    answer = carl(screen).ask("pg-link", "meter-adjusted", direction="raise", by_amount="$1.00", code="restoration",
                              **REASONED)
    told = [screen.book(answer.text, "dora") for _ in range(2)]
    assert told == ["Done: Adjust a meter.", "It was done already: Adjust a meter."]
    assert house.board.meters["pg-link"].display_microcents == 1_000_100 * CENT


def test_one_department_alone_books_nothing(screen: MeterScreen, house: MetersHouse) -> None:
    answer = carl(screen).ask("pg-link", "meter-adjusted", direction="raise", by_amount="$1.00", code="restoration",
                              **REASONED)
    assert "Not done" in screen.book(answer.text, "anna")
    assert house.board.meters["pg-link"].display_microcents == 1_000_000 * CENT


@pytest.mark.parametrize(("amount", "told"), [
    ("$10,000.01", "the meter stands at $10,000.00"), ("1.000", "By how much: not an amount"),
    ("10,00", "By how much: not an amount"), ("$5", ""), ("5e3", "By how much: not an amount"),
    ("$0.00", "nothing is to be moved")])
def test_what_cannot_be_is_told_before_anybody_signs(screen: MeterScreen, amount: str, told: str) -> None:
    """DI-03, MO-03: anything ambiguous is refused, with the form that is accepted."""
    answer = carl(screen).ask("pg-link", "meter-adjusted", direction="lower", by_amount=amount,
                              code="malfunction-correction", **REASONED)
    assert answer.status_code == (409 if told else 200)
    assert told in plain(answer.text)


def test_asking_changes_nothing_in_the_ledger(screen: MeterScreen, house: MetersHouse) -> None:
    head = house.reader.heads()
    screen.sign_in("dora")
    head = house.reader.heads()
    screen.ask("pg-link", "meter-adjusted", direction="raise", by_amount="$1.00", code="restoration", **REASONED)
    screen.ask("pg-link", "meter-adjusted", direction="lower", by_amount="$99,999.00", code="restoration", **REASONED)
    assert house.reader.heads() == head


def test_a_transfer_is_repeated_with_every_amount_of_both_meters(screen: MeterScreen, house: MetersHouse) -> None:
    house.wager(40)
    for table in ("PG-01", "PG-02"):
        house.sign("table-closed", CARL, table=table)
    answer = carl(screen).ask("pg-link", "meter-transferred", to="pg-next", **REASONED)
    assert plain(part_of(answer.text, "sentence")) == "Move $4.00 from Face Up Pai Gow Link to Face Up Pai Gow Next"
    words = plain(part_of(answer.text, "moves"))
    assert words == ("Meter Before After Face Up Pai Gow Link: shown $10,002.00 $10,000.00 "
                     "Face Up Pai Gow Link: next-jackpot money $2.00 $0.00 "
                     "Face Up Pai Gow Next: shown $10,000.00 $10,002.00 "
                     "Face Up Pai Gow Next: next-jackpot money $0.00 $2.00")
    assert screen.book(answer.text, "dora") == "Done: Transfer a meter."


@pytest.mark.parametrize(("kind", "fields", "sentence"), [
    ("retirement-announced", {"effective": "2026-12-31"},
     "Announce today, 2026-12-01, that Face Up Pai Gow Next may be retired from 2026-12-31"),
    ("reserve-to-house", {"by_amount": "$1.50"},
     "Take $1.50 of Face Up Pai Gow Next's next-jackpot money for the house"),
    ("seed-recovered", {"by_amount": "$0.50"},
     "Take $0.50 of seed back from Face Up Pai Gow Next: from $10,002.00 to $10,001.50"),
])
def test_every_change_has_its_sentence(
    screen: MeterScreen, house: MetersHouse, kind: str, fields: dict[str, str], sentence: str
) -> None:
    house.wager(40, "PG-04")
    answer = carl(screen).ask("pg-next", kind, **fields, **REASONED)
    assert plain(part_of(answer.text, "sentence")) == sentence
    assert screen.book(answer.text, "dora").startswith("Done")


def test_a_meter_is_retired_page_by_page(screen: MeterScreen, house: MetersHouse) -> None:
    for table in ("PG-01", "PG-02"):
        house.sign("table-closed", CARL, table=table)
    carl(screen)
    announced = screen.ask("pg-link", "retirement-announced", effective="2026-12-01", **REASONED)
    screen.book(announced.text, "dora")
    answer = screen.ask("pg-link", "meter-retired", **REASONED)
    assert plain(part_of(answer.text, "sentence")) == (
        "Retire Face Up Pai Gow Link for good: its $10,000.00 goes back to the house, and it never takes a wager again")
    assert screen.book(answer.text, "dora") == "Done: Retire a meter."


def test_a_new_meter_is_opened_by_two_screens(tmp_path: Path) -> None:
    """R-44: the one enters it, the other accepts what was entered."""
    house = MetersHouse(tmp_path, meter_plan(new=False))
    house.configure(meter_plan())
    app = meters_app(house, tmp_path)
    with TestClient(app, **LOCAL) as one, TestClient(app, **LOCAL) as other:
        enters, accepts = carl(MeterScreen(one)), MeterScreen(other)
        accepts.sign_in("dora")
        asked = enters.ask("pg-next", "opening-entered", **{
            name: value for name, value in OPENING.items() if name != "meter"})
        assert plain(part_of(asked.text, "sentence")) == (
            "Open Face Up Pai Gow Next at $10,500.00, of it $500.00 brought in from the old link")
        enters.book(asked.text)
        assert forms(enters.page("/meters/pg-next")) == ["opening-entered"]
        assert forms(accepts.page("/meters/pg-next")) == ["opening-accepted", "opening-entered"]
        repeated = accepts.ask("pg-next", "opening-accepted", **{
            name: value for name, value in accepting().items() if name != "meter"})
        assert accepts.book(repeated.text) == "Done: Accept a new meter's opening."
    assert house.floor.meters["pg-next"].display == 1_050_000 * CENT


def test_a_form_of_another_session_repeats_nothing(screen: MeterScreen) -> None:
    """WE-02."""
    carl(screen)
    answer = screen.client.post("/meters/pg-link/confirm", headers=screen.origin,
                                data={"csrf": "x" * 24, "kind": "meter-adjusted"})
    assert answer.status_code == 403


def test_somebody_without_the_right_is_told_so_before_a_secret_is_typed(screen: MeterScreen) -> None:
    """WE-03."""
    screen.sign_in("anna")
    answer = screen.ask("pg-link", "meter-adjusted", direction="raise", by_amount="$1.00", code="restoration",
                        **REASONED)
    assert (answer.status_code, "anna (supervisor, table-games) may not do this" in plain(answer.text)) == (409, True)


def test_what_people_write_is_shown_as_text(screen: MeterScreen, house: MetersHouse) -> None:
    """WE-01."""
    number = house.sign("meter-adjusted", *TWO, **ADJUST | {"reason": "<script>alert(1)</script>"}).entry
    page = part_of(carl(screen).page("/meters/pg-link"), f"entry-{number}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
