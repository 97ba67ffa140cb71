"""Signing in as far as it is reckoning: back-off, how long a session lives, what a secret must be. Pure; told the time.

Times are UTC microseconds. A clock that is set back never lengthens a wait beyond its bound, nor a session (WE-05).
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

SECOND_US = 1_000_000
SECRET_MIN, SECRET_MAX = 12, 200
KEYS_MAX = 4_096
"""Names and peers whose failures are remembered, together; the longest untouched is forgotten first."""
PAIRS_MAX = 1_024
FREE_OF_NAME, FREE_OF_PEER = 3, 20
"""Failures before a wait: of a name few, of a peer more, for all staff may come through one proxy."""
WAIT_OF_NAME_S, WAIT_OF_PEER_S = 30, 300
"""The longest wait. A name's is short: a stranger must not keep the only supervisor out (WE-05)."""
WAIT_OF_FRESH_S = 2
"""The longest wait at a peer from which nobody has failed with this name."""
FORGIVE_US = 3_600 * SECOND_US
"""Failures count no more after an hour without one."""
SET_BACK_US = 300 * SECOND_US
"""So far may a clock be set back before sessions from the future end."""


class _Failures(NamedTuple):
    times: int
    at: int
    wait_us: int


class Backoff:
    """Failures by sign-in name and by true peer, with waits that double; bounded, and only in memory."""

    def __init__(self) -> None:
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.refused = 0
        """Sign-ins refused since the start, for metrics."""

    def wait_s(self, name: str, peer: str, at: int) -> int:
        """Seconds until a sign-in with this name from this peer is looked at; 0: now.

        A peer from which this person has signed in before does not wait for what others did to the name; one from which
        nobody has failed waits no longer than a moment: strangers' guesses keep nobody out (WE-05).
        """
        peer = _network_of(peer)
        pair = ("pair", f"{name}\n{peer}")
        if (name, peer) not in self._known and pair not in self._failures:
            return max(self._wait_of(("name", name), at, WAIT_OF_FRESH_S), self._wait_of(("peer", peer), at))
        name_key = pair if (name, peer) in self._known else ("name", name)
        return max(self._wait_of(name_key, at), self._wait_of(("peer", peer), at))

    def knows(self, name: str, peer: str) -> bool:
        """Whether this person has signed in from this peer before, as far as is remembered."""
        return (name, _network_of(peer)) in self._known

    def _wait_of(self, key: tuple[str, str], at: int, most_s: int = WAIT_OF_PEER_S) -> int:
        found = self._failures.get(key)
        if found is None:
            return 0
        if at < found.at:  # the clock was set back: the wait begins anew, and ends
            found = self._failures[key] = found._replace(at=at)
        return max(0, -(-(found.at + min(found.wait_us, most_s * SECOND_US) - at) // SECOND_US))

    def failed(self, name: str, peer: str, at: int) -> int:
        """Note a failure; returns how many of this name or peer in a row, when it is one to keep in the log, else 0.

        The first is kept and then each doubling, so that guessing cannot flood the ledger (SD-09).
        """
        self.refused += 1
        peer = _network_of(peer)
        of_name = self._count(("name", name), at, FREE_OF_NAME, WAIT_OF_NAME_S)
        self._count(("pair", f"{name}\n{peer}"), at, FREE_OF_NAME, WAIT_OF_NAME_S)
        of_peer = self._count(("peer", peer), at, FREE_OF_PEER, WAIT_OF_PEER_S)
        # Many names from one peer are one burst, too; so are many peers at one name.
        count = max(of_name, of_peer)
        return count if count & (count - 1) == 0 else 0

    def _count(self, key: tuple[str, str], at: int, free: int, longest_s: int) -> int:
        before = self._failures.pop(key, None)
        count = 1 if before is None or at - before.at > FORGIVE_US else before.times + 1
        over = count - free
        wait_s = 0 if over < 0 else min(1 << min(over, 16), longest_s)
        self._failures[key] = _Failures(count, at, wait_s * SECOND_US)
        while len(self._failures) > KEYS_MAX:
            self._failures.popitem(last=False)
        return count

    def succeeded(self, name: str, peer: str) -> None:
        """Note a sign-in: the name's failures from here are forgiven, the peer's are not."""
        peer = _network_of(peer)
        for key in (("name", name), ("pair", f"{name}\n{peer}")):
            self._failures.pop(key, None)
        self._known.pop((name, peer), None)
        self._known[name, peer] = None
        while len(self._known) > PAIRS_MAX:
            self._known.popitem(last=False)


class Life(NamedTuple):
    """How long a session lives: without a request, and at all; and how old a secret may be."""

    idle_us: int
    whole_us: int
    secret_us: int


def life(idle_minutes: int, session_hours: int, secret_days: int) -> Life:
    """The configured life in microseconds."""
    return Life(idle_minutes * 60 * SECOND_US, session_hours * 3_600 * SECOND_US, secret_days * 86_400 * SECOND_US)


def is_over(began: int, seen: int, at: int, lives: Life) -> bool:
    """Whether a session has ended: idle too long, too old, or from a future that a clock set back has made."""
    if max(began, seen) > at + SET_BACK_US:
        return True
    return at - seen > lives.idle_us or at - began > lives.whole_us


def is_aged(secret_at: int, at: int, lives: Life) -> bool:
    """Whether a secret is older than it may be (R-104: every quarter)."""
    return at - secret_at > lives.secret_us


def secret_fault(secret: str, person: str, name: str) -> str:
    """Why a new secret is not taken, in words; empty: it is. Long beats odd marks, so nothing else is asked."""
    if len(secret) < SECRET_MIN:
        return f"the secret is shorter than {SECRET_MIN} letters"
    if len(secret) > SECRET_MAX:
        return f"the secret is longer than {SECRET_MAX} letters"
    if not secret.isprintable():
        return "the secret has control marks"
    if len(set(secret)) < 4:
        return "the secret is nearly one letter only"
    plain = secret.casefold()
    words = [word for word in (person.casefold(), name.casefold(), *name.casefold().split()) if len(word) >= 3]
    if any(word in plain for word in words):
        return "the secret holds the person's own name"
    return ""


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(written: Iterable[str]) -> tuple[Network, ...]:
    """Networks as written; raises ValueError."""
    return tuple(ipaddress.ip_network(one) for one in written)


def address(peer: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A peer's address; one of IPv4 in IPv6 clothes is taken out of them. None: no address (a test's client)."""
    try:
        found = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _network_of(peer: str) -> str:
    """What counts as one peer: an address of IPv4, a network of 64 bits of IPv6, where everybody has many addresses."""
    found = address(peer)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return peer


def true_peer(peer: str, forwarded: str, proxies: tuple[Network, ...]) -> str:
    """Who really asks: what a listed proxy says, read from the right; anybody else's word is nothing (WE-05)."""
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()][-8:]
    while hops and lies_in(peer, proxies):
        peer = hops.pop()
    found = address(peer)
    return "unknown" if found is None else str(found)


def is_remote(peer: str, local: tuple[Network, ...]) -> bool:
    """Whether a peer is neither this box nor in the site's own networks (R-105). No address at all is remote."""
    found = address(peer)
    return found is None or not (found.is_loopback or lies_in(peer, local))


def lies_in(peer: str, where: tuple[Network, ...]) -> bool:
    """Whether a peer's address is in one of some networks."""
    found = address(peer)
    return found is not None and any(found.version == one.version and found in one for one in where)
