"""Connections through a proxy, by urllib3: tunnels, TLS to the proxy, TLS inside TLS. Imported only if needed.

Proxies have many edge cases, which urllib3 handles; a direct connection has none of them.
"""

import base64
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from http.client import HTTPException
from socket import socket
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.util import parse_url

from clientgo.errors import ConfigError
from clientgo.rest.connections.http1 import ProtocolError
from clientgo.rest.connections.proxyrules import user_of, without_password
from clientgo.rest.connections.tcp import OpenSocket, interruptible, limited
from clientgo.rest.limits import Deadline, started_deadline


class _Plain(HTTPConnection):
    """urllib3's connection over a socket that this library opened."""

    open: Callable[[], socket]

    def _new_conn(self) -> socket:
        # urllib3's hook, which its SOCKS connections use as well.
        return self.open()


class _Secure(HTTPSConnection):
    """urllib3's TLS connection over a socket that this library opened."""

    open: Callable[[], socket]

    def _new_conn(self) -> socket:
        return self.open()


class Proxy:
    """The proxy at a URL, on the way to the port of a host.

    Raises:
        ConfigError: the URL is invalid.
    """

    def __init__(self, url: str, host: str, port: int, open_socket: OpenSocket) -> None:
        self._host = host
        self._port = port
        self._open = open_socket
        self.headers = _credentials(url)
        """Additional headers for the proxy, of a request or of CONNECT."""
        try:
            self._url = parse_url(url)
        except LocationParseError as error:
            raise ConfigError(f"invalid proxy URL {without_password(url)}") from error

    def __repr__(self) -> str:
        return f"<Proxy {without_password(str(self._url))}>"

    def connect(self, timeout: float, tls: ssl.SSLContext | None, server_name: str | None) -> Any:
        """Return a connected socket or an equivalent: to the proxy without `tls`, else through it to the server.

        Raises:
            OSError: connecting failed, or took longer than `timeout` seconds in all.
            ProtocolError: the peer is not a proxy.
            UnicodeError: the host name is invalid.
        """
        if tls is not None:
            (server_name or self._host).encode("idna")  # ssl does it too late, and would leave a socket open
        with ExitStack() as stack:
            connection = self._connection(timeout, tls, server_name, stack)
            stack.push(partial(_close_after_failure, connection))
            try:
                connection.connect()
            except OSError:
                raise
            except HTTPException as error:
                raise ProtocolError(str(error)) from error
            except HTTPError as error:
                raise OSError(str(error)) from error
            return connection.sock

    def _connection(
        self, timeout: float, tls: ssl.SSLContext | None, server_name: str | None, stack: ExitStack
    ) -> HTTPConnection:
        url = self._url
        host, port = url.host or "", url.port or (443 if url.scheme == "https" else 80)
        config = ProxyConfig(None, False, None, None)
        connection: _Plain | _Secure
        if tls is None:
            kind = _Secure if url.scheme == "https" else _Plain
            connection = kind(host, port, timeout=timeout, proxy=url, proxy_config=config)
        else:
            connection = _Secure(
                host,
                port,
                timeout=timeout,
                proxy=url,
                proxy_config=config,
                ssl_context=tls,
                server_hostname=server_name,
            )
            connection.set_tunnel(self._host, self._port, self.headers, url.scheme or "http")
        connection.open = partial(self._open_limited, host, port, started_deadline(timeout), stack)
        return connection

    def _open_limited(self, host: str, port: int, deadline: Deadline, stack: ExitStack) -> socket:
        sock = self._open(host, port, max(0.0, deadline.remaining()))
        # A copy, which shuts down the same connection: urllib3 moves the descriptor into a TLS socket.
        copy = stack.enter_context(sock.dup())
        stack.enter_context(interruptible(copy))
        stack.enter_context(limited(copy, deadline))
        return sock


def _close_after_failure(connection: HTTPConnection, kind: type[BaseException] | None, *_: object) -> None:
    if kind is not None:
        connection.close()


def _credentials(url: str) -> dict[str, str]:
    user = user_of(url)
    if user is None:
        return {}
    return {"proxy-authorization": f"Basic {base64.b64encode(':'.join(user).encode()).decode()}"}
