"""Dialer of connections to one API server: over TCP, with TLS, and through a proxy if configured."""

import os
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.internal import forks
from clientgo.rest.clientmetrics import ConnectionMetrics
from clientgo.rest.config import ClientCertificate, Config, server_url
from clientgo.rest.connections.error_messages import FAILURES, dial_failure
from clientgo.rest.connections.proxyrules import SOCKS, proxy_for, without_password
from clientgo.rest.connections.tcp import (
    Connector,
    OpenSocket,
    Resolve,
    SocketAddress,
    interruptible,
    is_address,
    look_up,
)
from clientgo.rest.connections.tls import TLSContexts
from clientgo.rest.limits import wait_for
from clientgo.stop.lifecycle import Detached, Group

if TYPE_CHECKING:
    from clientgo.rest.connections.proxy import Proxy

CONNECT_TIMEOUT = 30.0
"""Timeout of connecting, in seconds (client-go's net.Dialer)."""


class Dialer:
    """Opens connections to the server of a `Config`.

    Raises:
        ConfigError: the address, the proxy, a certificate or the TLS server name is invalid.
    """

    def __init__(
        self,
        config: Config,
        *,
        certificate: Callable[[], ClientCertificate | None] = lambda: None,
        environ: Mapping[str, str] | None = None,
        resolve: Resolve = socket.getaddrinfo,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        url = server_url(config)
        self._clock = clock
        self._connector = Connector(clock=clock)
        self._resolve = resolve
        self._lookups = Group()
        self._lock = forks.fork_safe(threading.Lock())
        # Guarded by _lock. Connections that are opened at the same time share a lookup.
        self._pending: dict[tuple[str, int], Detached[list[SocketAddress]]] = {}
        forks.register(self)
        self._metrics = ConnectionMetrics(url.netloc)
        self.base_path = url.path.rstrip("/")
        self.origin = f"{url.scheme}://{url.netloc}"
        self.host_header = url.netloc
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._server_name = _server_name(config)
        self._tls: TLSContexts | None = None
        if url.scheme == "https":
            self._tls = TLSContexts(config, certificate, metrics=self._metrics, clock=clock)
        self._connect: OpenSocket = self._open
        self._proxy_name = ""
        self._proxy = self._proxy_at(
            proxy_for(self.origin, config.proxy_url, os.environ if environ is None else environ)
        )
        forwarded = self._proxy is not None and self._tls is None
        self.target_prefix = self.origin if forwarded else ""
        """Prefix of each request's path for a forwarding proxy; else empty."""
        self.extra_headers = tuple(self._proxy.headers.items()) if forwarded and self._proxy is not None else ()

    def __repr__(self) -> str:
        return f"<Dialer {self.origin}>"

    def after_fork(self) -> None:
        """Forget the lookups in threads that this process does not have."""
        self._pending.clear()

    def generation(self, now: float) -> int:
        """Return the generation of the certificates; connections of an earlier one should not be reused."""
        return 0 if self._tls is None else self._tls.check(now)

    def dial(self, timeout: float | None = None) -> Any:
        """Return a connected socket, or an object with a socket's methods; raise `ConnectionFailed`."""
        limit = CONNECT_TIMEOUT if timeout is None else min(timeout, CONNECT_TIMEOUT)
        try:
            context = None if self._tls is None else self._tls.current()
            if self._proxy is not None:
                return self._proxy.connect(limit, context, self._server_name)
            sock = self._connect(self._host, self._port, limit)
            return sock if context is None else self._secured(sock, context)
        # ValueError (UnicodeError is one): a host name that cannot be encoded.
        except (*FAILURES, ValueError) as error:
            raise dial_failure(error, self.origin, limit, self._proxy_name) from error

    def _secured(self, sock: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
        # A certificate contains host names without a trailing dot, and addresses without a zone.
        name = (self._server_name or self._host).rstrip(".")
        if is_address(name):
            name = name.partition("%")[0]
        try:
            secured = context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
        except BaseException:
            sock.close()
            raise
        try:
            # Separately, because wrapping moves the descriptor to the new socket, which a stop can shut down.
            with interruptible(secured):
                secured.do_handshake()
        except BaseException:
            secured.close()
            raise
        return secured

    def _open(self, host: str, port: int, timeout: float) -> socket.socket:
        deadline = self._clock.now() + timeout
        addresses = self._addresses(host, port, timeout)
        return self._connector.connect(addresses, deadline - self._clock.now())

    def _addresses(self, host: str, port: int, timeout: float) -> list[SocketAddress]:
        find = partial(look_up, host, port, clock=self._clock, resolved=self._metrics.resolved, resolve=self._resolve)
        if is_address(host.strip("[]")):
            return find()
        # In another thread, because a resolver takes up to half a minute and cannot be interrupted.
        with self._lock:
            lookup = self._pending.get((host, port))
            if lookup is None or lookup.ended:
                lookup = self._pending[host, port] = Detached(find, name=f"resolve-{host}")
                self._lookups.start(lookup.run, name=lookup.name)
        return wait_for(lookup, timeout)

    def _proxy_at(self, url: str) -> "Proxy | None":
        """Return the proxy at a URL; None without one, and for SOCKS, through which all connections are then made."""
        if not url:
            return None
        self._proxy_name = without_password(url)
        # Imported here because they load libraries, urllib3 a fifth of all modules of a controller; most have no proxy.
        if url.startswith(SOCKS):
            from clientgo.rest.connections.socks import SocksProxy  # noqa: PLC0415

            self._connect = SocksProxy(url, self._open).connect
            return None
        from clientgo.rest.connections.proxy import Proxy  # noqa: PLC0415

        return Proxy(url, self._host, self._port, self._open)


def _server_name(config: Config) -> str | None:
    name = config.server_name
    if not name:
        return None
    try:
        name.encode("idna")
        if not name.isprintable():
            raise ValueError("it contains control characters")
    except ValueError as error:
        raise ConfigError(f"invalid TLS server name {name!r}: {error}") from error
    return name
