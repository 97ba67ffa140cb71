"""The MQTT line against a real Mosquitto on the loopback (MQ-01, MQ-05, MQ-06, MQ-09, MQ-11; issue 2 "Lines")."""

import asyncio
import logging
import socket
import struct
from typing import Any

import aiomqtt
import mqtt_house
import pytest
from mqtt_house import UP, Broker, Heard, accept, packet, until

from firmware_bridge import mqtt_line
from firmware_bridge.messages import MESSAGE_BYTES_MAX
from firmware_bridge.mqtt_line import MqttLine

quick_tries, broker, heard, line, hub = (
    mqtt_house.quick_tries, mqtt_house.broker, mqtt_house.heard, mqtt_house.line, mqtt_house.hub
)  # fmt: skip


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


async def test_many_messages_come_each_once_and_in_order(line: MqttLine, hub: aiomqtt.Client, heard: Heard) -> None:
    wanted = [b"%d" % number for number in range(500)]
    for payload in wanted:
        hub._client.publish(UP, payload, qos=1)
    await until(lambda: len(heard.messages) >= 500)
    assert [payload for _device, payload, _retained in heard.messages] == wanted


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
    await asyncio.wait_for(first_on(hub, "meterd/pit/meter/pg-link"), 5)  # the broker has it, retained or live
    await hub.unsubscribe("meterd/pit/meter/pg-link")
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


async def test_a_topic_that_is_not_utf_8_is_counted_and_the_next_message_is_read_mq_06(heard: Heard) -> None:
    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accept(reader, writer)
        for topic in (b"meterd/pit/dev/\xff\xfe/up", UP.encode()):
            writer.write(packet(0x30, struct.pack(">H", len(topic)) + topic + b"\x00" + b"good"))
        await reader.read(1000)
        writer.close()

    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    line = heard.line(server.sockets[0].getsockname()[1])
    line.start()
    await until(lambda: heard.messages == [("hub-03", b"good", False)])
    assert line.counters["odd_topic"] == 1
    await line.stop()
    server.close()
