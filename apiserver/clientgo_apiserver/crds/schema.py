"""Validation of objects by a structural schema (OpenAPI v3 as in CustomResourceDefinitions), in Kubernetes' words.

A walk of its own instead of a JSON Schema library: every message and cause must be the real server's, and a walk over
plain dicts is several times as fast. Errors of type and format are FieldValueTypeInvalid, enums FieldValueNotSupported,
lengths TooLong and TooMany, everything else FieldValueInvalid.

In an update, errors of a part that is equal to its old value are dropped, so that a stricter schema does not block
changes of other parts. Parts correspond by field, and items of lists of type map by their keys.

Most objects are valid: `conforms` recognises them in one call of msgspec, by a type compiled from the schema.
"""

from collections.abc import Iterator
from functools import lru_cache
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from clientgo.meta.jsonvalues import canonical, same
from clientgo_apiserver.api.formats import text_format
from clientgo_apiserver.api.status import (
    Cause,
    invalid_value,
    not_supported,
    quoted,
    required,
    too_long,
    too_many,
    type_invalid,
)
from clientgo_apiserver.cel.functions.patterns import matches
from clientgo_apiserver.crds.bounds import INTEGERS, number_errors
from clientgo_apiserver.crds.listtypes import counterparts
from clientgo_apiserver.crds.structural import cached_by_identity, join, member_schemas, subschemas

Schema = dict[str, Any]
Object = dict[str, Any]
Causes = Iterator[Cause]

NOWHERE = "<nil>"
"""Field of errors that name no field, as Go prints it."""

_COMBINING = frozenset(("allOf", "anyOf", "oneOf", "not"))
_NEW = object()
"""Old value of a part that has none."""
_INT64 = INTEGERS["int64"]
_MAX_WHOLE_FLOAT = 2**53 - 1
# Types that decoders return; subclasses are checked one by one.
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}
_SCALARS = frozenset((bool, int, float, str))
_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}
_GO_FORMATS = {"integer": "int64", "number": "float64"}


_MAX_OBJECTS = 500
# For `conforms`: keywords by type that msgspec checks, and those that play no part in it or are checked elsewhere.
_KEYWORDS = {
    "object": frozenset(("additionalProperties", "maxProperties", "minProperties", "properties", "required")),
    "array": frozenset(("items", "maxItems", "minItems")),
    "string": frozenset(("enum", "format", "maxLength", "minLength", "pattern")),
    "integer": frozenset(("format", "maximum", "minimum")),
    "boolean": frozenset[str](),
}
_NEUTRAL = frozenset((
    "default", "description", "nullable", "title", "type", "x-kubernetes-list-map-keys", "x-kubernetes-list-type",
    "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
))  # fmt: skip
# As values, because checkers of types reject computed arguments.
_ANNOTATED: Any = Annotated
_LITERAL: Any = Literal


class _Undecided:
    """Type of no JSON value, for schemas that msgspec cannot check."""


class _Matching:
    """Base class of types of texts that match a pattern: msgspec's own patterns are Python's, which are not linear."""

    schema: Schema


def conforms(schema: Schema, obj: Object) -> bool:
    """Return whether an object certainly has no error, unknown field or null by its schema, apart from metadata."""
    try:
        msgspec.convert(obj, _type_of_objects(schema), dec_hook=_match)
    except msgspec.ValidationError:
        return False
    return True


def _match(target: type, value: Any) -> Any:
    if issubclass(target, _Matching) and isinstance(value, str):
        schema = target.schema
        if schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return target() if matches(schema["pattern"], value) else None
    return None


@cached_by_identity
def _type_of_objects(schema: Schema) -> Any:
    return _compiled(msgspec.json.encode(schema))


@lru_cache(maxsize=32)  # by content: each test, and each plan of a perturbation, installs the same definitions
def _compiled(encoded: bytes) -> Any:
    schema = msgspec.json.decode(encoded)
    properties = schema.get("properties") or {}
    if _count_objects(schema) > _MAX_OBJECTS or properties.get("metadata", {}).keys() - {"type", "description"}:
        return _Undecided
    fields = {**dict.fromkeys(("apiVersion", "kind"), Any), **_field_types(properties), "metadata": Any}
    return _type_of(schema, fields)


def _count_objects(schema: Schema) -> int:
    return (schema.get("type") == "object") + sum(map(_count_objects, subschemas(schema)))


def _field_types(properties: Schema) -> dict[str, Any]:
    return {name: _type_of(below) for name, below in properties.items()}


_SIZES = tuple(f"{end}{members}" for end in ("min", "max") for members in ("Items", "Length", "Properties"))


def _type_of(schema: Schema, fields: dict[str, Any] | None = None) -> Any:
    """Return a type of values that have no error and no null by a schema; `fields` are the types of an object's."""
    kind = schema.get("type", "")
    if kind not in _KEYWORDS or not schema.keys() <= _NEUTRAL | _KEYWORDS[kind]:
        return _Undecided
    if any((schema.get(limit) or 0) < 0 for limit in _SIZES):
        return _Undecided
    if kind == "object":
        return _object_type(schema, fields if fields is not None else _field_types(schema.get("properties") or {}))
    if kind == "array":
        items = GenericAlias(list, (_type_of(schema.get("items") or {}),))
        return _ANNOTATED[items, _lengths(schema, "Items")]
    if kind == "string":
        return _string_type(schema)
    return bool if kind == "boolean" else _integer_type(schema)


def _object_type(schema: Schema, fields: dict[str, Any]) -> Any:
    additional, needed = schema.get("additionalProperties"), frozenset(schema.get("required") or ())
    sized = "minProperties" in schema or "maxProperties" in schema
    preserving = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(additional, dict) and not fields and not needed:
        entries = GenericAlias(dict, (str, _type_of(additional)))
        return _ANNOTATED[entries, _lengths(schema, "Properties")]
    if sized or additional is not None or not needed <= fields.keys():
        return _Undecided
    members = [
        (f"f{number}", hint, msgspec.field(name=name, default=msgspec.NODEFAULT if name in needed else msgspec.UNSET))
        for number, (name, hint) in enumerate(fields.items())
    ]
    return msgspec.defstruct("Object", members, kw_only=True, forbid_unknown_fields=not preserving)


def _lengths(schema: Schema, members: str) -> msgspec.Meta:
    return msgspec.Meta(min_length=schema.get(f"min{members}"), max_length=schema.get(f"max{members}"))


def _string_type(schema: Schema) -> Any:
    if "format" in schema and known_format(schema):
        return _Undecided
    if "enum" in schema:
        texts = tuple(schema["enum"])
        plain = texts and _KEYWORDS["string"].isdisjoint(schema.keys() - {"enum", "format"})
        return _LITERAL[texts] if plain and all(isinstance(text, str) for text in texts) else _Undecided
    if "pattern" in schema:
        return type("_MatchingText", (_Matching,), {"schema": schema})
    return _ANNOTATED[str, msgspec.Meta(min_length=schema.get("minLength"), max_length=schema.get("maxLength"))]


def _integer_type(schema: Schema) -> Any:
    allowed = INTEGERS.get(schema.get("format", ""), _INT64)
    least, most = schema.get("minimum", allowed[0]), schema.get("maximum", allowed[-1])
    if any(type(limit) is not int or limit not in allowed for limit in (least, most)):
        return _Undecided
    return _ANNOTATED[int, msgspec.Meta(ge=least, le=most)]


def schema_errors(schema: Schema | None, obj: Any, old: Any = None, *, field_path: str = "") -> list[Cause]:
    """Return the errors of a value by its schema; `old` is the value it replaces, `field_path` its field in causes.

    An error that several parts of `allOf` find is reported once, as upstream (Result.AddErrors of kube-openapi).
    """
    if schema is None:
        return []
    causes = dict.fromkeys(_child(schema, obj, "", _NEW if old is None else old))
    return [within(cause, field_path) for cause in causes] if field_path else [*causes]


def within(cause: Cause, field_path: str) -> Cause:
    """Return the cause with its field below another one."""
    if cause.field in ("", NOWHERE):
        return replace(cause, field=field_path)
    return replace(cause, field=f"{field_path}{'' if cause.field.startswith('[') else '.'}{cause.field}")


def json_type(value: Any) -> str:
    """Return the schema type of a JSON value."""
    type_name = _TYPES.get(type(value))
    if type_name is not None:
        return type_name
    return next((name for cls, name in _TYPES.items() if isinstance(value, cls)), "null")


def known_format(schema: Schema) -> str:
    """Return the format of a schema, or "" if the API server ignores it."""
    name = schema.get("format", "")
    kind = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    if kind in ("", "string"):
        return name if name and text_format(name) is not None else ""
    return name if name in _FORMATS.get(kind, ()) else ""


def _child(schema: Schema, value: Any, path: str, old: Any) -> Causes:
    if old is _NEW:
        return _value(schema, value, path, old)
    if type(value) is type(old) and type(value) in _SCALARS and value == old:
        return iter(())
    causes = list(_value(schema, value, path, old))
    return iter(()) if causes and _unchanged(schema, value, old) else iter(causes)


def _unchanged(schema: Schema, value: Any, old: Any) -> bool:
    """Return whether a value is equal to the old one, compared as far as the schema describes it."""
    if isinstance(value, dict) and isinstance(old, dict):
        schema_of = member_schemas(schema)
        return len(value) == len(old) and all(
            field in old and (below := schema_of(field)) is not None and _unchanged(below, child, old[field])
            for field, child in value.items()
        )
    if isinstance(value, list) and isinstance(old, list) and schema.get("x-kubernetes-list-type") == "map":
        find = counterparts(schema, old)
        pairs = [(child, find(child)) for child in value]
        return len(value) == len(old) and all(
            before is not None and _unchanged(schema.get("items") or {}, child, before) for child, before in pairs
        )
    return type(value) is type(old) and same(value, old)


def _value(schema: Schema, value: Any, path: str, old: Any) -> Causes:
    if value is None and schema.get("nullable"):
        return
    actual = json_type(value)
    if actual == "integer" and value not in _INT64:
        value, actual = float(value), "number"
    if actual != schema.get("type") or "x-kubernetes-int-or-string" in schema:
        yield from _mistyped(schema, value, actual, path)
    if not _COMBINING.isdisjoint(schema) and value is not None:
        yield from _combined(schema, value, path)
    if actual == "string":
        yield from _string(schema, value, path)
    elif actual in ("integer", "number"):
        yield from number_errors(schema, known_format(schema) if "format" in schema else "", value, path)
    elif actual == "array":
        yield from _array(schema, value, path, old)
    if "enum" in schema and not any(_equals(value, allowed) for allowed in schema["enum"]):
        supported = (option if isinstance(option, str) else quoted(option) for option in schema["enum"])
        yield not_supported(path or NOWHERE, value, supported)
    if actual == "object":
        yield from _object(schema, value, path, old)


def _equals(value: Any, allowed: Any) -> bool:
    if isinstance(value, float) and type(allowed) is int:
        value = int(value)  # the real server converts the value to the type of the other
    return same(value, allowed)


def _fits(kind: str, value: Any, actual: str) -> bool:
    if kind == "integer" and actual == "number":
        return bool(abs(value) <= _MAX_WHOLE_FLOAT and value == int(value))
    return kind in ("", actual) or (kind == "number" and actual == "integer")


def _mistyped(schema: Schema, value: Any, actual: str, path: str) -> Causes:
    kinds = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type", "")]
    expected, fits = ",".join(kinds), any(_fits(kind, value, actual) for kind in kinds)
    text = actual in ("string", "array")
    if value is not None and (name := known_format(schema)):
        go_format = _GO_FORMATS.get(actual, "")
        if not text and not (fits and expected) and go_format != name:
            expected, actual, fits = name, go_format, False
        elif text and expected in ("", "string"):
            return
    if not fits:
        yield type_invalid(path or NOWHERE, actual, f'{path} in body must be of type {expected}: "{actual}"')


def _string(schema: Schema, value: str, path: str) -> Causes:
    subject, field = f"{path} in body", path or NOWHERE
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield too_long(field, schema["maxLength"])
    elif len(value) < schema.get("minLength", 0):
        yield invalid_value(field, value, f"{subject} should be at least {schema['minLength']} chars long")
    elif "pattern" in schema and not matches(schema["pattern"], value):
        yield invalid_value(field, value, f"{subject} should match '{schema['pattern']}'")
    if "format" in schema and (name := known_format(schema)):
        check = text_format(name)
        if check is not None and not check(value):
            yield type_invalid(field, value, f'{subject} must be of type {name}: "{value}"')


def _array(schema: Schema, value: list[Any], path: str, old: Any) -> Causes:
    item = schema.get("items")
    if isinstance(item, dict):
        find = counterparts(schema, old if schema.get("x-kubernetes-list-type") == "map" else None)
        for index, child in enumerate(value):
            before = find(child)
            yield from _child(item, child, f"{path}[{index}]", _NEW if before is None else before)
    yield from _sized(schema, value, path, "Items")
    if schema.get("uniqueItems") and len(set(map(canonical, value))) < len(value):
        yield invalid_value(path, value, f"{path} in body shouldn't contain duplicates")


def _sized(schema: Schema, value: Any, path: str, members: str) -> Causes:
    most, least, field = schema.get(f"max{members}"), schema.get(f"min{members}", 0), path or NOWHERE
    if len(value) < least:
        yield invalid_value(field, len(value), f"{path} in body should have at least {least} {members.lower()}")
    if most is not None and len(value) > most:
        yield too_many(field, len(value), most)


def _object(schema: Schema, value: dict[str, Any], path: str, old: Any) -> Causes:
    yield from _sized(schema, value, path, "Properties")
    schema_of = member_schemas(schema)
    before = old if isinstance(old, dict) else {}
    closed = schema.get("additionalProperties") is False
    for field, child in value.items():
        below = schema_of(field)
        if below is not None:
            root = not path and field in ("apiVersion", "kind")
            yield from _child(below, child, join(path, field), _NEW if root else before.get(field, _NEW))
        elif closed:
            yield invalid_value(path or NOWHERE, field, f"{path}.{field} in body is a forbidden property")
    for field in schema.get("required") or ():
        if field not in value:
            yield required(join(path, field))


def _combined(schema: Schema, value: Any, path: str) -> Causes:
    """Check the combined schemas, which are not compared with the old value."""
    text = f'"{path}" must'
    for how in ("anyOf", "oneOf"):
        if how in schema:
            alternatives = [list(_value(alternative, value, path, _NEW)) for alternative in schema[how]]
            fitting = len([causes for causes in alternatives if not causes])
            if how == "anyOf" and not fitting:
                yield invalid_value(NOWHERE, "", f"{text} validate at least one schema (anyOf)")
            elif how == "oneOf" and fitting != 1:
                more = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
                yield invalid_value(NOWHERE, "", f"{text} validate one and only one schema (oneOf). {more}")
            if not fitting:
                yield from max(zip(schema[how], alternatives, strict=True), key=lambda pair: _depth(pair[0], value))[1]
    if "allOf" in schema:
        alternatives = [list(_value(alternative, value, path, _NEW)) for alternative in schema["allOf"]]
        for errors in alternatives:
            yield from errors
        if any(alternatives):
            more = ". None validated" if all(alternatives) else ""
            yield invalid_value(NOWHERE, "", f"{text} validate all the schemas (allOf){more}")
    if "not" in schema and next(_value(schema["not"], value, path, _NEW), None) is None:
        yield invalid_value(NOWHERE, "", f"{text} not validate the schema (not)")


def _depth(schema: Schema, value: Any) -> int:
    """Return how much of a value a schema describes: of several, the errors of the most detailed are reported."""
    depth = int("type" in schema and not any(_mistyped(schema, value, json_type(value), "")))
    if isinstance(value, dict):
        schema_of = member_schemas(schema)
        members = [(schema_of(field), child) for field, child in value.items()]
        return depth + sum(2 + _depth(below, child) for below, child in members if below is not None)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return depth + sum(2 + _depth(schema["items"], child) for child in value)
    return depth
