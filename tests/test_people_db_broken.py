"""``people.db`` that is full, locked, damaged or written by hand: no secret leaves it, and money goes on."""

import sqlite3
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from people_house import BROWSER, HASH, SECRET, PeopleHouse, screens

from controller.acts import Act, Acted
from controller.vault import Vault, VaultError, fingerprint
from controller.web.app import open_app
from controller.wiring import WebPlan

NEW = "another long one, quite new"


def on(folder: Path, *statements: str) -> None:
    """Change the file by hand."""
    with closing(sqlite3.connect(folder / "people.db")) as file, file:
        for statement in statements:
            file.execute(statement)


def full(folder: Path, table: str, what: str = "INSERT") -> None:
    """From now on a table takes no writing, as on a full disk."""
    on(folder, f"CREATE TRIGGER full_{table}_{what} BEFORE {what} ON {table} "
               "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")


def test_the_error_of_a_write_that_fails_names_no_hash(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "people.db")
    full(tmp_path, "secret")
    with pytest.raises(VaultError) as failed:
        vault.keep_hash("anna", HASH)
    said = "".join(traceback.format_exception(failed.value))
    assert "full" in said
    assert HASH not in said
    assert fingerprint(HASH) not in said
    assert "argon2" not in said


def test_a_secret_that_cannot_be_kept_is_answered_with_503_and_what_to_do(tmp_path: Path) -> None:
    with screens(PeopleHouse(), tmp_path, 1) as (anna,):
        anna.sign_in("anna")
        full(tmp_path, "secret")
        form = {"csrf": anna.csrf, "secret": SECRET, "new": NEW, "again": NEW}
        answer = anna.client.post("/secret", data=form, headers=anna.origin | BROWSER)
        asked = {"name": "anna", "secret": SECRET, "new": NEW}
        by_program = anna.client.post("/api/v1/secret", json=asked)
        again = anna.sign_in("anna")
    assert answer.status_code == by_program.status_code == 503
    assert "no secret can be changed now" in answer.text
    assert "look at the disk" in answer.text
    assert "argon2" not in answer.text + by_program.text
    assert again.status_code == 303


def test_a_new_secret_counts_where_the_old_one_cannot_be_removed(tmp_path: Path) -> None:
    with screens(PeopleHouse(), tmp_path, 1) as (anna,):
        anna.sign_in("anna")
        full(tmp_path, "secret", "DELETE")
        form = {"csrf": anna.csrf, "secret": SECRET, "new": NEW, "again": NEW}
        assert anna.client.post("/secret", data=form, headers=anna.origin | BROWSER).status_code == 303
        assert anna.sign_in("anna").status_code == 403
        assert anna.sign_in("anna", NEW).status_code == 303


def test_signing_out_ends_the_session_where_that_cannot_be_written_down_and_says_so(tmp_path: Path) -> None:
    with screens(PeopleHouse(), tmp_path, 1) as (anna,):
        made = anna.sign_in("anna").cookies["meterd"]
        csrf = anna.csrf
        full(tmp_path, "session", "DELETE")
        answer = anna.client.post("/sign-out", data={"csrf": csrf}, headers=anna.origin | BROWSER)
        anna.client.cookies.set("meterd", made)
        after = anna.client.get("/people", headers=BROWSER)
    assert answer.status_code == 200
    assert "you are signed out; it could not be written down" in answer.text
    assert after.headers["location"].startswith("/sign-in")


# A payee's name

PAPER = {"table": "PG-01", "game": "41", "seat": "1", "spot": "progressive", "ticked": "Identity checked",
         "taxable": "taxable", "payee": "P. Layer"}


def test_no_checklist_is_completed_whose_payees_name_cannot_be_kept(tmp_path: Path) -> None:
    house = PeopleHouse()
    with screens(house, tmp_path, 1) as (anna,):
        anna.sign_in("anna")
        full(tmp_path, "payee")
        told = anna.act("paper-done", "payee-0001", PAPER)
    assert "the payee&#39;s name cannot be kept now" in told
    assert house.done[-1].kind != "paper-done"
    assert not [act for act, _ in house.refused if act.kind == "paper-done"]


def test_a_payees_name_is_kept_before_the_act_and_forgotten_where_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, kept = PeopleHouse(), []
    real = house.act

    async def act(book: str, asked: Act) -> Acted:
        kept.append(vault.payee_of(vault.payee_digest(asked.id, "P. Layer")))
        return await real(book, asked)

    with screens(house, tmp_path, 1) as (anna,):
        anna.sign_in("anna")
        vault = Vault(tmp_path / "people.db")
        monkeypatch.setattr(house, "act", act)
        told = anna.act("paper-done", "payee-0001", PAPER | {"game": "4999"})
    assert "Not done" in told
    assert kept == ["P. Layer"]
    assert vault.payee_of(vault.payee_digest("payee-0001", "P. Layer")) == ""


# The start


@pytest.mark.parametrize("damage", [
    ("ALTER TABLE session RENAME COLUMN csrf TO other",),
    ("DROP TABLE opening", "CREATE TABLE opening (other TEXT)"),
    ("INSERT INTO session VALUES ('d', 'anna', 'c', 'long ago', 'yesterday', 0)",),
    ("DELETE FROM key", "INSERT INTO key VALUES (7)"),
])
def test_a_damaged_file_does_not_end_the_pages_and_nobody_signs_in(tmp_path: Path, damage: tuple[str, ...]) -> None:
    Vault(tmp_path / "people.db")
    on(tmp_path, *damage)
    app, why = open_app(PeopleHouse(), tmp_path / "ledger.db")
    client = TestClient(app)
    assert why.startswith("Nobody can sign in: ")
    assert client.get("/", headers=BROWSER).status_code == 200
    assert client.get("/sign-in", headers=BROWSER).status_code == 404


def test_a_damaged_page_of_the_sessions_does_not_end_the_pages(tmp_path: Path) -> None:
    Vault(tmp_path / "people.db")
    with closing(sqlite3.connect(tmp_path / "people.db")) as file:
        size = file.execute("PRAGMA page_size").fetchone()[0]
        page = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'session'").fetchone()[0]
    with (tmp_path / "people.db").open("r+b") as raw:
        raw.seek((page - 1) * size)
        raw.write(b"\xa5" * size)
    app, why = open_app(PeopleHouse(), tmp_path / "ledger.db")
    assert "malformed" in why
    assert TestClient(app).get("/", headers=BROWSER).status_code == 200


@pytest.mark.parametrize("damage", [
    ("DROP TABLE kept", "CREATE TABLE kept (other TEXT)"),
    ("INSERT INTO kept (kind, id, by, fields, at) VALUES ('signed-in', 'x', 'no JSON', '{}', 1)",),
])
def test_a_damaged_waiting_access_log_keeps_nobody_from_signing_in(tmp_path: Path, damage: tuple[str, ...]) -> None:
    Vault(tmp_path / "people.db")
    on(tmp_path, *damage)
    with screens(PeopleHouse(), tmp_path, 1) as (anna,):
        assert anna.sign_in("anna").status_code == 303


# A remote session


@pytest.mark.parametrize("scope", ["act", "read"])
def test_a_remote_session_makes_no_token(tmp_path: Path, scope: str) -> None:
    house = PeopleHouse(WebPlan("127.0.0.1", 0, remote=True))
    with screens(house, tmp_path, 1) as (boris,):
        boris.sign_in("boris")
        boris.act("remote-opened", "remote-01", {"id": "emil", "minutes": "10", "reason": "a call to the maker"})
    with screens(house, tmp_path, 1, peer="203.0.113.9") as (emil,):
        emil.sign_in("emil")
        assert emil.make_token(scope) == ""
        asked = {"id": "token-0002", "name": "nightly", "scope": scope, "days": "3"}
        by_program = emil.client.post("/api/v1/tokens", json=asked, headers=emil.origin | {"x-csrf": emil.csrf})
    assert (by_program.status_code, by_program.json()["error"]) == (403, "no token is made from outside")
    assert "token-made" not in house.kinds()
    assert house.kinds().count("door-refused") > 0
