"""Proof of a ledger: every change behind the program's back is found and named; every kind of entry is made again."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from controller import losses
from controller.floor_state import canonical
from controller.journal import RULES_VERSION
from controller.ledger import chain, schema
from controller.ledger.place import LedgerError
from controller.ledger.verify import BadEntry, verify, verify_tail
from controller.offline import put_right
from tests.floors import named_floor, plan_of
from tests.ledger_house import (
    AT,
    DAY,
    Json,
    applied,
    bad_entry,
    change,
    contract_plan,
    entered,
    every_kind,
    hit,
    lock,
    opened,
    rows,
    said,
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry."""
    return every_kind(tmp_path_factory.mktemp("verify") / "l.db")


@pytest.fixture
def ledger(good: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copy(good, tmp_path / "l.db"))


def test_a_ledger_with_every_kind_of_entry_is_good_and_replays(good: Path) -> None:
    """Design section 8: loss, acceptance, stop, clear, held, heard, fault, changed configuration."""
    proved = verify(good, replay=True)[0]
    head = rows(good, "SELECT number, lower(hex(hash)) FROM entry ORDER BY number DESC LIMIT 1")[0]
    assert (proved.entries, proved.head, proved.replayed) == (*head, True)
    assert proved.postings == rows(good, "SELECT count(*) FROM posting")[0][0]


def test_verify_writes_nothing(ledger: Path) -> None:
    """It may be run on the evidence."""
    before = ledger.read_bytes()
    verify(ledger, replay=True)
    assert ledger.read_bytes() == before


OTHER: dict[str, Any] = {
    "book": "other", "number": 900, "at": AT + 1, "kind": "close", "table": "PG-09", "game": 99, "device": "hub-09",
    "boot": "b9", "seq": 77, "rules": RULES_VERSION + 1, "body": '{"a":1}', "previous": b"\1" * 32, "hash": b"\2" * 32,
    "entry": 12, "line": 9, "meter": "pg-solo", "account": "paid", "microcents": 1, "balance": 1,
}
"""Another content for each column."""


@pytest.mark.parametrize("column", [column.name for column in schema.entry.columns])
@pytest.mark.parametrize("number", [1, 10, 42, 55])
def test_any_column_of_an_entry_changed_is_found(ledger: Path, column: str, number: int) -> None:
    """Design section 8: the hash covers every column; the first, one with postings, a held one, the last."""
    assert change(ledger, f'UPDATE entry SET "{column}" = ? WHERE number = ?', OTHER[column], number) == 1
    assert bad_entry(ledger)[0] > 0


@pytest.mark.parametrize("number", [1, 10, 42, 55])
def test_an_entry_whose_content_was_changed_is_named_itself(ledger: Path, number: int) -> None:
    """The first bad entry, not the one after it."""
    change(ledger, "UPDATE entry SET at = at + 1 WHERE number = ?", number)
    assert bad_entry(ledger) == (number, "its content does not match its hash")


@pytest.mark.parametrize("column", [column.name for column in schema.posting.columns])
def test_any_column_of_a_posting_changed_is_found(ledger: Path, column: str) -> None:
    """Design section 8."""
    where = "entry = 5 AND line = 0"
    assert change(ledger, f'UPDATE posting SET "{column}" = ? WHERE {where}', OTHER[column]) == 1
    assert bad_entry(ledger)[0] > 0


KINDS = ("meter", "table", "boot", "award", "book", "head")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("column", "other"), [
    ("book", "other"), ("kind", "mood"), ("key", "elsewhere"), ("number", 0), ("number", 900), ("body", "{}"),
    ("body", "not json"), ("body", "[1]"),
])
def test_any_column_of_a_state_row_changed_is_found(ledger: Path, kind: str, column: str, other: object) -> None:
    """A start trusts these rows, so each must be what a replay makes."""
    key = rows(ledger, "SELECT key FROM state WHERE kind = ? ORDER BY key", kind)[0][0]
    assert change(ledger, f"UPDATE state SET {column} = ? WHERE kind = ? AND key = ?", other, kind, key) == 1
    with pytest.raises(BadEntry):
        verify(ledger, replay=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_row_kept_as_of_an_entry_before_its_last_change_is_found(ledger: Path, kind: str) -> None:
    """Which boots and awards are read at a start depends on that number."""
    where = "kind = ? AND key = (SELECT min(key) FROM state WHERE kind = ?)"
    change(ledger, f"UPDATE state SET number = 2 WHERE {where}", kind, kind)
    assert bad_entry(ledger, replay=True)[0] > 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_row_that_is_gone_is_found(ledger: Path, kind: str) -> None:
    """Nothing that a start reads may be missing."""
    change(ledger, "DELETE FROM state WHERE kind = ?", kind)
    assert bad_entry(ledger, replay=True)[0] > 0


@pytest.mark.parametrize("account", ["display", "reserve", "overflow", "pending", "players", "paid", "house"])
def test_a_kept_balance_that_is_not_its_postings_is_found_without_a_replay(ledger: Path, account: str) -> None:
    """R-19: the amount that a start would show."""
    body = json.loads(rows(ledger, "SELECT body FROM state WHERE key = 'pg-link'")[0][0])
    body[account] += 1_000_000
    change(ledger, "UPDATE state SET body = ? WHERE key = 'pg-link'", canonical(body))
    assert "pg-link" in bad_entry(ledger)[1]


CUTS = {
    "the last entry cut off": ["DELETE FROM entry WHERE number = 55"],
    "the last two dozen cut off with their postings": [
        "DELETE FROM entry WHERE number > 30", "DELETE FROM posting WHERE entry > 30"],
    "one in the middle cut out": ["DELETE FROM entry WHERE number = 20"],
    "one in the middle cut out, and the rest moved up": [
        "DELETE FROM entry WHERE number = 41", "UPDATE entry SET number = number - 1 WHERE number > 41"],
    "two swapped": [
        "UPDATE entry SET number = 900 WHERE number = 20", "UPDATE entry SET number = 20 WHERE number = 21",
        "UPDATE entry SET number = 21 WHERE number = 900"],
    "one doubled at the end": [
        'INSERT INTO entry SELECT book, 56, at, kind, "table", game, device, boot, NULL, rules, body, previous, hash '
        "FROM entry WHERE number = 55"],
    "a posting taken away": ["DELETE FROM posting WHERE entry = 5 AND line = 1"],
    "all postings of an entry taken away": ["DELETE FROM posting WHERE entry = 5"],
    "a posting put in": ["INSERT INTO posting VALUES ('main', 10, 0, 'pg-link', 'house', -5, -5)"],
    "a posting of no entry": ["INSERT INTO posting VALUES ('main', 900, 0, 'pg-link', 'house', -5, -5)"],
    "a posting of no book": ["INSERT INTO posting VALUES ('a', 10, 0, 'pg-link', 'house', -5, -5)"],
    "a posting moved to another entry": ["UPDATE posting SET entry = 6 WHERE entry = 5 AND line = 0"],
    "all postings of two entries swapped": [
        "UPDATE posting SET entry = 900 WHERE entry = 3", "UPDATE posting SET entry = 3 WHERE entry = 4",
        "UPDATE posting SET entry = 4 WHERE entry = 900"],
    "two postings of an entry swapped": [
        "UPDATE posting SET line = 900 WHERE entry = 5 AND line = 0", "UPDATE posting SET line = 0 WHERE entry = 5 AND "
        "line = 1", "UPDATE posting SET line = 1 WHERE entry = 5 AND line = 900"],
    "everything taken away": ["DELETE FROM entry", "DELETE FROM posting"],
}


@pytest.mark.parametrize("cut", CUTS)
def test_entries_and_postings_cut_moved_swapped_or_doubled_are_found(ledger: Path, cut: str) -> None:
    """I2, design section 8."""
    for statement in CUTS[cut]:
        assert change(ledger, statement) > 0
    with pytest.raises(BadEntry):
        verify(ledger)


def rechained(path: Path, number: int, **columns: object) -> None:
    """A forger who knows the recipe: columns of one entry changed, and every hash from there on made anew."""
    for column, content in columns.items():
        change(path, f'UPDATE entry SET "{column}" = ? WHERE number = ?', content, number)
    previous = chain.START
    for row in rows(path, "SELECT * FROM entry ORDER BY number"):
        postings = rows(path, "SELECT meter, account, microcents, balance FROM posting WHERE entry = ? ORDER BY line",
                        row[1])
        hashed = chain.link(*[previous, *row[:11], postings])
        change(path, "UPDATE entry SET previous = ?, hash = ? WHERE number = ?", previous, hashed, row[1])
        previous = hashed
    head = canonical({"hash": previous.hex(), "number": rows(path, "SELECT max(number) FROM entry")[0][0]})
    change(path, "UPDATE state SET body = ? WHERE kind = 'head'", head)


FORGED: dict[str, tuple[str, dict[str, object]]] = {
    "another time of a lock": ("lock", {"game": 7}),
    "a refusal with another reason": ("refused", {"body": '{"message":{},"reason":"malformed"}'}),
    "a stop that was none": ("stop", {"kind": "clear"}),
    "rules of another version": ("notice", {"rules": RULES_VERSION + 1}),
    "a kind that nobody knows": ("notice", {"kind": "mood"}),
    "a message that is none": ("count", {"body": '{"message":{"type":"count"}}'}),
    "a body that is no JSON": ("hits", {"body": "royal flush"}),
    "a loss that was smaller": ("loss", {"body": '{"boot":"c10","first":5,"kept_first":6,"kind":"loss"}'}),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forger_who_makes_the_chain_anew_is_found_by_replay(ledger: Path, forged: str) -> None:
    """The chain alone cannot tell; the rules can (and a head written down elsewhere, docs/LEDGER.md section 4)."""
    kind, columns = FORGED[forged]
    number = rows(ledger, "SELECT max(number) FROM entry WHERE kind = ?", kind)[0][0]
    rechained(ledger, number, **columns)
    assert bad_entry(ledger) == (0, "")
    assert bad_entry(ledger, replay=True)[0] >= number


def test_money_moved_by_a_forger_with_balances_and_chain_made_anew_is_found_by_replay(ledger: Path) -> None:
    """A dollar more in the opening, and everything after it adjusted."""
    for account, more in (("display", 100_000_000), ("house", -100_000_000)):
        change(ledger, "UPDATE posting SET microcents = microcents + ? WHERE entry = 4 AND account = ?", more, account)
        change(ledger, "UPDATE posting SET balance = balance + ? WHERE meter = 'pg-solo' AND account = ?", more,
               account)
    body = json.loads(rows(ledger, "SELECT body FROM state WHERE key = 'pg-solo'")[0][0])
    body |= {"display": body["display"] + 100_000_000, "house": body["house"] - 100_000_000}
    change(ledger, "UPDATE state SET body = ? WHERE key = 'pg-solo'", canonical(body))
    rechained(ledger, 4)
    assert (bad_entry(ledger), bad_entry(ledger, replay=True)[0]) == ((0, ""), 4)


def test_entries_cut_off_at_the_end_are_found_by_the_quick_proof_of_a_start(ledger: Path) -> None:
    """R-69: the tail and the head agree, or nothing is opened."""
    change(ledger, "DELETE FROM entry WHERE number = 55")
    with pytest.raises(BadEntry, match="missing at the end"):
        verify_tail(ledger)


@pytest.mark.parametrize("body", ["not json", "[]", "{}", '{"hash":5,"number":55}'])
def test_a_head_that_cannot_be_read_is_named_by_the_quick_proof(ledger: Path, body: str) -> None:
    """R-69: no traceback, an entry."""
    change(ledger, "UPDATE state SET body = ? WHERE kind = 'head'", body)
    with pytest.raises(BadEntry):
        verify_tail(ledger)


def test_a_page_of_rubbish_is_a_damaged_file(ledger: Path) -> None:
    """Exit 3, not a wrong entry: the file itself is broken."""
    text = bytearray(ledger.read_bytes())
    text[4096 * 3 : 4096 * 4] = b"\xa5" * 4096
    ledger.write_bytes(text)
    with pytest.raises((LedgerError, BadEntry)):
        verify(ledger)


def test_an_index_that_does_not_fit_its_table_is_found_by_replay(ledger: Path) -> None:
    """The unique key is the second wall: it must not have holes (I1)."""
    root = rows(ledger, "SELECT rootpage FROM sqlite_schema WHERE name = 'entry_seldom'")[0][0]
    text = bytearray(ledger.read_bytes())
    size = int.from_bytes(text[16:18], "big")
    page = (root - 1) * size
    cells = int.from_bytes(text[page + 3 : page + 5], "big")
    text[page + 3 : page + 5] = (cells - 1).to_bytes(2, "big")
    ledger.write_bytes(text)
    with pytest.raises(LedgerError, match="damaged"):
        verify(ledger, replay=True)


PLAYS: dict[str, list[Json]] = {
    "held, filled, and sent again": [lock(2, 2), lock(3, 3), lock(2, 2), lock(1, 1), lock(3, 3)],
    "held, and another content of it": [lock(3, 3), lock(3, 4), lock(3, 5), lock(3, 4), lock(1, 1), lock(2, 2)],
    "a fault against a posted one, twice": [lock(1, 1), lock(1, 2), lock(1, 2), lock(1, 3), lock(2, 2)],
    "a malformed one, in its turn and ahead": [said("lock", 1), said("mood", 3), said("lock", 2), said("lock", 3)],
    "a void round": [lock(1, 1, 1, 2), said("void", 2, round=1, reason="misdeal")],
    "a late lock of an older boot": [
        lock(1, 1, boot="b1"), lock(1, 1, boot="b2"), lock(2, 2, boot="b1"),
        said("close", 3, boot="b1", round=1, round_boot="b2")],
    "hits one by one, and apart": [
        lock(1, 1, 1, 2), lock(1, 1, 1, device="hub-02"), hit(2, 1, 1, "7-card-straight-flush-with-joker"),
        hit(2, 1, 1, "7-card-straight-flush", device="hub-02"), hit(3, 1, 2, "7-card-straight-flush")],
    "a count that differs": [lock(1, 1), said("count", 2, round=1, chips=3), said("count", 3, round=1, chips=1)],
}


@pytest.mark.parametrize("play", PLAYS)
def test_whatever_was_played_replays(tmp_path: Path, play: str) -> None:
    """Design section 8: `verify --replay` makes every entry again."""
    applied(tmp_path / "l.db", PLAYS[play])
    assert bad_entry(tmp_path / "l.db", replay=True) == (0, "")


@pytest.mark.parametrize("play", PLAYS)
def test_a_restart_after_every_message_changes_nothing(tmp_path: Path, play: str) -> None:
    """The state rows hold all that the engine needs: the entries are the same as without a restart."""
    whole = applied(tmp_path / "whole.db", PLAYS[play])[0]
    parts = [answer for message in PLAYS[play] for answer in applied(tmp_path / "parts.db", [message])[0]]
    columns = 'number, kind, "table", game, device, boot, seq, body'
    assert parts == whole
    assert rows(tmp_path / "parts.db", f"SELECT {columns} FROM entry") == rows(
        tmp_path / "whole.db", f"SELECT {columns} FROM entry")


def test_a_loss_of_a_boot_that_spoke_long_ago_is_accepted_on_its_own_state(tmp_path: Path) -> None:
    """The boot has left memory; it must not be begun anew (I1)."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1), lock(4, 4)])
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 2, 4, AT))
    applied(path, [said("notice", 1, boot=f"n{n}", kind="door-open") for n in range(12)])
    put_right(path, "a test", "now", lambda floor: bool(losses.accept_loss(floor, "PG-01", "seen", AT)) or True)
    assert bad_entry(path, replay=True) == (0, "")
    assert applied(path, [lock(1, 1), lock(4, 4), lock(5, 5)])[0][2]["result"] == "posted"


def test_ten_thousand_boots_replay_in_time(tmp_path: Path) -> None:
    """Each start of a unit is remembered; a replay must not look at all of them for every entry."""
    path = opened(tmp_path / "l.db")
    entered(path, lambda floor: [floor.hear("hub-01", f"n{n}", AT) for n in range(10_000)])
    assert bad_entry(path, replay=True) == (0, "")


def test_a_changed_configuration_with_an_open_game_replays(tmp_path: Path) -> None:
    """The game is settled under the version it was locked under, before and after the restart (design section 8)."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 1, 2)])
    plan = contract_plan(_turn)
    winners = [{"seat": seat, "spot": "progressive", "outcome": "7-card-straight-flush-with-joker"} for seat in (1, 2)]
    hits = said("hits", 2, round=1, hits=winners)
    answers, _ = applied(path, [hits], plan)
    assert [award["seat"] for award in answers[0]["awards"]] == [1, 2]
    assert bad_entry(path, replay=True) == (0, "")
    answers, _ = applied(path, [lock(3, 2, 1, 2), said("hits", 4, round=2, hits=winners)], plan)
    assert [award["seat"] for award in answers[1]["awards"]] == [2, 1]
    assert bad_entry(path, replay=True) == (0, "")


def _turn(floor: Json) -> None:
    floor["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]


def test_a_table_that_was_removed_comes_back_as_it_was(tmp_path: Path) -> None:
    """Its game numbers go on; nothing of it was lost."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, device="hub-02"), said("close", 2, device="hub-02", round=1)])
    without = contract_plan(lambda floor: floor["table"].pop(1))
    assert applied(path, [lock(1, 1)], without)[0][0]["result"] == "posted"
    answers, _ = applied(path, [lock(3, 2, device="hub-02"), lock(1, 1, device="hub-02")])
    assert [(one["result"], one.get("game")) for one in answers] == [("posted", 2), ("duplicate", None)]
    assert bad_entry(path, replay=True) == (0, "")


def _two_books(floor: Json) -> None:
    floor["meter"][1]["book"] = "solo"


def test_each_of_several_books_is_proved_by_itself(tmp_path: Path) -> None:
    """Design section 8: its own numbers, its own chain."""
    path = tmp_path / "l.db"
    applied(path, DAY, contract_plan(_two_books))
    assert [(one.book, one.replayed) for one in verify(path, replay=True)] == [("main", True), ("solo", True)]


def test_an_entry_moved_to_the_other_book_is_found(tmp_path: Path) -> None:
    """Neither chain has room for it."""
    path = tmp_path / "l.db"
    applied(path, DAY, contract_plan(_two_books))
    last = rows(path, "SELECT max(number) FROM entry WHERE book = 'solo'")[0][0]
    change(path, "UPDATE entry SET book = 'main', number = 900 WHERE book = 'solo' AND number = ?", last)
    assert bad_entry(path)[0] == 900


def test_a_message_given_up_as_lost_that_comes_after_all_is_evidence_and_no_wager(tmp_path: Path) -> None:
    """Design section 9: people accepted the loss, nothing is guessed; a late copy must not stop the book either."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1), lock(4, 4)])
    entered(path, lambda floor: losses.lose(floor, "hub-01", "b1", 2, 4, AT))
    entered(path, lambda floor: losses.accept_loss(floor, "PG-01", "the unit was changed", AT))
    answers, _ = applied(path, [lock(2, 2), lock(2, 2), lock(5, 5)])
    assert [answer["result"] for answer in answers] == ["fault", "fault", "posted"]
    assert (rows(path, "SELECT count(*) FROM entry WHERE kind = 'fault'"), bad_entry(path, replay=True)) == (
        [(1,)], (0, ""))


def test_a_difference_of_totals_is_accepted_with_the_locks_that_came_since(tmp_path: Path) -> None:
    """Design section 9: the same difference must not come up again at the next heartbeat."""
    path = tmp_path / "l.db"
    applied(path, [lock(1, 1, 1, 2)])
    entered(path, lambda floor: losses.differ(floor, "hub-01", "b1", 5, 2, AT))
    applied(path, [lock(2, 2, 1)])
    entered(path, lambda floor: losses.accept_loss(floor, "PG-01", "counted by hand", AT))
    body = json.loads(rows(path, "SELECT body FROM state WHERE kind = 'boot'")[0][0])
    assert (body["wagers_total"], bad_entry(path, replay=True)) == (6, (0, ""))


def test_meters_put_in_another_order_are_settled_and_replayed_in_the_same_order(tmp_path: Path) -> None:
    """Two hits of two meters in one message, before and after the floor file's meters were reversed."""
    path = tmp_path / "order.db"
    floor, paytables = named_floor("three-meters", {})
    wager = next(iter(paytables.values()))
    cents = 100 * int(wager["wager"].strip("$").split(".")[0])
    tops = [prize["outcome"] for prize in wager["prize"] if "share" in prize][:2]

    def evening(first: int) -> list[Json]:
        seats = [{"seat": seat, "spot": "progressive", "cents": cents} for seat in (1, 2)]
        hits = [{"seat": seat, "spot": "progressive", "outcome": top} for seat, top in enumerate(tops, start=1)]
        return [said("lock", first, "hub-PG-01", round=first, wagers=seats),
                said("hits", first + 1, "hub-PG-01", round=first, hits=hits)]

    assert [one["result"] for one in applied(path, evening(1), plan_of((floor, paytables)))[0]] == ["posted"] * 2
    floor["meter"].reverse()
    assert [one["result"] for one in applied(path, evening(3), plan_of((floor, paytables)))[0]] == ["posted"] * 2
    assert verify(path, replay=True)[0].replayed


def test_a_void_after_a_restart_is_replayed_as_it_was_posted(tmp_path: Path) -> None:
    """The round's contributions come back from its state row in the order of names, not of the floor file."""
    path = tmp_path / "void.db"
    floor, paytables = named_floor("three-meters", {})
    floor["meter"].sort(key=lambda meter: meter["id"], reverse=True)
    cents = 100 * int(next(iter(paytables.values()))["wager"].strip("$").split(".")[0])
    wagers = [{"seat": 1, "spot": "progressive", "cents": cents}]
    applied(path, [said("lock", 1, "hub-PG-01", round=1, wagers=wagers)], plan_of((floor, paytables)))
    applied(path, [said("void", 2, "hub-PG-01", round=1, reason="misdeal")], plan_of((floor, paytables)))
    assert verify(path, replay=True)[0].replayed
