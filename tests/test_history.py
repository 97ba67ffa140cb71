"""The history beside the ledger: each distinct content once, bounded, kept thirty days, in nobody's way (D12, D17)."""

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from controller import history
from controller.evidence import Asked, make
from controller.history import DAY_US, History, day_files, holds, pack, prune, read, write_holds
from controller.money import format_cents
from controller.sign import MeterShown, Pace, RowShown, Shown, TableShown, WinShown
from firmware_bridge.messages import Bet, Close, Count, Hello, Lamp, Lamps, Lock, Wager
from tests.ledger_house import applied, lock

AT = 1_796_162_400_000_000
"""2026-12-01 22:00 UTC."""
DAY = "2026-12-01.jsonl"
SECOND = 1_000_000


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.at = AT

    def __call__(self) -> int:
        return self.at


def shown(sign: str = "sign-01", cents: int = 1_000_000, durable: int = 1_000_000, **parts: Any) -> Shown:
    """A sign that is live and shows one meter on its way to ``durable`` cents, of which the prize rows speak."""
    amount = format_cents(cents)
    meter = MeterShown("pg-link", "Linked", amount, cents, False, "No limit", ("PG-01",), Pace(cents, cents, AT))
    rows = tuple(RowShown(f"Hand {place}", "$5.00", f"{place}% {format_cents(durable * place // 100)}", "", "$100.00")
                 for place in range(1, 9))
    made: dict[str, Any] = {
        "sign": sign, "environment": "TEST", "title": "Floor", "meters": (meter,), "rows": rows, "lines": (),
        "table": TableShown("PG-01", "OPEN", ""), "win": None, "live": True, "why": "", "at": AT}
    return Shown(**made | parts)


def written(folder: Path, name: str = DAY) -> list[dict[str, Any]]:
    """The lines of a day."""
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def kinds(lines: Iterable[dict[str, Any]]) -> list[str]:
    """What kind each line is of."""
    return [line["kind"] for line in lines]


@pytest.fixture
def clock() -> Clock:
    """Where the history is told the time."""
    return Clock()


@pytest.fixture
def kept(tmp_path: Path, clock: Clock) -> Iterator[History]:
    """A history that writes until the test ends."""
    made = History(tmp_path, clock)
    made.start("meterd 1")
    yield made
    made.end()


def test_a_sign_s_amount_is_kept_with_the_time_it_was_told(tmp_path: Path, kept: History) -> None:
    """D12: what a sign showed is on record, to be laid beside the server's value."""
    kept.sign(AT + 5, shown(cents=1_000_028))
    kept.end()
    line = next(line for line in written(tmp_path) if line["kind"] == "sign")
    assert line == {"at": AT + 5, "kind": "sign", "who": ["sign-01"], "amounts": {"pg-link": "$10,000.28"}}


def test_a_sign_that_is_told_the_same_again_makes_no_line(tmp_path: Path, kept: History) -> None:
    for turn in range(100):
        kept.sign(AT + turn, shown())
    kept.end()
    assert kinds(written(tmp_path)).count("sign") == 1


def test_every_distinct_amount_is_kept_however_quick(tmp_path: Path, kept: History) -> None:
    for cents in range(400):
        kept.sign(AT + cents, shown(cents=1_000_000 + cents))
    kept.end()
    told = [line["amounts"]["pg-link"] for line in written(tmp_path) if line["kind"] == "sign"]
    assert told == [format_cents(1_000_000 + cents) for cents in range(400)]


def test_an_award_on_a_sign_and_a_sign_that_is_not_live_are_kept(tmp_path: Path, kept: History) -> None:
    win = WinShown("PENDING", "PG-01", 3, "Royal", "$7,000.04", 700_004, "$8,000.16", ("pg-link",), AT, 0)
    kept.sign(AT, shown(win=win))
    kept.sign(AT + 1, shown(live=False, why="No fresh amounts"))
    kept.end()
    lines = written(tmp_path)
    wins = [line["win"] and line["win"]["award"] for line in lines if line["kind"] == "sign-win"]
    states = [line["why"] for line in lines if line["kind"] == "sign-state"]
    assert (wins, states) == (["$7,000.04", None], ["", "No fresh amounts"])


def test_a_hundred_signs_that_show_the_same_share_a_line_and_are_read_by_name(tmp_path: Path, kept: History) -> None:
    names = [f"sign-{number:03}" for number in range(100)]
    for name in names:
        kept.sign(AT, shown(name))
    kept.end()
    line = next(line for line in written(tmp_path) if line["kind"] == "sign")
    resolved = [json.loads(text) for text in read(tmp_path, [(AT, AT)], Counter())]
    assert "who" not in line
    assert next(line for line in resolved if line["kind"] == "sign")["who"] == names


def test_what_the_floor_does_is_kept_by_table(tmp_path: Path, kept: History) -> None:
    kept.unit("PG-01", Hello("hub-01", "b1", "2.1.0", "power", 7, ()))
    kept.key("PG-01", Count("hub-01", "b1", 2, 1, 4, "b1"))
    kept.bets("PG-01", [Bet(5, "progressive"), Bet(3, "progressive")])
    kept.lamps("PG-01", Lamps(1, (Lamp(3, "progressive", "locked"), Lamp(5, "progressive", "locked"))))
    kept.playable("PG-01", False, "table unit offline")
    kept.line("line-1", False, "unplugged")
    kept.sign_line("sign-01", True, "$10,000.28")
    kept.end()
    made = {line["kind"]: line for line in written(tmp_path)}
    assert made["unit"]["firmware"] == "2.1.0"
    assert (made["key-count"]["boot"], made["key-count"]["seq"]) == ("b1", 2)
    assert made["bets"]["bets"] == {"progressive": [3, 5]}
    assert made["lamps"]["lamps"] == {"locked": {"progressive": [3, 5]}}
    assert made["playable"]["why"] == "table unit offline"
    assert (made["line"]["up"], made["line"]["cause"]) == (False, "unplugged")
    assert made["sign-line"]["told"] == "$10,000.28"


def test_each_day_s_file_says_again_what_stood_at_midnight(tmp_path: Path, kept: History, clock: Clock) -> None:
    kept.playable("PG-01", True, "")
    clock.at += DAY_US
    kept.line("line-1", True)
    kept.end()
    again = [line for line in written(tmp_path, "2026-12-02.jsonl") if line["kind"] == "playable"]
    assert again[0]["again"] is True


def test_a_clock_set_back_writes_into_the_day_that_it_shows(tmp_path: Path, kept: History, clock: Clock) -> None:
    clock.at += DAY_US
    kept.line("line-1", True)
    clock.at -= DAY_US
    kept.line("line-1", False)
    kept.end()
    assert [line["up"] for line in written(tmp_path) if line["kind"] == "line"][-1] is False


def test_what_finds_no_room_in_memory_is_counted_and_the_count_is_written(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "WAITING_MAX", 10)
    made = History(tmp_path, clock)
    for turn in range(25):
        made.line(f"line-{turn}", True)
    made.start("meterd 1")
    made.end()
    assert written(tmp_path)[-1]["lines"] == made.lines_left_out == 16


def test_a_day_that_is_full_takes_only_the_count(tmp_path: Path, clock: Clock) -> None:
    made = History(tmp_path, clock, day_bytes=1_000)
    made.start("meterd 1")
    for turn in range(500):
        clock.at += SECOND
        made.line("line-1", True, str(turn))
    made.end()
    assert (tmp_path / DAY).stat().st_size < 1_300
    assert (written(tmp_path)[-1]["kind"], written(tmp_path)[-1]["lines"]) == ("left-out", made.lines_left_out)


def test_a_disk_that_is_nearly_full_is_left_to_the_ledger(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SD-09."""
    monkeypatch.setattr(history, "FREE_MIN", 1 << 62)
    made = History(tmp_path, clock)
    made.start("meterd 1")
    made.line("line-1", True)
    made.end()
    assert (kinds(written(tmp_path)), "nearly full" in made.trouble) == (["left-out"], True)


def test_a_unit_that_talks_without_end_fills_no_day(tmp_path: Path, kept: History) -> None:
    """SD-09."""
    for seq in range(1, 1_000):
        kept.key("PG-01", Count("hub-01", "b1", seq, 1, 4, "b1"))
        kept.key("PG-02", Close("hub-02", "b1", 1, 1, "b1"))
    kept.end()
    made = kinds(written(tmp_path))
    assert (made.count("key-count"), made.count("key-close"), kept.lines_left_out) == (10, 1, 989)


def test_a_disk_that_takes_nothing_is_named_and_stops_nobody(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "history").write_text("a file where the folder should be")
    made = History(tmp_path / "history", clock)
    made.start("meterd 1")
    made.line("line-1", True)
    made.end()
    assert (made.lines_left_out, str(tmp_path) in made.trouble) == (2, True)


def test_a_line_that_a_power_cut_tore_spoils_no_other(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / DAY).write_text('{"at":1796162')
    made = History(tmp_path, clock)
    made.start("meterd 1")
    made.line("line-1", True)
    made.end()
    found: Counter[str] = Counter()
    lines = [json.loads(line)["kind"] for line in read(tmp_path, [(AT, AT)], found)]
    assert (lines, found["unreadable"]) == (["begin", "line"], 1)


def test_a_history_without_a_folder_keeps_nothing(tmp_path: Path) -> None:
    history.NOWHERE.start("a tool")
    history.NOWHERE.line("line-1", True)
    history.NOWHERE.end()
    assert list(tmp_path.iterdir()) == []


def test_what_stood_when_a_window_opens_comes_before_it(tmp_path: Path, kept: History, clock: Clock) -> None:
    for minute in range(60):
        clock.at = AT + minute * 60 * SECOND
        kept.line("line-1", minute % 2 == 0, str(minute))
    kept.end()
    window = (AT + 600 * SECOND + 1, AT + 660 * SECOND)
    lines = [json.loads(line) for line in read(tmp_path, [window], Counter())]
    assert [(line["cause"], line.get("standing", False)) for line in lines if line["kind"] == "line"] == [
        ("10", True), ("11", False)]


def test_what_stood_is_told_even_when_nothing_changed_in_the_window(tmp_path: Path, kept: History) -> None:
    kept.playable("PG-01", True, "")
    kept.end()
    lines = [json.loads(line) for line in read(tmp_path, [(AT + SECOND, AT + 2 * SECOND)], Counter())]
    assert next(line for line in lines if line["kind"] == "playable")["standing"] is True


def test_a_day_that_is_over_is_packed_and_read_all_the_same(tmp_path: Path, kept: History, clock: Clock) -> None:
    kept.line("line-1", True)
    clock.at += DAY_US
    kept.line("line-2", True)
    kept.end()
    lines = [json.loads(line) for line in read(tmp_path, [(AT, AT)], Counter())]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2026-12-01.jsonl.gz", "2026-12-02.jsonl"]
    assert kinds(lines) == ["begin", "line"]


def test_a_day_that_the_clock_came_back_to_is_packed_with_what_came_later(tmp_path: Path) -> None:
    for cause in ("one", "two"):
        (tmp_path / DAY).write_text(json.dumps({"at": AT, "kind": "line", "who": ["line-1"], "cause": cause}) + "\n")
        pack(tmp_path, date(2026, 12, 2))
    assert [json.loads(line)["cause"] for line in read(tmp_path, [(AT, AT)], Counter())] == ["one", "two"]


def test_a_packed_day_that_is_damaged_gives_what_can_be_read(tmp_path: Path) -> None:
    line = {"at": AT, "kind": "line", "who": ["line-1"]}
    lines = [json.dumps(line | {"cause": str(turn * 7919)}) for turn in range(9_999)]
    (tmp_path / DAY).write_text("\n".join(lines) + "\n")
    pack(tmp_path, date(2026, 12, 2))
    packed = tmp_path / f"{DAY}.gz"
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    found: Counter[str] = Counter()
    assert 1_000 < len(list(read(tmp_path, [(AT, AT)], found))) < 9_999
    assert found["unreadable"] >= 1


def test_the_history_around_a_disputed_game_is_in_its_evidence(tmp_path: Path, clock: Clock) -> None:
    """D16."""
    ledger = tmp_path / "ledger.db"
    applied(ledger, [lock(1, 1, 3)], at=AT)
    made = History(history.folder_of(ledger), clock)
    clock.at -= 60 * SECOND
    made.start("meterd 1")
    made.playable("PG-01", True, "")
    made.end()
    make(ledger, tmp_path / "e.zip", Asked("PG-01", 1), by="dora", at=AT, program="meterctl 1")
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        lines = [json.loads(line) for line in archive.read("history.jsonl").splitlines()]
    assert kinds(lines) == ["begin", "playable"]


# ---------------------------------------------------------------------- how long it is kept

TODAY = date(2026, 12, 31)


def days(folder: Path, count: int) -> Path:
    """So many days up to today, and what is none of ours."""
    folder.mkdir(exist_ok=True)
    for back in range(count):
        (folder / f"{(TODAY - timedelta(days=back)).isoformat()}.jsonl").write_text("{}\n")
    (folder / "2026-13-40.jsonl").write_text("no day")
    (folder / "notes.txt").write_text("not ours")
    return folder


def test_thirty_days_are_kept_and_older_ones_go(tmp_path: Path) -> None:
    folder = days(tmp_path, 40)
    removed = prune(folder, 30, TODAY)
    assert len(removed) == 9
    assert day_files(folder)[0][0] == TODAY - timedelta(days=30)
    assert (folder / "notes.txt").exists()


def test_nothing_goes_while_a_legal_hold_stands(tmp_path: Path) -> None:
    """D17: nothing about a disputed round can be overwritten."""
    folder = days(tmp_path, 40)
    write_holds(folder, ["table PG-01 game 41, by dora"])
    assert (prune(folder, 30, TODAY), holds(folder)) == ([], ["table PG-01 game 41, by dora"])


def test_a_hold_that_is_lifted_lets_old_days_go(tmp_path: Path) -> None:
    folder = days(tmp_path, 40)
    write_holds(folder, ["a dispute"])
    write_holds(folder, [])
    assert len(prune(folder, 30, TODAY)) == 9


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b""), lambda path: path.mkdir()])
def test_a_hold_file_that_says_nothing_or_cannot_be_read_holds_all_the_same(tmp_path: Path, make: Any) -> None:
    folder = days(tmp_path, 40)
    make(folder / history.HOLD)
    assert prune(folder, 30, TODAY) == []


def test_a_clock_in_a_wrong_year_removes_nothing(tmp_path: Path) -> None:
    folder = days(tmp_path, 30)
    assert prune(folder, 30, date(2099, 1, 1)) == []


def test_fewer_than_thirty_days_are_refused(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(ValueError, match="30 days at least"):
        History(tmp_path, clock, days=29)


def test_the_first_line_of_a_new_day_removes_the_oldest(tmp_path: Path, clock: Clock) -> None:
    folder = days(tmp_path / "history", 40)
    clock.at = AT + 31 * DAY_US
    made = History(folder, clock)
    made.start("meterd 1")
    made.end()
    assert day_files(folder)[0][0] > TODAY - timedelta(days=39)


# ---------------------------------------------------------------------- how much it is


def a_minute(kept: History, clock: Clock, tables: int = 100) -> None:
    """Linked tables at forty games an hour, six wagers each; every sign runs its amounts up in four steps."""
    cents, games = 1_000_000, tables * 40 // 60
    for game in range(games):
        clock.at = AT + game * 60 * SECOND // games
        table = f"PG-{game % tables:03}"
        places = [Bet(seat, "progressive") for seat in range(1, 7)]
        for laid in range(1, 7):
            kept.bets(table, places[:laid])
            kept.lamps(table, Lamps(0, tuple(Lamp(bet.seat, bet.spot, "placed") for bet in places[:laid])))
        kept.key(table, Lock(f"hub-{table}", "b1", game * 3 + 1, game, tuple(Wager(*bet, 500) for bet in places)))
        kept.key(table, Count(f"hub-{table}", "b1", game * 3 + 2, game, 6, "b1"))
        kept.key(table, Close(f"hub-{table}", "b1", game * 3 + 3, game, "b1"))
        kept.lamps(table, Lamps(game, tuple(Lamp(bet.seat, bet.spot, "locked") for bet in places)))
        kept.bets(table, [])
        durable = cents + 30
        for step in range(4):
            cents = min(durable, cents + 8)
            for sign in range(tables):
                kept.sign(clock.at + step * SECOND // 4, shown(f"sign-{sign:03}", cents, durable))


def test_a_busy_day_of_a_hundred_tables_stays_below_a_day_s_limit(
    tmp_path: Path, kept: History, clock: Clock
) -> None:
    """SD-09. Twenty-four hours at this pace; docs/EVIDENCE.md names the number."""
    a_minute(kept, clock)
    kept.end()
    day_bytes = (tmp_path / DAY).stat().st_size * 1_440
    assert (kept.lines_left_out, day_bytes < history.DAY_BYTES) == (0, True), day_bytes
