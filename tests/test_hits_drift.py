"""A whole daemon whose meter is hit as its paytable makes, and then far otherwise; and the process that counts (D6)."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from floor_files import FLOOR
from running_floor import RunningFloor, running, until
from table_unit import SPOT, WiredUnit

from firmware_bridge import messages
from firmware_bridge.messages import Hit

SEATS = (1, 2, 3, 4, 5, 6)
ROUNDS = 20
"""Of six wagers: more than the hundred from which hits are compared."""


def children(pid: int) -> list[int]:
    """The processes that a process has begun and not taken leave of, dead ones too."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return []


def is_there(pid: int) -> bool:
    """Whether there is a process of that number, dead or alive."""
    return Path(f"/proc/{pid}").exists()


def counts(pid: int) -> bool:
    """Whether a process has begun its own program: until then meterd waits for it, and it may not be held."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return b"controller.odds_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def lives(pid: int) -> bool:
    """Whether a process is there, and no dead one that its new parent has not looked at."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[RunningFloor]:
    with running(tmp_path) as made:
        yield made


async def counting(floor: RunningFloor) -> int:
    """A meterd that has just begun to count, and is held in it: the process that counts."""
    floor.spawn()
    found: list[int] = []
    await until(lambda: found.extend(filter(counts, children(floor.process.pid))) or found, 20, floor.log())
    os.kill(found[0], signal.SIGSTOP)
    return found[0]


class Dealer:
    """Plays rounds of six wagers at PG-01."""

    def __init__(self, floor: RunningFloor, boot: str) -> None:
        self.unit = WiredUnit(floor.port_of("hub-01"), "hub-01", boot)
        self.seq = 0

    async def play(self, rounds: int, *hits: int) -> None:
        """So many rounds, with a four of a kind at each of the seats named."""
        unit = self.unit
        for _ in range(rounds):
            self.seq += 1
            round_ = self.seq
            unit.lock(self.seq, SEATS)
            if hits:
                self.seq += 1
                found = tuple([Hit(seat, SPOT, "four-of-a-kind") for seat in hits])
                unit.say(messages.Hits(unit.device, unit.boot, self.seq, round_, found, unit.boot))
            unit.counted(self.seq, unit.wagers_total + len(SEATS))
            await unit.acknowledged(self.seq)


def drifting(floor: RunningFloor) -> list[str]:
    """What was raised of hits that drift, with the meter first."""
    raised = [one for one in floor.kinds("alarm") if (one["alarm"], one["step"]) == ("hits-drift", "raised")]
    return [f"{one['place']}: {one['what']}" for one in raised]


async def odds_are_known(floor: RunningFloor) -> None:
    """Wait until the process has told them and is gone, and the alarms were looked at twice since."""
    while b"Computing the odds" in await floor.read("paytables/progressive-4") or children(floor.process.pid):
        await until(lambda: True)
    fed = floor.told().count("WATCHDOG=1")
    await until(lambda: floor.told().count("WATCHDOG=1") >= fed + 2)


async def test_d6_hits_far_from_the_odds_after_a_change_ring_and_right_play_does_not(floor: RunningFloor) -> None:
    """The count of hits begins anew with the configuration, and the odds are those of the paytable in force."""
    await floor.start()
    dealer = Dealer(floor, "before")
    dealer.unit.live()
    await dealer.unit.until_playable()
    await dealer.play(ROUNDS)
    await dealer.unit.end()
    await floor.stop()

    config = floor.folder / FLOOR
    config.write_text(config.read_text().replace('name = "Demo Casino"', 'name = "Another Name"'))
    await floor.start()
    await odds_are_known(floor)
    dealer = Dealer(floor, "after")
    dealer.unit.live()
    await dealer.unit.until_playable()
    await dealer.play(ROUNDS)
    await odds_are_known(floor)
    assert len(floor.kinds("watch-begun")) == 1
    assert drifting(floor) == []

    await dealer.play(2, *SEATS)
    await until(lambda: drifting(floor), 10)
    (said,) = drifting(floor)
    assert said.startswith("pg-link: 12 hits in 132 wagers since the last change; the odds make about ")
    await dealer.unit.end()
    await floor.stop()
    floor.verified()


async def test_a_clean_end_while_the_odds_are_counted_leaves_no_process(floor: RunningFloor) -> None:
    """The one that counts is held, so it cannot end by itself; a dead one would be seen, too."""
    pid = await counting(floor)
    await until(lambda: "READY=1" in floor.told(), 20)
    code, took = await floor.stop()
    assert (code, took < 5, is_there(pid)) == (0, True, False)
    assert "could not be reckoned" not in floor.log()


async def test_after_a_kill_the_process_that_counts_ends_by_itself(floor: RunningFloor) -> None:
    pid = await counting(floor)
    floor.kill()
    os.kill(pid, signal.SIGCONT)
    await until(lambda: not lives(pid), 5)


async def test_a_count_that_dies_is_said_once_and_wagers_go_on(floor: RunningFloor) -> None:
    pid = await counting(floor)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: "READY=1" in floor.told(), 20)
    dealer = Dealer(floor, "b1")
    dealer.unit.live()
    await dealer.unit.until_playable()
    await dealer.play(1)
    await dealer.unit.end()
    said = "Hits are not compared with the odds, which could not be reckoned: the process ended with -9"
    assert [one["what"] for one in await floor.notes() if one["cause"] == "odds"] == [said]
    assert floor.log().count(said) == 1
    assert b"Odds are not known here: they could not be reckoned" in await floor.read("paytables/progressive-4")
