"""In-process client for code inside the server: the rules of HTTP requests without HTTP.

The controllers of the simulated cluster use an `Internal` for all writes. Everything runs on the server's event loop,
so nothing is locked, and no write waits: admission webhooks are not called, and objects stay in the version in which
they are stored. These writes are not counted as requests.
"""

from collections.abc import Coroutine
from typing import Any

import msgspec

from clientgo_apiserver.api import Answer, Api
from clientgo_apiserver.handlers.patching import JSON_PATCH, MERGE_PATCH
from clientgo_apiserver.handlers.verbs import RequestInfo
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, Query
from clientgo_apiserver.http.status import ApiFailure
from clientgo_apiserver.registry.views import in_stored_version
from clientgo_apiserver.resources import Object, Resource
from clientgo_apiserver.storage.stored import Key
from clientgo_apiserver.users import MASTERS, authenticated

_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
_PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH}


class Internal:
    """Reads and writes as one client of the server; `manager` is its field manager."""

    def __init__(self, api: Api, *, manager: str = "kube-controller-manager") -> None:
        self._api = api
        self.state = api.state
        self._manager = manager

    def create(self, key: Key, namespace: str, obj: Object) -> Object:
        """Create an object and return it as stored."""
        return self._send("create", (key, namespace, ""), obj)

    def patch(
        self, key: Key, namespace: str, name: str, patch: Any, *, subresource: str = "", kind: str = "merge"
    ) -> Object:
        """Patch an object (`kind`: merge or json) and return it as stored."""
        target = (key, namespace, name)
        return self._send("patch", target, patch, subresource=subresource, content_type=_PATCHES[kind])

    def delete(
        self,
        key: Key,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> Object:
        """Delete an object, if it has this uid, and return the response; `grace` is a pod's grace period in seconds."""
        options: Object = {"propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid:
            options["preconditions"] = {"uid": uid}
        return self._send("delete", (key, namespace, name), options)

    def _resource(self, key: Key, namespace: str, name: str) -> Resource:
        """Return the resource of an object in its stored version, which no webhook has to convert."""
        served = self.state.registry.of_storage(key)
        if not served:
            raise ApiFailure(404, "NotFound", "the server could not find the requested resource")
        stored = (
            candidate
            for candidate in served
            if candidate.version == (candidate.storage_version or candidate.version) and candidate.group == key[0]
        )
        resource = next(stored, served[0])
        obj = self.state.store.get(key, namespace, name) if name and resource.converter is not None else None
        return resource if obj is None else in_stored_version(resource, obj["apiVersion"])

    def _send(
        self,
        verb: str,
        target: tuple[Key, str, str],
        body: Any,
        *,
        subresource: str = "",
        content_type: str = "application/json",
    ) -> Object:
        _, namespace, name = target
        resource = self._resource(*target)
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        segments = (root, *(("namespaces", namespace) if namespace else ()), resource.plural, name, subresource)
        request = HTTPRequest(
            _METHODS[verb],
            "/".join(filter(None, segments)),
            Query() if verb == "delete" else Query(fieldManager=self._manager, fieldValidation="Ignore"),
            {"content-type": content_type},
            msgspec.json.encode(body),
            user=authenticated(f"system:{self._manager}", MASTERS),
            internal=True,
        )
        response = _completed(self._api.answer(request, RequestInfo(resource, namespace, name, subresource, verb)))
        entry = self.state.store.entry(*target)
        if entry is not None and entry.raw is response.body:
            return entry.object  # as it would be decoded
        value: Object = response.json()
        if response.status >= 400:
            raise ApiFailure(
                response.status, value.get("reason", ""), value.get("message", ""), details=value.get("details")
            )
        return value


def _completed(response: Coroutine[Any, Any, Answer]) -> HTTPResponse:
    """Return the response of a request that waits for nothing."""
    try:
        response.send(None)
    except StopIteration as end:
        result: HTTPResponse = end.value
        return result
    response.close()
    raise AssertionError("a write of a controller waits for a webhook")
