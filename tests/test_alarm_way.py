"""The ways out of an alarm: queues, tries, what is said once, servers that hang or drip, and the end."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from alarm_servers import Hook, Post, serving, until
from test_alarm_out import ALARM, AT, NEWS, SECOND, SECRET, mail_plan, secret_file

from controller import alarm_out
from controller.alarm_kinds import FLOOR
from controller.alarm_out import NOT_TOLD, PROBE_US, AlarmOut, Mail, Webhook
from controller.alarm_plan import AlarmPlan, WebhookPlan
from controller.alarm_way import WAITING_MAX, SomeNotTold, Way
from controller.alarms import Alarm, State, Step
from controller.watcher import News


@pytest.fixture
def hook() -> Iterator[Hook]:
    with serving(Hook()) as server:
        yield server


def webhook(url: str) -> Webhook:
    return Webhook(WebhookPlan(url, None, None))


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
    assert "alarm table-offline at PG-01 could not be told by webhook: Refused 503" in caplog.text


def test_no_log_line_holds_a_secret_or_an_address(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """CF-06: an address may hold a token in its path, and a server may say the password back."""
    with serving(Post()) as post, caplog.at_level(logging.DEBUG):
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


@pytest.mark.parametrize("drips", ["a webhook", "a mail server"])
def test_a_server_that_goes_on_saying_something_is_cut_off(
    drips: str, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes in time, the answer never does: a time for each read alone would wait for ever."""
    monkeypatch.setattr(alarm_out, "TRY_S", 0.3)
    hook.drips = True
    with serving(Post()) as post:
        post.drips = True
        way = Way(webhook(hook.url) if drips == "a webhook" else Mail(mail_plan(post.port)), "demo", "", retry_s=())
        way.tell(NEWS)
        until(lambda: way.counts["failed"] == 1)
    way.end()


# ---------------------------------------------------------------------- what is said of a way


def said(caplog: pytest.LogCaptureFixture, words: str) -> int:
    return sum(words in record.getMessage() for record in caplog.records)


def test_that_a_way_does_not_get_through_is_said_once_on_and_once_off(
    hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    hook.answer = 500
    way = Way(webhook(hook.url), "demo", "", retry_s=(0.01,))
    with caplog.at_level(logging.WARNING, "meterd.alarm"):
        for _ in range(10):
            way.tell(NEWS)
        until(lambda: way.counts["failed"] == 10)
        trouble, hook.answer = way.trouble, 200
        for _ in range(10):
            way.tell(NEWS)
        until(lambda: way.counts["sent"] == 10)
    way.end()
    assert (trouble, way.trouble) == ("Refused 500", "")
    assert (said(caplog, "do not get through"), said(caplog, "get through again")) == (1, 1)


def test_a_step_that_some_have_got_is_not_sent_to_them_again() -> None:
    with serving(Post()) as post:
        post.unknown = ["gone@"]
        plan = mail_plan(post.port, always=("shift@casino.example", "gone@casino.example"))
        way = Way(Mail(plan), "demo", "", retry_s=(0.01, 0.01))
        way.tell(NEWS)
        until(lambda: way.counts["failed"] == 1)
        way.end()
        assert (len(post.mails), way.trouble, way.reached) == (1, "1 of 2 addresses refused", True)


def test_what_is_left_out_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    deaf = Deaf()
    way = Way(deaf, "demo", "")
    with caplog.at_level(logging.WARNING, "meterd.alarm"):
        for _ in range(WAITING_MAX + 2):
            way.tell(NEWS)
    deaf.let.set()
    way.end()
    assert said(caplog, "left out: table-offline at PG-01") == way.counts["left_out"] >= 1


def test_what_the_end_leaves_untold_is_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.alarm_way.END_S", 0.05)
    deaf = Deaf()
    way = Way(deaf, "demo", "")
    with caplog.at_level(logging.WARNING, "meterd.alarm"):
        for _ in range(3):
            way.tell(NEWS)
        until(lambda: not way.idle)
        way.end()
    deaf.let.set()
    assert "at the end 3 alarms were not told" in caplog.text


# ---------------------------------------------------------------------- a way that reaches nobody is tried again


STANDING = Alarm(NOT_TOLD, FLOOR, State.RAISED, "Alarms do not get through by deaf", AT - 60 * SECOND, AT)


class Flaky:
    """A way out that fails until it is well, for everybody or for some."""

    name = "deaf"

    def __init__(self) -> None:
        self.wrong: Exception | None = OSError()
        self.sent: list[News] = []

    def send(self, site: str, environment: str, news: News) -> None:
        self.sent.append(news)
        if self.wrong is not None:
            raise self.wrong


@pytest.fixture
def flaky() -> Flaky:
    return Flaky()


@pytest.fixture
def out(flaky: Flaky) -> AlarmOut:
    """All ways out, of which there is one; its first step has failed."""
    made = AlarmOut(AlarmPlan(), "demo", "")
    made.ways = [Way(flaky, "demo", "", retry_s=())]
    return made


def failed(out: AlarmOut, times: int) -> None:
    until(lambda: out.ways[0].counts["failed"] == times)


def test_a_way_that_reaches_nobody_is_tried_every_five_minutes_and_not_more_often(out: AlarmOut, flaky: Flaky) -> None:
    out.tell(NEWS)
    failed(out, 1)
    for second in range(1_000):
        out.look([STANDING], AT + second * SECOND)
        if second * SECOND % PROBE_US == 0 and second:
            failed(out, 1 + second * SECOND // PROBE_US)
    assert len(flaky.sent) == 1 + 3


def test_what_tries_a_way_is_the_alarm_about_it_with_the_time_of_the_try(out: AlarmOut, flaky: Flaky) -> None:
    out.tell(NEWS)
    failed(out, 1)
    out.look([STANDING], AT + PROBE_US)
    failed(out, 2)
    assert flaky.sent[-1] == News(Step.RAISED, STANDING, ("technician",), AT + PROBE_US)


def test_a_way_that_is_well_again_is_tried_no_more(out: AlarmOut, flaky: Flaky) -> None:
    out.tell(NEWS)
    failed(out, 1)
    flaky.wrong = None
    out.look([STANDING], AT + PROBE_US)
    until(lambda: out.ways[0].counts["sent"] == 1)
    out.look([STANDING], AT + 2 * PROBE_US)
    assert (len(flaky.sent), out.not_told()) == (2, {})


def test_people_who_are_reached_get_no_mail_to_try_the_way_for_others(out: AlarmOut, flaky: Flaky) -> None:
    flaky.wrong = SomeNotTold("1 of 2 addresses refused")
    out.tell(NEWS)
    failed(out, 1)
    out.look([STANDING], AT + PROBE_US)
    assert (len(flaky.sent), out.not_told()) == (1, {"deaf": "1 of 2 addresses refused"})


def test_nothing_is_tried_while_no_alarm_says_that_nobody_is_reached(out: AlarmOut, flaky: Flaky) -> None:
    out.tell(NEWS)
    failed(out, 1)
    out.look([ALARM], AT + PROBE_US)
    assert len(flaky.sent) == 1
