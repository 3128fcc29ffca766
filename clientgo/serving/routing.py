"""Which route answers a request, and who may ask it: the decisions of the server, without its sockets."""

import enum
import ipaddress
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clientgo.serving.message import Response, ServingRequest

log = logging.getLogger(__name__)

Handler = Callable[[ServingRequest], Response]
"""Answers a request; safe for several threads at once."""

Authorizer = Callable[[ServingRequest], Response | None]
"""None if the request may pass, else what to answer instead. What it raises keeps the request out (500)."""


class Access(enum.Enum):
    """Who may ask a route."""

    OPEN = "anybody, also where others need a token: probes"
    AUTHORIZED = "whom the server's authorizer lets in; anybody if it has none"
    PRIVATE = "this machine, and whom the authorizer lets in; this machine alone if there is none"


@dataclass(frozen=True)
class Route:
    """A handler with what the server must know of it; itself a handler. HEAD is allowed wherever GET is."""

    handle: Handler
    methods: tuple[str, ...] = ("GET",)
    access: Access = Access.AUTHORIZED

    def __call__(self, request: ServingRequest) -> Response:
        """What the handler answers."""
        return self.handle(request)


def below(path: str) -> str:
    """The key of a route for every path below `path`; a route of the very path comes first."""
    return path.rstrip("/") + "/"


class Router:
    """Finds the route, asks whether the request may pass, lets the route answer; never raises.

    A key that ends in `/` stands for every path below it.
    """

    def __init__(self, routes: Mapping[str, Handler], authorizer: Authorizer | None = None) -> None:
        self._routes = {
            path: handler if isinstance(handler, Route) else Route(handler) for path, handler in routes.items()
        }
        self._authorizer = authorizer

    @property
    def paths(self) -> list[str]:
        """The paths that are served, sorted."""
        return sorted(self._routes)

    def answer(self, request: ServingRequest) -> Response:
        """The answer to a request, be it that it is refused or that its route failed."""
        try:
            return self._answer(request)
        except Exception:
            # Whatever a route does wrong, its client gets a sentence; the traceback is for the log.
            log.exception("a request could not be answered", extra={"method": request.method, "path": request.path})
            return Response(500, "Internal Server Error: the program's log says why\n")

    def _answer(self, request: ServingRequest) -> Response:
        route = self._find(request.path)
        if route is None:
            return Response(404, "404 page not found\n")
        method = "GET" if request.method == "HEAD" else request.method
        if method not in route.methods:
            allowed = ", ".join(("HEAD", *route.methods) if "GET" in route.methods else route.methods)
            return Response(405, f"Method Not Allowed: use {allowed}\n").with_header("Allow", allowed)
        refusal = self._refusal(route, request)
        return route(request) if refusal is None else refusal

    def _find(self, path: str) -> Route | None:
        exact = self._routes.get(path)
        if exact is not None or "/" not in path:
            return exact
        # The longest of those above it, so that one route may stand inside another's tree.
        above = [key for key in self._routes if key.endswith("/") and path.startswith(key)]
        return self._routes[max(above, key=len)] if above else None

    def _refusal(self, route: Route, request: ServingRequest) -> Response | None:
        if route.access is Access.OPEN or (route.access is Access.PRIVATE and from_this_machine(request)):
            return None
        if self._authorizer is not None:
            return self._authorizer(request)
        if route.access is Access.PRIVATE:
            return Response(403, f'Forbidden: "{request.path}" is served to this machine alone\n')
        return None


def from_this_machine(request: ServingRequest) -> bool:
    """Whether the client is a program of this machine that knows whom it talks to.

    The addresses are compared one by one: meshes hand on what came from afar with others of 127.0.0.0/8. The Host
    header must agree, or a page in a browser here could read by a name of its own that leads to 127.0.0.1.
    """
    try:
        peer = ipaddress.ip_address(request.peer)
    except ValueError:
        return False
    if isinstance(peer, ipaddress.IPv6Address) and peer.ipv4_mapped is not None:
        peer = peer.ipv4_mapped
    host = request.headers.get("host", "localhost")
    name = host[: host.rfind(":")] if host.rfind(":") > host.rfind("]") else host
    return str(peer) in ("127.0.0.1", "::1") and name in ("localhost", "127.0.0.1", "[::1]")
