"""What systemd is told: READY, WATCHDOG, STATUS, STOPPING (sd_notify's protocol, without its library)."""

import logging
import os
import socket

_log = logging.getLogger("meterd")


class Notify:
    """Speaks to the service manager named by the environment; says nothing where there is none."""

    def __init__(self, address: str | None) -> None:
        self._address = "\0" + address[1:] if address and address.startswith("@") else address
        self._failed = False

    @classmethod
    def from_environment(cls) -> "Notify":
        """The manager that started this process, if any."""
        return cls(os.environ.get("NOTIFY_SOCKET"))

    def say(self, *lines: str) -> None:
        """Send some ``NAME=value`` lines."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as box:
                box.sendto("\n".join(lines).encode(), self._address)
        except OSError as wrong:
            if not self._failed:
                _log.warning("the service manager cannot be told anything: %s", wrong)
            self._failed = True
