"""TCP connections: name resolution, staggered attempts (Happy Eyeballs, RFC 8305), detection of dead peers.

An address that drops packets costs 0.3 s, and not the whole connect timeout. No threads are needed: the attempts use
non-blocking sockets, and one `poll` waits for all of them. The duration of name resolution is measured separately: a
slow resolver is a frequent cause of slow requests in clusters, and looks like a slow server.
"""

import errno
import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.hosts import parse_ip
from clientgo.rest.limits import Deadline, current_request
from clientgo.stop.lifecycle import Group

DEAD_AFTER = 60
"""Seconds until a vanished peer is detected, while receiving and while sending."""


def _socket_options() -> list[tuple[int, int, int]]:
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # Idle 30 s, then three probes 10 s apart. USER_TIMEOUT is the same for a peer that vanished while we were sending,
    # where keep-alive does not look.
    values = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": DEAD_AFTER * 1000}
    if not hasattr(socket, "TCP_KEEPIDLE"):
        values["TCP_KEEPALIVE"] = 30  # its name on macOS
    supported = {getattr(socket, name): value for name, value in values.items() if hasattr(socket, name)}
    return options + [(socket.IPPROTO_TCP, option, value) for option, value in supported.items()]


SOCKET_OPTIONS = _socket_options()


class SocketAddress(msgspec.Struct, frozen=True):
    """One address of a host, as `socket.getaddrinfo` returns it."""

    family: int
    kind: int
    protocol: int
    address: Any  # two elements for IPv4, four for IPv6


def shut_down(sock: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    """End the input, the output or both of a socket, from any thread, and also an attempt to connect."""
    try:
        # Not SSLSocket.shutdown, which removes the TLS state while the reader uses it.
        socket.socket.shutdown(sock, how)
    except OSError:
        return  # it is down already


def allow_pauses(sock: socket.socket) -> None:
    """Let the peer stop reading for any time, which a server does not with a request, but a program may with its input.

    A peer that vanishes while it does not read is then detected by the operating system's own timeout.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0)


@contextmanager
def interruptible(*sockets: socket.socket) -> Iterator[None]:
    """Let a stop of the current request shut these sockets down while the block runs."""
    request = current_request()
    request.abort_with(lambda: deque(map(shut_down, sockets), maxlen=0))
    try:
        yield
    finally:
        request.abort_with(None)


@contextmanager
def limited(sock: socket.socket, deadline: Deadline) -> Iterator[None]:
    """Shut the socket down at a deadline while the block runs, and raise `TimeoutError` at its end.

    For libraries whose own timeout begins again with each piece that arrives.
    """
    done, late = threading.Event(), threading.Event()

    def end() -> None:
        if not SYSTEM_CLOCK.wait_for(done, max(0.0, deadline.remaining())):
            late.set()
            shut_down(sock)

    try:
        with Group(stop=done) as group:
            group.start(end, name="connect-deadline")
            yield
    except Exception as error:
        if not late.is_set():
            raise
        raise TimeoutError("timed out") from error
    if late.is_set():
        raise TimeoutError("timed out")


class Network:
    """Non-blocking connection attempts over this machine's network."""

    def start(self, to: SocketAddress) -> socket.socket:
        """Start connecting; raise `OSError` if that fails at once."""
        sock = socket.socket(to.family, to.kind, to.protocol)
        try:
            for option in SOCKET_OPTIONS:
                sock.setsockopt(*option)
            sock.setblocking(False)
            code = sock.connect_ex(to.address)
            if code not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
                raise OSError(code, os.strerror(code))
        except BaseException:
            sock.close()
            raise
        return sock

    def wait(self, sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
        """Return the sockets whose attempt has ended, or none after the timeout."""
        poll = select.poll()
        for sock in sockets:
            poll.register(sock, select.POLLOUT)
        with interruptible(*sockets):
            ended = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
        return [sock for sock in sockets if sock.fileno() in ended]

    def error(self, sock: socket.socket) -> int:
        """Return the error number of an attempt that has ended; 0 for success."""
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


OpenSocket = Callable[[str, int, float], socket.socket]
"""Connects to a host and port within a timeout in seconds."""

Resolve = Callable[..., Sequence[tuple[int, int, int, str, Any]]]
"""`socket.getaddrinfo`, or a function like it."""


def look_up(
    host: str,
    port: int,
    *,
    clock: Clock,
    resolved: Callable[[float], None],
    resolve: Resolve = socket.getaddrinfo,
) -> list[SocketAddress]:
    """Return the host's addresses, best first; `resolved` is called with the duration, also after a failure.

    Raises:
        OSError: `socket.gaierror` if the name cannot be resolved.
    """
    name = host.strip("[]")
    began = clock.now()
    try:
        # As bytes: for a str Python loads the tables of international names.
        entries = resolve(name.encode() if name.isascii() else name, port, type=socket.SOCK_STREAM)
        return [SocketAddress(family, kind, protocol, at) for family, kind, protocol, _, at in entries]
    except UnicodeError as error:  # a part of the name is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from error
    finally:
        if not is_address(name):
            resolved(clock.now() - began)


def is_address(host: str) -> bool:
    """Report whether a host is an IP address, with or without a zone."""
    return parse_ip(host.partition("%")[0]) is not None


ATTEMPT_DELAY = 0.3
"""Seconds between the starts of two attempts (Go's net.Dialer.FallbackDelay)."""

PREFERENCE_SECONDS = 600.0
"""Seconds for which an address that succeeded after an earlier one failed is tried first (RFC 8305, section 9.1)."""

_LEAST_TIMEOUT = 0.001
# Failures of this machine's network, not of the server.
_UNREACHABLE = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH)


class Connector:
    """Connects to one host and remembers which of its addresses works; thread-safe."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK, network: Network | None = None) -> None:
        self._clock = clock
        self._network = network if network is not None else Network()
        self._preferred: tuple[SocketAddress, float] | None = None

    def __repr__(self) -> str:
        return f"<Connector preferring {self._preferred[0].address if self._preferred else 'nothing'}>"

    def connect(self, addresses: Sequence[SocketAddress], timeout: float) -> socket.socket:
        """Return a connected socket, whose timeout is the rest of `timeout` seconds.

        Every address is tried within that time: an attempt starts `ATTEMPT_DELAY` after the previous one, earlier if
        there are many addresses, and at once if one fails.

        Raises:
            OSError: the first failure of the server, or `TimeoutError`.
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
        """Return the addresses with alternating families, the preferred one first."""
        first = [to for to in addresses if to.family == addresses[0].family]
        other_family = [to for to in addresses if to.family != addresses[0].family]
        ordered = [to for to in chain.from_iterable(zip_longest(first, other_family)) if to is not None]
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

    def advance(self, remaining: float) -> tuple[socket.socket, SocketAddress] | None:
        """Start the next attempt, wait until one ends or the next is due, and return the first success.

        Raises:
            OSError: all attempts failed, or no time is left.
        """
        if remaining <= 0 or not (self._waiting or self._pending):
            raise self._failure or TimeoutError("timed out")
        if self._waiting and not self._start(self._waiting.popleft()):
            return None
        ended = self._network.wait(list(self._pending), min(remaining, self._delay) if self._waiting else remaining)
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
        """Close the sockets of all other attempts."""
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
