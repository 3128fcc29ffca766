"""Have an object be as it should be, whether it is there or not, and send only what has to change."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from clientgo.manager.client import Client
from clientgo.meta.codec import to_dict
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches import mergepatch
from clientgo.meta.scheme import api_of

T = TypeVar("T", bound=ApiObject)


class Outcome(StrEnum):
    """What was done to an object (controller-runtime's OperationResult)."""

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updatedStatus"
    UPDATED_STATUS_ONLY = "updatedStatusOnly"


def create_or_patch(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T, Outcome]:
    """Have the object that is called as `obj` be as `change` makes it, and return it with what was done.

    `change` is given the object as it is, or `obj` if there is none, and gives it as it should be: that is created, or
    a merge patch of the difference is sent; a second one for the status, where that is a subresource. What `change`
    leaves alone, others may own. But a merge patch replaces a list as a whole: if anything in a list changes, fields of
    its items that the class does not have are dropped. Nothing is sent if there is no difference.

    Raises:
        ValueError: `change` gave an object of another name.
        ApiError, ConnectionFailed, LeaseNotHeld: a write failed.
    """
    known, wanted = _wanted(client, obj, change)
    if known is None:
        return client.create(wanted), Outcome.CREATED
    patch, status = difference(known, wanted)
    done = known
    if patch:
        done = client.patch(obj, patch)
    if status:
        done = client.patch_status(obj, status)
    return done, outcome_of(patch, status)


def create_or_update(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T, Outcome]:
    """The same by an update of the whole object: nobody may have changed anything of it since it was read.

    The status, where that is a subresource, stays as it is. What is not sent is taken away, fields that the class does
    not have included: `create_or_patch` is the better one where others write, too.

    Raises:
        Conflict: the object has changed; the next reconciliation will read it again.
        ValueError: `change` gave an object of another name.
        ApiError, ConnectionFailed, LeaseNotHeld: the write failed.
    """
    known, wanted = _wanted(client, obj, change)
    if known is None:
        return client.create(wanted), Outcome.CREATED
    patch, _ = difference(known, wanted)
    return (client.update(wanted), Outcome.UPDATED) if patch else (known, Outcome.UNCHANGED)


def _wanted(client: Client, obj: T, change: Callable[[T], T]) -> tuple[T | None, T]:
    known = client.find(type(obj), object_name(obj))
    wanted = change(obj if known is None else known)
    if object_name(wanted) != object_name(obj):
        raise ValueError(f"{object_name(obj)} was changed into {object_name(wanted)}: an object keeps its name")
    return known, wanted


def difference(known: ApiObject, wanted: ApiObject) -> tuple[dict[str, Any], dict[str, Any]]:
    """The merge patches that make `wanted` of `known`: of the object and, where it is a subresource, of the status."""
    patch = mergepatch.create(to_dict(known), to_dict(wanted))
    status = {key: patch.pop(key) for key in ("status",) if key in patch and api_of(type(known)).status}
    return patch, status


def outcome_of(patch: dict[str, Any], status: dict[str, Any]) -> Outcome:
    """What sending these two does."""
    if status:
        return Outcome.UPDATED_STATUS if patch else Outcome.UPDATED_STATUS_ONLY
    return Outcome.UPDATED if patch else Outcome.UNCHANGED
