"""Small HTTP(S) server for probes, metrics, debug pages and webhooks.

One thread serves all connections and their TLS handshakes; bounded worker threads, owned by a `Group`, handle complete
requests. Time and size limits hold for a whole request.
"""

import math
import socket
import ssl
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import get_logger
from clientgo.program.flags import Address
from clientgo.serving.addresses import address_of, is_every_interface, listen
from clientgo.serving.connection import STOP_SECONDS, Closed, Limits, Wait
from clientgo.serving.connectionlimiter import ConnectionState
from clientgo.serving.loop import ConnectionLoop, Conversation, HandlerCall, Session
from clientgo.serving.message import RejectedRequest, Response, ServingRequest, Takeover
from clientgo.serving.routing import Authorizer, Handler, Route, Router, late_response
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import on_stop

log = get_logger(__name__)

REVIEW_SECONDS = 15.0
"""Seconds that an authorizer may take, which asks the cluster."""


class TLSSource(Protocol):
    """Source of the TLS context for new connections."""

    def context(self) -> ssl.SSLContext:
        """Return the current context."""


class Server:
    """Serves `routes` on `address` from `start` until `stop`, or until its group stops.

    `address` is `HOST:PORT`, `:PORT`, or a result of `clientgo.program.address`; port 0 selects a free port; `0` alone
    or None means no server. With `tls` it speaks only HTTPS. `authorizer` checks requests for every route that is not
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
        self._loop: ConnectionLoop | None = None

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
        if self._loop is not None:
            raise RuntimeError(f"the server {self.name} is running: stop it before starting it again")
        if self._tls is not None:
            self._tls.context()  # an invalid certificate fails now, not at the first client
        listener = listen(self.address)
        self.port = listener.getsockname()[1]
        self._loop = loop = ConnectionLoop(listener, self._limits, group, name=self.name, clock=self._clock)
        log.info("serving", extra={"server": self.name, "address": str(self.address), "url": self.url})
        group.start(self._run, loop, name=f"{self.name}-accept")

    def stop(self) -> None:
        """Stop listening and close idle connections; requests in progress continue. Returns at once."""
        if self._loop is not None:
            self._end(self._loop)

    def _end(self, loop: ConnectionLoop) -> None:
        if self._loop is loop:  # not if it was started again
            self._loop = None
        loop.stop()

    def _run(self, loop: ConnectionLoop) -> None:
        with on_stop(partial(self._end, loop)), on_stop(loop.hurry, after=STOP_SECONDS):
            loop.run(self._converse)
        self._end(loop)

    def _converse(self, session: Session) -> Conversation:
        connection = session.connection
        try:
            if self._tls is not None:
                yield from connection.shake_hands(self._tls.context())
            while (yield from self._exchange(session)):
                pass
        except Closed as error:
            log.debug("connection ended", extra={"server": self.name, "peer": connection.peer, "err": error})
        except Exception:
            # A client must not be able to end the program, as a crash of this thread would.
            log.exception("connection aborted", extra={"server": self.name, "peer": connection.peer})

    def _exchange(self, session: Session) -> Generator[Wait | HandlerCall, Any, bool]:
        """Handle one request; return whether another may follow."""
        connection = session.connection
        try:
            yield from connection.wait_for_request()
            session.move(ConnectionState.READING)
            request = yield from connection.read_head()
            began = self._clock.now()
            # Before the body is read: a client must not fill the memory for a route that rejects the request.
            route = yield from self._resolve(request)
            if isinstance(route, Route) and request.content_length:
                session.move(ConnectionState.READING)
                request = yield from connection.read_body(request, route.largest)
        except RejectedRequest as refused:
            session.move(ConnectionState.READING)
            yield from connection.write(Response(refused.status, f"{refused}\n"), keep_alive=False)
            yield from connection.drain()
            return False
        response = yield from self._respond(route, request)
        if isinstance(response, Takeover):
            sock, received = connection.take_over()
            call = partial(_serve, response, sock, received)
            yield HandlerCall(self._router.name_of(request), call, math.inf, partial(late_response, request))
            return False
        stays_open = session.may_continue
        unread = request.content_length > len(request.body)
        # Announced in the response: a client that reused a closed connection would lose its request.
        keep_alive = stays_open and request.keep_alive and not unread
        session.move(ConnectionState.WRITING)
        yield from connection.write(response, keep_alive=keep_alive, with_body=request.method != "HEAD")
        self._log_request(request, response, self._clock.now() - began)
        if unread:
            yield from connection.drain()
        if not keep_alive or self._loop is None:
            return False
        session.move(ConnectionState.IDLE)
        return True

    def _resolve(self, request: ServingRequest) -> Generator[HandlerCall, Any, Route | Response]:
        if not self._router.is_guarded(request):
            return self._router.resolve(request)
        late = partial(late_response, request)
        route: Route | Response = yield HandlerCall(
            "authorizer", partial(self._router.resolve, request), REVIEW_SECONDS, late
        )
        return route

    def _respond(self, route: Route | Response, request: ServingRequest) -> Generator[HandlerCall, Any, Response]:
        if isinstance(route, Response):
            return route
        call, late = partial(self._router.call, route, request), partial(route.late, request)
        response: Response = yield HandlerCall(self._router.name_of(request), call, route.limit(request), late)
        return response

    def _log_request(self, request: ServingRequest, response: Response, seconds: float) -> None:
        # Only the path: query and headers may contain secrets.
        facts = {"server": self.name, "method": request.method, "path": request.path, "status": response.status}
        log.debug("request handled", extra={**facts, "seconds": round(seconds, 6), "peer": request.peer})


def _serve(takeover: Takeover, sock: socket.socket, received: bytes) -> None:
    with sock:
        takeover.serve(sock, received)
