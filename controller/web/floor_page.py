"""The floor page: what is wrong, what the meters are, and every table; in parts that are rendered when they change.

The same parts make the first page and its live updates, so the two cannot differ.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment

from controller.alarms import Alarm
from controller.snapshot import AwardView, DeviceView, LineState, Note, Snapshot, TableView
from controller.web.problems import problems

NOTES_FIRST = 8
NOTES_MAX = 40
AWARDS_MAX = 12
WAITS_FIRST = 4
"""Awards that wait longest, at the top of the page."""
WINS_MAX = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Times of day as the floor's wall clock has them; another day than ``today`` is named (DI-03)."""

    zone: ZoneInfo
    today: date

    def local(self, at: int) -> datetime:
        """UTC microseconds as the floor's local time."""
        return (_EPOCH + timedelta(microseconds=at)).astimezone(self.zone)

    def text(self, at: int) -> str:
        """``15:32:11``, or ``2026-12-31 15:32:11`` on another day."""
        local = self.local(at)
        return local.strftime("%H:%M:%S" if local.date() == self.today else "%Y-%m-%d %H:%M:%S")

    def iso(self, at: int) -> str:
        """The time with its offset, for machines."""
        return self.local(at).isoformat(timespec="seconds")


def clock_of(snapshot: Snapshot) -> Clock:
    """The clock of a snapshot's floor on the snapshot's day."""
    zone = snapshot.plan.timezone
    return Clock(zone, Clock(zone, date.min).local(snapshot.at).date())


@dataclass(frozen=True, slots=True)
class Seat:
    """One seat's bet of a spot: ``lit`` in the open game, or with a ``chip`` on its sensor now."""

    number: int
    lit: bool
    chip: bool


@dataclass(frozen=True, slots=True)
class TableCard:
    """A table and its line as one card. ``heard_at`` is 0 while the line is live or was never heard."""

    view: TableView
    line: LineState
    heard_at: int
    playable: bool
    why: str
    spots: tuple[tuple[str, tuple[Seat, ...]], ...]


@dataclass(frozen=True, slots=True)
class WinLine:
    """One game's awards together, in cents; ``hands`` names each seat's hand."""

    table: str
    game: int
    at: int
    hands: tuple[tuple[int, str], ...]
    awards_cents: int
    envy_cents: int


class FloorPage:
    """Renders the parts of the page, keeping each part until what it shows has changed."""

    def __init__(self, templates: Environment):
        self._templates = templates
        self._kept: dict[str, tuple[dict[str, Any], str]] = {}

    def parts(self, snapshot: Snapshot, alarms: Sequence[Alarm] = ()) -> dict[str, str]:
        """The HTML of every part by its name, in the order of the page. ``alarms``: those that wait for somebody."""
        clock = clock_of(snapshot)
        found = problems(snapshot, clock.text)
        shown = {
            "top": self._part(
                "top", "part_top.html", problems=found, clock=clock, waits=snapshot.waiting[:WAITS_FIRST],
                alarms=len(alarms), rings=any(alarm.told_of.stops for alarm in alarms), **_figures(snapshot)),
            "awards": self._part("awards", "part_awards.html", clock=clock, **_awards(snapshot)),
            "wins": self._part("wins", "part_wins.html", clock=clock, wins=tuple(_wins(snapshot))),
            "notes": self._part("notes", "part_notes.html", clock=clock, first=NOTES_FIRST, notes=_notes(snapshot)),
            "signs": self._part("signs", "part_signs.html", signs=_signs(snapshot)),
        }
        for meter in snapshot.meters.values():
            name = f"meter-{meter.plan.id}"
            shown[name] = self._part(name, "part_meter.html", meter=meter)
        for table in snapshot.tables.values():
            name = f"table-{table.plan.id}"
            card = _card(table, snapshot.devices.get(table.plan.device))
            shown[name] = self._part(name, "part_table.html", card=card, clock=clock)
        self._kept = {name: kept for name, kept in self._kept.items() if name in shown}
        return shown

    def _part(self, part: str, template: str, **shown: Any) -> str:
        kept = self._kept.get(part)
        if kept is None or kept[0] != shown:
            kept = (shown, self._templates.get_template(template).render(**shown))
            self._kept[part] = kept
        return kept[1]


def _figures(snapshot: Snapshot) -> dict[str, int]:
    devices = [snapshot.devices.get(table.device) for table in snapshot.plan.tables.values()]
    return {
        "tables": len(devices),
        "playable": sum(1 for device in devices if device is not None and device.playable),
        "live": sum(1 for device in devices if device is not None and device.state is LineState.LIVE),
        "games": sum(1 for table in snapshot.tables.values() if table.open_game is not None),
        "pending": snapshot.pending_awards,
    }


def _card(table: TableView, device: DeviceView | None) -> TableCard:
    game = table.open_game
    lit = {(seat, spot) for seat, spot, _ in game.wagers} if game is not None else set()
    chips = set(device.bets) if device is not None else set()
    spots = tuple(
        (spot.id, tuple(Seat(n, (n, spot.id) in lit, (n, spot.id) in chips) for n in range(1, table.plan.seats + 1)))
        for spot in table.plan.spots
    )
    if device is None:
        return TableCard(table, LineState.OFFLINE, 0, False, "the table unit was never heard", spots)
    heard_at = 0 if device.state is LineState.LIVE else device.heard_at
    return TableCard(table, device.state, heard_at, device.playable, table.loss or device.reason, spots)


def _awards(snapshot: Snapshot) -> dict[str, Any]:
    names = {meter.plan.id: meter.plan.name for meter in snapshot.meters.values()}
    return {"awards": snapshot.waiting[: -AWARDS_MAX - 1 : -1], "pending": snapshot.pending_awards, "names": names}


def _wins(snapshot: Snapshot) -> Iterable[WinLine]:
    def game(award: AwardView) -> tuple[str, int]:
        return award.table, award.game

    envy: dict[tuple[str, int], int] = {}
    for due in snapshot.envy:
        envy[due.table, due.game] = envy.get((due.table, due.game), 0) + due.cents
    lines = []
    for (table, number), group in groupby(sorted(snapshot.awards, key=game), key=game):
        awards = sorted(group, key=lambda award: award.seat)
        hands = tuple((award.seat, award.label) for award in awards)
        total = sum(award.total_cents for award in awards)
        at = max(award.at for award in awards)
        lines.append(WinLine(table, number, at, hands, total, envy.get((table, number), 0)))
    return sorted(lines, key=lambda line: -line.at)[:WINS_MAX]


def _notes(snapshot: Snapshot) -> tuple[Note, ...]:
    return snapshot.notes[:NOTES_MAX]


def _signs(snapshot: Snapshot) -> tuple[tuple[str, str, bool, str], ...]:
    return tuple((sign.sign, sign.kind, sign.up, sign.told) for sign in snapshot.signs.values())
