"""One request in the API's own words: verb, resource, name. The seam between typed clients and whatever answers them.

`RESTClient` turns a `Request` into HTTP; the fake clientset's tracker answers it from memory. Neither parses the
other's format, and a recorded `Request` reads as what was meant.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Protocol, runtime_checkable

import msgspec

from clientgo.meta.objects import EMPTY_MAP, GroupVersionResource

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""What to accept to be sent an object's metadata alone, or a watch of such (KEP-2334's media type parameters)."""

METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""The same for a list."""

_COLLECTIONS = 1024

_METHODS = {
    "get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "apply": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETE",
}  # fmt: skip


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of which object; `namespace` and `name` are empty where they don't apply.

    `timeout` is how many seconds this request may take; None leaves it to whoever answers. `accept` is the answer's
    media type, best first; who asks for `METADATA` must stand the whole object, which a server that knows none sends.
    `retry_lagging` is whether a server that has not reached the version asked for is asked again, as by default
    everybody is who says when to come back.
    """

    verb: str
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = EMPTY_MAP
    body: bytes | None = None
    content_type: str = JSON
    timeout: float | None = None
    accept: str = JSON
    retry_lagging: bool = True

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
        """The URL's path, without query; names are path segments as they stand (the API allows no others)."""
        path = _collection(self.resource, self.namespace)
        if self.name:
            path = f"{path}/{self.name}"
        return f"{path}/{self.subresource}" if self.subresource else path


@lru_cache(maxsize=_COLLECTIONS)
def _collection(gvr: GroupVersionResource, namespace: str) -> str:
    group = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
    place = f"{group}/namespaces/{namespace}" if namespace else group
    return f"{place}/{gvr.resource}" if gvr.resource else place


class RawEvent(msgspec.Struct, frozen=True):
    """One frame of a watch, its object still undecoded."""

    type: str
    object: msgspec.Raw


class EventStream(Protocol):
    """An open watch: frames in order until it ends.

    Iterating raises `ConnectionFailed` when the peer is lost or garbles; a stream the server ends just ends.
    """

    def __iter__(self) -> Iterator[RawEvent]:
        """Frames as they arrive."""

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once. May be called again."""


class ByteStream(Protocol):
    """A body that is still arriving, in portions of any size.

    Iterating raises `ConnectionFailed` when the connection breaks; it ends when the server ends the body.
    """

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the portions as they arrive."""

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once. May be called again."""


class Requester(Protocol):
    """Whatever answers requests: an API server, or a fake."""

    def do(self, request: Request) -> bytes:
        """The body of the answer; raises `ApiError` or `ConnectionFailed`."""

    def watch(self, request: Request) -> EventStream:
        """Open a watch; raises `ApiError` or `ConnectionFailed` if it can't be opened."""


@runtime_checkable
class StreamRequester(Protocol):
    """A requester that reads bodies as they arrive: the logs of a pod."""

    def stream(self, request: Request) -> ByteStream:
        """Open the stream; raises `ApiError` or `ConnectionFailed` if it can't be opened."""


def open_stream(requester: Requester, request: Request) -> ByteStream:
    """Open a stream.

    Raises:
        TypeError: the requester is no `StreamRequester`.
    """
    if not isinstance(requester, StreamRequester):
        raise TypeError(f"{requester!r} cannot stream: use a RESTClient, or give it a method stream(request)")
    return requester.stream(request)
