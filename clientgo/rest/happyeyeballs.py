"""Connections to a host with several addresses: staggered attempts, of which the first to succeed is used (RFC 8305).

An address that swallows packets costs 0.3 s in this way, and not the whole connect timeout. No thread is started: the
attempts are sockets that do not block, and one `poll` waits for all of them.
"""

import errno
import os
import socket
from collections import deque
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.rest.sockets import SocketAddress, SystemNetwork

ATTEMPT_DELAY = 0.3
"""Seconds before the next address is tried beside those that have not answered yet (Go's net.Dialer.FallbackDelay)."""

PREFERENCE_SECONDS = 600.0
"""How long an address that succeeded where an earlier one did not is tried first (RFC 8305, section 9.1)."""

_LEAST_TIMEOUT = 0.001
# Failures that tell of this machine's network and not of the server.
_UNREACHABLE = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH)


class Network(Protocol):
    """Non-blocking connection attempts."""

    def start(self, to: SocketAddress) -> socket.socket:
        """Start to connect; raises `OSError` if that fails at once."""

    def wait(self, sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
        """Return the sockets whose attempt ended, or none once the time has passed."""

    def error(self, sock: socket.socket) -> int:
        """Return the error number of an attempt that ended; 0 for success."""


class Connector:
    """Connects to one host and remembers which of its addresses works; thread-safe."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK, network: Network | None = None) -> None:
        self._clock = clock
        self._network = network if network is not None else SystemNetwork()
        self._preferred: tuple[SocketAddress, float] | None = None

    def __repr__(self) -> str:
        return f"<Connector preferring {self._preferred[0].address if self._preferred else 'nothing'}>"

    def connect(self, addresses: Sequence[SocketAddress], timeout: float) -> socket.socket:
        """Return a connected socket, whose timeout is what is left of `timeout` seconds.

        Every address is tried within that time: each begins `ATTEMPT_DELAY` after the one before it, sooner where
        there are many, and at once when one fails.

        Raises:
            OSError: the first failure that is the server's, or `TimeoutError`.
        """
        ordered = self._ordered(addresses)
        deadline = self._clock.now() + timeout
        race = _Race(self._network, ordered, min(ATTEMPT_DELAY, timeout / len(ordered)))
        try:
            while (won := race.advance(deadline - self._clock.now())) is None:
                continue
        finally:
            race.close()
        sock, address = won
        if address != ordered[0]:
            self._preferred = address, self._clock.now() + PREFERENCE_SECONDS
        sock.settimeout(max(deadline - self._clock.now(), _LEAST_TIMEOUT))
        return sock

    def _ordered(self, addresses: Sequence[SocketAddress]) -> list[SocketAddress]:
        """Return the addresses with families in turn, the preferred one first."""
        first = [to for to in addresses if to.family == addresses[0].family]
        others = [to for to in addresses if to.family != addresses[0].family]
        ordered = [to for to in chain.from_iterable(zip_longest(first, others)) if to is not None]
        preferred = self._preferred
        if preferred is not None and self._clock.now() < preferred[1]:
            ordered.sort(key=lambda to: to != preferred[0])
        return ordered


class _Race:
    """The attempts of one connection."""

    def __init__(self, network: Network, addresses: Sequence[SocketAddress], delay: float) -> None:
        self._network = network
        self._waiting = deque(addresses)
        self._delay = delay
        self._pending: dict[socket.socket, SocketAddress] = {}
        self._failure: OSError | None = None

    def advance(self, left: float) -> tuple[socket.socket, SocketAddress] | None:
        """Start the next attempt and wait until one ends or the next is due; return the first that succeeded.

        Raises:
            OSError: all attempts failed, or no time is left.
        """
        if left <= 0 or not (self._waiting or self._pending):
            raise self._failure or TimeoutError("timed out")
        if self._waiting and not self._start(self._waiting.popleft()):
            return None
        ended = self._network.wait(list(self._pending), min(left, self._delay) if self._waiting else left)
        if not ended and not self._waiting:
            raise self._failure or TimeoutError("timed out")
        for sock in ended:
            code = self._network.error(sock)
            address = self._pending.pop(sock)
            if not code:
                return sock, address
            sock.close()
            self._failed(OSError(code, os.strerror(code)))
        return None

    def close(self) -> None:
        """Close what has not succeeded."""
        for sock in self._pending:
            sock.close()

    def _start(self, address: SocketAddress) -> bool:
        try:
            self._pending[self._network.start(address)] = address
        except OSError as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: OSError) -> None:
        if self._failure is None or self._failure.errno in _UNREACHABLE:
            self._failure = error
