"""Tells every LED sign of a configuration NOT LIVE: run by systemd after each end of the daemon, whatever ended it.

    python -m controller.not_live --config FILE

An LED sign shows for ever what it was last told, so the number of a dead controller would look live (DI-01). A sign
that is absent or stuck is logged and left. Exit codes: 0 done, 2 usage or configuration.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from controller.config import ConfigError, load
from controller.plan import FloorPlan
from controller.sign import alpha_pages
from controller.wiring import SignPlan, Wiring
from firmware_bridge.alpha_sign import AlphaLine, AlphaSign

_log = logging.getLogger(__name__)


def alpha_line(sign: SignPlan, plan: FloorPlan, utc_now: Callable[[], int]) -> AlphaLine | None:
    """The line to an LED sign; None for a sign of another kind."""
    if sign.serial is None:
        return None
    wire = sign.serial
    made = AlphaSign(alpha_pages(sign, plan), sign.checksum, wire.baud)
    return AlphaLine(wire.port, wire.baud, wire.bits, wire.parity, wire.stop, made, utc_now)


async def tell_not_live(plan: FloorPlan, wiring: Wiring) -> int:
    """Tell all LED signs at once, in 1.5 s at most; returns how many were told."""
    lines = [line for sign in wiring.signs if (line := alpha_line(sign, plan, lambda: 0)) is not None]
    return sum(await asyncio.gather(*(line.end() for line in lines)))


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(prog="controller.not_live", description="Tell every LED sign NOT LIVE.")
    parser.add_argument("--config", type=Path, required=True)
    asked = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        plan, wiring = load(asked.config)
    except ConfigError as error:
        _log.error("%s", error)
        return 2
    told = asyncio.run(tell_not_live(plan, wiring))
    _log.info("%d LED signs were told NOT LIVE", told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
