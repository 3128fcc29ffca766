"""Small steps all defaults are made of; each gives a new dict and leaves the one it was given alone."""

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def filled(obj: Any, **defaults: Any) -> Object:
    """The object with these members where it has none (or null)."""
    given = obj if isinstance(obj, dict) else {}
    missing = {field: value for field, value in defaults.items() if given.get(field) is None}
    return {**given, **missing}


def within(obj: Object, field: str, change: Callable[[Any], Any]) -> Object:
    """The object with one member changed, if it has it."""
    return {**obj, field: change(obj[field])} if obj.get(field) is not None else obj


def each(items: Any, change: Callable[[Any], Any]) -> Any:
    """The list with every item changed; what is no list stays as it is."""
    return [change(item) for item in items] if isinstance(items, list) else items
