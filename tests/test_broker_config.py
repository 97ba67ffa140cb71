"""The shipped Mosquitto configuration on a real broker: who may say and hear what (MQ-06, MQ-08, MQ-11, MQ-12).

The broker runs as Debian runs it: its main file first, ours included as a piece of ``conf.d``.
"""

import asyncio
import getpass
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiomqtt
import pytest

SHIPPED = Path(__file__).parents[1] / "config" / "mosquitto"
DEADLINE_S = 10.0
USERS = ("meterd", "sign", "hub-01", "hub-02", "+", "hub-01/up", "#")
# What Debian's own /etc/mosquitto/mosquitto.conf already says; ours must not say it again.
DEBIAN_MAIN = """\
pid_file {folder}/mosquitto.pid
persistence true
persistence_location {folder}/
log_dest file {folder}/mosquitto.log
include_dir {folder}/conf.d
"""


class Broker(NamedTuple):
    """A running broker: its loopback ports and its folder."""

    port: int
    tls_port: int
    folder: Path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "broker.key", "-out", folder / "broker.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    (folder / "ca.crt").write_bytes((folder / "broker.crt").read_bytes())


def _install(broker: Broker) -> None:
    """Does what docs/OPERATIONS.md tells the technician to do, in a folder of the test's own."""
    folder = broker.folder
    (folder / "conf.d").mkdir()
    main = DEBIAN_MAIN.format(folder=folder)
    # Started as root the broker would become user mosquitto, who may not read a test's folder.
    (folder / "mosquitto.conf").write_text(f"user {getpass.getuser()}\n{main}")
    piece = (SHIPPED / "meterd.conf").read_text()
    lines = piece.replace("#listener 8883", f"listener {broker.tls_port} 127.0.0.1")
    lines = lines.replace("listener 1883 ", f"listener {broker.port} ")
    for word in ("cafile", "certfile", "keyfile", "tls_version", "use_username_as_clientid"):
        lines = lines.replace(f"#{word} ", f"{word} ")
    lines = lines.replace("/etc/mosquitto/certs", str(folder)).replace("/etc/mosquitto", str(folder))
    (folder / "conf.d" / "meterd.conf").write_text(lines)
    (folder / "meterd.acl").write_text((SHIPPED / "meterd.acl").read_text().replace("SITE", "pit"))
    _make_certificate(folder)
    passwords = folder / "meterd.passwd"
    passwords.touch(mode=0o600)
    for user in USERS:
        subprocess.run(["mosquitto_passwd", "-b", passwords, user, f"{user}-secret"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with the shipped configuration, on free loopback ports."""
    running = Broker(_free_port(), _free_port(), tmp_path_factory.mktemp("mosquitto"))
    _install(running)
    process = subprocess.Popen(["/usr/sbin/mosquitto", "-c", running.folder / "mosquitto.conf"])
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not (_answers(running.port) and _answers(running.tls_port)):
            assert process.poll() is None, (running.folder / "mosquitto.log").read_text()
            assert time.monotonic() < deadline, "the broker did not answer in time"
            time.sleep(0.02)
        yield running
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


@asynccontextmanager
async def connected(
    broker: Broker, user: str, identifier: str | None = None, listening: tuple[str, ...] = ()
) -> AsyncIterator[aiomqtt.Client]:
    """A connection with the user's own password, subscribed to ``listening``."""
    async with aiomqtt.Client(
        "127.0.0.1",
        broker.port,
        username=user,
        password=f"{user}-secret",
        identifier=identifier or user,
        protocol=aiomqtt.ProtocolVersion.V5,
    ) as client:
        for topic in listening:
            await client.subscribe(topic, qos=1)
        yield client


async def topics_until(client: aiomqtt.Client, last: str) -> list[str]:
    """The topics heard, up to ``last``: the broker keeps the order of one sender, so nothing earlier is on its way."""
    heard: list[str] = []
    async with asyncio.timeout(DEADLINE_S):
        async for message in client.messages:
            heard.append(str(message.topic))
            if heard[-1] == last:
                break
    return heard


async def test_a_hub_is_heard_on_its_own_topic_only(broker: Broker) -> None:
    """MQ-11: hub-01's password moves nobody else's meter."""
    async with (
        connected(broker, "meterd", listening=("meterd/pit/dev/+/up",)) as daemon,
        connected(broker, "hub-01") as hub,
    ):
        await hub.publish("meterd/pit/dev/hub-02/up", b"not mine", qos=1)
        await hub.publish("meterd/pit/dev/hub-01/up", b"mine", qos=1)
        assert await topics_until(daemon, "meterd/pit/dev/hub-01/up") == ["meterd/pit/dev/hub-01/up"]


async def test_a_hub_cannot_announce_that_another_is_there(broker: Broker) -> None:
    """MQ-11: the will and the state belong to the hub itself."""
    async with connected(broker, "meterd", listening=("meterd/pit/dev/+/state",)) as daemon:
        async with connected(broker, "hub-01") as hub:
            await hub.publish("meterd/pit/dev/hub-02/state", b"online", qos=1)
            await hub.publish("meterd/pit/dev/hub-01/state", b"online", qos=1)
        assert await topics_until(daemon, "meterd/pit/dev/hub-01/state") == ["meterd/pit/dev/hub-01/state"]


async def test_a_hub_hears_only_what_is_meant_for_it(broker: Broker) -> None:
    """MQ-11: subscribing to everything gives a hub nothing of another's."""
    async with connected(broker, "hub-02", listening=("meterd/pit/#",)) as hub, connected(broker, "meterd") as daemon:
        await daemon.publish("meterd/pit/dev/hub-01/down", b"for another", qos=1)
        await daemon.publish("meterd/pit/meter/main", b"for signs", qos=1)
        await daemon.publish("meterd/pit/host/state", b"for all", qos=1)
        await daemon.publish("meterd/pit/dev/hub-02/down", b"for it", qos=1)
        heard = await topics_until(hub, "meterd/pit/dev/hub-02/down")
    assert heard == ["meterd/pit/host/state", "meterd/pit/dev/hub-02/down"]


@pytest.mark.parametrize("user", ["+", "hub-01/up"])
async def test_a_user_named_like_a_wildcard_gains_no_right(broker: Broker, user: str) -> None:
    """MQ-11: a name pasted into a topic rule must not become a rule for everybody's topics."""
    async with connected(broker, "meterd", listening=("meterd/pit/dev/+/up",)) as daemon:
        async with connected(broker, user) as stranger:
            await stranger.publish("meterd/pit/dev/hub-01/up", b"not mine", qos=1)
        async with connected(broker, "hub-02") as hub:
            await hub.publish("meterd/pit/dev/hub-02/up", b"mine", qos=1)
        assert await topics_until(daemon, "meterd/pit/dev/hub-02/up") == ["meterd/pit/dev/hub-02/up"]


@pytest.mark.parametrize("user", ["+", "hub-01/up"])
async def test_a_user_named_like_a_wildcard_hears_no_hubs_messages(broker: Broker, user: str) -> None:
    """MQ-11, the reading side: once a sign has the later message, the stranger would have had the others."""
    heard: list[str] = []
    async with (
        connected(broker, user, listening=("meterd/pit/#",)) as stranger,
        connected(broker, "sign", listening=("meterd/pit/meter/main",)) as sign,
        connected(broker, "meterd") as daemon,
    ):
        await daemon.publish("meterd/pit/dev/hub-01/down", b"for a hub", qos=1)
        await daemon.publish("meterd/pit/dev/hub-02/down", b"for a hub", qos=1)
        await daemon.publish("meterd/pit/meter/main", b"1.00", qos=1)
        await topics_until(sign, "meterd/pit/meter/main")
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                async for message in stranger.messages:
                    heard.append(str(message.topic))
    assert [topic for topic in heard if "/dev/" in topic] == []


async def test_a_sign_hears_the_amounts(broker: Broker) -> None:
    """The sign's user reads meter amounts and whether the daemon lives."""
    async with connected(broker, "sign", listening=("meterd/pit/#",)) as sign, connected(broker, "meterd") as daemon:
        await daemon.publish("meterd/pit/dev/hub-01/down", b"not for signs", qos=1)
        await daemon.publish("meterd/pit/meter/main", b"10000.28", qos=1)
        assert await topics_until(sign, "meterd/pit/meter/main") == ["meterd/pit/meter/main"]


@pytest.mark.parametrize("user", ["sign", "hub-01"])
async def test_only_the_daemon_says_an_amount(broker: Broker, user: str) -> None:
    """I4: what a sign shows comes from the ledger's daemon and from nobody else."""
    async with connected(broker, "sign", "watcher", listening=("meterd/pit/meter/+",)) as sign:
        if user != "sign":
            async with connected(broker, user) as other:
                await other.publish("meterd/pit/meter/forged", b"9999999.99", qos=1)
        else:
            await sign.publish("meterd/pit/meter/forged", b"9999999.99", qos=1)
        async with connected(broker, "meterd") as daemon:
            await daemon.publish("meterd/pit/meter/main", b"10000.28", qos=1)
        assert await topics_until(sign, "meterd/pit/meter/main") == ["meterd/pit/meter/main"]


async def test_another_site_is_out_of_reach(broker: Broker) -> None:
    """The rules name one site; a second site on the broker has rules of its own."""
    async with (
        connected(broker, "meterd", listening=("meterd/+/dev/+/up",)) as daemon,
        connected(broker, "hub-01") as hub,
    ):
        await hub.publish("meterd/elsewhere/dev/hub-01/up", b"lost", qos=1)
        await hub.publish("meterd/pit/dev/hub-01/up", b"mine", qos=1)
        assert await topics_until(daemon, "meterd/pit/dev/hub-01/up") == ["meterd/pit/dev/hub-01/up"]


async def test_using_anothers_client_id_does_not_throw_it_out(broker: Broker) -> None:
    """MQ-08: the name that the password proves is the client id."""
    async with connected(broker, "hub-01", listening=("meterd/pit/dev/hub-01/down",)) as hub:
        async with connected(broker, "hub-02", identifier="hub-01"), connected(broker, "meterd") as daemon:
            await daemon.publish("meterd/pit/dev/hub-01/down", b"still there", qos=1)
        assert await topics_until(hub, "meterd/pit/dev/hub-01/down") == ["meterd/pit/dev/hub-01/down"]


@pytest.mark.parametrize(
    ("user", "password"), [(None, None), ("hub-01", "wrong"), ("hub-99", "hub-99-secret"), ("#", "#-secret")]
)
async def test_nobody_connects_without_the_right_password(
    broker: Broker, user: str | None, password: str | None
) -> None:
    """Per-device passwords: no anonymous client, wrong password, unknown name, nor a wildcard for a name."""
    with pytest.raises(aiomqtt.MqttError):
        async with aiomqtt.Client("127.0.0.1", broker.port, username=user, password=password):
            raise AssertionError("the broker let it in")


async def test_a_huge_message_is_refused_and_the_next_one_passes(broker: Broker) -> None:
    """MQ-06: 64 kB is far above the protocol's largest message."""
    async with connected(broker, "meterd", listening=("meterd/pit/dev/+/up",)) as daemon:
        async with connected(broker, "hub-01") as hub:
            await hub.publish("meterd/pit/dev/hub-01/up", bytes(65_537), qos=0)
            await hub.publish("meterd/pit/dev/hub-01/up", b"small", qos=0)
        async with asyncio.timeout(DEADLINE_S):
            message = await anext(aiter(daemon.messages))
        assert message.payload == b"small"


async def test_hubs_on_the_network_come_in_by_tls(broker: Broker) -> None:
    """MQ-12: the listener in the comment works as it stands once its marks are removed."""
    context = ssl.create_default_context(cafile=str(broker.folder / "ca.crt"))
    async with aiomqtt.Client(
        "localhost", broker.tls_port, username="hub-01", password="hub-01-secret", tls_context=context
    ) as hub:
        await hub.publish("meterd/pit/dev/hub-01/up", b"by tls", qos=1)


async def test_the_tls_listener_speaks_no_plain_mqtt(broker: Broker) -> None:
    """MQ-12: never a fall back to an unprotected connection."""
    with pytest.raises(aiomqtt.MqttError):
        async with aiomqtt.Client("127.0.0.1", broker.tls_port, username="hub-01", password="hub-01-secret", timeout=2):
            raise AssertionError("the broker spoke without TLS")


def test_the_plain_listener_is_on_loopback_only() -> None:
    """A password must never cross a network in the clear."""
    listeners = [line for line in (SHIPPED / "meterd.conf").read_text().splitlines() if line.startswith("listener ")]
    assert listeners == ["listener 1883 127.0.0.1"]
