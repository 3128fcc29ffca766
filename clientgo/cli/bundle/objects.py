"""Objects as YAML gives them, read without trust: whoever wrote them may have put anything anywhere."""

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

OPERATORS = "operators.coreos.com/v1alpha1"
"""The API version of a ClusterServiceVersion."""


def mapping(value: object) -> Object:
    """The mapping at this place; an empty one if it is something else."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Object]:
    """The mappings in the list at this place."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """The text at this place; empty if it is something else."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """The texts in the list at this place."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def at(obj: object, path: str) -> Any:
    """What is at `spec.install.spec`; None if there is nothing."""
    for name in path.split("."):
        obj = mapping(obj).get(name)
    return obj


def name_of(obj: Object) -> str:
    """An object's name."""
    return text(at(obj, "metadata.name"))


def group_of(obj: Object) -> str:
    """The group in an object's apiVersion; empty is the core group."""
    return text(obj.get("apiVersion")).rpartition("/")[0]


def of_kind(objects: Iterable[Object], *kinds: str) -> list[Object]:
    """The objects of these kinds, in their order."""
    return [one for one in objects if one.get("kind") in kinds]
