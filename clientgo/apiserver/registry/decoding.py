"""Decoding of built-in kinds, as by their Go types.

Unknown fields are dropped and reported, nulls and empty maps and lists vanish as with `omitempty`, a value of the wrong
type is a 400.
"""

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.http.status import bad_request
from clientgo.apiserver.registry.metadata import json_type
from clientgo.apiserver.registry.openapi_builtin import schema_for
from clientgo.apiserver.registry.registry import Object, Resource

Schema = dict[str, Any]

# Written even if null or empty: their Go types have no omitempty.
_WRITTEN_EMPTY = frozenset({"eventTime", "firstTimestamp", "lastTimestamp", "rules", "conditions", "emptyDir"})
# A schema is data: an empty default in it has a meaning.
_OPAQUE = ".openAPIV3Schema"
# Fast path: most values are exactly of these types.
_PLAIN: dict[type, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
_GO_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "string"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "int32"),
    "boolean": (lambda value: isinstance(value, bool), "bool"),
    "number": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "float64"),
    "object": (lambda value: isinstance(value, dict), "object"),
    "array": (lambda value: isinstance(value, list), "[]object"),
}


def clean(resource: Resource, obj: Object, old: Object | None, unknown: list[str]) -> Object:
    """Return the object as its Go type would hold it; append paths of unknown fields to `unknown`.

    Parts shared with `old`, the object it replaces, are clean already: a patch changes little of an object.
    """
    schema = schema_for(resource.group, resource.version, resource.kind)
    if not schema.get("properties"):
        return {field: value for field, value in obj.items() if value is not None}
    kept: Object = {}
    for field, value in obj.items():
        known = schema["properties"].get(field)
        if field == "metadata" or (old is not None and value is old.get(field)):
            kept[field] = value  # metadata is normalized elsewhere
        elif known is None:
            unknown.append(field)
        elif _PLAIN.get(type(value)) == known.get("type", ""):
            kept[field] = value
        elif value is not None or field in _WRITTEN_EMPTY:
            kept[field] = _value(known, value, field, (resource.kind, unknown))
    return kept


def _value(schema: Schema, value: Any, path: str, place: tuple[str, list[str]]) -> Any:
    if value is None or schema.get("x-kubernetes-preserve-unknown-fields") or path.endswith(_OPAQUE):
        return value
    fits, go_type = _GO_TYPES.get(schema.get("type", ""), (lambda _: True, ""))
    if not fits(value):
        why = f"json: cannot unmarshal {json_type(value)} into Go struct field {place[0]}.{path} of type {go_type}"
        raise bad_request(f'{place[0]} in version "v1" cannot be handled as a {place[0]}: {why}')
    if go_type == "object":
        return _object(schema, value, path, place)
    if go_type == "[]object":
        items = schema.get("items") or {}
        return [_value(items, one, f"{path}[{index}]", place) for index, one in enumerate(value)]
    return value


def _object(schema: Schema, value: Object, path: str, place: tuple[str, list[str]]) -> Object:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(additional, dict):
        additional = None
    if properties is None:
        if additional is None:
            return value
        properties = {}
    kept: Object = {}
    for field, child in value.items():
        known = properties.get(field, additional)
        if known is None:
            place[1].append(f"{path}.{field}")
        elif _PLAIN.get(type(child)) == known.get("type", ""):
            kept[field] = child
        elif child is None and field not in _WRITTEN_EMPTY:
            continue
        elif not _vanishes(known, field, child):
            kept[field] = _value(known, child, f"{path}.{field}", place)
    return kept


def _vanishes(schema: Schema, field: str, value: Any) -> bool:
    """Return whether Go omits this empty value: maps and lists, but not structs."""
    if field in _WRITTEN_EMPTY or value not in ({}, []):
        return False
    return value == [] or isinstance(schema.get("additionalProperties"), dict)
