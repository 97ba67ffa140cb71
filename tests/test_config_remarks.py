"""What is allowed but worth a second look is remarked, and nothing else."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from floor_files import FLOOR, SHEET_1, SHEET_4, Copy, contract_floor, example_floor

from controller import config_remarks
from controller.cli import main
from controller.config import load, remarks
from controller.config_remarks import floor_odds
from controller.game.odds import counts_of
from controller.paytable import Paytable


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


def remarked(copy: Copy) -> str:
    return "\n".join(remarks(*copy.load()))


def with_odds(copy: Copy) -> str:
    """The remarks as ``check`` makes them."""
    plan, wiring = copy.load()
    return "\n".join(remarks(plan, wiring, floor_odds(plan)))


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


# --- From computed odds ---


def checked(copy: Copy) -> tuple[int, str, str]:
    """``meterctl check``: exit code, standard output, standard error."""
    ran = CliRunner().invoke(main, ["check", str(copy.folder / FLOOR)])
    return ran.exit_code, ran.stdout, ran.stderr


def royal_under_straight_flush(copy: Copy) -> Copy:
    """A royal flush that takes the meter below the straight flush, which every royal flush is as well."""
    text = (copy.folder / SHEET_1).read_text(encoding="utf-8")
    head, *rows = text.split("[[prize]]\n")
    rows.sort(key=lambda row: '"royal-flush"' in row)
    rows[-1] = re.sub(r"^pay = .*$", 'share = { main = "100%" }', rows[-1], flags=re.M)
    (copy.folder / SHEET_1).write_text("[[prize]]\n".join([head, *(row.rstrip() + "\n\n" for row in rows)]))
    return copy


def test_the_odds_of_the_contracts_paytables_give_no_remark(quiet: Copy) -> None:
    assert with_odds(quiet) == ""


def test_check_refuses_a_row_that_takes_the_meter_and_is_too_rare(quiet: Copy) -> None:
    """R-10: exit 2, with paytable, row and what to do; nothing of the floor is printed."""
    code, out, err = checked(royal_under_straight_flush(quiet))
    assert (code, out) == (2, "")
    assert err.startswith(
        'progressive-1.toml: [[prize]] "royal-flush" share: Royal flush takes 100% of a meter and never comes; '
        "no such row may be rarer than 1 in 100,000,000 (R-10); take its 100% share away"
    )


def test_a_role_that_verifies_what_nobody_else_could_release_is_remarked(quiet: Copy) -> None:
    assert remarked(quiet.add('[awards]\nrelease = ["shift-manager"]')) == (
        "[awards]: an award that needs a release is not verified by a shift-manager: nobody of another role could "
        "release it, or pay it then (R-58).")


@pytest.mark.parametrize("roles", [
    'verify = ["shift-manager"]\nrelease = ["shift-manager"]', 'pay = ["accounting"]\nrelease = ["accounting"]'])
def test_check_refuses_roles_of_which_none_could_ever_release_an_award(quiet: Copy, roles: str) -> None:
    code, out, err = checked(quiet.add(f"[awards]\n{roles}"))
    assert (code, out, "[awards] release: nobody could ever release an award" in err) == (2, "", True)


def test_the_configuration_itself_is_read_without_odds(quiet: Copy) -> None:
    """A daemon starts on what its ledger has; only ``check`` refuses by odds."""
    assert royal_under_straight_flush(quiet).plan().meters["pg-solo"].paytable.id == "progressive-1"


def test_reading_a_floor_computes_no_odds(quiet: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start of the daemon does not wait for them."""

    def refuse(table: Paytable) -> dict[str, int]:
        raise AssertionError(table.id)

    monkeypatch.setattr(config_remarks, "counts_of", refuse)
    assert remarks(*load(quiet.folder / FLOOR)) == []


def test_the_odds_of_one_paytable_of_two_linked_tables_are_computed_once(
    quiet: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counted(table: Paytable) -> dict[str, int]:
        asked.append(table.id)
        return counts_of(table)

    monkeypatch.setattr(config_remarks, "counts_of", counted)
    with_odds(quiet)
    assert asked == ["progressive-4", "progressive-1"]


def test_a_return_above_100_percent_is_remarked(quiet: Copy) -> None:
    """R-17: four of a kind comes 1 in 501 hands; $750.00 for it is more than the dollar wagered."""
    quiet.change(SHEET_1, 'pay = "$75.00"', 'pay = "$750.00"')
    assert re.search(r"Paytable progressive-1: returns 1\d\d\.\d\d% even with its meter at the seed", with_odds(quiet))


def test_a_row_out_of_line_with_its_rarity_is_remarked(quiet: Copy) -> None:
    quiet.change(SHEET_1, 'pay = "$4.00"', 'pay = "$80.00"')
    said = "Paytable progressive-1: Four-of-a-kind (1 in 501) pays no more than Full house (1 in 37)"
    assert said in with_odds(quiet)


@pytest.mark.parametrize(("limit", "remarked"), [("$133,333.51", True), ("$133,333.53", False)])
def test_a_mean_hit_above_the_limit_is_remarked(quiet: Copy, limit: str, remarked: bool) -> None:
    """R-13: paytable 1 is hit at $133,333.52 on average."""
    quiet.change(FLOOR, '"$250,000.00"', f'"{limit}"')
    said = f"Meter pg-solo: a hit is expected at $133,333.52, above the limit of {limit} (R-13)."
    assert (said in with_odds(quiet)) is remarked


def test_a_paytable_of_another_game_is_said_to_be_unchecked(tmp_path: Path) -> None:
    """R-10 asks for odds that only the game of section 688a.12 has here; a flush of five cards is another thing."""
    copy = example_floor(tmp_path, "five-card", 'envy_hand = "any-player"')
    assert with_odds(copy).splitlines()[-1] == (
        "Paytable five-card: its rarity and return are not checked, as its odds are not known: "
        'its game is "four-card-poker", and only hands of "face-up-pai-gow-poker" are known (R-10).'
    )


def test_a_rate_by_decks_does_not_hide_a_row_that_is_too_rare(quiet: Copy) -> None:
    """R-10: the chance of a row has nothing to do with the rate."""
    royal_under_straight_flush(quiet)
    quiet.change(SHEET_1, 'rate_of_progression = "28%"', 'rate_of_progression = { "1+" = "28%" }')
    quiet.change(FLOOR, "seats = 7", "seats = 7\ndecks = 1")
    code, _, err = checked(quiet)
    assert (code, "Royal flush takes 100% of a meter and never comes" in err) == (2, True)


def test_a_row_that_is_no_hand_of_this_game_is_said_to_leave_the_odds_unchecked(quiet: Copy) -> None:
    """R-10."""
    quiet.change(SHEET_1, 'outcome = "five-aces"', 'outcome = "four-aces"')
    assert "not known: four-aces is no hand of seven cards of this game (R-10)." in with_odds(quiet)


def test_check_says_the_remarks_from_odds(quiet: Copy) -> None:
    quiet.change(FLOOR, '"$250,000.00"', '"$20,000.00"')
    code, out, _ = checked(quiet)
    assert (code, "a hit is expected at $133,333.52" in " ".join(out.split())) == (0, True)


def test_a_link_of_two_paytables_is_refused_outright(quiet: Copy) -> None:
    """R-47: a meter takes wagers of one paytable only, so its tables cannot differ in wager, joker or winning hands."""
    last = (quiet.folder / FLOOR).read_text(encoding="utf-8").rindex("pg-solo")
    text = (quiet.folder / FLOOR).read_text(encoding="utf-8")
    (quiet.folder / FLOOR).write_text(text[:last] + "pg-link" + text[last + len("pg-solo") :], encoding="utf-8")
    assert 'part "main" of "progressive-1" cannot feed "pg-link"' in quiet.refused()
