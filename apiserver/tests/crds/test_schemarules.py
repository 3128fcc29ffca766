from typing import Any

import pytest

from clientgo_apiserver.crds.schemarules import version_schema_errors

Object = dict[str, Any]
TEXT, LIST = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
OPEN = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
ITEMS = {"type": "object", "properties": {"k": {"type": "string"}}}


def errors(schema: Object, *, status: bool = False) -> list[str]:
    return [f"{item.field}: {item.message}" for item in version_schema_errors(schema, "s", status=status)]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({}, ["s.properties[a].type: Required value: must not be empty for specified object fields"]),
        ({"type": "array"}, ["s.properties[a].items: Required value: must be specified"]),
        ({**TEXT, "uniqueItems": True}, ["s.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true"]),
        ({**TEXT, "anyOf": [{"type": "string"}]},
         ["s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}, []),
        ({"x-kubernetes-int-or-string": True, OPEN: True},
         [f"s.properties[a].{OPEN}: Invalid value: true: must be false if x-kubernetes-int-or-string is true"]),
        ({"x-kubernetes-int-or-string": True, "default": 1.5}, []),
        ({**TEXT, "default": "x", "x-kubernetes-validations": [{"rule": "self == 'y'", "fieldPath": ".b"}]},
         ['s.properties[a].default: Invalid value: "x": failed rule: self == \'y\'',
          's.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path']),
        ({**TEXT, OPEN: False}, [f"s.properties[a].{OPEN}: Invalid value: false: must be true or undefined"]),
        ({"type": "object", EMBEDDED: True},
         [f"s.properties[a].properties: Required value: must not be empty if {EMBEDDED} is true without {OPEN}"]),
        ({"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT},
         ["s.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclus"]),
        ({"type": "array", "items": [TEXT]}, ["s.properties[a].items: Forbidden: items must be a schema object"]),
        ({**TEXT, "$ref": "x"}, ["s.properties[a].$ref: Forbidden: $ref is not supported"]),
        ({**TEXT, "default": 1}, ['s.properties[a].default: Invalid value: "integer":  in body must be of type']),
        ({"type": "object", "default": {"b": 1}},
         ['s.properties[a].default: Invalid value: {"b":1}: must not have unknown fields']),
        ({**LIST, "default": ["x", 1]}, ['s.properties[a].default[1]: Invalid value: "integer": [1] in body must']),
        ({**KEYED, "items": ITEMS}, ["s.properties[a].items.properties[k].default: Required value: this property"]),
        ({**KEYED, "items": {**ITEMS, "required": ["k"]}}, []),
        ({**LIST, "x-kubernetes-list-type": "x"},
         ['s.properties[a].x-kubernetes-list-type: Unsupported value: "x": supported values:']),
        ({"type": "object", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}]},
         ['s.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path']),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": " ", "reason": "Why"}]},
            [
                "s.properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified",
                's.properties[a].x-kubernetes-validations[0].reason: Unsupported value: "Why"',
            ],
        ),
    ],
)  # fmt: skip
def test_invalid_schema_of_a_field_is_reported(field: Object, expected: list[str]) -> None:
    result = errors({"type": "object", "properties": {"a": field}})
    assert len(result) == len(expected)
    assert all(text.startswith(start) for text, start in zip(result, expected, strict=True))


@pytest.mark.parametrize(
    ("root", "error"),
    [
        ({"nullable": True}, "s.nullable: Forbidden: nullable cannot be true at the root"),
        ({"additionalProperties": TEXT}, "s.additionalProperties: Forbidden: must not be used at the root"),
        ({"properties": {"metadata": TEXT}}, 's.properties[metadata].type: Invalid value: "string": must be object'),
        ({"properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}},
         "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName"),
        ({"not": {"properties": {"b": {"minLength": 1}}}},
         "s.properties[b]: Required value: because it is defined in s.not.properties[b]"),
        ({"$schema": "x"}, "s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"),
    ],
)  # fmt: skip
def test_root_of_a_schema_has_rules_of_its_own(root: Object, error: str) -> None:
    assert [text for text in errors({"type": "object", **root}) if text.startswith(error)]


def test_root_of_a_schema_with_a_status_has_few_fields() -> None:
    schema = {"type": "object", "maxProperties": 3}
    assert errors(schema) == []
    (error,) = errors(schema, status=True)
    assert error.startswith('s: Invalid value: {"ID":"","Schema":"","Ref":null')
