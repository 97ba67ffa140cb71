"""The MQTT line when the broker does not want it: clashes, passwords, certificates (MQ-08, MQ-12, CF-06)."""

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
import mqtt_house
import pytest
from mqtt_house import UP, Broker, Heard, accept, packet, until

from firmware_bridge import mqtt_line
from firmware_bridge.mqtt_line import MqttLine

quick_tries, broker, heard, line = mqtt_house.quick_tries, mqtt_house.broker, mqtt_house.heard, mqtt_house.line


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
        ):
            await until(lambda: line.counters["connected"] > connected)


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
        writer.write(packet(0xE0, b"\x8e\x00"))
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


async def test_a_refused_subscription_is_told_as_the_cause(heard: Heard) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(packet(0x20, b"\x00\x00\x00"))
        subscribe = await reader.read(1000)
        writer.write(packet(0x90, subscribe[2:4] + b"\x00\x87\x01"))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    line = heard.line(server.sockets[0].getsockname()[1])
    line.start()
    await until(lambda: "refuses a subscription" in line.cause)
    await line.stop()
    server.close()
