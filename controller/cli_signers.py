"""Two people sign on the box: for what is done while the daemon does not run. Each types an own secret.

Before there are people (a floor being set up, a test bench), the box itself is what is trusted.
"""

import json
import sys
from pathlib import Path
from typing import NoReturn

import click

from controller.ledger.reader import Reader
from controller.people import Person, Role
from controller.register import registered
from controller.vault import Vault, VaultError, beside, verify_secret

SIGNERS = frozenset((Role.SHIFT_MANAGER, Role.ACCOUNTING, Role.TECHNICIAN, Role.ADMINISTRATOR))
"""Who may clear a stopped book or accept a loss on the box: two of them, of different departments (R-73, R-101)."""


def signed_by_two(ledger: Path, names: tuple[str, ...], *, from_stdin: bool) -> str:
    """Words that name two people who have signed, for the reason in the ledger; empty while there is nobody yet.

    Ends the program with 2 when they may not, or when a secret is wrong.
    """
    reader = Reader(ledger)
    book = reader.plan(next(iter(reader.heads()))).books[0]
    rows = {row.key: body for row in reader.states(book, "person") if (body := json.loads(row.body)) is not None}
    reader.close()
    if not rows:
        return ""
    if len(set(names)) != 2:
        _fail("two people sign this: give --by NAME twice")
    people = []
    for name in names:
        found = registered(rows, name)
        secret = _secret(name, from_stdin)
        try:
            hashed = None if found is None else Vault(beside(ledger)).hash_of(name, found.secret)
        except VaultError as wrong:
            _fail(f"no secret can be checked: {wrong}; set new ones with `meterctl user secret`")
        if not verify_secret(hashed, secret) or found is None or not found.enabled:
            _fail(f"{name}: name or secret is wrong")
        people.append(found.person)
    _check(people)
    return " (signed by " + " and ".join(person.words() for person in people) + ")"


def _check(people: list[Person]) -> None:
    for person in people:
        if person.role not in SIGNERS:
            _fail(f"{person.words()} may not sign this; ask {' or '.join(sorted(role.value for role in SIGNERS))}")
    if people[0].department == people[1].department:
        _fail("both are of one department: ask another department")


def _secret(name: str, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt(f"Secret of {name}", hide_input=True, err=True))


def _fail(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(2)
