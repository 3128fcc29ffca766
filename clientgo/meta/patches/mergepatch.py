"""JSON Merge Patch (RFC 7396): apply a patch, and create one from two objects."""

from typing import Any

from clientgo.meta.jsonvalues import same


def apply(target: Any, patch: Any) -> Any:
    """Return `target` with the patch applied: null deletes a member, objects merge, any other value replaces.

    As on a server, members that are null are also left out of the objects in a list, unless it replaces an object.
    """
    if not isinstance(patch, dict):
        return patch if isinstance(target, dict) else _without_nulls(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = apply(merged.get(field), value)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return apply({}, value) if isinstance(value, dict) else value


def create(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the patch that turns `before` into `after`: null for a removed member, lists whole; empty if equal."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for field, new in after.items():
        old = before.get(field)
        if isinstance(old, dict) and isinstance(new, dict):
            if inner := create(old, new):
                patch[field] = inner
        elif field not in before or not same(old, new):
            patch[field] = new
    return patch
