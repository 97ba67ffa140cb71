"""The alarms that are durable, and what has happened that is no alarm yet: a part of the board. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.alarm_kinds import ALARMS
from controller.alarms import ROW, Alarm, Key, alarm_from
from controller.floor_state import StateRow
from controller.journal import Entry
from controller.watch import HAPPENS, Happenings


class AlarmBoard:
    """What of the alarms is in the ledger."""

    def __init__(self) -> None:
        self.alarms: dict[Key, Alarm] = {}
        """The latest of each kind at each place, cleared ones too."""
        self.happenings = Happenings()
        self.raised: dict[str, int] = dict.fromkeys(ALARMS, 0)
        """How often each kind was raised since the start, for metrics."""

    def learn_entry(self, entry: Entry, body: Mapping[str, Any]) -> None:
        """Take in a durable entry with its body."""
        if entry.kind in HAPPENS:
            self.happenings.learn([(entry, body)])
        elif entry.kind == ROW and body["step"] == "raised" and body["alarm"] in self.raised:
            self.raised[body["alarm"]] += body["count"]

    def learn_rows(self, rows: Iterable[StateRow]) -> None:
        """Take in durable state rows of the kind ``alarm``."""
        for row in rows:
            made = json.loads(row.body)
            if made is not None and made["kind"] in ALARMS:
                alarm = alarm_from(made)
                self.alarms[alarm.key] = alarm
