"""The Alpha LED sign: frames (protocols/alpha-sign.md), quirks, pacing in virtual time, and the line on real ptys."""

import asyncio
import os
import random
import termios
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from alpha_panel import Panel, PtyPanel

from firmware_bridge import alpha_sign
from firmware_bridge.alpha_sign import (
    CLEAR,
    RUN_SEQUENCE,
    AlphaLine,
    AlphaSign,
    configure,
    frame,
    priority,
    write_string,
    write_text,
)

ONE = (("JACKPOT ", 0),)
HIT = (("PENDING", None), ("TABLE 7", None), ("NOW ", 0))


def body_of(made: bytes) -> bytes:
    """The body of a frame with a checksum."""
    return made[10:-6]


class Wire:
    """A driver and a panel in virtual time; ``run`` steps a twentieth of a second."""

    def __init__(self, pages: tuple[tuple[str, int | None], ...] = ONE) -> None:
        self.sign, self.panel, self.now = AlphaSign(pages, True), Panel(), 100.0
        self.sign.connected(self.now)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 20)):
            made = self.sign.due(self.now)
            if made:
                self.panel.feed(made, self.now)
            self.now += 0.05

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, body in self.panel.heard]


def started(amount: str = "$12,345.67") -> Wire:
    """A sign that was set up and shows an amount."""
    wire = Wire()
    wire.sign.wants([amount], ())
    wire.run(6)
    wire.panel.heard.clear()
    return wire


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (CLEAR, "01 5A 30 30 02 45 24 03 30 30 36 45 04"),
        (
            configure(64, 1, 16),
            "01 5A 30 30 02 45 24 41 41 55 30 30 34 30 46 46 30 30 61 42 4C 30 30 31 30 30 30 30 30 03 30 35 36 35 04",
        ),
        (RUN_SEQUENCE, "01 5A 30 30 02 45 2E 53 55 41 03 30 31 36 31 04"),
        (
            write_text("A", ONE, "1"),
            "01 5A 30 30 02 41 41 1B 20 62 1E 31 1C 31 4A 41 43 4B 50 4F 54 20 10 61 03 30 34 35 44 04",
        ),
        (
            write_string(0, "$12,345.67"),
            "01 5A 30 30 02 47 61 24 31 32 2C 33 34 35 2E 36 37 03 30 32 39 37 04",
        ),
        (
            priority([("JACKPOT HIT", None)]),
            "01 5A 30 30 02 41 30 1B 20 62 1C 33 4A 41 43 4B 50 4F 54 20 48 49 54 03 30 34 37 33 04",
        ),
        (priority([]), "01 5A 30 30 02 41 30 03 30 30 37 36 04"),
    ],
    ids=["clear", "configure", "run-sequence", "text", "string", "priority", "release"],
)
def test_each_ready_frame_is_made_byte_for_byte(body: bytes, written: str) -> None:
    """Section 7, five NULs before each."""
    assert frame(body) == bytes(5) + bytes.fromhex(written)


@pytest.mark.parametrize(("body", "checksum"), [(b"AAHELLO", b"01FB"), (b"GaREAD ME", b"027B")])
def test_the_checksum_is_the_sum_from_stx_to_etx(body: bytes, checksum: bytes) -> None:
    """Section 2; the second was read off a real sign."""
    assert frame(body)[-5:-1] == checksum


def test_a_frame_without_checksum_ends_after_its_body() -> None:
    assert frame(b"A0", checksum=False) == b"\0\0\0\0\0\x01Z00\x02A0\x04"


def test_a_string_longer_than_its_file_is_refused_as_it_would_be_emptied() -> None:
    with pytest.raises(ValueError, match="longer than the 16 bytes"):
        write_string(0, "x" * 17, 16)


@pytest.mark.parametrize("mark", ["\x04", "\x10a", "\x1c2", "\x15", "é", "\n"])
def test_a_character_that_is_a_command_or_unknown_is_refused_in_a_string(mark: str) -> None:
    """Colour, speed and character set inside a STRING would leak into what follows (section 8)."""
    with pytest.raises(ValueError, match="printable ASCII"):
        write_string(0, f"$1{mark}")


@pytest.mark.parametrize("mark", ["\x04", "\x0c", "ü"])
def test_a_character_that_is_a_command_or_unknown_is_refused_in_a_text(mark: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        write_text("A", [(f"JACK{mark}POT", None)], "1")


@pytest.mark.parametrize(
    ("mode", "position", "colour"), [("nD", " ", "1"), ("d", " ", "1"), ("b", "1", "1"), ("b", " ", "Z")]
)
def test_a_mode_place_or_colour_that_not_every_sign_knows_is_refused(mode: str, position: str, colour: str) -> None:
    with pytest.raises(ValueError, match="not known to every sign"):
        write_text("A", ONE, colour, mode, position)


def test_a_priority_text_over_125_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="too long"):
        priority([("x" * 121, None)])


def test_a_file_for_a_string_of_over_125_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        configure(64, 1, 126)


def test_more_amounts_than_a_sign_has_files_are_refused() -> None:
    with pytest.raises(ValueError, match="running amounts 0 to 19"):
        write_string(20, "$1.00")


def test_the_start_up_follows_the_recipe() -> None:
    """Section 7: release, clear, configure, run sequence, TEXT, STRING."""
    wire = Wire()
    wire.sign.wants(["$12,345.67"], ())
    wire.run(6)
    assert wire.bodies == [
        b"A0", b"E$", b"E$AAU0040FF00aBL00200000", b"E.SUA", b"AA\x1b b\x1e1\x1c1JACKPOT \x10a", b"Ga$12,345.67",
    ]  # fmt: skip


def test_a_started_sign_shows_the_amount_beside_its_label() -> None:
    assert started().panel.lit == "JACKPOT $12,345.67"


def test_frames_are_half_a_second_apart_and_two_seconds_after_a_clear() -> None:
    wire = Wire()
    for cents in range(600):
        wire.sign.wants([f"${cents}.00"], HIT if cents // 50 % 3 == 1 else ())
        wire.run(0.1)
    heard = wire.panel.heard
    gaps = [(later - earlier, body) for (earlier, body), (later, _) in pairwise(heard)]
    assert all(gap >= (2.0 if body == CLEAR else 0.5) - 1e-6 for gap, body in gaps)


def test_the_newest_amount_is_written_and_stale_ones_are_dropped() -> None:
    wire = started()
    for cents in range(100):
        wire.sign.wants([f"$1.{cents:02d}"], ())
    wire.run(1)
    assert wire.bodies == [b"Ga$1.99"]


def test_two_hundred_amounts_a_second_do_not_make_the_sign_blink_di_01() -> None:
    wire = started()
    for cents in range(1000):
        wire.sign.wants([f"$1,{cents:03d}.00"], ())
        if cents % 10 == 0:
            wire.run(0.05)
    assert {body[:1] for body in wire.bodies} == {b"G"}


def test_a_standing_amount_is_rewritten_every_minute() -> None:
    wire = started()
    wire.run(290)
    assert [body for body in wire.bodies if body[:1] == b"G"] == [b"Ga$12,345.67"] * 4


def test_everything_is_rewritten_every_fifteen_minutes() -> None:
    wire = started()
    wire.run(16 * 60)
    assert wire.bodies.count(CLEAR) == 1


def test_a_forgetful_panel_is_healed_within_fifteen_minutes_di_01() -> None:
    wire = started()
    wire.panel.forget()
    wire.run(15 * 60 + 6)
    assert wire.panel.lit == "JACKPOT $12,345.67"


def test_everything_is_rewritten_on_reconnect() -> None:
    wire = started()
    wire.panel.forget()
    wire.sign.connected(wire.now)
    wire.run(6)
    assert wire.panel.lit == "JACKPOT $12,345.67"


@pytest.mark.parametrize("moment", [step / 4 for step in range(28)] + [15 * 60 - 5 + step / 4 for step in range(48)])
def test_a_hit_is_lit_within_two_seconds_at_any_moment(moment: float) -> None:
    """Start-up and the refresh of every 15 minutes included; the wager traffic goes on."""
    wire = Wire()
    wire.sign.wants(["$12,345.67"], ())
    wire.run(moment)
    wire.sign.wants(["$10,000.28"], HIT)
    wire.run(2.05)
    assert wire.panel.priority.startswith("PENDING | TABLE 7")


def test_the_new_value_runs_on_inside_an_alert() -> None:
    wire = started()
    wire.sign.wants(["$10,000.28"], HIT)
    wire.run(2)
    wire.sign.wants(["$10,000.33"], HIT)
    wire.run(2)
    assert (wire.panel.lit, sum(body[:2] == b"A0" for body in wire.bodies)) == ("PENDING | TABLE 7 | NOW $10,000.33", 1)


def test_after_the_alert_the_bare_label_releases_the_sign() -> None:
    wire = started()
    wire.sign.wants(["$10,000.28"], HIT)
    wire.run(2)
    wire.sign.wants(["$10,000.28"], ())
    wire.run(1)
    assert (wire.bodies[-1], wire.panel.lit) == (b"A0", "JACKPOT $10,000.28")


def test_a_release_that_the_sign_missed_is_repeated_within_a_minute() -> None:
    wire = started()
    wire.panel.feed(frame(priority(HIT)))
    wire.run(61)
    assert wire.panel.lit == "JACKPOT $12,345.67"


def test_several_meters_have_a_page_and_a_string_each() -> None:
    wire = Wire((("GRAND ", 0), ("MINI ", 1), ("MINOR ", 2)))
    wire.sign.wants(["$3.00", "$2.00", "$1.00"], ())
    wire.run(8)
    assert wire.panel.lit == "GRAND $3.00 | MINI $2.00 | MINOR $1.00"


def test_a_busy_meter_does_not_starve_the_others() -> None:
    wire = Wire((("GRAND ", 0), ("MINI ", 1)))
    for cents in range(100):
        wire.sign.wants([f"${cents}.00", "$2.00"], ())
        wire.run(0.1)
    assert wire.panel.strings["b"] == "$2.00"


def test_before_the_first_amount_the_sign_says_not_live_di_01() -> None:
    wire = Wire()
    wire.panel.feed(frame(priority([])))
    wire.run(10)
    assert wire.panel.lit == "NOT LIVE"


def test_not_live_hides_every_amount_di_01() -> None:
    wire = started()
    wire.panel.feed(wire.sign.not_live())
    assert wire.panel.lit == "NOT LIVE"


def test_a_wrong_count_of_amounts_is_refused() -> None:
    with pytest.raises(ValueError, match="1 running amounts, not 2"):
        AlphaSign(ONE, True).wants(["$1.00", "$2.00"], ())


def test_no_frame_with_one_wrong_bit_shows_another_amount_mo_03() -> None:
    """The ETX apart (there the line's parity protects): without one a frame is read as one without a checksum."""
    old, new = "$42,949,672.95", "$42,949,672.96"
    good, panel, shown = frame(write_string(0, new)), started(old).panel, set()
    for bit in range(len(good) * 8):
        if good[bit // 8] == 0x03:
            continue
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        panel.feed(bytes(damaged) + b"\x04")
        shown.add(panel.strings["a"])
        panel.feed(frame(write_string(0, old)))
    # A dollar sign can become an end mark: then nothing stands there, and no other amount.
    assert shown == {old, new, ""}


def test_noise_before_a_frame_does_not_lose_it_se_05() -> None:
    panel, noise = started().panel, random.Random(5)
    panel.feed(bytes(noise.randrange(256) for _ in range(5_000)) + frame(write_string(0, "$9.99")))
    assert panel.strings["a"] == "$9.99"


# The line, on real ptys. Times are scaled down, but for the test of the real start-up.


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """All times of the sign are a fiftieth, and a sign is stuck after 0.4 s."""
    for name, seconds in {"GAP_S": 0.01, "CLEAR_S": 0.04, "_TICK_S": 0.01, "STUCK_S": 0.4}.items():
        monkeypatch.setattr(alpha_sign, name, seconds)
    monkeypatch.setattr(alpha_sign, "_BACKOFF_S", (0.05, 0.1))


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> float:
    """Wait for a condition; returns how long it took, fails after the deadline."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not come about in time"
        await asyncio.sleep(0.01)
    return time.monotonic() - begun


@asynccontextmanager
async def running(port: str) -> AsyncIterator[AlphaLine]:
    """A line to a sign at 9600 7E1, told an amount."""
    line = AlphaLine(port, 9600, 7, "E", 1, AlphaSign(ONE, True, 1_000_000), lambda: 77)
    line.show(["$12,345.67"], ())
    task = asyncio.create_task(line.run())
    try:
        yield line
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await line.end()


async def test_a_real_start_up_takes_under_five_seconds(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)):
        await until(lambda: panel.lit == "JACKPOT $12,345.67", 5.5)
    panel.unplug()


async def test_a_hit_reaches_a_real_line_within_two_seconds(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: CLEAR in [body for _, body in panel.heard])
        line.show(["$10,000.28"], HIT)
        assert await until(lambda: "TABLE 7" in panel.priority) < 2.5
    panel.unplug()


async def test_health_tells_what_the_sign_was_told_d_12(tmp_path: Path, quick: None) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: line.health == (True, "$12,345.67", 77))
    panel.unplug()


async def test_a_sign_that_takes_nothing_is_marked_down_and_blocks_nobody_se_09(tmp_path: Path, quick: None) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: line.health.up)
        stopped = os.open(panel.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        termios.tcflow(stopped, termios.TCOOFF)
        longest = 0.0
        for cents in range(200):
            begun = time.monotonic()
            line.show([f"$1.{cents % 100:02d}"], ())
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - begun)
        await until(lambda: not line.health.up)
        os.close(stopped)
    panel.unplug()
    assert longest < 0.1


async def test_a_sign_that_takes_again_shows_the_newest_amount_se_09(tmp_path: Path, quick: None) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: line.health.up)
        stopped = os.open(panel.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        termios.tcflow(stopped, termios.TCOOFF)
        for cents in range(100):
            line.show([f"$5.{cents:02d}"], ())
            await asyncio.sleep(0)
        await until(lambda: not line.health.up)
        termios.tcflow(stopped, termios.TCOON)
        os.close(stopped)
        await until(lambda: panel.lit == "JACKPOT $5.99")
    panel.unplug()


async def test_a_sign_is_told_again_by_a_restarted_daemon(tmp_path: Path, quick: None) -> None:
    panel = PtyPanel(tmp_path / "sign")
    for _ in range(2):
        async with running(str(panel.link)):
            await until(lambda: panel.lit == "JACKPOT $12,345.67")
        await until(lambda: panel.lit == "NOT LIVE")
    panel.unplug()


async def test_an_unplugged_sign_comes_back_with_everything_se_01(tmp_path: Path, quick: None) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: panel.lit == "JACKPOT $12,345.67")
        panel.unplug()
        panel.forget()
        await until(lambda: not line.health.up, 2)
        panel.plug()
        await until(lambda: panel.lit == "JACKPOT $12,345.67")
    panel.unplug()


async def test_a_lost_sign_is_logged_once_and_its_return_once(
    tmp_path: Path, quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "firmware_bridge.alpha_sign")
    panel = PtyPanel(tmp_path / "sign")
    panel.unplug()
    async with running(str(panel.link)) as line:
        await asyncio.sleep(0.5)
        panel.plug()
        await until(lambda: line.health.up)
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    panel.unplug()


async def test_the_end_tells_not_live_within_two_seconds_di_01(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: bool(panel.heard))
        begun = time.monotonic()
        assert await line.end()
        took = time.monotonic() - begun
        await until(lambda: panel.lit == "NOT LIVE")
    panel.unplug()
    assert took < 2


async def test_the_end_of_a_stuck_sign_is_given_up_in_two_seconds(tmp_path: Path) -> None:
    panel = PtyPanel(tmp_path / "sign")
    async with running(str(panel.link)) as line:
        await until(lambda: bool(panel.heard))
        stopped = os.open(panel.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        termios.tcflow(stopped, termios.TCOOFF)
        begun = time.monotonic()
        assert not await line.end()
        took = time.monotonic() - begun
        termios.tcflow(stopped, termios.TCOON)
        os.close(stopped)
    panel.unplug()
    assert took < 2


async def test_the_end_of_an_absent_sign_is_no_error(tmp_path: Path) -> None:
    line = AlphaLine(str(tmp_path / "none"), 9600, 7, "E", 1, AlphaSign(ONE, True), lambda: 77)
    assert not await line.end()


async def test_a_sign_behind_a_serial_server_is_told(quick: None) -> None:
    panel = Panel()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while arrived := await reader.read(4096):
            panel.feed(arrived)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with running(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"):
        await until(lambda: panel.lit == "JACKPOT $12,345.67")
    server.close()


async def test_a_serial_server_that_hangs_up_is_noticed_se_01(quick: None) -> None:
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
    async with running(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}") as line:
        await until(lambda: line.health.up)
        server.close()
        writers[0].transport.abort()
        await until(lambda: not line.health.up, 2)
