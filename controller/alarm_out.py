"""Alarms told outside: mail, a signed webhook, and the broker. Nothing here ever holds up the daemon.

Mail and webhook have a thread and a bounded queue each (``controller.alarm_way``). Neither secrets nor whole addresses
are logged (CF-06).
"""

import contextlib
import hashlib
import hmac
import json
import logging
import smtplib
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from controller import alarm_way
from controller.alarm_kinds import ALARMS, FLOOR
from controller.alarm_plan import AlarmPlan, MailPlan, WebhookPlan
from controller.alarm_way import WAITING_MAX, SomeNotTold, Told, Way
from controller.alarms import Alarm, State, Step, alarm_json, place_words, worst_first
from controller.watcher import News

TIMEOUT_S = 5.0
"""A server that says nothing for so long is given up."""
TRY_S = 20.0
"""One try takes no longer, however slowly a server goes on saying something."""
PROBE_US = 300 * 1_000_000
"""While a way does not get through and nothing waits for it, it is tried so often, so that its return is noticed."""
NOT_TOLD = "alarms-not-told"
SIGNATURE = "X-Meterd-Signature"
TIMESTAMP = "X-Meterd-Timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_log = logging.getLogger("meterd.alarm")


def as_json(site: str, environment: str, news: News) -> dict[str, Any]:
    """One step of an alarm as MQTT and webhook tell it; times in UTC microseconds."""
    return {
        "v": 1, "site": site, "environment": environment, "step": news.step.value, "at": news.at,
        "to": list(news.roles), **alarm_json(news.alarm)}


def standing_payload(site: str, alarms: Iterable[Alarm], at: int) -> bytes:
    """The retained message with every alarm that is not over, worst first."""
    listed = [alarm_json(alarm) for alarm in worst_first(alarm for alarm in alarms if alarm.stands)]
    return json.dumps({"v": 1, "site": site, "at": at, "alarms": listed}, separators=(",", ":")).encode()


@contextlib.contextmanager
def hurried(host: str, port: int) -> Iterator[socket.socket]:
    """A connection that is cut after ``TRY_S``; raises OSError, also where what was cut looked like an answer."""
    was_cut = threading.Event()

    def cut() -> None:
        was_cut.set()
        with contextlib.suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    with socket.create_connection((host, port), TIMEOUT_S) as line, line.dup() as handle:
        # The handle stays ours when TLS takes the line over.
        timer = threading.Timer(TRY_S, cut)
        timer.daemon = True
        timer.start()
        try:
            yield line
        finally:
            timer.cancel()
        if was_cut.is_set():
            raise TimeoutError("cut off")


class _Smtp(smtplib.SMTP):
    """On a connection that is there already; ``host`` is whose certificate STARTTLS asks for."""

    def __init__(self, line: socket.socket, host: str, port: int) -> None:
        self._line = line
        super().__init__(host, port, timeout=TIMEOUT_S)

    def _get_socket(self, *_place: Any) -> socket.socket:
        return self._line


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
        with hurried(plan.host, plan.port) as line, self._connected(line) as server:
            if plan.username is not None and plan.password_file is not None:
                server.login(plan.username, plan.password_file.read_text("utf-8").strip())
            refused = server.send_message(mail_of(site, environment, news, plan.sender, to))
        if refused:
            raise SomeNotTold(f"{len(refused)} of {len(to)} addresses refused")

    def _connected(self, line: socket.socket) -> smtplib.SMTP:
        plan = self._plan
        context = ssl.create_default_context(cafile=plan.ca_file) if plan.tls != "none" else None
        if context is not None and plan.tls == "tls":
            line = context.wrap_socket(line, server_hostname=plan.host)
        try:
            server = _Smtp(line, plan.host, plan.port)
            if context is not None and plan.tls == "starttls":
                server.starttls(context=context)
        except (OSError, ValueError):
            line.close()
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


class Refused(OSError):
    """A webhook answered otherwise than 2xx; ``code`` is what it answered."""

    def __init__(self, code: int) -> None:
        super().__init__(f"answered {code}")
        self.code = code


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
        self._post(body, headers)

    def _post(self, body: bytes, headers: Mapping[str, str]) -> None:
        # An alarm goes where it was configured to go: no redirect is followed, no proxy of the machine is used.
        url = urlsplit(self._plan.url)
        host, secure = url.hostname or "", url.scheme == "https"
        port = url.port or (443 if secure else 80)
        with hurried(host, port) as line:
            connection = HTTPConnection(host, port, timeout=TIMEOUT_S)
            try:
                context = ssl.create_default_context(cafile=self._plan.ca_file) if secure else None
                connection.sock = context.wrap_socket(line, server_hostname=host) if context is not None else line
                connection.request("POST", url.path or "/", body, {**headers, "Host": url.netloc})
                answer = connection.getresponse()
                answer.read(1_024)
            finally:
                connection.close()
        if not 200 <= answer.status < 300:
            raise Refused(answer.status)


def signature(secret: bytes, at: int, body: bytes) -> str:
    """What a webhook's reader compares; ValueError for a secret that is none."""
    if not secret:
        raise ValueError("the secret file is empty")
    return "sha256=" + hmac.new(secret, str(at).encode() + b"." + body, hashlib.sha256).hexdigest()


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
        self.ways = [Way(one, site, environment, alarm_way.RETRY_S) for one in told]
        self._probed_at: dict[str, int] = {}
        self._unpublished: deque[tuple[News, bytes]] = deque()
        self._published = {"sent": 0, "failed": 0, "left_out": 0}
        self._retained = b""

    @property
    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """By way: steps that were sent (the broker: handed over), given up, and left out; kept up to date."""
        broker = {} if self._publish is None else {"broker": self._published}
        return broker | {way.name: way.counts for way in self.ways}

    def not_told(self) -> Mapping[str, str]:
        """By way: why alarms do not get through now; ways that are well are not in it."""
        return {way.name: way.trouble for way in self.ways if way.trouble}

    def tell(self, news: News) -> None:
        """One step, by every way; returns at once."""
        kind, place = news.alarm.key
        # What it is of stands first: the log merges what is said again and again of one thing.
        _log.warning("alarm %s: %s: %s; for %s", f"{kind} at {place}", news.step.value, news.alarm.what,
                     ", ".join(news.roles))
        for way in self.ways:
            way.tell(news)
        if self._publish is not None:
            if len(self._unpublished) == WAITING_MAX:
                left, _ = self._unpublished.popleft()
                self._published["left_out"] += 1
                _log.warning("%s: too many alarms wait; left out: %s at %s", "broker", *left.alarm.key)
            self._unpublished.append((news, json.dumps(
                as_json(self._site, self._environment, news), separators=(",", ":")).encode()))

    def look(self, alarms: Iterable[Alarm], now: int) -> None:
        """Hand to the broker what waits for it, and the list of what stands when it has changed; once a second."""
        alarms = tuple(alarms)
        self._probe(alarms, now)
        if self._publish is None:
            return
        while self._unpublished and self._publish("alarm", self._unpublished[0][1], False):
            self._unpublished.popleft()
            self._published["sent"] += 1
        made = standing_payload(self._site, alarms, now)
        content = made.split(b'"alarms":', 1)[1]
        if content != self._retained and self._publish("alarms", made, True):
            self._retained = content

    def _probe(self, alarms: Iterable[Alarm], now: int) -> None:
        """Tell a way that reaches nobody the alarm about itself, now and then: the first that gets through says so."""
        silent = [way for way in self.ways if not way.reached and way.idle]
        if not silent:
            return
        alarm = next((one for one in alarms if one.key == (NOT_TOLD, FLOOR)
                      and one.state in (State.RAISED, State.ACKNOWLEDGED)), None)
        for way in silent if alarm is not None else ():
            if alarm is not None and now - max(self._probed_at.get(way.name, 0), alarm.raised_at) >= PROBE_US:
                self._probed_at[way.name] = now
                roles = tuple([role.value for role in ALARMS[NOT_TOLD].ladder[0].roles])
                way.tell(News(Step.RAISED, alarm, roles, now))

    def broker_came_back(self) -> None:
        """The broker may have forgotten what was retained: it is told again."""
        self._retained = b""

    def end(self) -> None:
        """Stop every way; blocks up to a second for each."""
        for way in self.ways:
            way.end()
