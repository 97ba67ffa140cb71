"""A whole round settled: every wager, envy, meter shares and the maximum payout (58 Pa. Code section 688a.12)."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller.cli import main
from controller.game.cards import NAMES
from controller.game.round_check import make_ready
from controller.game.round_form import RoundError, read_form, schema
from controller.game.settle import settle
from controller.paytable_files import SHIPPED, load_table

ROUNDS = Path(__file__).parent / "rounds"
SCENARIOS = sorted(path.stem for path in ROUNDS.glob("*.json") if not path.stem.endswith(".expected"))
Json = dict[str, Any]


def settled(form: Json) -> Json:
    """The result of a round."""
    return settle(make_ready(read_form(json.dumps(form).encode()), lambda name: load_table(SHIPPED, name)))


def scenario(name: str = "every-wager-at-once") -> Json:
    """A round of tests/rounds."""
    found: Json = json.loads((ROUNDS / f"{name}.json").read_text())
    return found


def wager_of(result: Json, seat: int, kind: str) -> Json:
    """One wager's result."""
    wagers = next(told for told in result["seats"] if told["seat"] == seat)["wagers"]
    found: Json = next(wager for wager in wagers if wager["wager"] == kind)
    return found


def short(result: Json) -> Json:
    """A result in the form of the ``.expected.json`` files."""
    seats = {}
    for seat in result["seats"]:
        wagers = {wager["wager"]: [wager[key] for key in (
            "result", "pay_cents", "returned_cents", "cap_took_cents", "meters")] for wager in seat["wagers"]}
        envy = {f"{entry['wager']} from {entry['from_seat']}": entry["cents"] for entry in seat["envy"]}
        seats[str(seat["seat"])] = {"wagers": wagers, "envy": envy}
    meters = {part: {key: meter[key] for key in ("paid_cents", "house_microcents", "after")}
              for part, meter in result["meters"].items()}
    return {"seats": seats, "meters": meters}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_round_is_settled_as_worked_out_by_hand(name: str) -> None:
    expected = json.loads((ROUNDS / f"{name}.expected.json").read_text())
    del expected["about"]
    assert short(settled(scenario(name))) == expected


def one_seat(high: str, low: str, dealer: tuple[str, str] = ("Qd Qh 9c 6c 2d", "Kc Td"), **wagers: int) -> Json:
    """A round with one player and no maximum payout."""
    form = scenario()
    form["table"]["maximum_payout"] = "none"
    form["dealer"] = {"high": dealer[0], "low": dealer[1]}
    form["seats"] = [{"seat": 1, "high": high, "low": low, "wagers": wagers}]
    return form


@pytest.mark.parametrize(("high", "low", "result"), [
    ("Kd Kh 8s 5s 3d", "Ac 7h", "win"),
    ("Kd Kh Ac 5s 3d", "8s 7h", "push"),
    ("Jd Jh Ac 5s 3d", "8s 7h", "lose"),
    ("Ad Jh 9h 5s 3d", "Ks Qc", "push"),
    ("Qs Qc 9h 6s 2s", "Ah 7d", "push"),
    ("Kd Kh 8s 5s 3d", "Ks Th", "push"),
    ("Jo Kd 8s 5s 3d", "Ac 7h", "push"),
])  # fmt: skip
def test_the_main_wager_wins_when_both_hands_are_better_and_ties_are_the_dealers(
    high: str, low: str, result: str
) -> None:
    pays = {"win": (1500, 1500), "push": (0, 1500), "lose": (0, 0)}
    found = wager_of(settled(one_seat(high, low, main=1500)), 1, "main")
    assert (found["result"], (found["pay_cents"], found["returned_cents"])) == (result, pays[result])


ACE_HIGH_DEALER = ("Ad Js 9c 6c 2d", "Kc Td")


def test_a_dealers_ace_high_pushes_the_main_wager_where_the_policy_says_so() -> None:
    form = one_seat("Kd Kh 8s 5s 3d", "Ac 7h", ACE_HIGH_DEALER, main=1500)
    assert wager_of(settled(form), 1, "main")["result"] == "push"


def test_a_dealers_ace_high_plays_on_where_the_policy_says_so() -> None:
    form = one_seat("Kd Kh 8s 5s 3d", "Ac 7h", ACE_HIGH_DEALER, main=1500)
    form["table"]["dealer_ace_high"] = "play-on"
    assert wager_of(settled(form), 1, "main")["result"] == "win"


def test_a_fouled_hand_loses_the_main_wager_and_keeps_its_bonus() -> None:
    """Bonuses are read from all seven cards, however they are set."""
    result = settled(one_seat("As Kh 5s 3d 2s", "Ah Ad", main=1500, fortune=500))
    assert (wager_of(result, 1, "main")["result"], wager_of(result, 1, "fortune")["outcome"]) == (
        "lose", "three-of-a-kind")


def with_envy(envy_hand: str, holder: Json, other: Json) -> dict[int, int]:
    """Envy by seat with a four of a kind at seat 5 and nothing at seat 3."""
    form = scenario()
    seats = {seat["seat"]: seat for seat in form["seats"]}
    seats[5]["wagers"], seats[3]["wagers"] = holder, other
    form["seats"], form["table"]["envy_hand"] = [seats[3], seats[5]], envy_hand
    return {seat["seat"]: seat["totals"]["envy_cents"] for seat in settled(form)["seats"]}


@pytest.mark.parametrize(("envy_hand", "holder", "other", "due"), [
    ("any-player", {"fortune": 500}, {"fortune": 500}, {3: 500, 5: 0}),
    ("any-player", {"fortune": 100}, {"fortune": 500}, {3: 500, 5: 0}),
    ("any-player", {"main": 1500}, {"fortune": 500}, {3: 500, 5: 0}),
    ("wagering-player", {"main": 1500}, {"fortune": 500}, {3: 0, 5: 0}),
    ("wagering-player", {"progressive": 500}, {"fortune": 500}, {3: 0, 5: 0}),
    ("wagering-player", {"fortune": 100}, {"fortune": 500}, {3: 500, 5: 0}),
    ("wagering-player", {"fortune": 500}, {"fortune": 499}, {3: 0, 5: 0}),
    ("any-player", {"fortune": 500}, {"fortune": 500, "progressive": 500}, {3: 1000, 5: 0}),
])  # fmt: skip
def test_envy_goes_to_every_other_seat_with_a_qualifying_wager_of_the_same_kind(
    envy_hand: str, holder: Json, other: Json, due: dict[int, int]
) -> None:
    """Five dollars or more qualify; never the own hand (design section 4)."""
    assert with_envy(envy_hand, holder, other) == due


def test_the_dealers_hand_earns_nobody_envy() -> None:
    form = one_seat("Kd Kh 8s 5s 3d", "Ac 7h", ("9c 9d 9h 9s 2d", "6c 4d"), main=1500, fortune=500, progressive=500)
    assert settled(form)["totals"]["envy_cents"] == 0


@pytest.mark.parametrize(("fortune", "floor"), [(100, "$50,000.00"), (600, "$53,060.00"), (1000, "$85,100.00")])
def test_a_maximum_payout_below_what_the_subsection_allows_is_refused(fortune: int, floor: str) -> None:
    """R-18: $50,000, or the most at the minimum wagers: 8,000 to 1, $5,000 and 10 to 1 on the dealer's ace high."""
    form = scenario()
    form["table"]["minimum_wagers"].update(fortune=fortune, ace_high=fortune)
    for seat in form["seats"]:
        seat["wagers"].pop("fortune", None)
        seat["wagers"].pop("ace_high", None)
    form["table"]["maximum_payout"] = "$49,999.99"
    with pytest.raises(RoundError, match=f"subsection \\(e\\) allows, \\{floor}"):
        settled(form)


def test_a_maximum_payout_of_the_least_permissible_amount_is_taken() -> None:
    form = scenario()
    form["table"]["maximum_payout"] = "$50,000.00"
    assert settled(form)["totals"]["cap_took_cents"] == 3_500_000


def test_the_maximum_payout_takes_nothing_of_a_meter_or_of_envy() -> None:
    """R-18."""
    capped, free = scenario(), scenario()
    free["table"]["maximum_payout"] = "none"
    told = [settled(form)["totals"] for form in (capped, free)]
    assert [told[0][key] for key in ("meter_cents", "envy_cents")] == [
        told[1][key] for key in ("meter_cents", "envy_cents")]


def test_the_maximum_payout_is_for_each_hand_on_its_own() -> None:
    form = one_seat("As Ks Qs Js Ts", "9s 8s", fortune=600)
    form["seats"].append({"seat": 2, "high": "Ah Kh Jo Jh Th", "low": "9h 8h", "wagers": {"fortune": 5000}})
    form["table"] |= {"maximum_payout": "$50,000.00"}
    form["dealer"] = {"high": "Qd Qc 9c 6c 2d", "low": "Kc Td"}
    assert [seat["totals"]["pay_cents"] for seat in settled(form)["seats"]] == [4_800_000, 5_000_000]


def test_what_the_main_wager_wins_counts_toward_the_maximum_and_is_never_cut() -> None:
    """Subsection (e) is notwithstanding (b) to (d) only: the main wager's 1 to 1 stands."""
    form = one_seat("As Ks Qs Js Ts", "9s 8s", ("Qd Qh 9c 6c 2d", "7c 5d"), main=6_000_000, fortune=1000)
    form["table"]["maximum_payout"] = "$50,000.00"
    result = settled(form)
    assert [wager_of(result, 1, kind)["pay_cents"] for kind in ("main", "fortune")] == [6_000_000, 0]


def test_a_meter_nobody_claims_stays_as_it_is() -> None:
    """Even below its seed under ``top-up``: only a settlement that takes from it raises it."""
    form = one_seat("Kd Kh 8s 5s 3d", "Ac 7h", main=1500, progressive=500)
    form["meters"]["main"] |= {"display_microcents": 5, "below_seed": "top-up"}
    meter = settled(form)["meters"]["main"]
    assert meter["before"] == meter["after"] and meter["house_microcents"] == 0


def changed(change: Callable[[Json], object]) -> Json:
    """The big scenario with something wrong in it."""
    form = copy.deepcopy(scenario())
    change(form)
    return form


@pytest.mark.parametrize(("change", "said"), [
    (lambda form: form["table"].pop("dealer_ace_high"), "table.dealer_ace_high: Field required"),
    (lambda form: form["table"].pop("envy_hand"), "table.envy_hand: missing; a paytable has envy"),
    (lambda form: form["table"].update(colour="red"), "table.colour: Extra inputs are not permitted"),
    (lambda form: form["seats"][0]["wagers"].update(main=15.0), "seats.0.wagers.main: Input should be a valid integer"),
    (lambda form: form["seats"][0]["wagers"].update(main=True), "seats.0.wagers.main: Input should be a valid integer"),
    (lambda form: form["seats"][0].update(high="Ad Ah Jo 8h"), "seat 1: 6 cards where 7 are meant"),
    (lambda form: form["seats"][0].update(low="Kh Xh"), 'seat 1: "Xh" is not a card'),
    (lambda form: form["seats"][0].update(low="Kh Kh"), "seat 1: Kh stands twice"),
    (lambda form: form["seats"][0].update(low="Kh Qd"), "seat 1: Qd is in the hand of dealer too"),
    (lambda form: form["seats"][1].update(seat=1), "seat 1: stands twice"),
    (lambda form: form["seats"][1].update(seat=7), "seat 7: the table has 6 seats"),
    (lambda form: form["table"].update(pay_order=[1, 2, 3]), "table.pay_order: name every seat from 1 to 6 once"),
    (lambda form: form["dealer"].update(high="9c 6c 2d Td Kc", low="Qd Qh"), "dealer: the low hand outranks"),
    (lambda form: form["seats"][0]["wagers"].update(progressive=100), "seat 1: wagers.progressive: $1.00 where $5.00"),
    (lambda form: form["seats"][0]["wagers"].update(main=1000), "seat 1: wagers.main: $10.00 is under the minimum"),
    (lambda form: form["paytables"].update(fortune="ace-high-1"), "paytables.fortune: ace-high-1 is a paytable of an"),
    (lambda form: form["paytables"].pop("ace_high"), "seat 4: wagers.ace_high: the round names no such paytable"),
    (lambda form: form["meters"].clear(), "meters.main: missing; progressive-4 pays from it"),
    (lambda form: form["meters"].update(top=form["meters"]["main"]), "meters.top: progressive-4 has no such part"),
    (lambda form: form["meters"]["main"].update(limit="$10,000.00"), "meters.main.limit: not above the seed"),
    (lambda form: form["table"].pop("minimum_wagers"), "table.minimum_wagers.main: missing; a maximum payout"),
])  # fmt: skip
def test_a_contradiction_in_a_round_is_refused_with_its_place(change: Callable[[Json], object], said: str) -> None:
    with pytest.raises(RoundError) as wrong:
        settled(changed(change))
    assert any(line.startswith(said) for line in str(wrong.value).splitlines()), str(wrong.value)


@pytest.mark.parametrize(("text", "said"), [
    (b"{", "not JSON"), (b'{"a": 1, "a": 2}', "a key stands twice"), (b"[1]", "round: Input should be an object"),
    (b"[" * 100_000, "not JSON"), (b"\xff", "not JSON"), (b" " * 1_000_001, "longer than 1,000,000 bytes"),
])  # fmt: skip
def test_what_is_no_round_at_all_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(RoundError, match=said):
        read_form(text)


def random_round(rng: random.Random) -> Json:
    """A dealt round: six seats with random wagers, hands set as they come (often fouled)."""
    form, deck = scenario(), rng.sample(NAMES, 49)
    form["table"]["maximum_payout"] = rng.choice(["none", "$50,000.00"])
    form["dealer"] = {"high": " ".join(deck[0:5]), "low": " ".join(deck[5:7])}
    for place, seat in enumerate(form["seats"], start=1):
        cards = deck[7 * place : 7 * place + 7]
        seat.update(high=" ".join(cards[:5]), low=" ".join(cards[5:]), wagers={
            "main": rng.randrange(1500, 100_000), "fortune": rng.choice([100, 500, 100_000]), "progressive": 500})
    return form


def test_random_rounds_keep_the_rules_of_money() -> None:
    """The meter gives what is paid and gains what the house puts in; a capped hand wins no more than the cap."""
    rng, settled_rounds = random.Random(9), 0
    while settled_rounds < 150:
        form = random_round(rng)
        try:
            result = settled(form)
        except RoundError:  # a fouled dealer's hand: dealt, not set
            continue
        settled_rounds += 1
        meter = result["meters"]["main"]
        gained = sum(meter["after"].values()) - sum(meter["before"].values())
        assert gained == meter["house_microcents"] - meter["paid_cents"] * 1_000_000
        for seat in result["seats"]:
            bonus = [wager["pay_cents"] for wager in seat["wagers"] if wager["wager"] != "main"]
            assert form["table"]["maximum_payout"] == "none" or sum(bonus) <= 5_000_000
            totals = seat["totals"]
            parts = ("pay_cents", "returned_cents", "meter_cents", "envy_cents")
            assert totals["handed_cents"] == sum(totals[key] for key in parts)


def test_the_published_schema_is_that_of_the_reader() -> None:
    assert json.loads((Path(__file__).parents[1] / "docs" / "settle.schema.json").read_text()) == schema()


def test_meterctl_settle_prints_the_same_result_as_json() -> None:
    done = CliRunner().invoke(main, ["settle", "--json", str(ROUNDS / "every-wager-at-once.json")])
    assert (done.exit_code, json.loads(done.stdout)) == (0, settled(scenario()))


def test_meterctl_settle_tells_people_what_each_seat_gets() -> None:
    done = CliRunner().invoke(main, ["settle", "-"], input=json.dumps(scenario()))
    assert done.exit_code == 0
    assert "Seat 2: $130,050.25 to the player" in done.stdout and "maximum payout took $30,000.00" in done.stdout


def test_meterctl_settle_refuses_a_wrong_round_with_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "round.json"
    path.write_text(json.dumps(changed(lambda form: form["table"].pop("dealer_ace_high"))))
    done = CliRunner().invoke(main, ["settle", str(path)])
    assert (done.exit_code, done.stdout) == (2, "") and "table.dealer_ace_high: Field required" in done.stderr


def test_meterctl_settle_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["settle", str(tmp_path / "none.json")])
    assert done.exit_code == 2 and "cannot be read: No such file" in done.stderr


def test_meterctl_settle_names_a_paytable_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "round.json"
    path.write_text(json.dumps(changed(lambda form: form["paytables"].update(fortune="fortune-9"))))
    done = CliRunner().invoke(main, ["settle", str(path)])
    assert done.exit_code == 2 and 'there is no paytable "fortune-9"' in done.stderr
