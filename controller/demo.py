"""``make demo``: a whole small floor on this machine, with simulated table units, until Ctrl-C.

Two tables on serial lines (pseudo-terminals), one over MQTT with a private broker, a link of two on paytable 4, one
stand-alone on paytable 1; hits come far more often than in life. Its training ledger under ``var/demo`` is kept.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from controller.config import load
from controller.floor import Floor
from controller.ledger.place import LedgerError, file_of, ledger_url
from controller.ledger.writer import Batch, create
from controller.people import Person, Role
from controller.people_on_box import Newcomer, begin
from controller.plan import FloorPlan
from controller.training import NotOurs, TrainingFolder
from firmware_bridge.simulator import simulate

FOLDER = Path("var/demo")
SECRET = "a-demo-floor-only"
STAFF = (
    (Person("mona", Role.SHIFT_MANAGER, "table-games"), "Mona Shift"),
    (Person("dora", Role.ACCOUNTING, "accounting"), "Dora Ledger"),
    (Person("anna", Role.SUPERVISOR, "table-games"), "Anna Pit"),
    (Person("ben", Role.SUPERVISOR, "table-games"), "Ben Pit"),
    (Person("sam", Role.SHIFT_MANAGER, "security"), "Sam Guard"),
    (Person("tess", Role.TECHNICIAN, "it"), "Tess Wire"),
    (Person("otto", Role.SURVEILLANCE, "surveillance"), "Otto Eye"),
    (Person("gus", Role.AUDITOR, "audit"), "Gus Check"),
)
"""The people of the demo floor, and of no other: they all have the secret above."""
PACE_S = 0.7
HIT_RATE = 0.04
END_S = 4.0
STOPPED = 130
"""Ctrl-C before anything ran."""
READY_S = 30.0

_METER = """
[[meter]]
id = "{id}"
name = "{name}"
paytable = "{paytable}"
part = "main"
tie_policy = "split"
order = "partials-first"
below_seed = "{below_seed}"
reserve_surplus = "keep"
rounding = "up"
limit = "{limit}"
overflow = "next-meter"
unreasonable_contribution = "$10.00"
"""

_TABLE = """
[[table]]
id = "{id}"
device = "{device}"
seats = 6
pay_order = [1, 2, 3, 4, 5, 6]
sign_from = "$500.00"
tray_limit = "$100.00"
{envy}
[[table.spot]]
id = "progressive"
paytable = "{paytable}"
meters = {{ main = "{meter}" }}

[[sign]]
id = "{id}"
kind = "page"
table = "{id}"
meters = ["{meter}"]
digits = 9
"""

_LINE = """
[[line]]
id = "{id}"
device = "{device}"
port = "{port}"
"""


def floor_text(folder: Path, paytables: Path, broker: int, pages: int) -> str:
    """The demo floor's configuration."""
    tables = (("PG-01", "hub-01", "progressive-4", "pg-link"), ("PG-02", "hub-02", "progressive-4", "pg-link"),
              ("PG-03", "hub-03", "progressive-1", "pg-solo"))
    parts = [
        '[site]\nid = "demo"\nname = "Demo Casino"\nenvironment = "training"\ncurrency = "USD"\n'
        'timezone = "America/New_York"\ngaming_day_start = "06:00"\n'
        f'paytables = "{os.path.relpath(paytables, folder)}"\n\n[awards]\nrelease_from = "$10,000.00"\n'
        'paper_from = "$1,200.00"\npaper = ["Identity checked", "Cards shown to the camera"]\n'
        '\n[ledger]\nurl = "sqlite:///ledger.db"\n\n'
        f'[mqtt]\nhost = "127.0.0.1"\nport = {broker}\n\n[web]\nport = {pages}\n',
        _METER.format(id="pg-link", name="Face Up Pai Gow Link", paytable="progressive-4", below_seed="allow",
                      limit="none"),
        _METER.format(id="pg-solo", name="Face Up Pai Gow Solo", paytable="progressive-1", below_seed="top-up",
                      limit="$250,000.00"),
    ]
    for table, device, paytable, meter in tables:
        envy = 'envy_hand = "any-player"\n' if paytable == "progressive-4" else ""
        parts.append(_TABLE.format(id=table, device=device, paytable=paytable, meter=meter, envy=envy))
    for device in ("hub-01", "hub-03"):
        parts.append(_LINE.format(id=f"serial-{device[-2:]}", device=device, port=folder.absolute() / device))
    return "".join(parts)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def start_broker(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """A private Mosquitto on a loopback port; ends the program when it is not installed."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        sys.exit("mosquitto is not installed: run `make setup`, or `apt-get install mosquitto`")
    settings = folder / "mosquitto.conf"
    user = "user root\n" if os.geteuid() == 0 else ""
    settings.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n{user}persistence true\n"
        f"persistence_location {folder.absolute()}/\nlog_type error\n")
    with (folder / "mosquitto.log").open("ab") as log:
        return subprocess.Popen([program, "-c", str(settings)], stdout=log, stderr=log, start_new_session=True)


def make_ledger(plan: FloorPlan, place: str) -> bool:
    """Make the ledger if there is none; True when it was made."""
    path = file_of(ledger_url(place))
    if path.exists():
        return False
    at = time.time_ns() // 1_000
    create(path, [Batch(book, *Floor.opened(plan, book, at, "init").drain()) for book in plan.books])
    return True


def make_people(place: str) -> None:
    """Make the demo's people in a fresh ledger."""
    staff = [Newcomer(person, name, SECRET) for person, name in STAFF]
    begin(file_of(ledger_url(place)), "make demo", staff, time.time_ns() // 1_000)


async def _units(folder: Path, broker: int, stop: asyncio.Event) -> None:
    targets = {"hub-01": f"pty:{folder / 'hub-01'}", "hub-02": f"mqtt://127.0.0.1:{broker}/demo",
               "hub-03": f"pty:{folder / 'hub-03'}"}
    await asyncio.gather(*(
        simulate(device, 6, target, pace=PACE_S, hit_rate=HIT_RATE, stop=stop) for device, target in targets.items()))


async def _run(
    folder: Path, daemon: Callable[[], "subprocess.Popen[bytes]"], broker: int, pages: int, greeting: str
) -> int:
    """Tables first and last, so that meterd finds every line; in between, everything until Ctrl-C."""
    asked, stop = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    units = asyncio.create_task(_units(folder, broker, stop))
    meterd = daemon()
    died = asyncio.create_task(asyncio.to_thread(meterd.wait))
    waiting = asyncio.create_task(asked.wait())
    ready = asyncio.create_task(_answers(pages))
    await asyncio.wait({ready, waiting, died, units}, return_when=asyncio.FIRST_COMPLETED, timeout=READY_S)
    if ready.done():
        print(f"{greeting}\n{_addresses(pages, folder)}", flush=True)
        await asyncio.wait({waiting, died, units}, return_when=asyncio.FIRST_COMPLETED)
    by_itself = not asked.is_set()
    print("\nEnding ...", flush=True)
    await asyncio.to_thread(_end, meterd)
    stop.set()
    await asyncio.wait({units}, timeout=1.0)
    for task in (ready, waiting, units):
        task.cancel()
    code = await died
    if not by_itself:
        return 0 if code == -signal.SIGTERM else abs(code)  # it may have been told before it was ready
    if units.done() and not units.cancelled() and units.exception() is not None:
        print(f"The simulated tables ended: {units.exception()}", file=sys.stderr)
    print((folder / "meterd.log").read_text(errors="replace"), file=sys.stderr)
    return code or 1


async def _answers(pages: int) -> None:
    """Return once the pages answer."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", pages)
            writer.close()
            return
        await asyncio.sleep(0.1)


def _addresses(pages: int, folder: Path) -> str:
    base = f"http://127.0.0.1:{pages}"
    return "\n".join([
        "", "  The demo floor is running (TRAINING: no real money).", "",
        f"    sign in      {base}/sign-in   as {', '.join(person.id for person, _ in STAFF)}",
        f"                 all with the secret {SECRET}   (anna verifies, ben pays)", "",
        f"    floor page   {base}/",
        f"    sign pages   {base}/sign/PG-01   {base}/sign/PG-02   {base}/sign/PG-03",
        f"    metrics      {base}/metrics",
        f"    API          {base}/api/v1/meters   {base}/api/v1/openapi.json", "",
        f"    log          {folder / 'meterd.log'}",
        f"    ledger       .venv/bin/meterctl verify --ledger {folder / 'ledger.db'}", "",
        "  Ctrl-C ends it; the next `make demo` goes on from the same ledger.", ""])


def _end(program: "subprocess.Popen[bytes]") -> None:
    """End a program that was begun here, if it still runs."""
    program.terminate()
    try:
        program.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; ``argv``: an optional pages port. Ends the program with 2 for anything else."""
    parser = argparse.ArgumentParser(
        prog="python -m controller.demo",
        description=f"Run a small floor with simulated tables until Ctrl-C; its training ledger is kept in {FOLDER}.")
    parser.add_argument("port", nargs="?", type=_port, help="of its pages, 1 to 65535; default: a free one")
    return play(FOLDER, parser.parse_args(argv).port or free_port())


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 1 to 65535")
    return int(text)


def play(folder: Path, pages: int) -> int:
    """Run a training floor of its own in ``folder`` until Ctrl-C; its ledger and its people are kept.

    2, and nothing is touched, where the folder is not new, empty or a training floor's.
    """
    try:
        kept = TrainingFolder(folder)
    except NotOurs as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except OSError as wrong:
        print(f"{wrong.filename or folder}: {wrong.strerror or wrong}; name another folder", file=sys.stderr)
        return 2
    # Outside of the loop, Ctrl-C and SIGTERM end it alike, also where a shell has made it deaf to Ctrl-C, and nothing
    # that was begun is left behind.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with contextlib.closing(kept):
        try:
            return _play(kept, folder, pages)
        except KeyboardInterrupt:
            return STOPPED


def _play(kept: TrainingFolder, folder: Path, pages: int) -> int:
    broker = free_port()
    config = kept.write_floor(floor_text(folder, Path(__file__).parent.parent / "config/paytables", broker, pages))
    plan, wiring = load(config)
    try:
        made = make_ledger(plan, wiring.ledger_url)
        if made:
            make_people(wiring.ledger_url)
    except LedgerError as wrong:
        print(wrong, file=sys.stderr)
        return 3
    greeting = "A new ledger was made." if made else "Going on from the ledger of last time."
    with contextlib.ExitStack() as begun:
        begun.callback(_end, start_broker(folder, broker))

        def daemon() -> "subprocess.Popen[bytes]":
            with (folder / "meterd.log").open("wb") as log:
                made = subprocess.Popen(
                    [sys.executable, "-m", "controller", "--config", str(config)], stderr=log, start_new_session=True)
            begun.callback(_end, made)
            return made

        return asyncio.run(_run(folder.absolute(), daemon, broker, pages, greeting))


if __name__ == "__main__":
    sys.exit(main())
