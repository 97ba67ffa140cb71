"""What Prometheus reads: a collector that looks at the snapshot and at the daemon's own counts when it is asked.

Samples are 64-bit floats: a view, never the book (MO-09). Every label comes from the configuration or from a closed
list, so the number of series is bounded.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from controller.alarm_kinds import ALARMS
from controller.money import whole_cents
from controller.refusal import Refusal
from controller.snapshot import LineState, MeterView, Snapshot

OTHER = "other"

_COMMIT_BOUNDS_US = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 2_000_000)
_BATCH_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_FRAMES = (("frames_good", "good"), ("frames_damaged", "damaged"), ("malformed", "malformed"))


@dataclass(slots=True)
class Histogram:
    """How often a whole number fell at or under each bound; the last count is for those above all bounds."""

    bounds: Sequence[int]
    counts: list[int] = field(default_factory=list)
    total: int = 0

    def __post_init__(self) -> None:
        """Start with nothing counted."""
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, number: int) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, number)] += 1
        self.total += number


@dataclass(slots=True)
class Stats:
    """Counts that the daemon keeps for ``/metrics`` alone, since its start. Written on the event loop."""

    commit_us: Histogram = field(default_factory=lambda: Histogram(_COMMIT_BOUNDS_US))
    """Microseconds from the start of a batch's transaction until it was durable."""
    batch: Histogram = field(default_factory=lambda: Histogram(_BATCH_BOUNDS))
    """Messages in a batch."""
    queue_depth: int = 0
    """Messages that wait for the engine or for the writer now."""
    dropped: int = 0
    """Messages dropped because intake was full; the device sends them again (design section 7)."""
    refusals: dict[str, int] = field(default_factory=lambda: {reason.value: 0 for reason in Refusal})
    ledger_bytes: int = 0
    wal_bytes: int = 0
    alarms_raised: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(ALARMS, 0))
    alarms_waiting: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(ALARMS, 0))
    """By kind: times raised since the start, and how many nobody has acknowledged now."""
    alarms_told: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By way out (mail, webhook): steps sent, failed and left out."""
    slips: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By printer: slips printed whole, failed, and not known of."""
    log_suppressed: int = 0
    """Log lines left out because their like had just been written."""

    def refused(self, reason: str) -> None:
        """Count a refusal or a fault; a reason outside the closed list is counted as ``other``."""
        known = reason if reason in self.refusals else OTHER
        self.refusals[known] = self.refusals.get(known, 0) + 1


class FloorCollector:
    """The floor's metrics, all with the prefix ``meterd_``; nothing is kept between two scrapes."""

    def __init__(self, snapshot: Callable[[], Snapshot], stats: Callable[[], Stats]):
        self._snapshot = snapshot
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Everything at this moment."""
        snapshot, stats = self._snapshot(), self._stats()
        yield from _meters(snapshot.meters.values())
        yield from _lines(snapshot)
        yield from _book(snapshot)
        yield from _writer(stats)
        yield from _alarms(stats)
        yield _slips(stats)


def exposition(collector: FloorCollector) -> bytes:
    """The text that ``/metrics`` answers, in Prometheus' format 0.0.4."""
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry)


def _dollars(microcents: int) -> float:
    return whole_cents(microcents) / 100


def _meters(meters: Iterable[MeterView]) -> Iterator[Metric]:
    accounts = {
        "display": GaugeMetricFamily("meterd_meter_display_dollars", "What the meter shows.", labels=["meter"]),
        "reserve": GaugeMetricFamily("meterd_meter_reserve_dollars", "Kept for the next reset.", labels=["meter"]),
        "overflow": GaugeMetricFamily("meterd_meter_overflow_dollars", "Above the limit.", labels=["meter"]),
        "pending": GaugeMetricFamily("meterd_meter_pending_dollars", "Frozen awards.", labels=["meter"]),
        "contributed": GaugeMetricFamily(
            "meterd_meter_contributed_dollars", "Contributions of the wagers that stand.", labels=["meter"]
        ),
    }
    wagers = CounterMetricFamily("meterd_wagers", "Accepted wagers, void games included.", labels=["meter"])
    hits = CounterMetricFamily("meterd_hits", "Hits by prize row.", labels=["meter", "row"])
    for meter in meters:
        own = [meter.plan.id]
        accounts["display"].add_metric(own, _dollars(meter.display_microcents))
        accounts["reserve"].add_metric(own, _dollars(meter.reserve_microcents))
        accounts["overflow"].add_metric(own, _dollars(meter.overflow_microcents))
        accounts["pending"].add_metric(own, _dollars(meter.pending_microcents))
        accounts["contributed"].add_metric(own, _dollars(meter.contributed_microcents))
        wagers.add_metric(own, meter.wagers)
        for row in meter.rows:
            hits.add_metric([*own, row.outcome], row.hits)
    yield from accounts.values()
    yield wagers
    yield hits


def _lines(snapshot: Snapshot) -> Iterator[Metric]:
    up = GaugeMetricFamily("meterd_line_up", "1 while the table unit is heard.", labels=["device"])
    playable = GaugeMetricFamily("meterd_playable", "1 while the table may take wagers.", labels=["table"])
    frames = CounterMetricFamily("meterd_frames", "Frames or messages received.", labels=["device", "result"])
    counted = {
        name: CounterMetricFamily(f"meterd_{name}", text, labels=["device"])
        for name, text in (
            ("gaps", "Messages found missing."),
            ("duplicates", "Messages that came again."),
            ("reconnects", "Times the line came back."),
        )
    }
    for table in snapshot.plan.tables.values():
        view = snapshot.devices.get(table.device)
        up.add_metric([table.device], view is not None and view.state is not LineState.OFFLINE)
        playable.add_metric([table.id], view is not None and view.playable)
        counts = view.counts if view is not None else {}
        for key, result in _FRAMES:
            frames.add_metric([table.device, result], counts.get(key, 0))
        for name, family in counted.items():
            family.add_metric([table.device], counts.get(name, 0))
    yield up
    yield playable
    yield frames
    yield from counted.values()


def _book(snapshot: Snapshot) -> Iterator[Metric]:
    entries = CounterMetricFamily("meterd_entries", "Entries in the ledger.", labels=["book"])
    for book, number in snapshot.entries.items():
        entries.add_metric([book], number)
    yield entries
    yield GaugeMetricFamily("meterd_stopped", "1 while the book is stopped.", value=bool(snapshot.stopped))
    yield GaugeMetricFamily("meterd_awards_pending", "Awards not yet paid.", value=snapshot.pending_awards)
    signs = GaugeMetricFamily("meterd_sign_up", "1 while the sign is told what to show.", labels=["sign"])
    for sign in snapshot.signs.values():
        signs.add_metric([sign.sign], sign.up)
    yield signs
    build = {
        "version": snapshot.version,
        "config": snapshot.plan.hash[:12],
        "environment": snapshot.plan.environment.value,
    }
    yield InfoMetricFamily("meterd_build", "What runs here.", value=build)


def _writer(stats: Stats) -> Iterator[Metric]:
    yield _histogram("meterd_commit_seconds", "Transaction begun until durable.", stats.commit_us, 6)
    yield _histogram("meterd_batch_size", "Messages in one transaction.", stats.batch, 0)
    yield GaugeMetricFamily("meterd_queue_depth", "Messages that wait now.", value=stats.queue_depth)
    yield CounterMetricFamily("meterd_dropped", "Messages dropped because intake was full.", value=stats.dropped)
    yield GaugeMetricFamily("meterd_ledger_bytes", "Size of the ledger.", value=stats.ledger_bytes)
    yield GaugeMetricFamily("meterd_wal_bytes", "Size of its write-ahead log.", value=stats.wal_bytes)
    yield CounterMetricFamily("meterd_log_suppressed", "Log lines left out.", value=stats.log_suppressed)
    refusals = CounterMetricFamily("meterd_refusals", "Refused messages and faults.", labels=["reason"])
    for reason, number in stats.refusals.items():
        refusals.add_metric([reason], number)
    yield refusals


def _alarms(stats: Stats) -> Iterator[Metric]:
    raised = CounterMetricFamily("meterd_alarms_raised", "Times that an alarm was raised.", labels=["alarm"])
    waiting = GaugeMetricFamily("meterd_alarms_waiting", "Alarms that nobody has acknowledged.", labels=["alarm"])
    for kind in ALARMS:
        raised.add_metric([kind], stats.alarms_raised.get(kind, 0))
        waiting.add_metric([kind], stats.alarms_waiting.get(kind, 0))
    told = CounterMetricFamily("meterd_alarms_told", "Alarm steps told outside.", labels=["way", "result"])
    for way, counts in stats.alarms_told.items():
        for result, number in counts.items():
            told.add_metric([way, result], number)
    yield raised
    yield waiting
    yield told


def _slips(stats: Stats) -> Metric:
    slips = CounterMetricFamily("meterd_slips", "Slips sent to a printer.", labels=["printer", "result"])
    for printer, counts in stats.slips.items():
        for result, number in counts.items():
            slips.add_metric([printer, result], number)
    return slips


def _histogram(name: str, text: str, counted: Histogram, decimals: int) -> HistogramMetricFamily:
    unit = 10**decimals
    buckets, seen = [], 0
    for bound, number in zip(counted.bounds, counted.counts, strict=False):
        seen += number
        buckets.append((str(bound / unit) if decimals else str(bound), seen))
    buckets.append(("+Inf", seen + counted.counts[-1]))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=counted.total / unit)
