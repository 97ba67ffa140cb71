"""Changing the configuration: proposed by one person, activated by another of another department. Pure (D2, D5, CF-04).

All or nothing, over every book of the floor: the act is the first book's, the others are asked before and come under
the same configuration in the same commit (``waiting_config.spread``). Tables follow at their next lock-out; a meter's
own keys wait for its next reset unless it says ``change = "now"``. What waits is the difference between the document in
force and the one that was activated.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from controller.acts import Act, ActRefused, Why
from controller.config_build import build
from controller.config_change import changed_keys, effective, links_of, waiting_meters
from controller.config_reader import ConfigError
from controller.floor import Floor
from controller.gaming_day import wall_clock
from controller.journal import ENVY_RULES, TABLE_RULES
from controller.money import MICROCENTS_PER_CENT, format_cents
from controller.outcome import Outcome
from controller.plan import FloorPlan
from controller.resets import reset_meters
from controller.waiting_config import keep_waiting, waiting_of

PROPOSALS_MAX = 8


def _plan(document: Any) -> FloorPlan:
    try:
        return build(document if isinstance(document, dict) else {})
    except ConfigError as wrong:
        first = wrong.problems[0]
        raise ActRefused(Why.WRONG_FIELD, f"{first.key}: {first.what}"[:300], first.remedy[:200]) from wrong


def refuse_plan(floor: Floor, new: FloorPlan) -> None:
    """Raise ActRefused for what no configuration may do to a floor in play."""
    old = floor.plan
    if (new.site, new.environment) != (old.site, old.environment):
        raise ActRefused(Why.NOT_NOW, "it is of another site or environment", "give this floor's own")  # D9
    for name, meter in floor.meters.items():
        if name not in new.meters:
            if meter.display or meter.reserve or meter.overflow or meter.pending:
                raise ActRefused(Why.NOT_NOW, f"meter {name} holds money", "retire it first, or keep it")
            continue
        if name in old.meters and new.meters[name].book != old.meters[name].book:
            raise ActRefused(Why.NOT_NOW, f"meter {name} is in book {old.meters[name].book}", "leave it there")
        limit = new.meters[name].limit_cents
        if limit is None or limit == old.meters[name].limit_cents:  # one that stands is not set anew
            continue
        if name in floor.opened_meters() and limit * MICROCENTS_PER_CENT <= meter.display:
            raise ActRefused(Why.NOT_NOW, f"meter {name} stands above {format_cents(limit)}",
                             "a limit is set above the current amount only (R-40)")
    for name in new.meters:
        if name in floor.known_meters and name not in old.meters:
            raise ActRefused(Why.NOT_NOW, f"a meter {name} was on this floor before", "give the new one another id")
    _refuse_mid_reset(floor, new)
    _refuse_seed_over_limit(floor, new)
    _refuse_other_books(old, new)
    links, before = links_of(new), links_of(old)
    for name, table in floor.tables.items():
        if name not in new.tables and table.owed:
            raise ActRefused(Why.NOT_NOW, f"table {name} has awards or envy that are not paid", "settle them first")
        same = name in new.tables and table.plan.device == new.tables[name].device
        if same and links.get(name) == before.get(name):
            continue
        if not table.closed or table.open is not None:
            raise ActRefused(Why.NOT_NOW, f"table {name} would leave, join a link or get another unit",
                             "close the table first (R-30)")


def _refuse_mid_reset(floor: Floor, new: FloorPlan) -> None:
    """While a game is open that has reset a meter, its keys stay: the game may be settled again."""
    waiting = (waiting_of(floor) or {"meters": ()})["meters"]
    for found in (table.open for table in floor.tables.values() if floor.rules >= TABLE_RULES):
        for meter in sorted(reset_meters(found)) if found is not None else ():
            same = meter in new.meters and meter in floor.plan.meters and not changed_keys(floor.plan, new, meter)
            if found is not None and (meter in waiting or not same):
                raise ActRefused(Why.NOT_NOW, f"game {found.game} of table {found.plan.id} has won meter {meter}",
                                 "let the dealer end the game first")


def _refuse_seed_over_limit(floor: Floor, new: FloorPlan) -> None:
    """A reset puts the waiting seed in while the old limit still counts, until its game is over: the seed is below."""
    for name in sorted(_waiting(floor, new)) if floor.rules >= ENVY_RULES else ():
        seed, limit = new.meters[name].seed_cents, floor.plan.meters[name].limit_cents
        if limit is not None and seed >= limit:
            raise ActRefused(Why.NOT_NOW, f"meter {name}: the new seed, {format_cents(seed)}, is not below the limit "
                             f"in force, {format_cents(limit)}, under which the reset would put it in",
                             'raise the limit first, at once (change = "now")')


def _refuse_other_books(old: FloorPlan, new: FloorPlan) -> None:
    """Books stay what they are: their numbers, and the games of a table, cannot move from one to another."""
    if new.books[0] != old.books[0]:
        raise ActRefused(Why.NOT_NOW, f"the first meter would be of book {new.books[0]}",
                         f"let a meter of book {old.books[0]} stand first: the people are in it")
    for book in sorted({*old.books} ^ {*new.books}):
        remedy = "leave a meter in it" if book in old.books else "a new book needs a new ledger"
        raise ActRefused(Why.NOT_NOW, f"book {book} would begin or end", remedy)
    for name, table in old.tables.items():
        now = new.tables.get(name)
        if now is not None and now.book != table.book:
            raise ActRefused(Why.NOT_NOW, f"table {name} has its games in book {table.book}",
                             "link it to a meter of that book")
    for device, table in old.table_of_device.items():
        now = new.table_of_device.get(device)
        if now is not None and now.book != table.book:
            raise ActRefused(Why.NOT_NOW, f"unit {device} has its numbers in book {table.book}",
                             "put it at a table of that book")


def refuse_elsewhere(floors: Mapping[str, Floor], floor: Floor, act: Act, at: int) -> None:
    """Raise ActRefused for what the other books of a floor cannot come under: all of them do, or none (D2, CF-04).

    Asked when people act, at ``at``; what the ledger has already is not asked again.
    """
    if act.kind not in RULES or act.id in floor.acts:
        return
    if act.kind == "config-activated":
        _refuse_date(act.fields["approved"], wall_clock(floor.plan.timezone, at).date())
    if floor.book != floor.plan.books[0]:
        raise ActRefused(Why.NOT_NOW, f"the configuration is kept in book {floor.plan.books[0]}", "send it there")
    proposed = floor.rows.get("config-proposed", {}).get(str(act.fields.get("hash")), {})
    document = act.fields.get("document", proposed.get("document"))
    if document is None or act.kind == "config-withdrawn":
        return
    new = _plan(document)
    for other in floors.values():
        if other is not floor:
            _refuse_there(other, new)


def _refuse_date(approved: str, today: date) -> None:
    """Raise ActRefused for an approval of a day to come, by the floor's clock."""
    try:
        day = date.fromisoformat(approved)
    except ValueError as wrong:
        raise ActRefused(Why.WRONG_FIELD, f"Date of the approval: {approved[:20]} is no date",
                         "write it like 2026-12-31") from wrong
    if day > today:
        raise ActRefused(Why.WRONG_FIELD, f"Date of the approval: {approved} is to come, today is {today}",
                         "write the date that stands on the approval")


def _refuse_there(other: Floor, new: FloorPlan) -> None:
    if other.stopped:
        raise ActRefused(Why.NOT_NOW, f"book {other.book} is stopped", "let the technician prove it first")
    refuse_plan(other, new)
    for name in sorted(other.unopened()):
        if name in new.meters and name in other.plan.meters and changed_keys(other.plan, new, name):
            raise ActRefused(Why.NOT_NOW, f"meter {name} is not opened yet", "open it first, or leave it as it is")


def _waiting(floor: Floor, new: FloorPlan) -> frozenset[str]:
    """The meters that would wait; those of other books are opened (``refuse_elsewhere``)."""
    elsewhere = {name for name, meter in floor.plan.meters.items() if meter.book != floor.book}
    return waiting_meters(floor.plan, new, floor.opened_meters() | elsewhere)


def propose(floor: Floor, act: Act, at: int) -> Outcome:
    """A technician lays a configuration before the others; nothing changes yet."""
    new = _plan(act.fields["document"])
    proposed = floor.rows.get("config-proposed", {})
    if new.hash == floor.plan.hash:
        raise ActRefused(Why.ALREADY_DONE, "it is the configuration in force", "nothing to do")
    if new.hash in proposed:
        raise ActRefused(Why.ALREADY_DONE, "it has been proposed", "let another department activate it")
    if len(proposed) >= PROPOSALS_MAX:
        raise ActRefused(Why.NOT_NOW, f"{PROPOSALS_MAX} proposals wait", "activate or withdraw one first")
    refuse_plan(floor, new)
    waiting = sorted(_waiting(floor, new))
    floor.keep("config-proposed", new.hash, {"at": at, "by": list(act.by), "document": dict(new.document),
                                             "number": floor.number + 1, "of": floor.plan.hash, "waits": waiting})
    return Outcome({"hash": new.hash, "waits": waiting})


def withdraw(floor: Floor, act: Act, _at: int) -> Outcome:
    """A proposal is taken back."""
    if act.fields["hash"] not in floor.rows.get("config-proposed", {}):
        raise ActRefused(Why.NOT_FOUND, "there is no such proposal", "look at the list")
    floor.keep("config-proposed", act.fields["hash"], None)
    return Outcome()


class Coming(NamedTuple):
    """What an activation brings: the plan, the one in force while some of its meters wait, and those meters."""

    plan: FloorPlan
    in_force: FloorPlan
    waits: frozenset[str]


def coming(floor: Floor, act: Act) -> Coming:
    """What an act would bring into force, and nothing is changed; raises ActRefused where it may not be activated."""
    name = act.fields["hash"]
    found = floor.rows.get("config-proposed", {}).get(name)
    if found is None:
        raise ActRefused(Why.NOT_FOUND, "no configuration of this hash is proposed", "look at the list (D5)")
    if act.by.id == found["by"][0]:
        raise ActRefused(Why.SAME_PERSON, f"{act.by.id} has proposed it", "let another person activate it")
    if act.by.department == found["by"][2]:
        raise ActRefused(Why.SAME_DEPARTMENT, "it was proposed by the same department", "ask another department")
    if found["of"] != floor.plan.hash:
        raise ActRefused(Why.NOT_NOW, "another configuration has come into force since it was proposed",
                         "withdraw it, look at the differences and propose it again")
    new = _plan(found["document"])
    refuse_plan(floor, new)
    waiting = _waiting(floor, new)
    return Coming(new, _plan(effective(floor.plan.document, new.document, waiting)), waiting)


def activate(floor: Floor, act: Act, at: int) -> Outcome:
    """Another person of another department puts it in force, with its approval; waiting meters keep their old keys."""
    name, new = act.fields["hash"], coming(floor, act)
    floor.keep("config-proposed", name, None)
    keep_waiting(floor, new.plan.document, new.waits)
    told = {"hash": name, "in_force": new.in_force.hash, "waits": sorted(new.waits)}
    return Outcome(told, then=lambda: floor.configure(new.in_force, at))


RULES = {"config-proposed": propose, "config-withdrawn": withdraw, "config-activated": activate}
