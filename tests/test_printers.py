"""Printers aside of the daemon: each in its own thread, bounded in number and time (SD-02)."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from printer_house import CUT, paper, unread_pipe

from controller import printers as printers_room
from controller.metrics import Stats
from controller.printers import WAITING_MAX, Printers, SlipPrinter
from controller.slip_escpos import NotPrinted
from controller.wiring import PrinterPlan

SLIP = b"slip\n" + CUT
SHORT_S = 0.05


class Stuck:
    """Stands for ``send`` at a path that blocks where it is opened: it waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.sent: list[bytes] = []

    def __call__(self, path: Path, printed: bytes, clock: Any, **_more: Any) -> None:
        if path.name != "well":
            self.begun.set()
            self.go.wait(10)
        self.sent.append(printed)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stuck]:
    made = Stuck()
    monkeypatch.setattr(printers_room, "send", made)
    yield made
    made.go.set()


def printer(answer_s: float = SHORT_S) -> SlipPrinter:
    return SlipPrinter(PrinterPlan("pit-1", "Pit 1", Path("/dev/nowhere")), time.monotonic, answer_s)


async def why(asked: Any) -> str:
    try:
        await asked
    except NotPrinted as wrong:
        return str(wrong)
    return "printed"


async def test_a_printer_takes_slips_in_their_order() -> None:
    with paper() as (plan, out):
        pit = SlipPrinter(plan, time.monotonic)
        await asyncio.gather(pit.take(b"one" + CUT), pit.take(b"two" + CUT))
        assert out.slips(2) == [b"one", b"two"]
        assert pit.counts == {"printed": 2, "failed": 0, "unknown": 0}
        pit.end()


async def test_a_printer_that_is_not_there_is_said_and_the_next_slip_is_tried_again(tmp_path: Path) -> None:
    pit = SlipPrinter(PrinterPlan("pit-1", "Pit 1", tmp_path / "none" / "printer"), time.monotonic)
    assert "nothing was printed; look at its cable, paper, cover and power" in await why(pit.take(SLIP))
    (tmp_path / "none").mkdir()
    assert await why(pit.take(SLIP)) == "printed"
    assert pit.counts == {"printed": 1, "failed": 1, "unknown": 0}
    pit.end()


async def test_a_pipe_that_nobody_reads_is_said_at_once(tmp_path: Path) -> None:
    pit = SlipPrinter(unread_pipe(tmp_path), time.monotonic)
    assert "nothing was printed" in await why(pit.take(SLIP))
    pit.end()


async def test_a_printer_that_blocks_where_it_is_opened_holds_up_nobody(stuck: Stuck) -> None:
    """The event loop goes on: other work is done while the printer's thread waits."""
    pit = printer()
    asked = asyncio.create_task(why(pit.take(SLIP)))
    await asyncio.to_thread(stuck.begun.wait, 10)
    assert not asked.done()
    assert "has not answered for 0.05 s; destroy what comes out" in await asked
    assert pit.counts == {"printed": 0, "failed": 0, "unknown": 1}


async def test_a_slip_behind_a_printer_that_is_stuck_is_given_up_and_never_comes_out_later(stuck: Stuck) -> None:
    """R-58: a strip that comes out after its person was told otherwise would be a second original."""
    pit = printer()
    first = asyncio.create_task(why(pit.take(b"one")))
    await asyncio.to_thread(stuck.begun.wait, 10)
    assert "other slips are before this one; nothing was printed" in await why(pit.take(b"two"))
    await first
    stuck.go.set()
    assert await why(pit.take(b"three")) == "printed"
    assert stuck.sent == [b"one", b"three"]


async def test_no_more_than_a_few_slips_wait_at_one_printer(stuck: Stuck) -> None:
    pit = printer(10)
    first = asyncio.create_task(why(pit.take(b"first")))
    await asyncio.to_thread(stuck.begun.wait, 10)
    waiting = [asyncio.create_task(why(pit.take(SLIP))) for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    assert pit.is_full
    assert "too many slips wait there; nothing was printed" in await why(pit.take(SLIP))
    stuck.go.set()
    assert set(await asyncio.gather(first, *waiting)) == {"printed"}


async def test_a_printer_that_is_stuck_does_not_hold_up_the_others_or_the_end(stuck: Stuck) -> None:
    plans = [PrinterPlan(name, name, Path(name)) for name in ("stuck", "well")]
    both = Printers(plans, time.monotonic, Stats(), 10)
    asked = [asyncio.create_task(why(both.by_id["stuck"].take(SLIP))) for _ in range(2)]
    await asyncio.to_thread(stuck.begun.wait, 10)
    assert await why(both.by_id["well"].take(SLIP)) == "printed"
    both.end()
    stuck.go.set()
    assert "the controller is being stopped while it prints" in await asked[0]
    assert "too many slips" in await why(both.by_id["well"].take(SLIP))
    assert "the controller is being stopped; nothing was printed" in await asked[1]


def test_a_printer_serves_its_tables() -> None:
    plans = [PrinterPlan("pit-1", "Pit 1", Path("a"), tables=("PG-01",)), PrinterPlan("all", "All", Path("b"))]
    known = Printers(plans, time.monotonic, Stats())
    assert [[plan.id for plan in known.serving(table)] for table in ("PG-01", "PG-02")] == [["pit-1", "all"], ["all"]]


async def test_at_the_end_whoever_waits_for_a_slip_is_told_and_nobody_waits(stuck: Stuck) -> None:
    """The one that is at the printer, and the one behind it: nothing is left to be guessed."""
    pit = printer(answer_s=30)
    asked = [asyncio.create_task(why(pit.take(SLIP))) for _ in range(2)]
    await asyncio.to_thread(stuck.begun.wait, 10)
    pit.end()
    at_it, behind_it = await asyncio.wait_for(asyncio.gather(*asked), 5)
    assert "the controller is being stopped while it prints" in at_it
    assert "nothing was printed" in behind_it
    stuck.go.set()
