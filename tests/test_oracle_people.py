"""Corrections against the oracle: lock, hits, hands added, changed, withdrawn, refused, over two linked tables.

After any sequence display, reserve, overflow, pending and every other account of each meter are what the text says
(design section 4, "a round is settled as one"). By default 2,500 sequences of 14 steps in six parts, the same ones each
time; with ``PMC_CAMPAIGN=long`` 120,000 new ones.
"""

import os
from random import Random

import pytest
from award_night import Night

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
PARTS = 6
SEQUENCES = 20_000 if LONG else 420
FIRST = Random().randrange(1 << 40) if LONG else 0


class Corrections(Night):
    """Two linked tables, short games, and little else than corrections."""

    STEPS = ((12, "lock"), (12, "hits"), (2, "end"), (12, "add"), (8, "change"), (8, "withdraw"), (4, "refuse"),
             (6, "verify"), (5, "pay"), (2, "in_error"), (3, "wager"))

    def __init__(self, seed: int) -> None:
        super().__init__(seed, linked=True)
        for table in self.tables:
            self.rounds[table, "b1"] += 1
            self.lock_of(table)

    def lock_of(self, table: str) -> None:
        """A first game with four wagers."""
        spot = next(iter(self.tables[table][1].spots))
        cents = self.wager_cents(table, spot)
        wagers = [{"seat": seat, "spot": spot, "cents": cents} for seat in (1, 2, 3, 4)]
        self.say(table, {"type": "lock", "round": 1, "wagers": wagers})

    def compare(self) -> None:
        """Balances only: ``test_award_machine`` holds the rest."""
        for name, meter in self.oracle.meters.items():
            assert self.engine.accounts(name) == meter.accounts, f"{name} after {self.log}"
            assert self.engine.floor.meters[name].paid == self.oracle.paid[name] * 1_000_000


@pytest.mark.timeout(14_400 if LONG else 120)
@pytest.mark.parametrize("part", range(PARTS))
def test_after_any_corrections_of_two_linked_tables_every_account_is_what_the_text_says(part: int) -> None:
    """The meters of the engine and those of the oracle are the same after every step."""
    for number in range(SEQUENCES):
        seed = FIRST + part * SEQUENCES + number
        night = Corrections(seed)
        try:
            for _ in range(14):
                night.step()
        except Exception as wrong:
            wrong.add_note(f"sequence {seed}: {night.log}")
            raise
