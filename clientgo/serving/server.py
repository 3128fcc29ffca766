"""Small HTTP(S) server for probes, metrics, debug pages and webhooks.

Threads are bounded and owned by a `Group`: while every connection is in use, further clients wait in the listen backlog
and none is reset. Time and size limits hold for a whole request, and the TLS handshake runs in the connection's thread.
"""

import ipaddress
import logging
import selectors
import socket
import ssl
from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.flags import address as parse
from clientgo.lifecycle import Group
from clientgo.serving.connection import Closed, Limits, ServingConnection
from clientgo.serving.connectionlimiter import ConnectionLimiter, ConnectionState
from clientgo.serving.message import RejectedRequest, Response, ServingRequest
from clientgo.serving.routing import Authorizer, Handler, Router

log = logging.getLogger(__name__)

_LOOK = 0.5
"""Seconds between two looks at whether the group stops; `Server.stop` is noticed at once."""


class TLSSource(Protocol):
    """Gives the TLS context for a new connection."""

    def context(self) -> ssl.SSLContext:
        """The context to serve with now."""


class Server:
    """Serves `routes` on `address` from `start` until `stop`, or until its group stops.

    `address` is `HOST:PORT`, `:PORT`, or what `clientgo.flags.address` made of it; port 0 takes any, and `0` alone, or
    None, means that nothing is served. With `tls` it speaks HTTPS only. `authorizer` is asked for every
    route that is not open.

    Raises:
        ConfigError: `address` is none.
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
        self._limiter: ConnectionLimiter[ServingConnection] = ConnectionLimiter(
            self._limits.connections, crowded=self._limits.crowded, clock=clock
        )
        self._ring: socket.socket | None = None
        self._count = 0

    def __repr__(self) -> str:
        where = "off" if self.address is None else self.url or f"not started, {self.address}"
        return f"<Server {self.name} {where}>"

    @property
    def url(self) -> str:
        """How this machine reaches it; empty unless it is started."""
        if self.address is None or not self.port:
            return ""
        host = "127.0.0.1" if is_every_interface(self.address) else self.address.host
        return f"{'https' if self._tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths that are served, sorted; those below `x` as `x/`."""
        return self._router.paths

    def start(self, group: Group) -> None:
        """Listen from now on, with threads of `group`; nothing if the address is none.

        Raises:
            ConfigError: the address is taken, or there is no usable certificate.
        """
        if self.address is None:
            return
        if self._tls is not None:
            self._tls.context()  # what is wrong with the certificate is said now, not to the first client
        listener = listen(self.address)
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        bell, self._ring = socket.socketpair()
        log.info("serving", extra={"server": self.name, "address": str(self.address), "url": self.url})
        group.start(self._listen, group, listener, bell, name=f"{self.name}-accept")

    def stop(self) -> None:
        """Stop listening and close idle connections; requests that are being answered go on. Returns at once."""
        self._limiter.close()
        ring, self._ring = self._ring, None
        if ring is not None:
            ring.close()  # which the other end sees

    def _listen(self, group: Group, listener: socket.socket, bell: socket.socket) -> None:
        crowded = False
        with listener, bell, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            ended = selector.register(bell, selectors.EVENT_READ)
            while not group.stop_event.is_set():
                ready = [key for key, _ in selector.select(_LOOK)]
                if ended in ready:
                    break
                if not ready:
                    continue
                # Before the connection is accepted: until then it waits in the backlog, where it costs no thread.
                room = self._limiter.wait_for_room(_LOOK)
                if not room and not crowded and self._ring is not None:
                    log.warning("every connection is in use; new clients wait", extra={"server": self.name})
                crowded = not room
                if room and not self._accept(group, listener):
                    self._clock.sleep(group.stop_event, _LOOK)
        self.stop()

    def _accept(self, group: Group, listener: socket.socket) -> bool:
        """Start a thread for the next client; return whether to go on at once."""
        try:
            accepted, peer = listener.accept()
        except (BlockingIOError, ConnectionError):  # gone again before its turn came
            return True
        except OSError as error:  # no file descriptor is left, say: that takes some time to change
            log.warning("cannot accept connections", extra={"server": self.name, "err": error})
            return False
        connection = ServingConnection(accepted, str(peer[0]), self._limits, self._clock)
        if not self._limiter.add(connection):
            connection.close()
            return True
        self._count += 1
        try:
            group.start(self._converse, connection, name=f"{self.name}-{self._count}")
        except RuntimeError as error:  # the machine gives no more threads
            log.warning("cannot start a thread for a connection", extra={"server": self.name, "err": error})
            self._limiter.remove(connection)
            connection.close()
            return False
        return True

    def _converse(self, connection: ServingConnection) -> None:
        try:
            if self._tls is not None:
                connection.secure(self._tls.context())
                # Seen to here, since an abort is lost while the socket is being wrapped.
                if not self._limiter.move(connection, ConnectionState.READING):
                    return
            while self._exchange(connection):
                pass
        except Closed as error:
            log.debug("a connection ended", extra={"server": self.name, "peer": connection.peer, "err": error})
        except Exception:
            # What a stranger sent must not end the program, which a thread that dies would.
            log.exception("a connection was given up", extra={"server": self.name, "peer": connection.peer})
        finally:
            self._limiter.remove(connection)
            connection.close()

    def _exchange(self, connection: ServingConnection) -> bool:
        """Answer one request; return whether another may follow."""
        try:
            connection.wait_for_request()
            self._limiter.move(connection, ConnectionState.READING)
            request = connection.read()
        except RejectedRequest as refused:
            connection.write(Response(refused.status, f"{refused}\n"), keep_alive=False)
            connection.drain()
            return False
        began = self._clock.now()
        self._limiter.move(connection, ConnectionState.WORKING)
        response = self._router.answer(request)
        goes_on = self._limiter.move(connection, ConnectionState.WRITING)
        # Said before it is closed: a client that reused it just then would lose its request.
        keep_alive = goes_on and request.keep_alive and not self._limiter.full
        connection.write(response, keep_alive=keep_alive, with_body=request.method != "HEAD")
        self._note(request, response, self._clock.now() - began)
        return self._limiter.move(connection, ConnectionState.IDLE) and keep_alive

    def _note(self, request: ServingRequest, response: Response, seconds: float) -> None:
        # The path alone: a query or a header may hold what is nobody's business.
        facts = {"server": self.name, "method": request.method, "path": request.path, "status": response.status}
        log.debug("answered", extra={**facts, "seconds": round(seconds, 6), "peer": request.peer})


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
