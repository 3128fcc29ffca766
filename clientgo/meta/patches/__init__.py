"""Patches of the Kubernetes API on plain JSON values: JSON Patch, JSON Merge Patch and strategic merge patch.

All functions are pure: arguments are not changed, and results share the parts that were not touched.
"""

from typing import Any

__all__ = ["PatchError", "UnmergeablePatch"]


class PatchError(ValueError):
    """A patch that cannot be applied to this value; the message says what is wrong."""


class UnmergeablePatch(PatchError):
    """A strategic merge patch that contradicts the rules of its kind or itself: a template with values."""

    def __init__(self, template: str, *values: Any) -> None:
        super().__init__(template.format(*values))
        self.template = template
        self.values = values
