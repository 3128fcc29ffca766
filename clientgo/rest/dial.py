"""Opens connections to one API server: TCP that notices a dead peer, TLS, and a proxy where there is one.

urllib3's connection classes do the connecting; `clientgo.rest.transport` speaks over what they connected.
"""

import os
import socket
from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig
from urllib3.util import Url, make_headers, parse_url

from clientgo.errors import ConfigError
from clientgo.rest.config import Config
from clientgo.rest.failures import FAILURES, dial_failure
from clientgo.rest.proxies import proxy_for
from clientgo.rest.tls import ClientCertificate, TLSContexts

CONNECT_TIMEOUT = 30.0
"""Seconds a connection may take to come about (net/http's dialer as client-go sets it)."""


def _socket_options() -> list[tuple[int, int, int | bytes]]:
    options: list[tuple[int, int, int | bytes]] = [
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    ]
    # Idle 30 s, then three probes 10 s apart: a peer that vanished is noticed within a minute. USER_TIMEOUT is the same
    # for a peer that vanished while we were sending, where keep-alive does not look.
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
    if not hasattr(socket, "TCP_KEEPIDLE"):
        wanted["TCP_KEEPALIVE"] = 30  # its name on macOS
    found = {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}
    return options + [(socket.IPPROTO_TCP, option, value) for option, value in found.items()]


SOCKET_OPTIONS = _socket_options()


class Dialer:
    """Opens connections to the server of a `Config`.

    Raises:
        ConfigError: the address, the proxy or a certificate is unusable.
    """

    def __init__(
        self,
        config: Config,
        *,
        certificate: Callable[[], ClientCertificate | None] = lambda: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        url = server_url(config)
        self.base_path = url.path.rstrip("/")
        self.where = f"{url.scheme}://{url.netloc}"
        self.host_header = url.netloc
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._server_name = config.server_name or None
        self._tls = TLSContexts(config, certificate) if url.scheme == "https" else None
        proxy = proxy_for(self.where, config.proxy_url, environ)
        self._proxy = parse_url(proxy) if proxy else None
        self._proxy_headers = _proxy_headers(proxy)
        forwarded = self._proxy is not None and self._tls is None
        self.target_prefix = self.where if forwarded else ""
        """What a forwarding proxy wants before each request's path."""
        self.extra_headers = tuple(self._proxy_headers.items()) if forwarded else ()

    def __repr__(self) -> str:
        return f"<Dialer {self.where}>"

    def dial(self, timeout: float | None = None) -> HTTPConnection:
        """A connected connection; raises `ConnectionFailed`."""
        limit = CONNECT_TIMEOUT if timeout is None else min(timeout, CONNECT_TIMEOUT)
        connection = self._connection(limit)
        try:
            connection.connect()
        except FAILURES as error:
            connection.close()
            raise dial_failure(error, self.where, limit, _proxy_name(self._proxy)) from error
        return connection

    def _connection(self, timeout: float) -> HTTPConnection:
        host, port, proxy = self._host, self._port, self._proxy
        if proxy is not None:
            host, port = proxy.host or "", proxy.port or (443 if proxy.scheme == "https" else 80)
        config = ProxyConfig(None, False, None, None) if proxy is not None else None
        if self._tls is None:
            kind = HTTPSConnection if proxy is not None and proxy.scheme == "https" else HTTPConnection
            return kind(host, port, timeout=timeout, socket_options=SOCKET_OPTIONS, proxy=proxy, proxy_config=config)
        connection = HTTPSConnection(
            host,
            port,
            timeout=timeout,
            socket_options=SOCKET_OPTIONS,
            proxy=proxy,
            proxy_config=config,
            ssl_context=self._tls.current(),
            server_hostname=self._server_name,
        )
        if proxy is not None:
            connection.set_tunnel(self._host, self._port, self._proxy_headers, proxy.scheme or "http")
        return connection


def server_url(config: Config) -> SplitResult:
    """The server's address; without a scheme, https if anything of TLS is configured, else http (client-go's rule)."""
    host = config.host.strip()
    if "://" not in host:
        tls = (
            config.ca_data or config.ca_file or config.insecure or config.server_name
            or config.client_certificate_data or config.client_certificate_file
        )  # fmt: skip
        host = f"{'https' if tls else 'http'}://{host}"
    try:
        url = urlsplit(host)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable or url.query or url.fragment or url.username or not url.geturl().isascii() or " " in host:
        raise ConfigError(f"the server address {config.host!r} is not like https://host:port")
    return url


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if not parts.username:
        return {}
    return make_headers(proxy_basic_auth=f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def _proxy_name(proxy: Url | None) -> str:
    return "" if proxy is None else f"{proxy.scheme}://{proxy.netloc}"
