"""Whatever people send, an act is done or refused: nothing else may leave the desk, or the books would stop.

``Books.act`` takes every other error for a fault of the engine and stops all books (design section 9): no form may be
able to do that.
"""

import os
from collections import Counter
from random import Random
from typing import Any

import pytest
from award_house import PeopleEngine, check_accounts, plan_of_night
from desk_house import AT, EVERYBODY, HOUR
from floors import contract_floor

from controller import desk
from controller.acts import KINDS, ActKind, ActRefused, Field, Is, read_act
from controller.people import Person

LONG = os.environ.get("PMC_CAMPAIGN") == "long"
OUTCOMES = ("7-card-straight-flush", "royal-flush-royal-match", "four-of-a-kind", "five-aces", "straight-flush")
TEXTS = ("x", "2026-12-01", "2026-12-01 20:40", "As Kd Th 2c 5d 7h 9s", "8s 9s Ts Js Qs Ks As", "As As As As As As As",
         "Identity checked", "{}", "[]", "\U0001f0cf" * 5, "a" * 400, "-1", "=1+1", "0", "é; ü", "main", "anna")
IDS = ("PG-01", "PG-02", "PG-03", "T-9", "progressive", "no-spot", "pg-link", "pg-solo", "main", "anna", "ben", "zoe",
       "1", "supervisor", "accounting", "table-games", *OUTCOMES)
MONEY = ("$0.00", "$0.01", "$105.00", "$5,105.00", "$10,000.00", "$9,000,000,000.00")


def content_of(field: Field, rng: Random) -> Any:
    """Something that the field can hold: mostly what fits its name."""
    if field.kind is Is.CHOICE:
        return rng.choice(field.choices)
    if field.kind is Is.NUMBER:
        return rng.choice((1, 1, 1, 2, 2, 3)) if rng.random() < 0.9 else rng.choice((0, 4, 5, 7, 99, 2**53 - 1))
    if field.kind is Is.MONEY:
        return rng.choice(MONEY)
    if field.kind is Is.YES_NO:
        return rng.choice((True, False, "yes"))
    if field.kind is Is.ID:
        fitting = {"table": IDS[:3], "spot": IDS[4:5], "outcome": OUTCOMES, "meter": IDS[6:8]}
        return rng.choice(fitting.get(field.name, IDS) if rng.random() < 0.97 else IDS)
    return rng.choice(TEXTS)


def played() -> PeopleEngine:
    """Three tables with open and closed games, hits and a count that differs."""
    floor, paytables = contract_floor()
    for table in floor["table"]:
        table |= {"tray_limit": "$150.00", "hold_from": "$1,000.00"}
    engine = PeopleEngine(plan_of_night(floor, paytables, release_from="$500.00", paper_from="$1,000.00",
                                        paper=["Identity checked"], cards_from="$5,000.00"), AT)
    for device in ("hub-01", "hub-02", "hub-03"):
        more(engine, device, 1)
    return engine


def more(engine: PeopleEngine, device: str, number: int) -> None:
    """One more game of a table: three wagers, a chip count, a hit; the next lock-out closes it."""
    cents = 100 if device == "hub-03" else 500
    key = {"v": 1, "device": device, "boot": "b1", "round": number}
    wagers = [{"seat": seat, "spot": "progressive", "cents": cents} for seat in (1, 2, 3)]
    hit = {"seat": 1, "spot": "progressive", "outcome": "straight-flush"}
    engine.say(key | {"type": "lock", "seq": 3 * number - 2, "wagers": wagers})
    engine.say(key | {"type": "count", "seq": 3 * number - 1, "chips": 3 + number % 2})
    engine.say(key | {"type": "hits", "seq": 3 * number, "hits": [hit]})


def signers(kind: ActKind, rng: Random) -> tuple[Person, Person | None, Person | None]:
    """Three people, mostly different ones of the right roles; those that the kind does not ask are left out."""
    chosen: list[Person | None] = []
    for roles in (kind.by, kind.second, kind.third):
        fitting = [one for one in EVERYBODY if one.role in roles and one not in chosen]
        chosen.append(rng.choice(fitting if fitting and rng.random() < 0.97 else EVERYBODY) if roles else None)
    if kind.third and not kind.second and rng.random() < 0.5:
        chosen[2] = None
    by = chosen[0]
    assert by is not None
    return by, chosen[1], chosen[2]


@pytest.mark.timeout(3_600 if LONG else 120)
@pytest.mark.parametrize("seed", range(400 if LONG else 8))
def test_no_form_makes_anything_of_the_desk_but_an_entry_or_a_refusal(seed: int) -> None:
    """WE-03, MO-06: every kind of act, any fields, anybody."""
    rng, engine, came = Random(seed), played(), Counter[str]()
    kinds = [kind for name, kind in KINDS.items() if name in desk.RULES]
    for number in range(500):
        if number % 60 == 59:
            for device in ("hub-01", "hub-02", "hub-03"):
                more(engine, device, number // 60 + 2)
        kind = rng.choice(kinds)
        said = {field.name: content_of(field, rng) for field in kind.fields if not field.optional or rng.random() < 0.6}
        people = signers(kind, rng)
        engine.at += rng.choice((0, 0, HOUR))
        if rng.random() < 0.03:
            engine.restart()
        try:
            made = read_act(kind.name, f"junk-{number:06d}", said, *people)
        except ActRefused:
            continue
        if engine.submit(made) == "":
            came[kind.name] += 1
        check_accounts(engine)
    assert came.total() > 25, came
