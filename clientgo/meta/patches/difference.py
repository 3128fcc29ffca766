"""Merge patches from one state of an object to another, and their preconditions."""

from typing import Any

from clientgo.meta.codec import to_dict
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.patches import mergepatch
from clientgo.meta.scheme import api_of


def difference(existing: object, desired: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the merge patches from `existing` to `desired`: of the object, and of a status subresource."""
    patch = mergepatch.create(to_dict(existing), to_dict(desired))
    status = {key: patch.pop(key) for key in ("status",) if key in patch and api_of(type(existing)).status}
    return patch, status


def for_object(metadata: ObjectMeta, patch: dict[str, Any]) -> dict[str, Any]:
    """Return the patch for this object only: the server rejects it for another one, created under the name since.

    Only of the status of a custom kind it ignores the uid, as all metadata.
    """
    return _with(patch, uid=metadata.uid) if metadata.uid else patch


def for_version(metadata: ObjectMeta, patch: dict[str, Any]) -> dict[str, Any]:
    """Return the patch for this version of the object only: the server answers with a conflict if it has changed.

    Raises:
        ValueError: the object was not read from a server.
    """
    if not metadata.resource_version:
        raise ValueError(f"{metadata.name} has no resourceVersion: expected an object that was read from the server")
    return _with(patch, resourceVersion=metadata.resource_version)


def _with(patch: dict[str, Any], **preconditions: str) -> dict[str, Any]:
    return {**patch, "metadata": {**patch.get("metadata", {}), **preconditions}}
