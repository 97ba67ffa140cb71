"""The MQTT line: one connection to the broker, for all sensor hubs that speak MQTT 5.

aiomqtt owns the connection. Incoming messages are taken from its inner paho client's ``on_message``, which costs half
of ``async for`` (libraries.md section 3); aiomqtt has no public way, so its version is pinned and a test holds this.
A PUBACK says nothing about durability: the host's ``ack`` does (design section 7). A topic or payload that makes no
sense is counted and never ends the line (MQ-06).
"""

import asyncio
import logging
import random
import re
import socket
import ssl
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import aiomqtt
from paho.mqtt.client import MQTT_ERR_SUCCESS, MQTTMessage
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from firmware_bridge.messages import MESSAGE_BYTES_MAX

KEEPALIVE_S: Final = 10
"""A broker that says nothing for one and a half of these is gone."""
ANSWER_S: Final = 5.0
"""The longest wait for the broker to answer at connecting and subscribing."""
SESSION_EXPIRY_S: Final = 7 * 86_400
"""So long the broker keeps what comes while the daemon is away."""
UNSENT_MAX: Final = 4096
"""Messages handed to the client that the broker has not acknowledged; more are refused and counted."""
READ_AT_ONCE: Final = 20
"""Messages taken at one wake-up of the loop: as many as Mosquitto has in flight; then the others have their turn."""
RETRY_MIN_S: Final = 0.5
RETRY_MAX_S: Final = 8.0
CLASH_MIN_S: Final = 5.0
CLASH_MAX_S: Final = 20.0
"""After being thrown out by another client of the same id the waits are longer: a few tries a minute (MQ-08)."""
CLASH_ENDS: Final = 5
"""Some brokers (Mosquitto 2.0.11 is one) throw a client out without a word. So many connections that the broker took
and then closed within a minute are therefore shown as a clash too."""
STEADY_S: Final = 60.0
"""A connection that lasted so long ends a clash, and the waits start again from the shortest."""
NOW: Final = ((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),)
"""Small packets go out at once: with Nagle's algorithm an acknowledgement waits up to 40 ms."""
RECEIVE_BYTES: Final = 65_536
_TAKEN_OVER: Final = 0x8E
_REFUSED_FROM: Final = 0x80

_log = logging.getLogger("meterd.line")


class _Arrived:
    """Reads much from the socket at once, and gives paho the few bytes it asks for: four reads for every packet.

    Each read gives the interpreter's lock away, and wins it back from the ledger's writer.
    """

    def __init__(self, receive: Callable[[int], bytes]) -> None:
        self._receive = receive
        self._bytes = b""
        self._at = 0

    @property
    def left(self) -> bool:
        """Whether bytes are here that paho has not taken."""
        return self._at < len(self._bytes)

    def take(self, count: int) -> bytes:
        """Up to ``count`` bytes; raises BlockingIOError when there are none, as the socket does."""
        if not self.left:
            self._bytes, self._at = self._receive(RECEIVE_BYTES), 0
        part = self._bytes[self._at : self._at + count]
        self._at += len(part)
        return part


class MqttLine:
    """The connection of one daemon; all methods and callbacks belong to the event loop's thread.

    ``on_message(device, payload, retained)``: from a device's ``up`` topic, ``device`` as the topic says.
    ``on_state(device, payload)``: from its ``state`` topic. ``on_up(session_present)`` once subscribed;
    ``on_down(cause)``. What is retained (meters) has to be sent again at ``on_up``.
    """

    def __init__(
        self,
        site: str,
        host: str,
        port: int,
        client_id: str,
        *,
        on_message: Callable[[str, bytes, bool], None],
        on_state: Callable[[str, bytes], None],
        on_up: Callable[[bool], None],
        on_down: Callable[[str], None],
        username: str | None = None,
        password_file: Path | None = None,
        tls: bool = False,
        ca_file: Path | None = None,
        cert_file: Path | None = None,
        key_file: Path | None = None,
        expect_session: bool = False,
    ) -> None:
        self.up = False
        self.cause = "not connected yet"
        """Why the line is down, for people; empty while it is up."""
        self.clash = False
        """Whether another client uses this client id (MQ-08); ends after STEADY_S without one."""
        self._session_present = False
        self._closed_at: deque[float] = deque(maxlen=CLASH_ENDS)
        self.counters = dict.fromkeys(
            ("received", "retained", "odd_topic", "too_long", "sent", "dropped",
             "connected", "sessions_lost", "taken_over"), 0)  # fmt: skip
        """Since the start. ``sessions_lost``: the broker had forgotten a session that was expected (MQ-05)."""
        self._base = f"meterd/{site}"
        self._topic = re.compile(rf"{re.escape(self._base)}/dev/([A-Za-z0-9._-]{{1,64}})/(up|state)")
        self._place, self._client_id = (host, port), client_id
        self._username, self._password_file = username, password_file
        self._tls, self._tls_files = tls, (ca_file, cert_file, key_file)
        self._expect_session = expect_session
        self._on_message, self._on_state, self._on_up, self._on_down = on_message, on_state, on_up, on_down
        self._client: aiomqtt.Client | None = None
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to connect, and stay connected until ``stop``; call on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="line mqtt")

    async def stop(self) -> None:
        """Say ``offline`` and disconnect, within 3 s. ``on_down`` is not called."""
        self._stopping.set()
        if self._task is not None:
            _done, late = await asyncio.wait({self._task}, timeout=3.0)
            for task in late:
                task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def send(self, device: str, payload: bytes) -> bool:
        """One message to a device; False when the line is down or has no room, and nothing is sent."""
        return self._publish(f"{self._base}/dev/{device}/down", payload, retain=False)

    def show_meter(self, meter: str, payload: bytes) -> bool:
        """The retained message of a meter, for signs; False as for ``send``."""
        return self._publish(f"{self._base}/meter/{meter}", payload, retain=True)

    def tell_alarm(self, topic: str, payload: bytes, retain: bool) -> bool:
        """A message under the site's ``alarm`` or ``alarms`` topic; False as for ``send``."""
        return self._publish(f"{self._base}/{topic}", payload, retain=retain)

    def _publish(self, topic: str, payload: bytes, *, retain: bool) -> bool:
        # aiomqtt's own publish waits for the broker; paho's queues, bounded, and never blocks.
        if self._client is not None and self.up:
            info = self._client._client.publish(topic, payload, qos=1, retain=retain)
            if info.rc == MQTT_ERR_SUCCESS:
                self.counters["sent"] += 1
                return True
        self.counters["dropped"] += 1
        return False

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        wait_s = RETRY_MIN_S
        while not self._stopping.is_set():
            began = loop.time()
            cause = await self._connection()
            if self._stopping.is_set():
                return
            self._off(cause)
            if loop.time() - began >= STEADY_S:
                wait_s = RETRY_MIN_S
            if self.clash:
                wait_s = max(wait_s, CLASH_MIN_S)
            await self._pause(wait_s * random.uniform(0.7, 1.3))
            wait_s = min(wait_s * 2, CLASH_MAX_S if self.clash else RETRY_MAX_S)

    async def _connection(self) -> str:
        """Connect and stay connected; the cause of the end."""
        try:
            async with self._made(*await asyncio.to_thread(self._password_and_tls)) as client:
                await self._subscribe(client)
                self._opened(client)
                cause = await self._stay(client)
                if self._stopping.is_set():
                    self.up = False
                    await client.publish(f"{self._base}/host/state", b"offline", qos=1, retain=True, timeout=2)
                return cause
        except (aiomqtt.MqttError, OSError, ValueError) as wrong:
            return str(wrong)
        finally:
            self._client = None

    def _password_and_tls(self) -> tuple[str | None, ssl.SSLContext | None]:
        # At each connection, so that a renewed password or certificate needs no restart (CF-06, MQ-12).
        password = self._password_file.read_text("utf-8").strip() if self._password_file else None
        if not self._tls:
            return password, None
        ca_file, cert_file, key_file = self._tls_files
        context = ssl.create_default_context(cafile=ca_file)
        if cert_file is not None:
            context.load_cert_chain(cert_file, key_file)
        return password, context

    def _made(self, password: str | None, context: ssl.SSLContext | None) -> aiomqtt.Client:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = SESSION_EXPIRY_S
        # Longer ones stay with the broker, so that nobody can fill our memory; up to here they are counted.
        properties.MaximumPacketSize = 2 * MESSAGE_BYTES_MAX
        client = aiomqtt.Client(
            *self._place,
            identifier=self._client_id,
            username=self._username,
            password=password,
            tls_context=context,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=properties,
            keepalive=KEEPALIVE_S,
            timeout=ANSWER_S,
            max_queued_outgoing_messages=UNSENT_MAX,
            socket_options=NOW,
            will=aiomqtt.Will(f"{self._base}/host/state", b"offline", qos=1, retain=True),
        )
        self._hook(client)
        return client

    def _hook(self, client: aiomqtt.Client) -> None:
        """Take messages, and the word about the session, from the inner paho client."""
        inner = client._client
        connected, read_one = inner.on_connect, inner.loop_read

        def note_session(inner_client: Any, userdata: Any, flags: Any, *rest: Any) -> None:
            self._session_present = bool(flags.session_present)
            if connected is not None:
                connected(inner_client, userdata, flags, *rest)

        arrived = _Arrived(inner._sock_recv)

        def read_some(max_packets: int = 1) -> MQTTErrorCode:
            # paho reads one packet at each wake-up. Several cost a third less, as their PUBACKs leave together.
            for _ in range(READ_AT_ONCE):
                outcome = read_one(max_packets)
                if outcome != MQTT_ERR_SUCCESS or not arrived.left:
                    return outcome
            # What is here already wakes nobody up.
            asyncio.get_running_loop().call_soon(read_some)
            return outcome

        inner._sock_recv = arrived.take  # type: ignore[method-assign,assignment]
        inner.on_message = self._take
        inner.on_connect = note_session
        inner.loop_read = read_some  # type: ignore[method-assign]

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        # Two filters that no topic matches both of (MQ-09). Retained wagers are replayed to a new session only.
        filters = [
            (f"{self._base}/dev/+/up", SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)),
            (f"{self._base}/dev/+/state", SubscribeOptions(qos=1)),
        ]
        for granted in await client.subscribe(filters):
            code = granted if isinstance(granted, int) else granted.value
            if code >= _REFUSED_FROM:
                raise aiomqtt.MqttError(f"the broker refuses a subscription: {granted}")

    def _opened(self, client: aiomqtt.Client) -> None:
        self._client, self.up, self.cause = client, True, ""
        self.counters["connected"] += 1
        _log.info("broker %s:%d: connected as %s", *self._place, self._client_id)
        if self._expect_session and not self._session_present:
            self.counters["sessions_lost"] += 1
            _log.warning("broker %s:%d: forgot what came while we were away; table units send it again", *self._place)
        self._expect_session = True
        self._publish(f"{self._base}/host/state", b"online", retain=True)
        asyncio.get_running_loop().call_soon(self._on_up, self._session_present)

    async def _stay(self, client: aiomqtt.Client) -> str:
        """Wait for the end of the connection or of the line; the cause."""
        gone: asyncio.Future[Any] = client._disconnected
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self._stopping.wait())
        steady = asyncio.get_running_loop().call_later(STEADY_S, self._no_clash)
        try:
            await asyncio.wait({gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            steady.cancel()
        if not gone.done():
            return ""
        wrong = gone.exception()
        if isinstance(wrong, aiomqtt.MqttCodeError) and getattr(wrong.rc, "value", wrong.rc) == _TAKEN_OVER:
            return self._thrown_out(f"another program uses the client id {self._client_id}")
        now = asyncio.get_running_loop().time()
        self._closed_at.append(now)
        if len(self._closed_at) == CLASH_ENDS and now - self._closed_at[0] < STEADY_S:
            return self._thrown_out(f"closed again and again: is client id {self._client_id} used twice?")
        return str(wrong) if wrong else "the broker said goodbye"

    def _thrown_out(self, cause: str) -> str:
        self.counters["taken_over"] += 1
        self.clash = True
        return cause

    def _no_clash(self) -> None:
        self.clash = False
        self._closed_at.clear()

    def _off(self, cause: str) -> None:
        was_up, first = self.up, self.cause == "not connected yet"
        self.up, self.cause = False, cause
        if was_up or first:
            _log.warning("broker %s:%d: off, %s; it is tried again until it is back", *self._place, cause)
        if was_up:
            asyncio.get_running_loop().call_soon(self._on_down, cause)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return

    def _take(self, _client: Any, _userdata: Any, message: MQTTMessage) -> None:
        """One message from the broker. Never raises: an error here would end the connection."""
        counters = self.counters
        counters["received"] += 1
        try:
            match = self._topic.fullmatch(message.topic)
        except UnicodeDecodeError:
            match = None
        if match is None:
            counters["odd_topic"] += 1
            return
        payload = bytes(message.payload)
        if len(payload) > MESSAGE_BYTES_MAX:
            counters["too_long"] += 1
            return
        if message.retain:
            counters["retained"] += 1
        device, kind = match.groups()
        # Through the loop: a fault in a callback is the loop's to report, and must not end the connection.
        loop = asyncio.get_running_loop()
        if kind == "up":
            loop.call_soon(self._on_message, device, payload, message.retain)
        else:
            loop.call_soon(self._on_state, device, payload)
