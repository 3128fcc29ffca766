"""Handlers of the verbs: from a routed request to its response."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from clientgo.apiserver.auth import serviceaccounts
from clientgo.apiserver.handlers import reviews
from clientgo.apiserver.handlers.creation import create
from clientgo.apiserver.handlers.deletion import delete, delete_collection, read_delete_options
from clientgo.apiserver.handlers.patching import patch
from clientgo.apiserver.handlers.reading import get, list_objects, raw_of, render
from clientgo.apiserver.handlers.scale import read_scale, write_scale
from clientgo.apiserver.handlers.updating import update
from clientgo.apiserver.handlers.watching import ConvertingWatch, WatchServer
from clientgo.apiserver.handlers.writes import Write, read_options, report_duplicates
from clientgo.apiserver.http.decode import read_body, read_object
from clientgo.apiserver.http.messages import Form, HTTPRequest, HTTPResponse, Stream, json_response, negotiate
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.registry.views import from_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import SelectionPredicate, select

_TOKEN_VERSION = "authentication.k8s.io/v1"  # nosec B105  # an API group, no password
_REVIEW_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")


class RequestInfo(NamedTuple):
    """Verb and target of a request."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    verb: str


def _form(request: HTTPRequest) -> Form:
    return negotiate(request.headers.get("accept", ""))


def _write(request: HTTPRequest, route: RequestInfo, options: str) -> Write:
    dry_run, manager, validation = read_options(request, options)
    return Write(
        resource=route.resource,
        namespace=route.namespace,
        name=route.name,
        subresource=route.subresource,
        manager=manager,
        dry_run=dry_run,
        validation=validation,
        force=request.query.flag("force"),
        warnings=request.warnings,
        user=request.user,
        internal=request.internal,
        kept=request.kept,
        missing=() if request.query.get("fieldManager") else ("fieldManager",),
    )


def _one(route: RequestInfo, request: HTTPRequest, obj: Object, status: int) -> HTTPResponse:
    include = request.query.get("includeObject") or "Metadata"
    return json_response(render(route.resource, obj, _form(request), include), status)


def _written(state: State, route: RequestInfo, request: HTTPRequest, obj: Object, status: int) -> HTTPResponse:
    """Return the response to a write. The object is usually the stored one, which is encoded already."""
    if _form(request).plain:
        meta = obj["metadata"]
        entry = state.store.entry(route.resource.storage, meta.get("namespace", ""), meta["name"])
        if entry is not None and entry.object is obj:
            return HTTPResponse(status, entry.raw)
    return _one(route, request, obj, status)


def _get(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    if route.subresource == "scale":
        return json_response(read_scale(state, route.resource, route.namespace, route.name))
    entry = get(state, route.resource, route.namespace, route.name)
    if _form(request).plain:
        return HTTPResponse(200, raw_of(route.resource, entry))
    return _one(route, request, from_storage(route.resource, entry.object), 200)


def _list(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    selection = _selection(route, request)
    place = (route.resource, route.namespace)
    return list_objects(state, place, request.query, selection, _form(request))


def _watch(state: State, route: RequestInfo, request: HTTPRequest) -> Stream:
    selection = _selection(route, request)
    kind = WatchServer if route.resource.converter is None else ConvertingWatch
    return kind(
        state, route.resource, namespace=route.namespace, query=request.query, selection=selection, form=_form(request)
    )


def _selection(route: RequestInfo, request: HTTPRequest) -> SelectionPredicate:
    fields = request.query.get("fieldSelector", "")
    if route.name:
        # The legacy way to watch one object: its name in the path.
        fields = f"metadata.name={route.name}" + (f",{fields}" if fields else "")
    return select(route.resource, request.query.get("labelSelector", ""), fields)


def _create(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = _write(request, route, "CreateOptions")
    content_type = request.headers.get("content-type", "")
    if route.subresource == "token":
        account = get(state, route.resource, route.namespace, route.name).object
        asked = read_body(request.body, content_type, "TokenRequest", _TOKEN_VERSION) if request.body.strip() else {}
        return json_response(serviceaccounts.request_token(state, route.namespace, account, asked), 201)
    obj = read_object(request.body, content_type, route.resource)
    if route.resource.group in _REVIEW_GROUPS:
        answer = reviews.review(state, route.resource.kind, obj, request.user, route.namespace)
        return json_response(answer, 201)
    _check_duplicates(write, request)
    return _written(state, route, request, _settled(state, route, create(state, write, obj)), 201)


def _update(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = _write(request, route, "UpdateOptions")
    content_type = request.headers.get("content-type", "")
    if route.subresource == "scale":
        return json_response(write_scale(state, write, request.body, content_type, patch=False))
    obj = read_object(request.body, content_type, route.resource)
    _check_duplicates(write, request)
    updated, created = update(state, write, obj)
    return _written(state, route, request, _settled(state, route, updated), 201 if created else 200)


def _patch(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = _write(request, route, "PatchOptions")
    content_type = request.headers.get("content-type", "")
    if route.subresource == "scale":
        return json_response(write_scale(state, write, request.body, content_type, patch=True))
    patched, created = patch(state, write, request.body, content_type)
    return _written(state, route, request, _settled(state, route, patched), 201 if created else 200)


def _settled(state: State, route: RequestInfo, written: Object) -> Object:
    """Return the written object after the simulated cluster has reacted to it.

    A real cluster reacts later. Here it may react at once (see `controllers.deployments`), so that the client sees the
    result.
    """
    if not state.settle():
        return written
    meta = written["metadata"]
    entry = state.store.entry(route.resource.storage, meta.get("namespace", ""), meta["name"])
    if entry is None or entry.object["metadata"]["uid"] != meta.get("uid"):
        return written
    return from_storage(route.resource, entry.object)


def _check_duplicates(write: Write, request: HTTPRequest) -> None:
    # Only requests with fieldValidation pay for the slower parsing.
    if "fieldValidation" in request.query:
        report_duplicates(write, request.body)


def _delete(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    options = read_delete_options(request)
    write = _write(request, route, "DeleteOptions")
    answer, status = delete(state, write, options)
    return json_response(answer, status) if answer["kind"] == "Status" else _one(route, request, answer, status)


def _deletecollection(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    options = read_delete_options(request)
    write = _write(request, route, "DeleteOptions")
    deleted = delete_collection(state, write, _selection(route, request), options)
    meta: Object = {"resourceVersion": str(state.store.revision)}
    resource = route.resource
    head = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta}
    return HTTPResponse(200, msgspec.json.encode({**head, "items": deleted}))


VERBS: dict[str, Callable[[State, RequestInfo, HTTPRequest], HTTPResponse | Stream]] = {
    "get": _get,
    "list": _list,
    "watch": _watch,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _deletecollection,
}
