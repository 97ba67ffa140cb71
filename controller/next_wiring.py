"""What meterd runs when its configuration changes: wiring that was tried before the change was committed (ADR 0009).

A person's activation brings the file on the box into force, and is refused where that cannot be run. A jackpot that
brings waiting keys into force reads no file: what runs goes on.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from controller.acts import Act, ActRefused, Why
from controller.config_acts import coming
from controller.config_fit import Fitting, read_fitting, read_raw, read_strictly, still_fitting, without_leaving
from controller.config_reader import ConfigError
from controller.floor import Floor
from controller.plan import FloorPlan
from controller.web.serve import Door
from controller.wiring import Wiring

_CORRECT = "let the technician correct the file on the box, then activate it again"


class NextWiring:
    """The wiring that runs now, and the one that comes with what people activate. ``config``: the file on the box."""

    def __init__(self, config: Path, running: Wiring, door: Door) -> None:
        self._config, self._running, self._door = config, running, door
        self._tried: dict[str, Wiring] = {}

    async def trial(self, floor: Callable[[], Floor], asked: Act) -> Callable[[], None]:
        """Read the file aside; what is returned tries it, and raises ActRefused where it cannot be run."""
        try:
            raw: dict[str, Any] | ConfigError = await asyncio.to_thread(read_raw, self._config)
        except ConfigError as wrong:
            raw = wrong
        return partial(self._try, raw, floor, asked)

    def _try(self, raw: dict[str, Any] | ConfigError, floor: Callable[[], Floor], asked: Act) -> None:
        found = floor()
        new = coming(found, asked)
        try:
            if isinstance(raw, ConfigError):
                raise raw
            # What it will be once nothing waits any more is tried too: a jackpot must find nothing wrong.
            for plan in (new.plan, new.in_force):
                wiring = read_strictly(self._config, without_leaving(raw, found.plan, plan), plan)
        except ConfigError as wrong:
            first = wrong.problems[0]
            raise ActRefused(
                Why.NOT_NOW, f"the file on the box does not fit it: {first.key}: {first.what} ({first.remedy})"[:300],
                _CORRECT) from wrong
        if wiring.ledger_url != self._running.ledger_url:
            raise ActRefused(Why.NOT_NOW, "the file on the box names another ledger", _CORRECT)
        self._try_pages(wiring)
        self._tried = {new.in_force.hash: wiring}

    def _try_pages(self, wiring: Wiring) -> None:
        if wiring.web is not None and wiring.web != self._running.web:
            try:
                self._door.try_(wiring.web)
            except OSError as wrong:
                raise ActRefused(
                    Why.NOT_NOW, f"the pages cannot be opened as the file on the box says: {wrong}"[:300],
                    _CORRECT) from wrong

    def after(self, plan: FloorPlan) -> Fitting:
        """What to run under a plan that has come into force: what was tried with it, or what runs as far as it fits."""
        tried = self._tried.get(plan.hash)
        if tried is not None:
            return Fitting(tried)
        going_on = still_fitting(self._running, plan)
        try:
            return Fitting(going_on, read_fitting(self._config, plan).left_out)
        except ConfigError as wrong:
            return Fitting(going_on, wrong.problems)
