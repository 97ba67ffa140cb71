"""One way out of an alarm, with a thread and a bounded queue of its own: nothing here ever holds up the daemon.

What cannot be delivered is tried again a few times, then counted and logged. That a way does not get through is said
once, and once when it does again; it is an alarm of its own as long as it lasts (``alarms-not-told``).
"""

import logging
import queue
import smtplib
import threading
from collections.abc import Sequence
from http.client import HTTPException
from typing import Protocol

from controller.watcher import News

WAITING_MAX = 64
"""Steps that may wait for one way out; beyond it the oldest is left out and counted."""
RETRY_S = (1.0, 5.0, 30.0, 120.0)
"""Between the tries of one step; after them it is given up."""
END_S = 1.0
"""How long the end of the daemon waits for one way out."""

_log = logging.getLogger("meterd.alarm")


class Told(Protocol):
    """One way out. ``send`` blocks, in the way's own thread; raises OSError or ValueError when it failed."""

    name: str

    def send(self, site: str, environment: str, news: News) -> None:
        """Tell one step; raises SomeNotTold when some of those it is for got it, and others did not."""


class SomeNotTold(ValueError):
    """Some got it: it is not tried again, so that they do not get it twice. Its words hold no address."""


class Way:
    """One way out with its queue and its thread. ``tell`` returns at once."""

    def __init__(self, told: Told, site: str, environment: str, retry_s: Sequence[float] = RETRY_S) -> None:
        self._told, self._site, self._environment, self._retry_s = told, site, environment, retry_s
        self._waiting: queue.Queue[News | None] = queue.Queue(WAITING_MAX)
        self._ending = threading.Event()
        self.counts = {"sent": 0, "failed": 0, "left_out": 0}
        """Steps that were sent, given up after their tries, and left out because too many waited."""
        self.trouble = ""
        """Why the latest try did not get through to everybody; empty when it did."""
        self.reached = True
        """Whether the latest try got through to anybody."""
        self._thread = threading.Thread(target=self._run, name=f"alarms by {told.name}", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """``mail`` or ``webhook``."""
        return self._told.name

    @property
    def idle(self) -> bool:
        """Whether nothing waits behind what is being tried."""
        return self._waiting.empty()

    def tell(self, news: News | None) -> None:
        """Let it be sent; when too many wait, the oldest is left out."""
        while True:
            try:
                self._waiting.put_nowait(news)
                return
            except queue.Full:
                try:
                    self._leave_out(self._waiting.get_nowait())
                except queue.Empty:
                    continue

    def _leave_out(self, news: News | None) -> None:
        if news is not None:
            self.counts["left_out"] += 1
            _log.warning("%s: too many alarms wait; left out: %s at %s", self.name, *news.alarm.key)

    def _run(self) -> None:
        while (news := self._waiting.get()) is not None:
            self._send(news)

    def _send(self, news: News) -> None:
        for pause in (*self._retry_s, None):
            try:
                self._told.send(self._site, self._environment, news)
            except SomeNotTold as wrong:
                why = str(wrong)
                self._does_not_get_through(why, reached=True)
            except (OSError, ValueError, smtplib.SMTPException, HTTPException) as wrong:
                why = f"{type(wrong).__name__}{_code(wrong)}"
                self._does_not_get_through(why, reached=False)
                if pause is not None and not self._ending.wait(pause):
                    continue
            else:
                self.counts["sent"] += 1
                self._gets_through()
                return
            self.counts["failed"] += 1
            _log.warning("alarm %s at %s could not be told by %s: %s", *news.alarm.key, self.name, why)
            return

    def _does_not_get_through(self, why: str, *, reached: bool) -> None:
        if not self.trouble:
            _log.warning("%s: alarms do not get through: %s; they are tried again", self.name, why)
        self.trouble, self.reached = why, reached

    def _gets_through(self) -> None:
        if self.trouble:
            _log.warning("%s: alarms get through again", self.name)
        self.trouble, self.reached = "", True

    def end(self) -> None:
        """Stop: what is being tried is given up, within ``END_S``, and so is what waits once a try has failed."""
        self._ending.set()
        self.tell(None)
        self._thread.join(END_S)
        waits = self._waiting.qsize()
        if waits:
            _log.warning("%s: at the end %d alarms were not told", self.name, waits)


def _code(wrong: Exception) -> str:
    """The number in an error, if any: its words may hold an address or what a server said."""
    code = getattr(wrong, "code", None) or getattr(wrong, "smtp_code", None) or getattr(wrong, "errno", None)
    return f" {code}" if type(code) is int else ""
