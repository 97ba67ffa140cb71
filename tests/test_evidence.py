"""One archive about a dispute, proved elsewhere: nothing missing, every change found (D16, D17, R-60, MO-10)."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller import evidence
from controller.cli_evidence import check_file, evidence_command
from controller.evidence import Asked, NotThere, make
from controller.evidence_check import SIZES, BadEvidence, check, hash_of, seal_of
from controller.ledger.reader import Reader
from tests.desk_house import ANNA, BEN, CARL, DORA, Desk
from tests.floors import CONTRACT
from tests.ledger_house import AT, ROOT, applied, change, every_kind, hit, lock, rows, said
from tests.meter_house import OPENING, meter_plan
from tests.report_house import Played, kept

Json = dict[str, Any]
Work = Callable[[bytes], bytes]
Forge = Callable[..., str]
TOP, ROYAL = "7-card-straight-flush", "royal-flush-royal-match"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with every kind of entry. Tests leave it as it is."""
    return every_kind(tmp_path_factory.mktemp("day") / "ledger.db")


@pytest.fixture(scope="module")
def whole(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive about PG-01's first game."""
    return made(day, tmp_path_factory.mktemp("archive") / "e.zip", Asked("PG-01", 1, 2))


def made(ledger: Path, out: Path, asked: Asked, **more: Any) -> Path:
    """An archive, made."""
    make(ledger, out, asked, by="dora, dispute 7", at=AT, program="meterctl 1", **more)
    return out


def members(path: Path) -> dict[str, bytes]:
    """What an archive holds."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def lines(path: Path, name: str = "entries.jsonl") -> list[Json]:
    """The objects of a member."""
    return [json.loads(line) for line in members(path)[name].splitlines()]


def manifest(path: Path) -> Json:
    """An archive's manifest."""
    return dict(json.loads(members(path)["manifest.json"]))


def wrong(path: Path) -> str:
    """What is wrong with an archive; empty for a good one."""
    try:
        with zipfile.ZipFile(path) as archive:
            check(archive)
    except BadEvidence as bad:
        return str(bad)
    return ""


def rebuilt(path: Path, out: Path, changes: Mapping[str, Work], *, sums: bool = True) -> Path:
    """A copy with changed members; ``sums``: the forger has made manifest and seal anew."""
    held = members(path)
    held |= {name: work(held[name]) for name, work in changes.items()}
    if sums:
        told = json.loads(held["manifest.json"])
        told["members"] = {name: {"bytes": len(raw), "sha256": sha256(raw).hexdigest()} for name, raw in held.items()
                           if name not in ("manifest.json", "seal.txt")}
        held["manifest.json"] = json.dumps(told).encode()
        held["seal.txt"] = seal_of(held["manifest.json"])
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in held.items():
            archive.writestr(name, raw)
    return out


def on_entry(number: int, work: Callable[[Json], object], hashes: str = "as they were") -> Work:
    """Change one entry of entries.jsonl; ``hashes``: ``its own`` is made right again, or that of ``all`` after it."""

    def change_it(raw: bytes) -> bytes:
        found, previous = [json.loads(line) for line in raw.splitlines()], ""
        for line in found:
            mine = line["number"] == number
            if mine:
                work(line)
            elif hashes == "all" and previous:
                line["previous"] = previous
            if hashes != "as they were" and (mine or (hashes == "all" and previous)):
                line["hash"] = previous = hash_of(line)
        return b"".join(json.dumps(line).encode() + b"\n" for line in found)

    return change_it


def on_json(work: Callable[[Json], object]) -> Work:
    """Change a member that is one object."""

    def change_it(raw: bytes) -> bytes:
        told = json.loads(raw)
        work(told)
        return json.dumps(told).encode() + b"\n"

    return change_it


def without(number: int) -> Work:
    """Take an entry out."""
    return lambda raw: b"".join(line for line in raw.splitlines(True) if json.loads(line)["number"] != number)


@pytest.fixture
def forge(whole: Path, tmp_path: Path) -> Forge:
    """What is wrong with PG-01's archive once members are changed."""
    return lambda changes, sums=True: wrong(rebuilt(whole, tmp_path / "f.zip", changes, sums=sums))


def test_an_archive_holds_every_entry_from_the_meter_s_last_reset_to_the_head(day: Path, whole: Path) -> None:
    numbers = [line["number"] for line in lines(whole)]
    assert numbers == list(range(3, rows(day, "SELECT max(number) FROM entry")[0][0] + 1))
    assert (manifest(whole)["whole"], wrong(whole)) == (True, "")


def test_making_it_changes_nothing_in_the_ledger(day: Path, tmp_path: Path) -> None:
    """R-78."""
    before = sha256(day.read_bytes()).hexdigest()
    made(day, tmp_path / "e.zip", Asked("PG-02", 2))
    assert sha256(day.read_bytes()).hexdigest() == before


def test_the_same_question_at_the_same_moment_makes_the_same_archive(day: Path, whole: Path, tmp_path: Path) -> None:
    assert made(day, tmp_path / "again.zip", Asked("PG-01", 1, 2)).read_bytes() == whole.read_bytes()


def test_who_asked_and_when_what_program_answered_and_the_configuration_are_on_record(whole: Path) -> None:
    told, programs = manifest(whole), json.loads(members(whole)["programs.json"])
    own = (ROOT / "controller" / "evidence.py").read_bytes()
    assert (told["by"], told["at"], told["what"]) == ("dora, dispute 7", AT, "table PG-01, game 1, seat 2")
    assert programs["files"]["controller/evidence.py"] == sha256(own).hexdigest()
    assert any(library.startswith("SQLAlchemy ") for library in programs["libraries"])
    assert [line["number"] for line in lines(whole, "config.jsonl")] == [2]


@pytest.mark.parametrize(("asked", "words"), [
    (Asked("PG-01", 77), "has no game 77"), (Asked("PG-77", 1), "there is no table PG-77; the ledger has PG-01"),
    (Asked("PG-01", start=1, end=2), "no entries in these hours"),
    (Asked("PG-01", 1, 5), "seat 5 had no award in game 1 of table PG-01; seat 2 had one")])
def test_what_is_not_in_the_ledger_makes_no_file(day: Path, tmp_path: Path, asked: Asked, words: str) -> None:
    with pytest.raises(NotThere, match=words):
        made(day, tmp_path / "e.zip", asked)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_left_alone(day: Path, tmp_path: Path) -> None:
    (tmp_path / "e.zip").write_text("mine")
    with pytest.raises(NotThere, match="give another name"):
        made(day, tmp_path / "e.zip", Asked("PG-01", 1))
    assert (tmp_path / "e.zip").read_text() == "mine"


def test_a_stick_that_knows_no_links_takes_an_archive(day: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "link", lambda *_: (tmp_path / "no links here").read_bytes())
    assert wrong(made(day, tmp_path / "e.zip", Asked("PG-01", 1))) == ""


@pytest.fixture
def disputed(tmp_path: Path) -> Path:
    """MO-10: $5,000 and 20% of the meter, envy for two, a returned wager; a void game before; then corrected by people.
    Everything is restarted between any two steps."""
    ledger, floor = tmp_path / "ledger.db", Desk()
    for step in (
            lambda: floor.lock(1, 1, 2), lambda: floor.void(1), lambda: floor.lock(2, 1, 2, 3),
            lambda: floor.hit(2, 2, ROYAL), lambda: floor.close(2),
            lambda: floor.act("hit-changed", ANNA, BEN, game=2, seat=2, outcome=TOP, reason="read again"),
            lambda: floor.act("hit-changed", ANNA, BEN, game=2, seat=2, outcome=ROYAL, reason="a royal after all")):
        step()
        kept(ledger, floor)
        reader = Reader(ledger)
        floor.floor = reader.floor(floor.plan, "main")
        game = reader.recall_game("main", "PG-01", 2) if floor.floor.find_game("PG-01/2") is None else None
        if game is not None:
            floor.floor.remember_game(game[0], floor.plan.tables["PG-01"])
        reader.close()
    return ledger


def test_a_corrected_win_re_adds_to_the_cent_from_the_archive_alone(disputed: Path, tmp_path: Path) -> None:
    archive = made(disputed, tmp_path / "e.zip", Asked("PG-01", 2, 2))
    disputed.unlink()
    (meter,) = manifest(archive)["meters"]
    moved: Counter[str] = Counter()
    for line in lines(archive):
        for name, account, microcents, _balance in line["postings"]:
            if meter["since"] < line["number"] <= meter["until"] and name == "pg-link":
                moved[account] += microcents
    # PT4: 1% of each $5 wager to the display and 1% to the reserve; two wagers voided, three standing.
    wagers = (2 + 3) * 5_000_000
    found = 1_000_000_000_000 + wagers
    award = -(-found * 20 // 100 // 1_000_000)  # rounding "up", to the whole cent
    assert moved["pending"] == award * 1_000_000
    assert moved["display"] == wagers - award * 1_000_000
    assert (moved["players"], moved["house"]) == (-3 * 10_000_000, -2 * 10_000_000)
    inside = moved["display"] + moved["reserve"] + moved["overflow"]
    assert meter["end"] == meter["start"] + inside == meter["start"] + (
        meter["contributed"] + meter["house"] - meter["awarded"])
    assert wrong(archive) == ""


def test_the_record_in_words_tells_all_parts_of_the_win_and_who_did_what(disputed: Path, tmp_path: Path) -> None:
    record = members(made(disputed, tmp_path / "e.zip", Asked("PG-01", 2, 2)))["record.txt"].decode()
    for words in ("Wager at seat 2, progressive: $5.00", "from the meter (20%) + $5,000.00 fixed + the wager of $5.00",
                  "as the game's hands found it: display $10,000.25", "Envy of seat 1:", "Envy of seat 3:",
                  "Signed by anna (supervisor, table-games)", "Signed by ben", "read again"):
        assert words in record


def test_a_void_game_re_adds_to_nothing_for_the_players(disputed: Path, tmp_path: Path) -> None:
    archive = made(disputed, tmp_path / "e.zip", Asked("PG-01", 1))
    (meter,) = manifest(archive)["meters"]
    assert (meter["contributed"], meter["house"], meter["awarded"]) == (0, 2 * 10_000_000, 0)
    assert "reason: misdeal" in members(archive)["record.txt"].decode()


def test_a_meter_is_added_up_from_the_newest_jackpot_before_the_win(tmp_path: Path) -> None:
    """R-60: from the cycle after the previous jackpot."""
    ledger = tmp_path / "ledger.db"
    applied(ledger, [lock(1, 1, 3), hit(2, 1, 3, TOP), said("close", 3, round=1), lock(4, 2, 1, 2),
                     lock(1, 1, 1, device="hub-02"), hit(5, 2, 2, TOP)])
    archive = made(ledger, tmp_path / "e.zip", Asked("PG-01", 2, 2))
    (meter,) = manifest(archive)["meters"]
    jackpot = rows(ledger, "SELECT min(number) FROM entry WHERE kind = 'hits'")[0][0]
    assert (meter["since"], wrong(archive)) == (jackpot, "")


def test_a_meter_that_people_opened_is_added_up_from_its_accepted_opening(tmp_path: Path) -> None:
    at_the_desk = Desk(meter_plan(new=False))
    at_the_desk.plan = meter_plan()
    at_the_desk.floor.configure(at_the_desk.plan, at_the_desk.at)
    at_the_desk.act("opening-entered", CARL, **OPENING)
    at_the_desk.act("opening-accepted", DORA, meter="pg-next", base=OPENING["base"])
    at_the_desk.lock(1, 3, table="PG-04")
    archive = made(kept(tmp_path / "ledger.db", at_the_desk), tmp_path / "e.zip", Asked("PG-04", 1))
    (meter,) = manifest(archive)["meters"]
    assert (meter["start"], meter["end"], wrong(archive)) == (1_050_000_000_000, 1_050_010_000_000, "")


@pytest.mark.parametrize("most", [1_000_000, 5], ids=["whole", "parted"])
@pytest.mark.parametrize("seed", [3, 11])
def test_random_evenings_archives_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most: int) -> None:
    """Ties, limits, misdeals, late and split hits, on random floors: what is right is never called wrong."""
    monkeypatch.setattr(evidence, "WHOLE_MAX", most)
    played = Played(tmp_path / "ledger.db", seed, AT)
    played.go_on([AT + turn * 1_000_000 for turn in range(300)])
    games = rows(played.path, "SELECT DISTINCT [table], game FROM entry WHERE kind = 'lock' AND game IS NOT NULL")
    for number, (table, game) in enumerate(games[-4:]):
        assert wrong(made(played.path, tmp_path / f"{number}.zip", Asked(table, game))) == ""


@pytest.fixture
def parted(day: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of a long ledger: what has nothing to do with the question is left out."""
    monkeypatch.setattr(evidence, "WHOLE_MAX", 5)
    return made(day, tmp_path / "parted.zip", Asked("PG-01", 4))


def test_a_parted_archive_is_compared_with_its_ledger(day: Path, parted: Path, capsys: Any) -> None:
    told = manifest(parted)
    assert (told["whole"], len(told["runs"]) > 1, wrong(parted)) == (False, True, "")
    check_file(parted, str(day))
    assert "every run of entries is the ledger's own" in capsys.readouterr().out


def test_a_gap_that_the_manifest_does_not_name_is_found(parted: Path, tmp_path: Path) -> None:
    cut = {"entries.jsonl": without(manifest(parted)["runs"][0][1])}
    assert "entries are missing" in wrong(rebuilt(parted, tmp_path / "f.zip", cut))


def test_a_movement_left_out_of_a_parted_archive_is_found_by_the_balances(parted: Path, tmp_path: Path) -> None:
    """Even by a forger who makes runs and sums anew."""
    (meter,) = manifest(parted)["meters"]
    gone = next(line["number"] for line in lines(parted) if line["kind"] == "lock" and line["number"] > meter["since"])

    def runs(told: Json) -> None:
        told["runs"] = [[first, last] for one in told["runs"] for first, last in (
            [(one[0], gone - 1), (gone + 1, one[1])] if one[0] <= gone <= one[1] else [one]) if first <= last]

    cut = {"entries.jsonl": without(gone), "manifest.json": on_json(runs)}
    assert "but added up from entry" in wrong(rebuilt(parted, tmp_path / "f.zip", cut))


@pytest.mark.parametrize("name", SIZES)
def test_a_changed_byte_in_any_member_is_found(forge: Forge, name: str) -> None:
    assert forge({name: lambda raw: raw[:-2] + b" \n" if raw else b"{}\n"}, sums=False) != ""


@pytest.mark.parametrize("name", SIZES)
def test_a_missing_member_is_found(whole: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "f.zip", "w") as archive:
        for other in members(whole).keys() - {name}:
            archive.writestr(other, b"")
    assert f"{name} is missing" in wrong(tmp_path / "f.zip")


OTHER: dict[str, object] = {
    "book": "other", "number": 9_999, "at": 1, "kind": "count", "table": "PG-02", "game": None, "device": None,
    "boot": "b9", "seq": 77, "rules": 2, "body": '{"a":1}', "previous": "0" * 64, "hash": "f" * 64, "postings": []}


@pytest.mark.parametrize("hashes", ["as they were", "its own"])
@pytest.mark.parametrize("column", OTHER)
def test_a_changed_column_is_found_even_when_all_sums_are_made_anew(forge: Forge, column: str, hashes: str) -> None:
    found = forge({"entries.jsonl": on_entry(8, lambda line: line.update({column: OTHER[column]}), hashes)})
    assert (found != "") is (column != "hash" or hashes != "its own")  # its own right hash again: nothing was changed


def test_an_entry_taken_out_or_put_elsewhere_is_found(forge: Forge) -> None:
    swapped = on_entry(12, lambda line: line.update(number=11))
    assert forge({"entries.jsonl": without(12)}) != ""
    assert "stands after entry" in forge({"entries.jsonl": swapped})


@pytest.mark.parametrize("work", [
    lambda line: line.update(body=line["body"].replace('"to":[800016', '"to":[800017')),
    lambda line: line.update(body=line["body"].replace('"main":200004', '"main":200003')),
    lambda line: line["postings"].pop(),
], ids=["what was left on the meter", "the award", "a posting"])
def test_a_win_that_does_not_add_up_is_found_even_with_every_hash_made_anew(forge: Forge, work: Any) -> None:
    """MO-10: the parts of one win must agree with one another."""
    assert "entry 8: " in forge({"entries.jsonl": on_entry(8, work, "all")})


def test_a_chain_forged_to_its_end_is_found_by_the_ledger(
    day: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody can see it in the archive alone: that is what the head written down elsewhere is for."""
    chained = on_entry(11, lambda line: line.update(at=line["at"] + 1), "all")
    last = json.loads(chained(members(whole)["entries.jsonl"]).splitlines()[-1])
    head = on_json(lambda told: told["head"].update(hash=last["hash"]))
    forged = rebuilt(whole, tmp_path / "f.zip", {"entries.jsonl": chained, "manifest.json": head})
    assert wrong(forged) == ""
    with pytest.raises(SystemExit) as ended:
        check_file(forged, str(day))
    assert (ended.value.code, "is not the one in" in capsys.readouterr().err) == (1, True)


def test_a_changed_configuration_is_found_even_when_all_sums_are_made_anew(forge: Forge) -> None:
    other = on_entry(2, lambda line: line.update(body=line["body"].replace("$10.00", "$90.00")), "its own")
    assert "does not match its own hash" in forge({"config.jsonl": other})


@pytest.mark.parametrize("told", [
    {"first": 4}, {"head": {"number": 1, "hash": "0" * 64}}, {"whole": False}, {"runs": [[3, 50]]},
    {"previous": "0" * 64}, {"version": 2}, {"book": None}, {"meters": [1]}, {"head": {}}, {"members": {}}])
def test_a_manifest_that_says_otherwise_than_the_entries_is_found(forge: Forge, told: Json) -> None:
    forged = {"manifest.json": on_json(lambda made: made.update(told))}
    assert forge(forged, sums="members" not in told) != ""


@pytest.mark.parametrize("told", [{"since": 4}, {"until": 7}, {"start": 1}, {"awarded": 0}, {"end": 1}, {"meter": "x"}])
def test_a_meter_that_the_manifest_adds_up_otherwise_is_found(forge: Forge, told: Json) -> None:
    assert "the meters, added up" in forge({"manifest.json": on_json(lambda made: made["meters"][0].update(told))})


def test_a_damaged_ledger_still_gives_its_evidence_and_the_check_names_the_entry(tmp_path: Path) -> None:
    """D17: in a dispute the record is frozen as it is."""
    ledger = tmp_path / "ledger.db"
    applied(ledger, [lock(1, 1, 3), hit(2, 1, 3, ROYAL)])
    number = rows(ledger, "SELECT number FROM entry WHERE kind = 'lock'")[0][0]
    change(ledger, "UPDATE entry SET at = at + 1 WHERE number = ?", number)
    assert f"entry {number}: its content does not match its hash" in wrong(
        made(ledger, tmp_path / "e.zip", Asked("PG-01", 1)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", [
    "../outside.txt", "/etc/outside", "a\\..\\b", "notes.txt", "entries.jsonl/", "manifest.json"])
def test_a_name_that_evidence_never_has_or_has_once_is_refused(whole: Path, tmp_path: Path, name: str) -> None:
    """WE-07."""
    forged = tmp_path / "f.zip"
    shutil.copy(whole, forged)
    with zipfile.ZipFile(forged, "a") as archive:
        archive.writestr(name, "{}")
    assert "none of evidence" in wrong(forged)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.zip"]


def test_a_bomb_is_refused_by_its_size_before_it_is_unpacked(forge: Forge) -> None:
    assert "more than evidence ever has" in forge({"manifest.json": lambda _: bytes(8_000_000)}, sums=False)


@pytest.mark.parametrize("raw", [
    b"[" * 200_000, b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":1.5}', b"\xff\xfe", b"[]",
    b'{"number":' + b"9" * 9_000 + b"}", b'{"body":"\\ud800"}',
], ids=["deep", "twice", "nan", "fraction", "no text", "list", "huge", "surrogate"])
@pytest.mark.parametrize("name", ["manifest.json", "entries.jsonl", "config.jsonl"])
def test_json_that_evidence_never_has_is_refused_in_words(forge: Forge, name: str, raw: bytes) -> None:
    found = forge({name: lambda _: raw + b"\n"}, sums=name != "manifest.json")
    assert found != ""
    assert found.isprintable()


@pytest.mark.parametrize("work", [
    lambda line: line.update(body="[1]"), lambda line: line.update(body='{"settled":{"pg-link":7},"awards":[]}'),
    lambda line: line.update(body='{"settled":7,"awards":7}'), lambda line: line.update(body='{"told":7}'),
    lambda line: line.update(kind="\ud800"), lambda line: line["postings"].append(["a", "display", "1", 2]),
    lambda line: line["postings"].append(["\x1b[2J", "\x1b[31m", 0, 2]), lambda line: line.update(number=True),
], ids=["list", "settled", "numbers", "told", "surrogate", "posting", "terminal", "bool"])
def test_an_entry_of_no_known_form_is_refused_in_words(forge: Forge, work: Any) -> None:
    found = forge({"entries.jsonl": on_entry(8, work)})
    assert found != ""
    assert found.replace("\n", "").isprintable()


@pytest.mark.parametrize("cut", [0, 100, -1, -30, -3_000])
def test_a_file_that_is_cut_short_is_not_good(whole: Path, tmp_path: Path, cut: int, capsys: Any) -> None:
    (tmp_path / "f.zip").write_bytes(whole.read_bytes()[:cut])
    with pytest.raises(SystemExit) as ended:
        check_file(tmp_path / "f.zip", None)
    assert (ended.value.code, "NOT GOOD" in capsys.readouterr().err) == (1, True)

CHECK = "import pathlib; from controller.cli_evidence import check_file; check_file(pathlib.Path('e.zip'), None)"


def test_it_is_proved_elsewhere_with_the_ledger_gone(disputed: Path, tmp_path: Path) -> None:
    archive = made(disputed, tmp_path / "e.zip", Asked("PG-01", 2, 2))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    archive.rename(elsewhere / "e.zip")
    disputed.unlink()
    ran = subprocess.run([sys.executable, "-c", CHECK], cwd=elsewhere, env={"PYTHONPATH": str(ROOT)},
                         capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("GOOD: e.zip: table PG-01, game 2, seat 2;")


def meterctl(*words: object) -> Any:
    """``meterctl evidence`` with a clock that stands."""
    return CliRunner().invoke(evidence_command(lambda: AT, "meterctl 1"), [str(word) for word in words])


def test_meterctl_evidence_takes_hours_by_the_floor_s_clock_and_proves_what_it_made(day: Path, tmp_path: Path) -> None:
    ran = meterctl("--ledger", day, "--out", tmp_path / "e.zip", "--by", "dora", "--table", "PG-01",
                   "--from", "2026-12-01T16:59", "--to", "2026-12-01T17:01")
    assert (ran.exit_code, "GOOD: " in ran.output) == (0, True), ran.output
    assert sha256((tmp_path / "e.zip").read_bytes()).hexdigest() in ran.output
    told, known = manifest(tmp_path / "e.zip"), "SELECT count(*) FROM entry WHERE [table] = 'PG-01'"
    assert told["asked"] == {"table": "PG-01", "start": AT - 60_000_000, "end": AT + 60_000_000}
    assert told["entries_asked_about"] == rows(day, known)[0][0]


@pytest.mark.parametrize("words", [
    ["--award", "PG-01/1"], ["--award", "PG-01/x/2"], ["--table", "PG-01"], ["--game", "1"],
    ["--table", "PG-01", "--game", "1", "--from", "2026-12-01"],
    ["--table", "PG-01", "--from", "today", "--to", "2026"],
    ["--table", "PG-01", "--from", "2026-12-02", "--to", "2026-12-01"], ["--table", "PG-01", "--game", "99"], [],
])
def test_a_question_that_is_none_ends_with_2_and_makes_no_file(day: Path, tmp_path: Path, words: list[str]) -> None:
    ran = meterctl("--ledger", day, "--out", tmp_path / "e.zip", "--by", "dora", *words)
    assert (ran.exit_code, list(tmp_path.iterdir())) == (2, [])


def test_no_secret_of_the_configuration_is_in_an_archive(tmp_path: Path) -> None:
    """CF-06."""
    shutil.copytree(CONTRACT, tmp_path / "floor")
    config, mark = tmp_path / "floor" / "floor.toml", "hunter2-marker"
    with config.open("a") as file:
        file.write(f'\n[mqtt]\nhost = "127.0.0.1"\nusername = "meterd"\npassword_file = "{mark}"\n')
    applied(tmp_path / "floor" / "ledger.db", [lock(1, 1, 3), hit(2, 1, 3, ROYAL)])
    ran = meterctl("--config", config, "--out", tmp_path / "e.zip", "--by", "dora", "--award", "PG-01/1/3")
    assert ran.exit_code == 0, ran.output
    assert [name for name, raw in members(tmp_path / "e.zip").items() if mark.encode() in raw] == []


def test_the_readme_tells_how_to_check_the_first_hash_by_hand(whole: Path) -> None:
    """The words of README.txt, followed to the letter, without any code of the project."""
    line = lines(whole)[5]
    names = ["book", "number", "at", "kind", "table", "game", "device", "boot", "seq", "rules"]
    text = "".join(("\\N" if line[name] is None else str(line[name])) + "\n" for name in names)
    text += f"{len(line['postings'])}\n{line['body']}\n"
    text += "".join("\t".join(str(part) for part in posting) + "\n" for posting in line["postings"])
    assert sha256(bytes.fromhex(line["previous"]) + text.encode()).hexdigest() == line["hash"]
    assert "A null is written \\N." in members(whole)["README.txt"].decode()
