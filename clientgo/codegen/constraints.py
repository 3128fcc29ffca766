"""Constraints in a schema's words, and values held against them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from clientgo.meta.constraints import Meta

_BY_TYPE: dict[str, tuple[str, ...]] = {
    "ge": ("integer", "number"),
    "gt": ("integer", "number"),
    "le": ("integer", "number"),
    "lt": ("integer", "number"),
    "multiple_of": ("integer", "number"),
    "min_length": ("string",),
    "max_length": ("string",),
    "pattern": ("string",),
    "min_items": ("array",),
    "max_items": ("array",),
}
_KEYS = {
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "min_items": "minItems",
    "max_items": "maxItems",
}


def apply_constraints(schema: dict[str, Any], metas: Sequence[Meta]) -> Iterator[str]:
    """Put constraints into `schema`, later ones over earlier ones; yields what is wrong with them."""
    for meta in metas:
        for name, fitting in _BY_TYPE.items():
            value = getattr(meta, name)
            if value is None:
                continue
            if schema.get("type") not in fitting:
                yield f"{name} is for {' and '.join(fitting)} fields, this one is {schema.get('type', 'of any type')}"
                continue
            _constrain(schema, name, value)
        yield from _note(schema, meta)


def _constrain(schema: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if name in ("ge", "gt"):
        schema["minimum"] = value
        if name == "gt":
            schema["exclusiveMinimum"] = True
    elif name in ("le", "lt"):
        schema["maximum"] = value
        if name == "lt":
            schema["exclusiveMaximum"] = True
    else:
        schema[_KEYS[name]] = value


def _note(schema: dict[str, Any], meta: Meta) -> Iterator[str]:
    if meta.pattern is not None:
        try:
            re.compile(meta.pattern)
        except re.error as error:
            yield f"the pattern {meta.pattern!r} is no regular expression: {error}"
    if meta.enum:
        schema["enum"] = list(meta.enum)
    for key in ("format", "description", "example"):
        value = getattr(meta, key)
        if value is not None:
            schema[key] = value


def violations(schema: dict[str, Any], value: Any) -> Iterator[str]:
    """How a scalar breaks its own schema."""
    if "enum" in schema and value not in schema["enum"]:
        yield f"is none of {schema['enum']}"
    if isinstance(value, str):
        yield from _string_violations(schema, value)
    elif not isinstance(value, bool):
        yield from _number_violations(schema, value)


def _string_violations(schema: dict[str, Any], value: str) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"is shorter than {schema['minLength']}"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"is longer than {schema['maxLength']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"does not match {schema['pattern']}"


def _number_violations(schema: dict[str, Any], value: float) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        yield f"is below {low}"
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        yield f"is above {high}"
    bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
    if bits is not None and not -(2**bits) <= value < 2**bits:
        yield f"does not fit into {schema['format']}"
