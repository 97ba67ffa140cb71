"""The engine behind the same lines as ``meterctl apply``: bytes in, answers out, and a book of its own in memory."""

import json
from typing import Any

from controller.floor import Floor
from controller.floor_state import StateRow
from controller.intake import NotTaken, read_json
from controller.journal import Entry
from controller.plan import FloorPlan
from controller.taken import Asked, Recalled
from firmware_bridge.messages import Heartbeat, Hello, content


class Engine:
    """A fresh floor that answers lines in turn. ``entries`` are those since they were last looked at."""

    def __init__(self, plan: FloorPlan, at: int = 0) -> None:
        self.plan, self.at, self.lines = plan, at, 0
        self.floor = Floor.opened(plan, at=at)
        self.entries: list[Entry] = []
        self.rows: dict[tuple[str, str], StateRow] = {}
        self.said: dict[tuple[str, str, int], str] = {}
        self.done: dict[tuple[str, str, int], tuple[str, int]] = {}
        self._keep()

    def take(self, raw: bytes) -> list[dict[str, Any]]:
        """The answers to one line, without ``entry`` and ``game``."""
        self.lines += 1
        message = read_json(self.plan, raw) if raw.strip() else None
        if message is None:
            return []
        if isinstance(message, NotTaken):
            refused = {"line": self.lines, "result": "refused", "reason": message.reason.value}
            return [] if message.pulse else [refused]
        if isinstance(message, Hello | Heartbeat):
            self.floor.hear(message.device, message.boot, self.at)
            self._keep()
            return []
        for asked in self.floor.asks(message):
            self.floor.remember(asked, self._recalled(asked))
        taken = self.floor.take(message, self.at)
        if taken[0].result in ("posted", "held") or (taken[0].result == "refused" and taken[0].entry is not None):
            self.said.setdefault((message.device, message.boot, message.seq), content(message))
        for each in taken:
            if each.result in ("posted", "refused") and each.entry is not None:
                self.done[each.device, each.boot, each.seq] = (each.reason, each.entry)
        self._keep()
        answers = [each.answer() for each in taken]
        return [{key: said for key, said in answer.items() if key not in ("entry", "game")} for answer in answers]

    def restart(self) -> None:
        """The daemon ends and starts again from what its book holds: state rows, and no digests."""
        self.floor = Floor.loaded(
            self.plan, "main", self.rows.values(), self.floor.number, self.floor.plan_entry,
            {self.floor.plan_entry: self.plan}, boots_elsewhere=False,
        )

    def forget(self) -> None:
        """The floor lets go of all that the book can tell: old boots and their digests."""
        self.floor.forget(self.floor.number, boots_kept=1)

    def accounts(self, meter: str) -> dict[str, int]:
        """Every account in microcents; the players' and the house's are what they put in."""
        held = self.floor.meters[meter]
        inside = {account: getattr(held, account) for account in ("display", "reserve", "overflow", "pending")}
        return inside | {"players": -held.players, "house": -held.house}

    def _keep(self) -> None:
        entries, rows = self.floor.drain()
        self.entries += entries
        self.rows |= {(row.kind, row.key): row for row in rows}

    def _recalled(self, asked: Asked) -> Recalled:
        """What a ledger would say to a question of the floor."""
        row = self.rows.get(("boot", f"{asked.device}/{asked.boot}"))
        state = json.loads(row.body) if row else None
        key = (asked.device, asked.boot, asked.seq or 0)
        if key not in self.done:
            return Recalled(state=state)
        reason, entry = self.done[key]
        return Recalled(state=state, content=self.said[key], reason=reason, entry=entry)
