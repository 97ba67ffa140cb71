"""What a 100% award begins: the next meter, by keys that are in force or have waited for this reset. Pure (R-34).

The awards of a round are settled by the keys under which it was locked, the meter after them by the newer ones. A round
that is settled again (design section 4) begins the same meter again: its keys are kept with what was kept of the meter.
"""

from controller.floor_state import Kept, Meter, Round
from controller.journal import TABLE_RULES
from controller.meter import Coming, coming
from controller.money import PPM


def reset_meters(found: Round) -> set[str]:
    """The meters that a standing 100% award of a round has reset."""
    meters = set()
    for standing in found.hits.values():
        spot = found.plan.spot[standing.hit.spot]
        if not standing.hit.envy_only:
            shares = spot.prizes[standing.hit.outcome].shares
            meters |= {spot.meter_of[part] for part, share in shares if share >= PPM}
    return meters


def begin(meter: Meter, found: Round, kept: Kept, resets: bool) -> Coming | None:
    """The keys of the meter that a settlement of a round begins, the same ones however often; None: it resets nothing.

    A round settled as one that has no 100% award any more has not reset, and what waits goes on waiting. Apart, each
    reset is one of its own.
    """
    if not resets:
        if not kept.apart:
            kept.coming = None
            found.freed = [name for name in found.freed if name != meter.plan.id]
        return None
    if kept.coming is not None and not kept.apart:
        return kept.coming
    begun = coming(meter.plan if meter.waits is None else meter.waits(reset_meters(found)))
    if meter.waits is not None and meter.plan.id not in found.freed:
        found.freed.append(meter.plan.id)
    if not kept.apart:
        kept.coming = begun
    return begun


def take_freed(found: Round, rules: int) -> set[str]:
    """The meters whose waiting keys come into force, now that a round is over; each is told once for each reset."""
    if rules < TABLE_RULES:
        return reset_meters(found)
    freed, found.freed = set(found.freed), []
    return freed
