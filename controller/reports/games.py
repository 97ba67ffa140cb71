"""Games as they were locked: wagers, what they had to contribute, and the dealer's count. Pure.

A game belongs to the range of its lock-out: its count belongs there too, even one made just after the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controller.journal import Entry
from controller.plan import FloorPlan
from controller.reports.reading import TIME_MAX, Reading, Scope, body_of

READ_ON_MAX = 20_000
"""Entries looked at after the end of a range for the counts of its last games."""
CORRECTED = {"wager-added": 1, "wager-removed": -1}
"""What people's corrections change in the number of a game's wagers."""
_OF_A_GAME = frozenset(("count", "close", "void", *CORRECTED))


@dataclass(slots=True)
class Game:
    """One locked game. Money in cents, contributions in microcents by meter."""

    table: str
    game: int
    at: int
    entry: int
    wagers: list[tuple[int, str, int]]
    due: dict[str, int]
    """What the wagers had to contribute by the rates in force: display, overflow and reserve together."""
    posted: dict[str, int]
    """What was posted from the players."""
    chips: int | None = None
    voided: bool = False
    corrected: int = 0
    """Wagers that people added, less those removed, while it was open."""

    @property
    def accepted(self) -> int:
        """Wagers that stand."""
        return len(self.wagers) + self.corrected

    @property
    def wagered(self) -> int:
        """Cents of all wagers."""
        return sum(cents for _, _, cents in self.wagers)

    @property
    def difference(self) -> int:
        """Chips counted beyond the wagers; 0 while nobody has counted."""
        return 0 if self.chips is None else self.chips - self.accepted


def game_of(entry: Entry, plan: FloorPlan) -> Game:
    """The game that a ``lock`` entry made."""
    wagers = [(wager["seat"], wager["spot"], wager["cents"]) for wager in body_of(entry)["message"]["wagers"]]
    table = plan.tables[entry.table or ""]
    due: dict[str, int] = {}
    for _, spot, _ in wagers:
        for feed in table.spot[spot].feeds:
            due[feed.meter] = due.get(feed.meter, 0) + feed.display + feed.reserve
    posted: dict[str, int] = {}
    for meter, account, microcents, _ in entry.postings:
        if account == "players":
            posted[meter] = posted.get(meter, 0) - microcents
    return Game(table.id, entry.game or 0, entry.at, entry.number, wagers,
                {meter: due_ for meter, due_ in due.items() if due_}, posted)


@dataclass(slots=True)
class Games:
    """The games of one book's range, handed out when they are finished. At most one waits for each table."""

    reading: Reading
    book: str
    waiting: dict[str, Game] = field(default_factory=dict)

    def take(self, entry: Entry) -> Iterator[Game]:
        """One entry of the range; gives the games that it finishes."""
        if entry.kind == "lock":
            made = game_of(entry, self.reading.plan_at(self.book, entry.number))
            if not body_of(entry)["opened"]:
                yield made
                return
            before = self.waiting.get(made.table)
            self.waiting[made.table] = made
            if before is not None:
                yield before
        elif entry.kind in _OF_A_GAME:
            yield from self._said(entry, inside=True)

    def rest(self, scope: Scope) -> Iterator[Game]:
        """The games still unfinished at the range's end, with the counts that came after it."""
        for looked, entry in enumerate(self.reading.entries(self.book, scope.end, TIME_MAX)):
            if not self.waiting or looked > READ_ON_MAX:
                break
            if entry.kind == "lock" and body_of(entry)["opened"]:
                finished = self.waiting.pop(entry.table or "", None)
                if finished is not None:
                    yield finished
            elif entry.kind in _OF_A_GAME:
                yield from self._said(entry, inside=False)
        yield from self.waiting.values()
        self.waiting = {}

    def _said(self, entry: Entry, *, inside: bool) -> Iterator[Game]:
        game = self.waiting.get(entry.table or "")
        if game is None or game.game != entry.game:
            return
        if entry.kind == "count":
            game.chips = chips_of(body_of(entry))
            return
        if entry.kind in CORRECTED:
            game.corrected += CORRECTED[entry.kind] if inside else 0
            return
        game.voided = game.voided or (inside and entry.kind == "void")
        del self.waiting[game.table]
        yield game


def chips_of(body: dict[str, Any]) -> int:
    """The chips that a ``count`` entry tells."""
    chips: int = body["message"]["chips"]
    return chips
