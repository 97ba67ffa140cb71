"""Faults and alarms: what was not accepted, lost, stopped, noticed; and acts that were refused (R-86, R-108). Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from controller.alarm_kinds import ALARMS, FLOOR
from controller.journal import Entry
from controller.reports.reading import Reading, Scope, body_of, facts
from controller.reports.report import Column, Report, Rows, count, number, when
from controller.reports.reserve import people_of, reason_of
from controller.reports.words import kind_words, reason_words

_KINDS = frozenset((
    "refused", "fault", "loss", "loss-accepted", "loss-accepted-by", "recounted", "stop", "clear", "notice",
    "act-refused", "alarm", "alarm-acknowledged", "alarm-cleared", "sign-in-refused"))
_TITLES = {
    "refused": "not accepted", "fault": "two contents under one number", "loss": "loss",
    "loss-accepted": "loss accepted", "loss-accepted-by": "loss accepted", "recounted": "total taken over",
    "stop": "book stopped", "clear": "book cleared", "notice": "notice", "act-refused": "act refused",
    "alarm-acknowledged": "alarm acknowledged", "alarm-cleared": "alarm cleared by a person",
    "sign-in-refused": "sign-in refused", "count": "count difference",
}
_STEPS = {"raised": "alarm raised", "escalated": "alarm told on", "cleared": "alarm over"}


class _Told(NamedTuple):
    """What a line says: what it is, its cause, what there is to say of it, and who had a part in it."""

    what: str
    cause: str
    details: str
    by: str
    often: int = 1


def faults(reading: Reading, scope: Scope) -> Report:
    """Every fault and alarm of the range in its order, and how many there were of each cause at each table."""
    each = Rows("In their order", number("Entry"), when(), Column("Table"), number("Game"), Column("What"),
                Column("Cause"), Column("Details"), Column("By"))
    sums: dict[tuple[str, str, str], int] = {}
    for book in reading.books():
        for entry in reading.entries(book, scope.start, scope.end):
            if not scope.has_table(entry.table) or not _is_fault(entry):
                continue
            told = _told(entry, body_of(entry))
            key = (told.what, told.cause, entry.table or "")
            sums[key] = sums.get(key, 0) + told.often
            each.add(entry.number, entry.at, entry.table, entry.game, *told[:4])
    by_cause = Rows("By cause", Column("What"), Column("Cause"), Column("Table"), count("How often"))
    for (title, cause, table), often in sorted(sums.items()):
        by_cause.add(title, cause, table, often)
    notes = ("An alarm that came again before it was over is one line, and counts as often as it came.",)
    return Report("faults", "Faults and alarms", tuple(facts(reading, scope)), (by_cause.table(), each.table()), (),
                  notes)


def _is_fault(entry: Entry) -> bool:
    if entry.kind == "count":
        return '"difference":' in entry.body and "difference" in body_of(entry)
    return entry.kind in _KINDS or entry.kind.startswith("alarm")


def _told(entry: Entry, body: Mapping[str, Any]) -> _Told:
    if entry.kind == "alarm":
        return _step(body)
    if entry.kind == "act-refused":
        act = body["act"]
        return _Told(_TITLES[entry.kind], _plain(body["reason"]), f"{kind_words(body['kind'])}: {body['what']}",
                     people_of(act))
    title = _TITLES.get(entry.kind, kind_words(entry.kind))
    cause, details = _words(entry.kind, body)
    often = body.get("fields", {}).get("count", 1) if entry.kind == "sign-in-refused" else 1
    return _Told(title, cause, details, people_of(dict(body)), often)


def _step(body: Mapping[str, Any]) -> _Told:
    """One step that the controller itself entered of an alarm: raised, told on to the next people, or over."""
    step, told = body["step"], [_place(body), str(body.get("what", ""))]
    often = max(1, body.get("count", 1)) if step == "raised" else 1
    if step == "escalated":
        told.append(f"told to {', '.join(body['to']) or 'nobody'}")
    elif step == "cleared" and body.get("count"):
        told.append(f"came {body['count']} times more")
    elif often > 1:
        told.append(f"{often} times")
    return _Told(_STEPS.get(step, f"alarm {step}"), _alarm(body["alarm"]), _joined(told), "", often)


def _alarm(kind: str) -> str:
    return ALARMS[kind].title if kind in ALARMS else kind


def _place(fields: Mapping[str, Any]) -> str:
    """``table PG-01``, ``sign led-1``; empty for the whole floor."""
    kind, place = ALARMS.get(str(fields.get("alarm"))), str(fields.get("place", ""))
    return "" if place in ("", FLOOR) else place if kind is None else f"{kind.place.value} {place}"


def _joined(parts: list[str]) -> str:
    return "; ".join(part for part in parts if part)


def _plain(name: str) -> str:
    """A name of the program's as words: ``door-open`` is ``door open``."""
    return name.replace("-", " ")


def _words(kind: str, body: Mapping[str, Any]) -> tuple[str, str]:
    """The cause of a fault in words, and what there is to say of it."""
    if kind in ("refused", "fault"):
        return reason_words(body["reason"]), ""
    if kind == "count":
        return "difference", f"{body['message']['chips']} chips counted, {body['accepted']} wagers accepted"
    if kind == "notice":
        message = body["message"]
        seat = f"seat {message['seat']}" if "seat" in message else ""
        return _plain(message["kind"]), " ".join(part for part in (seat, str(message.get("spot", ""))) if part)
    if kind == "loss":
        if body["kind"] == "loss":
            return "loss", f"messages {body['first']} to {body['kept_first'] - 1} of the table unit are lost"
        return "difference", f"the table unit counts {body['theirs']} wagers, the controller {body['ours']}"
    if kind == "recounted":
        return "recounted", f"{body['theirs']} wagers in place of {body['ours']}"
    fields = body.get("fields", {})
    if "alarm" in fields:
        told = body.get("told", {})
        return _alarm(fields["alarm"]), _joined([_place(fields), str(told.get("what", "")), reason_of(dict(body))])
    if kind == "sign-in-refused":
        told = [str(fields.get("id", "")), f"from {fields['peer']}" if "peer" in fields else ""]
        return str(fields.get("reason", "")), _joined(told)
    return _TITLES.get(kind, kind_words(kind)), reason_of(dict(body))
