"""What a table's messages do to its rounds and meters: lock, hits, count, close, void. Pure (design section 4).

Each function either refuses with a reason and changes nothing, or changes the state and returns what was ``Done``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from controller.award import CANCELLED, CHANGED, PAID, PENDING, RELEASED, TRAY, VERIFIED, due_cents, open_case, waiting
from controller.floor_state import Boot, Kept, Meter, Round, Standing, Table, canonical, round_row
from controller.journal import RULES_VERSION, TABLE_RULES, Posting, contribute, post
from controller.meter import coming, lay, room, settle
from controller.money import ACCOUNT_MICROCENTS_MAX, MICROCENTS_PER_CENT, PPM
from controller.plan import EnvyHand, FloorPlan, TablePlan
from controller.refusal import Refusal
from controller.resets import begin
from firmware_bridge.messages import Count, Hit, Hits, Lock, Wager

ENVY_WAGER_CENTS = 500
"""A wager that qualifies for envy (58 Pa. Code section 688a.1: five dollars or more)."""


class Done(NamedTuple):
    """What a message did: the game, postings, meters touched, and what the answer adds."""

    game: int | None
    postings: list[Posting] | tuple[Posting, ...] = ()
    touched: tuple[str, ...] = ()
    body: str = ""
    """The members that the entry's body adds to the message, as JSON text."""
    answer: Mapping[str, Any] = {}
    settled: Mapping[str, Any] = {}
    """The working of each meter's settlement."""


class _Added(NamedTuple):
    """What one lock adds to one meter, in microcents: to display, overflow and reserve; and how many wagers."""

    display: int
    overflow: int
    reserve: int
    wagers: int


def lock(
    floor: FloorPlan, plan_entry: int, meters: Mapping[str, Meter], table: Table, boot: Boot, message: Lock, at: int,
    rules: int = RULES_VERSION,
) -> Done | Refusal:
    """Lock-out: every wager contributes, or none. The open round closes and the new one opens.

    A lock of a boot first heard before the boot of the table's latest round contributes, but opens and closes nothing.
    """
    if message.round <= boot.newest:
        return Refusal.ROUND_NOT_NEWER
    if table.closed or table.shut:
        if table.closed and not _kept_from_before(table, boot, rules):
            return Refusal.TABLE_CLOSED
        if table.shut:
            return Refusal.METER_NOT_OPEN
    plan = table.plan
    seats, prices = plan.seats, table.prices
    wagers: dict[tuple[int, str], int] = {}
    per_spot: dict[str, int] = {}
    for seat, spot_id, cents in message.wagers:
        place = (seat, spot_id)
        if prices.get(spot_id) != cents or not 1 <= seat <= seats or place in wagers:
            refusal = _refuse_wager(floor, plan, seat, spot_id, cents, place in wagers, at)
            if refusal is not None:
                return refusal
        wagers[place] = cents
        per_spot[spot_id] = per_spot.get(spot_id, 0) + 1
    adds = _adds(meters, plan, per_spot)
    if isinstance(adds, Refusal):
        return adds
    postings: list[Posting] = []
    fed = {name: _contribute(meters[name], added, postings) for name, added in adds.items()}
    table.games += 1
    boot.newest = message.round
    opens = boot.heard >= table.latest_heard and not table.closed
    closed: tuple[str, ...] = ()
    if opens:
        closed = close_open(meters, table)
        table.open = Round(message.boot, message.round, table.games, plan, plan_entry, wagers, fed, at)
        table.latest_heard = boot.heard
    touched = tuple(dict.fromkeys([*adds, *closed]))
    return Done(table.games, postings, touched, '"opened":true' if opens else '"opened":false')


def _kept_from_before(table: Table, boot: Boot, rules: int) -> bool:
    """Whether a lock-out that comes to a closed table was surely made before the closing: its wagers were taken.

    So it is of a boot that ended before the table's latest round; and of every boot from before a closing by two
    people while the unit was not heard: a unit that hears no pulse takes no lock-out (docs/PROTOCOL.md), and once it
    is heard again it is told that the table is closed.
    """
    return rules >= TABLE_RULES and boot.heard < max(table.latest_heard, table.unheard)


def add_wager(floor: FloorPlan, meters: Mapping[str, Meter], found: Round, wager: Wager) -> Done | Refusal:
    """A wager that people add to a round: it is refused as in a lock-out, and contributes now."""
    refusal = _refuse_wager(floor, found.plan, *wager, (wager.seat, wager.spot) in found.wagers, found.at)
    if refusal is not None:
        return refusal
    adds = _adds(meters, found.plan, {wager.spot: 1})
    if isinstance(adds, Refusal):
        return adds
    postings: list[Posting] = []
    for name, added in adds.items():
        found.fed[name] = found.fed.get(name, 0) + _contribute(meters[name], added, postings)
    found.wagers[wager.seat, wager.spot] = wager.cents
    return Done(found.game, postings, tuple(adds), answer={"accepted": len(found.wagers)})


def _refuse_wager(
    floor: FloorPlan, plan: TablePlan, seat: int, spot_id: str, cents: int, named: bool, at: int
) -> Refusal | None:
    """The first reason, in the contract's order, why a wager is not accepted; None when it is."""
    if not 1 <= seat <= plan.seats:
        return Refusal.UNKNOWN_SEAT
    spot = plan.spot.get(spot_id)
    if spot is None:
        return Refusal.UNKNOWN_SPOT
    if named:
        return Refusal.DUPLICATE_WAGER
    if spot.paytable.dated and not spot.paytable.valid_on(floor.gaming_day(at)):
        return Refusal.PAYTABLE_NOT_VALID
    return Refusal.WRONG_WAGER if cents != spot.paytable.wager_cents else None


def _adds(meters: Mapping[str, Meter], plan: TablePlan, per_spot: Mapping[str, int]) -> dict[str, _Added] | Refusal:
    """What so many wagers of each spot add to each meter, or why they may not."""
    parts: dict[str, tuple[int, int, int]] = {}
    for spot_id, count in per_spot.items():
        for feed in plan.spot[spot_id].feeds:
            rate, reserve, wagers = parts.get(feed.meter, (0, 0, 0))
            parts[feed.meter] = (rate + count * feed.display, reserve + count * feed.reserve, wagers + count)
    for name, (rate, reserve, _) in parts.items():
        if rate + reserve > meters[name].plan.unreasonable_cents * MICROCENTS_PER_CENT:
            return Refusal.UNREASONABLE_CONTRIBUTION
    adds: dict[str, _Added] = {}
    for name, (rate, reserve, wagers) in parts.items():
        meter = meters[name]
        taken = room(meter.plan, meter.display, rate)
        if max(meter.display + taken, meter.overflow + rate - taken, meter.reserve + reserve) > ACCOUNT_MICROCENTS_MAX:
            return Refusal.ACCOUNT_FULL
        adds[name] = _Added(taken, rate - taken, reserve, wagers)
    return adds


def _contribute(meter: Meter, added: _Added, postings: list[Posting]) -> int:
    """Lay a contribution on a meter; returns it whole, in microcents."""
    rate = added.display + added.overflow
    total = rate + added.reserve
    postings += contribute(meter, added.display, added.overflow, added.reserve)
    meter.wagers += added.wagers
    for kept in meter.kept.values():
        kept.since_rate += rate
        kept.since_reserve += added.reserve
    return total


def close_open(meters: Mapping[str, Meter], table: Table, state: str = "closed") -> tuple[str, ...]:
    """Close the table's open round, if any. Returns the meters whose kept state of it changed.

    What was kept of a meter for it stays for a late hit, unless the round is settled apart there already.
    """
    closed, table.open = table.open, None
    if closed is None:
        return ()
    closed.state = state
    if not closed.took:
        return ()
    kept = [meter for meter in meters.values() if closed.key in meter.kept]
    for meter in kept:
        if meter.kept[closed.key].apart:
            del meter.kept[closed.key]
        else:
            meter.kept[closed.key].closed = True
    return tuple(meter.plan.id for meter in kept)


def find_open(table: Table, newest: int, round_boot: str, number: int) -> Round | Refusal:
    """The open round a message speaks of; ``newest`` is the newest locked round of ``round_boot``, 0 for none."""
    if newest == 0 or number > newest:
        return Refusal.NO_SUCH_ROUND
    open_round = table.open
    if open_round is None or open_round.boot != round_boot or open_round.round != number:
        return Refusal.ROUND_CLOSED
    return open_round


def _members(made: Mapping[str, Any]) -> str:
    return canonical(made)[1:-1]


def count(open_round: Round, message: Count) -> Done:
    """The dealer's chip count; a difference is an alarm, and changes no wager."""
    open_round.chips = message.chips
    open_round.agreed = open_round.agreed or message.chips == len(open_round.wagers)
    added: dict[str, int] = {"accepted": len(open_round.wagers)}
    if message.chips != added["accepted"]:
        added["difference"] = message.chips - added["accepted"]
    return Done(open_round.game, body=_members(added), answer=added)


def close(meters: Mapping[str, Meter], table: Table, open_round: Round) -> Done:
    """The round is finished."""
    return Done(open_round.game, touched=close_open(meters, table))


def void(meters: Mapping[str, Meter], table: Table, open_round: Round) -> Done | Refusal:
    """Misdeal: the contributions are re-booked from the players to the house; the meter never falls."""
    if open_round.hits:
        return Refusal.ROUND_HAS_AWARDS
    rebooked = {meter: fed for meter, fed in open_round.fed.items() if fed}
    postings: list[Posting] = []
    for meter, fed in sorted(open_round.fed.items()):  # as its state row has them: a restart changes nothing
        postings += post(meters[meter], (("players", fed), ("house", -fed)))
    touched = (*open_round.fed, *close_open(meters, table, "void"))
    return Done(open_round.game, postings, touched, _members({"rebooked": rebooked}))


def hits(
    meters: Mapping[str, Meter], open_round: Round, message: Hits, at: int, rules: int
) -> Done | Refusal:
    """Winning hands of the open round: all standing hits of each meter are settled as one (design section 4)."""
    new: list[Hit] = []
    named: set[tuple[int, str]] = set()
    for hit in message.hits:
        refusal = refuse_hit(open_round, hit, named)
        if refusal is not None:
            return refusal
        named.add((hit.seat, hit.spot))
        if (hit.seat, hit.spot) not in open_round.hits:
            new.append(hit)
    return restand(meters, open_round, new, (), at, rules)


def restand(
    meters: Mapping[str, Meter], found: Round, new: Sequence[Hit], gone: Sequence[tuple[int, str]], at: int,
    rules: int, touched_by: Sequence[str] = (),
) -> Done:
    """Let hits stand or stand no more, and settle every meter of which one of them has a share, the round as one.

    ``gone`` are places of standing hits that are withdrawn, refused or (with a new one in its place) changed.
    ``rules`` is the version they are settled by. ``touched_by`` are the people who enter it; empty for the table's own
    keypad.
    """
    postings: list[Posting] = []
    left = [found.hits.pop(place) for place in gone]
    found.was_hit = found.was_hit or bool(new)
    found.lines = {line: state for line, state in found.lines.items() if line[:2] not in gone}
    for standing in left:
        _count_hit(meters, found, standing.hit, -1)
    for hit in new:
        found.hits[hit.seat, hit.spot] = Standing(hit)
        _count_hit(meters, found, hit)
    signed = {place: due_cents(found, place) for place, case in found.cases.items()
              if case.state in (VERIFIED, RELEASED) and place in found.hits}
    settled, apart = {}, []
    moved = [*new, *(standing.hit for standing in left)]
    for meter in meters.values():
        if any(_part(found.plan, hit, meter.plan.id) for hit in moved):
            settled[meter.plan.id] = _settle_meter(meter, found, new, left, postings, rules)
            if settled[meter.plan.id]["apart"]:
                apart.append(meter.plan.id)
    for hit in new:
        if hit.envy_only and touched_by:
            found.hands[hit.seat, hit.spot] = [*found.hands.get((hit.seat, hit.spot), ()), *touched_by]
        elif not hit.envy_only:
            hands = [*touched_by, *found.hands.get((hit.seat, hit.spot), ())]
            found.cases[hit.seat, hit.spot] = open_case(found, hit, envy_of(found, hit), hands, at, rules)
    for place, due in signed.items():
        if place in found.hits and due_cents(found, place) != due:
            # What people signed was another amount: it is signed anew, its checklist too.
            found.cases[place].state = PENDING
            found.cases[place].steps.append({"at": at, "by": [], "due": due_cents(found, place), "step": CHANGED})
    standing_now = {"awards": awards(found), "envy": envy(found)}
    tray = [[hit.seat, hit.spot] for hit in new if not hit.envy_only and found.cases[hit.seat, hit.spot].state == TRAY]
    paid = {"tray": tray} if tray else {}
    answer = ({"apart": apart} if apart else {}) | standing_now
    touched = tuple(dict.fromkeys([*settled, *(_row_meter(found.plan, hit) for hit in moved)]))
    return Done(found.game, postings, touched, _members({"settled": settled} | answer | paid), answer, settled)


def refuse_hit(open_round: Round, hit: Hit, named: set[tuple[int, str]]) -> Refusal | None:
    """Why a hit may not stand in a round, or None; ``named``: places that the same message has named before."""
    plan, place = open_round.plan, (hit.seat, hit.spot)
    if not 1 <= hit.seat <= plan.seats:
        return Refusal.UNKNOWN_SEAT
    if hit.spot not in plan.spot:
        return Refusal.UNKNOWN_SPOT
    if hit.envy_only:
        if plan.envy_hand is not EnvyHand.ANY_PLAYER:
            return Refusal.ENVY_ONLY_REFUSED
        if place in open_round.wagers:
            return Refusal.SEAT_HAS_WAGER
    elif place not in open_round.wagers:
        return Refusal.SEAT_WITHOUT_WAGER
    if hit.outcome not in plan.spot[hit.spot].prizes:
        return Refusal.UNKNOWN_OUTCOME
    standing = open_round.hits.get(place)
    if place in named or (standing is not None and standing.hit != hit):
        return Refusal.ALREADY_HIT
    return None


def _part(plan: TablePlan, hit: Hit, meter: str) -> tuple[str, int] | None:
    """The part and share (ppm) that a hit takes of a meter, or None."""
    spot = plan.spot[hit.spot]
    if hit.envy_only:
        return None
    for part, share in spot.prizes[hit.outcome].shares:
        if spot.meter_of[part] == meter:
            return part, share
    return None


def _settle_meter(
    meter: Meter, found: Round, new: Sequence[Hit], left: Sequence[Standing], postings: list[Posting], rules: int
) -> dict[str, Any]:
    """Settle one meter's hits of a round: all of them from the kept state, or apart, the new ones as it stands.

    Awards by the keys under which the round was locked; a reset by those that are in force, or wait for it (R-34).
    """
    name = meter.plan.id
    plan = meter.plan if rules < TABLE_RULES else found.plan.meters.get(name, meter.plan)
    kept = meter.kept.get(found.key)
    if kept is None:
        # Kept no more, although the round has taken: somebody else has taken since it was closed.
        kept = Kept(meter.amounts(), apart=name in found.took or found.paid, closed=found.state != "open")
        if not kept.apart:
            meter.kept[found.key] = kept
    if name not in found.took:
        found.took.append(name)
    claims: list[tuple[Standing, str, int]] = []
    for standing in in_pay_order(found):
        part = _part(found.plan, standing.hit, name)
        if part is not None and (not kept.apart or standing.hit in new):
            claims.append((standing, *part))
    before = meter.amounts()
    freed = _freed(meter, found.plan, left)
    start = lay(meter.plan, before, freed * MICROCENTS_PER_CENT, 0) if kept.apart else kept.amounts
    shares = [share for _, _, share in claims]
    begun = None if rules < TABLE_RULES else begin(meter, found, kept, max(shares, default=0) >= PPM)
    result = settle(plan, start, shares, begun)
    after = result.after if kept.apart else lay(meter.plan, result.after, kept.since_rate, kept.since_reserve)
    house = result.house if kept.apart else result.house - kept.house
    falls = after.display < before.display and not any(_part(found.plan, hit, name) for hit in new)
    if falls:  # a withdrawal never lowers a display (design section 4)
        house += before.display - after.display
        after = after._replace(display=before.display)
    awarded = -freed
    for (standing, part_name, _), award in zip(claims, result.awards, strict=True):
        change = award - standing.shares.get(part_name, 0)
        standing.shares[part_name] = award
        meter.row(standing.hit.outcome).won += change
        awarded += change
    postings += post(meter, (
        ("display", after.display - before.display), ("reserve", after.reserve - before.reserve),
        ("overflow", after.overflow - before.overflow), ("pending", awarded * MICROCENTS_PER_CENT),
        ("house", -house)))
    kept.house += house
    meter.taken_by(found.key)
    other = {} if begun is None or begun == coming(plan) else {"coming": list(begun)}
    return {"apart": kept.apart, "from": list(start), "since": [kept.since_rate, kept.since_reserve],
            "to": list(after), "house": house} | other


def _freed(meter: Meter, plan: TablePlan, left: Sequence[Standing]) -> int:
    """Cents of this meter that hits which stand no more had been due."""
    freed = 0
    for standing in left:
        part = _part(plan, standing.hit, meter.plan.id)
        if part is not None:
            cents = standing.shares[part[0]]
            meter.row(standing.hit.outcome).won -= cents
            freed += cents
    return freed


def in_pay_order(open_round: Round) -> list[Standing]:
    """The standing hits as the dealer pays them."""
    rank: Callable[[Standing], int] = lambda standing: open_round.plan.pay_rank[standing.hit.seat, standing.hit.spot]  # noqa: E731
    return sorted(open_round.hits.values(), key=rank)


def awards(open_round: Round) -> list[dict[str, Any]]:
    """All awards of the round as they stand, in pay order; the house's parts recorded with them."""
    made = []
    for standing in in_pay_order(open_round):
        hit = standing.hit
        if hit.envy_only:
            continue
        prize = open_round.plan.spot[hit.spot].prizes[hit.outcome]
        made.append({
            "seat": hit.seat, "spot": hit.spot, "outcome": hit.outcome,
            "meters": {part: standing.shares[part] for part, _ in prize.shares},
            "fixed": prize.fixed_cents, "returned": prize.returned_cents,
        })
    return made


def award_row(found: Round, entry: int) -> dict[str, Any]:
    """The ledger's row of a round's awards: each with its state and steps, envy, and the round itself.

    ``entry`` is the entry that changed it.
    """
    made = []
    for award in awards(found):
        case = found.cases[award["seat"], award["spot"]]
        made.append(award | {"at": case.steps[0]["at"], "state": case.state, "steps": case.steps})
    hits = [standing.hit for standing in in_pay_order(found)]
    lines = [[hit.seat, hit.spot, seat, cents, _line_state(found, hit, seat)]
             for hit in hits for seat, cents in envy_of(found, hit).items()]
    return {"awards": made, "entry": entry, "envy": envy(found), "lines": lines, "past": found.past,
            "round": round_row(found)}


def owed(found: Round) -> int:
    """How many awards of a round wait for people, and how many amounts of its envy are not paid."""
    envy = [_line_state(found, standing.hit, seat) for standing in found.hits.values()
            for seat in envy_of(found, standing.hit)]
    return waiting(found) + sum(state not in (PAID, TRAY, CANCELLED) for state in envy)


def count_owed(table: Table, found: Round, rules: int) -> bool:
    """Bring what a table owes up to date with one of its rounds, and how much of it nobody claimed; True: changed."""
    hits = [standing.hit for standing in found.hits.values()]
    states = [_line_state(found, hit, seat) for hit in hits for seat in envy_of(found, hit)]
    before = found.owed, found.unclaimed
    found.owed, found.unclaimed = owed(found), states.count("unclaimed") if rules >= TABLE_RULES else 0
    table.owed += found.owed - before[0]
    table.unclaimed += found.unclaimed - before[1]
    return before != (found.owed, found.unclaimed)


def _line_state(found: Round, hit: Hit, seat: int) -> str:
    case = found.cases.get((hit.seat, hit.spot))
    dealer = case is not None and case.state == TRAY
    return TRAY if dealer else found.lines.get((hit.seat, hit.spot, seat), PENDING)


def envy(open_round: Round) -> list[dict[str, int]]:
    """What every seat is due in envy: for each hand, every other seat with a qualifying wager of the same spot."""
    due: dict[int, int] = {}
    for standing in open_round.hits.values():
        for seat, cents in envy_of(open_round, standing.hit).items():
            if _line_state(open_round, standing.hit, seat) != CANCELLED:
                due[seat] = due.get(seat, 0) + cents
    return [{"seat": seat, "cents": due[seat]} for seat in sorted(due)]


def envy_of(open_round: Round, hit: Hit) -> dict[int, int]:
    """What one hand earns every other seat with a qualifying wager of the same spot, in cents by seat."""
    cents = open_round.plan.spot[hit.spot].prizes[hit.outcome].envy_cents
    return {
        seat: cents
        for (seat, spot), wager in open_round.wagers.items()
        if cents and spot == hit.spot and seat != hit.seat and wager >= ENVY_WAGER_CENTS
    }


def uncount_envy(meters: Mapping[str, Meter], found: Round, hit: Hit, cents: int) -> str:
    """Take cents of a hit's envy that nobody is due any more from its prize row; the meter that counts it."""
    name = _row_meter(found.plan, hit)
    meters[name].row(hit.outcome).envy -= cents
    return name


def _row_meter(plan: TablePlan, hit: Hit) -> str:
    """The meter under which a hit's fixed parts are counted: the first it has a share of, or its spot's first."""
    spot = plan.spot[hit.spot]
    shares = spot.prizes[hit.outcome].shares
    return spot.meter_of[shares[0][0]] if shares else spot.feeds[0].meter


def _count_hit(meters: Mapping[str, Meter], found: Round, hit: Hit, times: int = 1) -> None:
    spot = found.plan.spot[hit.spot]
    prize = spot.prizes[hit.outcome]
    first = meters[_row_meter(found.plan, hit)].row(hit.outcome)
    first.envy += times * sum(envy_of(found, hit).values())
    if hit.envy_only:
        return
    first.fixed += times * prize.fixed_cents
    first.returned += times * prize.returned_cents
    for meter in {spot.meter_of[part] for part, _ in prize.shares} or {_row_meter(found.plan, hit)}:
        meters[meter].row(hit.outcome).hits += times
