"""The shipped systemd units and monitoring files: they load, they are hardened, and they name things that exist."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from demo_snapshot import busy_snapshot
from prometheus_client.parser import text_string_to_metric_families

from controller.config_wiring import WEB_PORT
from controller.metrics import FloorCollector, Stats, exposition

ROOT = Path(__file__).parents[1]
SYSTEMD = ROOT / "systemd"
UNIT = SYSTEMD / "meterd.service"


def settings(section: str) -> dict[str, list[str]]:
    """All values of each key of one section of meterd.service, in order."""
    found: dict[str, list[str]] = {}
    inside = ""
    for line in UNIT.read_text().splitlines():
        if line.startswith("["):
            inside = line.strip("[]")
        elif inside == section and line and not line.startswith("#"):
            key, _, words = line.partition("=")
            found.setdefault(key, []).append(words)
    return found


def shell_of(setting: str) -> str:
    """The shell text of an ``Exec...=/bin/sh -c '...'`` line, as systemd would hand it to the shell."""
    match = re.fullmatch(r"[-+]*/bin/sh -c '(.*)'", setting)
    assert match, f"not a shell line: {setting}"
    return match[1].replace("$$", "$").replace("%n", "meterd.service")


def test_the_units_load_without_an_error_or_an_unknown_key(tmp_path: Path) -> None:
    """``--recursive-errors=yes`` makes a warning fail; in the copy /bin/true stands for the installed programs."""
    for unit in SYSTEMD.glob("*.service"):
        text = re.sub(r"/opt/meterd/\.venv/bin/\w+", "/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(text)
    verdict = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=yes", *sorted(tmp_path.glob("*.service"))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (verdict.returncode, verdict.stdout + verdict.stderr) == (0, "")


def test_the_service_is_exposed_by_no_more_than_two() -> None:
    """The threshold is in tenths: 20 is an exposure level of 2.0."""
    verdict = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", UNIT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert verdict.returncode == 0, verdict.stdout[-200:]


def test_serial_ports_stay_usable_under_the_hardening() -> None:
    """SD-05: the classes of serial ports are allowed, and nothing hides them or takes the dialout group away."""
    service = settings("Service")
    allowed = {words.split()[0] for words in service["DeviceAllow"] if words.split()[1] == "rw"}
    assert {"char-ttyS", "char-ttyUSB", "char-ttyACM", "char-pts"} <= allowed
    assert service["SupplementaryGroups"] == ["dialout lp"]
    assert not {"PrivateDevices", "PrivateUsers", "DynamicUser", "RootDirectory"} & set(service)


def test_a_usb_printer_is_usable_under_the_hardening() -> None:
    """`/dev/usb/lp0` is of the kernel's class "usb" (major 180) and belongs to the group lp."""
    allowed = {words.split()[0] for words in settings("Service")["DeviceAllow"] if words.split()[1] == "rw"}
    assert "char-usb" in allowed
    assert re.search(r"^m +meterd lp$", (SYSTEMD / "meterd.sysusers").read_text(), re.M)


@pytest.mark.parametrize("driver", ["usbserial", "cdc_acm"])
def test_a_class_of_ports_is_known_before_its_first_adapter_is_plugged_in(driver: str) -> None:
    """SD-05: a DeviceAllow= line for a driver that is not loaded at the start would be left out."""
    unit = settings("Unit")
    assert f"modprobe@{driver}.service" in " ".join(unit["Wants"])
    assert f"modprobe@{driver}.service" in " ".join(unit["After"])


def test_the_service_never_gives_up() -> None:
    """SD-04: no start limit, and no exit code, a config error's neither, keeps it down."""
    assert settings("Unit")["StartLimitIntervalSec"] == ["0"]
    assert settings("Service")["Restart"] == ["on-failure"]
    assert "RestartPreventExitStatus" not in settings("Service")


def run_with_folder(line: str, run: Path, **environment: str) -> str:
    """Runs a shell line of the unit with its run folder at ``run`` and a ``sleep`` that says how long instead."""
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("/run/meterd", str(run)).replace("exec sleep", "echo")],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def test_the_pauses_between_failed_starts_grow_and_stay_under_a_minute(tmp_path: Path) -> None:
    """SD-04: back within one minute of the repair, RestartSec= included."""
    pause = shell_of(settings("Service")["ExecStartPre"][0])
    count = shell_of(settings("Service")["ExecStopPost"][1])
    pauses = []
    for _ in range(8):
        pauses.append(int(run_with_folder(pause, tmp_path)))
        run_with_folder(count, tmp_path, SERVICE_RESULT="exit-code")
    assert pauses == [0, 5, 10, 15, 20, 25, 30, 30]
    assert int(settings("Service")["RestartSec"][0]) + max(pauses) < 60


def test_a_clean_stop_is_not_counted_as_a_failed_start(tmp_path: Path) -> None:
    """SD-04: after a stop by people the next start waits for nothing."""
    run_with_folder(shell_of(settings("Service")["ExecStopPost"][1]), tmp_path, SERVICE_RESULT="success")
    assert list(tmp_path.iterdir()) == []


def test_the_signs_are_told_not_live_first_at_every_end() -> None:
    """DI-01: before anything else at the end, and a sign that is absent stops nothing (the leading minus)."""
    first = settings("Service")["ExecStopPost"][0]
    assert first == "-/opt/meterd/.venv/bin/python -m controller.not_live --config /etc/meterd/meterd.toml"


def test_every_setting_of_the_service_has_a_comment_above_its_group() -> None:
    """The next reader sees why a line is there; groups of one purpose share one comment."""
    blocks = UNIT.read_text().split("\n\n")
    uncommented = [block for block in blocks if "=" in block and "#" not in block and "[Install]" not in block]
    assert uncommented == []


def test_the_daemons_programs_exist() -> None:
    """What the unit starts is what the package installs."""
    project = (ROOT / "pyproject.toml").read_text()
    assert 'meterd = "controller.__main__:main"' in project
    assert (ROOT / "controller" / "not_live.py").exists()


def test_udev_rules_jump_only_to_labels_that_exist() -> None:
    """A rules file with a missing label is read to its end in silence."""
    text = (SYSTEMD / "60-meterd.rules").read_text()
    assert set(re.findall(r'GOTO="(\w+)"', text)) == set(re.findall(r'LABEL="(\w+)"', text))


def exported_names() -> set[str]:
    """Every sample name that ``/metrics`` answers."""
    text = exposition(FloorCollector(busy_snapshot, Stats)).decode()
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}


@pytest.mark.parametrize("shipped", ["prometheus/meterd-alerts.yml", "grafana/meterd.json"])
def test_alarms_and_dashboard_ask_only_for_metrics_that_exist(shipped: str) -> None:
    """An alarm on a name that nobody exports never rings."""
    asked = set(re.findall(r"\bmeterd_[a-z_]+", (ROOT / "config" / shipped).read_text()))
    assert asked and asked - exported_names() == set()


@pytest.mark.parametrize("shipped", ["config/prometheus/prometheus.yml", "docs/OPERATIONS.md"])
def test_the_pages_are_looked_for_where_they_listen(shipped: str) -> None:
    """The port is the one that a configuration without ``[web] port`` gets."""
    assert f"127.0.0.1:{WEB_PORT}" in (ROOT / shipped).read_text()


def test_every_alarm_says_what_to_do() -> None:
    """Design section 9: what, where, and what to do now."""
    text = (ROOT / "config" / "prometheus" / "meterd-alerts.yml").read_text()
    alarms = text.split("- alert: ")[1:]
    assert [alarm.split()[0] for alarm in alarms if "summary:" not in alarm or "action:" not in alarm] == []


def test_the_dashboard_is_readable_by_grafana() -> None:
    """JSON with panels that each ask something."""
    board = json.loads((ROOT / "config" / "grafana" / "meterd.json").read_text())
    assert [panel["title"] for panel in board["panels"] if not panel["targets"]] == []
