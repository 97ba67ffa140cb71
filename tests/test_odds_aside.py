"""The odds reckoned by a process of their own: what is told, how it fails, and that nothing of it stays behind (D6)."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from floor_files import ROOT
from ledger_house import contract_plan
from running_floor import until

from controller import drift
from controller.config_remarks import floor_odds
from controller.floor_state import canonical
from controller.game.odds import Odds
from controller.odds_aside import PROGRAM, OddsAside

PAYTABLES = {"progressive-1", "progressive-4"}


class Told:
    """Odds reckoned aside, and what came of them."""

    def __init__(self, *program: str, within_s: float = 30.0) -> None:
        self.learned: list[Mapping[str, Fraction]] = []
        self.failed: list[str] = []
        self.odds = OddsAside(contract_plan(), self.learned.append, lambda what, _: self.failed.append(what),
                              program or PROGRAM, within_s)

    async def over(self) -> "Told":
        self.odds.start()
        await until(lambda: self.learned, 30)
        return self

    def words(self) -> set[str]:
        """Why there are none."""
        found = [self.odds.look(name) for name in PAYTABLES]
        assert not any(isinstance(one, Odds) for one in found)
        return {str(one) for one in found}


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def children() -> set[int]:
    """The processes that this one has started and not taken leave of, dead ones too."""
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


async def test_the_process_tells_what_the_cards_say() -> None:
    told = await Told().over()
    known = floor_odds(contract_plan()).known
    assert {name: told.odds.look(name) for name in PAYTABLES} == known
    assert told.learned == [drift.chances_of(contract_plan(), known)]
    assert told.failed == []


async def test_until_the_process_has_told_them_the_odds_are_not_known() -> None:
    told = Told()
    told.odds.start()
    assert told.odds.look("progressive-1") is None
    await told.odds.end()


async def test_a_process_that_dies_is_told_once_with_its_last_words() -> None:
    told = await Told(*python("import sys; sys.stdin.readline(); raise MemoryError('no room')")).over()
    assert told.failed == [
        "Hits are not compared with the odds, which could not be reckoned: MemoryError: no room"]
    assert told.words() == {"they could not be reckoned: MemoryError: no room"}
    assert told.learned == [{}]


async def test_a_process_that_says_nothing_is_told_with_its_exit_code() -> None:
    assert (await Told(*python("import sys; sys.stdin.readline(); sys.exit(3)")).over()).words() == {
        "they could not be reckoned: the process ended with 3"}


async def test_counts_that_are_not_those_of_the_rows_are_no_odds() -> None:
    line = '{"paytable": "progressive-1", "counts": {"none": 154143080}}'
    told = await Told(*python(f"import sys; sys.stdin.readline(); print({line!r})")).over()
    assert told.words() == {f"they could not be reckoned: {line}"}


async def test_a_program_that_is_not_there_is_told() -> None:
    (why,) = (await Told("/nowhere/python").over()).words()
    assert "No such file" in why


async def test_a_process_that_does_not_end_is_ended() -> None:
    before = children()
    told = await Told(*python("import time; time.sleep(60)"), within_s=0.2).over()
    assert told.words() == {"they could not be reckoned: they took longer than 0 s"}
    assert children() <= before


async def test_at_the_end_of_the_daemon_nothing_stays_behind() -> None:
    before = children()
    told = Told(*python("import time; time.sleep(60)"))
    told.odds.start()
    await until(lambda: children() - before)
    await asyncio.wait_for(told.odds.end(), 5)
    assert children() <= before
    assert (told.learned, told.failed) == ([], [])


def test_the_process_ends_with_the_daemon_whatever_ended_it() -> None:
    """After a kill -9 only the pipe tells: it is closed before anything is counted, and nothing is told."""
    process = subprocess.Popen(PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    told, _ = process.communicate(canonical(dict(contract_plan().document)).encode() + b"\n", timeout=20)
    assert (process.returncode, told) == (1, b"")
