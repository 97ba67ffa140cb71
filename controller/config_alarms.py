"""Reads ``[alarms]``: when some alarms ring, and where all of them are told besides the pages and the broker. Pure.

Secrets stand in files of their own, read where they are used (CF-06); an address with a secret in it is refused.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from controller.alarm_plan import AWARD_MINUTES, CERTIFICATE_DAYS, AlarmPlan, MailPlan, WebhookPlan
from controller.config_reader import Section, nearest, shown
from controller.people import Role

ALARM_KEYS = (
    "award_minutes", "certificate_days", "smtp", "smtp_tls", "smtp_username", "smtp_password_file", "smtp_ca_file",
    "mail_from", "mail_to", "mail_roles", "webhook", "webhook_secret_file", "webhook_ca_file",
)  # fmt: skip
"""The keys of ``[alarms]``, for ``controller.config_reader.KEYS``."""
ADDRESSES_MAX = 16
TLS = ("none", "starttls", "tls")
_PORTS = {"none": 25, "starttls": 587, "tls": 465}
_HOST = r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?"
_SERVER = re.compile(_HOST, re.ASCII)
_URL = re.compile(rf"https?://{_HOST}(/[A-Za-z0-9._~%/+=,:-]*)?", re.ASCII)
_ADDRESS = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)


def read_alarms(top: Section, folder: Path) -> AlarmPlan:
    """The section of a file in ``folder``; absent: alarms are told on the pages and by the broker only."""
    row = top.inside("alarms", "alarms", "[alarms]") if top.has("alarms") else None
    if row is None:
        return AlarmPlan()
    return AlarmPlan(
        award_minutes=row.whole("award_minutes", 1, 1_440, default=AWARD_MINUTES),
        certificate_days=row.whole("certificate_days", 1, 365, default=CERTIFICATE_DAYS),
        mail=_read_mail(row, folder),
        webhook=_read_webhook(row, folder),
    )


def _read_mail(row: Section, folder: Path) -> MailPlan | None:
    if not row.has("smtp"):
        for key in ("smtp_tls", "smtp_username", "smtp_password_file", "smtp_ca_file", "mail_from", "mail_to",
                    "mail_roles"):
            if row.has(key):
                row.refuse(key, "has no meaning without a mail server", 'write smtp = "host:port", or remove it')
        return None
    tls = row.one_of("smtp_tls", TLS)
    host, port = _server(row, tls)
    if row.has("smtp_username") != row.has("smtp_password_file"):
        row.refuse("smtp_username", "a name and its password go together", "write both, or neither")
    if row.has("smtp_username") and tls == "none" and row.good("smtp_tls"):
        row.refuse("smtp_tls", "the password would cross the network in the clear", 'write "starttls" or "tls"')
    plan = MailPlan(
        host, port, tls, row.text("smtp_username") if row.has("smtp_username") else None,
        _path(row, "smtp_password_file", folder), _path(row, "smtp_ca_file", folder),
        _address(row, "mail_from", row.text("mail_from")),
        _addresses(row, "mail_to", row.raw.get("mail_to", [])), _by_role(row))
    if not plan.always and not plan.roles and row.good("mail_to", "mail_roles"):
        row.missing("mail_to", 'list who gets mail, like mail_to = ["shift@casino.example"]')
    return plan


def _server(row: Section, tls: str) -> tuple[str, int]:
    text = row.text("smtp")
    found = _SERVER.fullmatch(text)
    port = int(found[2] or _PORTS[tls]) if found else 0
    if row.good("smtp") and not 1 <= port <= 65_535:
        row.refuse("smtp", f"{shown(text)} is no mail server", 'write "host" or "host:port", no URL and no password')
    return (found[1].strip("[]") if found else ""), port


def _path(row: Section, key: str, folder: Path) -> Path | None:
    return folder / row.text(key) if row.has(key) else None


def _address(row: Section, key: str, text: str) -> str:
    if row.good(key) and not _ADDRESS.fullmatch(text):
        row.refuse(key, f"{shown(text)} is no mail address", 'write it alone, like "shift@casino.example"')
    return text


def _addresses(row: Section, key: str, found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found) or len(found) > ADDRESSES_MAX:
        row.refuse(key, "not a list of mail addresses", f"list at most {ADDRESSES_MAX} addresses in quotes")
        return ()
    return tuple([_address(row, key, one) for one in found])


def _by_role(row: Section) -> Mapping[str, tuple[str, ...]]:
    if not row.has("mail_roles"):
        return {}
    known = [role.value for role in Role]
    made = {}
    for role, found in row.table("mail_roles").items():
        if role not in known:
            row.refuse("mail_roles", f"{shown(role)} is no role", nearest(role, known))
        made[role] = _addresses(row, "mail_roles", found)
    return made


def _read_webhook(row: Section, folder: Path) -> WebhookPlan | None:
    if not row.has("webhook"):
        for key in ("webhook_secret_file", "webhook_ca_file"):
            if row.has(key):
                row.refuse(key, "has no meaning without a webhook", 'write webhook = "https://...", or remove it')
        return None
    url = row.text("webhook")
    found = _URL.fullmatch(url)
    if row.good("webhook") and any(mark in url for mark in "@?#"):
        # What is wrong is not shown: it may be a secret.
        row.refuse(
            "webhook", "a secret may not stand in this file",
            "write the address without name, password and query; what proves who we are is webhook_secret_file")
    elif row.good("webhook") and (found is None or not 1 <= int(found[2] or 443) <= 65_535):
        row.refuse("webhook", "not an address", 'write "https://host/path"')
    return WebhookPlan(url, _path(row, "webhook_secret_file", folder), _path(row, "webhook_ca_file", folder))
