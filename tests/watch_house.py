"""A watch without a disk: a real engine whose entries are durable at once or not at all, and time as the test says."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from demo_snapshot import NOW, SECOND, device, quiet_snapshot

from controller.acts import Act
from controller.alarm_acts import ALARM_RULES
from controller.alarm_board import AlarmBoard
from controller.alarms import Alarm, alarms_of
from controller.floor import Floor
from controller.journal import Entry
from controller.people import Person, Role
from controller.snapshot import DeviceView, LineState, Snapshot
from controller.watch import Told
from controller.watcher import News, Watcher
from controller.wiring import SignPlan


class Shelf:
    """Books that write at once. ``closed``: they take no entries; ``fails``: what is entered is lost."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.plan, self.at = snapshot.plan, snapshot.at
        self.floors = {book: Floor.opened(snapshot.plan, book, 1) for book in snapshot.plan.books}
        for floor in self.floors.values():
            floor.drain()
        self.board = AlarmBoard()
        self.entries: list[Entry] = []
        self.closed, self.fails = "", False

    def why_closed(self, book: str) -> str:
        return self.closed

    def enter(self, book: str, change: Callable[[Floor, int], object]) -> None:
        if self.closed:
            return
        floor = self.floors[book]
        rows = dict(floor.rows.get("alarm", {}))
        change(floor, self.at)
        entries, states = floor.drain()
        if self.fails:
            floor.rows["alarm"] = rows
            floor.number -= len(entries)
            return
        self.entries += entries
        for entry in entries:
            self.board.learn_entry(entry, json.loads(entry.body))
        self.board.learn_rows([row for row in states if row.kind == "alarm"])

    def when_durable(self, callback: Callable[[], object]) -> None:
        if not self.fails:
            callback()


def even_snapshot() -> Snapshot:
    """A quiet floor whose stand-alone meter has what its wagers contributed: 28 cents each."""
    quiet = quiet_snapshot()
    solo = quiet.meters["pg-solo"]
    even = replace(solo, contributed_microcents=solo.wagers * 28 * 1_000_000)
    return replace(quiet, meters={**quiet.meters, "pg-solo": even})


class WatchHouse:
    """A watcher, what it tells, and the snapshot that it looks at once a second."""

    def __init__(self, snapshot: Snapshot | None = None, signs: tuple[SignPlan, ...] = ()) -> None:
        self.snapshot = snapshot or even_snapshot()
        self.shelf = Shelf(self.snapshot)
        self.news: list[News] = []
        self.told = Told()
        self.signs = signs
        self.watcher = self._watcher()

    def _watcher(self) -> Watcher:
        return Watcher(self.shelf.plan, self.shelf, self.shelf.board, self.news.append, self.signs)  # type: ignore[arg-type]

    def restart(self) -> None:
        """The daemon ends and starts again on the same ledger."""
        before = self.shelf.board
        self.shelf.board = AlarmBoard()
        self.shelf.board.alarms = dict(before.alarms)
        self.watcher = self._watcher()
        self.change(started_at=self.snapshot.at)

    def change(self, **changes: Any) -> None:
        self.snapshot = replace(self.snapshot, **changes)

    def look(self, seconds: int = 1, **changes: Any) -> None:
        """Look once a second, for so long; lines that are live stay heard."""
        self.change(**changes)
        for _ in range(seconds):
            self.shelf.at += SECOND
            self.change(at=self.shelf.at)
            self.watcher.look(self.snapshot, self.told, self.shelf.at)

    def alarm(self, kind: str, place: str) -> Alarm | None:
        return next((one for one in self.watcher.alarms() if one.key == (kind, place)), None)

    def standing(self) -> set[str]:
        """``kind/place`` of every alarm that is not over."""
        return {f"{one.kind}/{one.place}" for one in self.watcher.alarms() if one.stands}

    def steps(self, kind: str) -> list[str]:
        """The steps that were told of a kind."""
        return [one.step.value for one in self.news if one.alarm.kind == kind]

    def entered(self, kind: str = "") -> list[str]:
        """The steps that the ledger has, of a kind."""
        made = [json.loads(entry.body) for entry in self.shelf.entries if entry.kind == "alarm"]
        return [body["step"] for body in made if not kind or body["alarm"] == kind]

    def happens(self, entry_kind: str, body: dict[str, Any], table: str | None = "PG-01", game: int | None = 7) -> int:
        """An entry of a table becomes durable; returns its number."""
        floor = self.shelf.floors["main"]
        entry = floor.enter(entry_kind, self.shelf.at, table=table, game=game, body=body)
        floor.drain()
        self.shelf.board.learn_entry(entry, body)
        return entry.number

    def kept(self) -> dict[Any, Alarm]:
        """The alarms in the ledger's rows."""
        return {key: alarm for floor in self.shelf.floors.values() for key, alarm in alarms_of(floor).items()}


CARL = Person("carl", Role.SHIFT_MANAGER, "table-games")


def silent(snapshot: Snapshot, table: str = "PG-01", since: int = NOW) -> dict[str, DeviceView]:
    """The units, with that of one table not heard since a moment."""
    gone = device(snapshot.plan, table, state=LineState.OFFLINE, heard_at=since)
    return {**snapshot.devices, snapshot.plan.tables[table].device: gone}


def live(snapshot: Snapshot) -> dict[str, DeviceView]:
    """The units, all heard."""
    return {name: replace(one, state=LineState.LIVE) for name, one in snapshot.devices.items()}


def unheard(snapshot: Snapshot) -> dict[str, DeviceView]:
    """As after a start: nothing is known of the unit of PG-01."""
    return {name: one for name, one in snapshot.devices.items() if one.table != "PG-01"}


def acknowledge(house: WatchHouse, kind: str, place: str) -> None:
    """The shift manager acknowledges an alarm."""
    act = Act("alarm-acknowledged", "act-00000001", CARL, None, None, {"alarm": kind, "place": place})
    house.shelf.enter("main", lambda floor, at: ALARM_RULES[act.kind](floor, act, at))
