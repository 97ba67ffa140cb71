"""Signing in as reckoning: waits, lives of sessions, what a secret must be, and who a peer truly is (WE-05, R-105)."""

from pathlib import Path

import pytest
from floor_files import Copy, contract_floor
from hypothesis import given
from hypothesis import strategies as st

from controller.config_reader import KEYS
from controller.sign_in import (
    FREE_OF_NAME,
    KEYS_MAX,
    PAIRS_MAX,
    SECOND_US,
    WAIT_OF_NAME_S,
    WAIT_OF_PEER_S,
    Backoff,
    is_aged,
    is_over,
    is_remote,
    life,
    networks,
    secret_fault,
    true_peer,
)
from controller.wiring import PRIVATE_NETWORKS, WebPlan

AT = 1_800_000_000 * SECOND_US
LIVES = life(15, 12, 90)
MINUTE_US = 60 * SECOND_US
WEB_KEYS = ("bind", "port", "tls_cert", "tls_key", "idle_minutes", "session_hours", "secret_days", "proxies",
            "networks", "remote", "open_floor_page")  # fmt: skip


# Back-off


def test_a_few_typing_errors_cost_no_wait() -> None:
    backoff = Backoff()
    for _ in range(FREE_OF_NAME - 1):
        backoff.failed("anna", "10.0.0.1", AT)
    assert backoff.wait_s("anna", "10.0.0.1", AT) == 0


def test_waits_double_up_to_their_bound() -> None:
    backoff, waits = Backoff(), []
    for n in range(12):
        backoff.failed("anna", f"10.0.0.{n}", AT)
        waits.append(backoff.wait_s("anna", "10.0.0.0", AT))
    assert waits == [0, 0, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]


def test_one_peer_that_tries_many_names_waits() -> None:
    """WE-05: slow guessing over many accounts."""
    backoff = Backoff()
    for n in range(40):
        backoff.failed(f"name{n}", "10.0.0.1", AT)
    assert backoff.wait_s("fresh", "10.0.0.1", AT) == WAIT_OF_PEER_S


def test_one_peer_with_many_addresses_of_ipv6_is_one_peer() -> None:
    backoff = Backoff()
    for n in range(40):
        backoff.failed(f"name{n}", f"2001:db8:1:2::{n:x}", AT)
    assert backoff.wait_s("fresh", "2001:db8:1:2:ffff::1", AT) == WAIT_OF_PEER_S
    assert backoff.wait_s("fresh", "2001:db8:1:3::1", AT) == 0


def test_all_staff_behind_one_proxy_may_mistype_now_and_then() -> None:
    """WE-05."""
    backoff = Backoff()
    for n in range(15):
        backoff.failed(f"name{n}", "10.0.0.1", AT)
    assert backoff.wait_s("fresh", "10.0.0.1", AT) == 0


def test_who_signed_in_from_a_peer_before_is_not_kept_out_by_others() -> None:
    """WE-05: 200 wrong for the only supervisor on shift."""
    backoff = Backoff()
    backoff.succeeded("anna", "10.0.0.1")
    for _ in range(200):
        backoff.failed("anna", "10.0.0.66", AT)
    assert backoff.wait_s("anna", "10.0.0.1", AT) == 0


def test_a_known_pair_still_waits_for_its_own_failures() -> None:
    backoff = Backoff()
    backoff.succeeded("anna", "10.0.0.1")
    for _ in range(9):
        backoff.failed("anna", "10.0.0.1", AT)
    assert backoff.wait_s("anna", "10.0.0.1", AT) == WAIT_OF_NAME_S


def test_failures_are_forgiven_after_an_hour_without_one() -> None:
    backoff = Backoff()
    for _ in range(9):
        backoff.failed("anna", "10.0.0.1", AT)
    later = AT + 61 * MINUTE_US
    assert backoff.failed("anna", "10.0.0.1", later) == 1
    assert backoff.wait_s("anna", "10.0.0.1", later) == 0


def test_a_burst_is_kept_at_its_doublings() -> None:
    """SD-09."""
    backoff = Backoff()
    kept = [backoff.failed("anna", "10.0.0.1", AT) for _ in range(1_000)]
    assert [count for count in kept if count] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_many_names_from_one_peer_are_one_burst() -> None:
    """SD-09."""
    backoff = Backoff()
    kept = [backoff.failed(f"name{n}", "10.0.0.1", AT) for n in range(1_000)]
    assert len([count for count in kept if count]) == 10


def test_a_clock_set_back_makes_no_wait_longer_than_its_bound() -> None:
    backoff = Backoff()
    for _ in range(9):
        backoff.failed("anna", "10.0.0.1", AT)
    back = AT - 3_600 * SECOND_US
    assert backoff.wait_s("anna", "10.0.0.1", back) == WAIT_OF_NAME_S
    assert backoff.wait_s("anna", "10.0.0.1", back + WAIT_OF_NAME_S * SECOND_US) == 0


def test_what_is_remembered_is_bounded() -> None:
    backoff = Backoff()
    for n in range(KEYS_MAX):
        backoff.failed(f"name{n}", f"peer{n}", AT)
        backoff.succeeded(f"name{n}", f"peer{n}")
    assert len(backoff._failures) <= KEYS_MAX
    assert len(backoff._known) == PAIRS_MAX


TRIES = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["p", "q"]), st.integers(0, 10**9))


@given(st.lists(TRIES, max_size=60))
def test_no_wait_is_ever_negative_or_above_its_bound(tries: list[tuple[str, str, int]]) -> None:
    backoff = Backoff()
    for name, peer, at in tries:
        backoff.failed(name, peer, at)
        assert 0 <= backoff.wait_s(name, peer, at) <= WAIT_OF_PEER_S


# Sessions and secrets


@pytest.mark.parametrize(("began", "seen", "over"), [
    (0, 0, False), (-15 * MINUTE_US, -15 * MINUTE_US, False), (-16 * MINUTE_US, -15 * MINUTE_US - 1, True),
    (-720 * MINUTE_US, 0, False), (-720 * MINUTE_US - 1, 0, True),
    (4 * MINUTE_US, 4 * MINUTE_US, False), (6 * MINUTE_US, 6 * MINUTE_US, True),
])  # fmt: skip
def test_a_session_ends_idle_old_or_from_the_future(began: int, seen: int, over: bool) -> None:
    assert is_over(AT + began, AT + seen, AT, LIVES) is over


def test_a_secret_is_old_after_its_days() -> None:
    days = 90 * 86_400 * SECOND_US
    assert [is_aged(AT - days, AT, LIVES), is_aged(AT - days - 1, AT, LIVES)] == [False, True]


@pytest.mark.parametrize(("secret", "said"), [
    ("eleven-char", "shorter"), ("x" * 201, "longer"), ("new\nline in here", "control"),
    ("ababababababab", "one letter"),
    ("i am Anna today", "own name"), ("beispiel twelve", "own name"),
    ("correct horse battery", ""), ("пароль длинный", ""),
])  # fmt: skip
def test_a_secret_is_long_and_no_name_and_nothing_else_is_asked(secret: str, said: str) -> None:
    fault = secret_fault(secret, "anna", "Anna Beispiel")
    assert said in fault if said else fault == ""


# Peers


@pytest.mark.parametrize(("peer", "forwarded", "true"), [
    ("203.0.113.9", "10.0.0.1", "203.0.113.9"),
    ("10.9.9.9", "", "10.9.9.9"),
    ("10.9.9.9", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
    ("10.9.9.9", "203.0.113.9, 10.9.9.8", "203.0.113.9"),
    ("10.9.9.9", "<script>", "unknown"),
    ("::ffff:10.9.9.9", "203.0.113.9", "203.0.113.9"),
    ("testclient", "", "unknown"),
])
def test_only_a_listed_proxy_is_believed_from_the_right(peer: str, forwarded: str, true: str) -> None:
    """WE-05."""
    assert true_peer(peer, forwarded, networks(["10.9.9.8/31"])) == true


@pytest.mark.parametrize(("peer", "remote"), [
    ("127.0.0.1", False), ("::1", False), ("192.168.7.7", False), ("::ffff:10.0.0.1", False), ("fe80::1%eth0", False),
    ("203.0.113.9", True), ("2001:db8::1", True), ("unknown", True), ("", True),
])
def test_remote_is_who_is_neither_here_nor_in_the_sites_networks(peer: str, remote: bool) -> None:
    """R-105."""
    assert is_remote(peer, networks(PRIVATE_NETWORKS)) is remote


# Configuration


@pytest.fixture
def floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    monkeypatch.setitem(KEYS, "web", WEB_KEYS)  # type: ignore[arg-type]
    return contract_floor(tmp_path)


def test_people_sign_in_under_the_usual_rules_unless_configured(floor: Copy) -> None:
    web = floor.add("[web]").wiring().web
    assert web == WebPlan("127.0.0.1", 8688, None, None, 15, 12, 90, (), PRIVATE_NETWORKS, False, True)


def test_every_rule_of_signing_in_is_configurable(floor: Copy) -> None:
    floor.add('[web]\ntls_cert = "c.pem"\ntls_key = "k.pem"\nidle_minutes = 5\nsession_hours = 8\nsecret_days = 30\n'
              'proxies = ["10.1.2.3"]\nnetworks = ["10.1.0.0/16"]\nremote = true\nopen_floor_page = false')
    assert floor.wiring().web == WebPlan(
        "127.0.0.1", 8688, floor.folder / "c.pem", floor.folder / "k.pem", 5, 8, 30, ("10.1.2.3/32",),
        ("10.1.0.0/16",), True, False)


@pytest.mark.parametrize("line", [
    "idle_minutes = 0", "session_hours = 25", "secret_days = 0", 'proxies = "10.1.2.3"', "networks = [1]",
    'networks = ["10.1.2.3/16"]', "remote = 1", 'tls_cert = "c.pem"',
])
def test_a_wrong_rule_of_signing_in_is_refused_by_its_key(floor: Copy, line: str) -> None:
    key = line.partition(" ")[0]
    assert f"floor.toml: [web] {key}" in floor.add(f"[web]\n{line}").refused()
