"""API requests by verb, resource and name: the interface between typed clients and requesters, and their URLs.

`RESTClient` converts a `Request` to HTTP; the fake clientset answers it from memory. URLs are paths of objects below
the server's address, query strings, and redirects within that address.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable
from urllib.parse import SplitResult, quote, urlencode, urljoin, urlsplit

import msgspec

from clientgo.errors import BadRequest
from clientgo.internal.patterns import SURROGATE
from clientgo.meta.objects import EMPTY_MAP, GroupVersionResource
from clientgo.rest.limits import OpenStream

if TYPE_CHECKING:
    from clientgo.rest.transport import AnyResponse, Duplex, Headers

R = TypeVar("R", bound="AnyResponse")

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""Media types for an object's metadata only, or a watch of it (KEP-2334's media type parameters)."""

METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""Media types for a list of objects' metadata only."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_:~-][A-Za-z0-9._:~-]*").fullmatch
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_NEEDS_NAME = frozenset({"get", "update", "patch", "apply", "delete", "connect"})
_COLLECTIONS = 1024

_METHODS = {
    "get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "apply": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETE", "connect": "GET",
}  # fmt: skip


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a resource; `namespace` and `name` are empty where they do not apply, `kind` if it is not known.

    `timeout` limits this request, in seconds; None means the requester's default. `accept` lists media types of the
    response, best first; callers that request `METADATA` must accept whole objects, which servers without support
    return. `retry_lagging` retries if the server has not reached the requested resourceVersion yet and says when to
    come back. `repeated` are parameters of the query whose names may repeat, such as the words of a command.
    """

    verb: str
    resource: GroupVersionResource
    kind: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = EMPTY_MAP
    body: bytes | None = None
    content_type: str = JSON
    timeout: float | None = None
    accept: str = JSON
    retry_lagging: bool = True
    repeated: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        # Without the body, which may hold a Secret.
        query = f" {dict(self.query)}" if self.query else ""
        body = f", {len(self.body)} bytes" if self.body is not None else ""
        return f"<Request {self.verb} {self.path}{query}{body}>"

    @property
    def method(self) -> str:
        """The HTTP method of the verb."""
        return _METHODS[self.verb]

    @property
    def path(self) -> str:
        """The URL's path without the query; names are not escaped, because the API allows only valid path segments."""
        path = _collection(self.resource, self.namespace)
        if self.name:
            path = f"{path}/{self.name}"
        return f"{path}/{self.subresource}" if self.subresource else path


@lru_cache(maxsize=_COLLECTIONS)
def _collection(gvr: GroupVersionResource, namespace: str) -> str:
    group = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
    parent = f"{group}/namespaces/{namespace}" if namespace else group
    return f"{parent}/{gvr.resource}" if gvr.resource else parent


class RawEvent(msgspec.Struct, frozen=True):
    """One frame of a watch, with the undecoded object."""

    type: str
    object: msgspec.Raw


EventStream = OpenStream[RawEvent]
"""An open watch: its frames."""

ByteStream = OpenStream[bytes]
"""A streamed body: its chunks, of any size."""


class Requester(Protocol):
    """An object that answers requests: the client of an API server, or a fake."""

    def do(self, request: Request) -> bytes:
        """Send a request and return the response body; raise `ApiError` or `ConnectionFailed`."""

    def watch(self, request: Request) -> EventStream:
        """Open a watch; raise `ApiError` or `ConnectionFailed` if that fails."""


@runtime_checkable
class StreamRequester(Protocol):
    """A requester that can stream bodies, such as the logs of a pod.

    If its attribute `lists_in_parts` is True, informers read lists from a stream, and request the newest state.
    """

    def stream(self, request: Request) -> ByteStream:
        """Open a stream; raise `ApiError` or `ConnectionFailed` if that fails."""


@runtime_checkable
class UpgradeRequester(Protocol):
    """A requester that can switch a connection to another protocol, such as a WebSocket."""

    def upgrade(self, request: Request, headers: "Headers") -> "Duplex":
        """Switch the protocol of a new connection; raise `ApiError` or `ConnectionFailed` if that fails."""


def open_upgrade(requester: Requester, request: Request, headers: "Headers") -> "Duplex":
    """Switch the protocol of a new connection; the headers name the protocol.

    Raises:
        TypeError: the requester is not an `UpgradeRequester`.
    """
    if not isinstance(requester, UpgradeRequester):
        raise TypeError(f"{requester!r} has no streams: use a RESTClient, or add a method upgrade(request, headers)")
    return requester.upgrade(request, headers)


def open_stream(requester: Requester, request: Request) -> ByteStream:
    """Open a stream.

    Raises:
        TypeError: the requester is not a `StreamRequester`.
    """
    if not isinstance(requester, StreamRequester):
        raise TypeError(f"{requester!r} cannot stream: use a RESTClient, or add a method stream(request)")
    return requester.stream(request)


def permission_for(requester: object, request: Request) -> Callable[[], object]:
    """Return the check that further input of an opened connection has to pass, before each transmission.

    A requester that permits only some requests, such as one with a fence, has it as the method `permission`.
    """
    permission = getattr(requester, "permission", None)
    return _permit if permission is None else permission(request)


def _permit() -> None:
    """Permit everything."""


class ForwardingRequester:
    """Base class of requesters that forward each request to another one, perhaps changed."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester
        # Read by informers.
        self.supports_watch_list = getattr(requester, "supports_watch_list", None)
        self.lists_in_parts = getattr(requester, "lists_in_parts", False)
        self.server = server_of(requester)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} before {self._requester!r}>"

    def do(self, request: Request) -> bytes:
        """Send a request and return the response body."""
        return self._requester.do(self._forwarded(request))

    def watch(self, request: Request) -> EventStream:
        """Open a watch."""
        return self._requester.watch(self._forwarded(request))

    def stream(self, request: Request) -> ByteStream:
        """Open a stream."""
        return open_stream(self._requester, self._forwarded(request))

    def upgrade(self, request: Request, headers: "Headers") -> "Duplex":
        """Switch the protocol of a new connection."""
        return open_upgrade(self._requester, self._forwarded(request), headers)

    def permission(self, request: Request) -> Callable[[], object]:
        """Return the check of input for a connection that this request has opened; see `permission_for`."""
        return permission_for(self._requester, request)

    def _forwarded(self, request: Request) -> Request:
        """Return the request to send instead."""
        return request


def checked_requester(value: Requester) -> Requester:
    """Return the requester itself; raise `TypeError` for anything else, whose mistake would show only later."""
    if not callable(getattr(value, "do", None)):
        raise TypeError(f"expected a requester, such as RESTClient(load_config()), got a {type(value).__name__}")
    return value


def server_of(requester: object) -> str:
    """Return the address of the server that a requester sends to, for messages."""
    server = getattr(requester, "server", "")
    return server if isinstance(server, str) and server else type(requester).__name__


def target_of(request: Request) -> str:
    """Return the path and query of a request.

    Raises:
        BadRequest: a required name is missing, or a name is not a valid path segment. Deleting an empty name would
            delete the collection.
    """
    name, namespace = request.name, request.namespace
    if not name and request.verb in _NEEDS_NAME:
        raise BadRequest("resource name may not be empty")
    path = request.path
    if not ((not name or _PLAIN_NAME(name)) and (not namespace or _PLAIN_NAME(namespace))):
        _check_segment("name", name)
        _check_segment("namespace", namespace)
        path = quote(path, safe="/:~!$&'()*+,;=@")
    query = request.query
    if request.verb == "watch" and "watch" not in query:
        query = {**query, "watch": "true"}
    if request.repeated:
        return f"{path}?{urlencode([*query.items(), *request.repeated])}"
    return f"{path}?{query_string(query)}" if query else path


def query_string(query: Mapping[str, str]) -> str:
    """Return the encoded parameters."""
    plain = [f"{key}={value}" for key, value in query.items() if _PLAIN_VALUE(value)]
    return "&".join(plain) if len(plain) == len(query) else urlencode(query)


def seconds_text(seconds: float) -> str:
    """Return a duration in the API's format: plain digits and `s`, never an exponent."""
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def _check_segment(what: str, value: str) -> None:
    # The names that apimachinery's IsValidPathSegmentName rejects.
    if value in (".", "..") or "/" in value or "%" in value:
        raise BadRequest(f"invalid resource {what} {value!r}: may not be '.' or '..', nor contain '/' or '%'")
    if SURROGATE.search(value):
        raise BadRequest(f"invalid resource {what} {value!r}: not valid Unicode")


def follow_redirects(server: str, target: str, response: R, send: Callable[[str], R], limit: int) -> R:
    """Follow at most `limit` redirects of a read within the server's address; return the last response."""
    for _ in range(limit):
        location = redirect_target(server, target, response.status, response.headers)
        if location is None:
            break
        target, response = location, send(location)
        if not 300 <= response.status < 400:
            break
    return response


_STATUSES = frozenset((301, 302, 303, 307, 308))
_PORTS = {"http": 80, "https": 443}


def redirect_target(server: str, target: str, status: int, headers: Mapping[str, str]) -> str | None:
    """Return the target, below the server's address, of a redirect.

    None for other responses, and for redirects to other hosts: only this server may see the request's credentials.
    """
    location = headers.get("location", "") if status in _STATUSES else ""
    if not location or not location.isascii() or not location.isprintable() or " " in location:
        return None
    base = urlsplit(server)
    try:
        target_url = urlsplit(urljoin(server + target, location))
        same = _origin(target_url) == _origin(base)
    except ValueError:
        return None
    path = target_url.path.removeprefix(base.path.rstrip("/"))
    if not same or not path.startswith("/") or (path == target_url.path and base.path.rstrip("/")):
        return None
    return f"{path}?{target_url.query}" if target_url.query else path


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)
