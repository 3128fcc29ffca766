"""TCP connections that notice a dead peer.

The name is looked up here, apart from the connecting, so that it can be timed: a slow resolver is a frequent cause of
slow requests in clusters, and looks like a slow server.
"""

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

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


def open_socket(
    host: str, port: int, timeout: float, *, clock: Clock, resolved: Callable[[float], None]
) -> socket.socket:
    """A connected socket; `resolved` is told the seconds that the name took to look up, found or not.

    Each address of the name is tried in turn, `timeout` seconds long.

    Raises:
        OSError: what became of the address that was tried last; `socket.gaierror` if there is none.
    """
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for family, kind, protocol, _, address in _look_up(host, port, clock, resolved):
        sock = socket.socket(family, kind, protocol)
        try:
            for option in SOCKET_OPTIONS:
                sock.setsockopt(*option)
            sock.settimeout(timeout)
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


def _look_up(host: str, port: int, clock: Clock, resolved: Callable[[float], None]) -> list[Any]:
    name = host.strip("[]")
    began = clock.now()
    try:
        return list(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM))
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
