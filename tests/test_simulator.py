"""The simulated hub on real lines: a pty, a serial port, TCP and a real broker; and what a script may say."""

import asyncio
import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
import serial
from test_device import LAYOUT, PLAY, House

from firmware_bridge.device import Hub, SimulationError
from firmware_bridge.frames import FrameReader, encode_frame
from firmware_bridge.messages import (
    Committed,
    Down,
    Heartbeat,
    Hello,
    Hit,
    Hits,
    Lock,
    Malformed,
    Notice,
    Unreadable,
    Up,
    Wager,
    Welcome,
    decode_binary,
    decode_json,
    encode_binary,
    encode_json,
)
from firmware_bridge.simulator import Script, Target, parse_target, simulate

DEADLINE_S = 15.0
GAME = """
# one game
{"lock": [{"seat": 1, "spot": "progressive", "cents": 500}]}
{"count": null}
{"hits": [{"seat": 1, "spot": "progressive", "outcome": "straight"}]}

{"close": {}}
"""


class FrameHost:
    """The far end of a byte line: reads frames from a descriptor and answers like a small house."""

    def __init__(self, fd: int, house: House) -> None:
        self.house, self.reader = house, FrameReader()
        self._fd = fd
        os.set_blocking(fd, False)
        self.heard: list[Up] = []

    def turn(self) -> None:
        """Read what is there, answer it, and give the pulse."""
        with contextlib.suppress(BlockingIOError):
            for payload in self.reader.feed(os.read(self._fd, 65536)):
                message = decode_binary(payload)
                assert message is not None and not isinstance(message, Unreadable)
                self.heard.append(message)
                for answer in self.house.hears(message):
                    self.tell(answer)
        for pulse in self.house.pulse(asyncio.get_running_loop().time()):
            self.tell(pulse)

    def tell(self, message: Down) -> None:
        os.write(self._fd, encode_frame(encode_binary(message)))

    async def until(self, condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
        async with asyncio.timeout(deadline_s):
            while not condition():
                self.turn()
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def hub_running(target: str, **how: Any) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(simulate("hub-01", 6, target, stop=stop, **how))
    try:
        yield task
    finally:
        stop.set()
        async with asyncio.timeout(DEADLINE_S):
            await task


async def appears(path: Path) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            if is_link(path):
                return
            await asyncio.sleep(0.005)


def is_link(path: Path) -> bool:
    return path.is_symlink()


@contextlib.contextmanager
def opened(link: Path, house: House) -> Iterator[FrameHost]:
    """As the daemon does: pyserial opens the link for itself alone."""
    with serial.Serial(str(link), 115200, timeout=0, exclusive=True) as port:
        yield FrameHost(port.fileno(), house)


def script_at(folder: Path, text: str) -> Path:
    path = folder / "game.jsonl"
    path.write_text(text)
    return path


async def test_a_hub_says_hello_in_frames_on_its_pty(tmp_path: Path) -> None:
    link = tmp_path / "hub"
    async with hub_running(f"pty:{link}"):
        await appears(link)
        with opened(link, House()) as host:
            await host.until(lambda: host.heard)
            await host.until(lambda: any(isinstance(message, Hello) for message in host.heard))
            assert {message.device for message in host.heard} == {"hub-01"}


async def test_a_written_game_arrives_whole_and_the_run_ends_when_it_is_acknowledged(tmp_path: Path) -> None:
    link, house = tmp_path / "hub", House()
    async with hub_running(f"pty:{link}", script=script_at(tmp_path, GAME)) as run:
        await appears(link)
        with opened(link, house) as host:
            await host.until(run.done)
    assert [type(message).__name__ for message in house.posted] == ["Lock", "Count", "Hits", "Close"]
    lock, count, hits, _ = house.posted
    assert isinstance(lock, Lock) and lock.wagers == (Wager(1, "progressive", 500),)
    assert isinstance(hits, Hits) and hits.hits == (Hit(1, "progressive", "straight"),)
    assert getattr(count, "chips", None) == 1


async def test_a_host_that_closes_the_pty_and_opens_it_again_finds_the_same_hub(tmp_path: Path) -> None:
    """SE-01: the host's end comes and goes, the hub stays, under the same link and boot."""
    link, house = tmp_path / "hub", House()
    async with hub_running(f"pty:{link}"):
        await appears(link)
        with opened(link, house) as first:
            await first.until(lambda: first.heard)
        with opened(link, house) as again:
            await again.until(lambda: any(isinstance(message, Heartbeat) for message in again.heard))
    assert {message.boot for message in again.heard} == {first.heard[0].boot}


async def test_damage_on_a_pty_is_made_good_by_sending_again(tmp_path: Path) -> None:
    """SE-05, R-92: bit errors, cut frames and noise cost repetitions, never a message."""
    link, house = tmp_path / "hub", House()
    game = script_at(tmp_path, GAME * 5)
    async with hub_running(f"pty:{link}", script=game, seed=4, faults="bitflip=0.05,truncate=0.05,noise=0.05") as run:
        await appears(link)
        with opened(link, house) as host:
            # The waits double while nothing arrives, so an unlucky hello takes its time.
            await host.until(run.done, deadline_s=60.0)
    assert [message.seq for message in house.posted] == list(range(1, 21))
    assert sum(host.reader.damaged.values()) > 0


async def test_a_seeded_dealer_plays_on_a_pty(tmp_path: Path) -> None:
    link, house = tmp_path / "hub", House()
    async with hub_running(f"pty:{link}", seed=2, pace=0.02, hit_rate=0.5):
        await appears(link)
        with opened(link, house) as host:
            await host.until(lambda: any(isinstance(message, Hits) for message in house.posted))


async def test_two_runs_with_one_seed_never_share_a_boot_id(tmp_path: Path) -> None:
    """A second run on the same ledger must not look like a hub that lost its counter."""
    link, boots = tmp_path / "hub", []
    for _ in range(2):
        async with hub_running(f"pty:{link}", seed=1):
            await appears(link)
            with opened(link, House()) as host:
                await host.until(lambda host=host: host.heard)  # type: ignore[misc]
                boots.append(host.heard[0].boot)
    assert boots[0] != boots[1]


async def test_the_link_is_gone_after_the_run(tmp_path: Path) -> None:
    link = tmp_path / "hub"
    async with hub_running(f"pty:{link}"):
        await appears(link)
    assert not link.is_symlink()


async def test_a_file_that_is_no_link_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    place.write_text("money")
    with pytest.raises(SimulationError, match="choose another path"):
        await simulate("hub-01", 6, f"pty:{place}", stop=asyncio.Event())
    assert place.read_text() == "money"


async def test_a_hub_speaks_on_a_serial_port_that_it_opens() -> None:
    near, far = os.openpty()
    tty.setraw(far)
    async with hub_running(os.ttyname(far)):
        host = FrameHost(near, House())
        await host.until(lambda: any(isinstance(message, Hello) for message in host.heard))
    os.close(near)
    os.close(far)


async def test_a_hub_on_tcp_takes_a_new_connection_after_the_last_one_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with hub_running(f"tcp://127.0.0.1:{port}"):
        for _ in range(2):
            with await connected(port) as connection:
                host = FrameHost(connection.fileno(), House())
                await host.until(lambda host=host: host.heard)  # type: ignore[misc]


async def connected(port: int) -> socket.socket:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)


async def test_a_message_without_a_binary_form_names_its_line_in_the_script(tmp_path: Path) -> None:
    script = script_at(tmp_path, '{"wait": 0}\n{"send": {"type": "lock", "seq": 1, "round": "one"}}\n')
    with pytest.raises(SimulationError, match=r"script, line 2: .* no binary form; send it on an MQTT line"):
        await simulate("hub-01", 6, f"pty:{tmp_path / 'hub'}", script=script, stop=asyncio.Event())


# MQTT


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    written = tmp_path / "mosquitto.conf"
    written.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    command = ["/usr/sbin/mosquitto", "-c", str(written)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    try:
        (await connected(port)).close()
        yield port
    finally:
        process.terminate()
        process.wait()


@contextlib.asynccontextmanager
async def listening(port: int, topic: str) -> AsyncIterator[aiomqtt.Client]:
    async with aiomqtt.Client("127.0.0.1", port) as client, asyncio.timeout(DEADLINE_S):
        await client.subscribe(topic, qos=1)
        yield client


async def next_payload(client: aiomqtt.Client) -> bytes:
    message = await anext(aiter(client.messages))
    assert isinstance(message.payload, bytes)
    return message.payload


async def test_a_written_game_arrives_over_a_real_broker(broker: int, tmp_path: Path) -> None:
    house = House()
    async with (
        listening(broker, "meterd/demo/dev/hub-01/up") as client,
        hub_running(f"mqtt://127.0.0.1:{broker}/demo", script=script_at(tmp_path, GAME)) as run,
    ):
        while not run.done() and len(house.posted) < 4:
            message = decode_json(await next_payload(client))
            assert message is not None and not isinstance(message, Unreadable)
            for answer in [*house.hears(message), PLAY]:
                await client.publish("meterd/demo/dev/hub-01/down", encode_json(answer), qos=1)
    assert [type(message).__name__ for message in house.posted] == ["Lock", "Count", "Hits", "Close"]


async def test_a_hub_says_online_at_start_and_offline_at_its_end(broker: int) -> None:
    async with listening(broker, "meterd/demo/dev/hub-01/state") as client:
        async with hub_running(f"mqtt://127.0.0.1:{broker}/demo"):
            assert await next_payload(client) == b"online"
        assert await next_payload(client) == b"offline"


async def test_the_broker_says_offline_for_a_hub_that_died(broker: int) -> None:
    code = (
        "import asyncio; from firmware_bridge.simulator import simulate; "
        f"asyncio.run(simulate('hub-01', 6, 'mqtt://127.0.0.1:{broker}/demo', stop=asyncio.Event()))"
    )
    async with listening(broker, "meterd/demo/dev/hub-01/state") as client:
        dying = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=Path(__file__).parents[1])
        try:
            assert await next_payload(client) == b"online"
        finally:
            dying.kill()
            await dying.wait()
        assert await next_payload(client) == b"offline"


async def test_a_script_may_send_any_fields_over_mqtt(broker: int, tmp_path: Path) -> None:
    """MQ-06 trials need messages that no good device says."""
    script = script_at(tmp_path, '{"wait": 0.3}\n{"send": {"type": "lock", "seq": 9, "round": "one"}}\n{"wait": 5}\n')
    async with (
        listening(broker, "meterd/demo/dev/hub-01/up") as client,
        hub_running(f"mqtt://127.0.0.1:{broker}/demo", script=script),
    ):
        while not isinstance(message := decode_json(await next_payload(client)), Malformed):
            assert message is None or isinstance(message, Hello | Heartbeat)
    assert message.seq == 9


async def test_a_missing_password_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match="nowhere: cannot be read"):
        await simulate(
            "hub-01", 6, "mqtt://hub@127.0.0.1:1/demo", password_file=tmp_path / "nowhere", stop=asyncio.Event()
        )


# Targets and scripts


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("pty:/run/hub", Target("pty", path="/run/hub")),
        ("/dev/ttyUSB0", Target("serial", path="/dev/ttyUSB0")),
        ("tcp://127.0.0.1:7001", Target("tcp", host="127.0.0.1", port=7001)),
        ("mqtt://hub@localhost:1884/demo", Target("mqtt", host="localhost", port=1884, user="hub", site="demo")),
        ("mqtt://localhost/demo", Target("mqtt", host="localhost", port=1883, site="demo")),
    ],
)
def test_a_target_is_read(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(
    "text", ["", "pty:", "COM3", "tcp://localhost", "tcp://h:99999", "mqtt://h", "mqtt://h/a/b", "mqtt://h/+", "ftp://h:1"]
)
def test_a_target_that_is_none_is_refused(text: str) -> None:
    """MQ-11: a site with a wildcard or separator names no topic."""
    with pytest.raises(SimulationError, match="target"):
        parse_target(text)


def test_a_password_in_a_target_is_refused_and_not_shown() -> None:
    """CF-06."""
    with pytest.raises(SimulationError) as refusal:
        parse_target("mqtt://hub:s3cret@localhost/demo")
    assert "s3cret" not in str(refusal.value)


async def test_a_device_name_outside_the_alphabet_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    """MQ-11."""
    with pytest.raises(SimulationError, match="device 'hub/#'"):
        await simulate("hub/#", 6, f"pty:{tmp_path / 'hub'}", stop=asyncio.Event())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense", "not JSON"),
        ("[]", "write one action as an object"),
        ('{"lok": []}', "unknown action 'lok'; did you mean 'lock'?"),
        ('{"lock": [], "close": {}}', "write exactly one action a line"),
        ('{"lock": [{"seat": 1}]}', "lock: "),
        ('{"wait": -1}', "wait: write seconds from 0 to 86400"),
        ('{"hits": []}', "hits: not a list of 1 to 64"),
        ('{"notice": {"kind": "fire"}}', "notice: not one of late-bet"),
        ('{"restart": {"losses": true}}', "restart: write an object"),
        ('{"send": 1}', "send: write the message's fields"),
        ('{"close": {}, "force": true}', "write exactly one action a line"),
        ('{"lock": [], "force": 1}', "write exactly one action a line"),
    ],
)
def test_a_bad_script_line_is_named_with_its_remedy(tmp_path: Path, line: str, words: str) -> None:
    path = script_at(tmp_path, f'# a comment\n{{"wait": 1}}\n{line}\n')
    with pytest.raises(SimulationError, match=re.escape(f"{path}, line 3: {words}")):
        Script.read(path, 0.0)


def played(tmp_path: Path, text: str, seconds: float) -> tuple[Hub, Script, list[Up]]:
    """A script on a welcomed hub in virtual time, a pulse every second."""
    hub = Hub("hub-01", 6, random.Random(1), 0.0)
    hub.received(Welcome((Committed("b0", 1),), None), 0.0)
    hub.received(LAYOUT, 0.0)
    script, said = Script.read(script_at(tmp_path, text), 0.0), []
    for tenth in range(int(seconds * 10) + 1):
        if tenth % 10 == 5:
            hub.received(PLAY, tenth / 10)
        script.act(hub, tenth / 10)
        said += hub.tick(tenth / 10)
    return hub, script, said


def numbers(said: list[Up]) -> list[str]:
    return [type(message).__name__ for message in said if not isinstance(message, Hello | Heartbeat)]


def test_a_script_waits_at_the_keypad_until_a_refused_action_is_taken(tmp_path: Path) -> None:
    _, script, said = played(tmp_path, '{"lock": []}\n', 1.0)
    assert (numbers(said), script.done) == (["Lock"], True)


def test_a_forced_lock_does_not_wait(tmp_path: Path) -> None:
    _, _, said = played(tmp_path, '{"lock": [], "force": true}\n', 0.2)
    assert numbers(said) == ["Lock"]


def test_a_script_is_done_only_after_its_last_wait(tmp_path: Path) -> None:
    assert [played(tmp_path, '{"wait": 1.0}\n', seconds)[1].done for seconds in (0.9, 1.1)] == [False, True]


def test_waiting_for_acknowledgement_waits_while_a_message_is_kept(tmp_path: Path) -> None:
    _, script, _ = played(tmp_path, '{"notice": {"kind": "door-open"}}\n{"wait": "acknowledged"}\n', 5.0)
    assert not script.done


def test_chips_laid_by_a_script_are_what_it_locks(tmp_path: Path) -> None:
    bets = "".join(f'{{"bet": {{"seat": {seat}, "spot": "progressive"}}}}\n' for seat in (1, 2))
    _, _, said = played(tmp_path, bets + '{"lift": {"seat": 1, "spot": "progressive"}}\n{"lock": null}\n', 1.0)
    locks = [message for message in said if isinstance(message, Lock)]
    assert [lock.wagers for lock in locks] == [(Wager(2, "progressive", 500),)]


def test_a_script_restarts_its_hub_with_a_loss_when_told_so(tmp_path: Path) -> None:
    restart = '{"restart": {"lost": true, "cause": "test"}}\n'
    hub, _, _ = played(tmp_path, '{"notice": {"kind": "door-open"}}\n' + restart, 0.5)
    assert (hub.reset_cause, hub.unacknowledged) == ("test", 0)


def test_a_notice_of_a_script_names_its_place(tmp_path: Path) -> None:
    _, _, said = played(tmp_path, '{"notice": {"kind": "late-bet", "seat": 2, "spot": "progressive"}}\n', 0.1)
    notices = [(m.kind, m.seat, m.spot) for m in said if isinstance(m, Notice)]
    assert notices == [("late-bet", 2, "progressive")]
