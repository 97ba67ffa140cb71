"""``meterctl training`` and ``make demo`` take a new or empty folder, or go on with their own; never a real floor's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from floor_files import ROOT, contract_floor
from ledger_house import contract_plan, opened

from controller import demo
from controller.cli import main
from controller.training import MARK, NotOurs, TrainingFolder

Files = dict[str, bytes]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be; whoever gets as far as to begin a broker ends there."""

    def no_broker(*_: object) -> None:
        sys.exit(77)

    monkeypatch.setattr(demo, "start_broker", no_broker)
    return tmp_path / "floor"


def files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def train(folder: Path) -> tuple[int, str]:
    made = CliRunner().invoke(main, ["training", str(folder)])
    return made.exit_code, made.output


def real_floor(folder: Path) -> None:
    """A floor of people, in the files' own names."""
    folder.mkdir()
    contract_floor(folder)
    opened(folder / "ledger.db", contract_plan())
    (folder / "people.db").write_bytes(b"secrets")


def refused(folder: Path, said: str) -> None:
    """Exit code 2, what is so, what to do; and every file is as it was."""
    before = files(folder)
    code, told = train(folder)
    assert (code, said in told, "ame a" in told) == (2, True, True), told
    assert files(folder) == before


def test_a_real_floor_is_refused_and_left_as_it_is(folder: Path) -> None:
    real_floor(folder)
    refused(folder, "is no training floor")


@pytest.mark.parametrize("name", ["floor.toml", "ledger.db", "people.db", "meterd.toml", "mosquitto.conf", "notes.txt"])
def test_a_folder_with_one_file_of_somebody_is_left_as_it_is(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).write_text("mine")
    refused(folder, f"is not empty ({name})")


def test_a_new_and_an_empty_folder_become_a_training_floor_that_goes_on(folder: Path) -> None:
    """The second and the third time too, each with ports of its own."""
    folder.mkdir()
    for _ in range(3):
        assert train(folder)[0] == 77
        kept = files(folder)
        assert {MARK, "floor.toml", "ledger.db", "people.db"} <= kept.keys()
        assert b'environment = "training"' in kept["floor.toml"]


def test_a_training_floor_whose_file_somebody_has_changed_is_left_as_it_is(folder: Path) -> None:
    """It may have become a real one, in production even."""
    train(folder)
    file = folder / "floor.toml"
    file.write_text(file.read_text().replace('"training"', '"production"'))
    refused(folder, "is not the one that was written here")


@pytest.mark.parametrize("environment", ["production", "test"])
def test_the_ledger_of_another_environment_in_a_marked_folder_is_left_as_it_is(folder: Path, environment: str) -> None:
    train(folder)
    for path in folder.glob("ledger.db*"):
        path.unlink()
    opened(folder / "ledger.db", contract_plan(lambda floor: floor["site"].update(environment=environment)))
    refused(folder, f"is the ledger of a {environment} floor")


def test_a_ledger_that_cannot_be_read_is_left_as_it_is(folder: Path) -> None:
    train(folder)
    (folder / "ledger.db").write_bytes(b"not a ledger at all")
    for path in folder.glob("ledger.db-*"):
        path.unlink()
    refused(folder, "no training ledger can be read there")


def test_a_floor_that_is_running_is_not_begun_again(folder: Path) -> None:
    train(folder)
    running = TrainingFolder(folder)
    refused(folder, "is running")
    running.close()
    assert train(folder)[0] == 77


def test_a_run_that_was_cut_off_between_mark_and_file_is_gone_on_with(folder: Path) -> None:
    held = TrainingFolder(folder)
    first = held.write_floor("one").read_bytes()
    held.write_floor("two")
    held.close()
    (folder / "floor.toml").write_bytes(first)
    TrainingFolder(folder).close()
    (folder / "floor.toml").write_text("three")
    with pytest.raises(NotOurs):
        TrainingFolder(folder)


def test_a_file_in_place_of_the_folder_is_refused(folder: Path) -> None:
    folder.write_text("mine")
    assert (train(folder)[0], folder.read_text()) == (2, "mine")
    with pytest.raises(NotOurs):
        TrainingFolder(folder)


# ---------------------------------------------------------------------- make demo


def ran(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "controller.demo", *words], cwd=folder, capture_output=True, text=True, timeout=60,
        check=False, env=os.environ | {"PYTHONPATH": str(ROOT)})


def test_make_demo_leaves_a_real_floor_in_its_folder_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    real_floor(tmp_path / "var/demo")
    before = files(tmp_path)
    made = ran(tmp_path)
    assert (made.returncode, "is no training floor" in made.stderr, files(tmp_path)) == (2, True, before), made


def test_the_demo_says_how_it_is_called(tmp_path: Path) -> None:
    made = ran(tmp_path, "--help")
    assert (made.returncode, "usage: python -m controller.demo" in made.stdout, made.stderr) == (0, True, "")


@pytest.mark.parametrize("words", [("--port", "1"), ("pages",), ("1", "2"), ("0",), ("65536",), ("-1",), ("8688.5",)])
def test_the_demo_refuses_what_it_does_not_know_and_touches_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = ran(tmp_path, *words)
    assert (made.returncode, "Traceback" in made.stderr, "usage:" in made.stderr) == (2, False, True)
    assert json.dumps(sorted(files(tmp_path))) == "[]"
