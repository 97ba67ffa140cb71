"""A floor page stand-in on which people sign in and act: the real desk, register and vault, without a disk ledger."""

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from demo_snapshot import busy_snapshot, wiring
from fastapi.testclient import TestClient
from web_house import House, Served

from controller import desk
from controller.acts import Act, Acted, ActRefused
from controller.floor import Floor
from controller.metrics import Stats
from controller.people import Person, Role
from controller.printers import Printers
from controller.register import Registered, to_row
from controller.vault import Vault, fingerprint
from controller.web.app import create_app
from controller.web.serve import Server, TlsFiles, listen
from controller.wiring import WebPlan

SECRET = "correct horse battery"
HASH = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(SECRET)
"""One hash for everybody, and a quick one: the real cost is test_vault's."""

ANNA = Person("anna", Role.SUPERVISOR, "table-games")
BORIS = Person("boris", Role.SHIFT_MANAGER, "table-games")
CARLA = Person("carla", Role.ACCOUNTING, "accounting")
DORA = Person("dora", Role.ADMINISTRATOR, "it")
EMIL = Person("emil", Role.TECHNICIAN, "it")
FRIDA = Person("frida", Role.SURVEILLANCE, "surveillance")
GUNTHER = Person("gunther", Role.AUDITOR, "audit")
STAFF = (ANNA, BORIS, CARLA, DORA, EMIL, FRIDA, GUNTHER)

BROWSER = {"accept": "text/html"}
SECOND_US = 1_000_000


class PeopleHouse(House):
    """A ``PeopleSource``: acts are done by the real desk on a floor of its own, at the snapshot's time."""

    def __init__(self, web: WebPlan | None = None, staff: tuple[Person, ...] = STAFF) -> None:
        super().__init__(busy_snapshot(), replace(wiring(), web=web or WebPlan("127.0.0.1", 0)))
        self.printers = Printers((), time.monotonic, Stats())
        plan = self.snapshot().plan
        self.floors = {book: Floor.opened(plan, book, 1) for book in plan.books}
        self.done: list[Act] = []
        self.refused: list[tuple[Act, ActRefused]] = []
        for person in staff:
            one = Registered(
                person, person.id.title(), "enabled", 1, None, fingerprint(HASH), self.snapshot().at, False, "")
            self.first.keep("person", person.id, to_row(one))

    @property
    def first(self) -> Floor:
        """The floor of the register's book."""
        return self.floors[self.snapshot().plan.books[0]]

    def rows(self, book: str, kind: str) -> Mapping[str, Mapping[str, Any]]:
        return self.floors[book].rows.get(kind, {})

    async def act(self, book: str, act: Act) -> Acted:
        try:
            done = desk.act(self.floors[book], act, self.snapshot().at)
        except ActRefused as refused:
            self.refused.append((act, refused))
            raise
        self.done.append(act)
        return done

    def later(self, seconds: int) -> None:
        """Let time pass."""
        snapshot = self.snapshot()
        self.tell(replace(snapshot, at=snapshot.at + seconds * SECOND_US))

    def kinds(self) -> list[str]:
        """The kinds of acts done so far."""
        return [act.kind for act in self.done]


def people_app(house: PeopleHouse, folder: Path) -> Any:
    """The application over a house, with a vault in a folder that knows everybody's secret."""
    vault = Vault(folder / "people.db")
    for name in house.rows(house.snapshot().plan.books[0], "person"):
        if vault.hash_of(name, fingerprint(HASH)) is None:
            vault.keep_hash(name, HASH)
    return create_app(house, vault)


class Screen:
    """A client with a cookie jar of its own, and short words for what people do."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.origin = {"origin": "http://testserver"}

    def sign_in(self, name: str, secret: str = SECRET, **headers: str) -> Any:
        form = {"name": name, "secret": secret, "back": "/people"}
        return self.client.post("/sign-in", data=form, headers=self.origin | BROWSER | headers)

    @property
    def csrf(self) -> str:
        """The token of this session, as its forms have it."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.client.get("/secret", headers=BROWSER).text)
        return found[1] if found else ""

    def act(self, kind: str, act_id: str, fields: Mapping[str, str], **more: str) -> str:
        """Send a form; returns what the next page tells."""
        form = {"csrf": self.csrf, "act_id": act_id, "back": "/people", **fields, **more}
        answer = self.client.post(f"/acts/{kind}", data=form, headers=self.origin | BROWSER)
        if answer.status_code != 303:
            return f"{answer.status_code} {answer.text}"
        return self.told()

    def make_token(self, scope: str = "act", days: str = "30") -> str:
        """A token named ``nightly`` of this person; empty when none was made."""
        form = {"csrf": self.csrf, "act_id": f"token-{scope}-1", "id": "nightly", "scope": scope, "days": days}
        self.client.post("/tokens", data=form, headers=self.origin)
        found = re.search(r"nightly\.[0-9a-f]{64}", self.told())
        return found[0] if found else ""

    def told(self) -> str:
        """What the last act came to."""
        page = self.client.get("/people", headers=BROWSER)
        found = re.search(r'class="flash[^>]*>(.*?)</p>', page.text, re.S)
        return found[1] if found else ""


@contextmanager
def screens(house: PeopleHouse, folder: Path, count: int = 2, peer: str = "127.0.0.1") -> Iterator[list[Screen]]:
    """Several browsers at one application."""
    app = people_app(house, folder)
    clients = [TestClient(app, follow_redirects=False, client=(peer, 50_000)) for _ in range(count)]
    with clients[0]:
        yield [Screen(client) for client in clients]


class PeopleServed(Served):
    """A running server on which people sign in; over TLS when files are given."""

    def __init__(self, house: PeopleHouse, folder: Path, tls: TlsFiles | None = None) -> None:
        self.house = house
        self.app = people_app(house, folder)
        self._socket = listen("127.0.0.1", 0)
        self.port = self._socket.getsockname()[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self._server = Server(self.app, tls)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
