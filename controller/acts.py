"""The one table of acts: what people do, who may do each, and what it asks. Pure.

An act is signed by one person, most by a second one on the first one's screen, some by a third. Pages, API, command
line and docs/ROLES.md are made from this table; the rules of each act are in the rooms named by ``controller.desk``.
"""

import re
from collections.abc import Mapping
from datetime import date

from controller.act_types import TEXT_MAX, Act, Acted, ActKind, ActRefused, Field, Is, Why, act_body, act_from
from controller.checks import CHECK_KINDS
from controller.money import ACCOUNT_MICROCENTS_MAX, MICROCENTS_PER_CENT, parse_money
from controller.people import Person, Role
from controller.people_acts import PEOPLE_KINDS

__all__ = [
    "KINDS", "TEXT_MAX", "Act", "ActKind", "ActRefused", "Acted", "Field", "Is", "Why", "act_body", "act_from",
    "read_act",
]

TICKED_MAX = 4_000
NUMBER_MAX = (1 << 53) - 1
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_ACT_ID = re.compile(r"[A-Za-z0-9_-]{8,64}", re.ASCII)
_NUMBER = re.compile(r"\d{1,16}", re.ASCII)
_CENTS_MAX = ACCOUNT_MICROCENTS_MAX // MICROCENTS_PER_CENT


def _roles(*roles: Role) -> frozenset[Role]:
    return frozenset(roles)


FLOOR = _roles(Role.SUPERVISOR, Role.SHIFT_MANAGER)
MANAGER = _roles(Role.SHIFT_MANAGER)
ACCOUNTING = _roles(Role.ACCOUNTING)
MONEY = MANAGER | ACCOUNTING
ADMINISTRATOR = _roles(Role.ADMINISTRATOR)
TECHNICAL = _roles(Role.TECHNICIAN)

ANSWERS = frozenset(Role) - {Role.AUDITOR, Role.SURVEILLANCE}
"""Who may answer an alarm, where its kind says so: auditors and surveillance only look."""

TABLE = Field("table", "Table", Is.ID)
GAME = Field("game", "Game", Is.NUMBER)
SEAT = Field("seat", "Seat", Is.NUMBER)
SPOT = Field("spot", "Bet", Is.ID)
METER = Field("meter", "Meter", Is.ID)
REASON = Field("reason", "Reason")
APPROVAL = Field("approval", "Number of the approval")
NOTE = Field("note", "Note", optional=True)
OUTCOME = Field("outcome", "Hand", Is.ID)
_AWARD = (TABLE, GAME, SEAT, SPOT)
_ALARM = (Field("alarm", "Alarm", Is.ID), Field("place", "Where", Is.ID), NOTE)
_DUE = Field("due", "Award", Is.MONEY, optional=True)
"""The award as the person saw it: another one since is refused."""
_HOW = Field("how", "Paid in", Is.CHOICE, ("chips", "cash", "cheque", "wire", "manual-slip"))
_BY_HAND = Field("slip", "Number of the slip written by hand that has paid it", Is.ID, optional=True)
"""Its money was counted when the slip was entered (controller.manual_slips)."""

KINDS: dict[str, ActKind] = {kind.name: kind for kind in (
    *PEOPLE_KINDS,
    # Alarms: controller.alarm_acts, which says who may answer which.
    ActKind("alarm-acknowledged", "Acknowledge", _ALARM, ANSWERS),
    ActKind("alarm-cleared", "Clear", _ALARM, ANSWERS),
    # An award's life: controller.award_acts.
    ActKind("award-verified", "Verify", (*_AWARD, _DUE, Field("cards", "The seven cards", optional=True),
                                         Field("reason", "Reason, if the cards do not agree", optional=True)),
            FLOOR, third=FLOOR),
    ActKind("award-released", "Release", (*_AWARD, _DUE, NOTE), MANAGER | ACCOUNTING),
    ActKind("award-paid", "Pay", (*_AWARD, Field("handed", "Handed over", Is.MONEY), _HOW, _BY_HAND,
                                  Field("reason", "Reason, if it differs", optional=True)),
            FLOOR, third=MANAGER | ACCOUNTING),
    ActKind("award-refused", "Refuse", (*_AWARD, REASON), FLOOR, second=FLOOR),
    ActKind("paid-in-error", "Paid in error", (*_AWARD, REASON), FLOOR, second=FLOOR, third=ACCOUNTING),
    ActKind("paper-done", "Complete the checklist",
            (*_AWARD, Field("ticked", "Lines that are done, parted by semicolons", most=TICKED_MAX),
             Field("payee", "Payee, as on the identity paper: kept outside the ledger", optional=True),
             Field("taxable", "Taxable", Is.CHOICE, ("taxable", "not-taxable")),
             Field("form", "Number of the form", optional=True),
             Field("withheld", "Withheld", Is.MONEY, optional=True)), FLOOR | ACCOUNTING),
    ActKind("envy-paid", "Pay envy", (*_AWARD, Field("to", "Seat paid", Is.NUMBER), _HOW, _BY_HAND), FLOOR,
            third=FLOOR | ACCOUNTING),
    ActKind("envy-unclaimed", "Envy not claimed", (*_AWARD, Field("to", "Seat", Is.NUMBER), REASON), FLOOR),
    ActKind("slip-printed", "Print the slip",
            (*_AWARD, Field("printer", "At the printer", Is.ID, optional=True),
             Field("number", "Number of the slip, if not of the award as it stands", Is.NUMBER, optional=True)),
            FLOOR | ACCOUNTING),
    ActKind("slip-given", "Give a copy of a slip out",
            (*_AWARD, Field("number", "Number of the slip", Is.NUMBER), Field("copy", "Copy", Is.NUMBER),
             Field("to", "Where to", optional=True)), FLOOR | ACCOUNTING | _roles(Role.AUDITOR)),
    ActKind("manual-slip", "Enter a slip written by hand",
            (TABLE, Field("written", "Number on the slip", Is.ID), Field("when", "Date and time on the slip"), SEAT,
             OUTCOME, Field("handed", "Handed over", Is.MONEY),
             Field("game", "Game, where the controller has it", Is.NUMBER, optional=True), REASON),
            FLOOR, second=FLOOR | ACCOUNTING, third=MONEY),
    # Putting right what the table got wrong: controller.corrections.
    ActKind("hit-added", "Add a hand",
            (*_AWARD, OUTCOME, Field("envy_only", "No wager of its own", Is.YES_NO, optional=True), REASON),
            FLOOR, second=FLOOR),
    ActKind("hit-changed", "Change a hand", (*_AWARD, OUTCOME, REASON), FLOOR, second=FLOOR),
    ActKind("hit-withdrawn", "Withdraw a hand", (*_AWARD, REASON), FLOOR, second=FLOOR),
    ActKind("wager-added", "Add a wager", (*_AWARD, REASON), FLOOR, second=FLOOR),
    ActKind("wager-removed", "Remove a wager", (*_AWARD, REASON), FLOOR, second=FLOOR),
    ActKind("count-closed", "Close a difference of the count", (TABLE, GAME, Field("seat", "Seat", Is.NUMBER,
            optional=True), Field("finding", "Finding")), FLOOR, second=FLOOR),
    # Tables: controller.table_acts.
    ActKind("table-opened", "Open the table", (TABLE, NOTE), FLOOR),
    ActKind("table-closed", "Close the table",
            (TABLE, Field("note", "Note; the reason, where its table unit is not heard", optional=True)),
            FLOOR, third=FLOOR),
    ActKind("loss-accepted-by", "Accept a loss", (TABLE, REASON), MANAGER, second=ACCOUNTING | TECHNICAL),
    # Changing the configuration: controller.config_acts.
    ActKind("config-proposed", "Propose a configuration", (Field("document", "Configuration", Is.DOCUMENT), REASON),
            TECHNICAL | ADMINISTRATOR),
    ActKind("config-withdrawn", "Withdraw a proposal", (Field("hash", "Hash", Is.ID),), TECHNICAL | ADMINISTRATOR),
    ActKind("config-activated", "Activate a configuration",
            (Field("hash", "Hash", Is.ID), Field("authority", "Approved by"), APPROVAL,
             Field("approved", "Date of the approval", Is.DATE)), MONEY),
    # Changing a meter by hand: controller.meter_acts.
    ActKind("meter-adjusted", "Adjust a meter",
            (METER, Field("direction", "Raise or lower", Is.CHOICE, ("raise", "lower")),
             Field("by_amount", "By how much", Is.MONEY),
             Field("code", "For what", Is.CHOICE, ("malfunction-correction", "limit-correction", "restoration")),
             REASON, APPROVAL), MONEY, second=MONEY, other_department=True),
    ActKind("meter-transferred", "Transfer a meter", (METER, Field("to", "To the meter", Is.ID), REASON, APPROVAL),
            MONEY, second=MONEY, other_department=True),
    ActKind("retirement-announced", "Announce a retirement",
            (METER, Field("effective", "From the gaming day, like 2026-12-31", Is.DATE), REASON, APPROVAL),
            MONEY, second=MONEY, other_department=True),
    ActKind("meter-retired", "Retire a meter", (METER, REASON, APPROVAL), MONEY, second=MONEY, other_department=True),
    ActKind("reserve-to-house", "Take next-jackpot money for the house",
            (METER, Field("by_amount", "How much", Is.MONEY), REASON, APPROVAL),
            MONEY, second=MONEY, other_department=True),
    ActKind("seed-recovered", "Recover seed money", (METER, Field("by_amount", "How much", Is.MONEY), REASON, APPROVAL),
            MONEY, second=MONEY, other_department=True),
    ActKind("notice-sent", "A notice was sent", (METER, Field("notice", "Entry of the lowering", Is.NUMBER),
                                                 Field("how", "How and to whom")), MONEY),
    ActKind("opening-entered", "Enter a new meter's opening",
            (METER, Field("base", "Base", Is.MONEY), Field("brought", "Of it brought in", Is.MONEY, optional=True),
             Field("source", "Brought in from", optional=True), APPROVAL), MONEY),
    ActKind("opening-accepted", "Accept a new meter's opening",
            (METER, Field("base", "Base, as entered", Is.MONEY)), MONEY),
    # The gaming day: controller.day_acts.
    ActKind("day-closed", "Close the gaming day",
            (Field("day", "Gaming day, like 2026-12-31", Is.DATE), NOTE), ACCOUNTING),
    ActKind("sign-read", "Enter what a sign shows", (METER, Field("read", "Read on the sign", Is.MONEY), NOTE),
            FLOOR | ACCOUNTING),
    *CHECK_KINDS,
    ActKind("hold-set", "Set a legal hold", (Field("id", "Name of the hold", Is.ID), REASON), MANAGER | ADMINISTRATOR),
    ActKind("hold-lifted", "Lift a legal hold", (Field("id", "Name of the hold", Is.ID), REASON),
            MANAGER | ADMINISTRATOR, second=ACCOUNTING | ADMINISTRATOR | _roles(Role.AUDITOR)),
    ActKind("handed-over", "Hand over the shift", (NOTE,), MANAGER, second=MANAGER),
)}


def read_act(
    kind: str, act_id: object, raw: Mapping[str, object], by: Person, second: Person | None = None,
    third: Person | None = None,
) -> Act:
    """An act from what a form or request holds; raises ActRefused naming the field that is wrong."""
    found = KINDS.get(kind)
    if found is None:
        raise ActRefused(Why.NOT_FOUND, f"there is no act {kind[:40]!r}", "look into docs/ROLES.md")
    if not isinstance(act_id, str) or _ACT_ID.fullmatch(act_id) is None:
        raise ActRefused(Why.WRONG_FIELD, "id: not 8 to 64 of A-Z a-z 0-9 _ -", "load the page again")
    unknown = sorted(raw.keys() - {field.name for field in found.fields})
    if unknown:
        raise ActRefused(Why.WRONG_FIELD, f"{unknown[0][:40]}: nothing that this act asks", "load the page again")
    fields = {field.name: _read(field, raw.get(field.name)) for field in found.fields}
    return Act(kind, act_id, by, second, third, {name: given for name, given in fields.items() if given is not None})


def _read(field: Field, given: object) -> object:
    """One field's content; None where an optional one is empty. Text and typed JSON are read alike."""
    text = given.strip() if isinstance(given, str) else given
    if text is None or text == "":
        if field.optional:
            return None
        raise _wrong(field, "missing", "fill it in")
    if field.kind is Is.YES_NO:
        if text in (True, "yes", "on"):
            return True
        return None if text in (False, "no") else _refuse(field, "neither yes nor no", "choose yes or no")
    if field.kind is Is.NUMBER:
        if isinstance(text, str) and _NUMBER.fullmatch(text):
            text = int(text)
        if type(text) is int and 0 <= text <= NUMBER_MAX:
            return text
        return _refuse(field, "not a whole number", "write digits only")
    if field.kind is Is.DOCUMENT:
        return text if isinstance(text, dict) else _refuse(field, "not an object", "propose the file itself")
    if not isinstance(text, str):
        raise _wrong(field, "not text", "write it as text")
    if field.kind is Is.MONEY:
        return _money(field, text)
    if field.kind is Is.DATE:
        return _date(field, text)
    if field.kind is Is.ID:
        return text if _ID.fullmatch(text) else _refuse(field, "not an id", "choose one from the page")
    if field.kind is Is.CHOICE:
        return text if text in field.choices else _refuse(
            field, "not one of the choices", "choose " + " or ".join(field.choices))
    if len(text) > field.most or not all(mark.isprintable() or mark in "\r\n" for mark in text):
        raise _wrong(field, f"longer than {field.most} letters, or with control marks", "shorten it")
    return " ".join(text.split())


def _money(field: Field, text: str) -> int:
    try:
        cents = parse_money(text)
    except ValueError:
        cents = -1
    if not 0 <= cents <= _CENTS_MAX:
        raise _wrong(field, "not an amount", 'write dollars and cents like "$1,234.50"')
    return cents


def _date(field: Field, text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise _wrong(field, f"{text[:20]} is no date", "write year, month and day like 2026-12-31")
    return text


def _wrong(field: Field, what: str, remedy: str) -> ActRefused:
    return ActRefused(Why.WRONG_FIELD, f"{field.label}: {what}", remedy)


def _refuse(field: Field, what: str, remedy: str) -> object:
    raise _wrong(field, what, remedy)


def check_people(act: Act, kind: ActKind) -> None:
    """Raise ActRefused unless the right people signed: roles, different persons, different departments (WE-03).

    A third person is needed only where the act's own rules say so: ``need_third``.
    """
    names = [person.id for person in act.people()]
    if len(set(names)) != len(names):
        raise ActRefused(Why.SAME_PERSON, "one person signed twice", "let another person sign")
    if act.by.role not in kind.by:
        raise ActRefused(Why.NOT_ALLOWED, f"{act.by.words()} may not do this: {kind.title}", f"ask {named(kind.by)}")
    if kind.second and act.second is None:
        raise ActRefused(Why.SECOND_PERSON, "a second person must sign", f"ask {named(kind.second)}")
    for signer, roles in ((act.second, kind.second), (act.third, kind.third)):
        if signer is not None and signer.role not in roles:
            raise ActRefused(Why.NOT_ALLOWED, f"{signer.words()} may not sign this: {kind.title}",
                             f"ask {named(roles)}")
    if kind.other_department and act.second is not None and act.second.department == act.by.department:
        raise ActRefused(
            Why.SAME_DEPARTMENT, f"{act.by.id} and {act.second.id} are of one department", "ask another department")


def need_third(act: Act, why: str) -> None:
    """Raise ActRefused unless a third person signed; ``why`` says what asks for one."""
    if act.third is None:
        raise ActRefused(Why.THIRD_PERSON, f"{why}: another person must sign as well",
                         f"ask {named(KINDS[act.kind].third)}")


def named(roles: frozenset[Role]) -> str:
    """``a supervisor or a shift-manager``."""
    return " or ".join(f"a{'n' if role.value[0] in 'aeiou' else ''} {role.value}" for role in Role if role in roles) \
        or "nobody: it is not asked"
