"""Ledgers for tests: a small one with every kind of entry, messages in a line each, ``meterctl`` as people call it."""

import copy
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from controller import losses
from controller.apply import apply
from controller.floor import Floor
from controller.ledger.reader import Reader
from controller.ledger.verify import BadEntry, verify
from controller.ledger.writer import Batch, create, open_writer
from controller.plan import FloorPlan
from tests.floors import CONTRACT, contract_floor, plan_of

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent
METERCTL = (sys.executable, "-m", "controller.cli")
FLOOR = CONTRACT / "floor.toml"
AT = 1_796_162_400_000_000
"""2026-12-01 20:40 UTC."""
DAY = (CONTRACT / "day.jsonl").read_bytes().splitlines(keepends=True)
DAY_EXPECTED = [json.loads(line) for line in (CONTRACT / "day.expected.jsonl").read_text().splitlines()]


def contract_plan(change: Callable[[Json], object] | None = None) -> FloorPlan:
    """The contract's floor, with a change of its document if one is given."""
    floor, paytables = copy.deepcopy(contract_floor())
    if change is not None:
        change(floor)
    return plan_of((floor, paytables))


def said(word: str, seq: int, device: str = "hub-01", boot: str = "b1", **fields: Any) -> Json:
    """A message of the type ``word``."""
    return {"v": 1, "type": word, "device": device, "boot": boot, "seq": seq} | fields


def lock(seq: int, number: int, *seats: int, device: str = "hub-01", boot: str = "b1", cents: int = 500) -> Json:
    """A lock-out; of seat 1 unless others are named."""
    wagers = [{"seat": seat, "spot": "progressive", "cents": cents} for seat in seats or (1,)]
    return said("lock", seq, device, boot, round=number, wagers=wagers)


def hit(seq: int, number: int, seat: int, outcome: str, device: str = "hub-01", boot: str = "b1") -> Json:
    """One winning hand."""
    hits = [{"seat": seat, "spot": "progressive", "outcome": outcome}]
    return said("hits", seq, device, boot, round=number, hits=hits)


def applied(
    path: Path, messages: Iterable[Json | bytes], plan: FloorPlan | None = None, at: int = AT
) -> tuple[list[Json], Json]:
    """What ``apply`` answers to messages on a ledger, and its summary."""
    raw = b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in messages)
    out = io.StringIO()
    summary = apply(plan or contract_plan(), str(path), io.BytesIO(raw), at=at, clock=lambda: at, out=out)
    return [json.loads(line) for line in out.getvalue().splitlines()], summary


def bare(answers: Iterable[Json]) -> list[Json]:
    """Answers without entry and game, which the contract leaves open."""
    return [{key: part for key, part in answer.items() if key not in ("entry", "game")} for answer in answers]


def opened(path: Path, plan: FloorPlan | None = None, made_by: str = "init") -> Path:
    """A fresh ledger as ``meterctl init`` makes it."""
    plan = plan or contract_plan()
    create(path, [Batch(book, *Floor.opened(plan, book, AT, made_by).drain()) for book in plan.books])
    return path


def entered(path: Path, change: Callable[[Floor], object], plan: FloorPlan | None = None, book: str = "main") -> None:
    """Let ``change`` make entries on a book, durably."""
    reader = Reader(path)
    floor = reader.floor(plan, book)
    change(floor)
    writer = open_writer(path, reader.heads())
    writer.write([Batch(book, *floor.drain())])
    writer.close()
    reader.close()


def every_kind(path: Path) -> Path:
    """A ledger with every kind of entry: the contract's day, notices, a loss, a difference, a stop, a new config."""
    applied(path, [*DAY, b'{"v":1,"type":"hello","device":"hub-03","boot":"c10","firmware":"1","reset_cause":"power",'
                         b'"seats":7,"kept":[]}\n',
                   said("notice", 1, "hub-03", "c10", kind="door-open"), said("lock", 2, "hub-03", "c10"),
                   said("notice", 3, "hub-03", "c10", kind="late-bet", seat=2),
                   said("notice", 3, "hub-03", "c10", kind="door-closed")])
    entered(path, lambda floor: losses.lose(floor, "hub-03", "c10", 4, 6, AT))
    applied(path, [said("notice", 6, "hub-03", "c10", kind="door-open")])
    entered(path, lambda floor: losses.accept_loss(floor, "PG-03", "the unit was changed", AT))
    entered(path, lambda floor: losses.recount(floor, "hub-03", "c10", 1, AT))
    entered(path, lambda floor: losses.differ(floor, "hub-03", "c10", 3, 1, AT))
    entered(path, lambda floor: losses.accept_loss(floor, "PG-03", "counted by hand", AT))
    entered(path, lambda floor: floor.stop("a trial", AT))
    entered(path, lambda floor: floor.clear("looked at", AT))
    entered(path, lambda floor: floor.configure(contract_plan(_turn_pay_order), AT))
    return path


def _turn_pay_order(floor: Json) -> None:
    floor["table"][0]["pay_order"] = [6, 5, 4, 3, 2, 1]


def change(path: Path, statement: str, *values: object) -> int:
    """Change a ledger behind the program's back; returns how many rows were."""
    with sqlite3.connect(path) as database:
        changed = database.execute(statement, values).rowcount
    database.close()
    return changed


def rows(path: Path, query: str, *values: object) -> list[Any]:
    """Rows of a ledger as SQLite has them."""
    with sqlite3.connect(path) as database:
        found = database.execute(query, values).fetchall()
    database.close()
    return found


def bad_entry(path: Path, *, replay: bool = False) -> tuple[int, str]:
    """The entry that ``verify`` names, and why; (0, "") for a ledger that is good."""
    try:
        verify(path, replay=replay)
    except BadEntry as bad:
        return bad.number, bad.why
    return 0, ""


def meterctl(*words: object, feed: bytes = b"", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """``meterctl`` in a process of its own."""
    command = [*METERCTL, *map(str, words)]
    ran = subprocess.run(command, input=feed, capture_output=True, cwd=cwd, timeout=60, check=False)
    return subprocess.CompletedProcess(command, ran.returncode, ran.stdout.decode(), ran.stderr.decode())
