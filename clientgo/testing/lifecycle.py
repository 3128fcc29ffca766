"""Object lifecycle of a tracker with `lifecycle=True`, as pure functions: status, generation, finalizers."""

from datetime import UTC, datetime
from typing import Any

from clientgo.errors import Invalid
from clientgo.meta.jsonvalues import same

Object = dict[str, Any]

_SYSTEM = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation")
"""Fields that the server sets."""


def created(obj: Object, at: float, *, has_status: bool) -> Object:
    """Return a new object with the fields that the server sets, and without status if that is a subresource."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _SYSTEM or key == "generation"}
    meta["creationTimestamp"] = _timestamp(at)
    if has_status:
        meta["generation"] = 1  # otherwise nothing counts it
    return {key: value for key, value in {**obj, "metadata": meta}.items() if not (has_status and key == "status")}


def apply_subresource_rules(old: Object, new: Object, subresource: str) -> Object:
    """Return what a write changes: only the status through its subresource, otherwise all but the status."""
    if subresource != "status":
        without_status = {key: value for key, value in new.items() if key != "status"}
        return {**without_status, "status": old["status"]} if "status" in old else without_status
    meta = dict(old["metadata"])
    # The resourceVersion is a precondition in both cases.
    if version := new["metadata"].get("resourceVersion"):
        meta["resourceVersion"] = version
    return {**old, "metadata": meta, "status": new.get("status", {})}


def is_deleting(obj: Object) -> bool:
    """Return whether the object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def has_finalizers(obj: Object) -> bool:
    """Return whether finalizers delay the object's deletion."""
    return bool(obj["metadata"].get("finalizers"))


def mark_deleted(obj: Object, at: float) -> Object:
    """Return the object with its deletion requested at that time (seconds since the epoch)."""
    meta = {**obj["metadata"], "deletionTimestamp": _timestamp(at), "deletionGracePeriodSeconds": 0}
    if meta.get("generation"):
        meta["generation"] += 1
    return {**obj, "metadata": meta}


def updated(old: Object, new: Object, *, has_status: bool) -> Object:
    """Return `new` with the fields that the server sets: an update neither starts nor cancels a deletion.

    The generation is incremented if something besides metadata and status changes.

    Raises:
        Invalid: `old` is being deleted, and `new` adds finalizers; or `new` has another deletionTimestamp.
    """
    deletion = new["metadata"].get("deletionTimestamp")
    if deletion and deletion != old["metadata"].get("deletionTimestamp"):
        raise _invalid(new, "metadata.deletionTimestamp", "field is immutable")
    meta = {key: value for key, value in new["metadata"].items() if key not in _SYSTEM}
    meta |= {key: old["metadata"][key] for key in _SYSTEM if key in old["metadata"]}
    if has_status and not same(_desired(old), _desired(new)):
        meta["generation"] = old["metadata"].get("generation", 0) + 1
    added = set(meta.get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
    if is_deleting(old) and added:
        raise _invalid(
            new, "metadata.finalizers", "Forbidden: no new finalizers can be added if the object is being deleted"
        )
    return {**new, "metadata": meta}


def _invalid(obj: Object, field: str, message: str) -> Invalid:
    return Invalid(f'{obj.get("kind", "")} "{obj["metadata"].get("name", "")}" is invalid: {field}: {message}')


def _desired(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
