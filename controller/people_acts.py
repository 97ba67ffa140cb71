"""Acts on the register of people: proposed by one, enabled by another of another department. Pure.

Also secrets (their fingerprints only), tokens, remote access and the access log (R-99 to R-105, WE-03). Each rule
checks everything first and then changes rows of the first book.
"""

import re
from collections.abc import Callable, MutableMapping
from typing import Any, NoReturn, Protocol

from controller.act_types import Act, ActKind, ActRefused, Field, Is, Why
from controller.journal import SLIP_RULES
from controller.outcome import Outcome
from controller.people import Person, Role
from controller.register import ENABLERS, PROPOSERS, Change, Registered, can_go_on, registered, to_row

PEOPLE_MAX = 2_000
TOKENS_MAX = 200
TOKEN_DAYS_MAX = 365
REMOTE_MINUTES_MAX = 720
_MINUTE_US = 60_000_000
_DAY_US = 86_400_000_000
_NAME = re.compile(r"[a-z][a-z0-9._-]{1,31}", re.ASCII)
_PRINT = re.compile(r"[0-9a-f]{64}", re.ASCII)

EVERYBODY = frozenset(Role)
THE_CONTROLLER = Person("@controller", Role.AUDITOR, "none")
"""Signs what no person does, such as a sign-in that failed. No person can have this name."""

SCOPES = ("read", "act")
"""What a token may do: look, or also act as its person (alone; no token signs as second or third)."""

_WHO = Field("id", "Sign-in name", Is.ID)
_ROLE = Field("role", "Role", Is.CHOICE, tuple(role.value for role in Role))
_DEPARTMENT = Field("department", "Department", Is.ID)
_REASON = Field("reason", "Reason")
_FROM = Field("peer", "From", optional=True)
_OWN_TIME = Field("own_time", "Entered later; when it was (UTC microseconds)", Is.NUMBER, optional=True)
"""The ledger took no entries when it happened (controller.web.access_log)."""
_PRINT_OF = Field("print", "Fingerprint", Is.ID)
_SLIP = (Field("table", "Table", Is.ID, optional=True), Field("game", "Game", Is.NUMBER, optional=True),
         Field("seat", "Seat", Is.NUMBER, optional=True), Field("copy", "Copy", Is.NUMBER, optional=True),
         Field("number", "Number of the slip", Is.NUMBER, optional=True))
"""Which slip was printed at a printer, and of which game."""

PEOPLE_KINDS: tuple[ActKind, ...] = (
    ActKind("person-proposed", "Propose a person", (_WHO, Field("name", "Name"), _ROLE, _DEPARTMENT), PROPOSERS),
    ActKind("person-enabled", "Enable a person", (_WHO,), ENABLERS),
    ActKind("person-change-proposed", "Propose a change of rights",
            (_WHO, _ROLE, _DEPARTMENT, Field("new_secret", "New first secret", Is.YES_NO, optional=True)), PROPOSERS),
    ActKind("person-change-enabled", "Enable a change of rights", (_WHO,), ENABLERS),
    ActKind("person-withdrawn", "Withdraw a proposal", (_WHO, _REASON), PROPOSERS | ENABLERS),
    ActKind("person-disabled", "Disable a person", (_WHO, _REASON), PROPOSERS),
    ActKind("token-ended", "End a token", (Field("id", "Token", Is.ID), _REASON), EVERYBODY),
    ActKind("remote-opened", "Open remote access",
            (_WHO, Field("minutes", "For how many minutes", Is.NUMBER), _REASON), PROPOSERS),
    ActKind("remote-ended", "End remote access", (_WHO, _REASON), EVERYBODY),
    # What only the controller and meterctl themselves make; no page or request can ask for these.
    ActKind("people-begun", "Make the first two people",
            (Field("name", "Name"), Field("second_name", "Name of the second person")), ENABLERS, second=ENABLERS,
            other_department=True),
    ActKind("secret-changed", "Change a secret",
            (_WHO, _PRINT_OF, Field("first", "First secret", Is.YES_NO, optional=True)), EVERYBODY),
    ActKind("secret-set-on-box", "Set a secret on the box", (_WHO, _PRINT_OF), EVERYBODY, second=EVERYBODY,
            other_department=True),
    ActKind("token-made", "Make a token",
            (Field("id", "Token", Is.ID), Field("scope", "It may", Is.CHOICE, SCOPES),
             Field("days", "For how many days", Is.NUMBER), _PRINT_OF), EVERYBODY),
    ActKind("signed-in", "Signed in",
            (_FROM, Field("remote", "Remote", Is.YES_NO, optional=True), _OWN_TIME), EVERYBODY),
    ActKind("signed-out", "Signed out", (_FROM, _OWN_TIME), EVERYBODY),
    ActKind("sign-in-refused", "Sign-in refused",
            (Field("id", "Sign-in name", Is.ID, optional=True), _FROM, Field("count", "How often", Is.NUMBER), _REASON,
             _OWN_TIME), EVERYBODY),
    ActKind("door-refused", "Refused at the door",
            (Field("what", "What"), _FROM, Field("count", "How often", Is.NUMBER), _REASON, _OWN_TIME), EVERYBODY),
    ActKind("exported", "Exported", (Field("what", "What"), _OWN_TIME), EVERYBODY),
    ActKind("printed", "Printed", (Field("what", "What"), *_SLIP, _OWN_TIME), EVERYBODY),
    ActKind("print-failed", "Print failed", (Field("what", "What"), *_SLIP, _REASON), EVERYBODY),
)

MADE_INSIDE = frozenset({
    "people-begun", "secret-changed", "secret-set-on-box", "token-made", "signed-in", "signed-out", "sign-in-refused",
    "door-refused", "exported", "printed", "print-failed",
})
"""Acts that are no form's and no request's: the controller makes them when the thing itself happens."""

class Names(Protocol):
    """The part of a plan that these rules need."""

    @property
    def departments(self) -> tuple[str, ...]:
        """The departments of the site."""


class Keeps(Protocol):
    """The part of a floor that these rules need: rows by kind and key, a way to keep one, the plan, the rules."""

    rules: int

    @property
    def plan(self) -> Names:
        """The plan of the floor."""

    rows: MutableMapping[str, dict[str, dict[str, Any]]]

    def keep(self, kind: str, key: str, body: dict[str, Any] | None) -> None:
        """Keep a row's newest body; None takes it away."""


Rule = Callable[[Any, Act, int], Outcome]


def _people(floor: Keeps) -> dict[str, dict[str, Any]]:
    return floor.rows.get("person", {})


def _refuse(why: Why, what: str, remedy: str) -> NoReturn:
    raise ActRefused(why, what, remedy)


def _find(floor: Keeps, name: str) -> Registered:
    found = registered(_people(floor), name)
    if found is None:
        _refuse(Why.NOT_FOUND, f"nobody has the sign-in name {name[:32]}", "look at the list of people")
    return found


def _keep(floor: Keeps, one: Registered) -> None:
    floor.keep("person", one.person.id, to_row(one))


def _begin(floor: Keeps, act: Act, at: int) -> Outcome:
    """The first two people, made together on the box while the register is empty. No default account exists."""
    if _people(floor):
        _refuse(Why.ALREADY_DONE, "there are people already", "let one propose and another enable")
    names = (act.fields["name"], act.fields["second_name"])
    two = [person for person in (act.by, act.second) if person is not None]
    if not any(person.role in PROPOSERS for person in two):
        _refuse(Why.NOT_ALLOWED, "neither of the two can propose others", "make one a shift manager or administrator")
    for person in two:
        _check_name(person.id)
        _check_department(floor, person.department)
    for person, name in zip(two, names, strict=True):
        _keep(floor, Registered(person, name, "enabled", at, None, "", 0, False, ""))
    return Outcome({"people": [person.id for person in two]})


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        _refuse(Why.WRONG_FIELD, "Sign-in name: not 2 to 32 of a-z 0-9 . _ - from a letter on",
                "write it in small letters")


def _check_department(floor: Keeps, department: str) -> None:
    if department not in floor.plan.departments:
        _refuse(Why.WRONG_FIELD, f"there is no department {department[:40]}",
                "choose " + " or ".join(floor.plan.departments))


def _propose(floor: Keeps, act: Act, at: int) -> Outcome:
    name = act.fields["id"]
    _check_name(name)
    _check_department(floor, act.fields["department"])
    if name in _people(floor):
        _refuse(Why.ALREADY_DONE, f"the sign-in name {name} is taken",
                "choose another name, or propose a change of rights")
    if len(_people(floor)) >= PEOPLE_MAX:
        _refuse(Why.NOT_NOW, f"the register is full: {PEOPLE_MAX} people", "change somebody who has left")
    person = Person(name, Role(act.fields["role"]), act.fields["department"])
    change = Change(person.role, person.department, True, act.by, at, act.id)
    _keep(floor, Registered(person, act.fields["name"], "proposed", at, change, "", 0, False, ""))
    return Outcome({"id": name})


def _propose_change(floor: Keeps, act: Act, at: int) -> Outcome:
    found = _find(floor, act.fields["id"])
    _check_department(floor, act.fields["department"])
    if found.waiting is not None:
        _refuse(Why.NOT_NOW, f"a proposal for {found.person.id} waits already", "enable or withdraw that one first")
    change = Change(Role(act.fields["role"]), act.fields["department"],
                    bool(act.fields.get("new_secret")) or not found.enabled, act.by, at, act.id)
    if found.enabled and not change.new_secret and (change.role, change.department) == found.person[1:]:
        _refuse(Why.ALREADY_DONE, f"{found.person.words()} has these rights", "change the role or the department")
    _keep(floor, found._replace(waiting=change))
    return Outcome({"id": found.person.id})


def _enable(floor: Keeps, act: Act, at: int) -> Outcome:
    """What one has proposed, another of another department enables; nobody their own rights (WE-03)."""
    found = _find(floor, act.fields["id"])
    change = found.waiting
    if (found.state == "proposed") != (act.kind == "person-enabled") or change is None:
        _refuse(Why.NOT_NOW, f"no such proposal waits for {found.person.id}", "load the page again")
    if act.by.id in (change.by.id, found.person.id):
        _refuse(Why.SAME_PERSON, f"{act.by.id} has proposed it, or gains by it", "let another person enable it")
    proposer = registered(_people(floor), change.by.id)
    theirs = {change.by.department} | ({proposer.person.department} if proposer is not None else set())
    if act.by.department in theirs:
        _refuse(Why.SAME_DEPARTMENT, f"{change.by.id} and {act.by.id} are of one department",
                "let somebody of another department enable it")
    if proposer is None or not proposer.enabled or proposer.person.role not in PROPOSERS:
        _refuse(Why.NOT_NOW, f"{change.by.id}, who proposed it, may not any more", "withdraw it and propose it again")
    person = Person(found.person.id, change.role, change.department)
    made = found._replace(person=person, state="enabled", since=at, waiting=None,
                          first_by=act.by.id if change.new_secret else found.first_by)
    if change.new_secret:
        made = made._replace(secret="", secret_at=0, must_change=True)
    _left_able(floor, made)
    _keep(floor, made)
    return Outcome({"id": person.id, "new_secret": change.new_secret, "proposal": change.act})


def _left_able(floor: Keeps, made: Registered) -> None:
    """Refuse what would leave nobody who can propose, or nobody who can enable: the register would be shut for good."""
    after = {**_people(floor), made.person.id: to_row(made)}
    enablers = ENABLERS if floor.rules >= SLIP_RULES else ENABLERS | {Role.SURVEILLANCE}
    if can_go_on(_people(floor), enablers) and not can_go_on(after, enablers):
        _refuse(Why.NOT_NOW, "two people of two departments must remain who can propose and enable",
                "enable somebody else first")


def _withdraw(floor: Keeps, act: Act, _at: int) -> Outcome:
    found = _find(floor, act.fields["id"])
    if found.waiting is None:
        _refuse(Why.NOT_NOW, f"no proposal waits for {found.person.id}", "load the page again")
    if found.state == "proposed":
        floor.keep("person", found.person.id, None)
    else:
        _keep(floor, found._replace(waiting=None))
    return Outcome({"id": found.person.id})


def _disable(floor: Keeps, act: Act, at: int) -> Outcome:
    """One person is enough to take rights away, at once (R-104: leavers)."""
    found = _find(floor, act.fields["id"])
    if not found.enabled:
        _refuse(Why.ALREADY_DONE, f"{found.person.id} is not enabled", "nothing to do")
    made = found._replace(state="disabled", since=at, waiting=None, secret="", secret_at=0, first_by="")
    _left_able(floor, made)
    _keep(floor, made)
    floor.keep("remote", found.person.id, None)
    return Outcome({"id": found.person.id})


def _secret(floor: Keeps, act: Act, at: int) -> Outcome:
    """Only the fingerprint is kept: a hash put into the side file by other means does not fit it and opens nothing.

    One's own, or a first secret set by the one who enabled it, which opens nothing but the page where it is changed.
    """
    found = _find(floor, act.fields["id"])
    first = bool(act.fields.get("first"))
    if _PRINT.fullmatch(act.fields["print"]) is None:
        _refuse(Why.WRONG_FIELD, "Fingerprint: not 64 of 0-9 a-f", "try again")
    if not found.enabled:
        _refuse(Why.NOT_NOW, f"{found.person.id} is not enabled", "propose and enable the person first")
    if first and found.first_by != act.by.id:
        _refuse(Why.NOT_ALLOWED, f"no first secret of {found.person.id} is for {act.by.id} to set",
                "propose a new first secret")
    if not first and found.person.id != act.by.id:
        _refuse(Why.NOT_ALLOWED, "a secret is changed by its own person", "propose a new first secret")
    _keep(floor, found._replace(secret=act.fields["print"], secret_at=at, must_change=first, first_by=""))
    return Outcome({"id": found.person.id})


def _make_token(floor: Keeps, act: Act, at: int) -> Outcome:
    tokens = floor.rows.get("token", {})
    name, days = act.fields["id"], act.fields["days"]
    _check_name(name)
    if name in tokens:
        _refuse(Why.ALREADY_DONE, f"a token {name} exists", "choose another name, or end that one")
    if _PRINT.fullmatch(act.fields["print"]) is None:
        _refuse(Why.WRONG_FIELD, "Fingerprint: not 64 of 0-9 a-f", "try again")
    if not 1 <= days <= TOKEN_DAYS_MAX:
        _refuse(Why.WRONG_FIELD, f"For how many days: not 1 to {TOKEN_DAYS_MAX}", "write fewer days")
    for old in [key for key, row in tokens.items() if row["until"] <= at]:
        floor.keep("token", old, None)
    if len(floor.rows.get("token", {})) >= TOKENS_MAX:
        _refuse(Why.NOT_NOW, f"there are {TOKENS_MAX} tokens", "end one that is not needed")
    until = at + days * _DAY_US
    floor.keep("token", name, {"at": at, "person": act.by.id, "print": act.fields["print"],
                               "scope": act.fields["scope"], "until": until})
    return Outcome({"id": name, "until": until})


def _end_token(floor: Keeps, act: Act, _at: int) -> Outcome:
    row = floor.rows.get("token", {}).get(act.fields["id"])
    if row is None or (row["person"] != act.by.id and act.by.role not in PROPOSERS):
        _refuse(Why.NOT_FOUND, f"{act.by.id} has no token {act.fields['id'][:32]}", "look at the list of tokens")
    floor.keep("token", act.fields["id"], None)
    return Outcome({"id": act.fields["id"]})


def _open_remote(floor: Keeps, act: Act, at: int) -> Outcome:
    """One named person, one session, with an end (R-105); nobody opens it for themselves."""
    found = _find(floor, act.fields["id"])
    if not found.enabled:
        _refuse(Why.NOT_NOW, f"{found.person.id} is not enabled", "enable the person first")
    if found.person.id == act.by.id:
        _refuse(Why.SAME_PERSON, "nobody opens remote access for themselves", "let another person open it")
    if not 1 <= act.fields["minutes"] <= REMOTE_MINUTES_MAX:
        _refuse(Why.WRONG_FIELD, f"For how many minutes: not 1 to {REMOTE_MINUTES_MAX}", "write fewer minutes")
    until = at + act.fields["minutes"] * _MINUTE_US
    row = {"at": at, "by": act.by.id, "until": until, "used": False}
    if floor.rules >= SLIP_RULES:  # the session that used an opening before this one is over: its name has changed
        row["opening"] = act.id
    floor.keep("remote", found.person.id, row)
    return Outcome({"id": found.person.id, "until": until})


def _end_remote(floor: Keeps, act: Act, _at: int) -> Outcome:
    name = act.fields["id"]
    if name not in floor.rows.get("remote", {}):
        _refuse(Why.ALREADY_DONE, f"remote access is not open for {name[:32]}", "nothing to do")
    floor.keep("remote", name, None)
    return Outcome({"id": name})


def _sign_in(floor: Keeps, act: Act, at: int) -> Outcome:
    """An entry of the access log; a remote one uses up what was opened for it (R-102, R-105)."""
    if act.fields.get("remote"):
        row = floor.rows.get("remote", {}).get(act.by.id)
        if row is None or row["used"] or row["until"] <= at:
            _refuse(Why.NOT_ALLOWED, f"remote access is not open for {act.by.id}", "ask the shift manager to open it")
        floor.keep("remote", act.by.id, {**row, "used": True})
        if row.get("opening"):
            return Outcome({"opening": row["opening"]})
    return Outcome()


def _note(_floor: Keeps, _act: Act, _at: int) -> Outcome:
    """An entry that only says what happened."""
    return Outcome()


def _print_note(_floor: Keeps, act: Act, _at: int) -> Outcome:
    """What came of a print belongs to the game of its slip; entries of before did not say which."""
    return Outcome({}, (), act.fields.get("table"), act.fields.get("game"))


PEOPLE_RULES: dict[str, Rule] = {
    "people-begun": _begin,
    "person-proposed": _propose,
    "person-enabled": _enable,
    "person-change-proposed": _propose_change,
    "person-change-enabled": _enable,
    "person-withdrawn": _withdraw,
    "person-disabled": _disable,
    "secret-changed": _secret,
    "secret-set-on-box": _secret,
    "token-made": _make_token,
    "token-ended": _end_token,
    "remote-opened": _open_remote,
    "remote-ended": _end_remote,
    "signed-in": _sign_in,
    "signed-out": _note,
    "sign-in-refused": _note,
    "door-refused": _note,
    "exported": _note,
    "printed": _print_note,
    "print-failed": _print_note,
}
