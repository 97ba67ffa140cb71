"""The board: what is durable, as views; the same whether learned batch by batch or read back from the ledger."""

from pathlib import Path

import pytest
from awards_house import AwardsHouse
from desk_house import ANNA, BEN

from controller import losses
from controller.board import AWARDS_KEPT, GAMES_KEPT, NOTES_KEPT, Board
from controller.board_reader import catch_up, read_board
from controller.floor import Floor
from controller.ledger.reader import Reader, tell
from controller.ledger.writer import Batch, open_writer
from controller.plan import FloorPlan
from tests.books_house import message_of
from tests.ledger_house import AT, DAY, Json, applied, contract_plan, entered, every_kind, hit, lock, opened, rows, said


def read(path: Path, plan: FloorPlan | None = None) -> Board:
    """The board as the ledger has it."""
    reader = Reader(path)
    board = read_board(reader, plan or contract_plan())
    reader.close()
    return board


def learned(path: Path, messages: list[Json], together: int) -> Board:
    """The board of a daemon that took these messages, so many in a batch."""
    reader = Reader(opened(path))
    board, floor = read_board(reader, contract_plan()), reader.floor(contract_plan(), "main")
    writer = open_writer(path, reader.heads())
    for start in range(0, len(messages), together):
        for made in messages[start : start + together]:
            message = message_of(made)
            tell(floor, message, lambda asked: reader.recall("main", asked))
            floor.take(message, AT)
        batch = Batch("main", *floor.drain())
        writer.write([batch])
        board.learn(*batch)
    writer.close()
    reader.close()
    return board


def views(board: Board) -> tuple[object, ...]:
    """Everything that people see of it."""
    return (board.meters, board.tables, set(board.awards), set(board.envy), board.notes, board.awards_pending,
            board.stopped, board.entries)


PLAY: list[Json] = [
    lock(1, 1, 1, 2, 3), said("count", 2, round=1, chips=4), hit(3, 1, 2, "royal-flush-royal-match"),
    hit(4, 1, 9, "five-aces"), hit(5, 1, 3, "four-of-a-kind"), said("close", 6, round=1), lock(7, 2, 4),
    said("void", 8, round=2, reason="misdeal"), lock(9, 3, 1), lock(1, 1, 1, boot="b2"),
    said("notice", 2, boot="b2", kind="late-bet", seat=3), lock(10, 4, 2), lock(10, 9, 2), lock(12, 9, 2),
    lock(1, 1, 1, 2, device="hub-03", cents=100), hit(2, 1, 1, "five-aces", device="hub-03"),
]


@pytest.mark.parametrize("together", [1, 2, 5, 100])
def test_a_board_read_back_is_the_board_that_was_learned(tmp_path: Path, together: int) -> None:
    """DI-04, I4: after a restart everybody sees what they saw before."""
    board = learned(tmp_path / "l.db", PLAY, together)
    again = read(tmp_path / "l.db")
    for mine, theirs in zip(views(board), views(again), strict=True):
        assert mine == theirs


def test_the_meters_of_the_board_are_the_ledgers_sums(tmp_path: Path) -> None:
    """R-19."""
    path = every_kind(tmp_path / "l.db")
    board = read(path)
    for meter, account, total in rows(path, "SELECT meter, account, sum(microcents) FROM posting GROUP BY 1, 2"):
        view, sign = board.meters[meter], -1 if account in ("players", "house") else 1
        name = {"players": "contributed"}.get(account, account)
        assert getattr(view, f"{name}_microcents") == sign * total


def test_games_show_open_closed_void_and_late(tmp_path: Path) -> None:
    """A lock of an older start of the unit contributes, and opens nothing (design section 4)."""
    board = learned(tmp_path / "l.db", PLAY, 3)
    assert [(game.game, game.state) for game in board.tables["PG-01"].games] == [
        (5, "late"), (4, "open"), (3, "closed"), (2, "void"), (1, "closed")]


def test_an_open_game_is_read_back_however_long_ago_it_was_locked(tmp_path: Path) -> None:
    """R-21: its lamps are lit by it, after a restart on a busy floor, too; so is its chip count."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 3, 5), said("count", 2, round=1, chips=2)])
    entered(path, lambda floor: [floor.hear("hub-02", f"n{n}", AT) for n in range(1_200)])
    game = read(path).tables["PG-01"].open_game
    assert game is not None
    assert (game.wagers, game.chips) == (((3, "progressive", 500), (5, "progressive", 500)), 2)


def test_every_award_has_the_time_of_its_entry_however_many_hits_its_game_had(tmp_path: Path) -> None:
    """Many messages for one game must not push the others' times out."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 1, 2), hit(2, 1, 1, "four-of-a-kind"), lock(3, 2, 1, 2),
                   *[hit(n, 2, 1, "four-of-a-kind") for n in range(4, 70)]])
    entered(path, lambda floor: [floor.hear("hub-02", f"n{n}", AT) for n in range(1_200)])
    assert {(award.game, award.at) for award in read(path).awards} == {(1, AT), (2, AT)}


def test_lists_are_bounded(tmp_path: Path) -> None:
    """Every list has a bound, in memory and read back."""
    messages = [one for n in range(1, 130) for one in (
        lock(4 * n - 3, n, 1, 2), hit(4 * n - 2, n, 1, "four-of-a-kind"), hit(4 * n - 1, n, 9, "five-aces"),
        said("close", 4 * n, round=n))]
    for board in (learned(tmp_path / "a.db", messages, 50), read(tmp_path / "a.db")):
        assert (len(board.tables["PG-01"].games), len(board.awards), len(board.notes)) == (
            GAMES_KEPT, AWARDS_KEPT, NOTES_KEPT)
        assert board.awards_pending == 129


def test_every_refusal_fault_notice_loss_and_stop_says_what_and_what_to_do(tmp_path: Path) -> None:
    """Design section 9: in the floor's words."""
    board = read(every_kind(tmp_path / "l.db"))
    assert {note.kind for note in board.notes} == {"refusal", "fault", "notice", "alarm"}
    assert [note for note in board.notes if not note.what or not note.remedy] == []


def test_a_board_that_missed_a_commit_catches_up(tmp_path: Path) -> None:
    """MO-06, DI-07: from the ledger, with the awards that it did not know."""
    path = tmp_path / "l.db"
    applied(path, DAY[:3])
    reader = Reader(path)
    board = read_board(reader, contract_plan())
    applied(path, DAY[3:])
    catch_up(board, reader)
    reader.close()
    for mine, theirs in zip(views(board), views(read(path)), strict=True):
        assert mine == theirs


def test_a_board_that_missed_nothing_learns_nothing(tmp_path: Path) -> None:
    """Pages are not told of a change that is none."""
    path = tmp_path / "l.db"
    applied(path, DAY)
    reader = Reader(path)
    board = read_board(reader, contract_plan())
    before = dict(board.meters)
    catch_up(board, reader)
    reader.close()
    assert all(board.meters[name] is view for name, view in before.items())


def test_a_table_that_waits_for_people_says_why_until_they_have_accepted_it(tmp_path: Path) -> None:
    """Design section 9."""
    path = opened(tmp_path / "l.db")
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 4, 7, AT))
    assert read(path).tables["PG-01"].loss == "the table unit has lost messages 4 to 6"
    entered(path, accept)
    entered(path, lambda floor: losses.differ(floor, "hub-01", "b1", 5, 4, AT))
    assert read(path).tables["PG-01"].loss == "the table unit counted 5 wagers, the controller 4"


def accept(floor: Floor) -> None:
    """People have looked."""
    losses.accept_loss(floor, "PG-01", "the unit was changed", AT)


def test_a_stopped_book_is_stopped_on_the_board_until_it_is_cleared(tmp_path: Path) -> None:
    """Design section 9."""
    path = opened(tmp_path / "l.db")
    entered(path, lambda floor: floor.stop("a trial", AT))
    assert read(path).stopped == {"main": "a trial"}
    entered(path, lambda floor: floor.clear("looked at", AT))
    assert read(path).stopped == {"main": ""}


def test_a_table_that_the_configuration_no_longer_names_is_left_out(tmp_path: Path) -> None:
    """Its entries stay in the ledger; its awards are still counted as pending."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, device="hub-02"), hit(2, 1, 1, "four-of-a-kind", device="hub-02"),
                   said("close", 3, "hub-02", round=1)])
    board = read(path, contract_plan(lambda floor: floor["table"].pop(1)))
    assert (sorted(board.tables), board.awards, board.awards_pending) == (["PG-01", "PG-03"], (), 1)


# ---------------------------------------------------------------------- what people put right


def seen(house: AwardsHouse) -> list[tuple[object, ...]]:
    """The lit seats, count and state of the count of PG-01's latest game: as the daemon has it, and read back."""
    games = [board.tables["PG-01"].games[0] for board in (house.board, read_board(house.reader, house.plan))]
    return [([seat for seat, _, _ in game.wagers], game.chips, game.differs, game.closed_by) for game in games]


def test_a_wager_that_people_remove_or_add_darkens_or_lights_its_seat(tmp_path: Path) -> None:
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 3, 5)
    house.sign("wager-removed", ANNA, BEN, game=1, seat=3, reason="no chip lay there")
    house.sign("wager-added", ANNA, BEN, game=1, seat=4, reason="the sensor was covered")
    assert seen(house) == [([1, 4, 5], None, False, ())] * 2
    assert house.board.tables["PG-01"].games[0].wagers[1] == (4, "progressive", 500)


def test_a_difference_that_people_closed_is_no_longer_one_and_says_who(tmp_path: Path) -> None:
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 3)
    house.say("count", 1, chips=1)
    assert seen(house) == [([1, 3], 1, True, ())] * 2
    house.sign("count-closed", ANNA, BEN, game=1, finding="seen on camera")
    assert seen(house) == [([1, 3], 1, False, ("anna", "ben"))] * 2


def test_what_people_put_right_is_read_back_however_much_came_after_it(tmp_path: Path) -> None:
    house = AwardsHouse(tmp_path)
    house.lock(1, 1, 3)
    house.sign("wager-removed", ANNA, BEN, game=1, seat=3, reason="no chip lay there")
    house.change(lambda floor, at: [floor.hear("hub-02", f"n{n}", at) for n in range(1_200)])
    assert seen(house) == [([1], None, False, ())] * 2
