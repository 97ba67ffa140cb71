"""A simulated Alpha LED sign: reads frames, keeps its files, says what is lit. From protocols/alpha-sign.md alone."""

import asyncio
import os
import re
import tty
from pathlib import Path

_FRAME = re.compile(rb"\x01Z00\x02([^\x01\x04]*)\x04", re.DOTALL)
_SUMMED = re.compile(rb"(.*)\x03([0-9A-F]{4})", re.DOTALL)
_FILE = re.compile(rb"([ -~])([ABD])([UL])([0-9A-F]{4})(....)", re.DOTALL)
_BUFFER_MAX = 10_000


class Panel:
    """One sign. ``heard``: the time and body of each frame that it took."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, bytes]] = []
        self.damaged = 0
        self._rest = b""
        self.forget()

    def forget(self) -> None:
        """Power was off for long: everything is gone."""
        self._cleared = False
        self._sizes: dict[str, int] = {}
        self.strings: dict[str, str] = {}
        self._text: bytes | None = None
        self._priority: bytes | None = None
        self._sequence = "A"

    def feed(self, arrived: bytes, now: float = 0.0) -> None:
        """Bytes from the line."""
        self._rest = (self._rest + arrived)[-_BUFFER_MAX:]
        end = 0
        for found in _FRAME.finditer(self._rest):
            end = found.end()
            self._take(found[1], now)
        self._rest = self._rest[end:]

    def _take(self, body: bytes, now: float) -> None:
        if b"\x03" in body:
            summed = _SUMMED.fullmatch(body)
            if summed is None or int(summed[2], 16) != (sum(summed[1]) + 0x02 + 0x03) & 0xFFFF:
                self.damaged += 1
                return
            body = summed[1]
        self.heard.append((now, body))
        self._obey(body)

    def _obey(self, body: bytes) -> None:
        command, rest = body[:1], body[1:]
        if body == b"E$":
            self.__dict__.update(_sizes={}, strings={}, _text=None, _cleared=True)
        elif body.startswith(b"E$") and self._cleared:
            self._sizes = {label.decode("latin-1"): int(size, 16) for label, _, _, size, _ in _FILE.findall(body[2:])}
            self._cleared = False
        elif body.startswith(b"E.S"):
            self._sequence = rest[3:].decode("latin-1")
        elif command == b"A" and rest[:1] == b"0":
            self._priority = rest[1:] or None
        elif command == b"A" and len(rest) - 1 <= self._sizes.get(rest[:1].decode("latin-1"), 0):
            self._text = rest[1:]
        elif command == b"G" and rest[:1].decode("latin-1") in self._sizes:
            fits = len(rest) - 1 <= self._sizes[rest[:1].decode("latin-1")]
            self.strings[rest[:1].decode("latin-1")] = rest[1:].decode("latin-1") if fits else ""

    @property
    def priority(self) -> str:
        """The priority TEXT that is up, or empty."""
        return self._render(self._priority)

    @property
    def lit(self) -> str:
        """What stands on the sign; pages are parted by `` | ``."""
        if self._priority is not None:
            return self._render(self._priority)
        return self._render(self._text) if self._sequence == "A" else ""

    def _render(self, message: bytes | None) -> str:
        if message is None:
            return ""
        plain = re.sub(rb"\x1b..|\x1e.|\x1c.", b"", message, flags=re.DOTALL).decode("latin-1")
        called = re.sub(r"\x10(.)", lambda call: self.strings.get(call[1], ""), plain)
        return called.replace("\x0c", " | ")


class PtyPanel(Panel):
    """A panel on a real pty, named by a link that stays when it is unplugged."""

    def __init__(self, link: Path) -> None:
        super().__init__()
        self.link = link
        self._master = -1
        self.plug()

    def plug(self) -> None:
        """Connect a new pty under the same name, and read it."""
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(slave))
        os.close(slave)
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def _read(self) -> None:
        try:
            self.feed(os.read(self._master, 4096), asyncio.get_running_loop().time())
        except OSError:
            # EIO: nobody has the other end open. It comes back at the next open.
            asyncio.get_running_loop().remove_reader(self._master)
            asyncio.get_running_loop().call_later(0.02, self._read_again, self._master)

    def _read_again(self, master: int) -> None:
        if master == self._master:
            asyncio.get_running_loop().add_reader(self._master, self._read)

    def unplug(self) -> None:
        """Pull the cable."""
        master, self._master = self._master, -1
        if master >= 0:
            asyncio.get_running_loop().remove_reader(master)
            os.close(master)
            self.link.unlink(missing_ok=True)
