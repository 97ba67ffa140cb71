"""Serial lines on real pseudo-terminals and real TCP sockets (SE-01, SE-07, SE-09; issue 2 "Lines")."""

import asyncio
import errno
import logging
import os
import pty
import resource
import socket
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
import serial

from firmware_bridge import serial_line
from firmware_bridge.frames import FrameReader, encode_frame
from firmware_bridge.serial_line import PENDING_BYTES_MAX, SerialLine


class Cable:
    """A pseudo-terminal under a stable name: plugged in, pulled out, plugged in again as another device."""

    def __init__(self, name: Path) -> None:
        self.name = name
        self.hub = -1

    def plug(self) -> None:
        """A new device appears under the name."""
        self.hub, port = pty.openpty()
        tty.setraw(port)
        os.set_blocking(self.hub, False)
        self.name.unlink(missing_ok=True)
        self.name.symlink_to(os.ttyname(port))
        os.close(port)

    def pull(self) -> None:
        """The device is gone, and its name too."""
        self.name.unlink(missing_ok=True)
        os.close(self.hub)
        self.hub = -1

    def say(self, payload: bytes) -> None:
        """The hub sends one frame."""
        os.write(self.hub, encode_frame(payload))


class Heard:
    """What a line reported, in order."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.turns: list[str] = []
        self.writable = 0

    def line(self, port: str) -> SerialLine:
        """A line that reports here."""

        def frame(line: str, payload: bytes) -> None:
            self.payloads.append(payload)

        def writable(line: str) -> None:
            self.writable += 1

        return SerialLine(
            "hub-01",
            port,
            on_frame=frame,
            on_up=lambda line: self.turns.append("up"),
            on_down=lambda line, cause: self.turns.append("down"),
            on_writable=writable,
        )


async def until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for a condition; the test fails when it does not come."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for happens in the kernel
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between tries scaled down tenfold."""
    monkeypatch.setattr(serial_line, "RETRY_MIN_S", 0.05)
    monkeypatch.setattr(serial_line, "RETRY_MAX_S", 0.4)


@pytest.fixture
def cable(tmp_path: Path) -> Cable:
    made = Cable(tmp_path / "hub-01")
    made.plug()
    return made


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def line(cable: Cable, heard: Heard) -> AsyncIterator[SerialLine]:
    made = heard.line(str(cable.name))
    made.start()
    await until(lambda: made.up)
    yield made
    await made.stop()


async def test_a_frame_of_the_hub_is_heard(line: SerialLine, cable: Cable, heard: Heard) -> None:
    cable.say(b"lock-out")
    await until(lambda: heard.payloads == [b"lock-out"])


async def test_what_is_sent_reaches_the_hub_unchanged(line: SerialLine, cable: Cable) -> None:
    frame = encode_frame(bytes(range(256)))
    assert line.send(frame)
    await until(lambda: line.counters["bytes_out"] == len(frame))
    assert os.read(cable.hub, 1000) == frame


async def test_a_pulled_cable_is_shown_down_within_2_s_se_01(line: SerialLine, cable: Cable, heard: Heard) -> None:
    cable.pull()
    await until(lambda: heard.turns == ["up", "down"], 2.0)
    assert not line.up


async def test_a_cable_plugged_in_again_is_heard_again_se_01(line: SerialLine, cable: Cable, heard: Heard) -> None:
    cable.pull()
    await until(lambda: not line.up)
    cable.plug()
    await until(lambda: line.up)
    cable.say(b"back")
    await until(lambda: heard.payloads == [b"back"])


async def test_the_name_may_point_to_another_device_afterwards_se_02(
    line: SerialLine, cable: Cable, heard: Heard
) -> None:
    other = Cable(cable.name.with_name("spare"))
    other.plug()
    cable.pull()
    await until(lambda: not line.up)
    cable.plug()
    assert cable.name.readlink() != other.name.readlink()
    await until(lambda: line.up)
    os.close(other.hub)


async def test_a_flapping_cable_ends_up_open_se_01(line: SerialLine, cable: Cable, heard: Heard) -> None:
    for _ in range(5):
        cable.pull()
        await until(lambda: not line.up)
        cable.plug()
        await until(lambda: line.up)
    cable.say(b"steady")
    await until(lambda: heard.payloads == [b"steady"])
    assert heard.turns == ["up", *["down", "up"] * 5]


async def test_a_missing_port_costs_next_to_no_time_of_the_processor_se_01(heard: Heard, tmp_path: Path) -> None:
    line = heard.line(str(tmp_path / "nothing"))
    line.start()
    before = resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_SELF)
    await line.stop()
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.1


async def test_the_waits_between_tries_grow_to_the_longest_and_stay_there_se_01(
    heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[float] = []
    loop = asyncio.get_running_loop()

    def refuse(port: str, settings: object) -> None:
        tries.append(loop.time())
        raise FileNotFoundError(errno.ENOENT, "No such device")

    monkeypatch.setattr(serial_line, "_open", refuse)
    line = heard.line("/dev/hub")
    line.start()
    await until(lambda: len(tries) == 7)
    await line.stop()
    waits = [later - earlier for earlier, later in pairwise(tries)]
    assert all(wait > least for wait, least in zip(waits, [0.04, 0.09, 0.19, 0.39, 0.39, 0.39], strict=True))
    assert waits[-1] < 1.5  # it would be 1.6 if they went on growing


async def test_a_line_says_off_once_and_on_once_in_the_log(
    line: SerialLine, cable: Cable, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "meterd.line"):
        cable.pull()
        await until(lambda: not line.up)
        await asyncio.sleep(0.3)  # several tries go by
        cable.plug()
        await until(lambda: line.up)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_the_cause_of_a_port_that_is_not_there_is_told(heard: Heard, tmp_path: Path) -> None:
    line = heard.line(str(tmp_path / "nothing"))
    line.start()
    await until(lambda: line.cause != "not opened yet")
    await line.stop()
    assert "No such file" in line.cause


async def test_noise_is_counted_and_the_next_frame_is_read_se_05(line: SerialLine, cable: Cable, heard: Heard) -> None:
    os.write(cable.hub, b"\r\nboot loader v2\r\n\x00")
    cable.say(b"after the banner")
    await until(lambda: heard.payloads == [b"after the banner"])
    assert sum(count for name, count in line.counters.items() if name.startswith("damaged")) == 1


async def test_half_a_frame_from_before_the_cable_was_pulled_harms_no_later_one(
    line: SerialLine, cable: Cable, heard: Heard
) -> None:
    os.write(cable.hub, encode_frame(b"cut off")[:-3])
    await until(lambda: line.counters["bytes_in"] > 0)
    cable.pull()
    await until(lambda: not line.up)
    cable.plug()
    await until(lambda: line.up)
    cable.say(b"whole")
    await until(lambda: heard.payloads == [b"whole"])


async def fill(line: SerialLine) -> int:
    """Send until the line refuses; the number of frames it took."""
    taken = 0
    frame = encode_frame(b"x" * 500)
    while line.send(frame):
        taken += 1
        await asyncio.sleep(0)
        assert taken < 1000
    return taken


async def test_a_hub_that_never_reads_makes_send_say_no_se_09(line: SerialLine) -> None:
    taken = await fill(line)
    assert taken * 500 >= PENDING_BYTES_MAX - 1000


async def test_a_hub_that_never_reads_is_still_heard_se_09(line: SerialLine, cable: Cable, heard: Heard) -> None:
    await fill(line)
    cable.say(b"still here")
    await until(lambda: heard.payloads == [b"still here"])


async def test_a_hub_that_never_reads_is_seen_as_blocked_se_09(line: SerialLine) -> None:
    await fill(line)
    assert line.blocked_since is not None


async def test_there_is_word_when_a_full_line_has_room_again_se_09(
    line: SerialLine, cable: Cable, heard: Heard
) -> None:
    taken = await fill(line)
    got = bytearray()

    def reading_done() -> bool:
        with suppress(BlockingIOError):
            got.extend(os.read(cable.hub, 65536))
        return len(got) == taken * len(encode_frame(b"x" * 500))

    await until(reading_done)
    assert (heard.writable, line.blocked_since) == (1, None)


async def test_nothing_is_sent_on_a_line_that_is_down(line: SerialLine, cable: Cable) -> None:
    cable.pull()
    await until(lambda: not line.up)
    assert not line.send(encode_frame(b"lamps"))


async def test_a_port_in_use_by_another_program_is_not_opened(cable: Cable, heard: Heard) -> None:
    holder = serial.Serial(str(cable.name), exclusive=True)
    line = heard.line(str(cable.name))
    line.start()
    await until(lambda: line.cause != "not opened yet")
    assert not line.up
    holder.close()
    await until(lambda: line.up)
    await line.stop()


async def test_opening_again_does_not_hang_up_the_line_se_07(line: SerialLine, cable: Cable) -> None:
    port = os.open(cable.name, os.O_RDWR | os.O_NOCTTY)
    modes = termios.tcgetattr(port)
    os.close(port)
    assert not modes[2] & termios.HUPCL


async def test_a_line_that_is_stopped_frees_its_port(cable: Cable, heard: Heard) -> None:
    line = heard.line(str(cable.name))
    line.start()
    await until(lambda: line.up)
    await line.stop()
    serial.Serial(str(cable.name), exclusive=True).close()


@pytest.mark.parametrize("stuck", [False, True])
async def test_a_port_is_emptied_at_its_end_only_where_its_bytes_are_stuck_sd_05(
    cable: Cable, heard: Heard, monkeypatch: pytest.MonkeyPatch, stuck: bool
) -> None:
    """Emptying also takes what is already on its way; not emptying one that is stuck makes closing wait 30 s."""
    emptied: list[str] = []
    monkeypatch.setattr(serial.Serial, "reset_output_buffer", lambda port: emptied.append("it"))
    monkeypatch.setattr(serial_line, "unsent", lambda fd: 7 if stuck else 0)
    line = heard.line(str(cable.name))
    line.start()
    await until(lambda: line.up)
    emptied.clear()
    await line.stop()
    assert bool(emptied) is stuck


async def test_the_last_words_of_a_line_reach_a_hub_that_reads_after_it_closed_sd_05(
    cable: Cable, heard: Heard
) -> None:
    """What the kernel holds is on its way: only what it cannot get rid of is thrown away."""
    line = heard.line(str(cable.name))
    line.start()
    await until(lambda: line.up)
    for number in range(20):
        line.send(encode_frame(b"acknowledged %d" % number))
    line.send(encode_frame(b"being stopped"))
    await line.stop()
    read = FrameReader().feed(os.read(cable.hub, 4096))
    assert list(read)[-1:] == [b"being stopped"]


async def test_a_line_waits_at_its_end_for_what_the_kernel_has_not_sent_yet(
    cable: Cable, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A serial port keeps about 4 kB: at 115,200 baud a third of a second. Here it says so; a pty never does."""
    waiting = [400, 200, 1]
    monkeypatch.setattr(serial_line, "unsent", lambda fd: waiting.pop(0) if waiting else 0)
    line = heard.line(str(cable.name))
    line.start()
    await until(lambda: line.up)
    await line.stop()
    assert waiting == []


async def test_an_opening_that_hangs_is_told_and_not_started_twice(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    tries: list[str] = []

    def hang(port: str, settings: object) -> None:
        tries.append(port)
        release.wait(10)
        raise FileNotFoundError(errno.ENOENT, "No such device")

    monkeypatch.setattr(serial_line, "_open", hang)
    monkeypatch.setattr(serial_line, "OPEN_S", 0.05)
    line = heard.line("/dev/hub")
    line.start()
    await until(lambda: "opening takes more" in line.cause)
    await asyncio.sleep(0.2)
    assert len(tries) == 1
    release.set()
    await line.stop()


async def test_a_fault_in_a_callback_does_not_end_the_line(cable: Cable, heard: Heard) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))

    def broken(line: str, payload: bytes) -> None:
        heard.payloads.append(payload)
        raise RuntimeError("broken")

    line = SerialLine(
        "hub-01", str(cable.name), on_frame=broken, on_up=lambda line: None, on_down=lambda line, cause: None
    )
    line.start()
    await until(lambda: line.up)
    cable.say(b"one")
    await until(lambda: len(reported) == 1)
    cable.say(b"two")
    await until(lambda: heard.payloads == [b"one", b"two"])
    await line.stop()


@pytest.fixture
def server() -> socket.socket:
    """A serial server's listening socket on the loopback."""
    return socket.create_server(("127.0.0.1", 0))


async def accepted(server: socket.socket) -> socket.socket:
    server.setblocking(False)
    one, _ = await asyncio.wait_for(asyncio.get_running_loop().sock_accept(server), 5)
    return one


async def test_a_serial_server_is_heard_and_answered(server: socket.socket, heard: Heard) -> None:
    line = heard.line(f"tcp://127.0.0.1:{server.getsockname()[1]}")
    line.start()
    hub = await accepted(server)
    await until(lambda: line.up)
    await asyncio.get_running_loop().sock_sendall(hub, encode_frame(b"over tcp"))
    await until(lambda: heard.payloads == [b"over tcp"])
    assert line.send(encode_frame(b"heard"))
    assert await asyncio.get_running_loop().sock_recv(hub, 100) == encode_frame(b"heard")
    await line.stop()
    hub.close()
    server.close()


async def test_a_serial_server_that_hangs_up_is_called_again(server: socket.socket, heard: Heard) -> None:
    line = heard.line(f"tcp://127.0.0.1:{server.getsockname()[1]}")
    line.start()
    (await accepted(server)).close()
    again = await accepted(server)
    await until(lambda: heard.turns == ["up", "down", "up"])
    await line.stop()
    again.close()
    server.close()


async def test_a_tcp_place_without_a_port_is_told_as_the_cause(heard: Heard) -> None:
    line = heard.line("tcp://127.0.0.1")
    line.start()
    await until(lambda: "tcp://host:port" in line.cause)
    await line.stop()
