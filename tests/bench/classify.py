"""Hands that ``meterctl classify --stdin`` answers in a second, start of the program apart."""

import random
import subprocess
import sys
import time

from controller.game.cards import NAMES

HANDS = 500_000
_COMMAND = (sys.executable, "-m", "controller.cli", "classify", "--stdin", "--paytable")


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    rng = random.Random(1)
    feed = "".join(" ".join(rng.sample(NAMES, 7)) + "\n" for _ in range(HANDS))
    rows = []
    for paytable in ("fortune-1", "progressive-5"):
        start = _took(paytable, "")
        pace = HANDS / (_took(paytable, feed) - start)
        rows.append((f"classify --stdin, {paytable}", f"{pace:,.0f} hands/s", f"{start:.2f} s to start", "> 100,000"))
    return rows


def _took(paytable: str, feed: str) -> float:
    began = time.perf_counter()
    subprocess.run([*_COMMAND, paytable], input=feed, text=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
