"""Reports against plain SQL on random days: every equation holds, days join, and nothing is counted twice or lost."""

from pathlib import Path

import pytest
from report_house import (
    INSIDE,
    Played,
    column,
    days_of,
    evenly,
    failing,
    made,
    moment,
    moved,
    reading,
    sql,
    table,
    total,
    wagers,
)

from controller.reports.as_csv import as_csv
from controller.reports.as_pdf import as_pdf
from controller.reports.catalogue import REPORTS
from controller.reports.reading import AskedFor, scope_of

SEEDS = (8, 16, 20, 34)
DAYS = days_of("2026-10-30", 4)
"""Around the night of 1 November, when New York has 25 hours; its gaming day is 31 October."""
_PLAYERS = "('players')"


@pytest.fixture(scope="module", params=SEEDS)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random play over four gaming days, with a restart."""
    path = tmp_path_factory.mktemp("played") / "ledger.db"
    play = Played(path, request.param, moment("2026-10-30T06:30"))
    play.go_on(evenly("2026-10-30T07:00", "2026-11-01T00:30", 220))
    play.restart()
    play.go_on(evenly("2026-11-01T00:30", "2026-11-02T12:00", 220))
    return path


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_equation_of_every_report_holds_on_every_day(played: Path, name: str) -> None:
    assert [(day, failing(made(played, name, day)[0])) for day in DAYS] == [(day, []) for day in DAYS]


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_equation_of_every_report_holds_for_the_whole_range(played: Path, name: str) -> None:
    assert failing(made(played, name, since=DAYS[0], until=DAYS[-1])[0]) == []


def test_opening_and_closing_are_what_sql_adds_up(played: Path) -> None:
    for day in DAYS:
        report, scope = made(played, "reconciliation", day)
        own = table(report, "The meter's own money")
        expected = (moved(played, INSIDE, 0, scope.start), moved(played, INSIDE, 0, scope.end))
        assert (total(own, "Opening"), total(own, "Closing")) == expected


def test_contributions_are_what_sql_adds_up(played: Path) -> None:
    for day in DAYS:
        report, scope = made(played, "reconciliation", day)
        own = table(report, "The meter's own money")
        assert total(own, "Contributions") == moved(played, INSIDE, scope.start, scope.end, "lock")


def test_wins_and_seeds_are_what_sql_adds_up(played: Path) -> None:
    report, scope = made(played, "reconciliation", since=DAYS[0], until=DAYS[-1])
    own = table(report, "The meter's own money")
    pending = moved(played, "('pending')", scope.start, scope.end, "hits")
    house = moved(played, "('house')", scope.start, scope.end, "hits")
    assert (total(own, "Wins"), total(own, "Seeds and top-ups")) == (-pending, -house)


def test_a_day_opens_with_what_the_day_before_closed_with(played: Path) -> None:
    reports = [table(made(played, "reconciliation", day)[0], "The meter's own money") for day in DAYS]
    assert [column(each, "Opening") for each in reports[1:]] == [column(each, "Closing") for each in reports[:-1]]


def test_the_days_together_have_every_lock_out_once(played: Path) -> None:
    """Each wager in exactly one gaming day (SD-07)."""
    sheets = [table(made(played, "table-sheet", day)[0], "By gaming day") for day in DAYS]
    counted = [sum(total(sheet, head) for sheet in sheets) for head in ("Games", "Wagers taken", "Wagered")]
    assert tuple(counted) == wagers(played, 0, 1 << 62)


def test_a_table_sheet_counts_the_lock_outs_of_its_day(played: Path) -> None:
    for day in DAYS:
        report, scope = made(played, "table-sheet", day)
        sheet = table(report, "By gaming day")
        counted = tuple(total(sheet, head) for head in ("Games", "Wagers taken", "Wagered"))
        assert counted == wagers(played, scope.start, scope.end)


def test_a_table_sheet_has_the_misdeals_and_late_bets_of_the_ledger(played: Path) -> None:
    report, _ = made(played, "table-sheet", since=DAYS[0], until=DAYS[-1])
    sheet = table(report, "By gaming day")
    voids = sql(played, "SELECT count(*) FROM entry WHERE kind = 'void'")
    late = sql(played, "SELECT count(*) FROM entry WHERE kind = 'notice' AND body LIKE '%late-bet%'")
    assert (total(sheet, "Misdeals"), total(sheet, "Late bets")) == (voids, late)


def test_tables_contributed_what_PLAYERS_were_posted(played: Path) -> None:
    report, scope = made(played, "contribution", since=DAYS[0], until=DAYS[-1])
    rows = table(report, "By table")
    gave = total(rows, "In all") + total(rows, "Voided or put right")
    assert gave == -moved(played, _PLAYERS, scope.start, scope.end)


def test_wins_by_level_of_the_days_add_up_to_those_of_the_range(played: Path) -> None:
    """A range that begins within a game counts the difference, not the game's hands again."""
    whole = table(made(played, "wins", since=DAYS[0], until=DAYS[-1])[0], "By level")
    each = [table(made(played, "wins", day)[0], "By level") for day in DAYS]
    heads = ("Hits", "From meters", "Fixed", "Returned wagers", "Envy to others")
    assert [sum(total(one, head) for one in each) for head in heads] == [total(whole, head) for head in heads]


def test_won_from_meters_is_what_pending_was_posted(played: Path) -> None:
    """D18: what was won is what the meters gave, to the cent."""
    report, scope = made(played, "wins", since=DAYS[0], until=DAYS[-1])
    won = total(table(report, "By level"), "From meters") * 1_000_000
    assert won == moved(played, "('pending')", scope.start, scope.end)


def test_reserve_and_overflow_close_at_what_sql_adds_up(played: Path) -> None:
    report, scope = made(played, "reserve", since=DAYS[0], until=DAYS[-1])
    expected = moved(played, "('reserve', 'overflow')", 0, scope.end)
    assert total(table(report, "By meter"), "Closing") == expected


def test_liability_has_everything_pending(played: Path) -> None:
    report, scope = made(played, "liability", DAYS[1])
    expected = moved(played, "('pending')", 0, scope.end)
    assert total(table(report, "By meter"), "Pending awards") == expected


def test_a_derivation_ends_at_the_display_that_the_ledger_has(played: Path) -> None:
    """D7. Start + every movement = displayed, for each meter by itself (R-60)."""
    with reading(played) as ranges:
        meters = [key[0] for key in ranges.balances("main", 1 << 62) if key[1] == "display"]
    for meter in meters:
        report, _ = made(played, "derivation", since=DAYS[0], until=DAYS[-1], meter=meter)
        rows = report.tables[0]
        last = column(rows, "Entry")[-1]
        query = "SELECT sum(microcents) FROM posting WHERE meter = ? AND account = 'display' AND entry <= ?"
        assert column(rows, "Displayed after")[-1] == sql(played, query, meter, last)


def test_the_meter_sheet_has_the_lifetime_totals_of_the_ledger(played: Path) -> None:
    report, scope = made(played, "meter-sheet", DAYS[2])
    life = table(report, "Lifetime")
    expected = (-moved(played, _PLAYERS, 0, scope.end), -moved(played, "('house')", 0, scope.end))
    assert (total(life, "Contributed"), total(life, "Put in by the house")) == expected


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_finished_day_does_not_change_when_play_goes_on(tmp_path: Path, name: str) -> None:
    """Not by a byte, on paper either."""
    play = Played(tmp_path / "ledger.db", 20, moment("2026-10-30T06:30"))
    play.go_on(evenly("2026-10-30T07:00", "2026-10-31T09:00", 160))
    report, scope = made(play.path, name, DAYS[0])
    before = (as_csv(report, scope.zone), as_pdf(report, scope.zone, scope.end))
    play.restart()
    play.go_on(evenly("2026-10-31T09:00", "2026-11-03T09:00", 160))
    report, scope = made(play.path, name, DAYS[0])
    assert (as_csv(report, scope.zone), as_pdf(report, scope.zone, scope.end)) == before


def test_a_day_not_yet_over_says_so(tmp_path: Path) -> None:
    play = Played(tmp_path / "ledger.db", 16, moment("2026-10-30T06:30"))
    play.go_on(evenly("2026-10-30T07:00", "2026-10-30T12:00", 40))
    report, _ = made(play.path, "reconciliation", DAYS[0])
    assert "not over" in dict(report.facts)["State"]


def test_a_look_at_a_growing_ledger_stays_at_the_entries_it_began_with(tmp_path: Path) -> None:
    """Half of a batch is never in a report: what comes while it reads belongs to the next look."""
    play = Played(tmp_path / "ledger.db", 7, moment("2026-10-30T06:30"))
    play.go_on(evenly("2026-10-30T07:00", "2026-10-30T12:00", 60))
    with reading(play.path) as ranges:
        scope = scope_of(ranges, AskedFor(DAYS[0]))
        before = sql(play.path, "SELECT max(number) FROM entry")
        play.go_on(evenly("2026-10-30T12:00", "2026-10-30T18:00", 60))
        report = REPORTS["reconciliation"].make(ranges, scope)
    own = table(report, "The meter's own money")
    expected = sql(play.path, f"SELECT sum(microcents) FROM posting WHERE account IN {INSIDE} AND entry <= ?", before)
    assert (failing(report), total(own, "Closing")) == ([], expected)
