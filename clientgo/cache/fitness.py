"""Whether an object is what was asked for, before it gets into a cache.

Servers and proxies in between may answer with something else: a table for people's eyes, another kind, an object
without a name. None of it may end a watch or empty a cache, so it is said and left out.
"""

from collections.abc import Callable
from typing import Any

from clientgo.meta.objects import GroupVersionKind
from clientgo.meta.scheme import ApiType

TABLE_GROUPS = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
"""Where the server's tables for kubectl live."""

Unfit = Callable[[Any], str]
"""Tells why an object can't be kept; empty if it can."""


def is_table(api_version: str, kind: str) -> bool:
    """Whether that is a server's table, which is no object of any resource."""
    return kind == "Table" and api_version in TABLE_GROUPS


def describe(kind: type) -> str:
    """What objects of a class are called in logs: the class, or the kind where the class can hold any."""
    note = vars(kind).get("__api_type__")
    if not hasattr(kind, "gvk"):
        return kind.__name__
    return str(note.gvk) if isinstance(note, ApiType) and note.kind else "<unspecified>"


def fitness_of(kind: type) -> Unfit:
    """The check for objects of a class; quick for what fits."""
    if hasattr(kind, "gvk"):
        return _of_any_kind(kind)

    def unfit(obj: Any) -> str:
        # The class first: it is that of nearly every object, and quicker to look at than a subclass relation.
        fits = obj.__class__ is kind or isinstance(obj, kind)
        if not fits:
            return f"expected a {kind.__name__}, got a {type(obj).__name__}"
        return "" if obj.metadata.name else "it has no name"

    return unfit


def _of_any_kind(kind: type) -> Unfit:
    note = vars(kind).get("__api_type__")
    expected = note.gvk if isinstance(note, ApiType) and note.kind else None

    def unfit(obj: Any) -> str:
        own = getattr(obj, "gvk", None)
        if not isinstance(own, GroupVersionKind):
            return f"expected an object of any kind, got a {type(obj).__name__}"
        if is_table(own.api_version, own.kind):
            return f"the server sent a table ({own})"
        if expected is not None and own != expected:
            return f"expected {expected}, got {own}"
        return "" if obj.metadata.name else "it has no name"

    return unfit
