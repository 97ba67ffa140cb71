"""Alarms told outside, to real servers on loopback: mail, a signed webhook, the broker; and servers that fail."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alarm_servers import Hook, Post, certificate_in, server_context, serving

from controller.alarm_kinds import FLOOR
from controller.alarm_out import (
    SIGNATURE,
    TIMESTAMP,
    AlarmOut,
    Mail,
    Webhook,
    mail_of,
    signature,
    standing_payload,
)
from controller.alarm_plan import AlarmPlan, MailPlan, WebhookPlan
from controller.alarm_way import WAITING_MAX, SomeNotTold
from controller.alarms import Alarm, State, Step
from controller.watcher import News

AT = 1_796_162_400_000_000
"""2026-12-01 22:00 UTC."""
SECOND = 1_000_000
ALARM = Alarm("table-offline", "PG-01", State.RAISED, "The table unit of PG-01 is not heard", AT - 60 * SECOND, AT)
NEWS = News(Step.RAISED, ALARM, ("supervisor", "surveillance"), AT)
SECRET = "not for the log"


@pytest.fixture
def hook() -> Iterator[Hook]:
    with serving(Hook()) as server:
        yield server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate_in(tmp_path_factory.mktemp("tls"))


def mail_plan(port: int, tls: str = "none", **more: Any) -> MailPlan:
    given = {"username": None, "password_file": None, "ca_file": None, "always": ("shift@casino.example",), "roles": {}}
    return MailPlan("127.0.0.1", port, tls, sender="meterd@casino.example", **(given | more))


def secret_file(folder: Path) -> Path:
    path = folder / "secret"
    path.write_text(SECRET + "\n")
    return path


# ---------------------------------------------------------------------- mail


def test_a_mail_says_what_where_and_what_to_do_now() -> None:
    with serving(Post()) as post:
        Mail(mail_plan(post.port)).send("demo", "TEST", NEWS)
        (mail,) = post.mails
    text = mail.get_content()
    assert mail["subject"] == "[demo] TEST: Alarm: Table unit not heard, table PG-01"
    said = (ALARM.what, "table PG-01", "check the unit's power", "2026-12-01 22:00:00 UTC")
    assert [part for part in said if part not in text] == []


def test_a_mail_goes_to_those_who_get_all_and_to_the_roles_it_is_for() -> None:
    roles = {"supervisor": ("pit@casino.example",), "technician": ("it@casino.example",)}
    with serving(Post()) as post:
        Mail(mail_plan(post.port, roles=roles)).send("demo", "", NEWS)
        sent = [line for line in post.lines if line.upper().startswith("RCPT")]
    assert sent == ["rcpt TO:<shift@casino.example>", "rcpt TO:<pit@casino.example>"]


def test_a_step_for_nobody_with_an_address_needs_no_server() -> None:
    Mail(mail_plan(1, always=())).send("demo", "", NEWS)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_mail_goes_over_tls_with_name_and_password(tls: str, certificate: Path, tmp_path: Path) -> None:
    with serving(Post(server_context(certificate), from_start=tls == "tls")) as post:
        plan = mail_plan(post.port, tls, ca_file=certificate, username="meterd", password_file=secret_file(tmp_path))
        Mail(plan).send("demo", "", NEWS)
    assert len(post.mails) == 1
    assert any(line.startswith("AUTH PLAIN ") for line in post.lines)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_server_that_nobody_vouches_for_gets_no_password(tls: str, certificate: Path, tmp_path: Path) -> None:
    with serving(Post(server_context(certificate), from_start=tls == "tls")) as post:
        plan = mail_plan(post.port, tls, username="meterd", password_file=secret_file(tmp_path))
        with pytest.raises(OSError):
            Mail(plan).send("demo", "", NEWS)
    assert not any("AUTH" in line.upper() for line in post.lines)


def test_a_server_without_starttls_gets_nothing() -> None:
    with serving(Post()) as post, pytest.raises(OSError):
        Mail(mail_plan(post.port, "starttls")).send("demo", "", NEWS)
    assert post.mails == []


def test_an_address_that_is_refused_is_no_mail_that_was_told() -> None:
    """The others got it; that one of them did not is said, without the address."""
    with serving(Post()) as post:
        post.unknown = ["gone@casino.example"]
        plan = mail_plan(post.port, always=("shift@casino.example", "gone@casino.example"))
        with pytest.raises(SomeNotTold, match="1 of 2 addresses refused"):
            Mail(plan).send("demo", "", NEWS)
        assert len(post.mails) == 1


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
    with serving(Hook()) as other:
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


def test_what_a_broker_that_stays_away_can_never_be_told_is_counted_and_the_latest_are_kept() -> None:
    broker = Broker()
    out = AlarmOut(AlarmPlan(), "demo", "", broker.publish)
    broker.up = False
    for number in range(WAITING_MAX + 10):
        out.tell(NEWS._replace(at=number))
    broker.up = True
    out.look([], AT)
    told = [payload["at"] for topic, payload, _ in broker.got if topic == "alarm"]
    assert (told, out.counts["broker"]) == (
        list(range(10, WAITING_MAX + 10)), {"sent": WAITING_MAX, "failed": 0, "left_out": 10})


def test_an_alarm_of_the_whole_floor_names_no_place() -> None:
    made = json.loads(standing_payload("demo", [Alarm("books-stopped", FLOOR, State.RAISED, "x", AT, AT)], AT))
    assert made["alarms"][0]["where"] == ""
