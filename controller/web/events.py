"""Live streams (server-sent events): one feed per page, its bytes built once per change and shared by all clients.

At most four updates a second, a heartbeat each second, newest wins: a client that fell behind gets everything at once
instead of what it missed. At most 200 clients; one that does not read for 5 s is cut off (DI-05).
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controller.web.source import Source

SPACING_S = 0.25
HEARTBEAT_S = 1.0
CLIENTS_MAX = 200
SEND_S = 5.0
END_S = 0.3
RECONNECT_MS = 1000
MAY_WATCH = "meterd.may_watch"
"""In a request's scope: what is asked before each event, where not everybody may watch (the closed floor)."""

Fragments = Mapping[str, str]


@dataclass(frozen=True)
class Event:
    """One update: everything, and what of it is new since the update before."""

    number: int
    clock: str
    edition: str
    fragments: Fragments
    changed: Fragments

    @cached_property
    def update(self) -> bytes:
        """For a client that has seen the event before this one."""
        return self._bytes(self.changed)

    @cached_property
    def whole(self) -> bytes:
        """For a client that is new, or fell behind."""
        return self._bytes(self.fragments)

    def _bytes(self, fragments: Fragments) -> bytes:
        body = {"clock": self.clock, "edition": self.edition, "fragments": dict(fragments)}
        return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


class Feed:
    """The updates of one page. No task runs while nobody watches.

    ``fragments`` gives the page's parts by name, as HTML; ``clock`` the time of day on the floor; ``edition`` changes
    when the page itself must be loaded anew (another version or configuration).
    """

    def __init__(self, source: Source, fragments: Callable[[], Fragments], clock: Callable[[], str], edition: str):
        self._source = source
        self._fragments = fragments
        self._clock = clock
        self._edition = edition
        self._event = Event(0, "", edition, {}, {})
        self._coming: asyncio.Task[Event] | None = None
        self._seen = -1

    def join(self) -> Event:
        """The state as it stands, for a client that starts to watch."""
        if self._coming is None or self._coming.done():
            self._build()
        return self._event

    async def after(self, number: int) -> Event:
        """The newest event later than ``number``; within a second at the latest there is one."""
        if self._event.number > number:
            return self._event
        if self._coming is None or self._coming.done():
            self._coming = asyncio.create_task(self._next())
        return await asyncio.shield(self._coming)

    def end(self) -> None:
        """Wait for nothing any more."""
        if self._coming is not None:
            self._coming.cancel()

    async def _next(self) -> Event:
        await asyncio.sleep(SPACING_S)
        # When nothing changes for a second, the event with nothing in it is the heartbeat.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_S - SPACING_S):
                await self._source.wait(self._seen)
        return self._build()

    def _build(self) -> Event:
        self._seen = self._source.version()
        fragments = self._fragments()
        before = self._event.fragments
        changed = {name: html for name, html in fragments.items() if before.get(name) != html}
        self._event = Event(self._event.number + 1, self._clock(), self._edition, fragments, changed)
        return self._event


class Streams:
    """All open streams of the server: counted, bounded, and ended together."""

    def __init__(self, feeds: Iterable[Feed]):
        self._feeds = tuple(feeds)
        self._ended = asyncio.Event()
        self.clients = 0

    @property
    def full(self) -> bool:
        """True when one more client would be too many."""
        return self.clients >= CLIENTS_MAX

    @property
    def stopping(self) -> bool:
        """True once ``end`` was called."""
        return self._ended.is_set()

    def end(self) -> None:
        """End every stream now, so that the server can stop."""
        self._ended.set()
        for feed in self._feeds:
            feed.end()

    async def ended(self) -> None:
        """Return when the server stops."""
        await self._ended.wait()


class EventStream(Response):
    """One client's stream: ends when the client goes, reads too slowly, or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, feed: Feed):
        self.status_code = 200
        self.background = None
        self._streams = streams
        self._feed = feed
        self.init_headers({"x-accel-buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until one of the ends comes; whatever still runs then is cancelled and awaited."""
        self._streams.clients += 1
        tasks = [
            sending := asyncio.create_task(self._send_all(scope, send)),
            asyncio.create_task(_gone(receive)),
            asyncio.create_task(self._streams.ended()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.clients -= 1
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._streams.stopping or (sending in done and sending.result()):
            await self._close(scope, send)

    async def _close(self, scope: Scope, send: Send) -> None:
        try:
            await _soon(send, {"type": "http.response.body", "body": b"", "more_body": False}, END_S)
        except _Slow:
            cut_off(scope)

    async def _send_all(self, scope: Scope, send: Send) -> bool:
        """Send until whoever watches may not any more (True), or reads too slowly (False)."""
        may_watch: Callable[[], Awaitable[bool]] | None = scope.get(MAY_WATCH)
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        event = self._feed.join()
        try:
            await _soon(send, head, SEND_S)
            await _soon(send, {"type": "http.response.body", "body": _RETRY + event.whole, "more_body": True}, SEND_S)
            while True:
                newer = await self._feed.after(event.number)
                if may_watch is not None and not await may_watch():
                    return True
                body = newer.update if newer.number == event.number + 1 else newer.whole
                await _soon(send, {"type": "http.response.body", "body": body, "more_body": True}, SEND_S)
                event = newer
        except _Slow:
            cut_off(scope)
            return False


_RETRY = b"retry: %d\n\n" % RECONNECT_MS


class _Slow(Exception):
    """The client did not read in time."""


async def _soon(send: Send, message: dict[str, object], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await send(message)
    except TimeoutError as error:
        raise _Slow from error


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def cut_off(scope: Scope) -> None:
    """Drop the connection at once, unsent bytes and all: closing it politely would wait for the slow reader."""
    transport = scope.get("state", {}).get("transport")
    if transport is not None:
        transport.abort()
