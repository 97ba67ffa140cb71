"""Makes ``days-rules-6.sql``: what people did by rules version 6. A recording is made once and never again.

Two days: keys that wait, the reset that they waited for, an award that is released, envy, a slip written by hand, each
day closed. From the project's folder: ``PYTHONPATH=.:tests python tests/recordings/make_rules_6.py FILE.sql``
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from day_house import DAY, DayDesk
from desk_house import ANNA, BEN, CARL, DORA, HOUR, IDA, plan_with
from report_house import keep
from test_config_acts import activated

from controller.money import format_cents

TOP = "7-card-straight-flush"


def wait(document: Any) -> None:
    """Another seed and another limit of the linked meter."""
    document["paytable"]["progressive-4"]["meter"]["main"].update(seed="$20,000.00")
    document["meter"][0].update(limit="$300,000.00")


def first_day(made: DayDesk) -> None:
    """Games 1 and 2: a payment, envy, a slip by hand, keys that wait, and the jackpot that they waited for."""
    made.lock(1, 2, 3, 5)
    made.hit(1, 3, "royal-flush-royal-match")
    made.hit(1, 5, "four-of-a-kind")
    made.chips(1, 3)
    made.close(1)
    due = made.act("award-verified", ANNA, game=1, seat=3).told["due"]
    made.act("award-released", IDA, game=1, seat=3)
    made.pay(1, 3, format_cents(due), BEN)
    made.act("envy-paid", BEN, game=1, seat=3, to=2, how="chips")
    activated(made, wait)
    made.at += HOUR
    made.lock(2, 1, 2)
    made.hit(2, 2, TOP)
    made.chips(2, 3)
    made.close(2)
    made.act("manual-slip", ANNA, CARL, game=1, seat=5, outcome="four-of-a-kind", written="M-7",
             when=made.plan.local(made.at).strftime("%Y-%m-%d %H:%M:%S"), handed="$105.00", reason="the box was down")


def play(path: Path) -> None:
    """Everything, in a new ledger."""
    made = DayDesk(path, plan_with(release_from="$1,000.00"))
    first_day(made)
    made.at += DAY
    made.sign("day-closed", DORA, day=made.day(1))
    made.sign("handed-over", CARL, IDA)
    made.lock(3, 1)
    made.close(3)
    made.act("award-verified", BEN, game=1, seat=5)
    made.act("award-paid", CARL, game=1, seat=5, handed="$105.00", how="manual-slip", slip="M-7")
    made.at += DAY
    made.sign("day-closed", DORA, day=made.day(1))
    keep(path, made.floor)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        play(Path(folder) / "made.db")
        with closing(sqlite3.connect(Path(folder) / "made.db")) as database:
            Path(sys.argv[1]).write_text("\n".join(database.iterdump()) + "\n")
