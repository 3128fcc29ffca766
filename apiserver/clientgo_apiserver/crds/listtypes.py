"""Lists of type set and map: duplicate items, and the items of two lists that have the same keys."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from clientgo.meta.jsonvalues import canonical
from clientgo_apiserver.api.status import Cause, duplicate, invalid_value
from clientgo_apiserver.crds.structural import cached_by_identity, join, subschemas

Schema = dict[str, Any]


def list_errors(schema: Schema | None, value: Any, path: str = "") -> Iterator[Cause]:
    """Yield the duplicates in lists of type set or map within a value; each is reported once."""
    if schema is None or not has_keyed_lists(schema):
        return
    if isinstance(value, list):
        yield from _duplicates(schema, value, path)
        for index, item in enumerate(value):
            yield from list_errors(schema.get("items"), item, f"{path}[{index}]")
    elif isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for field, child in value.items():
            if not isinstance(child, dict | list):
                continue
            if field in properties:
                yield from list_errors(properties[field], child, join(path, field))
            elif isinstance(additional, dict):
                yield from list_errors(additional, child, f"{path}[{field}]")


def counterparts(schema: Schema, old: Any) -> Callable[[Any], Any]:
    """Return a function from an item to the old one with the same keys, or None; an item needs all of them.

    Only items of lists of type map have one. The old items are indexed, so that a long list is compared in linear time.
    """
    names = schema.get("x-kubernetes-list-map-keys") or ()
    if not names or not isinstance(old, list):
        return lambda _: None

    def key_of(item: Any) -> bytes | None:
        if not isinstance(item, dict) or any(item.get(name) is None for name in names):
            return None
        return canonical([item[name] for name in names])

    index: dict[bytes | None, Any] = {}
    for item in old:
        index.setdefault(key_of(item), item)
    index[None] = None
    return lambda item: index.get(key_of(item))


def _duplicates(schema: Schema, items: list[Any], path: str) -> Iterator[Cause]:
    key = _keys(schema)
    if key is None:
        return
    if schema["x-kubernetes-list-type"] == "map":
        for index, item in enumerate(items):
            if item is not None and not isinstance(item, dict):
                reason = "must be an object for an array of list-type map"
                yield invalid_value(f"{path}[{index}]", item, reason)
                return
    seen: Counter[bytes] = Counter()
    for index, item in enumerate(items):
        text = canonical(key(item))
        if seen[text] == 1:
            yield duplicate(f"{path}[{index}]", msgspec.json.decode(text))  # fields in the order of Go's maps
        seen[text] += 1


@cached_by_identity
def has_keyed_lists(schema: Schema) -> bool:
    """Return whether the schema or anything below it is a list of type set or map."""
    return _keys(schema) is not None or any(map(has_keyed_lists, subschemas(schema)))


def _keys(schema: Schema) -> Callable[[Any], Any] | None:
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "set":
        return lambda item: item
    if list_type == "map":
        names = schema.get("x-kubernetes-list-map-keys") or ()
        return lambda item: {name: item[name] for name in names if name in (item or ())}
    return None
