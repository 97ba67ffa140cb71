"""What the service manager is told (sd_notify's protocol), on a real socket."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.notify import Notify


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(2)
        yield made


def test_lines_go_in_one_message(systemd: socket.socket) -> None:
    Notify(systemd.getsockname()).say("WATCHDOG=1", "STATUS=3 of 3 tables live; books open")
    assert systemd.recv(1000) == b"WATCHDOG=1\nSTATUS=3 of 3 tables live; books open"


def test_an_abstract_socket_is_written_with_an_at_sign() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind("")  # the system names it, in the abstract space
        made.settimeout(2)
        Notify("@" + made.getsockname()[1:].decode()).say("READY=1")
        assert made.recv(100) == b"READY=1"


def test_the_environment_names_the_socket(systemd: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
    Notify.from_environment().say("STOPPING=1")
    assert systemd.recv(100) == b"STOPPING=1"


def test_without_a_service_nothing_is_said_and_nothing_is_wrong(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Notify.from_environment().say("READY=1")
    assert caplog.records == []


def test_a_listener_that_is_gone_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    notify = Notify(str(tmp_path / "nobody"))
    for _ in range(3):
        notify.say("WATCHDOG=1")
    assert len(caplog.records) == 1
