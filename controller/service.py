"""``meterd`` as a service: configuration, ledger and daemon opened in their order, and the exit codes.

Everything that can be refused is refused before a port, a broker or a page is opened (design sections 8 and 9).
"""

import asyncio
import gc
import json
import logging
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from controller import begun, log
from controller.board import Board
from controller.board_reader import read_board
from controller.books import Books
from controller.config import ConfigError, load
from controller.config_fit import Fitting, ledger_of, read_fitting
from controller.daemon import VERSION, Daemon, clock, timer
from controller.floor import Floor
from controller.ledger.place import HeldLedger, LedgerError, file_of, ledger_url
from controller.ledger.reader import Reader
from controller.ledger.verify import BadEntry, verify_tail
from controller.ledger.writer import Writer, open_writer
from controller.metrics import Stats
from controller.plan import Environment, FloorPlan
from controller.programs import software
from controller.start import refuse_changes
from controller.waiting_config import agree, agreed_of, follow
from controller.web.serve import Door
from controller.wiring import Wiring

SWITCH_S = 0.0005
"""How long the busy loop may keep the interpreter from the writer's thread (Python's own 5 ms starve it)."""

_log = logging.getLogger("meterd")


def _now() -> str:
    return datetime.fromtimestamp(clock() // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def open_books(plan: FloorPlan, path: Path) -> tuple[dict[str, Floor], Board, Reader, Writer]:
    """Everything of a ledger that a daemon needs, after its checks; raises LedgerError and leaves it untouched."""
    reader = Reader(path)
    refuse_changes(reader, plan)
    if plan.environment is Environment.PRODUCTION and reader.origin().made_by != "init":
        raise LedgerError(f"{path}: a production ledger is made by `meterctl init`, this one was not")
    try:
        verify_tail(path)
    except BadEntry as bad:
        raise LedgerError(f"{path}: {bad}; run `meterctl verify`, and restore a backup") from bad
    floors = {book: reader.floor(plan, book) for book in plan.books}
    board = read_board(reader, plan)
    writer = open_writer(path, reader.heads())
    writer.probe()
    return floors, board, reader, writer


GARBAGE_AFTER = 50_000
"""Objects between two looks for garbage: messages make many objects and no cycles."""


class File(NamedTuple):
    """The file on the box: its path, the ledger it names, and what it makes of floor and wiring; or why it does not."""

    path: Path
    ledger: Path
    made: tuple[FloorPlan, Wiring] | ConfigError


def read_file(path: Path) -> File:
    """Read the file on the box. Raises ConfigError where not even its ledger is known."""
    try:
        made = load(path)
    except ConfigError as wrong:
        try:
            return File(path, file_of(ledger_url(ledger_of(path))), wrong)
        except ConfigError:
            raise wrong from None
    return File(path, file_of(ledger_url(made[1].ledger_url)), made)


async def serve(file: File) -> None:
    """Run a daemon until SIGTERM or SIGINT. Raises LedgerError or ConfigError before the floor is opened."""
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(GARBAGE_AFTER)
    if not file.ledger.exists():
        if isinstance(file.made, ConfigError):
            raise file.made
        raise LedgerError(f"{file.ledger}: no ledger there; make one with `meterctl init --config {file.path}`")
    held, door, hung = HeldLedger(file.ledger, "meterd", _now()), Door(), False
    try:
        plan, fitting = _in_force(file)
        runs = await asyncio.to_thread(software, VERSION)
        while True:
            daemon, hung = await _serve_once(plan, fitting, file, door, runs)
            if hung or not daemon.again:
                break
            plan = _active(file.ledger) or plan
            fitting = daemon.next.after(plan)
    except (LedgerError, ConfigError):
        held.close()
        raise
    finally:
        door.close()
    # A writer that hangs keeps its connection and the ledger's lock until the process is gone.
    if not hung:
        held.close()


def _active(ledger: Path) -> FloorPlan | None:
    """What people have activated goes before the file (D5); None while the ledger has no people."""
    reader = Reader(ledger)
    try:
        book = reader.plan(next(iter(reader.heads()))).books[0]
        return reader.plan(book) if reader.states(book, "person", latest=1) else None
    finally:
        reader.close()


def _in_force(file: File) -> tuple[FloorPlan, Fitting]:
    """The floor to run at a start. Raises ConfigError where the file is needed and cannot be used.

    Once there are people the ledger's plan is in force, and as much of the file's wiring is used as fits it: a power
    cut must not leave a floor dark because somebody was at work on the file (ADR 0009).
    """
    active = _active(file.ledger)
    if active is None:
        if isinstance(file.made, ConfigError):
            raise file.made
        return file.made[0], Fitting(file.made[1])
    found = read_fitting(file.path, active)
    if isinstance(file.made, ConfigError):
        return active, found.also(file.made.problems)
    if file.made[0].hash != active.hash:
        _log.warning("%s is not the configuration in force (%s): it must be proposed and activated on the pages",
                     file.path, active.hash[:12])
    return active, found


async def _serve_once(
    plan: FloorPlan, fitting: Fitting, file: File, door: Door, runs: begun.Software
) -> tuple[Daemon, bool]:
    """One daemon's life: it, ended, and whether its writer hangs."""
    _tell_configuration(plan)
    floors, board, reader, writer = open_books(plan, file.ledger)
    stats = Stats()
    merge = log.set_up(timer, lambda count: setattr(stats, "log_suppressed", stats.log_suppressed + count))
    _log.info("meterd %s, site %s (%s), configuration %s", VERSION, plan.site, plan.environment.value, plan.hash)
    _log.info("ledger %s: %s", file.ledger, ", ".join(f"book {b} at entry {f.number}" for b, f in floors.items()))
    changed: list[Any] = []
    books = Books(plan, floors, board, reader, writer, stats, clock, timer,
                  lambda: changed[0].books_changed() if changed else None)
    agreed = agreed_of(floors[plan.books[0]])
    for book, floor in floors.items():
        number, found = reader.config_entry(book)
        known = floor.plan_entry > number or found["hash"] == plan.hash  # the first book may have brought it here
        if not known or not agree(floor, agreed):
            books.enter(book, lambda one, at: follow(one, agreed, at))
            _log.info("book %s: the configuration has changed; it is entry %d", book, floor.number)
    signs = tuple(begun.sign_told(sign) for sign in fitting.wiring.signs)
    books.enter(plan.books[0], lambda one, at: begun.begin(one, runs, signs, at))
    daemon = Daemon(plan, fitting, books, board, reader, stats, merge, file.path, door)
    changed.append(daemon)
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, daemon.stop)
    await daemon.run()
    hung = bool(books.stuck_s())
    if not hung:
        writer.close()
        reader.close()
    return daemon, hung


def _tell_configuration(plan: FloorPlan) -> None:
    """The effective configuration heads the log: a line for each of its parts."""
    for part, found in plan.document.items():
        for one in found if isinstance(found, list | tuple) else [found]:
            written = json.dumps(one, sort_keys=True, default=dict)
            _log.info("configuration: %s: %s", part, written, extra=log.WHOLE)


def run(config: Path) -> int:
    """Run ``meterd`` with a configuration file; returns its exit code: 0 ended, 2 configuration, 3 ledger."""
    log.set_up(timer)
    try:
        asyncio.run(serve(read_file(config)))
    except ConfigError as wrong:
        _log.error("the configuration cannot be used:\n%s", wrong)
        return 2
    except LedgerError as wrong:
        _log.error("%s", wrong)
        return 3
    except OSError as wrong:
        _log.error("a port cannot be opened: %s", wrong)
        return 2
    return 0
