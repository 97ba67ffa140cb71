"""``[alarms]``: what is read, and what is refused with a remedy and without saying a secret back."""

from pathlib import Path
from typing import Any

import pytest

from controller.alarm_plan import AlarmPlan, MailPlan, WebhookPlan
from controller.config_alarms import ALARM_KEYS, read_alarms
from controller.config_reader import KEYS, Problems, Section


def read(monkeypatch: pytest.MonkeyPatch, **keys: Any) -> tuple[AlarmPlan, list[str]]:
    assert "alarms" in KEYS["floor"]
    problems = Problems()
    plan = read_alarms(Section({"alarms": keys}, "floor", "", "floor.toml", problems), Path("/etc/meterd"))
    return plan, [str(one) for one in problems.first]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of keys, with this section's."""
    monkeypatch.setitem(KEYS, "alarms", ALARM_KEYS)  # type: ignore[arg-type]


MAIL: dict[str, Any] = {
    "smtp": "mail.casino.example", "smtp_tls": "starttls", "mail_from": "meterd@casino.example",
    "mail_to": ["shift@casino.example"]}


def test_without_keys_alarms_are_told_on_the_pages_and_by_the_broker_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch) == (AlarmPlan(), [])


def test_a_whole_section_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, wrong = read(
        monkeypatch, **MAIL, smtp_username="meterd", smtp_password_file="mail-password", award_minutes=15,
        mail_roles={"technician": ["it@casino.example"]}, webhook="https://desk.casino.example:8443/meterd",
        webhook_secret_file="hook-secret")
    assert wrong == []
    assert plan == AlarmPlan(
        15, 30, MailPlan("mail.casino.example", 587, "starttls", "meterd", Path("/etc/meterd/mail-password"), None,
                         "meterd@casino.example", ("shift@casino.example",), {"technician": ("it@casino.example",)}),
        WebhookPlan("https://desk.casino.example:8443/meterd", Path("/etc/meterd/hook-secret"), None))


@pytest.mark.parametrize(("keys", "said"), [
    ({"mail_to": ["a@b.example"]}, "has no meaning without a mail server"),
    ({**MAIL, "smtp": "smtp://mail"}, "is no mail server"),
    ({**MAIL, "smtp": "mail:0"}, "is no mail server"),
    ({**MAIL, "mail_to": []}, "missing"),
    ({**MAIL, "mail_to": ["Shift <a@b.example>"]}, "is no mail address"),
    ({**MAIL, "mail_to": ["a@b.example\nBcc: c@d.example"]}, "is no mail address"),
    ({**MAIL, "mail_roles": {"boss": ["a@b.example"]}}, "is no role"),
    ({**MAIL, "smtp_username": "meterd"}, "a name and its password go together"),
    ({**MAIL, "smtp_tls": "none", "smtp_username": "m", "smtp_password_file": "p"}, "in the clear"),
    ({"webhook_secret_file": "s"}, "has no meaning without a webhook"),
    ({"webhook": "ftp://casino.example/"}, "not an address"),
    ({"webhook": "https://casino.example:99999/"}, "not an address"),
    ({"webhook": "file:///etc/passwd"}, "not an address"),
    ({"award_minutes": 0}, "is not allowed"),
])
def test_what_cannot_be_meant_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch, keys: Any, said: str) -> None:
    _, wrong = read(monkeypatch, **keys)
    assert any(said in one and "; " in one for one in wrong)


@pytest.mark.parametrize("url", ["https://name:hunter2@casino.example/", "https://casino.example/?token=hunter2"])
def test_a_secret_in_an_address_is_refused_and_not_said_back(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """CF-06."""
    _, wrong = read(monkeypatch, webhook=url)
    assert len(wrong) == 1
    assert "hunter2" not in wrong[0]
