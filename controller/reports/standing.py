"""What stands open at an instant and waits for people, besides awards and envy: found from the entries alone. Pure.

Counts that differ, alarms, notices due, proposals, openings, losses and stops. Awards: ``open_awards``.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from controller.alarm_kinds import ALARMS, Place
from controller.alarms import Alarm, Key, NotInItsLife, State, acknowledged, cleared, escalated, place_words, raised
from controller.carried import COUNT_KINDS, OpenCount, differing, how_many
from controller.journal import Entry
from controller.money import format_cents, format_microcents
from controller.people import person_from
from controller.reports.due_once import LOWERINGS, NOTICE_US
from controller.reports.reading import Reading, Scope, body_of
from controller.reports.reserve import people_of

_ALARMS = frozenset(("alarm", "alarm-acknowledged", "alarm-cleared"))
_PEOPLE = frozenset(("person-proposed", "person-change-proposed", "person-enabled", "person-change-enabled",
                     "person-withdrawn", "person-disabled"))
_CONFIGS = frozenset(("config-proposed", "config-activated", "config-withdrawn"))
_OPENINGS = frozenset(("opening", "opening-entered", "opening-accepted", "meter-retired"))
_LOSSES = frozenset(("loss", "loss-accepted", "loss-accepted-by", "stop", "clear"))


class Item(NamedTuple):
    """One thing that waits: of what sort, since when, where, what is to be done, and the entry that began it."""

    sort: str
    at: int
    table: str | None
    meter: str | None
    words: str
    entry: int


def standing(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Everything of a book that waits for people at the range's end, as its filters ask."""
    for find in (_counts, _alarms, _losses, _notices, _openings, _proposed_people, _proposed_configurations):
        for item in find(reading, book, scope):
            if scope.has_table(item.table) and scope.meter in (None, item.meter):
                yield item


def _before(reading: Reading, book: str, kinds: frozenset[str], scope: Scope) -> Iterator[Entry]:
    """Entries of some seldom kinds that were made before the range's end, in the order of the ledger."""
    for entry in reading.seldom(book, kinds, 1, reading.last_before(book, scope.end)):
        if entry.at < scope.end:
            yield entry


def _counts(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Games whose chips and wagers differ, and nobody has found why."""
    since, known = _closed(reading, book, scope)
    games = {(entry.table, entry.game) for entry in reading.counts_within(book, since, scope.end)}
    games |= {(one.table, one.game) for one in known}
    if not games:
        return
    numbers = {game for _, game in games if game is not None}
    found = [entry for entry in (*reading.counts_within(book, since, scope.end, numbers),
                                 *reading.seldom_within(book, COUNT_KINDS, since, scope.end))
             if (entry.table, entry.game) in games]
    for one in differing(known, sorted(found, key=lambda entry: entry.number)):
        lock = reading.lock_of(book, one.table, one.game, reading.last(book)[0] + 1)
        words = f"game {one.game}: {one.chips} chips counted, {one.wagers} wagers: two people find out why"
        yield Item("count difference", 0 if lock is None else lock.at, one.table, None, words,
                   0 if lock is None else lock.number)


def _closed(reading: Reading, book: str, scope: Scope) -> tuple[int, list[OpenCount]]:
    """The end of the last gaming day whose closing lists every count that was open then, and those; 0 for none."""
    last = reading.last_before(book, scope.end)
    for entry in reading.seldom(book, ("day-closed",), 1, last, newest_first=True):
        told = body_of(entry)["told"]
        counts = told.get("carried", {}).get("counts")
        if entry.at < scope.end and counts is not None and how_many(counts) == len(counts["listed"]):
            return told["end"], [OpenCount(**one) for one in counts["listed"]]
    return 0, []


def _alarms(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Alarms that were not over."""
    stand: dict[Key, tuple[Alarm, int]] = {}
    for entry in _before(reading, book, _ALARMS, scope):
        body = body_of(entry)
        fields = body.get("fields", body)
        key = (fields["alarm"], fields["place"])
        if key[0] not in ALARMS:
            continue
        before, since = stand.pop(key, (None, entry.number))
        with suppress(NotInItsLife):
            before = _after(before, entry, key)
        if before is not None and before.state is not State.CLEARED:
            stand[key] = (before, since)
    for alarm, number in stand.values():
        kind, place = alarm.told_of, place_words(alarm)
        by = alarm.acknowledged_by
        seen = f"acknowledged by {by.words()}" if alarm.state is State.ACKNOWLEDGED and by else "nobody acknowledged it"
        words = "; ".join(part for part in (kind.title, place, alarm.what, seen) if part)
        yield Item("alarm", alarm.raised_at, alarm.place if kind.place is Place.TABLE else None,
                   alarm.place if kind.place is Place.METER else None, words, number)


def _after(before: Alarm | None, entry: Entry, key: Key) -> Alarm | None:
    """An alarm after one of its entries; raises NotInItsLife."""
    body = body_of(entry)
    if entry.kind == "alarm-acknowledged":
        return None if before is None else acknowledged(before, person_from(body["by"]), entry.at)
    if entry.kind == "alarm-cleared" or body["step"] == "cleared":
        return None if before is None else cleared(before, entry.at)
    if body["step"] == "escalated":
        return None if before is None else escalated(before)
    return raised(before, *key, body["what"], entry.at, since=body["since"], entry=body["cause"], count=body["count"])


def _losses(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Losses and stops that nobody has put right."""
    losses: dict[str | None, Entry] = {}
    stop: Entry | None = None
    for entry in _before(reading, book, _LOSSES, scope):
        if entry.kind == "loss":
            losses[entry.table] = entry
        elif entry.kind.startswith("loss-accepted"):
            losses.pop(entry.table, None)
        else:
            stop = entry if entry.kind == "stop" else None
    for table, entry in losses.items():
        kind = body_of(entry)["kind"]
        words = "messages of the table unit are lost" if kind == "loss" else "the table unit counts other wagers"
        yield Item("loss", entry.at, table, None, f"{words}: two people accept it", entry.number)
    if stop is not None:
        yield Item("stopped book", stop.at, None, None,
                   f"the book is stopped: {body_of(stop)['reason']}: two people clear it", stop.number)


def _notices(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Lowerings that the regulator was not told of (R-38)."""
    due: dict[int, Entry] = {}
    for entry in _before(reading, book, frozenset((*LOWERINGS, "notice-sent")), scope):
        body = body_of(entry)
        if entry.kind == "notice-sent":
            due.pop(body["fields"]["notice"], None)
        elif body.get("told", {}).get("notice") is not None:
            due[body["told"]["notice"]] = entry
    for notice, entry in due.items():
        told = body_of(entry)["told"]
        meter = str(body_of(entry)["fields"]["meter"])
        lowered = _lowered(told, meter)
        until = scope.time_words(entry.at + NOTICE_US)
        yield Item("notice due", entry.at, None, meter,
                   f"{meter} was lowered{lowered}: the regulator is told of entry {notice} in writing by {until}",
                   entry.number)


def _lowered(told: Mapping[str, Mapping[str, Mapping[str, int]]], meter: str) -> str:
    before, after = (told.get(name, {}).get(meter, {}) for name in ("before", "after"))
    fell = before.get("display", 0) - after.get("display", 0)
    return f" by {format_microcents(fell)}" if fell > 0 else ""


def _openings(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """New meters whose opening nobody has accepted, or not even entered."""
    known: set[str] = set()
    asked: dict[str, Entry] = {}
    for entry in _before(reading, book, _OPENINGS, scope):
        body = body_of(entry)
        meter = str(body["meter"] if entry.kind == "opening" else body["fields"]["meter"])
        if entry.kind == "opening-entered":
            asked[meter] = entry
        else:
            known.add(meter)
            asked.pop(meter, None)
    for meter, entry in asked.items():
        body = body_of(entry)
        base = format_cents(body["fields"]["base"])
        yield Item("opening", entry.at, None, meter, f"the opening of {meter} with {base}, entered by "
                   f"{people_of(body)}: another department accepts it", entry.number)
    config = next(iter(list(_before(reading, book, frozenset(("config",)), scope))[::-1]), None)
    for plan in reading.plan_before(book, scope.end).meters.values():
        if config is not None and plan.book == book and plan.id not in known and plan.id not in asked:
            yield Item("opening", config.at, None, plan.id, f"the jackpot {plan.id} is not opened yet: its opening "
                       "is entered, and accepted by another department", config.number)


def _proposed_people(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """People and rights that one has proposed and nobody has enabled."""
    waiting: dict[str, Entry] = {}
    for entry in _before(reading, book, _PEOPLE, scope):
        name = str(body_of(entry)["fields"]["id"])
        if entry.kind.endswith("-proposed"):
            waiting[name] = entry
        else:
            waiting.pop(name, None)
    for name, entry in waiting.items():
        body = body_of(entry)
        what = "as a new person" if entry.kind == "person-proposed" else "with other rights"
        fields = body["fields"]
        yield Item("proposal", entry.at, None, None, f"{name} {what} ({fields['role']}, {fields['department']}), "
                   f"proposed by {people_of(body)}: another department enables it", entry.number)


def _proposed_configurations(reading: Reading, book: str, scope: Scope) -> Iterator[Item]:
    """Configurations that one has proposed and nobody has activated."""
    waiting: dict[str, Entry] = {}
    for entry in _before(reading, book, _CONFIGS, scope):
        body = body_of(entry)
        if entry.kind == "config-proposed":
            waiting[str(body["told"]["hash"])] = entry
        else:
            waiting.pop(str(body["fields"]["hash"]), None)
    for name, entry in waiting.items():
        yield Item("proposal", entry.at, None, None, f"configuration {name[:12]}, proposed by "
                   f"{people_of(body_of(entry))}: another department activates it", entry.number)
