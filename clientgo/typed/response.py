"""Responses to the requests of all clients: one place sends a request, checks the body and decodes it.

Besides the errors of the requester, the functions raise `ApiError` for a failure Status with the HTTP status 200, and
`InvalidResponse` for anything else than what was requested.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from clientgo.errors import ClientGoError
from clientgo.internal.collector import without_collection
from clientgo.meta.codec import Codec, ObjectList, Undecodable, UnexpectedObject, encode_value, identity
from clientgo.meta.listparts import list_parts
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.shallow_json import raw_list
from clientgo.meta.typemeta import (
    AcceptedKinds,
    TypeMeta,
    accepted_kinds,
    check_response,
    invalid_response,
    is_accepted,
    type_meta,
)
from clientgo.rest.request import Request, Requester, open_stream, server_of

T = TypeVar("T")
R = TypeVar("R")

_PARTIAL = "PartialObjectMetadata"

_CODECS = 1024

_NAMED = frozenset(("", "status", "scale"))
"""Subresources whose objects have the name of their resource; those of others may have none."""


@lru_cache(_CODECS)
def kinds_of(codec: Codec[Any], *, suffix: str = "", accept: str = "", success: bool = False) -> AcceptedKinds:
    """Return the kinds of an object, or of a list with the suffix "List"; `accept` is the requested media type.

    With `success`, a Status Success is accepted too. Of a resource whose kind is unknown, any kind in its group is.
    """
    api = codec.api
    kinds = [TypeMeta("meta.k8s.io", f"{_PARTIAL}{suffix}")] if f"as={_PARTIAL}" in accept else []
    groups, text = frozenset((api.group,)), f"{'a list' if suffix else 'an object'} of the resource {api.plural}"
    if api.kind not in ("", _PARTIAL):
        # The deleted objects are not read, and a CRD may name its list otherwise than a client knows.
        groups = groups if suffix and success else frozenset()
        kinds.insert(0, TypeMeta(api.group, f"{api.kind}{suffix}"))
        if suffix and api.list_kind:
            kinds.insert(0, TypeMeta(api.group, api.list_kind))
        text = ""
    accepted = accepted_kinds(*kinds, success=success)
    return replace(accepted, text=text or accepted.text, groups=groups, any_group=bool(groups) and not api.version)


def fetch_object(
    requester: Requester, request: Request, codec: Codec[T], *, name: str | None = None, sent: T | None = None
) -> T:
    """Return the object that answers a request.

    If the request has no name, the object must have this one; any, if it is empty. A subresource without an object to
    return may answer with a Status Success, for the object that was `sent`.

    Raises:
        Undecodable: the object is of the kind, and does not fit its class.
    """
    return fetch_with_json(requester, request, codec, name=name, sent=sent)[0]


def fetch_with_json(
    requester: Requester, request: Request, codec: Codec[T], *, name: str | None = None, sent: T | None = None
) -> tuple[T, bytes]:
    """Return the object that answers a request, and its JSON; the arguments and errors are those of `fetch_object`."""
    accepted = kinds_of(codec, accept=request.accept, success=sent is not None)

    def decode(body: bytes, server: str) -> tuple[T, bytes]:
        if check_response(body, accepted, server) and sent is not None:
            return sent, body
        obj = codec.decode(body)
        _check_name(getattr(obj, "metadata", None), request.name or name, request, accepted, server)
        return obj, body

    return _fetch(requester, request, decode)


def fetch_list(requester: Requester, request: Request, codec: Codec[T]) -> ObjectList[T]:
    """Return the list that answers a request; items of another kind, or without a name, are in its `undecodable`."""
    return _fetch(requester, request, _ListDecoder(request, codec).decode)


def fetch_list_parts(requester: Requester, request: Request, codec: Codec[T]) -> Iterator[ObjectList[T]]:
    """Yield the list that answers a request in parts, as they arrive; the last one has the list's metadata."""
    decoder, server = _ListDecoder(request, codec), server_of(requester)
    stream = open_stream(requester, request)
    try:
        for part in list_parts(stream):
            yield decoder.decode(part.body, server, is_last=part.is_last)
    except ClientGoError as error:
        error.request = f"{request.method} {request.path}"
        raise
    finally:
        stream.close()


class _ListDecoder(Generic[T]):
    """Decoder of one list, whole or in parts."""

    def __init__(self, request: Request, codec: Codec[T]) -> None:
        self._accepted = kinds_of(codec, suffix="List", accept=request.accept)
        self._of_items = kinds_of(codec, accept=request.accept)
        self._codec = codec
        self._needs_names = not request.subresource
        self._has_objects = False
        self._rejected: Undecodable | None = None

    @without_collection()
    def decode(self, body: bytes, server: str, *, is_last: bool = True) -> ObjectList[T]:
        """Return the objects; only the last part shows the list's kind, and whether all are of another kind."""
        accepted, kind = self._accepted, self._codec.api.kind
        if is_last:
            check_response(body, accepted, server)
        try:
            body, rejected = _without_other_kinds(body, self._of_items, kind)
            page = self._codec.decode_list(body)
        except Undecodable as error:
            raise invalid_response(accepted.text, f"an invalid list: {error.cause}", server) from error
        if self._needs_names:
            page, nameless = _without_nameless(page, kind)
            rejected += nameless
        self._has_objects |= bool(page.items or page.undecodable)
        if rejected:
            self._rejected = self._rejected or rejected[0]
            page = replace(page, undecodable=(*page.undecodable, *rejected))
        if is_last and self._rejected is not None and not self._has_objects:
            raise invalid_response(accepted.text, f"a list of which {self._rejected.cause}", server)
        return page


def fetch_success(requester: Requester, request: Request, accepted: AcceptedKinds) -> None:
    """Send a request without a result: the response must be a Status Success or of another accepted kind."""

    def check(body: bytes, server: str) -> None:
        if not check_response(body, accepted, server) and request.name:
            _check_name(identity(body), request.name, request, accepted, server)

    _fetch(requester, request, check)


def _fetch(requester: Requester, request: Request, decode: Callable[[bytes, str], R]) -> R:
    body = requester.do(request)
    try:
        return decode(body, server_of(requester))
    except ClientGoError as error:
        error.request = f"{request.method} {request.path}"
        raise


def _check_name(meta: Any, name: str | None, request: Request, accepted: AcceptedKinds, server: str) -> None:
    """Raise `InvalidResponse` unless the object has this name and is in the namespace; None requires no name."""
    if not isinstance(meta, ObjectMeta):
        return  # the result of a subresource, which has its own fields
    if name is None or (not meta.name and request.subresource not in _NAMED):
        return
    if not meta.name or (name and meta.name != name):
        raise invalid_response(
            f"{accepted.text} {f'named {name!r}' if name else 'with a name'}",
            f"one named {meta.name!r}" if meta.name else "one without a name",
            server,
        )
    if request.namespace and meta.namespace not in ("", request.namespace):
        raise invalid_response(
            f"{accepted.text} in the namespace {request.namespace!r}", f"one in {meta.namespace!r}", server
        )


class _ItemHead(msgspec.Struct, gc=False):
    api_version: str | None = msgspec.field(default=None, name="apiVersion")
    kind: str | None = None


class _Heads(msgspec.Struct, gc=False):
    items: list[_ItemHead] | msgspec.UnsetType | None = msgspec.UNSET


_HEADS = msgspec.json.Decoder(_Heads)


def _without_other_kinds(body: bytes, accepted: AcceptedKinds, kind: str) -> tuple[bytes, list[Undecodable]]:
    """Return the list without its items of other kinds, and the errors for these.

    Raises:
        Undecodable: it has no items, although its kind does not show that it is a list.
    """
    try:
        heads = _HEADS.decode(body).items
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # an item is not an object, or nested too deep: each one is examined
    else:
        if heads is msgspec.UNSET and accepted.groups:
            raise Undecodable(kind, ObjectMeta(), "it has no items")
        # Items of built-in kinds have no kind, those of custom resources have one.
        pairs = {(head.api_version, head.kind) for head in heads or ()}
        if all(not name or is_accepted(_type_of(version, name), accepted) for version, name in pairs):
            return body, []
    return _examined(body, accepted, kind)


def _type_of(api_version: str | None, kind: str) -> TypeMeta:
    return TypeMeta(api_version.rpartition("/")[0] if api_version else None, kind)


def _examined(body: bytes, accepted: AcceptedKinds, kind: str) -> tuple[bytes, list[Undecodable]]:
    try:
        page = raw_list(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body, []  # not a list, which its decoder reports
    items: list[msgspec.Raw] = []
    rejected: list[Undecodable] = []
    for item in page.items or ():
        received = type_meta(item)
        if received is None or not received.kind or is_accepted(received, accepted):
            items.append(item)
        else:
            rejected.append(UnexpectedObject(kind, identity(item), f"an item is of the kind {received}"))
    if not rejected:
        return body, []
    head = {"apiVersion": page.api_version, "kind": page.kind, "metadata": page.metadata}
    return encode_value({**head, "items": items}), rejected


def _without_nameless(page: ObjectList[Any], kind: str) -> tuple[ObjectList[Any], list[Undecodable]]:
    nameless = [obj for obj in page.items if not obj.metadata.name]
    if not nameless:
        return page, []
    errors: list[Undecodable] = [UnexpectedObject(kind, obj.metadata, "an item has no name") for obj in nameless]
    return replace(page, items=[obj for obj in page.items if obj.metadata.name]), errors
