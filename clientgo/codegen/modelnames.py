"""What classes are called in OpenAPI: `io.k8s.api.core.v1.PodSpec`, `com.example.fleet.v1.Ship`."""

from collections.abc import Mapping
from typing import Any

from clientgo.codegen.model import identifier
from clientgo.codegen.source import snake

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OF_META = frozenset(("LabelSelector", "LabelSelectorRequirement", "Condition", "DeleteOptions", "Preconditions"))
_BUILT_IN = "clientgo.kubernetes.types."
_CORE = ("pods", "volumes", "shared")
"""Modules of parts that are the core group's."""


def own_name(group: str, version: str, name: str) -> str:
    """The name of a class of one's own: its group backwards, its version, its name."""
    return ".".join([*reversed(group.split(".")), version, name])


def borrowed_name(cls: type[Any]) -> str:
    """The name of one of Kubernetes' own types; empty for any other class."""
    if cls.__module__ == "clientgo.meta.objects" or cls.__name__ in _OF_META:
        return f"{META}.{cls.__name__}"
    if not cls.__module__.startswith(_BUILT_IN):
        return ""
    module = cls.__module__.removeprefix(_BUILT_IN)
    group, _, version = ("core_v1" if module in _CORE else module).rpartition("_")
    return f"io.k8s.api.{group}.{version}.{cls.__name__}"


def function_name(name: str, taken: Mapping[str, str]) -> str:
    """A function's name for a definition, other than those that are taken."""
    parts = name.split(".")
    made = identifier(snake(parts[-1]))
    # Two of one name are of different groups or versions.
    for part in reversed(parts[:-1]):
        if made not in taken:
            break
        made = f"{part.replace('-', '_')}_{made}"
    return made
