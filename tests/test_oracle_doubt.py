"""What is in doubt, against the oracle: counts, findings, wagers put right, envy, releases, true hands, in any order.

Every act is decided alike by engine and oracle, and every balance is the same after each step. By default 240 nights of
90 steps in four parts, the same ones each time; with ``PMC_CAMPAIGN=long`` 24,000 new ones.
"""

import os
from random import Random

import pytest
from award_night import Night

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
PARTS = 4
NIGHTS = 6_000 if LONG else 60
FIRST = Random().randrange(1 << 40) if LONG else 0


class Doubts(Night):
    """Much counting and much envy, and people who mostly come one after the other."""

    STEPS = ((12, "lock"), (7, "hits"), (9, "count"), (3, "end"), (6, "add"), (4, "change"), (2, "withdraw"),
             (2, "refuse"), (18, "verify"), (10, "release"), (11, "pay"), (9, "in_error"), (11, "wager"),
             (6, "close_count"), (14, "envy"), (9, "true_hand"), (1, "restart"), (1, "forget"))

    def true_hand(self) -> None:
        """The hand that a seat really had, where another one was paid."""
        self._on("hit-added", self.people(2), self._awards("in-error"),
                 lambda table, _, place: {"outcome": self.outcome(table, place[1]), "reason": "read again"})


@pytest.mark.timeout(14_400 if LONG else 120)
@pytest.mark.parametrize("part", range(PARTS))
def test_in_any_night_of_doubt_the_text_decides_who_signs_what(part: int) -> None:
    """The rules of ``oracle_people``, 6 to 14."""
    for number in range(NIGHTS):
        seed = FIRST + part * NIGHTS + number
        night = Doubts(seed)
        try:
            for _ in range(90):
                night.step()
            night.settle_down()
        except Exception as wrong:
            wrong.add_note(f"night {seed}: {night.log}")
            raise


def test_the_nights_come_by_everything_that_may_be_in_doubt() -> None:
    """Otherwise they would prove nothing: each kind of act is done now and then."""
    done, true_hands = set[str](), 0
    for seed in range(60):
        night = Doubts(seed)
        for _ in range(90):
            night.step()
        done |= {kind for kind, _, _, _ in night.sent}
        true_hands += sum(one["state"] == "paid-in-error" for found in night.engine.every_round() for one in found.past)
    assert done >= {"award-released", "envy-paid", "envy-unclaimed", "count-closed", "wager-added", "wager-removed"}
    assert true_hands > 0
