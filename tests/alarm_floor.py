"""A running floor whose alarms ring in seconds instead of minutes, with all their ways out on loopback.

Run as a program it is meterd itself with shorter times: ``QUICK_S`` for each time of the table of alarms, short pauses
between tries. Nothing else of it differs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import paho.mqtt.properties
from alarm_servers import Hook, Post, certificate_in, server_context, serving
from paho.mqtt.packettypes import PacketTypes
from running_floor import ROOT, Broker, RunningFloor

from controller import __main__ as meterd
from controller import alarm_out, alarm_way
from controller.alarm_kinds import ALARMS, AlarmKind

QUICK_S = {0: 0, 10: 1, 30: 2, 60: 3, 600: 6, 1_800: 9}
"""By the seconds of the table: the seconds that a test waits."""
RETRY_S = (0.1, 0.2, 0.3, 0.4)
PROBE_US = 2_000_000
PASSWORD = "correct-horse-mail"
HOOK_SECRET = "battery-staple-hook"
TOKEN = "T0KENinThePath"
PEOPLE_ARE = (("carl", "shift-manager", "table-games"), ("dora", "accounting", "accounting"))
PEOPLE = {"carl": "seven kettles sing", "dora": "nine lanterns glow"}


def quick(kind: AlarmKind) -> AlarmKind:
    """A kind of alarm with short times."""
    ladder = tuple([rung._replace(after_s=QUICK_S[rung.after_s]) for rung in kind.ladder])
    return kind._replace(after_s=QUICK_S[kind.after_s], ladder=ladder)


def main() -> int:
    """meterd, in a hurry."""
    assert isinstance(ALARMS, dict)
    ALARMS.update({name: quick(kind) for name, kind in ALARMS.items()})
    alarm_way.RETRY_S, alarm_out.PROBE_US, alarm_out.TIMEOUT_S = RETRY_S, PROBE_US, 1.0
    return meterd.main()


class AlarmFloor(RunningFloor):
    """The contract's floor with every way out of its alarms."""

    def __init__(self, folder: Path, broker: Broker, post: Post, hook: Hook, certificate: Path) -> None:
        self.post, self.hook = post, hook
        (folder / "mail-password").write_text(PASSWORD + "\n")
        (folder / "hook-secret").write_text(HOOK_SECRET + "\n")
        super().__init__(folder, serial=("hub-01", "hub-02"), broker=broker, more=f"""
[alarms]
smtp = "127.0.0.1:{post.port}"
smtp_tls = "starttls"
smtp_username = "meterd"
smtp_password_file = "mail-password"
smtp_ca_file = "{certificate}"
mail_from = "meterd@casino.example"
mail_to = ["shift@casino.example"]
webhook = "{hook.url}/{TOKEN}"
webhook_secret_file = "hook-secret"
""")

    def make_people(self) -> None:
        """A shift manager and an accountant, as ``meterctl user add`` makes them."""
        people = [word for who, role, where in PEOPLE_ARE
                  for word in ("--person", who, who.capitalize(), role, where)]
        done = subprocess.run(
            [sys.executable, "-m", "controller.cli", "user", "add", "--ledger", str(self.ledger), "--secret-stdin",
             *people], input="\n".join(PEOPLE.values()), cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def spawn(self) -> "subprocess.Popen[bytes]":
        """Start meterd with its quick alarms."""
        with self.log_file.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.alarm_floor", "--config", str(self.config)], stderr=out, cwd=ROOT,
                env=os.environ | {"NOTIFY_SOCKET": str(self.folder / "notify"), "PYTHONPATH": str(ROOT / "tests")})
        return self._process

    def act(self, who: str, kind: str, *fields: str) -> str:
        """What somebody does, by the command line of the box."""
        done = subprocess.run(
            [sys.executable, "-m", "controller.cli", "act", "--url", f"http://127.0.0.1:{self.pages}", "--as", who,
             "--secret-stdin", kind, *fields], input=PEOPLE[who] + "\n", cwd=ROOT, capture_output=True, text=True,
            timeout=60, check=False)
        return done.stdout + done.stderr

    def alarm(self, kind: str, place: str) -> dict[str, Any]:
        """An alarm's durable row; empty while there is none."""
        found = self.rows("SELECT body FROM state WHERE kind = 'alarm' AND key = ?", f"{kind}/{place}")
        return dict(json.loads(found[0][0])) if found else {}

    def steps(self, kind: str, place: str) -> list[str]:
        """The daemon's entries of an alarm."""
        return [body["step"] for body in self.kinds("alarm") if (body["alarm"], body["place"]) == (kind, place)]

    def mailed(self, where: str) -> list[str]:
        """The first words of the mails about a place: ``Alarm``, ``Alarm, still there``, ``Over``."""
        subjects = [str(mail["subject"]) for mail in list(self.post.mails)]
        return [one.removeprefix("[demo] ").split(":")[-2].strip() for one in subjects if one.endswith(where)]

    def hooked(self, place: str) -> list[str]:
        """The steps about a place that the webhook took."""
        bodies = [json.loads(body) for _, _, body in list(self.hook.got)]
        return [body["step"] for body in bodies if body["place"] == place]


@contextmanager
def alarm_floor(folder: Path, broker: Broker) -> Iterator[AlarmFloor]:
    """A floor with its servers, its ledger and its people; ended with the test."""
    certificate = certificate_in(folder)
    with serving(Post(server_context(certificate))) as post, serving(Hook()) as hook:
        floor = AlarmFloor(folder, broker, post, hook, certificate)
        floor.make_ledger()
        floor.make_people()
        try:
            yield floor
        finally:
            hook.goes_on.set()
            floor.end()


class Listener:
    """A program of the house that reads the alarms from the broker, which keeps its session while it is away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.steps: list[dict[str, Any]] = []
        self.standing: list[dict[str, Any]] = []
        """What the retained list last said."""

    def client(self) -> aiomqtt.Client:
        properties = paho.mqtt.properties.Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3_600
        return aiomqtt.Client("127.0.0.1", self._port, identifier="listener", clean_start=False,
                              protocol=aiomqtt.ProtocolVersion.V5, properties=properties)

    async def listen(self) -> None:
        """Until it is cancelled or the broker goes."""
        async with self.client() as client:
            await client.subscribe([("meterd/demo/alarm", 1), ("meterd/demo/alarms", 1)])
            async for message in client.messages:
                assert isinstance(message.payload, bytes)
                told = json.loads(message.payload)
                if message.topic.value.endswith("alarms"):
                    self.standing = told["alarms"]
                else:
                    self.steps.append(told)

    def of(self, place: str) -> list[str]:
        """The steps about a place, in order."""
        return [told["step"] for told in self.steps if told["place"] == place]

    def stands(self, place: str) -> str:
        """The state of the table's offline alarm in the retained list; empty when it is not there."""
        return next((str(one["state"]) for one in self.standing
                     if (one["alarm"], one["place"]) == ("table-offline", place)), "")


if __name__ == "__main__":
    sys.exit(main())
