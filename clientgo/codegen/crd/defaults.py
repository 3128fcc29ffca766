"""Values held against their own schema: a default that the API server would refuse is found here."""

import re
from collections.abc import Iterator
from typing import Any

from clientgo.meta.formats import valid_format

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}


def violations(schema: dict[str, Any], value: Any) -> Iterator[str]:
    """How a JSON value breaks a schema, in words that go behind "its default … "."""
    if value is None:
        if not schema.get("nullable"):
            yield "is null, which the field may not be"
        return
    fitting = _fitting(schema)
    if fitting and (not isinstance(value, fitting) or (isinstance(value, bool) and bool not in fitting)):
        yield f"is no {schema.get('type', 'integer or string')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"is none of {schema['enum']}"
    if isinstance(value, str):
        yield from _of_string(schema, value)
    elif isinstance(value, list):
        yield from _of_array(schema, value)
    elif isinstance(value, dict):
        yield from _of_object(schema, value)
    elif not isinstance(value, bool):
        yield from _of_number(schema, value)


def _fitting(schema: dict[str, Any]) -> tuple[type, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return (int, str)
    return _TYPES.get(schema.get("type", ""), ())


def _of_string(schema: dict[str, Any], value: str) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"is shorter than {schema['minLength']}"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"is longer than {schema['maxLength']}"
    if "pattern" in schema and not _found(schema["pattern"], value):
        yield f"does not match {schema['pattern']}"
    if not valid_format(schema.get("format", ""), value):
        yield f"is not in the format {schema['format']}"


def _found(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True  # RE2 has syntax that Python has not


def _of_number(schema: dict[str, Any], value: float) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        yield f"is below {low}"
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        yield f"is above {high}"
    bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
    if bits is not None and not -(2**bits) <= value < 2**bits:
        yield f"does not fit into {schema['format']}"
    if isinstance(value, int) and value % (schema.get("multipleOf") or 1):
        yield f"is no multiple of {schema['multipleOf']}"


def _of_array(schema: dict[str, Any], value: list[Any]) -> Iterator[str]:
    yield from _counted(len(value), schema, "Items")
    for item in value:
        for how in violations(schema.get("items", {}), item):
            yield f"has the item {item!r}, which {how}"


def _of_object(schema: dict[str, Any], value: dict[str, Any]) -> Iterator[str]:
    yield from _counted(len(value), schema, "Properties")
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"lacks {name}, which is required"
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    for name, part in value.items():
        if name not in properties and not open_ended:
            yield f"has {name}, which is no field"
        for how in violations(properties.get(name, schema.get("additionalProperties", {})), part):
            yield f"has {name}, which {how}"


def _counted(size: int, schema: dict[str, Any], what: str) -> Iterator[str]:
    if size < schema.get(f"min{what}", 0):
        yield f"has fewer than {schema[f'min{what}']} {what.lower()}"
    if size > schema.get(f"max{what}", size):
        yield f"has more than {schema[f'max{what}']} {what.lower()}"
