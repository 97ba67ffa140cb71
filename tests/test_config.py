"""What a configuration means: the floor, the document that a ledger keeps and its hash, and the reference of keys."""

import json
import re
from datetime import time
from pathlib import Path

import pytest
from floor_files import CONTRACT, FLOOR, MARK, ROOT, SHEET_4, Copy, contract_floor, example_floor

from controller.config import ConfigError, build, load
from controller.config_reader import KEYS
from controller.plan import EnvyHand, Overflow, TiePolicy


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


# --- What is read ---


def test_the_contracts_floor_is_read(floor: Copy) -> None:
    assert (list(floor.plan().meters), list(floor.plan().tables)) == (
        ["pg-link", "pg-solo"],
        ["PG-01", "PG-02", "PG-03"],
    )


def test_the_example_configuration_is_read() -> None:
    plan, wiring = load(ROOT / "config" / "meterd.toml")
    assert (len(plan.tables), len(wiring.lines), len(wiring.signs)) == (4, 3, 2)


def test_the_sites_keys_have_their_meaning(floor: Copy) -> None:
    plan = floor.plan()
    assert (plan.site, plan.timezone.key, plan.gaming_day_start) == ("demo", "America/New_York", time(6))


def test_a_wager_feeds_display_and_reserve_by_the_paytables_rates(floor: Copy) -> None:
    """Paytable 4: 1% and 1% of $5.00, in microcents."""
    feed = floor.plan().tables["PG-01"].spots[0].feeds[0]
    assert (feed.meter, feed.display, feed.reserve) == ("pg-link", 5_000_000, 5_000_000)


def test_a_meter_has_its_written_policies(floor: Copy) -> None:
    meter = floor.plan().meters["pg-solo"]
    assert (meter.tie_policy, meter.overflow, meter.limit_cents) == (
        TiePolicy.SEQUENTIAL, Overflow.NEXT_METER, 25_000_000,
    )  # fmt: skip


def test_no_limit_is_written_as_none(floor: Copy) -> None:
    assert floor.plan().meters["pg-link"].limit_cents is None


def test_seats_are_paid_in_the_dealers_order(floor: Copy) -> None:
    rank = floor.plan().tables["PG-02"].pay_rank
    assert [seat for seat, _ in sorted(rank, key=lambda key: rank[key])] == [6, 5, 4, 3, 2, 1]


def test_a_table_says_whose_hand_earns_envy(floor: Copy) -> None:
    tables = floor.plan().tables
    assert (tables["PG-01"].envy_hand, tables["PG-03"].envy_hand) == (EnvyHand.ANY_PLAYER, None)


def test_without_a_base_a_meter_starts_with_its_seed(floor: Copy) -> None:
    assert floor.plan().meters["pg-link"].base_cents == 1_000_000


@pytest.mark.parametrize("base", ["$2,500.00", "$12,345.67"])
def test_a_base_may_be_under_or_above_the_seed(floor: Copy, base: str) -> None:
    """R-02: first start and reset are two fields."""
    floor.change(FLOOR, 'part = "main"', f'part = "main"\nbase = "{base}"')
    meter = floor.plan().meters["pg-link"]
    assert (meter.base_cents, meter.seed_cents) == (int(re.sub(r"\D", "", base)), 1_000_000)


def test_asset_and_the_least_award_of_a_sign_are_kept_with_the_table(floor: Copy) -> None:
    floor.change(FLOOR, "seats = 6", 'seats = 6\nasset = "A-17"\nsign_from = "$50.00"')
    table = floor.plan().tables["PG-01"]
    assert (table.asset, table.sign_from_cents) == ("A-17", 5_000)


def test_a_meter_is_in_the_main_book_unless_it_names_another(floor: Copy) -> None:
    floor.change(FLOOR, 'id = "pg-solo"', 'id = "pg-solo"\nbook = "pit-2"')
    assert floor.plan().books == ("main", "pit-2")


def test_a_table_is_in_the_book_of_its_meters(floor: Copy) -> None:
    floor.change(FLOOR, 'id = "pg-solo"', 'id = "pg-solo"\nbook = "pit-2"')
    assert floor.plan().tables["PG-03"].book == "pit-2"


@pytest.mark.parametrize(("decks", "rate"), [(3, 200_000), (6, 170_000)])
def test_a_tables_decks_choose_its_rate(tmp_path: Path, decks: int, rate: int) -> None:
    plan = example_floor(tmp_path, "rate-by-decks", f"decks = {decks}").plan()
    assert plan.tables["T"].spots[0].feeds[0].rate_ppm == rate


def test_three_parts_of_a_wager_feed_three_meters(tmp_path: Path) -> None:
    meters = 'minor = "a", mega = "b", major = "c"'
    feeds = example_floor(tmp_path, "three-meters", meters=meters).plan().tables["T"].spots[0].feeds
    assert [(feed.meter, feed.part, feed.display) for feed in feeds] == [
        ("a", "minor", 3_250_000), ("b", "mega", 14_000_000), ("c", "major", 6_500_000),
    ]  # fmt: skip


def test_a_table_may_have_two_progressive_spots(tmp_path: Path) -> None:
    """58 Pa. Code section 641a.1: two wagers, each with its own sensors, meter and envy."""
    copy = example_floor(tmp_path, "four-card", 'envy_hand = "wagering-player"')
    meter = (tmp_path / FLOOR).read_text().split("[[meter]]")[1].split("[[table]]")[0]
    copy.add('[[table.spot]]\nid = "s5"\npaytable = "five-card"\nmeters = { main = "m5" }')
    copy.add("[[meter]]" + meter.replace('"m"', '"m5"').replace("four-card", "five-card"))
    table = copy.plan().tables["T"]
    assert list(table.pay_rank) == [(1, "s"), (1, "s5"), (2, "s"), (2, "s5")]


def test_a_date_in_quotes_is_the_same_day(tmp_path: Path) -> None:
    copy = example_floor(tmp_path, "with-dates")
    before = copy.plan()
    copy.change("paytables/with-dates.toml", "2026-03-23", '"2026-03-23"')
    assert copy.plan() == before


# --- The document and its hash ---


@pytest.mark.parametrize("source", [CONTRACT / FLOOR, ROOT / "config" / "meterd.toml"], ids=["contract", "example"])
def test_the_plan_is_rebuilt_from_the_document_in_the_ledger(source: Path) -> None:
    """Design section 8: a ledger is rebuilt from itself alone."""
    plan, _ = load(source)
    assert build(json.loads(json.dumps(plan.document, sort_keys=True))) == plan


def test_dates_and_parts_survive_the_ledger(tmp_path: Path) -> None:
    plan = example_floor(tmp_path, "with-dates").plan()
    assert build(json.loads(json.dumps(plan.document, sort_keys=True))) == plan


def test_the_document_holds_nothing_of_lines_secrets_or_folders(floor: Copy) -> None:
    """CF-06."""
    floor.add(f'[mqtt]\nhost = "127.0.0.1"\nusername = "meterd"\npassword_file = "{MARK}"')
    document = floor.plan().document
    assert (sorted(document), MARK in json.dumps(document), "paytables" in document["site"]) == (
        ["meter", "paytable", "site", "table"], False, False,
    )  # fmt: skip


def test_comments_and_the_order_of_keys_do_not_change_the_hash(floor: Copy) -> None:
    before = floor.plan().hash
    floor.change(FLOOR, 'id = "demo"\nname = "Demo Casino"', '# a remark\nname = "Demo Casino"\nid = "demo"')
    floor.change(SHEET_4, 'label = "Five aces"\npay = "$2,500.00"', 'pay = "$2,500.00"\nlabel = "Five aces"')
    assert floor.plan().hash == before


def test_wiring_does_not_change_the_hash(floor: Copy) -> None:
    before = floor.plan().hash
    floor.add('[web]\nbind = "127.0.0.1"\nport = 9000').change(FLOOR, "ledger.db", "other.db")
    assert floor.plan().hash == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (FLOOR, 'rounding = "up"', 'rounding = "down"'),
        (FLOOR, "[6, 5, 4, 3, 2, 1]", "[6, 5, 4, 3, 1, 2]"),
        (SHEET_4, '"20%"', '"21%"'),
    ],
)
def test_whatever_concerns_money_changes_the_hash(floor: Copy, file: str, old: str, new: str) -> None:
    before = floor.plan().hash
    assert floor.change(file, old, new).plan().hash != before


def test_a_damaged_document_is_refused_with_its_key(floor: Copy) -> None:
    document = dict(floor.plan().document)
    document["meter"] = [{**document["meter"][0], "rounding": "sideways"}]
    with pytest.raises(ConfigError, match=r'configuration in the ledger: \[\[meter\]\] "pg-link" rounding'):
        build(document)


@pytest.mark.parametrize("document", [{}, {"site": None}, {"site": 1, "meter": 2, "table": 3, "paytable": 4}])
def test_what_is_no_document_at_all_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        build(document)


# --- The reference ---


_HEADINGS = {
    "[site]": "site", "[awards]": "awards", "[ledger]": "ledger",
    "[[meter]]": "meter", "[[table]]": "table", "[[table.spot]]": "spot",
    "Paytable files": "paytable", "[meter.PART]": "part", "[[prize]]": "prize", "[[line]]": "line", "[mqtt]": "mqtt",
    "[web]": "web", "[alarms]": "alarms", "[[sign]]": "sign", "[[printer]]": "printer",
}  # fmt: skip


def documented_keys() -> dict[str, tuple[str, ...]]:
    chapters = re.split(r"^## ", (ROOT / "docs" / "CONFIG.md").read_text(), flags=re.M)[1:]
    return {
        _HEADINGS[chapter.splitlines()[0].strip("`")]: tuple(re.findall(r"^\| `(\w+)` \|", chapter, flags=re.M))
        for chapter in chapters
    }


def test_the_reference_lists_exactly_the_keys_that_are_read() -> None:
    assert documented_keys() == {kind: keys for kind, keys in KEYS.items() if kind not in ("floor", "document")}
