"""The MQTT line against a real Mosquitto on the loopback (MQ-01, MQ-05, MQ-06, MQ-08, MQ-09; issue 2 "Lines")."""

import asyncio
import contextlib
import logging
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from firmware_bridge import mqtt_line
from firmware_bridge.messages import MESSAGE_BYTES_MAX
from firmware_bridge.mqtt_line import MqttLine

UP = "meterd/pit/dev/hub-03/up"


class Broker:
    """A private Mosquitto on a free port of the loopback."""

    def __init__(self, folder: Path, more: str = "", *, anonymous: bool = True) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._file = folder / "mosquitto.conf"
        known = "true" if anonymous else "false"
        self._file.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous {known}\n{more}\n")
        self._process: subprocess.Popen[bytes] | None = None
        self.begin()

    def begin(self) -> None:
        """Start, and wait until it listens."""
        self._process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", self._file], stderr=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)
        raise RuntimeError("Mosquitto does not listen")

    def end(self) -> None:
        """Stop; it forgets all sessions."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


class Heard:
    """What a line reported, in order."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes, bool]] = []
        self.states: list[tuple[str, bytes]] = []
        self.sessions: list[bool] = []
        self.causes: list[str] = []

    def line(self, port: int, client_id: str = "meterd-test", **more: Any) -> MqttLine:
        """A line that reports here."""
        return MqttLine(
            "pit",
            "127.0.0.1",
            port,
            client_id,
            on_message=lambda device, payload, retained: self.messages.append((device, payload, retained)),
            on_state=lambda device, payload: self.states.append((device, payload)),
            on_up=self.sessions.append,
            on_down=self.causes.append,
            **more,
        )


async def until(true: Callable[[], bool], seconds: float = 8.0) -> None:
    """Wait for a condition; the test fails when it does not come."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def quick_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between tries scaled down tenfold."""
    monkeypatch.setattr(mqtt_line, "RETRY_MIN_S", 0.05)
    monkeypatch.setattr(mqtt_line, "RETRY_MAX_S", 0.2)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path)
    yield made
    made.end()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def line(broker: Broker, heard: Heard) -> AsyncIterator[MqttLine]:
    made = heard.line(broker.port)
    made.start()
    await until(lambda: len(heard.sessions) == 1)
    yield made
    await made.stop()


@pytest.fixture
async def hub(broker: Broker) -> AsyncIterator[aiomqtt.Client]:
    async with aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5) as made:
        yield made


async def test_a_message_of_a_hub_comes_with_the_device_of_its_topic(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"lock-out", qos=1)
    await until(lambda: heard.messages == [("hub-03", b"lock-out", False)])


async def test_messages_go_past_aiomqtts_queue_as_the_pinned_version_allows(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"lock-out", qos=1)
    await until(lambda: len(heard.messages) == 1)
    assert line._client is not None and len(line._client.messages) == 0


async def test_the_state_of_a_hub_comes_apart_from_its_messages(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish("meterd/pit/dev/hub-03/state", b"offline", qos=1, retain=True)
    await until(lambda: heard.states == [("hub-03", b"offline")])
    assert heard.messages == []


async def first_on(client: aiomqtt.Client, topic: str) -> aiomqtt.Message:
    await client.subscribe(topic, qos=1)
    async for message in client.messages:
        return message
    raise AssertionError("the client ended")


async def test_what_is_sent_to_a_device_arrives_on_its_down_topic_and_is_not_retained(
    line: MqttLine, hub: aiomqtt.Client
) -> None:
    waiting = asyncio.create_task(first_on(hub, "meterd/pit/dev/hub-03/down"))
    await asyncio.sleep(0.1)
    assert line.send("hub-03", b"ack")
    message = await asyncio.wait_for(waiting, 5)
    assert (message.payload, message.qos, message.retain) == (b"ack", 1, False)


async def test_a_meter_is_retained_for_signs(line: MqttLine, hub: aiomqtt.Client) -> None:
    assert line.show_meter("pg-link", b"amount")
    await until(lambda: line.counters["sent"] >= 2)
    message = await asyncio.wait_for(first_on(hub, "meterd/pit/meter/pg-link"), 5)
    assert (message.payload, message.retain) == (b"amount", True)


async def test_the_host_is_online_while_the_line_is_up(line: MqttLine, hub: aiomqtt.Client) -> None:
    message = await asyncio.wait_for(first_on(hub, "meterd/pit/host/state"), 5)
    assert (message.payload, message.retain) == (b"online", True)


async def test_the_host_is_offline_after_an_orderly_end(line: MqttLine, hub: aiomqtt.Client) -> None:
    await line.stop()
    message = await asyncio.wait_for(first_on(hub, "meterd/pit/host/state"), 5)
    assert message.payload == b"offline"


async def test_the_broker_says_offline_when_the_daemon_dies(line: MqttLine, hub: aiomqtt.Client) -> None:
    assert line._client is not None
    connection = line._client._client.socket()
    assert isinstance(connection, socket.socket)
    await hub.subscribe("meterd/pit/host/state", qos=1)
    connection.shutdown(socket.SHUT_RDWR)
    said = []
    async with asyncio.timeout(5):
        async for message in hub.messages:
            said.append(message.payload)
            if message.payload == b"offline":
                break
    assert said[-1] == b"offline"


async def test_a_lost_connection_comes_back_with_its_session(line: MqttLine, heard: Heard) -> None:
    assert line._client is not None
    connection = line._client._client.socket()
    assert isinstance(connection, socket.socket)
    connection.shutdown(socket.SHUT_RDWR)
    await until(lambda: heard.sessions == [False, True])
    assert len(heard.causes) == 1


async def test_what_comes_while_the_daemon_is_away_is_delivered_later(
    line: MqttLine, broker: Broker, hub: aiomqtt.Client, heard: Heard
) -> None:
    await line.stop()
    await hub.publish(UP, b"while away", qos=1)
    again = heard.line(broker.port)
    again.start()
    await until(lambda: heard.messages == [("hub-03", b"while away", False)])
    await again.stop()


async def test_a_broker_that_forgot_the_session_is_reported_mq_05(
    line: MqttLine, broker: Broker, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "meterd.line"):
        broker.end()
        await until(lambda: len(heard.causes) == 1)
        broker.begin()
        await until(lambda: len(heard.sessions) == 2)
    assert line.counters["sessions_lost"] == 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]


async def test_a_first_start_expects_no_session_mq_05(line: MqttLine) -> None:
    assert line.counters["sessions_lost"] == 0


async def test_a_daemon_that_was_here_before_expects_its_session_mq_05(broker: Broker, heard: Heard) -> None:
    line = heard.line(broker.port, expect_session=True)
    line.start()
    await until(lambda: heard.sessions == [False])
    assert line.counters["sessions_lost"] == 1
    await line.stop()


async def test_a_retained_wager_is_passed_on_as_such_and_counted_mq_01(
    broker: Broker, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"kept by the broker", qos=1, retain=True)
    line = heard.line(broker.port)
    line.start()
    await until(lambda: heard.messages == [("hub-03", b"kept by the broker", True)])
    assert line.counters["retained"] == 1
    await line.stop()


async def test_a_retained_wager_is_not_replayed_at_each_reconnection_mq_01(
    line: MqttLine, broker: Broker, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"kept by the broker", qos=1, retain=True)
    await until(lambda: len(heard.messages) == 1)
    await line.stop()
    again = heard.line(broker.port)
    again.start()
    await until(lambda: heard.sessions == [False, True])
    await hub.publish(UP, b"after", qos=1)
    await until(lambda: heard.messages[-1] == ("hub-03", b"after", False))
    assert len(heard.messages) == 2
    await again.stop()


async def test_a_message_comes_once_however_often_the_line_reconnected_mq_09(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    for count in range(3):
        assert line._client is not None
        connection = line._client._client.socket()
        assert isinstance(connection, socket.socket)
        connection.shutdown(socket.SHUT_RDWR)
        await until(lambda count=count: len(heard.sessions) == count + 2)  # type: ignore[misc]
    await hub.publish(UP, b"once", qos=1)
    await hub.publish(UP, b"and then", qos=1)
    await until(lambda: heard.messages[-1:] == [("hub-03", b"and then", False)])
    assert len(heard.messages) == 2


@pytest.mark.parametrize("payload", [b"\xff\xfe\x00", b"null", b"[]", b"[" * 1000, b"\xef\xbb\xbf{}"])
async def test_any_payload_is_passed_on_and_the_next_one_too_mq_06(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard, payload: bytes
) -> None:
    await hub.publish(UP, payload, qos=1)
    await hub.publish(UP, b"good", qos=1)
    await until(lambda: [message[1] for message in heard.messages] == [payload, b"good"])


async def test_a_message_that_is_too_long_is_counted_and_the_next_one_is_read_mq_06(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"x" * (MESSAGE_BYTES_MAX + 1), qos=1)
    await hub.publish(UP, b"good", qos=1)
    await until(lambda: heard.messages == [("hub-03", b"good", False)])
    assert line.counters["too_long"] == 1


async def test_a_message_of_any_length_does_not_stop_the_next_one_mq_06(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard
) -> None:
    await hub.publish(UP, b"x" * (4 * MESSAGE_BYTES_MAX), qos=1)
    await hub.publish(UP, b"good", qos=1)
    await until(lambda: heard.messages == [("hub-03", b"good", False)])


@pytest.mark.parametrize("device", ["a b", "x" * 65, "\N{CYRILLIC SMALL LETTER A}1", "$SYS", " "])
async def test_a_topic_whose_device_is_no_id_is_counted_mq_11(
    line: MqttLine, hub: aiomqtt.Client, heard: Heard, device: str
) -> None:
    await hub.publish(f"meterd/pit/dev/{device}/up", b"stranger", qos=1)
    await hub.publish(UP, b"good", qos=1)
    await until(lambda: heard.messages == [("hub-03", b"good", False)])
    assert line.counters["odd_topic"] == 1


async def test_a_fault_in_a_callback_does_not_end_the_connection(broker: Broker, hub: aiomqtt.Client) -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    taken: list[bytes] = []

    def broken(device: str, payload: bytes, retained: bool) -> None:
        taken.append(payload)
        raise RuntimeError("broken")

    heard = Heard()
    line = MqttLine(
        "pit", "127.0.0.1", broker.port, "meterd-test",
        on_message=broken, on_state=lambda device, payload: None,
        on_up=heard.sessions.append, on_down=heard.causes.append,
    )  # fmt: skip
    line.start()
    await until(lambda: line.up)
    await hub.publish(UP, b"one", qos=1)
    await hub.publish(UP, b"two", qos=1)
    await until(lambda: taken == [b"one", b"two"])
    assert len(reported) == 2 and heard.causes == []
    await line.stop()


async def pauses(line: MqttLine, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries that the line asks for from now on; they are not waited for."""
    waits: list[float] = []
    real_pause = line._pause

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        await real_pause(0.01)

    monkeypatch.setattr(line, "_pause", pause)
    return waits


async def thrown_out_by(broker: Broker, line: MqttLine) -> None:
    """Another client takes the id once, and gives it up when the line takes it back."""
    connected = line.counters["connected"]
    with contextlib.suppress(aiomqtt.MqttError):
        async with aiomqtt.Client(
            "127.0.0.1", broker.port, identifier="meterd-test", protocol=aiomqtt.ProtocolVersion.V5
        ) as other:
            await until(lambda: line.counters["connected"] > connected)
            other._client.loop_misc()


async def test_another_client_of_the_same_id_is_recognised_though_the_broker_says_nothing_mq_08(
    line: MqttLine, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pauses(line, monkeypatch)
    causes: list[str] = []
    monkeypatch.setattr(line, "_on_down", causes.append)
    for _ in range(mqtt_line.CLASH_ENDS):
        await thrown_out_by(broker, line)
    assert line.clash and "meterd-test" in causes[-1]


async def test_the_waits_are_long_while_another_client_uses_the_id_mq_08(
    line: MqttLine, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = await pauses(line, monkeypatch)
    for _ in range(mqtt_line.CLASH_ENDS + 3):
        await thrown_out_by(broker, line)
    assert all(wait >= 5 * 0.7 for wait in waits[mqtt_line.CLASH_ENDS - 1 :])
    assert waits[-1] > 10


async def test_a_broker_restarted_a_few_times_is_no_clash(line: MqttLine, broker: Broker, heard: Heard) -> None:
    for count in range(2):
        broker.end()
        broker.begin()
        await until(lambda count=count: len(heard.sessions) == count + 2)  # type: ignore[misc]
    assert not line.clash


async def test_a_broker_that_names_the_takeover_is_believed_at_once_mq_08(heard: Heard) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accept(reader, writer)
        writer.write(_packet(0xE0, b"\x8e\x00"))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    line = heard.line(server.sockets[0].getsockname()[1])
    line.start()
    await until(lambda: line.clash)
    assert line.cause == "another program uses the client id meterd-test"
    await line.stop()
    server.close()


async def test_a_clash_ends_after_a_steady_connection_mq_08(
    broker: Broker, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_line, "STEADY_S", 0.05)
    line = heard.line(broker.port)
    line.clash = True
    line.start()
    await until(lambda: line.up and not line.clash)
    await line.stop()


async def test_nothing_is_sent_while_the_line_is_down(broker: Broker, line: MqttLine) -> None:
    broker.end()
    await until(lambda: not line.up)
    assert not line.send("hub-03", b"ack")
    assert line.counters["dropped"] == 1


async def test_no_more_is_queued_than_the_bound(
    broker: Broker, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_line, "UNSENT_MAX", 10)
    line = heard.line(broker.port)
    line.start()
    await until(lambda: line.up)
    taken = [line.send("hub-03", b"x") for _ in range(50)]
    assert taken.count(True) <= 10
    await line.stop()


@pytest.fixture
def guarded_broker(tmp_path: Path) -> Iterator[Broker]:
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "meterd", "right"], check=True)
    passwords.chmod(0o644)
    made = Broker(tmp_path, f"password_file {passwords}\nuser root", anonymous=False)
    yield made
    made.end()


async def test_the_password_is_read_again_at_each_connection_cf_06(
    guarded_broker: Broker, tmp_path: Path, heard: Heard
) -> None:
    (tmp_path / "secret").write_text("wrong\n")
    line = heard.line(guarded_broker.port, username="meterd", password_file=tmp_path / "secret")
    line.start()
    await until(lambda: "not connected" not in line.cause)
    assert not line.up
    (tmp_path / "secret").write_text("right\n")
    await until(lambda: line.up)
    await line.stop()


async def test_a_missing_password_file_is_told_as_the_cause(heard: Heard, tmp_path: Path) -> None:
    line = heard.line(1, username="meterd", password_file=tmp_path / "nothing")
    line.start()
    await until(lambda: "nothing" in line.cause)
    await line.stop()


def certificates(folder: Path) -> None:
    """A certificate for 127.0.0.1 that is its own authority."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    (folder / "key.pem").chmod(0o644)


@pytest.fixture
def tls_broker(tmp_path: Path) -> Iterator[Broker]:
    certificates(tmp_path)
    made = Broker(tmp_path, f"user root\ncertfile {tmp_path}/cert.pem\nkeyfile {tmp_path}/key.pem")
    yield made
    made.end()


async def test_a_broker_with_a_known_certificate_is_spoken_to_in_tls(
    tls_broker: Broker, heard: Heard, tmp_path: Path
) -> None:
    line = heard.line(tls_broker.port, tls=True, ca_file=tmp_path / "cert.pem")
    line.start()
    await until(lambda: line.up)
    context = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    async with aiomqtt.Client("127.0.0.1", tls_broker.port, tls_context=context) as hub:
        await hub.publish(UP, b"in tls", qos=1)
    await until(lambda: heard.messages == [("hub-03", b"in tls", False)])
    await line.stop()


async def test_a_broker_with_an_unknown_certificate_is_never_spoken_to_mq_12(tls_broker: Broker, heard: Heard) -> None:
    line = heard.line(tls_broker.port, tls=True)
    line.start()
    await until(lambda: "certificate" in line.cause.lower())
    assert heard.sessions == []
    await line.stop()


def _packet(kind: int, body: bytes) -> bytes:
    assert len(body) < 128
    return bytes((kind, len(body))) + body


async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a broker as a client needs: CONNACK, SUBACK."""
    await reader.read(1000)
    writer.write(_packet(0x20, b"\x00\x00\x00"))
    subscribe = await reader.read(1000)
    writer.write(_packet(0x90, subscribe[2:4] + b"\x00\x01\x01"))


async def test_a_topic_that_is_not_utf_8_is_counted_and_the_next_message_is_read_mq_06(heard: Heard) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accept(reader, writer)
        for topic in (b"meterd/pit/dev/\xff\xfe/up", UP.encode()):
            writer.write(_packet(0x30, struct.pack(">H", len(topic)) + topic + b"\x00" + b"good"))
        await reader.read(1000)
        writer.close()

    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    line = heard.line(server.sockets[0].getsockname()[1])
    line.start()
    await until(lambda: heard.messages == [("hub-03", b"good", False)])
    assert line.counters["odd_topic"] == 1
    await line.stop()
    server.close()


async def test_a_refused_subscription_is_told_as_the_cause(heard: Heard) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(_packet(0x20, b"\x00\x00\x00"))
        subscribe = await reader.read(1000)
        writer.write(_packet(0x90, subscribe[2:4] + b"\x00\x87\x01"))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    line = heard.line(server.sockets[0].getsockname()[1])
    line.start()
    await until(lambda: "refuses a subscription" in line.cause)
    await line.stop()
    server.close()
