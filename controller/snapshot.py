"""What everybody may look at: immutable views of durable state, and of the lines as they are now. Pure values.

Signs, pages, the API and metrics read a ``Snapshot`` and nothing else. Money in it has been committed (design section
1): a view is made when its batch is durable, never before. Amounts named ``..._microcents`` are microcents,
``..._cents`` cents; times ``at`` are UTC microseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controller.plan import FloorPlan, MeterPlan, TablePlan


@dataclass(frozen=True, slots=True)
class RowView:
    """One prize row of one meter: how often it hit and what it won (R-01, R-03).

    A row that takes no share of any meter is counted under the first meter of its spot. ``won_cents`` is the share of
    this meter; fixed sums, returned wagers and envy are the house's and counted apart.
    """

    outcome: str
    label: str
    hits: int
    won_cents: int
    fixed_cents: int
    returned_cents: int
    envy_cents: int


@dataclass(frozen=True, slots=True)
class MeterView:
    """One meter as the ledger has it."""

    plan: MeterPlan
    display_microcents: int
    reserve_microcents: int
    overflow_microcents: int
    pending_microcents: int
    contributed_microcents: int
    """Contributions of wagers that stand (void rounds are re-booked to the house)."""
    house_microcents: int
    """What the house has put in: opening, seeds, top-ups, void rounds."""
    paid_microcents: int
    wagers: int
    """Qualifying wagers accepted (progressive-in, R-03); void rounds included."""
    rate_ppm: int
    """The rate of progression at its tables (the highest, when it depends on decks)."""
    rows: tuple[RowView, ...]
    tables: tuple[str, ...]

    @property
    def hits(self) -> int:
        """Hits of all rows."""
        return sum(row.hits for row in self.rows)

    @property
    def won_cents(self) -> int:
        """Won from this meter by all rows."""
        return sum(row.won_cents for row in self.rows)


@dataclass(frozen=True, slots=True)
class AwardView:
    """One award as it stands: shares by meter id, the house's fixed part and the returned wager, in cents."""

    table: str
    game: int
    seat: int
    spot: str
    outcome: str
    label: str
    meters: tuple[tuple[str, int], ...]
    fixed_cents: int
    returned_cents: int
    entry: int
    """The entry that last changed it."""
    at: int
    """When it was hit."""
    state: str = "pending"
    """Where it is in its life (``controller.award``)."""
    steps: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """What was done about it: step, time, and the people who signed."""
    finders: tuple[str, ...] = ()
    """Who closed a difference of the count of its game: they take no step of it."""
    roles: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The roles of those who took a step that still counts, where another role takes the next one."""

    @property
    def total_cents(self) -> int:
        """What the player is due: shares, fixed part and returned wager."""
        return sum(cents for _, cents in self.meters) + self.fixed_cents + self.returned_cents


@dataclass(frozen=True, slots=True)
class EnvyView:
    """What one seat is due in envy, in cents."""

    table: str
    game: int
    seat: int
    cents: int


@dataclass(frozen=True, slots=True)
class GameView:
    """One game of a table: its lit seats, and what came of it. ``state``: open, closed, void, late."""

    table: str
    game: int
    at: int
    state: str
    wagers: tuple[tuple[int, str, int], ...]
    """(seat, spot, cents) of the accepted wagers: the lit seats."""
    chips: int | None
    """The dealer's last count, or None."""
    awards: tuple[AwardView, ...]
    envy: tuple[EnvyView, ...]
    closed_by: tuple[str, ...] = ()
    """Who closed a difference between the count and the wagers with a finding."""

    @property
    def differs(self) -> bool:
        """Whether the count is another than the wagers, and nobody has closed that."""
        return self.chips not in (None, len(self.wagers)) and not self.closed_by


@dataclass(frozen=True, slots=True)
class TableView:
    """One table as the ledger has it. ``games`` are its latest, newest first, at most 20."""

    plan: TablePlan
    games: tuple[GameView, ...]
    loss: str
    """Why the table may not play until people accept it (a gap, a difference of totals), or empty."""
    closed: bool = False
    """People have closed the table."""
    held: str = ""
    """Why an unverified award holds the table, in the floor's words, or empty."""
    owed: int = 0
    """Awards that wait for people, and envy that is not paid, however old."""
    unlinked: tuple[str, ...] = ()
    """The names of the linked jackpots that it has left, and is not linked to again (R-30)."""

    @property
    def open_game(self) -> GameView | None:
        """The game that is open, or None."""
        return next((game for game in self.games if game.state == "open"), None)


class LineState(StrEnum):
    """Live: heard in time. Stale: silent for more than a heartbeat. Offline: three heartbeats missing."""

    LIVE = "live"
    STALE = "stale"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class DeviceView:
    """One sensor hub as its line shows it now; counts since the daemon's start."""

    device: str
    table: str
    line: str
    state: LineState
    playable: bool
    reason: str
    """Why the table is not playable, in the floor's words; empty when it is."""
    boot: str
    firmware: str
    heard_at: int
    bets: tuple[tuple[int, str], ...]
    """(seat, spot) with a chip on it now."""
    counts: Mapping[str, int]
    """Bounded keys: frames_good, frames_damaged, gaps, duplicates, dropped, malformed, reconnects."""
    known: bool = True
    """Whether what it has sent and kept is known now: it is heard, and has said hello and told its totals."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something people should see. ``kind``: refusal, notice, fault, alarm. What, where, and what to do now."""

    at: int
    kind: str
    cause: str
    """The bounded word for it: a refusal reason, a notice kind, an alarm name."""
    table: str
    what: str
    remedy: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class SignHealth:
    """Whether one sign is being told what it should show."""

    sign: str
    kind: str
    up: bool
    told: str
    told_at: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of it at one moment."""

    plan: FloorPlan
    at: int
    started_at: int
    version: str
    entries: Mapping[str, int]
    """Last durable entry number by book."""
    meters: Mapping[str, MeterView]
    tables: Mapping[str, TableView]
    awards: tuple[AwardView, ...]
    """Latest awards, newest first, at most 50, in whatever state."""
    envy: tuple[EnvyView, ...]
    pending_awards: int
    notes: tuple[Note, ...]
    """Latest, newest first, at most 100."""
    stopped: str
    """Why the book is stopped (fail closed), or empty."""
    devices: Mapping[str, DeviceView] = field(default_factory=dict)
    signs: Mapping[str, SignHealth] = field(default_factory=dict)
    ready: bool = True
    """Ledger open, intake running, signs written."""
    trouble: str = ""
    """Why the ledger cannot be written now, or empty."""
    waiting: tuple[AwardView, ...] = ()
    """Awards that wait for people, oldest first, bounded."""
