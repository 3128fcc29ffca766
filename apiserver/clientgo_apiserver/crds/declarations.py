"""Types of CEL for the values of structural schemas, with the sizes that bound the cost of rules."""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from clientgo.meta.constraints import cel_name
from clientgo_apiserver.api.limits import MAX_BODY_BYTES
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError, MapList, SetList, StructValue
from clientgo_apiserver.crds.structural import cached_by_identity, subschemas
from clientgo_apiserver.releases.release import current

Schema = dict[str, Any]

_BYTES_OF_A_CHARACTER = 4
_TIMES = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SCALARS = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_STRING_SCHEMA: Schema = {"type": "string"}
_NAME_BYTES = {"name": 253, "generateName": 252}
"""Longest names of objects; the generated suffix has at least a byte."""


@dataclass(slots=True)
class SchemaType:
    """Type of a schema's values, their minimum size as JSON, and their maximum number of elements (DeclType).

    Elements are characters, items or entries.
    """

    type: ExprType
    min_serialized_size: int
    max_elements: int = 0
    items: "SchemaType | None" = None
    fields: Mapping[str, "SchemaType"] = field(default_factory=dict)

    def at(self, path: tuple[str, ...]) -> "SchemaType | None":
        """Return the declaration at a path of fields, @items, @values and @keys."""
        declaration: SchemaType | None = self
        for part in path:
            if declaration is None:
                return None
            if part == "@keys":
                declaration = _KEYS if declaration.type.kind == "map" else None
            elif part in ("@items", "@values"):
                declaration = declaration.items
            else:
                declaration = declaration.fields.get(part)
        return declaration

    def structs(self) -> Mapping[str, Mapping[str, ExprType]]:
        """Return the types of the fields of the objects at or below this one, by the name of the object's type."""
        return {each.type.name: {name: member.type for name, member in each.fields.items()} for each in self._objects()}

    def _objects(self) -> Iterator["SchemaType"]:
        if self.type.kind == "struct":
            yield self
        for child in (*self.fields.values(), *((self.items,) if self.items else ())):
            yield from child._objects()


_KEYS = SchemaType(types.STRING, 2)


def with_resource_fields(schema: Schema) -> Schema:
    """Return the schema of a resource's root, whose kind and names rules can always use."""
    properties = schema.get("properties") or {}
    declared = (properties.get("metadata") or {}).get("properties") or {}
    names = {name: _name_schema(declared.get(name) or {}, limit) for name, limit in _NAME_BYTES.items()}
    metadata = {"type": "object", "properties": names}
    fixed = {"kind": _STRING_SCHEMA, "apiVersion": _STRING_SCHEMA, "metadata": metadata}
    return {**schema, "properties": {**properties, **fixed}}


def _name_schema(declared: Schema, limit: int) -> Schema:
    """Return the schema of a name, whose length is limited since Kubernetes 1.37."""
    if not current().at_least("1.37"):
        return _STRING_SCHEMA
    return {**_STRING_SCHEMA, "maxLength": min(declared.get("maxLength", limit), limit)}


def declare(schema: Schema, name: str = "object", *, root: bool = False) -> SchemaType | None:
    """Return the declaration of a schema's values; None for those that rules do not see."""
    if schema.get("x-kubernetes-int-or-string"):
        return SchemaType(types.DYN, 1, _max_characters(schema))
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = with_resource_fields(schema)
    match schema.get("type"):
        case "array":
            return _list(schema, name)
        case "object":
            return _map(schema, name) if isinstance(schema.get("additionalProperties"), dict) else _object(schema, name)
        case "string":
            return _string(schema)
        case str(kind) if kind in _SCALARS:
            return SchemaType(*_SCALARS[kind])
    return None


def _list(schema: Schema, name: str) -> SchemaType | None:
    items = declare(schema["items"], f"{name}.@idx") if isinstance(schema.get("items"), dict) else None
    if items is None:
        return None
    max_elements = max(schema.get("maxItems", (MAX_BODY_BYTES - 2) // (items.min_serialized_size + 1)), 0)
    return SchemaType(types.list_of(items.type), 2, max_elements, items)


def _map(schema: Schema, name: str) -> SchemaType | None:
    values = declare(schema["additionalProperties"], f"{name}.@elem")
    if values is None:
        return None
    max_elements = max(schema.get("maxProperties", (MAX_BODY_BYTES - 2) // (values.min_serialized_size + 6)), 0)
    return SchemaType(types.map_of(types.STRING, values.type), 2, max_elements, values)


def _object(schema: Schema, name: str) -> SchemaType:
    fields, min_size, required = {}, 2, schema.get("required") or ()
    for key, child in (schema.get("properties") or {}).items():
        escaped = cel_name(key)
        declared = declare(child, f"{name}.{escaped}")
        if declared is None:
            continue
        if _NAME.fullmatch(escaped):
            fields[escaped] = declared
        if key in required and "default" not in child:
            min_size += len(key.encode()) + declared.min_serialized_size + 4
    return SchemaType(ExprType("struct", name), min_size, 0, None, fields)


def _string(schema: Schema) -> SchemaType:
    form = schema.get("format", "")
    if form in _TIMES:
        return SchemaType(*_TIMES[form])
    if form == "byte":
        max_elements = max(schema["maxLength"], 0) if "maxLength" in schema else MAX_BODY_BYTES - 2
        return SchemaType(types.BYTES, 2, max_elements)
    return SchemaType(types.STRING, 2, _max_characters(schema))


def _max_characters(schema: Schema) -> int:
    if "maxLength" in schema:
        return max(int(schema["maxLength"]), 0) * _BYTES_OF_A_CHARACTER
    if schema.get("enum") and not schema.get("x-kubernetes-int-or-string"):
        return max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
    return MAX_BODY_BYTES - 2


def bound(schema: Schema, value: Any, *, floats: bool = False) -> Any:
    """Return a value as CEL sees it: names of fields are identifiers, texts with a format are times and bytes.

    `floats`: the value may have floats, which are no integers until they are stored.
    """
    if value is None or (_is_plain(schema) and not floats):
        return value
    if isinstance(value, float) and schema.get("x-kubernetes-int-or-string"):
        return CelError("invalid data, expected XIntOrString value to be either a string or integer")
    match schema.get("type"):
        case "object" if isinstance(value, dict):
            return _bound_object(schema, value, floats=floats)
        case "array" if isinstance(value, list):
            return _bound_list(schema, value, floats=floats)
        case "integer" if isinstance(value, float):
            return CelError("invalid data, expected int, got float64")
        case "string" if schema.get("format") in _PARSERS:
            return _parsed(schema["format"], value)
        case "number" if not schema.get("x-kubernetes-int-or-string"):
            return float(value)
    return value


def _bound_object(schema: Schema, value: dict[str, Any], *, floats: bool) -> Any:
    properties = schema.get("properties")
    if properties is None:
        items = schema.get("additionalProperties")
        if not isinstance(items, dict):
            return value
        return {key: bound(items, item, floats=floats) for key, item in value.items()}
    # A field that is null is as good as absent.
    return StructValue(
        (cel_name(key), bound(properties[key], item, floats=floats)) if key in properties else (key, item)
        for key, item in value.items()
        if item is not None
    )


def _bound_list(schema: Schema, value: list[Any], *, floats: bool) -> Any:
    items = schema.get("items")
    items_in_cel = [bound(items, item, floats=floats) for item in value] if isinstance(items, dict) else value
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return SetList(items_in_cel)
        case "map":
            keyed = MapList(items_in_cel)
            keyed.keys = tuple(map(cel_name, schema.get("x-kubernetes-list-map-keys") or ()))
            return keyed
    return items_in_cel


@cached_by_identity
def _is_plain(schema: Schema) -> bool:
    """Return whether CEL sees the values of a schema as they are."""
    if schema.get("type") == "number" or schema.get("format") in _PARSERS:
        return False
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        return False
    properties = schema.get("properties") or {}
    if any(cel_name(key) != key or below.get("nullable") for key, below in properties.items()):
        return False
    return all(map(_is_plain, subschemas(schema)))


def _parsed(form: str, text: str) -> Any:
    """Return the value of a text with a format; an invalid one is an error for the expressions that use it."""
    try:
        return _PARSERS[form](text)
    except (CelError, ValueError):
        return CelError(f"Invalid {form} formatted string {text}")


def _date(text: str) -> Any:
    return OPERATORS["timestamp"](f"{text}T00:00:00Z")


def _time(text: str) -> Any:
    return OPERATORS["timestamp"](text)


def _duration(text: str) -> Any:
    """Return a duration in Go's notation, or of an amount with the name of a unit, such as 2 weeks."""
    try:
        return OPERATORS["duration"](text)
    except CelError:
        amount, unit = re.findall(r"(?<!\d)(\d+)\s*([a-z\u00b5]+)", text.lower())[-1]
        return int(amount) * next(length for prefix, length in _LONG_UNITS.items() if unit.startswith(prefix))


_LONG_UNITS = {
    **{prefix: timedelta(0) for prefix in ("n", "\u00b5")},
    **{prefix: timedelta(milliseconds=1) for prefix in ("ms", "mil")},
    **{prefix: timedelta(microseconds=1) for prefix in ("us", "mic")},
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_PARSERS: dict[str, Callable[[str], Any]] = {
    "byte": lambda text: base64.b64decode(text),
    "date": _date,
    "date-time": _time,
    "duration": _duration,
}
