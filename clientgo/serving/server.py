"""Small HTTP(S) server for probes, metrics, debug pages and webhooks.

Threads are bounded and owned by a `Group`: while every connection is in use, further clients wait in the listen backlog
and none is reset. Time and size limits hold for a whole request, and the TLS handshake runs in the connection's thread.
"""

import selectors
import socket
import ssl
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.flags import address as parse
from clientgo.internal.hosts import parse_ip
from clientgo.lifecycle import Group
from clientgo.log import get_logger
from clientgo.serving.connection import STOP_SECONDS, Closed, Limits, ServingConnection
from clientgo.serving.connectionlimiter import ConnectionLimiter, ConnectionState
from clientgo.serving.message import RejectedRequest, Response, ServingRequest
from clientgo.serving.routing import Authorizer, Handler, Route, Router
from clientgo.stopping import on_stop

log = get_logger(__name__)

_PAUSE = 0.5
"""Seconds between attempts to accept a connection while all connections, file descriptors or threads are in use."""


class TLSSource(Protocol):
    """Source of the TLS context for new connections."""

    def context(self) -> ssl.SSLContext:
        """Return the current context."""


class Server:
    """Serves `routes` on `address` from `start` until `stop`, or until its group stops.

    `address` is `HOST:PORT`, `:PORT`, or a result of `clientgo.flags.address`; port 0 selects a free port; `0` alone or
    None means no server. With `tls` it speaks only HTTPS. `authorizer` checks requests for every route that is not
    open.

    Raises:
        ConfigError: `address` is invalid.
    """

    def __init__(
        self,
        address: Address | str | None,
        routes: Mapping[str, Handler],
        *,
        tls: TLSSource | None = None,
        authorizer: Authorizer | None = None,
        name: str = "serving",
        limits: Limits | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.name = name
        self.port = 0
        self.address = address_of(address)
        self._router = Router(routes, authorizer)
        self._tls = tls
        self._limits = limits if limits is not None else Limits()
        self._clock = clock
        self._run: _Run | None = None
        self._count = 0

    def __repr__(self) -> str:
        address = "off" if self.address is None else self.url or f"not started, {self.address}"
        return f"<Server {self.name} {address}>"

    @property
    def url(self) -> str:
        """URL for clients on this machine; empty unless started."""
        if self.address is None or not self.port:
            return ""
        host = "127.0.0.1" if is_every_interface(self.address) else self.address.host
        return f"{'https' if self._tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """Paths with a route, sorted; `x/` stands for all paths below `x`."""
        return self._router.paths

    def start(self, group: Group) -> None:
        """Start listening, with threads of `group`; do nothing without an address.

        Raises:
            ConfigError: the address is in use, or the certificate is invalid.
            RuntimeError: the server is running.
        """
        if self.address is None:
            return
        if self._run is not None:
            raise RuntimeError(f"the server {self.name} is running: stop it before starting it again")
        if self._tls is not None:
            self._tls.context()  # an invalid certificate fails now, not at the first client
        listener = listen(self.address)
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        limiter: ConnectionLimiter[ServingConnection] = ConnectionLimiter(
            self._limits.connections, crowded=self._limits.crowded, clock=self._clock
        )
        bell, ring = socket.socketpair()
        self._run = run = _Run(group, listener, bell, ring, limiter)
        log.info("serving", extra={"server": self.name, "address": str(self.address), "url": self.url})
        group.start(self._listen, run, name=f"{self.name}-accept")

    def stop(self) -> None:
        """Stop listening and close idle connections; requests in progress continue. Returns at once."""
        if self._run is not None:
            self._end(self._run)

    def _end(self, run: "_Run") -> None:
        if self._run is run:  # not if it was started again
            self._run = None
        run.limiter.close()
        run.ring.close()  # wakes the selector at the other end

    def _listen(self, run: "_Run") -> None:
        with on_stop(partial(self._end, run)):
            self._accept_all(run)

    def _accept_all(self, run: "_Run") -> None:
        group, limiter = run.group, run.limiter
        crowded = False
        with run.listener, run.bell, selectors.DefaultSelector() as selector:
            selector.register(run.listener, selectors.EVENT_READ)
            ended = selector.register(run.bell, selectors.EVENT_READ)
            while ended not in [key for key, _ in selector.select()]:
                # Before accepting: a connection in the backlog needs no thread.
                room = limiter.wait_for_room(_PAUSE)
                if not room and not crowded and self._run is run:
                    log.warning("all connections in use; new clients must wait", extra={"server": self.name})
                crowded = not room
                if room and not self._accept(run):
                    self._clock.sleep(group.stop_event, _PAUSE)
        self._end(run)

    def _accept(self, run: "_Run") -> bool:
        """Start a thread for the next client; return whether to continue at once."""
        try:
            accepted, peer = run.listener.accept()
        except (BlockingIOError, ConnectionError):  # the client has disconnected
            return True
        except OSError as error:  # for example out of file descriptors, which takes time to change
            log.warning("cannot accept connections", extra={"server": self.name, "err": error})
            return False
        connection = ServingConnection(accepted, str(peer[0]), self._limits, self._clock)
        if not run.limiter.add(connection):
            connection.close()
            return True
        self._count += 1
        try:
            run.group.start(self._serve, connection, run.limiter, name=f"{self.name}-{self._count}")
        except RuntimeError as error:  # out of threads
            log.warning("cannot start a thread for a connection", extra={"server": self.name, "err": error})
            run.limiter.remove(connection)
            connection.close()
            return False
        return True

    def _serve(self, connection: ServingConnection, limiter: ConnectionLimiter[ServingConnection]) -> None:
        try:
            if self._tls is not None:
                connection.wrap(self._tls.context())
                # Checked here, because an abort is lost while the socket is being wrapped.
                if not limiter.move(connection, ConnectionState.READING):
                    return
                connection.shake_hands()
            with on_stop(connection.hurry, after=STOP_SECONDS):
                while self._exchange(connection, limiter):
                    pass
        except Closed as error:
            log.debug("connection ended", extra={"server": self.name, "peer": connection.peer, "err": error})
        except Exception:
            # A client must not be able to end the program, as a crash of this thread would.
            log.exception("connection aborted", extra={"server": self.name, "peer": connection.peer})
        finally:
            limiter.remove(connection)
            connection.close()

    def _exchange(self, connection: ServingConnection, limiter: ConnectionLimiter[ServingConnection]) -> bool:
        """Handle one request; return whether another may follow."""
        try:
            connection.wait_for_request()
            limiter.move(connection, ConnectionState.READING)
            request = connection.read_head()
            began = self._clock.now()
            limiter.move(connection, ConnectionState.WORKING)
            # Before the body is read: a client must not fill the memory for a route that rejects the request.
            route = self._router.resolve(request)
            if isinstance(route, Route) and request.content_length:
                limiter.move(connection, ConnectionState.READING)
                request = connection.read_body(request, route.largest)
                limiter.move(connection, ConnectionState.WORKING)
        except RejectedRequest as refused:
            connection.write(Response(refused.status, f"{refused}\n"), keep_alive=False)
            connection.drain()
            return False
        response = self._router.call(route, request) if isinstance(route, Route) else route
        stays_open = limiter.move(connection, ConnectionState.WRITING)
        unread = request.content_length > len(request.body)
        # Announced in the response: a client that reused a closed connection would lose its request.
        keep_alive = stays_open and request.keep_alive and not limiter.full and not unread
        connection.write(response, keep_alive=keep_alive, with_body=request.method != "HEAD")
        self._log_request(request, response, self._clock.now() - began)
        if unread:
            connection.drain()
        return limiter.move(connection, ConnectionState.IDLE) and keep_alive

    def _log_request(self, request: ServingRequest, response: Response, seconds: float) -> None:
        # Only the path: query and headers may contain secrets.
        facts = {"server": self.name, "method": request.method, "path": request.path, "status": response.status}
        log.debug("request handled", extra={**facts, "seconds": round(seconds, 6), "peer": request.peer})


@dataclass(frozen=True, slots=True)
class _Run:
    """State between a start and its stop."""

    group: Group
    listener: socket.socket
    bell: socket.socket
    ring: socket.socket
    limiter: ConnectionLimiter[ServingConnection]


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
