"""``people.db`` that is full, locked, damaged or written by hand: no secret leaves it, and money goes on."""

import sqlite3
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from people_house import BROWSER, HASH, SECRET, PeopleHouse, screens

from controller.vault import Vault, VaultError, fingerprint

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
