"""Handlers of the verbs: from a routed request to its response."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from clientgo_apiserver.admission.chain import admit_review
from clientgo_apiserver.admission.namespaces import require_namespace
from clientgo_apiserver.api.resources import SCALE, Object, Resource
from clientgo_apiserver.api.status import bad_request, not_acceptable
from clientgo_apiserver.auth import serviceaccounts
from clientgo_apiserver.handlers import podactions, reviews
from clientgo_apiserver.handlers.connect import CONNECTED, connect
from clientgo_apiserver.handlers.reading import get, list_objects, list_response, read_page, render, select_page
from clientgo_apiserver.handlers.scale import read_scale, write_scale
from clientgo_apiserver.handlers.watching import ConvertingWatch, WatchServer
from clientgo_apiserver.http.decode import body_type
from clientgo_apiserver.http.messages import STREAMED, Form, HTTPRequest, HTTPResponse, Stream, json_response, negotiate
from clientgo_apiserver.http.options import check_list_options, read_list_numbers
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF
from clientgo_apiserver.http.steps import run_step
from clientgo_apiserver.http.upgrades import SUBRESOURCES, Upgrade
from clientgo_apiserver.registry.strategies.warnings import ORPHANED_PODS
from clientgo_apiserver.registry.views import served, shown_entry
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import JOBS
from clientgo_apiserver.storage.selection import SelectionPredicate, parse_fields, parse_labels, supported_fields
from clientgo_apiserver.storage.stored import Key, name_of
from clientgo_apiserver.writes.decoding import managed_fields, read_unstored, read_write, with_managed_fields
from clientgo_apiserver.writes.deletion import ParsedDeleteOptions, delete, delete_collection, read_delete_options
from clientgo_apiserver.writes.pipeline import create, patch, put, require_create

_TOKEN = Resource(
    "authentication.k8s.io",
    "v1",
    "tokenrequests",
    "TokenRequest",
    "tokenrequest",
    "",
    namespaced=True,
    verbs=("create",),
)
_DELETION_PAGE = 10_000
"""Objects that a real server deletes from one page of a list."""
_WITHOUT_TABLE = frozenset(("approval", "binding", "ephemeralcontainers", "eviction", "finalize", "resize", "token"))


class RequestInfo(NamedTuple):
    """Verb and target of a request."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    verb: str


def _form(route: RequestInfo, request: HTTPRequest) -> Form:
    """Return the form of the response; subresources and kinds that are not stored have no tables (406)."""
    has_table = route.subresource not in _WITHOUT_TABLE and route.resource.storage not in _NOT_STORED
    return negotiate(request.headers.get("accept", ""), tables=has_table)


def _write(state: State, request: HTTPRequest, route: RequestInfo, options: str) -> Write:
    return read_write(state, request, route.resource, (route.namespace, route.name, route.subresource), options)


async def _one(route: RequestInfo, request: HTTPRequest, obj: Object, status: int) -> HTTPResponse:
    if request.internal:
        return HTTPResponse(status, content=obj)
    include = request.query.get("includeObject") or "Metadata"
    return await run_step(request, 0, _rendered, route.resource, obj, _form(route, request), include, status)


def _rendered(resource: Resource, obj: Object, form: Form, include: str, status: int) -> HTTPResponse:
    return json_response(obj if obj["kind"] == "Status" else render(resource, obj, form, include), status)


async def _written(
    state: State, route: RequestInfo, request: HTTPRequest, obj: Object, *, created: bool
) -> HTTPResponse:
    """Return the response to a write."""
    status, resource = 201 if created else 200, route.resource
    entry = state.store.entry(resource.storage, *name_of(obj))
    if entry is not None and entry.content is obj:
        if _form(route, request).plain:
            return HTTPResponse(status, entry.raw, content=obj)  # it is encoded already
        obj = entry.object
    return await _one(route, request, obj, status)


async def _get(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    if "export" in request.query and request.query.flag("export"):
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    entry = get(state, route.resource, route.namespace, route.name, request.query.get("resourceVersion", ""))
    entry = shown_entry(route.resource, entry)
    if route.resource.converter is not None:
        (entry,) = await served(route.resource, [entry])
    if _form(route, request).plain:
        return HTTPResponse(200, entry.raw)
    return await _one(route, request, entry.object, 200)


async def _list(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    selection = _selection(route, request, watch=False)
    return await list_objects(state, (route.resource, route.namespace), request, selection, _form(route, request))


async def _watch(state: State, route: RequestInfo, request: HTTPRequest) -> Stream:
    selection = _selection(route, request, watch=True)
    if _form(route, request).yaml:
        raise not_acceptable(STREAMED)
    target = (route.resource, route.namespace)
    kind = WatchServer if route.resource.converter is None else ConvertingWatch
    return kind(state, target, request.query, selection, _form(route, request))


def _selection(route: RequestInfo, request: HTTPRequest, *, watch: bool) -> SelectionPredicate:
    """Check the options of a list, watch or deletecollection, and return its selectors (400, 422)."""
    query = request.query
    fields = query.get("fieldSelector", "")
    if route.name:
        # The legacy way to watch one object: its name in the path.
        fields = f"metadata.name={route.name}" + (f",{fields}" if fields else "")
    read_list_numbers(query)
    labels, terms = parse_labels(query.get("labelSelector", "")), parse_fields(fields)
    check_list_options(query, watch=watch)
    return SelectionPredicate(labels, supported_fields(route.resource, terms))


async def _create(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse | Stream | Upgrade:
    handler = _NOT_STORED.get(route.resource.storage)
    if handler is not None:
        return await handler(state, route, request)
    if request.value is None:
        body_type(request.headers.get("content-type", ""))  # before the options
    write = _write(state, request, route, "CreateOptions")
    obj = await run_step(request, 0, write.read)
    return await _written(state, route, request, await create(state, write, obj), created=True)


async def _review(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = _write(state, request, route, "CreateOptions")
    obj = await admit_review(state, write, await run_step(request, 0, _read_review, write))
    kind, namespace = route.resource.kind, route.namespace
    reviewed = await run_step(request, 0, reviews.review, state, kind, obj, request.user, namespace)
    return await _one(route, request, reviewed, 201)


def _read_review(write: Write) -> Object:
    obj = read_unstored(write, write.resource)
    obj["metadata"] = with_managed_fields(obj["metadata"], managed_fields(write, {}, obj))
    return obj


async def _update(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = _write(state, request, route, "UpdateOptions")
    obj = await run_step(request, 0, write.read)
    updated, created = await put(state, write, obj)
    return await _written(state, route, request, updated, created=created)


async def _patch(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    content_type = request.headers.get("content-type", "")
    write = _write(state, request, route, "PatchOptions")
    patched, created = await patch(state, write, request.body, content_type)
    return await _written(state, route, request, patched, created=created)


async def _scale(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    scaled = route._replace(resource=SCALE)
    if route.verb == "get":
        scale = await read_scale(state, route.resource, route.namespace, route.name)
        return await _one(scaled, request, scale, 200)
    patching, content_type = route.verb == "patch", request.headers.get("content-type", "")
    write = _write(state, request, route, "PatchOptions" if patching else "UpdateOptions")
    return await _one(scaled, request, await write_scale(state, write, request.body, content_type, patch=patching), 200)


async def _token(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    write = replace(_write(state, request, route, "CreateOptions"), resource=_TOKEN)
    sent = serviceaccounts.with_expiration(read_unstored(write, _TOKEN))
    require_namespace(state, route.resource, route.namespace, route.name, dry_run=True)
    account = get(state, route.resource, route.namespace, route.name).object
    issued = serviceaccounts.request_token(state, route.namespace, account, sent)
    issued["metadata"] = with_managed_fields(issued["metadata"], managed_fields(write, {}, sent))
    return await _one(route, request, issued, 201)


async def _act(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    act = podactions.evict if route.subresource == "eviction" else podactions.bind
    write = _write(state, request, route, "CreateOptions")
    return await _one(route, request, await act(state, write), 201)


async def _connect(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse | Upgrade:
    if route.verb == "get" and route.subresource in SUBRESOURCES:  # they need permission to create
        require_create(state, _write(state, request, route, "CreateOptions"))
    return connect(state, route.resource, (route.namespace, route.name, route.subresource), request)


async def _delete(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    options = read_delete_options(request)
    write = _write(state, request, route, "DeleteOptions")
    _warn_of_orphans(route, request, options)
    result, is_gone = await delete(state, write, options)
    return await _one(route, request, result, 200 if is_gone or not options.cascades else 202)


def _warn_of_orphans(route: RequestInfo, request: HTTPRequest, options: ParsedDeleteOptions) -> None:
    if route.resource.storage == JOBS and not options.propagation:
        request.warnings.append(ORPHANED_PODS)


async def _deletecollection(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse:
    selection, options = _selection(route, request, watch=False), read_delete_options(request)
    _warn_of_orphans(route, request, options)
    page = read_page(state, request.query, least=_DELETION_PAGE)
    selected, meta = select_page(state, (route.resource, route.namespace), page, selection)
    deleted = await delete_collection(state, _write(state, request, route, "DeleteOptions"), selected, options)
    return await list_response(request, route.resource, deleted, meta, _form(route, request))


def _may_read_protobuf(route: RequestInfo, request: HTTPRequest) -> bool:
    """Return whether a client accepts a form that a real server has and this one has not, for a read.

    Other errors, such as a missing object, come before that of the form.
    """
    return request.method == "GET" and not route.resource.custom and PROTOBUF in request.headers.get("accept", "")


Handler = Callable[[State, RequestInfo, HTTPRequest], Coroutine[Any, Any, HTTPResponse | Stream | Upgrade]]

_NOT_STORED: Mapping[Key, Handler] = {("", "bindings"): _act, **dict.fromkeys(reviews.KEYS, _review)}
"""Handlers of the resources that can only be created."""

_SUBRESOURCES: dict[str, Handler] = {
    "scale": _scale,
    "token": _token,
    "eviction": _act,
    "binding": _act,
    **dict.fromkeys((*CONNECTED, "log"), _connect),
}
_VERBS: dict[str, Handler] = {
    "get": _get,
    "list": _list,
    "watch": _watch,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _deletecollection,
}


async def handle(state: State, route: RequestInfo, request: HTTPRequest) -> HTTPResponse | Stream | Upgrade:
    """Answer a routed request (406 before anything is written)."""
    if "accept" in request.headers and route.subresource not in CONNECTED and not _may_read_protobuf(route, request):
        _form(route, request)
    return await _SUBRESOURCES.get(route.subresource, _VERBS[route.verb])(state, route, request)
