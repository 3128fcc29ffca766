"""In-process client for code inside the server: the rules of HTTP requests without HTTP.

The controllers of the simulated cluster use an `Internal` for all access. Everything runs on the server's event loop,
so nothing is locked. A subscriber is called after each commit and must not write; it uses `call_soon`, so that the
write it reacts to is answered first. These writes are not counted as requests.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.apiserver.api import Api, result_of
from clientgo.apiserver.auth.users import MASTERS, authenticated
from clientgo.apiserver.handlers.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from clientgo.apiserver.http.messages import HTTPRequest, Query
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.registry.registry import Object, Registry, Resource
from clientgo.apiserver.state import Handle
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Key, StoreListener
from clientgo.clock import Clock

_PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "strategic": STRATEGIC_PATCH}


class Internal:
    """Reads and writes as one client of the server; `manager` is its field manager."""

    def __init__(self, api: Api, *, manager: str = "kube-controller-manager") -> None:
        self._api = api
        self._manager = manager

    def __repr__(self) -> str:
        return f"<Internal {self._manager}>"

    @property
    def registry(self) -> Registry:
        """Registry of served resources."""
        return self._api.state.registry

    @property
    def store(self) -> Store:
        """Object store, for reading."""
        return self._api.state.store

    @property
    def clock(self) -> Clock:
        """Clock of the server."""
        return self._api.state.clock

    def get(self, key: Key, namespace: str, name: str) -> Object | None:
        """Return the stored object, or None. It must not be modified."""
        return self.store.get(key, namespace, name)

    def list(self, key: Key, namespace: str = "") -> list[Object]:
        """Return the stored objects of one namespace (all if empty), by name. They must not be modified."""
        return self.store.list(key, namespace)

    def create(self, key: Key, namespace: str, obj: Object) -> Object:
        """Create an object and return it as stored."""
        return self._send("POST", self._path(key, namespace), msgspec.json.encode(obj))

    def update(self, key: Key, namespace: str, obj: Object, *, subresource: str = "") -> Object:
        """Replace an object and return it as stored."""
        path = self._path(key, namespace, obj["metadata"]["name"], subresource)
        return self._send("PUT", path, msgspec.json.encode(obj))

    def patch(
        self, key: Key, namespace: str, name: str, patch: Any, *, subresource: str = "", kind: str = "merge"
    ) -> Object:
        """Patch an object (`kind`: merge, json or strategic) and return it as stored."""
        path = self._path(key, namespace, name, subresource)
        return self._send("PATCH", path, msgspec.json.encode(patch), content_type=_PATCHES[kind])

    def delete(self, key: Key, namespace: str, name: str, *, uid: str = "", propagation: str = "Background") -> Object:
        """Delete an object, if it has this uid, and return the response."""
        options: Object = {"propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        return self._send("DELETE", self._path(key, namespace, name), msgspec.json.encode(options))

    def subscribe(self, callback: StoreListener) -> Callable[[], None]:
        """Call `callback(type, key, old, new)` after each commit, until the returned callable is called."""
        return self.store.subscribe(callback)

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        """Run a callback after the current one, and retry it until the store accepts its writes."""
        self._api.state.call_soon(callback, *args)

    def call_promptly(self, callback: Callable[..., object], *args: Any) -> None:
        """Run a callback before the current write is answered, so that the response contains its effect."""
        self._api.state.before_response.append(lambda: self._api.state.call_with_retry(callback, *args))

    def call_later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Handle:
        """Run a callback after that many seconds."""
        return self._api.state.scheduler.call_later(seconds, self._api.state.call_with_retry, callback, *args)

    def _resource(self, key: Key) -> Resource:
        found = self.registry.of_storage(key)
        stored = [resource for resource in found if resource.version == (resource.storage_version or resource.version)]
        if not found:
            raise ApiFailure(404, "NotFound", "the server could not find the requested resource")
        return next((resource for resource in stored if resource.group == key[0]), found[0])

    def _path(self, key: Key, namespace: str, name: str = "", subresource: str = "") -> str:
        resource = self._resource(key)
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        place = f"/namespaces/{namespace}" if namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{place}/{resource.plural}{tail}"

    def _send(self, method: str, path: str, body: bytes, *, content_type: str = "application/json") -> Object:
        request = HTTPRequest(
            method,
            path,
            Query(fieldManager=self._manager, fieldValidation="Ignore"),
            {"content-type": content_type},
            body,
            user=authenticated(f"system:{self._manager}", MASTERS),
            internal=True,
        )
        if method == "DELETE":
            request.query.clear()
        answer = result_of(self._api.answer(request))
        value: Object = answer.json()
        if answer.status >= 400:
            raise ApiFailure(
                answer.status, value.get("reason", ""), value.get("message", ""), details=value.get("details")
            )
        return value
