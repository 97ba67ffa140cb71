"""The engine against the oracle: the contract's day, then random evenings at random floors, answer by answer.

By default 160 evenings of 150 lines; with ``PMC_CAMPAIGN=long`` 20,000 of 300 (about two hours on one slow core). An
evening is named by its seed, so that a failing one can be played again.
"""

import json
import os
from random import Random
from typing import Any

import pytest
from engine import Engine
from floors import CONTRACT, contract_floor, plan_of, random_floor
from oracle import Oracle
from random_play import Evening

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
EVENINGS, LINES = (20_000, 300) if LONG else (160, 150)
BLOCKS = 8
TIMES = (0, 36_000_000_000, 39_600_000_000)
"""In New York: an evening, 05:00 of the same gaming day, and 06:00, when the next one begins."""

Json = dict[str, Any]


def the_day() -> tuple[list[bytes], list[Json]]:
    expected = (CONTRACT / "day.expected.jsonl").read_text().splitlines()
    return (CONTRACT / "day.jsonl").read_bytes().splitlines(), [json.loads(line) for line in expected]


def test_the_oracle_gives_the_answers_of_the_contracts_day() -> None:
    lines, expected = the_day()
    oracle = Oracle(*contract_floor())
    assert [answer for line in lines for answer in oracle.take(line)] == expected


def test_the_engine_gives_the_answers_of_the_contracts_day() -> None:
    lines, expected = the_day()
    engine = Engine(plan_of(contract_floor()))
    assert [answer for line in lines for answer in engine.take(line)] == expected


@pytest.mark.timeout(14_400 if LONG else 120)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_line_of_a_random_evening_is_answered_as_the_oracle_does(block: int) -> None:
    """I1, I2: also when the floor has forgotten what its book can tell, and after restarts from its state rows."""
    for seed in range(block, EVENINGS, BLOCKS):
        play_evening(seed)


def play_evening(seed: int) -> None:
    """One evening; the first answer or balance that differs fails it."""
    rng = Random(seed)
    floor = random_floor(rng)
    at = rng.choice(TIMES)
    oracle, engine = Oracle(*floor, at=at), Engine(plan_of(floor), at)
    evening = Evening(rng, oracle, wrong=rng.choice((0, 0.05, 0.3)))
    for place in range(LINES):
        if place % 11 == 5:
            engine.restart()
        if place % 7 == 3:
            engine.forget()
        line = evening.line()
        wanted = oracle.take(line)
        assert engine.take(line) == wanted, f"evening {seed}, line {place + 1}: {line!r}"
        wanted_balances = {name: meter.accounts for name, meter in oracle.meters.items()}
        balances = {name: engine.accounts(name) for name in engine.floor.meters}
        assert balances == wanted_balances, f"evening {seed}, line {place + 1}: {line!r}"


HEAD = '"v":1,"device":"hub-03","boot":"c1","seq":1,'

MALFORMED = {
    "not JSON": b"not json",
    "a list": b"[]",
    "null": b"null",
    "not UTF-8": b'{"v":1,"device":"hub-03","boot":"\xff","seq":1}',
    "a byte order mark": b'\xef\xbb\xbf{"v":1,"device":"hub-03","boot":"c1","seq":1,"type":"close","round":1}',
    "NaN": b'{"v":1,"device":"hub-03","boot":"c1","seq":1,"type":"close","round":NaN}',
    "two texts": b'{"v":1,"device":"hub-03","boot":"c1","seq":1} {}',
    "a doubled key": b'{"v":1,"device":"hub-03","boot":"c1","seq":1,"type":"close","round":1,"round":1}',
    "a doubled key further in": b'{"v":1,"device":"hub-03","boot":"c1","seq":1,"type":"close","x":{"y":1,"y":2}}',
    "a doubled key of an unknown device": b'{"v":1,"device":"hub-99","boot":"c1","seq":1,"seq":1}',
    "v as true": b'{"v":true,"device":"hub-03","boot":"c1","seq":1,"type":"close","round":1}',
    "another version": b'{"v":2,"device":"hub-03","boot":"c1","seq":1,"type":"close","round":1}',
    "no device": b'{"v":1,"boot":"c1","seq":1,"type":"close","round":1}',
    "a boot with a wildcard": b'{"v":1,"device":"hub-03","boot":"#","seq":1,"type":"close","round":1}',
    "a boot of 65 characters": b'{"v":1,"device":"hub-03","boot":"' + b"x" * 65 + b'","seq":1,"type":"close"}',
    "seq as text": b'{"v":1,"device":"hub-03","boot":"c1","seq":"1","type":"close","round":1}',
    "seq 0": b'{"v":1,"device":"hub-03","boot":"c1","seq":0,"type":"close","round":1}',
    "seq 1.0": b'{"v":1,"device":"hub-03","boot":"c1","seq":1.0,"type":"close","round":1}',
    "seq 2^32": b'{"v":1,"device":"hub-03","boot":"c1","seq":4294967296,"type":"close","round":1}',
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_line_that_cannot_be_read_uses_up_no_number_and_the_next_one_is_read(line: bytes) -> None:
    """MQ-06; the line's number counts blank lines too."""
    engine = Engine(plan_of(contract_floor()))
    good = b'{"v":1,"device":"hub-03","boot":"c1","seq":1,"type":"lock","round":1,"wagers":[]}'
    answers = [engine.take(each) for each in (b"", line, good)]
    assert answers == [
        [],
        [{"line": 2, "result": "refused", "reason": "malformed"}],
        [{"device": "hub-03", "boot": "c1", "seq": 1, "result": "posted", "meters": {}}],
    ]


WRONG_FIELDS = {
    "an unknown type": '"type":"jackpot"',
    "no type": '"round":1',
    "a type that is a list": '"type":["lock"]',
    "a round of 0": '"type":"close","round":0',
    "a round of 2^32": '"type":"close","round":4294967296',
    "a round of 5,000 digits": '"type":"close","round":' + "9" * 5_000,
    "a round as 1.0": '"type":"close","round":1.0',
    "a round_boot of null": '"type":"close","round":1,"round_boot":null',
    "cents as true": '"type":"lock","round":1,"wagers":[{"seat":1,"spot":"progressive","cents":true}]',
    "cents over the range": '"type":"lock","round":1,"wagers":[{"seat":1,"spot":"progressive","cents":10000001}]',
    "a seat of 256": '"type":"lock","round":1,"wagers":[{"seat":256,"spot":"progressive","cents":100}]',
    "65 wagers": '"type":"lock","round":1,"wagers":[' + ",".join(['{"seat":1,"spot":"p","cents":1}'] * 65) + "]",
    "no hits": '"type":"hits","round":1,"hits":[]',
    "envy_only of null": '"type":"hits","round":1,"hits":[{"seat":1,"spot":"p","outcome":"o","envy_only":null}]',
    "10,001 chips": '"type":"count","round":1,"chips":10001',
    "an empty reason": '"type":"void","round":1,"reason":""',
    "a reason of two lines": '"type":"void","round":1,"reason":"a\\nb"',
    "a reason of 201 characters": '"type":"void","round":1,"reason":"' + "x" * 201 + '"',
    "an unknown kind": '"type":"notice","kind":"bell"',
    "a notice with a seat of null": '"type":"notice","kind":"door-open","seat":null',
}


@pytest.mark.parametrize("fields", WRONG_FIELDS.values(), ids=WRONG_FIELDS.keys())
def test_a_message_with_a_wrong_field_is_refused_and_uses_up_its_number(fields: str) -> None:
    engine = Engine(plan_of(contract_floor()))
    line = f"{{{HEAD}{fields}}}".encode()
    answers = engine.take(line) + engine.take(line)
    key = {"device": "hub-03", "boot": "c1", "seq": 1}
    assert answers == [
        key | {"result": "refused", "reason": "malformed", "meters": {}},
        key | {"result": "duplicate"},
    ]


@pytest.mark.parametrize("line", [
    b"", b"   ", b"\t\r\n",
    b'{"type":"hello"}',
    b'{"type":"hello","v":1,"v":1}',
    b'{"type":"heartbeat","v":2,"device":"hub-99"}',
    b'{"type":"heartbeat","v":1,"device":"hub-99","boot":"c1","last_seq":0,"wagers_total":0,"bets":[]}',
])
def test_a_pulse_or_a_blank_line_is_never_answered_whatever_is_wrong_with_it(line: bytes) -> None:
    assert Engine(plan_of(contract_floor())).take(line) == []


def lock(seq: int, boot: str = "c1") -> bytes:
    return (f'{{"v":1,"device":"hub-03","boot":"{boot}","seq":{seq},"type":"lock","round":{seq},'
            f'"wagers":[{{"seat":1,"spot":"progressive","cents":100}}]}}').encode()


def test_the_sixty_fifth_message_ahead_of_its_turn_is_refused_and_keeps_its_number() -> None:
    engine = Engine(plan_of(contract_floor()))
    results = [engine.take(lock(seq))[0]["result"] for seq in range(2, 66)]
    too_far = engine.take(lock(66))
    assert (set(results), too_far[0]["result"], too_far[0]["reason"]) == ({"held"}, "refused", "too-far-ahead")


def test_when_the_missing_message_comes_all_held_ones_follow_it_in_order() -> None:
    engine = Engine(plan_of(contract_floor()))
    for seq in (*range(65, 1, -1), 66):
        engine.take(lock(seq))
    freed = engine.take(lock(1)) + engine.take(lock(66))
    assert [(each["seq"], each["result"]) for each in freed] == [(seq, "posted") for seq in range(1, 67)]


def of_hub_3(boot: str, seq: int, fields: Json) -> bytes:
    return json.dumps({"v": 1, "device": "hub-03", "boot": boot, "seq": seq} | fields).encode()


def test_a_held_hit_finds_its_round_although_the_floor_has_forgotten_that_rounds_boot() -> None:
    """MQ-13: the hit waits for a number of its own boot; meanwhile the unit restarts again and again."""
    floor = contract_floor()
    oracle, engine = Oracle(*floor), Engine(plan_of(floor))
    hits = [{"seat": 1, "spot": "progressive", "outcome": "five-aces"}]
    notice = {"type": "notice", "kind": "door-open"}
    before = [
        of_hub_3("b1", 2, {"type": "hits", "round": 1, "round_boot": "b2", "hits": hits}),
        lock(1, boot="b2"),
        of_hub_3("b3", 1, notice),
    ]
    for each in before:
        assert engine.take(each) == oracle.take(each)
    engine.forget()
    freed = of_hub_3("b1", 1, notice)
    assert engine.take(freed) == oracle.take(freed)


@pytest.mark.parametrize("closing", [
    {"type": "lock", "round": 3, "wagers": []}, {"type": "close", "round": 1}, {"type": "lock", "round": 3, "wagers": [
        {"seat": 2, "spot": "progressive", "cents": 100}]},
], ids=["an empty lock", "a close", "the next lock"])
def test_what_was_kept_for_a_closed_round_does_not_come_back_with_a_restart(closing: Json) -> None:
    """The next round's first hit is settled from the meter as it stands then, not from the round before."""
    floor = contract_floor()
    oracle, engine = Oracle(*floor), Engine(plan_of(floor))
    wagers = [{"seat": 1, "spot": "progressive", "cents": 100}]
    hits = [{"seat": 1, "spot": "progressive", "outcome": "five-aces"}]
    for seq, said in enumerate([{"type": "lock", "round": 1, "wagers": wagers},
                                {"type": "hits", "round": 1, "hits": hits}, closing], 1):
        assert engine.take(of_hub_3("b1", seq, said)) == oracle.take(of_hub_3("b1", seq, said))
    engine.restart()
    for seq, said in enumerate([{"type": "lock", "round": 5, "wagers": wagers},
                                {"type": "hits", "round": 5, "hits": hits}], 4):
        assert engine.take(of_hub_3("b1", seq, said)) == oracle.take(of_hub_3("b1", seq, said))
