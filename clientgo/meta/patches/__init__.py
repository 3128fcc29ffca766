"""Patches of the Kubernetes API on plain JSON values: JSON Patch, JSON Merge Patch and strategic merge patch.

All functions are pure, unless they say otherwise: arguments are not changed, and results share the parts that were not
touched.
"""

__all__ = ["InvalidDirective", "PatchError", "UnmergeablePatch"]


class PatchError(ValueError):
    """A patch that cannot be applied to this value; the message says what is wrong. A server answers 422."""


class InvalidDirective(PatchError):
    """A strategic merge patch with a malformed directive. A server answers 400."""


class UnmergeablePatch(PatchError):
    """A strategic merge patch that contradicts the rules of its kind or itself, in Go's words; a server answers 500."""
