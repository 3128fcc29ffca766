"""In-process client for code inside the server: the rules of HTTP requests without HTTP.

The controllers of the simulated cluster use an `Internal` for all writes. Everything runs on the server's event loop,
so nothing is locked, and no write waits: objects stay in the version in which they are stored, and a write for which an
admission webhook has to be called fails with `InReview` until its outcome is known. Its success is seen by the change
of the store; a rejection is what the controller gets that tries it again. These writes are not counted as requests.
"""

from collections.abc import Coroutine, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from clientgo.internal.boundeddict import BoundedDict
from clientgo_apiserver.admission.chain import ADMISSION
from clientgo_apiserver.admission.webhooks import CalledLater
from clientgo_apiserver.api.names import generate, new_uid
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.api.users import MASTERS, authenticated, service_account
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.handlers.dispatch import Answer, Api, attributes_of
from clientgo_apiserver.handlers.verbs import RequestInfo
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, Query
from clientgo_apiserver.merging.managedfields import FieldManager, after_update, first_entries, sort
from clientgo_apiserver.registry.mergerules import managed_type
from clientgo_apiserver.registry.views import in_stored_version
from clientgo_apiserver.storage.keys import QUOTAS
from clientgo_apiserver.storage.stored import Key, name_of
from clientgo_apiserver.writes.patching import APPLY_PATCH, JSON_PATCH, MERGE_PATCH

_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
_MAX_REVIEWS = 4096
_IDENTITY = ("manager", "operation", "apiVersion", "subresource")
_PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "apply": APPLY_PATCH}


class InReview(ApiFailure):
    """A write is with admission webhooks: it is tried again later, as if the server had failed."""

    def __init__(self, task: object = None) -> None:
        super().__init__(503, "", "admission webhooks are called")
        self.task = task  # event loops refer to their tasks only weakly


class Internal:
    """Reads and writes as one client of the server; `manager` is its field manager."""

    def __init__(self, api: Api, *, manager: str = "kube-controller-manager") -> None:
        self._api = api
        self.state = api.state
        self._manager = manager
        self._query = Query(fieldManager=manager, fieldValidation="Ignore")
        self._user = authenticated(f"system:{manager}", MASTERS)
        # Writes that webhooks review, and how they were rejected.
        self._reviews: BoundedDict[tuple[Any, ...], ApiFailure] = BoundedDict(_MAX_REVIEWS)

    def as_account(self, name: str) -> "Internal":
        """Return a client that writes as a service account of the namespace kube-system, as controllers do."""
        client = copy(self)
        client._user = service_account("kube-system", name)
        client._reviews = BoundedDict(_MAX_REVIEWS)
        return client

    def may_be_rejected(self) -> bool:
        """Return whether there are policies or webhooks, which may change or reject any write."""
        return any(map(self.state.store.count, ADMISSION))

    def create(self, key: Key, namespace: str, obj: Object, *, derived: bool = False) -> Object:
        """Create an object and return it as stored; a `derived` one is complete and valid, as the stored one it is of.

        Its parts are stored, and must not be modified any more.
        """
        return self._send("create", (key, namespace, ""), obj, derived=derived)

    def create_like(self, key: Key, created: Object) -> Object | None:
        """Create an object like one that was created in the same turn of the loop, under another generated name.

        What was found about that one holds for this one, except with a quota, an audit log or policies and webhooks:
        then return None.
        """
        store, meta = self.state.store, created["metadata"]
        if self._api.audit is not None or store.count(QUOTAS) or self.may_be_rejected():
            return None
        name = generate(meta["generateName"])
        while store.entry(key, meta["namespace"], name) is not None:
            name = generate(meta["generateName"])
        return store.put(key, {**created, "metadata": {**meta, "name": name, "uid": new_uid()}}).content

    def patch(
        self, key: Key, namespace: str, name: str, patch: Any, *, subresource: str = "", kind: str = "merge"
    ) -> Object:
        """Patch an object (`kind`: merge, json or apply) and return it as stored."""
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

    def delete_from(self, key: Key, namespace: str, name: str) -> None:
        """Delete an object as one of a collection: admission sees no name of the request."""
        self._send("delete", (key, namespace, name), {"propagationPolicy": "Background"}, collects=True)

    def put_status(self, key: Key, stored: Object, status: Object, annotations: Mapping[str, str]) -> None:
        """Store fields of the status of a built-in object, of which None removes one, and annotations.

        Unlike a patch it is neither decoded nor validated: controllers write statuses all the time, and valid ones.
        """
        resource, meta = self._resource(key, "", ""), stored["metadata"]
        merged = {**(stored.get("status") or {}), **status}
        new = {**stored, "status": {field: value for field, value in merged.items() if value not in (None, [])}}
        if annotations:
            new["metadata"] = meta = {**meta, "annotations": {**meta.get("annotations", {}), **annotations}}
        if entries := self._status_entries(resource, stored, new, is_described=bool(annotations)):
            new["metadata"] = {**meta, "managedFields": entries}
        if self._api.audit is None:
            self.state.store.put(key, new)
            return
        path = self._path(resource, *name_of(stored), "status")
        request = HTTPRequest("PATCH", path, self._query, user=self._user, internal=True)
        with self._api.audit.account(request, partial(attributes_of, request)) as account:
            account.code = 200
            self.state.store.put(key, new)

    def _status_entries(self, resource: Resource, old: Object, new: Object, *, is_described: bool) -> list[Object]:
        """Return the managedFields of an object after a write of its status, and annotations if it `is_described`."""
        entries = old["metadata"].get("managedFields", [])
        who = FieldManager(self._manager, "Update", resource.api_version, "status")
        kind, now = managed_type(resource, "status"), timestamp(self.state.clock)
        identity = (who.name, who.operation, who.api_version, who.subresource)
        matching = [each for each in entries if tuple(each.get(field) for field in _IDENTITY) == identity]
        other_entries = [each for each in entries if each not in matching]
        is_shared = any("f:status" in each.get("fieldsV1", {}) for each in other_entries)
        if not entries or is_shared or (is_described and (matching or "annotations" in old["metadata"])):
            return after_update(entries, old, new, who, kind, time=now)
        # No other manager has a field of the status, so that this one has all that it ever changed.
        owned: Object = matching[0]["fieldsV1"] if matching else {}
        before, after = old.get("status") or {}, new["status"]
        changed = {
            field: value
            for field, value in after.items()
            if before.get(field) != value or f"f:{field}" in owned.get("f:status", {})
        }
        described = {"annotations": new["metadata"]["annotations"]} if is_described else {}
        first = first_entries({"metadata": described, "status": changed}, who, kind, time=now)
        return sort([*other_entries, *({**each, "fieldsV1": {**owned, **each["fieldsV1"]}} for each in first)])

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

    def _path(self, resource: Resource, namespace: str, name: str, subresource: str) -> str:
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        segments = (root, *(("namespaces", namespace) if namespace else ()), resource.plural, name, subresource)
        return "/".join(filter(None, segments))

    def _send(
        self,
        verb: str,
        target: tuple[Key, str, str],
        body: Any,
        *,
        subresource: str = "",
        content_type: str = "application/json",
        derived: bool = False,
        collects: bool = False,
    ) -> Object:
        _, namespace, name = target
        if self._reviews and (failure := self._review_of(verb, target, subresource, body)) is not None:
            raise failure
        resource = self._resource(*target)
        is_value = verb != "delete" and subresource in ("", "status") and content_type != APPLY_PATCH
        request = HTTPRequest(
            _METHODS[verb],
            self._path(resource, namespace, name, subresource),
            Query() if verb == "delete" else self._query,
            {"content-type": content_type},
            b"" if is_value else msgspec.json.encode(body),
            user=self._user,
            internal=True,
            webhooks="never" if self.state.start_task is None else "later",
            value=body if is_value else None,
            derived=derived,
            collects=collects,
        )
        route = RequestInfo(resource, namespace, name, subresource, verb)
        try:
            return _written(_completed(self._api.answer(request, route)))
        except CalledLater:
            assert self.state.start_task is not None, "without a loop they are never called"
            key = _review_key(verb, target, subresource, body)
            task = self.state.start_task(self._reviewed(key, replace(request, webhooks="now"), route))
            self._reviews[key] = InReview(task)
            raise InReview from None

    def _review_of(self, *write: Any) -> ApiFailure | None:
        """Return how a write was rejected, once, or that it is still in review."""
        key = _review_key(*write)
        failure = self._reviews.get(key)
        if failure is not None and not isinstance(failure, InReview):
            del self._reviews[key]
        return failure

    async def _reviewed(self, key: tuple[Any, ...], request: HTTPRequest, route: RequestInfo) -> None:
        """Write with calls of webhooks, and keep a rejection for the controller."""
        try:
            _written(await self._api.answer(request, route))
        except ApiFailure as failure:
            self._reviews[key] = failure
        else:
            self._reviews.pop(key, None)


def _review_key(verb: str, target: tuple[Key, str, str], subresource: str, body: Any) -> tuple[Any, ...]:
    return verb, target, subresource, msgspec.json.encode(body)


def _written(response: Answer) -> Object:
    """Return the object of a response (4xx, 5xx)."""
    assert isinstance(response, HTTPResponse), "writes have complete responses"
    if response.content is not None:
        stored: Object = response.content
        return stored
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
