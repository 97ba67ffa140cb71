"""The life of a meter (issue "The game"): the real meter agrees, the odds agree, the same seed gives the same lives."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from controller.cli import main
from controller.game.odds import MeterOdds, odds_of
from controller.game.plot import WIDTH
from controller.game.simulate import (
    HITS_MAX,
    Lives,
    Policies,
    SimulationTooLong,
    Span,
    events_of,
    simulate,
)
from controller.meter import Amounts, lay, settle
from controller.money import MICROCENTS_PER_CENT, PPM, Rounding, whole_cents
from controller.paytable import Paytable
from controller.paytable_files import SHIPPED, load_table
from controller.plan import BelowSeed, MeterPlan, Order, Overflow, ReserveSurplus, TiePolicy

PLAIN = Policies(BelowSeed.ALLOW, ReserveSurplus.KEEP, Rounding.UP, None, Overflow.KEEP)
FULL = Policies(BelowSeed.TOP_UP, ReserveSurplus.ADD, Rounding.DOWN, 15_000_000, Overflow.NEXT_METER)
DECADE = Span(20_000, 10, 100)
COMMAND = ["simulate", "--wagers-per-day", "20000", "--years", "2", "--runs", "20", "--seed", "7"]


@cache
def meter_odds(name: str) -> MeterOdds:
    """The meter of a shipped paytable."""
    return odds_of(load_table(SHIPPED, name)).meters[0]


@cache
def decade(name: str, policies: Policies = PLAIN) -> Lives:
    """A hundred lives of ten years."""
    return simulate(meter_odds(name), policies, DECADE, 1)


def plan_of(name: str, odds: MeterOdds, policies: Policies) -> MeterPlan:
    """A meter of the floor with the same figures and policies."""
    paytable = load_table(SHIPPED, name)
    assert isinstance(paytable, Paytable)
    return MeterPlan(
        id="m", name="m", book="main", paytable=paytable, part=odds.part, seed_cents=odds.seed_cents,
        base_cents=odds.seed_cents, reserve_ppm=odds.reserve_ppm, tie_policy=TiePolicy.SPLIT,
        order=Order.PARTIALS_FIRST, below_seed=policies.below_seed, reserve_surplus=policies.reserve_surplus,
        rounding=policies.rounding, limit_cents=policies.limit_cents, overflow=policies.overflow, unreasonable_cents=0,
    )  # fmt: skip


def first_life(odds: MeterOdds, span: Span, seed: int) -> Iterator[tuple[int, int]]:
    """The first run's steps: wagers, and the share in ppm that the last one wins (0: the run is over)."""
    for block in events_of(odds, span, np.random.default_rng(seed)):
        for wagers, row in zip(block.gaps[:, 0].tolist(), block.rows[:, 0].tolist(), strict=True):
            yield wagers, odds.shares[row][1] if row >= 0 else 0


def lived(name: str, odds: MeterOdds, policies: Policies, span: Span) -> tuple[list[int], list[int], int]:
    """The same life by ``controller.meter``: 100% awards, the accounts at the end, the house's money; all in cents."""
    plan = plan_of(name, odds, policies)
    meter, house = Amounts(odds.seed_cents * MICROCENTS_PER_CENT, 0, 0), 0
    awards: list[int] = []
    for wagers, share in first_life(odds, span, 3):
        cents = wagers * odds.wager_cents
        meter = lay(plan, meter, cents * odds.rate_ppm, cents * odds.reserve_ppm)
        if share:
            done = settle(plan, meter, [share])
            meter, house = done.after, house + done.house
            awards += done.awards if share == PPM else ()
    return awards, [whole_cents(account) for account in meter], house // MICROCENTS_PER_CENT


@pytest.mark.parametrize("policies", [PLAIN, FULL, FULL._replace(limit_cents=None)], ids=["plain", "limit", "no-limit"])
@pytest.mark.parametrize("name", ["progressive-1", "progressive-4", "progressive-7"])
def test_the_floors_own_meter_lives_the_same_life_to_the_cent(name: str, policies: Policies) -> None:
    """Every contribution, share, reset and top-up by ``controller.meter``, R-12, R-15, R-56, R-63."""
    span, odds = Span(50_000, 20, 3), meter_odds(name)
    lives = simulate(odds, policies, span, 3)
    ours = (
        lives.hit_cents[lives.of_first_run].tolist(),
        [int(account[0]) for account in (lives.display_cents, lives.reserve_cents, lives.overflow_cents)],
        int(lives.house_seed_cents[0] + lives.top_up_cents[0]),
    )
    assert ours == lived(name, odds, policies, span)


def test_a_rate_with_fractions_of_a_cent_is_carried_as_the_floors_meter_carries_it() -> None:
    """1.37% of $1.00 is 1.37 cents, R-15."""
    odds = replace(meter_odds("progressive-1"), rate_ppm=13_700, reserve_ppm=2_900)
    lives, span = simulate(odds, FULL, Span(50_000, 20, 2), 3), Span(50_000, 20, 2)
    assert lives.hit_cents[lives.of_first_run].tolist() == lived("progressive-1", odds, FULL, span)[0]


def test_the_same_seed_gives_the_same_lives() -> None:
    """Every number of them."""
    again = simulate(meter_odds("progressive-1"), PLAIN, DECADE, 1)
    assert all(np.array_equal(one, other) for one, other in zip(decade("progressive-1"), again, strict=True))


def test_another_seed_gives_other_lives() -> None:
    """Or the seed would mean nothing."""
    other = simulate(meter_odds("progressive-1"), PLAIN, DECADE, 2)
    assert not np.array_equal(decade("progressive-1").hits, other.hits)


@pytest.mark.parametrize("name", ["progressive-1", "progressive-7"])
def test_the_hits_are_as_many_as_the_odds_say(name: str) -> None:
    """Within five deviations of the binomial."""
    expected = float(meter_odds(name).hit) * DECADE.wagers * DECADE.runs
    assert abs(int(decade(name).hits.sum()) - expected) < 5 * expected**0.5


def test_the_mean_meter_at_a_hit_is_the_exact_long_run_mean() -> None:
    """Progressive 1; the run's first hits weigh little in ten years. Five deviations."""
    amounts, mean = decade("progressive-1").hit_cents, meter_odds("progressive-1").mean_cents
    assert mean is not None
    assert abs(amounts.mean() - float(mean)) < 5 * amounts.std() / len(amounts) ** 0.5


def test_the_gaps_of_a_run_are_all_its_wagers_but_the_last_ones() -> None:
    """No wager is counted twice between two hits."""
    lives = decade("progressive-7")
    assert 0 <= DECADE.wagers - int(lives.gaps[lives.of_first_run].sum()) < 20 / float(meter_odds("progressive-7").hit)


def test_no_hit_is_above_the_limit() -> None:
    """R-12."""
    assert decade("progressive-1", PLAIN._replace(limit_cents=5_000_000)).hit_cents.max() == 5_000_000


def test_a_meter_that_is_raised_to_its_seed_is_never_found_under_it() -> None:
    """``below_seed = "top-up"``."""
    assert decade("progressive-1", FULL).below_seed_wagers.max() == 0


def test_a_meter_that_may_stand_under_its_seed_is_found_there() -> None:
    """Progressive 1's five aces take 10%, soon after a reset too."""
    assert decade("progressive-1").below_seed_wagers.sum() > 0


def test_without_a_reserve_the_house_pays_every_new_seed() -> None:
    """Progressive 1: $10,000.00 each."""
    lives = decade("progressive-1")
    assert np.array_equal(lives.house_seed_cents, lives.hits * 1_000_000)


def test_a_paytable_that_nobody_can_hit_is_refused() -> None:
    """A run would have no event at all."""
    odds = replace(meter_odds("progressive-1"), shares=(("five-aces", 100_000, Fraction(1, 1000)),))
    with pytest.raises(SimulationTooLong, match="no hand takes 100%"):
        simulate(odds, PLAIN, DECADE, 1)


def test_more_hits_than_memory_holds_are_refused_before_anything_is_played() -> None:
    """The text names the bound."""
    with pytest.raises(SimulationTooLong, match=f"{HITS_MAX:,}"):
        simulate(meter_odds("progressive-7"), PLAIN, Span(1_000_000, 10, 100_000), 1)


def test_more_money_than_an_account_holds_is_refused() -> None:
    """$9,000,000,000.00, as on the floor."""
    with pytest.raises(SimulationTooLong, match=r"\$9,000,000,000\.00"):
        simulate(meter_odds("progressive-3"), PLAIN, Span(10_000_000, 2, 1), 1)


def test_a_short_life_may_have_no_hit() -> None:
    """One run of 365 wagers."""
    assert simulate(meter_odds("progressive-1"), PLAIN, Span(1, 1, 1), 1).hit_cents.size == 0


def test_the_command_answers_its_spreads_as_json() -> None:
    """Every figure the issue names."""
    found = CliRunner().invoke(main, [*COMMAND, "--paytable", "progressive-4", "--json"])
    answer = json.loads(found.stdout)
    names = {"amount_at_hit_cents", "days_between_hits", "house", "reserve", "below_seed_part_of_wagers"}
    assert names <= set(answer)


def test_the_policies_of_the_command_reach_the_meter() -> None:
    """A limit of $20,000.00 is the greatest amount at hit."""
    found = CliRunner().invoke(main, [*COMMAND, "--paytable", "progressive-1", "--limit", "$20,000.00", "--json"])
    assert json.loads(found.stdout)["amount_at_hit_cents"]["max"] == 2_000_000


@pytest.mark.parametrize("wagers", ["10", "200", "100000"], ids=["no-hit", "one-hit", "many-hits"])
def test_the_picture_is_whole_and_stays_inside_its_frame(tmp_path: Path, wagers: str) -> None:
    """Well-formed SVG, three headings, no bar beyond the edge; with no hit, with one, and with many."""
    picture = tmp_path / "life.svg"
    span = ["--wagers-per-day", wagers, "--years", "3", "--runs", "1", "--seed", "7"]
    CliRunner().invoke(main, ["simulate", "--paytable", "progressive-7", *span, "--plot", str(picture)])
    drawn = ElementTree.fromstring(picture.read_text())
    words = " ".join(drawn.itertext())
    boxes = [box.attrib for box in drawn.iter() if box.tag.endswith("rect") and "x" in box.attrib]
    bars = [float(box["x"]) + float(box["width"]) for box in boxes]
    missing = [head for head in ("Meter at a 100% hit", "Days from hit to hit", "The first run") if head not in words]
    assert (missing, max(bars, default=0) <= WIDTH) == ([], True)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--paytable", "fortune-1"],
        ["--paytable", "progressive-1", "--limit", "$10,000.00"],
        ["--paytable", "progressive-1", "--limit", "lots"],
        ["--paytable", "progressive-1", "--runs", "0"],
        ["--paytable", "progressive-1", "--part", "mega"],
        ["--paytable", "progressive-1", "--plot", "/nowhere/at/all.svg"],
    ],
    ids=["no-meter", "limit-at-seed", "limit-no-money", "no-run", "no-such-part", "no-such-folder"],
)
def test_wrong_input_ends_the_command_with_2(wrong: list[str]) -> None:
    """And a line that says what to write."""
    found = CliRunner().invoke(main, [*COMMAND, *wrong])
    assert (found.exit_code, bool(found.stderr.strip())) == (2, True)
