"""docs/ALARMS.md says what the program does: every alarm with whom it is told and when, every key, the body."""

import json
import re
from pathlib import Path

import pytest
from test_words_doc import found_in

from controller.alarm_kinds import ALARMS, AlarmKind
from controller.alarm_out import PROBE_US, SIGNATURE, TIMEOUT_S, TIMESTAMP, TRY_S, as_json
from controller.alarm_plan import AWARD_MINUTES, CERTIFICATE_DAYS
from controller.alarm_way import RETRY_S, WAITING_MAX
from controller.alarms import Alarm, State, Step
from controller.config_alarms import ALARM_KEYS
from controller.watch import GUESSES, LOSSES, LOSSES_US, SLOW_COMMITS, STEADY_US
from controller.watcher import AGAIN_US, FLAPS, FLAPS_US, QUIET_US, News

TEXT = (Path(__file__).parents[1] / "docs" / "ALARMS.md").read_text()
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", TEXT, re.M)}


def told(kind: AlarmKind) -> str:
    """Whom an alarm is told and when, as the table writes it."""
    rungs = []
    for rung in kind.ladder:
        after = f"after {rung.after_s} s" if rung.after_s < 600 else f"after {rung.after_s // 60} min"
        rungs.append(f"{after if rung.after_s else 'at once'} {', '.join(role.value for role in rung.roles)}")
    return "; ".join([*rungs, "until it is over"] if kind.until_cleared else rungs)


def test_the_table_has_every_alarm_in_the_programs_order() -> None:
    assert list(ROWS) == list(ALARMS)


@pytest.mark.parametrize("kind", list(ALARMS.values()), ids=lambda kind: kind.name)
def test_a_row_says_what_the_program_does(kind: AlarmKind) -> None:
    clears = "by a person" if kind.momentary else "by itself"
    assert ROWS[kind.name] == (kind.title, kind.remedy, told(kind), clears)


@pytest.mark.parametrize("kind", list(ALARMS.values()), ids=lambda kind: kind.name)
def test_an_alarm_speaks_the_floors_words(kind: AlarmKind) -> None:
    assert found_in(f"{kind.title} {kind.remedy}") == []


@pytest.mark.parametrize("key", ALARM_KEYS)
def test_every_key_is_named(key: str) -> None:
    assert re.search(rf"\b{key}\b", TEXT)


def test_the_webhooks_body_has_the_keys_that_are_written() -> None:
    written = TEXT[TEXT.index('    {"v":1,"site"') :].split("\n\n")[0]
    alarm = Alarm("table-offline", "PG-01", State.RAISED, "x", 0, 0)
    assert list(json.loads(written)) == list(as_json("demo", "", News(Step.RAISED, alarm, (), 0)))


def test_the_headers_of_a_signed_webhook_are_named() -> None:
    assert [header for header in (SIGNATURE, TIMESTAMP) if header not in TEXT] == []


def test_the_numbers_in_the_text_are_the_programs() -> None:
    """Who changes one of these changes the text."""
    assert (AWARD_MINUTES, CERTIFICATE_DAYS, WAITING_MAX, GUESSES, SLOW_COMMITS, FLAPS, QUIET_US) == (
        30, 30, 64, 8, 3, 4, 600_000_000)
    assert (LOSSES, LOSSES_US, STEADY_US, AGAIN_US, FLAPS_US) == (
        6, 600_000_000, 300_000_000, 60_000_000, 3_600_000_000)
    assert (len(RETRY_S) + 1, sum(RETRY_S), TIMEOUT_S, TRY_S, PROBE_US) == (5, 156, 5, 20, 300_000_000)
