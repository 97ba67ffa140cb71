"""What is owed, found by the quick way, against a walk through every entry of random nights of many people (R-85)."""

from contextlib import suppress
from pathlib import Path

import pytest
from award_night import Night
from report_house import reading

from controller.journal import Entry
from controller.ledger.writer import Batch, create
from controller.meter import BrokenInvariant
from controller.reports import open_awards
from controller.reports.awards import Awards
from controller.reports.open_awards import OpenAwards
from controller.reports.reading import Reading, body_of

SEEDS = (4, 6, 7, 9, 11, 13, 17, 19)
Key = tuple[str, int, int, str]


class Noted(Night):
    """A night whose entries are noted."""

    def __init__(self, seed: int) -> None:
        self.noted: list[Entry] = []
        super().__init__(seed)

    def compare(self) -> None:
        self.noted += self.engine.entries
        super().compare()


@pytest.fixture(scope="module", params=SEEDS)
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random night; what ends it early is the engine's matter, and found by its own tests."""
    played = Noted(request.param)
    played.noted += played.engine.entries
    played.engine.entries.clear()
    with suppress(AssertionError, BrokenInvariant):
        for _ in range(260):
            played.step()
    entries = [entry._replace(at=entry.at + entry.number * 420_000_000) for entry in played.noted]
    path = tmp_path_factory.mktemp("owed") / "ledger.db"
    create(path, [Batch("main", entries, [])])
    return path


def walked(look: Reading, end: int) -> dict[Key, tuple[int, int]]:
    """By award: cents owed to the player and to the others, by following each hand through every entry."""
    due: dict[Key, int] = {}
    envy: dict[Key, int] = {}
    outcome: dict[Key, str] = {}
    awards = Awards(look, "main")
    for entry in look.entries("main", 0, end):
        for change in awards.take(entry):
            hand, now = change.hand, change.after
            key = (hand.table, hand.game, hand.seat, hand.spot)
            if now is None or now.tray:
                due[key] = envy[key] = 0
                outcome.pop(key, None)
            elif outcome.get(key) != now.outcome or change.before is None:
                due[key], envy[key], outcome[key] = now.due, now.envy, now.outcome
            elif change.before is not None:
                due[key] += now.due - change.before.due
                envy[key] += now.envy - change.before.envy
        if entry.kind in ("award-paid", "envy-paid", "paid-in-error"):
            body = body_of(entry)
            fields = body["fields"]
            key = (fields["table"], fields["game"], fields["seat"], fields["spot"])
            if entry.kind == "award-paid":
                due[key] = 0
            else:
                envy[key] = 0 if entry.kind == "paid-in-error" else envy[key] - body["told"]["cents"]
    return {key: (owed, envy[key]) for key, owed in due.items() if owed or envy[key]}


def found(look: Reading, end: int) -> dict[Key, tuple[int, int]]:
    """The same by the quick way."""
    quick = OpenAwards()
    quick.follow(look, "main", end)
    return {key: (each.owed, each.envy_owed) for key, each in quick.open.items()}


def ends(look: Reading) -> list[int]:
    """Eight instants over the night."""
    last = look.last("main")[1] + 1
    first = next(iter(look.between("main", 1, 1))).at
    return [first + (last - first) * part // 8 for part in range(1, 9)]


def test_the_quick_way_finds_what_the_walk_finds_at_any_instant(night: Path) -> None:
    with reading(night) as look:
        assert [found(look, end) for end in ends(look)] == [walked(look, end) for end in ends(look)]


def test_it_finds_the_same_when_it_may_remember_one_settled_game(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that was let go of, and is put right later, is read again."""
    monkeypatch.setattr(open_awards, "GAMES_KEPT", 1)
    with reading(night) as look:
        assert [found(look, end) for end in ends(look)] == [walked(look, end) for end in ends(look)]


def test_it_finds_the_same_in_one_stream_as_by_numbers(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reading(night) as look:
        by_numbers = found(look, ends(look)[-1])
        monkeypatch.setattr(open_awards, "FEW", 0)
        assert found(look, ends(look)[-1]) == by_numbers


def test_what_is_beyond_the_bound_is_counted_as_not_followed(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_awards, "OPEN_MAX", 0)
    with reading(night) as look:
        quick = OpenAwards()
        quick.follow(look, "main", ends(look)[-1])
        assert quick.open == {}
        assert quick.lost >= len({key[:2] for key in walked(look, ends(look)[-1])})
