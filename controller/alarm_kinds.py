"""The one table of alarms: what each is called, what to do, who is told at once, and who next if it goes on. Pure.

docs/ALARMS.md says the same and is tested against it. The clock of a break is that of R-90: 60 s, 10 min, 30 min.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from controller.people import Role

FLOOR = "floor"
"""The place of an alarm that is of no table, meter or sign."""
MINUTE_S = 60


class Place(StrEnum):
    """What an alarm's place names."""

    TABLE = "table"
    METER = "meter"
    SIGN = "sign"
    FLOOR = "floor"


class Rung(NamedTuple):
    """One step of an escalation: seconds after the alarm's begin, and the roles that are told then."""

    after_s: int
    roles: tuple[Role, ...]


class AlarmKind(NamedTuple):
    """One kind of alarm. ``ladder``: who is told, in rising order; its first rung is told when the alarm is raised."""

    name: str
    title: str
    remedy: str
    place: Place
    ladder: tuple[Rung, ...]
    after_s: int = 0
    """The condition must hold for so long before it is an alarm."""
    momentary: bool = False
    """It tells of something that happened, and is cleared by a person; any other one clears when its cause is gone."""
    until_cleared: bool = False
    """Its ladder goes on when somebody has acknowledged it: until the cause is gone (R-90)."""
    stops: bool = False
    """Wagers are not taken somewhere because of it: it stands before the others."""

    def roles(self) -> frozenset[Role]:
        """Everybody whom its ladder names."""
        return frozenset(role for rung in self.ladder for role in rung.roles)


def _rungs(*told: tuple[int, tuple[Role, ...]]) -> tuple[Rung, ...]:
    return tuple([Rung(*one) for one in told])


_SUPERVISOR, _SHIFT, _ACCOUNTING = Role.SUPERVISOR, Role.SHIFT_MANAGER, Role.ACCOUNTING
_SURVEILLANCE, _TECHNICIAN, _ADMINISTRATOR = Role.SURVEILLANCE, Role.TECHNICIAN, Role.ADMINISTRATOR

_BREAK = _rungs(
    (60, (_SUPERVISOR, _SURVEILLANCE)), (10 * MINUTE_S, (_SHIFT, _TECHNICIAN)), (30 * MINUTE_S, (_ADMINISTRATOR,)))
_MONEY = _rungs(
    (0, (_SUPERVISOR,)), (60, (_SURVEILLANCE,)), (10 * MINUTE_S, (_SHIFT,)), (30 * MINUTE_S, (_ACCOUNTING,)))
_PLAY = _rungs((0, (_SUPERVISOR,)), (10 * MINUTE_S, (_SHIFT,)), (30 * MINUTE_S, (_SURVEILLANCE,)))
_BOX = _rungs((0, (_SHIFT, _TECHNICIAN)), (60, (_SUPERVISOR, _SURVEILLANCE)), (10 * MINUTE_S, (_ADMINISTRATOR,)))
_UNIT = _rungs((0, (_SUPERVISOR,)), (60, (_TECHNICIAN,)), (30 * MINUTE_S, (_SHIFT,)))
_HOST = _rungs((0, (_TECHNICIAN,)), (30 * MINUTE_S, (_ADMINISTRATOR,)))
_BOOKS = _rungs((0, (_SHIFT, _ACCOUNTING)), (10 * MINUTE_S, (_TECHNICIAN,)), (30 * MINUTE_S, (_ADMINISTRATOR,)))

ALARMS: Mapping[str, AlarmKind] = {kind.name: kind for kind in (
    AlarmKind("books-stopped", "The books are stopped",
              "Take no progressive wagers anywhere. Let the technician prove the books; two people clear them.",
              Place.FLOOR, _BOX, until_cleared=True, stops=True),
    AlarmKind("ledger-failing", "The ledger cannot be written",
              "Take no progressive wagers. Let the technician look at the disk; play goes on by itself afterwards.",
              Place.FLOOR, _BOX, until_cleared=True, stops=True),
    AlarmKind("ledger-slow", "The ledger is slow",
              "Let the technician look at the disk: lamps turn solid late, and lock-outs take long.",
              Place.FLOOR, _HOST),
    AlarmKind("table-offline", "Table unit not heard",
              "Take no progressive wagers there, tell the players, and check the unit's power and cable.",
              Place.TABLE, _BREAK, after_s=60, until_cleared=True, stops=True),
    AlarmKind("messages-lost", "Table unit has lost messages",
              "Keep the progressive closed there. Write down the chips; two people accept the loss.",
              Place.TABLE, _MONEY, until_cleared=True, stops=True),
    AlarmKind("totals-differ", "Table unit and ledger count differently",
              "Keep the progressive closed there. Write down both totals; two people accept the difference.",
              Place.TABLE, _MONEY, until_cleared=True, stops=True),
    AlarmKind("hit-refused", "A winning hand was not accepted",
              "Hold the hand and its cards, call surveillance, and put the hand right at the awards page.",
              Place.TABLE, _MONEY, momentary=True),
    AlarmKind("hit-waits", "A winning hand waits for messages before it",
              "Hold the hand and its cards. Watch the line: the hand is taken when the missing messages come.",
              Place.TABLE, _MONEY, momentary=True),
    AlarmKind("lock-refused", "A lock-out was not accepted",
              "No wager of that lock-out counts: lock again, or give the chips back.",
              Place.TABLE, _PLAY, momentary=True),
    AlarmKind("chip-difference", "Chips and wagers differ",
              "Count again, look at the lit seats and the camera, and close the difference with two people.",
              Place.TABLE, _PLAY, momentary=True),
    AlarmKind("misdeal", "A game was misdealt",
              "See that the chips were given back and that the deck was checked; write down why.",
              Place.TABLE, _PLAY, momentary=True),
    AlarmKind("settled-apart", "A later hand was paid from the meter as it stood",
              "Tell the players their awards after the game is closed; let accounting look at both games.",
              Place.TABLE, _rungs((0, (_SUPERVISOR,)), (10 * MINUTE_S, (_SHIFT,)), (30 * MINUTE_S, (_ACCOUNTING,))),
              momentary=True),
    AlarmKind("unit-fault", "Table unit contradicts itself",
              "Close the progressive at this table and let the technician change the unit.",
              Place.TABLE, _UNIT, momentary=True),
    AlarmKind("award-waiting", "An award waits for people",
              "Verify, pay or refuse it at the awards page.",
              Place.TABLE, _rungs((0, (_SUPERVISOR,)), (10 * MINUTE_S, (_SHIFT,)), (30 * MINUTE_S, (_ACCOUNTING,)))),
    AlarmKind("sign-not-reached", "Sign not confirmed",
              "It may show an old amount: cover it or switch it off, then check its cable.",
              Place.SIGN, _UNIT, after_s=10),
    AlarmKind("sign-differs", "Sign and meter differ",
              "Read the sign and the floor page aloud to each other; cover the sign until they agree.",
              Place.SIGN, _UNIT, after_s=30),
    AlarmKind("reading-differs", "What was read on a sign is not what its meter holds",
              "Read it again with a second person; cover the sign until it agrees, and tell accounting.",
              Place.METER, _rungs((0, (_SUPERVISOR, _ACCOUNTING)), (10 * MINUTE_S, (_SHIFT,)), (
                  30 * MINUTE_S, (_TECHNICIAN,))), momentary=True),
    AlarmKind("limit-reached", "Meter at its limit",
              "Nothing is lost: what is added now is kept above the limit. Tell the shift manager.",
              Place.METER, _rungs((0, (_SUPERVISOR, _SHIFT)), (30 * MINUTE_S, (_ACCOUNTING,)))),
    AlarmKind("rate-drift", "Meter rises at another rate than configured",
              "Close the progressive on this link until the rate has been compared with the approved record.",
              Place.METER, _BOOKS),
    AlarmKind("hits-drift", "Far other hits than the odds allow",
              "Compare the paytable and its odds with the approved record, and the last hits with the camera.",
              Place.METER, _BOOKS),
    AlarmKind("file-not-in-use", "Something in the file on the box is not in use",
              "Amounts and wagers are right. Let the technician correct the file and start the controller again.",
              Place.FLOOR, _HOST),
    AlarmKind("clock-unsynchronised", "The box's clock is not set",
              "Amounts are right; times may not be. Let the technician check the time service.",
              Place.FLOOR, _HOST, after_s=10 * MINUTE_S),
    AlarmKind("certificate-ending", "A certificate ends soon",
              "Let the technician renew it before its last day; after it the pages or the broker stop.",
              Place.FLOOR, _HOST),
    AlarmKind("alarms-not-told", "Alarms are not told outside",
              "Look at the page of alarms often, and let the technician look at the mail server or the webhook.",
              Place.FLOOR, _HOST, after_s=MINUTE_S),
    AlarmKind("sign-in-guessed", "Somebody guesses secrets",
              "Look who is at that screen; let an administrator look at the access log.",
              Place.FLOOR, _rungs((0, (_SURVEILLANCE, _ADMINISTRATOR)), (10 * MINUTE_S, (_SHIFT,))), momentary=True),
)}
"""Every kind by its name, in the order in which they matter: worst first."""

ORDER: Mapping[str, int] = {name: place for place, name in enumerate(ALARMS)}
"""The place of each kind in the order of the table."""
