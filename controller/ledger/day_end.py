"""How a gaming day ended, read back from the entries: every balance, and what was open (R-79, R-84, R-85).

The same for whoever asks and whenever: a day that is over changes no more. So an act that closes a day is told it
before, and a replay finds it again from the entries alone.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from controller.carried import COUNT_KINDS, OpenCount, differing, listed, listed_counts, owed_before
from controller.floor_state import ACCOUNTS, Round
from controller.gaming_day import YEARS, begin_of, gaming_day_of
from controller.ledger.ranges import Ranges, Stretches
from controller.taken import DayEnd

Rounds = Callable[[int], Iterable[Round]]
"""The games that owe something, and those that changed by an entry or a later one; some others do no harm."""


def read_day_end(
    path: Path, known: Stretches, book: str, day: date, closed: Mapping[str, Any] | None, at: int, rounds: Rounds
) -> DayEnd | None:
    """``day_end_in`` a ledger as it is now. Raises LedgerError. Blocks: not for a loop."""
    look = Ranges(path, known)
    try:
        return day_end_in(look, book, day, closed, at, rounds)
    finally:
        look.close()


def day_end_in(
    look: Ranges, book: str, day: date, closed: Mapping[str, Any] | None, at: int, rounds: Rounds
) -> DayEnd | None:
    """How ``day`` ended in a book, by its own entries alone; None for a day that no ledger has. Raises LedgerError.

    ``closed``: what is kept of the last day that was closed; ``at``: the present. Of a day that is not over, or not the
    next one, only that is told.
    """
    if day.year not in YEARS:
        return None
    # Every book has every configuration, so its own entries alone tell how its days were cut.
    plan_before = partial(look.plan_before, book)
    start, end = begin_of(plan_before, day), begin_of(plan_before, day + timedelta(days=1))
    told = DayEnd(day, end, first_day(look, book), "" if closed is None else closed["day"])
    if at < told.end or day != told.next:
        return told
    before = [OpenCount(*one) for one in (closed or {}).get("counts", ())]
    return _ended(look, book, told, start, before, rounds)


def first_day(look: Ranges, book: str) -> date:
    """The gaming day in which a book began."""
    at = next(look.between(book, 1, 1)).at
    plan = look.plan_before(book, at)
    return gaming_day_of(plan.timezone, plan.gaming_day_start, at).on


def _ended(
    look: Ranges, book: str, told: DayEnd, start: int, before: list[OpenCount], rounds: Rounds
) -> DayEnd:
    since = look.first_since(book, told.end)
    owed = owed_before(rounds(since), since, told.end, partial(look.named, book))
    counts = _counts(look, book, start, told.end, before)
    balances: dict[str, dict[str, int]] = {}
    for (meter, account), held in sorted(look.balances(book, told.end).items()):
        balances.setdefault(meter, dict.fromkeys(ACCOUNTS, 0))[account] = held
    return told._replace(
        number=look.last(book)[0], balances=balances, counts=tuple(tuple(one) for one in counts),
        open=listed(owed) | {"counts": listed_counts(counts)})


def _counts(look: Ranges, book: str, start: int, end: int, before: list[OpenCount]) -> list[OpenCount]:
    """The counts that differed at the end of a day: of its own, and of those that differed when it began."""
    games = {(entry.table, entry.game) for entry in look.counts_within(book, start, end)}
    games |= {(one.table, one.game) for one in before}
    if not games:
        return []
    found = [*look.counts_within(book, start, end, {game for _, game in games if game is not None}),
             *look.seldom_within(book, COUNT_KINDS, start, end)]
    mine = [entry for entry in found if (entry.table, entry.game) in games]
    return differing(before, sorted(mine, key=attrgetter("number")))
