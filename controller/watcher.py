"""The watch of a running daemon: once a second, what is wrong now is compared with the alarms that stand.

What changes becomes an entry in the alarm's book, and is told on (``tell``) once that entry is durable. Where a book
takes no entries (it is stopped, or the ledger cannot be written), its alarms are kept aside and told at once; they
become entries when the book takes some again. A loose cable cannot flood the ledger (SD-09): see the bounds below.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from controller import drift
from controller.alarm_board import AlarmBoard
from controller.alarms import (
    Alarm,
    Key,
    State,
    Step,
    alarm_of,
    alarms_of,
    book_of,
    clear_alarm,
    cleared,
    escalate,
    escalated,
    next_rung_at,
    raise_alarm,
    raised,
    table_of,
)
from controller.books import Books
from controller.floor import Floor
from controller.plan import FloorPlan
from controller.snapshot import Snapshot
from controller.watch import Condition, Happened, Spans, Told, conditions
from controller.wiring import SignPlan

SECOND_US = 1_000_000
AGAIN_US = 60 * SECOND_US
"""What happens again is counted up by at most one entry in so long."""
FLAPS = 4
"""An alarm raised so often within ``FLAPS_US`` comes and goes: it stands until its cause was gone for ``QUIET_US``."""
FLAPS_US = 3_600 * SECOND_US
QUIET_US = 600 * SECOND_US
LOOK_BACK_US = 86_400 * SECOND_US
"""At a start, what happened longer ago and never was an alarm is left to the notes."""


class News(NamedTuple):
    """One step of an alarm, to be told to ``roles`` (by their words)."""

    step: Step
    alarm: Alarm
    roles: tuple[str, ...]
    at: int


class Watcher:
    """All alarms of one daemon. Every method belongs to the event loop's thread; times are UTC microseconds.

    ``board``: what is durable; ``tell`` gets every step; ``signs``: whose amounts are compared with their meters.
    """

    def __init__(
        self, plan: FloorPlan, books: Books, board: AlarmBoard, tell: Callable[[News], None],
        signs: Sequence[SignPlan] = (),
    ) -> None:
        self._plan, self._books, self._board, self._tell, self._sign_plans = plan, books, board, tell, signs
        self.chances: Mapping[str, Fraction] = {}
        """The chance of a hit per wager, by meter; empty until somebody has reckoned it (``drift.chances_of``)."""
        self.aside: dict[Key, Alarm] = {}
        """Alarms of books that take no entries now."""
        self._home: dict[Key, str] = {}
        self._spans = Spans()
        self._first_seen: dict[Key, int] = {}
        self._gone_since: dict[Key, int] = {}
        self._came_again: dict[Key, int] = {}
        self._raises: dict[Key, deque[int]] = {}
        self._entered_at: dict[Key, int] = {}
        self._due: dict[Key, Happened] = {}
        self._counted: dict[Key, Happened] = {}
        """Entered, and not known to be durable."""
        self._news: list[News] = []

    def alarms(self) -> list[Alarm]:
        """Every alarm that people should see: durable ones, the last cleared of each kind too, and those kept aside."""
        return list({**self._board.alarms, **self.aside}.values())

    def look(self, snapshot: Snapshot, told: Told, now: int) -> None:
        """Compare, enter and tell what has changed; once a second."""
        self._begin_drift()
        self._spans.note(snapshot)
        found = self._found(snapshot, told, now)
        standing = {}
        for book, floor in self._books.floors.items():
            kept = alarms_of(floor)
            standing.update(kept)
            self._home.update(dict.fromkeys(kept, book))
        for condition in found.values():
            self._holds(condition, now)
        for key in {**standing, **self.aside}:
            if key not in found:
                self._does_not_hold(key, now)
        for key, happened in self._happened(snapshot.at, standing).items():
            self._again(key, happened, now)
        for key in {**standing, **self.aside}:
            self._escalate(key, now)
        self._let_go()
        self._tell_news()

    # ------------------------------------------------------------------ what is so

    def _begin_drift(self) -> None:
        for book, floor in self._books.floors.items():
            if drift.needs_begin(floor):
                self._books.enter(book, drift.begin)

    def _found(self, snapshot: Snapshot, told: Told, now: int) -> dict[Key, Condition]:
        found = conditions(snapshot, told, self._sign_plans, self._spans)
        begins = {}
        for floor in self._books.floors.values():
            rows = floor.rows.get(drift.ROW, {})
            known = {meter: drift.begun(rows, floor.plan_entry, meter) for meter in floor.meters}
            begins.update({meter: figures for meter, figures in known.items() if figures is not None})
        for one in drift.drifts(snapshot, begins, self.chances):
            found[one.kind, one.place] = one
        self._first_seen = {key: self._first_seen.get(key, now) for key in found}
        return found

    def _alarm(self, key: Key) -> Alarm | None:
        """The alarm as the engine has it now, or as it is kept aside."""
        return self.aside.get(key) or alarm_of(self._floor(key), *key)

    def _floor(self, key: Key) -> Floor:
        """The book of an alarm: where it is kept already, else where it belongs."""
        return self._books.floors[self._home.get(key) or book_of(self._plan, *key)]

    # ------------------------------------------------------------------ conditions

    def _holds(self, condition: Condition, now: int) -> None:
        key = (condition.kind, condition.place)
        if self._gone_since.pop(key, None) is not None:
            self._came_again[key] = self._came_again.get(key, 0) + 1
        alarm = self._alarm(key)
        if alarm is not None and alarm.state in (State.RAISED, State.ACKNOWLEDGED):
            if key in self.aside:
                self._write_aside(key)
            return
        since = condition.since if condition.since is not None else self._first_seen[key]
        made = raised(alarm, *key, condition.what, now, since=since)
        if now - since >= made.told_of.after_s * SECOND_US:
            self._raises.setdefault(key, deque(maxlen=FLAPS)).append(now)
            self._raise(made, now, since)

    def _does_not_hold(self, key: Key, now: int) -> None:
        if key in self.aside:
            self._write_aside(key)
        alarm = self._alarm(key)
        if alarm is None or alarm.told_of.momentary or alarm.state not in (State.RAISED, State.ACKNOWLEDGED):
            return
        gone_since = self._gone_since.setdefault(key, now)
        if self._flaps(key, now) and now - gone_since < QUIET_US:
            return
        del self._gone_since[key]
        more = self._came_again.pop(key, 0)
        self._clear(key, cleared(alarm, now, more=more), now, more)

    def _flaps(self, key: Key, now: int) -> bool:
        raises = self._raises.get(key)
        return raises is not None and len(raises) == FLAPS and now - raises[0] < FLAPS_US

    # ------------------------------------------------------------------ what has happened

    def _happened(self, at: int, standing: Mapping[Key, Alarm]) -> dict[Key, Happened]:
        """What has happened and is in no alarm yet; what was entered and not written comes back (a failed commit)."""
        for key, one in self._board.happenings.take().items():
            before = self._due.get(key)
            self._due[key] = one if before is None else before.and_then(one)
        for key, one in list(self._counted.items()):
            durable = self._board.alarms.get(key)
            if durable is not None and durable.entry >= one.latest:
                del self._counted[key]
            elif key not in standing or standing[key].entry < one.latest:
                later = self._due.get(key)
                self._due[key] = one if later is None else one.and_then(later)
                del self._counted[key]
        for key, one in list(self._due.items()):
            alarm = standing.get(key)
            counted = alarm is not None and alarm.entry >= one.latest
            if counted or (alarm is None and one.at < at - LOOK_BACK_US):
                del self._due[key]
        return dict(self._due)

    def _again(self, key: Key, happened: Happened, now: int) -> None:
        floor = self._floor(key)
        if self._books.why_closed(floor.book) or now - self._entered_at.get(key, now - AGAIN_US) < AGAIN_US:
            return  # its own entry is durable: it is counted later
        alarm = self._alarm(key)
        counted = alarm.entry if alarm is not None else 0
        # Of what is read back at a start a part may have been counted before.
        times = happened.times if happened.first > counted else 1
        self._entered_at[key] = now
        before = self._counted.get(key)
        self._counted[key] = happened if before is None else before.and_then(happened)
        del self._due[key]
        made = raised(alarm, *key, happened.what, now, entry=happened.latest, count=times)
        self._raise(made, now, None, times)

    # ------------------------------------------------------------------ escalation

    def _escalate(self, key: Key, now: int) -> None:
        alarm = self._alarm(key)
        due = next_rung_at(alarm) if alarm is not None else None
        if alarm is None or due is None or now < due:
            return
        made = escalated(alarm)
        to = tuple([role.value for role in made.told_of.ladder[made.rung].roles])
        if self._enter(key, lambda floor, at: escalate(floor, *key, to, at, table=table_of(*key))):
            self._news.append(News(Step.ESCALATED, made, to, now))
        else:
            self._put_aside(made, News(Step.ESCALATED, made, to, now))

    # ------------------------------------------------------------------ into the book, or aside

    def _raise(self, made: Alarm, now: int, since: int | None, count: int = 1) -> None:
        key, first = made.key, tuple([role.value for role in made.told_of.ladder[0].roles])
        news = News(Step.RAISED, made, first, now)
        entered = self._enter(key, lambda floor, at: raise_alarm(
            floor, *key, made.what, at, since=since, entry=made.entry, count=count, table=table_of(*key)))
        if entered:
            self._news.append(news)
        else:
            self._put_aside(made, news)

    def _clear(self, key: Key, made: Alarm, now: int, more: int) -> None:
        told = tuple([role.value for rung in made.told_of.ladder[: made.rung + 1] for role in rung.roles])
        news = News(Step.CLEARED, made, told, now)
        if self._enter(key, lambda floor, at: clear_alarm(floor, *key, at, more=more, table=table_of(*key))):
            self._news.append(news)
        else:
            self._put_aside(made, news)

    def _enter(self, key: Key, change: Callable[[Floor, int], object]) -> bool:
        """Make an entry; False when the alarm is kept aside, or its book takes none now."""
        book = self._floor(key).book
        if key in self.aside or self._books.why_closed(book):
            return False
        self._books.enter(book, change)
        return True

    def _put_aside(self, made: Alarm, news: News) -> None:
        self.aside[made.key] = made
        self._tell(news)

    def _write_aside(self, key: Key) -> None:
        """Make the entries that a book could not take: the alarm as it was raised, and what became of it."""
        floor, alarm = self._floor(key), self.aside[key]
        if self._books.why_closed(floor.book):
            return
        del self.aside[key]
        self._books.enter(floor.book, lambda one, at: catch_up(one, alarm, at))

    # ------------------------------------------------------------------ telling, and letting go

    def _tell_news(self) -> None:
        news, self._news = self._news, []

        def told() -> None:
            for one in news:
                self._tell(one)

        if news:
            self._books.when_durable(told)

    def _let_go(self) -> None:
        """Keep memory only of alarms that are: keys come from the table of kinds and the plan's places."""
        for kept in (self._came_again, self._gone_since):
            for key in [key for key in kept if (alarm := self._alarm(key)) is None or not alarm.stands]:
                del kept[key]


def catch_up(floor: Floor, alarm: Alarm, at: int) -> None:
    """Enter everything by which an alarm that was kept aside is further than its book: raised, told on, cleared."""
    key, table = alarm.key, table_of(*alarm.key)
    before = alarm_of(floor, *key)
    if before is None or before.state not in (State.RAISED, State.ACKNOWLEDGED):
        counted = before.count if before is not None and before.stands else 0
        before = raise_alarm(
            floor, *key, alarm.what, at, since=alarm.since, count=max(1, alarm.count - counted), table=table)
    for rung in alarm.told_of.ladder[before.rung + 1 : alarm.rung + 1]:
        escalate(floor, *key, [role.value for role in rung.roles], at, table=table)
    if alarm.state in (State.GONE, State.CLEARED):
        clear_alarm(floor, *key, at, table=table)
