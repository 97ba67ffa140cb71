"""The table of messages: both forms of every message, and what becomes of those that are wrong (design section 7)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import messages
from firmware_bridge.fields import CENTS, ID, SEAT, Field, WrongField, listing
from firmware_bridge.messages import (
    DOWN,
    LIST_MAX,
    MESSAGE_BYTES_MAX,
    UP,
    Ack,
    Bet,
    Close,
    Committed,
    Count,
    Down,
    Fault,
    Heard,
    Heartbeat,
    Hello,
    Hit,
    Hits,
    Kept,
    Lamp,
    Lamps,
    Layout,
    Lock,
    Malformed,
    Notice,
    Numbered,
    OpenRound,
    Playable,
    Refused,
    SpotLayout,
    SpotOutcomes,
    Unreadable,
    Up,
    Void,
    Wager,
    Welcome,
    Who,
    content,
    decode_binary,
    decode_binary_down,
    decode_json,
    decode_json_down,
    encode_binary,
    encode_json,
    from_content,
    to_fields,
)

KEY = ("hub-01", "b1", 7)
UPS: list[Up] = [
    Hello("hub-01", "b1", "fw 1.2", "power on", 7, (Kept("b0", 9, 12), Kept("b1", 1, 1))),
    Heartbeat("hub-01", "b1", 7, 12, (Bet(1, "progressive"), Bet(255, "x"))),
    Lock(*KEY, 3, (Wager(1, "progressive", 500), Wager(7, "side.2", 10_000_000))),
    Lock(*KEY, 2**32 - 1, ()),
    Count(*KEY, 3, 10_000, "b1"),
    Count(*KEY, 3, 0, "b0"),
    Hits(*KEY, 3, (Hit(2, "progressive", "royal-flush"), Hit(3, "progressive", "full-house", True)), "b1"),
    Hits(*KEY, 3, (Hit(2, "progressive", "royal-flush"),), "b0"),
    Close(*KEY, 3, "b1"),
    Void(*KEY, 3, "card exposed \u2660", "b0"),
    Notice(*KEY, "door-open", None, None, None),
    Notice(*KEY, "late-bet", 3, 0, "progressive"),
]
DOWNS: list[Down] = [
    Who(),
    Welcome((Committed("b0", 11), Committed("b1", 0)), None),
    Welcome((), OpenRound("b1", 3, (Wager(1, "progressive", 500),))),
    Layout((SpotLayout("progressive", 500),), (SpotOutcomes("progressive", ("royal-flush", "straight-flush")),)),
    Ack("b1", 7),
    Refused("b1", 7, "wrong-wager"),
    Fault("b1", 7, "content-differs"),
    Lamps(0, ()),
    Lamps(3, (Lamp(1, "progressive", "locked"), Lamp(2, "progressive", "fault"))),
    Playable(True, "open"),
    Playable(False, "table unit offline"),
]
LOCK = {"v": 1, "device": "hub-01", "boot": "b1", "seq": 7, "type": "lock", "round": 3,
        "wagers": [{"seat": 1, "spot": "progressive", "cents": 500}]}  # fmt: skip


def text(**changed: Any) -> bytes:
    return json.dumps(LOCK | changed).encode()


def test_every_kind_of_message_is_tried_here() -> None:
    tried = {to_fields(message)["type"] for message in [*UPS, *DOWNS]}
    assert tried == UP.keys() | DOWN.keys()


@pytest.mark.parametrize("message", UPS)
def test_a_message_of_a_device_is_the_same_after_json(message: Up) -> None:
    assert decode_json(encode_json(message)) == message


@pytest.mark.parametrize("message", UPS)
def test_a_message_of_a_device_is_the_same_after_binary(message: Up) -> None:
    assert decode_binary(encode_binary(message)) == message


@pytest.mark.parametrize("message", DOWNS)
def test_a_message_of_the_host_is_the_same_after_json(message: Down) -> None:
    assert decode_json_down(encode_json(message)) == message


@pytest.mark.parametrize("message", DOWNS)
def test_a_message_of_the_host_is_the_same_after_binary(message: Down) -> None:
    assert decode_binary_down(encode_binary(message)) == message


@pytest.mark.parametrize("message", [message for message in UPS if not isinstance(message, Hello | Heartbeat)])
def test_a_message_is_found_again_from_its_content(message: Numbered) -> None:
    assert from_content(*KEY, json.loads(content(message))) == message


@pytest.mark.parametrize("message", [message for message in UPS if not isinstance(message, Hello | Heartbeat)])
def test_the_content_is_canonical_json(message: Numbered) -> None:
    said = content(message)
    assert said == json.dumps(json.loads(said), sort_keys=True, separators=(",", ":"))


def test_the_content_does_not_hold_the_key() -> None:
    other = decode_json(text(device="hub-02", boot="b9", seq=8))
    assert isinstance(other, Lock)
    assert content(other) == content(Lock(*KEY, 3, (Wager(1, "progressive", 500),)))


def test_own_boot_and_absent_boot_are_the_same_content() -> None:
    close = {"v": 1, "device": "hub-01", "boot": "b1", "seq": 7, "type": "close", "round": 3}
    assert decode_json(json.dumps(close).encode()) == decode_json(json.dumps(close | {"round_boot": "b1"}).encode())


def test_the_days_messages_are_all_read() -> None:
    day = Path(__file__).with_name("contract") / "day.jsonl"
    lines = [line for line in day.read_bytes().splitlines() if line.strip()]
    kinds = {type(decode_json(line)).__name__ for line in lines}
    assert {"Lock", "Count", "Hits", "Close"} <= kinds


def test_unknown_fields_are_ignored_and_are_no_part_of_the_content() -> None:
    assert decode_json(text(colour={"felt": "green"}, more=[1, {"a": [2]}])) == decode_json(text())


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \t"])
def test_white_space_around_a_message_is_no_part_of_it(end: bytes) -> None:
    assert decode_json(end + text() + end) == decode_json(text())


@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"{", b"null", b"[]", b"5", b'"lock"', b"\xff\xfe\x00", b"\xef\xbb\xbf" + text(), text() + b"}",
     text() + b"x", text(note=float("nan")), text(note=float("inf")), b"[" * 100_000, b'{"a":' * 100_000,
     b'{"v":1}' * 2, b"'lock'"],
)  # fmt: skip
def test_what_is_no_json_object_in_utf_8_is_unreadable_mq_06(data: bytes) -> None:
    assert isinstance(decode_json(data), Unreadable)


def test_what_is_too_long_is_not_read_at_all_mq_06() -> None:
    assert decode_json(text() + b" " * MESSAGE_BYTES_MAX) == Unreadable("too long")


@pytest.mark.parametrize(
    "data",
    [
        text()[:-1] + b', "seq": 7}',
        text()[:-1] + b', "s\\u0065q": 8}',
        text().replace(b'"seat": 1', b'"seat": 1, "seat": 1'),
        text()[:-1] + b', "felt": {"a": 1, "a": 2}}',
        text()[:-1] + b', "felt": [[{"a": 1, "a": 2}]]}',
    ],
)
def test_a_doubled_key_anywhere_makes_a_message_unreadable_mq_06(data: bytes) -> None:
    assert decode_json(data) == Unreadable("a key is doubled")


keys = st.sampled_from(["a", "b", "x:y", "::", "\u00e9"])
inner = st.recursive(
    st.sampled_from(["1", "null", '"x:y"', '":"', "[]", "{}"]),
    lambda one: st.one_of(
        st.lists(one, max_size=3).map(lambda parts: "[" + ",".join(parts) + "]"),
        st.lists(st.tuples(keys, one), max_size=3).map(
            lambda pairs: "{" + ",".join(f'"{key}":{part}' for key, part in pairs) + "}"
        ),
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(keys, inner), max_size=4))
def test_a_doubled_key_is_found_however_the_text_is_built(pairs: list[tuple[str, str]]) -> None:
    written = '"v":1,"device":"d","boot":"b","seq":1,"type":"lock","round":1,"wagers":[]'
    written = "{" + ",".join([written, *(f'"{key}":{part}' for key, part in pairs)]) + "}"
    doubled = False

    def note(found: list[tuple[str, Any]]) -> None:
        nonlocal doubled
        doubled = doubled or len({key for key, _ in found}) < len(found)

    json.loads(written, object_pairs_hook=note)
    assert isinstance(decode_json(written.encode()), Unreadable) == doubled


@pytest.mark.parametrize(
    "changed",
    [{"v": 2}, {"v": "1"}, {"v": True}, {"v": 1.0}, {"v": None}, {"device": ""}, {"device": 5}, {"device": "a/b"},
     {"boot": None}, {"boot": ["b1"]}, {"seq": 0}, {"seq": 2**32}, {"seq": 7.0}, {"seq": True}, {"seq": "7"}],
)  # fmt: skip
def test_without_a_readable_key_a_message_uses_up_no_number(changed: dict[str, Any]) -> None:
    assert isinstance(decode_json(text(**changed)), Unreadable)


@pytest.mark.parametrize(
    "changed",
    [{"type": "dance"}, {"type": None}, {"type": 5}, {"type": ["lock"]}, {"type": "ack"}, {"round": 0},
     {"round": 2**32}, {"round": True}, {"round": None}, {"wagers": None}, {"wagers": {}}, {"wagers": [None]},
     {"wagers": ["seat"]}, {"wagers": [{}]}, {"wagers": [{"seat": 1, "spot": "p", "cents": 500.0}]},
     {"wagers": [{"seat": 1, "spot": None, "cents": 500}]}, {"wagers": [{"seat": 1, "spot": "", "cents": 500}]},
     {"wagers": [{"seat": 256, "spot": "p", "cents": 500}]}, {"wagers": [{"seat": 1, "spot": "p", "cents": -1}]},
     {"wagers": [{"seat": 1, "spot": "p", "cents": 5}] * 65}, {"note": {"deep": float(10)}, "round": 1.5}],
)  # fmt: skip
def test_a_message_that_is_wrong_after_its_number_is_malformed_with_all_its_content(changed: dict[str, Any]) -> None:
    found = decode_json(text(**changed))
    assert isinstance(found, Malformed)
    assert (found[:3], json.loads(found.text)) == (KEY, LOCK | changed)


@pytest.mark.parametrize("kind", ["hits", "close", "void", "count", "notice"])
def test_a_message_that_lacks_its_fields_is_malformed(kind: str) -> None:
    bare = {"v": 1, "device": "hub-01", "boot": "b1", "seq": 7, "type": kind}
    assert isinstance(decode_json(json.dumps(bare).encode()), Malformed)


def test_an_empty_list_of_hits_is_malformed() -> None:
    assert isinstance(decode_json(text(type="hits", hits=[])), Malformed)


def test_a_lock_without_wagers_is_a_lock() -> None:
    assert decode_json(text(wagers=[])) == Lock(*KEY, 3, ())


@pytest.mark.parametrize("kind", ["hello", "heartbeat"])
@pytest.mark.parametrize("changed", [{"v": 2}, {"device": None}, {"boot": ""}])
def test_a_hello_or_heartbeat_that_names_nobody_is_not_answered(kind: str, changed: dict[str, Any]) -> None:
    assert decode_json(text(type=kind, **changed)) is None


@pytest.mark.parametrize("kind", ["hello", "heartbeat"])
@pytest.mark.parametrize("changed", [{}, {"last_seq": -1}, {"kept": 1}])
def test_a_hello_or_heartbeat_with_another_field_wrong_is_heard_and_no_more(kind: str, changed: dict[str, Any]) -> None:
    found = decode_json(text(type=kind, **changed))
    assert isinstance(found, Heard) and found.boot == KEY[1]


def test_a_heartbeat_with_a_doubled_key_is_not_answered() -> None:
    assert decode_json(b'{"v":1,"type":"heartbeat","device":"d","device":"d"}') is None


def test_nesting_at_any_depth_ends_in_an_answer_mq_06() -> None:
    for depth in (10, 100, *range(900, 1000, 3), 10_000):
        deep = text()[:-1] + b', "round": "x", "deep": ' + b"[" * depth + b"]" * depth + b"}"
        assert isinstance(decode_json(deep.replace(b'"round": 3, ', b"")), Malformed | Unreadable)


one_wager = st.fixed_dictionaries(
    {
        "seat": st.sampled_from([0, 1, 255, 256, -1, True, 1.0, "1", None]),
        "spot": st.sampled_from(["progressive", "p", "", "a b", "x" * 65, None, 5, ["p"]]),
        "cents": st.sampled_from([0, 500, 10_000_000, 10_000_001, -1, False, 5.0, "5", None]),
    }
)
good_wager = st.fixed_dictionaries(
    {"seat": st.integers(0, 255), "spot": st.sampled_from(["p", "q"]), "cents": st.integers(0, 10_000_000)}
)
GENERIC = listing(Wager, (Field("seat", SEAT), Field("spot", ID), Field("cents", CENTS)), LIST_MAX)


@given(
    st.one_of(
        st.lists(st.one_of(good_wager, one_wager), max_size=4),
        st.lists(good_wager, min_size=60, max_size=68),
        st.lists(st.sampled_from([None, 5, "seat", [], {}, {"seat": 1}, {"seat": 1, "spot": "p", "cents": 5, "x": 1}])),
        st.sampled_from([None, {}, 5, "wagers"]),
    )
)
def test_the_quick_check_of_wagers_takes_exactly_what_the_table_says(listed: Any) -> None:
    def outcome(check: Any) -> Any:
        try:
            return check(listed)
        except WrongField:
            return "wrong"

    assert outcome(messages._check_wagers) == outcome(GENERIC.check)


@given(st.binary(max_size=60))
def test_any_frame_ends_in_an_answer_and_never_in_an_error(payload: bytes) -> None:
    found = decode_binary(payload)
    if found is not None and not isinstance(found, Unreadable | Malformed):
        assert decode_binary(encode_binary(found)) == found


@pytest.mark.parametrize("message", [*UPS[:5], UPS[6], UPS[8], UPS[10]])  # those without optional fields at their end
def test_a_frame_cut_short_is_never_taken_for_a_whole_message(message: Up) -> None:
    payload = encode_binary(message)
    for cut in range(len(payload)):
        found = decode_binary(payload[:cut])
        assert found is None or isinstance(found, Unreadable | Malformed | Heard), f"cut at {cut}"


def test_a_reader_skips_optional_fields_of_a_later_firmware() -> None:
    close = Close(*KEY, 3, "b1")
    assert decode_binary(encode_binary(close) + b"\x63\x02hi") == close


def test_a_numbered_frame_of_an_unknown_code_is_malformed_and_uses_up_its_number() -> None:
    payload = bytearray(encode_binary(Close(*KEY, 3, "b1")))
    payload[1] = 99
    assert decode_binary(bytes(payload)) == Malformed(*KEY, '{"frame":"' + payload.hex() + '"}')


def test_a_frame_of_another_version_is_unreadable() -> None:
    assert isinstance(decode_binary(b"\x02" + encode_binary(UPS[2])[1:]), Unreadable)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"v":1}', b'{"v":1,"type":[]}', b'{"v":2,"type":"who"}', b"\xff"])
def test_a_device_takes_no_nonsense_for_a_message_of_the_host(data: bytes) -> None:
    assert isinstance(decode_json_down(data), Unreadable)
    assert isinstance(decode_binary_down(data), Unreadable)


def test_a_malformed_message_has_no_written_form() -> None:
    with pytest.raises(TypeError):
        encode_json(Malformed(*KEY, "{}"))
    with pytest.raises(TypeError):
        encode_binary(Malformed(*KEY, "{}"))


@pytest.mark.parametrize("value", [{}, {"type": "hello"}, {"type": "lock"}, {"type": "dance"}])
def test_a_content_that_is_no_message_is_an_error_of_the_caller(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no message"):
        from_content(*KEY, value)


def test_the_cache_of_wagers_is_bounded() -> None:
    assert messages._wager_text.cache_info().maxsize == 4096
