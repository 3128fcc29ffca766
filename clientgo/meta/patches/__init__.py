"""Patches of the Kubernetes API on plain JSON values: JSON Patch and JSON Merge Patch.

All functions are pure, unless they say otherwise: arguments are not changed, and results share the parts that were not
touched.
"""

__all__ = ["PatchError"]


class PatchError(ValueError):
    """A patch that cannot be applied to this value; the message says what is wrong. A server answers 422."""
