"""JSON schemas made from Python types: the official client's models, or our generated Structs.

Both describe the same Kubernetes types, each with what the other lacks: the models carry descriptions and what is
required, the Structs are cheap to load. One walk serves both; a `Reader` says how a class lists its fields.
"""

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Protocol, Union, get_args, get_origin

from clientgo.meta.apply.mergerules import TYPE_RULES
from clientgo.meta.quantities import QUANTITY_FIELDS

Schema = dict[str, Any]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    object: {"type": "object"},
}
INT_OR_STRING: Schema = {
    "x-kubernetes-int-or-string": True,
    "format": "int-or-string",
    "oneOf": [{"type": "integer"}, {"type": "string"}],
}
QUANTITY: Schema = {
    "description": "A fixed-point number such as 1500m or 1Gi, written as a string or as a number.",
    "oneOf": [{"type": "string"}, {"type": "number"}],
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a type, as JSON names it."""

    name: str
    annotation: Any
    required: bool = False
    description: str = ""


class Reader(Protocol):
    """Knows how one family of classes lists its fields."""

    def is_model(self, annotation: Any) -> bool:
        """Tell whether this is a class of the family."""

    def fields(self, cls: Any) -> Iterable[Field]:
        """Give the fields, in the order of the class."""

    def kubernetes_name(self, cls: Any) -> str:
        """Give the Go type's name: `Deployment` for a model named `V1Deployment`."""

    def description(self, cls: Any) -> str:
        """Say what the type is, as far as the class knows."""


@dataclass(frozen=True, slots=True)
class References:
    """What stands where a field is of a type that has a schema of its own: that schema, or a `$ref` to it."""

    model: Callable[[Any], Schema]
    quantity: Schema = field(default_factory=lambda: QUANTITY)
    int_or_string: Schema = field(default_factory=lambda: INT_OR_STRING)


def object_schema(reader: Reader, cls: Any, references: References) -> Schema:
    """Make the schema of a class."""
    go_name = reader.kubernetes_name(cls)
    rules = TYPE_RULES.get(go_name, {})
    quantities = QUANTITY_FIELDS.get(go_name, frozenset())
    properties: Schema = {}
    required = []
    for each in reader.fields(cls):
        schema = annotation_schema(each.annotation, reader, references)
        if each.name in quantities:
            number = references.quantity
            inside = next((key for key in ("additionalProperties", "items") if key in schema), "")
            schema = {**schema, inside: number} if inside else number
        extensions = rules[each.name].extensions() if each.name in rules else {}
        properties[each.name] = _described(schema, each, extensions)
        if each.required:
            required.append(each.name)
    out: Schema = {"type": "object"}
    if text := reader.description(cls):
        out["description"] = text
    if required:
        out["required"] = required
    return {**out, "properties": properties} if properties else out


def annotation_schema(annotation: Any, reader: Reader, references: References) -> Schema:
    """Make the schema of a type annotation; `{}` (any value) for what JSON schema has no word for."""
    if reader.is_model(annotation):
        return references.model(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return annotation_schema(arguments[0], reader, references)
    if origin in {Union, types.UnionType}:
        return _union_schema([item for item in arguments if item is not type(None)], reader, references)
    if origin in {list, tuple, set, frozenset}:
        return {"type": "array", "items": annotation_schema(arguments[0], reader, references)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = annotation_schema(arguments[1], reader, references)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if isinstance(annotation, type) and issubclass(annotation, datetime):
        return dict(_SCALARS[datetime])
    return dict(_SCALARS.get(annotation, {}))


def _union_schema(choices: list[Any], reader: Reader, references: References) -> Schema:
    schemas = [annotation_schema(item, reader, references) for item in choices]
    kinds = {schema.get("type") for schema in schemas}
    if len(schemas) == 1:
        return schemas[0]
    if kinds == {"integer", "string"}:
        return dict(references.int_or_string)
    if kinds == {"integer", "number"}:
        return {"type": "number"}
    if kinds == {"string"}:
        return next((schema for schema in schemas if "format" in schema), schemas[0])
    return {}


def _described(schema: Schema, of: Field, extensions: Mapping[str, Any]) -> Schema:
    """Add a description and extensions; beside a `$ref` they would be ignored, so that moves into an `allOf`."""
    extra = {**({"description": of.description} if of.description else {}), **extensions}
    if extra and "$ref" in schema:
        return {**extra, "allOf": [schema]}
    return {**schema, **extra}
