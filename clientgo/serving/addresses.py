"""Addresses that servers listen on."""

import socket
from argparse import ArgumentTypeError

from clientgo.errors import ConfigError
from clientgo.internal.hosts import parse_ip
from clientgo.program.flags import Address
from clientgo.program.flags import address as parse

_BACKLOG = 4096
"""Connections waiting to be accepted; the system's limit may be lower (`net.core.somaxconn`)."""


def address_of(text: Address | str | None) -> Address | None:
    """Return the parsed address; None means no server.

    Raises:
        ConfigError: the address is invalid.
    """
    if not isinstance(text, str) or isinstance(text, Address):
        return text
    try:
        return parse(text)
    except ArgumentTypeError as error:
        raise ConfigError(str(error)) from error


def listen(address: Address) -> socket.socket:
    """Return a listening socket; for all interfaces it accepts IPv6 and IPv4 where the machine has both.

    Raises:
        ConfigError: the address is in use, not local, or not permitted.
    """
    try:
        if not address.host and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("::", address.port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
            )
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(f"cannot listen on {address}: {error.strerror or error}") from error


def is_every_interface(address: Address) -> bool:
    """Return whether the address stands for all addresses of this machine."""
    ip = parse_ip(address.host)
    return not address.host or (ip is not None and ip.is_unspecified)
