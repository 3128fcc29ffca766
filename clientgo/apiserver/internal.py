"""In-process client for code inside the server: the rules of HTTP requests without HTTP.

The controllers of the simulated cluster use an `Internal` for all writes. Everything runs on the server's event loop,
so nothing is locked. These writes are not counted as requests.
"""

from typing import Any

import msgspec

from clientgo.apiserver.api import Api, result_of
from clientgo.apiserver.auth.users import MASTERS, authenticated
from clientgo.apiserver.handlers.patching import JSON_PATCH, MERGE_PATCH
from clientgo.apiserver.http.messages import HTTPRequest, Query
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.stored import Key

_PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH}


class Internal:
    """Reads and writes as one client of the server; `manager` is its field manager."""

    def __init__(self, api: Api, *, manager: str = "kube-controller-manager") -> None:
        self._api = api
        self.state = api.state
        self._manager = manager

    def create(self, key: Key, namespace: str, obj: Object) -> Object:
        """Create an object and return it as stored."""
        return self._send("POST", self._path(key, namespace), msgspec.json.encode(obj))

    def patch(
        self, key: Key, namespace: str, name: str, patch: Any, *, subresource: str = "", kind: str = "merge"
    ) -> Object:
        """Patch an object (`kind`: merge or json) and return it as stored."""
        path = self._path(key, namespace, name, subresource)
        return self._send("PATCH", path, msgspec.json.encode(patch), content_type=_PATCHES[kind])

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
        return self._send("DELETE", self._path(key, namespace, name), msgspec.json.encode(options))

    def _path(self, key: Key, namespace: str, name: str = "", subresource: str = "") -> str:
        served = self.state.registry.of_storage(key)
        if not served:
            raise ApiFailure(404, "NotFound", "the server could not find the requested resource")
        stored = (one for one in served if one.version == (one.storage_version or one.version) and one.group == key[0])
        resource = next(stored, served[0])
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
