"""Floors for tests: the contract's own, random ones, and named changes of one meter's policies.

A floor is a pair: the table of a floor file, and the tables of its paytables by id, both as TOML gives them.
"""

import copy
import tomllib
from pathlib import Path
from random import Random
from typing import Any

from controller.config import build
from controller.plan import FloorPlan

Json = dict[str, Any]
Floor = tuple[Json, dict[str, Json]]

HERE = Path(__file__).parent
CONTRACT = HERE / "contract"
SHIPPED = HERE.parent / "config" / "paytables"
EXAMPLES = SHIPPED / "examples"

SITE: Json = {
    "id": "demo", "name": "Demo Casino", "environment": "test", "currency": "USD",
    "timezone": "America/New_York", "gaming_day_start": "06:00", "paytables": "paytables",
}
POLICIES: Json = {
    "tie_policy": "split", "order": "partials-first", "below_seed": "allow", "reserve_surplus": "keep",
    "rounding": "up", "limit": "none", "overflow": "next-meter", "unreasonable_contribution": "$1,000.00",
}
CHOICES = {
    "tie_policy": ("split", "sequential"),
    "order": ("partials-first", "pay-order"),
    "below_seed": ("allow", "top-up"),
    "reserve_surplus": ("keep", "add"),
    "rounding": ("up", "down"),
    "overflow": ("next-meter", "keep"),
}
"""Every choice of every policy of a meter with a closed list (design section 4)."""

_WAGERS = ("$1.00", "$5.00", "$0.25", "$7.77")
_SEEDS = ("$0.50", "$3.33", "$10.00", "$1,000.00", "$10,000.00")
_RATES = ("28%", "1.37%", "0.0001%", "7%", "33.3333%", "50%")
_RESERVES = ("0%", "1%", "1.37%", "50%", "12.5%")
_PARTIALS = ("10%", "20%", "33.3333%", "0.01%", "99.9999%", "50%", "1.37%")
_ENVY = ("$1,000.00", "$5.00", "$0.07")
_PAYS = ("$5,000.00", "$4.00", "300 for 1", "300 to 1", "7 to 1")
_DATES: tuple[Json, ...] = ({"valid_from": "1970-01-01"}, {"valid_from": "1969-12-01", "valid_to": "1969-12-31"})
"""Around 31 December 1969, the gaming day of time 0 in New York."""
_PARTS = ("mega", "major", "minor")


def contract_floor() -> Floor:
    """The contract's floor: two linked tables on paytable 4, one on paytable 1."""
    floor = tomllib.loads((CONTRACT / "floor.toml").read_text())
    return floor, {path.stem: tomllib.loads(path.read_text()) for path in (CONTRACT / "paytables").glob("*.toml")}


def shipped_paytable(name: str) -> Json:
    """One of the paytables or examples that the product ships; raises FileNotFoundError."""
    path = SHIPPED / f"{name}.toml"
    return tomllib.loads((path if path.exists() else EXAMPLES / f"{name}.toml").read_text())


def named_floor(names: str, policies: dict[str, str]) -> Floor:
    """Two linked tables of 6 seats, PG-01 and PG-02, on a shipped paytable, or on two (``a+b``: a spot for each).

    A meter is named by its part, with two paytables by its paytable. ``policies`` go to every meter; a seed or rate
    among them changes the paytables.
    """
    paytables = {name: shipped_paytable(name) for name in names.split("+")}
    filed = {key: policies[key] for key in ("seed", "rate_of_progression", "reserve_rate") if key in policies}
    policies = {key: choice for key, choice in policies.items() if key not in filed}
    for figures in [part for paytable in paytables.values() for part in paytable["meter"].values()]:
        figures.update(filed)
    meters, spots = [], []
    for name, paytable in paytables.items():
        bound = {part: part if len(paytables) == 1 else name for part in paytable["meter"]}
        meters += [meter(bound[part], name, part, **policies) for part in bound]
        spots.append({"id": "progressive" if len(paytables) == 1 else name, "paytable": name, "meters": bound})
    envy = {"envy_hand": "any-player"} if any("envy" in p for pt in paytables.values() for p in pt["prize"]) else {}
    tables = [
        {"id": name, "device": f"hub-{name}", "seats": 6, "pay_order": [1, 2, 3, 4, 5, 6], "decks": 3, "spot": spots}
        | envy
        for name in ("PG-01", "PG-02")
    ]
    return {"site": SITE, "meter": meters, "table": tables}, paytables


def meter(name: str, paytable: str, part: str = "main", **policies: str) -> Json:
    """A ``[[meter]]`` with the policies of ``POLICIES`` where none is given."""
    return {"id": name, "name": name, "paytable": paytable, "part": part} | POLICIES | policies


def plan_of(floor: Floor) -> FloorPlan:
    """The product's own reading of a floor."""
    return build(copy.deepcopy({
        "site": {key: said for key, said in floor[0]["site"].items() if key != "paytables"},
        "meter": floor[0]["meter"], "table": floor[0]["table"], "paytable": floor[1],
    }))


def random_floor(rng: Random) -> Floor:
    """1 to 3 tables with 1 or 2 spots on 1 to 3 paytables of 1 to 3 parts; any mixture of policies.

    Two in five are one link: three tables of one paytable on the same meters, which take from one another.
    """
    linked = rng.random() < 0.4
    count = 1 if linked else rng.choice((1, 2, 3))
    paytables = {made["id"]: made for made in (_paytable(rng, f"pt-{n}") for n in range(count))}
    meters: list[Json] = []
    numbers = range(1, (3 if linked else rng.randint(1, 3)) + 1)
    tables = [_table(rng, number, paytables, meters, 0.0 if linked else 0.3) for number in numbers]
    used = {spot["paytable"] for table in tables for spot in table["spot"]}
    return {"site": SITE, "meter": meters, "table": tables}, {name: paytables[name] for name in sorted(used)}


def _paytable(rng: Random, name: str) -> Json:
    parts = list(_PARTS[: rng.choice((1, 1, 2, 3))])
    rates = {part: {"seed": _seed(rng), "rate_of_progression": _rate(rng), "reserve_rate": rng.choice(_RESERVES)}
             for part in parts}
    return {
        "id": name, "title": name, "citation": "none", "game": "test", "wager": rng.choice(_WAGERS),
        "wager_returned": rng.random() < 0.5, "joker": "standard",
        "meter": rates,
        "prize": _prizes(rng, parts),
    } | (rng.choice(_DATES) if rng.random() < 0.15 else {})


def _seed(rng: Random) -> str:
    return "40 x wager" if rng.random() < 0.1 else rng.choice(_SEEDS)


def _rate(rng: Random) -> Any:
    return {"3": "20%", "4+": "17.17%", "6+": "1%"} if rng.random() < 0.15 else rng.choice(_RATES[:5])


def _prizes(rng: Random, parts: list[str]) -> list[Json]:
    """For every part a row at 100%, then rows with partial shares, mixed shares, and no share at all."""
    shares: list[Json] = [{part: "100%"} for part in parts]
    shares += [{part: rng.choice(_PARTIALS)} for part in parts for _ in range(2)]
    shares.append({part: rng.choice((*_PARTIALS, "100%")) for part in parts})
    shares += [{}, {}]
    envy = rng.random() < 0.5
    rows = []
    for number, share in enumerate(shares):
        row: Json = {"outcome": f"row-{number}", "label": f"Row {number}"}
        if share:
            row["share"] = share
        if not share or rng.random() < 0.3:
            row["pay"] = rng.choice(_PAYS)
        if envy and rng.random() < 0.7:
            row["envy"] = rng.choice(_ENVY)
        rows.append(row)
    return rows


def _table(rng: Random, number: int, paytables: dict[str, Json], meters: list[Json], alone: float) -> Json:
    seats = rng.randint(2, 7)
    order = list(range(1, seats + 1))
    rng.shuffle(order)
    used = [rng.choice(list(paytables.values())) for _ in range(rng.choice((1, 1, 2)))]
    spots = [
        {"id": f"spot-{place}", "paytable": paytable["id"], "meters": _bind(rng, paytable, meters, alone)}
        for place, paytable in enumerate(used)
    ]
    table: Json = {
        "id": f"T-{number}", "device": f"hub-{number}", "seats": seats, "pay_order": order,
        "decks": rng.choice((3, 4, 8)), "spot": spots,
    }
    if any("envy" in prize for paytable in used for prize in paytable["prize"]):
        table["envy_hand"] = rng.choice(("any-player", "wagering-player"))
    return table


def _bind(rng: Random, paytable: Json, meters: list[Json], alone: float) -> Json:
    """A meter for every part: one that exists already (a link), or by the chance ``alone`` a new one."""
    bound = {}
    for part in paytable["meter"]:
        fitting = [m["id"] for m in meters if (m["paytable"], m["part"]) == (paytable["id"], part)]
        if not fitting or rng.random() < alone:
            meters.append(_random_meter(rng, f"m-{len(meters)}", paytable, part))
            fitting = [meters[-1]["id"]]
        bound[part] = rng.choice(fitting)
    return bound


def _random_meter(rng: Random, name: str, paytable: Json, part: str) -> Json:
    made = meter(name, paytable["id"], part, **{key: rng.choice(choices) for key, choices in CHOICES.items()})
    seed = seed_cents(paytable, part)
    above = rng.choice((1, 17, 100, 5_000))
    if rng.random() < 0.5:
        made["limit"] = written(seed + above)
    elif rng.random() < 0.06:
        made["base"] = rng.choice(("$8,999,999,990.00", "$8,999,999,999.50"))
    if "base" not in made and rng.random() < 0.3:
        made["base"] = written(seed + rng.choice((-1, -30, 0, above, above // 2)))
    if rng.random() < 0.15:
        made["unreasonable_contribution"] = rng.choice(("$0.50", "$2.00"))
    return made


def seed_cents(paytable: Json, part: str) -> int:
    """The seed of a part in cents."""
    text = paytable["meter"][part]["seed"]
    if text.endswith(" x wager"):
        return int(text.split(maxsplit=1)[0]) * cents(paytable["wager"])
    return cents(text)


def cents(text: str) -> int:
    """Cents of ``$1,234.56``."""
    return int(text.replace("$", "").replace(",", "").replace(".", ""))


def written(amount: int) -> str:
    """Cents as ``$1,234.56``."""
    return f"${amount // 100:,}.{amount % 100:02d}"
