"""Translation of `Meta` constraints into schemas."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from clientgo.codegen.crd.rules import UNCHANGING
from clientgo.codegen.crd.serverchecks import pattern_errors
from clientgo.meta.constraints import Meta

_NUMBERS = ("integer", "number")
_SIZES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ge": ("minimum", _NUMBERS),
    "gt": ("minimum", _NUMBERS),
    "le": ("maximum", _NUMBERS),
    "lt": ("maximum", _NUMBERS),
    "multiple_of": ("multipleOf", _NUMBERS),
    "min_length": ("minLength", ("string",)),
    "max_length": ("maxLength", ("string",)),
    "pattern": ("pattern", ("string",)),
    "min_items": ("minItems", ("array",)),
    "max_items": ("maxItems", ("array",)),
    "list_type": ("x-kubernetes-list-type", ("array",)),
    "min_properties": ("minProperties", ("object",)),
    "max_properties": ("maxProperties", ("object",)),
    "map_type": ("x-kubernetes-map-type", ("object",)),
}
"""Keywords of constraints, and the types that they are for."""

_NOTES = {
    "nullable": "nullable",
    "preserve_unknown": "x-kubernetes-preserve-unknown-fields",
    "int_or_string": "x-kubernetes-int-or-string",
    "format": "format",
    "title": "title",
    "description": "description",
    "example": "example",
}
_SCALARS = ("string", "boolean", *_NUMBERS)


def apply_constraints(schema: dict[str, Any], metas: Sequence[Meta]) -> Iterator[str]:
    """Add constraints to `schema`, later ones overriding earlier ones; yield errors."""
    if any(meta.schemaless for meta in metas):
        schema.clear()
    for meta in metas:
        if meta.type is not None:
            schema["type"] = meta.type
        yield from _sized(schema, meta)
        yield from _listed(schema, meta)
        yield from _noted(schema, meta)


def _sized(schema: dict[str, Any], meta: Meta) -> Iterator[str]:
    # An int-or-string has no type; string constraints apply to its strings.
    types = {schema["type"]} if "type" in schema else {part["type"] for part in schema.get("anyOf", ())}
    for name, (key, fitting) in _SIZES.items():
        value = getattr(meta, name)
        if value is None:
            continue
        if types.isdisjoint(fitting):
            yield f"{name} is for {' and '.join(fitting)} fields, this one is {schema.get('type', 'of any type')}"
        elif name == "multiple_of" and value <= 0:
            yield f"invalid multiple_of {value}: expected a number above 0"
        else:
            schema[key] = int(value) if isinstance(value, float) and value.is_integer() else value
            if name in ("gt", "lt"):
                schema[f"exclusive{key.capitalize()}"] = True


def _listed(schema: dict[str, Any], meta: Meta) -> Iterator[str]:
    if meta.unique_items:
        yield "the API server rejects uniqueItems: use list_type='set'"
    items = schema.get("items", {})
    if meta.list_type == "set" and items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield "a set must have scalar items: use list_type='map' with list_map_keys=, or 'atomic'"
    if meta.list_type == "set" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield "lists in a set must be atomic: remove their list_type"
    if meta.list_type in ("set", "map") and items.get("nullable"):
        yield f"items of a list_type={meta.list_type!r} cannot be null: remove | None"
    if (meta.list_type == "map") != bool(meta.list_map_keys):
        yield "list_type='map' and list_map_keys=('name',) require each other"
        return
    if meta.list_map_keys:
        schema["x-kubernetes-list-map-keys"] = list(meta.list_map_keys)
        yield from _map_keys(items, meta.list_map_keys)


def _map_keys(items: dict[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    properties = items.get("properties", {})
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield f"duplicate key {key!r} of a list map"
    for key in keys:
        if not _is_scalar(properties.get(key, {})):
            scalars = ", ".join(
                sorted(name for name, property_schema in properties.items() if _is_scalar(property_schema))
            )
            yield f"the list's items have no scalar {key!r}: expected one of {scalars or 'their fields'}"
        elif key not in items.get("required", ()) and "default" not in properties[key]:
            yield f"the key {key!r} of a list map must be required or have a default"
        elif properties[key].get("nullable"):
            yield f"the key {key!r} of a list map cannot be null: remove | None"


def _is_scalar(schema: dict[str, Any]) -> bool:
    return schema.get("type") in _SCALARS or "x-kubernetes-int-or-string" in schema


def _noted(schema: dict[str, Any], meta: Meta) -> Iterator[str]:
    if meta.pattern is not None:
        yield from pattern_errors(meta.pattern)
    schema.update({key: value for name, key in _NOTES.items() if (value := getattr(meta, name)) is not None})
    if meta.preserve_unknown is False:
        del schema[_NOTES["preserve_unknown"]]  # only true is allowed
    if meta.embedded_resource:
        if schema.get("type") != "object":
            yield "embedded_resource requires an object: use Mapping[str, Any]"
        schema["x-kubernetes-embedded-resource"] = True
    if meta.enum:
        schema["enum"] = list(meta.enum)
    if meta.external_docs is not None:
        schema["externalDocs"] = to_builtins(meta.external_docs)
    if rules := (*meta.rules, *((UNCHANGING,) if meta.immutable else ())):
        schema.setdefault("x-kubernetes-validations", []).extend(map(to_builtins, rules))
