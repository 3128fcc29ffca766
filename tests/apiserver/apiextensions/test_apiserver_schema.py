from typing import Any

import pytest

from clientgo.apiserver.apiextensions.listtypes import list_errors
from clientgo.apiserver.apiextensions.schema import schema_errors

Object = dict[str, Any]
KEYED: Object = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}},
}
SHORT: Object = {"type": "string", "maxLength": 2}
SCHEMA: Object = {
    "type": "object",
    "required": ["need"],
    "properties": {"a": SHORT, "b": SHORT, "list": {"type": "array", "items": SHORT}, "keyed": KEYED},
}


def errors(schema: Object, value: Any, old: Any = None) -> list[str]:
    return [f"{one.field}: {one.message}" for one in schema_errors(schema, value, old)]


def holder(schema: Object) -> Object:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 1.0, []),
        (
            {"type": "integer", "format": "int64"},
            1e30,
            [
                'a: Invalid value: "float64": a in body must be of type int64: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in a',
            ],
        ),
        ({"type": "integer", "maximum": 1}, 2, ["a: Invalid value: 2: a in body should be less than or equal to 1"]),
        (
            {"type": "number", "multipleOf": 0.1},
            0.25,
            ["a: Invalid value: 0.25: a in body should be a multiple of"],
        ),
        ({"type": "string", "format": "made-up"}, "x", []),
        ({"type": "string", "maxLength": 1, "pattern": "^b$"}, "aa", ["a: Too long: may not be more than 1 byte"]),
        ({"enum": [1, "x"]}, 2, ['a: Unsupported value: 2: supported values: "1", "x"']),
        ({"not": {"enum": [1]}}, 1, ['<nil>: Invalid value: "": "a" must not validate the schema (not)']),
        (
            {"allOf": [{"maximum": 1}, {"minimum": 0}]},
            2,
            [
                "a: Invalid value: 2: a in body should be less than or equal to 1",
                '<nil>: Invalid value: "": "a" must validate all the schemas (allOf)',
            ],
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"x": 1},
            ['a: Invalid value: "x": a.x in body is a'],
        ),
    ],
)
def test_invalid_value_is_reported(schema: Object, value: Any, expected: list[str]) -> None:
    found = errors(holder(schema), {"a": value})
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"new": 1}, ["need"]),
        ({"a": "other"}, ["need", "a"]),
        ({"list": ["long", "x"]}, ["need", "list[0]"]),
        ({"keyed": [{"k": "y", "v": 1}, {"k": "x", "v": 9}]}, ["need"]),
        ({"keyed": [{"k": "x", "v": 8}]}, ["need", "keyed[0].v"]),
    ],
)
def test_update_reports_only_errors_of_changed_parts(change: Object, fields: list[str]) -> None:
    old = {"a": "long", "b": "long", "list": ["long"], "keyed": [{"k": "x", "v": 9}]}
    found = schema_errors(SCHEMA, {**old, **change}, old)
    assert sorted(one.field for one in found) == sorted(fields)


def test_each_duplicate_of_a_list_is_reported_once() -> None:
    schema = {"type": "object", "properties": {"set": {"type": "array", "x-kubernetes-list-type": "set"}, "map": KEYED}}
    value = {"set": [1, 2, 1, 1], "map": [{"k": "x"}, {"k": "x", "v": 1}, {}]}
    found = [f"{one.field}: {one.message}" for one in list_errors(schema, value)]
    assert found == ["set[2]: Duplicate value: 1", 'map[1]: Duplicate value: {"k":"x"}']
