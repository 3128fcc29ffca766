"""One request in the API's own words: verb, resource, name. The seam between typed clients and whatever answers them.

`RESTClient` turns a `Request` into HTTP; the fake clientset's tracker answers it from memory. Neither parses the
other's format, and a recorded `Request` reads as what was meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from clientgo.meta.objects import EMPTY_MAP, GroupVersionResource

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

_METHODS = {
    "get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "apply": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETE",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of which object; `namespace` and `name` are empty where they don't apply.

    `timeout` is how many seconds this request may take; None leaves it to whoever answers.
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

    @property
    def method(self) -> str:
        """The HTTP method of the verb."""
        return _METHODS[self.verb]

    @property
    def path(self) -> str:
        """The URL's path, without query; names are path segments as they stand (the API allows no others)."""
        gvr = self.resource
        parts = ["/apis", gvr.group, gvr.version] if gvr.group else ["/api", gvr.version]
        if self.namespace:
            parts += ["namespaces", self.namespace]
        parts += [part for part in (gvr.resource, self.name, self.subresource) if part]
        return "/".join(parts)


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


class Requester(Protocol):
    """Whatever answers requests: an API server, or a fake."""

    def do(self, request: Request) -> bytes:
        """The body of the answer; raises `ApiError` or `ConnectionFailed`."""

    def watch(self, request: Request) -> EventStream:
        """Open a watch; raises `ApiError` or `ConnectionFailed` if it can't be opened."""
