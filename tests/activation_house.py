"""A running floor with people, who change its configuration while wagers come: a real meterd, units, broker, pages."""

import asyncio
import contextlib
import http.cookiejar
import json
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from running_floor import Broker, RunningFloor
from table_unit import Unit

from controller.config import load
from controller.demo import SECRET, STAFF
from controller.people_on_box import Newcomer, begin
from firmware_bridge import messages

LIMIT = 'limit = "$250,000.00"'
"""Of the contract's pg-solo."""
TRAY = 'sign_from = "$500.00"\ntray_limit = "$100.00"'


class Person:
    """Somebody signed in at a screen of their own; calls block."""

    def __init__(self, floor: RunningFloor, name: str) -> None:
        self._base = f"http://127.0.0.1:{floor.pages}"
        self._open = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
        form = urllib.parse.urlencode({"name": name, "secret": SECRET, "back": "/day"}).encode()
        self.ask("/sign-in", form, {"content-type": "application/x-www-form-urlencoded"})
        self._csrf = json.loads(self.ask("/api/v1/session")[1])["csrf"]

    def ask(self, path: str, body: bytes | None = None, more: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """An answer of any status; OSError when there is none."""
        asked = urllib.request.Request(self._base + path, body, {"origin": self._base, **(more or {})})
        try:
            with self._open(asked, timeout=30) as answer:
                return int(answer.status), bytes(answer.read())
        except urllib.error.HTTPError as no:
            return no.code, no.read()

    def act(self, kind: str, act_id: str = "", **fields: Any) -> tuple[int, Any]:
        """Do an act by the API: the status, and what is told."""
        sent = {"id": act_id or secrets.token_hex(16), "fields": fields}
        code, body = self.ask(f"/api/v1/acts/{kind}", json.dumps(sent).encode(),
                              {"content-type": "application/json", "x-csrf": self._csrf})
        return code, json.loads(body)


class ChangingFloor(RunningFloor):
    """The contract's floor with the demo's people, begun while no meterd runs."""

    def make_ledger(self) -> None:
        """And its people."""
        super().make_ledger()
        staff = [Newcomer(person, name, SECRET) for person, name in STAFF]
        begin(self.ledger, "a test", staff, time.time_ns() // 1_000)

    def change(self, old: str, new: str) -> None:
        """Edit the file on the box; ``old`` must stand in it."""
        text = self.config.read_text()
        assert old in text, old
        self.config.write_text(text.replace(old, new, 1))

    def document(self) -> dict[str, Any]:
        """What the file would be as a proposal."""
        made: dict[str, Any] = json.loads(json.dumps(load(self.config)[0].document, default=dict))
        return made

    def proposed(self, tess: Person) -> str:
        """Propose the file as it is; the hash."""
        code, told = tess.act("config-proposed", document=self.document(), reason="a test")
        assert code == 200, told
        return str(told["told"]["hash"])

    def activated(self, dora: Person, hash_: str) -> tuple[int, Any]:
        """Activate a proposal."""
        return dora.act("config-activated", hash=hash_, authority="PGCB", approval="A-1", approved="2026-01-31")

    def starts(self) -> int:
        """How often meterd's floor has begun."""
        return self.log().count("pages on ")


@contextlib.asynccontextmanager
async def changing(folder: Path, **wiring: Any) -> AsyncIterator[ChangingFloor]:
    """A running one beside a broker, ended with the test."""
    broker = Broker(folder)
    floor = ChangingFloor(folder, broker=broker, **wiring)
    floor.make_ledger()
    try:
        await broker.begin()
        await floor.start()
        yield floor
    finally:
        floor.end()
        broker.end()


class Player:
    """Plays at a unit as hubs do: one lock-out after the other, sent again until it is answered; keeps the times."""

    def __init__(self, unit: Unit, cents: int = 500, again_s: float = 1.0) -> None:
        self._unit, self._cents, self._again_s, self._go_on = unit, cents, again_s, True
        self._greeted = unit.count(messages.Who)
        self.waits: list[tuple[float, float]] = []
        """By lock-out: when it was first sent, and the seconds until its answer."""

    async def play(self) -> None:
        """Lock-outs until ``end``."""
        unit = self._unit
        while self._go_on:
            seq, heard = unit.last_seq + 1, len(unit.heard)
            began = time.monotonic()
            unit.keeps_from = seq
            unit.counted(seq, unit.wagers_total + 1)
            while not self._answered(seq, heard):
                sent, heard = time.monotonic(), len(unit.heard)
                unit.lock(seq, cents=self._cents)
                while not self._answered(seq, heard) and not self._welcomed(heard):
                    if time.monotonic() - sent > self._again_s:
                        break
                    await asyncio.sleep(0.002)
            unit.keeps_from = 0
            self.waits.append((began, time.monotonic() - began))

    def _welcomed(self, heard: int) -> bool:
        """Whether a welcome came; a host that asks who it is gets its hello at once."""
        if self._unit.count(messages.Who) > self._greeted:
            self._greeted = self._unit.count(messages.Who)
            kept = (self._unit.boot, self._unit.keeps_from, self._unit.last_seq + 1)
            self._unit.hello(kept)
        return any(isinstance(one, messages.Welcome) for one in self._unit.heard[heard:])

    def _answered(self, seq: int, heard: int) -> bool:
        return any(isinstance(one, messages.Ack) and one.boot == self._unit.boot and one.seq >= seq
                   for one in self._unit.heard[max(0, heard - 20):])

    def end(self) -> None:
        """After this lock-out no other."""
        self._go_on = False
