"""Connections through a SOCKS5 proxy, by python-socks (extra `socks`). Imported only if needed."""

from socket import socket
from typing import Any
from urllib.parse import urlsplit

from clientgo.errors import ConfigError
from clientgo.rest.connections.proxyrules import user_of
from clientgo.rest.connections.tcp import OpenSocket, interruptible, limited
from clientgo.rest.limits import started_deadline

try:
    from python_socks import ProxyType
    from python_socks.sync import Proxy
except ImportError as error:
    raise ConfigError("a SOCKS proxy needs the package python-socks: pip install python-socks") from error

PORT = 1080
"""Port of SOCKS proxies whose URL has none (RFC 1928)."""


class SocksProxy:
    """SOCKS5 proxy at a URL. It resolves the names of servers, as Go's net/http lets it do for socks5 and socks5h."""

    def __init__(self, url: str, open_socket: OpenSocket) -> None:
        address = urlsplit(url)
        self._host = address.hostname or ""
        self._port = address.port or PORT
        user: tuple[str | None, str | None] = user_of(url) or (None, None)
        self._user, self._password = user
        self._open = open_socket

    def __repr__(self) -> str:
        return f"<SocksProxy {self._host}:{self._port}>"

    def connect(self, host: str, port: int, timeout: float) -> socket:
        """Return a socket that is connected to a host and port through the proxy.

        Raises:
            OSError: connecting failed, or the proxy refused.
        """
        deadline = started_deadline(timeout)
        sock = self._open(self._host, self._port, timeout)
        proxy = Proxy(ProxyType.SOCKS5, self._host, self._port, self._user, self._password, forward=_Opened(sock))
        try:
            with interruptible(sock), limited(sock, deadline):
                return proxy.connect(host.strip("[]"), port, timeout)
        except OSError:
            sock.close()  # the library has not, if the deadline passed at its end
            raise
        except Exception as error:  # a response may be anything; the library closes the socket
            raise OSError(str(error) or type(error).__name__) from error


class _Opened(Proxy):
    """An open connection in place of one that the library makes."""

    def __init__(self, sock: socket) -> None:
        self._sock = sock

    def connect(self, dest_host: str, dest_port: int, timeout: float | None = None, **kwargs: Any) -> socket:
        return self._sock
