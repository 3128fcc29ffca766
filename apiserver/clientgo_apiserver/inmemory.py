"""Server without sockets and threads: requests are method calls, and time passes by its clock only.

The controllers of the simulated cluster run inside the request that causes their work, so a response shows a cluster at
rest. Admission and conversion webhooks are not called.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, NamedTuple

from clientgo.clock import Clock
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.crds.crdschema import unstored_resources
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, parse_query
from clientgo_apiserver.http.upgrades import Upgrade
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.memorysockets import MemorySocket
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.stored import Key
from clientgo_apiserver.writes.restoring import restore


class ServedReply(NamedTuple):
    """Response of a server in memory."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ServedChange(NamedTuple):
    """Change of one object: `kind` is ADDED, MODIFIED or DELETED; the objects must not be modified."""

    revision: int
    kind: str
    resource: str
    group: str
    old: Object | None
    new: Object | None


class InMemoryServer:
    """One Kubernetes API in memory, for one thread at a time. A target is a path and query."""

    def __init__(
        self,
        clock: Clock,
        *,
        bare: bool = False,
        version: str = "",
        feature_gates: str = "",
        ready_seconds: float = 0.0,
        start: "InMemoryServer | None" = None,
    ) -> None:
        """Create a server, whose pods run at once, or are ready `ready_seconds` later.

        A `bare` one is an API server alone, without controllers and namespaces; it creates that of each new object.
        The server has the objects of `start`, as if that had been restarted at the time of `clock`: its past is
        not known. See `BundledOptions` for the rest.
        """
        self._scheduler = ManualScheduler(clock)
        options = ServerOptions(
            ready_seconds=ready_seconds, simulate=not bare, bare=bare, version=version, feature_gates=feature_gates
        )
        store = None if start is None else start._api.state.store.fork()
        self._api: Api = build(self._scheduler, options, clock=clock, store=store)
        self._scheduler.run()

    def __repr__(self) -> str:
        return f"<InMemoryServer {self._api.state.store!r}>"

    @property
    def revision(self) -> int:
        """Revision of the last write."""
        return self._api.state.store.revision

    def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> ServedReply:
        """Answer one request, and run the server's controllers until they have nothing more to do."""
        response = self._answer(method, target, headers, body)
        self._run()
        assert isinstance(response, HTTPResponse), "not a watch"
        return _reply(response)

    def watch(self, target: str, headers: Mapping[str, str]) -> WatchServer | ServedReply:
        """Open a watch; an error is a reply."""
        response = self._answer("GET", target, headers, b"")
        if isinstance(response, HTTPResponse):
            return _reply(response)
        assert isinstance(response, WatchServer), "other streams have no frames"
        return response

    def upgrade(self, target: str, headers: Mapping[str, str]) -> MemorySocket | ServedReply:
        """Switch to a WebSocket, as for a command in a pod; an error is a reply."""
        path, _, query = target.partition("?")
        request = HTTPRequest("GET", path, parse_query(query), headers, b"")
        request.upgradable = headers.get("upgrade", "").lower() == "websocket"
        response = _completed(self._api.answer(request))
        self._run()
        if isinstance(response, Upgrade):
            return MemorySocket(response, headers.get("sec-websocket-key", ""))
        assert isinstance(response, HTTPResponse), "not a watch"
        return _reply(response)

    def serve(self, definition: Object) -> None:
        """Serve the kinds of a CustomResourceDefinition that is not stored; built-in kinds stay as they are."""
        self._api.state.release.activate()
        registry = self._api.state.registry
        for resource in unstored_resources(definition):
            served = registry.find(resource.group, resource.version, resource.plural)
            if served is None or served.custom:
                registry.add(resource)

    def restore(self, objects: Iterable[Object]) -> None:
        """Store objects as they are, as from a backup, with defaults and what the server sets.

        They replace those of the same name. The server's controllers run once all are stored.

        Raises:
            ValueError: the kind of one is not served, or it cannot be decoded.
        """
        self._api.state.release.activate()
        for obj in objects:
            restore(self._api.state, obj)
        self._run()

    def subscribe(self, listener: Callable[[ServedChange], None]) -> None:
        """Call `listener` after each change; it must return at once and not call the server."""
        store = self._api.state.store

        def changed(kind: str, key: Key, old: Object | None, new: Object | None) -> None:
            listener(ServedChange(store.revision, kind, key[1], key[0], old, new))

        store.subscribe(changed)

    def advance(self) -> None:
        """Run what is due by the clock."""
        self._run()

    def next_due(self) -> float | None:
        """Return the clock's time at which the server's controllers act next, or None."""
        return self._scheduler.next_due()

    def _run(self) -> None:
        self._api.state.release.activate()
        self._scheduler.run()

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Any:
        path, _, query = target.partition("?")
        response = _completed(self._api.handle(method, path, query, headers, body))
        return response() if callable(response) else response


def _reply(response: HTTPResponse) -> ServedReply:
    headers = {"content-type": response.content_type}
    for name, value in response.headers:  # of several warnings, one header
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return ServedReply(response.status, headers, response.body)


def _completed(response: Coroutine[Any, Any, Any]) -> Any:
    """Run a request to its end, without a loop."""
    try:
        response.send(None)
    except StopIteration as ended:
        return ended.value
    response.close()
    raise RuntimeError("a server in memory calls no webhooks")
