"""What a hand is by each of the eighteen paytables, against a slow classifier and by hand (58 Pa. Code 688a.12)."""

import io
import json
import random
from dataclasses import replace

import pytest
from click.testing import CliRunner

from controller.cli import main
from controller.cli_game import LINE_BYTES_MAX, classify, classify_lines
from controller.game.cards import NAMES, read_hand
from controller.game.classify import AceHigh, SevenCards, classifier, is_ace_high
from controller.game.rows import ACE_HIGH_OUTCOMES, SEVEN_CARD_OUTCOMES
from controller.paytable import Paytable
from controller.paytable_files import SHIPPED, load_table
from tests import slow_classifier

SEVEN_CARD = [f"fortune-{number}" for number in range(1, 7)] + [f"progressive-{number}" for number in range(1, 8)]
RANDOM_HANDS = 20_000


def seven_cards(name: str) -> SevenCards:
    """A shipped paytable's classifier."""
    found = classifier(load_table(SHIPPED, name))
    assert isinstance(found, SevenCards)
    return found


def ace_high(name: str = "ace-high-1") -> AceHigh:
    """A shipped Ace High paytable's classifier."""
    found = classifier(load_table(SHIPPED, name))
    assert isinstance(found, AceHigh)
    return found


def outcome(name: str, cards: str) -> str | None:
    """The outcome of a hand by a shipped paytable."""
    return seven_cards(name).verdict(read_hand(cards)).outcome


def skewed(rng: random.Random) -> list[str]:
    """Seven cards, often with the joker, few suits or few ranks: where rare hands are made."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.sample(NAMES, 7)
    if kind == 1:
        deck = [card for card in NAMES if card[1] == "s" or card == "Jo" or card[0] in "KQ"]
    elif kind == 2:
        ranks = rng.sample("23456789TJQKA", 3)
        deck = [card for card in NAMES if card[0] in ranks or card == "Jo"]
    else:
        deck = [card for card in NAMES if card[0] in "TJQKA" or card == "Jo"]
    hand = rng.sample(deck, 7)
    if "Jo" not in hand and rng.random() < 0.3:
        hand[rng.randrange(7)] = "Jo"
    return hand


def disagreements(rule: str, hands: list[list[str]]) -> list[str]:
    """Hands that a paytable of that joker rule and the slow classifier read differently."""
    tables = [found for found in map(seven_cards, SEVEN_CARD) if found.wild is (rule == "fully-wild")]
    shipped = {found.id: load_table(SHIPPED, found.id).seven_card_straight_flush_includes_joker for found in tables}
    wrong = []
    for hand in hands:
        names, cards = slow_classifier.held(hand, rule), read_hand(" ".join(hand))
        for table in tables:
            row = table.row(cards)
            slow = slow_classifier.outcome([row.outcome for row in table.rows], names, shipped[table.id])
            if (row.outcome if row else None) != slow:
                wrong.append(f"{table.id} {' '.join(hand)}: {row and row.outcome}, slow {slow}")
    return wrong


@pytest.mark.parametrize("rule", ["standard", "fully-wild"])
def test_the_slow_classifier_agrees_on_random_hands(rule: str) -> None:
    """20,000 hands off the deck for each joker rule, by every paytable of that rule."""
    rng = random.Random(688)
    assert disagreements(rule, [rng.sample(NAMES, 7) for _ in range(RANDOM_HANDS)]) == []


@pytest.mark.parametrize("rule", ["standard", "fully-wild"])
def test_the_slow_classifier_agrees_where_rare_hands_are_made(rule: str) -> None:
    rng = random.Random(12)
    assert disagreements(rule, [skewed(rng) for _ in range(1_500)]) == []


def test_the_slow_classifier_agrees_on_what_is_ace_high() -> None:
    rng = random.Random(7)
    hands = [rng.sample(NAMES, 7) for _ in range(RANDOM_HANDS // 4)]
    assert [hand for hand in hands if is_ace_high(read_hand(" ".join(hand))) != slow_classifier.is_ace_high(hand)] == []


@pytest.mark.parametrize(("name", "cards", "expected"), [
    ("fortune-1", "As Ks Qs Js Ts 9s 8s", "7-card-straight-flush"),
    ("fortune-1", "As 2s 3s 4s 5s 6s 7s", "7-card-straight-flush"),
    ("fortune-1", "Qs Ks As 2s 3s 4s 5s", "straight-flush"),
    ("fortune-1", "Js Qs Ks As 2s 3s 4d", "flush"),
    ("fortune-1", "As Ks Qs Js Ts 9s Jo", "7-card-straight-flush-with-joker"),
    ("fortune-1", "Ks Qs Js Jo 9s 8s 7s", "7-card-straight-flush-with-joker"),
    ("fortune-1", "2s 3s 4s Jo 6s 7s As", "7-card-straight-flush-with-joker"),
    ("progressive-1", "Ks Qs Js Jo 9s 8s 7s", "7-card-straight-flush"),
    ("progressive-2", "Ks Qs Js Ts 9s 8s 7s", "7-card-natural-straight-flush"),
    ("progressive-2", "Ks Qs Js Jo 9s 8s 7s", "7-card-wild-straight-flush"),
    ("progressive-4", "Ks Qs Js Jo 9s 8s 7s", "7-card-straight-flush-with-joker"),
    ("progressive-7", "As Ks Qs Js Ts 9s 8s", "royal-flush"),
    ("fortune-1", "As Ks Qs Js Ts Kd Qd", "royal-flush-royal-match"),
    ("fortune-1", "As Jo Qs Js Ts Kd Qd", "royal-flush-royal-match"),
    ("fortune-1", "As Ks Qs Js Ts Kd Qh", "royal-flush"),
    ("fortune-1", "As Ks Qs Js Ts Kd Jo", "royal-flush"),
    ("fortune-1", "Ad Jo Qd Jd Td Kd Qh", "royal-flush"),
    ("progressive-5", "As Ks Qs Js Ts Kd Qd", "royal-flush"),
    ("fortune-1", "As Ah Ad Ac Jo Kd Kh", "five-aces"),
    ("progressive-5", "As Ah Ad Ac Jo Kd Kh", "five-aces"),
    ("progressive-2", "As Ah Ad Ac Jo Kd Kh", "five-of-a-kind"),
    ("progressive-5", "Ks Kh Kd Kc Jo 2d 3h", "five-of-a-kind"),
    ("progressive-7", "Ks Kh Kd Kc Jo 2d 3h", "four-of-a-kind"),
    ("fortune-1", "Ks Kh Kd Kc Jo 2d 3h", "four-of-a-kind"),
    ("fortune-1", "As Ah Ad Jo 9c 2d 3h", "four-of-a-kind"),
    ("fortune-1", "Ks Kh Kd Jo 9c 2d 5h", "three-of-a-kind"),
    ("progressive-5", "Ks Kh Kd Jo 9c 2d 5h", "four-of-a-kind"),
    ("fortune-1", "Ks Kh Kd Jo Ac 2d 5h", "full-house"),
    ("progressive-5", "Ks Kh 7d 7h Jo 2d 4c", "full-house"),
    ("progressive-1", "Ks Kh 7d 7h Jo 2d 4c", None),
    ("fortune-1", "Ks Kh Kd 9s 9h 2s 4s", "full-house"),
    ("fortune-1", "Ks 9s 7s 2s Jo Kh Kd", "flush"),
    ("progressive-4", "Ks Kh Kd 9s 9h 2s 4s", None),
    ("fortune-2", "Ks Kh Kd Qs Jh Ts 9d", "three-of-a-kind"),
    ("fortune-2", "Ks Kh 3d Qs Jh Ts 9d", "straight"),
    ("fortune-2", "As 2h 3d 4s 5h Ts 9d", "straight"),
    ("fortune-2", "Qs Kh Ad 2s 3h 7s 8d", None),
    ("fortune-2", "Ks Qh Jo Js 9h 2s 2d", "straight"),
    ("fortune-2", "5s 4h Jo 3s 2h Js Kd", "straight"),
    ("fortune-1", "Ks Kh 7d 7h 4c 4d As", "three-pair"),
    ("fortune-1", "Ks Kh 7d 7h Jo 4d As", "three-pair"),
    ("fortune-1", "Ks Kh 7d 7h Jo 4d 2s", None),
    ("fortune-2", "Ks Kh 7d 7h 4c 4d As", None),
    ("fortune-1", "Ts 9s 8s 7s 6s 6d 6h", "straight-flush"),
    ("fortune-1", "5s 4s 3s 2s Jo Kd Kh", "straight-flush"),
])  # fmt: skip
def test_a_hand_gets_the_topmost_row_that_it_satisfies(name: str, cards: str, expected: str | None) -> None:
    """Wheel runs, no run that wraps, the joker as a gap and beside pairs and trips, two hands in one."""
    assert outcome(name, cards) == expected


@pytest.mark.parametrize(("cards", "best"), [
    ("As Ks Qs Js Ts 9s 8s", "As Ks Qs Js Ts 9s 8s"),
    ("2s 3s Jo 5s 6s 7s As", "7s 6s 5s Jo=4s 3s 2s As"),
    ("As Jo Qs Js Ts Kd Qd", "As Jo=Ks Qs Js Ts + Kd Qd"),
    ("As Ah Ad Ac Jo Kd Kh", "As Ah Ad Ac Jo=A"),
    ("Ks Kh Kd Jo Ac 2d 5h", "Ks Kh Kd Ac Jo=A"),
    ("As 2h 3d Jo 5h Ts 9d", "5h Jo=4 3d 2h As"),
    ("Ks 9s 7s 2s Jo Kh Qd", "Ks 9s 7s 2s Jo"),
    ("Ks Kh 7d 7h Jo 4d As", "As Jo=A Ks Kh 7h 7d"),
])  # fmt: skip
def test_the_answer_says_how_the_cards_make_it(cards: str, best: str) -> None:
    assert seven_cards("fortune-1").verdict(read_hand(cards)).best == best


def test_how_the_cards_make_it_names_cards_of_the_hand_only() -> None:
    rng, table = random.Random(4), seven_cards("progressive-5")
    for hand in [skewed(rng) for _ in range(2_000)]:
        verdict = table.verdict(read_hand(" ".join(hand)))
        named = [word.split("=")[0] for word in (verdict.best or "").split()]
        assert len(named) == len(set(named)) and set(named) <= set(hand), (hand, verdict)


def test_a_joker_in_a_plain_seven_card_row_counts_only_where_the_key_says_so() -> None:
    """Design section 4, ``seven_card_straight_flush_includes_joker``."""
    shipped = load_table(SHIPPED, "progressive-1")
    assert isinstance(shipped, Paytable)
    table = SevenCards(replace(shipped, seven_card_straight_flush_includes_joker=False))
    assert table.verdict(read_hand("Ks Qs Js Jo 9s 8s 7s")).outcome == "straight-flush"


ACE = "As Kd Jh 9c 7s 5d 3h"
ACE_TOO = "Ac Kh Js 9d 7c 5h 3s"
JOKER_ACE = "Jo Kd Jh 9c 7s 5d 3h"
NOT_ACE = "Kc Qh Ts 9d 7c 6h 3s"


@pytest.mark.parametrize(("dealer", "player", "expected"), [
    (ACE, ACE_TOO, "both-ace-high"),
    (JOKER_ACE, ACE_TOO, "both-ace-high"),
    (ACE, NOT_ACE, "dealer-ace-high-no-joker"),
    (JOKER_ACE, NOT_ACE, "dealer-ace-high-with-joker"),
    (NOT_ACE, ACE, None),
    ("As Jo Jh 9c 7s 5d 3h", NOT_ACE, None),
    ("As Kd Jh 9c 7s 5d 5s", NOT_ACE, None),
    ("As 2d 3h 4c 5s 9s Jh", NOT_ACE, None),
    ("Jo Kd Jh Tc 9s 5d 3h", "Ac Qh Ts 8d 7c 5h 3s", None),
    ("As Ks Js 9s 7s 5d 3h", NOT_ACE, None),
    ("Jo Kd Jd 8d 7d 5s 3h", NOT_ACE, None),
])
def test_the_ace_high_bonus_is_about_the_dealers_hand_and_the_players(
    dealer: str, player: str, expected: str | None
) -> None:
    assert ace_high().verdict(read_hand(dealer), read_hand(player)).outcome == expected


def asked(*words: str, feed: str = "") -> tuple[int, str, str]:
    """Exit code, output and error of ``meterctl classify``."""
    done = CliRunner().invoke(main if "classify" in main.commands else classify, list(words), input=feed)
    return done.exit_code, done.stdout, done.stderr


def test_classify_answers_in_json() -> None:
    code, out, _ = asked("classify", "--paytable", "fortune-1", "--json", "As Ks Qs Js Ts 9s 8s")
    assert (code, json.loads(out)) == (0, {
        "cards": "As Ks Qs Js Ts 9s 8s", "paytable": "fortune-1", "outcome": "7-card-straight-flush",
        "label": "7 card straight flush", "best": "As Ks Qs Js Ts 9s 8s"})


def test_classify_answers_people_in_words() -> None:
    assert asked("classify", "--paytable", "fortune-1", "As Ah Ad Ac Jo Kd Kh")[1] == "Five aces: As Ah Ad Ac Jo=A\n"


def test_classify_reads_two_hands_for_ace_high() -> None:
    code, out, _ = asked("classify", "--paytable", "ace-high-1", "--json", "--dealer", JOKER_ACE, "--player", NOT_ACE)
    assert (code, json.loads(out)) == (0, {
        "cards": f"{JOKER_ACE} | {NOT_ACE}", "paytable": "ace-high-1", "outcome": "dealer-ace-high-with-joker",
        "label": "Only dealer has ace high, with joker", "best": "dealer Jo=A Kd Jh 9c 7s 5d 3h"})


@pytest.mark.parametrize(("words", "named"), [
    (["As Ks Qs Js Ts 9s 1s"], '"1s" is not a card'),
    (["As Ks Qs Js 10s 9s 8s"], '"10s" is not a card; did you mean Ts?'),
    (["As Ks Qs Js Ts 9s As"], "As stands twice"),
    (["As Ks Qs Js Ts 9s"], "6 cards where 7 are meant"),
    (["As Ks Qs Js Ts 9s 8s 7s"], "8 cards where 7 are meant"),
    (["joker Ks Qs Js Ts 9s 8s"], "did you mean Jo?"),
])
def test_a_wrong_hand_is_refused_by_name(words: list[str], named: str) -> None:
    code, out, err = asked("classify", "--paytable", "fortune-1", *words)
    assert (code, out) == (2, "") and named in err


def test_a_card_that_dealer_and_player_both_hold_is_refused() -> None:
    code, _, err = asked("classify", "--paytable", "ace-high-1", "--dealer", ACE, "--player", ACE)
    assert code == 2 and "stands in the dealer's hand and in the player's" in err


@pytest.mark.parametrize("words", [
    ["--paytable", "ace-high-1", ACE],
    ["--paytable", "fortune-1", "--dealer", ACE, "--player", ACE_TOO],
    ["--paytable", "fortune-1"],
    ["--paytable", "fortune-1", "--stdin", ACE],
])
def test_the_wrong_number_of_hands_for_a_paytable_is_a_usage_error(words: list[str]) -> None:
    assert asked("classify", *words)[0] == 2


def test_an_unknown_paytable_is_refused_with_the_nearest_id() -> None:
    code, _, err = asked("classify", "--paytable", "fortune-7", ACE)
    assert code == 2 and 'there is no paytable "fortune-7"; did you mean "fortune-' in err


def test_stdin_answers_every_line_and_goes_on_after_a_wrong_one() -> None:
    feed = f"As Ks Qs Js Ts 9s 8s\nAs Ks\nXX Ks Qs Js Ts 9s 8s\n\n{ACE}"
    code, out, _ = asked("classify", "--paytable", "fortune-1", "--stdin", feed=feed)
    answers = [json.loads(line) for line in out.splitlines()]
    assert (code, [answer.get("outcome", answer.get("error", "").split(";")[0]) for answer in answers]) == (0, [
        "7-card-straight-flush", "2 cards where 7 are meant", '"XX" is not a card', "0 cards where 7 are meant", None])


def test_stdin_takes_dealer_and_player_in_one_line() -> None:
    _, out, _ = asked("classify", "--paytable", "ace-high-2", "--stdin", feed=f"{ACE} | {ACE_TOO}\n{ACE}\n")
    both, wrong = (json.loads(line) for line in out.splitlines())
    assert both["outcome"] == "both-ace-high" and wrong == {
        "error": "1 hands where the dealer's | the player's are meant"}


def test_an_endless_line_is_one_error_and_the_next_is_read() -> None:
    out = io.StringIO()
    feed = b"As " * 100_000 + b"\nAs Ks Qs Js Ts 9s 8s\n"
    classify_lines(seven_cards("fortune-1"), io.BytesIO(feed), out)
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert "error" in first and second["outcome"] == "7-card-straight-flush" and LINE_BYTES_MAX == 1_000


def test_a_line_of_json_written_by_hand_is_what_json_would_write() -> None:
    table = seven_cards("fortune-1")
    for cards in (ACE, "As Jo Qs Js Ts Kd Qd"):
        verdict = table.verdict(read_hand(cards))
        assert table.answer(cards) == json.dumps({"cards": cards, "paytable": "fortune-1", **verdict._asdict()}) + "\n"


def test_the_document_names_every_outcome() -> None:
    """docs/GAME.md."""
    told = (SHIPPED.parents[1] / "docs" / "GAME.md").read_text()
    assert [name for name in (*SEVEN_CARD_OUTCOMES, *ACE_HIGH_OUTCOMES) if f"`{name}`" not in told] == []
