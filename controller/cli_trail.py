"""What leaves the box by ``meterctl`` is in the audit trail, whether the daemon runs or not (R-108).

It is kept in ``people.db`` beside the ledger before anything is handed out, and the daemon enters it, once, with its
own time. A copy of a ledger has no such file beside it: what is read there is another machine's business.
"""

import getpass
import secrets
import sys
import time
from pathlib import Path
from typing import NoReturn

import click

from controller.act_types import TEXT_MAX
from controller.people import Person
from controller.people_acts import THE_CONTROLLER
from controller.register import Rows, registered
from controller.vault import KEPT_MAX, KeptAct, Vault, VaultError, beside, verify_secret


def person_who_asks(ledger: Path, people: Rows, name: str, secret: str) -> Person:
    """Somebody of the register by name and secret, while no daemon runs that could ask; else the program ends."""
    found = registered(people, name)
    try:
        hashed = None if found is None else Vault(beside(ledger)).hash_of(name, found.secret)
    except VaultError as wrong:
        _fail(f"no secret can be checked: {wrong}")
    if not verify_secret(hashed, secret) or found is None or not found.enabled or found.must_change:
        _fail(f"{name}: name or secret is wrong, or the secret must be changed first")
    return found.person


def keep_export(ledger: Path, what: str, by: Person = THE_CONTROLLER) -> None:
    """Keep that something is exported, by a person or by whoever has the shell; ends the program where it cannot be."""
    path = beside(ledger)
    if not path.exists():
        return
    whole = f"{what}, by meterctl of the user {_user()} of the box"[:TEXT_MAX]
    kept = KeptAct(0, "exported", secrets.token_hex(16), tuple(by), {"what": whole}, time.time_ns() // 1_000)
    try:
        if not Vault(path).keep_act(kept, KEPT_MAX):
            _fail("Not exported: too much waits to be entered into the ledger; start meterd")
    except VaultError as wrong:
        _fail(f"Not exported: it cannot be written down: {wrong}; run it as the daemon's user")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "of no name"


def _fail(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(2)
