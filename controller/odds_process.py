"""The program of the process that ``controller.odds_aside`` starts: counts the hands of a floor's paytables.

In: the document of a plan as one line of JSON; then the pipe stays open for as long as somebody wants to know. Out: a
line of JSON for each paytable in use, ``{"paytable": id, "counts": {...}}`` or ``{"paytable": id, "unknown": why}``.
"""

import json
import os
import signal
import sys
import threading
from contextlib import suppress

from controller.config_build import build
from controller.config_remarks import counts_or_why, paytables_of

LAST_IN_LINE = 19


def main() -> None:
    """Count, one paytable after another, behind everything else that the machine has to do."""
    for number in (signal.SIGTERM, signal.SIGINT):  # meant for the daemon, which ends this process by its pipe
        signal.signal(number, signal.SIG_IGN)
    with suppress(PermissionError):  # a service unit may forbid it; then it is a process like any other
        os.nice(LAST_IN_LINE)
    asked = sys.stdin.readline()
    threading.Thread(target=_end_with_the_daemon, name="lifeline", daemon=True).start()
    for name, paytable in paytables_of(build(json.loads(asked))).items():
        counts = counts_or_why(paytable)
        told = {"unknown": counts.removeprefix(f"{name}: ")} if isinstance(counts, str) else {"counts": counts}
        sys.stdout.write(json.dumps({"paytable": name, **told}) + "\n")
        sys.stdout.flush()


def _end_with_the_daemon() -> None:
    """The pipe ends when the daemon does, however it ends: nobody waits for an answer any more."""
    while os.read(sys.stdin.fileno(), 4_096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
