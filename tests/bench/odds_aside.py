"""What the process that counts odds does to the wagers: the same play with and without it, by turns."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from controller.config import load
from controller.odds_aside import PROGRAM
from tests.bench.latency import RATE, serial
from tests.bench.measure import floor, quantile

TURNS = 3
SECONDS = 8


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    took: dict[bool, list[float]] = {False: [], True: []}
    counted = 0
    for _ in range(TURNS):
        took[False] += serial(SECONDS)
        with _counting() as done:
            took[True] += serial(SECONDS)
        counted += len(done)
    bare, beside = (quantile(took[counting], 0.99) * 1000 for counting in (False, True))
    half = quantile(took[True], 0.5) * 1000
    return [(f"lock to durable ack, serial, {RATE}/s, odds counted beside it {counted} times",
             f"p50 {half:.1f} ms, p99 {beside:.1f} ms", f"p99 {bare:.1f} ms without", "p99 < 10 ms")]


@contextmanager
def _counting() -> Iterator[list[int]]:
    """The process is run again and again, as a daemon runs it once at its start; gives the exit code of each."""
    with floor(1) as folder:
        document = dict(load(folder / "floor.toml")[0].document)
    asked = json.dumps(document).encode() + b"\n"
    done: list[int] = []
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            process = subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdin is not None and process.stdout is not None
            with process.stdin, process.stdout:
                process.stdin.write(asked)
                process.stdin.flush()
                process.stdout.read()
            done.append(process.wait())

    counting = threading.Thread(target=count)
    counting.start()
    try:
        yield done
    finally:
        stop.set()
        counting.join()
