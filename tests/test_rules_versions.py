"""Old entries are replayed by the rules that they name; new ones are made by the newest (design section 8)."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from desk_house import ANNA, BEN, CARL, DORA, IDA, Desk
from test_waiting_config import first_entries

from controller import desk
from controller.acts import ActRefused, read_act
from controller.floor import Floor
from controller.journal import ENVY_RULES, RULES_VERSION
from controller.ledger.reader import Reader
from controller.ledger.schema import APPLICATION_ID, VERSION
from controller.ledger.verify import verify
from controller.people import Person
from tests.ledger_house import AT, bad_entry, entered, rows
from tests.test_verify import rechained

RECORDED = Path(__file__).parent / "recordings"
ACTS, NIGHT = "people-rules-1.sql", "night-rules-1.sql"
"""What people did under rules version 1 and could not do now, and games that are still open to them; a random night."""
DAYS = "days-rules-6.sql"
"""Two days that were closed under rules version 6, as ``recordings/make_rules_6.py`` made them then."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The recorded ledger of what people did."""
    return recorded(tmp_path, ACTS)


def recorded(folder: Path, name: str) -> Path:
    """A ledger that was written before rules version 2, byte for byte its rows."""
    path = folder / "old.db"
    with sqlite3.connect(path) as database:
        database.executescript((RECORDED / name).read_text())
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.close()
    return path


def acted(path: Path, kind: str, *people: Person, **fields: Any) -> None:
    """An act of PG-01 by the product of today."""
    reader = Reader(path)
    _, document = reader.config_entry("main", 2)
    reader.close()
    from controller.config import build

    by, second, third = (*people, None, None)[:3]
    made = read_act(kind, f"{kind}-{len(rows(path, 'SELECT 1 FROM entry'))}",
                    {"table": "PG-01", "spot": "progressive"} | fields, by, second, third)

    def change(floor: Floor) -> None:
        found = Reader(path).recall_game("main", "PG-01", fields["game"])
        if found is not None:
            floor.remember_game(found[0], found[1].tables["PG-01"])
        desk.act(floor, made, AT + 72 * 3_600_000_000)

    entered(path, change, build(document["document"]))


def test_everything_that_people_did_under_the_first_rules_is_replayed_by_them(old: Path) -> None:
    made = {kind for (kind,) in rows(old, "SELECT DISTINCT kind FROM entry")}
    assert {"count-closed", "wager-added", "envy-paid", "award-released", "paid-in-error", "hit-withdrawn"} <= made
    assert {rules for (rules,) in rows(old, "SELECT DISTINCT rules FROM entry")} == {1}
    assert verify(old, replay=True)[0].replayed


def test_a_hand_that_was_withdrawn_under_the_first_rules_is_settled_by_them_again(tmp_path: Path) -> None:
    assert bad_entry(recorded(tmp_path, NIGHT), replay=True) == (0, "")


def test_days_that_were_closed_with_a_reset_under_keys_that_waited_are_replayed_by_their_rules(tmp_path: Path) -> None:
    path = recorded(tmp_path, DAYS)
    made = {kind for (kind,) in rows(path, "SELECT DISTINCT kind FROM entry")}
    assert {"config-activated", "day-closed", "handed-over", "award-released", "award-paid", "envy-paid", "manual-slip",
            "count"} <= made
    assert {rules for (rules,) in rows(path, "SELECT DISTINCT rules FROM entry")} == {6}
    carried = [json.loads(body)["told"]["carried"]["counts"]["listed"] for (body,) in rows(
        path, "SELECT body FROM entry WHERE kind = 'day-closed' ORDER BY number")]
    assert carried == [[{"chips": 3, "game": 2, "table": "PG-01", "wagers": 2}]] * 2
    assert bad_entry(path, replay=True) == (0, "")


def test_an_old_ledger_goes_on_under_the_newest_rules_and_is_replayed_over_the_change(old: Path) -> None:
    """Game 7 was verified with a chip short: today it is not paid without a release."""
    due = json.loads(rows(old, "SELECT body FROM entry WHERE kind = 'award-verified' ORDER BY number DESC")[0][0])
    handed = f"${due['told']['due'] / 100:.2f}"
    with pytest.raises(ActRefused, match="not released: chips and wagers of this game differ"):
        acted(old, "award-paid", BEN, game=7, seat=3, handed=handed, how="chips")
    acted(old, "award-released", IDA, game=7, seat=3)
    acted(old, "award-paid", BEN, game=7, seat=3, handed=handed, how="chips")
    assert rows(old, "SELECT DISTINCT rules FROM entry ORDER BY rules") == [(1,), (RULES_VERSION,)]
    assert bad_entry(old, replay=True) == (0, "")


def test_the_true_hand_comes_in_the_place_of_one_that_was_found_paid_in_error_by_the_first_rules(old: Path) -> None:
    acted(old, "hit-added", ANNA, CARL, game=2, seat=3, outcome="four-of-a-kind", reason="read again")
    assert bad_entry(old, replay=True) == (0, "")


def test_a_new_entry_that_names_older_rules_than_the_one_before_it_is_found(old: Path) -> None:
    """Whoever forges an entry may not choose the rules by which it would stand."""
    acted(old, "award-released", IDA, game=7, seat=3)
    acted(old, "slip-printed", DORA, game=7, seat=3)
    last = rows(old, "SELECT max(number) FROM entry")[0][0]
    rechained(old, last, rules=1)
    assert bad_entry(old, replay=True) == (last, "its rules version is 1, older than that before it")


@pytest.mark.parametrize("rules", [ENVY_RULES - 1, RULES_VERSION])
def test_envy_that_was_paid_and_a_finding_by_its_payer_are_replayed_by_the_rules_they_were_made_by(
    tmp_path: Path, rules: int
) -> None:
    """Before it was kept who pays envy, the payer could write the finding as well."""
    path = first_entries(tmp_path / "l.db", rules)

    def night(floor: Floor) -> None:
        made = Desk()
        made.floor, floor.rules = floor, rules
        made.lock(1, 1, 2, 3)
        made.chips(1, 3)
        made.hit(1, 3, "royal-flush-royal-match")
        made.act("award-verified", ANNA, game=1, seat=3)
        made.act("envy-paid", BEN, game=1, seat=3, to=2, how="chips")
        made.chips(1, 4)
        finder = BEN if rules < ENVY_RULES else CARL
        made.act("count-closed", finder, IDA, game=1, finding="a chip too many")
        made.close(1)

    entered(path, night)
    assert verify(path, replay=True)[0].replayed
    kept = rows(path, "SELECT body FROM state WHERE kind = 'award'")
    assert [("payers" in body) for (body,) in kept] == [rules >= ENVY_RULES]
