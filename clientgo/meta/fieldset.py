"""Which part of an object a set of fields names, in the form that managedFields has (FieldsV1).

`f:name` is a field, `k:{...}` the item of a list whose keys have these values, `v:...` an item that is this value,
`i:3` the item at this index, `.` the value itself; nothing below a field means all of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def owned(content: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an object's JSON that `fields` names."""
    found: dict[str, Any] = {}
    for path, below in fields.items():
        name = path.removeprefix("f:")
        if path.startswith("f:") and name in content:
            found[name] = _part(content[name], below)
    return found


def _part(value: Any, fields: Mapping[str, Any]) -> Any:
    if not fields:
        return value
    if isinstance(value, Mapping):
        return owned(value, fields)
    if isinstance(value, list):
        return list(_items(value, fields))
    return value


def _items(values: list[Any], fields: Mapping[str, Any]) -> Iterator[Any]:
    for index, value in enumerate(values):
        for path, below in fields.items():
            if _names(path, index, value):
                yield _part(value, below)
                break


def _names(path: str, index: int, value: Any) -> bool:
    how, _, text = path.partition(":")
    if how == "k" and isinstance(value, Mapping):
        return all(key in value and value[key] == wanted for key, wanted in json.loads(text).items())
    if how == "v":
        return bool(json.loads(text) == value)
    return how == "i" and int(text) == index
