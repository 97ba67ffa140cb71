"""The books of a running daemon: answers only after the commit, and nothing is lost or counted twice when it fails."""

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import books as books_room
from controller.floor import Floor
from controller.ledger.place import BrokenLedger, LedgerError
from controller.ledger.reader import Reader
from controller.meter import BrokenInvariant
from tests.books_house import BooksHouse
from tests.ledger_house import (
    AT,
    Json,
    bad_entry,
    change,
    contract_plan,
    entered,
    hit,
    lock,
    meterctl,
    opened,
    rows,
    said,
)

LOCKS = "SELECT count(*) FROM entry WHERE kind = 'lock'"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Try again soon."""
    monkeypatch.setattr(books_room, "RETRY_S", 0.02)
    yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A fresh ledger."""
    return opened(tmp_path / "l.db")


async def test_an_answer_comes_only_after_the_commit(path: Path) -> None:
    """I3: while the writer is at it, nothing is answered."""
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        assert house.take(lock(1, 1)) == [True]
        await house.until(lambda: house.writer.calls == 1)
        await asyncio.sleep(0.05)
        assert (house.answers, rows(path, LOCKS)) == ([], [(0,)])
        house.writer.gate.set()
        await house.until(lambda: house.answers)
        assert rows(path, LOCKS) == [(1,)]


async def test_nothing_is_shown_before_the_commit(path: Path) -> None:
    """I4, DI-07."""
    async with BooksHouse(path) as house:
        before = house.shown()
        house.writer.gate.clear()
        house.take(lock(1, 1))
        await house.until(lambda: house.writer.calls == 1)
        assert (house.shown(), house.board.tables["PG-01"].games) == (before, ())
        house.writer.gate.set()
        await house.until(lambda: house.answers)
        assert house.shown() == before + 5_000_000


async def test_while_one_batch_is_written_the_next_one_gathers(path: Path) -> None:
    """Issue 2: group commit, no delay at low load."""
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        house.take(lock(1, 1))
        await house.until(lambda: house.writer.calls == 1)
        house.take(*[lock(n, n) for n in range(2, 30)])
        house.writer.gate.set()
        await house.until(lambda: len(house.answers) == 29)
        assert (house.writer.calls, [one.seq for one in house.answers]) == (2, list(range(1, 30)))


async def test_every_third_batch_failing_counts_each_wager_once(path: Path) -> None:
    """DB-08, DI-07, I1, I4: sent again until answered; the page never ahead of the ledger."""
    def fail(call: int) -> None:
        if call % 3 == 0:
            raise LedgerError("database or disk is full")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        for number in range(1, 25):
            assert (await house.send(lock(number, number))).result == "posted"
            assert house.shown() == rows(path, "SELECT balance FROM posting WHERE account = 'display' AND meter = "
                                         "'pg-link' ORDER BY entry DESC LIMIT 1")[0][0]
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(24,)], (0, ""))


async def test_a_failed_batch_takes_with_it_what_was_computed_after_it(path: Path) -> None:
    """Design section 8: and the units send all of it again."""
    def fail(call: int) -> None:
        if call == 1:
            raise LedgerError("database or disk is full")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        house.writer.gate.clear()
        house.take(lock(1, 1))
        await house.until(lambda: house.writer.calls == 1)
        house.take(lock(2, 2), lock(3, 3))
        house.writer.gate.set()
        await house.until(lambda: house.books.trouble)
        assert (house.answers, house.take(lock(1, 1))) == ([], [False])
        for number in (1, 2, 3):
            assert (await house.send(lock(number, number))).result == "posted"
    assert bad_entry(path, replay=True) == (0, "")


async def test_a_ledger_that_cannot_be_written_is_said_and_comes_back_by_itself(path: Path) -> None:
    """DB-08: not ready, a cause that names the place, no crash; and it goes on when there is room again."""
    full = True

    def fail(_call: int) -> None:
        if full:
            raise LedgerError("/var/lib/meterd/ledger.db: database or disk is full")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        house.take(lock(1, 1))
        await house.until(lambda: house.books.trouble)
        assert "ledger.db: database or disk is full" in house.books.trouble
        assert house.books.why_closed("main") == "the ledger cannot be written: call the technician"
        full = False
        assert (await house.send(lock(1, 1))).result == "posted"
        assert (house.books.trouble, house.books.why_closed("main")) == ("", "")


async def test_a_file_that_cannot_grow_loses_nothing_and_counts_nothing_twice(path: Path) -> None:
    """DB-08: the system itself refuses to write more, at twelve places in a commit; then there is room again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = path.with_name("l.db-wal")
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1))
        for number in range(2, 14):
            resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + number * 1_000, hard))
            try:
                house.take(*[lock(number * 10 + n, number * 10 + n) for n in range(-10, 0)])  # ahead: held
                await house.until(lambda: house.books.trouble or house.books.stuck_s() == 0)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            await house.until(lambda: not house.books.trouble)
        for number in range(2, 130):
            await house.send(lock(number, number))
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(129,)], (0, ""))


async def test_a_commit_that_was_done_though_it_reported_failure_is_not_done_again(path: Path) -> None:
    """MO-06: the unit's repeat is a duplicate, and the pages catch up (DI-07)."""
    def lie(call: int) -> None:
        if call == 2:
            raise LedgerError("disk I/O error")
    async with BooksHouse(path) as house:
        house.writer.after = lie
        await house.send(lock(1, 1, 1, 2))
        assert (await house.send(hit(2, 1, 2, "royal-flush-royal-match"))).result == "duplicate"
        assert (len(house.board.awards), house.board.awards_pending) == (1, 1)
        assert house.board.entries["main"] == rows(path, "SELECT max(number) FROM entry")[0][0]
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(1,)], (0, ""))


async def test_a_key_that_is_there_already_stops_the_book_for_good(path: Path) -> None:
    """Design section 8: a broken invariant; the stop is an entry, a restart stays stopped."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1))
        house.books.enter("main", lambda floor, at: floor.enter(
            "close", at, table="PG-01", game=1, device="hub-01", boot="b1", seq=1))
        await house.until(lambda: house.board.stopped.get("main"))
        await house.until(lambda: house.books.floors["main"].stopped and house.books.stuck_s() == 0)
        assert house.take(lock(2, 2)) == [False]
    assert rows(path, "SELECT kind FROM entry ORDER BY number DESC LIMIT 1") == [("stop",)]
    async with BooksHouse(path) as house:
        assert house.take(lock(2, 2)) == [False]
        assert house.books.why_closed("main") == "the books are stopped: call the technician"
        assert "already holds" in house.board.stopped["main"]
    assert bad_entry(path, replay=True) == (0, "")


@pytest.mark.parametrize("fault", [BrokenInvariant("postings do not sum to zero"), KeyError("main"), TypeError("none")])
async def test_an_engine_that_fails_half_way_stops_the_book_with_nothing_of_the_message_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """Design section 9: fail closed; what it was doing is discarded, what was taken before is discarded with it."""
    take = Floor.take

    def failing(self: Floor, message: object, at: int) -> object:
        if getattr(message, "seq", 0) == 2:
            self.meters["pg-link"].display += 1
            raise fault
        return take(self, message, at)  # type: ignore[arg-type]
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1))
        monkeypatch.setattr(Floor, "take", failing)
        assert house.take(lock(2, 2)) == [False]
        await house.until(lambda: "hub-01 b1/2" in house.books.floors["main"].stopped)
        assert house.take(lock(1, 1)) == [False]
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(1,)], (0, ""))


async def test_an_engine_that_fails_while_a_batch_is_written_stops_after_that_batch(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is being written is answered; what came after it is not."""
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        house.take(lock(1, 1))
        await house.until(lambda: house.writer.calls == 1)
        house.take(lock(2, 2))

        def broken(self: Floor, message: object, at: int) -> object:
            raise BrokenInvariant("a trial")
        with monkeypatch.context() as once:
            once.setattr(Floor, "take", broken)
            house.take(lock(3, 3))
        house.writer.gate.set()
        await house.until(lambda: house.books.floors["main"].stopped and house.books.stuck_s() == 0)
        assert [one.seq for one in house.answers] == [1]
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(1,)], (0, ""))


async def test_a_stop_that_cannot_be_written_is_tried_until_it_can(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Design section 9: it must outlast a restart."""
    def fail(call: int) -> None:
        if call < 5:
            raise LedgerError("database or disk is full")

    def broken(self: Floor, message: object, at: int) -> object:
        raise BrokenInvariant("a trial")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        monkeypatch.setattr(Floor, "take", broken)
        house.take(lock(1, 1))
        assert house.books.why_closed("main")
        await house.until(lambda: rows(path, "SELECT kind FROM entry WHERE kind = 'stop'"))
        assert house.writer.calls == 5


async def test_a_state_that_cannot_be_read_back_stops_the_book_as_soon_as_it_can(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design section 5, step 7: the last durable amounts stay, nothing is taken, the stop is written when it can be."""
    reads, floor = [0], Reader.floor

    def unreadable(self: Reader, plan: object, book: str) -> Floor:
        reads[0] += 1
        if reads[0] < 4:
            raise LedgerError("disk I/O error")
        return floor(self, plan, book)  # type: ignore[arg-type]

    def fail(call: int) -> None:
        if call == 2:
            raise LedgerError("disk I/O error")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        await house.send(lock(1, 1))
        shown = house.shown()
        monkeypatch.setattr(Reader, "floor", unreadable)
        house.take(lock(2, 2))
        await house.until(lambda: house.board.stopped.get("main"))
        assert (house.take(lock(2, 2)), house.shown()) == ([False], shown)
        await house.until(lambda: rows(path, "SELECT kind FROM entry WHERE kind = 'stop'"))
    assert (rows(path, LOCKS), bad_entry(path, replay=True)) == ([(1,)], (0, ""))


async def test_a_stop_that_breaks_a_key_itself_is_not_tried_for_ever(path: Path) -> None:
    """Bounded: somebody else writes into this ledger; the books stay stopped in memory."""
    def foreign(_call: int) -> None:
        raise BrokenLedger("the ledger already holds a key")
    async with BooksHouse(path) as house:
        house.writer.before = foreign
        house.take(lock(1, 1))
        await house.until(lambda: house.writer.calls == 2 and house.books.stuck_s() == 0)
        await asyncio.sleep(0.1)
        assert (house.writer.calls, house.take(lock(1, 1))) == (2, [False])


async def test_clear_is_refused_while_the_ledger_does_not_verify_and_works_when_it_does(path: Path) -> None:
    """Design section 9: exit 1 naming the entry, then exit 0, and the book takes wagers again."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1))
    entered(path, lambda floor: floor.stop("a trial", AT))
    change(path, "UPDATE entry SET at = at + 1 WHERE number = 3")
    refused = meterctl("clear", "--ledger", path, "--reason", "looked at")
    change(path, "UPDATE entry SET at = at - 1 WHERE number = 3")
    cleared = meterctl("clear", "--ledger", path, "--reason", "looked at")
    assert (refused.returncode, cleared.returncode) == (1, 0)
    assert "entry 3" in refused.stderr
    async with BooksHouse(path) as house:
        assert (await house.send(lock(2, 2))).result == "posted"
    assert bad_entry(path, replay=True) == (0, "")


async def test_a_full_intake_drops_and_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Design section 7: bounded; the units send again (I5)."""
    monkeypatch.setattr(books_room, "UNWRITTEN_MAX", 5)
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        taken = house.take(*[lock(n, n) for n in range(1, 9)])
        assert (taken, house.stats.dropped) == ([True] * 5 + [False] * 3, 3)
        house.books.hear("hub-02", "b9")
        assert house.stats.dropped == 4
        house.writer.gate.set()
        await house.until(lambda: len(house.answers) == 5)
        for number in (6, 7, 8):
            assert (await house.send(lock(number, number))).result == "posted"
    assert rows(path, LOCKS) == [(8,)]


async def test_a_flood_of_hellos_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every buffer has a bound: a unit that restarts all the time while the writer is stuck."""
    monkeypatch.setattr(books_room, "UNWRITTEN_MAX", 50)
    async with BooksHouse(path) as house:
        house.writer.gate.clear()
        for number in range(500):
            house.books.hear("hub-01", f"n{number}")
        assert len(house.books.floors["main"].entries) <= 50


async def test_what_waits_for_durability_is_called_in_order_and_after_it(path: Path) -> None:
    """The welcome tells only what is durable."""
    told: list[str] = []
    async with BooksHouse(path) as house:
        house.books.when_durable(lambda: told.append("nothing to wait for"))
        assert told == ["nothing to wait for"]
        house.writer.gate.clear()
        house.take(lock(1, 1))
        house.books.when_durable(lambda: told.append(f"first, {rows(path, LOCKS)[0][0]} locked"))
        house.take(lock(2, 2))
        house.books.when_durable(lambda: told.append(f"second, {rows(path, LOCKS)[0][0]} locked"))
        assert len(told) == 1
        house.writer.gate.set()
        await house.until(lambda: len(told) == 3)
        assert [word.split(",")[0] for word in told[1:]] == ["first", "second"]
        assert told[2] == "second, 2 locked"


async def test_closing_writes_what_was_taken(path: Path) -> None:
    """SIGTERM: what was taken is durable and answered, nothing new is taken."""
    async with BooksHouse(path) as house:
        house.take(*[lock(n, n) for n in range(1, 40)])
        await house.books.close(5.0)
        assert (len(house.answers), house.take(lock(40, 40))) == (39, [False])
    assert rows(path, LOCKS) == [(39,)]


async def test_closing_does_not_wait_for_a_ledger_that_cannot_be_written(path: Path) -> None:
    """Ends cleanly; what was never acknowledged comes again."""
    def fail(_call: int) -> None:
        raise LedgerError("database or disk is full")
    async with BooksHouse(path) as house:
        house.writer.before = fail
        house.take(lock(1, 1))
        await asyncio.wait_for(house.books.close(5.0), 2.0)
        assert house.answers == []
    assert rows(path, LOCKS) == [(0,)]


async def test_a_unit_heard_while_the_ledger_cannot_be_read_is_not_begun_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I1: a boot that has left memory must not lose its numbers because the ledger could not be asked."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1, boot="old"))
        for number in range(12):
            await house.send(said("notice", 1, boot=f"n{number}", kind="door-open"))
        assert ("hub-01", "old") not in house.books.floors["main"].boots

        def unreadable(self: Reader, book: str, asked: object) -> object:
            raise LedgerError("disk I/O error")
        with monkeypatch.context() as broken:
            broken.setattr(Reader, "recall", unreadable)
            house.books.hear("hub-01", "old")
        assert house.books.trouble
        await house.until(lambda: not house.books.trouble)
        house.books.hear("hub-01", "old")
        assert (await house.send(lock(2, 2, boot="old"))).result == "posted"
    assert bad_entry(path, replay=True) == (0, "")


async def test_a_boot_with_news_that_are_not_durable_yet_stays_in_memory(path: Path) -> None:
    """A fault of an old boot computed while a batch is written is not forgotten by that batch's end."""
    async with BooksHouse(path) as house:
        await house.send(lock(1, 1, boot="old"))
        for number in range(12):
            await house.send(said("notice", 1, boot=f"n{number}", kind="door-open"))
        house.writer.gate.clear()
        house.take(said("notice", 2, boot="n11", kind="door-open"))
        await house.until(lambda: house.writer.calls == 14)
        house.take(lock(1, 9, boot="old"))
        house.writer.gate.set()
        await house.until(lambda: house.answers[-1].result == "fault")
        await house.send(lock(1, 9, boot="old"))
        await house.send(lock(2, 2, boot="old"))
    assert (rows(path, "SELECT count(*) FROM entry WHERE kind = 'fault'"), bad_entry(path, replay=True)) == (
        [(1,)], (0, ""))


async def test_a_changed_configuration_whose_entry_failed_is_entered_again(path: Path) -> None:
    """Design section 8: every round is settled under a version that the ledger has."""
    def turn(floor: Json) -> None:
        floor["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]

    def fail(call: int) -> None:
        if call == 1:
            raise LedgerError("database or disk is full")
    async with BooksHouse(path, contract_plan(turn)) as house:
        house.writer.before = fail
        house.books.enter("main", lambda floor, at: floor.configure(house.plan, at))
        await house.until(lambda: house.books.trouble)
        winners = [{"seat": seat, "spot": "progressive", "outcome": "7-card-straight-flush-with-joker"}
                   for seat in (1, 2)]
        await house.send(lock(1, 1, 1, 2))
        await house.send(said("hits", 2, round=1, hits=winners))
    assert (rows(path, "SELECT count(*) FROM entry WHERE kind = 'config'"), bad_entry(path, replay=True)) == (
        [(2,)], (0, ""))


async def test_a_batch_of_several_books_is_durable_in_all_or_in_none(tmp_path: Path) -> None:
    """One transaction; each book has its own numbers and chain."""
    def two(floor: Json) -> None:
        floor["meter"][1]["book"] = "solo"

    def fail(call: int) -> None:
        if call == 1:
            raise LedgerError("database or disk is full")
    path = opened(tmp_path / "two.db", contract_plan(two))
    async with BooksHouse(path, contract_plan(two)) as house:
        house.writer.before = fail
        house.take(lock(1, 1), lock(1, 1, device="hub-03", cents=100))
        await house.until(lambda: house.books.trouble)
        assert rows(path, LOCKS) == [(0,)]
        await house.send(lock(1, 1))
        await house.send(lock(1, 1, device="hub-03", cents=100))
    assert (rows(path, "SELECT book FROM entry WHERE kind = 'lock' ORDER BY book"), bad_entry(path, replay=True)) == (
        [("main",), ("solo",)], (0, ""))
