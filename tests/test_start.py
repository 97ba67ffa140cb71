"""What a start refuses: another site's ledger, meters changed behind people's backs, money without a meter (CF-04)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event

from controller.config import build
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.plan import FloorPlan
from controller.start import refuse_changes
from tests.floor_files import contract_floor, example_floor
from tests.ledger_house import Json, applied, bad_entry, contract_plan, entered, lock, opened, said


def refusal(path: Path, plan: FloorPlan) -> str:
    """Why a start on this ledger is refused, or empty."""
    reader = Reader(path)
    try:
        refuse_changes(reader, plan)
    except LedgerError as refused:
        return str(refused)
    finally:
        reader.close()
    return ""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A fresh ledger of the contract's floor."""
    return opened(tmp_path / "l.db")


def test_the_same_floor_starts(path: Path) -> None:
    """Nothing changed."""
    assert refusal(path, contract_plan()) == ""


CHANGED: dict[str, tuple[Callable[[Json], object], str]] = {
    "another site": (lambda floor: floor["site"].update(id="elsewhere"), "site 'demo'"),
    "another environment": (lambda floor: floor["site"].update(environment="production"), "environment test"),
    "another limit": (lambda floor: floor["meter"][1].update(limit="$300,000.00"), "'pg-solo': limit differs"),
    "a limit taken away": (lambda floor: floor["meter"][1].update(limit="none"), "'pg-solo': limit differs"),
    "another bound": (lambda floor: floor["meter"][0].update(unreasonable_contribution="$9.00"), "'pg-link': unreason"),
    "another tie policy": (lambda floor: floor["meter"][0].update(tie_policy="sequential"), "tie_policy differs"),
    "another order": (lambda floor: floor["meter"][0].update(order="pay-order"), "order differs"),
    "another top-up": (lambda floor: floor["meter"][0].update(below_seed="top-up"), "below_seed differs"),
    "another surplus": (lambda floor: floor["meter"][0].update(reserve_surplus="add"), "reserve_surplus differs"),
    "another rounding": (lambda floor: floor["meter"][0].update(rounding="down"), "rounding differs"),
    "another overflow": (lambda floor: floor["meter"][0].update(overflow="keep"), "overflow differs"),
    "another book": (lambda floor: floor["meter"][1].update(book="solo"), "book 'solo' has no opening"),
    "another name of a meter": (lambda floor: _rename(floor, "pg-solo", "pg-alone"), "'pg-alone' has no opening"),
    "a meter with money gone": (lambda floor: _drop(floor, "pg-solo"), "'pg-solo' holds money"),
}


def _rename(floor: Json, old: str, new: str) -> None:
    floor["meter"][1]["id"] = new
    floor["table"][2]["spot"][0]["meters"] = {"main": new}


def _drop(floor: Json, name: str) -> None:
    floor["meter"] = [meter for meter in floor["meter"] if meter["id"] != name]
    floor["table"].pop(2)


@pytest.mark.parametrize("changed", CHANGED)
def test_a_changed_meter_is_refused_by_name(path: Path, changed: str) -> None:
    """Design section 8, MO-04: until people can change it properly."""
    change, words = CHANGED[changed]
    assert words in refusal(path, contract_plan(change))


@pytest.mark.parametrize("changed", CHANGED)
def test_a_refused_start_leaves_the_ledger_as_it_was(path: Path, changed: str) -> None:
    """Byte for byte."""
    before = path.read_bytes()
    refusal(path, contract_plan(CHANGED[changed][0]))
    assert path.read_bytes() == before


@pytest.mark.parametrize(("old", "new"), [
    ('seed = "$10,000.00"', 'seed = "$20,000.00"'), ('rate_of_progression = "1%"', 'rate_of_progression = "2%"'),
    ('reserve_rate = "1%"', 'reserve_rate = "2%"'), ('share = { main = "10%" }', 'share = { main = "11%" }'),
    ('wager = "$5.00"', 'wager = "$10.00"'),
])
def test_a_changed_paytable_is_refused(tmp_path: Path, path: Path, old: str, new: str) -> None:
    """MO-04: seed, rate, reserve rate, shares, wager."""
    floor = contract_floor(tmp_path).change("paytables/progressive-4.toml", old, new)
    assert "'pg-link'" in refusal(path, floor.plan())


FREE: dict[str, Callable[[Json], object]] = {
    "a new table on the link": lambda floor: floor["table"].append(floor["table"][0] | {"id": "PG-04", "device": "h4"}),
    "a table gone from the link": lambda floor: floor["table"].pop(1),
    "another order of paying": lambda floor: floor["table"][0].update(pay_order=[6, 5, 4, 3, 2, 1]),
    "another unit at a table": lambda floor: floor["table"][0].update(device="hub-99"),
    "another name to show": lambda floor: floor["meter"][0].update(name="The Link"),
    "another base": lambda floor: floor["meter"][0].update(base="$12,000.00"),
    "another start of the gaming day": lambda floor: floor["site"].update(gaming_day_start="03:00"),
}


@pytest.mark.parametrize("changed", FREE)
def test_what_is_no_meters_own_may_change_and_the_ledger_replays(path: Path, changed: str) -> None:
    """Tables come and go, units are replaced; the new configuration is an entry."""
    plan = contract_plan(FREE[changed])
    assert refusal(path, plan) == ""
    entered(path, lambda floor: floor.configure(plan, 1), plan)
    assert bad_entry(path, replay=True) == (0, "")


def by_decks(tmp_path: Path, name: str, decks: tuple[int, ...]) -> FloorPlan:
    """A link on a rate that depends on decks: tables with so many."""
    folder = tmp_path / name
    folder.mkdir()
    floor = example_floor(folder, "rate-by-decks", table=f"decks = {decks[0]}")
    for number, count in enumerate(decks[1:], 2):
        floor.add(f'[[table]]\nid = "T{number}"\ndevice = "hub{number}"\nseats = 2\npay_order = [1, 2]\n'
                  f'decks = {count}\n[[table.spot]]\nid = "s"\npaytable = "rate-by-decks"\nmeters = {{ main = "m" }}')
    return floor.plan()


def test_another_number_of_decks_is_another_rate_also_when_a_table_joins_at_the_same_time(tmp_path: Path) -> None:
    """MO-04: a table that stays on the link feeds it as before, whoever joins or leaves."""
    path = opened(tmp_path / "l.db", by_decks(tmp_path, "old", (3,)))
    assert refusal(path, by_decks(tmp_path, "joined", (3, 6))) == ""
    assert "at table 'T' differs" in refusal(path, by_decks(tmp_path, "both", (6, 3)))


def two_books(second: str) -> FloorPlan:
    """PG-02 on a meter of one book or of the other; both books have another table."""
    def change(floor: Json) -> None:
        link, table = floor["meter"][0], floor["table"][1]
        floor["meter"].append(link | {"id": "west-link", "name": "West", "book": "west"})
        floor["table"].append(table | {
            "id": "PG-04", "device": "hub-04", "spot": [table["spot"][0] | {"meters": {"main": "west-link"}}]})
        table["spot"][0]["meters"] = {"main": second}
    return contract_plan(change)


def test_a_table_that_has_played_stays_in_its_book(tmp_path: Path) -> None:
    """I1: its games and its unit's numbers are the other book's to know; elsewhere all is new."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, device="hub-02")], two_books("pg-link"))
    assert refusal(path, two_books("west-link")).startswith("table 'PG-02' has its games in book 'main'")


def test_a_unit_stays_in_its_book_before_its_table_has_played(tmp_path: Path) -> None:
    """I1: its numbers are unique in all books together."""
    path = opened(tmp_path / "l.db", two_books("pg-link"))
    assert refusal(path, two_books("west-link")).startswith("unit 'hub-02' has its numbers in book 'main'")


def test_a_table_with_an_open_game_may_not_go(tmp_path: Path) -> None:
    """Its awards would have no table."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, device="hub-02")])
    plan = contract_plan(lambda floor: floor["table"].pop(1))
    assert "'PG-02' has an open game" in refusal(path, plan)
    applied(path, [said("close", 2, "hub-02", round=1)])
    assert refusal(path, plan) == ""


def test_an_open_game_is_read_back_under_the_version_it_was_locked_under(tmp_path: Path) -> None:
    """Design section 8: also when the changed configuration is not an entry yet."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 1, 2)])
    plan = contract_plan(FREE["another order of paying"])
    reader = Reader(path)
    game = reader.floor(plan, "main").tables["PG-01"].open
    assert game is not None
    assert (game.plan.pay_order, reader.floor(plan, "main").tables["PG-01"].plan.pay_order) == (
        (1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1))
    reader.close()


def test_the_document_kept_in_a_ledger_makes_the_same_plan_again(path: Path) -> None:
    """Design section 8: verified and rebuilt from itself alone."""
    reader = Reader(path)
    _, body = reader.config_entry("main")
    assert build(body["document"]).hash == contract_plan().hash == body["hash"]
    reader.close()


def test_a_start_looks_for_rare_kinds_by_an_index(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2: a start on a million entries takes seconds; it must not read them all to find the configuration."""
    asked: list[str] = []
    reader = Reader(path)
    event.listen(reader._engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    reader.config_entry("main")
    reader.entries("main", kinds=("refused", "fault"))
    reader.close()
    unbounded = [query for query in asked if "FROM entry" in query and "number = ?" not in query
                 and "number IN" not in query]
    assert ["INDEXED BY entry_seldom" in query for query in unbounded] == [True, True]
