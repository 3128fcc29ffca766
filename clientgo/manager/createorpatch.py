"""Create-or-patch and create-or-update: write an object only where it differs from the desired state."""

import json
import threading
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.forks import fork_safe
from clientgo.manager.client import Client
from clientgo.meta.codec import to_dict
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches import mergepatch
from clientgo.meta.patches.difference import difference, for_object
from clientgo.meta.scheme import api_of

T = TypeVar("T", bound=ApiObject)

MAX_WRITTEN = 10_000
"""Maximum number of desired states that are remembered for each client."""

_METADATA = frozenset({"labels", "annotations", "ownerReferences", "finalizers"})

_lock = fork_safe(threading.Lock())
_written: "WeakKeyDictionary[Client, BoundedDict[tuple[str, bytes], bytes]]" = WeakKeyDictionary()
"""Digest of what the server stored for a desired state, by client, and by uid and digest of that state."""


class OperationResult(StrEnum):
    """Effect of a write on an object (controller-runtime's OperationResult)."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updatedStatus"
    UPDATED_STATUS_ONLY = "updatedStatusOnly"


def create_or_patch(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T, OperationResult]:
    """Create the object with the name of `obj`, or patch it to the result of `change`; return it and the outcome.

    `change` receives the current object, or `obj` if there is none, and returns the desired one. A missing object is
    created; otherwise a merge patch of the difference is sent. A status subresource has a patch of its own. Fields that
    `change` leaves alone keep the values that others set. But a merge patch replaces lists as a whole: if an item
    changes, fields of the items that the class does not have are dropped. Nothing is sent if they are equal, or differ
    only in defaults that the server has added, as for `create_or_update`.

    Raises:
        ValueError: `change` returned an object with another name.
        Invalid: another object was created under the name since `change` was called (its uid is immutable).
        ApiError, ConnectionFailed, LeaseNotHeld: a write failed.
    """
    existing, desired = _existing_and_desired(client, obj, change)
    if existing is None:
        stored = client.create(desired)
        _remember(client, desired, stored)
        return _with_status(client, stored, desired), OperationResult.CREATED
    patch, status = difference(existing, desired)
    done = existing
    if patch and _is_stored(client, existing, desired, patch):
        patch = {}
    elif patch:
        done = client.patch(obj, for_object(existing.metadata, patch))
        _remember(client, desired, done)
        if _is_same_version(done, existing):
            patch = {}
    if status:
        done = client.patch_status(obj, for_object(existing.metadata, status))
    return done, outcome_of(patch, status)


def create_or_update(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T, OperationResult]:
    """Create the object with the name of `obj`, or replace it by the result of `change`; return it and the outcome.

    A status subresource stays as it is. Fields that are not sent are removed, including those that the class does not
    have, unless it is `partial`: use `create_or_patch` if others write to the object too. Defaults that the server adds
    are no difference: the client remembers what the server stored for a desired state, and sends the state again only
    if one of them changes. An update that changes nothing on the server, such as the first one after a restart, is
    `UNCHANGED`.

    Raises:
        Conflict: the object has changed; the next reconciliation reads it again.
        ValueError: `change` returned an object with another name.
        ApiError, ConnectionFailed, LeaseNotHeld: the write failed.
    """
    existing, desired = _existing_and_desired(client, obj, change)
    if existing is None:
        stored = client.create(desired)
        _remember(client, desired, stored)
        return stored, OperationResult.CREATED
    patch, _ = difference(existing, desired)
    if not patch or _is_stored(client, existing, desired, patch):
        return existing, OperationResult.UNCHANGED
    stored = client.update(desired)
    _remember(client, desired, stored)
    is_same = _is_same_version(stored, existing)
    return stored, OperationResult.UNCHANGED if is_same else OperationResult.UPDATED


def _is_same_version(stored: ApiObject, existing: ApiObject) -> bool:
    # A server that has nothing to change retains the version.
    return stored.metadata.resource_version == existing.metadata.resource_version != ""


def _remember(client: Client, desired: ApiObject, stored: ApiObject) -> None:
    """Remember what the server stored for the desired state."""
    key, digest = (stored.metadata.uid, _digest(desired)), _digest(stored)
    with _lock:
        _written.setdefault(client, BoundedDict(MAX_WRITTEN))[key] = digest


def _is_stored(client: Client, existing: ApiObject, desired: ApiObject, patch: dict[str, Any]) -> bool:
    """Return True if the object is as the server stored it for the desired state, except for metadata of its own."""
    if not _METADATA.isdisjoint(patch.get("metadata") or ()):
        return False
    key = (existing.metadata.uid, _digest(desired))
    with _lock:
        stored = _written[client].use(key) if client in _written else None
    return stored is not None and stored == _digest(existing)


def _digest(obj: ApiObject) -> bytes:
    """Return a digest of the object without its metadata and its status subresource."""
    ignored = ("metadata", "status") if api_of(type(obj)).status else ("metadata",)
    body = {key: value for key, value in to_dict(obj).items() if key not in ignored}
    return blake2b(json.dumps(body, sort_keys=True, default=str).encode(), digest_size=16).digest()


def _with_status(client: Client, created: T, desired: T) -> T:
    """Write the status of a new object, which a server with a status subresource ignores in its creation."""
    stored, status = to_dict(created).get("status") or {}, to_dict(desired).get("status")
    # Without nulls: the server may have set further fields.
    missing = mergepatch.create(stored, mergepatch.apply(stored, status)) if status else {}
    if not missing or not api_of(type(created)).status:
        return created
    return client.patch_status(created, for_object(created.metadata, {"status": missing}))


def _existing_and_desired(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T | None, T]:
    existing = client.find(type(obj), object_name(obj))
    desired = change(obj if existing is None else existing)
    if object_name(desired) != object_name(obj):
        raise ValueError(
            f"{object_name(obj)} was changed into {object_name(desired)}: the name of an object cannot change"
        )
    return existing, desired


def outcome_of(patch: dict[str, Any], status: dict[str, Any]) -> OperationResult:
    """Return the outcome of sending these two patches."""
    if status:
        return OperationResult.UPDATED_STATUS if patch else OperationResult.UPDATED_STATUS_ONLY
    return OperationResult.UPDATED if patch else OperationResult.UNCHANGED
