"""What waits and was done lately, read from a real ledger: the first time whole, then only what is new."""

from pathlib import Path

import pytest
from awards_house import AwardsHouse
from desk_house import ANNA, BEN, CARL

from controller import desk_log
from controller.desk_log import AwardLog, read_table_acts
from controller.ledger.reader import Reader

ACES = "five-aces"


def won(tmp_path: Path, games: int = 1) -> AwardsHouse:
    """Games of PG-01 in which seat 1 wins and seat 2 is due $100.00 of envy."""
    made = AwardsHouse(tmp_path)
    for number in range(1, games + 1):
        made.lock(number, 1, 2)
        made.hit(number, 1, ACES)
    return made


def test_envy_is_owed_once_its_hand_is_verified_until_people_deal_with_it(tmp_path: Path) -> None:
    made = won(tmp_path)
    seen = [len(made.log_of_awards.lately().envy)]
    made.sign("award-verified", ANNA, game=1, seat=1)
    seen.append(len(made.log_of_awards.lately().envy))
    made.sign("envy-paid", BEN, game=1, seat=1, to=2, how="chips")
    seen.append(len(made.log_of_awards.lately().envy))
    assert seen == [0, 1, 0]


def test_a_second_look_knows_what_a_first_look_anew_would_find(tmp_path: Path) -> None:
    made = won(tmp_path, 3)
    for game in (1, 2, 3):
        made.log_of_awards.lately()
        made.sign("award-verified", ANNA, game=game, seat=1)
    made.sign("envy-unclaimed", BEN, game=2, seat=1, to=2, reason="left")
    anew = AwardLog(made.reader, made.plan).lately()
    assert sorted(made.log_of_awards.lately().envy) == sorted(anew.envy)
    assert [(one.game, one.to, one.cents) for one in sorted(anew.envy)] == [(1, 2, 10_000), (3, 2, 10_000)]


def test_the_ledger_is_not_searched_again_for_what_is_known(tmp_path: Path) -> None:
    made = won(tmp_path)
    searches = []

    class Watched(Reader):
        def states(self, *asked: object, **having: object) -> list[object]:  # type: ignore[override]
            searches.extend(having)
            return super().states(*asked, **having)  # type: ignore[arg-type, return-value]

    log = AwardLog(Watched(made.path), made.plan)
    for _ in range(3):
        log.lately()
    assert searches == ["having"]


def test_more_news_than_one_reading_holds_is_found_by_a_new_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = won(tmp_path, 4)
    made.log_of_awards.lately()
    for game in (1, 2, 3, 4):
        made.sign("award-verified", ANNA, game=game, seat=1)
    monkeypatch.setattr(desk_log, "GAMES_READ", 2)
    assert sorted(one.game for one in made.log_of_awards.lately().envy) == [1, 2, 3, 4]


def test_paid_and_refused_awards_are_named_with_amount_and_people_newest_first(tmp_path: Path) -> None:
    made = won(tmp_path, 2)
    made.sign("award-verified", ANNA, game=1, seat=1)
    made.sign("award-paid", BEN, game=1, seat=1, handed="$2,505.00", how="chips")
    made.later()
    made.sign("award-refused", CARL, ANNA, game=2, seat=1, reason="another deck")
    made.sign("slip-printed", CARL, game=2, seat=1)
    done = made.log_of_awards.lately().done
    assert [(one.game, one.cents, one.state, one.by) for one in done] == [
        (2, 250_500, "refused", ("carl", "anna")), (1, 250_500, "paid", ("ben",))]


def test_a_table_s_own_log_has_nothing_of_another_table(tmp_path: Path) -> None:
    made = won(tmp_path)
    made.sign("table-closed", ANNA, table="PG-02", note="no dealer")
    assert [(act.title, act.note) for act in read_table_acts(made.reader, made.plan, "PG-02")] == [
        ("Close the table", "no dealer")]
    assert read_table_acts(made.reader, made.plan, "PG-01") == ()
