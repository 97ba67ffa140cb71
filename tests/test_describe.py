"""What ``meterctl check`` prints: a floor manager reads the effective floor in plain sentences (issue 2, ``check``)."""

from pathlib import Path

import pytest

from controller.config import load
from controller.config_remarks import FloorOdds
from controller.describe import WIDTH, describe

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "config" / "meterd.toml"


@pytest.fixture(scope="module")
def contract() -> str:
    return describe(*load(ROOT / "tests" / "contract" / "floor.toml"))


@pytest.fixture(scope="module")
def example() -> str:
    return describe(*load(EXAMPLE))


def words(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def test_no_line_is_wider_than_a_terminal(example: str) -> None:
    assert max(len(line) for line in example.splitlines()) <= WIDTH


def test_it_begins_with_the_site_and_its_environment(contract: str) -> None:
    assert contract.startswith("Demo Casino (site demo), environment test\n")


def test_it_ends_with_the_hash_of_the_configuration(contract: str) -> None:
    plan, _ = load(ROOT / "tests" / "contract" / "floor.toml")
    assert contract.endswith(f"\nConfig hash {plan.hash}\n")


def test_every_meter_table_paytable_and_sign_is_named(example: str) -> None:
    plan, wiring = load(EXAMPLE)
    papers = {spot.paytable.id for table in plan.tables.values() for spot in table.spots}
    names = [*plan.meters, *plan.tables, *papers, *(sign.id for sign in wiring.signs)]
    assert [name for name in names if f"\n  {name}" not in example] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Fed by the linked tables PG-01, PG-02.",
        "First start $10,000.00; after a win $10,000.00 (seed).",
        "Each wager of $5.00 adds 1% (5 cents) to the meter and 1% (5 cents) to its next-jackpot money.",
        "Each wager of $1.00 adds 28% (28 cents) to the meter.",
        "There is no limit.",
        "Its limit is $250,000.00; what a wager adds above it is kept above the limit.",
        "A lock-out that would add more than $10.00 to it is refused.",
    ],
)
def test_a_meters_money_is_told_in_sentences(contract: str, sentence: str) -> None:
    assert sentence in words(contract)


@pytest.mark.parametrize(
    "sentence",
    [
        "Several 100% hits in one round share the meter equally",
        "Several 100% hits in one round are paid in pay order, each next one from the reset meter.",
        "Shares under 100% are taken before the 100% awards.",
        "Shares under 100% and 100% awards are taken strictly in pay order.",
        "rounded up to the whole cent, in the player's favour.",
        "rounded down to the whole cent; the fraction stays on the meter.",
        "When an award leaves the meter under its seed, it stays there.",
        "it is raised to the seed: from next-jackpot money first, then by the house.",
        "what is left of it is kept.",
        "At a reset what is above the limit is moved to the new meter, up to its limit.",
        "Envy is earned by the hand of any seat",
    ],
)
def test_each_policy_is_a_sentence(contract: str, sentence: str) -> None:
    """Design section 4."""
    assert sentence in words(contract)


@pytest.mark.parametrize(
    "sentence",
    [
        "The 100% awards stand together, where the first of them stands.",
        "what is left of it is added to the new meter, up to its limit.",
        "At a reset what is above the limit stays apart.",
        "First start $12,500.00; after a win $10,000.00 (seed).",
        "Awards under $50.00 do not appear on signs.",
        "Device hub-03 on line line-03, tcp://192.0.2.13:4001, 115200 baud.",
        "Device hub-04 on MQTT, broker 127.0.0.1:1883.",
        "pit-1: LED sign on /dev/meterd/sign-pit-1, 9600 baud; shows pg-link with 9 digits.",
        "Pages at http://127.0.0.1:8688/",
    ],
)
def test_what_the_example_chooses_is_told_in_sentences(example: str, sentence: str) -> None:
    assert sentence in words(example)


def test_split_without_pay_order_says_nothing_of_standing_together(contract: str) -> None:
    assert "stand together" not in contract


@pytest.mark.parametrize(
    "row",
    [
        "Royal flush + royal match $5,000.00 + 20% of the meter $750.00",
        "Five aces 10% of the meter Royal flush $500.00",
    ],
)
def test_a_row_shows_label_pay_share_and_envy(contract: str, row: str) -> None:
    assert row in words(contract)


def test_the_joker_question_is_shown(contract: str) -> None:
    """Design section 4: shown to the operator at set-up."""
    assert contract.count("A 7 card straight flush made with the joker counts as one.") == 1


def test_remarks_stand_under_their_title(example: str) -> None:
    assert "\nREMARKS\n\n  - Sign pit-1: 9 digits show at most $9,999,999.99; meter pg-link has no limit" in example


def test_remarks_from_odds_stand_among_the_others() -> None:
    unknown = FloorOdds({}, {"progressive-4": "it is a game of dice"})
    told = words(describe(*load(EXAMPLE), unknown))
    assert "as its odds are not known: it is a game of dice (R-10)." in told


def test_rates_by_decks_are_told_for_each_table(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().split("# --- Wiring.")[0].replace('"paytables"  ', '"sheets"  ')
    text = text.replace('paytable = "progressive-1"', 'paytable = "rate-by-decks"').replace(
        "seats = 7", "seats = 7\ndecks = 3"
    )
    (tmp_path / "floor.toml").write_text(text)
    (tmp_path / "sheets").mkdir()
    for sheet in (ROOT / "config" / "paytables").rglob("*.toml"):
        (tmp_path / "sheets" / sheet.name).write_text(sheet.read_text())
    text = (tmp_path / "floor.toml").read_text()
    extra = text[text.index('[[table]]\nid = "PG-03"') : text.index('[[table]]\nid = "PG-04"')]
    extra = extra.replace("PG-03", "PG-05").replace("hub-03", "hub-05").replace("decks = 3", "decks = 6")
    (tmp_path / "floor.toml").write_text(text + extra)
    told = words(describe(*load(tmp_path / "floor.toml")))
    assert (
        "Each wager of $1.00 at PG-03 adds 20% (20 cents) to the meter. "
        "Each wager of $1.00 at PG-05 adds 17% (17 cents) to the meter." in told
    )
