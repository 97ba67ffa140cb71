"""The banner of every page: the alarms that nobody has acknowledged, worst first (R-31, R-89)."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from controller.acts import KINDS, ActKind
from controller.alarm_acts import ALARM_RULES, may_answer
from controller.alarms import Alarm, State, place_words, worst_first
from controller.people import Role

BANNER_MAX = 3
"""Alarms on a banner; the others are counted, and stand on the page of alarms."""
_ACTS = {name: KINDS[name] for name in ALARM_RULES}


class Offer(NamedTuple):
    """A form for an alarm: its act, what it knows already, and the id that makes it one act."""

    kind: ActKind
    values: Mapping[str, str]
    act_id: str


class AlarmLine(NamedTuple):
    """One alarm on a page; ``offer`` None: this reader may do nothing about it, or nothing can be done now."""

    alarm: Alarm
    where: str
    anchor: str
    offer: Offer | None


class Banner(NamedTuple):
    """What ``part_alarms.html`` shows, with ``clock``, ``csrf`` (empty: a link instead of forms) and ``back``."""

    lines: tuple[AlarmLine, ...]
    more: int
    """Alarms beyond the first ``BANNER_MAX``."""
    tag: str
    """Of all alarms that waited when it was made: a page asks with it whether they still do."""


def make_banner(alarms: Iterable[Alarm], role: Role | None, new_id: Callable[[], str]) -> Banner:
    """The banner for somebody of a role. ``role`` None, as on a live page that all share: it has no forms."""
    waiting = worst_first(alarm for alarm in alarms if alarm.waits)
    lines = tuple([line_of(alarm, role, new_id) for alarm in waiting[:BANNER_MAX]])
    return Banner(lines, max(0, len(waiting) - BANNER_MAX), banner_tag(waiting))


def banner_tag(waiting: Iterable[Alarm]) -> str:
    """A short name of the alarms that wait; it stays while one of them is only raised again."""
    raised = sorted((alarm.kind, alarm.place, alarm.raised_at) for alarm in waiting)
    return hashlib.blake2s(repr(raised).encode(), digest_size=8).hexdigest()


def line_of(alarm: Alarm, role: Role | None, new_id: Callable[[], str]) -> AlarmLine:
    """One alarm, with the form of what a reader of this role can do about it now; ``new_id`` makes ids for forms."""
    offer = None if role is None or not may_answer(alarm.told_of, role) else _offer(alarm, new_id)
    return AlarmLine(alarm, place_words(alarm), f"alarm-{alarm.kind}-{alarm.place}", offer)


def _offer(alarm: Alarm, new_id: Callable[[], str]) -> Offer | None:
    named = {"alarm": alarm.kind, "place": alarm.place}
    if alarm.waits:
        return Offer(_ACTS["alarm-acknowledged"], {**named, "note": ""}, new_id())
    if alarm.state is State.ACKNOWLEDGED and alarm.told_of.momentary:
        return Offer(_ACTS["alarm-cleared"], named, new_id())
    return None
