"""docs/PROTOCOL.md says what the code does: tables, ranges, bounds, timers and every example."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from firmware_bridge import device, fields, frames, messages, serial_line, session
from firmware_bridge.messages import DOWN, UP, Spec

PAGE = (Path(__file__).parents[1] / "docs" / "PROTOCOL.md").read_text("utf-8")


class Example(NamedTuple):
    """One worked example: a title and the three forms of one message."""

    title: str
    json: str
    payload: bytes
    frame: bytes


def examples() -> list[Example]:
    block = r"```{}\n(.*?)\n```\n\s*"
    pattern = r"^### (.+?)\n\n" + block.format("json") + block.format("payload") + block.format("frame")
    found = re.findall(pattern, PAGE, re.MULTILINE | re.DOTALL)
    return [Example(title, said, bytes.fromhex(payload), bytes.fromhex(frame)) for title, said, payload, frame in found]


EXAMPLES = examples()


def said(example: Example) -> Any:
    """The message of an example's JSON form."""
    data = example.json.encode()
    return messages.decode_json(data) if '"device"' in example.json else messages.decode_json_down(data)


def row(name: str, spec: Spec) -> str:
    parts = ["`seq` 1..4294967295"] if spec.numbered else []
    for field in spec.fields:
        parts.append(f"`{field.name}` {field.kind.words}" + (f" (tag {field.tag})" if field.tag else ""))
    return f"| `{name}` | {spec.code} | {'; '.join(parts) or 'none'} |"


def rows(heading: str) -> list[str]:
    """The rows of the table under a heading."""
    part = PAGE.split(heading, 1)[1].split("\n## ", 1)[0]
    return [line for line in part.splitlines() if line.startswith("| `")]


def test_the_units_messages_are_those_of_the_code() -> None:
    assert rows("## 6. Messages of the unit") == [row(name, spec) for name, spec in UP.items()]


def test_the_hosts_messages_are_those_of_the_code() -> None:
    assert rows("## 7. Messages of the host") == [row(name, spec) for name, spec in DOWN.items()]


def test_every_message_but_who_has_an_example() -> None:
    shown = {re.search(r'"type":"([a-z]+)"', example.json)[1] for example in EXAMPLES}  # type: ignore[index]
    assert shown >= (UP.keys() | DOWN.keys()) - {"who", "fault"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_json_of_an_example_is_what_the_code_writes(example: Example) -> None:
    assert messages.encode_json(said(example)).decode() == example.json


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_payload_of_an_example_says_the_same_as_its_json(example: Example) -> None:
    assert messages.encode_binary(said(example)) == example.payload


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_the_frame_of_an_example_carries_its_payload(example: Example) -> None:
    assert frames.encode_frame(example.payload) == example.frame
    assert frames.FrameReader().feed(example.frame) == [example.payload]


def test_the_parts_of_lists_have_the_fields_of_the_code() -> None:
    shown = dict(re.findall(r"^\| ([a-z' ]+) \| (`.*) \|$", PAGE, re.MULTILINE))
    parts: dict[str, Any] = {
        "kept": messages.Kept, "bet": messages.Bet, "wager": messages.Wager, "hit": messages.Hit,
        "committed": messages.Committed, "lamp": messages.Lamp, "layout's wagers": messages.SpotLayout,
        "layout's outcomes": messages.SpotOutcomes,
    }  # fmt: skip
    for part, cls in parts.items():
        assert re.findall(r"`([a-z_]+)`", shown[part]) == list(cls._fields)


@pytest.mark.parametrize(
    "words",
    [
        f"at most {frames.FRAME_BYTES_MAX} bytes before its 00",
        f"{frames.crc16(b'123456789'):04X} for \"123456789\"",
        f"1 to {fields.LINE_MAX} printable characters",
        f"`0..{fields.CENTS_MAX}` (cents)",
        f"`[...]`, at most {messages.LIST_MAX} ",
        f"after {session.STALE_S:g} s / {session.OFFLINE_S:g} s of silence",
        f"at most every {session.WHO_EVERY_S:g} s",
        "0.5, 1, 2, 4, 4 ... s" if (serial_line.RETRY_MIN_S, serial_line.RETRY_MAX_S) == (0.5, 4.0) else "other waits",
        ", ".join(f"{wait:g}" for wait in device.RESEND_S),
        f"At most {device.IN_FLIGHT_MAX} unacknowledged messages",
        " / ".join(messages.LAMP_STATES),
    ],
)
def test_bounds_and_timers_are_those_of_the_code(words: str) -> None:
    assert words in PAGE


def test_every_lamp_state_is_explained() -> None:
    explained = re.findall(r"^\| `([a-z-]+)` \|", PAGE.split("## 10. Lamps", 1)[1], re.MULTILINE)
    assert explained == list(messages.LAMP_STATES)


def longest(spot: int, outcome: int) -> list[messages.Up]:
    wagers = tuple(messages.Wager(255, "s" * spot, 10_000_000) for _ in range(64))
    hits = tuple(messages.Hit(255, "s" * spot, "o" * outcome, True) for _ in range(64))
    key = ("d" * 64, "b" * 64, 2**32 - 1)
    return [messages.Lock(*key, 1, wagers), messages.Hits(*key, 1, hits, "r" * 64)]


def test_ids_as_long_as_the_page_allows_fit_a_frame() -> None:
    lock, hits = longest(50, 0)[0], longest(25, 25)[1]
    assert frames.encode_frame(messages.encode_binary(lock))
    assert frames.encode_frame(messages.encode_binary(hits))
