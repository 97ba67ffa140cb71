"""The page of a paytable, and the judging of cards beside it, over a stand-in for the daemon."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from demo_snapshot import busy_snapshot
from fastapi import FastAPI
from fastapi.testclient import TestClient
from web_house import House

from controller.game.odds import Odds
from controller.plan import Environment, frozen
from controller.snapshot import Snapshot
from controller.web.app import create_app

FOUR = "/paytables/progressive-4"
ONE = "/paytables/progressive-1"
SCRIPT = "<script>alert(1)</script>"


def app_of(snapshot: Snapshot) -> FastAPI:
    return create_app(House(snapshot))


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app_of(busy_snapshot())) as opened:
        yield opened


def words(page: str) -> str:
    """What a reader sees, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.split("<main")[1]).split())


def changed(snapshot: Snapshot, meter: str, **policies: object) -> Snapshot:
    """The snapshot with policies of one meter changed."""
    view = snapshot.meters[meter]
    own = replace(view.plan, **policies)  # type: ignore[arg-type]
    return replace(snapshot, meters=frozen({**snapshot.meters, meter: replace(view, plan=own)}))


# The list


def test_every_paytable_in_use_is_listed_with_its_meters_and_tables(client: TestClient) -> None:
    said = words(client.get("/paytables").text)
    assert "Progressive, paytable 4 58 Pa. Code § 688a.12(d), Paytable 4 Wager $5.00. " in said
    assert "Face Up Pai Gow Link at PG-01, PG-02." in said


def test_the_list_leads_to_each_page(client: TestClient) -> None:
    leads = re.findall(r'href="(/paytables/[^"]+)"', client.get("/paytables").text)
    assert [client.get(lead).status_code for lead in leads] == [200, 200]


# Rows


@pytest.mark.parametrize(
    ("path", "row"),
    [
        (FOUR, "7 card straight flush $5,000.00 + 100% of the meter $1,000.00 $14,604.70 32 1 in 4,816,971"),
        (FOUR, "Four-of-a-kind $100.00 $5.00 $100.00 307,472 1 in 501"),
        (FOUR, "No row nothing none $0.00 153,623,516 1 in 1.003"),
        (ONE, "Full house $4.00 $4.00 4,188,528 1 in 36.8"),
        (ONE, "7 card straight flush 100% of the meter $86,409.13"),
        (ONE, "Five aces 10% of the meter $8,640.92"),
    ],
)
def test_a_row_shows_pay_envy_what_it_wins_now_and_how_rare_it_is(client: TestClient, path: str, row: str) -> None:
    """The meters stand at $9,604.70 and $86,409.13; C(53,7) is 154,143,080, of which 32 are natural runs of seven."""
    assert row in words(client.get(path).text)


def test_the_counts_of_all_rows_and_none_sum_to_every_hand(client: TestClient) -> None:
    """C(53,7)."""
    found = re.findall(r"<td>([\d,]+)</td><td>(?:1 in|never)", client.get(FOUR).text)
    assert sum(int(count.replace(",", "")) for count in found) == 154_143_080


def test_the_meter_stands_above_its_rows(client: TestClient) -> None:
    assert "Face Up Pai Gow Link stands at $9,604.70 ." in words(client.get(FOUR).text)


def test_the_citation_and_the_wager_stand_above_the_rows(client: TestClient) -> None:
    said = words(client.get(FOUR).text)
    assert "58 Pa. Code § 688a.12(d), Paytable 4 The wager is $5.00 and goes back to a winner." in said


# Odds


def test_return_and_house_edge_stand_at_the_seed_now_and_in_the_long_run(client: TestClient) -> None:
    said = words(client.get(ONE).text)
    for figure in (
        "Return with the meter at its seed house edge 51.52% 48.48%",
        "Return in the long run house edge 24.25% 75.75%",
    ):
        assert figure in said


def test_the_return_as_the_meter_stands_is_100_percent_at_the_break_even_meter() -> None:
    """The page's own break-even figure, put on the meter."""
    quiet = busy_snapshot()
    page = words(TestClient(app_of(quiet)).get(ONE).text)
    even = re.search(r"Break-even meter .*?100% \$([\d,]+)\.(\d\d)", page)
    assert even is not None
    cents = int(even[1].replace(",", "") + even[2])
    view = replace(quiet.meters["pg-solo"], display_microcents=cents * 1_000_000)
    there = replace(quiet, meters=frozen({**quiet.meters, "pg-solo": view}))
    assert "Return as the meter stands now house edge 0.00% 100.00%" in words(TestClient(app_of(there)).get(ONE).text)


class Late(House):
    """A daemon that reckons the odds yet, or has failed to."""

    said: str | None = None

    def odds(self, paytable: str) -> Odds | str | None:
        return self.said


def test_until_the_odds_are_there_the_page_says_so_and_asks_again() -> None:
    page = TestClient(create_app(Late(busy_snapshot()))).get(FOUR).text
    assert "Computing the odds" in page and "data-computing" in page


def test_odds_that_could_not_be_reckoned_are_said_and_not_asked_for_again() -> None:
    house = Late(busy_snapshot())
    house.said = "they could not be reckoned: no memory"
    page = TestClient(create_app(house)).get(FOUR).text
    assert "Odds are not known here: they could not be reckoned: no memory." in words(page)
    assert "data-computing" not in page


def test_a_paytable_of_another_game_shows_its_rows_and_why_it_has_no_odds() -> None:
    """Another game's hands bear the same names."""
    stud = foreign_floor()
    said = words(TestClient(app_of(stud)).get(FOUR).text)
    assert "Odds are not known here: its game is &#34;mississippi-stud&#34;" in said
    assert "Five aces $2,500.00 $100.00 $2,500.00" in said


def foreign_floor() -> Snapshot:
    """The floor with another game at its linked tables."""
    busy = busy_snapshot()
    tables = {}
    for name, table in busy.plan.tables.items():
        spots = tuple(replace(spot, paytable=replace(spot.paytable, game="mississippi-stud")) for spot in table.spots)
        tables[name] = replace(table, spots=spots)
    return replace(busy, plan=replace(busy.plan, tables=frozen(tables)))


# Rules that stand beside it


def test_the_split_of_the_wager_names_the_next_jackpot_money(client: TestClient) -> None:
    """R-28."""
    said = words(client.get(FOUR).text)
    assert (
        "To the meter Face Up Pai Gow Link 5 cents 1% "
        "To the next-jackpot money of Face Up Pai Gow Link 5 cents 1% "
        "To the house, which pays the fixed prizes and envy 490 cents 98%" in said
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [(FOUR, "Next-jackpot money is not part of the amount on the sign"), (ONE, "Nothing of it goes to next-jackpot")],
)
def test_it_is_said_whether_any_money_goes_elsewhere_than_to_the_shown_prize(
    client: TestClient, path: str, said: str
) -> None:
    """R-28."""
    assert said in words(client.get(path).text)


@pytest.mark.parametrize(
    ("path", "limit"), [(FOUR, "Limit of the meter None."), (ONE, "Limit of the meter $250,000.00.")]
)
def test_the_limit_of_the_meter_is_shown(client: TestClient, path: str, limit: str) -> None:
    """D22."""
    assert limit in words(client.get(path).text)


def test_limits_for_all_winners_and_for_one_player_are_shown(client: TestClient) -> None:
    """D22: nobody is surprised by an aggregate limit."""
    said = words(client.get(FOUR).text)
    assert "Limit for all winners of a game together This controller sets none." in said
    assert "Limit for one player This controller sets none." in said


@pytest.mark.parametrize("way", ["up", "down"])
def test_the_rounding_is_printed(way: str) -> None:
    """D30."""
    snapshot = changed(busy_snapshot(), "pg-link", rounding=type(busy_snapshot().meters["pg-link"].plan.rounding)(way))
    assert f"A share of the meter is rounded {way} to the whole cent" in words(
        TestClient(app_of(snapshot)).get(FOUR).text
    )


def two_links() -> Snapshot:
    """One paytable, two meters that stand differently."""
    busy = busy_snapshot()
    solo = busy.plan.tables["PG-03"]
    view, link = busy.meters["pg-solo"], busy.meters["pg-link"]
    plan = replace(view.plan, paytable=link.plan.paytable)
    prizes = busy.plan.tables["PG-01"].spots[0].prizes
    spots = tuple(replace(spot, paytable=link.plan.paytable, prizes=prizes) for spot in solo.spots)
    tables = frozen({**busy.plan.tables, "PG-03": replace(solo, spots=spots)})
    meters = frozen({**busy.meters, "pg-solo": replace(view, plan=plan)})
    return replace(busy, plan=replace(busy.plan, tables=tables), meters=meters)


def test_two_links_of_one_paytable_each_have_their_amount() -> None:
    two = two_links()
    said = words(TestClient(app_of(two)).get(FOUR).text)
    assert "Wins now, Face Up Pai Gow Link at PG-01, PG-02 Wins now, Face Up Pai Gow Solo at PG-03" in said
    assert "$1,000.00 $14,604.70 $91,409.13" in said


@pytest.mark.parametrize("changes", [{"stopped": "the disk is full"}, {"ready": False}, {}])
def test_a_closed_progressive_says_so_without_the_reason(changes: dict[str, object]) -> None:
    """Players learn that it is closed; why is for the staff."""
    page = TestClient(app_of(replace(busy_snapshot(), **changes))).get(FOUR).text  # type: ignore[arg-type]
    assert ("The progressive is closed" in page, "the disk is full" in page) == (bool(changes), False)


def test_two_links_of_the_same_name_each_keep_their_rounding() -> None:
    """D30: names of meters may be alike."""
    two = two_links()
    up, down = (type(two.meters["pg-link"].plan.rounding)(way) for way in ("up", "down"))
    alike = changed(changed(two, "pg-link", name="Same", rounding=up), "pg-solo", name="Same", rounding=down)
    said = words(TestClient(app_of(alike)).get(FOUR).text)
    assert ["rounded up to" in said, "rounded down to" in said] == [True, True]


# What every page keeps


def test_a_paytable_that_is_not_in_use_is_404_with_what_to_do(client: TestClient) -> None:
    answer = client.get("/paytables/fortune-1")
    assert (answer.status_code, answer.json()["remedy"]) == (404, "look in /paytables")


@pytest.mark.parametrize("path", ["/paytables", FOUR])
def test_the_environment_stands_on_the_pages(path: str) -> None:
    """D8."""
    kinds = (Environment.TEST, Environment.PRODUCTION)
    pages = [TestClient(app_of(busy_snapshot(kind))).get(path).text for kind in kinds]
    assert ["not in production" in page for page in pages] == [True, False]


@pytest.mark.parametrize("path", ["/paytables", FOUR])
def test_a_script_in_a_name_is_shown_as_text(path: str) -> None:
    """WE-01."""
    snapshot = changed(busy_snapshot(name=SCRIPT), "pg-link", name=SCRIPT)
    assert "<script>alert" not in TestClient(app_of(snapshot)).get(path).text


# Judging cards


def judged(client: TestClient, cards: str, paytable: str = "progressive-4") -> tuple[int, dict[str, object]]:
    answer = client.get("/api/v1/classify", params={"paytable": paytable, "cards": cards})
    return answer.status_code, answer.json()


def test_seven_cards_are_judged_by_a_paytable_in_use(client: TestClient) -> None:
    assert judged(client, "As Ks Qs Js Ts 4d 2c") == (200, {
        "paytable": "progressive-4", "cards": "As Ks Qs Js Ts 4d 2c", "outcome": "royal-flush", "label": "Royal flush",
        "best": "As Ks Qs Js Ts", "words": "Royal flush (As Ks Qs Js Ts)",
    })  # fmt: skip


def test_cards_of_no_row_are_answered_so(client: TestClient) -> None:
    _, answer = judged(client, "As Kd Jh 9c 7s 5d 3h")
    assert (answer["outcome"], answer["words"]) == (None, "no row of the paytable")


@pytest.mark.parametrize(
    ("cards", "said"), [("As Ks", "2 cards where 7 are meant"), ("As Ks Qs Js 10s 4d 2c", "did you mean Ts?")]
)
def test_wrong_cards_are_422_with_the_card_and_what_to_write(client: TestClient, cards: str, said: str) -> None:
    status, answer = judged(client, cards)
    assert (status, said in str(answer["error"]), answer["remedy"]) == (
        422, True, "write seven cards like As Kd Th 2c Jo")  # fmt: skip


def test_a_text_too_long_for_a_hand_is_422(client: TestClient) -> None:
    assert judged(client, "A" * 201)[0] == 422


def test_cards_by_a_paytable_not_in_use_are_404(client: TestClient) -> None:
    assert judged(client, "As Ks Qs Js Ts 4d 2c", "fortune-1")[0] == 404


def test_cards_of_another_game_are_left_to_people() -> None:
    status, answer = judged(TestClient(app_of(foreign_floor())), "As Ks Qs Js Ts 4d 2c")
    assert (status, "judged by people" in str(answer["remedy"])) == (422, True)
