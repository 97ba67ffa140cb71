"""What is allowed but worth a second look is remarked, and nothing else."""

import re
from pathlib import Path

import pytest
from floor_files import FLOOR, SHEET_1, SHEET_4, Copy, contract_floor, example_floor

from controller.config import remarks


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


def remarked(copy: Copy) -> str:
    return "\n".join(remarks(*copy.load()))


@pytest.fixture
def quiet(floor: Copy) -> Copy:
    """The contract's floor with a broker: nothing to remark."""
    floor.add('[mqtt]\nhost = "127.0.0.1"')
    assert remarked(floor) == ""
    return floor


def test_a_table_without_any_line_is_remarked(floor: Copy) -> None:
    assert "Table PG-01: its device hub-01 has no [[line]] and there is no [mqtt]" in remarked(floor)


def test_a_sign_with_too_few_digits_for_a_limit_is_remarked(quiet: Copy) -> None:
    quiet.add('[[sign]]\nid = "s"\nkind = "page"\ntable = "PG-03"\ndigits = 7')
    assert remarked(quiet) == (
        "Sign s: 7 digits show at most $99,999.99; the limit of meter pg-solo is $250,000.00: it needs 8 digits."
    )


def test_a_sign_with_enough_digits_for_a_limit_is_not_remarked(quiet: Copy) -> None:
    assert remarked(quiet.add('[[sign]]\nid = "s"\nkind = "page"\ntable = "PG-03"\ndigits = 8')) == ""


def test_a_sign_of_a_meter_without_limit_says_what_it_can_show(quiet: Copy) -> None:
    quiet.add('[[sign]]\nid = "s"\nkind = "page"\ntable = "PG-01"')
    assert remarked(quiet) == (
        "Sign s: 9 digits show at most $9,999,999.99; meter pg-link has no limit and may pass it."
    )


def test_a_bound_that_a_full_table_passes_is_remarked(quiet: Copy) -> None:
    """R-04: 7 wagers of 28 cents are $1.96."""
    quiet.change(FLOOR, '"$5.00"', '"$1.95"')
    assert "Meter pg-solo: a full table PG-03 adds $1.96 in one lock-out" in remarked(quiet)


def test_a_bound_that_a_full_table_just_reaches_is_not_remarked(quiet: Copy) -> None:
    """R-04."""
    assert remarked(quiet.change(FLOOR, '"$5.00"', '"$1.96"')) == ""


def test_a_link_whose_tables_differ_in_rate_is_remarked(tmp_path: Path) -> None:
    """R-47."""
    copy = example_floor(tmp_path, "rate-by-decks", "decks = 3").add('[mqtt]\nhost = "127.0.0.1"')
    copy.add('[[table]]\nid = "U"\ndevice = "hub-u"\nseats = 1\npay_order = [1]\ndecks = 6\n[[table.spot]]\nid = "s"\n'
             'paytable = "rate-by-decks"\nmeters = { main = "m" }')  # fmt: skip
    assert "different rates, because they differ in decks (R-47): 20% at T; 17% at U" in remarked(copy)


def test_a_meter_that_nobody_can_win_is_remarked(quiet: Copy) -> None:
    quiet.change(SHEET_1, 'share = { main = "100%" }', 'pay = "$1.00"')
    quiet.change(SHEET_1, 'share = { main = "10%" }', 'pay = "$1.00"')
    assert "Meter pg-solo: no prize takes a share of it" in remarked(quiet)


def test_envy_that_is_never_due_is_remarked(quiet: Copy) -> None:
    """58 Pa. Code section 688a.1: a qualifying wager is $5 or more."""
    quiet.change(SHEET_4, 'wager = "$5.00"', 'wager = "$4.99"')
    assert "Paytable progressive-4: its envy is never due" in remarked(quiet)


def test_a_rule_of_envy_where_there_is_none_is_remarked(quiet: Copy) -> None:
    quiet.change(FLOOR, "seats = 7", 'seats = 7\nenvy_hand = "any-player"')
    assert "Table PG-03: envy_hand changes nothing" in remarked(quiet)


def test_a_meter_that_starts_under_its_seed_is_remarked(quiet: Copy) -> None:
    """R-11."""
    quiet.change(FLOOR, 'id = "pg-solo"', 'id = "pg-solo"\nbase = "$1.00"')
    assert "Meter pg-solo: starts at $1.00, under its seed" in remarked(quiet)


def test_rates_that_take_more_than_the_wager_are_remarked(quiet: Copy) -> None:
    quiet.change(SHEET_1, 'reserve_rate = "0%"', 'reserve_rate = "73%"')
    assert "Paytable progressive-1: its rates together take more than the whole wager" in remarked(quiet)


def test_a_paytable_without_a_citation_is_remarked(quiet: Copy) -> None:
    """R-17."""
    text = (quiet.folder / SHEET_1).read_text()
    (quiet.folder / SHEET_1).write_text(re.sub(r"^citation = .*\n", "", text, flags=re.M))
    assert "Paytable progressive-1: names no citation" in remarked(quiet)
