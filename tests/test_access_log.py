"""Signing in and out while the ledger takes no entries: kept beside it, and entered later, once, in order (R-102)."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from people_house import ANNA, BORIS, DORA, SECRET, PeopleHouse, people_app, screens

from controller.acts import Act, Acted, ActRefused, Why
from controller.cli_people import user
from controller.ledger.verify import verify
from controller.people_acts import THE_CONTROLLER
from controller.people_on_box import Newcomer, begin
from controller.vault import KeptAct, Vault, VaultError, beside
from controller.web import access_log
from controller.web.access_log import AccessLog
from controller.web.sessions import Signed, SignInRefused
from tests.books_house import BooksHouse
from tests.ledger_house import AT, opened
from tests.test_people_books import PEER, sign_ins

STOPPED = "the books do not add up"
MINUTE = 60_000_000
KINDS = ("signed-in", "signed-out", "sign-in-refused")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = opened(tmp_path / "ledger.db")
    begin(path, "test", [Newcomer(BORIS, "Boris", SECRET), Newcomer(DORA, "Dora", "another long one")], AT)
    return path


def entered(house: BooksHouse) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Kind, person and fields of the access log, oldest first."""
    found = [(entry.kind, json.loads(entry.body)) for entry in reversed(house.reader.entries("main", kinds=KINDS))]
    return [(kind, body["by"][0], body["fields"]) for kind, body in found]


async def test_what_happens_while_the_book_is_stopped_is_entered_after_a_restart_in_order_with_its_own_time(
    ledger: Path,
) -> None:
    async with BooksHouse(ledger) as house:
        house.books.floors["main"].stopped = STOPPED
        desk = sign_ins(house)
        await desk.open("boris", SECRET, PEER)
        with pytest.raises(SignInRefused):
            await desk.open("dora", "wrong", PEER)
        await desk.close(Signed(BORIS, "Boris", "", "none"), PEER)
        assert entered(house) == []
    async with BooksHouse(ledger) as again:
        desk = sign_ins(again)
        assert await desk.access.enter_kept()
        await desk.open("dora", "another long one", PEER)
        assert entered(again) == [
            ("signed-in", "boris", {"own_time": AT, "peer": PEER}),
            ("sign-in-refused", "@controller",
             {"count": 1, "id": "dora", "own_time": AT, "peer": PEER, "reason": "wrong name or secret"}),
            ("signed-out", "boris", {"own_time": AT, "peer": PEER}),
            ("signed-in", "dora", {"peer": PEER})]
    verify(ledger, replay=True)


async def test_while_the_book_stays_stopped_nothing_is_lost_or_entered(ledger: Path) -> None:
    for waits in (False, True, True):
        async with BooksHouse(ledger) as house:
            house.books.floors["main"].stopped = STOPPED
            desk = sign_ins(house)
            assert await desk.access.enter_kept() is not waits
            await desk.open("boris", SECRET, PEER)
    async with BooksHouse(ledger) as again:
        assert await sign_ins(again).access.enter_kept()
        assert [kind for kind, _, _ in entered(again)] == ["signed-in"] * 3


async def test_an_end_between_the_entry_and_forgetting_it_enters_nothing_twice(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with BooksHouse(ledger) as house:
        house.books.floors["main"].stopped = STOPPED
        await sign_ins(house).open("boris", SECRET, PEER)

    def cut(*_: object) -> None:
        raise VaultError("the power is gone")

    async with BooksHouse(ledger) as house:
        with monkeypatch.context() as gone, pytest.raises(VaultError):
            gone.setattr(Vault, "forget_kept", cut)
            await sign_ins(house).access.enter_kept()
    async with BooksHouse(ledger) as again:
        assert Vault(beside(ledger)).first_kept() is not None
        assert await sign_ins(again).access.enter_kept()
        assert len(entered(again)) == 1
        assert Vault(beside(ledger)).first_kept() is None
    verify(ledger, replay=True)


class Ledger:
    """A ledger by its acts alone: open or shut."""

    def __init__(self, folder: Path) -> None:
        self.vault = Vault(folder / "people.db")
        self.shut, self.at = True, AT
        self.done: list[Act] = []
        self.came = asyncio.Event()

    async def act(self, asked: Act) -> Acted:
        if self.shut:
            raise ActRefused(Why.NOT_NOW, "the books are stopped", "call the technician")
        if any(asked.id == one.id and asked.content() != one.content() for one in self.done):
            raise ActRefused(Why.ACT_DIFFERS, "sent before with something else in it", "look")
        self.done.append(asked)
        self.came.set()
        return Acted(len(self.done), {})

    def log(self) -> AccessLog:
        return AccessLog(self.vault, self.act, lambda: self.at)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


async def test_what_happens_while_others_wait_is_entered_behind_them(book: Ledger) -> None:
    log = book.log()
    await log.enter("signed-in", ANNA, {"peer": PEER})
    book.shut, book.at = False, AT + MINUTE
    await log.enter("signed-in", BORIS, {"peer": PEER})
    assert book.done == []
    assert await log.enter_kept()
    assert [(act.by.id, act.fields["own_time"]) for act in book.done] == [("anna", AT), ("boris", AT + MINUTE)]


async def test_an_entry_whose_commit_was_done_and_reported_as_failed_is_not_made_again(book: Ledger) -> None:
    """MO-06: the ledger knows the id, with other fields: it was entered at its own time."""
    log = book.log()
    real = book.act

    async def lost(asked: Act) -> Acted:
        book.shut = False
        await real(asked)
        raise ActRefused(Why.NOT_NOW, "it is not known whether this was done", "ask again")

    log._act = lost
    await log.enter("signed-in", ANNA, {"peer": PEER})
    log._act = real
    assert await log.enter_kept()
    assert [dict(act.fields) for act in book.done] == [{"peer": PEER}]
    assert book.vault.first_kept() is None


async def test_guessing_fills_no_more_than_its_part_and_shuts_nobody_out(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "REFUSALS_KEPT_MAX", 2)
    monkeypatch.setattr(access_log, "KEPT_MAX", 3)
    log = book.log()
    refused = {"count": 1, "peer": PEER, "reason": "wrong name or secret"}
    for _ in range(2):
        await log.enter("sign-in-refused", THE_CONTROLLER, refused)
    with pytest.raises(ActRefused):
        await log.enter("sign-in-refused", THE_CONTROLLER, refused)
    await log.enter("signed-in", ANNA, {"peer": PEER})
    with pytest.raises(ActRefused, match="too much waits to be entered into the ledger; call the technician"):
        await log.enter("signed-in", BORIS, {"peer": PEER})


async def test_a_remote_sign_in_is_entered_or_refused_and_never_kept(book: Ledger) -> None:
    """R-105: the entry uses up what was opened for it."""
    with pytest.raises(ActRefused):
        await book.log().enter("signed-in", ANNA, {"peer": PEER, "remote": True}, keep=False)
    assert book.vault.first_kept() is None


async def test_what_can_never_be_entered_is_logged_and_stands_in_nobodys_way(
    book: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    log = book.log()
    await log.enter("signed-in", ANNA, {"peer": PEER})
    await log.enter("signed-in", BORIS, {"peer": PEER})
    real = book.act

    async def not_anna(asked: Act) -> Acted:
        if asked.by == ANNA:
            raise ActRefused(Why.NOT_ALLOWED, "not this person", "ask another")
        return await real(asked)

    book.shut, log._act = False, not_anna
    assert await log.enter_kept()
    assert [act.by for act in book.done] == [BORIS]
    assert "signed-in of anna can never be entered" in caplog.text


async def test_it_is_entered_by_itself_once_the_book_takes_entries_again(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "RETRY_S", 0.001)
    log = book.log()
    async with log.following():
        await log.enter("signed-in", ANNA, {"peer": PEER})
        book.shut = False
        async with asyncio.timeout(10):
            await book.came.wait()
    assert [act.by for act in book.done] == [ANNA]


async def test_what_meterctl_keeps_while_the_pages_run_is_entered_once_in_their_turn(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export at a terminal of the box: the daemon looks for it by itself."""
    monkeypatch.setattr(access_log, "LOOK_S", 0.001)
    book.shut = False
    log = book.log()
    async with log.following():
        assert book.vault.keep_act(KeptAct(0, "exported", "by-meterctl", tuple(ANNA), {"what": "slip 1"}, AT), 10)
        await asyncio.wait_for(book.came.wait(), 10)
        assert await log.enter_kept()
    assert [(act.id, act.fields) for act in book.done] == [("by-meterctl", {"own_time": AT, "what": "slip 1"})]


async def test_an_export_by_a_token_is_entered_later_in_the_tokens_name(book: Ledger) -> None:
    log = book.log()
    await log.keep_export(BORIS, "report liability as csv", "nightly")
    book.shut = False
    assert await log.enter_kept()
    assert [(act.kind, act.token, act.fields) for act in book.done] == [
        ("exported", "nightly", {"own_time": AT, "what": "report liability as csv"})]


async def test_what_is_taken_away_is_handed_over_where_nothing_can_be_kept_and_the_log_says_so(
    book: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise VaultError("the disk is full")

    monkeypatch.setattr(Vault, "keep_act", full)
    await book.log().keep_export(BORIS, "evidence of table PG-01")
    assert "boris exported evidence of table PG-01" in caplog.text


def test_the_pages_enter_what_was_kept_before_their_start(tmp_path: Path) -> None:
    house = PeopleHouse()
    real, shut = house.act, [True]

    async def act(book: str, asked: Act) -> Acted:
        if shut[0]:
            raise ActRefused(Why.NOT_NOW, "the books are stopped", "call the technician")
        return await real(book, asked)

    house.act = act  # type: ignore[method-assign]
    with screens(house, tmp_path, 1) as (anna,):
        assert anna.sign_in("anna").status_code == 303
        assert house.kinds() == []
    shut[0] = False
    vault = people_app(house, tmp_path).state.sign_ins.vault
    with screens(house, tmp_path, 1) as (boris,):
        while vault.first_kept() is not None:
            assert boris.client.get("/healthz").status_code == 200
    assert [(one.kind, one.by) for one in house.done] == [("signed-in", ANNA)]
    assert house.done[0].fields["own_time"] == house.snapshot().at


async def test_the_access_log_at_the_terminal_says_when_it_was(ledger: Path) -> None:
    async with BooksHouse(ledger) as house:
        house.books.floors["main"].stopped = STOPPED
        await sign_ins(house).open("boris", SECRET, PEER)
    async with BooksHouse(ledger) as again:
        await sign_ins(again).access.enter_kept()
    said = CliRunner().invoke(user, ["log", "--ledger", str(ledger)]).output
    assert "signed-in              boris  own_time 2026-" in said


def by_hand(folder: Path, kind: str, by: str, fields: str, id: str = "forged-by-hand") -> None:
    """A row of ``kept`` that somebody has written there."""
    with closing(sqlite3.connect(folder / "people.db")) as file, file:
        file.execute("INSERT INTO kept (kind, id, by, fields, at) VALUES (?, ?, ?, ?, ?)", (kind, id, by, fields, AT))


def aside(folder: Path) -> list[str]:
    """The kinds of what was set aside."""
    with closing(sqlite3.connect(folder / "people.db")) as file:
        return [kind for kind, in file.execute("SELECT kind FROM aside")]


OF_BORIS = json.dumps(tuple(BORIS))
FORGED = (
    ("award-paid", OF_BORIS, json.dumps(
        {"table": "PG-01", "game": 1, "seat": 3, "spot": "progressive", "handed": 1_000_000, "how": "cash"})),
    ("secret-changed", OF_BORIS, json.dumps({"id": "boris", "print": "0" * 64, "first": False})),
    ("printed", OF_BORIS, json.dumps({"what": "slip 1"})),
    ("nothing-known", OF_BORIS, "{}"),
    ("sign-in-refused", OF_BORIS, "{}"),
    ("signed-in", OF_BORIS, json.dumps({"peer": PEER, "remote": True})),
    ("signed-in", OF_BORIS, json.dumps({"peer": ["a", "list"]})),
    ("signed-in", OF_BORIS, "no JSON"),
    ("signed-in", OF_BORIS, "[]"),
    ("signed-in", "no JSON", json.dumps({"peer": PEER})),
    ("signed-in", "[" * 100_000, json.dumps({"peer": PEER})),
    ("signed-in", "{}", json.dumps({"peer": PEER})),
    ("signed-in", '["boris"]', json.dumps({"peer": PEER})),
    ("signed-in", '["boris", "emperor", "it"]', json.dumps({"peer": PEER})),
    ("signed-in", '["boris\\ud800", "auditor", "it"]', json.dumps({"peer": PEER})),
    ("exported", OF_BORIS, json.dumps({"what": "slip 1", "@token": 7})),
)


@pytest.mark.parametrize(("kind", "by", "fields"), FORGED)
async def test_what_was_written_there_by_hand_is_never_done_and_stands_in_nobodys_way(
    ledger: Path, caplog: pytest.LogCaptureFixture, kind: str, by: str, fields: str
) -> None:
    Vault(beside(ledger))
    by_hand(ledger.parent, kind, by, fields)
    async with BooksHouse(ledger) as house:
        floor = house.books.floors["main"]
        desk = sign_ins(house)
        Vault(beside(ledger)).keep_act(KeptAct(0, "signed-out", "kept-after-it", tuple(BORIS), {"peer": PEER}, AT), 10)
        assert await desk.access.enter_kept()
        assert not floor.stopped
        assert next(entry.kind for entry in house.reader.entries("main")) == "signed-out"
        assert entered(house) == [("signed-out", "boris", {"own_time": AT, "peer": PEER})]
    assert aside(ledger.parent) == [kind]
    assert caplog.text.count("set aside, and never entered into the ledger") == 1
    verify(ledger, replay=True)


async def test_a_row_of_no_good_id_is_set_aside(book: Ledger) -> None:
    by_hand(book.vault._path.parent, "signed-in", OF_BORIS, json.dumps({"peer": PEER}), id="../../x")
    book.shut = False
    assert await book.log().enter_kept()
    assert book.done == []
