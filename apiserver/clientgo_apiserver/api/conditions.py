"""Conditions in the status of stored objects."""

from clientgo_apiserver.api.resources import Object


def conditions_of(obj: Object | None) -> list[Object]:
    """Return the conditions in the object's status, none without an object."""
    return ((obj or {}).get("status") or {}).get("conditions") or []


def condition_of(obj: Object | None, kind: str) -> Object:
    """Return the object's condition of that type, empty if it has none."""
    for condition in conditions_of(obj):
        if condition.get("type") == kind:
            return condition
    return {}


def is_true(obj: Object | None, kind: str) -> bool:
    """Return whether the object's condition of that type is True."""
    return bool(condition_of(obj, kind).get("status") == "True")


def other_conditions(obj: Object, kind: str) -> list[Object]:
    """Return the object's conditions of other types."""
    return [condition for condition in conditions_of(obj) if condition.get("type") != kind]
