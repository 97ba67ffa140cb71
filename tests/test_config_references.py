"""Ids stand once, references lead somewhere, and files are what they should be (CF-01, MQ-11).

Each test changes one thing of the contract's floor, which is a good one.
"""

import re
from pathlib import Path

import pytest
from floor_files import FLOOR, SHEET_1, SHEET_4, Copy, contract_floor, example_floor

from controller.config import ConfigError, load
from controller.config_reader import PROBLEMS_MAX


@pytest.fixture
def floor(tmp_path: Path) -> Copy:
    return contract_floor(tmp_path)


# --- What is refused: ids and references ---


@pytest.mark.parametrize(
    "name", ['"PG/01"', '"PG+01"', '"#"', '""', '"PG 01"', '"é"', '"' + "x" * 65 + '"', "12", '"a\\n"']
)
def test_an_id_is_safe_in_topics_and_file_names(floor: Copy, name: str) -> None:
    """MQ-11."""
    floor.change(FLOOR, '"PG-01"', name)
    assert " id: " in floor.refused() and "is not an id; use 1 to 64 of" in floor.refused()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "pg-solo"', 'id = "pg-link"', '[[meter]] "pg-link" id: stands twice'),
        ('id = "PG-02"', 'id = "PG-01"', '[[table]] "PG-01" id: stands twice'),
        ('"hub-02"', '"hub-01"', '[[table]] "PG-02" device: "hub-01" stands at two tables'),
    ],
)
def test_an_id_stands_once(floor: Copy, old: str, new: str, said: str) -> None:
    assert said in floor.change(FLOOR, old, new).refused()


def test_a_spot_stands_once_at_its_table(floor: Copy) -> None:
    floor.add('[[table.spot]]\nid = "progressive"\npaytable = "progressive-1"\nmeters = { main = "pg-solo" }')
    assert '[[table]] "PG-03" spot "progressive" id: stands twice' in floor.refused()


def test_an_outcome_stands_once_in_its_paytable(floor: Copy) -> None:
    floor.change(SHEET_1, 'outcome = "five-aces"', 'outcome = "royal-flush"')
    assert 'progressive-1.toml: [[prize]] "royal-flush" outcome: "royal-flush" stands twice' in floor.refused()


def test_a_key_that_stands_twice_is_refused_with_its_line(floor: Copy) -> None:
    """CF-01."""
    floor.change(FLOOR, 'currency = "USD"', 'currency = "USD"\ncurrency = "USD"')
    assert re.search(r"^floor\.toml: TOML: .*line 9.*; this key or table stands twice", floor.refused())


def test_a_table_header_that_stands_twice_is_refused(floor: Copy) -> None:
    assert "stands twice: remove one" in floor.add("[site]").refused()


def test_an_unknown_paytable_is_refused_where_it_is_named(floor: Copy) -> None:
    floor.change(FLOOR, 'paytable = "progressive-1"', 'paytable = "progresive-1"')
    assert (
        'floor.toml: [[meter]] "pg-solo" paytable: there is no paytable "progresive-1"; did you mean "progressive-1"?'
        in floor.refused()
    )


def test_a_paytable_is_named_as_its_file(floor: Copy) -> None:
    floor.change(SHEET_1, 'id = "progressive-1"', 'id = "progressive-7"')
    assert 'progressive-1.toml: id: "progressive-7" stands in a file named progressive-1.toml' in floor.refused()


def test_an_unknown_part_is_refused(floor: Copy) -> None:
    floor.change(FLOOR, 'part = "main"', 'part = "mega"')
    assert '[[meter]] "pg-link" part: paytable "progressive-4" has no meter part "mega"' in floor.refused()


def test_an_unknown_meter_is_refused(floor: Copy) -> None:
    floor.change(FLOOR, 'main = "pg-solo"', 'main = "pg-soli"')
    assert 'spot "progressive" meters: there is no meter "pg-soli"; did you mean "pg-solo"?' in floor.refused()


def test_a_spot_feeds_only_meters_of_its_own_paytable(floor: Copy) -> None:
    floor.change(FLOOR, 'main = "pg-solo"', 'main = "pg-link"')
    assert 'meters: part "main" of "progressive-1" cannot feed "pg-link"' in floor.refused()


def test_two_parts_of_a_spot_do_not_feed_one_meter(tmp_path: Path) -> None:
    copy = example_floor(tmp_path, "three-meters", meters='minor = "a", mega = "b", major = "c"')
    copy.change(FLOOR, 'major = "c"', 'major = "b"')
    assert 'meters: two parts feed "b"' in copy.refused()


def test_every_part_of_a_spot_feeds_a_meter(tmp_path: Path) -> None:
    copy = example_floor(tmp_path, "three-meters", meters='minor = "a", mega = "b", major = "c"')
    copy.change(FLOOR, ', major = "c"', "")
    assert 'meters: part "major" has no meter; add major = "..."' in copy.refused()


def test_a_part_that_the_paytable_has_not_is_refused(floor: Copy) -> None:
    floor.change(FLOOR, 'main = "pg-solo"', 'main = "pg-solo", mega = "pg-link"')
    assert 'meters: paytable "progressive-1" has no meter part "mega"' in floor.refused()


def test_a_share_of_an_unknown_part_is_refused(floor: Copy) -> None:
    floor.change(SHEET_1, 'share = { main = "10%" }', 'share = { mian = "10%" }')
    assert 'share: there is no meter part "mian"; did you mean "main"?' in floor.refused()


def test_a_meter_that_no_table_feeds_is_refused(floor: Copy) -> None:
    text = (floor.folder / FLOOR).read_text()
    (floor.folder / FLOOR).write_text(text.split('[[table]]\nid = "PG-03"')[0])
    assert floor.refused() == (
        'floor.toml: [[meter]] "pg-solo": no table feeds it; name it in a spot\'s meters, or remove it'
    )


def test_a_tables_meters_stand_in_one_book(floor: Copy) -> None:
    """Design section 8."""
    floor.change(FLOOR, 'id = "pg-solo"', 'id = "pg-solo"\nbook = "pit-2"')
    floor.change(FLOOR, "[[table]]", '[[table]]\nid = "X"\ndevice = "hub-x"\nseats = 1\npay_order = [1]\n'
                 'envy_hand = "any-player"\n[[table.spot]]\nid = "a"\npaytable = "progressive-1"\n'
                 'meters = { main = "pg-solo" }\n[[table.spot]]\nid = "b"\npaytable = "progressive-4"\n'
                 'meters = { main = "pg-link" }\n[[table]]')  # fmt: skip
    assert '[[table]] "X" spot: its meters are in the books pit-2, main' in floor.refused()


@pytest.mark.parametrize("kind", ["meter", "table"])
def test_a_floor_has_meters_and_tables(floor: Copy, kind: str) -> None:
    text = (floor.folder / FLOOR).read_text()
    (floor.folder / FLOOR).write_text(text.split("[[meter]]")[0])
    assert f"floor.toml: {kind}: missing; write at least one [[{kind}]]" in floor.refused()


# --- Files ---


def test_a_missing_file_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: file: cannot be read: No such file or directory; look at"):
        load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    "content", [b"\xff\xfe[\x00s\x00", "[site]\nid = 'é'".encode("latin-1")], ids=["utf-16", "latin-1"]
)
def test_a_file_that_is_not_utf_8_is_refused(floor: Copy, content: bytes) -> None:
    """CF-01."""
    (floor.folder / FLOOR).write_bytes(content)
    assert "not UTF-8; save the file as UTF-8" in floor.refused()


@pytest.mark.parametrize(
    "content", ["", "id", "seed = 010000", "x = 06:0", "x = {", "x = " + "[" * 50_000, "n = " + "9" * 5_000],
    ids=["empty", "no-value", "leading-zero", "clock", "open", "deep", "digits"],
)  # fmt: skip
def test_a_file_that_is_no_configuration_is_refused(floor: Copy, content: str) -> None:
    """CF-01: never a traceback."""
    (floor.folder / FLOOR).write_text(content)
    assert floor.refused().startswith("floor.toml: ")


def test_a_huge_file_is_refused_unread(floor: Copy) -> None:
    (floor.folder / FLOOR).write_text("#" * 1_000_001)
    assert "floor.toml: file: longer than 1,000,000 bytes" in floor.refused()


def test_a_damaged_paytable_is_told_once(floor: Copy) -> None:
    (floor.folder / SHEET_4).write_text("id = ")
    assert floor.refused().count("\n") == 0


def test_a_missing_folder_of_paytables_is_refused(floor: Copy) -> None:
    floor.change(FLOOR, 'paytables = "paytables"', 'paytables = "sheets"')
    assert 'floor.toml: [site] paytables: "sheets" cannot be read: No such file or directory' in floor.refused()


def test_all_problems_of_all_files_are_told_together(floor: Copy) -> None:
    floor.change(FLOOR, 'rounding = "up"', 'rounding = "nearest"').change(FLOOR, "seats = 7", "seats = 70")
    floor.change(SHEET_1, '"28%"', "28")
    assert [line.split(":")[0] for line in floor.refused().splitlines()] == [SHEET_1, FLOOR, FLOOR]


def test_no_more_than_fifty_problems_are_told(floor: Copy) -> None:
    floor.add("\n".join(f"[x{number}]" for number in range(60)))
    with pytest.raises(ConfigError) as caught:
        floor.load()
    assert (len(caught.value.problems), str(caught.value).splitlines()[-1]) == (PROBLEMS_MAX, "and 10 more")


def test_a_long_or_unprintable_entry_does_not_flood_or_forge_the_message(floor: Copy) -> None:
    """SD-09: one line for one problem."""
    floor.change(FLOOR, '"$250,000.00"', '"' + "9" * 5_000 + '\\nfloor.toml: all is well"')
    assert len(floor.refused()) < 200 and "all is well" not in floor.refused()
