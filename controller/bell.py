"""The bell of a running daemon: what is watched, what rings, and where it is told. Lives on the event loop."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from controller.alarm_out import AlarmOut
from controller.alarms import Alarm
from controller.board import Board
from controller.books import Books
from controller.host_state import HostState
from controller.metrics import Stats
from controller.plan import FloorPlan
from controller.snapshot import Snapshot
from controller.watcher import Watcher
from controller.wiring import Wiring


class Bell:
    """Compares what holds with the alarms that stand, once a second, and tells each step.

    ``file``: what of the file on the box is not in use, or empty.
    """

    def __init__(
        self, plan: FloorPlan, wiring: Wiring, books: Books, board: Board, stats: Stats,
        tell: Callable[[str, bytes, bool], bool] | None, file: str = "",
    ) -> None:
        self._books, self._stats, self._file = books, stats, file
        self._out = AlarmOut(wiring.alarms, plan.site, plan.environment.value, tell)
        self._watcher = Watcher(plan, books, board.alarms, self._out.tell, wiring.signs)
        stats.alarms_raised = board.alarms.raised
        stats.alarms_told = self._out.counts
        mqtt, web = wiring.mqtt, wiring.web
        certificates = [path for path in (mqtt and mqtt.cert_file, mqtt and mqtt.ca_file, web and web.tls_cert) if path]
        self._host = HostState(certificates, wiring.alarms.award_minutes, wiring.alarms.certificate_days)

    def compare_hits(self, chances: Mapping[str, Fraction]) -> None:
        """Compare hits with the exact odds from now on: the chance of one per wager, by meter (D6)."""
        self._watcher.chances = chances

    def file_not_in_use(self, what: str) -> None:
        """Something more on the box is not in use, until the next start."""
        self._file = f"{what[:240]}; {self._file}" if self._file else what[:240]

    def alarms(self) -> Sequence[Alarm]:
        """Every alarm that people should see."""
        return self._watcher.alarms()

    def look(self, snapshot: Snapshot, now: int) -> bool:
        """Look at everything at ``now`` (UTC microseconds); whether the pages have something new to show."""
        told = self._host.told(self._stats, self._books.stuck_s(), now)._replace(
            not_told=self._out.not_told(), file=self._file)
        self._watcher.look(snapshot, told, now)
        alarms = self._watcher.alarms()
        self._out.look(alarms, now)
        waiting = Counter(alarm.kind for alarm in alarms if alarm.waits)
        changed = waiting != self._stats.alarms_waiting
        self._stats.alarms_waiting = waiting
        return changed

    def broker_came_back(self) -> None:
        """What the broker holds of the alarms is written again."""
        self._out.broker_came_back()

    def end(self) -> None:
        """Tell what waits, within a bound; blocks."""
        self._out.end()
