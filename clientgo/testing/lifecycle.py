"""What a server does to written objects besides keeping them: status has a door of its own, deletion two steps.

A tracker made with `lifecycle=True` does so. These are its rules, as pure functions of objects.
"""

from datetime import UTC, datetime
from typing import Any

from clientgo.errors import Invalid

Object = dict[str, Any]

_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")


def created(obj: Object, *, has_status: bool) -> Object:
    """A new object: it is not being deleted, and its status is nobody's yet where that is a subresource."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _DELETION}
    return {key: value for key, value in {**obj, "metadata": meta}.items() if not (has_status and key == "status")}


def by_door(old: Object, new: Object, subresource: str) -> Object:
    """What a write of a kind with a status subresource changes: the status, or all but the status."""
    if subresource != "status":
        rest = {key: value for key, value in new.items() if key != "status"}
        return {**rest, "status": old["status"]} if "status" in old else rest
    meta = dict(old["metadata"])
    # Which version was meant counts at either door.
    if version := new["metadata"].get("resourceVersion"):
        meta["resourceVersion"] = version
    return {**old, "metadata": meta, "status": new.get("status", {})}


def is_marked(obj: Object) -> bool:
    """Whether the object is being deleted."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_held(obj: Object) -> bool:
    """Whether a finalizer keeps the object from being gone."""
    return bool(obj["metadata"].get("finalizers"))


def marked(obj: Object, at: float) -> Object:
    """The object from the moment (seconds since the epoch) that its deletion was asked for."""
    when = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": when, "deletionGracePeriodSeconds": 0}}


def with_mark_of(old: Object, new: Object) -> Object:
    """`new`, being deleted if and only if `old` is: no write begins a deletion, and none takes one back.

    Raises:
        Invalid: it is being deleted, and `new` has finalizers that `old` has not.
    """
    meta = {key: value for key, value in new["metadata"].items() if key not in _DELETION}
    meta |= {key: old["metadata"][key] for key in _DELETION if key in old["metadata"]}
    added = set(meta.get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
    if is_marked(old) and added:
        name = old["metadata"].get("name", "")
        why = "no new finalizers can be added if the object is being deleted"
        raise Invalid(f'{new.get("kind", "")} "{name}" is invalid: metadata.finalizers: Forbidden: {why}')
    return {**new, "metadata": meta}
