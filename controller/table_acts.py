"""Tables are open or closed by people; a loss is accepted by two of them. Pure (R-30, R-88, R-94)."""

from controller import losses
from controller.acts import Act, ActRefused, Why
from controller.floor import Floor
from controller.floor_state import Table
from controller.journal import TABLE_RULES
from controller.outcome import Outcome


def _table(floor: Floor, act: Act) -> Table:
    table = floor.tables.get(act.fields["table"])
    if table is None:
        raise ActRefused(Why.NOT_FOUND, f"there is no table {act.fields['table']}", "choose one from the page")
    return table


def open_table(floor: Floor, act: Act, _at: int) -> Outcome:
    """From now on its lock-outs are accepted: only where every meter that it feeds is opened (R-38, R-44)."""
    table = _table(floor, act)
    if not table.closed:
        raise ActRefused(Why.ALREADY_DONE, f"table {table.plan.id} is open", "nothing to do")
    if table.shut and floor.rules >= TABLE_RULES:
        raise ActRefused(Why.NOT_NOW, table.shut, "let accounting enter and accept its opening, or link the table "
                         "to another jackpot, then open the table")
    table.closed, table.unheard = False, 0
    floor.touch_table(table.plan.id)
    return Outcome(table=table.plan.id)


def close_table(floor: Floor, act: Act, _at: int) -> Outcome:
    """No lock-out is accepted until it is opened. Asks for no open game and nothing held of its unit.

    Where the unit is not heard, nobody can know whether it has sent everything: another person signs, with a reason
    (``Unit.check_closing`` asks for it), and what the unit kept of before is counted when it comes (``rounds.lock``).
    """
    table = _table(floor, act)
    if table.closed:
        raise ActRefused(Why.ALREADY_DONE, f"table {table.plan.id} is closed", "nothing to do")
    if table.open is not None:
        raise ActRefused(Why.NOT_NOW, f"game {table.open.game} is open at {table.plan.id}",
                         "let the dealer end the game, then close the table")
    if any(boot.held for (device, _), boot in floor.boots.items() if device == table.plan.device):
        raise ActRefused(Why.NOT_NOW, f"the table unit of {table.plan.id} has not sent everything yet",
                         "wait until its line has caught up, or accept its loss")
    if act.third is not None:
        if not act.fields.get("note"):
            raise ActRefused(Why.WRONG_FIELD, "no reason is given",
                             "write why it is closed while its table unit is not heard")
        table.unheard = floor.number + 1
    table.closed = True
    floor.touch_table(table.plan.id)
    owed = {"owed": table.owed} if table.owed and floor.rules >= TABLE_RULES else {}
    return Outcome(owed, table=table.plan.id)


def accept_loss(floor: Floor, act: Act, at: int) -> Outcome:
    """Two people accept what a table unit lost, or that its totals differ: nothing is guessed, nothing added."""
    table = _table(floor, act)
    if table.loss is None:
        raise ActRefused(Why.ALREADY_DONE, f"nothing is lost at {table.plan.id}", "nothing to do")
    loss = table.loss
    return Outcome({"loss": loss}, table=table.plan.id, then=losses.accept(floor, table, at))


RULES = {"table-opened": open_table, "table-closed": close_table, "loss-accepted-by": accept_loss}
