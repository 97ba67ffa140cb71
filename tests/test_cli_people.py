"""People made and seen on the box, with a real ledger (CF-06, R-104)."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ledger_house import AT, opened
from people_house import BORIS, DORA, SECRET, STAFF

from controller.cli_people import user
from controller.ledger.place import LedgerError
from controller.ledger.reader import Reader
from controller.ledger.verify import verify
from controller.people_on_box import Newcomer, begin
from controller.register import registered
from controller.vault import Vault, verify_secret

TWO = ("--person", "boris", "Boris Beispiel", "shift-manager", "table-games",
       "--person", "dora", "Dora Muster", "administrator", "it")  # fmt: skip
SECRETS = f"{SECRET}\nanother long one\n"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return opened(tmp_path / "ledger.db")


def run(ledger: Path, *words: str, said: str = SECRETS) -> Result:
    return CliRunner().invoke(user, [words[0], "--ledger", str(ledger), *words[1:]], input=said)


def people(ledger: Path) -> dict[str, str]:
    return {one["id"]: one["state"] for one in json.loads(run(ledger, "list", "--json").stdout)}


def opens(ledger: Path, name: str, secret: str) -> bool:
    """Whether a secret is the one that the ledger's fingerprint names."""
    rows = {row.key: json.loads(row.body) for row in Reader(ledger).states("main", "person")}
    found = registered(rows, name)
    assert found is not None
    return verify_secret(Vault(ledger.with_name("people.db")).hash_of(name, found.secret), secret)


def test_the_first_two_are_made_on_the_box_with_their_secrets(ledger: Path) -> None:
    made = run(ledger, "add", *TWO, "--secret-stdin")
    assert made.exit_code == 0, made.output
    assert people(ledger) == {"boris": "enabled", "dora": "enabled"}
    assert opens(ledger, "boris", SECRET)
    assert opens(ledger, "dora", "another long one")


def test_they_are_asked_for_where_they_are_not_given(ledger: Path) -> None:
    typed = "boris\nBoris\nshift-manager\ntable-games\ndora\nDora\nadministrator\nit\n"
    made = run(ledger, "add", said=typed + f"{SECRET}\n{SECRET}\nanother long one\nanother long one\n")
    assert made.exit_code == 0, made.output
    assert SECRET not in made.output


def test_a_second_pair_is_refused(ledger: Path) -> None:
    run(ledger, "add", *TWO, "--secret-stdin")
    again = run(ledger, "add", *TWO, "--secret-stdin")
    assert again.exit_code == 2
    assert "people already" in again.output


@pytest.mark.parametrize(("changed", "said"), [
    (("it", "table-games"), "one department"), (("it", "nowhere"), "no department"),
    (("administrator", "boss"), "no role"), (("administrator", "supervisor"), "may not sign")])
def test_two_who_do_not_fit_are_refused_and_nothing_is_written(
    ledger: Path, changed: tuple[str, str], said: str
) -> None:
    before = Reader(ledger).heads()
    made = run(ledger, "add", *[changed[1] if word == changed[0] else word for word in TWO], "--secret-stdin")
    assert made.exit_code == 2
    assert said in made.output
    assert Reader(ledger).heads() == before


def test_a_weak_secret_is_refused_before_anything_is_written(ledger: Path) -> None:
    made = run(ledger, "add", *TWO, "--secret-stdin", said="short\nshort\n")
    assert (made.exit_code, people(ledger)) == (2, {})


def test_a_lost_side_file_is_mended_by_two_people_on_the_box(ledger: Path) -> None:
    """Losing it loses no money: the ledger still proves itself."""
    run(ledger, "add", *TWO, "--secret-stdin")
    ledger.with_name("people.db").unlink()
    assert not opens(ledger, "boris", SECRET)
    made = run(ledger, "secret", "--person", "boris", "--person", "dora", "--secret-stdin",
               said="four new words here\nfour other words here\n")
    assert made.exit_code == 0, made.output
    assert opens(ledger, "boris", "four new words here")
    assert not opens(ledger, "boris", SECRET)
    verify(ledger, replay=True)


@pytest.mark.parametrize("names", [("boris", "boris"), ("boris",), ("boris", "nobody")])
def test_one_person_alone_sets_no_secret_on_the_box(ledger: Path, names: tuple[str, ...]) -> None:
    run(ledger, "add", *TWO, "--secret-stdin")
    words = [word for name in names for word in ("--person", name)]
    assert run(ledger, "secret", *words, "--secret-stdin").exit_code == 2


def test_a_ledger_in_use_is_not_touched(ledger: Path) -> None:
    from controller.ledger.place import HeldLedger

    held = HeldLedger(ledger, "meterd", "now")
    try:
        made = run(ledger, "add", *TWO, "--secret-stdin")
    finally:
        held.close()
    assert isinstance(made.exception, LedgerError)
    assert "in use by meterd" in str(made.exception)


def test_no_secret_stands_in_the_ledger(ledger: Path) -> None:
    """CF-06."""
    run(ledger, "add", *TWO, "--secret-stdin")
    for name in ("ledger.db", "ledger.db-wal", "people.db"):
        path = ledger.with_name(name)
        assert not path.exists() or SECRET.encode() not in path.read_bytes()


def test_the_ledger_with_people_verifies_and_reckons_anew(ledger: Path) -> None:
    run(ledger, "add", *TWO, "--secret-stdin")
    (book,) = verify(ledger, replay=True)
    assert book.replayed


def test_a_whole_staff_is_made_for_a_demo_floor(ledger: Path) -> None:
    staff = [Newcomer(person, person.id.title(), f"{SECRET} {number}") for number, person in enumerate(STAFF)]
    staff.sort(key=lambda one: one.person not in (BORIS, DORA))
    begin(ledger, "demo", staff, AT)
    assert people(ledger) == {person.id: "enabled" for person in STAFF}
    assert all(opens(ledger, one.person.id, one.secret) for one in staff)
    verify(ledger, replay=True)


def test_the_access_log_tells_who_did_what_and_no_fingerprint(ledger: Path) -> None:
    """R-102."""
    run(ledger, "add", *TWO, "--secret-stdin")
    told = run(ledger, "log", "--count", "3").stdout.splitlines()
    assert [line.split()[3] for line in told] == ["secret-changed", "secret-changed", "people-begun"]
    assert "boris and dora" in told[2]
    assert "print" not in "".join(told)
    assert len(json.loads(run(ledger, "log", "--json").stdout)) == 3
