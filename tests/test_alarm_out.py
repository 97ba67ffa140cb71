"""Alarms told outside, to real servers on loopback: mail, a signed webhook, the broker; and servers that fail."""

import hashlib
import hmac
import json
import logging
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from controller import alarm_out
from controller.alarm_kinds import FLOOR
from controller.alarm_out import (
    SIGNATURE,
    TIMESTAMP,
    WAITING_MAX,
    AlarmOut,
    Mail,
    Way,
    Webhook,
    mail_of,
    signature,
    standing_payload,
)
from controller.alarm_plan import AlarmPlan, MailPlan, WebhookPlan
from controller.alarms import Alarm, State, Step
from controller.watcher import News

AT = 1_796_162_400_000_000
"""2026-12-01 22:00 UTC."""
SECOND = 1_000_000
ALARM = Alarm("table-offline", "PG-01", State.RAISED, "The table unit of PG-01 is not heard", AT - 60 * SECOND, AT)
NEWS = News(Step.RAISED, ALARM, ("supervisor", "surveillance"), AT)
SECRET = "not for the log"


def until(reached: Callable[[], object]) -> None:
    ends = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < ends, "it did not come about in time"
        time.sleep(0.005)


# ---------------------------------------------------------------------- a mail server and a webhook's reader


class Postman(socketserver.StreamRequestHandler):
    """Enough of SMTP to take a mail, with STARTTLS and a password where the server has them."""

    def handle(self) -> None:
        server: Any = self.server
        self._say("220 post.example")
        while line := self.rfile.readline().strip().decode():
            server.lines.append(line)
            word = line.upper().partition(" ")[0]
            if word == "EHLO":
                offers = ["post.example", *server.offers]
                for place, offer in enumerate(offers):
                    self._say(f"250{' ' if place == len(offers) - 1 else '-'}{offer}")
            elif word == "STARTTLS":
                self._say("220 go on")
                self.connection = server.context.wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")  # type: ignore[assignment]
            elif word == "AUTH":
                self._say(server.auth)
            elif word == "DATA":
                self._data()
            elif word == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say(server.answer)

    def _data(self) -> None:
        self._say("354 go on")
        text = b""
        while (line := self.rfile.readline()) != b".\r\n":
            text += line
        self.server.mails.append(message_from_bytes(text, policy=policy.default))  # type: ignore[attr-defined]
        self._say("250 taken")

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")
        self.wfile.flush()


class Post(socketserver.ThreadingTCPServer):
    """A mail server on a free loopback port."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None, *, from_start: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Postman)
        self.context, self.lines, self.mails = context, list[str](), list[Any]()
        self.offers = ["STARTTLS", "AUTH PLAIN"] if context is not None and not from_start else ["AUTH PLAIN"]
        self.answer, self.auth = "250 well", "235 welcome"
        if from_start and context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port: int = self.server_address[1]


class Reader(BaseHTTPRequestHandler):
    """Takes what is posted."""

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        server.got.append((self.path, dict(self.headers), body))
        status = server.answers.pop(0) if server.answers else 200
        self.send_response(status)
        if status in (301, 302, 307, 308):
            self.send_header("location", server.elsewhere)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


class Hook(ThreadingHTTPServer):
    """A webhook's server on a free loopback port."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Reader)
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.elsewhere = ""
        self.url = f"http://127.0.0.1:{self.server_address[1]}/alarms"


@contextmanager
def running(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with running(Hook()) as server:
        yield server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 of ten days, with its key in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", cert, "-days", "10", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def mail_plan(port: int, tls: str = "none", **more: Any) -> MailPlan:
    given = {"username": None, "password_file": None, "ca_file": None, "always": ("shift@casino.example",), "roles": {}}
    return MailPlan("127.0.0.1", port, tls, sender="meterd@casino.example", **(given | more))


def secret_file(folder: Path) -> Path:
    path = folder / "secret"
    path.write_text(SECRET + "\n")
    return path


# ---------------------------------------------------------------------- mail


def test_a_mail_says_what_where_and_what_to_do_now() -> None:
    with running(Post()) as post:
        Mail(mail_plan(post.port)).send("demo", "TEST", NEWS)
        (mail,) = post.mails
    text = mail.get_content()
    assert mail["subject"] == "[demo] TEST: Alarm: Table unit not heard, table PG-01"
    said = (ALARM.what, "table PG-01", "check the unit's power", "2026-12-01 22:00:00 UTC")
    assert [part for part in said if part not in text] == []


def test_a_mail_goes_to_those_who_get_all_and_to_the_roles_it_is_for() -> None:
    roles = {"supervisor": ("pit@casino.example",), "technician": ("it@casino.example",)}
    with running(Post()) as post:
        Mail(mail_plan(post.port, roles=roles)).send("demo", "", NEWS)
        sent = [line for line in post.lines if line.upper().startswith("RCPT")]
    assert sent == ["rcpt TO:<shift@casino.example>", "rcpt TO:<pit@casino.example>"]


def test_a_step_for_nobody_with_an_address_needs_no_server() -> None:
    Mail(mail_plan(1, always=())).send("demo", "", NEWS)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_mail_goes_over_tls_with_name_and_password(tls: str, certificate: Path, tmp_path: Path) -> None:
    with running(Post(server_context(certificate), from_start=tls == "tls")) as post:
        plan = mail_plan(post.port, tls, ca_file=certificate, username="meterd", password_file=secret_file(tmp_path))
        Mail(plan).send("demo", "", NEWS)
    assert len(post.mails) == 1
    assert any(line.startswith("AUTH PLAIN ") for line in post.lines)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_server_that_nobody_vouches_for_gets_no_password(tls: str, certificate: Path, tmp_path: Path) -> None:
    with running(Post(server_context(certificate), from_start=tls == "tls")) as post:
        plan = mail_plan(post.port, tls, username="meterd", password_file=secret_file(tmp_path))
        with pytest.raises(OSError):
            Mail(plan).send("demo", "", NEWS)
    assert not any("AUTH" in line.upper() for line in post.lines)


def test_a_server_without_starttls_gets_nothing() -> None:
    with running(Post()) as post, pytest.raises(OSError):
        Mail(mail_plan(post.port, "starttls")).send("demo", "", NEWS)
    assert post.mails == []


def test_the_same_step_is_the_same_mail_however_often_it_is_sent() -> None:
    made = [mail_of("demo", "", NEWS, "m@casino.example", ["a@casino.example"])["message-id"] for _ in range(2)]
    assert made[0] == made[1]


def test_the_next_step_is_another_mail() -> None:
    first = mail_of("demo", "", NEWS, "m@casino.example", ["a@casino.example"])
    later = mail_of("demo", "", NEWS._replace(step=Step.ESCALATED), "m@casino.example", ["a@casino.example"])
    assert first["message-id"] != later["message-id"]


def test_words_with_line_ends_put_no_header_into_a_mail() -> None:
    """WE-01: a name that somebody typed is words, wherever it is shown."""
    odd = Alarm("misdeal", "PG-01", State.RAISED, "x\r\nBcc: all@example.com\x00", AT, AT)
    mail = mail_of("demo", "", News(Step.RAISED, odd, (), AT), "m@casino.example", ["a@casino.example"])
    assert mail["bcc"] is None
    assert "x Bcc: all@example.com" in mail.get_content()


# ---------------------------------------------------------------------- webhook


def test_a_webhook_gets_the_step_as_json(hook: Hook) -> None:
    Webhook(WebhookPlan(hook.url, None, None)).send("demo", "test", NEWS)
    ((path, _, body),) = hook.got
    made = json.loads(body)
    assert path == "/alarms"
    assert {key: made[key] for key in ("site", "step", "alarm", "place", "where", "to", "at", "state")} == {
        "site": "demo", "step": "raised", "alarm": "table-offline", "place": "PG-01", "where": "table PG-01",
        "to": ["supervisor", "surveillance"], "at": AT, "state": "raised"}


def test_a_webhook_is_signed_so_that_its_reader_can_tell_who_posted_what_when(hook: Hook, tmp_path: Path) -> None:
    Webhook(WebhookPlan(hook.url, secret_file(tmp_path), None)).send("demo", "", NEWS)
    ((_, headers, body),) = hook.got
    named = {name.lower(): text for name, text in headers.items()}
    signed = named[TIMESTAMP.lower()].encode() + b"." + body
    assert named[SIGNATURE.lower()] == "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


def test_an_empty_secret_signs_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        signature(b"", AT, b"{}")


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 500, 503])
def test_any_answer_but_good_is_a_failure(hook: Hook, status: int) -> None:
    hook.answers = [status]
    with pytest.raises(OSError):
        Webhook(WebhookPlan(hook.url, None, None)).send("demo", "", NEWS)


def test_an_alarm_is_led_nowhere_else(hook: Hook) -> None:
    with running(Hook()) as other:
        hook.answers, hook.elsewhere = [302], other.url
        with pytest.raises(OSError):
            Webhook(WebhookPlan(hook.url, None, None)).send("demo", "", NEWS)
        assert other.got == []


def test_no_proxy_of_the_machine_gets_an_alarm(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    Webhook(WebhookPlan(hook.url, None, None)).send("demo", "", NEWS)
    assert len(hook.got) == 1


def test_a_webhook_that_nobody_vouches_for_gets_nothing(certificate: Path, hook: Hook) -> None:
    hook.socket = server_context(certificate).wrap_socket(hook.socket, server_side=True)
    with pytest.raises(OSError):
        Webhook(WebhookPlan(hook.url.replace("http:", "https:"), None, None)).send("demo", "", NEWS)
    assert hook.got == []


def test_a_webhook_over_tls_with_the_sites_own_authority(certificate: Path, hook: Hook) -> None:
    hook.socket = server_context(certificate).wrap_socket(hook.socket, server_side=True)
    Webhook(WebhookPlan(hook.url.replace("http:", "https:"), None, certificate)).send("demo", "", NEWS)
    assert len(hook.got) == 1


# ---------------------------------------------------------------------- queues, tries, ends


class Deaf:
    """A way out that never gets through until it is let."""

    name = "deaf"

    def __init__(self) -> None:
        self.let = threading.Event()
        self.sent: list[News] = []

    def send(self, site: str, environment: str, news: News) -> None:
        assert self.let.wait(10)
        self.sent.append(news)


def test_telling_never_waits_and_the_oldest_are_left_out_and_counted() -> None:
    deaf = Deaf()
    way = Way(deaf, "demo", "")
    began = time.monotonic()
    for number in range(WAITING_MAX + 10):
        way.tell(NEWS._replace(at=number))
    took = time.monotonic() - began
    deaf.let.set()
    until(lambda: way.counts["sent"] + way.counts["left_out"] == WAITING_MAX + 10)
    way.end()
    assert took < 1
    assert way.counts["left_out"] >= 9
    assert deaf.sent[-1].at == WAITING_MAX + 9


def test_what_failed_is_tried_again(hook: Hook) -> None:
    hook.answers = [503, 500]
    way = Way(Webhook(WebhookPlan(hook.url, None, None)), "demo", "", retry_s=(0.01, 0.01))
    way.tell(NEWS)
    until(lambda: way.counts["sent"] == 1)
    way.end()
    assert len(hook.got) == 3


def test_after_its_tries_it_is_given_up_counted_and_said(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    hook.answers = [503] * 3
    way = Way(Webhook(WebhookPlan(hook.url, None, None)), "demo", "", retry_s=(0.01, 0.01))
    with caplog.at_level(logging.WARNING, "meterd.alarm"):
        way.tell(NEWS)
        until(lambda: way.counts["failed"] == 1)
    way.end()
    assert "alarm table-offline at PG-01 could not be told by webhook: HTTPError 503" in caplog.text


def test_no_log_line_holds_a_secret_or_an_address(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """CF-06: an address may hold a token in its path, and a server may say the password back."""
    with running(Post()) as post, caplog.at_level(logging.DEBUG):
        post.auth = f"535 wrong: {SECRET}"
        plan = mail_plan(post.port, username="meterd", password_file=secret_file(tmp_path))
        ways = [Way(Mail(plan), "demo", "", retry_s=()),
                Way(Webhook(WebhookPlan("http://127.0.0.1:1/hook/T0KEN", secret_file(tmp_path), None)), "demo", "",
                    retry_s=())]
        for way in ways:
            way.tell(NEWS)
        until(lambda: all(way.counts["failed"] for way in ways))
        for way in ways:
            way.end()
    assert "T0KEN" not in caplog.text
    assert SECRET not in caplog.text


def test_a_server_that_says_nothing_holds_up_its_own_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarm_out, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        way = Way(Mail(mail_plan(silent.getsockname()[1])), "demo", "", retry_s=())
        way.tell(NEWS)
        until(lambda: way.counts["failed"] == 1)
        way.end()


def test_the_end_waits_for_no_try_that_is_to_come() -> None:
    way = Way(Webhook(WebhookPlan("http://127.0.0.1:1/", None, None)), "demo", "", retry_s=(600.0,))
    way.tell(NEWS)
    began = time.monotonic()
    way.end()
    assert time.monotonic() - began < 3


# ---------------------------------------------------------------------- the broker


class Broker:
    """Takes what is published while it is up."""

    def __init__(self) -> None:
        self.up = True
        self.got: list[tuple[str, Any, bool]] = []

    def publish(self, topic: str, payload: bytes, retain: bool) -> bool:
        if self.up:
            self.got.append((topic, json.loads(payload), retain))
        return self.up


def test_each_step_is_one_message_and_all_that_stands_is_retained() -> None:
    broker = Broker()
    out = AlarmOut(AlarmPlan(), "demo", "", broker.publish)
    out.tell(NEWS)
    out.look([ALARM], AT)
    assert [(topic, retain) for topic, _, retain in broker.got] == [("alarm", False), ("alarms", True)]
    assert [one["alarm"] for one in broker.got[1][1]["alarms"]] == ["table-offline"]


def test_nothing_is_published_while_nothing_changes() -> None:
    broker = Broker()
    out = AlarmOut(AlarmPlan(), "demo", "", broker.publish)
    for second in range(10):
        out.look([ALARM], AT + second * SECOND)
    assert len(broker.got) == 1


def test_what_a_broker_missed_it_gets_when_it_is_back() -> None:
    broker = Broker()
    out = AlarmOut(AlarmPlan(), "demo", "", broker.publish)
    broker.up = False
    out.tell(NEWS)
    out.look([ALARM], AT)
    broker.up = True
    out.look([ALARM], AT)
    assert [topic for topic, _, _ in broker.got] == ["alarm", "alarms"]


def test_a_broker_that_forgot_is_told_all_that_stands_again() -> None:
    broker = Broker()
    out = AlarmOut(AlarmPlan(), "demo", "", broker.publish)
    out.look([ALARM], AT)
    out.broker_came_back()
    out.look([ALARM], AT)
    assert [topic for topic, _, _ in broker.got] == ["alarms", "alarms"]


def test_what_is_over_is_retained_no_more() -> None:
    over = Alarm("misdeal", "PG-01", State.CLEARED, "x", AT, AT)
    assert json.loads(standing_payload("demo", [over], AT))["alarms"] == []


def test_an_alarm_of_the_whole_floor_names_no_place() -> None:
    made = json.loads(standing_payload("demo", [Alarm("books-stopped", FLOOR, State.RAISED, "x", AT, AT)], AT))
    assert made["alarms"][0]["where"] == ""
