"""``[alarms]`` as frozen values: when some alarms ring, and where all are told. No money; read by ``config_alarms``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

AWARD_MINUTES = 30
"""An award waits too long after so many minutes, unless configured otherwise."""
CERTIFICATE_DAYS = 30
"""A certificate is near its end so many days before, unless configured otherwise."""


@dataclass(frozen=True, slots=True)
class MailPlan:
    """How mail is sent. ``tls``: none, starttls or tls; ``always``: who gets everything; ``roles``: more, by role."""

    host: str
    port: int
    tls: str
    username: str | None
    password_file: Path | None
    ca_file: Path | None
    sender: str
    always: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebhookPlan:
    """Where each step of an alarm is posted as JSON, signed with the secret in ``secret_file`` where there is one."""

    url: str
    secret_file: Path | None
    ca_file: Path | None


@dataclass(frozen=True, slots=True)
class AlarmPlan:
    """``[alarms]``: an award waits too long after ``award_minutes``; certificates are warned of days before."""

    award_minutes: int = AWARD_MINUTES
    certificate_days: int = CERTIFICATE_DAYS
    mail: MailPlan | None = None
    webhook: WebhookPlan | None = None
