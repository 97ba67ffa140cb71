"""Secrets beside the ledger: hashed, for the daemon's user alone, of no use without the ledger (CF-06, WE-09)."""

import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from controller import vault as vault_room
from controller.vault import (
    HASHES_OF_ONE_MAX,
    KeptAct,
    StoredSession,
    Vault,
    VaultError,
    beside,
    digest,
    fingerprint,
    hash_secret,
    verify_secret,
)

SECRET = "correct horse battery"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.db"


@pytest.fixture
def vault(path: Path) -> Iterator[Vault]:
    yield Vault(path)


def test_it_lies_beside_the_ledger() -> None:
    assert beside(Path("/var/lib/meterd/ledger.db")) == Path("/var/lib/meterd/people.db")


def test_only_its_own_user_can_read_it(vault: Vault, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_one_that_others_can_read_is_refused_with_what_to_do(path: Path, mode: int) -> None:
    Vault(path)
    path.chmod(mode)
    with pytest.raises(VaultError, match="chmod 600"):
        Vault(path)


def test_one_that_is_no_database_is_refused_with_what_to_do(path: Path) -> None:
    path.write_bytes(b"not a database, " * 100)
    path.chmod(0o600)
    with pytest.raises(VaultError, match="meterctl user secret"):
        Vault(path)


def test_one_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="cannot be opened"):
        Vault(tmp_path / "no" / "people.db")


def test_secrets_are_hashed_by_argon2id() -> None:
    assert hash_secret(SECRET).startswith("$argon2id$")


@pytest.mark.parametrize(("secret", "good"), [
    (SECRET, True), ("wrong", False), ("", False), ("\u00e9\ud800", False), ("x" * 5_000, False)])
def test_a_secret_is_right_or_wrong_and_never_an_error(secret: str, good: bool) -> None:
    """WE-09."""
    assert verify_secret(hash_secret(SECRET), secret) is good


@pytest.mark.parametrize("hashed", [None, "", "not a hash"])
def test_without_a_hash_no_secret_is_right(hashed: str | None) -> None:
    assert verify_secret(hashed, SECRET) is False


def test_a_hash_is_found_by_the_ledgers_fingerprint_only(vault: Vault) -> None:
    printed = vault.keep_hash("anna", hash_secret(SECRET))
    vault.keep_hash("anna", hash_secret("another one, planted"))
    assert verify_secret(vault.hash_of("anna", printed), SECRET)
    assert vault.hash_of("anna", fingerprint("no such hash")) is None
    assert vault.hash_of("boris", printed) is None


def test_a_hash_that_was_exchanged_does_not_fit_its_fingerprint(vault: Vault, path: Path) -> None:
    printed = vault.keep_hash("anna", hash_secret(SECRET))
    with vault._begun() as connection:
        connection.exec_driver_sql("UPDATE secret SET hash = ?", (hash_secret("planted by somebody"),))
    assert vault.hash_of("anna", printed) is None


def test_a_change_that_the_ledger_never_heard_of_leaves_the_present_secret(vault: Vault) -> None:
    """A crash between the two: the ledger's fingerprint says which one counts."""
    printed = vault.keep_hash("anna", hash_secret(SECRET))
    vault.keep_hash("anna", hash_secret("never in the ledger"))
    assert Vault(vault._path).hash_of("anna", printed) is not None


def test_old_hashes_are_forgotten_but_never_the_one_that_counts(vault: Vault) -> None:
    counts = vault.keep_hash("anna", "$argon2id$counts")
    printed = [vault.keep_hash("anna", f"$argon2id$never{n}", counts) for n in range(HASHES_OF_ONE_MAX + 3)]
    found = [vault.hash_of("anna", one) is not None for one in [counts, *printed]]
    assert found == [True] + [False] * 3 + [True] * HASHES_OF_ONE_MAX
    vault.forget_hashes("anna", printed[-1])
    left = [vault.hash_of("anna", one) is not None for one in (counts, printed[-2], printed[-1])]
    assert left == [False, False, True]


def test_sessions_are_kept_by_digest_and_survive(vault: Vault, path: Path) -> None:
    one = StoredSession(digest("cookie of anna"), "anna", "token", 1, 2, False)
    vault.keep_session(one)
    vault.keep_session(one._replace(seen=3))
    assert Vault(path).sessions() == [one._replace(seen=3)]
    assert b"cookie of anna" not in path.read_bytes()
    vault.end_sessions([one.digest])
    assert Vault(path).sessions() == []


def test_no_secret_stands_in_the_file(vault: Vault, path: Path) -> None:
    """CF-06."""
    vault.keep_hash("anna", hash_secret(SECRET))
    half, token = vault.half("act-1"), vault.token("act-1", "nightly")
    kept = path.read_bytes()
    assert [SECRET.encode() in kept, half.encode() in kept, token.encode() in kept] == [False] * 3


def test_halves_and_tokens_are_the_same_for_the_same_act_only(vault: Vault, path: Path) -> None:
    """MO-06: a form sent twice shows the same."""
    assert Vault(path).half("act-1") == vault.half("act-1") != vault.half("act-2")
    assert Vault(path).token("act-1", "a") == vault.token("act-1", "a") != vault.token("act-1", "b")


def test_another_floors_vault_makes_other_halves_and_tokens(vault: Vault, tmp_path: Path) -> None:
    other = Vault(tmp_path / "other.db")
    assert other.half("act-1") != vault.half("act-1")
    assert other.token("act-1", "a") != vault.token("act-1", "a")


def kept(number: int) -> KeptAct:
    by = ("anna", "supervisor", "table-games")
    return KeptAct(0, "signed-in", f"act-{number:04}", by, {"peer": "10.0.0.1"}, number)


def test_what_waits_for_the_ledger_is_kept_in_order_over_a_restart_and_forgotten_one_by_one(
    vault: Vault, path: Path
) -> None:
    assert [vault.keep_act(kept(number), 10) for number in (7, 3, 5)] == [True] * 3
    again, found = Vault(path), []
    while (one := again.first_kept()) is not None:
        found.append(one._replace(order=0))
        again.forget_kept(one.order)
    assert found == [kept(7), kept(3), kept(5)]


def test_no_more_waits_for_the_ledger_than_is_bounded(vault: Vault) -> None:
    assert [vault.keep_act(kept(number), 2) for number in range(3)] == [True, True, False]
    first = vault.first_kept()
    assert first is not None
    vault.forget_kept(first.order)
    assert vault.keep_act(kept(9), 2)


def test_a_file_of_before_there_was_anything_to_keep_gets_room_for_it(vault: Vault, path: Path) -> None:
    vault.keep_hash("anna", "hash")
    with closing(sqlite3.connect(path)) as old:
        old.execute("DROP TABLE kept")
    again = Vault(path)
    assert again.keep_act(kept(1), 1)
    assert again.hash_of("anna", fingerprint("hash")) == "hash"


SECRET_COMPARED = re.compile(
    r"(secret|token|csrf|digest\(\w+\)|print)\w*\s*(==|!=)\s*(?!\"\")|(==|!=)\s*\w*(secret|token|csrf)\b")


def test_no_secret_is_compared_byte_by_byte() -> None:
    """WE-09: a scan of the rooms that hold secrets. Two fields of one form may be compared with each other."""
    rooms = [Path(vault_room.__file__), *(Path(vault_room.__file__).parent / "web").glob("*.py")]
    lines = [f"{room.name}: {line.strip()}" for room in rooms for line in room.read_text().splitlines()
             if SECRET_COMPARED.search(line)]
    allowed = ("_secret.c.", "again.secret != printed", 'form.get("secret", "")', "if new == secret else")
    assert [line for line in lines if not any(words in line for words in allowed)] == []
