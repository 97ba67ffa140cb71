"""Payments, gross, withheld and net, against what the test itself handed out and plain SQL; and rows nobody keys."""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from desk_house import ANNA, BEN, CARL, DORA, Desk, plan_with
from floors import contract_floor, plan_of
from report_house import HOUR, column, days_of, failing, kept, made, sql, table, total

from controller.money import format_cents
from controller.plan import FloorPlan
from controller.reports.as_csv import as_csv
from controller.reports.not_metered import NOT_METERED

DAYS = days_of("2026-12-01", 4)
SPAN = {"since": DAYS[0], "until": DAYS[-1]}
FIXED = {"five-aces": 250_000, "royal-flush": 50_000, "straight-flush": 20_000, "four-of-a-kind": 10_000,
         "7-card-straight-flush-with-joker": 500_000, "royal-flush-royal-match": 500_000}
"""Cents that 58 Pa. Code section 688a.12(d), paytable 4, prints beside each hand; the wager of $5.00 goes back."""
PAPER = {"paper_from": "$200.00", "paper": ["Identity checked"]}
ROYAL = "royal-flush-royal-match"


@dataclass
class Till:
    """What the test handed out itself: the second opinion. Cents."""

    count: int = 0
    fixed: int = 0
    withheld: int = 0
    handed: int = 0
    beyond: int = 0
    by_how: dict[str, int] = field(default_factory=dict)


def due_of(desk: Desk, game: int, seat: int) -> int:
    """What the desk says that an award is due, as a person reads it off the page."""
    found = desk.floor.find_game(f"PG-01/{game}")
    assert found is not None
    award = found.hits[seat, "progressive"]
    return sum(award.shares.values()) + FIXED[award.hit.outcome] + 500


def a_night(seed: int) -> tuple[Desk, Till]:
    """Random awards over four days, each with or without a checklist, paid to the cent or not quite."""
    rng, till, desk = Random(seed), Till(), Desk(plan_with(**PAPER))
    for game in range(1, 41):
        desk.at += 2 * HOUR
        desk.lock(game, 1, 3, 5)
        outcome = rng.choice(list(FIXED))
        desk.hit(game, 3, outcome)
        desk.act("award-verified", ANNA, game=game, seat=3)
        due, withheld = due_of(desk, game, 3), 0
        if due >= 20_000:
            for _ in range(rng.choice((1, 1, 2))):  # a second checklist puts the first one right
                withheld = rng.choice((0, due, due * 24 // 100, 1, rng.randrange(due)))
                desk.act("paper-done", DORA, game=game, seat=3, ticked="Identity checked", taxable="taxable",
                         form=f"W-2G {game}", withheld=format_cents(withheld))
        if rng.random() < 0.15:
            continue  # waits
        how, beyond = rng.choice(("chips", "cash", "cheque", "wire")), rng.choice((0, 0, 0, 5, 90))
        people = (BEN, None, CARL) if beyond else (BEN,)
        desk.act("award-paid", *people, game=game, seat=3, handed=format_cents(due - withheld + beyond),  # type: ignore[arg-type]
                 how=how, **({"reason": "no small chips"} if beyond else {}))
        till.count, till.fixed = till.count + 1, till.fixed + FIXED[outcome] + 500
        till.withheld, till.beyond = till.withheld + withheld, till.beyond + beyond
        till.handed += due - withheld + beyond
        till.by_how[how] = till.by_how.get(how, 0) + due - withheld + beyond
        desk.close(game)
    return desk, till


@pytest.mark.parametrize("seed", range(6))
def test_gross_withheld_and_net_are_what_the_till_and_the_ledger_say(tmp_path: Path, seed: int) -> None:
    """Gross: the printed pay, the wager, and what SQL finds posted as paid. Withheld and handed over: as typed in."""
    desk, till = a_night(seed)
    path = kept(tmp_path / "a.db", desk)
    report, _ = made(path, "payments", **SPAN)
    each = table(report, "Awards paid by people")
    gross = till.fixed + sql(path, "SELECT sum(microcents) FROM posting WHERE account = 'paid'") // 1_000_000
    figures = [total(each, head) for head in ("Gross", "Tax withheld", "Net", "Handed over",
                                              "Handed over beyond the net")]
    assert (len(each.rows), figures, failing(report)) == (
        till.count, [gross, till.withheld, gross - till.withheld, till.handed, till.beyond], [])
    assert gross - till.withheld + till.beyond == till.handed


@pytest.mark.parametrize("seed", range(3))
def test_the_days_and_the_ways_of_paying_add_up_to_the_till(tmp_path: Path, seed: int) -> None:
    desk, till = a_night(seed)
    path = kept(tmp_path / "a.db", desk)
    report, _ = made(path, "payments", **SPAN)
    hows = dict(zip(column(table(report, "By what"), "Paid in"), column(table(report, "By what"), "Handed over"),
                    strict=True))
    days = [table(made(path, "payments", day)[0], "Paid out") for day in DAYS]
    assert (hows, sum(total(day, "Tax withheld") for day in days), sum(total(day, "Handed over") for day in days)) == (
        till.by_how, till.withheld, till.handed)


def test_the_table_sheet_has_the_tax_withheld_beside_what_was_paid(tmp_path: Path) -> None:
    desk, till = a_night(1)
    sheet = table(made(kept(tmp_path / "a.db", desk), "table-sheet", **SPAN)[0], "By gaming day")
    assert (total(sheet, "Tax withheld"), total(sheet, "Paid by slip")) == (till.withheld, till.handed)


def paid_with_tax(change: Any = None) -> Desk:
    """Game 1: a straight flush of $205.00, of which $49.20 is withheld, paid; ``change`` comes before the payment."""
    desk = Desk(plan_with(**PAPER))
    desk.lock(1, 3, 5)
    desk.hit(1, 3, "straight-flush")
    desk.act("award-verified", ANNA, game=1, seat=3)
    desk.act("paper-done", DORA, game=1, seat=3, ticked="Identity checked", taxable="taxable", form="W-2G 7",
             withheld="$49.20")
    if change is not None:
        change(desk)
    desk.pay(1, 3, "$155.80", BEN)
    return desk


def test_an_award_paid_with_a_checklist_shows_its_form_gross_withheld_and_net(tmp_path: Path) -> None:
    each = table(made(kept(tmp_path / "a.db", paid_with_tax()), "payments", DAYS[0])[0], "Awards paid by people")
    heads = ("Gross", "Tax withheld", "Net", "Handed over", "Taxable, form")
    assert [column(each, head) for head in heads] == [[20_500], [4_920], [15_580], [15_580], ["taxable, W-2G 7"]]


def test_a_payment_that_forgets_what_its_checklist_withheld_fails_the_report(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.db", paid_with_tax())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entry SET body = replace(body, ',\"withheld\":4920}', '}') WHERE kind = 'award-paid'")
    database.close()
    assert "tax withheld = what the checklists say" in failing(made(path, "payments", DAYS[0])[0])


def test_a_payment_of_another_amount_than_its_hand_fails_the_report(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.db", paid_with_tax())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entry SET body = replace(body, '\"due\":20500', '\"due\":20600') "
                         "WHERE kind = 'award-paid'")
    database.close()
    assert "awards paid = the hands as they stood when they were paid" in failing(made(path, "payments", DAYS[0])[0])


def test_what_the_dealer_pays_and_envy_stand_beside_what_people_pay(tmp_path: Path) -> None:
    desk = Desk(plan_with({"tray_limit": "$150.00"}))
    desk.lock(1, 3, 5)
    desk.hit(1, 3, "four-of-a-kind")
    desk.hit(1, 5, "straight-flush")
    desk.act("award-verified", ANNA, game=1, seat=5)
    desk.act("envy-paid", CARL, game=1, seat=5, to=3, how="chips")
    desk.act("manual-slip", ANNA, BEN, written="M-7", when="2026-12-01 12:10", seat=3, outcome="royal-flush",
             handed="$50.00", reason="down")
    ways = table(made(kept(tmp_path / "a.db", desk), "payments", DAYS[0])[0], "Paid out")
    assert dict(zip(column(ways, "What"), column(ways, "Handed over"), strict=True)) == {
        "Awards paid by people": 0, "Awards paid by the dealer": 10_500, "Envy paid by people": 2_000,
        "Envy paid by the dealer": 500, "Slips written by hand": 5_000}


def test_a_payment_in_error_stays_paid_and_is_listed(tmp_path: Path) -> None:
    desk = paid_with_tax()
    desk.act("paid-in-error", ANNA, BEN, DORA, game=1, seat=3, reason="another player sat there")
    report, _ = made(kept(tmp_path / "a.db", desk), "payments", DAYS[0])
    assert (total(table(report, "Paid out"), "Gross"), column(table(report, "Found to be paid"), "Reason")) == (
        20_500, ["another player sat there"])


# ---------------------------------------------------------------------- rows that nobody keys


def silent_plan() -> FloorPlan:
    """The contract's floor; four of a kind is paid without being keyed, and earns no envy."""
    floor, paytables = contract_floor()
    for prize in paytables["progressive-4"]["prize"]:
        if prize["outcome"] == "four-of-a-kind":
            prize.pop("envy")
            prize["keyed"] = False
    return plan_of((floor, paytables))


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A day with one royal flush, and nobody knows how many fours of a kind."""
    desk = Desk(silent_plan())
    desk.lock(1, 3, 5)
    desk.hit(1, 3, "royal-flush")
    return kept(tmp_path / "silent.db", desk)


def by_hand(path: Path, paytable: str = "progressive-4") -> dict[object, tuple[object, object]]:
    """By hand: whether it is metered, and its hits."""
    levels = table(made(path, "wins", DAYS[0])[0], "By level")
    rows = zip(column(levels, "Paytable"), column(levels, "Hand"), column(levels, "Metered"), column(levels, "Hits"),
               strict=True)
    return {hand: (metered, hits) for name, hand, metered, hits in rows if name == paytable}


def test_a_row_that_nobody_keys_is_not_metered_and_a_row_without_a_hit_is_zero(silent: Path) -> None:
    found = by_hand(silent)
    assert (found["Four-of-a-kind"], found["Royal flush"], found["Five aces"]) == (
        (NOT_METERED, None), ("yes", 1), ("yes", 0))


def test_hits_that_people_entered_of_a_row_that_nobody_keys_are_told_as_that(tmp_path: Path) -> None:
    desk = Desk(silent_plan())
    desk.lock(1, 3, 5)
    desk.act("hit-added", ANNA, BEN, game=1, seat=3, outcome="four-of-a-kind", reason="a dispute")
    path = kept(tmp_path / "a.db", desk)
    assert by_hand(path)["Four-of-a-kind"] == (f"{NOT_METERED}: only what people entered", 1)


def test_a_row_that_was_keyed_for_a_part_of_the_range_says_so(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 3, 5)
    desk.hit(1, 3, "four-of-a-kind")
    desk.close(1)
    desk.floor.configure(silent_plan(), desk.at)
    assert by_hand(kept(tmp_path / "a.db", desk))["Four-of-a-kind"] == (f"{NOT_METERED} in a part of the range", 1)


@pytest.mark.parametrize("name", ["wins", "table-sheet", "payments"])
def test_every_report_that_counts_hands_names_those_that_nobody_keys(silent: Path, name: str) -> None:
    rows = table(made(silent, name, DAYS[0])[0], "Not metered")
    assert set(zip(column(rows, "Table"), column(rows, "Hand"), column(rows, "Pays"), column(rows, "Hits"),
                   strict=True)) == {(each, "Four-of-a-kind", 10_000, NOT_METERED) for each in ("PG-01", "PG-02")}


def test_the_filing_sheet_says_which_rows_are_not_metered(silent: Path) -> None:
    odds = table(made(silent, "filing", DAYS[0])[0], "Prizes and odds")
    said = [hand for hand, metered in zip(column(odds, "Hand"), column(odds, "Metered"), strict=True)
            if metered == NOT_METERED]
    assert said == ["Four-of-a-kind"]


def test_the_file_writes_not_metered_and_no_figure(silent: Path) -> None:
    report, scope = made(silent, "wins", DAYS[0])
    assert b"progressive-4,Four-of-a-kind,not metered,,,,,,,,,,\r\n" in as_csv(report, scope.zone)


def test_a_floor_that_keys_every_row_has_no_word_of_it(tmp_path: Path) -> None:
    desk = Desk()
    desk.lock(1, 3)
    path = kept(tmp_path / "a.db", desk)
    told = [each.title for name in ("wins", "table-sheet", "payments") for each in made(path, name, DAYS[0])[0].tables]
    assert [title for title in told if "metered" in title] == []
