"""Browsers and programs that mean no good, or are just broken: the pages stay there for the others (DI-05)."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from web_house import House, Served, served

from controller.sign_in import networks
from controller.web import serve
from controller.web.app import create_app
from controller.wiring import WebPlan


@pytest.fixture
def server() -> Iterator[Served]:
    """A running server over a busy floor."""
    with served(House()) as running:
        yield running


def ask(server: Served, path: str) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    try:
        with urllib.request.urlopen(server.url + path, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_a_connection_that_never_ends_its_second_request_is_dropped(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte now and then would keep a place for ever, and 256 of them the whole server."""
    monkeypatch.setattr(serve, "ASK_S", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: house\r\n\r\n")
        assert slow.recv(4_096).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        ends = time.monotonic() + 5
        while server.connections:
            assert time.monotonic() < ends
            time.sleep(0.02)


def test_one_machine_with_half_sent_requests_does_not_take_every_place(server: Served) -> None:
    """DI-05: it gets a quarter of them, whatever it sends, and everybody else is answered at once."""
    half = b"POST /sign-in HTTP/1.1\r\nHost: house\r\nContent-Length: 100\r\n\r\nx"
    with ExitStack() as held:
        for _ in range(serve.CONNECTIONS_MAX):
            line = held.enter_context(socket.create_connection(
                ("127.0.0.1", server.port), timeout=5, source_address=("127.0.0.2", 0)))
            with suppress(ConnectionError):  # dropped already
                line.sendall(half)
        status, _ = ask(server, "/healthz")
        assert (status, server.connections <= serve.PEER_MAX + 1) == (200, True)


def test_programs_of_the_box_itself_may_have_more_connections(server: Served) -> None:
    """A proxy on the box speaks for every browser of the house."""
    with ExitStack() as held:
        for _ in range(serve.PEER_MAX + 10):
            held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
        ends = time.monotonic() + 5
        while server.connections < serve.PEER_MAX + 10:
            assert time.monotonic() < ends
            time.sleep(0.02)


@pytest.mark.parametrize(("proxies", "most"), [
    (("127.0.0.2/32",), None), (("127.0.0.0/29",), None), (("127.0.0.3/32", "10.1.2.0/24"), serve.PEER_MAX)])
def test_a_reverse_proxy_on_another_host_may_have_more_connections_and_nobody_else(
    proxies: tuple[str, ...], most: int | None
) -> None:
    """It speaks for every browser behind it, as one on the box does."""
    asked = serve.PEER_MAX + 10
    with served(House(), proxies=proxies) as running, ExitStack() as held:
        for _ in range(asked):
            held.enter_context(socket.create_connection(
                ("127.0.0.1", running.port), timeout=5, source_address=("127.0.0.2", 0)))
        assert ask(running, "/healthz")[0] == 200
        ends = time.monotonic() + 5
        while running.connections != (most or asked):
            assert time.monotonic() < ends
            time.sleep(0.02)


def test_the_door_gives_each_server_the_proxies_of_its_configuration() -> None:
    door, app = serve.Door(), create_app(House())
    for proxies in (("10.1.2.3/32",), ()):
        door.open(WebPlan("127.0.0.1", 0, proxies=proxies))
        server, held = door.server(app)
        held.close()
        assert server.proxies == networks(proxies)
    door.close()


@pytest.mark.parametrize("before", [1 << 63, 10**30])
def test_an_entry_number_that_no_ledger_can_hold_is_a_wrong_query(server: Served, before: int) -> None:
    status, said = ask(server, f"/api/v1/log?before={before}")
    assert (status, "query.before" in said["error"]) == (422, True)
