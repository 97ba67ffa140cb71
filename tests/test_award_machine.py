"""A machine of people at random floors: awards, corrections, envy, tables, repeats and restarts in any order.

Every decision and balance is the oracle's (``oracle_people``, written from the text), and after each step: accounts sum
to zero; pending is the sum of the shares of open awards to the cent; an award is paid once at most, by nobody who
verified, released or touched it; a refused act changes nothing; ``awards_pending`` counts right; and a start from the
rows alone has the same books and goes on the same (D13, MO-06, MO-08, R-49, R-57..R-62).

By default some 300 plays of 50 steps, the same ones each time; with ``PMC_CAMPAIGN=long`` 2,000 plays of 120 new ones.
"""

import os

import pytest
from award_night import Night
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
SEED = st.integers(0, 2**32)
"""What a step chooses by."""

settings.register_profile(
    "award-campaign", deadline=None, database=None, derandomize=not LONG, suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,), report_multiple_bugs=False)
CAMPAIGN = settings.get_profile("award-campaign")


class AwardMachine(RuleBasedStateMachine):
    """One night: engine and oracle side by side."""

    night: Night
    failed = False

    @initialize(seed=SEED)
    def open(self, seed: int) -> None:
        self.night, self.failed = Night(seed), False

    def do(self, name: str, seed: int) -> None:
        self.night.rng.seed(seed)
        self.failed = True
        try:
            self.night.do(name)
        except Exception as wrong:
            wrong.add_note("\n".join(map(str, self.night.log)))
            raise
        self.failed = False

    @rule(name=st.sampled_from(("lock", "hits", "end", "count")), seed=SEED)
    def table_says(self, name: str, seed: int) -> None:
        self.do(name, seed)

    @rule(name=st.sampled_from(("verify", "release", "pay", "refuse", "in_error", "slip")), seed=SEED)
    def award(self, name: str, seed: int) -> None:
        self.do(name, seed)

    @rule(name=st.sampled_from(("add", "change", "withdraw", "wager", "close_count")), seed=SEED)
    def correct(self, name: str, seed: int) -> None:
        self.do(name, seed)

    @rule(name=st.sampled_from(("envy", "turn", "again")), seed=SEED)
    def other(self, name: str, seed: int) -> None:
        self.do(name, seed)

    @rule(name=st.sampled_from(("restart", "forget")), seed=SEED)
    def start_again(self, name: str, seed: int) -> None:
        self.do(name, seed)

    def teardown(self) -> None:
        if hasattr(self, "night") and not self.failed:
            self.night.settle_down()
            self.night.compare()


TestAwardMachine = AwardMachine.TestCase
TestAwardMachine.settings = settings(
    CAMPAIGN, max_examples=2_000 if LONG else 300, stateful_step_count=120 if LONG else 50)
TestAwardMachine.pytestmark = [pytest.mark.timeout(14_400 if LONG else 120)]  # type: ignore[attr-defined]

