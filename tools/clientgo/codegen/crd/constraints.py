"""Translation of `Meta` constraints into schemas."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from clientgo.codegen.crd.rules import UNCHANGING
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
_SWITCHES = {"embedded_resource": "x-kubernetes-embedded-resource", "unique_items": "uniqueItems"}


def apply_constraints(schema: dict[str, Any], metas: Sequence[Meta]) -> Iterator[str]:
    """Add constraints to `schema`, later ones overriding earlier ones; yield errors."""
    if any(meta.schemaless for meta in metas):
        schema.clear()
    for meta in metas:
        if meta.type is not None:
            schema["type"] = meta.type
        yield from _sized(schema, meta)
        _noted(schema, meta)


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


def _noted(schema: dict[str, Any], meta: Meta) -> None:
    schema.update({key: value for name, key in _NOTES.items() if (value := getattr(meta, name)) is not None})
    if meta.preserve_unknown is False:
        del schema[_NOTES["preserve_unknown"]]  # only true is allowed
    schema.update({key: True for name, key in _SWITCHES.items() if getattr(meta, name)})
    if meta.enum:
        schema["enum"] = list(meta.enum)
    if meta.list_map_keys:
        schema["x-kubernetes-list-map-keys"] = list(meta.list_map_keys)
    if meta.external_docs is not None:
        schema["externalDocs"] = to_builtins(meta.external_docs)
    if rules := (*meta.rules, *((UNCHANGING,) if meta.immutable else ())):
        schema.setdefault("x-kubernetes-validations", []).extend(map(to_builtins, rules))
