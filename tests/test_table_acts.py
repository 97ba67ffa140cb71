"""Tables are opened and closed by people: what a closing asks of the table unit, and what an opening asks of meters."""

from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from awards_house import AwardsHouse
from demo_snapshot import quiet_snapshot, sign_plan
from desk_house import ANNA, BEN, CARL, DORA, Desk, plan_with
from meter_house import loaded_again
from test_award_pages import screens
from test_config_acts import activated, pay_order

from controller.acts import Act, ActRefused, Why, read_act
from controller.board import Board
from controller.desk_reads import DeskReads
from controller.floor import Floor
from controller.ledger.verify import verify
from controller.links import forget_meter
from controller.people import Person
from controller.sign import TableShown, alpha_texts, show
from controller.snapshot import DeviceView, LineState
from controller.units import Unit, Wire
from firmware_bridge.messages import Down, Heartbeat, Hello, Kept, Lock, Playable, Up, Wager
from tests.books_house import BooksHouse, message_of
from tests.ledger_house import AT, lock, opened, said

NOTE = "the unit is at the workshop"


def closing(*people: Person, note: str = "") -> Act:
    """PG-01 is to be closed; the second of two signs as another person."""
    by, third = (*people, None)[:2]
    fields = {"table": "PG-01"} | ({"note": note} if note else {})
    return read_act("table-closed", "close-0001", fields, by, None, third)


class Line:
    """PG-01's unit on a wire in the test's hands, before real books."""

    def __init__(self, house: BooksHouse) -> None:
        self.house, self.now = house, 100.0
        self.told: list[Down] = []
        self.unit = Unit(house.plan.tables["PG-01"], house.books, house.board, lambda: self.now)
        self._wire = Wire("serial-1", self._take)

    def _take(self, message: Down) -> bool:
        self.told.append(message)
        return True

    def say(self, *messages: Up) -> None:
        """The unit says something."""
        for message in messages:
            self.unit.heard(self._wire, message, AT)

    def hello(self, boot: str, *kept: Kept) -> None:
        """A start of the unit, with what it kept."""
        self.say(Hello("hub-01", boot, "fw", "power-on", 6, (*kept, Kept(boot, 1, 1))))

    def beat(self, boot: str, last: int, wagers: int = 0) -> None:
        """A heartbeat."""
        self.say(Heartbeat("hub-01", boot, last, wagers, ()))

    def why(self, asked: Act) -> Why | None:
        """Why a closing is refused by what is known of the unit."""
        try:
            self.unit.check_closing(asked)
        except ActRefused as no:
            return no.why
        return None


@pytest.fixture
async def line(tmp_path: Path) -> AsyncIterator[Line]:
    """A unit of which the books have two messages of boot b1: a game of seat 1, and its end."""
    async with BooksHouse(opened(tmp_path / "l.db")) as house:
        made = Line(house)
        made.hello("b1")
        made.say(message_of(lock(1, 1)), message_of(said("close", 2, round=1)))
        made.beat("b1", 2, 1)
        await house.until(lambda: house.board.tables["PG-01"].games)
        yield made


# ---------------------------------------------------------------------- closing: nothing unsent in the unit


async def test_a_table_whose_unit_has_sent_everything_is_closed_by_one_person(line: Line) -> None:
    assert line.why(closing(ANNA)) is None
    assert line.why(closing(ANNA, BEN, note=NOTE)) is Why.NOT_NOW


async def test_what_a_unit_kept_of_an_older_start_is_not_sent_whatever_its_new_start_says(line: Line) -> None:
    """A hello that names kept numbers is enough, and the heartbeats of the new start do not hide them."""
    line.hello("b2", Kept("b1", 3, 7))
    assert line.unit.unsent() == 4
    line.beat("b2", 0)
    assert (line.unit.unsent(), line.why(closing(ANNA)), line.why(closing(ANNA, BEN, note=NOTE))) == (
        4, Why.NOT_NOW, Why.NOT_NOW)


async def test_what_a_unit_kept_is_sent_once_the_books_have_taken_it(line: Line) -> None:
    line.hello("b2", Kept("b1", 3, 5))
    line.beat("b2", 0)
    line.say(message_of(lock(3, 2)), message_of(said("close", 4, round=2)))
    assert (line.unit.unsent(), line.why(closing(ANNA))) == (0, None)


async def test_what_the_last_heartbeat_told_of_counts_when_the_unit_is_gone(line: Line) -> None:
    line.beat("b1", 5, 9)
    line.now += 10.0
    assert line.unit.unsent() == 3
    assert line.why(closing(ANNA)) is Why.THIRD_PERSON


async def test_a_table_whose_unit_is_not_heard_is_closed_by_two_people_with_a_reason(line: Line) -> None:
    line.now += 10.0
    assert [line.why(closing(ANNA)), line.why(closing(ANNA, BEN)), line.why(closing(ANNA, BEN, note=NOTE))] == [
        Why.THIRD_PERSON, Why.WRONG_FIELD, None]


async def test_a_unit_that_was_never_heard_since_the_start_may_have_kept_anything(line: Line) -> None:
    again = Line(line.house)
    assert again.why(closing(ANNA)) is Why.THIRD_PERSON
    again.beat("b1", 2, 1)  # a heartbeat without a hello says nothing of older starts
    assert again.why(closing(ANNA)) is Why.THIRD_PERSON
    again.hello("b1")
    assert again.why(closing(ANNA)) is None


async def test_a_closing_refused_for_its_unit_is_in_the_audit_trail_and_done_once(line: Line) -> None:
    """R-108, MO-06: the refusal is an entry; a form that was done is not asked again."""
    line.now += 10.0
    books, asked = line.house.books, closing(ANNA)
    with pytest.raises(ActRefused, match="is not heard"):
        await books.act("main", asked, lambda: line.unit.check_closing(asked))
    assert line.house.reader.entries("main", latest=1)[0].kind == "act-refused"
    signed = closing(ANNA, BEN, note=NOTE)._replace(id="close-0002")
    done = await books.act("main", signed, lambda: line.unit.check_closing(signed))
    line.hello("b1")
    line.beat("b1", 2, 1)
    assert (await books.act("main", signed, lambda: line.unit.check_closing(signed))).entry == done.entry


# ---------------------------------------------------------------------- what was kept comes later


def kept_lock(desk: Desk, boot: str, seq: int, number: int, *seats: int) -> Any:
    """A lock-out of PG-01's unit that comes late."""
    wagers = tuple(Wager(seat, "progressive", 500) for seat in seats)
    (taken,) = desk.floor.take(Lock("hub-01", boot, seq, number, wagers), desk.at)
    return taken


def played() -> Desk:
    """Game 1 of PG-01 is over."""
    desk = Desk()
    desk.lock(1, 1, 2)
    desk.close(1)
    return desk


def test_wagers_that_a_silent_unit_kept_feed_the_meter_although_its_table_is_closed_by_then() -> None:
    """A wager that was taken is never lost: it contributes, and opens no game (design section 4)."""
    desk = played()
    desk.act("table-closed", ANNA, None, BEN, note=NOTE)
    before = desk.accounts()["display"]
    assert kept_lock(desk, "b1", 3, 2, 1, 2, 3).result == "posted"
    assert (desk.accounts()["display"] - before, desk.floor.tables["PG-01"].open) == (3 * 5_000_000, None)


def test_a_start_of_the_unit_after_the_closing_plays_no_game_at_a_closed_table() -> None:
    desk = played()
    desk.act("table-closed", ANNA, None, BEN, note=NOTE)
    assert kept_lock(desk, "b9", 1, 1, 1).reason == "table-closed"


def test_a_table_closed_by_one_person_counts_only_what_was_kept_of_starts_before_its_latest_game() -> None:
    """The unit was heard, and had sent everything: what it says after the closing was not taken."""
    desk = Desk()
    desk.floor.hear("hub-01", "b0", desk.at)
    desk.lock(1, 1)
    desk.close(1)
    desk.act("table-closed", ANNA)
    assert kept_lock(desk, "b0", 1, 1, 4).result == "posted"
    assert kept_lock(desk, "b1", 3, 2, 1).reason == "table-closed"


def test_a_reason_is_given_whenever_another_person_signs_a_closing() -> None:
    assert played().refused("table-closed", ANNA, None, BEN) is Why.WRONG_FIELD


def test_a_closing_by_two_outlives_a_restart_and_ends_with_the_opening() -> None:
    desk = played()
    desk.act("table-closed", ANNA, None, BEN, note=NOTE)
    rows = desk.floor.drain()[1]
    again = Floor.loaded(desk.plan, "main", rows, desk.floor.number, desk.floor.plan_entry, {}, boots_elsewhere=False)
    assert again.tables["PG-01"].unheard == desk.floor.tables["PG-01"].unheard > 0
    desk.act("table-opened", CARL)
    assert desk.floor.tables["PG-01"].unheard == 0


async def test_a_ledger_with_wagers_that_came_to_a_closed_table_is_replayed(line: Line) -> None:
    line.now += 10.0
    await line.house.books.act("main", closing(ANNA, BEN, note=NOTE))
    line.say(message_of(lock(3, 2, 1, 2)))
    await line.house.until(lambda: line.house.board.meters["pg-link"].wagers == 3)
    assert verify(line.house.path, replay=True)[0].replayed


def test_by_the_first_rules_a_closed_table_refuses_what_was_kept_as_it_did() -> None:
    """Entries of rules version 1 are replayed by it."""
    desk = Desk()
    desk.floor.rules = 1
    desk.floor.hear("hub-01", "b0", desk.at)
    desk.lock(1, 1)
    desk.close(1)
    desk.act("table-closed", ANNA)
    assert kept_lock(desk, "b0", 1, 1, 4).reason == "table-closed"


# ---------------------------------------------------------------------- a meter that is not there


def with_own_meter(document: Any) -> None:
    """PG-02 gets a meter of its own, which nobody has opened."""
    document["meter"].append(deepcopy(document["meter"][0]) | {"id": "pg-own", "name": "Own Jackpot"})
    document["table"][1]["spot"][0]["meters"] = {"main": "pg-own"}


def with_new_table(document: Any) -> None:
    """A fourth table with a meter of its own."""
    with_own_meter(document)
    document["table"].append(deepcopy(document["table"][1]) | {"id": "PG-04", "device": "hub-04"})


def test_a_table_is_not_opened_while_a_meter_of_it_is_not() -> None:
    """R-38, R-44: nobody can play at it, so it does not say that it is open."""
    desk = Desk()
    desk.act("table-closed", ANNA, table="PG-02")
    activated(desk, with_own_meter)
    assert desk.refused("table-opened", ANNA, table="PG-02") is Why.NOT_NOW
    desk.act("opening-entered", CARL, meter="pg-own", base="$10,000.00", approval="1")
    desk.act("opening-accepted", DORA, meter="pg-own", base="$10,000.00")
    desk.act("table-opened", ANNA, table="PG-02")
    assert desk.lock(1, 1, table="PG-02").result == "posted"


def test_by_the_first_rules_a_table_was_opened_without_its_meter() -> None:
    desk = Desk()
    desk.act("table-closed", ANNA, table="PG-02")
    activated(desk, with_own_meter)
    desk.floor.rules = 1
    desk.act("table-opened", ANNA, table="PG-02")
    assert desk.lock(1, 1, table="PG-02").reason == "meter-not-open"


async def heard_unit(tmp_path: Path, plan: Any, change: Any) -> tuple[tuple[bool, str], Playable]:
    """Whether the unit of the floor's last table may play once ``change`` is done to the book, and what it is told."""
    house = BooksHouse(opened(tmp_path / "l.db", plan), plan)
    async with house:
        table = [*house.plan.tables.values()][-1]
        change(house.books.floors["main"])
        told: list[Down] = []

        def take(message: Down) -> bool:
            told.append(message)
            return True

        unit = Unit(table, house.books, house.board, lambda: 100.0)
        for message in (Hello(table.device, "b1", "fw", "power-on", 6, (Kept("b1", 1, 1),)),
                        Heartbeat(table.device, "b1", 0, 0, ())):
            unit.heard(Wire("serial-1", take), message, AT)
        unit.pulse(always=True)
        seen = unit.view({})  # what pages, signs and metrics read
        assert (seen.playable, seen.reason) == unit.playable()
        return unit.playable(), [one for one in told if isinstance(one, Playable)][-1]


@pytest.mark.parametrize(("kind", "why"), [("unopened", "is not opened yet"), ("retired", "is retired")])
async def test_a_table_whose_meter_is_not_opened_or_is_retired_is_not_playable_and_says_why(
    tmp_path: Path, kind: str, why: str
) -> None:
    """Every lock-out of it is refused, so neither unit, page, sign nor metrics may say that it plays."""
    playable, told = await heard_unit(
        tmp_path, plan_with(), lambda floor: floor.keep(kind, "pg-solo", {"at": AT, "since": 1}))
    words = f"the jackpot Face Up Pai Gow Solo {why}"
    assert (playable, (told.yes, told.reason)) == ((False, words), (False, words))


def test_a_new_table_plays_only_when_its_new_meter_is_opened() -> None:
    """It is open from the start, and its floor says why it does not play."""
    desk = Desk()
    desk.act("table-closed", ANNA, table="PG-02")
    activated(desk, with_new_table)
    assert desk.floor.tables["PG-04"].shut == "the jackpot Own Jackpot is not opened yet"
    desk.plan = desk.floor.plan
    assert desk.lock(1, 1, table="PG-04").reason == "meter-not-open"
    desk.act("opening-entered", CARL, meter="pg-own", base="$10,000.00", approval="1")
    desk.act("opening-accepted", DORA, meter="pg-own", base="$10,000.00")
    assert desk.floor.tables["PG-04"].shut == ""


# ---------------------------------------------------------------------- what is still owed


ACES = "five-aces"


@pytest.fixture
def owing(tmp_path: Path) -> AwardsHouse:
    """Game 1 of PG-01 owes seat 3 $2,505.00 and seats 1 and 2 their envy, and 60 games have been played since."""
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 2, 3)
    house.hit(1, 3, ACES)
    house.say("close", 1)
    house.sign("award-verified", ANNA, game=1, seat=3)
    house.sign("envy-unclaimed", BEN, game=1, seat=3, to=2, reason="the player left")
    for number in range(2, 62):
        house.lock(number, 1)
        house.say("close", number)
    return house


OWED = ("game 1, seat 3: Five aces, $2,505.00, verified, not paid",
        "game 1, seat 1: envy for the hand of seat 3, $100.00, not paid",
        "game 1, seat 2: envy for the hand of seat 3, $100.00, not claimed, still due")


async def test_the_answer_of_a_closing_lists_what_the_table_still_owes_however_old(owing: AwardsHouse) -> None:
    """Issue 3, part 5: for the page's answer and the one of meterctl; the entry has their number."""
    reads = DeskReads(owing.reader, owing.plan, Path("meterd.toml"), lambda: False)
    asked = read_act("table-closed", "close-0001", {"table": "PG-01"}, ANNA)
    told = (await reads.answered(asked, owing.sign("table-closed", ANNA, act_id="close-0001"))).told
    assert (told["owed"], told["owing"]) == (3, list(OWED))
    assert told["words"] == "Close the table. Still owed at it: " + "; ".join(OWED)


async def test_the_answer_of_another_act_or_of_a_table_that_owes_nothing_is_as_it_was(owing: AwardsHouse) -> None:
    reads = DeskReads(owing.reader, owing.plan, Path("meterd.toml"), lambda: False)
    acted = owing.sign("table-closed", ANNA, act_id="close-0002", table="PG-02")
    asked = read_act("table-closed", "close-0002", {"table": "PG-02"}, ANNA)
    assert (await reads.answered(asked, acted), dict(acted.told)) == (acted, {})


def test_the_page_of_a_table_lists_beside_the_closing_what_it_owes(owing: AwardsHouse, tmp_path: Path) -> None:
    with screens(owing, tmp_path, "anna") as (anna,):
        page = anna.page("/tables/PG-01")
        assert [words in page for words in OWED] == [True] * 3
        assert page.index(OWED[0]) < page.index("/acts/table-closed")
        assert "Still owed" not in anna.page("/tables/PG-02")


def test_the_page_of_a_table_whose_unit_is_not_heard_asks_another_person_for_the_closing(
    owing: AwardsHouse, tmp_path: Path
) -> None:
    with screens(owing, tmp_path, "anna") as (anna,):
        assert "Third person signs here" not in anna.page("/tables/PG-01")
        made = owing.snapshot()
        owing.tell(replace(made, devices={name: replace(one, known=False) for name, one in made.devices.items()}))
        page = anna.page("/tables/PG-01")
        assert ("The table unit is not heard" in page, "Third person signs here" in page) == (True, True)


# ---------------------------------------------------------------------- a linked jackpot that was left


def rejoined(document: Any) -> None:
    """PG-02 feeds the link again, a new table its jackpot."""
    document["table"].append(deepcopy(document["table"][1]) | {"id": "PG-04", "device": "hub-04"})
    document["table"][1]["spot"][0]["meters"] = {"main": "pg-link"}


def left_link() -> Desk:
    """PG-02 has left the link for a meter of its own, which people have opened."""
    desk = Desk()
    desk.act("table-closed", ANNA, table="PG-02")
    activated(desk, with_own_meter)
    desk.act("opening-entered", CARL, meter="pg-own", base="$10,000.00", approval="1")
    desk.act("opening-accepted", DORA, meter="pg-own", base="$10,000.00")
    desk.plan = desk.floor.plan
    return desk


def left_of(desk: Desk) -> Any:
    return desk.floor.rows.get("unlinked", {})


def test_what_a_table_has_left_is_kept_until_it_is_linked_to_it_again() -> None:
    """R-30: over restarts and other configurations."""
    desk = left_link()
    assert left_of(desk) == {"PG-02": {"meters": ["pg-link"]}}
    activated(desk, pay_order)
    desk.plan = desk.floor.plan
    again = loaded_again(desk)
    assert again.rows["unlinked"] == {"PG-02": {"meters": ["pg-link"]}}
    activated(desk, rejoined)
    assert left_of(desk) == {"PG-02": {"meters": ["pg-own"]}}


def test_a_jackpot_that_is_retired_is_nothing_to_be_linked_to() -> None:
    desk = left_link()
    forget_meter(desk.floor, "pg-link")
    assert left_of(desk) == {}


def board_of(desk: Desk) -> Board:
    """What people may look at, of the whole book."""
    board = Board(desk.floor.plan)
    board.learn("main", *desk.floor.drain())
    return board


@pytest.mark.parametrize(("closed", "state"), [(True, "CLOSED"), (False, "OPEN")])
def test_the_sign_of_a_table_says_in_words_to_what_it_is_not_linked(closed: bool, state: str) -> None:
    """On pages and LED signs, until it is linked again; not only CLOSED."""
    desk = left_link()
    if not closed:
        desk.act("table-opened", ANNA, table="PG-02")
    board = board_of(desk)
    plan = desk.floor.plan
    unit = DeviceView("hub-02", "PG-02", "serial-2", LineState.LIVE, not closed, "", "b1", "fw", AT, (), {})
    snapshot = replace(quiet_snapshot(), plan=plan, meters=board.meters, tables=board.tables, at=AT,
                       devices={"hub-02": unit})
    shown = show(sign_plan("own", "PG-02", ("pg-own",)), snapshot, AT, None)
    assert shown.table == TableShown("PG-02", state, "", "Not linked to Face Up Pai Gow Link")
    words = [word for word, _ in alpha_texts(shown)[1]]
    assert words == ([state] if closed else []) + ["NOT LINKED TO", "Face Up Pai Gow Link", "JACKPOT "]
