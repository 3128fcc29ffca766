"""Validation of objects by a structural schema (OpenAPI v3 as in CustomResourceDefinitions), in Kubernetes' words.

A walk of its own instead of a JSON Schema library: every message and cause must be the real server's, and a walk over
plain dicts is several times as fast. Errors of type and format are FieldValueTypeInvalid, enums FieldValueNotSupported,
lengths TooLong and TooMany, everything else FieldValueInvalid.
"""

from collections.abc import Callable, Iterator
from typing import Any

from clientgo.apiserver.apiextensions.cel import matches
from clientgo.apiserver.apiextensions.structural import cached_by_identity, join, member_schemas, subschemas
from clientgo.apiserver.http.status import (
    Cause,
    duplicate,
    go_float,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from clientgo.meta.formats import valid_format

Schema = dict[str, Any]
Causes = Iterator[Cause]

_COMBINING = frozenset(("allOf", "anyOf", "oneOf", "not"))
# Types that decoders return; subclasses are checked one by one.
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}


def schema_errors(schema: Schema | None, obj: dict[str, Any]) -> list[Cause]:
    """Return the errors of the object by its schema, except those of metadata."""
    if schema is None:
        return []
    found = list(_value(schema, obj, ""))
    return found or (list(_lists(schema, obj, "")) if _has_keyed_lists(schema) else [])


def json_type(value: Any) -> str:
    """Return the schema type of a JSON value."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    return next((name for cls, name in _TYPES.items() if isinstance(value, cls)), "null")


def _value(schema: Schema, value: Any, path: str) -> Causes:
    if value is None and schema.get("nullable"):
        return
    actual = json_type(value)
    if actual != schema.get("type") or "x-kubernetes-int-or-string" in schema:
        yield from _mistyped(schema, value, actual, path)
    if not _COMBINING.isdisjoint(schema):
        yield from _combined(schema, value, path)
    check = _CHECKS.get(actual)
    if check is not None:
        yield from check(schema, value, path)
    if "enum" in schema and not any(
        value == allowed and isinstance(value, bool) == isinstance(allowed, bool) for allowed in schema["enum"]
    ):
        yield not_supported(path, value, schema["enum"])


def _mistyped(schema: Schema, value: Any, actual: str, path: str) -> Causes:
    wanted = schema.get("type", "")
    fits = not wanted or actual == wanted or (wanted == "number" and actual == "integer")
    if wanted == "integer" and actual == "number":
        fits = value == int(value)
    if schema.get("x-kubernetes-int-or-string"):
        wanted, fits = "integer,string", actual in ("integer", "string")
    if not fits:
        yield type_invalid(path, actual, f'{_in_body(path)} must be of type {wanted}: "{actual}"')


def _in_body(path: str) -> str:
    return f"{path} in body"


def _number(schema: Schema, value: float, path: str) -> Causes:
    where = _in_body(path)
    for bound, word, sign in (("maximum", "less", 1), ("minimum", "greater", -1)):
        limit, exclusive = schema.get(bound), schema.get(f"exclusive{bound.capitalize()}")
        if limit is not None and ((value - limit) * sign > 0 or (exclusive and value == limit)):
            than = f"{word} than" if exclusive else f"{word} than or equal to"
            yield invalid_value(path, value, f"{where} should be {than} {go_float(float(limit))}")
    multiple = schema.get("multipleOf")
    if multiple and (value / multiple) != int(value / multiple):
        yield invalid_value(path, value, f"{where} should be a multiple of {go_float(float(multiple))}")
    if not valid_format(schema.get("format", ""), value):
        kind = "integer" if isinstance(value, int) else "number"
        detail = f"Checked value must be of type {kind} with format {schema['format']} in body"
        yield invalid_value(path, value, detail)


def _string(schema: Schema, value: str, path: str) -> Causes:
    where = _in_body(path)
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield too_long(path, schema["maxLength"])
    if len(value) < schema.get("minLength", 0):
        yield invalid_value(path, value, f"{where} should be at least {schema['minLength']} chars long")
    if "pattern" in schema and not matches(schema["pattern"], value):
        yield invalid_value(path, value, f"{where} should match '{schema['pattern']}'")
    if not valid_format(schema.get("format", ""), value):
        yield type_invalid(path, value, f'{where} must be of type {schema["format"]}: "{value}"')


def _array(schema: Schema, value: list[Any], path: str) -> Causes:
    item = schema.get("items")
    if isinstance(item, dict):
        for index, one in enumerate(value):
            yield from _value(item, one, f"{path}[{index}]")
    yield from _sized(schema, value, path, "Items")
    if schema.get("uniqueItems") and any(one in value[:index] for index, one in enumerate(value)):
        yield invalid_value(path, value, f"{_in_body(path)} shouldn't contain duplicates")


def _sized(schema: Schema, value: Any, path: str, members: str) -> Causes:
    most, least = schema.get(f"max{members}"), schema.get(f"min{members}", 0)
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)
    if len(value) < least:
        yield invalid_value(path, len(value), f"{_in_body(path)} should have at least {least} {members.lower()}")


def _object(schema: Schema, value: dict[str, Any], path: str) -> Causes:
    yield from _sized(schema, value, path, "Properties")
    for field in schema.get("required") or ():
        if field not in value:
            yield required(join(path, field))
    if schema.get("x-kubernetes-embedded-resource"):
        for field in ("apiVersion", "kind"):
            if not value.get(field):
                yield required(join(path, field), "must not be empty")
    known = member_schemas(schema)
    for field, child in value.items():
        below = known(field) if path or field not in ("apiVersion", "kind") else None
        if below is not None:
            yield from _value(below, child, join(path, field))


def _combined(schema: Schema, value: Any, path: str) -> Causes:
    where = f'"{path}"'
    for one in schema.get("allOf") or ():
        yield from _value(one, value, path)
    if "anyOf" in schema and not any(_fits(one, value, path) for one in schema["anyOf"]):
        yield invalid_value(path, "", f"{where} must validate at least one schema (anyOf)")
        yield from _closest(schema["anyOf"], value, path)
    if "oneOf" in schema:
        fitting = [one for one in schema["oneOf"] if _fits(one, value, path)]
        if len(fitting) != 1:
            found = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
            yield invalid_value(path, "", f"{where} must validate one and only one schema (oneOf). {found}")
            yield from _closest(schema["oneOf"], value, path) if not fitting else ()
    if "not" in schema and _fits(schema["not"], value, path):
        yield invalid_value(path, "", f"{where} must not validate the schema (not)")


def _closest(schemas: list[Schema], value: Any, path: str) -> Causes:
    """Yield the errors of the closest alternative: the one with the fewest."""
    yield from min((list(_value(one, value, path)) for one in schemas), key=len, default=[])


def _fits(schema: Schema, value: Any, path: str) -> bool:
    return next(_value(schema, value, path), None) is None


def _lists(schema: Schema, value: Any, path: str) -> Causes:
    """Yield duplicates in lists of type set or map."""
    if isinstance(value, list):
        item = schema.get("items") or {}
        keys = _list_keys(schema)
        seen: list[Any] = []
        for index, one in enumerate(value):
            key = keys(one) if keys else None
            if keys and key in seen:
                yield duplicate(f"{path}[{index}]", key)
            seen.append(key)
            yield from _lists(item, one, f"{path}[{index}]")
    elif isinstance(value, dict):
        known = member_schemas(schema)
        for field, child in value.items():
            below = known(field)
            if below is not None and isinstance(child, dict | list):
                yield from _lists(below, child, join(path, field))


@cached_by_identity
def _has_keyed_lists(schema: Schema) -> bool:
    """Return whether the schema or anything below it is a list of type set or map."""
    return _list_keys(schema) is not None or any(map(_has_keyed_lists, subschemas(schema)))


def _list_keys(schema: Schema) -> Callable[[Any], Any] | None:
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "set":
        return lambda item: item
    if list_type == "map":
        names = schema.get("x-kubernetes-list-map-keys") or ()
        return lambda item: {name: item[name] for name in names if name in item}
    return None


_CHECKS: dict[str, Callable[[Schema, Any, str], Causes]] = {
    "integer": _number,
    "number": _number,
    "string": _string,
    "array": _array,
    "object": _object,
}
