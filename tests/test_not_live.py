"""The end of the daemon: every LED sign is told NOT LIVE, and an absent one holds nothing up (DI-01)."""

import asyncio
import os
import shutil
import sys
import termios
import time
from pathlib import Path

from alpha_panel import PtyPanel

from controller.not_live import alpha_line, main
from firmware_bridge.alpha_sign import frame, priority, write_string

HERE = Path(__file__).parent


def floor_with(folder: Path, *ports: str) -> Path:
    """The contract's floor with a page sign, and an LED sign at each port."""
    shutil.copytree(HERE / "contract" / "paytables", folder / "paytables")
    signs = ['[[sign]]\nid = "page"\nkind = "page"\ntable = "PG-01"\n']
    for number, port in enumerate(ports):
        signs.append(f'[[sign]]\nid = "led-{number}"\nkind = "alpha"\nport = "{port}"\nmeters = ["pg-link"]\n')
    made = folder / "floor.toml"
    made.write_text((HERE / "contract" / "floor.toml").read_text() + "\n" + "\n".join(signs))
    return made


async def program(config: Path) -> tuple[int, str, float]:
    """Run the program; its exit code, what it said, and the seconds it took."""
    begun = time.monotonic()
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller.not_live", "--config", str(config),
        cwd=HERE.parent, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, said = await running.communicate()
    return running.returncode or 0, said.decode(), time.monotonic() - begun


async def test_every_led_sign_of_a_dead_daemon_says_not_live_di_01(tmp_path: Path) -> None:
    panels = [PtyPanel(tmp_path / "led-0"), PtyPanel(tmp_path / "led-1")]
    code, _, took = await program(floor_with(tmp_path, *(str(panel.link) for panel in panels)))
    await asyncio.sleep(0.1)
    for panel in panels:
        panel.unplug()
    assert ([panel.lit for panel in panels], code, took < 5) == (["NOT LIVE"] * 2, 0, True)


async def test_a_frame_that_the_dead_daemon_left_half_written_does_not_hide_not_live(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "led-0")
    panel.feed(frame(priority([])) + frame(write_string(0, "$12,345.67"))[:17])
    await program(floor_with(tmp_path, str(panel.link)))
    await asyncio.sleep(0.1)
    panel.unplug()
    assert panel.lit == "NOT LIVE"


async def test_an_absent_sign_is_named_and_the_others_are_told_within_five_seconds(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "led-1")
    absent = str(tmp_path / "absent")
    code, said, took = await program(floor_with(tmp_path, absent, str(panel.link), "tcp://127.0.0.1:1"))
    await asyncio.sleep(0.1)
    panel.unplug()
    assert (panel.lit, code, took < 5, absent in said, "127.0.0.1:1" in said) == ("NOT LIVE", 0, True, True, True)


async def test_a_sign_that_takes_nothing_is_given_up_within_five_seconds_se_09(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "led-0")
    stopped = os.open(panel.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    termios.tcflow(stopped, termios.TCOOFF)
    code, said, took = await program(floor_with(tmp_path, str(panel.link)))
    os.close(stopped)
    panel.unplug()
    assert (code, took < 5, "0 LED signs were told" in said) == (0, True, True)


def test_a_floor_without_led_signs_ends_well(tmp_path: Path) -> None:
    assert main(["--config", str(floor_with(tmp_path))]) == 0


def test_a_configuration_that_is_refused_ends_with_2(tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "none.toml")]) == 2


def test_a_page_sign_has_no_line(tmp_path: Path) -> None:
    from controller.config import load

    plan, wiring = load(floor_with(tmp_path))
    assert alpha_line(wiring.signs[0], plan, lambda: 0) is None
