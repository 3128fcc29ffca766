"""Status conditions of objects in JSON form, judged as `kubectl wait` does."""

from collections.abc import Mapping
from typing import Any


def conditions_of(obj: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the conditions in an object's status; entries that are not maps are left out."""
    conditions = status_of(obj).get("conditions")
    return [item for item in conditions if isinstance(item, Mapping)] if isinstance(conditions, list) else []


def status_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of an object; an empty one if it has none, or one that is not a map."""
    return map_in(obj, "status")


def map_in(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field of an object; an empty map if it has none, or one that is not a map."""
    value = obj.get(name)
    return value if isinstance(value, Mapping) else {}


def has_condition(obj: Mapping[str, Any], expected: str) -> bool:
    """Return whether a condition has a status and describes the current spec: `Ready`, or `Ready=False`.

    Upper and lower case are equal. The first condition of the type decides.
    """
    kind, equals, status = expected.partition("=")
    for condition in conditions_of(obj):
        actual = condition.get("status")
        if isinstance(actual, str) and str(condition.get("type", "")).lower() == kind.lower():
            is_same = actual.lower() == (status if equals else "True").lower()
            generation = map_in(obj, "metadata").get("generation")
            return is_same and not is_outdated(observed_generation(obj, condition), generation)
    return False


def observed_generation(obj: Mapping[str, Any], condition: Mapping[str, Any]) -> int | None:
    """Return the generation that a condition describes: its own `observedGeneration`, else that of the status."""
    numbers = (whole_number(source.get("observedGeneration")) for source in (condition, status_of(obj)))
    return next((number for number in numbers if number is not None), None)


def is_outdated(observed: object, generation: object) -> bool:
    """Return whether a status describes an older generation; False if one of the two is not known."""
    before, now = whole_number(observed), whole_number(generation)
    return before is not None and now is not None and before < now


def whole_number(value: object) -> int | None:
    """Return the value if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
