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
from clientgo.meta.codec import Codec, ObjectList, Undecodable, UnexpectedObject, identity
from clientgo.meta.listitems import RawList, list_parts
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.shallow_json import with_whole_characters
from clientgo.meta.typemeta import AcceptedKinds, TypeMeta, accepted_kinds, check_response, invalid_response, other_kind
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
        body = with_whole_characters(body)
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
            yield decoder.decode(part, server)
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
    def decode(self, part: bytes | RawList, server: str) -> ObjectList[T]:
        """Return the objects of a list or its rest (JSON), or of a part before that.

        Only the rest shows the list's kind, and whether all items are of another kind.
        """
        accepted, is_last = self._accepted, isinstance(part, bytes)
        page = self._split(part, server) if isinstance(part, bytes) else part
        page, rejected = self._without_other_kinds(page)
        result = self._codec.decode_items(page)
        if self._needs_names:
            result, nameless = _without_nameless(result, self._codec.api.kind)
            rejected += nameless
        self._has_objects |= bool(result.items or result.undecodable)
        if rejected:
            self._rejected = self._rejected or rejected[0]
            result = replace(result, undecodable=(*result.undecodable, *rejected))
        if is_last and self._rejected is not None and not self._has_objects:
            raise invalid_response(accepted.text, f"a list of which {self._rejected.cause}", server)
        return result

    def _split(self, body: bytes, server: str) -> RawList:
        accepted, body = self._accepted, with_whole_characters(body)
        check_response(body, accepted, server)
        try:
            page = self._codec.split_list(body)
        except Undecodable as error:
            raise invalid_response(accepted.text, f"an invalid list: {error.cause}", server) from error
        if page.items is msgspec.UNSET and accepted.groups:  # its kind does not show that it is a list
            raise invalid_response(accepted.text, "an invalid list: it has no items", server)
        return page

    def _without_other_kinds(self, page: RawList) -> tuple[RawList, list[Undecodable]]:
        """Return the list without its items of other kinds, and the errors for these."""
        items: list[msgspec.Raw] = []
        rejected: list[Undecodable] = []
        for item in page.items or ():
            if (other := other_kind(item, self._of_items)) is None:
                items.append(item)
            else:
                cause = f"an item is of the kind {other}"
                rejected.append(UnexpectedObject(self._codec.api.kind, identity(item), cause))
        return (replace(page, items=items) if rejected else page), rejected


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


def _without_nameless(page: ObjectList[Any], kind: str) -> tuple[ObjectList[Any], list[Undecodable]]:
    nameless = [obj for obj in page.items if not obj.metadata.name]
    if not nameless:
        return page, []
    errors: list[Undecodable] = [UnexpectedObject(kind, obj.metadata, "an item has no name") for obj in nameless]
    return replace(page, items=[obj for obj in page.items if obj.metadata.name]), errors
