"""Faults and alarms: what was not accepted, lost, stopped, noticed; and acts that were refused (R-86, R-108). Pure."""

from collections.abc import Mapping
from typing import Any

from controller.journal import Entry
from controller.refusal import WORDS
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, count, number, when
from controller.reports.reserve import people_of, reason_of

_KINDS = frozenset((
    "refused", "fault", "loss", "loss-accepted", "loss-accepted-by", "recounted", "stop", "clear", "notice",
    "act-refused", "alarm", "sign-in-refused"))
_TITLES = {
    "refused": "not accepted", "fault": "two contents under one number", "loss": "loss",
    "loss-accepted": "loss accepted", "loss-accepted-by": "loss accepted", "recounted": "total taken over",
    "stop": "book stopped", "clear": "book cleared", "notice": "notice", "act-refused": "act refused", "alarm": "alarm",
    "sign-in-refused": "sign-in refused", "count": "count difference",
}
_REASONS = {reason.value: words[0] for reason, words in WORDS.items()}


def faults(reading: Reading, scope: Scope) -> Report:
    """Every fault and alarm of the range in its order, and how many there were of each cause at each table."""
    each = Rows("In their order", number("Entry"), when(), Column("Table"), number("Game"), Column("What"),
                Column("Cause"), Column("Details"), Column("By"))
    sums: dict[tuple[str, str, str], int] = {}
    for book in reading.books():
        for entry in reading.entries(book, scope.start, scope.end):
            if not scope.has_table(entry.table) or not _is_fault(entry):
                continue
            body = body_of(entry)
            cause, details = _words(entry.kind, body)
            title = _TITLES.get(entry.kind, entry.kind)
            sums[title, cause, entry.table or ""] = sums.get((title, cause, entry.table or ""), 0) + 1
            each.add(entry.number, entry.at, entry.table, entry.game, title, cause, details, people_of(body))
    by_cause = Rows("By cause", Column("What"), Column("Cause"), Column("Table"), count("How often"))
    for (title, cause, table), often in sorted(sums.items()):
        by_cause.add(title, cause, table, often)
    return Report("faults", "Faults and alarms", tuple(facts(reading, scope)), (by_cause.table(), each.table()))


def _is_fault(entry: Entry) -> bool:
    if entry.kind == "count":
        return '"difference":' in entry.body and "difference" in body_of(entry)
    return entry.kind in _KINDS or entry.kind.startswith("alarm")


def _words(kind: str, body: Mapping[str, Any]) -> tuple[str, str]:
    """The cause of a fault in a word, and what there is to say of it."""
    if kind in ("refused", "fault"):
        reason = body["reason"]
        return reason, _REASONS.get(reason, "")
    if kind == "count":
        return "difference", f"{body['message']['chips']} chips counted, {body['accepted']} wagers accepted"
    if kind == "notice":
        message = body["message"]
        seat = f"seat {message['seat']}" if "seat" in message else ""
        return str(message["kind"]), " ".join(part for part in (seat, str(message.get("spot", ""))) if part)
    if kind == "loss":
        if body["kind"] == "loss":
            return "loss", f"messages {body['first']} to {body['kept_first'] - 1} of the table unit are lost"
        return "difference", f"the table unit counts {body['theirs']} wagers, the controller {body['ours']}"
    if kind == "act-refused":
        return str(body["reason"]), f"{body['kind']}: {body['what']}"
    if kind == "recounted":
        return "recounted", f"{body['theirs']} wagers in place of {body['ours']}"
    named = [body.get(name) for name in ("kind", "step", "place", "what")]
    return str(named[0] or kind), " ".join([str(part) for part in named[1:] if part] + [reason_of(dict(body))]).strip()
