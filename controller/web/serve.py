"""The HTTP server on the daemon's own event loop: bounds that uvicorn leaves open, and an end within a second."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.sign_in import Network, lies_in, networks
from controller.wiring import WebPlan

CONNECTIONS_MAX = 256
PEER_MAX = 64
"""Connections of one address; more are dropped, so that one machine alone cannot take every place (DI-05)."""
OF_THE_BOX = ("127.0.0.1", "::1")
"""Addresses without that bound, beside the ``proxies`` of ``[web]``: a proxy and programs on the box speak for many."""
VANISHED_MS = 10_000
ASK_S = 10.0
"""A connection that has asked for nothing (more) after this long is dropped."""


class Connection(H11Protocol):
    """A connection that can be cut off by its request, and that notices a peer that vanished without a word (DI-05)."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hand the transport to the requests (``scope["state"]``) and bound how long sent bytes wait for an answer."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}
        peer = transport.get_extra_info("socket")
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, VANISHED_MS)
        self._asks = self.loop.call_later(ASK_S, self._drop_if_silent, None)
        if self._crowds():
            transport.abort()

    def _crowds(self) -> bool:
        """Whether its address has more connections than one may have, this one among them."""
        if self.peer in OF_THE_BOX or lies_in(self.peer, getattr(self.config, "proxies", ())):
            return False
        alike = [other for other in self.connections if isinstance(other, Connection) and other.peer == self.peer]
        return len(alike) > PEER_MAX

    @property
    def peer(self) -> str:
        """The address at its other end; empty where there is none."""
        return self.client[0] if self.client is not None else ""

    def on_response_complete(self) -> None:
        """Bound the time to the next request, too: one begun and never ended would keep its place for ever."""
        answered = self.cycle
        super().on_response_complete()
        self._asks.cancel()
        self._asks = self.loop.call_later(ASK_S, self._drop_if_silent, answered)

    def _drop_if_silent(self, answered: object) -> None:
        if self.cycle is answered:
            self.transport.abort()


class TlsFiles(NamedTuple):
    """A certificate (with its chain) and its key, as PEM files."""

    cert: Path
    key: Path

    def check(self) -> ssl.SSLContext:
        """They, loaded; raises OSError, naming the file, unless both are there, can be read, and belong together."""
        for path in self:
            path.open("rb").close()
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            made.load_cert_chain(self.cert, self.key, password=lambda: "")
        except ssl.SSLError as wrong:
            raise OSError(0, f"no certificate and key that belong together ({wrong.reason})", str(self.cert)) from wrong
        return made


class _Config(uvicorn.Config):
    """What a server is begun with, and whose connections speak for many."""

    proxies: tuple[Network, ...] = ()


class Server(uvicorn.Server):
    """Serve on a listening socket until ``should_exit``; signals stay the daemon's own. With ``tls``: over TLS.

    ``proxies``: the reverse proxies that are believed, as in ``[web]``.
    """

    def __init__(self, app: FastAPI, tls: TlsFiles | ssl.SSLContext | None = None, proxies: Iterable[str] = ()):
        context = tls.check() if isinstance(tls, TlsFiles) else tls
        config = _Config(
            app,
            http=Connection,
            loop="asyncio",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS_MAX,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=16_384,
            ssl_context_factory=None if context is None else lambda _config, _usual: context,
        )
        self.proxies = config.proxies = networks(proxies)
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the live streams first: they would keep the server from stopping."""
        self._app.state.streams.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signal: the daemon decides when to stop."""
        yield


def listen(bind: str, port: int) -> socket.socket:
    """A listening socket on ``bind`` and ``port`` (0: a free one); raises OSError when it is taken or not ours."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    return socket.create_server((bind, port), family=family, backlog=CONNECTIONS_MAX)


class Door:
    """Where the pages listen, and their certificate. It stays open while meterd begins again with another plan.

    Who asks in between waits for the answer of the next server, and is not turned away.
    """

    def __init__(self) -> None:
        self._place: tuple[str, int] | None = None
        self._socket: socket.socket | None = None
        self._context: ssl.SSLContext | None = None
        self._proxies: tuple[str, ...] = ()
        self.trouble = ""
        """What of the last ``open`` could not be done, so that what stood before it goes on; or empty."""

    def open(self, web: WebPlan) -> None:
        """Listen as configured. Raises OSError the first time; later what stood goes on, and ``trouble`` says why.

        A certificate is read anew each time: one that was renewed is taken.
        """
        self.trouble, self._proxies = "", web.proxies
        try:
            context, place = _context_of(web), (web.bind, web.port)
            if self._socket is None or self._place != place:
                before, self._socket = self._socket, listen(*place)
                self._place = place
                if before is not None:
                    before.close()
            self._context = context
        except OSError as wrong:
            if self._socket is None:
                raise
            self.trouble = f"the pages go on as before: {wrong}"

    def try_(self, web: WebPlan) -> None:
        """Raise OSError where ``open`` would not do as configured."""
        _context_of(web)
        if (web.bind, web.port) != self._place:
            listen(web.bind, web.port).close()

    def server(self, app: FastAPI) -> tuple[Server, socket.socket]:
        """A server for an app, and what it listens on: its own hold of the socket, which it may close."""
        if self._socket is None:
            raise OSError(0, "not listening")
        return Server(app, self._context, self._proxies), self._socket.dup()

    @property
    def address(self) -> str:
        """Where the pages are, as people write it."""
        host, port = self._socket.getsockname()[:2] if self._socket is not None else ("", 0)
        return f"{'http' if self._context is None else 'https'}://{host}:{port}/"

    def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _context_of(web: WebPlan) -> ssl.SSLContext | None:
    if web.tls_cert is None or web.tls_key is None:
        return None
    return TlsFiles(web.tls_cert, web.tls_key).check()
