"""A stand-in for the daemon behind the pages, and a real server for it on a free loopback port."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from demo_snapshot import busy_snapshot, wiring

from controller.config_remarks import counts_or_why, odds_by, paytables_of
from controller.game.odds import Odds
from controller.metrics import Stats
from controller.paytable import Paytable
from controller.sign import Shown, show
from controller.snapshot import MeterView, Snapshot
from controller.web.app import create_app
from controller.web.serve import Server, listen
from controller.wiring import Wiring


class House:
    """A ``Source`` that shows whatever it is told to. ``tell`` may be called from any thread."""

    def __init__(self, snapshot: Snapshot | None = None, wired: Wiring | None = None):
        self._snapshot = snapshot or busy_snapshot()
        self.wiring = wired or wiring()
        self.stats = Stats()
        self.entries: list[dict[str, Any]] = []
        self.asked: list[tuple[str, int | None, int]] = []
        self.sign_later_us = 0
        self._version = 1
        self._changed: asyncio.Event | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def version(self) -> int:
        return self._version

    async def wait(self, version: int) -> None:
        while self._version == version:
            if self._changed is None:
                self._changed = asyncio.Event()
            await self._changed.wait()

    def alarms(self) -> Sequence[Any]:
        return ()

    def sign_shown(self, sign: str) -> Shown | None:
        plan = next((plan for plan in self.wiring.signs if plan.id == sign), None)
        if plan is None:
            return None
        return show(plan, self._snapshot, self._snapshot.at + self.sign_later_us, None)

    def odds(self, paytable: str) -> Odds | str | None:
        counts = counts_or_why(self.paytable(paytable))
        return counts if isinstance(counts, str) else odds_by(self.paytable(paytable), counts)

    def paytable(self, paytable: str) -> Paytable:
        """A paytable in use."""
        return paytables_of(self._snapshot.plan)[paytable]

    async def log(self, book: str, before: int | None, count: int) -> Sequence[Mapping[str, Any]]:
        self.asked.append((book, before, count))
        return [entry for entry in self.entries if before is None or entry["number"] < before][:count]

    async def wins(self, count: int) -> Sequence[Mapping[str, Any]]:
        awards = self._snapshot.awards[:count]
        return [{"table": award.table, "game": award.game, "seat": award.seat} for award in awards]

    def tell(self, snapshot: Snapshot) -> None:
        """Show another snapshot; streams hear of it."""

        def change() -> None:
            self._snapshot = snapshot
            self._version += 1
            if self._changed is not None:
                self._changed.set()
                self._changed = None

        if self.loop is None:
            change()
        else:
            self.loop.call_soon_threadsafe(change)

    def meter(self, meter: str, **changes: Any) -> Snapshot:
        """The present snapshot with one meter changed."""
        view: MeterView = replace(self._snapshot.meters[meter], **changes)
        return replace(self._snapshot, meters={**self._snapshot.meters, meter: view})


class Served:
    """A running server; ``stop`` ends it and says how long that took, in seconds."""

    def __init__(self, house: House, port: int = 0, proxies: tuple[str, ...] = ()):
        self.house = house
        self.app = create_app(house)
        self._socket = listen("127.0.0.1", port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = Server(self.app, proxies=proxies)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        async def serve() -> None:
            self.house.loop = asyncio.get_running_loop()
            await self._server.serve(sockets=[self._socket])
            self.house.loop = None

        asyncio.run(serve())

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The server's own loop; it runs once a first answer has come."""
        if self.house.loop is None:
            raise AssertionError("the server does not run")
        return self.house.loop

    @property
    def connections(self) -> int:
        """Connections that are open now."""
        return len(self._server.server_state.connections)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        if self._thread.is_alive():
            raise AssertionError("the server does not end")


@contextmanager
def served(house: House, port: int = 0, proxies: tuple[str, ...] = ()) -> Iterator[Served]:
    """A server for the time of a ``with`` block."""
    server = Served(house, port, proxies)
    try:
        yield server
    finally:
        server.stop()
