"""JSON Merge Patch (RFC 7396): apply a patch, and create one from two objects."""

from typing import Any

from clientgo.meta.jsonvalues import same


def apply(target: Any, patch: Any) -> Any:
    """Return `target` with the patch applied: null deletes a member, objects merge, any other value replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for field, value in patch.items():
        if isinstance(value, dict):
            merged[field] = apply(merged.get(field), value)
        elif value is None:
            merged.pop(field, None)
        else:
            merged[field] = value
    return merged


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
