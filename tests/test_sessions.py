"""Sign-ins under pressure and in races, without a browser between (WE-05, SD-09)."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from people_house import DORA, HASH, SECRET, STAFF, PeopleHouse

from controller.vault import SESSIONS_MAX, Vault
from controller.web import sessions
from controller.web.sessions import HASHES_AT_ONCE, NAME_AT_ONCE, WAITING_MAX, SignInRefused, SignIns, local_path

PEER = "10.0.0.1"


class Hashing:
    """A stand-in for the slow part: counts how many run at once, and waits until it may end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.most = self.ran = 0
        self.go = threading.Event()
        self.go.set()
        self._lock = threading.Lock()
        monkeypatch.setattr(sessions, "verify_secret", self)

    def __call__(self, hashed: str | None, secret: str) -> bool:
        with self._lock:
            self.now += 1
            self.ran += 1
            self.most = max(self.most, self.now)
        self.go.wait(10)
        with self._lock:
            self.now -= 1
        return hashed == HASH and secret == SECRET


@pytest.fixture
def house() -> PeopleHouse:
    return PeopleHouse()


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    return Hashing(monkeypatch)


@pytest.fixture
def sign_ins(house: PeopleHouse, tmp_path: Path) -> SignIns:
    vault = Vault(tmp_path / "people.db")
    for name in house.rows("main", "person"):
        vault.keep_hash(name, HASH)
    web = house.wiring.web
    assert web is not None
    return SignIns(house, vault, web)


async def outcome(asked: Any) -> str:
    try:
        await asked
    except SignInRefused as refused:
        return refused.what
    return "in"


async def test_two_secrets_are_hashed_at_once_and_no_more(sign_ins: SignIns, hashing: Hashing) -> None:
    came = await asyncio.gather(*(outcome(sign_ins.check(one.id, SECRET, PEER)) for one in STAFF * 2))
    assert set(came) == {"in"}
    assert hashing.most <= HASHES_AT_ONCE


async def test_a_crowd_is_turned_away_and_told_so(sign_ins: SignIns, hashing: Hashing) -> None:
    hashing.go.clear()
    asked = [asyncio.create_task(outcome(sign_ins.check(f"n{n}", SECRET, PEER))) for n in range(WAITING_MAX + 5)]
    await asyncio.sleep(0)
    hashing.go.set()
    came = await asyncio.gather(*asked)
    assert came.count("too many people sign in at once") == 5


async def test_guesses_sent_together_do_not_slip_past_the_waits(sign_ins: SignIns, hashing: Hashing) -> None:
    """WE-05: check, then act."""
    await asyncio.gather(*(outcome(sign_ins.check("dora", "wrong", f"10.0.1.{n}")) for n in range(200)))
    assert hashing.ran <= NAME_AT_ONCE
    assert not sign_ins._names


async def test_who_is_disabled_while_the_secret_is_looked_at_does_not_get_in(
    house: PeopleHouse, sign_ins: SignIns, hashing: Hashing
) -> None:
    hashing.go.clear()
    asked = asyncio.create_task(outcome(sign_ins.check("anna", SECRET, PEER)))
    await asyncio.sleep(0)
    await sign_ins.act("person-disabled", "disable-1", DORA, {"id": "anna", "reason": "left"})
    hashing.go.set()
    assert await asked == "name or secret is wrong"


async def test_a_thousand_guesses_cost_few_hashes_and_few_entries(
    house: PeopleHouse, sign_ins: SignIns, hashing: Hashing
) -> None:
    """WE-05, SD-09: one guess each tenth of a second at one name, from many peers."""
    for n in range(1_000):
        await outcome(sign_ins.check("dora", "wrong", f"10.1.{n // 250}.{n % 250}"))
        if n % 10 == 9:
            house.later(1)
    assert hashing.ran < 64
    assert house.kinds().count("sign-in-refused") <= 8


async def test_one_peer_at_many_names_is_slowed_as_well(
    house: PeopleHouse, sign_ins: SignIns, hashing: Hashing
) -> None:
    """WE-05: slow guessing over many accounts."""
    for n in range(1_000):
        await outcome(sign_ins.check(f"name{n}", "wrong", PEER))
        if n % 10 == 9:
            house.later(1)
    assert hashing.ran < 40
    assert house.kinds().count("sign-in-refused") <= 6


async def test_sessions_are_bounded_and_the_longest_unused_ends_first(
    house: PeopleHouse, sign_ins: SignIns, hashing: Hashing
) -> None:
    for _ in range(SESSIONS_MAX + 2):
        await sign_ins.open("dora", SECRET, PEER)
    assert len(sign_ins._sessions) == len(sign_ins.vault.sessions()) == SESSIONS_MAX


@pytest.mark.parametrize(("given", "led"), [
    ("/people", "/people"), ("/reports?day=2026-12-01", "/reports?day=2026-12-01"), ("", "/"), ("people", "/"),
    ("//evil.example", "/"), ("/\\evil.example", "/"), ("https://evil.example", "/"), ("/x\r\nset-cookie: a=b", "/"),
    ("/\u00e9", "/"), ("/" + "x" * 600, "/")])
def test_nobody_is_led_elsewhere(given: str, led: str) -> None:
    assert local_path(given) == led
