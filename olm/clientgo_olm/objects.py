"""Accessors for untrusted objects read from YAML, whose fields may have any type."""

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

OPERATORS = "operators.coreos.com/v1alpha1"
"""The API version of a ClusterServiceVersion."""


def mapping(value: object) -> Object:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Object]:
    """Return the mappings in a list; empty if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """Return the strings in a list; empty if the value is not a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def at(obj: object, path: str) -> Any:
    """Return the value at a path such as `spec.install.spec`, or None."""
    for name in path.split("."):
        obj = mapping(obj).get(name)
    return obj


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    return text(at(obj, "metadata.name"))


def group_of(obj: Object) -> str:
    """Return the group of an object's apiVersion; empty for the core group."""
    return text(obj.get("apiVersion")).rpartition("/")[0]


def is_certificate(obj: Object) -> bool:
    """Return whether the object is a Secret with a certificate and its key."""
    return obj.get("kind") == "Secret" and obj.get("type") == "kubernetes.io/tls"


def of_kind(objects: Iterable[Object], *kinds: str) -> list[Object]:
    """Return the objects of these kinds, in order."""
    return [obj for obj in objects if obj.get("kind") in kinds]
