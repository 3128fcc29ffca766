"""Patches of the Kubernetes API on plain JSON values: JSON Patch, JSON Merge Patch and strategic merge patch.

All functions are pure: arguments are not changed, and results share the parts that were not touched.
"""

from typing import Any

__all__ = ["MissingMergeKey", "PatchError"]


class PatchError(ValueError):
    """A patch that cannot be applied to this value; the message says what is wrong."""


class MissingMergeKey(PatchError):
    """An item of a patch that lacks the key by which its list is merged."""

    def __init__(self, item: Any, key: str) -> None:
        super().__init__(f"map: {item} does not contain declared merge key: {key}")
        self.item = item
        self.key = key
