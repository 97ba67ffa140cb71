"""Why a message was not accepted: the closed list of reasons, and each in the floor's words. Pure.

The reasons are those of the contract; the sentences say what happened and what to do now (design section 9).
"""

from enum import StrEnum


class Refusal(StrEnum):
    """A reason of ``refused`` or ``fault``, as answered and as counted."""

    MALFORMED = "malformed"
    UNKNOWN_DEVICE = "unknown-device"
    CONTENT_DIFFERS = "content-differs"
    TOO_FAR_AHEAD = "too-far-ahead"
    ROUND_NOT_NEWER = "round-not-newer"
    TABLE_CLOSED = "table-closed"
    METER_NOT_OPEN = "meter-not-open"
    UNKNOWN_SEAT = "unknown-seat"
    UNKNOWN_SPOT = "unknown-spot"
    DUPLICATE_WAGER = "duplicate-wager"
    PAYTABLE_NOT_VALID = "paytable-not-valid"
    WRONG_WAGER = "wrong-wager"
    UNREASONABLE_CONTRIBUTION = "unreasonable-contribution"
    ACCOUNT_FULL = "account-full"
    NO_SUCH_ROUND = "no-such-round"
    ROUND_CLOSED = "round-closed"
    ENVY_ONLY_REFUSED = "envy-only-refused"
    SEAT_HAS_WAGER = "seat-has-wager"
    SEAT_WITHOUT_WAGER = "seat-without-wager"
    UNKNOWN_OUTCOME = "unknown-outcome"
    ALREADY_HIT = "already-hit"
    ROUND_HAS_AWARDS = "round-has-awards"


_CALL = "call the technician"
_AGAIN = "lock again, then call the technician if it is refused again"

WORDS: dict[Refusal, tuple[str, str]] = {
    Refusal.MALFORMED: ("the table unit sent a message that cannot be read", f"{_AGAIN}"),
    Refusal.UNKNOWN_DEVICE: ("a unit that is no table's spoke", "look for a unit that does not belong on this floor"),
    Refusal.CONTENT_DIFFERS: (
        "the table unit used one number for two different messages", "stop the progressive at this table; " + _CALL),
    Refusal.TOO_FAR_AHEAD: ("too many messages wait for a missing one", "watch the line; " + _CALL),
    Refusal.ROUND_NOT_NEWER: ("the table unit locked a game that is not newer than its last one", _AGAIN),
    Refusal.TABLE_CLOSED: (
        "the table is closed", "take no progressive wagers here; a supervisor opens the table on the page"),
    Refusal.METER_NOT_OPEN: (
        "its jackpot is not open", "take no progressive wagers here; two people open it on the page"),
    Refusal.UNKNOWN_SEAT: ("a seat that this table does not have", "check the table unit's seat wiring; " + _CALL),
    Refusal.UNKNOWN_SPOT: ("a bet spot that this table does not have", "check the table unit's wiring; " + _CALL),
    Refusal.DUPLICATE_WAGER: ("one seat was named twice for the same bet", _AGAIN),
    Refusal.PAYTABLE_NOT_VALID: (
        "the paytable is outside its dates", "take no progressive wagers at this table; call the shift manager"),
    Refusal.WRONG_WAGER: (
        "a wager is not the paytable's amount", "check the chips on the sensors and lock again"),
    Refusal.UNREASONABLE_CONTRIBUTION: (
        "the lock would add more to a meter than its bound allows (R-04)", "check the table unit; " + _CALL),
    Refusal.ACCOUNT_FULL: ("the meter cannot hold more", "take no progressive wagers on this link; " + _CALL),
    Refusal.NO_SUCH_ROUND: ("no such game was locked", "check the keypad's game and enter it again"),
    Refusal.ROUND_CLOSED: ("that game is no longer open", "call the supervisor: it is put right by people"),
    Refusal.ENVY_ONLY_REFUSED: (
        "at this table only a wagering player's hand earns the others envy", "no envy is due for this hand"),
    Refusal.SEAT_HAS_WAGER: ("the seat has a wager of its own", "enter the hand as a hit of that seat"),
    Refusal.SEAT_WITHOUT_WAGER: (
        "the seat has no accepted wager in this game",
        "check the lit seats; call the supervisor if the player objects"),
    Refusal.UNKNOWN_OUTCOME: ("the hand is not a row of the paytable", "check the hand and enter it again"),
    Refusal.ALREADY_HIT: ("the seat already has a hit in this game", "call the supervisor to change a hit"),
    Refusal.ROUND_HAS_AWARDS: ("a game with a hit cannot be voided", "call the supervisor"),
}
"""What happened, and what to do now."""
