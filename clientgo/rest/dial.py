"""Opens connections to one API server: over TCP, with TLS, and through a proxy where there is one.

urllib3's connection classes do the connecting; `clientgo.rest.pool` speaks over what they connected.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import unquote, urlsplit

from urllib3.connection import HTTPConnection, ProxyConfig
from urllib3.util import Url, make_headers, parse_url

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import conceal
from clientgo.rest.address import server_url
from clientgo.rest.config import ClientCertificate, Config
from clientgo.rest.connectionmetrics import ConnectionMetrics
from clientgo.rest.failures import FAILURES, dial_failure
from clientgo.rest.proxies import proxy_for
from clientgo.rest.sockets import PlainConnection, SecureConnection, open_socket
from clientgo.rest.tls import TLSContexts

CONNECT_TIMEOUT = 30.0
"""Seconds a connection may take to come about (net/http's dialer as client-go sets it)."""


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
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        url = server_url(config)
        self._clock = clock
        self._metrics = ConnectionMetrics(url.netloc)
        self.base_path = url.path.rstrip("/")
        self.where = f"{url.scheme}://{url.netloc}"
        self.host_header = url.netloc
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._server_name = config.server_name or None
        self._tls: TLSContexts | None = None
        if url.scheme == "https":
            self._tls = TLSContexts(config, certificate, metrics=self._metrics, clock=clock)
        proxy = proxy_for(self.where, config.proxy_url, environ)
        self._proxy = parse_url(proxy) if proxy else None
        self._proxy_headers = _proxy_headers(proxy)
        forwarded = self._proxy is not None and self._tls is None
        self.target_prefix = self.where if forwarded else ""
        """What a forwarding proxy wants before each request's path."""
        self.extra_headers = tuple(self._proxy_headers.items()) if forwarded else ()

    def __repr__(self) -> str:
        return f"<Dialer {self.where}>"

    def generation(self, now: float) -> int:
        """Which certificates connections are made with now; one made with others had better not be used again."""
        return 0 if self._tls is None else self._tls.look(now)

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
        opener = partial(open_socket, host, port, timeout, clock=self._clock, resolved=self._metrics.resolved)
        config = ProxyConfig(None, False, None, None) if proxy is not None else None
        if self._tls is None:
            kind = SecureConnection if proxy is not None and proxy.scheme == "https" else PlainConnection
            plain = kind(host, port, timeout=timeout, proxy=proxy, proxy_config=config)
            plain.open_socket = opener
            return plain
        connection = SecureConnection(
            host,
            port,
            timeout=timeout,
            proxy=proxy,
            proxy_config=config,
            ssl_context=self._tls.current(),
            server_hostname=self._server_name,
        )
        connection.open_socket = opener
        if proxy is not None:
            connection.set_tunnel(self._host, self._port, self._proxy_headers, proxy.scheme or "http")
        return connection


def _proxy_headers(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if not parts.username:
        return {}
    conceal(unquote(parts.password or ""))
    return make_headers(proxy_basic_auth=f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def _proxy_name(proxy: Url | None) -> str:
    return "" if proxy is None else f"{proxy.scheme}://{proxy.netloc}"
