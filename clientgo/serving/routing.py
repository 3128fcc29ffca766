"""Routing and access control of requests, without sockets."""

import enum
import ipaddress
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.hosts import parse_ip
from clientgo.log import get_logger
from clientgo.serving.message import Response, ServingRequest
from clientgo.stop.lifecycle import is_stopped_request

log = get_logger(__name__)

T = TypeVar("T")

Handler = Callable[[ServingRequest], Response]
"""Handles a request; thread-safe."""

Authorizer = Callable[[ServingRequest], Response | None]
"""Returns None if the request may pass, else the response. An exception rejects the request (500)."""


class Access(enum.Enum):
    """Access control of a route."""

    OPEN = "no access control, for example for probes"
    AUTHORIZED = "the server's authorizer decides; open if there is none"
    PRIVATE = "this machine, and clients that the authorizer accepts"


def late_response(request: ServingRequest) -> Response:
    """Return the response to a request whose handler did not answer in time."""
    return Response(503, f"the handler of {request.path} did not answer in time\n")


@dataclass(frozen=True)
class Route:
    """Handler with its methods and access control; itself a handler. HEAD is allowed where GET is.

    `largest` is the limit of a request's body in bytes; None is that of the server (`Limits.body`). `seconds` limits
    the handler: it is a number, or a function of the request. `late` returns the response once they have passed; the
    scope of the handler has stopped then, which ends its requests and cancels its coroutine.
    """

    handle: Handler
    methods: tuple[str, ...] = ("GET",)
    access: Access = Access.AUTHORIZED
    largest: int | None = None
    seconds: float | Callable[[ServingRequest], float] = math.inf
    late: Handler = late_response

    def limit(self, request: ServingRequest) -> float:
        """Return the seconds that the handler may take for a request."""
        return self.seconds if isinstance(self.seconds, int | float) else self.seconds(request)

    def __call__(self, request: ServingRequest) -> Response:
        """Return the handler's response."""
        return self.handle(request)


def below(path: str) -> str:
    """Return the key of a route for every path below `path`; a route of the exact path takes precedence."""
    return path.rstrip("/") + "/"


class Router:
    """Finds the route, authorizes the request, and calls the handler; never raises.

    A key that ends in `/` matches every path below it, except `/` itself, which matches only the root. The empty key
    matches all other paths.
    """

    def __init__(self, routes: Mapping[str, Handler], authorizer: Authorizer | None = None) -> None:
        self._routes = {
            path: handler if isinstance(handler, Route) else Route(handler) for path, handler in routes.items()
        }
        self._authorizer = authorizer

    @property
    def paths(self) -> list[str]:
        """Paths with a route, sorted."""
        return sorted(self._routes)

    def name_of(self, request: ServingRequest) -> str:
        """Return the key of the request's route, for logs; that of no route is empty."""
        return self._key(request.path) or ""

    def is_guarded(self, request: ServingRequest) -> bool:
        """Return whether `resolve` calls the authorizer, which may take its time."""
        key = self._key(request.path)
        return self._authorizer is not None and key is not None and self._routes[key].access is not Access.OPEN

    def answer(self, request: ServingRequest) -> Response:
        """Return the response to a request, also if it is rejected or its handler fails."""
        route = self.resolve(request)
        return self.call(route, request) if isinstance(route, Route) else route

    def resolve(self, request: ServingRequest) -> Route | Response:
        """Return the route that handles a request, or the response that rejects it; does not use the body."""
        return self._guarded(self._resolve, request)

    def call(self, route: Route, request: ServingRequest) -> Response:
        """Return the response of a route, also if its handler fails."""
        return self._guarded(route, request)

    def _guarded(self, handle: Callable[[ServingRequest], T], request: ServingRequest) -> T | Response:
        try:
            return run_callback(handle, request)
        except CallbackFailed as error:
            if error.__cause__ is not None and is_stopped_request(error.__cause__):
                log.debug("request handler cancelled", extra={"method": request.method, "path": request.path})
                return late_response(request)
            # The client gets one sentence; the traceback goes to the log.
            log.exception("request handler failed", extra={"method": request.method, "path": request.path})
            return Response(500, "Internal Server Error: see the program's log\n")

    def _resolve(self, request: ServingRequest) -> Route | Response:
        key = self._key(request.path)
        if key is None:
            return Response(404, "404 page not found\n")
        route = self._routes[key]
        method = "GET" if request.method == "HEAD" else request.method
        if method not in route.methods:
            allowed = ", ".join(("HEAD", *route.methods) if "GET" in route.methods else route.methods)
            return Response(405, f"Method Not Allowed: use {allowed}\n").with_header("Allow", allowed)
        return self._refusal(route, request) or route

    def _key(self, path: str) -> str | None:
        if path in self._routes:
            return path
        # The longest match, so that one route may lie below another.
        above = [key for key in self._routes if key.endswith("/") and path.startswith(key) and key != "/"]
        return max(above, key=len, default="" if "" in self._routes else None)

    def _refusal(self, route: Route, request: ServingRequest) -> Response | None:
        if route.access is Access.OPEN or (route.access is Access.PRIVATE and from_this_machine(request)):
            return None
        if self._authorizer is not None:
            return self._authorizer(request)
        if route.access is Access.PRIVATE:
            return Response(403, f'Forbidden: "{request.path}" is served only to this machine\n')
        return None


def from_this_machine(request: ServingRequest) -> bool:
    """Return whether the client is a program on this machine that addressed it as localhost.

    Only exact loopback addresses count: service meshes forward remote requests from other addresses of 127.0.0.0/8. The
    Host header must match, or a web page in a local browser could read the response under a name that resolves to
    127.0.0.1.
    """
    peer = parse_ip(request.peer)
    if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
        peer = peer.ipv4_mapped
    host = request.headers.get("host", "localhost")
    name = host[: host.rfind(":")] if host.rfind(":") > host.rfind("]") else host
    return str(peer) in ("127.0.0.1", "::1") and name in ("localhost", "127.0.0.1", "[::1]")
