"""What every measurement shares: the machine, steal time, medians, and a floor to measure on."""

import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

RUNS = 3

_POLICIES = """tie_policy = "split"
order = "partials-first"
below_seed = "allow"
reserve_surplus = "keep"
rounding = "up"
limit = "none"
overflow = "next-meter"
unreasonable_contribution = "$10.00"
"""


def floor_text(tables: int, extra: str = "", line: Callable[[int], str] | None = None) -> str:
    """A floor of so many tables on one meter of paytable 4."""
    parts = [
        '[site]\nid = "bench"\nname = "Bench"\nenvironment = "test"\ncurrency = "USD"\ntimezone = "UTC"\n'
        'gaming_day_start = "06:00"\npaytables = "paytables"\n\n[ledger]\nurl = "sqlite:///ledger.db"\n\n',
        extra, '[[meter]]\nid = "link"\nname = "Link"\npaytable = "progressive-4"\npart = "main"\n', _POLICIES,
    ]
    for number in range(1, tables + 1):
        parts.append(
            f'\n[[table]]\nid = "T{number:03d}"\ndevice = "hub-{number:03d}"\nseats = 6\n'
            'pay_order = [1, 2, 3, 4, 5, 6]\nenvy_hand = "any-player"\n\n[[table.spot]]\nid = "progressive"\n'
            'paytable = "progressive-4"\nmeters = { main = "link" }\n')
        if line is not None:
            parts.append(line(number))
    return "".join(parts)


@contextmanager
def floor(tables: int, extra: str = "", line: Callable[[int], str] | None = None) -> Iterator[Path]:
    """A folder with ``floor.toml`` and its paytables; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="meterd-bench-"))
    try:
        shutil.copytree(Path(__file__).parents[2] / "config/paytables", folder / "paytables")
        (folder / "floor.toml").write_text(floor_text(tables, extra, line))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lock_text(device: str, boot: str, number: int) -> str:
    """A lock-out of four wagers."""
    wagers = ",".join(f'{{"seat":{seat},"spot":"progressive","cents":500}}' for seat in (1, 2, 4, 6))
    return (
        f'{{"v":1,"device":"{device}","boot":"{boot}","seq":{number},"type":"lock","round":{number},'
        f'"wagers":[{wagers}]}}')


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def median(work: Callable[[], float], runs: int = RUNS) -> float:
    """The middle of several measurements."""
    return statistics.median(work() for _ in range(runs))


def quantile(values: list[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def steal() -> tuple[int, int]:
    """(stolen, all) clock ticks of the machine so far, from /proc/stat."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return ticks[7], sum(ticks[:8])


def machine() -> str:
    """The machine in one line."""
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{name or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
