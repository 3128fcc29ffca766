"""Requester over a server in memory, which has every kind that it is asked for.

It answers the calls that no reactor of a fake handles. What is done through it directly is not recorded.
"""

import threading
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from clientgo.clock import Clock
from clientgo.codegen.crd.manifest import open_definition
from clientgo.errors import ApiError, MethodNotAllowed
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.codec import ObjectList, encode_value, to_dict
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource
from clientgo.meta.readonly import read_only
from clientgo.meta.scheme import ApiType, Scheme, api_of, plural_of
from clientgo.rest.headers import default_user_agent
from clientgo.rest.request import RawEvent, Request, target_of
from clientgo.rest.transport import HTTPReply
from clientgo.testing.definitions import definition_of
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.inmemory import InMemoryServer, ServedReply

Object = dict[str, Any]

_decode = msgspec.json.Decoder(RawEvent).decode


class FakeServer:
    """A server in memory as a `Requester`; thread-safe.

    Kinds without a definition are served by the one of their class, or by one that accepts everything. A namespace is
    created with its first object. Nothing but the server changes objects: there are no controllers, Nodes or garbage
    collection.
    """

    def __init__(self, scheme: Scheme, clock: Clock) -> None:
        self.clock = clock
        self._scheme = scheme
        self._changed = threading.Condition()
        # Below: guarded by _changed.
        self._server = InMemoryServer(clock, bare=True)
        self._served: set[GroupVersionResource] = set()
        self._defined: set[GroupVersionResource] = set()  # by their classes
        self._guessed: dict[GroupVersionResource, ApiType] = {}

    def __repr__(self) -> str:
        return f"<FakeServer {self._server!r}>"

    def add(self, *objects: object) -> None:
        """Store objects, or the items of lists, as they are: with status and uid, and without validation.

        They replace objects of the same name. The resource is that of the class; for a dict of an unknown kind it is
        the English plural.

        Raises:
            ValueError: a dict without apiVersion and kind, or with a value that has no JSON form; an object whose
                values do not fit its kind, or that must or cannot have a namespace.
        """
        items = [item for obj in objects for item in _items(obj)]
        plain = [_plain(item) for item in items]
        with self._changed:
            for item, obj in zip(items, plain, strict=True):
                self._serve_kind_of(type(item), obj)
            self._server.restore(plain)
            self._changed.notify_all()

    def get(self, gvr: GroupVersionResource, namespace: str, name: str) -> Object:
        """Return the object of that namespace and name as read-only JSON.

        Raises:
            NotFound: it does not exist.
        """
        body = self.do(Request(verb="get", resource=gvr, namespace=namespace, name=name))
        obj: Object = read_only(msgspec.json.decode(body))
        return obj

    def delete(self, gvr: GroupVersionResource, namespace: str, name: str) -> None:
        """Delete the object of that namespace and name.

        Raises:
            NotFound: it does not exist.
        """
        self.do(Request(verb="delete", resource=gvr, namespace=namespace, name=name))

    def do(self, request: Request) -> bytes:
        """Answer a request; raise `ApiError`."""
        target, content_type = target_of(request), "" if request.body is None else request.content_type
        headers = _headers(request.accept, content_type)
        with self._changed:
            self._serve(request)
            return self._send(request.method, target, headers, request.body or b"")

    def raw(self, method: str, path: str) -> bytes:
        """Answer a request for any path, such as one of discovery, which shows the kinds of the scheme."""
        with self._changed:
            for cls in _classes(self._scheme):
                self._serve_class(cls)
            return self._send(method, path, _headers("application/json", ""), b"")

    def watch(self, request: Request) -> "FakeServerWatch":
        """Open a watch; raise `ApiError`."""
        seconds = _seconds(request.query.get("timeoutSeconds", ""))
        with self._changed:
            self._serve(request)
            self._server.advance()
            served = self._server.watch(target_of(request), _headers(request.accept, ""))
            if isinstance(served, ServedReply):
                raise _error(served)
            deadline = self.clock.now() + seconds if seconds else None
            return FakeServerWatch(served, self._changed, self.clock, deadline)

    def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
        self._server.advance()
        reply = self._server.request(method, target, headers, body)
        self._changed.notify_all()
        if reply.status >= 300:
            raise _error(reply)
        return reply.body

    def _serve(self, request: Request) -> None:
        """Serve the kind of a request: that of its class, or else one of any content whose scope is guessed.

        Raises:
            MethodNotAllowed: the subresource is none that a definition may have; only a reactor can answer.
        """
        if request.resource not in self._served:
            self._serve_unknown(request)
        if request.subresource not in _OF_DEFINITIONS and request.resource in self._defined:
            raise not_supported(request.resource, request.subresource)

    def _serve_unknown(self, request: Request) -> None:
        gvr = request.resource
        guessed, any_scope = self._guessed.get(gvr), request.verb in _OF_ANY_SCOPE
        namespaced = any_scope or bool(request.namespace)
        if guessed is not None and (any_scope or guessed.namespaced == namespaced):
            return
        cls = next((cls for cls in _classes(self._scheme) if api_of(cls).gvr == gvr), None)
        if cls is not None:
            self._serve_class(cls)
        else:
            kind = _kind_in(request.body) or request.kind or gvr.resource.capitalize()
            self._serve_open(gvr, kind, namespaced=namespaced)

    def _serve_kind_of(self, cls: type[Any], obj: Object) -> None:
        """Serve the kind of an object that is added, given as an instance of its class or as a dict."""
        kind, api_version = str(obj.get("kind", "")), str(obj.get("apiVersion", ""))
        if not kind or not api_version:
            raise ValueError("an object given as a dict must have apiVersion and kind")
        group, _, version = api_version.rpartition("/")
        gvk = GroupVersionKind(group, version, kind)
        known_class = cls if "__api_type__" in vars(cls) else self._scheme.class_of(gvk)
        if known_class is not None:
            self._serve_class(known_class)
            return
        gvr = GroupVersionResource(group, version, plural_of(kind.lower()))
        if gvr not in self._served:
            self._serve_open(gvr, kind, namespaced=bool((obj.get("metadata") or {}).get("namespace")))

    def _serve_class(self, cls: type[Any]) -> None:
        api = api_of(cls)
        if api.gvr in self._served:
            return
        self._served.add(api.gvr)
        if not is_built_in(cls):
            group_resource = api.gvr.group_resource
            same = [each for each in _classes(self._scheme) if api_of(each).gvr.group_resource == group_resource]
            self._defined.add(api.gvr)
            self._server.serve(definition_of(tuple(same) or (cls,)))

    def _serve_open(self, gvr: GroupVersionResource, kind: str, *, namespaced: bool) -> None:
        api = ApiType(
            group=gvr.group,
            version=gvr.version,
            kind=kind,
            plural=gvr.resource,
            singular=kind.lower(),
            scope="Namespaced" if namespaced else "Cluster",
        )
        self._guessed[gvr] = api
        self._server.serve(open_definition([api]))


class FakeServerWatch:
    """Open watch of a fake; an `EventStream` that ends at its `deadline` by the clock."""

    def __init__(self, served: WatchServer, changed: threading.Condition, clock: Clock, deadline: float | None) -> None:
        self._served = served
        self._changed = changed
        self._clock = clock
        self._deadline = deadline
        self._closed = False

    def __iter__(self) -> Iterator[RawEvent]:
        while lines := self._wait():
            for line in lines:
                if self._closed:  # unread events are dropped
                    return
                yield _decode(line)

    def close(self) -> None:
        """End the watch from any thread; a blocked iteration ends, and unread events are dropped."""
        with self._changed:
            self._closed = True
            self._served.close()
            self._changed.notify_all()

    def _wait(self) -> list[bytes]:
        """Return the next frames, none once the watch has ended."""
        with self._changed:
            while not self._closed:
                lines = self._served.take_lines()
                if lines or self._served.closed:
                    return lines
                if self._deadline is not None and self._clock.now() >= self._deadline:
                    self._served.expire()
                else:
                    self._clock.wait(self._changed, self._deadline)
        return []


def not_supported(resource: GroupVersionResource, subresource: str) -> MethodNotAllowed:
    """Return the error for a subresource that only a reactor can answer."""
    what = f"{resource.resource}/{subresource}"
    return MethodNotAllowed(f"the fake does not support {what}: prepend a reactor that handles it")


_OF_DEFINITIONS = ("", "status", "scale")
_OF_ANY_SCOPE = ("list", "watch", "deletecollection")


def _classes(scheme: Scheme) -> list[type[Any]]:
    return [cls for gvk in scheme.kinds() if (cls := scheme.class_of(gvk)) is not None]


def _items(obj: object) -> Iterator[object]:
    """Yield an object, or the items of a list."""
    if isinstance(obj, ObjectList):
        items = obj.items
    elif isinstance(obj, Mapping) and str(obj.get("kind", "")).endswith("List") and isinstance(obj.get("items"), list):
        items = obj["items"]
    else:
        yield obj
        return
    for item in items:
        yield from _items(item)


def _plain(obj: object) -> Object:
    plain: Object = msgspec.json.decode(encode_value(obj)) if isinstance(obj, Mapping) else to_dict(obj)
    return plain


def _kind_in(body: bytes | None) -> str:
    """Return the kind in the JSON of an object, or ""."""
    try:
        value = msgspec.json.decode(body or b"null")
    except msgspec.DecodeError:
        return ""
    return str(value.get("kind") or "") if isinstance(value, dict) else ""


@cache
def _headers(accept: str, content_type: str) -> Mapping[str, str]:
    headers = {"accept": accept, "user-agent": default_user_agent()}
    return {**headers, "content-type": content_type} if content_type else headers


def _seconds(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdigit() else 0.0


def _error(reply: ServedReply) -> ApiError:
    return HTTPReply(reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.body).error()
