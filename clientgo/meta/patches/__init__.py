"""Patches of the Kubernetes API on plain JSON values: JSON Patch, JSON Merge Patch and strategic merge patch.

All functions are pure: arguments are not changed, and results share the parts that were not touched.
"""

__all__ = ["PatchError"]


class PatchError(ValueError):
    """A patch that cannot be applied to this value; the message says what is wrong."""
