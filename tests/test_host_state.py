"""What the box tells of alarms: its clock, its certificates, its disk."""

import subprocess
import time
from pathlib import Path

import pytest

from controller.host_state import DAY_US, HostState, certificate_end, clock_synchronised
from controller.metrics import Stats

AT = 1_796_162_400_000_000
SECOND = 1_000_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 of ten days, with its key in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", cert, "-days", "10", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both


def test_the_end_of_a_certificate_is_read(certificate: Path) -> None:
    written = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-in", certificate], check=True,
                             capture_output=True, text=True).stdout.strip().partition("=")[2]
    end = certificate_end(certificate)
    assert end is not None
    assert time.strftime("%b %e %H:%M:%S %Y GMT", time.gmtime(end // SECOND)) == written


@pytest.mark.parametrize("content", [
    b"", b"no certificate", b"\xff" * 70_000, b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
    b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----"])
def test_a_file_that_is_no_certificate_has_no_end(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cert.pem"
    path.write_bytes(content)
    assert certificate_end(path) is None


def test_a_certificate_that_is_not_there_has_no_end(tmp_path: Path) -> None:
    assert certificate_end(tmp_path / "none.pem") is None


def test_the_days_of_the_certificate_that_ends_first_are_told(certificate: Path) -> None:
    end = certificate_end(certificate)
    assert end is not None
    told = HostState([certificate], 30).told(Stats(), 0.0, end - 3 * DAY_US - SECOND)
    assert told.certificate_days == 3


def test_slow_commits_are_those_of_the_last_minute() -> None:
    host, stats = HostState([], 30), Stats()
    host.told(stats, 0.0, AT)
    for _ in range(4):
        stats.commit_us.observe(600_000)
    seen = [host.told(stats, 0.0, AT + second * SECOND).slow_commits for second in (1, 30, 59, 62, 122)]
    assert seen == [4, 4, 4, 0, 0]


def test_a_quick_commit_is_not_slow() -> None:
    host, stats = HostState([], 30), Stats()
    host.told(stats, 0.0, AT)
    stats.commit_us.observe(500_000)
    assert host.told(stats, 0.0, AT + SECOND).slow_commits == 0


def test_how_long_the_writer_is_at_its_batch_is_told_in_microseconds() -> None:
    assert HostState([], 30).told(Stats(), 2.5, AT).stuck_us == 2_500_000


def test_the_system_is_asked_for_its_clock() -> None:
    assert clock_synchronised() in (True, False, None)


class Shut:
    """A C library whose adjtimex the sandbox refuses."""

    def adjtimex(self, _: object) -> int:
        return -1


@pytest.mark.parametrize(("marks", "said"), [(("timesync", "timesync/synchronized"), True), (("timesync",), False),
                                             ((), None)])
def test_where_the_kernel_may_not_be_asked_the_mark_of_the_time_service_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marks: tuple[str, ...], said: bool | None
) -> None:
    monkeypatch.setattr("controller.host_state.ctypes.CDLL", lambda _: Shut())
    for mark in marks:
        (tmp_path / mark).mkdir() if mark == "timesync" else (tmp_path / mark).touch()
    assert clock_synchronised(tmp_path / "timesync") is said


@pytest.mark.parametrize(("answer", "said"), [(0, True), (5, False)])
def test_the_kernel_says_whether_the_clock_is_kept(
    monkeypatch: pytest.MonkeyPatch, answer: int, said: bool
) -> None:
    shut = Shut()
    monkeypatch.setattr(shut, "adjtimex", lambda _: answer)
    monkeypatch.setattr("controller.host_state.ctypes.CDLL", lambda _: shut)
    assert clock_synchronised() is said
