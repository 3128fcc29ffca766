"""Sockets that listen where a flag says: `:8081`, `127.0.0.1:8443`, `[::1]:0`, or `0` for nowhere."""

import ipaddress
import socket
from argparse import ArgumentTypeError

from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.flags import address as parse

_BACKLOG = 4096
"""Connections that may wait to be accepted; the system's own maximum may be lower (`net.core.somaxconn`)."""


def address_of(text: Address | str | None) -> Address | None:
    """The address `text` names, read as a flag is; None means that nothing is to listen.

    Raises:
        ConfigError: it is none.
    """
    if not isinstance(text, str) or isinstance(text, Address):
        return text
    try:
        return parse(text)
    except ArgumentTypeError as error:
        raise ConfigError(str(error)) from error


def listen(address: Address) -> socket.socket:
    """A socket that listens there; every interface means IPv6 and IPv4 where the machine has both.

    Raises:
        ConfigError: it is taken, not this machine's, or not allowed.
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
    """Whether it stands for all addresses of this machine."""
    try:
        return not address.host or ipaddress.ip_address(address.host).is_unspecified
    except ValueError:
        return False  # a name
