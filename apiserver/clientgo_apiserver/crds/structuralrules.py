"""Validation of structural schemas: the rules that make pruning and defaulting of custom objects well-defined.

Schemas are decoded, so fields have the right types and empty ones are absent.
"""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, required
from clientgo_apiserver.cel.functions.patterns import pattern_error

Schema = dict[str, Any]
Causes = Iterator[Cause]

PRESERVE, EMBEDDED, INT_OR_STRING = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")
# Fields that a schema within anyOf, allOf, oneOf or not must not have, and what each must be instead.
_NOT_NESTED = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    PRESERVE: "false",
    EMBEDDED: "false",
    INT_OR_STRING: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
_METADATA_NAMES = ({"name"}, {"generateName"}, {"name", "generateName"})


def structural_errors(schema: Schema, field_path: str) -> list[Cause]:
    """Return why a schema is not structural, sorted as by the real server."""
    causes = [*_invariants(schema, field_path, _ROOT), *_incomplete(schema, schema, field_path, field_path, root=True)]
    return sorted(causes, key=lambda cause: cause.text)


def _invariants(schema: Schema, field_path: str, level: str) -> Causes:
    kind, additional = schema.get("type", ""), schema.get("additionalProperties")
    if kind == "array" and "items" not in schema:
        yield required(f"{field_path}.items", "must be specified")
    if "items" in schema:
        yield from _invariants(schema["items"], f"{field_path}.items", _ITEM)
    for name, below in schema.get("properties", {}).items():
        yield from _invariants(below, f"{field_path}.properties[{name}]", _FIELD)
    if additional is not None and level == _ROOT:
        yield forbidden_field(f"{field_path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _invariants(additional, f"{field_path}.additionalProperties", _FIELD)
    if schema.get(INT_OR_STRING):
        for field in (PRESERVE, EMBEDDED):
            if schema.get(field):
                yield invalid_value(f"{field_path}.{field}", True, f"must be false if {INT_OR_STRING} is true")
    nested = schema.get("allOf", [])
    yield from _value_rules(
        schema,
        field_path,
        skip_any=schema.get("anyOf") == _INT_OR_STRING,
        skip_first=bool(nested) and nested[0].get("anyOf") == _INT_OR_STRING,
    )
    yield from _types(schema, field_path, level)
    yield from _metadata(schema, field_path, level)


def _types(schema: Schema, field_path: str, level: str) -> Causes:
    kind, embedded = schema.get("type", ""), schema.get(EMBEDDED)
    if embedded and kind != "object":
        reason = f"must be object if {EMBEDDED} is true"
        yield invalid_value(f"{field_path}.type", kind, reason) if kind else required(f"{field_path}.type", reason)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{field_path}.type", f"must not be empty {level}")
    if embedded and "additionalProperties" in schema:
        yield forbidden_field(f"{field_path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if level == _ROOT and kind and kind != "object":
        yield invalid_value(f"{field_path}.type", kind, "must be object at the root")
    if embedded and not schema.get(PRESERVE) and not schema.get("properties"):
        yield required(f"{field_path}.properties", f"must not be empty if {EMBEDDED} is true without {PRESERVE}")


def _metadata(schema: Schema, field_path: str, level: str) -> Causes:
    """Check the schemas of kind, apiVersion and metadata of objects and embedded resources."""
    properties = schema.get("properties", {})
    if level == _ROOT or schema.get(EMBEDDED):
        for name, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            kind = properties.get(name, {"type": expected}).get("type", "")
            if kind != expected:
                yield invalid_value(f"{field_path}.properties[{name}].type", kind, f"must be {expected}")
    if level == _ROOT and "metadata" in properties:
        allowed = {"type", "default"}
        if properties["metadata"].get("properties", {}).keys() in _METADATA_NAMES:
            allowed.add("properties")
        if properties["metadata"].keys() - allowed:
            reason = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden_field(f"{field_path}.properties[metadata]", reason)


def _value_rules(schema: Schema, field_path: str, *, skip_any: bool = False, skip_first: bool = False) -> Causes:
    """Check the pattern, and that the schemas combined with this one have only value validations.

    The forms that allow integers or strings are excepted.
    """
    for junctor in _JUNCTORS:
        if junctor == "anyOf" and skip_any:
            continue
        for index, value_schema in enumerate(schema.get(junctor, ())):
            skip = skip_first and junctor == "allOf" and index == 0
            yield from _nested(value_schema, f"{field_path}.{junctor}[{index}]", skip_any=skip)
    if "not" in schema:
        yield from _nested(schema["not"], f"{field_path}.not")
    if "pattern" in schema and (reason := pattern_error(schema["pattern"])):
        reason = f"must be a valid regular expression, but isn't: {reason}"
        yield invalid_value(f"{field_path}.pattern", schema["pattern"], reason)


def _nested(schema: Schema, field_path: str, *, skip_any: bool = False) -> Causes:
    yield from _value_rules(schema, field_path, skip_any=skip_any)
    if "items" in schema:
        yield from _nested(schema["items"], f"{field_path}.items")
    for name, below in schema.get("properties", {}).items():
        yield from _nested(below, f"{field_path}.properties[{name}]")
    for field, expected in _NOT_NESTED.items():
        if schema.get(field, False) is not False:
            yield forbidden_field(f"{field_path}.{field}", f"must be {expected} to be structural")
    if "metadata" in schema.get("properties", {}):
        yield forbidden_field(f"{field_path}.properties[metadata]", "must not be specified in a nested context")


def _incomplete(
    nested: Schema, schema: Schema | None, field_path: str, nested_path: str, *, root: bool = False
) -> Causes:
    """Check that the schema at `field_path` also specifies each field with value validations, at `nested_path`."""
    if schema is None:
        yield required(field_path, f"because it is defined in {nested_path}")
        return
    if "not" in nested:
        yield from _incomplete(nested["not"], schema, field_path, f"{nested_path}.not")
    for junctor in _JUNCTORS:
        for index, value_schema in enumerate(nested.get(junctor, ())):
            yield from _incomplete(value_schema, schema, field_path, f"{nested_path}.{junctor}[{index}]")
    if root:
        return
    if "items" in nested:
        yield from _incomplete(nested["items"], schema.get("items"), f"{field_path}.items", f"{nested_path}.items")
    for name, below in nested.get("properties", {}).items():
        part = f".properties[{name}]"
        yield from _incomplete(below, schema.get("properties", {}).get(name), field_path + part, nested_path + part)
