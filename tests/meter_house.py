"""A floor whose meters people change by hand: two like meters with tables of their own, and a third of another kind."""

from copy import deepcopy
from typing import Any

from desk_house import CARL, DORA, HOUR, Desk
from floors import contract_floor, plan_of

from controller.acts import KINDS, Acted
from controller.floor import Floor
from controller.money import format_cents
from controller.plan import FloorPlan

CENT = 1_000_000
DOLLAR = 100 * CENT
SEED = 10_000 * DOLLAR
WHY: dict[str, Any] = {"reason": "the sign and the meter differed", "approval": "PGCB-17"}
TWO = (CARL, DORA)
"""A shift manager of table games and somebody of accounting."""
RATE = 5 * DOLLAR // 100
"""What one $5 wager adds to the display of paytable 4: 1%; the reserve takes as much."""
TOP = "7-card-straight-flush"
TENTH = "7-card-straight-flush-with-joker"
DAY = 24 * HOUR
TODAY = "2026-12-01"
"""The gaming day of ``AT``: 2026-12-01 17:00 in New York."""
ADJUST = {"meter": "pg-link", "direction": "raise", "by_amount": "$1.00", "code": "restoration", **WHY}
RETIRE = {"meter": "pg-link", **WHY}
OPENING = {"meter": "pg-next", "base": "$10,500.00", "brought": "$500.00", "source": "the old link", "approval": "P-9"}


def meter_plan(*, new: bool = True, **keys: Any) -> FloorPlan:
    """The contract's floor; with ``new`` also ``pg-next``, a meter like ``pg-link`` fed by PG-04. ``keys``: its own."""
    floor, paytables = deepcopy(contract_floor())
    if new:
        link = floor["meter"][0]
        floor["meter"].append(link | {"id": "pg-next", "name": "Face Up Pai Gow Next"} | keys)
        table = deepcopy(floor["table"][1]) | {"id": "PG-04", "device": "hub-04"}
        table["spot"][0]["meters"] = {"main": "pg-next"}
        floor["table"].append(table)
    return plan_of((floor, paytables))


class MeterDesk(Desk):
    """A fresh book with the third meter open, and short words for what is done to meters."""

    def __init__(self, plan: FloorPlan | None = None, **keys: Any) -> None:
        super().__init__(plan or meter_plan(**keys))

    def adjust(
        self, direction: str, amount: str, code: str = "malfunction-correction", meter: str = "pg-link"
    ) -> Acted:
        """Two people move a display."""
        return self.act("meter-adjusted", *TWO, meter=meter, direction=direction, by_amount=amount, code=code, **WHY)

    def move(self, meter: str = "pg-link", to: str = "pg-next") -> Acted:
        """Two people transfer a meter."""
        return self.act("meter-transferred", *TWO, meter=meter, to=to, **WHY)

    def shut(self, *tables: str) -> None:
        """Close tables."""
        for table in tables:
            self.act("table-closed", CARL, table=table)

    def wager(self, times: int, table: str = "PG-01", first: int = 1) -> None:
        """So many games of one wager, each ended."""
        for number in range(first, first + times):
            self.lock(number, 1, table=table)
            self.close(number, table=table)

    def inside(self) -> int:
        """What all meters hold inside, in microcents."""
        return sum(one.display + one.reserve + one.overflow + one.pending for one in self.floor.meters.values())

    def of_house(self) -> int:
        """What the house has put into all meters, in microcents."""
        return -sum(meter.house for meter in self.floor.meters.values())


def dollars(microcents: int) -> str:
    """Microcents of whole cents as people write them."""
    return format_cents(microcents // CENT)


def loaded_again(desk: Desk) -> Floor:
    """The book as a start would load it."""
    floor, rows = desk.floor, desk.floor.drain()[1]
    return Floor.loaded(desk.plan, "main", rows, floor.number, floor.plan_entry, {}, boots_elsewhere=False)


def notices(desk: Desk) -> dict[str, Any]:
    """The notices that are due, by entry."""
    return desk.floor.rows.get("notice-due", {})


def noticed(desk: Desk, number: int, meter: str = "pg-link") -> dict[str, Any]:
    """What names a notice: its entry; and its meter, where the act asks for it."""
    asked = {field.name for field in KINDS["notice-sent"].fields}
    return {"notice": number} | ({"meter": meter} if "meter" in asked else {})


def grown(**keys: Any) -> MeterDesk:
    """40 wagers on pg-link, its tables closed; the like meter ``pg-next`` has ``keys``."""
    desk = MeterDesk(**keys)
    desk.wager(40)
    desk.shut("PG-01", "PG-02")
    return desk


def announced(effective: str = TODAY, desk: MeterDesk | None = None) -> MeterDesk:
    """pg-link's tables are closed and its retirement is announced."""
    desk = desk or grown()
    desk.act("retirement-announced", *TWO, meter="pg-link", effective=effective, **WHY)
    return desk


def accepting(base: str = "$10,500.00") -> dict[str, Any]:
    """What names the opening that is accepted: its meter; and its base, where the act asks for it."""
    asked = {field.name for field in KINDS["opening-accepted"].fields}
    return {"meter": "pg-next"} | ({"base": base} if "base" in asked else {})
