"""A mail server and a webhook's reader on loopback, which take, refuse, hang or drip as a test says."""

import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DRIP_S = 0.02


def until(reached: Callable[[], object]) -> None:
    """Wait for something; the test fails when it does not come about."""
    ends = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < ends, "it did not come about in time"
        time.sleep(0.005)


class Postman(socketserver.StreamRequestHandler):
    """Enough of SMTP to take a mail, with STARTTLS and a password where the server has them."""

    def handle(self) -> None:
        server: Any = self.server
        with suppress(OSError):
            if server.drips:
                self._drip()
            self._say("220 post.example")
            while line := self.rfile.readline().strip().decode():
                server.lines.append(line)
                if not self._answer(line.upper().partition(" ")[0], line):
                    return

    def _answer(self, word: str, line: str) -> bool:
        server: Any = self.server
        if word == "EHLO":
            offers = ["post.example", *server.offers]
            for place, offer in enumerate(offers):
                self._say(f"250{' ' if place == len(offers) - 1 else '-'}{offer}")
        elif word == "STARTTLS":
            self._say("220 go on")
            self.connection = server.context.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")  # type: ignore[assignment]
        elif word == "AUTH":
            self._say(server.auth)
        elif word == "RCPT" and any(one in line for one in server.unknown):
            self._say("550 nobody of that name")
        elif word == "DATA":
            self._data()
        elif word == "QUIT":
            self._say("221 bye")
            return False
        else:
            self._say(server.answer)
        return True

    def _drip(self) -> None:
        while True:
            self._say("220-a moment")
            time.sleep(DRIP_S)

    def _data(self) -> None:
        self._say("354 go on")
        text = b""
        while (line := self.rfile.readline()) != b".\r\n":
            text += line
        self.server.mails.append(message_from_bytes(text, policy=policy.default))  # type: ignore[attr-defined]
        self._say("250 taken")

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")
        self.wfile.flush()


class Post(socketserver.ThreadingTCPServer):
    """A mail server on a free loopback port. ``unknown``: addresses that it refuses; ``drips``: it never ends."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None, *, from_start: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Postman)
        self.context, self.lines, self.mails = context, list[str](), list[Any]()
        self.offers = ["STARTTLS", "AUTH PLAIN"] if context is not None and not from_start else ["AUTH PLAIN"]
        self.answer, self.auth, self.unknown, self.drips = "250 well", "235 welcome", list[str](), False
        if from_start and context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port: int = self.server_address[1]

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is no error of the test."""


class Reader(BaseHTTPRequestHandler):
    """Takes what is posted."""

    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        server.got.append((self.path, dict(self.headers), body))
        server.goes_on.wait(60)
        status = server.answers.pop(0) if server.answers else server.answer
        with suppress(OSError):
            if server.drips:
                self._drip()
            self.send_response(status)
            if status in (301, 302, 307, 308):
                self.send_header("location", server.elsewhere)
            self.end_headers()

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            self.wfile.write(b"x")
            time.sleep(DRIP_S)

    def log_message(self, *_: Any) -> None:
        return


class Hook(ThreadingHTTPServer):
    """A webhook's server on a free loopback port. It hangs while ``goes_on`` is not set; ``drips`` never ends."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Reader)
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.answer, self.elsewhere, self.drips = 200, "", False
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/alarms"

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is no error of the test."""


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    """A server that runs for as long as it is needed."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def certificate_in(folder: Path) -> Path:
    """A certificate for 127.0.0.1 of ten days, with its key in one file."""
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", cert, "-days", "10", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both


def server_context(certificate: Path) -> ssl.SSLContext:
    """A server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
