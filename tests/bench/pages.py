"""What open pages do to the wagers: the same play with and without them, by turns."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

from tests.bench.latency import RATE, serial
from tests.bench.measure import quantile

TURNS = 3
SECONDS = 8
STREAMS = 20
"""Floor pages that stay open, each told of every change four times a second."""
LOADS_PER_S = 5
"""Floor pages that are loaded anew."""


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    took: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(TURNS):
        took[False] += serial(SECONDS)
        took[True] += serial(SECONDS, _open_pages)
    bare, beside = (quantile(took[there], 0.99) * 1000 for there in (False, True))
    half = quantile(took[True], 0.5) * 1000
    what = f"lock to durable ack, serial, {RATE}/s, {STREAMS} pages open, {LOADS_PER_S} loaded a second"
    return [(what, f"p50 {half:.1f} ms, p99 {beside:.1f} ms", f"p99 {bare:.1f} ms without", "p99 < 10 ms")]


@contextmanager
def _open_pages(port: int) -> Iterator[None]:
    """The readers are a process of their own, as browsers are."""
    process = Popen([sys.executable, "-m", "tests.bench.pages", str(port)], stdout=PIPE)
    assert process.stdout is not None
    with process.stdout:
        if process.stdout.readline() != b"open\n":
            raise RuntimeError("the pages could not be opened")
        try:
            yield
        finally:
            process.terminate()
            process.wait()


async def _read(port: int, path: str) -> None:
    """Read one answer to its end, or for as long as it goes on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
    if not (await reader.readline()).startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"{path} was not given")
    while await reader.read(65_536):
        pass
    writer.close()


async def _browse(port: int) -> None:
    streams = [asyncio.create_task(_read(port, "/events/floor")) for _ in range(STREAMS)]
    await asyncio.sleep(0.5)
    for stream in streams:
        if stream.done():
            stream.result()
    sys.stdout.write("open\n")
    sys.stdout.flush()
    due = time.monotonic()
    while True:
        await _read(port, "/")
        due += 1 / LOADS_PER_S
        await asyncio.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    asyncio.run(_browse(int(sys.argv[1])))
