"""What is wrong now, and what has happened that people must see: from durable views and entries alone. Pure.

``Condition``: holds as long as its cause does (a table offline, a meter at its limit). ``Happened``: is over when it is
seen (a misdeal, a refused lock-out), and comes from one entry. Both name a kind of ``controller.alarm_kinds``.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from controller.alarm_kinds import FLOOR
from controller.alarm_plan import AWARD_MINUTES, CERTIFICATE_DAYS
from controller.alarms import Key
from controller.journal import Entry
from controller.money import format_cents, whole_cents
from controller.refusal import WORDS, Refusal
from controller.snapshot import LineState, SignHealth, Snapshot
from controller.wiring import SignPlan

MINUTE_US = 60_000_000
STUCK_US = 2_000_000
"""The writer is slow when it has been at one batch for so long."""
SLOW_COMMITS = 3
"""Commits over half a second in the last minute that make the ledger slow."""
SIGN_SPAN_US = 15_000_000
"""A sign may show any amount that its meter had in so long: a line of a LED sign is written now and then (D15)."""
SIGN_SAMPLES = 64
LOSSES = 6
"""A table unit that was lost so often within ``LOSSES_US`` comes and goes: it rings however short each silence is."""
LOSSES_US = 600_000_000
STEADY_US = 300_000_000
"""A unit that was not lost for so long comes and goes no more."""
GUESSES = 8
"""Refused sign-ins in a burst that are an alarm (WE-05)."""


class Condition(NamedTuple):
    """Something that is wrong at a place, in words; ``since`` when it began, None: when it is first seen."""

    kind: str
    place: str
    what: str
    since: int | None = None


class Told(NamedTuple):
    """What the views cannot know; the daemon tells it. None: not known."""

    clock_synchronised: bool | None = None
    certificate_days: int | None = None
    """Days that the certificate which ends first has left; below 0: it has ended."""
    stuck_us: int = 0
    """How long the writer has been at its present batch, in microseconds."""
    slow_commits: int = 0
    """Commits over half a second in the last minute."""
    award_minutes: int = AWARD_MINUTES
    certificate_warn_days: int = CERTIFICATE_DAYS
    not_told: Mapping[str, str] = MappingProxyType({})
    """By way (mail, webhook): why alarms do not get through to everybody by it."""
    file: str = ""
    """What of the file on the box is not in use, and why; or empty."""


def conditions(
    snapshot: Snapshot, told: Told, signs: Sequence[SignPlan] = (), spans: "Spans | None" = None
) -> dict[Key, Condition]:
    """Everything that holds at the snapshot's time, by kind and place; drift apart (``controller.drift``)."""
    found = [
        *_books(snapshot, told), *_tables(snapshot, spans), *_signs(snapshot), *_differences(snapshot, signs, spans),
        *_awards(snapshot, told), *_limits(snapshot), *_host(told)]
    return {(one.kind, one.place): one for one in found}


def _books(snapshot: Snapshot, told: Told) -> Iterator[Condition]:
    if snapshot.stopped:
        yield Condition("books-stopped", FLOOR, f"No wagers and no awards are taken: {snapshot.stopped}")
    if snapshot.trouble:
        yield Condition("ledger-failing", FLOOR, f"No wagers are taken: {snapshot.trouble}")
    if told.stuck_us >= STUCK_US or told.slow_commits >= SLOW_COMMITS:
        seconds = max(told.stuck_us, 500_000) // 1_000_000
        yield Condition("ledger-slow", FLOOR, f"Writing the ledger takes {seconds} s" if seconds else
                        f"{told.slow_commits} times in a minute writing the ledger took more than half a second")


def _tables(snapshot: Snapshot, spans: "Spans | None") -> Iterator[Condition]:
    for table in snapshot.tables.values():
        name = table.plan.id
        device = snapshot.devices.get(table.plan.device)
        begun = spans.comes_and_goes(name) if spans is not None else None
        # A table that people have closed may be dark.
        if table.closed:
            pass
        elif begun is not None:
            what = f"The table unit of {name} was lost {LOSSES} times in {LOSSES_US // MINUTE_US} minutes"
            yield Condition("table-offline", name, what, begun)
        elif device is None or device.state is not LineState.LIVE:
            since = max(device.heard_at if device is not None else 0, snapshot.started_at)
            yield Condition("table-offline", name, f"The table unit of {name} is not heard", since)
        if table.loss:
            kind = "messages-lost" if table.loss.startswith(_LOST) else "totals-differ"
            yield Condition(kind, name, f"{name}: {table.loss}")


_LOST = "the table unit has lost"
"""How the board's words of a loss begin, as told from those of a difference of totals (``board.loss_words``)."""


def _signs(snapshot: Snapshot) -> Iterator[Condition]:
    """Each sign for itself, never a group (D27)."""
    for sign in snapshot.signs.values():
        if not sign.up:
            last = f"; it was last told {sign.told}" if sign.told else ""
            yield Condition("sign-not-reached", sign.sign, f"Sign {sign.sign} is not reached{last}")


def _awards(snapshot: Snapshot, told: Told) -> Iterator[Condition]:
    """The award that has waited longest at each table (D1): ``waiting`` has the oldest first."""
    limit = told.award_minutes * MINUTE_US
    for award in reversed(snapshot.waiting):
        if snapshot.at - award.at >= limit:
            what = f"Game {award.game}, seat {award.seat}: {format_cents(award.total_cents)} has waited"
            yield Condition("award-waiting", award.table, f"{what} for {told.award_minutes} minutes", award.at)


def _limits(snapshot: Snapshot) -> Iterator[Condition]:
    for meter in snapshot.meters.values():
        limit = meter.plan.limit_cents
        if limit is not None and whole_cents(meter.display_microcents) >= limit:
            yield Condition("limit-reached", meter.plan.id, f"{meter.plan.name} stands at {format_cents(limit)}")


def _host(told: Told) -> Iterator[Condition]:
    if told.file:
        yield Condition("file-not-in-use", FLOOR, told.file)
    if told.clock_synchronised is False:
        yield Condition("clock-unsynchronised", FLOOR, "The box's clock is not kept by any time service")
    days = told.certificate_days
    if days is not None and days <= told.certificate_warn_days:
        what = f"A certificate ends in {days} days" if days >= 0 else "A certificate has ended"
        yield Condition("certificate-ending", FLOOR, what)
    if told.not_told:
        ways = " and ".join(f"{way} ({why})" for way, why in told.not_told.items())
        yield Condition("alarms-not-told", FLOOR, f"Alarms do not get through by {ways}")


# ---------------------------------------------------------------------- sign against meter


class Spans:
    """What was so lately: each meter's amounts, so that a sign a moment behind is not taken for a wrong one (D15), and
    when each table unit was lost. At most ``SIGN_SAMPLES`` amounts of a meter and ``LOSSES`` of a unit are kept."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[int, int]]] = {}
        self._live: frozenset[str] = frozenset()
        self._lost: dict[str, deque[int]] = {}
        self._comes_and_goes: dict[str, int] = {}

    def note(self, snapshot: Snapshot) -> None:
        """Take note of every meter and table unit."""
        self._note_units(snapshot)
        for name, meter in snapshot.meters.items():
            cents = whole_cents(meter.display_microcents)
            seen = self._seen.setdefault(name, [])
            if not seen or seen[-1][1] != cents:
                seen.append((snapshot.at, cents))
            # The amount before the span's begin still stood when it began.
            while len(seen) > 1 and (seen[1][0] < snapshot.at - SIGN_SPAN_US or len(seen) > SIGN_SAMPLES):
                del seen[0]

    def _note_units(self, snapshot: Snapshot) -> None:
        live = frozenset([device.table for device in snapshot.devices.values() if device.state is LineState.LIVE])
        for table in self._live - live:
            self._lost.setdefault(table, deque(maxlen=LOSSES)).append(snapshot.at)
        self._live = live
        often = [table for table, lost in self._lost.items() if len(lost) == LOSSES
                 and snapshot.at - lost[0] < LOSSES_US and snapshot.at - lost[-1] < STEADY_US]
        self._comes_and_goes = {table: self._comes_and_goes.get(table, self._lost[table][0]) for table in often}

    def comes_and_goes(self, table: str) -> int | None:
        """Since when a table's unit is lost again and again (UTC microseconds); None when it is not."""
        return self._comes_and_goes.get(table)

    def bounds(self, meter: str) -> tuple[int, int] | None:
        """The lowest and highest cents that a meter had in the span; None before the first note."""
        seen = [cents for _, cents in self._seen.get(meter, ())]
        return (min(seen), max(seen)) if seen else None


def _differences(snapshot: Snapshot, signs: Sequence[SignPlan], spans: Spans | None) -> Iterator[Condition]:
    for sign in signs if spans is not None else ():
        health = snapshot.signs.get(sign.id)
        told = shown_cents(health, len(sign.meters)) if health is not None and health.up else None
        for meter, cents in zip(sign.meters, told or (), strict=False):
            span = spans.bounds(meter) if spans is not None else None
            most = 10**sign.digits - 1
            if span is not None and not min(span[0], most) <= cents <= min(span[1], most):
                what = f"Sign {sign.id} was told {format_cents(cents)}, meter {meter} stands at {format_cents(span[1])}"
                yield Condition("sign-differs", sign.id, what)
                break


def shown_cents(health: SignHealth, meters: int) -> list[int] | None:
    """The amounts that a sign was last told, in cents; None when it was told words (an award, NOT LIVE)."""
    parts = health.told.replace(" / ", ", ").split(", ") if health.told else []
    digits = [part.strip().removeprefix("$").replace(",", "").replace(".", "") for part in parts]
    if len(parts) != meters or not all(part.isascii() and part.isdigit() for part in digits):
        return None
    return [int(part) for part in digits]


# ---------------------------------------------------------------------- what has happened


class Happened(NamedTuple):
    """Something over when it is seen: how many ``times``, the entries of the first and the latest, when that was."""

    kind: str
    place: str
    what: str
    first: int
    latest: int
    at: int
    times: int = 1

    def and_then(self, later: "Happened") -> "Happened":
        """The same again: the latest words, counted together."""
        return later._replace(first=self.first, times=self.times + later.times)


HAPPENS = frozenset(("count", "void", "hits", "refused", "fault", "held", "sign-in-refused", "sign-read"))
"""Kinds of entries that can be an alarm by themselves."""


def happened(entry: Entry, body: Mapping[str, Any]) -> Happened | None:
    """The alarm that an entry is by itself, or None."""
    table = entry.table or FLOOR
    made = _told_of(entry, body, f"Game {entry.game}: " if entry.game else "")
    return None if made is None else Happened(made[0], made[2] or table, made[1], entry.number, entry.number, entry.at)


def _told_of(entry: Entry, body: Mapping[str, Any], game: str) -> tuple[str, str, str] | None:
    """Kind, words, and the place if it is not the entry's table."""
    if entry.kind == "count" and "difference" in body:
        counted = f"{body['message']['chips']} chips counted, {body['accepted']} wagers accepted"
        return "chip-difference", game + counted, ""
    if entry.kind == "void":
        why = body.get("message", {}).get("reason", "")
        return "misdeal", f"{game}misdealt" + (f": {why}" if why else ""), ""
    if entry.kind == "hits" and body.get("apart"):
        return "settled-apart", f"{game}another game took from the meter in between", ""
    if entry.kind in ("refused", "fault"):
        return _not_taken(entry.kind, body)
    if entry.kind == "held" and body["message"].get("type") == "hits":
        return "hit-waits", "Messages before it are missing", ""
    if entry.kind == "sign-in-refused" and _guesses(body) >= GUESSES:
        return "sign-in-guessed", f"{_guesses(body)} sign-ins refused one after the other", FLOOR
    if entry.kind == "sign-read" and body["told"]["difference"]:
        read, holds = format_cents(body["fields"]["read"]), format_cents(body["told"]["meter"])
        return "reading-differs", f"{read} was read, {holds} is recorded", body["fields"]["meter"]
    return None


def _not_taken(entry_kind: str, body: Mapping[str, Any]) -> tuple[str, str, str] | None:
    reason = Refusal(body["reason"])
    what = WORDS[reason][0]
    said = body.get("message", {})
    if entry_kind == "fault" or reason is Refusal.MALFORMED or "malformed" in said:
        return "unit-fault", what, ""
    kind = {"hits": "hit-refused", "lock": "lock-refused"}.get(said.get("type", ""))
    return None if kind is None else (kind, what, "")


def _guesses(body: Mapping[str, Any]) -> int:
    """How many refused sign-ins an entry stands for: the first of a burst is written, then each doubling (SD-09)."""
    for part in ("told", "fields"):
        count = body.get(part, {}).get("count")
        if type(count) is int:
            return count
    return 1


class Happenings:
    """What has happened and is not yet an alarm in the ledger, by kind and place: bounded by the table of kinds."""

    def __init__(self) -> None:
        self.due: dict[Key, Happened] = {}

    def learn(self, entries: Iterable[tuple[Entry, Mapping[str, Any]]]) -> None:
        """Take in durable entries with their bodies, in their order."""
        for entry, body in entries:
            found = happened(entry, body) if entry.kind in HAPPENS else None
            if found is not None:
                key = (found.kind, found.place)
                before = self.due.get(key)
                self.due[key] = found if before is None else before.and_then(found)

    def take(self) -> dict[Key, Happened]:
        """Everything since the last time, and forget it."""
        taken, self.due = self.due, {}
        return taken
