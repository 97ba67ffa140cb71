"""The scenario files' small language: a game told line by line, run against the engine through the same JSON messages.

    floor: NAME, KEY VALUE, ...          a fresh floor: a shipped paytable (``a+b``: two spots), keys of [[meter]]
                                         (and seed, rates and ``today``); two linked tables, PG-01 and PG-02
    table PG-01 has 7 seats, paid 7 6 5 4 3 2 1, envy wagering-player
                                         before its first message; else 6 seats, paid in their order, any-player
    table PG-01: ACTION                  that table from here on; ``table PG-01 number 3: ...`` gives the message's
                                         number, ``table PG-01 old boot: ...`` sends it from before the last restart
    the daemon restarts                  from what its book holds
    ACTION                               of the same table
        seats 1 2 3 wager [$5.00] [on SPOT ...] [; seat 4 wagers ...] [in 20 games]
        nobody wagers | closes | voids | counts 4 chips | restarts | reports door-open | sends it again
        seat 1 hits OUTCOME [on SPOT] [in the game of number 1]
        seat 5 holds OUTCOME [on SPOT]   without a wager: envy only
        later seat 2 hits OUTCOME        lines of hits in a row are one message; ``later`` begins the next one
    posted | held | duplicate | refused: REASON | fault: REASON [| posted ...]
                                         what the message is answered (several: its own answer, then the held ones');
                                         ``posted`` where nothing is said
    award seat 2: $1,000.02 from the meter, $5,000.00 fixed, $5.00 wager returned
    envy seat 1: $750.00                 all awards in pay order, all envy by seat, as they now stand
    no award | no envy | apart: METER ... | accepted 4 | accepted 4, difference -1
    meter [NAME] shows $10,000.00, reserve $0.00, overflow $0.00, pending $10.00, house $10,000.00
                                         exact, with more decimals where a fraction of a cent is left; any of them

Every answer and balance is also compared with the oracle's; what a scenario leaves out is still checked so.
An error names file and line.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracle_meter import MICROCENTS, money
from scenario_house import House, WrongScenario

Json = dict[str, Any]


def _has(house: House, table: str, seats: str, paid: str | None, envy: str | None, decks: str | None) -> None:
    keys: Json = {"seats": int(seats)}
    if paid:
        keys["pay_order"] = [int(seat) for seat in paid.split()]
    if envy:
        keys["envy_hand"] = envy
    if decks:
        keys["decks"] = int(decks)
    house.change_table(table, keys)


_WAGER = re.compile(r"seats? ([\d ]+?) wagers?(?: (\$\S+))?(?: on ([\w -]+))?")


def _wager(house: House, said: str, games: str | None) -> None:
    for _ in range(int(games or 1)):
        wagers = []
        for group in said.split("; "):
            if not (match := _WAGER.fullmatch(group)):
                raise WrongScenario(f"no wager: {group}")
            seats, each, spots = match.groups()
            wagers += [
                {"seat": int(seat), "spot": spot, "cents": int(money(each or house.wager(spot)))}
                for seat in seats.split() for spot in house.spots(spots)
            ]
        house.send({"type": "lock", "wagers": wagers})


def _hit(
    house: House, later: str | None, seat: str, way: str, outcome: str, spot: str | None, game: str | None
) -> None:
    if later:
        house.flush()
    hit: Json = {"seat": int(seat), "spot": house.spots(spot)[0], "outcome": outcome}
    house.hits.append(hit | ({"envy_only": True} if way == "holds" else {}))
    if game:
        house.hits_game = (house.hub().boots[-2 if house.old_boot else -1], int(game))


def _restart(house: House) -> None:
    hub = house.hub()
    hub.boots.append(f"boot-{len(hub.boots) + 1}")


def _result(house: House, said: str) -> None:
    got = " | ".join(
        answer["result"] + (f": {answer['reason']}" if "reason" in answer else "") for answer in house.answers
    )
    house.asked = True
    if got != said:
        raise WrongScenario(f"answered {got}")


def _awards(house: House, lines: list[re.Match[str]]) -> None:
    got = []
    for award in house.last("awards") or []:
        meters = award["meters"]
        parts = [f"{shown(cents * MICROCENTS)} from {'the meter' if len(meters) == 1 else part}"
                 for part, cents in sorted(meters.items())]
        parts += [f"{shown(award['fixed'] * MICROCENTS)} fixed"] if award["fixed"] else []
        parts += [f"{shown(award['returned'] * MICROCENTS)} wager returned"] if award["returned"] else []
        got.append(f"award seat {award['seat']}: {', '.join(parts)}")
    wanted = [line[0] for line in lines]
    if got != wanted:
        raise WrongScenario("the awards are\n    " + "\n    ".join(got or ["no award"]))


def _envy(house: House, lines: list[re.Match[str]]) -> None:
    got = [f"envy seat {due['seat']}: {shown(due['cents'] * MICROCENTS)}" for due in house.last("envy") or []]
    if got != [line[0] for line in lines]:
        raise WrongScenario("the envy is\n    " + "\n    ".join(got or ["no envy"]))


def _accepted(house: House, accepted: str, difference: str | None) -> None:
    got = (house.last("accepted"), house.last("difference"))
    if got != (int(accepted), int(difference) if difference else None):
        raise WrongScenario(f"accepted and difference are {got}")


def _apart(house: House, meters: str) -> None:
    if house.last("apart") != meters.split():
        raise WrongScenario(f"apart is {house.last('apart')}")


def _shows(house: House, meter: str | None, said: str) -> None:
    house.check_posted()
    balances = house.balances(meter)
    for part in f"display {said}".split(", "):
        account, amount = part.split(" ", 1)
        if account not in balances:
            raise WrongScenario(f"no account {account}; there are {' '.join(balances)}")
        if balances[account] != money(amount) * MICROCENTS:
            raise WrongScenario(f"{account} is {shown(balances[account])}")


def shown(microcents: int) -> str:
    """Dollars with two decimals, and more where a fraction of a cent is left."""
    whole, rest = divmod(microcents, 100 * MICROCENTS)
    return f"${whole:,}.{str(rest).zfill(8)[:2]}{str(rest).zfill(8)[2:].rstrip('0')}"


_ACTION: list[tuple[str, Callable[..., None]]] = [
    (r"(seats? [\d ]+ wagers?.*?)(?: in (\d+) games)?", _wager),
    (r"nobody wagers", lambda house: house.send({"type": "lock", "wagers": []})),
    (r"closes", lambda house: house.send({"type": "close"})),
    (r"voids", lambda house: house.send({"type": "void", "reason": "misdeal"})),
    (r"counts (\d+) chips", lambda house, chips: house.send({"type": "count", "chips": int(chips)})),
    (r"reports ([a-z-]+)", lambda house, kind: house.send({"type": "notice", "kind": kind})),
    (r"restarts", _restart),
    (r"sends it again", lambda house: house.send_line()),
]
_HIT = r"(later )?seat (\d+) (hits|holds) (\S+)(?: on (\S+))?(?: in the game of number (\d+))?"
_CHECK: list[tuple[str, Callable[..., None]]] = [
    (r"table (\S+) has (\d+) seats(?:, paid ([\d ]+))?(?:, envy (\S+))?(?:, (\d+) decks)?", _has),
    (r"((?:posted|held|duplicate|(?:refused|fault): [a-z-]+)(?: \| posted| \| refused: [a-z-]+)*)", _result),
    (r"the daemon restarts", lambda house: house.engine.restart()),
    (r"no award", lambda house: _awards(house, [])),
    (r"no envy", lambda house: _envy(house, [])),
    (r"accepted (\d+)(?:, difference (-?\d+))?", _accepted),
    (r"apart: (.+)", _apart),
    (r"meter (?:(\S+) )?shows (.+)", _shows),
]
_LISTS = [(r"award seat \d+: .+", _awards), (r"envy seat \d+: .+", _envy)]


def run(path: Path) -> int:
    """Run a scenario file; the number of floors in it. Raises WrongScenario, naming file and line."""
    lines = [(number, line.split("#")[0].strip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
    told = [(number, line) for number, line in lines if line]
    house: House | None = None
    floors = place = 0
    while place < len(told):
        number, line = told[place]
        try:
            if line.startswith("floor: "):
                finish(house)
                house, floors, place = House(line.removeprefix("floor: ")), floors + 1, place + 1
            elif house is None:
                raise WrongScenario("a scenario begins with a floor")
            else:
                place += _line(house, [line for _, line in told[place:]])
            if place == len(told):
                finish(house)
        except (WrongScenario, FileNotFoundError) as wrong:
            raise WrongScenario(f"{path.name}, line {number}: {line}\n  {wrong}") from wrong
    return floors


def finish(house: House | None) -> None:
    """Send what is left, and look at the last answer."""
    if house is not None:
        house.flush()
        house.check_posted()


def _line(house: House, lines: list[str]) -> int:
    """Do the first of ``lines``, or the first few that belong together; how many were used."""
    line = lines[0]
    if spoken := re.fullmatch(r"table (\S+?)( old boot)?(?: number (\d+))?: (.+)", line):
        house.flush()
        house.table, house.old_boot = spoken[1], bool(spoken[2])
        house.number = int(spoken[3]) if spoken[3] else None
        line = spoken[4]
    if hit := re.fullmatch(_HIT, line):
        _hit(house, *hit.groups())
        return 1
    house.flush()
    for pattern, check in _LISTS:
        found = [re.fullmatch(pattern, each) for each in lines]
        count = next((n for n, match in enumerate(found) if match is None), len(found))
        if count:
            check(house, [match for match in found[:count] if match])
            return count
    for pattern, act in [*_ACTION, *_CHECK]:
        if match := re.fullmatch(pattern, line):
            act(house, *match.groups())
            return 1
    raise WrongScenario("this line says nothing known")
