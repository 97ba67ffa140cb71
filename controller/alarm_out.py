"""Alarms told outside: mail, a signed webhook, and the broker. Nothing here ever holds up the daemon.

Mail and webhook have a thread and a bounded queue each; what cannot be delivered is tried again a few times, then
counted and logged. Names of hosts are logged, never secrets or whole addresses (CF-06).
"""

import hashlib
import hmac
import json
import logging
import queue
import smtplib
import ssl
import threading
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from http.client import HTTPException
from typing import Any, Protocol

from controller.alarm_plan import AlarmPlan, MailPlan, WebhookPlan
from controller.alarms import Alarm, alarm_json, place_words, worst_first
from controller.watcher import News

WAITING_MAX = 64
"""Steps that may wait for one way out; beyond it the oldest is left out and counted."""
TIMEOUT_S = 5.0
RETRY_S = (1.0, 5.0, 30.0, 120.0)
"""Between the tries of one step; after them it is given up."""
END_S = 1.0
"""How long the end of the daemon waits for one way out."""
SIGNATURE = "X-Meterd-Signature"
TIMESTAMP = "X-Meterd-Timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_log = logging.getLogger("meterd.alarm")


class Told(Protocol):
    """One way out. ``send`` blocks, in the way's own thread; raises OSError or ValueError when it failed."""

    name: str

    def send(self, site: str, environment: str, news: News) -> None:
        """Tell one step."""


def as_json(site: str, environment: str, news: News) -> dict[str, Any]:
    """One step of an alarm as MQTT and webhook tell it; times in UTC microseconds."""
    return {
        "v": 1, "site": site, "environment": environment, "step": news.step.value, "at": news.at,
        "to": list(news.roles), **alarm_json(news.alarm)}


def standing_payload(site: str, alarms: Iterable[Alarm], at: int) -> bytes:
    """The retained message with every alarm that is not over, worst first."""
    listed = [alarm_json(alarm) for alarm in worst_first(alarm for alarm in alarms if alarm.stands)]
    return json.dumps({"v": 1, "site": site, "at": at, "alarms": listed}, separators=(",", ":")).encode()


class Mail:
    """Mail by SMTP, with TLS as configured; to everybody who gets all, and to the roles that a step is for."""

    name = "mail"

    def __init__(self, plan: MailPlan) -> None:
        self._plan = plan

    def send(self, site: str, environment: str, news: News) -> None:
        """Send one mail; a step that is for nobody with an address sends none."""
        plan = self._plan
        to = list(dict.fromkeys([*plan.always, *(one for role in news.roles for one in plan.roles.get(role, ()))]))
        if not to:
            return
        with self._connected() as server:
            if plan.username is not None and plan.password_file is not None:
                server.login(plan.username, plan.password_file.read_text("utf-8").strip())
            server.send_message(mail_of(site, environment, news, plan.sender, to))

    def _connected(self) -> smtplib.SMTP:
        plan = self._plan
        context = ssl.create_default_context(cafile=plan.ca_file) if plan.tls != "none" else None
        if plan.tls == "tls":
            return smtplib.SMTP_SSL(plan.host, plan.port, timeout=TIMEOUT_S, context=context)
        server = smtplib.SMTP(plan.host, plan.port, timeout=TIMEOUT_S)
        try:
            if context is not None:
                server.starttls(context=context)
        except (OSError, smtplib.SMTPException):
            server.close()
            raise
        return server


def mail_of(site: str, environment: str, news: News, sender: str, to: Sequence[str]) -> EmailMessage:
    """One step as a mail: what, where and what to do now. The same step always makes the same message id."""
    alarm, kind = news.alarm, news.alarm.told_of
    where = place_words(alarm)
    words = {"raised": "Alarm", "escalated": "Alarm, still there", "cleared": "Over"}.get(news.step.value, "Alarm")
    subject = f"{environment + ': ' if environment else ''}{words}: {kind.title}{', ' + where if where else ''}"
    moment = _EPOCH + timedelta(microseconds=news.at)
    digest = hashlib.sha256(repr((site, alarm.key, news.step.value, news.at, alarm.rung)).encode()).hexdigest()[:32]
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Date"] = sender, ", ".join(to), format_datetime(moment)
    mail["Message-ID"] = f"<{digest}@{sender.rpartition('@')[2]}>"
    mail["Subject"] = _one_line(f"[{site}] {subject}")
    counted = f"It was raised {alarm.count} times.\n" if alarm.count > 1 else ""
    mail.set_content(
        f"{_one_line(alarm.what)}\n\nWhere: {where or 'the whole floor'}\nWhat to do now: {kind.remedy}\n"
        f"Told to: {', '.join(news.roles)}\n{counted}Time: {moment:%Y-%m-%d %H:%M:%S} UTC\nSite: {site}\n")
    return mail


def _one_line(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())[:400]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An alarm goes where it was configured to go, and nowhere else."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        """No other address."""
        return


class Webhook:
    """One POST of JSON for each step, signed: ``sha256=`` and HMAC-SHA256 of timestamp, a point and body, in hex."""

    name = "webhook"

    def __init__(self, plan: WebhookPlan) -> None:
        self._plan = plan

    def send(self, site: str, environment: str, news: News) -> None:
        """Post one step; an answer other than 2xx is a failure."""
        plan = self._plan
        body = json.dumps(as_json(site, environment, news), separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json", TIMESTAMP: str(news.at), "User-Agent": "meterd"}
        if plan.secret_file is not None:
            headers[SIGNATURE] = signature(plan.secret_file.read_bytes().strip(), news.at, body)
        context = ssl.create_default_context(cafile=plan.ca_file)
        opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        request = urllib.request.Request(plan.url, body, headers, method="POST")
        with opener.open(request, timeout=TIMEOUT_S) as answer:
            answer.read(1_024)


def signature(secret: bytes, at: int, body: bytes) -> str:
    """What a webhook's reader compares; ValueError for a secret that is none."""
    if not secret:
        raise ValueError("the secret file is empty")
    return "sha256=" + hmac.new(secret, str(at).encode() + b"." + body, hashlib.sha256).hexdigest()


class Way:
    """One way out with its queue and its thread. ``tell`` returns at once."""

    def __init__(self, told: Told, site: str, environment: str, retry_s: Sequence[float] = RETRY_S) -> None:
        self._told, self._site, self._environment, self._retry_s = told, site, environment, retry_s
        self._waiting: queue.Queue[News | None] = queue.Queue(WAITING_MAX)
        self._ending = threading.Event()
        self.counts = {"sent": 0, "failed": 0, "left_out": 0}
        """Steps that were sent, given up after their tries, and left out because too many waited."""
        self._thread = threading.Thread(target=self._run, name=f"alarms by {told.name}", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """``mail`` or ``webhook``."""
        return self._told.name

    def tell(self, news: News | None) -> None:
        """Let it be sent; when too many wait, the oldest is left out."""
        while True:
            try:
                self._waiting.put_nowait(news)
                return
            except queue.Full:
                try:
                    self._waiting.get_nowait()
                    self.counts["left_out"] += 1
                except queue.Empty:
                    continue

    def _run(self) -> None:
        while (news := self._waiting.get()) is not None:
            self._send(news)

    def _send(self, news: News) -> None:
        for pause in (*self._retry_s, None):
            try:
                self._told.send(self._site, self._environment, news)
            except (OSError, ValueError, smtplib.SMTPException, HTTPException) as wrong:
                why = f"{type(wrong).__name__}{_code(wrong)}"
                if pause is not None and not self._ending.wait(pause):
                    continue
                self.counts["failed"] += 1
                _log.warning("alarm %s at %s could not be told by %s: %s", *news.alarm.key, self.name, why)
            else:
                self.counts["sent"] += 1
            return

    def end(self) -> None:
        """Stop: what is being tried is given up, within ``END_S``."""
        self._ending.set()
        self.tell(None)
        self._thread.join(END_S)


def _code(wrong: Exception) -> str:
    """The number in an error, if any: its words may hold an address or what a server said."""
    code = getattr(wrong, "code", None) or getattr(wrong, "smtp_code", None) or getattr(wrong, "errno", None)
    return f" {code}" if type(code) is int else ""


class AlarmOut:
    """All ways out. ``publish(topic, payload, retain)`` hands to the broker; False when that is down.

    Topics, below ``meterd/<site>/``: ``alarm``, one message for each step; ``alarms``, retained, all that stands.
    """

    def __init__(
        self, plan: AlarmPlan, site: str, environment: str, publish: Callable[[str, bytes, bool], bool] | None = None
    ) -> None:
        told: list[Told] = [Mail(plan.mail)] if plan.mail is not None else []
        if plan.webhook is not None:
            told.append(Webhook(plan.webhook))
        self._site, self._environment, self._publish = site, environment, publish
        self.ways = [Way(one, site, environment) for one in told]
        self._unpublished: deque[bytes] = deque(maxlen=WAITING_MAX)
        self._retained = b""

    def tell(self, news: News) -> None:
        """One step, by every way; returns at once."""
        _log.warning("alarm %s: %s (%s); for %s", news.step.value, news.alarm.what, news.alarm.kind,
                     ", ".join(news.roles))
        for way in self.ways:
            way.tell(news)
        if self._publish is not None:
            self._unpublished.append(json.dumps(
                as_json(self._site, self._environment, news), separators=(",", ":")).encode())

    def look(self, alarms: Iterable[Alarm], now: int) -> None:
        """Hand to the broker what waits for it, and the list of what stands when it has changed; once a second."""
        if self._publish is None:
            return
        while self._unpublished and self._publish("alarm", self._unpublished[0], False):
            self._unpublished.popleft()
        made = standing_payload(self._site, alarms, now)
        content = made.split(b'"alarms":', 1)[1]
        if content != self._retained and self._publish("alarms", made, True):
            self._retained = content

    def broker_came_back(self) -> None:
        """The broker may have forgotten what was retained: it is told again."""
        self._retained = b""

    def end(self) -> None:
        """Stop every way; blocks up to a second for each."""
        for way in self.ways:
            way.end()
