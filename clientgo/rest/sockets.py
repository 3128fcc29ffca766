"""TCP connections that notice a dead peer.

A name is looked up apart from the connecting, so that it can be timed: a slow resolver is a frequent cause of
slow requests in clusters, and looks like a slow server.
"""

import errno
import ipaddress
import os
import select
import socket
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from clientgo.clock import Clock

DEAD_AFTER = 60
"""Seconds after which a peer that vanished without a word is given up, whether we wait for it or were sending."""


def _socket_options() -> list[tuple[int, int, int]]:
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    # Idle 30 s, then three probes 10 s apart. USER_TIMEOUT is the same for a peer that vanished while we were sending,
    # where keep-alive does not look.
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": DEAD_AFTER * 1000}
    if not hasattr(socket, "TCP_KEEPIDLE"):
        wanted["TCP_KEEPALIVE"] = 30  # its name on macOS
    found = {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}
    return options + [(socket.IPPROTO_TCP, option, value) for option, value in found.items()]


SOCKET_OPTIONS = _socket_options()


class SocketAddress(NamedTuple):
    """One address of a host, as `socket.getaddrinfo` gives it."""

    family: int
    kind: int
    protocol: int
    address: Any  # two elements for IPv4, four for IPv6


class SystemNetwork:
    """The network of this machine."""

    def start(self, to: SocketAddress) -> socket.socket:
        """Start to connect; raises `OSError` if that fails at once."""
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
        """Return the sockets whose attempt ended, or none once the time has passed."""
        poll = select.poll()
        for sock in sockets:
            poll.register(sock, select.POLLOUT)
        ended = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
        return [sock for sock in sockets if sock.fileno() in ended]

    def error(self, sock: socket.socket) -> int:
        """Return the error number of an attempt that ended; 0 for success."""
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def look_up(host: str, port: int, *, clock: Clock, resolved: Callable[[float], None]) -> list[SocketAddress]:
    """Return the host's addresses, best first; `resolved` is given the seconds that it took, with success or without.

    Raises:
        OSError: `socket.gaierror` if there is none.
    """
    name = host.strip("[]")
    began = clock.now()
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
        return [SocketAddress(family, kind, protocol, at) for family, kind, protocol, _, at in found]
    except UnicodeError as error:  # no name at all: a part is empty, or too long
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from error
    finally:
        if not is_address(name):
            resolved(clock.now() - began)


def is_address(host: str) -> bool:
    """Whether a host is an IP address, with a zone or without, and no name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
