"""The engine behind the same lines as ``meterctl apply``: bytes in, answers out, no ledger."""

from typing import Any

from controller.floor import Floor
from controller.intake import NotTaken, read_json
from controller.journal import Entry
from controller.plan import FloorPlan
from firmware_bridge.messages import Heartbeat, Hello


class Engine:
    """A fresh floor that answers lines in turn; the entries it makes are checked and kept in ``entries``."""

    def __init__(self, plan: FloorPlan, at: int = 0) -> None:
        self.plan, self.at, self.lines = plan, at, 0
        self.floor = Floor.opened(plan, at=at)
        self.entries: list[Entry] = []

    def take(self, raw: bytes) -> list[dict[str, Any]]:
        """The answers to one line, without ``entry`` and ``game``."""
        self.lines += 1
        message = read_json(self.plan, raw) if raw.strip() else None
        if message is None:
            return []
        if isinstance(message, NotTaken):
            return [{"line": self.lines, "result": "refused", "reason": message.reason.value}]
        if isinstance(message, Hello | Heartbeat):
            self.floor.hear(message.device, message.boot, self.at)
            return []
        answers = [taken.answer() for taken in self.floor.take(message, self.at)]
        self.entries += self.floor.drain()[0]
        return [{key: said for key, said in answer.items() if key not in ("entry", "game")} for answer in answers]

    def accounts(self, meter: str) -> dict[str, int]:
        """Every account in microcents; the players' and the house's are what they put in."""
        held = self.floor.meters[meter]
        inside = {account: getattr(held, account) for account in ("display", "reserve", "overflow", "pending")}
        return inside | {"players": -held.players, "house": -held.house}
