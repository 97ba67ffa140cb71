"""What the pages need of the daemon, and nothing more. The daemon is one; the tests bring another."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from controller.alarms import Alarm
from controller.game.odds import Odds
from controller.metrics import Stats
from controller.sign import Shown
from controller.snapshot import Snapshot
from controller.wiring import Wiring


class Source(Protocol):
    """Durable state to look at. Every method is called on the event loop; none may block it."""

    @property
    def wiring(self) -> Wiring:
        """The signs, and where the pages listen."""

    @property
    def stats(self) -> Stats:
        """What only ``/metrics`` shows: latencies, depths, refusals, sizes."""

    def snapshot(self) -> Snapshot:
        """The newest committed snapshot; cheap. Views that did not change should be the same objects as before."""

    def version(self) -> int:
        """Rises whenever anything that a page shows has changed."""

    async def wait(self, version: int) -> None:
        """Return once ``version()`` is not ``version`` any more. May be cancelled at any time."""

    def sign_shown(self, sign: str) -> Shown | None:
        """What a configured sign shows now; None before its first time, or for an unknown id."""

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that people should see, the last cleared of each kind and place too."""

    def odds(self, paytable: str) -> Odds | str | None:
        """The exact odds of a paytable in use, or why they are not known; None while they are being computed."""

    async def log(self, book: str, before: int | None, count: int) -> Sequence[Mapping[str, Any]]:
        """Up to ``count`` entries of a book, newest first, numbered below ``before`` (None: from the newest).

        The keys are those of ``models.LogEntry``.
        """

    async def wins(self, count: int) -> Sequence[Mapping[str, Any]]:
        """The ``count`` latest awards in the ledger, newest first; the keys are those of ``models.Award``."""
