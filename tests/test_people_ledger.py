"""Awards and corrections through a real ledger: restarts, kills, failing commits, two people at once, and the replay.

``verify --replay`` does every act again by the desk's rules and compares every entry and row (D13, MO-06, MO-08).
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from award_house import plan_of_night
from award_night import Night
from desk_house import ANNA, AT, BEN, CARL, DORA, HOUR, IDA
from floors import named_floor
from ledger_night import LedgerEngine

from controller import books as books_room
from controller.acts import Act, Acted, ActRefused, Why, read_act
from controller.board import Board
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.money import format_cents
from controller.people import Person
from tests.books_house import BooksHouse
from tests.ledger_house import applied, bad_entry, change, contract_plan, entered, hit, lock, opened, rows, said

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
TOP = "7-card-straight-flush"
ROYAL = "royal-flush-royal-match"
FOUR = "four-of-a-kind"
FOUR_DUE = "$105.00"
"""Paytable 4: $100 and the $5 wager back."""
OLD_GAMES = 120


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Try again soon."""
    monkeypatch.setattr(books_room, "RETRY_S", 0.02)
    yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A fresh ledger."""
    return opened(tmp_path / "l.db")


def form(kind: str, act_id: str, *people: Person, **fields: Any) -> Act:
    """An act at PG-01's first bet; the second of two signers of a verification or payment is the third person."""
    by, second, third = (*people, None, None)[:3]
    if kind in ("award-verified", "award-paid"):
        second, third = third, second
    table = {"table": "PG-01"} | ({} if kind == "count-closed" else {"spot": "progressive"})
    return read_act(kind, act_id, table | fields, by, second, third)


def pay(act_id: str, person: Person, game: int = 1, seat: int = 1, handed: str = FOUR_DUE) -> Act:
    """Pay an award in chips."""
    return form("award-paid", act_id, person, game=game, seat=seat, handed=handed, how="chips")


async def done(path: Path, *asked: Act) -> list[Acted]:
    """Acts one after the other, each in a controller that has just started, and that ends behind it."""
    made = []
    for one in asked:
        async with BooksHouse(path) as house:
            made.append(await house.books.act("main", one))
    return made


async def told(path: Path, *messages: dict[str, Any]) -> None:
    """Messages of the tables, each answered."""
    async with BooksHouse(path) as house:
        for one in messages:
            await house.send(one)


def acts(path: Path, kind: str) -> int:
    """How many entries of a kind there are."""
    return int(rows(path, "SELECT count(*) FROM entry WHERE kind = ?", kind)[0][0])


def balance(path: Path, account: str, meter: str = "pg-link") -> int:
    """An account in microcents, by its postings."""
    return int(rows(path, "SELECT coalesce(sum(microcents), 0) FROM posting WHERE account = ? AND meter = ?",
                    account, meter)[0][0])


# ---------------------------------------------------------------------- restarts and the replay


async def test_an_award_goes_through_its_life_with_a_restart_between_any_two_steps(path: Path) -> None:
    """A restart keeps everything."""
    await told(path, lock(1, 1, 1, 2), hit(2, 1, 1, TOP), said("close", 3, round=1), lock(4, 2, 3))
    pending = balance(path, "pending")
    due = f"${pending // 100_000_000 + 5_005:,}.{pending // 1_000_000 % 100:02d}"
    await done(
        path, form("award-verified", "verify-01", ANNA, game=1, seat=1), pay("payment-1", BEN, handed=due),
        form("envy-paid", "envy-0001", CARL, game=1, seat=1, to=2, how="chips"),
        form("slip-printed", "slip-0001", DORA, game=1, seat=1),
        form("paid-in-error", "error-001", ANNA, BEN, DORA, game=1, seat=1, reason="another deck"))
    assert (balance(path, "pending"), balance(path, "paid")) == (0, pending)
    assert bad_entry(path, replay=True) == (0, "")


async def test_corrections_of_closed_and_forgotten_games_are_replayed(path: Path) -> None:
    """Late hits in games without an award row: found again by their lock-out."""
    messages = []
    for number in range(1, OLD_GAMES + 1):
        messages += [lock(2 * number - 1, number, 1, 2, 3), said("count", 2 * number, round=number, chips=3)]
    await told(path, *messages, said("close", 2 * OLD_GAMES + 1, round=OLD_GAMES))
    await done(
        path, form("hit-added", "added-001", ANNA, BEN, game=3, seat=1, outcome=TOP, reason="late"),
        form("hit-added", "added-002", ANNA, BEN, game=70, seat=2, outcome=ROYAL, reason="late"),
        form("hit-changed", "changed-1", CARL, IDA, game=3, seat=1, outcome=FOUR, reason="read again"),
        form("hit-withdrawn", "withdrawn", CARL, IDA, game=70, seat=2, reason="misread"),
        form("hit-added", "added-003", ANNA, BEN, game=OLD_GAMES, seat=3, outcome=TOP, reason="late"))
    assert bad_entry(path, replay=True) == (0, "")


async def test_what_is_known_of_an_old_game_s_wagers_and_count_is_what_was_said(path: Path) -> None:
    """Its chip count, its end, and its contribution, from entries alone."""
    await told(path, lock(1, 1, 1, 2), said("count", 2, round=1, chips=2), lock(3, 2, 1, 2),
               said("void", 4, round=2, reason="misdeal"), lock(5, 3, 1, 2), said("count", 6, round=3, chips=3),
               lock(7, 4))
    refused = {}
    for game in (1, 2):
        with pytest.raises(ActRefused) as wrong:
            await done(path, form("wager-added", f"added-00{game}", ANNA, BEN, game=game, seat=3, reason="missed"))
        refused[game] = wrong.value.what
    await done(path, form("wager-added", "added-003", ANNA, BEN, game=3, seat=3, reason="missed"))
    assert ("agreed" in refused[1], "misdeal" in refused[2]) == (True, True)
    assert bad_entry(path, replay=True) == (0, "")


@pytest.mark.timeout(7_200 if LONG else 120)
@pytest.mark.parametrize("part", range(4))
def test_random_nights_are_the_oracle_s_on_a_real_ledger_and_every_one_is_replayed(part: int, tmp_path: Path) -> None:
    """Everything of the machine, with the product's writer and reader in place of memory."""
    for seed in range(part * 1_000, part * 1_000 + (400 if LONG else 5)):
        ledger = tmp_path / f"{seed}.db"
        night = Night(seed, engine=lambda plan, at, ledger=ledger: LedgerEngine(plan, at, ledger))  # type: ignore[misc]
        try:
            for _ in range(60):
                night.step()
            night.settle_down()
            night.compare()
        except Exception as wrong:
            wrong.add_note(f"night {seed}: {night.log}")
            raise
        finally:
            night.engine.close()  # type: ignore[attr-defined]
        assert bad_entry(ledger, replay=True) == (0, ""), f"night {seed}: {night.log}"


async def test_an_award_of_two_meters_that_is_paid_after_a_restart_is_replayed(tmp_path: Path) -> None:
    """The order of its postings is the same whether or not its shares were read back from a row."""
    floor, paytables = named_floor("three-meters", {})
    paytables["three-meters"]["prize"][0]["share"] = {"mega": "100%", "major": "10%"}
    plan, path = plan_of_night(floor, paytables), tmp_path / "l.db"
    opened(path, plan)
    key = {"device": "hub-PG-01", "boot": "b1"}
    async with BooksHouse(path, plan) as house:
        await house.send(lock(1, 1, 1, 2, cents=100, **key))
        due = (await house.send(hit(2, 1, 1, "royal-flush", **key))).answer()["awards"][0]["meters"]
    for one in (form("award-verified", "verify-01", ANNA, game=1, seat=1),
                pay("payment-1", BEN, handed=format_cents(sum(due.values())))):
        async with BooksHouse(path, plan) as house:
            await house.books.act("main", one)
    assert bad_entry(path, replay=True) == (0, "")


@pytest.mark.parametrize("days", [6, 8])
async def test_a_game_of_so_many_days_ago_is_corrected_from_its_entries_alone_or_not_at_all(
    tmp_path: Path, days: int
) -> None:
    """``late_hit_days`` (7 where nothing is said); the correction falls in the open day and names the game's."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 1, 2), said("close", 2, round=1)], at=AT - days * 24 * HOUR)
    late = form("hit-added", "added-001", ANNA, BEN, game=1, seat=1, outcome=TOP, reason="late")
    if days > 7:
        with pytest.raises(ActRefused, match="8 gaming days old"):
            await done(path, late)
    else:
        (acted,) = await done(path, late)
        assert acted.told["of_day"] == "2026-11-25"
    assert bad_entry(path, replay=True) == (0, "")


# ---------------------------------------------------------------------- what has not been written yet


async def test_a_chip_count_that_is_being_written_counts_for_an_act_that_comes_at_once(path: Path) -> None:
    """The count agrees: its wagers stand, whether or not the count has reached the file; and the replay agrees."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1, 1, 2))
        house.writer.gate.clear()
        house.take(said("count", 2, round=1, chips=2), said("close", 3, round=1))
        asked = asyncio.ensure_future(
            house.books.act("main", form("wager-added", "added-001", ANNA, BEN, game=1, seat=3, reason="missed")))
        await asyncio.sleep(0.02)
        house.writer.gate.set()
        with pytest.raises(ActRefused, match="agreed"):
            await asked
    assert bad_entry(path, replay=True) == (0, "")


async def test_the_replay_agrees_with_an_act_that_came_while_its_game_s_count_was_being_written(path: Path) -> None:
    """Whatever is decided, ``verify --replay`` decides the same."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1, 1, 2))
        house.writer.gate.clear()
        house.take(said("count", 2, round=1, chips=2), said("close", 3, round=1))
        asked = asyncio.ensure_future(
            house.books.act("main", form("wager-added", "added-001", ANNA, BEN, game=1, seat=3, reason="missed")))
        await asyncio.sleep(0.02)
        house.writer.gate.set()
        await asyncio.gather(asked, return_exceptions=True)
    assert bad_entry(path, replay=True) == (0, "")


async def test_a_hand_of_a_game_that_is_being_written_is_not_said_to_be_of_no_game(path: Path) -> None:
    """Locked and closed a moment ago: the game is known."""
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        house.take(lock(1, 1, 1, 2), said("close", 2, round=1))
        asked = asyncio.ensure_future(house.books.act(
            "main", form("hit-added", "added-001", ANNA, BEN, game=1, seat=1, outcome=TOP, reason="late")))
        await asyncio.sleep(0.02)
        house.writer.gate.set()
        assert (await asked).told["awards"]
    assert bad_entry(path, replay=True) == (0, "")


# ---------------------------------------------------------------------- tampering


@pytest.mark.parametrize(("kind", "old", "new"), [
    ("award-paid", '"handed":10500', '"handed":99900'), ("award-verified", '"anna"', '"carl"'),
    ("hit-added", FOUR, "five-aces"), ("act-refused", '"not-now"', '"same-person"')])
async def test_a_tampered_act_is_found(path: Path, kind: str, old: str, new: str) -> None:
    """What people signed cannot be changed afterwards."""
    await told(path, lock(1, 1, 1, 2))
    await done(path, form("hit-added", "added-001", CARL, IDA, game=1, seat=1, outcome=FOUR, reason="no keypad"))
    with pytest.raises(ActRefused):
        await done(path, pay("payment-0", BEN))
    await done(path, form("award-verified", "verify-01", ANNA, game=1, seat=1), pay("payment-1", BEN))
    number = rows(path, "SELECT number FROM entry WHERE kind = ?", kind)[0][0]
    assert change(path, "UPDATE entry SET body = replace(body, ?, ?) WHERE number = ?", old, new, number) == 1
    assert bad_entry(path) == (number, "its content does not match its hash")


@pytest.mark.parametrize(("kind", "old", "new"), [
    ("award-paid", '"by":["ben"', '"by":["anna"'), ("award-paid", '"handed":10500', '"handed":99900'),
    ("award-verified", '"by":["anna"', '"by":["ida"'), ("hit-added", f'"outcome":"{FOUR}"', f'"outcome":"{TOP}"')])
async def test_a_forger_of_acts_who_makes_the_chain_anew_is_found_by_replay(
    path: Path, kind: str, old: str, new: str
) -> None:
    """The rules can tell: nobody pays what they verified, nobody verifies what they touched."""
    from tests.test_verify import rechained

    await told(path, lock(1, 1, 1, 2))
    await done(path, form("hit-added", "added-001", CARL, IDA, game=1, seat=1, outcome=FOUR, reason="no keypad"),
               form("award-verified", "verify-01", ANNA, game=1, seat=1), pay("payment-1", BEN))
    number, body = rows(path, "SELECT number, body FROM entry WHERE kind = ?", kind)[0]
    assert old in body
    rechained(path, number, body=body.replace(old, new))
    assert bad_entry(path) == (0, "")
    assert bad_entry(path, replay=True)[0] in range(number, number + 3)


# ---------------------------------------------------------------------- two at once (MO-08)


async def _verified(house: BooksHouse, rounds: int) -> None:
    """So many games of PG-01, each with a verified award at seat 1."""
    for game in range(1, rounds + 1):
        house.take(lock(2 * game - 1, game, 1, 2), hit(2 * game, game, 1, FOUR))
    await house.until(lambda: len(house.answers) == 2 * rounds)
    await asyncio.gather(*[
        house.books.act("main", form("award-verified", f"verify-{game:04d}", ANNA, game=game, seat=1))
        for game in range(1, rounds + 1)])


async def test_of_two_payments_at_a_barrier_exactly_one_wins_and_the_other_is_told_who_did(path: Path) -> None:
    """MO-08: 200 rounds; the same award paid by two supervisors at once."""
    async with BooksHouse(path) as house:
        await _verified(house, 200)
        for game in range(1, 201):
            two = [pay(f"first-{game:04d}", BEN, game), pay(f"other-{game:04d}", CARL, game)]
            if game % 2:
                two.reverse()
            came = await asyncio.gather(*[house.books.act("main", one) for one in two], return_exceptions=True)
            (won,) = [place for place, one in enumerate(came) if isinstance(one, Acted)]
            lost = came[1 - won]
            assert isinstance(lost, ActRefused)
            assert (lost.why, f"paid by {two[won].by.id}" in lost.what) == (Why.ALREADY_DONE, True)
    assert (acts(path, "award-paid"), acts(path, "act-refused") > 0) == (200, True)
    assert bad_entry(path, replay=True) == (0, "")


async def test_of_a_payment_and_a_refusal_at_a_barrier_exactly_one_wins(path: Path) -> None:
    """MO-08: one pays and one refuses."""
    async with BooksHouse(path) as house:
        await _verified(house, 100)
        for game in range(1, 101):
            two = [pay(f"first-{game:04d}", BEN, game),
                   form("award-refused", f"other-{game:04d}", CARL, IDA, game=game, seat=1, reason="another deck")]
            if game % 2:
                two.reverse()
            came = await asyncio.gather(*[house.books.act("main", one) for one in two], return_exceptions=True)
            (won,) = [place for place, one in enumerate(came) if isinstance(one, Acted)]
            assert two[won].by.id in str(came[1 - won])
    assert acts(path, "award-paid") + acts(path, "award-refused") == 100
    assert bad_entry(path, replay=True) == (0, "")


async def test_the_same_form_twenty_times_at_once_pays_once_and_answers_alike(path: Path) -> None:
    """MO-06: a double click, a lost reply."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
        came = await asyncio.gather(*[house.books.act("main", pay("payment-1", BEN)) for _ in range(20)])
    assert ({one.entry for one in came}, [one.before for one in came]) == ({came[0].entry}, [False] + [True] * 19)
    assert acts(path, "award-paid") == 1


async def test_a_form_sent_again_days_and_restarts_later_gives_the_first_answer(path: Path) -> None:
    """MO-06: also when the controller has forgotten it."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
    first, again = await done(path, pay("payment-1", BEN), pay("payment-1", BEN))
    assert again == first._replace(before=True)
    with pytest.raises(ActRefused) as wrong:
        await done(path, pay("payment-1", CARL))
    assert wrong.value.why is Why.ACT_DIFFERS


async def test_one_form_sent_to_two_books_is_refused_the_second_time_and_stops_nothing(tmp_path: Path) -> None:
    """A form's id is used once in the whole ledger: whoever sends it for a table of another book is told so."""
    plan = contract_plan(lambda floor: floor["meter"][1].update(book="second"))
    assert set(plan.books) == {"main", "second"}
    path = opened(tmp_path / "two.db", plan)
    async with BooksHouse(path, plan) as house:
        await house.books.act("main", read_act("table-closed", "closed-01", {"table": "PG-01"}, ANNA))
        with pytest.raises(ActRefused):
            await house.books.act("second", read_act("table-closed", "closed-01", {"table": "PG-03"}, ANNA))
        await house.until(lambda: not house.books.trouble)
        assert [floor.stopped for floor in house.books.floors.values()] == ["", ""]


# ---------------------------------------------------------------------- failing commits and stopped books


async def test_when_the_commit_fails_nothing_is_done_and_the_same_form_does_it_once(path: Path) -> None:
    """MO-06."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
        failing = house.writer.calls + 1

        def fail(call: int) -> None:
            if call == failing:
                raise LedgerError("database or disk is full")

        house.writer.before = fail
        with pytest.raises(ActRefused, match="nothing was done"):
            await house.books.act("main", pay("payment-1", BEN))
        assert acts(path, "award-paid") == 0
        await house.until(lambda: not house.books.trouble)
        assert not (await house.books.act("main", pay("payment-1", BEN))).before
        assert (await house.books.act("main", pay("payment-1", BEN))).before
    assert (acts(path, "award-paid"), bad_entry(path, replay=True)) == (1, (0, ""))


async def test_a_commit_whose_report_is_lost_is_not_done_again(path: Path) -> None:
    """MO-06: the connection dies between COMMIT and its reply."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
        failing = house.writer.calls + 1

        def fail(call: int) -> None:
            if call == failing:
                raise LedgerError("the connection was lost")

        house.writer.after = fail
        await house.books.act("main", pay("payment-1", BEN))
        await house.until(lambda: not house.books.trouble)
        assert (await house.books.act("main", pay("payment-1", BEN))).before
    assert (acts(path, "award-paid"), bad_entry(path, replay=True)) == (1, (0, ""))


async def test_a_commit_whose_report_is_lost_is_said_to_have_been_done(path: Path) -> None:
    """MO-06: the money would be handed over a second time if the page said that nothing was done."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
        failing = house.writer.calls + 1

        def fail(call: int) -> None:
            if call == failing:
                raise LedgerError("the connection was lost")

        house.writer.after = fail
        acted = await house.books.act("main", pay("payment-1", BEN))
    assert rows(path, "SELECT number FROM entry WHERE kind = 'award-paid'") == [(acted.entry,)]


async def test_a_stopped_book_takes_no_acts_and_keeps_none(path: Path) -> None:
    """Fail closed: until a person clears it."""
    async with BooksHouse(path) as house:
        await _verified(house, 1)
    entered(path, lambda floor: floor.stop("a trial", AT))
    async with BooksHouse(path) as house:
        with pytest.raises(ActRefused) as wrong:
            await house.books.act("main", pay("payment-1", BEN))
        assert wrong.value.why is Why.NOT_NOW
    assert (acts(path, "award-paid"), acts(path, "act-refused")) == (0, 0)


async def test_the_board_and_the_book_count_the_same_awards_after_any_step(path: Path) -> None:
    """``awards_pending`` of state row and board, and the rows themselves."""
    await told(path, lock(1, 1, 1, 2, 3), hit(2, 1, 1, FOUR), hit(3, 1, 2, TOP))
    counted = []
    for one in (form("award-verified", "verify-01", ANNA, game=1, seat=1), pay("payment-1", BEN),
                form("hit-withdrawn", "withdrawn", CARL, IDA, game=1, seat=2, reason="misread"),
                form("hit-added", "added-001", CARL, IDA, game=1, seat=3, outcome=ROYAL, reason="late")):
        await done(path, one)
        book = json.loads(rows(path, "SELECT body FROM state WHERE kind = 'book'")[0][0])["awards_pending"]
        waiting = [award["state"] for (body,) in rows(path, "SELECT body FROM state WHERE kind = 'award'")
                   for award in json.loads(body)["awards"]]
        assert book == sum(state in ("pending", "verified", "released") for state in waiting)
        counted.append(book)
    assert counted == [2, 1, 0, 1]


# ---------------------------------------------------------------------- kill -9

_PAYING = """
import asyncio, sys
from pathlib import Path
from test_people_ledger import BEN, BooksHouse, pay

async def main():
    async with BooksHouse(Path(sys.argv[1])) as house:
        for game in range(1, 101):
            try:
                acted = await house.books.act("main", pay(f"payment-{game:04d}", BEN, game))
            except Exception as wrong:
                print("wrong", wrong, flush=True)
                continue
            print(game, acted.entry, flush=True)

asyncio.run(main())
"""


def _killed(path: Path, places: str, after: int) -> list[list[str]]:
    """What a controller answered that pays one award after the other, and is killed after so many."""
    with subprocess.Popen([sys.executable, "-c", _PAYING, str(path)], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONPATH": places}) as daemon:
        assert daemon.stdout is not None
        answered = [daemon.stdout.readline().split() for _ in range(after)]
        daemon.send_signal(signal.SIGKILL)
    return answered


@pytest.mark.parametrize("after", [1, 7, 40])
async def test_payments_survive_a_kill_and_sent_again_each_is_made_once(path: Path, after: int) -> None:
    """D13, I3: whoever was answered is in the ledger; whoever was not sends the same form again."""
    async with BooksHouse(path) as house:
        await _verified(house, 100)
    here = Path(__file__).parent
    places = os.pathsep.join((str(here.parent), str(here)))
    answered = []
    for _ in range(2):
        answered += await asyncio.to_thread(_killed, path, places, after)
    reader = Reader(path)
    for game, entry in answered:
        found = reader.recall_act(f"payment-{int(game):04d}")
        assert found is not None
        assert (found[0], found[2]) == ("award-paid", int(entry))
    reader.close()
    async with BooksHouse(path) as house:
        for game in range(1, 101):
            await house.books.act("main", pay(f"payment-{game:04d}", BEN, game))
        assert isinstance(house.board, Board)
    assert (acts(path, "award-paid"), bad_entry(path, replay=True)) == (100, (0, ""))
