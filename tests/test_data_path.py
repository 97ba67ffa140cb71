"""docs/DATA_PATH.md, walked: one lock-out through the real parts, and every name in the document is there."""

import importlib
import random
import re
from pathlib import Path

from floors import contract_floor, plan_of

from controller.board import Board
from controller.floor import Floor
from controller.intake import from_its_line, read_frame
from controller.ledger.reader import Reader
from controller.ledger.writer import Batch, create, open_writer
from controller.sign import show
from controller.snapshot import Snapshot
from controller.wiring import SignKind, SignPlan
from firmware_bridge.device import Hub
from firmware_bridge.frames import FrameReader, encode_frame
from firmware_bridge.messages import (
    Ack,
    Layout,
    Lock,
    Playable,
    SpotLayout,
    SpotOutcomes,
    Wager,
    Welcome,
    encode_binary,
)
from firmware_bridge.outbox import Outbox
from firmware_bridge.session import Session

ROOT = Path(__file__).parent.parent
DOCUMENT = (ROOT / "docs/DATA_PATH.md").read_text()


def hub_that_may_play() -> Hub:
    """A hub of table PG-01 that the host has welcomed."""
    hub = Hub("hub-01", 6, random.Random(1), 0.0)
    layout = Layout((SpotLayout("progressive", 500),), (SpotOutcomes("progressive", ("five-aces",)),))
    for said in (Welcome((), None), layout, Playable(True, "ready")):
        hub.received(said, 0.0)
    return hub


def test_one_lock_out_goes_through_every_step_and_is_acknowledged_only_when_durable(tmp_path: Path) -> None:
    plan = plan_of(contract_floor())
    path = tmp_path / "ledger.db"
    create(path, [Batch("main", *Floor.opened(plan, "main", 0, "init").drain())])
    floor, writer, board = Reader(path).floor(plan, "main"), open_writer(path, Reader(path).heads()), Board(plan)

    hub = hub_that_may_play()  # 1
    hub.bet(2, "progressive")
    hub.lock()
    sent = [message for message in hub.tick(0.1) if isinstance(message, Lock)]
    assert len(sent) == 1

    payloads = FrameReader().feed(encode_frame(encode_binary(sent[0])))  # 2
    message = from_its_line(read_frame(plan, payloads[0]), "hub-01")  # 3
    assert message == sent[0]

    session, outbox = Session("hub-01"), Outbox()  # 4
    session.heard("serial-01", message, 0.1)
    assert session.state(0.2) == "live"

    assert not floor.asks(message)  # 5
    (taken,) = floor.take(message, 1)  # 6
    entries, states = floor.drain()
    assert taken.result == "posted" and sum(posting.microcents for posting in entries[0].postings) == 0
    assert not len(outbox) and "pg-link" not in board.meters, "nothing is said or shown before the commit"

    writer.write([Batch("main", entries, states)])  # 7
    assert Reader(path).heads()["main"][0] == entries[0].number

    board.learn("main", entries, states)  # 8
    outbox.ack(taken.boot, taken.seq)
    said: list[object] = []
    outbox.drain(lambda down: not said.append(down))
    assert said == [Ack(sent[0].boot, 1)]
    hub.received(said[0], 0.2)  # type: ignore[arg-type]
    assert hub.unacknowledged == 0
    sign = SignPlan("s", SignKind.PAGE, None, ("pg-link",), 9, None, True)
    snapshot = Snapshot(plan, 1, 1, "", {}, board.meters, board.tables, (), (), 0, (), "")
    assert show(sign, snapshot, 1, None).meters[0].amount == "$10,000.05"


def test_a_failed_commit_is_read_back_from_the_ledger(tmp_path: Path) -> None:
    """Step 9: what was computed and not written has not happened."""
    plan = plan_of(contract_floor())
    path = tmp_path / "ledger.db"
    create(path, [Batch("main", *Floor.opened(plan, "main", 0, "init").drain())])
    floor = Reader(path).floor(plan, "main")
    floor.take(Lock("hub-01", "b1", 1, 1, (Wager(2, "progressive", 500),)), 1)
    again = Reader(path).floor(plan, "main")
    assert again.meters["pg-link"].display == 1_000_000_000_000 < floor.meters["pg-link"].display


def test_every_file_and_function_that_the_document_names_is_there() -> None:
    missing = []
    file = r"`((?:controller|firmware_bridge)/[\w/]+\.py)`"
    for path, names in re.findall(file + r"((?:,? ?\n? *(?:and )?`[\w.]+`)*)", DOCUMENT):
        module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
        for name in re.findall(r"`([\w.]+)`", names):
            found: object = module
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is None:
                missing.append(f"{path} {name}")
    assert not missing
    assert len(re.findall(file, DOCUMENT)) > 15


def test_the_readme_names_only_what_is_there() -> None:
    text = (ROOT / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert links and [link for link in links if not (ROOT / link).exists()] == []
