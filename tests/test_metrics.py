"""What Prometheus reads: exact enough for a view, bounded, and never a thing that the configuration does not name."""

from dataclasses import replace

from demo_snapshot import CENT, busy_snapshot, device, meter_view
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from web_house import House

from controller.metrics import FloorCollector, Histogram, Stats, exposition
from controller.refusal import Refusal
from controller.snapshot import Snapshot
from controller.web.app import create_app


def scrape(snapshot: Snapshot | None = None, stats: Stats | None = None) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every sample by its name and label texts."""
    collector = FloorCollector(lambda: snapshot or busy_snapshot(), lambda: stats or Stats())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(exposition(collector).decode())
        for sample in family.samples
    }


def test_a_meter_is_shown_in_dollars_to_the_cent() -> None:
    """MO-09: 28 hundredths of a cent are the ledger's, not the view's."""
    samples = scrape()
    assert samples["meterd_meter_display_dollars", ("pg-link",)] == 9604.70
    assert samples["meterd_meter_pending_dollars", ("pg-link",)] == 2401.18


def test_an_amount_above_32_bits_of_cents_is_shown_to_the_cent() -> None:
    """MO-03."""
    busy = busy_snapshot()
    large = replace(busy, meters={"pg-link": meter_view(busy.plan, "pg-link", 2**32 + 1)})
    assert scrape(large)["meterd_meter_display_dollars", ("pg-link",)] == 42949672.97


def test_reserve_and_overflow_have_their_own_series() -> None:
    busy = busy_snapshot()
    view = meter_view(busy.plan, "pg-link", 100, reserve_microcents=250 * CENT, overflow_microcents=75 * CENT)
    samples = scrape(replace(busy, meters={"pg-link": view}))
    assert samples["meterd_meter_reserve_dollars", ("pg-link",)] == 2.5
    assert samples["meterd_meter_overflow_dollars", ("pg-link",)] == 0.75


def test_wagers_and_hits_by_row_are_counted() -> None:
    samples = scrape()
    assert samples["meterd_wagers_total", ("pg-link",)] == 92041
    assert samples["meterd_hits_total", ("pg-link", "five-aces")] == 2


def test_a_line_that_is_offline_is_down_and_its_table_not_playable() -> None:
    samples = scrape()
    assert samples["meterd_line_up", ("hub-03",)] == 0
    assert samples["meterd_playable", ("PG-03",)] == 0
    assert samples["meterd_line_up", ("hub-02",)] == 1


def test_a_hub_that_was_never_heard_is_down_and_counts_nothing() -> None:
    samples = scrape(replace(busy_snapshot(), devices={}))
    assert samples["meterd_line_up", ("hub-01",)] == 0
    assert samples["meterd_frames_total", ("hub-01", "good")] == 0


def test_good_and_damaged_frames_are_told_apart() -> None:
    samples = scrape()
    assert samples["meterd_frames_total", ("hub-01", "good")] == 18233
    assert samples["meterd_frames_total", ("hub-01", "damaged")] == 2


def test_a_device_that_the_configuration_does_not_name_makes_no_series() -> None:
    """A stranger on the wire cannot make the list of series grow."""
    busy = busy_snapshot()
    stranger = replace(device(busy.plan, "PG-01"), device="x" * 60)
    strange = replace(busy, devices={**busy.devices, stranger.device: stranger})
    assert set(scrape(strange)) == set(scrape())


def test_a_refusal_is_counted_under_its_reason() -> None:
    stats = Stats()
    stats.refused("wrong-wager")
    assert scrape(stats=stats)["meterd_refusals_total", ("wrong-wager",)] == 1


def test_an_unknown_reason_is_counted_as_other() -> None:
    stats = Stats()
    for number in range(1000):
        stats.refused(f"made-up-{number}")
    assert len(stats.refusals) == len(Refusal) + 1
    assert scrape(stats=stats)["meterd_refusals_total", ("other",)] == 1000


def test_a_commit_is_counted_in_every_bucket_at_or_above_it() -> None:
    stats = Stats()
    for microseconds in (500, 1_500, 3_000_000):
        stats.commit_us.observe(microseconds)
    samples = scrape(stats=stats)
    buckets = [samples["meterd_commit_seconds_bucket", (bound,)] for bound in ("0.0005", "0.001", "0.002", "+Inf")]
    assert buckets == [1, 1, 2, 3]
    assert samples["meterd_commit_seconds_sum", ()] == 3.002


def test_a_number_on_a_bound_falls_under_it() -> None:
    counted = Histogram((1, 2, 5))
    for number in (1, 2, 3, 6):
        counted.observe(number)
    assert (counted.counts, counted.total) == ([1, 1, 1, 1], 12)


def test_the_daemons_own_counts_are_read_at_each_scrape() -> None:
    stats = Stats(queue_depth=7, dropped=3, ledger_bytes=4096, wal_bytes=512, log_suppressed=2)
    samples = scrape(stats=stats)
    assert samples["meterd_queue_depth", ()] == 7
    assert samples["meterd_dropped_total", ()] == 3
    assert samples["meterd_ledger_bytes", ()] == 4096
    assert samples["meterd_wal_bytes", ()] == 512
    assert samples["meterd_log_suppressed_total", ()] == 2


def test_the_build_names_version_configuration_and_environment() -> None:
    assert scrape()["meterd_build_info", ("5f3c5f3c5f3c", "test", "0.1.0")] == 1


def test_a_stopped_book_can_be_alarmed_on() -> None:
    assert scrape(replace(busy_snapshot(), stopped="the disk is full"))["meterd_stopped", ()] == 1


def test_the_metrics_address_answers_in_the_text_format() -> None:
    answer = TestClient(create_app(House())).get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'meterd_meter_display_dollars{meter="pg-solo"} 86409.13' in answer.text
