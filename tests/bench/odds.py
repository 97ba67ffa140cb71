"""Exact odds and lives of a meter: whole processes for what a person waits for, from the cards each time."""

import resource
import subprocess
import sys
import time

SEVEN_CARD = [*(f"fortune-{number}" for number in range(1, 7)), *(f"progressive-{number}" for number in range(1, 8))]
_ALL = (
    "import sys; from controller.paytable_files import SHIPPED, load_table; from controller.game.odds import odds_of\n"
    "for name in sys.argv[1:]: odds_of(load_table(SHIPPED, name))"
)
_LIVES = "--wagers-per-day 273973 --years 10 --runs 1000 --seed 1"


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the report."""
    bare = _took("-m", "controller.cli", "--version")
    against = f"{bare:.2f} s to start meterctl"
    rows = [
        ("odds of one paytable, the command", _seconds(_command("odds", "--paytable progressive-1")), against, "< 2 s"),
        ("odds of all 13 seven-card paytables", _seconds(_took("-c", _ALL, *SEVEN_CARD)), "", "< 6 s"),
        ("odds of all dealer / player pairs", _seconds(_command("odds", "--paytable ace-high-1")), against, "< 20 s"),
    ]
    for name in ("progressive-1", "progressive-7"):
        took = _command("simulate", f"--paytable {name} {_LIVES}")
        rows.append((f"simulate {name}: 10^9 wagers x 1,000 runs", _seconds(took), against, "< 10 s"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return [*rows, ("memory of the largest process so far", f"{peak:,} MB", "", "< 1,024 MB")]


def _command(command: str, options: str) -> float:
    return _took("-m", "controller.cli", command, *options.split())


def _took(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _seconds(took: float) -> str:
    return f"{took:.2f} s"
