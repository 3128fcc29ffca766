"""Checks on objects received from the server.

A server, or a proxy in front of it, may answer with something else than was requested: a table for printing, another
kind, an object without a name. Such an object is skipped and reported; it must not end a watch or empty a cache.

A server that was restored from a backup, or replaced, may have reached the versions of before, and accepts them. It is
detected by one object that differs from the cached one.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from clientgo.meta.codec import ObjectList, UnexpectedObject
from clientgo.meta.listitems import is_table
from clientgo.meta.listwatch import at_least
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject, GroupVersionKind, ObjectMeta
from clientgo.meta.scheme import ApiType

T = TypeVar("T", bound=ApiObject)

RejectReason = Callable[[Any], str]
"""Returns the reason why an object cannot be cached; empty if it can."""

LastMetadata = Callable[[ObjectName], ObjectMeta | None]
"""Returns the metadata of an object as last received, including objects that could not be decoded."""


def describe(kind: type) -> str:
    """Return the name of a class for logs; for a class of any kind, the kind it was made for."""
    note = vars(kind).get("__api_type__")
    if not hasattr(kind, "gvk"):
        return kind.__name__
    return str(note.gvk) if isinstance(note, ApiType) and note.kind else "<unspecified>"


def type_check_for(kind: type) -> RejectReason:
    """Return the check for objects of a class."""
    if hasattr(kind, "gvk"):
        return _check_for_any_kind(kind)

    def reject_reason(obj: Any) -> str:
        # The class is compared first, which is faster than isinstance and nearly always sufficient.
        has_type = obj.__class__ is kind or isinstance(obj, kind)
        if not has_type:
            return f"expected a {kind.__name__}, got a {type(obj).__name__}"
        return _reason_of_name(obj)

    return reject_reason


def _reason_of_name(obj: Any) -> str:
    meta = obj.metadata
    if meta.__class__ is not ObjectMeta and not isinstance(meta, ObjectMeta):
        return "it has no metadata"
    if meta.name and meta.name.__class__ is str:
        return ""
    return f"it has no name (uid {meta.uid})" if meta.uid else "it has no name"


def _check_for_any_kind(kind: type) -> RejectReason:
    note = vars(kind).get("__api_type__")
    expected = note.gvk if isinstance(note, ApiType) and note.kind else None

    def reject_reason(obj: Any) -> str:
        declared = getattr(obj, "gvk", None)
        if not isinstance(declared, GroupVersionKind):
            return f"expected an object of any kind, got a {type(obj).__name__}"
        if is_table(declared.api_version, declared.kind):
            return f"the server sent a table ({declared})"
        if expected is not None and declared != expected:
            return f"expected {expected}, got {declared}"
        return _reason_of_name(obj)

    return reject_reason


def unexpected(kind: type, obj: Any, reason: str) -> UnexpectedObject:
    """Return the error of an object that is not what was requested."""
    meta = getattr(obj, "metadata", None)
    return UnexpectedObject(describe(kind), meta if isinstance(meta, ObjectMeta) else ObjectMeta(), reason)


def without_unexpected(page: ObjectList[T], kind: type[T], reject_reason: RejectReason) -> ObjectList[T]:
    """Return a page of a list with the objects that can be cached; errors for the others are in `undecodable`."""
    reasons = [reject_reason(obj) for obj in page.items]
    if not any(reasons):
        return page
    pairs = list(zip(page.items, reasons, strict=True))
    errors = [unexpected(kind, obj, reason) for obj, reason in pairs if reason]
    items = [obj for obj, reason in pairs if not reason]
    return replace(page, items=items, undecodable=(*page.undecodable, *errors))


def replaced_server(page: ObjectList[T], seen: str, last_metadata: LastMetadata, *, all_cached: bool = True) -> str:
    """Return why this page comes from another server than the one watched up to version `seen`; empty if it does not.

    Only the first object is examined. An object created or changed after `seen` proves nothing, except with another
    uid: a list is the safe way to handle both a new server and a new object. Without `all_cached` the cache holds a
    selection only, and a missing object proves nothing either.
    """
    if not page.items:
        return ""
    key, received = object_name(page.items[0]), page.items[0].metadata
    cached = last_metadata(key)
    if cached is not None and cached.uid and received.uid and cached.uid != received.uid:
        return f"the server has {key} with uid {received.uid}, and sent uid {cached.uid} before"
    # A transform may have dropped the version.
    differs = all_cached if cached is None else cached.resource_version not in ("", received.resource_version)
    if differs and at_least(seen, received.resource_version):
        return f"the server has {key} at resourceVersion {received.resource_version}, which it never sent"
    return ""
