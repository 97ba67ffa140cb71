"""What moved in next-jackpot money and above the limit, and adjustments and transfers (R-63, R-86). Pure."""

from typing import Any

from controller.reports.movements import Class, class_of, meters_of
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Check, Column, Report, Rows, money, number, standing, when
from controller.reports.words import account_words, kind_words

ACCOUNTS = ("reserve", "overflow")
_SIGNERS = ("by", "second", "third")


def reserve(reading: Reading, scope: Scope) -> Report:
    """Opening + contributions + what wins took or gave + the rest = closing, for every reserve and overflow."""
    heads = [money(words) for words in ("Opening", "Contributions", "Wins", "Corrections", "Adjustments",
                                        "Other movements", "Closing")]
    rows = Rows("By meter", Column("Meter"), Column("Of"), *heads)
    each = Rows("Every movement that is no contribution", number("Entry"), when(), Column("Table"), number("Game"),
                Column("Meter"), Column("Of"), Column("What"), money("Change"), standing("After"))
    checks = []
    for book in reading.books():
        opening, closing = reading.balances(book, scope.start), reading.balances(book, scope.end)
        sums: dict[tuple[str, str, Class], int] = {}
        for entry in reading.entries(book, scope.start, scope.end):
            kind = class_of(entry.kind)
            for meter, account, microcents, after in entry.postings:
                if account in ACCOUNTS and scope.has_meter(meter):
                    sums[meter, account, kind] = sums.get((meter, account, kind), 0) + microcents
                    if kind is not Class.CONTRIBUTION:
                        each.add(entry.number, entry.at, entry.table, entry.game, meter, account_words(account),
                                 kind_words(entry.kind), microcents, after)
        plan = reading.plan_before(book, scope.end)
        for meter in meters_of(opening, closing, also=[one.id for one in plan.meters.values() if one.book == book]):
            for account in ACCOUNTS if scope.has_meter(meter) else ():
                by = {kind: sums.get((meter, account, kind), 0) for kind in Class}
                named = [by.pop(kind) for kind in (Class.CONTRIBUTION, Class.WIN, Class.CORRECTION, Class.ADJUSTMENT)]
                parts = [*named, sum(by.values())]
                first, last = opening.get((meter, account), 0), closing.get((meter, account), 0)
                rows.add(meter, account_words(account), first, *parts, last)
                words = f"{meter}, {account_words(account)}: opening + movements = closing"
                checks.append(Check(words, first + sum(parts), last))
    notes = ("Next-jackpot money funds the next reset; what came above the limit is kept apart. Where both fall at a "
             "win, they went on the display of the new jackpot.",)
    return Report("reserve", "Next-jackpot money and above the limit", tuple(facts(reading, scope)),
                  (rows.table(), each.table()), tuple(checks), notes)


def adjustments(reading: Reading, scope: Scope) -> Report:
    """Every entry that moved money and is no contribution, win, opening or payment: who, why, how much."""
    rows = Rows("Adjustments, transfers, corrections and other movements", number("Entry"), when(), Column("Class"),
                Column("Kind"), Column("Meter"), Column("Table"), number("Game"), money("Display"),
                money("Next-jackpot money"), money("Above the limit"), money("Pending"), money("House"), Column("By"),
                Column("Reason"), Column("Code and approval"))
    plain = frozenset((Class.OPENING, Class.CONTRIBUTION, Class.WIN, Class.PAYMENT))
    checks = []
    for book in reading.books():
        unbalanced = 0
        for entry in reading.entries(book, scope.start, scope.end):
            unbalanced += sum(posting.microcents for posting in entry.postings) != 0
            if not entry.postings or class_of(entry.kind) in plain:
                continue
            body = body_of(entry)
            for meter in sorted({posting.meter for posting in entry.postings}):
                if scope.has_meter(meter) and scope.has_table(entry.table):
                    moved: dict[str, int] = {}
                    for one in entry.postings:
                        if one.meter == meter:
                            moved[one.account] = moved.get(one.account, 0) + one.microcents
                    rows.add(entry.number, entry.at, class_of(entry.kind).value, kind_words(entry.kind), meter,
                             entry.table, entry.game, *(moved.get(account, 0) for account in
                                           ("display", "reserve", "overflow", "pending", "house")),
                             people_of(body), reason_of(body), _approval(body))
        checks.append(Check(f"book {book}: entries whose movements do not sum to zero", unbalanced, 0))
    return Report("adjustments", "Adjustments and transfers", tuple(facts(reading, scope)), (rows.table(),),
                  tuple(checks))


def _approval(body: dict[str, Any]) -> str:
    fields = body.get("fields", {})
    return ", ".join(str(fields[name]) for name in ("code", "approval", "authority", "approved") if name in fields)


def people_of(body: dict[str, object]) -> str:
    """Who signed an act: ``anna (supervisor), ben (accounting)``; empty for what the table itself did."""
    signed = [body.get(name) for name in _SIGNERS]
    return ", ".join(f"{person[0]} ({person[1]})" for person in signed if isinstance(person, list) and len(person) > 1)


def reason_of(body: dict[str, object]) -> str:
    """The reason that an entry gives, in its fields, its message or itself."""
    for place in (body.get("fields"), body.get("message"), body):
        if isinstance(place, dict):
            for name in ("reason", "finding", "note"):
                if isinstance(found := place.get(name), str):
                    return found
    return ""
