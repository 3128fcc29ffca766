"""GET of one object and of lists: forms, pages, and the revision that is shown."""

import base64
import binascii
from itertools import islice

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, expired, not_found
from clientgo_apiserver.handlers import tables
from clientgo_apiserver.http.gojson import explain
from clientgo_apiserver.http.messages import Form, HTTPRequest, HTTPResponse, Query
from clientgo_apiserver.http.options import read_number, read_version
from clientgo_apiserver.http.steps import run_step
from clientgo_apiserver.registry.views import served
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.selection import SelectionPredicate
from clientgo_apiserver.storage.stored import Entry, ExpiredRevision, FutureRevision, Name, Window

_encode = msgspec.json.Encoder().encode
_TOKEN_VERSION = "meta.k8s.io/v1"  # the format's name  # nosec B105
_MAX_LIMIT = (1 << 62) - 1
_LIST_ITEM = 256  # bytes that a list reads of each object
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


def get(state: State, resource: Resource, namespace: str, name: str, version: str = "") -> Entry:
    """Return the stored object, at least as new as this version (404, 500, 504)."""
    if version and read_version(version, code=500) > state.store.revision:
        raise _too_large(int(version), state.store.revision)
    entry = state.store.entry(resource.storage, namespace, name)
    if entry is None:
        raise not_found(resource, name)
    return entry


def render(resource: Resource, obj: Object, form: Form, include: str = "Metadata") -> Object:
    """Return one object in the requested form (406)."""
    if form.kind == "PartialObjectMetadataList":
        raise _not_as(resource, form, resource.kind, "not a list")
    if form.kind == "Table":
        meta = {"resourceVersion": version} if (version := obj["metadata"].get("resourceVersion")) else {}
        return _versioned(tables.render(resource, [obj], list_meta=meta, include=include), form)
    if form.kind == "PartialObjectMetadata":
        return _versioned(tables.partial_metadata(obj), form)
    return obj


class Page(msgspec.Struct, frozen=True):
    """A part of a list at a revision: `at` is 0 for the present."""

    limit: int
    at: int
    after: Name | None
    inconsistent: bool = False


async def list_objects(
    state: State, target: tuple[Resource, str], request: HTTPRequest, selection: SelectionPredicate, form: Form
) -> HTTPResponse:
    """Answer a list request (410, 504)."""
    entries, meta = select_page(state, target, read_page(state, request.query), selection)
    return await list_response(request, target[0], await served(target[0], entries), meta, form)


def select_page(
    state: State, target: tuple[Resource, str], page: Page, selection: SelectionPredicate
) -> tuple[list[Entry], Object]:
    """Return the stored objects of a page, and the metadata of their list (410, 504)."""
    resource, namespace = target
    window = _window(state, resource, namespace, page)
    is_selected = selection.test()
    members = iter(window)
    matching = members if selection.everything else (entry for entry in members if is_selected(entry.object))
    entries = [*islice(matching, page.limit or None)]
    revision = page.at or state.store.revision
    meta: Object = {"continue": ""} if resource.custom else {}
    meta["resourceVersion"] = str(revision)
    # As on a real server, what follows need not match; nothing follows a single name.
    if next(members, None) is not None and not (namespace and selection.name):
        last = entries[-1].object["metadata"]
        meta["continue"] = encode_continue(revision, (last.get("namespace", ""), last["name"]))
        if selection.everything:
            meta["remainingItemCount"] = len(window) - len(entries)
    return entries, meta


def read_page(state: State, query: Query, *, least: int = 0) -> Page:
    """Parse the options of a paged list; without a limit it has `least` (400)."""
    limit = min(max(read_number(query, "limit"), 0) or least, _MAX_LIMIT)
    version, match = query.get("resourceVersion") or "", query.get("resourceVersionMatch") or ""
    if version == "0" and match != "Exact":
        limit = 0  # as from the watch cache of a real server, which ignores it
    token = query.get("continue")
    if token:
        at, after = decode_continue(token)
        if version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return Page(limit, max(at, 0), after, inconsistent=at < 0)
    revision = read_version(version, prefix="invalid resource version: ")
    if revision > state.store.revision:
        raise _too_large(revision, state.store.revision)
    exact = match == "Exact" or (limit > 0 and revision > 0 and not match)
    return Page(limit, revision if exact else 0, None)


def _window(state: State, resource: Resource, namespace: str, page: Page) -> Window:
    try:
        return state.store.window(resource.storage, namespace, after=page.after, at=page.at)
    except FutureRevision as error:
        raise _too_large(page.at, state.store.revision) from error
    except ExpiredRevision as error:
        if page.after is None:
            raise expired(f"The resourceVersion for the provided list is too old: {page.at}") from error
        raise expired(_TOO_OLD, {"continue": encode_continue(-1, page.after)}) from error


async def list_response(
    request: HTTPRequest, resource: Resource, entries: list[Entry], meta: Object, form: Form
) -> HTTPResponse:
    """Return a list of these objects, as the resource shows them, in the requested form (406)."""
    include, size = request.query.get("includeObject") or "Metadata", len(entries) * _LIST_ITEM
    return await run_step(request, size, _list_response, resource, entries, meta, form, include)


def _list_response(resource: Resource, entries: list[Entry], meta: Object, form: Form, include: str) -> HTTPResponse:
    if form.kind == "PartialObjectMetadata":
        raise _not_as(resource, form, resource.list_kind, "a list")
    if form.kind:
        objects = [entry.object for entry in entries]
        plain = {field: value for field, value in meta.items() if value != ""}
        if form.kind == "Table":
            listed = tables.render(resource, objects, list_meta=plain, include=include)
        else:
            listed = tables.partial_metadata_list(objects, plain)
        return HTTPResponse(200, _encode(_versioned(listed, form)))
    items = [entry.raw for entry in entries]
    if resource.custom:
        end: Object = {"kind": resource.list_kind, "metadata": meta}
        return HTTPResponse(200, _list_of({"apiVersion": resource.api_version}, items, end))
    # On a real server items of typed lists have no kind and apiVersion.
    head = _encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","
    items = [b"{" + item[len(head) :] if item.startswith(head) else item for item in items]
    start = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta}
    return HTTPResponse(200, _list_of(start, items, {}))


def _list_of(start: Object, items: list[bytes], end: Object) -> bytes:
    tail = b"," + _encode(end)[1:] if end else b"}"
    head, tail = _encode(start)[:-1] + b',"items":[', b"]" + tail + b"\n"
    if not items:
        return head + tail
    # One join: a copy of all objects costs more than all else.
    return b",".join([head + items[0], *items[1:-1], items[-1] + tail] if len(items) > 1 else [head + items[0] + tail])


def _not_as(resource: Resource, form: Form, kind: str, description: str) -> ApiFailure:
    custom = "unstructured.UnstructuredList" if description == "a list" else "unstructured.Unstructured"
    go_type = custom if resource.custom else f"{resource.package}.{kind}"
    return ApiFailure(
        406, "NotAcceptable", f"you requested {form.kind}, but the requested object is {description} (*{go_type})"
    )


def _versioned(value: Object, form: Form) -> Object:
    if form.version == "v1":
        return value
    api_version = f"meta.k8s.io/{form.version}"
    for row in value.get("rows", ()):
        if row.get("object", {}).get("kind") == "PartialObjectMetadata":
            row["object"] = {**row["object"], "apiVersion": api_version}
    for item in value.get("items", ()):
        item["apiVersion"] = api_version
    return {**value, "apiVersion": api_version}


_INVALID_TOKEN = (binascii.Error, msgspec.DecodeError, RecursionError, ValueError)
_TOKEN_TEXT = lazy_pattern("[A-Za-z0-9_-]*")
_INCORRECT_REVISION = f"incorrect encoded start resourceVersion (version {_TOKEN_VERSION})"
_EMPTY_START = f"encoded start key empty (version {_TOKEN_VERSION})"


class _Token(msgspec.Struct):
    """A decoded continue token."""

    v: str = ""
    rv: msgspec.Raw = msgspec.Raw(b"0")
    start: str = ""


def encode_continue(revision: int, after: Name) -> str:
    """Return the continue token of a page that ends with `after` (kube-apiserver: EncodeContinue)."""
    start = f"{after[0]}/{after[1]}" if after[0] else after[1]
    raw = _encode({"v": _TOKEN_VERSION, "rv": revision, "start": start + "\u0000"})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode_continue(token: str) -> tuple[int, Name]:
    """Return the revision and the last name of a continue token (kube-apiserver: DecodeContinue); 400 if invalid.

    A negative revision continues in the present, as the token of an expired list does.
    """
    try:
        valid = _TOKEN_TEXT.match(token)
        end = valid.end() if valid is not None else 0
        if end < len(token) or end % 4 == 1:
            raise ValueError(f"illegal base64 data at input byte {end if end < len(token) else end - 1}")
        content = _read_token(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        if content.v != _TOKEN_VERSION:
            raise ValueError(f"server does not recognize this encoded version {content.v}")
        revision = int(bytes(content.rv))  # unlike msgspec, without floats such as 2.0
        if revision == 0 or not -(1 << 63) <= revision < 1 << 63:
            raise ValueError(_INCORRECT_REVISION)
        if not content.start:
            raise ValueError(_EMPTY_START)
        start = content.start.removeprefix("/")
        if start and not {"", ".", ".."}.isdisjoint(start.split("/")):
            raise ValueError(content.start)
    except _INVALID_TOKEN as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    namespace, _, name = start.rstrip("\u0000").rpartition("/")
    return revision, (namespace, name)


def _read_token(text: bytes) -> _Token:
    try:
        return msgspec.json.decode(text, type=_Token)
    except msgspec.DecodeError as error:
        raise ValueError(explain(text.decode("latin-1")) or str(error)) from error


def _too_large(requested: int, current: int) -> ApiFailure:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    return ApiFailure(504, "Timeout", message, details=details, headers=(("Retry-After", "1"),))
