"""A configuration is read whole or refused whole, with file, key and what to do (CF-01, CF-02).

Each test changes one thing of the contract's floor, which is a good one.
"""

import re
from pathlib import Path

import pytest
from floor_files import FLOOR, SHEET_1, SHEET_4, Copy, contract_floor, example_floor


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


# --- What is refused: money and rates ---


def test_a_problem_says_file_key_what_and_remedy(floor: Copy) -> None:
    floor.change(FLOOR, "tie_policy", "tie_polcy")
    assert 'floor.toml: [[meter]] "pg-link" tie_polcy: unknown key; did you mean "tie_policy"?' in floor.refused()


@pytest.mark.parametrize(
    "limit", ["250000", "250000.00", "2.5e5", '"250000"', '"$250,000.0"', '"$2,50,000"', "true", "[]"]
)
def test_money_in_any_other_form_is_refused(floor: Copy, limit: str) -> None:
    """CF-01, CF-02: no number, no other form."""
    floor.change(FLOOR, '"$250,000.00"', limit)
    assert re.search(r'^floor\.toml: \[\[meter\]\] "pg-solo" limit: .* is not money; write dollars', floor.refused())


@pytest.mark.parametrize(
    "rate", ["28", "0.28", "28e-2", '".28"', '"28"', '"28 %"', '"128%"', '"-1%"', '"1.00001%"', "{}"]
)
def test_a_rate_in_any_other_form_is_refused(floor: Copy, rate: str) -> None:
    """CF-01, CF-02."""
    floor.change(SHEET_1, '"28%"', rate)
    assert "paytables/progressive-1.toml: [meter.main] rate_of_progression: " in floor.refused()


def test_a_refused_number_is_shown_as_it_was_written(floor: Copy) -> None:
    """CF-02: not as its nearest binary fraction."""
    floor.change(SHEET_1, '"28%"', "0.28000000000000000001")
    assert "0.28000000000000000001 is not a rate" in floor.refused()


@pytest.mark.parametrize("share", ['"0%"', '"101%"', "100", '"half"'])
def test_a_share_is_above_0_and_up_to_100_percent(floor: Copy, share: str) -> None:
    floor.change(SHEET_1, '"10%"', share)
    assert 'progressive-1.toml: [[prize]] "five-aces" share: ' in floor.refused()


@pytest.mark.parametrize(
    "pay", ['"500 for 2"', '"500 to one"', '"-1 to 1"', '"1,00 for 1"', "500", '"9,000,000,000 for 1"']
)
def test_a_prize_is_money_or_odds(floor: Copy, pay: str) -> None:
    floor.change(SHEET_1, 'pay = "$500.00"', f"pay = {pay}")
    assert 'progressive-1.toml: [[prize]] "royal-flush" pay: ' in floor.refused()


@pytest.mark.parametrize("wager", ['"$0.00"', '"$100,000.01"', "1"])
def test_a_wager_is_at_least_a_cent_and_fits_a_message(floor: Copy, wager: str) -> None:
    floor.change(SHEET_1, '"$1.00"', wager)
    assert "progressive-1.toml: wager: " in floor.refused()


@pytest.mark.parametrize(
    "seed", ['"$9,000,000,000.00"', '"900000000 x wager"', '"0 x wager"', '"x wager"', '"2000 * wager"']
)
def test_a_seed_is_money_or_a_multiple_of_the_wager_in_bounds(floor: Copy, seed: str) -> None:
    if "900000000 " in seed:
        floor.change(SHEET_1, '"$1.00"', '"$100.00"')
    floor.change(SHEET_1, '"$10,000.00"', seed)
    assert "progressive-1.toml: [meter.main] seed: " in floor.refused()


def test_a_row_under_which_nothing_is_due_is_refused(floor: Copy) -> None:
    floor.change(SHEET_1, 'pay = "$500.00"', "")
    assert 'progressive-1.toml: [[prize]] "royal-flush" pay: nothing is due' in floor.refused()


@pytest.mark.parametrize("limit", ["$10,000.00", "$9,999.99"])
def test_a_limit_stands_above_the_seed(floor: Copy, limit: str) -> None:
    floor.change(FLOOR, "$250,000.00", limit)
    assert '[[meter]] "pg-solo" limit: not above the seed' in floor.refused()


def test_a_base_does_not_stand_above_the_limit(floor: Copy) -> None:
    floor.change(FLOOR, 'limit = "$250,000.00"', 'limit = "$250,000.00"\nbase = "$250,000.01"')
    assert '[[meter]] "pg-solo" base: above the limit' in floor.refused()


# --- What is refused: policies ---


@pytest.mark.parametrize(
    ("key", "choices"),
    [
        ("tie_policy", '"split", "sequential"'),
        ("order", '"partials-first", "pay-order"'),
        ("below_seed", '"allow", "top-up"'),
        ("reserve_surplus", '"keep", "add"'),
        ("rounding", '"up", "down"'),
        ("overflow", '"next-meter", "keep"'),
    ],
)
def test_a_missing_policy_is_named_with_its_choices(floor: Copy, key: str, choices: str) -> None:
    """Design section 4: no policy has a default."""
    text = (floor.folder / FLOOR).read_text()
    (floor.folder / FLOOR).write_text(re.sub(rf'^{key} = ".*\n', "", text, count=1, flags=re.M))
    assert floor.refused() == f'floor.toml: [[meter]] "pg-link" {key}: missing; choose one of {choices}'


@pytest.mark.parametrize("key", ["limit", "unreasonable_contribution", "paytable", "part"])
def test_a_meter_without_a_required_key_is_refused(floor: Copy, key: str) -> None:
    """R-02."""
    text = (floor.folder / FLOOR).read_text()
    (floor.folder / FLOOR).write_text(re.sub(rf'^{key} = ".*\n', "", text, count=1, flags=re.M))
    assert f'floor.toml: [[meter]] "pg-link" {key}: missing; ' in floor.refused()


def test_envy_needs_a_rule_whose_hand_earns_it(floor: Copy) -> None:
    floor.change(FLOOR, 'envy_hand = "any-player"', "")
    assert floor.refused() == (
        'floor.toml: [[table]] "PG-01" envy_hand: missing; choose one of "any-player", "wagering-player"'
    )


@pytest.mark.parametrize("key", ["wager", "wager_returned", "joker", "seven_card_straight_flush_includes_joker"])
def test_a_paytable_without_a_rule_of_its_wager_is_refused(floor: Copy, key: str) -> None:
    text = (floor.folder / SHEET_1).read_text()
    (floor.folder / SHEET_1).write_text(re.sub(rf"^{key} = .*\n", "", text, count=1, flags=re.M))
    assert f"progressive-1.toml: {key}: missing; " in floor.refused()


def test_the_joker_question_is_refused_where_the_rows_answer_it(floor: Copy) -> None:
    floor.change(SHEET_4, 'joker = "standard"', 'joker = "standard"\nseven_card_straight_flush_includes_joker = true')
    assert "progressive-4.toml: seven_card_straight_flush_includes_joker: has no meaning here" in floor.refused()


# --- What is refused: tables, decks, dates, site ---


@pytest.mark.parametrize(
    "order",
    ["[1, 2, 3, 4, 5]", "[1, 2, 3, 4, 5, 5]", "[1, 2, 3, 4, 5, 7]", "[0, 1, 2, 3, 4, 5]", '["1"]', "[true]", "6"],
)
def test_the_order_of_paying_names_every_seat_once(floor: Copy, order: str) -> None:
    floor.change(FLOOR, "[1, 2, 3, 4, 5, 6]", order)
    assert re.search(r'"PG-01" pay_order: .*; list each of the seats 1 to 6 once', floor.refused())


@pytest.mark.parametrize("seats", ["0", "65", '"6"', "6.0", "true"])
def test_a_table_has_1_to_64_seats(floor: Copy, seats: str) -> None:
    floor.change(FLOOR, "seats = 6", f"seats = {seats}")
    assert '"PG-01" seats: ' in floor.refused() and "write a whole number from 1 to 64" in floor.refused()


def test_a_full_table_fits_into_one_lock_out(floor: Copy) -> None:
    floor.change(FLOOR, "seats = 7", "seats = 33").change(FLOOR, "5, 6, 7]", ", ".join(map(str, range(5, 34))) + "]")
    floor.add('[[table.spot]]\nid = "second"\npaytable = "progressive-1"\nmeters = { main = "pg-solo" }')
    assert '"PG-03" seats: 33 seats of 2 spots; a lock-out carries at most 64 wagers' in floor.refused()


def test_a_rate_by_decks_needs_the_tables_decks(tmp_path: Path) -> None:
    assert (
        "depends on the number of decks; write decks at the table" in example_floor(tmp_path, "rate-by-decks").refused()
    )


def test_a_rate_by_decks_needs_a_row_for_the_tables_decks(tmp_path: Path) -> None:
    assert "it has no rate for 2 decks" in example_floor(tmp_path, "rate-by-decks", "decks = 2").refused()


@pytest.mark.parametrize("row", ['"4 +" = "17%"', '"0" = "17%"', '"03" = "17%"', '"3-4" = "17%"', '"4+" = 17'])
def test_rates_by_decks_have_one_form(tmp_path: Path, row: str) -> None:
    copy = example_floor(tmp_path, "rate-by-decks", "decks = 3")
    copy.change("paytables/rate-by-decks.toml", '"4+" = "17%"', row)
    assert "rate-by-decks.toml: [meter.main] rate_of_progression: " in copy.refused()


@pytest.mark.parametrize("day", ['"23.3.2026"', '"2026-02-30"', "2026-03-23T00:00:00", "20260323", '"20260323"'])
def test_a_date_is_year_month_day(tmp_path: Path, day: str) -> None:
    copy = example_floor(tmp_path, "with-dates").change("paytables/with-dates.toml", "2026-03-23", day)
    assert "with-dates.toml: valid_from: " in copy.refused()


def test_a_paytable_does_not_end_before_it_begins(tmp_path: Path) -> None:
    copy = example_floor(tmp_path, "with-dates").change("paytables/with-dates.toml", "2028-03-23", "2026-03-22")
    assert "with-dates.toml: valid_to: before valid_from" in copy.refused()


@pytest.mark.parametrize("zone", ["America/New_Yrok", "America", "../../etc/passwd", "", "EST5EDT6"])
def test_an_unknown_time_zone_is_refused(floor: Copy, zone: str) -> None:
    assert "floor.toml: [site] timezone: " in floor.change(FLOOR, "America/New_York", zone).refused()


def test_a_misspelt_time_zone_is_answered_with_the_nearest(floor: Copy) -> None:
    assert 'did you mean "America/New_York"?' in floor.change(FLOOR, "America/New_York", "America/New_Yrok").refused()


@pytest.mark.parametrize(
    "start", ['"6:00"', '"24:00"', '"06:60"', '"06.00"', "06:00:00", "6", '"06:00:00"', '"0６:00"']
)
def test_a_gaming_day_starts_at_hours_and_minutes(floor: Copy, start: str) -> None:
    """CF-01."""
    assert "floor.toml: [site] gaming_day_start: " in floor.change(FLOOR, '"06:00"', start).refused()


@pytest.mark.parametrize("currency", ['"EUR"', '"usd"', "1"])
def test_the_currency_is_the_dollar(floor: Copy, currency: str) -> None:
    assert "floor.toml: [site] currency: " in floor.change(FLOOR, '"USD"', currency).refused()


def test_an_unknown_environment_is_refused_with_the_choices(floor: Copy) -> None:
    floor.change(FLOOR, 'environment = "test"', 'environment = "prod"')
    assert 'environment: "prod" is not a choice; choose one of "production", "test", "training"' in floor.refused()


@pytest.mark.parametrize("key", ["id", "environment", "currency", "timezone", "gaming_day_start", "paytables"])
def test_a_site_without_a_required_key_is_refused(floor: Copy, key: str) -> None:
    text = (floor.folder / FLOOR).read_text()
    (floor.folder / FLOOR).write_text(re.sub(rf'^{key} = ".*\n', "", text, count=1, flags=re.M))
    assert f"floor.toml: [site] {key}: missing; " in floor.refused()


# --- What is refused by name ---


_METER = '"$10.00"   # per meter and lock message'


@pytest.mark.parametrize(
    ("file", "old", "line", "feature"),
    [
        (FLOOR, _METER, 'must_hit_by = "$500.00"', "must-hit-by"),
        (FLOOR, _METER, 'kind = "must-hit-by"', "must-hit-by"),
        (FLOOR, "seats = 6", "random_seat = true", "random seats"),
        (FLOOR, "seats = 6", "lucky_player = true", "random seats"),
        (FLOOR, "seats = 6", "magic_card = true", "random seats"),
        (FLOOR, "seats = 6", 'declared_suit = "spades"', "a house-declared suit"),
        (SHEET_1, 'joker = "standard"', 'declared_suit = "spades"', "a house-declared suit"),
        (SHEET_1, 'label = "Five aces"', "dealer_cards = true", "outcomes that need the dealer's cards"),
        (SHEET_1, 'seed = "$10,000.00"', 'must-hit-by = "$20,000.00"', "must-hit-by"),
    ],
)
def test_what_this_controller_does_not_offer_is_refused_by_name(
    floor: Copy, file: str, old: str, line: str, feature: str
) -> None:
    assert f"not supported: {feature}; remove it" in floor.change(file, old, f"{old}\n{line}").refused()


@pytest.mark.parametrize(
    "outcome", ["both-dealer-and-player-ace-high", "declared-suit-trips", "lucky-player", "magic-card"]
)
def test_an_outcome_that_a_hand_alone_cannot_have_is_refused_by_name(floor: Copy, outcome: str) -> None:
    floor.change(SHEET_1, 'outcome = "full-house"', f'outcome = "{outcome}"')
    assert f'[[prize]] "{outcome}" outcome: not supported: ' in floor.refused()
