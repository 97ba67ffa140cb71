"""``python -m tests.bench [PART ...]``: measure all parts or those named, and print a table with ratios."""

import sys
import time

from tests.bench import classify, idle, latency, ledger, mqtt, odds, odds_aside, pages, start
from tests.bench.measure import machine, steal

PARTS = {"ledger": ledger.measure, "mqtt": mqtt.measure, "latency": latency.measure, "idle": idle.measure,
         "start": start.measure, "classify": classify.measure, "odds": odds.measure,
         "odds-aside": odds_aside.measure, "pages": pages.measure}


def main() -> None:
    """Run the parts named, or all."""
    wanted = sys.argv[1:] or list(PARTS)
    print(f"{machine()}\nDurable commits (synchronous=FULL), the hash chain on. Medians; ratios are what counts.\n")
    began, stolen = time.perf_counter(), steal()
    rows: list[tuple[str, str, str, str]] = [("What", "Measured", "Against", "Target")]
    for name in wanted:
        rows += PARTS[name]()
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    now = steal()
    share = (now[0] - stolen[0]) / max(1, now[1] - stolen[1])
    print(f"\n{time.perf_counter() - began:.0f} s; steal time of the machine meanwhile {share:.1%}")


if __name__ == "__main__":
    main()
