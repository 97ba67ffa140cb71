"""The pages of awards and tables through the real desk, ledger and doors: who sees which form, and what it does."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from awards_house import AwardsHouse, awards_app, plan_with
from desk_house import ANNA, BEN, CARL, DORA, EVE, FAY
from fastapi.testclient import TestClient
from people_house import BROWSER, SECRET
from slip_house import pages_of

from controller.ledger.place import LedgerError
from controller.web.award_pages import age_words

MATCH, ACES = "royal-flush-royal-match", "five-aces"
ORIGIN = {"origin": "http://testserver"}


class Screen:
    """A browser of one person, who reads pages and sends the forms that stand on them."""

    def __init__(self, client: TestClient, name: str) -> None:
        self.client = client
        form = {"name": name, "secret": SECRET, "back": "/awards"}
        assert client.post("/sign-in", data=form, headers=ORIGIN | BROWSER).status_code == 303

    def page(self, path: str) -> str:
        """The text of a page, its HTML taken away but for forms."""
        answer = self.client.get(path, headers=BROWSER)
        assert answer.status_code == 200, (path, answer.status_code)
        return html.unescape(answer.text)

    def forms(self, path: str) -> dict[str, list[dict[str, str]]]:
        """By kind of act: the hidden and given fields of each of its forms on a page."""
        found: dict[str, list[dict[str, str]]] = {}
        made = re.findall(r'<form class="act[^>]*action="/acts/([^"]+)"[^>]*>(.*?)</form>', self.page(path), re.S)
        for kind, inside in made:
            given = re.findall(r'<input(?![^>]*checkbox)[^>]*name="([^"]+)"[^>]*value="([^"]*)"', inside)
            found.setdefault(kind, []).append(dict(given))
        return found

    def send(self, path: str, kind: str, place: int = 0, **more: str) -> Any:
        """Fill in a form of a page and send it; the answer is a redirect."""
        form = self.forms(path)[kind][place] | more
        answer = self.client.post(f"/acts/{kind}", data=form, headers=ORIGIN | BROWSER)
        assert answer.status_code == 303
        return answer

    def told(self, path: str = "/awards") -> str:
        """What the last act came to."""
        found = re.search(r'class="flash[^>]*>(.*?)</p>', self.page(path), re.S)
        return found[1] if found else ""


@contextmanager
def screens(house: AwardsHouse, folder: Path, *names: str) -> Iterator[list[Screen]]:
    app = awards_app(house, folder)
    clients = [TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000)) for _ in names]
    with clients[0]:
        yield [Screen(client, name) for client, name in zip(clients, names, strict=True)]


@pytest.fixture
def house(tmp_path: Path) -> AwardsHouse:
    """Game 1 of PG-01: seats 1, 2 and 4 lit, seat 2 wins $7,005.03; closed."""
    made = AwardsHouse(tmp_path)
    made.lock(1, 1, 2, 4)
    made.hit(1, 2, MATCH)
    made.say("close", 1)
    return made


GAME = "/awards/PG-01/1"


@pytest.mark.parametrize("path", ["/awards", GAME, "/tables/PG-01", f"{GAME}/2/progressive/slip.pdf?copy=1"])
def test_nobody_sees_a_page_without_signing_in(house: AwardsHouse, tmp_path: Path, path: str) -> None:
    with TestClient(awards_app(house, tmp_path), follow_redirects=False) as client:
        answer = client.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["location"].startswith("/sign-in?back=")) == (303, True)


@pytest.mark.parametrize(
    "path",
    ["/awards", "/awards/x/x", "/awards/x/x/x/x/slip", "/awards/x/x/x/x/slip.pdf", "/tables/x", "/tables/x/game"])
def test_a_program_without_a_token_is_answered_401_whatever_it_asks(
    house: AwardsHouse, tmp_path: Path, path: str
) -> None:
    """What an address holds is looked at only for signed-in people."""
    with TestClient(awards_app(house, tmp_path), follow_redirects=False) as client:
        assert client.get(path).status_code == 401


def test_what_waits_for_the_person_stands_first_with_amount_age_and_next_step(
    house: AwardsHouse, tmp_path: Path
) -> None:
    house.later(12)
    with screens(house, tmp_path, "anna") as (anna,):
        page = anna.page("/awards")
    mine = page[page.index('id="mine"') : page.index('id="done"')]
    for words in ("Waits for you: 1 award", "$7,005.03", "PG-01, game 1, seat 2", "Royal flush + royal match",
                  "Won 12 min ago", ">Verify<"):
        assert words in mine


def test_whoever_may_not_take_the_next_step_reads_who_may(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "dora") as (dora,):
        page = dora.page("/awards")
    assert "No award waits for you" in page
    assert "Next: verify, by a supervisor or a shift manager" in page


def test_the_page_of_a_game_shows_how_the_award_adds_up(house: AwardsHouse, tmp_path: Path) -> None:
    """MO-10, D30: meter before, share, rounding, fixed part, returned wager, the sum."""
    with screens(house, tmp_path, "anna") as (anna,):
        page = anna.page(GAME)
    for words in ("20% of $10,000.15 = $2,000.03", "up to the whole cent, in the player's favour", "$2,000.03",
                  "$5,000.00", "$5.00", "$7,005.03", "As this hand found it", "$8,000.12", "3 wagers accepted"):
        assert words in page


def test_one_person_verifies_and_another_pays_on_the_pages(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna", "ben") as (anna, ben):
        anna.send(GAME, "award-verified", cards="")
        assert anna.told() == "Done: Verify."
        assert "award-paid" not in anna.forms(GAME)
        assert "anna has signed another step: Verify" in anna.page(GAME)
        ben.send(GAME, "award-paid", how="chips")
    (award,) = house.game(1).awards
    assert (award.life.state, [act.people[0].id for act in award.life.acts]) == ("paid", ["anna", "ben"])


def test_the_amount_to_hand_over_is_filled_in_and_a_changed_award_refuses_the_old_one(
    house: AwardsHouse, tmp_path: Path
) -> None:
    """A page that is older than a later hand of its game pays nothing by the old amount."""
    house.sign("award-verified", ANNA, game=1, seat=2)
    with screens(house, tmp_path, "ben") as (ben,):
        old = ben.forms(GAME)["award-paid"][0]
        house.sign("hit-added", CARL, ANNA, game=1, seat=1, outcome=MATCH, reason="no keypad")
        ben.client.post("/acts/award-paid", data=old | {"how": "chips"}, headers=ORIGIN | BROWSER)
        told = ben.told()
    assert old["handed"] == "$7,005.03"
    assert "Not done" in told
    assert house.game(1).awards[1].life.state == "verified"


def test_a_form_sent_twice_does_one_thing_once(house: AwardsHouse, tmp_path: Path) -> None:
    """MO-06."""
    with screens(house, tmp_path, "anna") as (anna,):
        form = anna.forms(GAME)["award-verified"][0]
        for _ in range(2):
            anna.client.post("/acts/award-verified", data=form, headers=ORIGIN | BROWSER)
        assert anna.told() == "It was done already: Verify."
    assert len(house.game(1).awards[0].life.acts) == 1


def test_refusing_takes_a_second_person_on_the_same_screen(house: AwardsHouse, tmp_path: Path) -> None:
    """D21."""
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "award-refused", reason="another deck", second_name="ben", second_secret=SECRET)
        assert anna.told() == "Done: Refuse."
        page = anna.page("/awards")
    assert "refused" in page[page.index('id="done"') :]
    assert "anna, ben" in page[page.index('id="done"') :]
    assert house.game(1).past[0].life.state == "refused"


def test_a_wrong_secret_of_the_second_person_does_nothing(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "award-refused", reason="another deck", second_name="ben", second_secret="wrong")
        assert anna.told().startswith("Not done: the second person")
    assert house.game(1).awards[0].life.state == "pending"


@pytest.mark.parametrize("name", ["fay", "gus", "eve", "hal"])
def test_people_without_a_part_in_awards_see_pages_and_no_forms(
    house: AwardsHouse, tmp_path: Path, name: str
) -> None:
    with screens(house, tmp_path, name) as (one,):
        kinds = {*one.forms(GAME), *one.forms("/tables/PG-01"), *one.forms("/awards")}
    assert kinds == set()


def test_a_floor_that_lets_only_shift_managers_pay_shows_supervisors_no_form(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path, plan_with(pay=["shift-manager"]))
    made.lock(1, 1, 2)
    made.hit(1, 2, ACES)
    made.sign("award-verified", ANNA, game=1, seat=2)
    with screens(made, tmp_path, "ben", "carl") as (ben, carl):
        assert ("award-paid" in ben.forms(GAME), "award-paid" in carl.forms(GAME)) == (False, True)
        assert "By a shift manager." in ben.page(GAME)


def test_the_checklist_shows_each_line_to_tick_and_asks_for_all(tmp_path: Path) -> None:
    made = AwardsHouse(tmp_path, plan_with(paper_from="$100.00", paper=["Identity checked", "Cards to camera"]))
    made.lock(1, 1, 2)
    made.hit(1, 2, ACES)
    made.sign("award-verified", ANNA, game=1, seat=2)
    with screens(made, tmp_path, "carl") as (carl,):
        page = carl.page(GAME)
        ticks = {"tick-1": "Identity checked", "tick-2": "Cards to camera"}
        carl.send(GAME, "paper-done", taxable="not-taxable", **ticks)
        assert carl.told() == "Done: Complete the checklist."
    assert page.count('type="checkbox" name="tick-') == 2
    assert not made.game(1).awards[0].paper


def test_a_hand_is_changed_and_the_old_award_stays_on_the_page(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "hit-changed", outcome=ACES, reason="read wrongly", second_name="ben", second_secret=SECRET)
        page = anna.page(GAME)
    assert "Five aces" in page
    assert 'aria-label="Stands no more: seat 2"' in page


def test_a_hand_is_added_at_a_seat_that_the_form_offers(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "hit-added", seat="4", outcome=ACES, reason="no keypad", second_name="ben",
                  second_secret=SECRET)
        assert anna.told() == "Done: Add a hand."
    assert [one.life.place[0] for one in house.game(1).awards] == [2, 4]


def test_a_hand_of_a_seat_without_a_wager_has_a_form_of_its_own(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        page = anna.page(GAME)
        anna.send(GAME, "hit-added", 1, seat="5", outcome=ACES, reason="no keypad", second_name="ben",
                  second_secret=SECRET)
        assert anna.told() == "Done: Add a hand."
    assert "Add a hand of a seat without a wager" in page
    assert [seat for seat, *_ in house.game(1).envy_only] == [5]


def test_a_hand_that_came_after_another_game_had_taken_says_so(house: AwardsHouse, tmp_path: Path) -> None:
    house.lock(1, 1, 3, table="PG-02")
    house.hit(1, 3, MATCH, table="PG-02")
    house.sign("hit-added", BEN, CARL, game=1, seat=4, outcome=MATCH, reason="no keypad")
    with screens(house, tmp_path, "anna") as (anna,):
        page = anna.page(GAME)
    assert page.count("paid from the meter as it stood") == 1


def test_envy_is_paid_seat_by_seat_and_stands_among_what_waits_until_then(house: AwardsHouse, tmp_path: Path) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    with screens(house, tmp_path, "ben") as (ben,):
        assert "Seats 1, 4" in ben.page("/awards")
        ben.send(GAME, "envy-paid", how="chips")
        assert "Seat 4" in ben.page("/awards")
        ben.send(GAME, "envy-unclaimed", reason="the player left")
        assert 'id="envy"' not in ben.page("/awards")
    assert [due.state for due in house.game(1).awards[0].envy] == ["paid", "unclaimed"]


def test_whoever_verified_the_hand_is_told_that_another_person_pays_its_envy(
    house: AwardsHouse, tmp_path: Path
) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    with screens(house, tmp_path, "anna") as (anna,):
        assert "envy-paid" not in anna.forms(GAME)
        assert "Another person pays the envy: anna has signed another step" in anna.page(GAME)


def test_the_next_jackpot_money_stands_before_and_after_also_where_it_did_not_move(
    house: AwardsHouse, tmp_path: Path
) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", anna.page(GAME)))
    assert "Next-jackpot money before $0.15 Next-jackpot money after $0.15" in text


def test_envy_for_a_seat_in_doubt_asks_for_the_second_person_on_the_page(house: AwardsHouse, tmp_path: Path) -> None:
    house.lock(2, 1, 2, 4)
    house.say("count", 2, chips=2)
    house.hit(2, 2, MATCH)
    house.sign("award-verified", ANNA, game=2, seat=2)
    house.sign("award-released", CARL, game=2, seat=2)
    game = "/awards/PG-01/2"
    with screens(house, tmp_path, "ben") as (ben,):
        page = ben.page(game)
        assert "a second person signs: chips and wagers of this game differ, and nobody has found why" in page
        ben.send(game, "envy-paid", how="chips", third_name="dora", third_secret=SECRET)
    assert house.game(2).awards[0].envy[0].state == "paid"


def test_whoever_closed_the_difference_is_told_why_another_person_does_the_rest(
    house: AwardsHouse, tmp_path: Path
) -> None:
    house.lock(2, 1, 2, 4)
    house.say("count", 2, chips=2)
    house.hit(2, 2, MATCH)
    house.sign("count-closed", ANNA, CARL, game=2, seat=4, finding="no chip")
    with screens(house, tmp_path, "anna") as (anna,):
        assert "anna has closed a difference of the count of this game" in anna.page("/awards/PG-01/2")
        assert "you have closed a difference of the count of this game" in anna.page("/awards")


def test_after_a_payment_in_error_the_page_adds_the_true_hand_and_says_that_its_envy_is_not_due(
    house: AwardsHouse, tmp_path: Path
) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    house.sign("award-paid", BEN, game=1, seat=2, handed="$7,005.03", how="chips")
    house.sign("paid-in-error", ANNA, BEN, DORA, game=1, seat=2, reason="read again")
    with screens(house, tmp_path, "anna") as (anna,):
        assert "not due: the hand was paid in error" in anna.page(GAME)
        assert 'id="envy"' not in anna.page("/awards")
        anna.send(GAME, "hit-added", seat="2", outcome="four-of-a-kind", reason="read again", second_name="ben",
                  second_secret=SECRET)
        assert "paid in error" in anna.page(GAME)
    found = house.game(1)
    assert ([one.life.state for one in found.awards], [one.life.state for one in found.past]) == (
        ["pending"], ["paid-in-error"])


def test_a_hand_whose_envy_is_paid_stands(house: AwardsHouse, tmp_path: Path) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    house.sign("envy-paid", BEN, game=1, seat=2, to=1, how="chips")
    with screens(house, tmp_path, "carl") as (carl,):
        kinds = carl.forms(GAME)
    assert kinds.keys() & {"award-refused", "hit-changed", "hit-withdrawn"} == set()


def test_printing_leads_to_the_pdf_of_the_copy_that_it_issued(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        for copy in (1, 2):
            where = anna.send(GAME, "slip-printed").headers["location"]
            there = anna.client.get(where, headers=BROWSER).headers["location"]
            assert there == f"{GAME}/2/progressive/slip.pdf?number=1&copy={copy}"
            made = anna.client.get(there, headers=BROWSER)
            assert made.headers["content-type"] == "application/pdf"
            words = " ".join(text for page in pages_of(made.content) for text in page)
            assert ("REPRINT 1" in words, "$7,005.03" in words) == (copy == 2, True)


def test_no_pdf_is_made_of_a_copy_that_nobody_printed(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        assert anna.client.get(f"{GAME}/2/progressive/slip.pdf?copy=1", headers=BROWSER).status_code == 404
        anna.send(GAME, "slip-printed")
        answers = [anna.client.get(f"{GAME}/2/progressive/slip.pdf?copy={copy}", headers=BROWSER).status_code
                   for copy in (1, 2)]
    assert answers == [200, 404]


def test_a_print_that_was_refused_leads_back_to_the_game(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        answer = anna.client.get(f"{GAME}/2/progressive/slip?act=never-done", headers=BROWSER)
    assert (answer.status_code, answer.headers["location"]) == (303, GAME)


def test_the_page_of_a_table_shows_games_people_and_what_a_player_can_win(
    house: AwardsHouse, tmp_path: Path
) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    house.later(2)
    house.lock(2, 3)
    with screens(house, tmp_path, "ben") as (ben,):
        page = ben.page("/tables/PG-01")
    for words in ("Game 2", "Game 1", "Royal flush + royal match: $7,005.03", "verified by anna", "seat 1 $750.00",
                  "/paytables/progressive-4", "Face Up Pai Gow Link $8,000.1", "kiosk-1"):
        assert words in page


def test_a_table_is_closed_and_opened_with_who_and_when(house: AwardsHouse, tmp_path: Path) -> None:
    """R-30, R-88."""
    table = "/tables/PG-01"
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(table, "table-closed", note="end of day")
        assert "Closed: no lock-out is accepted" in anna.page(table)
        assert "end of day" in anna.page(table)
        anna.send(table, "table-opened")
        page = anna.page(table)
    assert "Open for wagers" in page
    assert "anna (supervisor, table-games)" in page


def test_a_loss_is_accepted_by_two_people_on_the_table_s_page(house: AwardsHouse, tmp_path: Path) -> None:
    """R-94."""
    from controller import losses

    house.change(lambda floor, at: losses.lose(floor, "hub-01", "b1", 4, 6, at))
    table = "/tables/PG-01"
    with screens(house, tmp_path, "anna", "carl") as (anna, carl):
        assert "loss-accepted-by" not in anna.forms(table)
        assert "The table unit has lost messages 4 to 5" in anna.page(table)
        carl.send(table, "loss-accepted-by", reason="unit changed", second_name="eve", second_secret=SECRET)
        assert carl.told() == "Done: Accept a loss."
        assert 'id="loss"' not in carl.page(table)


def test_a_difference_of_the_count_is_shown_and_closed(house: AwardsHouse, tmp_path: Path) -> None:
    house.lock(2, 1, 3)
    house.say("count", 2, chips=3)
    with screens(house, tmp_path, "anna") as (anna,):
        assert "3 chips counted" in anna.page("/awards/PG-01/2")
        anna.send("/awards/PG-01/2", "count-closed", seat="3", finding="two chips at seat 3", second_name="carl",
                  second_secret=SECRET)
        assert anna.told() == "Done: Close a difference of the count."
        assert "the difference is closed" in anna.page("/awards/PG-01/2")


def test_a_wager_is_added_and_removed_before_the_first_hand(house: AwardsHouse, tmp_path: Path) -> None:
    house.lock(2, 1, 3)
    second = {"second_name": "ben", "second_secret": SECRET}
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send("/awards/PG-01/2", "wager-added", seat="5", reason="the sensor is dead", **second)
        anna.send("/awards/PG-01/2", "wager-removed", seat="1", reason="a chip of the next game", **second)
        assert anna.told() == "Done: Remove a wager."
    assert [lit.seat for lit in house.game(2).lit] == [3, 5]


@pytest.mark.parametrize(
    ("path", "status"),
    [("/awards/PG-01/99", 404), ("/awards/PG-09/1", 404), ("/tables/PG-09", 404), ("/awards/PG-01/0", 422),
     ("/awards/PG-01/1/9/progressive/slip.pdf?copy=1", 404), ("/awards/PG-01/1/2/progressive/slip.pdf?copy=0", 422)],
)
def test_what_is_not_there_is_named_with_what_to_do(
    house: AwardsHouse, tmp_path: Path, path: str, status: int
) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        assert anna.client.get(path, headers=BROWSER).status_code == status


def test_another_game_is_found_by_its_number(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        assert anna.client.get("/tables/PG-01/game?number=1", headers=BROWSER).headers["location"] == GAME


def test_a_ledger_that_cannot_be_read_is_said_and_nothing_is_shown(
    house: AwardsHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise LedgerError("the disk is gone")

    monkeypatch.setattr(house, "game_file", broken)
    with screens(house, tmp_path, "anna") as (anna,):
        answer = anna.client.get(GAME, headers=BROWSER)
    assert (answer.status_code, "$" in answer.text) == (503, False)


def test_text_from_people_is_shown_as_text(house: AwardsHouse, tmp_path: Path) -> None:
    """WE-01."""
    script = "<script>alert(1)</script>"
    house.sign("award-refused", ANNA, BEN, game=1, seat=2, reason=script)
    house.sign("table-closed", ANNA, note=script)
    with screens(house, tmp_path, "anna") as (anna,):
        answers = [anna.client.get(path, headers=BROWSER).text for path in (GAME, "/tables/PG-01", "/awards")]
    assert [script in answer for answer in answers] == [False, False, False]


def test_no_page_has_script_or_style_of_its_own(house: AwardsHouse, tmp_path: Path) -> None:
    with screens(house, tmp_path, "anna") as (anna,):
        pages = "".join(anna.client.get(path, headers=BROWSER).text for path in ("/awards", GAME, "/tables/PG-01"))
    assert re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", pages) == []


def test_ages_are_told_in_words() -> None:
    minute = 60_000_000
    assert [age_words(minutes * minute) for minutes in (0, 1, 59, 61, 1_440, 4_000)] == [
        "just now", "1 min", "59 min", "1 h 1 min", "1 day", "2 days"]


def test_everybody_who_signed_stands_in_the_history(house: AwardsHouse, tmp_path: Path) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    house.sign("award-paid", BEN, None, CARL, game=1, seat=2, handed="$7,000.00", how="cash", reason="no coins")
    with screens(house, tmp_path, "dora") as (dora,):
        history = dora.page(GAME)
    for person in (ANNA, BEN, CARL):
        assert person.words() in history
    assert all(person.words() not in history for person in (EVE, FAY))
    assert "Differs from the award by: -$5.03" in history


def test_accounting_finds_with_two_others_what_was_paid_in_error(house: AwardsHouse, tmp_path: Path) -> None:
    house.sign("award-verified", ANNA, game=1, seat=2)
    house.sign("award-paid", BEN, game=1, seat=2, handed="$7,005.03", how="cash")
    with screens(house, tmp_path, "anna") as (anna,):
        anna.send(GAME, "paid-in-error", reason="wrong deck", second_name="ben", second_secret=SECRET,
                  third_name=DORA.id, third_secret=SECRET)
        assert anna.told() == "Done: Paid in error."
        assert "paid in error" in anna.page(GAME)
