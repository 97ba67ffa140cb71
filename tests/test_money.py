"""Money is whole numbers: what may be written, what is shown, and the one place that rounds (design section 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.money import (
    MICROCENTS_PER_CENT,
    PPM,
    Rounding,
    format_cents,
    format_microcents,
    format_rate,
    parse_money,
    parse_rate,
    share_of_meter,
    whole_cents,
)

DISPLAYS = st.integers(0, 900_000_000_000 * MICROCENTS_PER_CENT)
SHARES = st.integers(1, PPM)


@pytest.mark.parametrize(
    ("text", "cents"),
    [("$0.00", 0), ("$0.07", 7), ("$1", 100), ("$500", 50_000), ("$1000.00", 100_000), ("$1,450,000.00", 145_000_000)],
)
def test_money_is_dollars_with_or_without_cents_and_separators(text: str, cents: int) -> None:
    assert parse_money(text) == cents


@pytest.mark.parametrize(
    "text",
    ["", "500", "500.00", "$", "$5.0", "$5.000", "$1,00.00", "$10,0000", "-$5.00", "$-5.00", "$5,00", "$ 5.00",
     " $5.00", "$5.00\n", "$1e3", "€5.00", "$٥.00", "$10_000.00", "$.50", "$12345678901.00"],
)  # fmt: skip
def test_money_in_any_other_form_is_refused(text: str) -> None:
    """DI-03, CF-01: one accepted form, in every locale."""
    with pytest.raises(ValueError, match="is not money"):
        parse_money(text)


@pytest.mark.parametrize(
    ("text", "ppm"),
    [("0%", 0), ("1%", 10_000), ("28%", 280_000), ("29%", 290_000), ("1.5%", 15_000), ("0.0001%", 1), ("100%", PPM)],
)
def test_a_rate_is_a_percentage_up_to_a_hundred(text: str, ppm: int) -> None:
    assert parse_rate(text) == ppm


@pytest.mark.parametrize(
    "text",
    ["", "28", ".28", "0.28", "28e-2%", "28 %", "-1%", "100.0001%", "101%", "1.00001%", "28,5%", "%", "1.%", "28%\n",
     "0.333333333333333333333333333333%", "٢%"],
)  # fmt: skip
def test_a_rate_in_any_other_form_or_range_is_refused(text: str) -> None:
    """CF-02: percent has one form with its unit; out of range is refused, thirty decimals too."""
    with pytest.raises(ValueError, match="is not a rate"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["28%", "7%", "29%", "1%", "17%", "26%", "1.5%", "0.0001%", "33.3333%", "100%", "0%"])
def test_a_rate_is_shown_with_the_digits_that_were_written(text: str) -> None:
    """CF-02."""
    assert format_rate(parse_rate(text)) == text


@given(st.integers(0, 899_999_999_999))
def test_money_shown_reads_back_as_the_same_cents(cents: int) -> None:
    assert parse_money(format_cents(cents)) == cents


def test_a_million_five_dollar_wagers_at_29_percent_add_exactly_1450000_dollars() -> None:
    """CF-02: no drift (R-15)."""
    assert format_microcents(1_000_000 * parse_money("$5.00") * parse_rate("29%")) == "$1,450,000.00"


def test_a_negative_amount_is_shown_with_its_sign_before_the_dollar() -> None:
    assert format_cents(-1_234_505) == "-$12,345.05"


def test_a_fraction_of_a_cent_is_never_shown() -> None:
    assert format_microcents(2 * MICROCENTS_PER_CENT - 1) == "$0.01"


def test_whole_cents_go_toward_zero_on_both_sides() -> None:
    assert (whole_cents(1_999_999), whole_cents(-1_999_999)) == (1, -1)


def test_a_share_is_rounded_up_in_the_players_favour() -> None:
    """R-16: 10% of $10,000.28 is $1,000.028."""
    assert share_of_meter(1_000_028 * MICROCENTS_PER_CENT, 100_000, Rounding.UP) == 100_003


def test_a_share_is_rounded_down_where_the_policy_says_so() -> None:
    """R-16."""
    assert share_of_meter(1_000_028 * MICROCENTS_PER_CENT, 100_000, Rounding.DOWN) == 100_002


def test_a_share_that_is_whole_cents_is_not_rounded() -> None:
    assert share_of_meter(1_000_000 * MICROCENTS_PER_CENT, 200_000, Rounding.UP) == 200_000


def test_the_whole_meter_is_its_whole_cents_even_rounded_up() -> None:
    assert share_of_meter(1_000_000 * MICROCENTS_PER_CENT + 999_999, PPM, Rounding.UP) == 1_000_000


@given(DISPLAYS, SHARES, st.sampled_from(Rounding))
def test_a_share_never_takes_more_than_the_meters_whole_cents(display: int, share: int, rounding: Rounding) -> None:
    """R-16."""
    assert 0 <= share_of_meter(display, share, rounding) <= display // MICROCENTS_PER_CENT


@given(DISPLAYS, SHARES)
def test_rounding_up_and_down_differ_by_at_most_a_cent(display: int, share: int) -> None:
    up, down = (share_of_meter(display, share, rounding) for rounding in (Rounding.UP, Rounding.DOWN))
    assert up - down in (0, 1)
