"""Live streams over a real server and real sockets: their pace, their bounds, and their end (DI-04, DI-05)."""

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from demo_snapshot import NOW, busy_snapshot, quiet_snapshot
from web_house import House, Served, served

from controller.snapshot import Note
from controller.web import events, serve
from controller.web.events import CLIENTS_MAX, Feed
from controller.web.floor_page import clock_of

FLOOR = "/events/floor"


class Client:
    """One reader of a stream."""

    def __init__(self, server: Served, path: str = FLOOR):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        self._connection.request("GET", path)
        self.answer = self._connection.getresponse()

    def event(self) -> dict[str, Any]:
        """The next event; raises when none comes within 5 s."""
        while line := self.answer.readline():
            if line.startswith(b"data: "):
                event: dict[str, Any] = json.loads(line[6:])
                return event
        raise EOFError

    def until(self, wanted: str) -> dict[str, Any]:
        """The next event in which some part holds ``wanted``."""
        while True:
            event = self.event()
            if wanted in "".join(event["fragments"].values()):
                return event

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


@contextmanager
def client_of(server: Served, path: str = FLOOR) -> Iterator[Client]:
    client = Client(server, path)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def house() -> House:
    return House()


@pytest.fixture
def server(house: House) -> Iterator[Served]:
    with served(house) as running:
        yield running


def wait_for(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def clients(server: Served) -> int:
    count: int = server.app.state.streams.clients
    return count


def test_the_first_event_holds_the_whole_page(server: Served) -> None:
    with client_of(server) as client:
        assert {"top", "awards", "notes", "meter-pg-link", "table-PG-03"} <= set(client.event()["fragments"])


def test_a_change_sends_only_the_parts_that_changed(house: House, server: Served) -> None:
    with client_of(server) as client:
        client.event()
        house.tell(house.meter("pg-link", display_microcents=1_000_000_000_000))
        assert set(client.until("$10,000.00")["fragments"]) == {"meter-pg-link"}


def test_a_lower_amount_than_before_is_sent_like_any_other(house: House, server: Served) -> None:
    """DI-04."""
    with client_of(server) as client:
        client.event()
        house.tell(house.meter("pg-link", display_microcents=5_000_000))
        assert "$0.05" in client.until("$0.05")["fragments"]["meter-pg-link"]


def test_a_quiet_floor_sends_a_heartbeat_each_second(server: Served) -> None:
    with client_of(server) as client:
        client.event()
        started = time.monotonic()
        beats = [client.event()["fragments"] for _ in range(2)]
        assert beats == [{}, {}]
        assert 1.5 < time.monotonic() - started < 3


def test_a_client_gets_at_most_four_updates_a_second_and_the_newest_wins(house: House, server: Served) -> None:
    with client_of(server) as client:
        client.event()
        started = time.monotonic()
        for cents in range(1, 101):
            house.tell(house.meter("pg-link", display_microcents=cents * 1_000_000))
            time.sleep(0.01)
        count = 1
        while "$1.00" not in client.event()["fragments"].get("meter-pg-link", ""):
            count += 1
        assert count <= 4 * (time.monotonic() - started) + 1


def test_a_sign_has_its_own_stream(house: House, server: Served) -> None:
    with client_of(server, "/events/sign/solo") as client:
        assert "$86,409.13" in client.event()["fragments"]["sign"]


def test_a_stream_tells_the_floors_time_and_the_edition_of_the_page(house: House, server: Served) -> None:
    with client_of(server) as client:
        event = client.event()
    assert (event["clock"], event["edition"]) == ("15:32:11", "0.1.0-5f3c5f3c5f3c")


def test_a_stream_is_not_gathered_up_on_its_way(server: Served) -> None:
    with client_of(server) as client:
        assert client.answer.getheader("cache-control") == "no-store"
        assert client.answer.getheader("x-accel-buffering") == "no"


async def test_an_update_is_built_once_for_all_clients() -> None:
    house, built = House(quiet_snapshot()), 0

    def fragments() -> dict[str, str]:
        nonlocal built
        built += 1
        return {"part": str(built)}

    feed = Feed(house, fragments, lambda: clock_of(house.snapshot()).text(NOW), "1")
    first = feed.join()
    waiting = [asyncio.create_task(feed.after(first.number)) for _ in range(50)]
    house.tell(house.snapshot())
    seen = await asyncio.gather(*waiting)
    assert built == 2
    assert len({id(event.update) for event in seen}) == 1


async def test_a_client_that_fell_behind_gets_everything_at_once() -> None:
    house = House(quiet_snapshot())
    parts = {"a": "1", "b": "1"}
    feed = Feed(house, lambda: dict(parts), lambda: "12:00:00", "1")
    event = feed.join()
    parts["a"] = "2"
    house.tell(house.snapshot())
    await feed.after(event.number)
    parts["b"] = "2"
    house.tell(house.snapshot())
    newest = await feed.after(event.number + 1)
    assert b'"a":"2","b":"2"' in newest.whole
    assert b'"fragments":{"b":"2"}' in newest.update


def test_one_client_more_than_the_bound_is_turned_away_with_what_to_do(server: Served) -> None:
    """DI-05."""
    with ExitStack() as stack:
        for _ in range(CLIENTS_MAX):
            stack.enter_context(client_of(server))
        late = stack.enter_context(client_of(server))
        assert late.answer.status == 503
        assert json.loads(late.answer.read())["remedy"]


def test_clients_that_go_away_leave_nothing_behind(server: Served) -> None:
    """DI-05: no task, no count."""
    with client_of(server):
        tasks = asyncio.run_coroutine_threadsafe(_tasks(), server.loop).result(5)
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", server.port)) as abandoned:
                abandoned.sendall(b"GET /events/floor HTTP/1.1\r\nHost: house\r\n\r\n")
        wait_for(lambda: clients(server) == 1)
        wait_for(lambda: asyncio.run_coroutine_threadsafe(_tasks(), server.loop).result(5) <= tasks)


async def _tasks() -> int:
    return len(asyncio.all_tasks())


def test_a_client_that_does_not_read_is_cut_off(house: House, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """DI-05: it holds up nobody, and its connection is gone, unsent bytes and all."""
    monkeypatch.setattr(events, "SEND_S", 0.3)
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect(("127.0.0.1", server.port))
        lazy.sendall(b"GET /events/floor HTTP/1.1\r\nHost: house\r\n\r\n")
        wait_for(lambda: clients(server) == 1)
        for round_number in range(40):
            note = Note(NOW, "notice", "late-bet", "PG-01", f"{round_number} " + "x" * 2_000_000, "", None)
            house.tell(replace(busy_snapshot(), notes=(note,)))
            time.sleep(0.3)
            if clients(server) == 0:
                break
        assert clients(server) == 0
        wait_for(lambda: server.connections == 0)


def test_a_connection_that_asks_for_nothing_is_dropped(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """DI-05: idle or half-asked connections do not use up the server."""
    monkeypatch.setattr(serve, "ASK_S", 0.2)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as silent:
        silent.sendall(b"GET / HT")
        wait_for(lambda: server.connections == 1)
        wait_for(lambda: server.connections == 0)


def test_the_server_ends_within_a_second_with_open_streams() -> None:
    """DI-05: an end does not wait for pages that stay open."""
    house = House()
    server = Served(house)
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(client_of(server)).event()
        started = time.monotonic()
        server.stop()
        took = time.monotonic() - started
    assert took < 1
