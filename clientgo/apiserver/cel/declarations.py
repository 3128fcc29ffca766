"""Types of CEL for the values of structural schemas, with the sizes that bound the cost of rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.apiserver.apiextensions.structural import cached_by_identity, cel_name
from clientgo.apiserver.cel import types
from clientgo.apiserver.cel.types import Type

Schema = dict[str, Any]

MOST_BYTES = 3 << 20
"""The largest request in bytes."""

_BYTES_OF_A_CHARACTER = 4
_TIMES = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SCALARS = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}
_STRING_SCHEMA: Schema = {"type": "string"}
_METADATA: Schema = {"type": "object", "properties": {"name": _STRING_SCHEMA, "generateName": _STRING_SCHEMA}}


@dataclass(slots=True)
class Declaration:
    """The type of a schema's values, the fewest bytes of their JSON, and their most characters, items or entries."""

    type: Type
    least_bytes: int
    most: int = 0
    items: "Declaration | None" = None
    fields: Mapping[str, "Declaration"] = field(default_factory=dict)

    def at(self, path: tuple[str, ...]) -> "Declaration | None":
        """Return the declaration at a path of fields, @items, @values and @keys."""
        found: Declaration | None = self
        for part in path:
            if found is None:
                return None
            if part == "@keys":
                found = _KEYS if found.type.kind == "map" else None
            elif part in ("@items", "@values"):
                found = found.items
            else:
                found = found.fields.get(part)
        return found

    def structs(self) -> Iterator["Declaration"]:
        """Yield the declarations of objects at or below this one."""
        if self.type.kind == "struct":
            yield self
        for child in (*self.fields.values(), *((self.items,) if self.items else ())):
            yield from child.structs()


_KEYS = Declaration(types.STRING, 2)


def with_resource_fields(schema: Schema) -> Schema:
    """Return the schema of a resource's root, whose kind and names rules can always use."""
    fixed = {"kind": _STRING_SCHEMA, "apiVersion": _STRING_SCHEMA, "metadata": _METADATA}
    return {**schema, "properties": {**(schema.get("properties") or {}), **fixed}}


def declare(schema: Schema, name: str = "object", *, root: bool = False) -> Declaration | None:
    """Return the declaration of a schema's values; None for those that rules do not see."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declaration(types.DYN, 1, _most_characters(schema))
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
            return Declaration(*_SCALARS[kind])
    return None


def _list(schema: Schema, name: str) -> Declaration | None:
    items = declare(schema["items"], f"{name}.@idx") if isinstance(schema.get("items"), dict) else None
    if items is None:
        return None
    most = max(schema.get("maxItems", (MOST_BYTES - 2) // (items.least_bytes + 1)), 0)
    return Declaration(types.list_of(items.type), 2, most, items)


def _map(schema: Schema, name: str) -> Declaration | None:
    values = declare(schema["additionalProperties"], f"{name}.@elem")
    if values is None:
        return None
    most = max(schema.get("maxProperties", (MOST_BYTES - 2) // (values.least_bytes + 6)), 0)
    return Declaration(types.map_of(types.STRING, values.type), 2, most, values)


def _object(schema: Schema, name: str) -> Declaration:
    fields, least, required = {}, 2, schema.get("required") or ()
    for key, child in (schema.get("properties") or {}).items():
        escaped = cel_name(key)
        declared = declare(child, f"{name}.{escaped}")
        if declared is None:
            continue
        if escaped:
            fields[escaped] = declared
        if key in required and "default" not in child:
            least += len(key.encode()) + declared.least_bytes + 4
    return Declaration(Type("struct", name), least, 0, None, fields)


def _string(schema: Schema) -> Declaration:
    form = schema.get("format", "")
    if form in _TIMES:
        return Declaration(*_TIMES[form])
    if form == "byte":
        most = max(schema["maxLength"], 0) if "maxLength" in schema else MOST_BYTES - 2
        return Declaration(types.BYTES, 2, most)
    return Declaration(types.STRING, 2, _most_characters(schema))


def _most_characters(schema: Schema) -> int:
    if "maxLength" in schema:
        return max(int(schema["maxLength"]), 0) * _BYTES_OF_A_CHARACTER
    if schema.get("enum") and not schema.get("x-kubernetes-int-or-string"):
        return max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
    return MOST_BYTES - 2


@cached_by_identity
def declared_root(schema: Schema) -> Declaration | None:
    """Return the declaration of a resource's root."""
    return declare(schema, "selfType", root=True)
